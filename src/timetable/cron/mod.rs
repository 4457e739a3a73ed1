//! Cron expressions in croniter's dialect, evaluated in naive time.
//!
//! Source of the rules: croniter 7.0.0. Five fields (minute, hour, day of month, month, day of week), a sixth for
//! seconds at the end, a seventh for years. Zones are not its business: [`CronSchedule`](super::CronSchedule) adds them.

mod expand;
mod search;

use chrono::NaiveDateTime;

use crate::python::PyResult;

/// Indices of the fields of an expression.
pub(crate) mod field {
    pub(crate) const MINUTE: usize = 0;
    pub(crate) const HOUR: usize = 1;
    pub(crate) const DAY: usize = 2;
    pub(crate) const MONTH: usize = 3;
    pub(crate) const DAY_OF_WEEK: usize = 4;
    pub(crate) const SECOND: usize = 5;
    pub(crate) const YEAR: usize = 6;
}

/// The values one field admits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field {
    /// `*` is among them: every value.
    star: bool,
    /// `*` is all there is, which croniter also makes of a field that lists every value.
    only_star: bool,
    /// `L`: the last day of the month.
    last: bool,
    /// The numbers, ascending.
    values: Vec<u32>,
}

/// Which of a weekday's occurrences in a month count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nth {
    /// `5#2`: the second.
    Number(u32),
    /// `L5`: the last.
    Last,
}

/// A cron expression, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    fields: Vec<Field>,
    nth: Vec<(u32, Vec<Nth>)>,
    nearest: Option<u32>,
}

impl Cron {
    /// Parses an expression.
    ///
    /// # Errors
    /// `CroniterBadCronError`, `CroniterNotAlphaError` or `CroniterUnsupportedSyntaxError` with croniter's text. A random
    /// field (`R`) is `Unsupported`: every evaluation would give another answer.
    pub fn parse(expression: &str) -> PyResult<Cron> {
        expand::expand(expression)
    }

    /// True when the hour field admits every hour, by a star or by listing them all.
    pub fn covers_every_hour(&self) -> bool {
        self.fields.get(field::HOUR).is_some_and(|hours| hours.only_star)
    }

    /// The first match after a time.
    ///
    /// # Errors
    /// `CroniterBadDateError` when there is none within fifty years.
    pub fn next(&self, after: NaiveDateTime) -> PyResult<NaiveDateTime> {
        search::next(self, after)
    }

    /// The last match before a time.
    ///
    /// # Errors
    /// `CroniterBadDateError` when there is none within fifty years.
    pub fn previous(&self, before: NaiveDateTime) -> PyResult<NaiveDateTime> {
        search::previous(self, before)
    }

    /// True when the expression has a field for seconds.
    fn has_seconds(&self) -> bool {
        self.fields.len() > field::SECOND
    }

    fn field(&self, index: usize) -> Option<&Field> {
        self.fields.get(index)
    }
}
