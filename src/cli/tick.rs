//! `partita tick`: one pass of the scheduler over a stored queue.

use serde_json::{Value as Json, json};

use super::queue_store::{self, Queue, failure};
use super::{Exit, Io, Outcome};
use crate::report;
use crate::schedule::Decision;
use crate::timetable::isoformat;

/// Arguments of `partita tick`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    queue: queue_store::QueueArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Makes runs of what is satisfied.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let mut queue = Queue::open(&args.queue, io)?;
    let outcome = queue.in_one(|queue, at| queue.scheduler.tick(at)).map_err(failure)?;
    if args.json {
        let made: Vec<Json> = queue
            .scheduler
            .runs()
            .map_err(failure)?
            .iter()
            .filter(|run| outcome.runs.contains(&run.id))
            .map(|run| {
                json!({
                    "dag_id": run.run.dag_id,
                    "run_id": run.run.run_id,
                    "partition_key": run.run.partition_key,
                    "partition_date": run.run.partition_date.map(isoformat),
                    "run_after": isoformat(run.run.run_after),
                    "events": run.run.events,
                })
            })
            .collect();
        writeln!(io.out, "{}", json!({"runs": made, "trace": queue.scheduler.trace()}))?;
        return Ok(Exit::Success);
    }
    for entry in queue.scheduler.trace() {
        writeln!(io.out, "{}", report::decision_text(&entry.decision))?;
    }
    let created = queue.scheduler.trace().iter().any(|entry| matches!(entry.decision, Decision::RunCreated { .. }));
    if !created {
        writeln!(io.out, "no run")?;
    }
    Ok(Exit::Success)
}
