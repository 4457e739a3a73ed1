//! A cron expression in a time zone: Airflow's `CronMixin`.
//!
//! The expression is evaluated in naive local time. Most schedules then read the result in the zone, which skips the first
//! of two readings and moves forward out of gaps; schedules that cover every hour add the naive difference to the instant
//! instead, so that they run in both hours of a fold.

use chrono::{DateTime, FixedOffset, Utc};

use super::Cron;
use crate::python::{PyErr, PyResult, Zone};

/// A cron expression, the zone it is meant in, and what parsing it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct CronSchedule {
    expression: String,
    zone: Zone,
    cron: PyResult<Cron>,
}

impl CronSchedule {
    /// A schedule from an expression or one of Airflow's presets. An expression that does not parse is kept: Airflow
    /// raises when it is validated or used.
    pub fn new(expression: &str, zone: Zone) -> Self {
        let expression = cron_preset(expression).unwrap_or(expression).to_owned();
        let cron = Cron::parse(&expression);
        CronSchedule { expression, zone, cron }
    }

    /// The expression, presets resolved.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The zone the expression is meant in.
    pub fn zone(&self) -> Zone {
        self.zone
    }

    fn cron(&self) -> PyResult<&Cron> {
        self.cron.as_ref().map_err(Clone::clone)
    }

    /// Raises what croniter raises for the expression, as Airflow words it.
    ///
    /// # Errors
    /// `AirflowTimetableInvalid`.
    pub fn validate(&self) -> PyResult<()> {
        match &self.cron {
            Err(error) if error.class.starts_with("Croniter") => {
                Err(PyErr::new("AirflowTimetableInvalid", error.message.clone()))
            }
            Err(error) => Err(error.clone()),
            Ok(_) => Ok(()),
        }
    }

    /// `localize_partition_datetime`: the wall-clock reading of a bound, meant in the zone.
    pub fn localize(&self, bound: DateTime<FixedOffset>) -> DateTime<Utc> {
        self.zone.to_utc(bound.naive_local())
    }

    /// The first scheduled time after an instant.
    ///
    /// # Errors
    /// croniter's.
    pub fn next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.step(current, true)
    }

    /// The last scheduled time before an instant.
    ///
    /// # Errors
    /// croniter's.
    pub fn previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        self.step(current, false)
    }

    fn step(&self, current: DateTime<Utc>, forward: bool) -> PyResult<DateTime<Utc>> {
        let cron = self.cron()?;
        let (naive, _) = self.zone.local(current);
        let scheduled = if forward { cron.next(naive)? } else { cron.previous(naive)? };
        Ok(if cron.covers_every_hour() { current + (scheduled - naive) } else { self.zone.to_utc(scheduled) })
    }

    /// The instant itself when it is on the schedule, else the next scheduled time.
    ///
    /// # Errors
    /// croniter's.
    pub fn align_to_next(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let next = self.next(current)?;
        Ok(if self.previous(next)? == current { current } else { next })
    }

    /// The instant itself when it is on the schedule, else the previous scheduled time.
    ///
    /// # Errors
    /// croniter's.
    pub fn align_to_previous(&self, current: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let previous = self.previous(current)?;
        Ok(if self.next(previous)? == current { current } else { previous })
    }
}

/// The expression of one of Airflow's own presets; croniter knows more (`@midnight`, `@annually`), which stay as they are.
pub fn cron_preset(name: &str) -> Option<&'static str> {
    Some(match name {
        "@hourly" => "0 * * * *",
        "@daily" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@quarterly" => "0 0 1 */3 *",
        "@yearly" => "0 0 1 1 *",
        _ => return None,
    })
}
