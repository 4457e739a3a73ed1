//! Scenario documents of Airflow 2.10: datasets, Dags, runs and steps in one JSON object, answered step by step.

use std::sync::Arc;

use chrono::{DateTime, SubsecRound, Utc};
use serde_json::{Map, Value as Json, json};

use super::model::{DatasetDag, DatasetEvent, DatasetRun, DatasetScheduler, DatasetTask, Outlet, RegisterChange};
use super::outlets::{Emit, EventKey};
use super::parse::leaf;
use super::timetable::{check_max_active_runs, time_schedule};
use crate::asset::pytext::repr;
use crate::asset::{AssetAlias, AssetCondition, dataset_uri};
use crate::python::{PyErr, PyResult, Zone};
use crate::schedule::api::{self, Request};
use crate::schedule::document::{event_source, list, malformed, text};
use crate::timetable::{DataInterval, NullTimetable, TimeRestriction, Timetable, isoformat};

/// The clock until the first step that sets it.
const START: &str = "2024-06-01T00:00:00+00:00";

/// How deep a schedule may be nested.
const DEPTH_LIMIT: usize = 100;

/// What running a document gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One entry for each step.
    pub steps: Vec<Json>,
    /// What defining the Dags raised: no step was run then.
    pub setup_error: Option<PyErr>,
}

/// A scenario being run.
struct Run {
    scheduler: DatasetScheduler,
    dags: Vec<DatasetDag>,
    zones: Vec<Zone>,
    clock: DateTime<Utc>,
    events_seen: usize,
    runs_seen: usize,
}

/// Runs a document: `setup` with `datasets`, `dags` and `runs`, then `steps`.
///
/// # Errors
/// `Unsupported` for a step or a field that is not known, and for what partita refuses on the way.
pub fn resolve(document: &Json) -> PyResult<Answer> {
    resolve_by(document, &mut api::v1::answer)
}

/// What answers a request of a document: [`api::v1::answer`], or a server around it.
pub type Ask<'a> = dyn FnMut(&mut DatasetScheduler, &Request, DateTime<Utc>) -> PyResult<api::Answer> + 'a;

/// The same, with requests answered by somebody else.
///
/// # Errors
/// As [`resolve`], and what `ask` refuses.
pub fn resolve_by(document: &Json, ask: &mut Ask<'_>) -> PyResult<Answer> {
    let setup = document.get("setup").ok_or_else(|| malformed("`setup`"))?;
    let mut run = Run {
        scheduler: DatasetScheduler::default(),
        dags: Vec::new(),
        zones: Vec::new(),
        clock: instant(START)?,
        events_seen: 0,
        runs_seen: 0,
    };
    match run.set_up(setup) {
        Err(error) if !error.is_refusal() => {
            return Ok(Answer { steps: Vec::new(), setup_error: Some(error) });
        }
        other => other?,
    }
    let steps = list(document, "steps").iter().map(|step| run.step(step, ask)).collect::<PyResult<Vec<Json>>>()?;
    Ok(Answer { steps, setup_error: None })
}

fn texts<'a>(value: &'a Json, name: &str) -> Vec<&'a str> {
    list(value, name).iter().filter_map(Json::as_str).collect()
}

fn instant(text: &str) -> PyResult<DateTime<Utc>> {
    match DateTime::parse_from_rfc3339(text) {
        Ok(at) => Ok(at.to_utc().trunc_subsecs(6)),
        Err(_) => Err(malformed(&format!("a valid date in place of {text:?}"))),
    }
}

fn optional_instant(value: &Json, name: &str) -> PyResult<Option<DateTime<Utc>>> {
    value.get(name).and_then(Json::as_str).map(instant).transpose()
}

impl Run {
    fn set_up(&mut self, setup: &Json) -> PyResult<()> {
        for dataset in list(setup, "datasets") {
            let uri = dataset_uri(text(dataset, "uri")?)?.uri;
            self.scheduler.add_dataset(&uri);
        }
        let mut present = Vec::new();
        for definition in list(setup, "dags") {
            let zone = match definition.get("timezone").and_then(Json::as_str) {
                Some(name) => Zone::parse(name)?,
                None => Zone::UTC,
            };
            let dag = dag(definition, zone)?;
            if definition.get("initially_absent").and_then(Json::as_bool) != Some(true) {
                present.push(dag.clone());
            }
            self.dags.push(dag);
            self.zones.push(zone);
        }
        for definition in list(setup, "runs") {
            self.scheduler.add_run(existing_run(definition)?);
        }
        self.scheduler.parse(&present, self.clock)?;
        self.runs_seen = self.scheduler.runs().len();
        Ok(())
    }

    fn step(&mut self, step: &Json, ask: &mut Ask<'_>) -> PyResult<Json> {
        if let Some(at) = optional_instant(step, "at")? {
            self.clock = at;
        }
        let mut entry = Map::new();
        match text(step, "op")? {
            "register" => {
                let registered = self.register(step)?;
                entry.insert("registered".to_owned(), registered.into());
            }
            "task" => {
                let emits = list(step, "emit").iter().map(emit).collect::<PyResult<Vec<Emit>>>()?;
                let ran = self.scheduler.run_task(&event_source(step)?, &emits, self.clock);
                match ran {
                    Err(error) if !error.is_refusal() => {
                        entry.insert("error".to_owned(), error.class.to_string().into());
                        entry.insert("message".to_owned(), error.message.clone().into());
                    }
                    other => other?,
                }
            }
            "schedule" => {
                self.scheduler.tick(self.clock)?;
            }
            "finish_runs" => self.scheduler.finish_runs(text(step, "dag_id")?),
            "delete_run" => {
                self.scheduler.delete_run(text(step, "dag_id")?, text(step, "run_id")?)?;
                self.runs_seen = self.scheduler.runs().len();
            }
            "set_dag" => {
                let dag_id = text(step, "dag_id")?;
                for (column, value) in step.get("values").and_then(Json::as_object).into_iter().flatten() {
                    let value = value.as_bool().ok_or_else(|| PyErr::unsupported(format!("setting {column}")))?;
                    self.scheduler.set_dag(dag_id, column, value)?;
                }
            }
            "parse" => self.parse(step)?,
            "api" => {
                let answer = ask(&mut self.scheduler, &Request::read(step)?, self.clock)?;
                entry.insert("status".to_owned(), answer.status.into());
                entry.insert("body".to_owned(), answer.body.unwrap_or_default());
            }
            other => return Err(PyErr::unsupported(format!("the step {}", repr(&other.into())))),
        }
        self.describe(&mut entry);
        Ok(Json::Object(entry))
    }

    fn register(&mut self, step: &Json) -> PyResult<bool> {
        let uri = dataset_uri(text(step, "uri")?)?.uri;
        let aliases: Vec<String> = texts(step, "source_aliases").into_iter().map(str::to_owned).collect();
        if let Some(id) = self.scheduler.dataset(&uri).map(|row| row.id) {
            for alias in &aliases {
                self.scheduler.associate(alias, id);
            }
        }
        let change = RegisterChange {
            uri,
            extra: step.get("extra").cloned().unwrap_or_default(),
            source: step.get("source").filter(|source| !source.is_null()).map(event_source).transpose()?,
            aliases,
        };
        Ok(self.scheduler.register_dataset_change(&change, self.clock).is_some())
    }

    fn parse(&mut self, step: &Json) -> PyResult<()> {
        let mut parsed = Vec::new();
        for dag_id in texts(step, "dag_ids") {
            let index = self.dags.iter().position(|dag| dag.dag_id == dag_id);
            let found = index.and_then(|index| Some((self.dags.get_mut(index)?, *self.zones.get(index)?)));
            let Some((dag, zone)) = found else { return Err(malformed(&format!("the Dag {dag_id:?}"))) };
            if let Some(new) = step.get("new_schedules").and_then(|schedules| schedules.get(dag_id)) {
                (dag.timetable, dag.condition) = schedule(new, zone)?;
            }
            parsed.push(dag.clone());
        }
        self.scheduler.parse(&parsed, self.clock)
    }

    /// The state after a step: the whole queue, and the events and runs since the step before.
    fn describe(&mut self, entry: &mut Map<String, Json>) {
        let scheduler = &self.scheduler;
        let uri = |id: i64| scheduler.uri(id).unwrap_or_default();
        let mut rows: Vec<_> = scheduler.queue().iter().collect();
        rows.sort_by(|a, b| (&a.dag_id, a.asset_id).cmp(&(&b.dag_id, b.asset_id)));
        let queue: Vec<Json> = rows
            .into_iter()
            .map(|row| json!({"dag_id": row.dag_id, "uri": uri(row.asset_id), "created_at": isoformat(row.created_at)}))
            .collect();
        let events: Vec<Json> =
            scheduler.events().iter().skip(self.events_seen).map(|row| event(row, uri(row.dataset_id))).collect();
        let mut runs: Vec<&DatasetRun> = scheduler.runs().iter().skip(self.runs_seen).collect();
        runs.sort_by(|a, b| (&a.dag_id, &a.run_id).cmp(&(&b.dag_id, &b.run_id)));
        let runs: Vec<Json> = runs.into_iter().map(run).collect();
        entry.insert("queue".to_owned(), queue.into());
        entry.insert("new_events".to_owned(), events.into());
        entry.insert("new_runs".to_owned(), runs.into());
        let reparse: Vec<&str> = scheduler.reparse_requested().collect();
        if !reparse.is_empty() {
            entry.insert("reparse_requested".to_owned(), reparse.into());
        }
        self.events_seen = scheduler.events().len();
        self.runs_seen = scheduler.runs().len();
    }
}

fn event(event: &DatasetEvent, uri: &str) -> Json {
    let source = event.source.as_ref();
    json!({
        "id": event.id,
        "uri": uri,
        "timestamp": isoformat(event.timestamp),
        "extra": event.extra,
        "source_dag_id": source.map(|source| &source.dag_id),
        "source_task_id": source.map(|source| &source.task_id),
        "source_run_id": source.map(|source| &source.run_id),
        "source_map_index": source.map_or(-1, |source| source.map_index),
        "source_aliases": event.aliases,
    })
}

fn run(run: &DatasetRun) -> Json {
    json!({
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "run_type": run.run_type,
        "logical_date": isoformat(run.logical_date),
        "data_interval_start": run.data_interval.map(|interval| isoformat(interval.start)),
        "data_interval_end": run.data_interval.map(|interval| isoformat(interval.end)),
        "external_trigger": run.external_trigger,
        "state": run.state,
        "queued_at": run.queued_at.map(isoformat),
        "consumed_event_ids": run.consumed,
    })
}

fn existing_run(definition: &Json) -> PyResult<DatasetRun> {
    let start = optional_instant(definition, "data_interval_start")?;
    let end = optional_instant(definition, "data_interval_end")?;
    Ok(DatasetRun {
        dag_id: text(definition, "dag_id")?.to_owned(),
        run_id: text(definition, "run_id")?.to_owned(),
        run_type: text(definition, "run_type")?.to_owned(),
        logical_date: instant(text(definition, "logical_date")?)?,
        data_interval: start.zip(end).map(|(start, end)| DataInterval { start, end }),
        external_trigger: definition.get("external_trigger").and_then(Json::as_bool).unwrap_or(false),
        state: text(definition, "state")?.to_owned(),
        queued_at: optional_instant(definition, "queued_at")?,
        start_date: optional_instant(definition, "start_date")?,
        end_date: optional_instant(definition, "end_date")?,
        consumed: Vec::new(),
    })
}

fn dag(definition: &Json, zone: Zone) -> PyResult<DatasetDag> {
    let (timetable, condition) = schedule(definition.get("schedule").unwrap_or(&Json::Null), zone)?;
    let flag = |name: &str| definition.get(name).and_then(Json::as_bool).unwrap_or(false);
    let max_active_runs = definition.get("max_active_runs").and_then(Json::as_u64).unwrap_or(16);
    let max_active_runs = usize::try_from(max_active_runs).unwrap_or(usize::MAX);
    check_max_active_runs(timetable.as_ref(), max_active_runs)?;
    let mut tasks = Vec::new();
    for task in list(definition, "tasks") {
        let outlets = list(task, "outlets").iter().map(outlet).collect::<PyResult<Vec<Outlet>>>()?;
        tasks.push(DatasetTask { task_id: text(task, "task_id")?.to_owned(), outlets });
    }
    Ok(DatasetDag {
        dag_id: text(definition, "dag_id")?.to_owned(),
        timetable,
        condition,
        restriction: TimeRestriction {
            earliest: optional_instant(definition, "start_date")?,
            latest: optional_instant(definition, "end_date")?,
            catchup: flag("catchup"),
        },
        max_active_runs,
        is_paused: flag("is_paused"),
        tasks,
    })
}

/// `schedule=`: the part by time and the datasets.
fn schedule(value: &Json, zone: Zone) -> PyResult<(Arc<dyn Timetable>, Option<AssetCondition>)> {
    if let Some(items) = value.get("dataset_list").and_then(Json::as_array) {
        let parts = items.iter().map(|item| condition(item, 0)).collect::<PyResult<Vec<_>>>()?;
        if parts.iter().any(|part| matches!(part, AssetCondition::All(_) | AssetCondition::Any(_))) {
            let message = "All elements in 'schedule' should be datasets or dataset aliases";
            return Err(PyErr::value_error(message));
        }
        return Ok((Arc::new(NullTimetable), Some(AssetCondition::All(parts))));
    }
    if let Some(expression) = value.get("dataset_expr") {
        return Ok((Arc::new(NullTimetable), Some(condition(expression, 0)?)));
    }
    if let Some(both) = value.get("dataset_or_time") {
        let timetable = time_schedule(both.get("timetable").unwrap_or(&Json::Null), zone)?;
        let datasets = match both.get("datasets") {
            Some(Json::Array(items)) => {
                AssetCondition::All(items.iter().map(|item| condition(item, 0)).collect::<PyResult<_>>()?)
            }
            Some(expression) => condition(expression, 0)?,
            None => return Err(malformed("`datasets`")),
        };
        if matches!(datasets, AssetCondition::Alias(_)) {
            // Airflow cannot evaluate it: NotImplementedError, in the Dag processor and in every pass.
            return Err(PyErr::unsupported("DatasetOrTimeSchedule on an alias alone"));
        }
        return Ok((timetable, Some(datasets)));
    }
    Ok((time_schedule(value, zone)?, None))
}

fn condition(value: &Json, depth: usize) -> PyResult<AssetCondition> {
    if depth > DEPTH_LIMIT {
        return Err(PyErr::limit(format!("a schedule nested deeper than {DEPTH_LIMIT}")));
    }
    let parts = |items: &[Json]| items.iter().map(|item| condition(item, depth + 1)).collect::<PyResult<Vec<_>>>();
    if let Some(items) = value.get("any").and_then(Json::as_array) {
        return Ok(AssetCondition::Any(parts(items)?));
    }
    if let Some(items) = value.get("all").and_then(Json::as_array) {
        return Ok(AssetCondition::All(parts(items)?));
    }
    match outlet(value)? {
        Outlet::Dataset(uri) => Ok(leaf(&uri)),
        Outlet::Alias(name) => Ok(AssetCondition::Alias(AssetAlias { name, group: String::new() })),
        Outlet::Other => Err(PyErr::unsupported(format!("the dataset {value}"))),
    }
}

fn outlet(value: &Json) -> PyResult<Outlet> {
    if let Some(name) = value.get("alias").and_then(Json::as_str) {
        return Ok(Outlet::Alias(name.to_owned()));
    }
    if value.get("object").is_some() {
        return Ok(Outlet::Other);
    }
    match value.as_str().or_else(|| value.get("uri").and_then(Json::as_str)) {
        Some(uri) => Ok(Outlet::Dataset(dataset_uri(uri)?.uri)),
        None => Err(PyErr::unsupported(format!("the dataset {value}"))),
    }
}

fn emit(value: &Json) -> PyResult<Emit> {
    let Some((kind, fields)) = value.as_object().and_then(|map| map.iter().next()) else {
        return Err(malformed("something in `emit`"));
    };
    let flag = |name: &str| fields.get(name).and_then(Json::as_bool).unwrap_or(false);
    let extra = fields.get("extra").cloned().unwrap_or_default();
    let dataset = |name: &str| -> PyResult<EventKey> {
        let uri = text(fields, name)?.to_owned();
        Ok(if flag("as_string") { EventKey::Text(uri) } else { EventKey::Dataset(uri) })
    };
    Ok(match kind.as_str() {
        "outlet_extra" => Emit::Extra { key: dataset("outlet")?, extra },
        "outlet_extra_update" => Emit::ExtraUpdate { key: dataset("outlet")?, extra },
        "alias_add" => {
            let alias = text(fields, "alias")?.to_owned();
            let key = if flag("alias_as_string") { EventKey::Text(alias) } else { EventKey::Alias(alias) };
            Emit::AliasAdd { key, dataset: dataset("dataset")?, extra }
        }
        "metadata" => {
            let alias = fields.get("alias").and_then(Json::as_str).map(str::to_owned);
            Emit::Metadata { dataset: dataset("dataset")?, extra, alias }
        }
        other => return Err(PyErr::unsupported(format!("the emission {}", repr(&other.into())))),
    })
}
