//! Timetables: when a Dag runs by time, and which partition a run is for.
//!
//! [`Timetable`] is Airflow's class of that name in `airflow.timetables.base`; the types here are the classes Airflow ships,
//! decoded from ([`decode_timetable`]) and encoded to ([`encode_timetable`]) their serialized form, or built from
//! constructor arguments ([`construct`]). Nothing here reads a clock: what depends on the present takes `now`.

mod asset_or_time;
mod construct;
mod cron;
mod cron_schedule;
mod delta;
mod events;
pub mod inspect;
mod interval;
mod partition;
mod partitioned_asset;
mod rules;
mod run_id;
mod serialized;
mod simple;
mod trigger;

pub use asset_or_time::AssetOrTimeSchedule;
pub use construct::{TIMETABLE_CLASSES, construct, from_schedule};
pub use cron::Cron;
pub use cron_schedule::{CronSchedule, cron_preset};
pub use delta::{Delta, RelativeDelta};
pub use events::EventsTimetable;
pub use interval::{CronDataIntervalTimetable, DeltaDataIntervalTimetable};
pub use partition::{CronPartitionTimetable, RunOffset};
pub use partitioned_asset::PartitionedAssetTimetable;
pub use rules::{DagRunInfo, DataInterval, RunIdParts, TimeRestriction, Timetable, isoformat};
pub use run_id::{dag_run_id, run_id};
pub use serialized::{decode_timetable, encode_timetable};
pub use simple::{AssetTriggeredTimetable, ContinuousTimetable, NullTimetable, OnceTimetable, PartitionedAtRuntime};
pub use trigger::{CronTriggerTimetable, DeltaTriggerTimetable, MultipleCronTriggerTimetable, RunImmediately};
