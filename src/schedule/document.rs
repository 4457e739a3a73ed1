//! Scenario documents: assets, consumers and steps in one JSON object, answered with everything that happened. What
//! `resolve --jsonl` reads and writes.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Duration, SubsecRound, TimeZone, Utc};
use serde_json::{Map, Value as Json, json};

use super::register::AssetChange;
use super::rows::{LogRow, RunState};
use super::scheduler::{ConsumerDag, Scheduler};
use super::{DagRun, MemoryStore, ScheduleError, Store};
use crate::asset::pytext::repr;
use crate::asset::{AssetKey, EventSource, decode_asset};
use crate::python::{PyErr, PyResult};
use crate::timetable::{decode_timetable, isoformat};

/// A scenario being run: its clock moves one second a step.
struct Run {
    scheduler: Scheduler,
    clock: DateTime<Utc>,
    step: usize,
    /// The recorded event of each event step.
    events: Vec<Option<i64>>,
    /// The event step of each recorded event.
    steps_of: HashMap<i64, usize>,
    ticks: Vec<Json>,
    /// The step at which each time fell.
    times: BTreeMap<DateTime<Utc>, usize>,
}

/// Runs a scenario document and returns what its `expect` would hold: `ticks`, `events`, `pending`, `asset_dag_run_queue`
/// and `logs`.
///
/// # Errors
/// What decoding assets and timetables raises; `Unsupported` for a step that does not exist. What a pass raises is an answer
/// (`tick_error`).
pub fn resolve(document: &Json) -> Result<Json, ScheduleError> {
    resolve_in(document, Box::<MemoryStore>::default())
}

/// The same over a store of the caller's, which must be empty.
///
/// # Errors
/// As [`resolve`], and those of the store.
pub fn resolve_in(document: &Json, store: Box<dyn Store>) -> Result<Json, ScheduleError> {
    let mut run = Run::start(document, Scheduler::new(store))?;
    for step in list(document, "steps") {
        run.step(step)?;
    }
    run.answer()
}

/// The items under a name; none when it is missing.
pub(super) fn list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The error of a document that lacks something.
pub(super) fn malformed(what: &str) -> PyErr {
    PyErr::unsupported(format!("a scenario document without {what}"))
}

/// The text under a name.
pub(super) fn text<'a>(value: &'a Json, name: &str) -> PyResult<&'a str> {
    value.get(name).and_then(Json::as_str).ok_or_else(|| malformed(&format!("`{name}`")))
}

fn optional_text(value: &Json, name: &str) -> Result<Option<String>, ScheduleError> {
    match value.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            let error = PyErr::type_error(format!("{name} must be a text, not {}", repr(other)));
            Err(error.with_hint("keys are texts: put quotes around it").into())
        }
    }
}

fn asset_key(value: &Json) -> Result<AssetKey, ScheduleError> {
    Ok(AssetKey { name: text(value, "name")?.to_owned(), uri: text(value, "uri")?.to_owned() })
}

impl Run {
    fn start(document: &Json, scheduler: Scheduler) -> Result<Self, ScheduleError> {
        let seed = document.get("id").and_then(Json::as_str).unwrap_or_default();
        let mut scheduler = scheduler.with_seed(seed);
        if let Some(rows) = document.get("max_partition_rows_per_tick").and_then(Json::as_u64) {
            scheduler = scheduler.with_rows_per_tick(usize::try_from(rows).unwrap_or(usize::MAX));
        }
        let clock = match optional_text(document, "now")? {
            Some(now) => DateTime::parse_from_rfc3339(&now).map_err(|_| malformed("a valid `now`"))?.to_utc(),
            None => Utc.timestamp_opt(1_735_689_600, 0).single().unwrap_or_default(),
        };
        let clock = clock.trunc_subsecs(6);
        for asset in list(document, "assets") {
            let fields = asset.get("__var").unwrap_or(asset);
            scheduler.add_asset(&decode_asset(fields)?.key())?;
        }
        for association in list(document, "alias_assets") {
            for name in list(association, "assets") {
                let known = scheduler.store().assets()?;
                let asset = known.iter().find(|row| Some(row.key.name.as_str()) == name.as_str());
                let asset = asset.ok_or_else(|| malformed("the asset of an alias"))?;
                scheduler.associate(text(association, "alias")?, &asset.key)?;
            }
        }
        for consumer in list(document, "consumers") {
            let timetable = consumer.get("timetable").ok_or_else(|| malformed("`timetable`"))?;
            let mut dag = ConsumerDag::new(text(consumer, "dag_id")?, decode_timetable(timetable)?);
            let flag = |name: &str| consumer.get(name).and_then(Json::as_bool).unwrap_or(false);
            dag.paused = flag("paused");
            dag.catchup = flag("catchup");
            if let Some(limit) = consumer.get("max_active_runs").and_then(Json::as_u64) {
                dag.max_active_runs = usize::try_from(limit).unwrap_or(usize::MAX);
            }
            scheduler.add_dag(dag, clock)?;
        }
        let times = BTreeMap::new();
        Ok(Run { scheduler, clock, step: 0, events: Vec::new(), steps_of: HashMap::new(), ticks: Vec::new(), times })
    }

    fn step(&mut self, step: &Json) -> Result<(), ScheduleError> {
        self.clock += Duration::seconds(1);
        self.times.insert(self.clock, self.step);
        self.step += 1;
        let Some((kind, value)) = step.as_object().and_then(|map| map.iter().next()) else {
            return Err(malformed("a step").into());
        };
        let scheduler = &mut self.scheduler;
        match kind.as_str() {
            "event" => {
                let change = change(value)?;
                let event = scheduler.register_asset_change(&change, self.clock)?;
                self.steps_of.extend(event.map(|event| (event, self.events.len())));
                self.events.push(event);
            }
            "tick" => self.tick()?,
            "deactivate_asset" | "activate_asset" => {
                let key = asset_key(value.get("asset").unwrap_or(value))?;
                scheduler.set_asset_active(&key, kind == "activate_asset")?;
            }
            "pause" | "unpause" => scheduler.set_paused(text(value, "dag_id")?, kind == "pause")?,
            "mark_stale" | "unmark_stale" => scheduler.set_stale(text(value, "dag_id")?, kind == "mark_stale")?,
            "finish_runs" => scheduler.finish_runs(text(value, "dag_id")?, None, RunState::Success)?,
            "update_timetable" => {
                let timetable = value.get("timetable").ok_or_else(|| malformed("`timetable`"))?;
                scheduler.update_timetable(text(value, "dag_id")?, decode_timetable(timetable)?, self.clock)?;
            }
            other => return Err(PyErr::unsupported(format!("the step {}", repr(&other.into()))).into()),
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), ScheduleError> {
        let error = match self.scheduler.tick(self.clock) {
            Ok(outcome) => {
                let before = outcome.runs.first().map_or(i64::MAX, |first| first - 1);
                let mut made: Vec<Json> = self.scheduler.runs_after(before)?.iter().map(|run| self.run(run)).collect();
                made.sort_by_key(sort_key);
                self.ticks.push(json!({"runs": made}));
                return Ok(());
            }
            Err(ScheduleError::Python(error)) if !error.is_refusal() => error,
            Err(error) => return Err(error),
        };
        let error = json!({"error": error.class, "message": error.message});
        self.ticks.push(json!({"runs": [], "tick_error": error}));
        Ok(())
    }

    /// The indexes of event steps that recorded these events.
    fn indexes(&self, events: &[i64]) -> Vec<usize> {
        events.iter().filter_map(|id| self.steps_of.get(id).copied()).collect()
    }

    fn run(&self, run: &DagRun) -> Json {
        json!({
            "dag_id": run.run.dag_id,
            "partition_key": run.run.partition_key,
            "partition_date": run.run.partition_date.map(isoformat),
            "consumed_event_indexes": self.indexes(&run.run.events),
        })
    }

    fn answer(&self) -> Result<Json, ScheduleError> {
        let events: Vec<Json> = self
            .events
            .iter()
            .enumerate()
            .map(|(index, event)| json!({"event_index": index, "recorded": event.is_some()}))
            .collect();
        let mut queue: Vec<Json> = Vec::new();
        let assets = self.scheduler.store().assets()?;
        for row in self.scheduler.queue()? {
            let Some(asset) = assets.iter().find(|asset| asset.id == row.asset_id) else { continue };
            queue.push(json!({"dag_id": row.dag_id, "asset": {"name": asset.key.name, "uri": asset.key.uri}}));
        }
        queue.sort_by_key(Json::to_string);
        Ok(json!({
            "ticks": self.ticks,
            "events": events,
            "pending": self.pending()?,
            "asset_dag_run_queue": queue,
            "logs": self.logs()?,
        }))
    }

    fn pending(&self) -> Result<Vec<Json>, ScheduleError> {
        let store = self.scheduler.store();
        let assets = store.assets()?;
        let mut rows = Vec::new();
        for row in self.scheduler.pending()? {
            let logs = store.key_logs(row.id)?;
            let mut received: BTreeMap<AssetKey, Vec<String>> = BTreeMap::new();
            let mut events: Vec<i64> = Vec::new();
            for log in logs {
                let Some(asset) = assets.iter().find(|asset| asset.id == log.asset_id) else { continue };
                received.entry(asset.key.clone()).or_default().push(log.source_partition_key);
                events.push(log.event_id);
            }
            events.sort_unstable();
            events.dedup();
            let received: Vec<Json> = received
                .into_iter()
                .map(|(asset, mut keys)| {
                    keys.sort();
                    keys.dedup();
                    json!({"name": asset.name, "uri": asset.uri, "keys": keys})
                })
                .collect();
            rows.push(json!({
                "dag_id": row.dag_id,
                "partition_key": row.partition_key,
                "partition_date": row.partition_date.map(isoformat),
                "received": received,
                "event_indexes": self.indexes(&events),
            }));
        }
        rows.sort_by_key(sort_key);
        Ok(rows)
    }

    fn logs(&self) -> Result<Vec<Json>, ScheduleError> {
        let mut rows: Vec<(usize, LogRow)> = Vec::new();
        for row in self.scheduler.logs()? {
            rows.push((self.times.get(&row.at).copied().unwrap_or_default(), row));
        }
        rows.sort_by(|(step, row), (other_step, other)| (step, &row.extra).cmp(&(other_step, &other.extra)));
        let answer = |(step, row): (usize, LogRow)| {
            let mut map = Map::new();
            map.insert("step".into(), step.into());
            map.insert("event".into(), row.event.into());
            map.insert("extra".into(), row.extra.into());
            let source = row.source.as_ref();
            map.insert("dag_id".into(), source.map(|source| source.dag_id.clone()).into());
            map.insert("task_id".into(), source.map(|source| source.task_id.clone()).into());
            map.insert("run_id".into(), source.map(|source| source.run_id.clone()).into());
            map.insert("map_index".into(), source.map(|source| source.map_index).into());
            Json::Object(map)
        };
        Ok(rows.into_iter().map(answer).collect())
    }
}

/// By Dag, key and events.
fn sort_key(row: &Json) -> (String, String, String) {
    let part = |name: &str| row.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let events = row.get("consumed_event_indexes").or_else(|| row.get("event_indexes"));
    (part("dag_id"), part("partition_key"), events.map(Json::to_string).unwrap_or_default())
}

/// The task instance that emitted an event.
pub(super) fn event_source(value: &Json) -> PyResult<EventSource> {
    Ok(EventSource {
        dag_id: text(value, "dag_id")?.to_owned(),
        task_id: text(value, "task_id")?.to_owned(),
        run_id: text(value, "run_id")?.to_owned(),
        map_index: value.get("map_index").and_then(Json::as_i64).unwrap_or(-1),
    })
}

fn change(value: &Json) -> Result<AssetChange, ScheduleError> {
    let date = match optional_text(value, "partition_date")? {
        None => None,
        Some(text) => {
            Some(DateTime::parse_from_rfc3339(&text).map_err(|_| malformed("a valid `partition_date`"))?.to_utc())
        }
    };
    let source = match value.get("source") {
        None | Some(Json::Null) => None,
        Some(source) => Some(event_source(source)?),
    };
    Ok(AssetChange {
        asset: asset_key(value.get("asset").ok_or_else(|| malformed("`asset`"))?)?,
        extra: value.get("extra").cloned(),
        source,
        aliases: list(value, "aliases").iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        partition_key: optional_text(value, "partition_key")?,
        partition_date: date,
    })
}
