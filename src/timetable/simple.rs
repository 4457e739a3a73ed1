//! Timetables without a schedule of their own: `airflow.timetables.simple`.

use std::any::Any;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use super::{DagRunInfo, DataInterval, RunIdParts, TimeRestriction, Timetable, dag_run_id};
use crate::asset::{AssetCondition, encode_asset_like};
use crate::python::PyResult;

/// The parts that classes without arguments share.
macro_rules! trivial {
    ($class:ident, $summary:literal) => {
        fn class_name(&self) -> &'static str {
            stringify!($class)
        }

        fn module(&self) -> &'static str {
            "airflow.timetables.simple"
        }

        fn serialize(&self) -> Json {
            Json::Object(Map::new())
        }

        fn summary(&self) -> String {
            $summary.to_owned()
        }

        fn periodic(&self) -> bool {
            false
        }

        fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
            Ok(DataInterval::exact(run_after))
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    };
}

/// `schedule=None`: never by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NullTimetable;

impl Timetable for NullTimetable {
    trivial!(NullTimetable, "None");

    fn can_be_scheduled(&self) -> bool {
        false
    }

    fn next_dagrun_info(
        &self,
        _last: Option<DataInterval>,
        _restriction: &TimeRestriction,
        _now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        Ok(None)
    }
}

/// Never by itself; partition keys are found while tasks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionedAtRuntime;

impl Timetable for PartitionedAtRuntime {
    trivial!(PartitionedAtRuntime, "PartitionedAtRuntime");

    fn can_be_scheduled(&self) -> bool {
        false
    }

    fn partitioned_at_runtime(&self) -> bool {
        true
    }

    fn next_dagrun_info(
        &self,
        _last: Option<DataInterval>,
        _restriction: &TimeRestriction,
        _now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        Ok(None)
    }
}

/// `schedule="@once"`: once, as soon as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnceTimetable;

impl Timetable for OnceTimetable {
    trivial!(OnceTimetable, "@once");

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        if last.is_some() {
            return Ok(None);
        }
        let run_after = restriction.earliest.unwrap_or(now);
        if restriction.latest.is_some_and(|latest| run_after > latest) {
            return Ok(None);
        }
        Ok(Some(DagRunInfo::exact(run_after)))
    }
}

/// `schedule="@continuous"`: one run after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContinuousTimetable;

impl Timetable for ContinuousTimetable {
    trivial!(ContinuousTimetable, "@continuous");

    fn active_runs_limit(&self) -> Option<u32> {
        Some(1)
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let first = restriction.earliest.unwrap_or(now);
        let (start, end) = match last {
            Some(last) if last.end > now => (first, first + (last.end - last.start)),
            Some(last) => (last.end, now),
            None => (first, first.max(now)),
        };
        if restriction.latest.is_some_and(|latest| end > latest) {
            return Ok(None);
        }
        Ok(Some(DagRunInfo::interval(start, end)))
    }
}

/// Runs when assets are updated.
#[derive(Debug, Clone, PartialEq)]
pub struct AssetTriggeredTimetable {
    pub(super) condition: AssetCondition,
}

impl AssetTriggeredTimetable {
    /// A timetable on a condition.
    pub fn new(condition: AssetCondition) -> Self {
        AssetTriggeredTimetable { condition }
    }
}

impl Timetable for AssetTriggeredTimetable {
    fn class_name(&self) -> &'static str {
        "AssetTriggeredTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.simple"
    }

    fn serialize(&self) -> Json {
        json!({"asset_condition": encode_asset_like(&self.condition)})
    }

    fn summary(&self) -> String {
        "Asset".to_owned()
    }

    fn periodic(&self) -> bool {
        false
    }

    fn asset_condition(&self) -> Option<&AssetCondition> {
        Some(&self.condition)
    }

    fn next_dagrun_info(
        &self,
        _last: Option<DataInterval>,
        _restriction: &TimeRestriction,
        _now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        Ok(None)
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        Ok(DataInterval::exact(run_after))
    }

    fn generate_run_id(&self, parts: &RunIdParts<'_>) -> String {
        asset_run_id(parts)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `AssetTriggeredTimetable.generate_run_id`: there is always a logical date to go by.
pub(super) fn asset_run_id(parts: &RunIdParts<'_>) -> String {
    let logical_date = parts.data_interval.map_or(parts.run_after, |interval| interval.start);
    dag_run_id(parts.run_type, Some(logical_date), parts.run_after, parts.random)
}
