//! What waits in a metadata database, as the queue that `resolve` and `explain` read.

use chrono::{DateTime, Utc};

use super::{PendingPartition, Queue};
use crate::asset::{AssetEvent, AssetKey};
use crate::pipeline::{Pipeline, declare};
use crate::schedule::{KeyLogRow, NewEvent, NewPending, QueueRow, ScheduleError, Scheduler};

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
        let id_of = |store: &mut dyn crate::schedule::Store, asset: &AssetKey| store.add_asset(asset);
        let mut events: Vec<(i64, i64)> = Vec::new();
        let mut event_of = |store: &mut dyn crate::schedule::Store, event: &AssetEvent| {
            if let Some((_, ours)) = events.iter().find(|(theirs, _)| *theirs == event.id) {
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
            events.push((event.id, ours));
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
                let asset_id = id_of(store, &event.asset)?;
                let source_partition_key = source_key.clone();
                store.add_key_log(&KeyLogRow { asset_id, event_id, pending_id, source_partition_key })?;
            }
        }
        for (dag_id, asset, created_at) in queue.plain.iter().filter(|(dag_id, ..)| known(dag_id)) {
            let asset_id = id_of(store, asset)?;
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
