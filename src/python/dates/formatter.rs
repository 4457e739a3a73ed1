//! pendulum's own format tokens: `YYYY-MM-DD`, `dddd`, `[text]`.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

use super::datetime::{DateTime, microsecond};
use super::locale::Locale;
use super::strptime::make_date;
use crate::python::{PyErr, PyResult};

/// What a token is asked of; each class lacks some of it, and lacking is an AttributeError.
pub(crate) enum Subject<'a> {
    DateTime(&'a DateTime),
    Date(NaiveDate),
    Time(&'a super::time::Time),
}

/// The tokens, longest first where one begins another.
const TOKENS: &[&str] = &[
    "Mo",
    "MMMM",
    "MMM",
    "MM",
    "M",
    "Do",
    "DDDo",
    "DDDD",
    "DDD",
    "DD",
    "D",
    "dddd",
    "ddd",
    "dd",
    "do",
    "d",
    "eo",
    "e",
    "EEEE",
    "EEE",
    "EE",
    "E",
    "wo",
    "ww",
    "w|",
    "w",
    "Wo",
    "WW",
    "W|",
    "W",
    "Qo",
    "Q",
    "YYYY",
    "YY",
    "Y",
    "ggggg",
    "gggg",
    "gg",
    "GGGGG",
    "GGGG",
    "GG",
    "a",
    "A",
    "hh",
    "h",
    "HH",
    "H",
    "kk",
    "k",
    "mm",
    "m",
    "ss",
    "s",
    "SSSSSSSSS",
    "SSSSSSSS",
    "SSSSSSS",
    "SSSSSS",
    "SSSSS",
    "SSSS",
    "SSS",
    "SS",
    "S",
    "x",
    "X",
    "zz",
    "z",
    "ZZ",
    "Z",
    "LTS",
    "LT",
    "LLLL",
    "LLL",
    "LL",
    "L",
];

const DEFAULT_FORMATS: [(&str, &str); 6] = [
    ("LTS", "h:mm:ss A"),
    ("LT", "h:mm A"),
    ("L", "MM/DD/YYYY"),
    ("LL", "MMMM D, YYYY"),
    ("LLL", "MMMM D, YYYY h:mm A"),
    ("LLLL", "dddd, MMMM D, YYYY h:mm A"),
];

/// `format(fmt, locale)`
pub(crate) fn format(subject: &Subject<'_>, fmt: &str, locale: &Locale) -> PyResult<String> {
    let mut out = String::with_capacity(fmt.len() + 16);
    let mut rest = fmt;
    while let Some(c) = rest.chars().next() {
        if c == '[' {
            // up to the last closing bracket before another opens
            let inside = rest.get(1..).unwrap_or_default().split('[').next().unwrap_or_default();
            if let Some(end) = inside.rfind(']') {
                out.push_str(inside.get(..end).unwrap_or_default());
                rest = rest.get(end + 2..).unwrap_or_default();
                continue;
            }
        }
        if c == '\\' {
            let mut chars = rest.chars();
            chars.next();
            if let Some(escaped) = chars.next().filter(|c| *c != '\n') {
                out.push(escaped);
                rest = chars.as_str();
                continue;
            }
        }
        match TOKENS.iter().find(|token| rest.starts_with(**token)) {
            Some(token) => {
                out.push_str(&self::token(subject, token, locale)?);
                rest = rest.get(token.len()..).unwrap_or_default();
            }
            None => {
                out.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    Ok(out)
}

impl Subject<'_> {
    fn class(&self) -> &'static str {
        match self {
            Subject::DateTime(_) => "DateTime",
            Subject::Date(_) => "Date",
            Subject::Time(_) => "Time",
        }
    }

    fn lacks<T>(&self, attribute: &str) -> PyResult<T> {
        Err(PyErr::attribute_error(format!("'{}' object has no attribute '{attribute}'", self.class())))
    }

    fn date(&self, attribute: &str) -> PyResult<NaiveDate> {
        match self {
            Subject::DateTime(dt) => Ok(dt.date()),
            Subject::Date(date) => Ok(*date),
            Subject::Time(_) => self.lacks(attribute),
        }
    }

    fn time(&self, attribute: &str) -> PyResult<NaiveDateTime> {
        match self {
            Subject::DateTime(dt) => Ok(dt.naive),
            Subject::Time(time) => Ok(make_date(1900, 1, 1)?.and_time(time.time)),
            Subject::Date(_) => self.lacks(attribute),
        }
    }
}

fn token(subject: &Subject<'_>, token: &str, locale: &Locale) -> PyResult<String> {
    if let Some((_, default)) = DEFAULT_FORMATS.iter().find(|(name, _)| *name == token) {
        let fmt = locale.get(&format!("format.{token}")).unwrap_or(default);
        return format(subject, fmt, locale);
    }
    let year = || subject.date("year").map(|date| date.year());
    let month = || subject.date("month").map(|date| date.month());
    let day = || subject.date("day").map(|date| date.day());
    let quarter = || subject.date("quarter").map(|date| date.month().div_ceil(3));
    let weekday = || subject.date("day_of_week").map(|date| date.weekday().num_days_from_monday());
    let yday = || subject.date("day_of_year").map(|date| date.ordinal());
    let week = || subject.date("week_of_year").map(|date| date.iso_week().week());
    let hour = || subject.time("hour").map(|time| time.hour());
    let minute = || subject.time("minute").map(|time| time.minute());
    let second = || subject.time("second").map(|time| time.second());
    let micros = || subject.time("microsecond").map(|time| microsecond(&time));
    let ordinal = |n: u32| locale.ordinalize(i64::from(n));
    Ok(match token {
        "YYYY" | "Y" => year()?.to_string(),
        "YY" => year()?.to_string().get(2..).unwrap_or_default().to_owned(),
        "Q" => quarter()?.to_string(),
        "MM" => format!("{:02}", month()?),
        "M" => month()?.to_string(),
        "DD" => format!("{:02}", day()?),
        "D" => day()?.to_string(),
        "DDDD" => format!("{:03}", yday()?),
        "DDD" => yday()?.to_string(),
        "d" => ((weekday()? + 1) % 7).to_string(),
        "E" => subject.date("isoweekday")?.weekday().number_from_monday().to_string(),
        "HH" => format!("{:02}", hour()?),
        "H" => hour()?.to_string(),
        "hh" => format!("{:02}", (hour()? + 11) % 12 + 1),
        "h" => ((hour()? + 11) % 12 + 1).to_string(),
        "mm" => format!("{:02}", minute()?),
        "m" => minute()?.to_string(),
        "ss" => format!("{:02}", second()?),
        "s" => second()?.to_string(),
        "S" | "SS" | "SSS" | "SSSS" | "SSSSS" | "SSSSSS" => {
            let text = format!("{:06}", micros()?);
            text.get(..token.len()).unwrap_or_default().to_owned()
        }
        "X" => int_timestamp(subject)?.to_string(),
        "x" => (int_timestamp(subject)? * 1000 + i128::from(micros()?) / 1000).to_string(),
        "zz" | "z" | "ZZ" | "Z" => return zone_token(subject, token),
        "MMM" => locale.item("months.abbreviated", month()? as usize - 1).to_owned(),
        "MMMM" => locale.item("months.wide", month()? as usize - 1).to_owned(),
        "dd" => locale.item("days.short", weekday()? as usize).to_owned(),
        "ddd" => locale.item("days.abbreviated", weekday()? as usize).to_owned(),
        "dddd" => locale.item("days.wide", weekday()? as usize).to_owned(),
        "e" | "eo" => {
            let weekday = i64::from(weekday()?);
            let first: i64 = locale
                .get("first_day")
                .and_then(|first| first.parse().ok())
                .ok_or_else(|| PyErr::type_error("unsupported operand type(s) for -: 'int' and 'NoneType'"))?;
            let day = (weekday - first).rem_euclid(7);
            if token == "e" { day.to_string() } else { locale.ordinalize(day + 1) }
        }
        "Do" => ordinal(day()?),
        "do" => ordinal((weekday()? + 1) % 7),
        "Mo" => ordinal(month()?),
        "Qo" => ordinal(quarter()?),
        "wo" => ordinal(week()?),
        "DDDo" => ordinal(yday()?),
        "A" => locale.get(if hour()? >= 12 { "pm" } else { "am" }).unwrap_or_default().to_owned(),
        other => other.to_owned(),
    })
}

fn int_timestamp(subject: &Subject<'_>) -> PyResult<i128> {
    match subject {
        Subject::DateTime(dt) if dt.tz.is_some() => Ok(dt.instant_micros().div_euclid(1_000_000)),
        Subject::DateTime(_) => Err(PyErr::type_error("can't subtract offset-naive and offset-aware datetimes")),
        _ => subject.lacks("int_timestamp"),
    }
}

fn zone_token(subject: &Subject<'_>, token: &str) -> PyResult<String> {
    match subject {
        Subject::Date(_) if token == "z" => subject.lacks("timezone_name"),
        Subject::Date(_) => subject.lacks("tzinfo"),
        Subject::Time(_) if token == "z" => subject.lacks("timezone_name"),
        Subject::Time(time) => {
            let Some(tz) = &time.tz else { return Ok(String::new()) };
            let dateless = tz.dateless();
            if token == "zz" {
                return Ok(dateless.name.unwrap_or_else(|| "None".into()));
            }
            Ok(offset_token(dateless.offset, token))
        }
        Subject::DateTime(dt) => {
            let Some(tz) = &dt.tz else { return Ok(String::new()) };
            match token {
                "z" => Ok(dt.timezone().map(|zone| zone.name()).unwrap_or_default()),
                "zz" => Ok(tz.local(dt.naive, dt.fold).name.unwrap_or_else(|| "None".into())),
                _ => Ok(offset_token(tz.offset(dt.naive, dt.fold), token)),
            }
        }
    }
}

fn offset_token(micros: i64, token: &str) -> String {
    let minutes = micros / 60_000_000;
    let sign = if micros >= 0 { '+' } else { '-' };
    let separator = if token == "Z" { ":" } else { "" };
    format!("{sign}{:02}{separator}{:02}", minutes.abs() / 60, minutes.abs() % 60)
}
