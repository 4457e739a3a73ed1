//! pendulum's `DateTime`: making one, adding to it, moving within its units.

use chrono::{Datelike, NaiveDateTime, Timelike};

use super::arith::Temp;
use super::datetime::{DateTime, make_naive, max_naive, micros_of, microsecond, min_naive, shift};
use super::number::N;
use super::pendulum_date::Step;
use super::timedelta::{DAY, TimeDelta};
use super::tzinfo::TzInfo;
use super::tzobject;
use crate::python::zone::Zone;
use crate::python::{BinOp, Interp, PyErr, PyResult, UnaryOp, Value, View, binary, text, type_name, view};

/// pendulum's `_safe_timezone(obj)`. The host's zone is UTC.
///
/// # Errors
/// `InvalidTimezone` for a name nobody knows, `AttributeError` for what is no zone at all.
pub(crate) fn safe_timezone(value: &Value, at: Option<(NaiveDateTime, bool)>) -> PyResult<Zone> {
    if let Some(tz) = tzobject::of(value) {
        return tz.to_pendulum(at);
    }
    if let Some(name) = text(value) {
        return if name == "local" { Ok(Zone::UTC) } else { Zone::parse(name) };
    }
    match N::of(value) {
        Some(N::I(hours)) => Zone::fixed(i64::try_from(hours.saturating_mul(3600)).unwrap_or(i64::MAX)),
        Some(N::F(hours)) if hours.is_finite() => Zone::fixed((hours * 60.0 * 60.0) as i64),
        Some(N::F(hours)) if hours.is_nan() => Err(PyErr::value_error("cannot convert float NaN to integer")),
        Some(N::F(_)) => Err(PyErr::overflow("cannot convert float infinity to integer")),
        None if matches!(view(value), View::None) => Ok(Zone::UTC),
        None => Err(PyErr::attribute_error(format!("'{}' object has no attribute 'lower'", type_name(value)))),
    }
}

/// `tz.convert(naive)`: a time in a gap moves, by its fold forwards or back; an ambiguous one keeps its fold.
pub(crate) fn localise(naive: NaiveDateTime, zone: Zone, fold: bool) -> PyResult<DateTime> {
    let tz = Some(TzInfo::Pendulum(zone));
    if let Zone::Fixed(_) = zone {
        return Ok(DateTime { naive, tz, fold: false, pendulum: true });
    }
    super::tzinfo::certain(zone, naive.year())?;
    let before = i64::from(zone.utcoffset(naive, false));
    let after = i64::from(zone.utcoffset(naive, true));
    if after > before {
        let gap = i128::from(after - before) * 1_000_000;
        return Ok(DateTime { naive: shift(naive, if fold { gap } else { -gap })?, tz, fold: false, pendulum: true });
    }
    Ok(DateTime { naive, tz, fold, pendulum: true })
}

/// `DateTime.create(..., tz, fold)`
pub(crate) fn create(naive: NaiveDateTime, zone: Option<Zone>, fold: bool) -> PyResult<DateTime> {
    match zone {
        None => Ok(DateTime { naive, tz: None, fold, pendulum: true }),
        Some(zone) => localise(naive, zone, fold),
    }
}

/// `DateTime.instance(dt, tz)`
pub(crate) fn instance(dt: &DateTime, tz: Option<Zone>) -> PyResult<DateTime> {
    let zone = match &dt.tz {
        Some(own) => Some(own.to_pendulum(Some((dt.naive, dt.fold)))?),
        None => tz,
    };
    create(dt.naive, zone, dt.fold)
}

/// Numbers of years, months, weeks, days, hours, minutes, seconds, microseconds, in this order.
pub(crate) type Amounts = [N; 8];

pub(crate) const UNITS: [&str; 8] = ["years", "months", "weeks", "days", "hours", "minutes", "seconds", "microseconds"];

/// The amounts given to `add` or, negated, to `subtract`; what is no number fails as Python's arithmetic on it does.
pub(crate) fn amounts(given: &[Option<&Value>], negate: bool, it: &mut dyn Interp) -> PyResult<Amounts> {
    let mut out = [N::I(0); 8];
    let mut strange = None;
    for (at, (slot, value)) in out.iter_mut().zip(given).enumerate() {
        let Some(value) = value else { continue };
        match N::of(value) {
            Some(number) => *slot = if negate { number.neg() } else { number },
            None if negate => {
                crate::python::unary(UnaryOp::Neg, value, it)?;
                return Err(PyErr::unsupported("subtracting something that is no number from a date"));
            }
            None => strange = strange.or(Some((at, (*value).clone()))),
        }
    }
    let Some((at, value)) = strange else { return Ok(out) };
    // the first statement of `add_duration` that touches it
    let zero = Value::from(0);
    let outcome = match at {
        2 => binary(BinOp::Mul, &value, &Value::from(7), it).and_then(|weeks| binary(BinOp::Add, &zero, &weeks, it)),
        3 => binary(BinOp::Add, &value, &zero, it),
        0 => binary(BinOp::Add, &zero, &value, it),
        _ => Err(PyErr::type_error(format!("bad operand type for abs(): '{}'", type_name(&value)))),
    };
    let error = outcome.err().unwrap_or_else(|| PyErr::unsupported("adding something that is no number to a date"));
    let in_place = matches!(at, 2 | 3) && error.message.starts_with("unsupported operand type(s) for +:");
    let message = if in_place { error.message.replacen("for +:", "for +=:", 1) } else { error.message.clone() };
    Err(PyErr { message, ..error })
}

/// pendulum's `add_duration` on a naive time.
pub(crate) fn add_duration(naive: NaiveDateTime, amounts: &Amounts) -> PyResult<NaiveDateTime> {
    let [mut years, mut months, weeks, mut days, mut hours, mut minutes, mut seconds, mut micros] = *amounts;
    days = days.add(weeks.mul(7));
    carry(&mut micros, &mut seconds, 999_999, 1_000_000)?;
    carry(&mut seconds, &mut minutes, 59, 60)?;
    carry(&mut minutes, &mut hours, 59, 60)?;
    carry(&mut hours, &mut days, 23, 24)?;
    carry(&mut months, &mut years, 11, 12)?;
    let mut year = match years {
        N::I(years) => years + i128::from(naive.year()),
        N::F(_) => return Err(PyErr::type_error("'float' object cannot be interpreted as an integer")),
    };
    let mut month = i128::from(naive.month());
    if !months.is_zero() {
        let N::I(months) = months else {
            return Err(PyErr::type_error("tuple indices must be integers or slices, not float"));
        };
        month += months;
        if month > 12 {
            year += 1;
            month -= 12;
        } else if month < 1 {
            year -= 1;
            month += 12;
        }
    }
    let narrow = i32::try_from(year).map_err(|_| {
        let whole = i64::try_from(year).is_ok();
        PyErr::overflow(if whole {
            "number too large to fit in target type"
        } else {
            "Python int too large to convert to C long"
        })
    })?;
    let day = i64::from(naive.day()).min(i64::from(last_day(i64::from(narrow), month as i64)));
    let t = &naive;
    let replaced = make_naive([
        i64::from(narrow),
        month as i64,
        day,
        t.hour().into(),
        t.minute().into(),
        t.second().into(),
        microsecond(t).into(),
    ])?;
    let delta = TimeDelta::of_parts(&[
        ("microseconds", micros, 1),
        ("seconds", seconds, 1_000_000),
        ("minutes", minutes, 60_000_000),
        ("hours", hours, 3_600_000_000),
        ("days", days, DAY),
    ])?;
    shift(replaced, delta.micros())
}

fn carry(small: &mut N, big: &mut N, limit: i128, base: i128) -> PyResult<()> {
    if let N::F(float) = small
        && !float.is_finite()
    {
        return Err(if float.is_nan() {
            PyErr::value_error("cannot convert float NaN to integer")
        } else {
            PyErr::unsupported("adding infinity to a date")
        });
    }
    if small.beyond(limit) {
        let (div, rest) = small.carry(base);
        *small = rest;
        *big = big.add(div);
    }
    Ok(())
}

/// The last day of a month.
pub(crate) fn last_day(year: i64, month: i64) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

impl DateTime {
    /// `add(...)`: days and more move on the calendar, hours and less on the time line.
    pub(crate) fn add(&self, amounts: &Amounts) -> PyResult<DateTime> {
        let variable = amounts.iter().take(4).any(|n| !n.is_zero());
        let mut current = self.naive;
        if !variable && let Some(offset) = self.offset() {
            current = shift(current, -i128::from(offset))?;
        }
        let moved = add_duration(current, amounts)?;
        let zone = self.timezone();
        match zone {
            Some(zone) if !variable => {
                let tz = TzInfo::Pendulum(zone);
                let (naive, fold) = tz.local_of_utc(moved)?;
                if naive < min_naive() || naive > max_naive() {
                    return Err(out_of_range());
                }
                Ok(DateTime { naive, tz: Some(tz), fold, pendulum: true })
            }
            _ => create(moved, zone, true),
        }
    }

    /// `add(days=n)`
    pub(crate) fn add_days(&self, days: i64) -> PyResult<DateTime> {
        self.add(&Step::days(days))
    }

    /// `set(...)` of fields that are valid numbers.
    pub(crate) fn set_naive(&self, naive: NaiveDateTime) -> PyResult<DateTime> {
        create(naive, self.timezone(), self.fold)
    }

    /// `set(year, month, day, hour, minute, second, microsecond)`, `None` keeps.
    pub(crate) fn set(&self, parts: [Option<i64>; 7]) -> PyResult<DateTime> {
        self.set_naive(make_naive(replace_parts(self.naive, parts))?)
    }

    /// `at(hour, minute, second, microsecond)`
    pub(crate) fn at(&self, hour: i64, minute: i64, second: i64, micros: i64) -> PyResult<DateTime> {
        self.set([None, None, None, Some(hour), Some(minute), Some(second), Some(micros)])
    }

    pub(crate) fn start_of_day(&self) -> PyResult<DateTime> {
        self.at(0, 0, 0, 0)
    }

    /// `on(year, month, day)`
    pub(crate) fn on(&self, year: i64, month: i64, day: i64) -> PyResult<DateTime> {
        self.set([Some(year), Some(month), Some(day), None, None, None, None])
    }

    /// `start_of(unit)`; `None` for a unit it does not know.
    pub(crate) fn start_of(&self, unit: &str) -> Option<PyResult<DateTime>> {
        let (year, month) = (i64::from(self.naive.year()), i64::from(self.naive.month()));
        let first =
            |year: i64, month: i64| self.set([Some(year), Some(month), Some(1), Some(0), Some(0), Some(0), Some(0)]);
        Some(match unit {
            "second" => self.set([None, None, None, None, None, None, Some(0)]),
            "minute" => self.set([None, None, None, None, None, Some(0), Some(0)]),
            "hour" => self.set([None, None, None, None, Some(0), Some(0), Some(0)]),
            "day" => self.start_of_day(),
            "week" => {
                let monday = if self.weekday() == 0 { Ok(self.clone()) } else { self.step_to(Some(0), false, -1) };
                monday.and_then(|dt| dt.start_of_day())
            }
            "month" => first(year, month),
            "year" => first(year, 1),
            "decade" => first(year - year % 10, 1),
            "century" => first(year - 1 - (year - 1) % 100 + 1, 1),
            _ => return None,
        })
    }

    /// `end_of(unit)`; `None` for a unit it does not know.
    pub(crate) fn end_of(&self, unit: &str) -> Option<PyResult<DateTime>> {
        let (year, month) = (i64::from(self.naive.year()), i64::from(self.naive.month()));
        let us = Some(999_999);
        let last = |year: i64, month: i64| {
            let day = i64::from(last_day(year, month));
            self.set([Some(year), Some(month), Some(day), Some(23), Some(59), Some(59), us])
        };
        Some(match unit {
            "second" => self.set([None, None, None, None, None, None, us]),
            "minute" => self.set([None, None, None, None, None, Some(59), us]),
            "hour" => self.set([None, None, None, None, Some(59), Some(59), us]),
            "day" => self.at(23, 59, 59, 999_999),
            "week" => {
                let sunday = if self.weekday() == 6 { Ok(self.clone()) } else { self.step_to(Some(6), false, 1) };
                sunday.and_then(|dt| dt.at(23, 59, 59, 999_999))
            }
            "month" => last(year, month),
            "year" => last(year, 12),
            "decade" => last(year - year % 10 + 9, 12),
            "century" => last(year - 1 - (year - 1) % 100 + 100, 12),
            _ => return None,
        })
    }

    pub(crate) fn weekday(&self) -> i64 {
        i64::from(self.naive.weekday().num_days_from_monday())
    }

    /// `next(day)` and `previous(day)`: day by day until the weekday is reached.
    pub(crate) fn step_to(&self, day: Option<i64>, keep_time: bool, step: i64) -> PyResult<DateTime> {
        let day = day.unwrap_or_else(|| self.weekday());
        if !(0..=6).contains(&day) {
            return Err(PyErr::value_error("Invalid day of week"));
        }
        let mut dt = if keep_time { self.clone() } else { self.start_of_day()? };
        dt = dt.add_days(step)?;
        while dt.weekday() != day {
            dt = dt.add_days(step)?;
        }
        Ok(dt)
    }

    /// `in_timezone(tz)`
    pub(crate) fn in_timezone(&self, zone: Zone) -> PyResult<DateTime> {
        match (&self.tz, self.timezone()) {
            (None, _) => {
                // placed with fold 1; a time in a gap moves forward
                let placed = localise(self.naive, zone, true)?;
                create(placed.naive, Some(zone), true)
            }
            (Some(tz), None) => {
                let own = tz.to_pendulum(None)?;
                localise(self.naive, own, true)?.astimezone(Some(&TzInfo::Pendulum(zone)))
            }
            (Some(_), Some(_)) => self.astimezone(Some(&TzInfo::Pendulum(zone))),
        }
    }

    /// `int_timestamp`
    pub(crate) fn int_timestamp(&self) -> PyResult<i64> {
        if self.tz.is_none() {
            return Err(PyErr::type_error("can't subtract offset-naive and offset-aware datetimes"));
        }
        Ok(self.instant_micros().div_euclid(1_000_000) as i64)
    }
}

/// Year to microsecond of a time, some of them replaced.
pub(crate) fn replace_parts(naive: NaiveDateTime, parts: [Option<i64>; 7]) -> [i64; 7] {
    let own = [
        i64::from(naive.year()),
        naive.month().into(),
        naive.day().into(),
        naive.hour().into(),
        naive.minute().into(),
        naive.second().into(),
        microsecond(&naive).into(),
    ];
    let mut out = own;
    for (slot, part) in out.iter_mut().zip(parts) {
        if let Some(part) = part {
            *slot = part;
        }
    }
    out
}

fn out_of_range() -> PyErr {
    PyErr::overflow("date value out of range")
}

/// `x + delta`: an Interval adds its calendar parts, a Duration its constructor's arguments, a timedelta its seconds.
pub(crate) fn add_delta(x: &DateTime, delta: Temp<'_>) -> PyResult<DateTime> {
    let int = |n: i64| N::I(i128::from(n));
    match delta {
        Temp::Interval(iv) => {
            let units = iv.units();
            x.add(&[
                int(units.years),
                int(units.months),
                int(units.weeks),
                int(units.days),
                int(units.hours),
                int(units.minutes),
                int(units.seconds),
                int(units.microseconds),
            ])
        }
        Temp::Duration(d) if d.absolute => {
            Err(PyErr::attribute_error("'AbsoluteDuration' object has no attribute '_signature'"))
        }
        Temp::Duration(d) => {
            let [weeks, days, hours, minutes, seconds, micros] = d.signature;
            x.add(&[int(d.years), int(d.months), weeks, days, hours, minutes, seconds, micros])
        }
        Temp::Delta(td) => x.add(&Step::seconds(td.total_seconds())),
        _ => Err(PyErr::unsupported("adding this to a date")),
    }
}

/// `x - delta`: of Durations and Intervals the years and months and then all their seconds.
pub(crate) fn subtract_delta(x: &DateTime, delta: Temp<'_>) -> PyResult<DateTime> {
    let (years, months, seconds) = match delta {
        Temp::Interval(iv) => (iv.diff.years, iv.diff.months, iv.duration.total),
        Temp::Duration(d) => (d.years, d.months, d.total),
        Temp::Delta(td) => (0, 0, td.total_seconds()),
        _ => return Err(PyErr::unsupported("subtracting this from a date")),
    };
    let mut amounts = Step::seconds(-seconds);
    let [slot_years, slot_months, ..] = &mut amounts;
    *slot_years = N::I(i128::from(-years));
    *slot_months = N::I(i128::from(-months));
    x.add(&amounts)
}

/// `average(dt)`
pub(crate) fn average(x: &DateTime, other: &DateTime) -> PyResult<DateTime> {
    let interval = super::interval::Interval::new(
        &super::interval::Moment::DateTime(x.clone()),
        &super::interval::Moment::DateTime(other.clone()),
        false,
    )?;
    let seconds = interval.total_seconds().trunc() as i128;
    let micros = seconds * 1_000_000 + i128::from(interval.duration.microseconds);
    let mut amounts = [N::I(0); 8];
    let [.., last] = &mut amounts;
    *last = N::I(num_integer::Integer::div_floor(&micros, &2));
    x.add(&amounts)
}

/// The microseconds between two local times, for `closest` and `farthest`.
pub(crate) fn distance(a: &DateTime, b: &DateTime) -> i128 {
    let naive = |dt: &DateTime| micros_of(dt.naive) - i128::from(dt.offset().unwrap_or_default());
    (naive(a) - naive(b)).abs()
}
