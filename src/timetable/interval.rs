//! Timetables of data intervals: `airflow.timetables.interval`.

use std::any::Any;

use chrono::{DateTime, Duration, FixedOffset, Utc};
use serde_json::{Value as Json, json};

use super::delta::Delta;
use super::serialized::encode_zone;
use super::{CronSchedule, DagRunInfo, DataInterval, TimeRestriction, Timetable};
use crate::python::{PyErr, PyResult};

/// Steps a search for the last monthly boundary may take.
const STEPS: usize = 1_000_000;

/// The moves of a schedule of intervals.
trait Intervals: Timetable {
    fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
    fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
    fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
    /// Where to start without catching up: so that the interval that just ended is the first.
    fn skip_to_latest(&self, earliest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> PyResult<DateTime<Utc>>;

    /// `_DataIntervalTimetable.next_dagrun_info`.
    fn next_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let earliest = match restriction.earliest {
            earliest if !restriction.catchup => Some(self.skip_to_latest(earliest, now)?),
            Some(earliest) => Some(self.align_to_next(earliest)?),
            None => None,
        };
        let start = match last {
            None => match earliest {
                Some(earliest) => earliest,
                None => return Ok(None),
            },
            Some(last) => {
                let aligned = self.align_to_previous(last.end)?;
                let mut start = earliest.map_or(aligned, |earliest| aligned.max(earliest));
                if start <= last.start {
                    start = self.next(start)?;
                    if start <= last.start {
                        return Err(PyErr::value_error(format!(
                            "{} timetable did not advance past {} after one retry",
                            self.class_name(),
                            super::isoformat(last.start).replacen('T', " ", 1)
                        )));
                    }
                }
                start
            }
        };
        if restriction.latest.is_some_and(|latest| start > latest) {
            return Ok(None);
        }
        Ok(Some(DagRunInfo::interval(start, self.next(start)?)))
    }
}

/// Data intervals between the times of a cron expression.
#[derive(Debug, Clone, PartialEq)]
pub struct CronDataIntervalTimetable {
    pub(super) schedule: CronSchedule,
}

impl CronDataIntervalTimetable {
    /// The schedule.
    pub fn schedule(&self) -> &CronSchedule {
        &self.schedule
    }
}

impl Intervals for CronDataIntervalTimetable {
    fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.schedule.next(current)
    }

    fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.schedule.align_to_next(current)
    }

    fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.schedule.align_to_previous(current)
    }

    fn skip_to_latest(&self, earliest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let last_start = self.schedule.previous(now)?;
        let next_start = self.schedule.next(last_start)?;
        let start = match next_start.cmp(&now) {
            std::cmp::Ordering::Equal => last_start,
            std::cmp::Ordering::Greater => self.schedule.previous(last_start)?,
            std::cmp::Ordering::Less => {
                return Err(PyErr::new("AssertionError", "next schedule shouldn't be earlier"));
            }
        };
        match earliest {
            Some(earliest) => Ok(start.max(self.schedule.align_to_next(earliest)?)),
            None => Ok(start),
        }
    }
}

impl Timetable for CronDataIntervalTimetable {
    fn class_name(&self) -> &'static str {
        "CronDataIntervalTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.interval"
    }

    fn serialize(&self) -> Json {
        json!({"expression": self.schedule.expression(), "timezone": encode_zone(self.schedule.zone())})
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
        self.next_info(last, restriction, now)
    }

    fn localize_partition_datetime(&self, bound: DateTime<FixedOffset>) -> PyResult<DateTime<Utc>> {
        Ok(self.schedule.localize(bound))
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        let end = self.schedule.align_to_previous(run_after)?;
        Ok(DataInterval { start: self.schedule.previous(end)?, end })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Data intervals of one length.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaDataIntervalTimetable {
    pub(super) delta: Delta,
}

impl DeltaDataIntervalTimetable {
    /// The last boundary at or before an instant: on a grid from the epoch, or, for months and years, step by step from an
    /// anchor, because clamped month ends depend on the path.
    fn round(&self, at: DateTime<Utc>, anchor: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let length = match &self.delta {
            Delta::Relative(delta) if delta.of_variable_length() => {
                let mut boundary = anchor;
                for _ in 0..STEPS {
                    let next = self.delta.add(boundary)?;
                    if next > at {
                        return Ok(boundary);
                    }
                    if next == boundary {
                        break;
                    }
                    boundary = next;
                }
                return Err(PyErr::limit(format!("the schedule {} does not advance", self.delta.repr())));
            }
            Delta::Relative(delta) => delta.nominal_seconds().saturating_mul(1_000_000),
            Delta::Time(micros) => *micros,
        };
        if length == 0 {
            return Err(PyErr::new("ZeroDivisionError", "float modulo"));
        }
        // Python's modulo takes the sign of the divisor.
        let rest = at.timestamp_micros().rem_euclid(length);
        let rest = if length < 0 && rest != 0 { rest + length } else { rest };
        Ok(at - Duration::microseconds(rest))
    }
}

impl Intervals for DeltaDataIntervalTimetable {
    fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.delta.add(current)
    }

    fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        Ok(current)
    }

    fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        Ok(current)
    }

    fn skip_to_latest(&self, earliest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let start = self.delta.subtract(self.round(now, earliest.unwrap_or(now))?)?;
        Ok(earliest.map_or(start, |earliest| start.max(earliest)))
    }
}

impl Timetable for DeltaDataIntervalTimetable {
    fn class_name(&self) -> &'static str {
        "DeltaDataIntervalTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.interval"
    }

    fn serialize(&self) -> Json {
        json!({"delta": self.delta.encode()})
    }

    fn summary(&self) -> String {
        self.delta.text()
    }

    fn validate(&self) -> PyResult<()> {
        self.delta.validate()
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        self.next_info(last, restriction, now)
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        Ok(DataInterval { start: self.delta.subtract(run_after)?, end: run_after })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
