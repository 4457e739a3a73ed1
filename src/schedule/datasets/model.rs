//! The rows of Airflow 2.10's dataset tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use crate::asset::{AssetCondition, EventSource};
use crate::python::{PyErr, PyResult};
use crate::schedule::QueueRow;
use crate::timetable::{DataInterval, TimeRestriction, Timetable};

/// A row of `dataset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetRow {
    /// The id; 1, 2, ... in the order of creation.
    pub id: i64,
    /// The URI: as sanitised, or as a task wrote it when it gave an alias a plain text.
    pub uri: String,
}

/// A row of `dataset_alias` and the datasets associated with it.
#[derive(Debug, Clone)]
pub(super) struct AliasRow {
    pub name: String,
    pub datasets: Vec<i64>,
}

/// A row of `dataset_event`.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetEvent {
    /// The id, in the order of recording.
    pub id: i64,
    /// The dataset.
    pub dataset_id: i64,
    /// When it was recorded, UTC.
    pub timestamp: DateTime<Utc>,
    /// What the producer attached.
    pub extra: Json,
    /// The emitting task instance, if any.
    pub source: Option<EventSource>,
    /// The aliases it came through, sorted.
    pub aliases: Vec<String>,
}

/// A row of `dag_run`.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetRun {
    /// The Dag.
    pub dag_id: String,
    /// The run id.
    pub run_id: String,
    /// `scheduled`, `manual`, `backfill` or `dataset_triggered`.
    pub run_type: String,
    /// The logical date (`execution_date`), UTC.
    pub logical_date: DateTime<Utc>,
    /// The data interval; none for runs of very old versions.
    pub data_interval: Option<DataInterval>,
    /// Started by a user.
    pub external_trigger: bool,
    /// `queued`, `running`, `success` or `failed`.
    pub state: String,
    /// When it was queued, UTC.
    pub queued_at: Option<DateTime<Utc>>,
    /// When it started, UTC.
    pub start_date: Option<DateTime<Utc>>,
    /// When it ended, UTC.
    pub end_date: Option<DateTime<Utc>>,
    /// The consumed events, by id.
    pub consumed: Vec<i64>,
}

impl DatasetRun {
    /// Queued or running: what counts for `max_active_runs`.
    pub fn is_active(&self) -> bool {
        self.state == "queued" || self.state == "running"
    }
}

/// An outlet of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outlet {
    /// A dataset, by sanitised URI.
    Dataset(String),
    /// An alias.
    Alias(String),
    /// Any other object: lineage, not scheduling.
    Other,
}

/// A task of a producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetTask {
    /// The task id.
    pub task_id: String,
    /// Its outlets, in order.
    pub outlets: Vec<Outlet>,
}

/// A Dag as its file defines it.
#[derive(Debug, Clone)]
pub struct DatasetDag {
    /// The Dag id.
    pub dag_id: String,
    /// Runs by time; for a Dag on datasets alone one that proposes none.
    pub timetable: Arc<dyn Timetable>,
    /// The datasets it is scheduled on: assets stand for datasets, names and URIs being both the URI.
    pub condition: Option<AssetCondition>,
    /// Start and end date and catchup.
    pub restriction: TimeRestriction,
    /// How many runs may be active at once.
    pub max_active_runs: usize,
    /// Paused when it is first seen.
    pub is_paused: bool,
    /// The tasks.
    pub tasks: Vec<DatasetTask>,
}

/// A row of `dag`, what hangs on it, and the serialized Dag.
#[derive(Debug, Clone)]
pub(super) struct DagState {
    pub dag: DatasetDag,
    /// The condition with aliases replaced by the datasets they had when the Dag was parsed.
    pub condition: Option<AssetCondition>,
    pub is_paused: bool,
    pub is_active: bool,
    pub has_import_errors: bool,
    /// `dag_schedule_dataset_reference`
    pub datasets: Vec<i64>,
    /// `dag_schedule_dataset_alias_reference`
    pub aliases: Vec<String>,
    /// `next_dagrun` and its data interval.
    pub next_interval: Option<(DateTime<Utc>, DataInterval)>,
    /// `next_dagrun_create_after`
    pub create_after: Option<DateTime<Utc>>,
}

/// A dataset change to register.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisterChange {
    /// The dataset's URI, as stored.
    pub uri: String,
    /// The event's extra.
    pub extra: Json,
    /// The emitting task instance; none for the REST API.
    pub source: Option<EventSource>,
    /// The aliases it comes through.
    pub aliases: Vec<String>,
}

/// The state of dataset scheduling: every row that matters.
#[derive(Debug, Clone, Default)]
pub struct DatasetScheduler {
    pub(super) datasets: Vec<DatasetRow>,
    pub(super) aliases: Vec<AliasRow>,
    pub(super) dags: Vec<DagState>,
    pub(super) events: Vec<DatasetEvent>,
    pub(super) runs: Vec<DatasetRun>,
    pub(super) queue: Vec<QueueRow>,
    /// Dags whose file waits for a priority parsing request; one Dag a file.
    pub(super) reparse: BTreeSet<String>,
}

impl DatasetScheduler {
    /// The state that rows of a store amount to, without Dags. Runs are not among them.
    pub fn restored(datasets: Vec<DatasetRow>, events: Vec<DatasetEvent>, queue: Vec<QueueRow>) -> Self {
        DatasetScheduler { datasets, events, queue, ..Self::default() }
    }

    /// Every dataset, by id.
    pub fn datasets(&self) -> &[DatasetRow] {
        &self.datasets
    }

    /// Every event, by id.
    pub fn events(&self) -> &[DatasetEvent] {
        &self.events
    }

    /// Every run, in the order of creation.
    pub fn runs(&self) -> &[DatasetRun] {
        &self.runs
    }

    /// The queue in the order of insertion; `asset_id` is the dataset's id.
    pub fn queue(&self) -> &[QueueRow] {
        &self.queue
    }

    /// Dags with a pending priority parsing request, sorted.
    pub fn reparse_requested(&self) -> impl Iterator<Item = &str> {
        self.reparse.iter().map(String::as_str)
    }

    /// The dataset of a URI as stored.
    pub fn dataset(&self, uri: &str) -> Option<&DatasetRow> {
        self.datasets.iter().find(|row| row.uri == uri)
    }

    /// The URI of a dataset.
    pub fn uri(&self, id: i64) -> Option<&str> {
        self.datasets.iter().find(|row| row.id == id).map(|row| row.uri.as_str())
    }

    /// The runs that consumed an event.
    pub fn runs_of_event(&self, event: i64) -> impl Iterator<Item = &DatasetRun> {
        self.runs.iter().filter(move |run| run.consumed.contains(&event))
    }

    /// The dataset of a URI, created if it is new; its id.
    pub fn add_dataset(&mut self, uri: &str) -> i64 {
        if let Some(row) = self.dataset(uri) {
            return row.id;
        }
        let id = self.datasets.last().map_or(1, |row| row.id + 1);
        self.datasets.push(DatasetRow { id, uri: uri.to_owned() });
        id
    }

    /// Adds a run that exists already.
    pub fn add_run(&mut self, run: DatasetRun) {
        self.runs.push(run);
    }

    /// Associates a dataset with an alias; the alias is created if it is new.
    pub fn associate(&mut self, alias: &str, dataset_id: i64) {
        self.add_alias(alias);
        for row in self.aliases.iter_mut().filter(|row| row.name == alias) {
            if !row.datasets.contains(&dataset_id) {
                row.datasets.push(dataset_id);
            }
        }
    }

    /// A row for an alias, unless it has one.
    pub fn add_alias(&mut self, name: &str) {
        if !self.aliases.iter().any(|row| row.name == name) {
            self.aliases.push(AliasRow { name: name.to_owned(), datasets: Vec::new() });
        }
    }

    /// The conditions of Dags, with aliases replaced by their datasets.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &AssetCondition)> {
        self.dags.iter().filter_map(|state| Some((state.dag.dag_id.as_str(), state.condition.as_ref()?)))
    }

    /// The Dags that consume the dataset of an event, or an alias it came through; paused and inactive ones too.
    pub fn listeners<'s>(&'s self, event: &'s DatasetEvent) -> impl Iterator<Item = &'s str> {
        self.dags
            .iter()
            .filter(|state| {
                state.datasets.contains(&event.dataset_id)
                    || state.aliases.iter().any(|alias| event.aliases.contains(alias))
            })
            .map(|state| state.dag.dag_id.as_str())
    }

    /// Whether a Dag is paused.
    pub fn is_paused(&self, dag_id: &str) -> bool {
        self.dags.iter().any(|state| state.dag.dag_id == dag_id && state.is_paused)
    }

    /// Whether a Dag has as many active runs as it may have.
    pub fn is_full(&self, dag_id: &str) -> bool {
        let limit = self.dags.iter().find(|state| state.dag.dag_id == dag_id).map(|state| state.dag.max_active_runs);
        limit.is_some_and(|limit| self.active_runs(dag_id) > 0 && self.active_runs(dag_id) >= limit)
    }

    /// Starts runs by their positions; the runs.
    pub fn start_runs(&mut self, which: std::ops::Range<usize>, at: DateTime<Utc>) -> Vec<DatasetRun> {
        let runs = self.runs.get_mut(which).unwrap_or_default();
        for run in runs.iter_mut() {
            "running".clone_into(&mut run.state);
            run.start_date = Some(at);
        }
        runs.to_vec()
    }

    /// Ends a run in a state.
    pub fn end_run(&mut self, dag_id: &str, run_id: &str, state: &str, at: DateTime<Utc>) {
        for run in self.runs.iter_mut().filter(|run| run.dag_id == dag_id && run.run_id == run_id) {
            state.clone_into(&mut run.state);
            run.end_date = Some(at);
        }
    }

    /// Makes every run of a Dag a success.
    pub fn finish_runs(&mut self, dag_id: &str) {
        for run in self.runs.iter_mut().filter(|run| run.dag_id == dag_id) {
            run.state = "success".to_owned();
        }
    }

    /// Deletes a run; the events it consumed stay.
    ///
    /// # Errors
    /// `Unsupported` when there is no such run.
    pub fn delete_run(&mut self, dag_id: &str, run_id: &str) -> PyResult<()> {
        let before = self.runs.len();
        self.runs.retain(|run| run.dag_id != dag_id || run.run_id != run_id);
        if self.runs.len() == before {
            return Err(PyErr::unsupported(format!("deleting the run {run_id:?} of {dag_id:?}, which does not exist")));
        }
        Ok(())
    }

    /// Sets a column of a Dag's row: `is_paused`, `is_active`, `has_import_errors`.
    ///
    /// # Errors
    /// `Unsupported` for another column or an unknown Dag.
    pub fn set_dag(&mut self, dag_id: &str, column: &str, value: bool) -> PyResult<()> {
        let state = self
            .dags
            .iter_mut()
            .find(|state| state.dag.dag_id == dag_id)
            .ok_or_else(|| PyErr::unsupported(format!("changing the Dag {dag_id:?}, which does not exist")))?;
        match column {
            "is_paused" => state.is_paused = value,
            "is_active" => state.is_active = value,
            "has_import_errors" => state.has_import_errors = value,
            other => return Err(PyErr::unsupported(format!("setting the column {other} of a Dag"))),
        }
        Ok(())
    }

    /// Takes the queue rows out that a condition picks; how many there were.
    pub fn dequeue(&mut self, picks: impl Fn(&QueueRow) -> bool) -> usize {
        let before = self.queue.len();
        self.queue.retain(|row| !picks(row));
        before - self.queue.len()
    }

    pub(super) fn active_runs(&self, dag_id: &str) -> usize {
        self.runs.iter().filter(|run| run.dag_id == dag_id && run.is_active()).count()
    }
}
