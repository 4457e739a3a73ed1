//! What a finished task tells the asset manager (`register_asset_changes_in_db`).

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::ScheduleError;
use super::decision::Decision;
use super::pass::is_blank;
use super::register::AssetChange;
use super::scheduler::Scheduler;
use super::store::Stored;
use crate::asset::{AssetCondition, AssetKey, AssetRef, EventSource};
use crate::python::{PyErr, PyResult, repr_str};

/// Longest key that a task may add, in characters.
const KEY_LIMIT: usize = 250;

/// What a task recorded for one of its asset outlets while it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct OutletEvent {
    /// The asset.
    pub asset: AssetKey,
    /// `outlet_events[asset].extra`, or the extra of yielded metadata.
    pub extra: Json,
    /// The keys of `add_partitions`; repeats count once.
    pub partition_keys: Vec<String>,
}

/// What a task added to one of its alias outlets: `outlet_events[alias].add(asset, extra)`.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasEvent {
    /// The alias.
    pub alias: String,
    /// The asset; it is created if it does not exist.
    pub asset: AssetKey,
    /// The extra of the asset as written in the task.
    pub asset_extra: Json,
    /// The event's extra.
    pub extra: Json,
}

/// A task instance that succeeded, and what it says of its outlets. One that failed or was skipped says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutlets {
    /// The task instance.
    pub source: EventSource,
    /// The declared outlets: assets, references, aliases.
    pub outlets: Vec<AssetCondition>,
    /// What it recorded for assets.
    pub events: Vec<OutletEvent>,
    /// What it added to aliases.
    pub alias_events: Vec<AliasEvent>,
    /// The run's partition key.
    pub partition_key: Option<String>,
    /// The run's partition date, UTC.
    pub partition_date: Option<DateTime<Utc>>,
}

/// Checks keys given to `add_partitions`.
///
/// # Errors
/// The `ValueError` that the task gets for a blank or overlong key.
pub fn validate_runtime_keys(keys: &[String]) -> PyResult<()> {
    for key in keys {
        if is_blank(key) {
            return Err(PyErr::value_error(format!(
                "partition_key must not be empty or whitespace-only; got {}.",
                repr_str(key)
            )));
        }
        let length = key.chars().count();
        if length > KEY_LIMIT {
            return Err(PyErr::value_error(format!(
                "partition_key must be at most {KEY_LIMIT} characters; got {length}."
            )));
        }
    }
    Ok(())
}

/// The changes a task's recorded event for one asset makes: one per key, or one with the run's key. The run's date goes
/// along only where the key is the run's own.
pub fn outlet_changes(task: &TaskOutlets, asset: &AssetKey) -> Vec<AssetChange> {
    let change = |extra: Option<&Json>, key: Option<&String>| {
        let partition_key = key.or(task.partition_key.as_ref()).cloned();
        let own = partition_key == task.partition_key;
        AssetChange {
            asset: asset.clone(),
            extra: extra.cloned(),
            source: Some(task.source.clone()),
            aliases: Vec::new(),
            partition_date: task.partition_date.filter(|_| own),
            partition_key,
        }
    };
    let recorded: Vec<&OutletEvent> = task.events.iter().filter(|event| event.asset == *asset).collect();
    if recorded.is_empty() {
        return vec![change(None, None)];
    }
    let mut changes = Vec::new();
    for event in recorded {
        if event.partition_keys.is_empty() {
            changes.push(change(Some(&event.extra), None));
            continue;
        }
        let mut seen: Vec<&String> = Vec::new();
        for key in &event.partition_keys {
            if !seen.contains(&key) {
                seen.push(key);
                changes.push(change(Some(&event.extra), Some(key)));
            }
        }
    }
    changes
}

impl Scheduler {
    /// Registers everything a finished task says of its outlets, in one transaction; the events recorded.
    ///
    /// # Errors
    /// As [`register_asset_change`](Self::register_asset_change).
    pub fn register_task_outlets(&mut self, task: &TaskOutlets, at: DateTime<Utc>) -> Result<Vec<i64>, ScheduleError> {
        self.transact(|this| this.task_outlets(task, at))
    }

    fn task_outlets(&mut self, task: &TaskOutlets, at: DateTime<Utc>) -> Stored<Vec<i64>> {
        let mut events = Vec::new();
        // Assets first, then references, then aliases, as Airflow goes through them.
        let mut assets: Vec<AssetKey> = Vec::new();
        let mut refs: Vec<&AssetRef> = Vec::new();
        let mut aliases: Vec<&str> = Vec::new();
        for outlet in task.outlets.iter().flat_map(AssetCondition::leaves) {
            match outlet {
                AssetCondition::Asset(asset) if !assets.contains(&asset.key()) => assets.push(asset.key()),
                AssetCondition::Ref(reference) if !refs.contains(&reference) => refs.push(reference),
                AssetCondition::Alias(alias) => aliases.push(&alias.name),
                _ => {}
            }
        }
        refs.sort_by_key(|reference| matches!(reference, AssetRef::Uri(_)));
        for key in &assets {
            if self.store.asset(key)?.is_some_and(|row| row.active) {
                self.register_all(&outlet_changes(task, key), at, &mut events)?;
            } else {
                self.inactive(at, format!("Asset(name={}, uri={})", key.name, key.uri));
            }
        }
        for reference in refs {
            match (self.store.resolve_ref(reference)?, reference) {
                (Some(row), _) => self.register_all(&outlet_changes(task, &row.key), at, &mut events)?,
                (None, AssetRef::Name(name)) => self.inactive(at, format!("Asset.ref(name={name})")),
                (None, AssetRef::Uri(uri)) => self.inactive(at, format!("Asset.ref(uri={uri})")),
            }
        }
        for (event, names) in alias_groups(&task.alias_events, &aliases) {
            if self.store.asset(&event.asset)?.is_none() {
                // Airflow activates it the next time it looks for orphans, because the alias knows it.
                self.store.add_asset(&event.asset)?;
                self.note(at, Decision::AssetCreated { asset: event.asset.clone(), aliases: names.clone() });
            }
            let change = AssetChange {
                asset: event.asset.clone(),
                extra: Some(event.extra.clone()),
                source: Some(task.source.clone()),
                aliases: names,
                partition_key: task.partition_key.clone(),
                partition_date: task.partition_date,
            };
            self.register_all(&[change], at, &mut events)?;
        }
        Ok(events)
    }

    fn inactive(&mut self, at: DateTime<Utc>, outlet: String) {
        self.note(at, Decision::OutletInactive { outlet });
    }

    fn register_all(&mut self, changes: &[AssetChange], at: DateTime<Utc>, events: &mut Vec<i64>) -> Stored {
        for change in changes {
            events.extend(self.register(change, at)?);
        }
        Ok(())
    }
}

/// Additions to declared aliases, equal ones (same asset, same extras) as one event through several aliases.
fn alias_groups<'a>(events: &'a [AliasEvent], declared: &[&str]) -> Vec<(&'a AliasEvent, Vec<String>)> {
    let same =
        |a: &AliasEvent, b: &AliasEvent| a.asset == b.asset && a.asset_extra == b.asset_extra && a.extra == b.extra;
    let mut groups: Vec<(&AliasEvent, Vec<String>)> = Vec::new();
    for event in events.iter().filter(|event| declared.contains(&event.alias.as_str())) {
        match groups.iter_mut().find(|(known, _)| same(known, event)) {
            Some((_, names)) if names.contains(&event.alias) => {}
            Some((_, names)) => names.push(event.alias.clone()),
            None => groups.push((event, vec![event.alias.clone()])),
        }
    }
    groups
}
