//! `CronPartitionTimetable`: one partition per time of a cron expression.

use std::any::Any;

use chrono::{DateTime, FixedOffset, Utc};
use serde_json::{Value as Json, json};

use super::serialized::encode_zone;
use super::trigger::{Choice, next_start};
use super::{
    CronTriggerTimetable, DagRunInfo, DataInterval, RunIdParts, TimeRestriction, Timetable, isoformat, run_id,
};
use crate::asset::pytext::is_integer;
use crate::partition::Moment;
use crate::python::{Fields, PyErr, PyResult, repr_str, strftime, strptime};

/// The key format used when none is given.
pub(super) const DEFAULT_KEY_FORMAT: &str = "%Y-%m-%dT%H:%M:%S";

/// Steps a run offset may have: more than any schedule needs, and few enough to walk.
const MAX_OFFSET: i64 = 1_000_000;

/// `run_offset`: how many steps of the schedule lie between a run's date and its partition's date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunOffset {
    steps: i64,
    /// Given as `True`, which counts as 1 and is encoded as it was given.
    is_true: bool,
}

impl RunOffset {
    /// Reads an argument: an int (or bool), or nothing. `None` for any other value.
    ///
    /// # Errors
    /// `Unsupported` for an offset too large to walk.
    pub(super) fn read(value: Option<&Json>) -> PyResult<Option<Self>> {
        Ok(match value {
            None | Some(Json::Null | Json::Bool(false)) => Some(RunOffset { steps: 0, is_true: false }),
            Some(Json::Bool(true)) => Some(RunOffset { steps: 1, is_true: true }),
            Some(Json::Number(number)) if is_integer(number) => {
                match number.as_i64().filter(|steps| (-MAX_OFFSET..=MAX_OFFSET).contains(steps)) {
                    Some(steps) => Some(RunOffset { steps, is_true: false }),
                    None => return Err(PyErr::unsupported(format!("a run_offset of {number}"))),
                }
            }
            Some(_) => None,
        })
    }

    fn encode(self) -> Json {
        if self.is_true { true.into() } else { self.steps.into() }
    }
}

/// Creates a run for each partition: the cron expression gives run dates, `run_offset` steps from each to its partition's
/// date, `key_format` makes the key.
#[derive(Debug, Clone, PartialEq)]
pub struct CronPartitionTimetable {
    pub(super) trigger: CronTriggerTimetable,
    pub(super) run_offset: RunOffset,
    pub(super) key_format: String,
}

impl CronPartitionTimetable {
    /// The date and key of the partition a run of this date is for.
    ///
    /// # Errors
    /// croniter's, while walking the offset.
    pub fn partition_info(&self, run_date: DateTime<Utc>) -> PyResult<(DateTime<Utc>, String)> {
        let mut date = run_date;
        let steps = self.run_offset.steps;
        for _ in 0..steps.unsigned_abs() {
            date = if steps > 0 { self.trigger.schedule.next(date)? } else { self.trigger.schedule.previous(date)? };
        }
        Ok((date, self.format_key(date)?))
    }

    /// The key of a partition's date, in the timetable's zone (`_format_key`).
    ///
    /// # Errors
    /// strftime's.
    pub fn format_key(&self, partition_date: DateTime<Utc>) -> PyResult<String> {
        let zone = self.trigger.schedule.zone();
        let (naive, _) = zone.local(partition_date);
        let offset = i64::from(zone.offset_at(partition_date)) * 1_000_000;
        let fields = Fields {
            naive,
            offset: Some(offset),
            tzname: Some(zone.abbreviation(partition_date)),
            dst: Some(zone.is_dst(partition_date)),
        };
        strftime(&self.key_format, &fields)
    }

    /// How partition keys are written.
    pub fn key_format(&self) -> &str {
        &self.key_format
    }

    fn info_at(&self, date: DateTime<Utc>) -> PyResult<DagRunInfo> {
        Ok(DagRunInfo {
            run_after: date,
            data_interval: None,
            partition_date: Some(date),
            partition_key: Some(self.format_key(date)?),
        })
    }
}

/// Walks along partition dates. As in Airflow, the step after a run is taken only when the next one is asked for.
struct Partitions<'a> {
    timetable: &'a CronPartitionTimetable,
    current: Option<DateTime<Utc>>,
    started: bool,
    latest: DateTime<Utc>,
}

impl Iterator for Partitions<'_> {
    type Item = PyResult<DagRunInfo>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut current = self.current?;
        if self.started {
            match self.timetable.trigger.schedule.next(current) {
                Ok(next) => current = next,
                Err(error) => {
                    self.current = None;
                    return Some(Err(error));
                }
            }
        }
        self.started = true;
        self.current = (current <= self.latest).then_some(current);
        self.current.map(|date| self.timetable.info_at(date))
    }
}

impl Timetable for CronPartitionTimetable {
    fn class_name(&self) -> &'static str {
        "CronPartitionTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.trigger"
    }

    fn serialize(&self) -> Json {
        json!({
            "expression": self.trigger.schedule.expression(),
            "timezone": encode_zone(self.trigger.schedule.zone()),
            "run_immediately": self.trigger.run_immediately.encode(),
            "run_offset": self.run_offset.encode(),
            "key_format": self.key_format,
        })
    }

    fn summary(&self) -> String {
        self.trigger.summary()
    }

    fn validate(&self) -> PyResult<()> {
        self.trigger.validate()
    }

    fn partitioned(&self) -> bool {
        true
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        self.trigger.next_info(last, restriction, now)
    }

    fn next_dagrun_info_v2(
        &self,
        last: Option<&DagRunInfo>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let choice = Choice { restriction, last: last.map(|last| last.run_after), now };
        let Some(run_after) = next_start(&self.trigger, &choice)? else { return Ok(None) };
        let (date, key) = self.partition_info(run_after)?;
        Ok(Some(DagRunInfo { run_after, data_interval: None, partition_date: Some(date), partition_key: Some(key) }))
    }

    fn iter_partition_dagrun_infos(
        &self,
        earliest: DateTime<FixedOffset>,
        latest: DateTime<FixedOffset>,
    ) -> PyResult<Box<dyn Iterator<Item = PyResult<DagRunInfo>> + '_>> {
        let schedule = &self.trigger.schedule;
        let current = schedule.align_to_next(schedule.localize(earliest))?;
        let latest = schedule.localize(latest);
        Ok(Box::new(Partitions { timetable: self, current: Some(current), started: false, latest }))
    }

    fn localize_partition_datetime(&self, bound: DateTime<FixedOffset>) -> PyResult<DateTime<Utc>> {
        Ok(self.trigger.schedule.localize(bound))
    }

    fn decode_partition_date(&self, partition_key: &str) -> PyResult<Option<Moment>> {
        let parsed = strptime(partition_key, &self.key_format).map_err(|error| {
            // Only a ValueError is caught: re.error of a repeated directive is none.
            if error.class != "ValueError" {
                return error;
            }
            PyErr::new(
                "InvalidPartitionKeyError",
                format!(
                    "Partition key {} does not match the timetable's key_format {}: {}",
                    repr_str(partition_key),
                    repr_str(&self.key_format),
                    error.message
                ),
            )
        })?;
        if let Some(offset) = parsed.offset {
            return Err(PyErr::value_error(format!(
                "make_aware expects a naive datetime, got {}",
                aware_text(parsed.naive, offset)
            )));
        }
        Moment::make_aware(parsed.naive, self.trigger.schedule.zone()).map(Some)
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        self.trigger.infer_manual_data_interval(run_after)
    }

    fn generate_run_id(&self, parts: &RunIdParts<'_>) -> String {
        let mut suffix = isoformat(parts.run_after);
        if let Some(key) = parts.partition_key.filter(|key| !key.is_empty()) {
            suffix.push_str(&format!("__{key}"));
        }
        run_id(parts.run_type, &format!("{suffix}__{}", parts.random))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `str()` of a datetime with an offset in microseconds.
fn aware_text(naive: chrono::NaiveDateTime, offset: i64) -> String {
    let seconds = i32::try_from(offset / 1_000_000).unwrap_or_default();
    let mut text = super::rules::isoformat_with_offset(naive, seconds).replacen('T', " ", 1);
    let fraction = (offset % 1_000_000).abs();
    if fraction != 0 {
        if seconds % 60 == 0 {
            text.push_str(":00");
        }
        text.push_str(&format!(".{fraction:06}"));
    }
    text
}
