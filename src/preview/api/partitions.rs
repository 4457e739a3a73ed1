//! `GET /api/partitions`: what pending partition runs have received and still wait for, which Airflow's public API does
//! not show.

use serde_json::{Value as Json, json};

use super::super::answer::Failure;
use super::super::scene::masked;
use super::super::select;
use super::Ask;
use crate::schedule::{AssetWait, PendingStatus};
use crate::timetable::isoformat;

/// Lists what is pending: in the open store, or after a scenario when one is named or no store is open.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    let known: Vec<&str> = select::SCENE.into_iter().chain(["dag"]).collect();
    query.only(&known)?;
    let dag = query.get("dag")?;
    let scenes = ["scenario", "emit", "partition_key"].iter().any(|name| query.all(name).next().is_some());
    let pending = match &ask.preview.options.queues {
        Some(queues) if !scenes => {
            let pipeline = queues
                .pipeline_name()
                .and_then(|name| ask.workspace.folder(name))
                .and_then(|folder| folder.loaded.as_ref().ok());
            partitions(&queues.pending(pipeline)?, dag)
        }
        _ => {
            let scene = select::scene(ask.preview, ask.workspace, query)?;
            let masker = scene.renderer(&ask.preview.engine).masker();
            let pending = scene.with_played(|played| played.scheduler.pending_status())?;
            masked(partitions(&pending, dag), &masker)
        }
    };
    Ok(json!({"partitions": pending}))
}

fn partitions(pending: &[PendingStatus], dag: Option<&str>) -> Json {
    pending.iter().filter(|status| dag.is_none_or(|dag| dag == status.dag_id)).map(partition).collect()
}

fn partition(status: &PendingStatus) -> Json {
    json!({
        "dag_id": status.dag_id,
        "partition_key": status.partition_key,
        "partition_date": status.carried.map(isoformat),
        "since": isoformat(status.since),
        "satisfied": status.satisfied,
        "stale": status.stale,
        "outdated": status.outdated,
        "assets": status.assets.iter().map(asset).collect::<Vec<_>>(),
    })
}

/// One asset's part. `required` and `missing` are null where the mapper expects no set of keys: one event is enough then.
fn asset(wait: &AssetWait) -> Json {
    let rollup = wait.expected.is_some();
    json!({
        "name": wait.asset.name,
        "uri": wait.asset.uri,
        "active": wait.active,
        "mapper": wait.mapper,
        "wait_policy": wait.wait_policy,
        "received": wait.received.iter().map(|source| json!({"key": source.key, "event": source.event})).collect::<Vec<_>>(),
        "required": rollup.then_some(&wait.required),
        "missing": rollup.then_some(&wait.missing),
        "needed": wait.needed,
        "matched": rollup.then_some(wait.matched),
        "unreachable": wait.unreachable,
        "error": wait.error.as_ref().map(|error| json!({"kind": error.kind, "message": error.message})),
        "satisfied": wait.satisfied,
    })
}
