//! Where the rows are kept.

mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

use chrono::{DateTime, Utc};

use super::ScheduleError;
use super::rows::{
    AssetRow, DagRow, DagRun, KeyLogRow, LogRow, NewEvent, NewPending, NewRun, PendingRow, QueueRow, RunState,
    ScheduleRef,
};
use crate::asset::{AssetEvent, AssetKey, AssetRef};

/// What a call to the store gives.
pub type Stored<T = ()> = Result<T, ScheduleError>;

/// The tables of asset scheduling. The scheduler brackets everything that belongs together in [`begin`](Store::begin) and
/// [`commit`](Store::commit), and changes rows of a pass only after it has decided all of them.
pub trait Store: Send {
    /// Starts a transaction that sees and allows no others; what was committed before is safe on disk, if there is one.
    fn begin(&mut self) -> Stored;

    /// Ends the transaction and keeps its changes.
    fn commit(&mut self) -> Stored;

    /// Ends the transaction and drops its changes. A store without transactions may keep them: the scheduler rolls back
    /// only before its first change or when the store itself fails.
    fn rollback(&mut self);

    /// The time of the newest event or run, UTC: calls of the scheduler must come after it.
    fn newest(&self) -> Stored<Option<DateTime<Utc>>>;

    /// The asset, registered as active if it is new; its id.
    fn add_asset(&mut self, key: &AssetKey) -> Stored<i64>;

    /// The asset of that name and URI.
    fn asset(&self, key: &AssetKey) -> Stored<Option<AssetRow>>;

    /// Every asset, by id.
    fn assets(&self) -> Stored<Vec<AssetRow>>;

    /// The first active asset that a reference means.
    fn resolve_ref(&self, reference: &AssetRef) -> Stored<Option<AssetRow>>;

    /// Marks an asset active or not.
    fn set_active(&mut self, asset_id: i64, active: bool) -> Stored;

    /// Associates an asset with an alias, once; the alias is created if it is new.
    fn associate(&mut self, alias: &str, asset_id: i64) -> Stored;

    /// The assets of an alias, active or not.
    fn assets_of_alias(&self, alias: &str) -> Stored<Vec<AssetRow>>;

    /// The Dag's row, created if it is new: neither paused nor stale.
    fn add_dag(&mut self, dag_id: &str) -> Stored<DagRow>;

    /// The Dag's row.
    fn dag(&self, dag_id: &str) -> Stored<Option<DagRow>>;

    /// Changes the flags of a Dag.
    fn set_dag(&mut self, row: &DagRow) -> Stored;

    /// The schedule references of a Dag.
    fn schedule_refs(&self, dag_id: &str) -> Stored<Vec<ScheduleRef>>;

    /// Makes these assets the Dag's schedule references: those that are there keep their time, new ones get `at`, others go.
    fn set_schedule_refs(&mut self, dag_id: &str, asset_ids: &[i64], at: DateTime<Utc>) -> Stored;

    /// Records an event; its id.
    fn add_event(&mut self, event: &NewEvent) -> Stored<i64>;

    /// One event.
    fn event(&self, event_id: i64) -> Stored<Option<AssetEvent>>;

    /// The events of these assets or through these aliases, after the first and up to the second time, oldest first.
    fn events_between(
        &self,
        asset_ids: &[i64],
        aliases: &[String],
        after: Option<DateTime<Utc>>,
        until: DateTime<Utc>,
    ) -> Stored<Vec<i64>>;

    /// Writes a row of the audit log.
    fn add_log(&mut self, row: &LogRow) -> Stored;

    /// The audit log, oldest first.
    fn logs(&self) -> Stored<Vec<LogRow>>;

    /// The newest pending row of a consumer and key, if no run has been made of it.
    fn open_pending(&self, dag_id: &str, partition_key: &str) -> Stored<Option<PendingRow>>;

    /// Inserts a pending row; its id.
    fn add_pending(&mut self, row: &NewPending) -> Stored<i64>;

    /// Changes the date a pending row carries.
    fn set_pending_date(&mut self, pending_id: i64, date: Option<DateTime<Utc>>) -> Stored;

    /// The pending rows no run has been made of, of Dags that are not stale (or of all), oldest first.
    fn pending(&self, include_stale: bool, limit: Option<usize>) -> Stored<Vec<PendingRow>>;

    /// Drops pending rows and what was logged for them.
    fn delete_pending(&mut self, pending_ids: &[i64]) -> Stored;

    /// Counts an event for a pending row.
    fn add_key_log(&mut self, row: &KeyLogRow) -> Stored;

    /// What was counted for a pending row, in the order it came.
    fn key_logs(&self, pending_id: i64) -> Stored<Vec<KeyLogRow>>;

    /// Queues an asset for a plain consumer unless it is queued; true when a row was added.
    fn enqueue(&mut self, row: &QueueRow) -> Stored<bool>;

    /// The queue of plain consumers.
    fn queue(&self) -> Stored<Vec<QueueRow>>;

    /// Takes rows out of the queue; how many were there.
    fn dequeue(&mut self, dag_id: &str, asset_ids: &[i64]) -> Stored<usize>;

    /// Inserts a run; its id. A pending row it is made of becomes its own.
    fn add_run(&mut self, run: &NewRun) -> Stored<i64>;

    /// Every run, oldest first.
    fn runs(&self) -> Stored<Vec<DagRun>>;

    /// The runs after one, oldest first.
    fn runs_after(&self, run_id: i64) -> Stored<Vec<DagRun>>;

    /// How many runs of a Dag are not finished.
    fn active_runs(&self, dag_id: &str) -> Stored<usize>;

    /// How many runs a Dag has had.
    fn run_count(&self, dag_id: &str) -> Stored<usize>;

    /// The latest `run_after` of a Dag's runs before a time.
    fn last_run_after(&self, dag_id: &str, before: DateTime<Utc>) -> Stored<Option<DateTime<Utc>>>;

    /// Sets the state of one run, or of all unfinished ones of a Dag.
    fn finish_runs(&mut self, dag_id: &str, run: Option<i64>, state: RunState) -> Stored;
}
