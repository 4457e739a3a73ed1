//! An asset event as recorded.

use chrono::{DateTime, Utc};
use serde_json::Value as Json;

use super::AssetKey;

/// The task instance that emitted an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventSource {
    /// The producing Dag.
    pub dag_id: String,
    /// The producing task.
    pub task_id: String,
    /// The producing run.
    pub run_id: String,
    /// The map index; -1 when the task is not mapped.
    pub map_index: i64,
}

/// One asset event (Airflow's `AssetEvent`).
#[derive(Debug, Clone, PartialEq)]
pub struct AssetEvent {
    /// Database id; events are numbered in the order of their recording.
    pub id: i64,
    /// The asset it is about.
    pub asset: AssetKey,
    /// When it was recorded, UTC.
    pub timestamp: DateTime<Utc>,
    /// What the producer attached to the event.
    pub extra: Json,
    /// The emitting task instance; none for events from outside.
    pub source: Option<EventSource>,
    /// Names of the aliases it was emitted through.
    pub aliases: Vec<String>,
    /// The partition key, if any.
    pub partition_key: Option<String>,
    /// The producing run's partition date. Airflow hands it to the mappers when the event is registered and does not store
    /// it with the event.
    pub partition_date: Option<DateTime<Utc>>,
}
