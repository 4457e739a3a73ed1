//! The situation in which Airflow 2.10 renders a task instance of a pipeline: what its metadata database would hold.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::datasets::schedule_of;
use super::instance::{Renderer, declared_instances};
use super::model::{Dag, Pipeline, Task};
use super::play::PlayedRun;
use super::play_datasets::DatasetPlay;
use super::scenario::Scenario;
use crate::asset::AssetCondition;
use crate::context::airflow2::{EventRow, Item, Previous, RunRow, TaskRow, World, XComs};
use crate::pipeline::Origin;
use crate::pipeline::reader::parse_instant;
use crate::python::{PyErr, PyResult};
use crate::render::FieldValue;
use crate::run::DagRunType;
use crate::schedule::datasets::DatasetRun;

/// What the `source` of an event does not say of its run.
static UNKNOWN_OF_SOURCES: [&str; 9] =
    ["state", "get_state", "queued_at", "start_date", "end_date", "conf", "creating_job_id", "note", "clear_number"];

impl Renderer<'_> {
    /// The situation of a task instance.
    ///
    /// # Errors
    /// `Unsupported` for a run without a logical date or data interval: Airflow 2.10 has none.
    pub(super) fn world(&self, dag: &Dag, task: &Task, run: &PlayedRun, map_index: i64) -> PyResult<World> {
        let empty = Arc::default();
        let play: &Arc<DatasetPlay> = self.datasets.as_ref().unwrap_or(&empty);
        let (pipeline, scenario) = (self.pipeline, self.scenario);
        let given = run.origin == Origin::Given;
        let own = self.own_run(play, run)?;
        let consumed = play
            .scheduler
            .runs()
            .iter()
            .find(|known| known.dag_id == own.dag_id && known.run_id == own.run_id)
            .map(|known| known.consumed.clone())
            .unwrap_or_default();
        let scenario_ti = |name: &str| scenario.ti.get(name).and_then(Json::as_i64);
        let mut datasets: Vec<(String, Map<String, Json>)> =
            play.scheduler.datasets().iter().map(|row| (row.uri.clone(), extra_of(pipeline, &row.uri))).collect();
        let mut events = stored_events(play, &consumed);
        if given {
            events = given_events(pipeline, run, &mut datasets);
        }
        Ok(World {
            now: self.now,
            dag_id: dag.dag_id.clone(),
            unknown: [
                super::unknown::of_dag(dag).into_keys().collect(),
                super::unknown::of_task(dag, task).into_keys().chain(not_text(dag, task)).collect(),
            ],
            schedule: schedule_of(dag),
            start_date: dag.start_date,
            end_date: dag.end_date,
            zone_name: dag.timezone.parse().ok(),
            catchup: dag.catchup,
            max_active_runs: dag.max_active_runs,
            dag_params: dag.params.clone(),
            dag_owner: owner(dag),
            task_id: task.task_id.clone(),
            operator: operator(task),
            owner: task.owner.clone(),
            retries: task.retries,
            queue_and_pool: QUEUE_AND_POOL.map(|(name, default)| match written(dag, task, name) {
                Some(FieldValue::Str(text)) => text.clone(),
                _ => default.to_owned(),
            }),
            max_tries: scenario_ti("max_tries").unwrap_or(task.retries),
            map_index_template: argument(task, "map_index_template").map(str::to_owned),
            expanded: task.mapped.then(|| i64::try_from(declared_instances(task)).unwrap_or(i64::MAX)),
            task_params: task.params.clone(),
            inlets: task.inlets.iter().filter_map(item).collect(),
            outlets: task.outlets.iter().filter_map(item).collect(),
            ti: TaskRow {
                task_id: task.task_id.clone(),
                map_index: if task.mapped { map_index } else { scenario_ti("map_index").unwrap_or(-1) },
                state: Some("running".to_owned()),
                start_date: own.start_date,
                end_date: None,
                try_number: scenario_ti("try_number").unwrap_or(1),
            },
            other_runs: play
                .scheduler
                .runs()
                .iter()
                .filter(|known| known.dag_id != own.dag_id || known.run_id != own.run_id)
                .map(|known| row(play, scenario, known))
                .collect(),
            run: own,
            previous: previous(scenario)?,
            complete: !given,
            xcom: XComs::Given(scenario.xcom.clone()),
            datasets,
            events,
            variables: self.variables.clone(),
            connections: self.connections.clone(),
        })
    }

    /// The run being rendered: as the scheduler knows it, but running.
    fn own_run(&self, play: &DatasetPlay, run: &PlayedRun) -> PyResult<RunRow> {
        let dag_run = &run.run;
        let same = |known: &&DatasetRun| known.dag_id == dag_run.dag_id && known.run_id == dag_run.run_id;
        let known = play.scheduler.runs().iter().find(same);
        let wants = |what: &str| {
            PyErr::unsupported(format!("a run without {what}: every run of Airflow 2.10 has one"))
                .with_hint("give a logical date, as `--logical-date` does")
        };
        let logical_date = dag_run.logical_date.ok_or_else(|| wants("a logical date"))?;
        let interval = dag_run.data_interval_start.zip(dag_run.data_interval_end);
        Ok(RunRow {
            dag_id: dag_run.dag_id.clone(),
            run_id: dag_run.run_id.clone(),
            run_type: dag_run.run_type.value().to_owned(),
            logical_date,
            data_interval: Some(interval.ok_or_else(|| wants("a data interval"))?),
            external_trigger: dag_run.run_type == DagRunType::Manual,
            queued_at: known.map_or(dag_run.start_date, |known| known.queued_at),
            start_date: dag_run.start_date,
            end_date: None,
            state: "running".to_owned(),
            conf: dag_run.conf.clone().unwrap_or_default(),
            task_instances: Vec::new(),
            unknown: if run.origin == Origin::Given { &["queued_at"] } else { &[] },
        })
    }
}

/// Arguments of every operator that a task and its instance keep, with Airflow's defaults.
const QUEUE_AND_POOL: [(&str, &str); 2] = [("queue", "default"), ("pool", "default_pool")];

/// What a task or its Dag's `default_args` give for an argument.
fn written<'a>(dag: &'a Dag, task: &'a Task, name: &str) -> Option<&'a FieldValue> {
    let all = task.arguments.iter().chain(&dag.default_args);
    all.filter(|(known, _)| known == name).map(|(_, value)| value).next()
}

/// Those of them that are given as something else than text.
fn not_text<'a>(dag: &'a Dag, task: &'a Task) -> impl Iterator<Item = String> + 'a {
    let other = |name: &&str| !matches!(written(dag, task, name), None | Some(FieldValue::Null | FieldValue::Str(_)));
    QUEUE_AND_POOL.iter().map(|(name, _)| *name).filter(other).map(str::to_owned)
}

/// Another run's row.
fn row(play: &DatasetPlay, scenario: &Scenario, run: &DatasetRun) -> RunRow {
    let key = (run.dag_id.clone(), run.run_id.clone());
    let made = play.confs.contains_key(&key);
    let given = scenario.source_runs.iter().any(|given| given.dag_id == run.dag_id && given.run_id == run.run_id);
    RunRow {
        dag_id: run.dag_id.clone(),
        run_id: run.run_id.clone(),
        run_type: run.run_type.clone(),
        logical_date: run.logical_date,
        data_interval: run.data_interval.map(|interval| (interval.start, interval.end)),
        external_trigger: run.external_trigger,
        queued_at: run.queued_at,
        start_date: run.start_date,
        end_date: run.end_date,
        state: run.state.clone(),
        conf: play.confs.get(&key).cloned().unwrap_or_default(),
        task_instances: play.instances.get(&key).cloned().unwrap_or_default(),
        unknown: if made || !given { &[] } else { &UNKNOWN_OF_SOURCES },
    }
}

fn stored_events(play: &DatasetPlay, consumed: &[i64]) -> Vec<EventRow> {
    let row = |event: &crate::schedule::datasets::DatasetEvent| {
        let source = event.source.as_ref();
        let uri = play.scheduler.uri(event.dataset_id);
        EventRow {
            id: event.id,
            uri: uri.unwrap_or_default().to_owned(),
            missing: uri.is_none(),
            timestamp: event.timestamp,
            extra: event.extra.as_object().cloned().unwrap_or_default(),
            source: [
                source.map(|source| source.dag_id.clone()),
                source.map(|source| source.task_id.clone()),
                source.map(|source| source.run_id.clone()),
            ],
            map_index: source.map_or(-1, |source| source.map_index),
            aliases: event.aliases.clone(),
            consumed: consumed.contains(&event.id),
        }
    };
    play.scheduler.events().iter().map(row).collect()
}

/// The events of a run that is given: those it consumed, ids in their order.
fn given_events(
    pipeline: &Pipeline,
    run: &PlayedRun,
    datasets: &mut Vec<(String, Map<String, Json>)>,
) -> Vec<EventRow> {
    let mut rows = Vec::new();
    for (id, event) in (1..).zip(&run.run.consumed_asset_events) {
        if !datasets.iter().any(|(uri, _)| *uri == event.asset.uri) {
            datasets.push((event.asset.uri.clone(), extra_of(pipeline, &event.asset.uri)));
        }
        rows.push(EventRow {
            id,
            uri: event.asset.uri.clone(),
            missing: false,
            timestamp: event.timestamp,
            extra: event.extra.clone(),
            source: [event.source_dag_id.clone(), event.source_task_id.clone(), event.source_run_id.clone()],
            map_index: event.source_map_index.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1),
            aliases: event.source_aliases.clone(),
            consumed: true,
        });
    }
    rows
}

/// The extra of a dataset's row.
fn extra_of(pipeline: &Pipeline, uri: &str) -> Map<String, Json> {
    let def = pipeline.assets.iter().find(|def| def.asset.uri == uri);
    def.and_then(|def| def.asset.extra.as_object()).cloned().unwrap_or_default()
}

/// `dag.owner`: the owners of the tasks in the order of a Python set, which is known of one.
fn owner(dag: &Dag) -> Option<String> {
    let first = dag.tasks.first()?.owner.clone();
    dag.tasks.iter().all(|task| task.owner == first).then_some(first)
}

fn operator(task: &Task) -> String {
    let name = task.operator.as_deref().map(|name| name.rsplit('.').next().unwrap_or(name));
    name.unwrap_or("BaseOperator").to_owned()
}

fn argument<'t>(task: &'t Task, name: &str) -> Option<&'t str> {
    task.arguments.iter().find(|(known, _)| known == name).and_then(|(_, value)| match value {
        FieldValue::Str(text) => Some(text.as_str()),
        _ => None,
    })
}

fn item(condition: &AssetCondition) -> Option<Item> {
    match condition {
        AssetCondition::Asset(asset) => {
            Some(Item::Dataset { uri: asset.uri.clone(), extra: asset.extra.as_object().cloned() })
        }
        AssetCondition::Alias(alias) => Some(Item::Alias(alias.name.clone())),
        _ => None,
    }
}

/// `prev_success` of the scenario, when it says something.
fn previous(scenario: &Scenario) -> PyResult<Option<Previous>> {
    if scenario.prev_success.is_empty() {
        return Ok(None);
    }
    let instant = |name: &str| -> PyResult<Option<DateTime<Utc>>> {
        match scenario.prev_success.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match value.as_str().and_then(parse_instant) {
                Some(at) => Ok(Some(at)),
                None => Err(PyErr::unsupported(format!("`{name}` of `prev_success` is no date: {value}"))),
            },
        }
    };
    Ok(Some(Previous {
        logical_date: instant("logical_date")?,
        data_interval_start: instant("data_interval_start")?,
        data_interval_end: instant("data_interval_end")?,
        start_date: instant("start_date")?,
        end_date: instant("end_date")?,
    }))
}
