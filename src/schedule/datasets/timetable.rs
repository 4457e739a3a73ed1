//! Timetables as Airflow 2.10 has them, where it differs from 3.x.

use std::any::Any;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json, json};

use crate::python::{PyErr, PyResult, Zone};
use crate::timetable::{
    CronSchedule, DagRunInfo, DataInterval, Delta, NullTimetable, TimeRestriction, Timetable, construct, from_schedule,
};

/// `CronTriggerTimetable` of 2.10: without catchup the first run is the last time before now, where 3.x waits for the next.
#[derive(Debug, Clone, PartialEq)]
pub struct CronTriggerTimetable {
    schedule: CronSchedule,
    interval: Delta,
}

impl CronTriggerTimetable {
    /// `CronTriggerTimetable(cron, timezone=..., interval=...)`
    pub fn new(schedule: CronSchedule, interval: Delta) -> Self {
        CronTriggerTimetable { schedule, interval }
    }
}

impl Timetable for CronTriggerTimetable {
    fn class_name(&self) -> &'static str {
        "CronTriggerTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.trigger"
    }

    fn serialize(&self) -> Json {
        json!({"expression": self.schedule.expression(), "interval": self.interval.encode()})
    }

    fn summary(&self) -> String {
        self.schedule.expression().to_owned()
    }

    fn validate(&self) -> PyResult<()> {
        self.schedule.validate()
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let after_last = last.map(|last| self.schedule.next(last.end)).transpose()?;
        let earliest = || restriction.earliest.map(|earliest| self.schedule.align_to_next(earliest)).transpose();
        let start = if restriction.catchup {
            match after_last {
                Some(next) => next,
                None => match earliest()? {
                    Some(earliest) => earliest,
                    None => return Ok(None),
                },
            }
        } else {
            let latest = self.schedule.align_to_previous(now)?;
            let candidates = [after_last, earliest()?];
            candidates.into_iter().flatten().fold(latest, DateTime::max)
        };
        if restriction.latest.is_some_and(|latest| latest < start) {
            return Ok(None);
        }
        Ok(Some(DagRunInfo::interval(self.interval.subtract(start)?, start)))
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        Ok(DataInterval { start: self.interval.subtract(run_after)?, end: run_after })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The timetable of `schedule=` in 2.10: `None`, a preset or cron string (which makes data intervals), or one of the mappings
/// `{"timedelta_seconds": n}`, `{"cron": expr, "timezone": tz}` (CronDataIntervalTimetable) and
/// `{"cron_trigger": expr, "timezone": tz, "interval_seconds": n}`.
///
/// # Errors
/// `AirflowTimetableInvalid` for what croniter refuses; `Unsupported` for another form.
pub fn time_schedule(schedule: &Json, zone: Zone) -> PyResult<Arc<dyn Timetable>> {
    let fields = match schedule {
        Json::Null => return Ok(Arc::new(NullTimetable)),
        Json::String(text) => return from_schedule(Some(text), zone, true),
        Json::Object(fields) => fields,
        other => return Err(PyErr::unsupported(format!("the schedule {other}"))),
    };
    let zone = match fields.get("timezone").and_then(Json::as_str) {
        Some(name) => Zone::parse(name)?,
        None => zone,
    };
    let text = |name: &str| fields.get(name).and_then(Json::as_str);
    if let Some(seconds) = fields.get("timedelta_seconds") {
        return construct("DeltaDataIntervalTimetable", std::slice::from_ref(seconds), &Map::new());
    }
    if let Some(expression) = text("cron") {
        return from_schedule(Some(expression), zone, true);
    }
    if let Some(expression) = text("cron_trigger") {
        let interval = fields.get("interval_seconds").map_or(Ok(Delta::ZERO), Delta::decode)?;
        let timetable = CronTriggerTimetable { schedule: CronSchedule::new(expression, zone), interval };
        timetable.validate()?;
        return Ok(Arc::new(timetable));
    }
    Err(PyErr::unsupported(format!("the schedule {schedule}")))
}
