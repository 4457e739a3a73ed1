//! The snapshots of what scenarios render, and the tree of files that holds them.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use camino::{Utf8Path, Utf8PathBuf};

use super::file::{Info, Snapshot};
use crate::pipeline::{Outcome, RunOutcome, TaskResult, file_name, run_folders};
use crate::render::{RenderedField, display};
use crate::timetable::isoformat;

/// The snapshots of a played scenario: every rendered field of every run. `mask` hides secrets.
pub fn of_outcome(outcome: &Outcome, mask: &dyn Fn(&str) -> String) -> Vec<Snapshot> {
    let mut snapshots = Vec::new();
    for (folder, run) in run_folders(outcome) {
        for task in &run.tasks {
            for field in task.fields.iter().filter(|field| field.rendered && field.given) {
                snapshots.push(snapshot(outcome, &folder, run, task, field, mask));
            }
        }
    }
    snapshots
}

fn snapshot(
    outcome: &Outcome,
    folder: &Utf8Path,
    run: &RunOutcome,
    task: &TaskResult,
    field: &RenderedField,
    mask: &dyn Fn(&str) -> String,
) -> Snapshot {
    let name = format!("{}.{}", file_name(&task.label()), file_name(&field.name));
    let optional = |value: Option<String>| value.map_or(Info::Null, Info::Text);
    let events = run.run.consumed_asset_events.iter().map(|event| match &event.partition_key {
        Some(key) => format!("{} {key}", event.asset.name),
        None => event.asset.name.clone(),
    });
    let mut info = vec![
        ("dag_id".to_owned(), Info::Text(run.run.dag_id.clone())),
        ("task_id".to_owned(), Info::Text(task.task_id.clone())),
        ("field".to_owned(), Info::Text(field.name.clone())),
        ("partition_key".to_owned(), optional(run.run.partition_key.clone())),
        ("partition_date".to_owned(), optional(run.run.partition_date.map(isoformat))),
        ("triggering_events".to_owned(), Info::List(events.collect())),
    ];
    if task.map_index >= 0 {
        info.insert(2, ("map_index".to_owned(), Info::Number(task.map_index.unsigned_abs())));
    }
    let text = match &field.value {
        Ok(value) => display(value),
        Err(error) => {
            info.push(("error".to_owned(), Info::Text(error.error.class.to_string())));
            format!("{}: {}\n", error.error.class, error.error.message)
        }
    };
    Snapshot {
        path: folder.join(name).into_string(),
        source: format!("{}/pipeline.yaml", outcome.pipeline),
        expression: format!("{}.{}", task.label(), field.name),
        info,
        text: mask(&text),
    }
}

/// How a tree of files differs from the snapshots it should hold. Paths are relative to the tree, without `.snap`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TreeDifference {
    /// Files that say something else.
    pub changed: Vec<String>,
    /// Snapshots without a file.
    pub missing: Vec<String>,
    /// Files without a snapshot.
    pub orphaned: Vec<String>,
}

impl TreeDifference {
    /// True when the tree holds the snapshots and nothing else.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.missing.is_empty() && self.orphaned.is_empty()
    }
}

/// Compares a tree with the snapshots it should hold. Only folders of pipelines that the snapshots are of are looked at for
/// orphans.
///
/// # Errors
/// When a file cannot be read.
pub fn compare(root: &Utf8Path, snapshots: &[Snapshot]) -> io::Result<TreeDifference> {
    let mut difference = TreeDifference::default();
    let mut expected: BTreeMap<String, &Snapshot> = BTreeMap::new();
    for snapshot in snapshots {
        expected.insert(snapshot.path.clone(), snapshot);
    }
    for (path, snapshot) in &expected {
        match std::fs::read_to_string(root.join(format!("{path}.snap"))) {
            Ok(file) if snapshot.matches(&file) == Some(true) => {}
            Ok(_) => difference.changed.push(path.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => difference.missing.push(path.clone()),
            Err(error) => return Err(error),
        }
    }
    let mut folders: Vec<Utf8PathBuf> =
        expected.keys().filter_map(|path| path.split('/').next()).map(|name| root.join(name)).collect();
    folders.dedup();
    while let Some(folder) = folders.pop() {
        let entries = match folder.read_dir_utf8() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension() == Some("snap")
                && let Ok(below) = path.strip_prefix(root)
            {
                let below = below.with_extension("").into_string();
                if !expected.contains_key(&below) {
                    difference.orphaned.push(below);
                }
            }
        }
    }
    difference.orphaned.sort();
    Ok(difference)
}

/// Writes a snapshot into a tree: beside the file and then in its place, so that no reader sees half of it.
///
/// # Errors
/// When the file cannot be written.
pub fn write(root: &Utf8Path, snapshot: &Snapshot) -> io::Result<()> {
    let path = root.join(format!("{}.snap", snapshot.path));
    let folder = path.parent().unwrap_or(root);
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(snapshot.to_file().as_bytes())?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
