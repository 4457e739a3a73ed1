//! The task instances behind events, as parameters of a query pick them and order by them.

use std::cmp::Ordering;

use crate::asset::EventSource;

/// Which sources a query asks for; nothing given picks every event, one without a source too.
#[derive(Debug, Default)]
pub(super) struct SourceFilter<'a> {
    pub dag_id: Option<&'a str>,
    pub task_id: Option<&'a str>,
    pub run_id: Option<&'a str>,
    pub map_index: Option<i64>,
}

impl SourceFilter<'_> {
    /// Whether an event of that source is asked for.
    pub(super) fn picks(&self, source: Option<&EventSource>) -> bool {
        self.dag_id.is_none_or(|id| source.is_some_and(|source| source.dag_id == id))
            && self.task_id.is_none_or(|id| source.is_some_and(|source| source.task_id == id))
            && self.run_id.is_none_or(|id| source.is_some_and(|source| source.run_id == id))
            && self.map_index.is_none_or(|index| map_index(source) == index)
    }
}

/// `source_map_index`: -1 without a source.
pub(super) fn map_index(source: Option<&EventSource>) -> i64 {
    source.map_or(-1, |source| source.map_index)
}

/// The order of two events by the attribute of that name of their sources; `None` when there is no such attribute.
pub(super) fn compare(name: &str, a: Option<&EventSource>, b: Option<&EventSource>) -> Option<Ordering> {
    Some(match name {
        "source_dag_id" => a.map(|source| &source.dag_id).cmp(&b.map(|source| &source.dag_id)),
        "source_task_id" => a.map(|source| &source.task_id).cmp(&b.map(|source| &source.task_id)),
        "source_run_id" => a.map(|source| &source.run_id).cmp(&b.map(|source| &source.run_id)),
        "source_map_index" => map_index(a).cmp(&map_index(b)),
        _ => return None,
    })
}
