//! Rendered runs as JSON.

use serde_json::{Map, Value as Json, json};

use super::render::Shown;
use crate::pipeline::{Origin, Outcome, RunOutcome, TaskResult};
use crate::render::{RenderedField, repr, to_json};

/// A played scenario as one object.
pub fn render_json(outcome: &Outcome, shown: &Shown<'_>, mask: &dyn Fn(&str) -> String) -> Json {
    let runs: Vec<Json> = outcome
        .runs
        .iter()
        .filter(|run| shown.dag(&run.run.dag_id))
        .map(|run| {
            let mut object = run_json(run);
            let tasks: Vec<Json> = run
                .tasks
                .iter()
                .filter(|task| shown.task(&task.task_id))
                .map(|task| {
                    let fields: Map<String, Json> = task
                        .fields
                        .iter()
                        .filter(|field| shown.field(&field.name))
                        .map(|field| (field.name.clone(), Json::Object(field_json(field, mask))))
                        .collect();
                    let mut object = json!({
                        "task_id": task.task_id,
                        "map_index": task.map_index,
                        "fields": fields,
                        "assumed": task.assumed,
                    });
                    if !task.deprecations.is_empty() {
                        object["deprecations"] = task.deprecations.clone().into();
                    }
                    object
                })
                .collect();
            object.insert("tasks".to_owned(), tasks.into());
            Json::Object(object)
        })
        .collect();
    let mut object = Map::new();
    object.insert("pipeline".to_owned(), outcome.pipeline.clone().into());
    object.insert("scenario".to_owned(), outcome.scenario.clone().into());
    object.insert("runs".to_owned(), runs.into());
    resolved(&mut object, outcome, mask);
    Json::Object(object)
}

/// The runs of a played scenario without their text, what is pending, and the log.
pub fn resolve_json(outcome: &Outcome, shown: &Shown<'_>, mask: &dyn Fn(&str) -> String) -> Json {
    let runs = outcome.runs.iter().filter(|run| shown.dag(&run.run.dag_id)).map(|run| Json::Object(run_json(run)));
    let mut object = Map::new();
    object.insert("pipeline".to_owned(), outcome.pipeline.clone().into());
    object.insert("scenario".to_owned(), outcome.scenario.clone().into());
    object.insert("runs".to_owned(), runs.collect());
    resolved(&mut object, outcome, mask);
    Json::Object(object)
}

fn resolved(object: &mut Map<String, Json>, outcome: &Outcome, mask: &dyn Fn(&str) -> String) {
    let pending = outcome.pending.iter().map(|pending| {
        let assets: Vec<Json> = pending
            .assets
            .iter()
            .map(|asset| {
                json!({
                    "name": asset.asset.name,
                    "uri": asset.asset.uri,
                    "satisfied": asset.satisfied,
                    "received": asset.received,
                    "missing": asset.missing,
                    "reason": asset.reason,
                })
            })
            .collect();
        json!({
            "dag_id": pending.dag_id,
            "partition_key": pending.partition_key,
            "partition_date": pending.partition_date.map(|date| date.to_rfc3339()),
            "assets": assets,
        })
    });
    object.insert("pending".to_owned(), pending.collect());
    let log =
        outcome.log.iter().map(|log| json!({"event": log.event, "extra": mask(&log.extra), "source": log.source}));
    object.insert("log".to_owned(), log.collect());
    object.insert("warnings".to_owned(), outcome.warnings.iter().map(|warning| Json::from(mask(warning))).collect());
}

/// One line a field: pipeline, scenario, run, task, field, and the text or what went wrong.
pub fn render_jsonl(outcome: &Outcome, shown: &Shown<'_>, mask: &dyn Fn(&str) -> String) -> Vec<Json> {
    let mut lines = Vec::new();
    for run in outcome.runs.iter().filter(|run| shown.dag(&run.run.dag_id)) {
        for task in run.tasks.iter().filter(|task| shown.task(&task.task_id)) {
            for field in task.fields.iter().filter(|field| shown.field(&field.name)) {
                lines.push(Json::Object(line(outcome, run, task, field, mask)));
            }
        }
    }
    lines
}

fn line(
    outcome: &Outcome,
    run: &RunOutcome,
    task: &TaskResult,
    field: &RenderedField,
    mask: &dyn Fn(&str) -> String,
) -> Map<String, Json> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Json| object.insert(name.to_owned(), value);
    put("pipeline", outcome.pipeline.clone().into());
    put("scenario", outcome.scenario.clone().into());
    put("dag_id", run.run.dag_id.clone().into());
    put("run_id", run.run.run_id.clone().into());
    put("partition_key", run.run.partition_key.clone().into());
    put("partition_date", run.run.partition_date.map(|date| date.to_rfc3339()).into());
    put("task_id", task.task_id.clone().into());
    put("map_index", task.map_index.into());
    put("field", field.name.clone().into());
    put("assumed", task.assumed.clone().into());
    object.extend(field_json(field, mask));
    object
}

/// A run without its tasks.
pub fn run_json(run: &RunOutcome) -> Map<String, Json> {
    let dag_run = &run.run;
    let events: Vec<Json> = dag_run
        .consumed_asset_events
        .iter()
        .map(|event| {
            json!({
                "asset": {"name": event.asset.name, "uri": event.asset.uri},
                "partition_key": event.partition_key,
                "timestamp": event.timestamp.to_rfc3339(),
                "source_dag_id": event.source_dag_id,
                "source_task_id": event.source_task_id,
                "source_run_id": event.source_run_id,
                "extra": event.extra,
            })
        })
        .collect();
    let mut object = Map::new();
    let mut put = |name: &str, value: Json| object.insert(name.to_owned(), value);
    put("dag_id", dag_run.dag_id.clone().into());
    put("run_id", dag_run.run_id.clone().into());
    put("run_type", dag_run.run_type.value().into());
    put("origin", origin(run.origin).into());
    put("partition_key", dag_run.partition_key.clone().into());
    put("partition_date", dag_run.partition_date.map(|date| date.to_rfc3339()).into());
    put("date_reason", run.date_reason.clone().into());
    put("logical_date", dag_run.logical_date.map(|date| date.to_rfc3339()).into());
    put("data_interval_start", dag_run.data_interval_start.map(|date| date.to_rfc3339()).into());
    put("data_interval_end", dag_run.data_interval_end.map(|date| date.to_rfc3339()).into());
    put("triggering_events", events.into());
    object
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Events => "events",
        Origin::Step => "step",
        Origin::Given => "given",
        Origin::Assumed => "assumed",
    }
}

fn field_json(field: &RenderedField, mask: &dyn Fn(&str) -> String) -> Map<String, Json> {
    let mut object = Map::new();
    if let Some(file) = &field.file {
        object.insert("file".to_owned(), file.clone().into());
    }
    match &field.value {
        Ok(value) => {
            match to_json(value) {
                Some(json) => object.insert("value".to_owned(), masked(json, mask)),
                None => object.insert("repr".to_owned(), mask(&repr(value)).into()),
            };
        }
        Err(error) => {
            let template = &error.error;
            let json = json!({
                "kind": template.class,
                "message": mask(&template.message),
                "path": error.path.to_string(),
                "template": template.template.clone().or_else(|| error.file.clone()),
                "line": template.line,
                "hint": template.hint,
            });
            object.insert("error".to_owned(), json);
        }
    }
    object
}

/// Masks every string of a value; names of members stay.
pub fn masked(value: Json, mask: &dyn Fn(&str) -> String) -> Json {
    match value {
        Json::String(text) => Json::String(mask(&text)),
        Json::Array(items) => items.into_iter().map(|item| masked(item, mask)).collect(),
        Json::Object(map) => map.into_iter().map(|(key, item)| (key, masked(item, mask))).collect(),
        other => other,
    }
}
