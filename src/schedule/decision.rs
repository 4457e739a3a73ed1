//! What scheduling decided, and why: data that commands print.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::wait::PendingStatus;
use crate::asset::AssetKey;
use crate::partition::KeyStep;
use crate::python::PyErr;

/// A decision and when it was made, UTC.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The time of the event or the pass.
    pub at: DateTime<Utc>,
    /// What was decided.
    #[serde(flatten)]
    pub decision: Decision,
}

/// A Python exception as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorText {
    /// The class name.
    pub kind: String,
    /// `str(exception)`
    pub message: String,
}

impl From<&PyErr> for ErrorText {
    fn from(error: &PyErr) -> Self {
        ErrorText { kind: error.class.to_string(), message: error.message.clone() }
    }
}

/// One asset's part in a partition date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anchor {
    /// The asset.
    pub asset: AssetKey,
    /// Its mapper, in short.
    pub mapper: String,
    /// What the mapper decoded the key to, as `isoformat()` prints it; `None` when the key carries no date for it.
    pub date: Option<String>,
}

/// Which rule gave a partition run its date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum DateRule {
    /// Every mapper that decodes the key agrees.
    Decoded {
        /// What each asset's mapper said.
        anchors: Vec<Anchor>,
    },
    /// No mapper decodes the key: the date carried by the events counts.
    Carried {
        /// The assets asked.
        anchors: Vec<Anchor>,
    },
    /// No mapper decodes the key and no event carried a date, or the events carried different ones.
    NoDate {
        /// The assets asked.
        anchors: Vec<Anchor>,
    },
    /// The mappers disagree: no date, not even the carried one.
    Conflict {
        /// What each asset's mapper said.
        anchors: Vec<Anchor>,
    },
    /// A mapper could not decode the key: no date, not even the carried one.
    Failed {
        /// The asset whose mapper failed.
        asset: AssetKey,
        /// Its mapper, in short.
        mapper: String,
        /// The exception.
        error: ErrorText,
    },
    /// The run is not for a partition.
    NotPartitioned,
}

/// A decision of the queue or the scheduler. Ids are those of the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The event is dropped: nobody has declared such an asset.
    AssetUnknown {
        /// The asset of the event.
        asset: AssetKey,
    },
    /// A task added an asset through an alias that did not exist before.
    AssetCreated {
        /// The new asset.
        asset: AssetKey,
        /// The aliases.
        aliases: Vec<String>,
    },
    /// A task's outlet is inactive: no event.
    OutletInactive {
        /// The outlet, in words.
        outlet: String,
    },
    /// An event was recorded.
    EventRecorded {
        /// The event.
        event: i64,
        /// Its asset.
        asset: AssetKey,
        /// Its key.
        partition_key: Option<String>,
        /// The producer's date.
        partition_date: Option<DateTime<Utc>>,
        /// The asset is inactive: the event counts once it is active again.
        inactive: bool,
        /// Consumers that are not queued because they are paused.
        paused: Vec<String>,
        /// Plain consumers that are not queued because the event has a key.
        plain: Vec<String>,
        /// Nobody consumes the asset.
        unheard: bool,
    },
    /// The event has no key: partitioned consumers are not queued.
    MissingKey {
        /// The event.
        event: i64,
        /// The consumers.
        dag_ids: Vec<String>,
    },
    /// A consumer's mapper refused the key.
    KeyNotMapped {
        /// The consumer.
        dag_id: String,
        /// The event.
        event: i64,
        /// Its asset.
        asset: AssetKey,
        /// Its key.
        partition_key: String,
        /// What each mapper did.
        steps: Vec<KeyStep>,
        /// The exception.
        error: ErrorText,
    },
    /// A consumer's mapper made more keys than allowed: none is queued.
    TooManyKeys {
        /// The consumer.
        dag_id: String,
        /// The event.
        event: i64,
        /// Its asset.
        asset: AssetKey,
        /// Its key.
        partition_key: String,
        /// How many keys, duplicates counted.
        produced: usize,
        /// Where the limit comes from, in Airflow's words.
        cap: String,
    },
    /// A consumer's mapper mapped the key.
    KeyMapped {
        /// The consumer.
        dag_id: String,
        /// The event.
        event: i64,
        /// Its asset.
        asset: AssetKey,
        /// Its key.
        partition_key: String,
        /// What each mapper did.
        steps: Vec<KeyStep>,
        /// The keys of the consumer's runs.
        keys: Vec<String>,
        /// The date the mapper carries.
        carried: Option<DateTime<Utc>>,
        /// Why it carries none although it should.
        carry_error: Option<ErrorText>,
    },
    /// A pending partition run was opened.
    PendingOpened {
        /// The consumer.
        dag_id: String,
        /// The key of the run to be.
        partition_key: String,
        /// The pending row.
        pending: i64,
        /// The event.
        event: i64,
        /// The date it carries.
        carried: Option<DateTime<Utc>>,
    },
    /// An event joined a pending partition run.
    PendingJoined {
        /// The consumer.
        dag_id: String,
        /// The key of the run to be.
        partition_key: String,
        /// The pending row.
        pending: i64,
        /// The event.
        event: i64,
        /// The date before.
        before: Option<DateTime<Utc>>,
        /// The date the event carries.
        carried: Option<DateTime<Utc>>,
        /// The date after: none when the two differ.
        after: Option<DateTime<Utc>>,
        /// The two dates differ.
        conflict: bool,
    },
    /// A plain consumer was queued.
    Enqueued {
        /// The consumer.
        dag_id: String,
        /// The event.
        event: i64,
        /// Its asset.
        asset: AssetKey,
        /// False when the asset was queued before: its row, and the row's time, stay.
        added: bool,
    },
    /// A pending partition run was dropped: the consumer's mappers, windows, policies or caps changed since.
    Dropped {
        /// The consumer.
        dag_id: String,
        /// The key.
        partition_key: String,
        /// The pending row.
        pending: i64,
        /// The events that counted for it.
        events: Vec<i64>,
    },
    /// A pending partition run is not satisfied.
    Waiting {
        /// Its state.
        status: PendingStatus,
    },
    /// The pass looked at as many pending rows as it may; what is behind waits.
    LimitReached {
        /// The limit.
        limit: usize,
        /// How many pending rows it did not look at.
        behind: usize,
    },
    /// A plain consumer's condition is not met, or something holds it back.
    PlainWaiting {
        /// The consumer.
        dag_id: String,
        /// The assets queued for it.
        queued: Vec<AssetKey>,
        /// Why: the condition, `max_active_runs`, paused or stale.
        reason: String,
    },
    /// A run was created.
    RunCreated {
        /// The consumer.
        dag_id: String,
        /// The run.
        run: i64,
        /// Its run id.
        run_id: String,
        /// Its key.
        partition_key: Option<String>,
        /// Its date.
        partition_date: Option<DateTime<Utc>>,
        /// The pending row it is made of.
        pending: Option<i64>,
        /// Its events.
        events: Vec<i64>,
        /// Where the date comes from.
        date: DateRule,
    },
    /// The pass raised: nothing it decided was kept.
    PassFailed {
        /// The consumer whose run could not be created.
        dag_id: String,
        /// The key.
        partition_key: Option<String>,
        /// The exception.
        error: ErrorText,
    },
}

/// A line that Airflow would log for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// `info`, `warning` or `error`
    pub level: &'static str,
    /// The text.
    pub text: String,
}

impl Decision {
    /// The consumer it is about.
    pub fn dag_id(&self) -> Option<&str> {
        match self {
            Decision::KeyNotMapped { dag_id, .. }
            | Decision::TooManyKeys { dag_id, .. }
            | Decision::KeyMapped { dag_id, .. }
            | Decision::PendingOpened { dag_id, .. }
            | Decision::PendingJoined { dag_id, .. }
            | Decision::Enqueued { dag_id, .. }
            | Decision::Dropped { dag_id, .. }
            | Decision::PlainWaiting { dag_id, .. }
            | Decision::RunCreated { dag_id, .. }
            | Decision::PassFailed { dag_id, .. } => Some(dag_id),
            Decision::Waiting { status } => Some(&status.dag_id),
            _ => None,
        }
    }

    /// The pending row it is about.
    pub fn pending(&self) -> Option<i64> {
        match self {
            Decision::PendingOpened { pending, .. }
            | Decision::PendingJoined { pending, .. }
            | Decision::Dropped { pending, .. } => Some(*pending),
            Decision::RunCreated { pending, .. } => *pending,
            Decision::Waiting { status } => Some(status.pending),
            _ => None,
        }
    }

    /// The event it is about.
    pub fn event(&self) -> Option<i64> {
        match self {
            Decision::EventRecorded { event, .. }
            | Decision::MissingKey { event, .. }
            | Decision::KeyNotMapped { event, .. }
            | Decision::TooManyKeys { event, .. }
            | Decision::KeyMapped { event, .. }
            | Decision::PendingOpened { event, .. }
            | Decision::PendingJoined { event, .. }
            | Decision::Enqueued { event, .. } => Some(*event),
            _ => None,
        }
    }

    /// The warning or error that Airflow's log would show, if any.
    pub fn log_line(&self) -> Option<LogLine> {
        let line = |level, text: String| Some(LogLine { level, text });
        let warning = |text: &str| line("warning", text.to_owned());
        match self {
            Decision::AssetUnknown { asset } => {
                line("warning", format!("AssetModel {} not found; cannot create asset event.", asset.name))
            }
            Decision::EventRecorded { inactive: true, asset, .. } => {
                line("warning", format!("Emitting event for inactive AssetModel {}", asset.name))
            }
            Decision::OutletInactive { outlet } => {
                line("warning", format!("Task has inactive assets \"{outlet}\" in inlets or outlets"))
            }
            Decision::MissingKey { .. } => {
                warning("Listening Dags are partition-aware but the run has no partition key")
            }
            Decision::KeyNotMapped { .. } => line(
                "error",
                "Could not map partition key for asset in target Dag. This likely indicates the target Dag's partition \
                 mapper is misconfigured, or does not support this partition key."
                    .to_owned(),
            ),
            Decision::TooManyKeys { .. } => line(
                "error",
                "Partition mapper produced more downstream keys than allowed; skipping queue.".to_owned(),
            ),
            Decision::KeyMapped { carry_error: Some(_), .. } => line(
                "error",
                "Partition mapper carry_partition_date failed; consumer partition_date will be None.".to_owned(),
            ),
            Decision::PendingJoined { conflict: true, .. } => warning(
                "Conflicting partition_date carried for the same target key; suppressing it so the consumer DagRun's \
                 partition_date is None. The producing assets likely disagree on the partition's datetime.",
            ),
            Decision::Dropped { .. } => line(
                "info",
                "Cleared provisional partition Dag run(s) because the rollup definition (mapper / window) has changed since \
                 they were queued. The next scheduler tick will rebuild evaluation from fresh asset events."
                    .to_owned(),
            ),
            Decision::Waiting { status } => status.log_line(),
            Decision::RunCreated { date: DateRule::Conflict { .. }, .. } => warning(
                "Upstream partition mappers resolved conflicting partition_date values for the same key; leaving \
                 partition_date unset. The consumer's assets likely use inconsistent partition mappers.",
            ),
            Decision::RunCreated { date: DateRule::Failed { .. }, .. } => line(
                "error",
                "Failed to resolve partition_date for asset-triggered Dag run; partition_date will be None.".to_owned(),
            ),
            _ => None,
        }
    }
}
