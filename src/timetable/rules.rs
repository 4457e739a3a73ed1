//! What every timetable answers: Airflow's `Timetable`, `DataInterval`, `TimeRestriction` and `DagRunInfo`.

use std::any::Any;
use std::fmt;

use chrono::{DateTime, FixedOffset, NaiveDateTime, Timelike, Utc};
use serde_json::Value as Json;

use super::run_id;
use crate::asset::AssetCondition;
use crate::partition::{Mapper, Moment};
use crate::python::{PyErr, PyResult, repr_str};

/// The span of data a run is about, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataInterval {
    /// Its start, which is the run's logical date.
    pub start: DateTime<Utc>,
    /// Its end.
    pub end: DateTime<Utc>,
}

impl DataInterval {
    /// An interval that is one instant (`DataInterval.exact`).
    pub fn exact(at: DateTime<Utc>) -> Self {
        DataInterval { start: at, end: at }
    }
}

/// When a Dag may run: from `start_date`, `end_date` and `catchup`. Both ends are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRestriction {
    /// The earliest run, if there is a start date.
    pub earliest: Option<DateTime<Utc>>,
    /// The latest run, if there is an end date.
    pub latest: Option<DateTime<Utc>>,
    /// Whether missed runs are made up for.
    pub catchup: bool,
}

/// A run that a timetable proposes, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DagRunInfo {
    /// The run is created no earlier than this.
    pub run_after: DateTime<Utc>,
    /// Its data interval; partitioned runs have none.
    pub data_interval: Option<DataInterval>,
    /// The date of its partition.
    pub partition_date: Option<DateTime<Utc>>,
    /// The key of its partition.
    pub partition_key: Option<String>,
}

impl DagRunInfo {
    /// A run at and about one instant.
    pub fn exact(at: DateTime<Utc>) -> Self {
        Self::interval(at, at)
    }

    /// A run at the end of its data interval.
    pub fn interval(start: DateTime<Utc>, end: DateTime<Utc>) -> Self {
        DagRunInfo {
            run_after: end,
            data_interval: Some(DataInterval { start, end }),
            partition_date: None,
            partition_key: None,
        }
    }

    /// `logical_date`: the start of the data interval.
    pub fn logical_date(&self) -> Option<DateTime<Utc>> {
        self.data_interval.map(|interval| interval.start)
    }
}

/// What a run id is made of.
#[derive(Debug, Clone, Copy)]
pub struct RunIdParts<'a> {
    /// The run type's value: `scheduled`, `manual`, `asset_triggered`, `backfill`, ...
    pub run_type: &'a str,
    /// The run's `run_after`.
    pub run_after: DateTime<Utc>,
    /// The run's data interval.
    pub data_interval: Option<DataInterval>,
    /// The run's partition key.
    pub partition_key: Option<&'a str>,
    /// In place of the eight random characters Airflow draws.
    pub random: &'a str,
}

/// Decides when a Dag runs: Airflow's `airflow.timetables.base.Timetable`, with its defaults.
pub trait Timetable: Any + fmt::Debug + Send + Sync {
    /// `type(self).__name__`
    fn class_name(&self) -> &'static str;

    /// The module that defines the class.
    fn module(&self) -> &'static str;

    /// What `serialize()` returns: the `__var` of the serialized form.
    fn serialize(&self) -> Json;

    /// The short text shown for the timetable.
    fn summary(&self) -> String {
        self.class_name().to_owned()
    }

    /// Checks the definition as the Dag processor does.
    ///
    /// # Errors
    /// `AirflowTimetableInvalid`.
    fn validate(&self) -> PyResult<()> {
        Ok(())
    }

    /// Whether runs are for partitions in place of data intervals.
    fn partitioned(&self) -> bool {
        false
    }

    /// Whether partition keys are found while tasks run.
    fn partitioned_at_runtime(&self) -> bool {
        false
    }

    /// Whether runs are ever created without somebody asking.
    fn can_be_scheduled(&self) -> bool {
        true
    }

    /// Whether runs repeat by time.
    fn periodic(&self) -> bool {
        true
    }

    /// A limit on active runs that the timetable imposes.
    fn active_runs_limit(&self) -> Option<u32> {
        None
    }

    /// The assets that trigger the Dag.
    fn asset_condition(&self) -> Option<&AssetCondition> {
        None
    }

    /// The next run after the last one, as the scheduler asks for it (`next_dagrun_info`).
    ///
    /// # Errors
    /// What croniter or Airflow raise while computing it.
    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>>;

    /// The same from the whole last run (`next_dagrun_info_v2`): what the scheduler of Airflow 3 calls.
    ///
    /// # Errors
    /// As [`next_dagrun_info`](Self::next_dagrun_info).
    fn next_dagrun_info_v2(
        &self,
        last: Option<&DagRunInfo>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        self.next_dagrun_info(last.and_then(|last| last.data_interval), restriction, now)
    }

    /// The runs of all partitions whose date lies in a window, both ends included; the bounds' wall-clock reading counts,
    /// in the timetable's zone.
    ///
    /// # Errors
    /// `NotImplementedError` for timetables without partitions of their own; what croniter raises, in the iteration.
    fn iter_partition_dagrun_infos(
        &self,
        earliest: DateTime<FixedOffset>,
        latest: DateTime<FixedOffset>,
    ) -> PyResult<Box<dyn Iterator<Item = PyResult<DagRunInfo>> + '_>> {
        let _ = (earliest, latest);
        let class = self.class_name();
        Err(PyErr::new(
            "NotImplementedError",
            if self.partitioned() {
                format!("{class} is partitioned but does not implement iter_partition_dagrun_infos.")
            } else {
                format!("{class} is not partitioned")
            },
        ))
    }

    /// Reads a bound of a window in the timetable's zone; by default the instant it is.
    ///
    /// # Errors
    /// None by default.
    fn localize_partition_datetime(&self, bound: DateTime<FixedOffset>) -> PyResult<DateTime<Utc>> {
        Ok(bound.to_utc())
    }

    /// The date a partition key stands for; `None` without a key, without partitions, or when keys come at runtime.
    ///
    /// # Errors
    /// `InvalidPartitionKeyError` when the key does not have the timetable's form.
    fn resolve_partition_date(&self, partition_key: Option<&str>) -> PyResult<Option<Moment>> {
        match partition_key {
            Some(key) if self.partitioned() && !self.partitioned_at_runtime() => self.decode_partition_date(key),
            _ => Ok(None),
        }
    }

    /// `_decode_partition_date`: what [`resolve_partition_date`](Self::resolve_partition_date) asks once it must.
    ///
    /// # Errors
    /// As there.
    fn decode_partition_date(&self, partition_key: &str) -> PyResult<Option<Moment>> {
        let _ = partition_key;
        Ok(None)
    }

    /// The data interval of a run that somebody starts by hand.
    ///
    /// # Errors
    /// What croniter raises.
    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval>;

    /// The run id (`generate_run_id`).
    fn generate_run_id(&self, parts: &RunIdParts<'_>) -> String {
        run_id(parts.run_type, &isoformat(parts.run_after))
    }

    /// The mapper for events of an asset.
    ///
    /// # Errors
    /// `NotImplementedError` for timetables without mappers.
    fn get_partition_mapper(&self, name: &str, uri: &str) -> PyResult<Mapper> {
        Err(PyErr::new(
            "NotImplementedError",
            format!(
                "{} is not partitioned and does not define a partition mapper (asset name={}, uri={}).",
                self.class_name(),
                repr_str(name),
                repr_str(uri)
            ),
        ))
    }

    /// The attributes of each asset's mapper that Airflow stores for its pages.
    fn partition_mapper_info(&self) -> Vec<Json> {
        Vec::new()
    }

    /// Each asset's mapper in serialized form by `name|uri`: pending runs of another definition are dropped.
    ///
    /// # Errors
    /// As [`get_partition_mapper`](Self::get_partition_mapper).
    fn rollup_fingerprint(&self) -> PyResult<Json> {
        Ok(Json::Object(serde_json::Map::new()))
    }

    /// For access to a concrete type.
    fn as_any(&self) -> &dyn Any;
}

/// `isoformat()` of an instant in UTC.
pub fn isoformat(at: DateTime<Utc>) -> String {
    isoformat_with_offset(at.naive_utc(), 0)
}

/// `isoformat()` of a wall-clock time with an offset in seconds.
pub(super) fn isoformat_with_offset(wall: NaiveDateTime, offset: i32) -> String {
    let micros = wall.nanosecond() % 1_000_000_000 / 1000;
    let mut text = wall.format("%Y-%m-%dT%H:%M:%S").to_string();
    if micros != 0 {
        text.push_str(&format!(".{micros:06}"));
    }
    let (sign, size) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    text.push_str(&format!("{sign}{:02}:{:02}", size / 3600, size / 60 % 60));
    if size % 60 != 0 {
        text.push_str(&format!(":{:02}", size % 60));
    }
    text
}
