//! dateutil's `relativedelta`.

use chrono::{Datelike, NaiveDate};

use super::arith::Temp;
use super::class::int_call;
use super::date::Date;
use super::datetime::DateTime;
use super::number::N;
use super::pendulum::last_day;
use super::strptime::make_date;
use super::timedelta::{DAY, TimeDelta};
use super::weekday::DateutilWeekday;
use crate::python::{
    Args, BinOp, CmpOp, Interp, PyErr, PyResult, Sig, Value, View, binary as py_binary, compare as py_compare,
    downcast, getattr, none, object, truth, type_name, view,
};

/// The fields set outright, in the order of the constructor.
pub(super) const ABSOLUTE: [&str; 7] = ["year", "month", "day", "hour", "minute", "second", "microsecond"];
/// The fields added.
pub(super) const RELATIVE: [&str; 7] = ["years", "months", "days", "hours", "minutes", "seconds", "microseconds"];

/// A `relativedelta`.
#[derive(Debug, Clone)]
pub struct RelativeDelta {
    /// In the order of [`RELATIVE`]
    pub(super) relative: [N; 7],
    pub(super) leapdays: Value,
    /// In the order of [`ABSOLUTE`]; `None` is Python's
    pub(super) absolute: [Value; 7],
    pub(super) weekday: Value,
}

impl Default for RelativeDelta {
    fn default() -> Self {
        RelativeDelta {
            relative: [N::I(0); 7],
            leapdays: Value::from(0),
            absolute: std::array::from_fn(|_| none()),
            weekday: none(),
        }
    }
}

pub(super) fn is_none(value: &Value) -> bool {
    matches!(view(value), View::None)
}

pub(super) fn number_value(n: N) -> Value {
    match n {
        N::I(int) => crate::python::int(int),
        N::F(float) => Value::from(float),
    }
}

/// A relative field other than years and months. What is no number fails only when `_fix` comes to it, which `late` keeps.
fn field(value: Option<&Value>, late: &mut Option<PyErr>) -> N {
    let Some(value) = value else { return N::I(0) };
    N::of(value).unwrap_or_else(|| {
        *late = Some(PyErr::type_error(format!("bad operand type for abs(): '{}'", type_name(value))));
        N::I(0)
    })
}

/// `days`, which is added to at once.
fn days_field(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<N> {
    let Some(value) = value else { return Ok(N::I(0)) };
    if let Some(number) = N::of(value) {
        return Ok(number);
    }
    py_binary(BinOp::Add, value, &Value::from(0), it)?;
    Err(PyErr::unsupported("days that are no number"))
}

impl RelativeDelta {
    /// `relativedelta(...)`
    pub(crate) fn construct(args: &Args<'_>, it: &mut dyn Interp) -> PyResult<Self> {
        const NAMES: [&str; 20] = [
            "dt1",
            "dt2",
            "years",
            "months",
            "days",
            "leapdays",
            "weeks",
            "hours",
            "minutes",
            "seconds",
            "microseconds",
            "year",
            "month",
            "day",
            "weekday",
            "yearday",
            "nlyearday",
            "hour",
            "minute",
            "second",
        ];
        let mut names = NAMES.to_vec();
        names.push("microsecond");
        let bound = Sig::new("relativedelta.__init__", &names).required(0).method().bind(args)?;
        let get =
            |name: &str| names.iter().position(|known| *known == name).and_then(|at| bound.get(at).copied().flatten());
        if let (Some(one), Some(two)) = (get("dt1"), get("dt2"))
            && truth(one, it)?
            && truth(two, it)?
        {
            return Self::between(one, two, it);
        }
        let mut out = RelativeDelta::default();
        let mut whole = [N::I(0); 2];
        for name in ["years", "months"] {
            let Some(value) = get(name) else { continue };
            if !is_none(value) && !py_compare(CmpOp::Eq, value, &int_call(value, it)?, it)? {
                return Err(PyErr::value_error(
                    "Non-integer years and months are ambiguous and not currently supported.",
                ));
            }
        }
        for (slot, name) in whole.iter_mut().zip(["years", "months"]) {
            if let Some(value) = get(name) {
                *slot = N::of(&int_call(value, it)?).unwrap_or(N::I(0));
            }
        }
        let weeks = match get("weeks") {
            None => N::I(0),
            Some(value) => match N::of(value) {
                Some(number) => number.mul(7),
                None => {
                    let times = py_binary(BinOp::Mul, value, &Value::from(7), it)?;
                    return Err(py_binary(BinOp::Add, &Value::from(0), &times, it)
                        .err()
                        .unwrap_or_else(|| PyErr::unsupported("weeks that are no number")));
                }
            },
        };
        let days = days_field(get("days"), it)?.add(weeks);
        let mut late = None;
        // `_fix` begins with the smallest unit: of several errors that one is raised
        let hours = field(get("hours"), &mut late);
        let minutes = field(get("minutes"), &mut late);
        let seconds = field(get("seconds"), &mut late);
        let micros = field(get("microseconds"), &mut late);
        if let Some(value) = get("leapdays") {
            out.leapdays = value.clone();
        }
        let [years, months] = whole;
        out.relative = [years, months, days, hours, minutes, seconds, micros];
        for (slot, name) in out.absolute.iter_mut().zip(ABSOLUTE) {
            if let Some(value) = get(name) {
                *slot = value.clone();
            }
        }
        for value in &out.absolute {
            if !is_none(value) {
                int_call(value, it)?;
            }
        }
        if let Some(value) = get("weekday") {
            out.weekday = match N::of(value) {
                Some(N::I(day)) => {
                    let day = if (-7..0).contains(&day) { day + 7 } else { day };
                    let day = u32::try_from(day).ok().filter(|day| *day < 7);
                    object(DateutilWeekday::new(
                        day.ok_or_else(|| PyErr::new("IndexError", "tuple index out of range"))?,
                    ))
                }
                _ => value.clone(),
            };
        }
        out.yearday(get("yearday"), get("nlyearday"), it)?;
        if let Some(error) = late {
            return Err(error);
        }
        out.fix();
        Ok(out)
    }

    fn yearday(&mut self, yearday: Option<&Value>, nlyearday: Option<&Value>, it: &mut dyn Interp) -> PyResult<()> {
        const LAST: [i128; 12] = [31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 366];
        let truthy = |value: Option<&Value>, it: &mut dyn Interp| value.map_or(Ok(false), |value| truth(value, it));
        let (value, leaps) = if truthy(nlyearday, it)? {
            (nlyearday, false)
        } else if truthy(yearday, it)? {
            (yearday, true)
        } else {
            return Ok(());
        };
        let Some(N::I(day)) = value.and_then(N::of) else {
            return Err(PyErr::unsupported("a day of the year that is no int"));
        };
        if leaps && 59 < day && day < 366 {
            self.leapdays = Value::from(-1);
        }
        let at = LAST.iter().position(|last| day <= *last);
        let at = at.ok_or_else(|| PyErr::value_error(format!("invalid year day ({day})")))?;
        let before = at.checked_sub(1).and_then(|before| LAST.get(before)).copied().unwrap_or(0);
        let [_, month, own_day, ..] = &mut self.absolute;
        *month = Value::from(at as i64 + 1);
        *own_day = crate::python::int(day - before);
        Ok(())
    }

    /// `_fix`: carries what is too large to the next unit.
    fn fix(&mut self) {
        let [years, months, days, hours, minutes, seconds, micros] = &mut self.relative;
        carry(micros, seconds, 999_999, 1_000_000);
        carry(seconds, minutes, 59, 60);
        carry(minutes, hours, 59, 60);
        carry(hours, days, 23, 24);
        carry(months, years, 11, 12);
    }

    pub(super) fn has_time(&self) -> bool {
        self.relative.iter().skip(3).any(|n| !n.is_zero()) || self.absolute.iter().skip(3).any(|value| !is_none(value))
    }

    fn set_months(&mut self, months: i64) {
        let [own_years, own_months, ..] = &mut self.relative;
        *own_years = N::I(i128::from(months / 12));
        *own_months = N::I(i128::from(months % 12));
    }

    /// `relativedelta(dt1, dt2)`
    fn between(one: &Value, two: &Value, it: &mut dyn Interp) -> PyResult<Self> {
        let kind = |value: &Value| {
            if downcast::<DateTime>(value).is_some() { Some(true) } else { downcast::<Date>(value).map(|_| false) }
        };
        let (Some(one_time), Some(two_time)) = (kind(one), kind(two)) else {
            return Err(PyErr::type_error("relativedelta only diffs datetime/date"));
        };
        let lift = |value: &Value, own: bool, other: bool| match downcast::<Date>(value) {
            Some(date) if !own && other => object(DateTime::naive_plain(date.date.and_time(chrono::NaiveTime::MIN))),
            _ => value.clone(),
        };
        let (one, two) = (lift(one, one_time, two_time), lift(two, two_time, one_time));
        let months_of = |value: &Value| -> i64 {
            let date = match (downcast::<DateTime>(value), downcast::<Date>(value)) {
                (Some(dt), _) => dt.date(),
                (_, Some(date)) => date.date,
                _ => NaiveDate::default(),
            };
            i64::from(date.year()) * 12 + i64::from(date.month())
        };
        let mut out = RelativeDelta::default();
        let mut months = months_of(&one) - months_of(&two);
        out.set_months(months);
        let mut reached = out.add_to(&two, it)?;
        let (op, step) = if py_compare(CmpOp::Lt, &one, &two, it)? { (CmpOp::Gt, 1) } else { (CmpOp::Lt, -1) };
        while py_compare(op, &one, &reached, it)? {
            it.charge(1)?;
            months += step;
            out.set_months(months);
            reached = out.add_to(&two, it)?;
        }
        let delta = py_binary(BinOp::Sub, &one, &reached, it)?;
        let mut part = |name: &str| -> PyResult<i128> {
            let value = getattr(&delta, name, it)?.unwrap_or_else(|| Value::from(0));
            Ok(i128::from(value.as_i64().unwrap_or(0)))
        };
        let seconds = part("seconds")? + part("days")? * 86_400;
        let micros = part("microseconds")?;
        let [.., own_seconds, own_micros] = &mut out.relative;
        *own_seconds = N::I(seconds);
        *own_micros = N::I(micros);
        out.fix();
        Ok(out)
    }

    /// `x or default` of an absolute field, as an int.
    fn pick(&self, at: usize, default: i64, it: &mut dyn Interp) -> PyResult<Value> {
        match self.absolute.get(at) {
            Some(value) if truth(value, it)? => Ok(value.clone()),
            _ => Ok(Value::from(default)),
        }
    }

    /// `date + self`
    fn add_to(&self, other: &Value, it: &mut dyn Interp) -> PyResult {
        let lifted;
        let mut target = other;
        if let Some(date) = downcast::<Date>(other)
            && self.has_time()
        {
            lifted = object(DateTime::naive_plain(date.date.and_time(chrono::NaiveTime::MIN)));
            target = &lifted;
        }
        let own = match (downcast::<DateTime>(target), downcast::<Date>(target)) {
            (Some(dt), _) => dt.date(),
            (_, Some(date)) => date.date,
            _ => return Err(PyErr::unsupported("adding a relativedelta to this")),
        };
        let [years, months, days, hours, minutes, seconds, micros] = self.relative;
        let float_error = || PyErr::type_error("'float' object cannot be interpreted as an integer");
        let int = |value: &Value| match N::of(value) {
            Some(N::I(int)) => Ok(int),
            Some(N::F(_)) => Err(float_error()),
            None => {
                Err(PyErr::type_error(format!("unsupported operand type(s) for +: '{}' and 'int'", type_name(value))))
            }
        };
        let (N::I(years), N::I(months)) = (years, months) else { return Err(float_error()) };
        let picked_year = self.pick(0, i64::from(own.year()), it)?;
        // a year of a fraction fails only after the month was looked at
        let mut year = match N::of(&picked_year) {
            Some(N::F(_)) => years,
            _ => int(&picked_year)? + years,
        };
        let picked = self.pick(1, i64::from(own.month()), it)?;
        if let Some(N::F(month)) = N::of(&picked) {
            let month = month + months as f64;
            let month = if month > 12.0 {
                month - 12.0
            } else if month < 1.0 && months != 0 {
                month + 12.0
            } else {
                month
            };
            if !(1.0..=12.0).contains(&month) {
                let shown = crate::python::repr_float(month);
                return Err(PyErr::new("IllegalMonthError", format!("bad month number {shown}; must be 1-12")));
            }
        }
        let mut month = int(&picked)?;
        if months != 0 {
            month += months;
            if month > 12 {
                year += 1;
                month -= 12;
            } else if month < 1 {
                year -= 1;
                month += 12;
            }
        }
        if !(1..=12).contains(&month) {
            return Err(PyErr::new("IllegalMonthError", format!("bad month number {month}; must be 1-12")));
        }
        int(&picked_year)?;
        let day = self.pick(2, i64::from(own.day()), it)?;
        let longest = Value::from(last_day(year.rem_euclid(400) as i64, month as i64));
        let day = if py_compare(CmpOp::Lt, &day, &longest, it)? { day } else { longest };
        let mut kw = vec![
            ("year".into(), crate::python::int(year)),
            ("month".into(), crate::python::int(month)),
            ("day".into(), day),
        ];
        for (name, value) in ABSOLUTE.iter().zip(&self.absolute).skip(3) {
            if !is_none(value) {
                kw.push(((*name).into(), value.clone()));
            }
        }
        let mut days = days;
        let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
        if truth(&self.leapdays, it)? && month > 2 && leap {
            match N::of(&self.leapdays) {
                Some(n) => days = days.add(n),
                None => {
                    return Err(PyErr::type_error(format!(
                        "unsupported operand type(s) for +=: 'int' and '{}'",
                        type_name(&self.leapdays)
                    )));
                }
            }
        }
        let replaced = crate::python::call_method(target, "replace", &Args { pos: &[], kw: &kw }, it)?;
        let delta = TimeDelta::of_parts(&[
            ("microseconds", micros, 1),
            ("seconds", seconds, 1_000_000),
            ("minutes", minutes, 60_000_000),
            ("hours", hours, 3_600_000_000),
            ("days", days, DAY),
        ])?;
        let moved = py_binary(BinOp::Add, &replaced, &object(delta), it)?;
        if !truth(&self.weekday, it)? {
            return Ok(moved);
        }
        let Some(weekday) = downcast::<DateutilWeekday>(&self.weekday) else {
            return Err(PyErr::attribute_error(format!(
                "'{}' object has no attribute 'weekday'",
                type_name(&self.weekday)
            )));
        };
        let nth = weekday.nth().unwrap_or(1);
        let current = match (downcast::<DateTime>(&moved), downcast::<Date>(&moved)) {
            (Some(dt), _) => dt.weekday(),
            (_, Some(date)) => i64::from(date.date.weekday().num_days_from_monday()),
            _ => 0,
        };
        let wanted = i64::from(weekday.weekday);
        let mut jump = nth.saturating_abs().saturating_sub(1).saturating_mul(7);
        if nth > 0 {
            jump += (7 - current + wanted) % 7;
        } else {
            jump = -(jump + (current - wanted).rem_euclid(7));
        }
        let jump = TimeDelta::of_parts(&[("days", N::I(i128::from(jump)), DAY)])?;
        py_binary(BinOp::Add, &moved, &object(jump), it)
    }

    /// A new one whose relative fields are changed one by one.
    pub(super) fn map(&self, change: impl Fn(N) -> PyResult<N>) -> PyResult<RelativeDelta> {
        let mut out = self.clone();
        for slot in &mut out.relative {
            *slot = change(*slot)?;
        }
        out.fix();
        Ok(out)
    }

    pub(super) fn scaled(&self, factor: f64) -> PyResult<RelativeDelta> {
        self.map(|n| {
            let product = n.to_f64() * factor;
            if product.is_nan() {
                return Err(PyErr::value_error("cannot convert float NaN to integer"));
            }
            if product.is_infinite() {
                return Err(PyErr::overflow("cannot convert float infinity to integer"));
            }
            Ok(N::I(product.trunc() as i128))
        })
    }

    /// Sum or difference of two; absolute fields of `first` win.
    fn combined(
        &self,
        other: &RelativeDelta,
        sign: i128,
        first: &RelativeDelta,
        it: &mut dyn Interp,
    ) -> PyResult<Self> {
        let mut out = RelativeDelta::default();
        for ((slot, a), b) in out.relative.iter_mut().zip(self.relative).zip(other.relative) {
            *slot = a.add(b.mul(sign));
        }
        let second = if std::ptr::eq(first, self) { other } else { self };
        for ((slot, a), b) in out.absolute.iter_mut().zip(&first.absolute).zip(&second.absolute) {
            *slot = if is_none(a) { b.clone() } else { a.clone() };
        }
        out.weekday = if is_none(&first.weekday) { second.weekday.clone() } else { first.weekday.clone() };
        out.leapdays = if truth(&first.leapdays, it)? { first.leapdays.clone() } else { second.leapdays.clone() };
        out.fix();
        Ok(out)
    }

    fn plus_delta(&self, days: i64, seconds: i64, micros: i64) -> RelativeDelta {
        let mut out = self.clone();
        let [_, _, own_days, _, _, own_seconds, own_micros] = &mut out.relative;
        *own_days = own_days.add(N::I(i128::from(days)));
        *own_seconds = own_seconds.add(N::I(i128::from(seconds)));
        *own_micros = own_micros.add(N::I(i128::from(micros)));
        out.fix();
        out
    }

    pub(super) fn same(&self, other: &RelativeDelta, it: &mut dyn Interp) -> PyResult<bool> {
        let (a, b) = (truth(&self.weekday, it)?, truth(&other.weekday, it)?);
        if a || b {
            let (Some(x), Some(y)) =
                (downcast::<DateutilWeekday>(&self.weekday), downcast::<DateutilWeekday>(&other.weekday))
            else {
                return if a && b { Err(PyErr::unsupported("comparing such weekdays")) } else { Ok(false) };
            };
            if x.weekday != y.weekday || x.nth().unwrap_or(1) != y.nth().unwrap_or(1) {
                return Ok(false);
            }
        }
        for (a, b) in self.relative.iter().zip(other.relative) {
            if !py_compare(CmpOp::Eq, &number_value(*a), &number_value(b), it)? {
                return Ok(false);
            }
        }
        for (a, b) in self.absolute.iter().zip(&other.absolute) {
            if !py_compare(CmpOp::Eq, a, b, it)? {
                return Ok(false);
            }
        }
        py_compare(CmpOp::Eq, &self.leapdays, &other.leapdays, it)
    }
}

fn carry(small: &mut N, big: &mut N, limit: i128, base: i128) {
    if small.beyond(limit) {
        let (div, rest) = small.carry(base);
        *small = rest;
        *big = big.add(div);
    }
}

/// `left op right`, one of them a relativedelta.
pub(crate) fn binary(op: BinOp, left: Temp<'_>, right: Temp<'_>, it: &mut dyn Interp) -> Option<PyResult> {
    let fields = |temp: Temp<'_>| match temp {
        Temp::Delta(td) => Some(td.fields()),
        Temp::Duration(d) => Some((super::timedelta::fields(d.base).0, d.seconds, d.microseconds)),
        Temp::Interval(iv) => Some((iv.duration.days, iv.duration.seconds, iv.duration.microseconds)),
        _ => None,
    };
    let add = |rd: &RelativeDelta, other: Temp<'_>, it: &mut dyn Interp| -> Option<PyResult> {
        if let Some((days, seconds, micros)) = fields(other) {
            return Some(Ok(object(rd.plus_delta(days, seconds, micros))));
        }
        match other {
            Temp::DateTime(dt) => Some(rd.add_to(&object(dt.clone()), it)),
            Temp::Date(date) => Some(rd.add_to(&object(date.clone()), it)),
            _ => None,
        }
    };
    match (op, left, right) {
        (BinOp::Add, Temp::Relative(a), Temp::Relative(b)) => Some(a.combined(b, 1, b, it).map(object)),
        (BinOp::Add, Temp::Relative(rd), other) | (BinOp::Add, other, Temp::Relative(rd)) => add(rd, other, it),
        (BinOp::Sub, Temp::Relative(a), Temp::Relative(b)) => Some(a.combined(b, -1, a, it).map(object)),
        (BinOp::Sub, other, Temp::Relative(rd)) => match rd.map(|n| Ok(n.neg())) {
            Ok(negative) => add(&negative, other, it),
            Err(error) => Some(Err(error)),
        },
        (BinOp::Mul, Temp::Relative(rd), Temp::Number(n)) | (BinOp::Mul, Temp::Number(n), Temp::Relative(rd)) => {
            Some(rd.scaled(n.to_f64()).map(object))
        }
        (BinOp::Div, Temp::Relative(rd), Temp::Number(n)) => Some(if n.is_zero() {
            Err(PyErr::new("ZeroDivisionError", "float division by zero"))
        } else {
            rd.scaled(1.0 / n.to_f64()).map(object)
        }),
        _ => None,
    }
}

/// A date moved onto or past a weekday, as `relativedelta(weekday=n)` moves it.
pub(crate) fn next_weekday(date: NaiveDate, weekday: u32) -> PyResult<NaiveDate> {
    let current = date.weekday().num_days_from_monday();
    let days = (7 - current + weekday) % 7;
    let ordinal = super::strptime::ordinal_of(date) + i64::from(days);
    super::strptime::from_ordinal(ordinal).or_else(|_| make_date(10000, 1, 1))
}
