//! What a pending partition run waits for.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::decision::{ErrorText, LogLine};
use super::rows::PendingRow;
use super::scheduler::{Scheduler, StoreRegistry};
use super::store::Stored;
use crate::asset::{AssetCondition, AssetKey};
use crate::python::{PyErr, repr_str};
use crate::timetable::Timetable;

/// A key that an event brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceKey {
    /// The upstream key.
    pub key: String,
    /// The event.
    pub event: i64,
}

/// One asset's part in a pending run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetWait {
    /// The asset.
    pub asset: AssetKey,
    /// An inactive asset's events do not count.
    pub active: bool,
    /// Its mapper, in short.
    pub mapper: String,
    /// The keys received, in order.
    pub received: Vec<SourceKey>,
    /// For a rollup, how many keys its window expects.
    pub expected: Option<usize>,
    /// For a rollup, the keys its window expects, sorted.
    #[serde(skip)]
    pub required: Vec<String>,
    /// For a rollup, how many expected keys have come.
    pub matched: usize,
    /// For a rollup, how many must come.
    pub needed: Option<f64>,
    /// For a rollup, the expected keys that have not come, sorted.
    pub missing: Vec<String>,
    /// For a rollup, its wait policy.
    pub wait_policy: Option<String>,
    /// The policy can never be met, and why.
    pub unreachable: Option<String>,
    /// The window of the key could not be told.
    pub error: Option<ErrorText>,
    /// Whether the asset counts as satisfied.
    pub satisfied: bool,
}

/// A pending partition run and what it waits for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PendingStatus {
    /// The pending row.
    pub pending: i64,
    /// The consumer.
    pub dag_id: String,
    /// The key of the run to be.
    pub partition_key: String,
    /// Since when, UTC.
    pub since: DateTime<Utc>,
    /// The date carried so far.
    pub carried: Option<DateTime<Utc>>,
    /// Every asset that sent something, then those of the condition that sent nothing.
    pub assets: Vec<AssetWait>,
    /// The Dag is stale: no pass looks at the row.
    pub stale: bool,
    /// The definition changed: the next pass drops the row.
    pub outdated: bool,
    /// Whether the condition holds.
    pub satisfied: bool,
}

impl PendingStatus {
    /// What Airflow logs about it: a rollup that can never be satisfied, or a mapper that failed.
    pub fn log_line(&self) -> Option<LogLine> {
        let unreachable = self.assets.iter().find_map(|wait| wait.unreachable.as_ref().map(|why| (&wait.asset, why)));
        if let Some((asset, why)) = unreachable {
            let text = format!(
                "Rollup asset (name={}, uri={}) on Dag {} is permanently unreachable: {why}",
                repr_str(&asset.name),
                repr_str(&asset.uri),
                repr_str(&self.dag_id)
            );
            return Some(LogLine { level: "warning", text });
        }
        self.assets.iter().any(|wait| wait.error.is_some()).then(|| LogLine {
            level: "error",
            text: "Failed to evaluate rollup status for asset; treating as not-yet-satisfied. This likely indicates a \
                   misconfigured partition mapper."
                .to_owned(),
        })
    }
}

/// An active asset that counts for a pending run.
pub(super) struct Contribution {
    pub asset: AssetKey,
    pub keys: BTreeSet<String>,
}

impl Scheduler {
    /// Why an asset's mapper makes no key like this one: then it and the others of the condition can never agree on a run.
    /// `None` when it may.
    pub fn never_agrees(&self, dag_id: &str, asset: &AssetKey, key: &str) -> Option<PyErr> {
        let dag = self.dags().find(|dag| dag.dag_id == dag_id)?;
        let mapper = dag.timetable.get_partition_mapper(&asset.name, &asset.uri).ok()?;
        mapper.to_partition_date(key).err().filter(|error| !error.is_refusal())
    }

    /// The active assets that sent events for a pending row, in order.
    pub(super) fn contributions(&self, pending_id: i64, active: &HashMap<i64, AssetKey>) -> Stored<Vec<Contribution>> {
        let mut found: Vec<Contribution> = Vec::new();
        for row in self.store.key_logs(pending_id)? {
            let Some(asset) = active.get(&row.asset_id) else { continue };
            match found.iter_mut().find(|contribution| contribution.asset == *asset) {
                Some(contribution) => {
                    contribution.keys.insert(row.source_partition_key);
                }
                None => {
                    found.push(Contribution { asset: asset.clone(), keys: BTreeSet::from([row.source_partition_key]) })
                }
            }
        }
        Ok(found)
    }

    /// Whether an asset that sent events counts as satisfied (`_resolve_asset_partition_status`).
    pub(super) fn is_satisfied(&self, timetable: &dyn Timetable, key: &str, from: &Contribution) -> Stored<bool> {
        let state = || {
            let mapper = timetable.get_partition_mapper(&from.asset.name, &from.asset.uri)?;
            let Some(rollup) = mapper.as_rollup() else { return Ok(true) };
            let state = rollup.wait_policy().is_satisfied_by_keys(&from.keys, &rollup.to_upstream(key)?);
            Ok(state.satisfied && state.unreachable.is_none())
        };
        match state() {
            Ok(satisfied) => Ok(satisfied),
            Err(error) if PyErr::is_refusal(&error) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// The state of a pending row in full.
    pub(super) fn status(&self, row: &PendingRow) -> Stored<PendingStatus> {
        let logs = self.store.key_logs(row.id)?;
        let assets = self.store.assets()?;
        let consumer = self.consumer(&row.dag_id);
        let timetable = consumer.map(|consumer| consumer.dag.timetable.clone());
        let mut waits: Vec<AssetWait> = Vec::new();
        for log in logs {
            let Some(asset) = assets.iter().find(|asset| asset.id == log.asset_id) else { continue };
            let source = SourceKey { key: log.source_partition_key, event: log.event_id };
            match waits.iter_mut().find(|wait| wait.asset == asset.key) {
                Some(wait) => wait.received.push(source),
                None => waits.push(AssetWait::new(asset.key.clone(), asset.active, vec![source])),
            }
        }
        let condition = timetable.as_ref().and_then(|timetable| timetable.asset_condition());
        for asset in condition.map(AssetCondition::assets).unwrap_or_default() {
            let key = asset.key();
            if !waits.iter().any(|wait| wait.asset == key) {
                let active = assets.iter().find(|row| row.key == key).is_none_or(|row| row.active);
                waits.push(AssetWait::new(key, active, Vec::new()));
            }
        }
        if let Some(timetable) = &timetable {
            for wait in &mut waits {
                wait.fill(timetable.as_ref(), &row.partition_key);
            }
        }
        let states = waits.iter().map(|wait| (wait.asset.clone(), wait.satisfied)).collect();
        let registry = StoreRegistry(self.store.as_ref());
        let satisfied = condition.is_some_and(|condition| condition.evaluate(&states, &registry));
        let stale = self.store.dag(&row.dag_id)?.is_some_and(|dag| dag.stale);
        let current = consumer.and_then(|consumer| consumer.fingerprint.as_ref().ok());
        Ok(PendingStatus {
            pending: row.id,
            dag_id: row.dag_id.clone(),
            partition_key: row.partition_key.clone(),
            since: row.created_at,
            carried: row.partition_date,
            assets: waits,
            stale,
            outdated: current.is_some_and(|current| *current != row.fingerprint),
            satisfied,
        })
    }
}

impl AssetWait {
    fn new(asset: AssetKey, active: bool, received: Vec<SourceKey>) -> Self {
        AssetWait {
            asset,
            active,
            mapper: String::new(),
            received,
            expected: None,
            required: Vec::new(),
            matched: 0,
            needed: None,
            missing: Vec::new(),
            wait_policy: None,
            unreachable: None,
            error: None,
            satisfied: false,
        }
    }

    fn fill(&mut self, timetable: &dyn Timetable, key: &str) {
        let Ok(mapper) = timetable.get_partition_mapper(&self.asset.name, &self.asset.uri) else { return };
        self.mapper = mapper.label();
        let counts = self.active && !self.received.is_empty();
        let Some(rollup) = mapper.as_rollup() else {
            self.satisfied = counts;
            return;
        };
        self.wait_policy = Some(rollup.wait_policy().repr());
        let expected = match rollup.to_upstream(key) {
            Ok(expected) => expected,
            Err(error) => {
                self.error = Some(ErrorText::from(&error));
                return;
            }
        };
        let received: BTreeSet<String> = self.received.iter().map(|source| source.key.clone()).collect();
        let state = rollup.wait_policy().is_satisfied_by_keys(&received, &expected);
        self.expected = Some(expected.len());
        self.needed = Some(rollup.wait_policy().needed(expected.len()));
        self.matched = expected.intersection(&received).count();
        self.missing = expected.difference(&received).cloned().collect();
        self.satisfied = counts && state.satisfied && state.unreachable.is_none();
        self.unreachable = state.unreachable;
        self.required = expected.into_iter().collect();
    }
}
