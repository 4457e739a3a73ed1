//! Steps of time: `datetime.timedelta` and `dateutil.relativedelta.relativedelta`, as timetables hold them.

use chrono::{DateTime, Datelike, Duration, NaiveDate, Timelike, Utc};
use serde_json::{Map, Value as Json, json};

use crate::asset::pytext;
use crate::python::{PyErr, PyResult};

const DAY: i64 = 86_400_000_000;

/// A step of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// `timedelta`, in microseconds.
    Time(i64),
    /// `relativedelta`.
    Relative(RelativeDelta),
}

/// `relativedelta` with whole numbers, normalised as its constructor does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RelativeDelta {
    years: i64,
    months: i64,
    days: i64,
    leapdays: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    microseconds: i64,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    weekday: Option<(i64, Option<i64>)>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    microsecond: Option<i64>,
}

impl Delta {
    /// No time at all.
    pub const ZERO: Delta = Delta::Time(0);

    /// Reads seconds, or the fields of a relativedelta (`decode_interval`).
    ///
    /// # Errors
    /// `TypeError` as Python raises it; `Unsupported` for fractions in a relativedelta.
    pub fn decode(value: &Json) -> PyResult<Delta> {
        match value {
            Json::Object(fields) => RelativeDelta::decode(fields).map(Delta::Relative),
            Json::Bool(flag) => Ok(Delta::Time(i64::from(*flag) * 1_000_000)),
            Json::Number(number) => seconds(number).map(Delta::Time),
            other => Err(PyErr::type_error(format!(
                "unsupported type for timedelta seconds component: {}",
                pytext::type_name(other)
            ))),
        }
    }

    /// The serialized form (`encode_interval`): seconds as a float, or the fields that are set.
    pub fn encode(&self) -> Json {
        match self {
            Delta::Time(micros) => json!(*micros as f64 / 1e6),
            Delta::Relative(delta) => delta.encode(),
        }
    }

    /// The instant one step later.
    ///
    /// # Errors
    /// `OverflowError` or `ValueError` outside of the years 1 to 9999.
    pub fn add(&self, at: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        match self {
            Delta::Time(micros) => shifted(at, *micros),
            Delta::Relative(delta) => delta.add(at),
        }
    }

    /// The instant one step earlier.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn subtract(&self, at: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        match self {
            Delta::Time(micros) => shifted(at, -micros),
            Delta::Relative(delta) => delta.negated().add(at),
        }
    }

    /// `str(delta)`
    pub fn text(&self) -> String {
        match self {
            Delta::Time(micros) => timedelta_str(*micros),
            Delta::Relative(delta) => delta.repr(),
        }
    }

    /// `repr(delta)`
    pub fn repr(&self) -> String {
        match self {
            Delta::Time(micros) => timedelta_repr(*micros),
            Delta::Relative(delta) => delta.repr(),
        }
    }

    /// Raises unless the step goes forward.
    ///
    /// # Errors
    /// `AirflowTimetableInvalid`; `Unsupported` where the answer depends on the day it is asked.
    pub fn validate(&self) -> PyResult<()> {
        let forward = match self {
            Delta::Time(micros) => *micros > 0,
            Delta::Relative(delta) => {
                let days = [(2023, 1, 1), (2024, 2, 29), (2023, 2, 28), (2024, 7, 31), (2024, 12, 31), (2025, 6, 15)];
                let mut answers = days.iter().filter_map(|(year, month, day)| {
                    let at = NaiveDate::from_ymd_opt(*year, *month, *day)?.and_hms_opt(11, 30, 15)?.and_utc();
                    Some(delta.add(at).map(|next| next > at))
                });
                let first = answers.next().unwrap_or(Ok(false))?;
                for answer in answers {
                    if answer? != first {
                        return Err(PyErr::unsupported(format!(
                            "the schedule {}: whether it is valid depends on the day",
                            delta.repr()
                        )));
                    }
                }
                first
            }
        };
        if forward {
            return Ok(());
        }
        Err(PyErr::new("AirflowTimetableInvalid", format!("schedule interval must be positive, not {}", self.repr())))
    }
}

/// `timedelta(seconds=number)` in microseconds, rounded half to even as Python does.
pub(super) fn seconds(number: &serde_json::Number) -> PyResult<i64> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    if !value.is_finite() {
        return Err(PyErr::value_error("cannot convert float NaN to integer"));
    }
    if value.abs() >= 86_400.0 * 1e9 {
        return Err(PyErr::overflow(format!("days={}; must have magnitude <= 999999999", (value / 86_400.0).floor())));
    }
    let whole = value.trunc();
    // The limit above is 8.64e13 seconds, the type holds 9.2e12: more than any calendar needs.
    let micros = (whole as i64).checked_mul(1_000_000);
    micros
        .and_then(|micros| micros.checked_add(((value - whole) * 1e6).round_ties_even() as i64))
        .ok_or_else(|| PyErr::overflow("date value out of range"))
}

fn shifted(at: DateTime<Utc>, micros: i64) -> PyResult<DateTime<Utc>> {
    at.checked_add_signed(Duration::microseconds(micros))
        .filter(|at| (1..=9999).contains(&at.year()))
        .ok_or_else(|| PyErr::overflow("date value out of range"))
}

fn timedelta_str(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let mut text = String::new();
    if days != 0 {
        text.push_str(&format!("{days} day{}, ", if days.abs() == 1 { "" } else { "s" }));
    }
    text.push_str(&format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    if fraction != 0 {
        text.push_str(&format!(".{fraction:06}"));
    }
    text
}

fn timedelta_repr(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let parts: Vec<String> = [("days", days), ("seconds", rest / 1_000_000), ("microseconds", rest % 1_000_000)]
        .iter()
        .filter(|(_, value)| *value != 0)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("datetime.timedelta({})", if parts.is_empty() { "0".to_owned() } else { parts.join(", ") })
}

impl RelativeDelta {
    fn decode(fields: &Map<String, Json>) -> PyResult<Self> {
        let mut delta = RelativeDelta::default();
        for (name, value) in fields {
            if name == "weekday" {
                delta.weekday = Some(weekday(value)?);
                continue;
            }
            let number = whole(name, value)?;
            match name.as_str() {
                "years" => delta.years = number,
                "months" => delta.months = number,
                "days" => delta.days += number,
                "weeks" => delta.days += number * 7,
                "leapdays" => delta.leapdays = number,
                "hours" => delta.hours = number,
                "minutes" => delta.minutes = number,
                "seconds" => delta.seconds = number,
                "microseconds" => delta.microseconds = number,
                "year" => delta.year = Some(number),
                "month" => delta.month = Some(number),
                "day" => delta.day = Some(number),
                "hour" => delta.hour = Some(number),
                "minute" => delta.minute = Some(number),
                "second" => delta.second = Some(number),
                "microsecond" => delta.microsecond = Some(number),
                "yearday" | "nlyearday" => return Err(PyErr::unsupported(format!("relativedelta({name}=...)"))),
                _ => {
                    return Err(PyErr::type_error(format!(
                        "relativedelta.__init__() got an unexpected keyword argument '{name}'"
                    )));
                }
            }
        }
        delta.normalise();
        Ok(delta)
    }

    /// Carries each unit that is full into the next one, keeping signs.
    fn normalise(&mut self) {
        carry(&mut self.microseconds, 1_000_000, &mut self.seconds);
        carry(&mut self.seconds, 60, &mut self.minutes);
        carry(&mut self.minutes, 60, &mut self.hours);
        carry(&mut self.hours, 24, &mut self.days);
        carry(&mut self.months, 12, &mut self.years);
    }

    fn relative(&self) -> [(&'static str, i64); 8] {
        [
            ("years", self.years),
            ("months", self.months),
            ("days", self.days),
            ("leapdays", self.leapdays),
            ("hours", self.hours),
            ("minutes", self.minutes),
            ("seconds", self.seconds),
            ("microseconds", self.microseconds),
        ]
    }

    fn encode(&self) -> Json {
        let mut map = Map::new();
        // The order of relativedelta's own attributes, without what is zero or None.
        for (name, value) in self.relative() {
            if value != 0 {
                map.insert(name.to_owned(), value.into());
            }
        }
        for (name, value) in self.absolute() {
            if let Some(value) = value.filter(|value| *value != 0) {
                map.insert(name.to_owned(), value.into());
            }
        }
        if let Some((day, n)) = self.weekday {
            let mut items = vec![Json::from(day)];
            items.extend(n.filter(|n| *n != 0).map(Json::from));
            map.insert("weekday".to_owned(), items.into());
        }
        Json::Object(map)
    }

    fn absolute(&self) -> [(&'static str, Option<i64>); 7] {
        [
            ("year", self.year),
            ("month", self.month),
            ("day", self.day),
            ("hour", self.hour),
            ("minute", self.minute),
            ("second", self.second),
            ("microsecond", self.microsecond),
        ]
    }

    fn repr(&self) -> String {
        let mut parts: Vec<String> = self
            .relative()
            .iter()
            .filter(|(_, value)| *value != 0)
            .map(|(name, value)| format!("{name}={value:+}"))
            .collect();
        for (name, value) in self.absolute() {
            // The weekday stands between day and hour.
            if name == "hour"
                && let Some((day, n)) = self.weekday
            {
                let names = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
                let day = usize::try_from(day).ok().and_then(|day| names.get(day)).unwrap_or(&"?");
                parts.push(match n.filter(|n| *n != 0) {
                    Some(n) => format!("weekday={day}({n:+})"),
                    None => format!("weekday={day}"),
                });
            }
            if let Some(value) = value {
                parts.push(format!("{name}={value}"));
            }
        }
        format!("relativedelta({})", parts.join(", "))
    }

    fn negated(&self) -> Self {
        RelativeDelta {
            years: -self.years,
            months: -self.months,
            days: -self.days,
            hours: -self.hours,
            minutes: -self.minutes,
            seconds: -self.seconds,
            microseconds: -self.microseconds,
            ..self.clone()
        }
    }

    /// True when the step has months or years, whose length varies.
    pub(super) fn of_variable_length(&self) -> bool {
        self.months != 0 || self.years != 0
    }

    /// Airflow's length in seconds for rounding: a year of 365 days, a month of 30.
    pub(super) fn nominal_seconds(&self) -> i64 {
        (((self.years * 365 + self.months * 30 + self.days) * 24 + self.hours) * 60 + self.minutes) * 60 + self.seconds
    }

    /// `at + self`: absolute fields replace, then relative ones move, then the weekday is sought.
    fn add(&self, at: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
        let naive = at.naive_utc();
        let given = |value: Option<i64>| value.filter(|value| *value != 0);
        let mut year = given(self.year).unwrap_or(naive.year().into()) + self.years;
        let mut month = given(self.month).unwrap_or(naive.month().into()) + self.months;
        if self.months != 0 {
            if month > 12 {
                (year, month) = (year + 1, month - 12);
            } else if month < 1 {
                (year, month) = (year - 1, month + 12);
            }
        }
        let out_of_range = || PyErr::value_error(format!("year {year} is out of range"));
        let year_number = i32::try_from(year).ok().filter(|year| (1..=9999).contains(year)).ok_or_else(out_of_range)?;
        let first = u32::try_from(month)
            .ok()
            .and_then(|month| NaiveDate::from_ymd_opt(year_number, month, 1))
            .ok_or_else(|| PyErr::new("IllegalMonthError", format!("bad month number {month}; must be 1-12")))?;
        let day = given(self.day).unwrap_or(naive.day().into()).min(first.num_days_in_month().into());
        let date = u32::try_from(day)
            .ok()
            .and_then(|day| first.with_day(day))
            .ok_or_else(|| PyErr::value_error("day is out of range for month"))?;
        let part = |value: Option<i64>, current: u32, text: &str| match value {
            None => Ok(current),
            Some(value) => u32::try_from(value).map_err(|_| PyErr::value_error(text.to_owned())),
        };
        let hour = part(self.hour, naive.hour(), "hour must be in 0..23")?;
        let minute = part(self.minute, naive.minute(), "minute must be in 0..59")?;
        let second = part(self.second, naive.second(), "second must be in 0..59")?;
        let micro = part(self.microsecond, naive.nanosecond() / 1000, "microsecond must be in 0..999999")?;
        let range = |ok: bool, text: &str| if ok { Ok(()) } else { Err(PyErr::value_error(text.to_owned())) };
        range(hour < 24, "hour must be in 0..23")?;
        range(minute < 60, "minute must be in 0..59")?;
        range(second < 60, "second must be in 0..59")?;
        let time = chrono::NaiveTime::from_hms_micro_opt(hour, minute, second, micro)
            .ok_or_else(|| PyErr::value_error("microsecond must be in 0..999999"))?;
        let mut days = self.days;
        if self.leapdays != 0 && month > 2 && first.leap_year() {
            days += self.leapdays;
        }
        let overflow = || PyErr::overflow("date value out of range");
        let micros = [
            days.checked_mul(DAY),
            self.hours.checked_mul(3_600_000_000),
            self.minutes.checked_mul(60_000_000),
            self.seconds.checked_mul(1_000_000),
            Some(self.microseconds),
        ]
        .into_iter()
        .try_fold(0_i64, |sum, part| sum.checked_add(part?))
        .ok_or_else(overflow)?;
        let moved = shifted(date.and_time(time).and_utc(), micros)?;
        let Some((weekday, n)) = self.weekday else { return Ok(moved) };
        let n = n.filter(|n| *n != 0).unwrap_or(1);
        let today = i64::from(moved.weekday().num_days_from_monday());
        let weeks = (n.abs() - 1) * 7;
        let jump = if n > 0 {
            weeks + (7 - today + weekday).rem_euclid(7)
        } else {
            -(weeks + (today - weekday).rem_euclid(7))
        };
        shifted(moved, jump.checked_mul(DAY).ok_or_else(overflow)?)
    }
}

fn carry(part: &mut i64, full: i64, next: &mut i64) {
    // Rust's division keeps the sign, as relativedelta does.
    *next = next.saturating_add(*part / full);
    *part %= full;
}

/// A whole number within what a calendar can use.
fn whole(name: &str, value: &Json) -> PyResult<i64> {
    let number = match value {
        Json::Bool(flag) => Some(i64::from(*flag)),
        Json::Number(number) => number.as_i64().or_else(|| {
            number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < 1e15).map(|value| value as i64)
        }),
        _ => None,
    };
    number
        .filter(|number| number.abs() < 1_000_000_000_000)
        .ok_or_else(|| PyErr::unsupported(format!("relativedelta({name}={})", pytext::repr(value))))
}

/// `[weekday]` or `[weekday, n]`.
fn weekday(value: &Json) -> PyResult<(i64, Option<i64>)> {
    let refuse = || PyErr::unsupported(format!("relativedelta(weekday={})", pytext::repr(value)));
    let items = value.as_array().ok_or_else(refuse)?;
    let number = |item: &Json| item.as_i64().ok_or_else(refuse);
    match items.as_slice() {
        [day] => Ok((number(day)?, None)),
        [_, n] if n.as_i64() == Some(0) => Err(PyErr::value_error("Can't create weekday with n==0")),
        [day, n] if n.is_null() => Ok((number(day)?, None)),
        [day, n] => Ok((number(day)?, Some(number(n)?))),
        _ => Err(refuse()),
    }
    .and_then(|(day, n)| if (0..7).contains(&day) { Ok((day, n)) } else { Err(refuse()) })
}
