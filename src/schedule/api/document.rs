//! Scenario documents about the endpoints of Airflow 3.3: assets, Dags and steps in one JSON object, answered step by step.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, SubsecRound, Utc};
use serde_json::{Map, Value as Json, json};

use super::v2::{self, Surroundings};
use super::{Answer, Request};
use crate::asset::pytext::repr;
use crate::asset::{Asset, AssetCondition, AssetKey};
use crate::python::PyErr;
use crate::schedule::document::{event_source, list, malformed, text};
use crate::schedule::{AssetChange, ConsumerDag, ScheduleError, Scheduler};
use crate::timetable::{AssetTriggeredTimetable, isoformat};

/// The clock until the first step that sets it: 2024-06-01T00:00:00 UTC.
const START: i64 = 1_717_200_000;

/// Runs a document: `setup` with `assets` and `dags`, then `steps`; one entry for each step.
///
/// # Errors
/// `Unsupported` for a step or a field that is not known, and for what partita refuses on the way.
pub fn resolve(document: &Json, is_sensitive: &dyn Fn(&str) -> bool) -> Result<Vec<Json>, ScheduleError> {
    resolve_by(document, &mut |scheduler, names, request, at| {
        let around = Surroundings { display_name: &|dag_id| names.get(dag_id).cloned(), is_sensitive };
        v2::answer(scheduler, around, request, at)
    })
}

/// What answers a request of a document: [`v2::answer`], or a server around it. It gets the display names of Dags too.
pub type Ask<'a> =
    dyn FnMut(&mut Scheduler, &BTreeMap<String, String>, &Request, DateTime<Utc>) -> Result<Answer, ScheduleError> + 'a;

/// The same, with requests answered by somebody else.
///
/// # Errors
/// As [`resolve`], and what `ask` refuses.
pub fn resolve_by(document: &Json, ask: &mut Ask<'_>) -> Result<Vec<Json>, ScheduleError> {
    let setup = document.get("setup").ok_or_else(|| malformed("`setup`"))?;
    let mut run = Run {
        scheduler: Scheduler::default(),
        assets: BTreeMap::new(),
        names: BTreeMap::new(),
        clock: DateTime::from_timestamp(START, 0).unwrap_or_default(),
        events_seen: 0,
    };
    run.set_up(setup)?;
    list(document, "steps").iter().map(|step| run.step(step, ask)).collect()
}

/// A scenario being run.
struct Run {
    scheduler: Scheduler,
    /// Assets by name.
    assets: BTreeMap<String, Asset>,
    /// Display names of Dags.
    names: BTreeMap<String, String>,
    clock: DateTime<Utc>,
    events_seen: i64,
}

impl Run {
    fn set_up(&mut self, setup: &Json) -> Result<(), ScheduleError> {
        for definition in list(setup, "assets") {
            let (name, uri) = (text(definition, "name")?, text(definition, "uri")?);
            let (asset, _) = Asset::new(Some(name), Some(uri))?;
            self.scheduler.add_asset(&asset.key())?;
            if definition.get("active").and_then(Json::as_bool) == Some(false) {
                self.scheduler.set_asset_active(&asset.key(), false)?;
            }
            self.assets.insert(name.to_owned(), asset);
        }
        for definition in list(setup, "dags") {
            let dag_id = text(definition, "dag_id")?;
            let mut parts = Vec::new();
            for name in list(definition, "assets").iter().filter_map(Json::as_str) {
                let asset = self.assets.get(name).ok_or_else(|| malformed(&format!("the asset {name:?}")))?;
                parts.push(AssetCondition::Asset(asset.clone()));
            }
            let timetable = Arc::new(AssetTriggeredTimetable::new(AssetCondition::All(parts)));
            let mut dag = ConsumerDag::new(dag_id, timetable);
            let flag = |name: &str| definition.get(name).and_then(Json::as_bool).unwrap_or(false);
            dag.paused = flag("is_paused");
            self.scheduler.add_dag(dag, self.clock)?;
            if flag("is_stale") {
                self.scheduler.set_stale(dag_id, true)?;
            }
            if let Some(name) = definition.get("dag_display_name").and_then(Json::as_str) {
                self.names.insert(dag_id.to_owned(), name.to_owned());
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Json, ask: &mut Ask<'_>) -> Result<Json, ScheduleError> {
        if let Some(at) = step.get("at").and_then(Json::as_str) {
            self.clock =
                DateTime::parse_from_rfc3339(at).map_err(|_| malformed("a valid `at`"))?.to_utc().trunc_subsecs(6);
        }
        let mut entry = Map::new();
        match text(step, "op")? {
            "register" => {
                let change = self.change(step)?;
                let event = self.scheduler.register_asset_change(&change, self.clock)?;
                entry.insert("registered".to_owned(), event.is_some().into());
            }
            "clear_queue" => {
                for dag_id in list(step, "dag_ids").iter().filter_map(Json::as_str) {
                    let queue = self.scheduler.queue()?;
                    let ids: Vec<i64> =
                        queue.iter().filter(|row| row.dag_id == dag_id).map(|row| row.asset_id).collect();
                    self.scheduler.transact(|this| this.store.dequeue(dag_id, &ids))?;
                }
            }
            "set_dag" => self.set_dag(step)?,
            "api" => {
                let answer = ask(&mut self.scheduler, &self.names, &Request::read(step)?, self.clock)?;
                entry.insert("status".to_owned(), answer.status.into());
                entry.insert("body".to_owned(), answer.body.unwrap_or_default());
            }
            other => return Err(PyErr::unsupported(format!("the step {}", repr(&other.into()))).into()),
        }
        self.describe(&mut entry)?;
        Ok(Json::Object(entry))
    }

    fn change(&self, step: &Json) -> Result<AssetChange, ScheduleError> {
        let name = text(step, "asset")?;
        let key = match self.assets.get(name) {
            Some(asset) => asset.key(),
            None => AssetKey { name: name.to_owned(), uri: name.to_owned() },
        };
        let source = match step.get("source").filter(|source| !source.is_null()) {
            None => None,
            Some(source) => Some(event_source(source)?),
        };
        Ok(AssetChange { extra: step.get("extra").cloned(), source, ..AssetChange::of(key) })
    }

    fn set_dag(&mut self, step: &Json) -> Result<(), ScheduleError> {
        let dag_id = text(step, "dag_id")?;
        for (column, value) in step.get("values").and_then(Json::as_object).into_iter().flatten() {
            let value = value.as_bool().ok_or_else(|| PyErr::unsupported(format!("setting {column}")))?;
            match column.as_str() {
                "is_paused" => self.scheduler.set_paused(dag_id, value)?,
                "is_stale" => self.scheduler.set_stale(dag_id, value)?,
                other => return Err(PyErr::unsupported(format!("setting the column {other} of a Dag")).into()),
            }
        }
        Ok(())
    }

    /// The state after a step: the whole queue, and the events since the step before.
    fn describe(&mut self, entry: &mut Map<String, Json>) -> Result<(), ScheduleError> {
        let assets = self.scheduler.store().assets()?;
        let mut rows = self.scheduler.queue()?;
        rows.sort_by(|a, b| (&a.dag_id, a.asset_id).cmp(&(&b.dag_id, b.asset_id)));
        let queue: Vec<Json> = rows
            .iter()
            .map(|row| {
                let asset = assets.iter().find(|asset| asset.id == row.asset_id);
                json!({
                    "dag_id": row.dag_id,
                    "asset_id": row.asset_id,
                    "asset": asset.map(|asset| &asset.key.name),
                    "created_at": isoformat(row.created_at),
                })
            })
            .collect();
        let mut events = Vec::new();
        while let Some(event) = self.scheduler.event(self.events_seen + 1)? {
            self.events_seen = event.id;
            events.push(json!({
                "id": event.id,
                "asset_id": assets.iter().find(|asset| asset.key == event.asset).map(|asset| asset.id),
                "timestamp": isoformat(event.timestamp),
                "extra": event.extra,
            }));
        }
        entry.insert("queue".to_owned(), queue.into());
        entry.insert("new_events".to_owned(), events.into());
        Ok(())
    }
}
