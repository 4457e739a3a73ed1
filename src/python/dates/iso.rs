//! `fromisoformat` and `fromisocalendar` of the C classes, as of Python 3.11.

use chrono::{Datelike, NaiveDate, NaiveDateTime};

use super::cargs;
use super::datetime::{make_naive, make_time};
use super::strptime::{from_ordinal, make_date, ordinal_of};
use super::time::Time;
use super::tzinfo::TzInfo;
use crate::python::{Args, PyErr, PyResult, Value, repr_str, text};

/// Bytes of a text that ends with NULs for ever, as the C code sees it.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn at(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn number(&self, at: &mut usize, count: usize) -> Option<i64> {
        let mut value = 0;
        for _ in 0..count {
            let digit = self.at(*at);
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
            *at += 1;
        }
        Some(value)
    }
}

fn invalid(text: &str) -> PyErr {
    PyErr::value_error(format!("Invalid isoformat string: {}", repr_str(text)))
}

fn str_of(value: &Value) -> PyResult<&str> {
    text(value).ok_or_else(|| PyErr::type_error("fromisoformat: argument must be str"))
}

/// `(year, week, day)` of the ISO calendar as a date, or which of the three is wrong.
fn from_iso_week(year: i64, week: i64, day: i64) -> Result<NaiveDate, usize> {
    if !(1..=9999).contains(&year) {
        return Err(0);
    }
    let first = make_date(year, 1, 1).map_err(|_| 0_usize)?;
    let weekday = first.weekday().num_days_from_monday();
    let long = weekday == 3 || weekday == 2 && first.leap_year();
    if !(1..=if long { 53 } else { 52 }).contains(&week) {
        return Err(1);
    }
    if !(1..=7).contains(&day) {
        return Err(2);
    }
    let fourth = make_date(year, 1, 4).map_err(|_| 0_usize)?;
    let monday = ordinal_of(fourth) - i64::from(fourth.weekday().num_days_from_monday());
    from_ordinal(monday + (week - 1) * 7 + day - 1).map_err(|_| 0)
}

/// `date.fromisocalendar(year, week, day)`
pub(crate) fn from_isocalendar(args: &Args<'_>) -> PyResult<NaiveDate> {
    let given = cargs::parse(Some("fromisocalendar"), &["year", "week", "day"], 3, 3, args)?;
    let parts: Vec<i64> = given.into_iter().flatten().map(cargs::int).collect::<PyResult<_>>()?;
    let [year, week, day] = parts.as_slice() else {
        return Err(PyErr::type_error("fromisocalendar() takes exactly 3 arguments"));
    };
    from_iso_week(*year, *week, *day).map_err(|which| {
        PyErr::value_error(match which {
            0 => format!("Year is out of range: {year}"),
            1 => format!("Invalid week: {week}"),
            _ => format!("Invalid day: {day} (range is [1, 7])"),
        })
    })
}

/// The date at the start of a text of `len` bytes; errors of the calendar are the inner ones.
fn parse_date(bytes: &Bytes<'_>, len: usize) -> Option<PyResult<NaiveDate>> {
    let mut at = 0;
    let year = bytes.number(&mut at, 4)?;
    let separated = bytes.at(at) == b'-';
    at += usize::from(separated);
    if bytes.at(at) == b'W' {
        at += 1;
        let week = bytes.number(&mut at, 2)?;
        let mut day = 1;
        if at < len {
            if separated {
                if bytes.at(at) != b'-' {
                    return None;
                }
                at += 1;
            }
            day = bytes.number(&mut at, 1)?;
        }
        return from_iso_week(year, week, day).ok().map(Ok);
    }
    let month = bytes.number(&mut at, 2)?;
    if separated {
        if bytes.at(at) != b'-' {
            return None;
        }
        at += 1;
    }
    let day = bytes.number(&mut at, 2)?;
    (at == len).then(|| make_date(year, month, day))
}

/// Where the date ends.
fn separator(bytes: &Bytes<'_>) -> Option<usize> {
    let len = bytes.0.len();
    if len == 7 {
        return Some(7);
    }
    if bytes.at(4) == b'-' {
        if bytes.at(5) != b'W' {
            return Some(10);
        }
        if len < 8 || len == 9 && bytes.at(8) == b'-' {
            return None;
        }
        let day = len > 8 && bytes.at(8) == b'-' && !(len > 10 && bytes.at(10).is_ascii_digit());
        return Some(if day { 10 } else { 8 });
    }
    if bytes.at(4) == b'W' {
        let mut at = 7;
        while at < len && bytes.at(at).is_ascii_digit() {
            at += 1;
        }
        return Some(if at < 9 {
            at
        } else if at % 2 == 0 {
            7
        } else {
            8
        });
    }
    Some(8)
}

/// `HH[:MM[:SS[.ffffff]]]` between two places; whether something is left, `None` when malformed.
fn parse_clock(bytes: &Bytes<'_>, start: usize, end: usize) -> Option<([i64; 4], bool)> {
    let mut parts = [0; 4];
    let mut at = start;
    let mut separated = true;
    for index in 0..3 {
        let value = bytes.number(&mut at, 2)?;
        if let Some(slot) = parts.get_mut(index) {
            *slot = value;
        }
        let c = bytes.at(at);
        at += 1;
        if index == 0 {
            separated = c == b':';
        }
        if at >= end {
            return Some((parts, c != 0));
        }
        if separated && c == b':' {
            continue;
        }
        if c == b'.' || c == b',' {
            break;
        }
        if separated {
            return None;
        }
        at -= 1;
    }
    let count = end.saturating_sub(at).min(6);
    let fraction = bytes.number(&mut at, count)?;
    if let Some(slot) = parts.get_mut(3) {
        *slot = fraction * 10_i64.pow(6 - count as u32);
    }
    while bytes.at(at).is_ascii_digit() {
        at += 1;
    }
    Some((parts, bytes.at(at) != 0))
}

/// A time with its zone; `None` when malformed.
fn parse_time(bytes: &Bytes<'_>) -> Option<([i64; 4], Option<i64>)> {
    let len = bytes.0.len();
    let mut zone = 0;
    loop {
        if matches!(bytes.at(zone), b'+' | b'-' | b'Z') {
            break;
        }
        zone += 1;
        if zone >= len {
            break;
        }
    }
    let (parts, rest) = parse_clock(bytes, 0, zone)?;
    if zone >= len {
        return (!rest).then_some((parts, None));
    }
    if bytes.at(zone) == b'Z' {
        return (bytes.at(zone + 1) == 0).then_some((parts, Some(0)));
    }
    let sign = if bytes.at(zone) == b'-' { -1 } else { 1 };
    let ([hour, minute, second, micros], rest) = parse_clock(bytes, zone + 1, len)?;
    (!rest).then(|| (parts, Some(sign * ((hour * 3600 + minute * 60 + second) * 1_000_000 + micros))))
}

fn zone_of(offset: Option<i64>) -> PyResult<Option<TzInfo>> {
    match offset {
        None => Ok(None),
        Some(micros) if micros.abs() < 1_000_000 => Ok(Some(TzInfo::UTC)),
        Some(micros) => TzInfo::plain(micros, None).map(Some),
    }
}

/// `datetime.fromisoformat(text)`
pub(crate) fn datetime_from_iso(value: &Value) -> PyResult<(NaiveDateTime, Option<TzInfo>)> {
    let text = str_of(value)?;
    let bytes = Bytes(text.as_bytes());
    let len = text.len();
    let end = if len < 7 { None } else { separator(&bytes) }.ok_or_else(|| invalid(text))?;
    let date = parse_date(&bytes, end).ok_or_else(|| invalid(text))?;
    let mut clock = ([0; 4], None);
    if len > end {
        let width = match bytes.at(end) {
            c if c & 0x80 == 0 => 1,
            c if c & 0xf0 == 0xe0 => 3,
            c if c & 0xf0 == 0xf0 => 4,
            _ => 2,
        };
        let rest = Bytes(text.as_bytes().get(end + width..).unwrap_or_default());
        clock = parse_time(&rest).ok_or_else(|| invalid(text))?;
    }
    let zone = zone_of(clock.1)?;
    let date = date?;
    let [hour, minute, second, micros] = clock.0;
    let naive = make_naive([date.year().into(), date.month().into(), date.day().into(), hour, minute, second, micros])?;
    Ok((naive, zone))
}

/// `date.fromisoformat(text)`
pub(crate) fn date_from_iso(value: &Value) -> PyResult<NaiveDate> {
    let text = str_of(value)?;
    let len = text.len();
    let date = if matches!(len, 7 | 8 | 10) { parse_date(&Bytes(text.as_bytes()), len) } else { None };
    date.ok_or_else(|| invalid(text))?
}

/// `time.fromisoformat(text)`
pub(crate) fn time_from_iso(value: &Value, pendulum: bool) -> PyResult<Time> {
    let text = str_of(value)?;
    let rest = text.strip_prefix('T').unwrap_or(text);
    let (parts, offset) = parse_time(&Bytes(rest.as_bytes())).ok_or_else(|| invalid(text))?;
    let tz = zone_of(offset)?;
    Ok(Time { time: make_time(&parts)?, tz, fold: false, pendulum })
}
