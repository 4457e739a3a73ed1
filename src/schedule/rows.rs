//! What a store keeps: the rows of Airflow's tables that matter to asset scheduling.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::asset::{AssetKey, EventSource};

/// A row of `asset`, and whether `asset_active` has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetRow {
    /// The id; 1, 2, ... in the order of registration.
    pub id: i64,
    /// Name and URI.
    pub key: AssetKey,
    /// False once no Dag declares the asset any more.
    pub active: bool,
}

/// A row of `dag`: what changes while the scheduler runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DagRow {
    /// The Dag.
    pub dag_id: String,
    /// Paused by a user.
    pub paused: bool,
    /// Not found by the Dag processor any more.
    pub stale: bool,
}

/// A row of `dag_schedule_asset_reference`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRef {
    /// The consumer.
    pub dag_id: String,
    /// The asset it is scheduled on.
    pub asset_id: i64,
    /// Since when, UTC: events before the oldest reference are no backlog.
    pub created_at: DateTime<Utc>,
}

/// An asset event to record.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The asset.
    pub asset_id: i64,
    /// The time of recording, UTC.
    pub timestamp: DateTime<Utc>,
    /// The event's extra; `{}` if none.
    pub extra: Json,
    /// The emitting task instance, if any.
    pub source: Option<EventSource>,
    /// The aliases it came through.
    pub aliases: Vec<String>,
    /// The partition key.
    pub partition_key: Option<String>,
    /// The producer's date: not in Airflow's table, kept for explanations.
    pub partition_date: Option<DateTime<Utc>>,
}

/// A row of `asset_partition_dag_run`: a partition of a consumer that has events, until a run is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingRow {
    /// The id, rising with time.
    pub id: i64,
    /// The consumer.
    pub dag_id: String,
    /// The key of the run to be.
    pub partition_key: String,
    /// The date carried by events so far; not what a key decodes to.
    pub partition_date: Option<DateTime<Utc>>,
    /// The definition it was queued under.
    pub fingerprint: Json,
    /// When the first event queued it, UTC.
    pub created_at: DateTime<Utc>,
    /// The run made of it.
    pub run_id: Option<i64>,
}

/// A pending row to insert.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPending {
    /// The consumer.
    pub dag_id: String,
    /// The key of the run to be.
    pub partition_key: String,
    /// The date carried.
    pub partition_date: Option<DateTime<Utc>>,
    /// The definition it is queued under.
    pub fingerprint: Json,
    /// Now, UTC.
    pub created_at: DateTime<Utc>,
}

/// A row of `partitioned_asset_key_log`: one event counted for one pending row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLogRow {
    /// The asset of the event.
    pub asset_id: i64,
    /// The event.
    pub event_id: i64,
    /// The pending row.
    pub pending_id: i64,
    /// The key of the event.
    pub source_partition_key: String,
}

/// A row of `asset_dag_run_queue`: a plain consumer has an event of an asset waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueRow {
    /// The consumer.
    pub dag_id: String,
    /// The asset.
    pub asset_id: i64,
    /// When the first event since the last run queued it, UTC; repeats do not change it.
    pub created_at: DateTime<Utc>,
}

/// The states of a Dag run that scheduling knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Created, not started: what the scheduler makes.
    Queued,
    /// All tasks done.
    Success,
    /// Some task failed.
    Failed,
}

/// A run to insert.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The Dag.
    pub dag_id: String,
    /// The run id.
    pub run_id: String,
    /// The partition key.
    pub partition_key: Option<String>,
    /// The partition date, UTC.
    pub partition_date: Option<DateTime<Utc>>,
    /// Not to run before, UTC: the time of the pass for a partition, of the newest queue row for a plain run.
    pub run_after: DateTime<Utc>,
    /// The triggering events, in the order of their recording.
    pub events: Vec<i64>,
    /// The pending row it is made of.
    pub pending_id: Option<i64>,
}

/// A run that asset events made (`asset_triggered`, without logical date or data interval).
#[derive(Debug, Clone, PartialEq)]
pub struct DagRun {
    /// The id, rising with time.
    pub id: i64,
    /// Everything it was made with.
    pub run: NewRun,
    /// Its state.
    pub state: RunState,
}

/// A row of `log` that registering an event wrote: Airflow's own texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// When, UTC.
    pub at: DateTime<Utc>,
    /// `event`: `missing partition key`, `failed to map partition_key`, `partition fan-out exceeded`.
    pub event: String,
    /// `extra`: the text.
    pub extra: String,
    /// The emitting task instance, if any.
    pub source: Option<EventSource>,
}
