//! The REST endpoints of queued events and events, as pure functions from a request to status and body.
//!
//! [`v1`] is the stable API of Airflow 2.10 (`/api/v1`) over a [`DatasetScheduler`](super::datasets::DatasetScheduler), [`v2`]
//! that of 3.3 (`/api/v2`) over a [`Scheduler`](super::Scheduler). Paths come without the prefix; the user may do everything.
//! A request that Airflow would answer in a way not known here is refused (`Unsupported`), never answered otherwise.

pub mod document;
mod request;
mod source;
pub mod v1;
pub mod v2;

pub use request::{Answer, Request};

/// What events can be ordered by, in either version.
const ORDERS: [&str; 5] = ["source_task_id", "source_dag_id", "source_run_id", "source_map_index", "timestamp"];
