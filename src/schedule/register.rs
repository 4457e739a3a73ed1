//! Registering an asset change: the event, and what it queues (`airflow.assets.manager`).

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use super::ScheduleError;
use super::decision::{Decision, ErrorText};
use super::rows::{AssetRow, KeyLogRow, LogRow, NewEvent, NewPending, QueueRow};
use super::scheduler::Scheduler;
use super::store::Stored;
use crate::asset::{AssetKey, EventSource};
use crate::partition::{Downstream, Mapper};
use crate::python::{PyErr, repr_str};

/// An asset changed: what a task, or somebody outside, tells the asset manager.
#[derive(Debug, Clone, PartialEq)]
pub struct AssetChange {
    /// The asset.
    pub asset: AssetKey,
    /// The event's extra.
    pub extra: Option<Json>,
    /// The emitting task instance; none for the REST API.
    pub source: Option<EventSource>,
    /// The aliases it came through.
    pub aliases: Vec<String>,
    /// The partition key.
    pub partition_key: Option<String>,
    /// The producing run's partition date, UTC.
    pub partition_date: Option<DateTime<Utc>>,
}

impl AssetChange {
    /// A change from outside, without key.
    pub fn of(asset: AssetKey) -> Self {
        AssetChange { asset, extra: None, source: None, aliases: Vec::new(), partition_key: None, partition_date: None }
    }
}

/// The event being registered, as the consumers' part needs it.
struct Event<'a> {
    id: i64,
    asset: &'a AssetRow,
    change: &'a AssetChange,
    at: DateTime<Utc>,
}

impl Scheduler {
    /// Records an event and queues its consumers, in one transaction. `None` when the asset does not exist; else the event.
    ///
    /// # Errors
    /// Only of the store, or what partita refuses: a key that a mapper refuses is a decision and a row of the audit log.
    pub fn register_asset_change(
        &mut self,
        change: &AssetChange,
        at: DateTime<Utc>,
    ) -> Result<Option<i64>, ScheduleError> {
        self.transact(|this| this.register(change, at))
    }

    pub(super) fn register(&mut self, change: &AssetChange, at: DateTime<Utc>) -> Stored<Option<i64>> {
        let Some(asset) = self.store.asset(&change.asset)? else {
            self.note(at, Decision::AssetUnknown { asset: change.asset.clone() });
            return Ok(None);
        };
        for alias in &change.aliases {
            self.store.associate(alias, asset.id)?;
        }
        let id = self.store.add_event(&NewEvent {
            asset_id: asset.id,
            timestamp: at,
            extra: event_extra(change.extra.as_ref()),
            source: change.source.clone(),
            aliases: change.aliases.clone(),
            partition_key: change.partition_key.clone(),
            partition_date: change.partition_date,
        })?;
        let (consumers, paused) = self.listening(change)?;
        let is_partitioned =
            |index: &usize| self.consumers.get(*index).is_some_and(|consumer| consumer.dag.timetable.partitioned());
        let (partitioned, plain): (Vec<usize>, Vec<usize>) = consumers.into_iter().partition(is_partitioned);
        let queue_plain = change.partition_key.is_none();
        let recorded = Decision::EventRecorded {
            event: id,
            asset: asset.key.clone(),
            partition_key: change.partition_key.clone(),
            partition_date: change.partition_date,
            inactive: !asset.active,
            unheard: partitioned.is_empty() && plain.is_empty() && paused.is_empty(),
            plain: if queue_plain { Vec::new() } else { self.dag_ids(&plain) },
            paused,
        };
        self.note(at, recorded);
        let event = Event { id, asset: &asset, change, at };
        self.queue_partitioned(&event, &partitioned)?;
        if queue_plain {
            for index in plain {
                self.enqueue_plain(&event, index)?;
            }
        }
        Ok(Some(id))
    }

    /// The consumers of a change in the order they were added, and those that miss it because they are paused.
    fn listening(&mut self, change: &AssetChange) -> Stored<(Vec<usize>, Vec<String>)> {
        let listeners = &self.listeners;
        let mut found: Vec<usize> = Vec::new();
        let lists = [
            listeners.assets.get(&change.asset),
            listeners.names.get(&change.asset.name),
            listeners.uris.get(&change.asset.uri),
        ];
        let of_aliases = change.aliases.iter().map(|alias| listeners.aliases.get(alias));
        for list in lists.into_iter().chain(of_aliases).flatten() {
            found.extend(list);
        }
        found.sort_unstable();
        found.dedup();
        let mut unpaused = Vec::new();
        let mut paused = Vec::new();
        for index in found {
            let Some(dag_id) = self.consumers.get(index).map(|consumer| consumer.dag.dag_id.clone()) else { continue };
            if self.store.add_dag(&dag_id)?.paused {
                paused.push(dag_id);
            } else {
                unpaused.push(index);
            }
        }
        Ok((unpaused, paused))
    }

    fn dag_ids(&self, indexes: &[usize]) -> Vec<String> {
        indexes.iter().filter_map(|index| self.consumers.get(*index)).map(|c| c.dag.dag_id.clone()).collect()
    }

    fn queue_partitioned(&mut self, event: &Event<'_>, indexes: &[usize]) -> Stored {
        if indexes.is_empty() {
            return Ok(());
        }
        match event.change.partition_key.as_deref() {
            None | Some("") => self.missing_key(event, indexes),
            Some(key) => {
                for index in indexes {
                    self.queue_for(event, *index, key)?;
                }
                Ok(())
            }
        }
    }

    fn missing_key(&mut self, event: &Event<'_>, indexes: &[usize]) -> Stored {
        let dag_ids = self.dag_ids(indexes);
        let quoted: Vec<String> = dag_ids.iter().map(|dag_id| repr_str(dag_id)).collect();
        let source = event.change.source.as_ref();
        let part = |pick: fn(&EventSource) -> &String| source.map_or("None", |source| pick(source).as_str());
        let extra = format!(
            "Listening Dags are partition-aware but the run has no partition key (listening_dags=[{}], asset_id={}, \
             run_id={}, dag_id={}, task_id={})",
            quoted.join(", "),
            event.asset.id,
            part(|source| &source.run_id),
            part(|source| &source.dag_id),
            part(|source| &source.task_id),
        );
        self.log(event, "missing partition key", extra)?;
        self.note(event.at, Decision::MissingKey { event: event.id, dag_ids });
        Ok(())
    }

    fn log(&mut self, event: &Event<'_>, name: &str, extra: String) -> Stored {
        let source = event.change.source.clone();
        self.store.add_log(&LogRow { at: event.at, event: name.to_owned(), extra, source })
    }

    /// Maps the key for one consumer and joins or opens the pending rows of its downstream keys.
    fn queue_for(&mut self, event: &Event<'_>, index: usize, key: &str) -> Stored {
        let Some(consumer) = self.consumers.get(index) else { return Ok(()) };
        let dag_id = consumer.dag.dag_id.clone();
        let fingerprint = consumer.fingerprint.clone()?;
        let (name, uri) = (&event.asset.key.name, &event.asset.key.uri);
        let mapper = consumer.dag.timetable.get_partition_mapper(name, uri)?;
        let keys = match mapper.to_downstream(key).map(Downstream::into_keys) {
            Ok(keys) => keys,
            Err(error) if error.is_refusal() => return Err(error.into()),
            Err(error) => return self.not_mapped(event, dag_id, &mapper, key, &error),
        };
        let (limit, cap) = match mapper.max_downstream_keys() {
            Some(cap) => (cap.limit, format!("max_downstream_keys={}", cap.text())),
            None => {
                let limit = self.max_downstream_keys;
                (limit, format!("[scheduler] partition_mapper_max_downstream_keys={limit}"))
            }
        };
        if keys.len() > limit {
            return self.too_many(event, dag_id, key, keys.len(), cap);
        }
        let (carried, carry_error) = match mapper.carry_partition_date(event.change.partition_date) {
            Ok(date) => (date, None),
            Err(error) if error.is_refusal() => return Err(error.into()),
            Err(error) => (None, Some(ErrorText::from(&error))),
        };
        if self.is_tracing() {
            let mapped = Decision::KeyMapped {
                dag_id: dag_id.clone(),
                event: event.id,
                asset: event.asset.key.clone(),
                partition_key: key.to_owned(),
                steps: mapper.steps(key, 0),
                keys: keys.clone(),
                carried,
                carry_error,
            };
            self.note(event.at, mapped);
        }
        for target in keys {
            let pending_id = self.join_pending(event, &dag_id, &target, carried, &fingerprint)?;
            self.store.add_key_log(&KeyLogRow {
                asset_id: event.asset.id,
                event_id: event.id,
                pending_id,
                source_partition_key: key.to_owned(),
            })?;
        }
        Ok(())
    }

    fn not_mapped(&mut self, event: &Event<'_>, dag_id: String, mapper: &Mapper, key: &str, error: &PyErr) -> Stored {
        let AssetKey { name, uri } = &event.asset.key;
        let extra = format!(
            "Could not map partition_key '{key}' for asset (name='{name}', uri='{uri}') in target Dag '{dag_id}'. This \
             likely indicates that the partition mapper in the target Dag is misconfigured or does not support this \
             partition key.\n{}: {}",
            error.class, error.message
        );
        self.log(event, "failed to map partition_key", extra)?;
        let decision = Decision::KeyNotMapped {
            dag_id,
            event: event.id,
            asset: event.asset.key.clone(),
            partition_key: key.to_owned(),
            steps: mapper.steps(key, 0),
            error: ErrorText::from(error),
        };
        self.note(event.at, decision);
        Ok(())
    }

    fn too_many(&mut self, event: &Event<'_>, dag_id: String, key: &str, produced: usize, cap: String) -> Stored {
        let AssetKey { name, uri } = &event.asset.key;
        let extra = format!(
            "Partition mapper for asset (name='{name}', uri='{uri}') in target Dag '{dag_id}' produced {produced} \
             downstream keys from partition_key='{key}', exceeding {cap}. No Dag runs were queued for this event."
        );
        self.log(event, "partition fan-out exceeded", extra)?;
        let decision = Decision::TooManyKeys {
            dag_id,
            event: event.id,
            asset: event.asset.key.clone(),
            partition_key: key.to_owned(),
            produced,
            cap,
        };
        self.note(event.at, decision);
        Ok(())
    }

    /// The pending row of a consumer and key: the open one, with its date settled, or a new one.
    fn join_pending(
        &mut self,
        event: &Event<'_>,
        dag_id: &str,
        key: &str,
        carried: Option<DateTime<Utc>>,
        fingerprint: &Json,
    ) -> Stored<i64> {
        let (dag_id, partition_key) = (dag_id.to_owned(), key.to_owned());
        if let Some(row) = self.store.open_pending(&dag_id, key)? {
            let before = row.partition_date;
            // Two dates that differ leave none; the next one that comes is taken again.
            let (after, conflict) = match (before, carried) {
                (Some(before), Some(carried)) if before != carried => (None, true),
                (Some(before), _) => (Some(before), false),
                (None, carried) => (carried, false),
            };
            if after != before {
                self.store.set_pending_date(row.id, after)?;
            }
            let joined = Decision::PendingJoined {
                dag_id,
                partition_key,
                pending: row.id,
                event: event.id,
                before,
                carried,
                after,
                conflict,
            };
            self.note(event.at, joined);
            return Ok(row.id);
        }
        let pending = self.store.add_pending(&NewPending {
            dag_id: dag_id.clone(),
            partition_key: partition_key.clone(),
            partition_date: carried,
            fingerprint: fingerprint.clone(),
            created_at: event.at,
        })?;
        self.note(event.at, Decision::PendingOpened { dag_id, partition_key, pending, event: event.id, carried });
        Ok(pending)
    }

    fn enqueue_plain(&mut self, event: &Event<'_>, index: usize) -> Stored {
        let Some(dag_id) = self.consumers.get(index).map(|consumer| consumer.dag.dag_id.clone()) else { return Ok(()) };
        let row = QueueRow { dag_id: dag_id.clone(), asset_id: event.asset.id, created_at: event.at };
        let added = self.store.enqueue(&row)?;
        let decision = Decision::Enqueued { dag_id, event: event.id, asset: event.asset.key.clone(), added };
        self.note(event.at, decision);
        Ok(())
    }
}

/// `extra or {}`
fn event_extra(extra: Option<&Json>) -> Json {
    match extra {
        Some(extra) if crate::asset::pytext::truth(extra) => extra.clone(),
        _ => Json::Object(Map::new()),
    }
}
