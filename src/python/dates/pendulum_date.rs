//! What pendulum's `Date` can and, where it has no time to mind, its `DateTime` as well: steps, first and last days.

use chrono::{Datelike, NaiveDate, NaiveTime};

use super::arith::Temp;
use super::date::Date;
use super::datetime::DateTime;
use super::number::N;
use super::pendulum::{Amounts, add_duration, last_day};
use super::strptime::make_date;
use super::weekday::{WeekDay, as_index};
use crate::python::{PyErr, PyResult, Value, View, type_name, view};

/// Amounts of one unit.
pub(crate) struct Step;

impl Step {
    pub(crate) fn days(days: i64) -> Amounts {
        let mut amounts = [N::I(0); 8];
        if let Some(slot) = amounts.get_mut(3) {
            *slot = N::I(i128::from(days));
        }
        amounts
    }

    pub(crate) fn seconds(seconds: f64) -> Amounts {
        let mut amounts = [N::I(0); 8];
        if let Some(slot) = amounts.get_mut(6) {
            *slot = N::F(seconds);
        }
        amounts
    }
}

/// `Date.add(...)`
pub(crate) fn add(date: NaiveDate, amounts: &Amounts) -> PyResult<Date> {
    // fractions of a day are lost: the C class adds whole days
    let moved = match amounts.get(2..4) {
        Some([N::I(_), N::I(_)]) => add_duration(date.and_time(NaiveTime::MIN), amounts)?.date(),
        _ => {
            let mut months = *amounts;
            for slot in months.iter_mut().skip(2) {
                *slot = N::I(0);
            }
            let start = add_duration(date.and_time(NaiveTime::MIN), &months)?;
            let [_, _, weeks, days, ..] = *amounts;
            let delta =
                super::timedelta::TimeDelta::of_parts(&[("days", days.add(weeks.mul(7)), super::timedelta::DAY)])?;
            let whole = super::timedelta::fields(delta.micros()).0;
            super::datetime::shift(start, i128::from(whole) * super::timedelta::DAY)?.date()
        }
    };
    Ok(Date { date: moved, pendulum: true })
}

/// `Date + delta`, `Date - delta`
pub(crate) fn add_delta(date: NaiveDate, delta: Temp<'_>, subtract: bool) -> PyResult<Date> {
    let (years, months, weeks, days) = match delta {
        Temp::Interval(iv) => {
            let units = iv.units();
            (units.years, units.months, units.weeks, units.days)
        }
        Temp::Duration(d) => (d.years, d.months, d.weeks, d.remaining_days),
        Temp::Delta(td) => (0, 0, 0, td.fields().0),
        _ => return Err(PyErr::unsupported("adding this to a date")),
    };
    let mut amounts = [N::I(0); 8];
    for (slot, n) in amounts.iter_mut().zip([years, months, weeks, days]) {
        *slot = N::I(i128::from(if subtract { -n } else { n }));
    }
    add(date, &amounts)
}

/// What `first_of` and its kin need of a date, with or without a time.
pub(crate) trait Calendar: Sized + Clone {
    fn ymd(&self) -> NaiveDate;
    /// `start_of('day')`
    fn midnight(&self) -> PyResult<Self>;
    /// `set(...)` of year, month and day
    fn on_date(&self, year: i64, month: i64, day: i64) -> PyResult<Self>;
    /// `next(day)`
    fn next_day(&self, day: Option<i64>) -> PyResult<Self>;
    /// What `_nth_of_month` compares to see whether the month was left
    fn check(&self) -> String;
}

impl Calendar for DateTime {
    fn ymd(&self) -> NaiveDate {
        self.date()
    }

    fn midnight(&self) -> PyResult<Self> {
        self.start_of_day()
    }

    fn on_date(&self, year: i64, month: i64, day: i64) -> PyResult<Self> {
        self.on(year, month, day)
    }

    fn next_day(&self, day: Option<i64>) -> PyResult<Self> {
        self.step_to(day, false, 1)
    }

    fn check(&self) -> String {
        format!("%{}-%{}", self.date().year(), self.date().month())
    }
}

impl Calendar for Date {
    fn ymd(&self) -> NaiveDate {
        self.date
    }

    fn midnight(&self) -> PyResult<Self> {
        Ok(self.clone())
    }

    fn on_date(&self, year: i64, month: i64, day: i64) -> PyResult<Self> {
        Ok(Date { date: make_date(year, month, day)?, pendulum: true })
    }

    fn next_day(&self, day: Option<i64>) -> PyResult<Self> {
        self.step_to(day, 1)
    }

    fn check(&self) -> String {
        self.date.format("%Y-%m").to_string()
    }
}

/// The weekday argument of `first_of` and its kin.
#[derive(Clone, Copy)]
pub(crate) enum Day<'a> {
    None,
    Index(i64),
    Strange(&'a Value),
}

impl<'a> Day<'a> {
    pub(crate) fn of(value: Option<&'a Value>) -> Day<'a> {
        match value {
            None => Day::None,
            Some(value) => match view(value) {
                View::None => Day::None,
                View::Int(day) => Day::Index(day),
                View::Bool(day) => Day::Index(i64::from(day)),
                _ => as_index(value).map_or(Day::Strange(value), Day::Index),
            },
        }
    }

    /// The column of a week of seven.
    fn column(self) -> PyResult<i64> {
        match self {
            Day::Index(day @ 0..=6) => Ok(day),
            Day::Index(day @ -7..=-1) => Ok(day + 7),
            Day::Index(_) => Err(PyErr::new("IndexError", "list index out of range")),
            Day::None => Ok(0),
            Day::Strange(value) => {
                Err(PyErr::type_error(format!("list indices must be integers or slices, not {}", type_name(value))))
            }
        }
    }

    /// The argument of `next`.
    pub(crate) fn step(self) -> PyResult<Option<i64>> {
        match self {
            Day::None => Ok(None),
            Day::Index(day) => Ok(Some(day)),
            Day::Strange(value) => match N::of(value) {
                Some(N::F(day)) if day.fract() == 0.0 && (0.0..=6.0).contains(&day) => Ok(Some(day as i64)),
                Some(N::F(day)) if (0.0..=6.0).contains(&day) => {
                    Err(PyErr::limit("no day is this weekday: pendulum would search to the end of time"))
                }
                Some(_) => Err(PyErr::value_error("Invalid day of week")),
                None => Err(PyErr::type_error(format!(
                    "'<' not supported between instances of '{}' and 'WeekDay'",
                    type_name(value)
                ))),
            },
        }
    }
}

fn parts(date: NaiveDate) -> (i64, i64, i64) {
    (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()))
}

fn quarter(month: i64) -> i64 {
    (month + 2) / 3
}

/// `first_of(unit, day)` and `last_of(unit, day)`; units are checked by the caller.
pub(crate) fn edge_of<C: Calendar>(x: &C, unit: &str, day: Day<'_>, last: bool) -> PyResult<C> {
    let (year, month, own) = parts(x.ymd());
    match unit {
        "quarter" => {
            let month = quarter(month) * 3 - if last { 0 } else { 2 };
            edge_of_month(&x.on_date(year, month, 1)?, day, last)
        }
        "year" => edge_of_month(&x.on_date(year, if last { 12 } else { 1 }, own)?, day, last),
        _ => edge_of_month(x, day, last),
    }
}

fn edge_of_month<C: Calendar>(x: &C, day: Day<'_>, last: bool) -> PyResult<C> {
    let x = x.midnight()?;
    let (year, month, _) = parts(x.ymd());
    let length = i64::from(last_day(year, month));
    if let Day::None = day {
        return x.on_date(year, month, if last { length } else { 1 });
    }
    let column = day.column()?;
    let weekday = |day: i64| make_date(year, month, day).map(|date| i64::from(date.weekday().num_days_from_monday()));
    let found = if last {
        length - (weekday(length)? - column).rem_euclid(7)
    } else {
        1 + (column - weekday(1)?).rem_euclid(7)
    };
    x.on_date(year, month, found)
}

/// `nth_of(unit, nth, day)`: `None` when the unit has no such day.
fn nth<C: Calendar>(x: &C, unit: &str, nth: N, day: Day<'_>) -> PyResult<Option<C>> {
    if matches!(nth, N::I(1)) || matches!(nth, N::F(f) if f == 1.0) {
        return edge_of(x, unit, day, false).map(Some);
    }
    let (year, month, _) = parts(x.ymd());
    let first = edge_of(x, unit, Day::None, false)?;
    let N::I(nth) = nth else {
        return Err(PyErr::type_error("'float' object cannot be interpreted as an integer"));
    };
    let weekday = i64::from(first.ymd().weekday().num_days_from_monday());
    let hits = matches!(day, Day::Index(day) if day == weekday);
    let mut found = first.clone();
    for _ in 0..nth.saturating_sub(i128::from(hits)) {
        found = found.next_day(day.step()?)?;
        if matches!(unit, "month" | "year" | "quarter") && i64::from(found.ymd().year()) > year + 1 {
            return Ok(None);
        }
    }
    let (found_year, found_month, found_day) = parts(found.ymd());
    let outside = match unit {
        "month" => found.check() != first.check(),
        "quarter" => quarter(month) * 3 < found_month || found_year != year,
        _ => found_year != year,
    };
    if outside {
        return Ok(None);
    }
    x.on_date(year, found_month, found_day)?.midnight().map(Some)
}

/// `nth_of(unit, nth, day)`
pub(crate) fn nth_of<C: Calendar>(x: &C, unit: &str, count: &Value, day: Day<'_>) -> PyResult<C> {
    let number = N::of(count).ok_or_else(|| {
        PyErr::type_error(format!("unsupported operand type(s) for -: '{}' and 'int'", type_name(count)))
    })?;
    if let Some(found) = nth(x, unit, number, day)? {
        return Ok(found);
    }
    let name = match day {
        Day::Index(day) => WeekDay::capitalized(day)?,
        Day::None => return Err(PyErr::value_error("None is not a valid WeekDay")),
        Day::Strange(_) => return Err(PyErr::unsupported("a weekday that is no int")),
    };
    let count = match number {
        N::I(n) => n.to_string(),
        N::F(f) => crate::python::repr_float(f),
    };
    Err(PyErr::new("PendulumException", format!("Unable to find occurrence {count} of {name} in {unit}")))
}

/// The unit argument of `first_of` and its kin, which all name `first_of` when they refuse it.
pub(crate) fn edge_unit<'a>(value: &'a Value, shown: &str) -> PyResult<&'a str> {
    match crate::python::text(value) {
        Some(unit @ ("month" | "quarter" | "year")) => Ok(unit),
        _ => Err(PyErr::value_error(format!("Invalid unit \"{shown}\" for first_of()"))),
    }
}
