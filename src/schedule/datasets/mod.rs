//! Dataset scheduling of Airflow 2.10: what the scheduler, the Dag processor and the dataset manager of that version do.
//!
//! It differs from 3.x enough to be a machine of its own: a dataset is its URI, an alias in a schedule stands for the datasets
//! it had when the Dag was parsed, a run has a logical date (the newest queue row) and a data interval (from the source runs of
//! its events), and at most ten Dags get a run in a pass. [`DatasetScheduler`] holds the rows in memory; time comes from the
//! caller.

pub mod document;
mod model;
mod outlets;
mod parse;
mod pass;
mod register;
mod timetable;

pub use model::{
    DatasetDag, DatasetEvent, DatasetRow, DatasetRun, DatasetScheduler, DatasetTask, Outlet, RegisterChange,
};
pub use outlets::{Emit, EventKey};
pub use parse::by_uri;
pub use timetable::{CronTriggerTimetable, check_max_active_runs, next_dagrun_info, time_schedule};
