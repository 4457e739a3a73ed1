//! The enums of a run: `DagRunType`, `DagRunState`, `TaskInstanceState`.

macro_rules! str_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = ($member:literal, $value:literal)),+ $(,)? }) => {
        str_enum! { $(#[$doc])* $name { $($(#[$vdoc])* $variant = ($member, $value)),+ } besides {} }
    };
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = ($member:literal, $value:literal)),+ $(,)? }
     besides { $($(#[$odoc:meta])* $other:ident = ($omember:literal, $ovalue:literal)),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ $(, $(#[$odoc])* $other)* }

        impl $name {
            /// Every member of Airflow 3, in the order Airflow declares them.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The value on the wire, which is also what the member compares equal to.
            pub fn value(self) -> &'static str {
                match self { $($name::$variant => $value),+ $(, $name::$other => $ovalue)* }
            }

            /// The member's name in Python.
            pub fn member(self) -> &'static str {
                match self { $($name::$variant => $member),+ $(, $name::$other => $omember)* }
            }

            /// The member of that value.
            pub fn parse(value: &str) -> Option<Self> {
                match value { $($value => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

str_enum! {
    /// How a Dag run came to be (`airflow.sdk.api.datamodels._generated.DagRunType`).
    DagRunType {
        /// Created by a backfill.
        Backfill = ("BACKFILL", "backfill"),
        /// Created by a timetable.
        Scheduled = ("SCHEDULED", "scheduled"),
        /// Triggered by a person or the REST API.
        Manual = ("MANUAL", "manual"),
        /// Triggered by a task of another run.
        OperatorTriggered = ("OPERATOR_TRIGGERED", "operator_triggered"),
        /// Created by asset events.
        AssetTriggered = ("ASSET_TRIGGERED", "asset_triggered"),
        /// Created to materialize an asset.
        AssetMaterialization = ("ASSET_MATERIALIZATION", "asset_materialization"),
    } besides {
        /// Created by dataset events: Airflow 2.10 only, on no wire of Airflow 3.
        DatasetTriggered = ("DATASET_TRIGGERED", "dataset_triggered"),
    }
}

str_enum! {
    /// State of a Dag run (`airflow.sdk.api.datamodels._generated.DagRunState`).
    DagRunState {
        /// Waits for a slot.
        Queued = ("QUEUED", "queued"),
        /// Has tasks to run.
        Running = ("RUNNING", "running"),
        /// All leaves succeeded.
        Success = ("SUCCESS", "success"),
        /// A leaf failed.
        Failed = ("FAILED", "failed"),
    }
}

str_enum! {
    /// State of a task instance (`airflow.sdk.api.datamodels._generated.TaskInstanceState`).
    TaskInstanceState {
        /// Gone from the Dag.
        Removed = ("REMOVED", "removed"),
        /// Dependencies met.
        Scheduled = ("SCHEDULED", "scheduled"),
        /// Handed to an executor.
        Queued = ("QUEUED", "queued"),
        /// Runs now.
        Running = ("RUNNING", "running"),
        /// Succeeded.
        Success = ("SUCCESS", "success"),
        /// Cleared while running.
        Restarting = ("RESTARTING", "restarting"),
        /// Failed for good.
        Failed = ("FAILED", "failed"),
        /// Failed, will be tried again.
        UpForRetry = ("UP_FOR_RETRY", "up_for_retry"),
        /// A sensor that looks again later.
        UpForReschedule = ("UP_FOR_RESCHEDULE", "up_for_reschedule"),
        /// A task before it failed.
        UpstreamFailed = ("UPSTREAM_FAILED", "upstream_failed"),
        /// Skipped.
        Skipped = ("SKIPPED", "skipped"),
        /// Waits in the triggerer.
        Deferred = ("DEFERRED", "deferred"),
        /// Waits for a person.
        AwaitingInput = ("AWAITING_INPUT", "awaiting_input"),
    }
}
