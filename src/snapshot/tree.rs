//! The snapshots of what scenarios render, and their places in the tree.

use std::collections::{HashMap, hash_map::Entry};

use camino::{Utf8Path, Utf8PathBuf};
use foldhash::fast::RandomState;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::file::{Info, Snapshot};
use super::subject::Subject;
use crate::pipeline::{Outcome, RunOutcome, TaskResult, file_name, run_folders};
use crate::render::{RenderedField, display};
use crate::timetable::isoformat;

/// The snapshots of a played scenario: every rendered field of every run, in the order of runs, tasks and fields. `mask` hides
/// secrets.
pub fn of_outcome(mut outcome: Outcome, mask: &(dyn Fn(&str) -> String + Sync)) -> Vec<Snapshot> {
    let folders = run_folders(&outcome);
    let runs = std::mem::take(&mut outcome.runs);
    // Taken by value: what a run rendered is freed where its snapshots are made.
    let of_run = |(run, folder): (RunOutcome, Utf8PathBuf)| {
        let fields = run.tasks.iter().flat_map(|task| task.fields.iter().map(move |field| (task, field)));
        let kept = fields.filter(|(_, field)| field.rendered && field.given);
        kept.map(|(task, field)| snapshot(&outcome, &folder, &run, task, field, mask)).collect::<Vec<_>>()
    };
    runs.into_par_iter().zip(folders).flat_map_iter(of_run).collect()
}

fn snapshot(
    outcome: &Outcome,
    folder: &Utf8Path,
    run: &RunOutcome,
    task: &TaskResult,
    field: &RenderedField,
    mask: &(dyn Fn(&str) -> String + Sync),
) -> Snapshot {
    // A dot in a field's name would make it unclear where the task ends: `a.b` of task `t`, or `b` of task `t.a`.
    let label = task.label();
    let name = format!("{}.{}", file_name(&label), file_name(&field.name).replace('.', "%2E"));
    let text = |value: &str| Info::Text(mask(value));
    let optional = |value: Option<&str>| value.map_or(Info::Null, text);
    let events = run.run.consumed_asset_events.iter().map(|event| match &event.partition_key {
        Some(key) => mask(&format!("{} {key}", event.asset.name)),
        None => mask(&event.asset.name),
    });
    let mut info = vec![
        ("dag_id", Info::Text(run.run.dag_id.clone())),
        ("task_id", Info::Text(task.task_id.clone())),
        ("field", Info::Text(field.name.clone())),
        ("partition_key", optional(run.run.partition_key.as_deref())),
        ("partition_date", optional(run.run.partition_date.map(isoformat).as_deref())),
        ("triggering_events", Info::List(events.collect())),
    ];
    if task.map_index >= 0 {
        info.insert(2, ("map_index", Info::Number(task.map_index.unsigned_abs())));
    }
    if let Some(file) = &field.file {
        info.push(("file", text(file)));
    }
    if !task.assumed.is_empty() {
        info.push(("assumed", Info::List(task.assumed.iter().map(|assumed| mask(assumed)).collect())));
    }
    if field.reads_clock {
        info.push(("reads_clock", Info::Bool(true)));
    }
    let rendered = match &field.value {
        Ok(value) => display(value),
        Err(error) => {
            info.push(("error", Info::Text(error.error.class.to_string())));
            format!("{}: {}\n", error.error.class, error.error.message)
        }
    };
    let subject = Subject {
        pipeline: outcome.pipeline.clone(),
        scenario: outcome.scenario.clone(),
        dag_id: run.run.dag_id.clone(),
        run: run.label().to_owned(),
        task: label,
        field: field.name.clone(),
    };
    Snapshot {
        path: folder.join(name).into_string().replace('\\', "/"),
        source: format!("{}/pipeline.yaml", outcome.pipeline),
        expression: subject.expression(),
        subject,
        info,
        text: mask(&rendered),
    }
}

/// Snapshots that would share a file on some file system, in pairs: two pipelines of one name, for instance. Names differ by
/// more than case otherwise.
pub fn collisions(snapshots: &[Snapshot]) -> Vec<(&Snapshot, &Snapshot)> {
    let mut seen: HashMap<String, &Snapshot, RandomState> =
        HashMap::with_capacity_and_hasher(snapshots.len(), RandomState::default());
    let mut found = Vec::new();
    for snapshot in snapshots {
        match seen.entry(snapshot.path.to_lowercase()) {
            Entry::Occupied(first) => found.push((*first.get(), snapshot)),
            Entry::Vacant(place) => {
                place.insert(snapshot);
            }
        }
    }
    found
}
