//! Rendered runs as text for people.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use chrono::{DateTime, Timelike, Utc};

use super::problems::{Excerpt, excerpt};
use crate::pipeline::{Origin, Outcome, PendingOutcome, RunOutcome, Severity, TaskResult};
use crate::render::{FieldError, RenderedField, display};
use crate::run::{AssetEventReference, DagRunType};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Events named one by one; more are summed up.
const EVENTS_SHOWN: usize = 4;

/// Column at which a file's name stands beside its field.
const FILE_COLUMN: usize = 52;

/// What of an outcome is shown.
#[derive(Debug, Clone, Default)]
pub struct Shown<'a> {
    /// Only these Dags; all when empty.
    pub dags: &'a [String],
    /// Only these tasks.
    pub tasks: &'a [String],
    /// Only these fields.
    pub fields: &'a [String],
}

impl Shown<'_> {
    /// Whether a Dag is shown.
    pub fn dag(&self, dag_id: &str) -> bool {
        self.dags.is_empty() || self.dags.iter().any(|dag| dag == dag_id)
    }

    /// Whether a task is shown.
    pub fn task(&self, task_id: &str) -> bool {
        self.tasks.is_empty() || self.tasks.iter().any(|task| task == task_id)
    }

    /// Whether a field is shown.
    pub fn field(&self, field: &str) -> bool {
        self.fields.is_empty() || self.fields.iter().any(|name| name == field)
    }
}

/// Draws a played scenario. `mask` hides secrets in whatever is shown.
pub fn render_text(outcome: &Outcome, shown: &Shown<'_>, mask: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{} / {}{BOLD:#}", outcome.pipeline, outcome.scenario);
    let mut count = 0;
    for run in outcome.runs.iter().filter(|run| shown.dag(&run.run.dag_id)) {
        let tasks: Vec<&TaskResult> = run.tasks.iter().filter(|task| shown.task(&task.task_id)).collect();
        if tasks.is_empty() {
            continue;
        }
        count += 1;
        out.push('\n');
        run_heading(&mut out, run);
        for task in tasks {
            for field in task.fields.iter().filter(|field| shown.field(&field.name)) {
                write_field(&mut out, &run.run.dag_id, task, field, mask);
            }
            if !task.deprecations.is_empty() {
                let _ = writeln!(out, "  {DIM}deprecated in {}: {}{DIM:#}", task.label(), deprecated(task).join(", "));
            }
            if !task.assumed.is_empty() {
                let _ = writeln!(out, "  {DIM}assumed in {}: {}{DIM:#}", task.label(), task.assumed.join("; "));
            }
        }
    }
    if count == 0 {
        let _ = writeln!(out, "\nno run renders anything");
    }
    if let Some(pending) = pending(outcome, shown) {
        let _ = writeln!(out, "\n{DIM}pending:{DIM:#} {pending}");
    }
    if !outcome.log.is_empty() || !outcome.warnings.is_empty() {
        out.push('\n');
    }
    for log in &outcome.log {
        let _ = writeln!(out, "{YELLOW}warning:{YELLOW:#} {}: {}", log.event, mask(&log.extra).replace('\n', "\n  "));
    }
    for warning in &outcome.warnings {
        let _ = writeln!(out, "{YELLOW}warning:{YELLOW:#} {}", mask(warning));
    }
    out
}

/// The names that Airflow warns of, of those a task read; what else it warns of in full.
fn deprecated(task: &TaskResult) -> Vec<&str> {
    let name = |text| deprecated_name(text).unwrap_or(text);
    task.deprecations.iter().map(|text| name(text.as_str())).collect()
}

/// The name that a deprecation text of Airflow 2.10 is about.
fn deprecated_name(text: &str) -> Option<&str> {
    text.strip_prefix("Accessing '")?.split('\'').next()
}

/// What still waits, in one line: `partita resolve` and `partita explain` say for what.
fn pending(outcome: &Outcome, shown: &Shown<'_>) -> Option<String> {
    let mut dags: Vec<(&str, Vec<&PendingOutcome>)> = Vec::new();
    for pending in outcome.pending.iter().filter(|pending| shown.dag(&pending.dag_id)) {
        match dags.iter_mut().find(|(dag_id, _)| *dag_id == pending.dag_id) {
            Some((_, of_dag)) => of_dag.push(pending),
            None => dags.push((&pending.dag_id, vec![pending])),
        }
    }
    let one = |(dag_id, of_dag): &(&str, Vec<&PendingOutcome>)| match of_dag.as_slice() {
        [one] => {
            let key = one.partition_key.as_deref().map(|key| format!(" {key:?}")).unwrap_or_default();
            let waits: Vec<String> = one
                .assets
                .iter()
                .filter(|asset| !asset.satisfied)
                .map(|asset| format!("{}: {}", asset.asset.name, asset.reason))
                .collect();
            let waits = if waits.is_empty() { String::new() } else { format!(" ({})", waits.join("; ")) };
            format!("{dag_id}{key}{waits}")
        }
        many => format!("{dag_id}, {} partitions", many.len()),
    };
    (!dags.is_empty()).then(|| dags.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// The line that says which run it is, which date it has and why, and the events behind it.
pub fn run_heading(out: &mut String, run: &RunOutcome) {
    let dag_run = &run.run;
    let date = match (dag_run.partition_date, dag_run.logical_date) {
        (Some(date), _) => format!("partition_date {}", instant(date)),
        (None, Some(date)) if dag_run.partition_key.is_none() => format!("logical_date {}", instant(date)),
        (None, _) if dag_run.partition_key.is_some() => "no partition_date".to_owned(),
        (None, _) => String::new(),
    };
    let reason = if run.date_reason.is_empty() { String::new() } else { format!(" ({})", run.date_reason) };
    let facts = format!("{date}{reason}");
    let gap = if facts.is_empty() { "" } else { "   " };
    let _ = writeln!(out, "{BOLD}{}{BOLD:#}  {GREEN}{}{GREEN:#}{gap}{facts}", dag_run.dag_id, run.label());
    match run.origin {
        Origin::Events => {}
        Origin::Step if dag_run.run_type == DagRunType::Backfill => {
            let _ = writeln!(out, "  {DIM}of the backfill: {}{DIM:#}", dag_run.run_id);
        }
        Origin::Step => {
            let _ = writeln!(
                out,
                "  {DIM}a step of the scenario: {} run {}{DIM:#}",
                dag_run.run_type.value(),
                dag_run.run_id
            );
        }
        Origin::Given => {
            let _ = writeln!(out, "  {DIM}as given: {}{DIM:#}", dag_run.run_id);
        }
        Origin::Assumed if dag_run.run_type == DagRunType::DatasetTriggered => {
            let _ = writeln!(
                out,
                "  {YELLOW}assumed:{YELLOW:#} no update made this run, so it has no events; `--emit DATASET` makes one that has"
            );
        }
        Origin::Assumed if dag_run.partition_key.is_none() || dag_run.run_type != DagRunType::AssetTriggered => {
            let kind = dag_run.run_type.value();
            let _ = writeln!(
                out,
                "  {YELLOW}assumed:{YELLOW:#} nothing made this run; it is the {kind} run that the command asks for"
            );
        }
        Origin::Assumed => {
            let _ = writeln!(
                out,
                "  {YELLOW}assumed:{YELLOW:#} no event made this run; it is the one an event with this key would make"
            );
        }
    }
    if !dag_run.consumed_asset_events.is_empty() {
        let _ = writeln!(out, "  from {}", events(&dag_run.consumed_asset_events));
    }
    out.push('\n');
}

/// The events behind a run in one line.
fn events(events: &[AssetEventReference]) -> String {
    let name = |event: &AssetEventReference| match &event.partition_key {
        Some(key) => format!("{} {key:?}", event.asset.name),
        None => event.asset.name.clone(),
    };
    if events.len() <= EVENTS_SHOWN {
        return events.iter().map(name).collect::<Vec<_>>().join(", ");
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for event in events {
        let key = event.partition_key.as_deref().unwrap_or("no key");
        match groups.iter_mut().find(|(asset, _)| *asset == event.asset.name) {
            Some((_, keys)) => keys.push(key),
            None => groups.push((&event.asset.name, vec![key])),
        }
    }
    let group = |(asset, mut keys): (&str, Vec<&str>)| {
        keys.sort_unstable();
        match keys.as_slice() {
            [first, .., last] => format!("{} events of {asset}, {first:?} to {last:?}", keys.len()),
            _ => format!("{asset} {}", keys.iter().map(|key| format!("{key:?}")).collect::<String>()),
        }
    };
    groups.into_iter().map(group).collect::<Vec<_>>().join(", ")
}

fn write_field(
    out: &mut String,
    dag_id: &str,
    task: &TaskResult,
    field: &RenderedField,
    mask: &dyn Fn(&str) -> String,
) {
    if !field.rendered || !field.given {
        return;
    }
    let name = format!("{}.{}", task.label(), field.name);
    match &field.file {
        Some(file) => {
            let _ = writeln!(out, "  {BOLD}{name:<width$}{BOLD:#}{DIM}{file}{DIM:#}", width = FILE_COLUMN - 2);
        }
        None => {
            let _ = writeln!(out, "  {BOLD}{name}{BOLD:#}");
        }
    }
    match &field.value {
        Ok(value) => {
            for line in mask(&display(value)).split('\n') {
                if line.is_empty() {
                    let _ = writeln!(out, "  {DIM}|{DIM:#}");
                } else {
                    let _ = writeln!(out, "  {DIM}|{DIM:#} {line}");
                }
            }
        }
        Err(error) => {
            for line in field_error(dag_id, task, error, mask).lines() {
                let _ = writeln!(out, "  {line}");
            }
        }
    }
}

/// A field that could not be rendered: what Airflow would raise, where, and the lines around it.
pub fn field_error(dag_id: &str, task: &TaskResult, error: &FieldError, mask: &dyn Fn(&str) -> String) -> String {
    let template = &error.error;
    let message = mask(&format!("{}: {}", template.class, template.message));
    let path = error.shown.clone().unwrap_or_else(|| format!("{dag_id}.{}.{}", task.label(), error.path));
    let range =
        template.range.clone().or_else(|| template.line.and_then(|line| line_range(error.source.as_deref(), line)));
    match (&error.source, range) {
        (Some(source), Some(range)) => {
            let label = error.path.inner.is_empty().then(String::new).unwrap_or_else(|| format!("in {}", error.path));
            excerpt(
                &Excerpt {
                    severity: Severity::Error,
                    message: &message,
                    path: &path,
                    text: source,
                    range,
                    label: &label,
                    help: template.hint.as_deref(),
                },
                true,
            )
        }
        _ => {
            let help = template.hint.as_ref().map(|hint| format!("\n  help: {hint}")).unwrap_or_default();
            let place = if error.path.inner.is_empty() { String::new() } else { format!("\n  in {}", error.path) };
            format!("{RED}error:{RED:#} {message}{place}{help}\n")
        }
    }
}

fn line_range(source: Option<&str>, line: usize) -> Option<std::ops::Range<usize>> {
    let source = source?;
    let start: usize = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let text = source.get(start..)?.lines().next()?;
    let indent = text.len() - text.trim_start().len();
    Some(start + indent..start + text.len())
}

/// An instant as people read it: minutes unless there are seconds.
pub fn instant(at: DateTime<Utc>) -> String {
    if at.second() == 0 && at.nanosecond() == 0 {
        at.format("%Y-%m-%d %H:%M UTC").to_string()
    } else {
        at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
    }
}
