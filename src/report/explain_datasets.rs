//! Why a run of Airflow 2.10 is what it is: the updates behind it, what made it ready, its dates.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value as Json, json};

use super::explain::Wanted;
use super::render::instant;
use crate::asset::AssetCondition;
use crate::pipeline::DatasetPlay;
use crate::schedule::datasets::{DatasetEvent, DatasetRun};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();

/// Explains runs that datasets triggered, Dags that wait, and updates that nothing consumes. `None` when nothing is what is
/// asked for.
pub fn explain_datasets_text(play: &DatasetPlay, wanted: &Wanted<'_>) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for run in play.scheduler.runs().iter().filter(|run| is_wanted(wanted, &run.dag_id, Some(&run.run_id))) {
        parts.push(if run.run_type == "dataset_triggered" { triggered(play, run) } else { by_step(play, run) });
    }
    if wanted.what.is_none() {
        for pending in play.pending().iter().filter(|pending| is_wanted(wanted, &pending.dag_id, None)) {
            let mut out = format!("{BOLD}{}{BOLD:#}  waits\n", pending.dag_id);
            if let Some((_, condition)) = play.scheduler.conditions().find(|(dag_id, _)| *dag_id == pending.dag_id) {
                let _ = writeln!(out, "  scheduled on {}", condition_text(play, condition));
            }
            for asset in &pending.assets {
                let sign = if asset.satisfied { '+' } else { '-' };
                let _ = writeln!(out, "  {sign} {}: {}", asset.asset.name, asset.reason);
            }
            parts.push(out);
        }
        for event in play.scheduler.events().iter().filter(|event| play.scheduler.listeners(event).next().is_none()) {
            if wanted.dags.is_empty() {
                parts.push(format!("{}  {DIM}no Dag consumes it{DIM:#}\n", event_text(play, event)));
            }
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The run ids that can be asked for.
pub fn explainable_datasets(play: &DatasetPlay) -> Vec<String> {
    play.scheduler.runs().iter().map(|run| run.run_id.clone()).collect()
}

/// The same as data: `runs` with their events, and what is `queued`.
pub fn explain_datasets_json(play: &DatasetPlay, wanted: &Wanted<'_>) -> Option<Json> {
    let chosen = play.scheduler.runs().iter().filter(|run| is_wanted(wanted, &run.dag_id, Some(&run.run_id)));
    let runs: Vec<Json> = chosen
        .map(|run| {
            let events: Vec<Json> = consumed(play, run).map(|event| event_json(play, event)).collect();
            json!({
                "dag_id": run.dag_id,
                "run_id": run.run_id,
                "run_type": run.run_type,
                "logical_date": run.logical_date.to_rfc3339(),
                "data_interval_start": run.data_interval.map(|interval| interval.start.to_rfc3339()),
                "data_interval_end": run.data_interval.map(|interval| interval.end.to_rfc3339()),
                "consumed_dataset_events": events,
            })
        })
        .collect();
    if runs.is_empty() && wanted.what.is_some() {
        return None;
    }
    let queued = play.scheduler.queue().iter().filter(|row| is_wanted(wanted, &row.dag_id, None));
    let queued: Vec<Json> = queued
        .map(|row| {
            let uri = play.scheduler.uri(row.asset_id);
            json!({"dag_id": row.dag_id, "uri": uri, "created_at": row.created_at.to_rfc3339()})
        })
        .collect();
    Some(json!({"profile": "airflow-2.10", "runs": runs, "queued": queued}))
}

fn is_wanted(wanted: &Wanted<'_>, dag_id: &str, run_id: Option<&str>) -> bool {
    let dag = wanted.dags.is_empty() || wanted.dags.iter().any(|dag| dag == dag_id);
    dag && wanted.what.is_none_or(|what| run_id == Some(what))
}

fn consumed<'p>(play: &'p DatasetPlay, run: &'p DatasetRun) -> impl Iterator<Item = &'p DatasetEvent> {
    play.scheduler.events().iter().filter(|event| run.consumed.contains(&event.id))
}

fn triggered(play: &DatasetPlay, run: &DatasetRun) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}  {GREEN}{}{GREEN:#}\n", run.dag_id, run.run_id);
    if let Some((_, condition)) = play.scheduler.conditions().find(|(dag_id, _)| *dag_id == run.dag_id) {
        let _ = writeln!(out, "  scheduled on {}", condition_text(play, condition));
    }
    let before = play
        .scheduler
        .runs()
        .iter()
        .filter(|other| other.dag_id == run.dag_id && other.run_type == "dataset_triggered")
        .map(|other| other.logical_date)
        .filter(|date| *date < run.logical_date)
        .max();
    let since = before.map(|date| format!(" after the run of {}", instant(date))).unwrap_or_default();
    let _ = writeln!(out, "  events{since}, up to its logical date:");
    for event in consumed(play, run) {
        let _ = writeln!(out, "    {}", event_text(play, event));
    }
    let _ = writeln!(out, "  logical_date {}: when the last of its datasets was queued", instant(run.logical_date));
    let _ = writeln!(out, "  data interval {}: {}", interval(run), why_interval(play, run));
    out
}

/// From which source runs a data interval comes.
fn why_interval(play: &DatasetPlay, run: &DatasetRun) -> String {
    let runs = play.scheduler.runs();
    let source = |event: &DatasetEvent| {
        let source = event.source.as_ref()?;
        runs.iter().find(|run| run.dag_id == source.dag_id && run.run_id == source.run_id)
    };
    let mut dags: Vec<&str> = consumed(play, run).filter_map(source).map(|run| run.dag_id.as_str()).collect();
    dags.dedup();
    let without = consumed(play, run).any(|event| source(event).is_none());
    let by_time = "the time of updates that no run made";
    match (dags.is_empty(), without) {
        (false, false) => format!("from the first start to the last end of the source runs ({})", dags.join(", ")),
        (false, true) => format!("over the source runs ({}) and {by_time}", dags.join(", ")),
        (true, true) => by_time.to_owned(),
        (true, false) => "no event".to_owned(),
    }
}

fn by_step(play: &DatasetPlay, run: &DatasetRun) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}  {GREEN}{}{GREEN:#}\n", run.dag_id, run.run_id);
    let _ = writeln!(
        out,
        "  a {} run; logical_date {}, data interval {}",
        run.run_type,
        instant(run.logical_date),
        interval(run)
    );
    let emitted = play.scheduler.events().iter().filter(|event| {
        event.source.as_ref().is_some_and(|source| source.dag_id == run.dag_id && source.run_id == run.run_id)
    });
    for event in emitted {
        let heard: Vec<&str> = play.scheduler.listeners(event).collect();
        let heard = if heard.is_empty() { "nothing".to_owned() } else { heard.join(", ") };
        let name = play.scheduler.uri(event.dataset_id).map(|uri| play.key(uri).name).unwrap_or_default();
        let _ = writeln!(out, "  updated {name}: queued for {heard}");
    }
    out
}

fn interval(run: &DatasetRun) -> String {
    match run.data_interval {
        Some(interval) => format!("{} to {}", instant(interval.start), instant(interval.end)),
        None => "none".to_owned(),
    }
}

fn event_text(play: &DatasetPlay, event: &DatasetEvent) -> String {
    let name = play.scheduler.uri(event.dataset_id).map(|uri| play.key(uri).name).unwrap_or_default();
    let source = match &event.source {
        Some(source) => format!("{}.{} of {}", source.dag_id, source.task_id, source.run_id),
        None => "no task".to_owned(),
    };
    let through = match event.aliases.as_slice() {
        [] => String::new(),
        aliases => format!(", through the alias {}", aliases.join(", ")),
    };
    format!("{}  {name}  by {source}{through}", instant(event.timestamp))
}

fn event_json(play: &DatasetPlay, event: &DatasetEvent) -> Json {
    let source = event.source.as_ref();
    json!({
        "id": event.id,
        "uri": play.scheduler.uri(event.dataset_id),
        "timestamp": event.timestamp.to_rfc3339(),
        "extra": event.extra,
        "source_dag_id": source.map(|source| &source.dag_id),
        "source_task_id": source.map(|source| &source.task_id),
        "source_run_id": source.map(|source| &source.run_id),
        "source_aliases": event.aliases,
    })
}

fn condition_text(play: &DatasetPlay, condition: &AssetCondition) -> String {
    let join = |parts: &[AssetCondition], sign: &str| match parts {
        [] => "nothing (an alias without datasets)".to_owned(),
        [one] => condition_text(play, one),
        many => format!("({})", many.iter().map(|part| condition_text(play, part)).collect::<Vec<_>>().join(sign)),
    };
    match condition {
        AssetCondition::Asset(asset) => play.key(&asset.uri).name,
        AssetCondition::Alias(alias) => format!("DatasetAlias({:?})", alias.name),
        AssetCondition::Ref(reference) => reference.text().to_owned(),
        AssetCondition::All(parts) => join(parts, " & "),
        AssetCondition::Any(parts) => join(parts, " | "),
    }
}
