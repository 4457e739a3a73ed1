//! The search for the next and the previous match of an expression.
//!
//! Days are found by month: a bit per day that the expression admits. croniter walks field by field; the answers are the
//! same, including that it gives up after fifty years.

use chrono::{Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

use super::{Cron, Field, Nth, field};
use crate::python::{PyErr, PyResult};

/// Years croniter searches before it gives up.
const YEARS: i32 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Next,
    Previous,
}

/// How the two day fields take part in one search.
#[derive(Debug, Clone, Copy)]
struct Days {
    of_month: bool,
    of_week: bool,
}

pub(super) fn next(cron: &Cron, after: NaiveDateTime) -> PyResult<NaiveDateTime> {
    let unit = if cron.has_seconds() { Duration::seconds(1) } else { Duration::minutes(1) };
    let start = after.checked_add_signed(unit).ok_or_else(out_of_range)?;
    find(cron, floor(cron, start), Direction::Next)
}

pub(super) fn previous(cron: &Cron, before: NaiveDateTime) -> PyResult<NaiveDateTime> {
    let start = before.checked_sub_signed(Duration::microseconds(1)).ok_or_else(out_of_range)?;
    find(cron, floor(cron, start), Direction::Previous)
}

fn floor(cron: &Cron, time: NaiveDateTime) -> NaiveDateTime {
    let second = if cron.has_seconds() { time.second() } else { 0 };
    time.with_nanosecond(0).and_then(|time| time.with_second(second)).unwrap_or(time)
}

fn find(cron: &Cron, start: NaiveDateTime, direction: Direction) -> PyResult<NaiveDateTime> {
    let restricted = |index| cron.field(index).is_some_and(|field: &Field| !field.star);
    let both = Days { of_month: true, of_week: true };
    if !(restricted(field::DAY) && restricted(field::DAY_OF_WEEK)) {
        return search(cron, start, direction, both);
    }
    // Both day fields restricted: cron's OR. `#` and `W` do not live in the fields croniter blanks for it, so with them
    // each half stays an intersection and must succeed by itself.
    let by_month = search(cron, start, direction, Days { of_week: false, ..both });
    let by_week = search(cron, start, direction, Days { of_month: false, ..both });
    match (by_month, by_week) {
        (Ok(a), Ok(b)) => Ok(if direction == Direction::Next { a.min(b) } else { a.max(b) }),
        (Err(error), _) | (_, Err(error)) if !cron.nth.is_empty() || cron.nearest.is_some() => Err(error),
        (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
        (Err(error), Err(_)) => Err(error),
    }
}

fn search(cron: &Cron, start: NaiveDateTime, direction: Direction, days: Days) -> PyResult<NaiveDateTime> {
    let (mut year, mut month) = (start.year(), start.month());
    while (year - start.year()).abs() <= YEARS {
        if year_admitted(cron, year) && admitted(cron.field(field::MONTH), month) {
            let mut mask = day_mask(cron, year, month, days);
            let starting = (year, month) == (start.year(), start.month());
            if starting {
                mask &= match direction {
                    Direction::Next => u32::MAX << start.day(),
                    Direction::Previous => u32::MAX >> (31 - start.day()),
                };
            }
            while mask != 0 {
                let day = match direction {
                    Direction::Next => mask.trailing_zeros(),
                    Direction::Previous => 31 - mask.leading_zeros(),
                };
                let limit = (starting && day == start.day()).then(|| start.time());
                if let Some(time) = time_of_day(cron, direction, limit) {
                    let date = NaiveDate::from_ymd_opt(year, month, day).ok_or_else(out_of_range)?;
                    return Ok(date.and_time(time));
                }
                mask &= !(1 << day);
            }
        } else if !year_admitted(cron, year) {
            month = if direction == Direction::Next { 12 } else { 1 };
        }
        match direction {
            Direction::Next if month == 12 => (year, month) = (year + 1, 1),
            Direction::Next => month += 1,
            Direction::Previous if month == 1 => (year, month) = (year - 1, 12),
            Direction::Previous => month -= 1,
        }
        if !(1..=9999).contains(&year) {
            return Err(out_of_range());
        }
    }
    let which = if direction == Direction::Next { "next" } else { "prev" };
    Err(PyErr::new("CroniterBadDateError", format!("failed to find {which} date")))
}

fn out_of_range() -> PyErr {
    PyErr::unsupported("a cron schedule beyond the years 1 to 9999")
}

fn year_admitted(cron: &Cron, year: i32) -> bool {
    cron.field(field::YEAR)
        .is_none_or(|years| years.star || u32::try_from(year).is_ok_and(|year| years.values.contains(&year)))
}

fn admitted(field: Option<&Field>, value: u32) -> bool {
    field.is_none_or(|field| field.star || field.values.contains(&value))
}

/// The days of a month that match: bit n is day n.
fn day_mask(cron: &Cron, year: i32, month: u32, rule: Days) -> u32 {
    let Some(first) = NaiveDate::from_ymd_opt(year, month, 1) else { return 0 };
    let length = u32::from(first.num_days_in_month());
    let all = (u32::MAX >> (31 - length)) & !1;
    // Sunday is 0, as in cron.
    let weekday = |day: u32| (first.weekday().num_days_from_sunday() + day - 1) % 7;

    let of_month = match (cron.nearest, cron.field(field::DAY)) {
        (Some(day), _) => 1 << nearest(day, length, weekday),
        (None, Some(field)) if rule.of_month && !field.star => {
            let listed = field.values.iter().fold(0, |mask, day| mask | (1 << day));
            if field.last { listed | (1 << length) } else { listed }
        }
        _ => all,
    };
    let of_week = if !cron.nth.is_empty() {
        nth_mask(&cron.nth, length, weekday)
    } else {
        match cron.field(field::DAY_OF_WEEK) {
            Some(field) if rule.of_week && !field.star => {
                (1..=length).filter(|day| field.values.contains(&weekday(*day))).fold(0, |mask, day| mask | (1 << day))
            }
            _ => all,
        }
    };
    of_month & of_week & all
}

fn nth_mask(nth: &[(u32, Vec<Nth>)], length: u32, weekday: impl Fn(u32) -> u32) -> u32 {
    let mut mask = 0;
    for (wanted, which) in nth {
        let first = (1..=7).find(|day| weekday(*day) == *wanted).unwrap_or(1);
        for one in which {
            let day = match one {
                Nth::Number(n) => first + 7 * (n - 1),
                Nth::Last => first + 7 * ((length - first) / 7),
            };
            if day <= length {
                mask |= 1 << day;
            }
        }
    }
    mask
}

/// The working day nearest to a day without leaving the month.
fn nearest(day: u32, length: u32, weekday: impl Fn(u32) -> u32) -> u32 {
    let day = day.min(length);
    match weekday(day) {
        6 if day > 1 => day - 1,
        6 => day + 2,
        0 if day < length => day + 1,
        0 => day - 2,
        _ => day,
    }
}

/// The first time of a day at or after a limit, or the last at or before it.
fn time_of_day(cron: &Cron, direction: Direction, limit: Option<NaiveTime>) -> Option<NaiveTime> {
    let (hour, minute, second) = match (limit, direction) {
        (Some(limit), _) => (limit.hour(), limit.minute(), limit.second()),
        (None, Direction::Next) => (0, 0, 0),
        (None, Direction::Previous) => (23, 59, 59),
    };
    let hours = cron.field(field::HOUR)?;
    let minutes = cron.field(field::MINUTE)?;
    let no_seconds = Field { values: vec![0], ..Field::default() };
    let seconds = cron.field(field::SECOND).unwrap_or(&no_seconds);
    // Without a field for seconds the limit is a whole minute, so its seconds never exclude it.
    let second = if cron.has_seconds() || direction == Direction::Next { second } else { 59 };
    let extreme = |values: &Field, highest| {
        let bound = if direction == Direction::Next { 0 } else { highest };
        step(values, bound, highest, direction)
    };
    if step(hours, hour, 23, direction) == Some(hour) {
        if step(minutes, minute, 59, direction) == Some(minute)
            && let Some(second) = step(seconds, second, 59, direction)
        {
            return NaiveTime::from_hms_opt(hour, minute, second);
        }
        if let Some(minute) = beyond(minutes, minute, 59, direction) {
            return NaiveTime::from_hms_opt(hour, minute, extreme(seconds, 59)?);
        }
    }
    let hour = beyond(hours, hour, 23, direction)?;
    NaiveTime::from_hms_opt(hour, extreme(minutes, 59)?, extreme(seconds, 59)?)
}

/// The value of a field nearest to one in a direction, that one included.
fn step(values: &Field, from: u32, highest: u32, direction: Direction) -> Option<u32> {
    if values.star {
        return (from <= highest).then_some(from);
    }
    match direction {
        Direction::Next => values.values.iter().find(|value| **value >= from).copied(),
        Direction::Previous => values.values.iter().rev().find(|value| **value <= from).copied(),
    }
}

/// The same, that one excluded.
fn beyond(values: &Field, from: u32, highest: u32, direction: Direction) -> Option<u32> {
    match direction {
        Direction::Next => step(values, from + 1, highest, direction),
        Direction::Previous => step(values, from.checked_sub(1)?, highest, direction),
    }
}
