//! pendulum's `Interval`: what lies between two dates or times.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

use super::date::Date;
use super::datetime::{DateTime, microsecond};
use super::duration::{self, Duration};
use super::humans::Units;
use super::timedelta::{delta, seconds_of};
use super::tzinfo::TzInfo;
use super::{arith, pendulum};
use crate::python::zone::Zone;
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyIter, PyIterator, PyObject, PyResult, Sig, UnaryOp, Value, compare,
    downcast, generator, object,
};

/// One end of an interval.
#[derive(Debug, Clone)]
pub(crate) enum Moment {
    DateTime(DateTime),
    Date(NaiveDate),
}

impl Moment {
    /// A date or datetime, of either library.
    pub(crate) fn of(value: &Value) -> Option<Moment> {
        if let Some(dt) = downcast::<DateTime>(value) {
            return Some(Moment::DateTime(dt.clone()));
        }
        downcast::<Date>(value).map(|date| Moment::Date(date.date))
    }

    fn value(&self) -> Value {
        match self {
            Moment::DateTime(dt) => object(dt.clone()),
            Moment::Date(date) => object(Date { date: *date, pendulum: true }),
        }
    }

    fn text(&self) -> String {
        match self {
            Moment::DateTime(dt) => dt.text(),
            Moment::Date(date) => super::datetime::date_text(*date),
        }
    }

    fn after(&self, other: &Moment) -> PyResult<bool> {
        match (self, other) {
            (Moment::DateTime(a), Moment::DateTime(b)) => a.compare_with(CmpOp::Gt, b),
            (Moment::Date(a), Moment::Date(b)) => Ok(a > b),
            _ => Ok(false),
        }
    }

    fn instant_micros(&self) -> i128 {
        match self {
            Moment::DateTime(dt) => dt.instant_micros(),
            Moment::Date(date) => super::datetime::micros_of(date.and_time(chrono::NaiveTime::MIN)),
        }
    }

    /// What `precise_diff` reads. `converted` says that the end was made of a plain datetime on the way in.
    fn info(&self, converted: bool) -> Info {
        match self {
            Moment::Date(date) => {
                Info { naive: date.and_time(chrono::NaiveTime::MIN), tz: None, offset: 0, time: None }
            }
            Moment::DateTime(dt) => {
                // the fold is lost when pendulum rebuilds its own class for the comparison
                let fold = converted && dt.fold;
                let offset = dt.tz.as_ref().map_or(0, |tz| tz.offset(dt.naive, fold) / 1_000_000);
                let tz = match &dt.tz {
                    Some(TzInfo::Pendulum(zone @ (Zone::Named(_) | Zone::Fixed(_)))) => Some(zone.name()),
                    Some(TzInfo::DateutilFile(tz)) => Some(tz.name().to_owned()),
                    _ => None,
                };
                Info { naive: dt.naive, tz, offset, time: Some(converted) }
            }
        }
    }
}

struct Info {
    naive: NaiveDateTime,
    tz: Option<String>,
    offset: i64,
    /// `None` for a date; whether a datetime is of pendulum's class
    time: Option<bool>,
}

/// Years, months, days, hours, minutes, seconds, microseconds between two moments, and all days.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PreciseDiff {
    pub years: i64,
    pub months: i64,
    pub days: i64,
    pub hours: i64,
    pub minutes: i64,
    pub total_days: i64,
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct Clock {
    year: i64,
    month: i64,
    day: i64,
    total: i64,
    us: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

fn carry(small: &mut i64, big: &mut i64, base: i64) {
    if *small < 0 {
        *small += base;
        *big -= 1;
    } else if *small > base {
        *small -= base;
        *big += 1;
    }
}

/// The clock times that pendulum's compiled `precise_diff` compares: in UTC unless both ends share a zone. It overlooks
/// the time of a second end that is of pendulum's own class.
fn clock(info: &Info, in_utc: bool, with_time: bool) -> Clock {
    let t = &info.naive;
    let mut c =
        Clock { year: i64::from(t.year()), month: i64::from(t.month()), day: i64::from(t.day()), ..Clock::default() };
    if !with_time {
        return c;
    }
    c.hour = i64::from(t.hour());
    c.minute = i64::from(t.minute());
    c.second = i64::from(t.second());
    c.us = i64::from(microsecond(t));
    if in_utc {
        c.hour -= info.offset / 3600;
        c.minute -= info.offset % 3600 / 60;
        c.second -= info.offset % 60;
        carry(&mut c.second, &mut c.minute, 60);
        carry(&mut c.minute, &mut c.hour, 60);
        carry(&mut c.hour, &mut c.day, 24);
    }
    c.total = c.hour * 3600 + c.minute * 60 + c.second;
    c
}

fn precise_diff(first: &Info, second: &Info) -> PreciseDiff {
    let same_zone = first.tz == second.tz && first.tz.is_some();
    let ordinal = |info: &Info| i64::from(info.naive.date().num_days_from_ce());
    let mut total_days = ordinal(second) - ordinal(first);
    let in_utc = |info: &Info| !same_zone && info.offset != 0 || total_days == 0;
    let mut a = clock(first, in_utc(first), first.time.is_some());
    let mut b = clock(second, in_utc(second), second.time == Some(false));
    let mut sign = 1;
    if a > b {
        sign = -1;
        std::mem::swap(&mut a, &mut b);
        total_days = -total_days;
    }
    let mut year = b.year - a.year;
    let mut month = b.month - a.month;
    let mut day = b.day - a.day;
    let mut hour = b.hour - a.hour;
    let mut minute = b.minute - a.minute;
    let mut second = b.second - a.second;
    if b.us < a.us {
        second -= 1;
    }
    if second < 0 {
        minute -= 1;
    }
    if minute < 0 {
        minute += 60;
        hour -= 1;
    }
    if hour < 0 {
        hour += 24;
        day -= 1;
    }
    if day < 0 {
        let (last_year, last_month) = if b.month == 1 { (b.year - 1, 12) } else { (b.year, b.month - 1) };
        let last = days_in_month(last_year, last_month);
        let spare = days_in_month(b.year, b.month) - last;
        match day.cmp(&spare) {
            std::cmp::Ordering::Less => day += last.max(a.day),
            std::cmp::Ordering::Equal => {
                day = 0;
                month += 1;
            }
            std::cmp::Ordering::Greater => day += last,
        }
        month -= 1;
    }
    if month < 0 {
        month += 12;
        year -= 1;
    }
    PreciseDiff {
        years: sign * year,
        months: sign * month,
        days: sign * day,
        hours: sign * hour,
        minutes: sign * minute,
        total_days: sign * total_days,
    }
}

/// A pendulum `Interval`.
#[derive(Debug, Clone)]
pub struct Interval {
    pub(crate) start: Moment,
    pub(crate) end: Moment,
    pub(crate) absolute: bool,
    invert: bool,
    pub(crate) diff: PreciseDiff,
    /// The Duration it is as well
    pub duration: Duration,
}

impl Interval {
    /// `Interval(start, end, absolute)`
    ///
    /// # Errors
    /// `ValueError` for a date and a datetime, `TypeError` for a naive and an aware one.
    pub(crate) fn new(start: &Moment, end: &Moment, absolute: bool) -> PyResult<Self> {
        match (start, end) {
            (Moment::DateTime(a), Moment::DateTime(b)) => {
                if a.tz.is_some() != b.tz.is_some() {
                    return Err(PyErr::type_error("can't compare offset-naive and offset-aware datetimes"));
                }
            }
            (Moment::Date(_), Moment::Date(_)) => {}
            _ => return Err(PyErr::value_error("Both start and end of an Interval must have the same type")),
        }
        let mut micros = end.instant_micros() - start.instant_micros();
        if absolute && start.after(end)? {
            micros = -micros;
        }
        let duration = Duration::of_seconds(seconds_of(micros))?;
        let converted = |moment: &Moment| matches!(moment, Moment::DateTime(dt) if !dt.pendulum);
        let pendulum_of = |moment: &Moment| -> PyResult<Moment> {
            Ok(match moment {
                Moment::DateTime(dt) if !dt.pendulum => Moment::DateTime(pendulum::instance(dt, Some(Zone::UTC))?),
                other => other.clone(),
            })
        };
        let mut from = (pendulum_of(start)?, converted(start));
        let mut to = (pendulum_of(end)?, converted(end));
        let invert = from.0.after(&to.0)?;
        if invert && absolute {
            std::mem::swap(&mut from, &mut to);
        }
        let diff = precise_diff(&from.0.info(from.1), &to.0.info(to.1));
        Ok(Interval { start: from.0, end: to.0, absolute, invert, diff, duration })
    }

    fn sign_of(value: i64) -> i64 {
        if value < 0 { -1 } else { 1 }
    }

    fn weeks(&self) -> i64 {
        self.diff.days.abs() / 7 * Self::sign_of(self.diff.days)
    }

    pub(crate) fn remaining_days(&self) -> i64 {
        self.diff.days.abs() % 7 * Self::sign_of(self.duration.days)
    }

    pub(crate) fn units(&self) -> Units {
        Units {
            years: self.diff.years,
            months: self.diff.months,
            weeks: self.weeks(),
            days: self.remaining_days(),
            hours: self.diff.hours,
            minutes: self.diff.minutes,
            seconds: self.duration.remaining_seconds(),
            microseconds: self.duration.microseconds,
            invert: self.invert,
            of_interval: true,
        }
    }

    /// `total_seconds()`
    pub(crate) fn total_seconds(&self) -> f64 {
        self.duration.total_seconds()
    }

    /// `as_duration()`
    pub(crate) fn as_duration(&self) -> PyResult<Duration> {
        Duration::of_seconds(self.total_seconds())
    }

    fn same(&self, other: &Interval) -> PyResult<bool> {
        let equal = |a: &Moment, b: &Moment| match (a, b) {
            (Moment::DateTime(a), Moment::DateTime(b)) => a.compare_with(CmpOp::Eq, b),
            (Moment::Date(a), Moment::Date(b)) => Ok(a == b),
            _ => Ok(false),
        };
        Ok(self.absolute == other.absolute && equal(&self.start, &other.start)? && equal(&self.end, &other.end)?)
    }

    fn range(&self, unit: Value, amount: Value) -> PyIter {
        Box::new(RangeIter {
            state: Some(RangeState {
                start: self.start.value(),
                end: self.end.value(),
                current: self.start.value(),
                unit,
                step: amount.clone(),
                amount,
                down: !self.absolute && self.invert,
            }),
        })
    }
}

impl PyObject for Interval {
    fn type_name(&self) -> &str {
        "Interval"
    }

    fn qualified_name(&self) -> String {
        "pendulum.interval.Interval".into()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<Interval [{} -> {}]>", self.start.text(), self.end.text()))
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.duration.base != 0)
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        Some(Ok(match name {
            "start" | "_start" => self.start.value(),
            "end" | "_end" => self.end.value(),
            "years" => Value::from(self.diff.years),
            "months" => Value::from(self.diff.months),
            "weeks" => Value::from(self.weeks()),
            "days" => Value::from(self.duration.days),
            "remaining_days" => Value::from(self.remaining_days()),
            "hours" => Value::from(self.diff.hours),
            "minutes" => Value::from(self.diff.minutes),
            "invert" | "_invert" => Value::from(self.invert),
            "_absolute" => Value::from(self.absolute),
            _ => return self.duration.getattr(name, it),
        }))
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "in_years" | "in_months" | "range" | "as_duration") || duration::METHODS.contains(&name)
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let qualified = format!("Interval.{name}");
        let nothing = || Sig::new(&qualified, &[]).method().bind(args).map(drop);
        match name {
            "in_years" => nothing().map(|()| Value::from(self.diff.years)),
            "in_months" => nothing().map(|()| Value::from(self.diff.years * 12 + self.diff.months)),
            "in_weeks" => {
                nothing()?;
                let days = self.diff.total_days;
                Ok(Value::from(Self::sign_of(days) * (days.abs() / 7)))
            }
            "in_days" => nothing().map(|()| Value::from(self.diff.total_days)),
            "as_duration" => {
                nothing()?;
                self.as_duration().map(object)
            }
            "range" => {
                let bound = Sig::new(&qualified, &["unit", "amount"]).required(1).method().bind(args)?;
                let unit = bound.first().copied().flatten().cloned().unwrap_or_default();
                let amount = bound.get(1).copied().flatten().cloned().unwrap_or_else(|| Value::from(1));
                Ok(generator(self.range(unit, amount)))
            }
            _ => duration::method(&self.units(), &self.duration, name, args, it),
        }
    }

    fn iter(&self, _this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(Ok(self.range(Value::from("days"), Value::from(1))))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(match compare(CmpOp::Le, &self.start.value(), item, it) {
            Ok(true) => compare(CmpOp::Le, item, &self.end.value(), it),
            other => other,
        })
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if let (CmpOp::Eq | CmpOp::Ne, Some(other)) = (op, downcast::<Interval>(other)) {
            return Some(self.same(other).map(|same| same == (op == CmpOp::Eq)));
        }
        arith::compare_delta(self.duration.base, op, other, it)
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        arith::binary(arith::Temp::Interval(self), op, other, reflected, it)
    }

    fn unary(&self, op: UnaryOp, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(match op {
            UnaryOp::Neg => Interval::new(&self.end, &self.start, self.absolute).map(object),
            UnaryOp::Pos => delta(self.duration.base),
        })
    }

    fn abs(&self) -> Option<PyResult> {
        Some(Interval::new(&self.start, &self.end, true).map(object))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        let key = |moment: &Moment| match moment {
            Moment::DateTime(dt) => dt.key(),
            Moment::Date(date) => super::date::key(*date),
        };
        Ok(HashKey::Parts("interval", vec![key(&self.start), key(&self.end), HashKey::Int(i64::from(self.absolute))]))
    }
}

#[derive(Debug)]
struct RangeState {
    start: Value,
    end: Value,
    current: Value,
    unit: Value,
    step: Value,
    amount: Value,
    down: bool,
}

struct RangeIter {
    state: Option<RangeState>,
}

impl PyIterator for RangeIter {
    fn next(&mut self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let Some(state) = &mut self.state else { return Ok(None) };
        it.charge(4)?;
        let op = if state.down { CmpOp::Ge } else { CmpOp::Le };
        if !compare(op, &state.current, &state.end, it)? {
            self.state = None;
            return Ok(None);
        }
        let out = state.current.clone();
        let unit = crate::python::text(&state.unit).ok_or_else(|| PyErr::type_error("keywords must be strings"))?;
        let kw = [(unit.into(), state.step.clone())];
        let method = if state.down { "subtract" } else { "add" };
        state.current = crate::python::call_method(&state.start, method, &Args { pos: &[], kw: &kw }, it)?;
        state.step = crate::python::binary(BinOp::Add, &state.step, &state.amount, it)?;
        Ok(Some(out))
    }
}
