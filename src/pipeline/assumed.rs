//! Runs that no scenario made: asked for by key, or given as Airflow gives them.

use std::sync::Arc;

use chrono::{DateTime, SubsecRound, Utc};
use serde_json::{Map, Value as Json, json};

use super::assumed_datasets;
use super::model::{Dag, Pipeline, Profile};
use super::outcome::Origin;
use super::play::{PlayedRun, scheduled_run, suffix};
use super::scenario::Scenario;
use crate::python::{PyErr, PyResult};
use crate::run::{self, DagRun, DagRunType};
use crate::timetable::{DataInterval, RunIdParts, isoformat};

/// What is asked of a run that nobody made.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// `--partition-key`
    pub partition_key: Option<String>,
    /// `--run-type`
    pub run_type: Option<DagRunType>,
    /// `--logical-date`
    pub logical_date: Option<DateTime<Utc>>,
}

/// The run of a Dag that an asset event would have made for a key: `asset_triggered`, no logical date, no events, the date
/// decoded by the mappers. Dags that assets do not trigger get the run their timetable would make.
///
/// # Errors
/// What the timetable raises for a key it cannot read.
pub fn assumed_run(pipeline: &Pipeline, scenario: &Scenario, dag: &Dag, asked: &Asked) -> PyResult<PlayedRun> {
    if pipeline.profile == Profile::Airflow210 {
        return assumed_datasets::assumed(scenario, dag, asked);
    }
    if asked.run_type == Some(DagRunType::DatasetTriggered) {
        return Err(PyErr::unsupported("Airflow 3 has no dataset_triggered runs: they are asset_triggered there"));
    }
    let timetable = &dag.timetable;
    let now = scenario.clock().trunc_subsecs(6);
    let by_assets = timetable.asset_condition().is_some();
    let mut partition_date = match &asked.partition_key {
        Some(key) => timetable.resolve_partition_date(Some(key))?.map(|moment| moment.instant()),
        None => None,
    };
    let run_type = asked.run_type.unwrap_or(match (by_assets, &asked.partition_key) {
        // A run made from asset events never has a logical date; one that has was triggered by hand.
        (true, _) if asked.logical_date.is_some() => DagRunType::Manual,
        (true, _) => DagRunType::AssetTriggered,
        (false, Some(_)) if timetable.partitioned() && !timetable.partitioned_at_runtime() => DagRunType::Scheduled,
        _ => DagRunType::Manual,
    });
    let mut run_after = asked.logical_date.unwrap_or(now);
    let mut interval: Option<DataInterval> = match asked.logical_date {
        Some(date) => Some(timetable.infer_manual_data_interval(date)?),
        None => None,
    };
    if let (Some(key), Some(date), None, DagRunType::Scheduled | DagRunType::Backfill) =
        (&asked.partition_key, partition_date, asked.logical_date, run_type)
        && let Some(info) = scheduled_run(timetable.as_ref(), key, date)
    {
        run_after = info.run_after;
        interval = info.data_interval;
        partition_date = info.partition_date;
    }
    let date_reason = match (&asked.partition_key, partition_date) {
        (None, _) => String::new(),
        (Some(_), Some(_)) => format!("{}; decoded", mappers(dag)),
        (Some(_), None) if by_assets && timetable.partitioned() => {
            format!("{}; no date in the key; --emit ASSET=KEY@DATE gives one", mappers(dag))
        }
        (Some(_), None) => format!("{} reads no date from a key", timetable.class_name()),
    };
    let parts = RunIdParts {
        run_type: run_type.value(),
        run_after,
        data_interval: interval,
        partition_key: asked.partition_key.as_deref(),
        random: &suffix(&[&pipeline.name, "assumed", &dag.dag_id, asked.partition_key.as_deref().unwrap_or("")]),
    };
    let wire = json!({
        "dag_id": dag.dag_id,
        "run_id": timetable.generate_run_id(&parts),
        "logical_date": asked.logical_date.map(isoformat),
        "data_interval_start": interval.map(|interval| isoformat(interval.start)),
        "data_interval_end": interval.map(|interval| isoformat(interval.end)),
        "run_after": isoformat(run_after),
        "start_date": isoformat(run_after),
        "end_date": null,
        "clear_number": 0,
        "run_type": run_type.value(),
        "state": "running",
        "conf": scenario.conf,
        "consumed_asset_events": [],
        "partition_key": asked.partition_key,
        "partition_date": partition_date.map(isoformat),
    });
    Ok(PlayedRun { run: Arc::new(DagRun::from_json(&wire)?), wire, origin: Origin::Assumed, date_reason })
}

/// The classes of a Dag's mappers, or its timetable's class.
fn mappers(dag: &Dag) -> String {
    let mut names: Vec<String> = Vec::new();
    for asset in dag.timetable.asset_condition().map(|condition| condition.assets()).unwrap_or_default() {
        if let Ok(mapper) = dag.timetable.get_partition_mapper(&asset.name, &asset.uri) {
            let name = mapper.class_name().to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() { dag.timetable.class_name().to_owned() } else { names.join(", ") }
}

/// A run as Airflow gives it, and what its document says besides.
#[derive(Debug)]
pub struct GivenRun {
    /// The run.
    pub run: PlayedRun,
    /// Variables, connections, XComs and the task instance's numbers, as a scenario holds them.
    pub scenario: Scenario,
    /// The task the document is about, if it names one.
    pub task_id: Option<String>,
    /// What the document does not say, and what was taken in its place.
    pub notes: Vec<String>,
}

/// Reads a run: a `TIRunContext`, a run document with `dag_run` and `ti`, or a REST `dagRun` body with its
/// `upstreamAssetEvents`.
///
/// # Errors
/// `ValidationError` as Airflow raises it; `Unsupported` for what is no run.
pub fn given_run(pipeline: &Pipeline, document: &Json, events: Option<&Json>) -> PyResult<GivenRun> {
    if pipeline.profile == Profile::Airflow210 {
        return assumed_datasets::given(pipeline, document, events);
    }
    let mut scenario = Scenario::of_steps("run", Vec::new());
    if document.get("dag_run_id").is_some() {
        let extra = |name: &str, uri: &str| {
            let def = pipeline.assets.iter().find(|def| def.asset.name == name && def.asset.uri == uri)?;
            def.asset.extra.as_object().cloned()
        };
        // A scenario's `runs` hold both bodies in one.
        let inside = document.get("upstreamAssetEvents").or_else(|| document.get("asset_events").map(|_| document));
        let (run, notes) = run::rest::dag_run(document, events.or(inside), &extra)?;
        scenario.now = Some(run.start_date.unwrap_or(run.run_after));
        return Ok(GivenRun { run: given(run), scenario, task_id: None, notes });
    }
    let Some(dag_run) = document.get("dag_run") else {
        return Err(PyErr::unsupported("a run without `dag_run` or `dag_run_id`")
            .with_hint("give a TIRunContext, or the body of a REST dagRun with its upstreamAssetEvents by --events"));
    };
    let section = |name: &str| -> PyResult<Map<String, Json>> {
        match document.get(name) {
            None | Some(Json::Null) => Ok(Map::new()),
            Some(Json::Object(map)) => Ok(map.clone()),
            // A TIRunContext lists variables and connections that are made for tests; it is empty in practice.
            Some(Json::Array(items)) if items.is_empty() => Ok(Map::new()),
            Some(_) => Err(PyErr::unsupported(format!("`{name}` of a run that is no object"))),
        }
    };
    for refused in ["params", "user_macros"] {
        if !section(refused)?.is_empty() {
            return Err(PyErr::unsupported(format!("`{refused}` of a run: they belong into the pipeline file")));
        }
    }
    scenario.variables = section("variables")?;
    scenario.connections = section("connections")?;
    scenario.xcom = section("xcom")?;
    scenario.prev_success = section("prev_success")?;
    let ti = section("ti")?;
    let task_id = ti.get("task_id").and_then(Json::as_str).map(str::to_owned);
    scenario.ti = ti.into_iter().filter(|(name, _)| name != "task_id").collect();
    if let Some(max_tries) = document.get("max_tries") {
        scenario.ti.entry("max_tries").or_insert_with(|| max_tries.clone());
    }
    let run = DagRun::from_json(dag_run)?;
    scenario.now = Some(run.start_date.unwrap_or(run.run_after));
    let mut played = given(run);
    played.wire = dag_run.clone();
    Ok(GivenRun { run: played, scenario, task_id, notes: Vec::new() })
}

fn given(run: DagRun) -> PlayedRun {
    let date_reason = if run.partition_date.is_some() || run.partition_key.is_some() { "as given" } else { "" };
    PlayedRun { run: Arc::new(run), wire: Json::Null, origin: Origin::Given, date_reason: date_reason.to_owned() }
}
