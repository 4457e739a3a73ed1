//! Timetables as Airflow 2.10 has them, where it differs from 3.x.

use std::any::Any;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use crate::python::{PyErr, PyResult, Zone};
use crate::timetable::{
    self, CronDataIntervalTimetable, DagRunInfo, DataInterval, Delta, DeltaDataIntervalTimetable, NullTimetable,
    TimeRestriction, Timetable, construct, from_schedule,
};

/// `CronTriggerTimetable` of 2.10: without catchup the first run is the last time before now, where 3.x waits for the next.
#[derive(Debug, Clone, PartialEq)]
pub struct CronTriggerTimetable(timetable::CronTriggerTimetable);

impl CronTriggerTimetable {
    /// That of 2.10 with the cron expression, zone and interval of the one of 3.x.
    pub fn new(of_3: timetable::CronTriggerTimetable) -> Self {
        CronTriggerTimetable(of_3)
    }
}

impl Timetable for CronTriggerTimetable {
    fn class_name(&self) -> &'static str {
        self.0.class_name()
    }

    fn module(&self) -> &'static str {
        self.0.module()
    }

    fn serialize(&self) -> Json {
        let mut fields = self.0.serialize();
        if let Some(fields) = fields.as_object_mut() {
            fields.shift_remove("run_immediately");
        }
        fields
    }

    fn summary(&self) -> String {
        self.0.summary()
    }

    fn validate(&self) -> PyResult<()> {
        self.0.validate()
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let schedule = self.0.schedule();
        let after_last = last.map(|last| schedule.next(last.end)).transpose()?;
        let earliest = || restriction.earliest.map(|earliest| schedule.align_to_next(earliest)).transpose();
        let start = if restriction.catchup {
            match after_last {
                Some(next) => next,
                None => match earliest()? {
                    Some(earliest) => earliest,
                    None => return Ok(None),
                },
            }
        } else {
            let latest = schedule.align_to_previous(now)?;
            let candidates = [after_last, earliest()?];
            candidates.into_iter().flatten().fold(latest, DateTime::max)
        };
        if restriction.latest.is_some_and(|latest| latest < start) {
            return Ok(None);
        }
        let interval = self.infer_manual_data_interval(start)?;
        Ok(Some(DagRunInfo::interval(interval.start, interval.end)))
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        self.0.infer_manual_data_interval(run_after)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `next_dagrun_info` in 2.10: timetables of data intervals go on from the end of the last one, and do not mind that the next
/// may start before it did, where 3.x takes one more step.
///
/// # Errors
/// As [`Timetable::next_dagrun_info`].
pub fn next_dagrun_info(
    timetable: &dyn Timetable,
    last: Option<DataInterval>,
    restriction: &TimeRestriction,
    now: DateTime<Utc>,
) -> PyResult<Option<DagRunInfo>> {
    let any = timetable.as_any();
    let intervals = any.is::<CronDataIntervalTimetable>() || any.is::<DeltaDataIntervalTimetable>();
    let last = match last {
        Some(last) if intervals => Some(DataInterval { start: DateTime::<Utc>::MIN_UTC, end: last.end }),
        last => last,
    };
    timetable.next_dagrun_info(last, restriction, now)
}

/// What the constructor of a Dag checks: a timetable may allow fewer runs at once than the Dag asks for.
///
/// # Errors
/// `AirflowException` when it does.
pub fn check_max_active_runs(timetable: &dyn Timetable, max_active_runs: usize) -> PyResult<()> {
    let (module, class) = (timetable.module(), timetable.class_name());
    match timetable.active_runs_limit() {
        Some(limit) if usize::try_from(limit).is_ok_and(|limit| limit < max_active_runs) => Err(PyErr::new(
            "AirflowException",
            format!("Invalid max_active_runs: <class '{module}.{class}'> requires max_active_runs <= {limit}"),
        )),
        _ => Ok(()),
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
        let trigger = timetable::CronTriggerTimetable::new(expression, zone).with_interval(interval);
        trigger.validate()?;
        return Ok(Arc::new(CronTriggerTimetable::new(trigger)));
    }
    Err(PyErr::unsupported(format!("the schedule {schedule}")))
}
