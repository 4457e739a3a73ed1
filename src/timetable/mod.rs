//! Timetables: when a Dag runs by time, and which partition a run is for.
//!
//! Airflow's classes of `airflow.timetables`, decoded from and encoded to their serialized form.

mod cron;

pub use cron::Cron;
