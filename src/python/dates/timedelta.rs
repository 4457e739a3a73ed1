//! `datetime.timedelta`.

use super::cargs;
use super::number::N;
use crate::python::{
    Args, BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, UnaryOp, Value, downcast, object, type_name,
};

/// Microseconds of a day.
pub(crate) const DAY: i128 = 86_400_000_000;
const MAX_DAYS: i128 = 999_999_999;

/// A `datetime.timedelta`: a number of microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeDelta {
    micros: i128,
}

impl TimeDelta {
    /// A timedelta of so many microseconds.
    ///
    /// # Errors
    /// `OverflowError` beyond 999999999 days.
    pub fn new(micros: i128) -> PyResult<Self> {
        let days = micros.div_euclid(DAY);
        if i32::try_from(days).is_err() {
            return Err(PyErr::overflow("Python int too large to convert to C int"));
        }
        if days.abs() > MAX_DAYS {
            return Err(PyErr::overflow(format!("days={days}; must have magnitude <= {MAX_DAYS}")));
        }
        Ok(TimeDelta { micros })
    }

    /// The whole of it in microseconds.
    pub fn micros(&self) -> i128 {
        self.micros
    }

    /// `total_seconds()`
    pub fn total_seconds(&self) -> f64 {
        seconds_of(self.micros)
    }

    /// `timedelta(days, seconds, microseconds, milliseconds, minutes, hours, weeks)`.
    pub(crate) fn of_parts(parts: &[(&str, N, i128)]) -> PyResult<Self> {
        sum_parts(parts).and_then(TimeDelta::new)
    }

    /// `timedelta(seconds=x)`
    pub(crate) fn of_seconds(seconds: f64) -> PyResult<Self> {
        Self::of_parts(&[("seconds", N::F(seconds), 1_000_000)])
    }

    /// `days`, `seconds`, `microseconds` as normalised.
    pub(crate) fn fields(&self) -> (i64, i64, i64) {
        fields(self.micros)
    }

    /// The class called: `macros.timedelta(...)`.
    pub(crate) fn construct(args: &Args<'_>) -> PyResult<Self> {
        const NAMES: [&str; 7] = ["days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks"];
        let given = cargs::parse(Some("__new__"), &NAMES, 0, 7, args)?;
        let scale = [DAY, 1_000_000, 1, 1000, 60_000_000, 3_600_000_000, 7 * DAY];
        let mut parts = Vec::new();
        // the C code adds them up in this order, which the fractions of floats can tell
        for at in [2, 3, 1, 4, 5, 0, 6] {
            if let (Some(Some(value)), Some(name), Some(scale)) = (given.get(at), NAMES.get(at), scale.get(at)) {
                let number = N::of(value).ok_or_else(|| {
                    PyErr::type_error(format!("unsupported type for timedelta {name} component: {}", type_name(value)))
                })?;
                parts.push((*name, number, *scale));
            }
        }
        Self::of_parts(&parts)
    }
}

/// Adds numbers of units up to microseconds as the C constructor does: whole parts exactly, fractions as floats, the
/// rest of those rounded half to even.
fn sum_parts(parts: &[(&str, N, i128)]) -> PyResult<i128> {
    let too_large = || PyErr::overflow("Python int too large to convert to C int");
    let mut sum = 0_i128;
    let mut leftover = 0.0_f64;
    for (_, number, scale) in parts {
        match number {
            N::I(int) => {
                sum = int.checked_mul(*scale).and_then(|x| sum.checked_add(x)).ok_or_else(too_large)?;
            }
            N::F(float) => {
                if float.is_nan() {
                    return Err(PyErr::value_error("cannot convert float NaN to integer"));
                }
                if float.is_infinite() {
                    return Err(PyErr::overflow("cannot convert float infinity to integer"));
                }
                let whole = float.trunc();
                if whole.abs() > 1e30 {
                    return Err(too_large());
                }
                sum = (whole as i128).checked_mul(*scale).and_then(|x| sum.checked_add(x)).ok_or_else(too_large)?;
                let fraction = float - whole;
                if fraction != 0.0 {
                    let scaled = *scale as f64 * fraction;
                    sum += scaled.trunc() as i128;
                    leftover += scaled - scaled.trunc();
                }
            }
        }
    }
    if leftover != 0.0 {
        let mut whole = leftover.round();
        if (whole - leftover).abs() == 0.5 {
            let odd = (sum & 1) as f64;
            whole = 2.0 * ((leftover + odd) * 0.5).round() - odd;
        }
        sum += whole as i128;
    }
    Ok(sum)
}

/// Microseconds as seconds: one division, rounded once.
pub(crate) fn seconds_of(micros: i128) -> f64 {
    divide(micros, 1_000_000)
}

/// True division of integers, correctly rounded.
pub(crate) fn divide(a: i128, b: i128) -> f64 {
    if a.unsigned_abs() < (1 << 53) && b.unsigned_abs() < (1 << 53) {
        return a as f64 / b as f64;
    }
    // scale so that the quotient has at least 66 bits, keep a sticky bit, and let the conversion round
    let negative = (a < 0) != (b < 0);
    let (a, b) = (num_bigint::BigUint::from(a.unsigned_abs()), num_bigint::BigUint::from(b.unsigned_abs()));
    if a.bits() == 0 {
        return 0.0;
    }
    let shift = (66 + b.bits() as i64 - a.bits() as i64).max(0) as u64;
    let scaled = &a << shift;
    let quotient = &scaled / &b;
    let exact = &quotient * &b == scaled;
    let mut bits = quotient;
    let extra = bits.bits().saturating_sub(66);
    let lost = extra > 0 && bits.trailing_zeros().is_some_and(|zeros| zeros < extra);
    bits >>= extra;
    let mut top = bits.iter_u64_digits().rev().fold(0_u128, |acc, digit| (acc << 64) | u128::from(digit));
    if !exact || lost {
        top |= 1;
    }
    let value = top as f64 * 2_f64.powi(extra as i32 - shift as i32);
    if negative { -value } else { value }
}

/// Days, seconds of the day, microseconds of the second.
pub(crate) fn fields(micros: i128) -> (i64, i64, i64) {
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    (days as i64, (rest / 1_000_000) as i64, (rest % 1_000_000) as i64)
}

/// `repr` of a `datetime.timedelta` of so many microseconds.
pub(crate) fn timedelta_repr(micros: i128) -> String {
    let (days, seconds, micros) = fields(micros);
    let parts: Vec<String> = [("days", days), ("seconds", seconds), ("microseconds", micros)]
        .into_iter()
        .filter(|(_, n)| *n != 0)
        .map(|(name, n)| format!("{name}={n}"))
        .collect();
    if parts.is_empty() { "datetime.timedelta(0)".into() } else { format!("datetime.timedelta({})", parts.join(", ")) }
}

/// `str` of a `datetime.timedelta` of so many microseconds.
pub(crate) fn timedelta_str(micros: i128) -> String {
    let (days, seconds, micros) = fields(micros);
    let mut text = String::new();
    if days != 0 {
        text = format!("{days} day{}, ", if days.abs() == 1 { "" } else { "s" });
    }
    text.push_str(&format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    if micros != 0 {
        text.push_str(&format!(".{micros:06}"));
    }
    text
}

/// A timedelta as a value.
pub(crate) fn delta(micros: i128) -> PyResult {
    TimeDelta::new(micros).map(object)
}

impl PyObject for TimeDelta {
    fn type_name(&self) -> &str {
        "datetime.timedelta"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(timedelta_repr(self.micros))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(timedelta_str(self.micros))
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(self.micros != 0)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        let (days, seconds, micros) = self.fields();
        match name {
            "days" => Some(Ok(Value::from(days))),
            "seconds" => Some(Ok(Value::from(seconds))),
            "microseconds" => Some(Ok(Value::from(micros))),
            _ => class_attribute(name),
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "total_seconds"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        cargs::none("timedelta.total_seconds", args)?;
        Ok(Value::from(self.total_seconds()))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        super::arith::compare_delta(self.micros, op, other, it)
    }

    fn binary(&self, op: BinOp, other: &Value, reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        super::arith::binary(super::arith::Temp::Delta(self), op, other, reflected, it)
    }

    fn unary(&self, op: UnaryOp, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(delta(if op == UnaryOp::Neg { -self.micros } else { self.micros }))
    }

    fn abs(&self) -> Option<PyResult> {
        Some(delta(self.micros.abs()))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(delta_key(self.micros))
    }
}

/// `timedelta.min`, `.max`, `.resolution`
pub(crate) fn class_attribute(name: &str) -> Option<PyResult> {
    match name {
        "min" => Some(delta(-MAX_DAYS * DAY)),
        "max" => Some(delta((MAX_DAYS + 1) * DAY - 1)),
        "resolution" => Some(delta(1)),
        _ => None,
    }
}

/// What dicts file a timedelta under.
pub(crate) fn delta_key(micros: i128) -> HashKey {
    let (days, seconds, micros) = fields(micros);
    HashKey::Parts("timedelta", vec![HashKey::Int(days), HashKey::Int(seconds), HashKey::Int(micros)])
}

/// The microseconds of a timedelta, Duration or Interval, as C code reads them.
pub(crate) fn micros_of(value: &Value) -> Option<i128> {
    if let Some(delta) = downcast::<TimeDelta>(value) {
        return Some(delta.micros);
    }
    if let Some(duration) = downcast::<super::duration::Duration>(value) {
        return Some(duration.base);
    }
    downcast::<super::interval::Interval>(value).map(|interval| interval.duration.base)
}
