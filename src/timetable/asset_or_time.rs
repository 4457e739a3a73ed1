//! `AssetOrTimeSchedule`: by time, and when assets are updated.

use std::any::Any;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value as Json, json};

use super::simple::asset_run_id;
use super::{
    AssetTriggeredTimetable, DagRunInfo, DataInterval, RunIdParts, TimeRestriction, Timetable, encode_timetable,
};
use crate::asset::{AssetCondition, encode_asset_like};
use crate::python::{PyErr, PyResult};

/// Runs by another timetable and when assets are updated. It is not partitioned, whatever the other timetable is.
#[derive(Debug, Clone)]
pub struct AssetOrTimeSchedule {
    condition: AssetCondition,
    timetable: Arc<dyn Timetable>,
}

impl AssetOrTimeSchedule {
    /// A schedule on a condition and a timetable.
    pub fn new(condition: AssetCondition, timetable: Arc<dyn Timetable>) -> Self {
        AssetOrTimeSchedule { condition, timetable }
    }

    /// The schedule by time.
    pub fn timetable(&self) -> &Arc<dyn Timetable> {
        &self.timetable
    }
}

impl Timetable for AssetOrTimeSchedule {
    fn class_name(&self) -> &'static str {
        "AssetOrTimeSchedule"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.assets"
    }

    fn serialize(&self) -> Json {
        json!({
            "asset_condition": encode_asset_like(&self.condition),
            "timetable": encode_timetable(&*self.timetable),
        })
    }

    fn summary(&self) -> String {
        format!("Asset or {}", self.timetable.summary())
    }

    fn validate(&self) -> PyResult<()> {
        let inner = self.timetable.as_any();
        let assets = inner.is::<AssetTriggeredTimetable>() || inner.is::<AssetOrTimeSchedule>();
        if assets || self.timetable.class_name() == "PartitionedAssetTimetable" {
            return Err(PyErr::new("AirflowTimetableInvalid", "cannot nest asset timetables"));
        }
        Ok(())
    }

    fn can_be_scheduled(&self) -> bool {
        self.timetable.can_be_scheduled()
    }

    fn periodic(&self) -> bool {
        self.timetable.periodic()
    }

    fn active_runs_limit(&self) -> Option<u32> {
        self.timetable.active_runs_limit()
    }

    fn asset_condition(&self) -> Option<&AssetCondition> {
        Some(&self.condition)
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        self.timetable.next_dagrun_info(last, restriction, now)
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        self.timetable.infer_manual_data_interval(run_after)
    }

    fn generate_run_id(&self, parts: &RunIdParts<'_>) -> String {
        if parts.run_type == "asset_triggered" { asset_run_id(parts) } else { self.timetable.generate_run_id(parts) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
