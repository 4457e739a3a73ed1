//! Timetables that run at points in time: `airflow.timetables.trigger`.

use std::any::Any;

use chrono::{DateTime, Duration, FixedOffset, Utc};
use serde_json::{Value as Json, json};

use super::delta::{Delta, seconds};
use super::serialized::encode_zone;
use super::{CronSchedule, DagRunInfo, DataInterval, TimeRestriction, Timetable};
use crate::asset::pytext;
use crate::python::{PyErr, PyResult, Zone};

/// `run_immediately`: whether the first run of a Dag without a start date is the one just past.
#[derive(Debug, Clone, PartialEq)]
pub enum RunImmediately {
    /// `True`: always.
    Always,
    /// A `timedelta` in microseconds: when the past run is no older.
    Within(i64),
    /// `False`, `None` and any other value: when the past run is no older than a tenth of the gap between runs, or five
    /// minutes if that is longer. The value is kept for encoding.
    Rule(Json),
}

impl RunImmediately {
    /// Reads the serialized form: only a float is a timedelta (`decode_run_immediately`).
    ///
    /// # Errors
    /// `OverflowError` for a timedelta out of range.
    pub fn decode(value: &Json) -> PyResult<Self> {
        Ok(match value {
            Json::Bool(true) => RunImmediately::Always,
            Json::Number(number) if !pytext::is_integer(number) => RunImmediately::Within(seconds(number)?),
            other => RunImmediately::Rule(other.clone()),
        })
    }

    /// The serialized form.
    pub fn encode(&self) -> Json {
        match self {
            RunImmediately::Always => true.into(),
            RunImmediately::Within(micros) => json!(*micros as f64 / 1e6),
            RunImmediately::Rule(value) => value.clone(),
        }
    }

    /// `_calc_first_run`.
    fn first_run(&self, schedule: &CronSchedule, now: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let past = schedule.align_to_previous(now)?;
        let next = schedule.align_to_next(now)?;
        let buffer = match self {
            RunImmediately::Always => return Ok(past),
            RunImmediately::Within(micros) => Duration::microseconds(*micros),
            RunImmediately::Rule(_) => ((next - past) / 10).max(Duration::minutes(5)),
        };
        Ok(if now - past <= buffer { past } else { next })
    }
}

/// What trigger timetables have in common: the next start is chosen from what catching up, the last run and the start
/// date allow.
pub(super) struct Choice<'a> {
    pub(super) restriction: &'a TimeRestriction,
    /// Where the last run ended.
    pub(super) last: Option<DateTime<Utc>>,
    pub(super) now: DateTime<Utc>,
}

/// The moves of a schedule.
pub(super) trait Steps {
    fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
    fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
    fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
    fn first_run(&self, now: DateTime<Utc>) -> PyResult<DateTime<Utc>>;
}

/// The next start; `None` when it is past the end date.
pub(super) fn next_start(steps: &dyn Steps, choice: &Choice<'_>) -> PyResult<Option<DateTime<Utc>>> {
    let restriction = choice.restriction;
    let start = if restriction.catchup {
        match (choice.last, restriction.earliest) {
            (Some(last), _) => steps.next(last)?,
            (None, None) => steps.first_run(choice.now)?,
            (None, Some(earliest)) => steps.align_to_next(earliest)?,
        }
    } else {
        let mut start = steps.align_to_previous(choice.now)?;
        match (choice.last, restriction.earliest) {
            (Some(last), _) => start = start.max(steps.next(last)?),
            (None, None) => start = start.max(steps.first_run(choice.now)?),
            (None, Some(_)) => {}
        }
        if let Some(earliest) = restriction.earliest {
            start = start.max(steps.align_to_next(earliest)?);
        }
        start
    };
    Ok(Some(start).filter(|start| restriction.latest.is_none_or(|latest| latest >= *start)))
}

/// Runs at the times of a cron expression.
#[derive(Debug, Clone, PartialEq)]
pub struct CronTriggerTimetable {
    pub(super) schedule: CronSchedule,
    pub(super) interval: Delta,
    pub(super) run_immediately: RunImmediately,
    /// Set by subclasses that find partition keys while tasks run, as in Airflow's example plugin.
    pub(super) partitioned_at_runtime: bool,
}

impl CronTriggerTimetable {
    /// A timetable without a data interval.
    pub fn new(expression: &str, zone: Zone) -> Self {
        CronTriggerTimetable {
            schedule: CronSchedule::new(expression, zone),
            interval: Delta::ZERO,
            run_immediately: RunImmediately::Rule(Json::Bool(false)),
            partitioned_at_runtime: false,
        }
    }

    /// The same with `interval`: how long before its end the data interval of a run starts.
    #[must_use]
    pub fn with_interval(self, interval: Delta) -> Self {
        CronTriggerTimetable { interval, ..self }
    }

    /// The schedule.
    pub fn schedule(&self) -> &CronSchedule {
        &self.schedule
    }

    /// `_TriggerTimetable.next_dagrun_info`.
    pub(super) fn next_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let choice = Choice { restriction, last: last.map(|last| last.end), now };
        interval_info(self, &self.interval, &choice)
    }
}

fn interval_info(steps: &dyn Steps, interval: &Delta, choice: &Choice<'_>) -> PyResult<Option<DagRunInfo>> {
    match next_start(steps, choice)? {
        Some(start) => Ok(Some(DagRunInfo::interval(interval.subtract(start)?, start))),
        None => Ok(None),
    }
}

impl Steps for CronTriggerTimetable {
    fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.schedule.next(current)
    }

    fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.schedule.align_to_next(current)
    }

    fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.schedule.align_to_previous(current)
    }

    fn first_run(&self, now: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.run_immediately.first_run(&self.schedule, now)
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
        let mut fields = json!({
            "expression": self.schedule.expression(),
            "timezone": encode_zone(self.schedule.zone()),
            "interval": self.interval.encode(),
            "run_immediately": self.run_immediately.encode(),
        });
        if self.partitioned_at_runtime
            && let Some(fields) = fields.as_object_mut()
        {
            fields.insert("partitioned_at_runtime".to_owned(), true.into());
        }
        fields
    }

    fn summary(&self) -> String {
        self.schedule.expression().to_owned()
    }

    fn validate(&self) -> PyResult<()> {
        self.schedule.validate()
    }

    fn partitioned_at_runtime(&self) -> bool {
        self.partitioned_at_runtime
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
        Ok(DataInterval { start: self.interval.subtract(run_after)?, end: run_after })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Runs every so often.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaTriggerTimetable {
    pub(super) delta: Delta,
    pub(super) interval: Delta,
}

impl Steps for DeltaTriggerTimetable {
    fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.delta.add(current)
    }

    fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        Ok(current)
    }

    fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        Ok(current)
    }

    fn first_run(&self, now: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        Ok(now)
    }
}

impl Timetable for DeltaTriggerTimetable {
    fn class_name(&self) -> &'static str {
        "DeltaTriggerTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.trigger"
    }

    fn serialize(&self) -> Json {
        json!({"delta": self.delta.encode(), "interval": self.interval.encode()})
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
        interval_info(self, &self.interval, &Choice { restriction, last: last.map(|last| last.end), now })
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        Ok(DataInterval { start: self.interval.subtract(run_after)?, end: run_after })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Runs whenever one of several cron expressions does.
#[derive(Debug, Clone, PartialEq)]
pub struct MultipleCronTriggerTimetable {
    timetables: Vec<CronTriggerTimetable>,
}

impl MultipleCronTriggerTimetable {
    /// A timetable of expressions that share everything else.
    ///
    /// # Errors
    /// `ValueError` without an expression.
    pub fn new(
        expressions: &[String],
        zone: Zone,
        interval: &Delta,
        run_immediately: &RunImmediately,
    ) -> PyResult<Self> {
        if expressions.is_empty() {
            return Err(PyErr::value_error("cron expression required"));
        }
        let timetables = expressions
            .iter()
            .map(|expression| CronTriggerTimetable {
                interval: interval.clone(),
                run_immediately: run_immediately.clone(),
                ..CronTriggerTimetable::new(expression, zone)
            })
            .collect();
        Ok(MultipleCronTriggerTimetable { timetables })
    }

    fn texts(&self) -> Vec<&str> {
        self.timetables.iter().map(|timetable| timetable.schedule.expression()).collect()
    }
}

impl Timetable for MultipleCronTriggerTimetable {
    fn class_name(&self) -> &'static str {
        "MultipleCronTriggerTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.trigger"
    }

    fn serialize(&self) -> Json {
        let mut fields = json!({"expressions": self.texts()});
        if let (Some(fields), Some(first)) = (fields.as_object_mut(), self.timetables.first()) {
            fields.insert("timezone".to_owned(), encode_zone(first.schedule.zone()));
            fields.insert("interval".to_owned(), first.interval.encode());
            fields.insert("run_immediately".to_owned(), first.run_immediately.encode());
        }
        fields
    }

    fn summary(&self) -> String {
        self.texts().join(", ")
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let mut best: Option<(i64, Option<DagRunInfo>)> = None;
        for timetable in &self.timetables {
            let info = timetable.next_info(last, restriction, now)?;
            let date = info.as_ref().and_then(DagRunInfo::logical_date);
            let rank = match date.map(|date| date.timestamp_micros()) {
                None => i64::MAX,
                // Without catching up the latest run that is due comes first.
                Some(at) if !restriction.catchup && at <= now.timestamp_micros() => -at,
                Some(at) => at,
            };
            if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                best = Some((rank, info));
            }
        }
        Ok(best.and_then(|(_, info)| info))
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        let mut best: Option<DataInterval> = None;
        for timetable in &self.timetables {
            let interval = timetable.infer_manual_data_interval(run_after)?;
            if best.is_none_or(|known| interval.start < known.start) {
                best = Some(interval);
            }
        }
        best.ok_or_else(|| PyErr::value_error("min() arg is an empty sequence"))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
