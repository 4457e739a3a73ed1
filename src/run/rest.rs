//! Runs as Airflow's REST API gives them: a `dagRun` body and its `upstreamAssetEvents`.

use crate::python::{PyErr, PyResult};

use super::{DagRun, Json, JsonMap};

/// What a REST body does not say and what was taken in its place, for people to read.
pub type Notes = Vec<String>;

/// The run of [`wire`].
///
/// # Errors
/// As [`wire`], and what no Dag run is.
pub fn dag_run(
    body: &Json,
    events: Option<&Json>,
    asset_extra: &dyn Fn(&str, &str) -> Option<JsonMap>,
) -> PyResult<(DagRun, Notes)> {
    let (wire, notes) = wire(body, events, asset_extra)?;
    DagRun::from_json(&Json::Object(wire)).map(|run| (run, notes))
}

/// A Dag run as a worker gets it (`DagRun` of a `TIRunContext`), from the body of
/// `GET /dags/{dag_id}/dagRuns/{dag_run_id}`, and from that of its `upstreamAssetEvents`.
///
/// The run is taken as its tasks saw it: running, without an end. `asset_extra` knows the extra of an asset by name and URI,
/// which the bodies do not hold.
///
/// # Errors
/// Bodies that are none.
pub fn wire(
    body: &Json,
    events: Option<&Json>,
    asset_extra: &dyn Fn(&str, &str) -> Option<JsonMap>,
) -> PyResult<(JsonMap, Notes)> {
    let Json::Object(map) = body else {
        return Err(PyErr::unsupported("a dagRun body is an object"));
    };
    let mut notes = Notes::new();
    let mut wire = JsonMap::new();
    let mut take = |to: &str, from: &str| {
        wire.insert(to.to_owned(), map.get(from).cloned().unwrap_or(Json::Null));
    };
    take("run_id", "dag_run_id");
    for field in [
        "dag_id",
        "logical_date",
        "data_interval_start",
        "data_interval_end",
        "run_after",
        "start_date",
        "run_type",
        "conf",
        "triggering_user_name",
        "partition_key",
        "partition_date",
        "note",
    ] {
        take(field, field);
    }
    wire.insert("end_date".to_owned(), Json::Null);
    wire.insert("state".to_owned(), Json::from("running"));
    if map.get("state").and_then(Json::as_str).is_some_and(|state| state != "running") {
        notes.push("the run is rendered as its tasks saw it: `dag_run.state` running, no `end_date`".to_owned());
    }
    let consumed = match events {
        None => {
            if map.get("run_type").and_then(Json::as_str) == Some("asset_triggered") {
                notes.push("no upstreamAssetEvents given: the run has no triggering events".to_owned());
            }
            Vec::new()
        }
        Some(events) => consumed(events, asset_extra, &mut notes)?,
    };
    wire.insert("consumed_asset_events".to_owned(), Json::Array(consumed));
    Ok((wire, notes))
}

fn consumed(
    body: &Json,
    asset_extra: &dyn Fn(&str, &str) -> Option<JsonMap>,
    notes: &mut Notes,
) -> PyResult<Vec<Json>> {
    let Some(events) = body.get("asset_events").and_then(Json::as_array) else {
        return Err(PyErr::unsupported("an upstreamAssetEvents body has a list `asset_events`"));
    };
    let mut out = Vec::with_capacity(events.len());
    for event in events {
        let text = |field: &str| event.get(field).and_then(Json::as_str).unwrap_or_default();
        let (name, uri) = (text("name"), text("uri"));
        let extra = asset_extra(name, uri).unwrap_or_else(|| {
            let note = format!("the body does not hold the extra of asset `{name}`: taken as empty");
            if !notes.contains(&note) {
                notes.push(note);
            }
            JsonMap::new()
        });
        let mut asset = JsonMap::new();
        for field in ["name", "uri"] {
            asset.insert(field.to_owned(), event.get(field).cloned().unwrap_or(Json::Null));
        }
        asset.insert("extra".to_owned(), Json::Object(extra));
        let mut wire = JsonMap::new();
        wire.insert("asset".to_owned(), Json::Object(asset));
        for field in [
            "extra",
            "source_task_id",
            "source_dag_id",
            "source_run_id",
            "source_map_index",
            "timestamp",
            "partition_key",
        ] {
            wire.insert(field.to_owned(), event.get(field).cloned().unwrap_or(Json::Null));
        }
        wire.insert("source_aliases".to_owned(), Json::Array(Vec::new()));
        out.push(Json::Object(wire));
    }
    Ok(out)
}
