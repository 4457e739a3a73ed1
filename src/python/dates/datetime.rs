//! `datetime.datetime` and pendulum's `DateTime`: the value itself and what both share.

use chrono::{DateTime as Instant, Datelike, Duration as Span, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};

use super::strftime::Fields;
use super::strptime::make_date;
use super::text::offset_text;
use super::tzinfo::TzInfo;
use crate::python::zone::Zone;
use crate::python::{CmpOp, HashKey, PyErr, PyResult, Value, object};

/// A date and time: `datetime.datetime`, or pendulum's `DateTime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateTime {
    /// Local date and time, to the microsecond
    pub naive: NaiveDateTime,
    /// `tzinfo`; `None` for naive values
    pub tz: Option<TzInfo>,
    /// Which of two readings of an ambiguous local time is meant
    pub fold: bool,
    /// True for pendulum's class
    pub pendulum: bool,
}

/// The first and last local times Python can hold.
pub(crate) fn min_naive() -> NaiveDateTime {
    NaiveDate::from_ymd_opt(1, 1, 1).unwrap_or_default().and_time(NaiveTime::MIN)
}

pub(crate) fn max_naive() -> NaiveDateTime {
    let last = NaiveTime::from_hms_micro_opt(23, 59, 59, 999_999).unwrap_or_default();
    NaiveDate::from_ymd_opt(9999, 12, 31).unwrap_or_default().and_time(last)
}

/// Microseconds since 1970 of a local time.
pub(crate) fn micros_of(naive: NaiveDateTime) -> i128 {
    i128::from(naive.and_utc().timestamp_micros())
}

/// The local time so many microseconds from 1970.
///
/// # Errors
/// `OverflowError` outside of the years 1 to 9999.
pub(crate) fn from_micros(micros: i128) -> PyResult<NaiveDateTime> {
    let out = || PyErr::overflow("date value out of range");
    let micros = i64::try_from(micros).map_err(|_| out())?;
    let naive = Instant::<Utc>::from_timestamp_micros(micros).ok_or_else(out)?.naive_utc();
    if naive < min_naive() || naive > max_naive() { Err(out()) } else { Ok(naive) }
}

/// Adds microseconds to a local time, as naive arithmetic does.
pub(crate) fn shift(naive: NaiveDateTime, micros: i128) -> PyResult<NaiveDateTime> {
    from_micros(micros_of(naive) + micros)
}

/// `datetime(year, month, day, hour, minute, second, microsecond)` with the C constructor's errors.
pub(crate) fn make_naive(parts: [i64; 7]) -> PyResult<NaiveDateTime> {
    let [year, month, day, ..] = parts;
    Ok(make_date(year, month, day)?.and_time(make_time(parts.get(3..).unwrap_or_default())?))
}

/// The time of `[hour, minute, second, microsecond]` with the C constructor's errors.
pub(crate) fn make_time(parts: &[i64]) -> PyResult<NaiveTime> {
    let limits = [("hour", 23), ("minute", 59), ("second", 59), ("microsecond", 999_999)];
    for ((name, max), value) in limits.iter().zip(parts) {
        if !(0..=*max).contains(value) {
            return Err(PyErr::value_error(format!("{name} must be in 0..{max}")));
        }
    }
    let part = |at: usize| parts.get(at).and_then(|value| u32::try_from(*value).ok()).unwrap_or_default();
    Ok(NaiveTime::from_hms_micro_opt(part(0), part(1), part(2), part(3)).unwrap_or_default())
}

/// The microsecond of a local time.
pub(crate) fn microsecond(time: &impl Timelike) -> u32 {
    time.nanosecond() % 1_000_000_000 / 1000
}

/// `YYYY-MM-DD`
pub(crate) fn date_text(date: NaiveDate) -> String {
    format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
}

/// The time part of `isoformat(timespec)`.
///
/// # Errors
/// `ValueError` for an unknown `timespec`.
pub(crate) fn time_text(time: NaiveTime, timespec: &str) -> PyResult<String> {
    let (h, m, s, us) = (time.hour(), time.minute(), time.second(), microsecond(&time));
    Ok(match timespec {
        "auto" if us != 0 => format!("{h:02}:{m:02}:{s:02}.{us:06}"),
        "auto" | "seconds" => format!("{h:02}:{m:02}:{s:02}"),
        "hours" => format!("{h:02}"),
        "minutes" => format!("{h:02}:{m:02}"),
        "milliseconds" => format!("{h:02}:{m:02}:{s:02}.{:03}", us / 1000),
        "microseconds" => format!("{h:02}:{m:02}:{s:02}.{us:06}"),
        _ => return Err(PyErr::value_error("Unknown timespec value")),
    })
}

impl DateTime {
    /// A plain `datetime.datetime` in UTC, as the metadata of a run has them.
    pub fn utc_plain(instant: Instant<Utc>) -> Self {
        DateTime { naive: to_micros(instant.naive_utc()), tz: Some(TzInfo::UTC), fold: false, pendulum: false }
    }

    /// A pendulum `DateTime` in UTC, as `partition_date` and `logical_date` are.
    pub fn utc_pendulum(instant: Instant<Utc>) -> Self {
        DateTime { naive: to_micros(instant.naive_utc()), tz: Some(TzInfo::PENDULUM_UTC), fold: false, pendulum: true }
    }

    /// A pendulum `DateTime` at an instant, in a zone.
    pub fn pendulum_in(instant: Instant<Utc>, zone: Zone) -> Self {
        let (naive, fold) = zone.local(instant);
        DateTime { naive: to_micros(naive), tz: Some(TzInfo::Pendulum(zone)), fold, pendulum: true }
    }

    /// A naive `datetime.datetime`.
    pub fn naive_plain(naive: NaiveDateTime) -> Self {
        DateTime { naive, tz: None, fold: false, pendulum: false }
    }

    /// The value for templates.
    pub fn into_value(self) -> Value {
        object(self)
    }

    /// `utcoffset()` in microseconds; `None` for naive values.
    pub fn offset(&self) -> Option<i64> {
        self.tz.as_ref().map(|tz| tz.offset(self.naive, self.fold))
    }

    /// The instant in microseconds since 1970; a naive value is read as UTC, the zone of the host.
    pub fn instant_micros(&self) -> i128 {
        micros_of(self.naive) - i128::from(self.offset().unwrap_or_default())
    }

    /// The instant.
    pub fn instant(&self) -> Option<Instant<Utc>> {
        Instant::<Utc>::from_timestamp_micros(i64::try_from(self.instant_micros()).ok()?)
    }

    /// pendulum's `timezone`: the zone, if it is one of pendulum's.
    pub(crate) fn timezone(&self) -> Option<Zone> {
        match &self.tz {
            Some(TzInfo::Pendulum(zone)) => Some(*zone),
            _ => None,
        }
    }

    pub(crate) fn date(&self) -> NaiveDate {
        self.naive.date()
    }

    /// `strftime`'s view of it.
    pub fn fields(&self) -> Fields {
        match &self.tz {
            None => Fields::naive(self.naive),
            Some(tz) => {
                let local = tz.local(self.naive, self.fold);
                Fields {
                    naive: self.naive,
                    offset: Some(local.offset),
                    tzname: local.name,
                    dst: local.dst.map(|dst| dst != 0),
                }
            }
        }
    }

    /// `isoformat(sep, timespec)`
    ///
    /// # Errors
    /// `ValueError` for an unknown `timespec`.
    pub fn isoformat(&self, separator: char, timespec: &str) -> PyResult<String> {
        let mut text = format!("{}{separator}{}", date_text(self.date()), time_text(self.naive.time(), timespec)?);
        if let Some(offset) = self.offset() {
            text.push_str(&offset_text(offset, ":"));
        }
        Ok(text)
    }

    /// `str(x)`
    pub fn text(&self) -> String {
        self.isoformat(' ', "auto").unwrap_or_default()
    }

    /// `repr(x)`
    pub(crate) fn repr_text(&self) -> String {
        let t = &self.naive;
        let (s, us) = (t.second(), microsecond(t));
        let mut parts = vec![
            t.year().to_string(),
            t.month().to_string(),
            t.day().to_string(),
            t.hour().to_string(),
            t.minute().to_string(),
        ];
        if self.pendulum || s != 0 || us != 0 {
            parts.push(s.to_string());
        }
        if us != 0 {
            parts.push(us.to_string());
        }
        if self.fold && !self.pendulum {
            parts.push("fold=1".into());
        }
        if let Some(tz) = &self.tz {
            parts.push(format!("tzinfo={}", tz.repr()));
        }
        let class = if self.pendulum { "DateTime" } else { "datetime.datetime" };
        format!("{class}({})", parts.join(", "))
    }

    /// `timestamp()`
    pub(crate) fn timestamp(&self) -> f64 {
        super::timedelta::seconds_of(self.instant_micros())
    }

    /// `x - delta` and `x + delta` of the C class: naive arithmetic, the zone kept, fold lost.
    pub(crate) fn plain_add(&self, micros: i128) -> PyResult<DateTime> {
        Ok(DateTime { naive: shift(self.naive, micros)?, fold: false, ..self.clone() })
    }

    /// `x - y` of the C class, in microseconds.
    pub(crate) fn plain_sub(&self, other: &DateTime) -> PyResult<i128> {
        let naive = micros_of(self.naive) - micros_of(other.naive);
        if self.tz == other.tz {
            return Ok(naive);
        }
        match (self.offset(), other.offset()) {
            (Some(a), Some(b)) => Ok(naive - i128::from(a) + i128::from(b)),
            _ => Err(PyErr::type_error("can't subtract offset-naive and offset-aware datetimes")),
        }
    }

    /// Comparison of two datetimes, as the C class does it.
    pub(crate) fn compare_with(&self, op: CmpOp, other: &DateTime) -> PyResult<bool> {
        if self.tz == other.tz {
            return Ok(crate::python::holds(op, self.naive.cmp(&other.naive)));
        }
        let ordering = match (self.offset(), other.offset()) {
            (Some(a), Some(b)) => {
                let ordering = (micros_of(self.naive) - i128::from(a)).cmp(&(micros_of(other.naive) - i128::from(b)));
                // two zones: a local time whose reading depends on the fold equals nothing
                if ordering.is_eq()
                    && matches!(op, CmpOp::Eq | CmpOp::Ne)
                    && (self.fold_matters() || other.fold_matters())
                {
                    return Ok(op == CmpOp::Ne);
                }
                ordering
            }
            _ => match op {
                CmpOp::Eq => return Ok(false),
                CmpOp::Ne => return Ok(true),
                _ => return Err(PyErr::type_error("can't compare offset-naive and offset-aware datetimes")),
            },
        };
        Ok(crate::python::holds(op, ordering))
    }

    fn fold_matters(&self) -> bool {
        self.tz.as_ref().is_some_and(|tz| tz.offset(self.naive, true) != tz.offset(self.naive, false))
    }

    /// What dicts file it under: an aware one by its instant.
    pub(crate) fn key(&self) -> HashKey {
        match &self.tz {
            None => HashKey::Parts("datetime", vec![int_key(micros_of(self.naive))]),
            Some(tz) => {
                let instant = micros_of(self.naive) - i128::from(tz.offset(self.naive, false));
                HashKey::Parts("datetime", vec![int_key(instant), HashKey::None])
            }
        }
    }

    /// `astimezone(tz)` of the C class; `None` is the zone of the host.
    pub(crate) fn astimezone(&self, tz: Option<&TzInfo>) -> PyResult<DateTime> {
        let host = TzInfo::Plain { micros: 0, name: Some("UTC".into()) };
        let own = self.tz.clone().unwrap_or_else(|| host.clone());
        if Some(&own) == tz {
            return Ok(DateTime { tz: Some(own), ..self.clone() });
        }
        let utc = shift(self.naive, -i128::from(own.offset(self.naive, self.fold)))?;
        let tz = tz.cloned().unwrap_or(host);
        let (naive, fold) = tz.local_of_utc(utc)?;
        if naive < min_naive() || naive > max_naive() {
            return Err(PyErr::overflow("date value out of range"));
        }
        Ok(DateTime { naive, tz: Some(tz), fold, pendulum: self.pendulum })
    }
}

fn to_micros(naive: NaiveDateTime) -> NaiveDateTime {
    let cut = i64::from(naive.nanosecond() % 1000);
    naive.checked_sub_signed(Span::nanoseconds(cut)).unwrap_or(naive)
}

fn int_key(value: i128) -> HashKey {
    i64::try_from(value).map_or_else(|_| HashKey::BigInt(value.into()), HashKey::Int)
}
