//! What waits for more events in an Airflow, and the same as the queue that `resolve` reads.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use crate::asset::{AssetEvent, AssetKey};
use crate::pipeline::{Pipeline, declare};
use crate::schedule::{KeyLogRow, NewEvent, NewPending, QueueRow, ScheduleError, Scheduler};

/// A partition of a consumer that has events and no run yet.
#[derive(Debug, Clone)]
pub struct PendingPartition {
    /// The consumer.
    pub dag_id: String,
    /// The key of the run to be.
    pub partition_key: String,
    /// The date its events carry.
    pub partition_date: Option<DateTime<Utc>>,
    /// `rollup_fingerprint`: the definition it was queued under.
    pub fingerprint: Json,
    /// Since when.
    pub created_at: DateTime<Utc>,
    /// Events counted for it: the source key and the event, in the order they came.
    pub events: Vec<(String, AssetEvent)>,
}

/// What waits in a metadata database.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// Partitions without a run, oldest first.
    pub partitions: Vec<PendingPartition>,
    /// Plain consumers: the Dag, the asset an event came of, and since when.
    pub plain: Vec<(String, AssetKey, DateTime<Utc>)>,
    /// Active assets.
    pub active: Vec<AssetKey>,
    /// Assets that no Dag declares any more.
    pub inactive: Vec<AssetKey>,
}

impl Queue {
    /// When the newest of it came.
    pub fn newest(&self) -> Option<DateTime<Utc>> {
        let events = self.partitions.iter().flat_map(|pending| &pending.events).map(|(_, event)| event.timestamp);
        let rows = self.partitions.iter().map(|pending| pending.created_at);
        events.chain(rows).chain(self.plain.iter().map(|(_, _, at)| *at)).max()
    }

    /// The Dags that something waits for, sorted.
    pub fn dags(&self) -> Vec<String> {
        let partitions = self.partitions.iter().map(|pending| pending.dag_id.clone());
        let mut dags: Vec<String> = partitions.chain(self.plain.iter().map(|(dag_id, ..)| dag_id.clone())).collect();
        dags.sort();
        dags.dedup();
        dags
    }
}

/// A scheduler that holds what waits: the Dags of the pipeline, pending partitions with the events counted for them, and the
/// queue of plain consumers. Nothing is decided: no pass has been made.
///
/// # Errors
/// When a Dag cannot be declared.
pub fn scheduler(queue: &Queue, pipeline: &Pipeline, at: DateTime<Utc>) -> Result<Scheduler, ScheduleError> {
    let mut scheduler = Scheduler::default();
    declare(pipeline, &mut scheduler, at)?;
    let known = |dag_id: &str| pipeline.dag(dag_id).is_some();
    for asset in queue.active.iter().chain(&queue.inactive) {
        scheduler.add_asset(asset)?;
    }
    for asset in &queue.inactive {
        scheduler.set_asset_active(asset, false)?;
    }
    let store = scheduler.store_mut();
    store.begin()?;
    let filled = (|| {
        let mut events: BTreeMap<i64, i64> = BTreeMap::new();
        let mut event_of = |store: &mut dyn crate::schedule::Store, event: &AssetEvent| {
            if let Some(ours) = events.get(&event.id) {
                return Ok(*ours);
            }
            let asset_id = store.add_asset(&event.asset)?;
            let ours = store.add_event(&NewEvent {
                asset_id,
                timestamp: event.timestamp,
                extra: event.extra.clone(),
                source: event.source.clone(),
                aliases: event.aliases.clone(),
                partition_key: event.partition_key.clone(),
                partition_date: None,
            })?;
            events.insert(event.id, ours);
            Ok::<i64, ScheduleError>(ours)
        };
        for pending in queue.partitions.iter().filter(|pending| known(&pending.dag_id)) {
            let PendingPartition { dag_id, partition_key, partition_date, fingerprint, created_at, events } = pending;
            let pending_id = store.add_pending(&NewPending {
                dag_id: dag_id.clone(),
                partition_key: partition_key.clone(),
                partition_date: *partition_date,
                fingerprint: fingerprint.clone(),
                created_at: *created_at,
            })?;
            for (source_key, event) in events {
                let event_id = event_of(store, event)?;
                let asset_id = store.add_asset(&event.asset)?;
                let source_partition_key = source_key.clone();
                store.add_key_log(&KeyLogRow { asset_id, event_id, pending_id, source_partition_key })?;
            }
        }
        for (dag_id, asset, created_at) in queue.plain.iter().filter(|(dag_id, ..)| known(dag_id)) {
            let asset_id = store.add_asset(asset)?;
            store.enqueue(&QueueRow { dag_id: dag_id.clone(), asset_id, created_at: *created_at })?;
        }
        Ok(())
    })();
    match filled {
        Ok(()) => store.commit()?,
        Err(error) => {
            store.rollback();
            return Err(error);
        }
    }
    Ok(scheduler)
}
