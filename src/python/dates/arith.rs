//! `+ - * / // %` and comparison between all kinds of dates, times and durations.

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

use super::date::Date;
use super::datetime::DateTime;
use super::duration::{Duration, Parts};
use super::interval::{Interval, Moment};
use super::number::N;
use super::relativedelta::RelativeDelta;
use super::time::Time;
use super::timedelta::{TimeDelta, delta, divide, micros_of};
use super::{pendulum, pendulum_date, tzinfo::TzInfo};
use crate::python::zone::Zone;
use crate::python::{BinOp, CmpOp, Interp, PyErr, PyResult, Value, View, downcast, object, view};

/// An operand.
#[derive(Clone, Copy)]
pub(crate) enum Temp<'a> {
    DateTime(&'a DateTime),
    Date(&'a Date),
    Time(&'a Time),
    Delta(&'a TimeDelta),
    Duration(&'a Duration),
    Interval(&'a Interval),
    Relative(&'a RelativeDelta),
    Number(N),
    Other,
}

impl<'a> Temp<'a> {
    fn of(value: &'a Value) -> Temp<'a> {
        let View::Object(_) = view(value) else { return N::of(value).map_or(Temp::Other, Temp::Number) };
        if let Some(x) = downcast::<DateTime>(value) {
            Temp::DateTime(x)
        } else if let Some(x) = downcast::<TimeDelta>(value) {
            Temp::Delta(x)
        } else if let Some(x) = downcast::<Interval>(value) {
            Temp::Interval(x)
        } else if let Some(x) = downcast::<RelativeDelta>(value) {
            Temp::Relative(x)
        } else if let Some(x) = downcast::<Date>(value) {
            Temp::Date(x)
        } else if let Some(x) = downcast::<Time>(value) {
            Temp::Time(x)
        } else if let Some(x) = downcast::<Duration>(value) {
            Temp::Duration(x)
        } else {
            N::of(value).map_or(Temp::Other, Temp::Number)
        }
    }

    /// The timedelta it is to C code, in microseconds.
    fn micros(self) -> Option<i128> {
        match self {
            Temp::Delta(x) => Some(x.micros()),
            Temp::Duration(x) => Some(x.base),
            Temp::Interval(x) => Some(x.duration.base),
            _ => None,
        }
    }

    /// `x.total_seconds()`
    fn total_seconds(self) -> Option<f64> {
        match self {
            Temp::Delta(x) => Some(x.total_seconds()),
            Temp::Duration(x) => Some(x.total_seconds()),
            Temp::Interval(x) => Some(x.total_seconds()),
            _ => None,
        }
    }
}

/// Comparison of a timedelta with another value.
pub(crate) fn compare_delta(micros: i128, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
    // an Interval decides about equality itself, and about order like any timedelta
    micros_of(other).map(|other| Ok(crate::python::holds(op, micros.cmp(&other))))
}

/// `me op other`, or `other op me` when `reflected`.
pub(crate) fn binary(me: Temp<'_>, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
    let other = Temp::of(other);
    let (left, right) = if reflected { (other, me) } else { (me, other) };
    if let (Temp::Relative(_), _) | (_, Temp::Relative(_)) = (left, right) {
        return super::relativedelta::binary(op, left, right, it);
    }
    match op {
        BinOp::Add => add(left, right),
        BinOp::Sub => subtract(left, right),
        BinOp::Mul => match (left, right) {
            (x, Temp::Number(n)) | (Temp::Number(n), x) => multiply(x, n),
            _ => None,
        },
        BinOp::Div => true_divide(left, right),
        BinOp::FloorDiv => floor_divide(left, right),
        BinOp::Mod => modulo(left, right),
        BinOp::Pow => None,
    }
}

fn add(left: Temp<'_>, right: Temp<'_>) -> Option<PyResult> {
    Some(match (left, right) {
        (Temp::DateTime(x), y) | (y, Temp::DateTime(x)) => {
            let micros = y.micros()?;
            if x.pendulum { pendulum::add_delta(x, y).map(object) } else { x.plain_add(micros).map(object) }
        }
        (Temp::Date(x), y) | (y, Temp::Date(x)) => {
            let micros = y.micros()?;
            // pendulum's Date has no __radd__: there the C class adds
            match (x.pendulum, left) {
                (true, Temp::Date(_)) => pendulum_date::add_delta(x.date, y, false).map(object),
                _ => super::date::plain_add(x, micros).map(object),
            }
        }
        (Temp::Time(x), y) if x.pendulum => {
            y.micros()?;
            super::time::add_delta(x, y, false).map(object)
        }
        (Temp::Delta(x), Temp::Delta(y)) => delta(x.micros() + y.micros()),
        (x, y) => {
            let sum = x.total_seconds()? + y.total_seconds()?;
            like(x, y, sum)
        }
    })
}

/// A Duration of so many seconds; an AbsoluteDuration makes another of its own.
fn like(x: Temp<'_>, y: Temp<'_>, seconds: f64) -> PyResult {
    let own = match (x, y) {
        (Temp::Delta(_), Temp::Duration(d)) | (Temp::Duration(d), _) => Some(d),
        _ => None,
    };
    if own.is_some_and(|d| d.absolute) {
        return TimeDelta::of_seconds(seconds).and_then(|d| Duration::absolute_micros(d.micros())).map(object);
    }
    Duration::of_seconds(seconds).map(object)
}

fn subtract(left: Temp<'_>, right: Temp<'_>) -> Option<PyResult> {
    Some(match (left, right) {
        (Temp::DateTime(x), Temp::DateTime(y)) => match (x.pendulum, y.pendulum) {
            (false, false) => x.plain_sub(y).and_then(delta),
            // the other side is made one of pendulum's own first, then the interval runs from y to x
            (true, _) => own(y).and_then(|y| between(&y, x)),
            (false, true) => own(x).and_then(|x| between(y, &x)),
        },
        (Temp::DateTime(x), y) => {
            let micros = y.micros()?;
            if x.pendulum { pendulum::subtract_delta(x, y).map(object) } else { x.plain_add(-micros).map(object) }
        }
        (Temp::Date(x), Temp::Date(y)) => {
            if x.pendulum {
                Interval::new(&Moment::Date(y.date), &Moment::Date(x.date), false).map(object)
            } else {
                let days = x.date.signed_duration_since(y.date).num_days();
                delta(i128::from(days) * super::timedelta::DAY)
            }
        }
        (Temp::Date(x), Temp::DateTime(y)) if x.pendulum => {
            Interval::new(&Moment::Date(y.date()), &Moment::Date(x.date), false).map(object)
        }
        (Temp::Date(x), y) => {
            let micros = y.micros()?;
            if x.pendulum {
                pendulum_date::add_delta(x.date, y, true).map(object)
            } else {
                super::date::plain_add(x, -(micros.div_euclid(super::timedelta::DAY) * super::timedelta::DAY))
                    .map(object)
            }
        }
        (Temp::Time(x), Temp::Time(y)) if x.pendulum || y.pendulum => super::time::subtract(x, y),
        (Temp::Time(x), y) if x.pendulum => {
            y.micros()?;
            super::time::add_delta(x, y, true).map(object)
        }
        // timedelta's own subtraction counts unless the left side is one of pendulum's
        (Temp::Delta(x), y) => delta(x.micros() - y.micros()?),
        (x, y) => {
            let difference = x.total_seconds()? - y.total_seconds()?;
            like(x, y, difference)
        }
    })
}

/// pendulum's reading of an operand of its own `-`.
fn own(x: &DateTime) -> PyResult<DateTime> {
    if x.pendulum {
        return Ok(x.clone());
    }
    match &x.tz {
        None => Ok(DateTime { pendulum: true, fold: true, ..x.clone() }),
        Some(_) => pendulum::instance(x, Some(Zone::UTC)),
    }
}

fn between(start: &DateTime, end: &DateTime) -> PyResult {
    Interval::new(&Moment::DateTime(start.clone()), &Moment::DateTime(end.clone()), false).map(object)
}

fn zero_division() -> PyErr {
    PyErr::new("ZeroDivisionError", "integer division or modulo by zero")
}

/// A float as a ratio of integers.
fn ratio(x: f64) -> PyResult<(BigInt, BigInt)> {
    if x.is_nan() {
        return Err(PyErr::value_error("cannot convert NaN to integer ratio"));
    }
    if x.is_infinite() {
        return Err(PyErr::overflow("cannot convert Infinity to integer ratio"));
    }
    let bits = x.to_bits();
    let raw = (bits >> 52 & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = if raw == 0 { (fraction, -1074) } else { (fraction | 1 << 52, raw - 1075) };
    let mut a = BigInt::from(mantissa);
    let mut b = BigInt::from(1);
    if exponent >= 0 {
        a <<= exponent as u64;
    } else {
        let down = (mantissa.trailing_zeros() as u64).min(exponent.unsigned_abs());
        a >>= down;
        b <<= exponent.unsigned_abs() - down;
    }
    if mantissa == 0 {
        b = BigInt::from(1);
    }
    Ok((if x < 0.0 { -a } else { a }, b))
}

/// `a / b` rounded half to even.
fn nearest(a: &BigInt, b: &BigInt) -> PyResult<i128> {
    if b.is_zero() {
        return Err(zero_division());
    }
    let (mut q, r) = a.div_mod_floor(b);
    let twice: BigInt = r.abs() * 2;
    let size = b.abs();
    // for a negative divisor the remainder is negative as well: its size is what counts
    if twice > size || (twice == size && q.is_odd()) {
        q += 1;
    }
    q.to_i128().ok_or_else(|| PyErr::overflow("Python int too large to convert to C int"))
}

fn multiply(x: Temp<'_>, n: N) -> Option<PyResult> {
    let own;
    let duration = match x {
        Temp::Delta(x) => {
            return Some(match n {
                N::I(n) => x
                    .micros()
                    .checked_mul(n)
                    .map_or_else(|| Err(PyErr::overflow("Python int too large to convert to C int")), delta),
                N::F(f) => ratio(f).and_then(|(a, b)| nearest(&(BigInt::from(x.micros()) * a), &b)).and_then(delta),
            });
        }
        Temp::Duration(x) => x,
        Temp::Interval(x) => match x.as_duration() {
            Ok(duration) => {
                own = duration;
                &own
            }
            Err(error) => return Some(Err(error)),
        },
        _ => return None,
    };
    Some(match n {
        N::I(n) => {
            let small = |years: i64| i64::try_from(i128::from(years).saturating_mul(n)).unwrap_or(i64::MAX / 400);
            duration
                .like(&Parts {
                    years: small(duration.years),
                    months: small(duration.months),
                    seconds: N::F(duration.total * n as f64),
                    ..Parts::default()
                })
                .map(object)
        }
        N::F(f) => ratio(f)
            .and_then(|(a, b)| nearest(&(BigInt::from(duration.to_microseconds()) * a), &b))
            .and_then(if duration.absolute { Duration::absolute_micros } else { Duration::of_micros })
            .map(object),
    })
}

/// The Duration pendulum computes with, for its own classes.
fn pendulum_duration(x: Temp<'_>) -> Option<PyResult<Duration>> {
    match x {
        Temp::Duration(x) => Some(Ok(x.clone())),
        Temp::Interval(x) => Some(x.as_duration()),
        _ => None,
    }
}

/// `other._to_microseconds()`, which plain timedeltas lack.
fn to_microseconds(x: Temp<'_>) -> Option<PyResult<i128>> {
    match x {
        Temp::Delta(_) => {
            Some(Err(PyErr::attribute_error("'datetime.timedelta' object has no attribute '_to_microseconds'")))
        }
        Temp::Duration(x) => Some(Ok(x.to_microseconds())),
        Temp::Interval(x) => Some(Ok(x.duration.to_microseconds())),
        _ => None,
    }
}

fn true_divide(left: Temp<'_>, right: Temp<'_>) -> Option<PyResult> {
    let division_by_zero = || PyErr::new("ZeroDivisionError", "division by zero");
    if let Temp::Delta(x) = left {
        return Some(match right {
            Temp::Number(N::I(n)) => nearest(&x.micros().into(), &n.into()).and_then(delta),
            Temp::Number(N::F(f)) => {
                ratio(f).and_then(|(a, b)| nearest(&(BigInt::from(x.micros()) * b), &a)).and_then(delta)
            }
            other => match other.micros()? {
                0 => Err(division_by_zero()),
                other => Ok(Value::from(divide(x.micros(), other))),
            },
        });
    }
    let duration = match pendulum_duration(left)? {
        Ok(duration) => duration,
        Err(error) => return Some(Err(error)),
    };
    let micros = duration.to_microseconds();
    Some(match right {
        Temp::Number(N::I(n)) => (|| {
            let n = BigInt::from(n);
            let part = |x: i128| nearest(&x.into(), &n);
            duration
                .like(&Parts {
                    microseconds: N::I(part(micros)?),
                    years: part(duration.years.into())? as i64,
                    months: part(duration.months.into())? as i64,
                    ..Parts::default()
                })
                .map(object)
        })(),
        Temp::Number(N::F(f)) => ratio(f).and_then(|(a, b)| {
            if duration.months != 0 {
                return Err(PyErr::unsupported("dividing a duration of months by a float"));
            }
            duration
                .like(&Parts {
                    microseconds: N::I(nearest(&(BigInt::from(micros) * &b), &a)?),
                    years: nearest(&(BigInt::from(duration.years) * &b), &a)? as i64,
                    ..Parts::default()
                })
                .map(object)
        }),
        other => match to_microseconds(other)? {
            Ok(0) => Err(division_by_zero()),
            Ok(other) => Ok(Value::from(divide(micros, other))),
            Err(error) => Err(error),
        },
    })
}

fn floor_divide(left: Temp<'_>, right: Temp<'_>) -> Option<PyResult> {
    if let Temp::Delta(x) = left {
        return Some(match right {
            Temp::Number(N::I(0)) => Err(zero_division()),
            Temp::Number(N::I(n)) => delta(num_integer::Integer::div_floor(&x.micros(), &n)),
            Temp::Number(N::F(_)) => return None,
            other => match other.micros()? {
                0 => Err(zero_division()),
                other => Ok(crate::python::int(num_integer::Integer::div_floor(&x.micros(), &other))),
            },
        });
    }
    let duration = match pendulum_duration(left)? {
        Ok(duration) => duration,
        Err(error) => return Some(Err(error)),
    };
    let micros = duration.to_microseconds();
    Some(match right {
        Temp::Number(N::I(0)) => Err(zero_division()),
        Temp::Number(N::I(n)) => duration
            .like(&Parts {
                microseconds: N::I(num_integer::Integer::div_floor(&micros, &n)),
                years: num_integer::Integer::div_floor(&i128::from(duration.years), &n) as i64,
                months: num_integer::Integer::div_floor(&i128::from(duration.months), &n) as i64,
                ..Parts::default()
            })
            .map(object),
        Temp::Number(N::F(_)) => return None,
        other => match to_microseconds(other)? {
            Ok(0) => Err(zero_division()),
            Ok(other) => Ok(crate::python::int(num_integer::Integer::div_floor(&micros, &other))),
            Err(error) => Err(error),
        },
    })
}

fn modulo(left: Temp<'_>, right: Temp<'_>) -> Option<PyResult> {
    if let Temp::Delta(x) = left {
        return Some(match right.micros()? {
            0 => Err(PyErr::new("ZeroDivisionError", "integer modulo by zero")),
            other => delta(num_integer::Integer::mod_floor(&x.micros(), &other)),
        });
    }
    let duration = match pendulum_duration(left)? {
        Ok(duration) => duration,
        Err(error) => return Some(Err(error)),
    };
    Some(match to_microseconds(right)? {
        Ok(0) => Err(PyErr::new("ZeroDivisionError", "integer modulo by zero")),
        Ok(other) => {
            let rest = num_integer::Integer::mod_floor(&duration.to_microseconds(), &other);
            let absolute = duration.absolute;
            (if absolute { Duration::absolute_micros(rest) } else { Duration::of_micros(rest) }).map(object)
        }
        Err(error) => Err(error),
    })
}

/// The zone argument of a C function: `None` or a tzinfo.
pub(crate) fn tzinfo_arg(value: Option<&Value>) -> PyResult<Option<TzInfo>> {
    let Some(value) = value else { return Ok(None) };
    if let View::None = view(value) {
        return Ok(None);
    }
    match super::tzobject::of(value) {
        Some(tz) => Ok(Some(tz.clone())),
        None => Err(PyErr::type_error(format!(
            "tzinfo argument must be None or of a tzinfo subclass, not type '{}'",
            crate::python::type_name(value)
        ))),
    }
}
