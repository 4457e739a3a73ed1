//! partita shows exactly what an Apache Airflow task will execute for a partition, before anything runs.

pub mod airflow;
pub mod asset;
pub mod cli;
pub mod context;
pub mod diff;
pub mod jinja;
pub mod partition;
pub mod pipeline;
#[cfg(feature = "preview")]
pub mod preview;
pub mod python;
pub mod render;
pub mod report;
pub mod run;
pub mod schedule;
pub mod snapshot;
pub mod timetable;
