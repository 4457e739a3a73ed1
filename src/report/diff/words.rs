//! What all forms of a difference say in the same words.

use std::collections::BTreeSet;

use crate::diff::{
    Cause, CauseKind, ChangePlace, Counts, Diff, FileChange, FileKind, PipelineChange, Rename, RunChange, RunValue,
    SideFailure, Status, TextChange, group,
};

/// Places named one by one; more are summed up.
pub const PLACES_SHOWN: usize = 8;

/// `1 run`, `2 runs`.
pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ if thing.ends_with('y') => format!("{number} {}ies", thing.trim_end_matches('y')),
        _ => format!("{number} {thing}s"),
    }
}

/// Characters that a terminal would act on, written out.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(c),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                out.push_str(&c.escape_unicode().to_string());
            }
            c => out.push(c),
        }
    }
    out
}

/// One line: line feeds and other control characters written out.
pub fn one_line(text: &str) -> String {
    visible(&text.replace('\n', " "))
}

/// Where a change happens, field by field: how many runs of which field.
pub struct Where {
    /// `dag_id.task_id.field`, with the pipeline before it where there are several.
    pub field: String,
    /// Scenario and run of each place.
    pub runs: Vec<(String, String)>,
}

/// The places of a change, field by field.
pub fn places(diff: &Diff, change: &TextChange) -> Vec<Where> {
    let several = several_pipelines(diff);
    let keyed = change.all_places().map(|place| ((&place.pipeline, &place.dag_id, &place.task, &place.field), place));
    let one = |group: crate::diff::Group<_, &ChangePlace>| {
        let first = group.members.first()?;
        let field = if several { format!("{}: {}", first.pipeline, first.name()) } else { first.name() };
        let runs = group.members.iter().map(|place| (place.scenario.clone(), place.run.clone())).collect();
        Some(Where { field, runs })
    };
    group(keyed).into_iter().filter_map(one).collect()
}

fn several_pipelines(diff: &Diff) -> bool {
    let places = diff.changes.iter().flat_map(TextChange::all_places).map(|place| &place.pipeline);
    places.chain(diff.runs.iter().map(|run| &run.pipeline)).collect::<BTreeSet<_>>().len() > 1
}

/// `same change in 24 runs of combine.combine_stats.sql`
pub fn heading(diff: &Diff, change: &TextChange) -> String {
    let places = places(diff, change);
    let total: usize = places.iter().map(|place| place.runs.len()).sum();
    let broken = change.places.first().is_some_and(|place| place.broken);
    let mended = change.places.first().is_some_and(|place| place.mended);
    let what = match (change.status, broken, mended) {
        (Status::Added, true, _) => "new, and fails",
        (Status::Added, ..) => "new",
        (Status::Removed, ..) => "gone",
        (_, true, _) => "now fails",
        (_, _, true) => "no longer fails",
        _ if total > 1 => "same change",
        _ => "changed",
    };
    let wherever = match places.as_slice() {
        [one] => match one.runs.as_slice() {
            [(_, run)] => format!("{run}, {}", one.field),
            runs => format!("{} of {}", count(runs.len(), "run"), one.field),
        },
        _ => format!("{} of {}", count(total, "field"), count(tasks(change), "task")),
    };
    let alike = match change.alike.len() {
        0 => String::new(),
        more => format!(" ({} texts that differ only in numbers)", more + 1),
    };
    format!("{what} in {wherever}{alike}")
}

fn tasks(change: &TextChange) -> usize {
    let task = |place: &ChangePlace| {
        let id = place.task.split('[').next().unwrap_or(&place.task).to_owned();
        (place.pipeline.clone(), place.dag_id.clone(), id)
    };
    change.all_places().map(task).collect::<BTreeSet<_>>().len()
}

/// Runs in a few words: all of a few, the ends of many.
pub fn runs(runs: &[(String, String)], all: bool) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for (_, label) in runs {
        if !labels.contains(&label.as_str()) {
            labels.push(label);
        }
    }
    match labels.as_slice() {
        [first, .., last] if !all && labels.len() > 4 => format!("{first} to {last}"),
        labels => labels.join(", "),
    }
}

/// What is said where there are no changed lines to show.
pub fn no_lines(status: Status) -> &'static str {
    match status {
        Status::Added | Status::Removed => "its text is empty, or all of it is ignored",
        Status::Modified | Status::Renamed => "only values that are masked differ",
    }
}

/// A cause in one line.
pub fn cause(cause: &Cause) -> String {
    let place = format!("{}:{}", cause.file, cause.line);
    let old = if cause.old { " (old)" } else { "" };
    let what = match (cause.kind, cause.what.as_str()) {
        (kind, "") => format!("{} {place}{old}", kind.word()),
        (CauseKind::Macro, what) => format!("macro {what} at {place}{old}"),
        (CauseKind::Template | CauseKind::Include, what) => format!("{} {place}{old} ({what})", cause.kind.word()),
        (kind, what) => format!("{} {what} at {place}{old}", kind.word()),
    };
    one_line(&what)
}

/// The line about causes; `None` without any.
pub fn causes(causes: &[Cause]) -> Option<String> {
    if causes.is_empty() {
        return None;
    }
    let listed = causes.iter().map(cause).collect::<Vec<_>>().join("; ");
    let sure = causes.iter().all(|cause| cause.sure);
    Some(match (sure, causes.len()) {
        (true, _) => format!("cause: {listed}"),
        (false, 1) => format!("probable cause: {listed}"),
        (false, _) => format!("cause: not told apart: {listed}"),
    })
}

/// Runs that changed in the same way.
pub struct RunGroup<'a> {
    /// `24 runs of combine change partition_date`
    pub heading: String,
    /// They themselves.
    pub runs: Vec<&'a RunChange>,
}

/// The run changes of a difference, those of one kind together.
pub fn run_groups(diff: &Diff) -> Vec<RunGroup<'_>> {
    let keyed = diff.runs.iter().map(|run| {
        let names: Vec<&str> = match run.status {
            Status::Modified => run.values.iter().map(|value| value.name).collect(),
            _ => Vec::new(),
        };
        ((&run.pipeline, &run.scenario, &run.dag_id, run.status, names, &run.causes), run)
    });
    group(keyed)
        .into_iter()
        .map(|group| {
            let (pipeline, scenario, dag_id, status, names, _) = group.key;
            let many = group.members.len() > 1;
            let verb = match (status, many) {
                (Status::Added, true) => "appear".to_owned(),
                (Status::Added, false) => "appears".to_owned(),
                (Status::Removed, true) => "disappear".to_owned(),
                (Status::Removed, false) => "disappears".to_owned(),
                (_, true) => format!("change {}", names.join(", ")),
                (_, false) => format!("changes {}", names.join(", ")),
            };
            let heading = format!("{pipeline} / {scenario}: {} of {dag_id} {verb}", count(group.members.len(), "run"));
            RunGroup { heading, runs: group.members }
        })
        .collect()
}

/// What of a run changed, in one line.
pub fn run_line(run: &RunChange) -> String {
    let value = |value: &RunValue| {
        let (old, new) = (value.old.as_deref().unwrap_or("none"), value.new.as_deref().unwrap_or("none"));
        (old.to_owned(), new.to_owned())
    };
    let shown: Vec<String> = match run.status {
        Status::Modified => run
            .values
            .iter()
            .map(|one| {
                let (old, new) = value(one);
                match run.values.len() {
                    1 => format!("{old} -> {new}"),
                    _ => format!("{} {old} -> {new}", one.name),
                }
            })
            .collect(),
        _ => {
            let known = run.values.iter().filter(|one| one.name != "partition_key" && one.name != "events");
            let mut shown: Vec<String> = known
                .map(|one| {
                    let (old, new) = value(one);
                    format!("{} {}", one.name, if run.status == Status::Added { new } else { old })
                })
                .collect();
            if run.fields > 0 {
                shown.push(count(run.fields, "rendered field"));
            }
            shown.extend(run.waits.iter().map(|reason| format!("still waits: {reason}")));
            shown
        }
    };
    one_line(&format!("{}  {}", run.label, shown.join("; "))).trim_end().to_owned()
}

/// A renamed Dag or task in one line.
pub fn rename(rename: &Rename) -> String {
    let (mut old, mut new) = (rename.old.clone(), rename.new.clone());
    if let Some(pipeline) = &rename.old_pipeline {
        old = format!("{pipeline}: {old}");
        new = format!("{}: {new}", rename.pipeline);
    }
    format!("{} {old} -> {new} ({} % alike)", rename.what, rename.percent)
}

/// A pipeline that is new, gone or elsewhere, in one line.
pub fn pipeline(change: &PipelineChange) -> String {
    match &change.old_path {
        Some(old) => format!("pipeline {old} -> {}", change.path),
        None => format!(
            "pipeline {} {} ({}, {})",
            change.path,
            change.status.word(),
            count(change.runs, "run"),
            count(change.fields, "rendered field")
        ),
    }
}

/// What reads a file that changed.
pub fn file_use(file: &FileChange) -> String {
    match file.kind {
        FileKind::Pipeline => "pipeline".to_owned(),
        FileKind::Scenario => "scenario".to_owned(),
        FileKind::Other => "read by no task".to_owned(),
        FileKind::Template => {
            let tasks = match file.tasks.as_slice() {
                tasks if tasks.len() <= PLACES_SHOWN => tasks.join(", "),
                tasks => count(tasks.len(), "task"),
            };
            format!("read by {tasks}; {} of {} changed", file.fields_changed, count(file.fields, "field"))
        }
    }
}

/// `sql/a.sql`, or `sql/a.sql -> sql/b.sql`.
pub fn file_name(file: &FileChange) -> String {
    match &file.old_path {
        Some(old) => format!("{old} -> {}", file.path),
        None => file.path.to_string(),
    }
}

/// Which side fails with what.
pub fn failure(failure: &SideFailure) -> String {
    let side = if failure.head { "head" } else { "base" };
    let scenario = failure.scenario.as_ref().map(|name| format!(" / {name}")).unwrap_or_default();
    let also = if failure.differs { "" } else { ", as on the other side" };
    format!("{side}: {}{scenario} cannot be compared{also}", failure.pipeline)
}

/// The counts in sentences' parts.
pub fn summary(counts: &Counts) -> String {
    let mut parts = Vec::new();
    let changed = counts.fields_changed;
    parts.push(format!("{changed} of {} changed", count(counts.fields, "field")));
    let mut some = |number: usize, thing: &str, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", count(number, thing)));
        }
    };
    some(counts.fields_added, "field", "new");
    some(counts.fields_removed, "field", "gone");
    some(counts.fields_broken, "field", "now failing");
    some(counts.fields_mended, "field", "no longer failing");
    some(counts.fields_failing, "field", "failing on both sides");
    some(counts.fields_ignored, "field", "differing only in what is ignored");
    some(counts.runs_changed, "run", "changed");
    some(counts.runs_added, "run", "new");
    some(counts.runs_removed, "run", "gone");
    if counts.same_inputs > 0 {
        parts.push(format!("{} of {} unchanged", counts.same_inputs, count(counts.pipelines, "pipeline")));
    }
    parts.join(", ")
}
