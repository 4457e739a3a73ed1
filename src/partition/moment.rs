//! A Python `datetime` as mappers meet it: naive, in a zone of pendulum's, or with the offset that `%z` read.

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, Timelike, Utc};

use crate::python::{self, PyErr, PyResult, TzInfo, Value, Zone, downcast};

/// What an aware [`Moment`] is aware of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offset {
    /// A zone of pendulum's.
    Zone(Zone),
    /// `datetime.timezone(offset, name)`, in microseconds east of UTC.
    Fixed(i64, Option<String>),
}

/// A `datetime`: wall-clock time, what it is aware of, and PEP 495's `fold`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The wall-clock time.
    pub naive: NaiveDateTime,
    /// `tzinfo`; `None` for a naive value.
    pub offset: Option<Offset>,
    /// True for the second of two equal wall-clock times.
    pub fold: bool,
}

impl Moment {
    /// A naive value.
    pub fn naive(naive: NaiveDateTime) -> Self {
        Moment { naive, offset: None, fold: false }
    }

    /// An instant in UTC.
    pub fn utc(instant: DateTime<Utc>) -> Self {
        Moment { naive: instant.naive_utc(), offset: Some(Offset::Zone(Zone::UTC)), fold: false }
    }

    /// The moment a Python `datetime` is; `None` for other values.
    pub fn from_value(value: &Value) -> Option<Self> {
        let date = downcast::<python::DateTime>(value)?;
        let offset = match &date.tz {
            None => None,
            Some(TzInfo::Plain { micros, name }) => Some(Offset::Fixed(*micros, name.as_deref().map(str::to_owned))),
            Some(TzInfo::Pendulum(zone)) => Some(Offset::Zone(*zone)),
            Some(other) => Some(Offset::Fixed(other.offset(date.naive, date.fold), None)),
        };
        Some(Moment { naive: date.naive, offset, fold: date.fold })
    }

    /// The moment as a plain Python `datetime`, as mappers handle it.
    pub fn to_value(&self) -> Value {
        let tz = match &self.offset {
            None => None,
            Some(Offset::Zone(zone)) => Some(TzInfo::Pendulum(*zone)),
            Some(Offset::Fixed(micros, name)) => {
                Some(TzInfo::Plain { micros: *micros, name: name.as_deref().map(Into::into) })
            }
        };
        python::DateTime { naive: self.naive, tz, fold: self.fold, pendulum: false }.into_value()
    }

    /// `datetime(year, month, day)`, with Python's errors.
    pub fn date(year: i64, month: u32, day: u32) -> PyResult<Self> {
        if !(1..=9999).contains(&year) {
            return Err(PyErr::value_error(format!("year {year} is out of range")));
        }
        if !(1..=12).contains(&month) {
            return Err(PyErr::value_error("month must be in 1..12"));
        }
        let year = i32::try_from(year).unwrap_or_default();
        let date = NaiveDate::from_ymd_opt(year, month, day)
            .ok_or_else(|| PyErr::value_error("day is out of range for month"))?;
        Ok(Moment::naive(date.and_time(chrono::NaiveTime::MIN)))
    }

    /// A naive wall-clock time read in a zone (Airflow's `make_aware`): the second of two readings, forward out of a gap.
    pub fn make_aware(naive: NaiveDateTime, zone: Zone) -> PyResult<Self> {
        let (wall, _) = zone.make_aware(naive);
        // pendulum's FixedTimezone drops the fold, its Timezone keeps it unless the time had to move.
        let fold = matches!(zone, Zone::Named(_)) && wall == naive;
        Moment { naive: wall, offset: Some(Offset::Zone(zone)), fold }.in_range()
    }

    /// `self.astimezone(zone)` of an aware value.
    pub fn in_zone(&self, zone: Zone) -> PyResult<Self> {
        let utc = Moment { naive: self.utc_naive(), offset: None, fold: false }.in_range()?;
        let (naive, fold) = zone.local(utc.naive.and_utc());
        Moment { naive, offset: Some(Offset::Zone(zone)), fold }.in_range()
    }

    fn in_range(self) -> PyResult<Self> {
        if (1..=9999).contains(&self.naive.year()) { Ok(self) } else { Err(out_of_range()) }
    }

    /// `self.utcoffset()` in microseconds, `None` for a naive value.
    pub fn utcoffset(&self) -> Option<i64> {
        self.utcoffset_with(self.fold)
    }

    fn utcoffset_with(&self, fold: bool) -> Option<i64> {
        match self.offset.as_ref()? {
            Offset::Zone(zone) => Some(i64::from(zone.utcoffset(self.naive, fold)) * 1_000_000),
            Offset::Fixed(micros, _) => Some(*micros),
        }
    }

    fn utc_naive(&self) -> NaiveDateTime {
        self.naive - Duration::microseconds(self.utcoffset().unwrap_or(0))
    }

    /// The instant of an aware value; a naive one is taken for UTC.
    pub fn instant(&self) -> DateTime<Utc> {
        self.utc_naive().and_utc()
    }

    /// `self + timedelta`: wall-clock arithmetic, and the result is never a second time.
    pub fn plus(&self, delta: Duration) -> PyResult<Self> {
        let naive = self.naive.checked_add_signed(delta).ok_or_else(out_of_range)?;
        Moment { naive, offset: self.offset.clone(), fold: false }.in_range()
    }

    /// The value moved by months, for a value on day 1.
    pub fn plus_months(&self, months: i32) -> PyResult<Self> {
        let total = self.naive.month0() as i32 + months;
        let year = self.naive.year() + total.div_euclid(12);
        let month = total.rem_euclid(12) as u32 + 1;
        if !(1..=9999).contains(&year) {
            return Err(PyErr::value_error(format!("year {year} is out of range")));
        }
        let date = NaiveDate::from_ymd_opt(year, month, self.naive.day())
            .ok_or_else(|| PyErr::value_error("day is out of range for month"))?;
        Ok(Moment { naive: date.and_time(self.naive.time()), offset: self.offset.clone(), fold: self.fold })
    }

    /// `self.replace(...)` of the wall-clock time; zone and fold stay.
    #[must_use]
    pub fn with_naive(&self, naive: NaiveDateTime) -> Self {
        Moment { naive, offset: self.offset.clone(), fold: self.fold }
    }

    /// `self.isoformat()`
    pub fn isoformat(&self) -> String {
        let micros = self.naive.nanosecond() / 1000;
        let mut text = format!(
            "{:04}-{:02}-{:02}T{}",
            self.naive.year(),
            self.naive.month(),
            self.naive.day(),
            self.naive.format("%H:%M:%S")
        );
        if micros != 0 {
            text.push_str(&format!(".{micros:06}"));
        }
        if let Some(offset) = self.utcoffset() {
            let sign = if offset < 0 { '-' } else { '+' };
            let (seconds, rest) = (offset.abs() / 1_000_000, offset.abs() % 1_000_000);
            text.push_str(&format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60));
            if seconds % 60 != 0 || rest != 0 {
                text.push_str(&format!(":{:02}", seconds % 60));
            }
            if rest != 0 {
                text.push_str(&format!(".{rest:06}"));
            }
        }
        text
    }

    /// `self == other` for aware values as an element of a set: in one zone the wall clocks are compared; across zones a
    /// time whose offset depends on the fold equals nothing.
    pub fn equals(&self, other: &Self) -> bool {
        if self.offset == other.offset {
            return self.naive == other.naive;
        }
        let settled = |moment: &Moment| moment.utcoffset_with(false) == moment.utcoffset_with(true);
        settled(self) && settled(other) && self.instant() == other.instant()
    }
}

fn out_of_range() -> PyErr {
    PyErr::overflow("date value out of range")
}
