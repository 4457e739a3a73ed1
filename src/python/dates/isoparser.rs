//! `dateutil.parser.isoparse`.

use chrono::{Datelike, Days, NaiveDate};

use super::datetime::{DateTime, make_naive, shift};
use super::strptime::make_date;
use super::timedelta::DAY;
use super::tzinfo::TzInfo;
use crate::python::{Args, Interp, PyErr, PyResult, Sig, View, object, repr_bytes, view};

fn error<T>(message: impl Into<String>) -> PyResult<T> {
    Err(PyErr::value_error(message))
}

struct Iso<'a>(&'a [u8]);

impl Iso<'_> {
    fn part(&self, at: usize, count: usize) -> &[u8] {
        let end = (at + count).min(self.0.len());
        self.0.get(at.min(end)..end).unwrap_or_default()
    }

    fn digits(&self, at: usize, count: usize) -> PyResult<i64> {
        let part = self.part(at, count);
        if part.len() != count || !part.iter().all(u8::is_ascii_digit) {
            let shown = repr_bytes(part);
            return error(format!("Expected {count} digits, got {}", shown.trim_start_matches('b')));
        }
        Ok(part.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    fn is(&self, at: usize, byte: u8) -> bool {
        self.0.get(at) == Some(&byte)
    }

    /// Year, month, day of the usual forms, and where they end.
    fn common(&self) -> PyResult<([i64; 3], usize)> {
        let len = self.0.len();
        if len < 4 {
            return error("ISO string too short");
        }
        let mut parts = [self.digits(0, 4)?, 1, 1];
        let mut at = 4;
        if at >= len {
            return Ok((parts, at));
        }
        let separated = self.is(at, b'-');
        at += usize::from(separated);
        if len - at < 2 {
            return error("Invalid common month");
        }
        let [_, month, day] = &mut parts;
        *month = self.digits(at, 2)?;
        at += 2;
        if at >= len {
            return if separated { Ok((parts, at)) } else { error("Invalid ISO format") };
        }
        if separated {
            if !self.is(at, b'-') {
                return error("Invalid separator in ISO string");
            }
            at += 1;
        }
        if len - at < 2 {
            return error("Invalid common day");
        }
        *day = self.digits(at, 2)?;
        Ok((parts, at + 2))
    }

    /// Week dates and ordinal dates.
    fn uncommon(&self) -> PyResult<([i64; 3], usize)> {
        let len = self.0.len();
        if len < 4 {
            return error("ISO string too short");
        }
        let year = self.digits(0, 4)?;
        let separated = self.is(4, b'-');
        let mut at = 4 + usize::from(separated);
        let date = if self.is(at, b'W') {
            at += 1;
            let week = self.digits(at, 2)?;
            at += 2;
            let mut day = 1;
            if len > at {
                if self.is(at, b'-') != separated {
                    return error("Inconsistent use of dash separator");
                }
                at += usize::from(separated);
                day = self.digits(at, 1)?;
                at += 1;
            }
            week_date(year, week, day)?
        } else {
            if len - at.min(len) < 3 {
                return error("Invalid ordinal day");
            }
            let day = self.digits(at, 3)?;
            at += 3;
            let first = make_date(year, 1, 1);
            let leap = NaiveDate::from_ymd_opt(year as i32, 2, 29).is_some();
            if !(1..=365 + i64::from(leap)).contains(&day) {
                return error(format!("Invalid ordinal day {day} for year {year}"));
            }
            later(first?, day - 1)?
        };
        Ok(([date.year().into(), date.month().into(), date.day().into()], at))
    }
}

fn later(date: NaiveDate, days: i64) -> PyResult<NaiveDate> {
    let moved = if days < 0 {
        date.checked_sub_days(Days::new(days.unsigned_abs()))
    } else {
        date.checked_add_days(Days::new(days.unsigned_abs()))
    };
    moved.filter(|date| (1..=9999).contains(&date.year())).ok_or_else(|| PyErr::overflow("date value out of range"))
}

fn week_date(year: i64, week: i64, day: i64) -> PyResult<NaiveDate> {
    if !(0 < week && week < 54) {
        return error(format!("Invalid week: {week}"));
    }
    if !(0 < day && day < 8) {
        return error(format!("Invalid weekday: {day}"));
    }
    let fourth = make_date(year, 1, 4)?;
    let monday = later(fourth, -i64::from(fourth.weekday().num_days_from_monday()))?;
    later(monday, (week - 1) * 7 + day - 1)
}

fn zone(text: &Iso<'_>) -> PyResult<TzInfo> {
    if matches!(text.0, b"Z" | b"z") {
        return Ok(TzInfo::DateutilUtc);
    }
    let len = text.0.len();
    if !matches!(len, 3 | 5 | 6) {
        return error("Time zone offset must be 1, 3, 5 or 6 characters");
    }
    let sign = match text.0.first() {
        Some(b'-') => -1,
        Some(b'+') => 1,
        _ => return error("Time zone offset requires sign"),
    };
    let hours = text.digits(1, 2)?;
    let mut minutes = 0;
    if len > 3 {
        let at = if text.is(3, b':') { 4 } else { 3 };
        if len != at + 2 {
            return error("Invalid minutes in time zone offset");
        }
        minutes = text.digits(at, 2)?;
    }
    if hours == 0 && minutes == 0 {
        return Ok(TzInfo::DateutilUtc);
    }
    if minutes > 59 {
        return error("Invalid minutes in time zone offset");
    }
    if hours > 23 {
        return error("Invalid hours in time zone offset");
    }
    Ok(TzInfo::DateutilOffset { name: None, seconds: (sign * (hours * 60 + minutes) * 60) as i32 })
}

/// Hour, minute, second, microsecond, zone.
fn time(text: &Iso<'_>) -> PyResult<([i64; 4], Option<TzInfo>)> {
    let len = text.0.len();
    let mut parts = [0; 4];
    let mut tz = None;
    let mut at = 0;
    if len < 2 {
        return error("ISO time too short");
    }
    let mut separated = false;
    for index in 0..6 {
        if at >= len {
            break;
        }
        if text.0.get(at).is_some_and(|byte| b"-+Zz".contains(byte)) {
            tz = Some(zone(&Iso(text.part(at, len)))?);
            at = len;
            break;
        }
        if index == 1 && text.is(at, b':') {
            separated = true;
            at += 1;
        } else if index == 2 && separated {
            if !text.is(at, b':') {
                return error("Inconsistent use of colon separator");
            }
            at += 1;
        }
        if let Some(slot) = parts.get_mut(index).filter(|_| index < 3) {
            *slot = text.digits(at, 2)?;
            at += 2;
        }
        if index == 3 && (text.is(at, b'.') || text.is(at, b',')) {
            let digits: Vec<u8> = text.part(at + 1, len).iter().copied().take_while(u8::is_ascii_digit).collect();
            if digits.is_empty() {
                continue;
            }
            let micros =
                digits.iter().chain(b"000000").take(6).fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
            if let Some(slot) = parts.get_mut(3) {
                *slot = micros;
            }
            at += 1 + digits.len();
        }
    }
    if at < len {
        return error("Unused components in ISO string");
    }
    let [hour, minute, second, micros] = parts;
    if hour == 24 && (minute, second, micros) != (0, 0, 0) {
        return error("Hour may only be 24 at 24:00:00.000");
    }
    Ok((parts, tz))
}

/// `isoparse(text)`
pub(crate) fn isoparse(args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let value = match args {
        Args { pos: [value], kw: [] } => value,
        _ => {
            Sig::new("isoparser.isoparse", &["dt_str"]).method().bind(args)?;
            return Err(PyErr::unsupported("isoparse with a named argument"));
        }
    };
    let bytes = match view(value) {
        View::Bytes(bytes) => bytes,
        _ => match crate::python::text(value) {
            Some(text) if text.is_ascii() => text.as_bytes(),
            Some(_) => return error("ISO-8601 strings should contain only ASCII characters"),
            None => return Err(PyErr::unsupported("isoparse of something that is no text")),
        },
    };
    let text = Iso(bytes);
    let ([year, month, day], at) = match text.common() {
        Ok(found) => found,
        Err(_) => text.uncommon()?,
    };
    let mut clock = ([0; 4], None);
    if text.0.len() > at {
        clock = time(&Iso(text.part(at + 1, text.0.len())))?;
    }
    let ([mut hour, minute, second, micros], tz) = clock;
    let midnight = hour == 24;
    if midnight {
        hour = 0;
    }
    let naive = make_naive([year, month, day, hour, minute, second, micros])?;
    let naive = if midnight { shift(naive, DAY)? } else { naive };
    Ok(object(DateTime { naive, tz, fold: false, pendulum: false }))
}
