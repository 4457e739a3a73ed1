//! The stored queue that `emit`, `tick`, `queue` and others work on: a pipeline declared to a SQLite file.

use std::time::SystemTime;

use camino::Utf8PathBuf;
use chrono::{DateTime, Duration, SubsecRound, Utc};

use super::{Failure, Io, select};
use crate::pipeline::{self, Pipeline, Profile};
use crate::schedule::{ScheduleError, Scheduler, SqliteStore};
use crate::timetable::isoformat;

/// Arguments that name a stored queue.
#[derive(Debug, clap::Args)]
pub struct QueueArgs {
    /// The file of the queue; `emit` and `tick` make it if it is not there
    #[arg(long, value_name = "FILE", env = "PARTITA_STORE")]
    pub store: Utf8PathBuf,
    /// The pipeline whose Dags consume the events; without it, the only one below templates/
    #[arg(long, value_name = "PIPELINE", env = "PARTITA_PIPELINE")]
    pub pipeline: Option<Utf8PathBuf>,
    /// The time it happens, in place of the machine's clock
    #[arg(long, value_name = "DATE")]
    pub at: Option<String>,
}

/// A stored queue with the pipeline's Dags.
#[derive(Debug)]
pub struct Queue {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The scheduler over the file.
    pub scheduler: Scheduler,
    at: Option<DateTime<Utc>>,
}

impl Queue {
    /// Opens the file and declares the pipeline's assets and Dags to it.
    pub fn open(args: &QueueArgs, io: &mut Io<'_>) -> Result<Self, Failure> {
        let at = args.at.as_deref().map(instant).transpose()?;
        let named: Vec<Utf8PathBuf> = args.pipeline.iter().cloned().collect();
        let mut pipelines = select::pipelines(&named, io)?;
        let pipeline = match (pipelines.pop(), pipelines.is_empty()) {
            (Some(pipeline), true) => pipeline,
            _ => return Err(Failure::Usage("there are several pipelines: choose one with --pipeline".to_owned())),
        };
        if pipeline.profile == Profile::Airflow210 {
            return Err(Failure::Fatal(format!(
                "{}: a stored queue holds assets of Airflow 3, not datasets of Airflow 2.10\nhelp: write the updates as \
                 steps of a scenario",
                pipeline.name
            )));
        }
        let store = SqliteStore::open(args.store.as_std_path()).map_err(failure)?;
        let scheduler = Scheduler::new(Box::new(store)).with_seed(pipeline.name.clone());
        let mut queue = Queue { pipeline, scheduler, at };
        queue.in_one(|queue, at| pipeline::declare(&queue.pipeline, &mut queue.scheduler, at)).map_err(failure)?;
        if let Some(at) = queue.at {
            let time = queue.time().map_err(failure)?;
            if time - at > Duration::milliseconds(1) {
                let time = isoformat(time);
                writeln!(
                    io.err,
                    "note: --at lies before what the queue holds; time goes forward, so this is at {time}"
                )?;
            }
        }
        Ok(queue)
    }

    /// The same for a file that must be there: whoever reads or deletes makes none.
    pub fn open_existing(args: &QueueArgs, io: &mut Io<'_>) -> Result<Self, Failure> {
        if !args.store.is_file() {
            let store = &args.store;
            return Err(Failure::Fatal(format!(
                "there is no stored queue {store}\nhelp: `partita emit --store {store}` makes one"
            )));
        }
        Self::open(args, io)
    }

    /// Does several things in one transaction: on disk together, or not at all. `change` gets the time, which is read while
    /// no other process can write, and lies after everything in the file.
    pub fn in_one<T>(
        &mut self,
        change: impl FnOnce(&mut Self, DateTime<Utc>) -> Result<T, ScheduleError>,
    ) -> Result<T, ScheduleError> {
        self.scheduler.store_mut().begin()?;
        let result = self.time().and_then(|at| change(self, at));
        match result {
            Ok(value) => {
                self.scheduler.store_mut().commit()?;
                Ok(value)
            }
            Err(error) => {
                self.scheduler.store_mut().rollback();
                Err(error)
            }
        }
    }

    /// Now, or a moment after the newest row: the rules of the queue need time to go forward.
    pub fn time(&self) -> Result<DateTime<Utc>, ScheduleError> {
        let now = self.at.unwrap_or_else(clock);
        let newest = self.scheduler.store().newest()?;
        Ok(newest.map_or(now, |newest| now.max(newest + Duration::microseconds(1))))
    }
}

/// The machine's clock, in microseconds as Airflow stores them.
pub fn clock() -> DateTime<Utc> {
    DateTime::<Utc>::from(SystemTime::now()).trunc_subsecs(6)
}

/// A date of the command line.
pub fn instant(text: &str) -> Result<DateTime<Utc>, Failure> {
    pipeline::reader::parse_instant(text)
        .ok_or_else(|| Failure::Usage(format!("{text:?} is no date: write 2026-03-10T09:00:00Z")))
}

/// What scheduling failed with, as an outcome of a command.
pub fn failure(error: ScheduleError) -> Failure {
    Failure::Fatal(match error {
        ScheduleError::Python(error) => match &error.hint {
            Some(hint) => format!("{error}\nhelp: {hint}"),
            None => error.to_string(),
        },
        other => other.to_string(),
    })
}
