//! The queue and the scheduler: from asset events to Dag runs, by the rules of Airflow 3.3.
//!
//! A [`Scheduler`] knows the consumer Dags and keeps rows in a [`Store`]. Registering an event
//! ([`Scheduler::register_asset_change`]) queues it for its consumers: a pending partition run for a partitioned Dag, a
//! queue row for a plain one. A pass ([`Scheduler::tick`]) turns what is satisfied into runs. Both say what they decided and
//! why as [`Decision`]s, and write the audit log that Airflow writes.
//!
//! Time never comes from the machine: every call takes `at`, and calls must come in the order of time.

pub mod api;
pub mod datasets;
mod decision;
pub mod document;
mod error;
mod follow;
mod outlets;
mod pass;
mod plain;
mod register;
mod rows;
mod scheduler;
pub mod store;
mod wait;

pub use decision::{Anchor, DateRule, Decision, Entry, ErrorText, LogLine};
pub use error::ScheduleError;
pub use follow::{Follow, HOP_LIMIT, Producer};
pub use outlets::{AliasEvent, OutletEvent, TaskOutlets, outlet_changes, validate_runtime_keys};
pub use register::AssetChange;
pub use rows::{
    AssetRow, DagRow, DagRun, KeyLogRow, LogRow, NewEvent, NewPending, NewRun, PendingRow, QueueRow, RunState,
    ScheduleRef,
};
pub use scheduler::{ConsumerDag, PARTITION_ROWS_PER_TICK, Scheduler, TickOutcome};
#[cfg(feature = "sqlite")]
pub use store::SqliteStore;
pub use store::{MemoryStore, Store};
pub use wait::{AssetWait, PendingStatus, SourceKey};
