//! pendulum's `Duration` and `AbsoluteDuration`.

use super::number::N;
use super::timedelta::{DAY, TimeDelta, delta, delta_key, seconds_of};
use super::{arith, cargs, humans, locale};
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, UnaryOp, Value, View, object, text, view,
};

/// A pendulum `Duration`: a timedelta that remembers years and months.
#[derive(Debug, Clone)]
pub struct Duration {
    /// The timedelta it is to C code, in microseconds
    pub base: i128,
    /// Seconds without years and months, as pendulum's `_total`
    pub(crate) total: f64,
    pub(crate) years: i64,
    pub(crate) months: i64,
    pub(crate) weeks: i64,
    pub(crate) days: i64,
    pub(crate) remaining_days: i64,
    pub(crate) seconds: i64,
    pub(crate) microseconds: i64,
    /// The constructor's arguments, which adding it to a date uses: weeks, days, hours, minutes, seconds, microseconds
    pub(crate) signature: [N; 6],
    /// True for `AbsoluteDuration`
    pub(crate) absolute: bool,
}

/// Arguments of the constructor.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub years: i64,
    pub months: i64,
    pub weeks: N,
    pub days: N,
    pub seconds: N,
    pub microseconds: N,
}

impl Default for Parts {
    fn default() -> Self {
        let zero = N::I(0);
        Parts { years: 0, months: 0, weeks: zero, days: zero, seconds: zero, microseconds: zero }
    }
}

impl Duration {
    /// `Duration(...)`
    pub(crate) fn new(parts: &Parts) -> PyResult<Self> {
        let extra = i128::from(parts.years) * 365 + i128::from(parts.months) * 30;
        let base = TimeDelta::of_parts(&[
            ("microseconds", parts.microseconds, 1),
            ("seconds", parts.seconds, 1_000_000),
            ("days", parts.days.add(N::I(extra)), DAY),
            ("weeks", parts.weeks, 7 * DAY),
        ])?
        .micros();
        let total = seconds_of(base) - (extra * 86_400) as f64;
        let m = if total < 0.0 { -1 } else { 1 };
        let whole = total.trunc().abs() as i64;
        let days = whole / 86_400 * m;
        Ok(Duration {
            base,
            total,
            years: parts.years,
            months: parts.months,
            weeks: days.abs() / 7 * m,
            days,
            remaining_days: days.abs() % 7 * m,
            seconds: whole % 86_400 * m,
            microseconds: ((total % m as f64) * 1e6).round_ties_even() as i64,
            signature: [parts.weeks, parts.days, N::I(0), N::I(0), parts.seconds, parts.microseconds],
            absolute: false,
        })
    }

    /// `self.__class__(...)`: an AbsoluteDuration makes another of its kind.
    pub(crate) fn like(&self, parts: &Parts) -> PyResult<Self> {
        let made = Self::new(parts)?;
        if self.absolute { Self::absolute_micros(made.base) } else { Ok(made) }
    }

    /// `Duration(seconds=x)`
    pub(crate) fn of_seconds(seconds: f64) -> PyResult<Self> {
        Self::new(&Parts { seconds: N::F(seconds), ..Parts::default() })
    }

    /// `Duration(microseconds=n)`
    pub(crate) fn of_micros(micros: i128) -> PyResult<Self> {
        Self::new(&Parts { microseconds: N::I(micros), ..Parts::default() })
    }

    /// `AbsoluteDuration(microseconds=n)`
    pub(crate) fn absolute_micros(micros: i128) -> PyResult<Self> {
        let base = TimeDelta::new(micros)?.micros();
        let total = seconds_of(base);
        let size = total.abs();
        let whole = size.trunc() as i64;
        let days = whole / 86_400;
        Ok(Duration {
            base,
            total,
            years: 0,
            months: 0,
            weeks: days / 7,
            days,
            remaining_days: days % 7,
            seconds: whole % 86_400,
            microseconds: (size % 1.0 * 1e6).round_ties_even() as i64,
            signature: [N::I(0); 6],
            absolute: true,
        })
    }

    /// `total_seconds()`
    pub(crate) fn total_seconds(&self) -> f64 {
        if self.absolute { self.total.abs() } else { seconds_of(self.base) }
    }

    pub(crate) fn invert(&self) -> bool {
        if self.absolute { self.total < 0.0 } else { self.base < 0 }
    }

    pub(crate) fn hours(&self) -> i64 {
        self.seconds.abs() / 3600 % 24 * self.seconds.signum()
    }

    pub(crate) fn minutes(&self) -> i64 {
        self.seconds.abs() / 60 % 60 * self.seconds.signum()
    }

    pub(crate) fn remaining_seconds(&self) -> i64 {
        self.seconds.abs() % 60 * self.seconds.signum()
    }

    /// `_to_microseconds()`
    pub(crate) fn to_microseconds(&self) -> i128 {
        i128::from(self.days * 86_400 + self.seconds) * 1_000_000 + i128::from(self.microseconds)
    }

    pub(crate) fn neg(&self) -> PyResult<Duration> {
        self.like(&Parts {
            years: -self.years,
            months: -self.months,
            weeks: N::I(i128::from(-self.weeks)),
            days: N::I(i128::from(-self.remaining_days)),
            seconds: N::I(i128::from(-self.seconds)),
            microseconds: N::I(i128::from(-self.microseconds)),
        })
    }

    pub(crate) fn units(&self) -> humans::Units {
        humans::Units {
            years: self.years,
            months: self.months,
            weeks: self.weeks,
            days: self.remaining_days,
            hours: self.hours(),
            minutes: self.minutes(),
            seconds: self.remaining_seconds(),
            microseconds: self.microseconds,
            invert: self.invert(),
            of_interval: false,
        }
    }

    fn repr_text(&self) -> String {
        let parts: Vec<String> = [
            ("years", self.years),
            ("months", self.months),
            ("weeks", self.weeks),
            ("days", self.remaining_days),
            ("hours", self.hours()),
            ("minutes", self.minutes()),
            ("seconds", self.remaining_seconds()),
            ("microseconds", self.microseconds),
        ]
        .into_iter()
        // the days are shown when there are days at all, weeks included
        .filter(|(name, n)| if *name == "days" { self.days != 0 } else { *n != 0 })
        .map(|(name, n)| format!("{name}={n}"))
        .collect();
        format!("{}({})", self.class(), parts.join(", "))
    }

    fn class(&self) -> &'static str {
        if self.absolute { "AbsoluteDuration" } else { "Duration" }
    }

    /// Attributes that Interval has too, where it does not say otherwise.
    pub(crate) fn attribute(&self, name: &str) -> Option<Value> {
        Some(match name {
            "years" => Value::from(self.years),
            "months" => Value::from(self.months),
            "weeks" => Value::from(self.weeks),
            "days" => Value::from(super::timedelta::fields(self.base).0),
            "remaining_days" => Value::from(self.remaining_days),
            "hours" => Value::from(self.hours()),
            "minutes" => Value::from(self.minutes()),
            "seconds" => Value::from(self.seconds),
            "remaining_seconds" => Value::from(self.remaining_seconds()),
            "microseconds" => Value::from(self.microseconds),
            "invert" => Value::from(self.invert()),
            "_days" => Value::from(self.days),
            "_years" => Value::from(self.years),
            "_months" => Value::from(self.months),
            "_weeks" => Value::from(self.weeks),
            "_remaining_days" => Value::from(self.remaining_days),
            "_seconds" => Value::from(self.seconds),
            "_microseconds" => Value::from(self.microseconds),
            "_total" => Value::from(self.total),
            _ => return None,
        })
    }
}

pub(crate) const METHODS: [&str; 14] = [
    "total_seconds",
    "total_minutes",
    "total_hours",
    "total_days",
    "total_weeks",
    "in_weeks",
    "in_days",
    "in_hours",
    "in_minutes",
    "in_seconds",
    "in_words",
    "as_timedelta",
    "_to_microseconds",
    "_sign",
];

/// The locale a method was asked for.
pub(crate) fn locale_of(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<&'static locale::Locale> {
    match value {
        None => Ok(locale::english()),
        Some(value) => match view(value) {
            View::None => Ok(locale::english()),
            _ => match text(value) {
                Some("") => Ok(locale::english()),
                Some(name) => locale::load(name),
                None if !crate::python::truth(value, it)? => Ok(locale::english()),
                None => Err(PyErr::type_error(format!(
                    "expected string or bytes-like object, got '{}'",
                    crate::python::type_name(value)
                ))),
            },
        },
    }
}

fn to_int(value: f64) -> Value {
    crate::python::int(value.trunc() as i64)
}

/// A method of [`METHODS`], on a Duration or an Interval.
pub(crate) fn method(
    units: &humans::Units,
    duration: &Duration,
    name: &str,
    args: &Args<'_>,
    it: &mut dyn Interp,
) -> PyResult {
    let seconds = duration.total_seconds();
    if name == "total_seconds" && !duration.absolute {
        cargs::none(if units.of_interval { "Interval.total_seconds" } else { "Duration.total_seconds" }, args)?;
        return Ok(Value::from(seconds));
    }
    let class = if units.of_interval && name == "in_words" {
        "Interval"
    } else if name == "total_seconds" {
        "AbsoluteDuration"
    } else {
        "Duration"
    };
    let qualified = format!("{class}.{name}");
    if name == "in_words" {
        let bound = Sig::new(&qualified, &["locale", "separator"]).required(0).method().bind(args)?;
        let locale = locale_of(bound.first().copied().flatten(), it)?;
        let separator = match bound.get(1).copied().flatten() {
            None => " ",
            Some(value) => text(value).ok_or_else(|| {
                PyErr::attribute_error(format!("'{}' object has no attribute 'join'", crate::python::type_name(value)))
            })?,
        };
        return humans::in_words(units, locale, separator).map(Value::from);
    }
    if name == "_sign" {
        let bound = Sig::new(&qualified, &["value"]).method().bind(args)?;
        let number = bound.first().copied().flatten().and_then(N::of).map_or(0.0, N::to_f64);
        return Ok(Value::from(if number < 0.0 { -1 } else { 1 }));
    }
    Sig::new(&qualified, &[]).method().bind(args)?;
    Ok(match name {
        "total_seconds" => Value::from(seconds),
        "total_minutes" => Value::from(seconds / 60.0),
        "total_hours" => Value::from(seconds / 3600.0),
        "total_days" => Value::from(seconds / 86_400.0),
        "total_weeks" => Value::from(seconds / 86_400.0 / 7.0),
        "in_weeks" => to_int(seconds / 86_400.0 / 7.0),
        "in_days" => to_int(seconds / 86_400.0),
        "in_hours" => to_int(seconds / 3600.0),
        "in_minutes" => to_int(seconds / 60.0),
        "in_seconds" => to_int(seconds),
        "_to_microseconds" => crate::python::int(duration.to_microseconds()),
        _ => return TimeDelta::of_seconds(seconds).map(object),
    })
}

impl PyObject for Duration {
    fn type_name(&self) -> &str {
        self.class()
    }

    fn qualified_name(&self) -> String {
        format!("pendulum.duration.{}", self.class())
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.repr_text())
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        humans::in_words(&self.units(), locale::english(), " ")
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.base != 0)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some(value) = self.attribute(name) {
            return Some(Ok(value));
        }
        match name {
            "min" => Some(Duration::of_micros(-999_999_999 * DAY).map(object)),
            "max" => Some(Duration::of_micros(1_000_000_000 * DAY - 1).map(object)),
            "resolution" => Some(Duration::of_micros(1).map(object)),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        METHODS.contains(&name)
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        method(&self.units(), self, name, args, it)
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        arith::compare_delta(self.base, op, other, it)
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        arith::binary(arith::Temp::Duration(self), op, other, reflected, it)
    }

    fn unary(&self, op: UnaryOp, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(match op {
            UnaryOp::Neg => self.neg().map(object),
            UnaryOp::Pos => delta(self.base),
        })
    }

    fn abs(&self) -> Option<PyResult> {
        Some(delta(self.base.abs()))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(delta_key(self.base))
    }
}
