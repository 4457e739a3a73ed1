//! `partita queue`: what is queued in a stored queue, and taking it out.

use clap::Subcommand;
use serde_json::{Value as Json, json};

use super::queue_store::{self, Queue, failure};
use super::{Exit, Failure, Io, Outcome, select};
use crate::report;
use crate::schedule::{QueueRow, ScheduleError};
use crate::timetable::isoformat;

/// Arguments of `partita queue`.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Pending partition runs and queued events
    List {
        #[command(flatten)]
        queue: queue_store::QueueArgs,
        /// Only this Dag
        #[arg(long, value_name = "DAG")]
        dag: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take queued events and pending partition runs of a Dag out
    Delete {
        #[command(flatten)]
        queue: queue_store::QueueArgs,
        /// The Dag
        #[arg(long, value_name = "DAG")]
        dag: String,
        /// Only queued events of this asset
        #[arg(long, value_name = "ASSET", conflicts_with = "partition_key")]
        asset: Option<String>,
        /// Only the pending run of this partition
        #[arg(long, value_name = "KEY")]
        partition_key: Option<String>,
    },
}

/// Runs `partita queue`.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    match &args.action {
        Action::List { queue, dag, json } => list(queue, dag.as_deref(), *json, io),
        Action::Delete { queue, dag, asset, partition_key } => {
            let mut queue = Queue::open_existing(queue, io)?;
            known(&queue, dag)?;
            let asset = asset.as_deref().map(|name| asset_id(&queue, name)).transpose()?;
            let (rows, runs) =
                queue.in_one(|queue, _| delete(queue, dag, asset, partition_key.as_deref())).map_err(failure)?;
            writeln!(io.out, "{dag}: {rows} queued assets and {runs} pending partition runs deleted")?;
            // Airflow answers 404 when there was nothing to delete.
            Ok(Exit::findings_if(rows + runs == 0))
        }
    }
}

fn known(queue: &Queue, dag: &str) -> Result<(), Failure> {
    if queue.pipeline.dag(dag).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = queue.pipeline.dags.iter().map(|dag| dag.dag_id.as_str()).collect();
    Err(select::unknown("Dag", dag, &known))
}

fn asset_id(queue: &Queue, name: &str) -> Result<i64, Failure> {
    let assets = queue.scheduler.store().assets().map_err(failure)?;
    let found = assets.iter().find(|row| row.key.name == name || row.key.uri == name);
    let known: Vec<&str> = assets.iter().map(|row| row.key.name.as_str()).collect();
    found.map(|row| row.id).ok_or_else(|| select::unknown("asset", name, &known))
}

fn delete(
    queue: &mut Queue,
    dag: &str,
    asset: Option<i64>,
    partition_key: Option<&str>,
) -> Result<(usize, usize), ScheduleError> {
    let rows: Vec<i64> = match partition_key {
        Some(_) => Vec::new(),
        None => {
            let queued = queue.scheduler.queue()?.into_iter().filter(|row| row.dag_id == dag);
            queued.map(|row| row.asset_id).filter(|id| asset.is_none_or(|asset| asset == *id)).collect()
        }
    };
    let runs: Vec<i64> = match asset {
        Some(_) => Vec::new(),
        None => {
            let pending = queue.scheduler.pending()?.into_iter().filter(|row| row.dag_id == dag);
            let wanted = pending.filter(|row| partition_key.is_none_or(|key| key == row.partition_key));
            wanted.map(|row| row.id).collect()
        }
    };
    let store = queue.scheduler.store_mut();
    let deleted = store.dequeue(dag, &rows)?;
    store.delete_pending(&runs)?;
    Ok((deleted, runs.len()))
}

fn list(args: &queue_store::QueueArgs, dag: Option<&str>, json: bool, io: &mut Io<'_>) -> Outcome {
    let queue = Queue::open_existing(args, io)?;
    if let Some(dag) = dag {
        known(&queue, dag)?;
    }
    let wanted = |dag_id: &str| dag.is_none_or(|dag| dag == dag_id);
    let mut pending = queue.scheduler.pending_status().map_err(failure)?;
    pending.retain(|status| wanted(&status.dag_id));
    let assets = queue.scheduler.store().assets().map_err(failure)?;
    let name = |row: &QueueRow| {
        assets.iter().find(|asset| asset.id == row.asset_id).map(|asset| asset.key.name.clone()).unwrap_or_default()
    };
    let mut queued = queue.scheduler.queue().map_err(failure)?;
    queued.retain(|row| wanted(&row.dag_id));
    if json {
        let rows: Vec<Json> = queued
            .iter()
            .map(|row| json!({"dag_id": row.dag_id, "asset": name(row), "created_at": isoformat(row.created_at)}))
            .collect();
        writeln!(io.out, "{}", json!({"pending": pending, "queued": rows}))?;
        return Ok(Exit::Success);
    }
    for status in &pending {
        writeln!(io.out, "{}", report::pending_text(status))?;
    }
    for row in &queued {
        writeln!(io.out, "{}  {} queued since {}", row.dag_id, name(row), isoformat(row.created_at))?;
    }
    if pending.is_empty() && queued.is_empty() {
        writeln!(io.out, "nothing is queued")?;
    }
    Ok(Exit::Success)
}
