//! Runs of Airflow 2.10 that no scenario made: asked for by date, or given as its REST API gives them.

use serde_json::{Map, Value as Json, json};

use super::assumed::{Asked, GivenRun};
use super::model::{Dag, Pipeline};
use super::outcome::Origin;
use super::play::PlayedRun;
use super::play_datasets::{interval_text, of_step, played_run};
use super::reader::parse_instant;
use super::scenario::{ProducerRun, Scenario};
use crate::python::{PyErr, PyResult};
use crate::run::{DagRunType, Instant};
use crate::schedule::datasets::DatasetRun;
use crate::timetable::{DataInterval, isoformat, run_id};

/// The run of a Dag at a logical date: the scheduled one where the timetable has one there, else one that somebody triggers.
/// Without a date, a Dag on datasets gets the run that an update now would start.
pub(super) fn assumed(scenario: &Scenario, dag: &Dag, asked: &Asked) -> PyResult<PlayedRun> {
    if asked.partition_key.is_some() {
        return Err(PyErr::unsupported("Airflow 2.10 has no partitions: no partition key"));
    }
    let clock = scenario.clock();
    let by_datasets = dag.timetable.asset_condition().is_some();
    let kind = match asked.run_type {
        Some(
            kind @ (DagRunType::Manual | DagRunType::Scheduled | DagRunType::Backfill | DagRunType::DatasetTriggered),
        ) => Some(kind),
        Some(other) => return Err(PyErr::unsupported(format!("Airflow 2.10 has no {} runs", other.value()))),
        None if by_datasets && asked.logical_date.is_none() => Some(DagRunType::DatasetTriggered),
        None => None,
    };
    let step = ProducerRun {
        dag_id: dag.dag_id.clone(),
        partition_key: None,
        logical_date: asked.logical_date,
        conf: Map::new(),
        tasks: Vec::new(),
        partition: None,
    };
    let mut run = of_step(dag, &step, clock)?;
    if let Some(kind) = kind {
        kind.value().clone_into(&mut run.run_type);
        run.run_id = run_id(kind.value(), &isoformat(run.logical_date));
        run.external_trigger = kind == DagRunType::Manual;
        if kind == DagRunType::DatasetTriggered {
            run.data_interval = Some(DataInterval::exact(run.logical_date));
        }
    }
    played_run(&run, Vec::new(), scenario.conf.clone(), Origin::Assumed, interval_text(&run))
}

/// Reads the body of `/api/v1/dags/{dag_id}/dagRuns/{dag_run_id}`, with that of its `upstreamDatasetEvents`.
pub(super) fn given(pipeline: &Pipeline, document: &Json, events: Option<&Json>) -> PyResult<GivenRun> {
    if document.get("dag_run_id").is_none() {
        return Err(PyErr::unsupported("a run without `dag_run_id`")
            .with_hint("give the body of a REST dagRun of Airflow 2.10, with its upstreamDatasetEvents by --events"));
    }
    let text = |name: &str| -> PyResult<String> {
        let found = document.get(name).and_then(Json::as_str).map(str::to_owned);
        found.ok_or_else(|| PyErr::unsupported(format!("a dagRun without `{name}`")))
    };
    let date = |value: &Json, name: &str| -> PyResult<Option<Instant>> {
        match value.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(found) => match found.as_str().and_then(parse_instant) {
                Some(at) => Ok(Some(at)),
                None => Err(PyErr::unsupported(format!("`{name}` is no date: {found}"))),
            },
        }
    };
    let logical = date(document, "logical_date")?.or(date(document, "execution_date")?);
    let interval = (date(document, "data_interval_start")?, date(document, "data_interval_end")?);
    let run = DatasetRun {
        dag_id: text("dag_id")?,
        run_id: text("dag_run_id")?,
        run_type: text("run_type")?,
        logical_date: logical.ok_or_else(|| PyErr::unsupported("a dagRun without `logical_date`"))?,
        data_interval: interval.0.zip(interval.1).map(|(start, end)| DataInterval { start, end }),
        external_trigger: document.get("external_trigger").and_then(Json::as_bool).unwrap_or(false),
        state: "running".to_owned(),
        queued_at: None,
        start_date: date(document, "start_date")?,
        end_date: date(document, "end_date")?,
        consumed: Vec::new(),
    };
    if !matches!(run.run_type.as_str(), "manual" | "scheduled" | "backfill" | "dataset_triggered") {
        return Err(PyErr::unsupported(format!("Airflow 2.10 has no run type {:?}", run.run_type)));
    }
    let conf = document.get("conf").and_then(Json::as_object).cloned().unwrap_or_default();
    let body = events
        .or_else(|| document.get("upstreamDatasetEvents"))
        .or_else(|| document.get("dataset_events").map(|_| document));
    let consumed = match body.and_then(|body| body.get("dataset_events").or(Some(body))).and_then(Json::as_array) {
        Some(items) => items.iter().map(|item| event(pipeline, item)).collect::<PyResult<Vec<Json>>>()?,
        None if run.run_type == "dataset_triggered" => {
            return Err(PyErr::unsupported("a run that datasets triggered, without its events")
                .with_hint("add the body of its upstreamDatasetEvents by --events"));
        }
        None => Vec::new(),
    };
    let total = body.and_then(|body| body.get("total_entries")).and_then(Json::as_u64);
    if total.is_some_and(|total| total != consumed.len() as u64) {
        return Err(PyErr::unsupported(format!(
            "{} events of {} are given",
            consumed.len(),
            total.unwrap_or_default()
        )));
    }
    let mut scenario = Scenario::of_steps("run", Vec::new());
    scenario.now = Some(run.start_date.unwrap_or(run.logical_date));
    let mut notes = Vec::new();
    if !consumed.is_empty() {
        notes.push("`source_dag_run` of the events is not in a dagRun: a template that reads it is refused".to_owned());
    }
    let played = played_run(&run, consumed, conf, Origin::Given, interval_text(&run))?;
    Ok(GivenRun { run: played, scenario, task_id: None, notes })
}

fn event(pipeline: &Pipeline, item: &Json) -> PyResult<Json> {
    let wants = |name: &str| PyErr::unsupported(format!("a dataset event without `{name}`"));
    let uri = item.get("dataset_uri").and_then(Json::as_str).ok_or_else(|| wants("dataset_uri"))?;
    let name = pipeline.assets.iter().find(|def| def.asset.uri == uri).map_or(uri, |def| def.key.as_str());
    let timestamp = item.get("timestamp").and_then(Json::as_str).and_then(parse_instant);
    Ok(json!({
        "asset": {"name": name, "uri": uri, "extra": {}},
        "extra": item.get("extra").filter(|extra| extra.is_object()).cloned().unwrap_or_else(|| json!({})),
        "source_task_id": item.get("source_task_id"),
        "source_dag_id": item.get("source_dag_id"),
        "source_run_id": item.get("source_run_id"),
        "source_map_index": item.get("source_map_index").filter(|index| index.is_i64()).cloned().unwrap_or_else(|| (-1).into()),
        "source_aliases": [],
        "timestamp": isoformat(timestamp.ok_or_else(|| wants("timestamp"))?),
        "partition_key": null,
    }))
}
