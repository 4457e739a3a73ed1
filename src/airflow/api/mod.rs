//! A running Airflow, asked through its public REST API (v2).
//!
//! The API tells everything about runs, events, task instances and their rendered fields, and nothing about templates: those
//! come from serialized Dags, the Dag folder, the metadata database or a pipeline. It masks secrets, so values that are
//! masked are named and refused where a template reads them.

mod client;
mod runs;

pub use client::{Client, Credentials, Options};
pub use runs::RestApi;
