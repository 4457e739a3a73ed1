//! Following a chain: consumer runs succeed and emit in turn, hop by hop.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Duration, Utc};

use super::ScheduleError;
use super::outlets::TaskOutlets;
use super::rows::{DagRun, RunState};
use super::scheduler::Scheduler;
use crate::python::PyErr;

/// How many hops a chain may have.
pub const HOP_LIMIT: usize = 100;

/// What the tasks of a run emit when they succeed.
pub trait Producer {
    /// The outlets of each task of the run's Dag, in the order of the tasks.
    fn outlets(&self, run: &DagRun) -> Vec<TaskOutlets>;
}

/// A chain being followed.
#[derive(Debug, Default)]
pub struct Follow {
    /// Runs that have emitted, by id.
    done: HashSet<i64>,
    /// The Dags that lead to each run, the run's own last.
    lineage: HashMap<String, Vec<String>>,
    hops: usize,
}

impl Follow {
    /// Nothing followed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every run that has not emitted yet succeed and emit, then makes one pass; again until no run comes.
    /// `clock` is the time of the next step and moves one second a step. Returns the number of hops.
    ///
    /// # Errors
    /// `LimitExceeded` when a Dag's run leads to another run of the same Dag (an asset cycle), or after [`HOP_LIMIT`]
    /// hops; the Dags on the way are named. What a pass raises.
    pub fn run(
        &mut self,
        scheduler: &mut Scheduler,
        producer: &dyn Producer,
        clock: &mut DateTime<Utc>,
    ) -> Result<usize, ScheduleError> {
        loop {
            let fresh: Vec<DagRun> = scheduler.runs()?.into_iter().filter(|run| !self.done.contains(&run.id)).collect();
            if fresh.is_empty() {
                return Ok(self.hops);
            }
            let mut emitted = false;
            for run in &fresh {
                self.done.insert(run.id);
                self.trace_back(scheduler, run)?;
                scheduler.finish_runs(&run.run.dag_id, Some(run.id), RunState::Success)?;
                for task in producer.outlets(run) {
                    emitted |= !scheduler.register_task_outlets(&task, *clock)?.is_empty();
                    *clock += Duration::seconds(1);
                }
            }
            if !emitted {
                return Ok(self.hops);
            }
            self.hops += 1;
            if self.hops > HOP_LIMIT {
                let path = fresh.first().and_then(|run| self.lineage.get(&run.run.run_id)).cloned();
                return Err(self.endless(&path.unwrap_or_default(), "is longer than 100 hops"));
            }
            // A pass that made as many runs as it looks at rows may have left some behind.
            while scheduler.tick(*clock)?.runs.len() >= scheduler.rows_per_tick {
                *clock += Duration::seconds(1);
            }
            *clock += Duration::seconds(1);
        }
    }

    /// Records how a run came about, and refuses a Dag that leads to itself.
    fn trace_back(&mut self, scheduler: &Scheduler, run: &DagRun) -> Result<(), ScheduleError> {
        let mut path: Vec<String> = Vec::new();
        for event in &run.run.events {
            let source = scheduler.event(*event)?.and_then(|event| event.source);
            let Some(before) = source.and_then(|source| self.lineage.get(&source.run_id)) else { continue };
            if before.contains(&run.run.dag_id) {
                let mut cycle = before.clone();
                cycle.push(run.run.dag_id.clone());
                return Err(self.endless(&cycle, "comes back to a Dag it came from"));
            }
            if before.len() > path.len() {
                path.clone_from(before);
            }
        }
        path.push(run.run.dag_id.clone());
        self.lineage.insert(run.run.run_id.clone(), path);
        Ok(())
    }

    fn endless(&self, path: &[String], why: &str) -> ScheduleError {
        let error = PyErr::limit(format!("the chain of assets {why}: {}", path.join(" -> ")));
        ScheduleError::Python(error.with_hint("leave out `follow`, or take the outlet that closes the circle away"))
    }
}
