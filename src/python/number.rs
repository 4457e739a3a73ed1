//! `int` of any size, `float` and `bool` as operands.

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{Pow, Signed, ToPrimitive, Zero};

use super::{
    BinOp, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, UnaryOp, Value, View, downcast, float, object, view,
};

/// Digits an `int` may have to be printed or read (`sys.get_int_max_str_digits`).
pub const MAX_STR_DIGITS: usize = 4300;

/// An `int` that does not fit an `i64`.
#[derive(Debug, Clone)]
pub struct Int(pub(crate) BigInt);

impl PyObject for Int {
    fn type_name(&self) -> &str {
        "int"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        decimal(&self.0)
    }

    fn format(&self, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
        super::spec::format_int(&Num::Big(&self.0), spec, it)
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(true)
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::BigInt(self.0.clone()))
    }
}

/// The decimal digits of a large int, which Python refuses to write beyond a number of digits.
pub(crate) fn decimal(int: &BigInt) -> PyResult<String> {
    let too_long = || {
        PyErr::value_error(format!(
            "Exceeds the limit ({MAX_STR_DIGITS} digits) for integer string conversion; use \
             sys.set_int_max_str_digits() to increase the limit"
        ))
    };
    // 4301 digits have at least 14,284 bits
    if int.bits() > 14_400 {
        return Err(too_long());
    }
    let text = int.to_string();
    if text.trim_start_matches('-').len() > MAX_STR_DIGITS { Err(too_long()) } else { Ok(text) }
}

/// An `int` of any size as a value.
pub fn int(value: impl Into<BigInt>) -> Value {
    let big = value.into();
    match big.to_i64() {
        Some(small) => Value::from(small),
        None => object(Int(big)),
    }
}

/// The large int behind a value, if it is one.
pub fn big(value: &Value) -> Option<&BigInt> {
    downcast::<Int>(value).map(|int| &int.0)
}

/// The `int` (or `bool`) behind a value, of any size.
pub fn as_bigint(value: &Value) -> Option<BigInt> {
    match view(value) {
        View::Int(int) => Some(int.into()),
        View::Bool(bool) => Some(i64::from(bool).into()),
        View::Object(object) => object.as_int().map(BigInt::from).or_else(|| big(value).cloned()),
        _ => None,
    }
}

/// A number, by what Python computes with.
#[derive(Debug, Clone, Copy)]
pub enum Num<'a> {
    /// An `int` or `bool`
    Int(i64),
    /// A large `int`
    Big(&'a BigInt),
    /// A `float`
    Float(f64),
}

impl<'a> Num<'a> {
    /// The number behind a value, if it is one.
    #[inline]
    pub fn of(value: &'a Value) -> Option<Num<'a>> {
        match view(value) {
            View::Int(int) => Some(Num::Int(int)),
            View::Float(float) => Some(Num::Float(float)),
            View::Bool(bool) => Some(Num::Int(i64::from(bool))),
            View::Object(object) => match downcast::<Int>(value) {
                Some(int) => Some(Num::Big(&int.0)),
                None => object.as_int().map(Num::Int),
            },
            _ => None,
        }
    }

    /// As `float`; `OverflowError` for ints beyond its range.
    pub fn to_f64(self) -> PyResult<f64> {
        match self {
            Num::Int(int) => Ok(int as f64),
            Num::Float(float) => Ok(float),
            Num::Big(big) => big_to_f64(big).ok_or_else(|| PyErr::overflow("int too large to convert to float")),
        }
    }

    /// As `int`; `None` for a float.
    pub fn to_bigint(self) -> Option<BigInt> {
        match self {
            Num::Int(int) => Some(int.into()),
            Num::Big(big) => Some(big.clone()),
            Num::Float(_) => None,
        }
    }
}

/// Rounds half to even, as CPython does; `None` on overflow.
pub(crate) fn big_to_f64(big: &BigInt) -> Option<f64> {
    let bits = big.bits();
    if bits <= 64 {
        // u64 to f64 rounds half to even
        let (sign, digits) = big.to_u64_digits();
        let magnitude = digits.first().copied().unwrap_or(0) as f64;
        return Some(if sign == Sign::Minus { -magnitude } else { magnitude });
    }
    if bits > 1024 {
        return None;
    }
    let shift = bits - 64;
    let magnitude = big.magnitude();
    let mut top = (magnitude >> shift).to_u64()?;
    // a sticky bit for what was cut off
    if magnitude.trailing_zeros().is_some_and(|zeros| zeros < shift) {
        top |= 1;
    }
    let value = top as f64 * 2f64.powi(i32::try_from(shift).ok()?);
    if value.is_infinite() {
        return None;
    }
    Some(if big.is_negative() { -value } else { value })
}

/// The exact integer part of a finite float.
pub(crate) fn float_to_bigint(value: f64) -> BigInt {
    let bits = value.abs().trunc().to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1075;
    let mantissa = (bits & 0x000f_ffff_ffff_ffff) | if (bits >> 52) & 0x7ff == 0 { 0 } else { 1 << 52 };
    let mut out = BigInt::from(mantissa);
    if exponent >= 0 {
        out <<= exponent as u64
    } else {
        out >>= (-exponent) as u64
    }
    if value.is_sign_negative() { -out } else { out }
}

/// `int(x)` of a float; `ValueError` for nan, `OverflowError` for infinity.
pub fn float_to_int(value: f64) -> PyResult {
    if value.is_nan() {
        return Err(PyErr::value_error("cannot convert float NaN to integer"));
    }
    if value.is_infinite() {
        return Err(PyErr::overflow("cannot convert float infinity to integer"));
    }
    if value.abs() < 9.0e18 {
        return Ok(Value::from(value as i64));
    }
    Ok(int(float_to_bigint(value)))
}

/// An arithmetic operator on two numbers.
pub fn binary(op: BinOp, a: Num<'_>, b: Num<'_>, it: &mut dyn Interp) -> PyResult {
    match (a, b) {
        (Num::Int(x), Num::Int(y)) => small(op, x, y, it),
        (Num::Float(x), Num::Float(y)) => float::binary(op, x, y),
        (Num::Float(x), y) => float::binary(op, x, y.to_f64()?),
        (x, Num::Float(y)) => float::binary(op, x.to_f64()?, y),
        (x, y) => {
            let (x, y) = (x.to_bigint().unwrap_or_default(), y.to_bigint().unwrap_or_default());
            large(op, x, y, it)
        }
    }
}

#[inline]
fn small(op: BinOp, x: i64, y: i64, it: &mut dyn Interp) -> PyResult {
    let quick = match op {
        BinOp::Add => x.checked_add(y),
        BinOp::Sub => x.checked_sub(y),
        BinOp::Mul => x.checked_mul(y),
        BinOp::FloorDiv if y != 0 => x.checked_div_euclid(y).map(|_| Integer::div_floor(&x, &y)),
        BinOp::Mod if y != 0 => {
            if y == -1 {
                Some(0)
            } else {
                Some(Integer::mod_floor(&x, &y))
            }
        }
        BinOp::Pow if y >= 0 => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
        BinOp::Div if y != 0 => {
            const EXACT: i64 = 1 << 53;
            if (-EXACT..=EXACT).contains(&x) && (-EXACT..=EXACT).contains(&y) {
                return Ok(Value::from(x as f64 / y as f64));
            }
            None
        }
        _ => None,
    };
    match quick {
        Some(int) => Ok(Value::from(int)),
        None => large(op, x.into(), y.into(), it),
    }
}

fn large(op: BinOp, x: BigInt, y: BigInt, it: &mut dyn Interp) -> PyResult {
    let zero = |text| Err(PyErr::new("ZeroDivisionError", text));
    match op {
        BinOp::Add => Ok(int(x + y)),
        BinOp::Sub => Ok(int(x - y)),
        BinOp::Mul => {
            let (bits_x, bits_y) = (x.bits(), y.bits());
            it.allocate(((bits_x + bits_y) / 8) as usize)?;
            it.charge((bits_x / 64).saturating_mul(bits_y / 64) / 64)?;
            Ok(int(x * y))
        }
        BinOp::FloorDiv if y.is_zero() => zero("integer division or modulo by zero"),
        BinOp::Mod if y.is_zero() => zero("integer modulo by zero"),
        BinOp::Div if y.is_zero() => zero("division by zero"),
        BinOp::FloorDiv | BinOp::Mod => {
            it.charge((x.bits() / 64).saturating_mul(y.bits() / 64) / 16)?;
            Ok(int(if op == BinOp::Mod { x.mod_floor(&y) } else { x.div_floor(&y) }))
        }
        BinOp::Div => true_division(&x, &y).map(Value::from),
        BinOp::Pow => power(x, y, it),
    }
}

fn power(x: BigInt, y: BigInt, it: &mut dyn Interp) -> PyResult {
    if y.is_negative() {
        let (x, y) = (Num::Big(&x).to_f64()?, Num::Big(&y).to_f64()?);
        return float::binary(BinOp::Pow, x, y);
    }
    if x.is_zero() || x == BigInt::from(1) {
        return Ok(int(if y.is_zero() { BigInt::from(1) } else { x }));
    }
    if x == BigInt::from(-1) {
        return Ok(Value::from(if y.is_even() { 1 } else { -1 }));
    }
    let bits = y.to_u64().and_then(|y| y.checked_mul(x.bits())).unwrap_or(u64::MAX);
    it.allocate(usize::try_from(bits / 8).unwrap_or(usize::MAX))?;
    it.charge((bits / 64).saturating_mul(bits / 64) / 64)?;
    let exponent = y.to_u32().ok_or_else(|| PyErr::limit("an exponent is too large"))?;
    Ok(int(Pow::pow(x, exponent)))
}

/// `x / y` of ints, rounded once, as CPython does.
fn true_division(x: &BigInt, y: &BigInt) -> PyResult<f64> {
    let overflow = || PyErr::overflow("integer division result too large for a float");
    if x.is_zero() {
        return Ok(if y.is_negative() { -0.0 } else { 0.0 });
    }
    let negative = x.is_negative() != y.is_negative();
    let (a, b) = (x.abs(), y.abs());
    let difference = a.bits() as i64 - b.bits() as i64;
    if difference > 1025 {
        return Err(overflow());
    }
    if difference < -1100 {
        return Ok(if negative { -0.0 } else { 0.0 });
    }
    // scale so that the quotient keeps 64 or 65 bits, or fewer where the result is subnormal
    let shift = (64 - difference).min(1074 + 2);
    let (scaled, divisor) = if shift >= 0 { (a << shift as u64, b) } else { (a, b << (-shift) as u64) };
    let (mut quotient, remainder) = scaled.div_rem(&divisor);
    // two more bits, the last of them sticky, make the final rounding exact
    quotient <<= 2u32;
    if !remainder.is_zero() {
        quotient += 1;
    }
    let shift = shift + 2;
    let value = round_scaled(&quotient, shift);
    if value.is_infinite() {
        return Err(overflow());
    }
    Ok(if negative { -value } else { value })
}

/// `quotient * 2**-shift`, rounded half to even once (also for subnormal results).
fn round_scaled(quotient: &BigInt, shift: i64) -> f64 {
    let bits = quotient.bits() as i64;
    // the exponent of the lowest bit a float of this size can hold
    let lowest = (bits - shift - 53).max(-1074);
    let cut = lowest + shift;
    if cut <= 0 {
        return big_to_f64(quotient).unwrap_or(f64::INFINITY) * 2f64.powi(-(shift as i32));
    }
    let magnitude = quotient.magnitude();
    let mut kept = magnitude >> cut as u64;
    let half = magnitude.bit(cut as u64 - 1);
    let rest = magnitude.trailing_zeros().is_some_and(|zeros| (zeros as i64) < cut - 1);
    if half && (rest || kept.bit(0)) {
        kept += 1u32;
    }
    let kept = kept.to_u64().unwrap_or(u64::MAX) as f64;
    if lowest < -1000 {
        kept * 2f64.powi(-1000) * 2f64.powi((lowest + 1000) as i32)
    } else {
        kept * 2f64.powi(lowest as i32)
    }
}

/// `-x` and `+x`.
pub fn unary(op: UnaryOp, a: Num<'_>) -> Value {
    match (op, a) {
        (UnaryOp::Pos, Num::Int(x)) => Value::from(x),
        (UnaryOp::Pos, Num::Float(x)) => Value::from(x),
        (UnaryOp::Pos, Num::Big(x)) => int(x.clone()),
        (UnaryOp::Neg, Num::Int(x)) => x.checked_neg().map_or_else(|| int(-BigInt::from(x)), Value::from),
        (UnaryOp::Neg, Num::Float(x)) => Value::from(-x),
        (UnaryOp::Neg, Num::Big(x)) => int(-x.clone()),
    }
}

/// The order of two numbers, exact between ints and floats; `None` when one is nan.
pub fn order(a: Num<'_>, b: Num<'_>) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Num::Int(x), Num::Int(y)) => Some(x.cmp(&y)),
        (Num::Float(x), Num::Float(y)) => x.partial_cmp(&y),
        (Num::Float(x), y) => float_order(x, y),
        (x, Num::Float(y)) => float_order(y, x).map(std::cmp::Ordering::reverse),
        (x, y) => Some(x.to_bigint()?.cmp(&y.to_bigint()?)),
    }
}

fn float_order(x: f64, y: Num<'_>) -> Option<std::cmp::Ordering> {
    if x.is_nan() {
        return None;
    }
    if let Num::Int(y) = y
        && y.unsigned_abs() <= 1 << 53
    {
        return x.partial_cmp(&(y as f64));
    }
    if x.is_infinite() {
        return x.partial_cmp(&0.0);
    }
    let whole = float_to_bigint(x).cmp(&y.to_bigint()?);
    Some(whole.then_with(|| x.fract().partial_cmp(&0.0).unwrap_or(std::cmp::Ordering::Equal)))
}

/// A comparison of two numbers.
#[inline]
pub fn compare(op: CmpOp, a: Num<'_>, b: Num<'_>) -> bool {
    let Some(order) = order(a, b) else { return op == CmpOp::Ne };
    holds(op, order)
}

/// Whether an order satisfies a comparison operator.
#[inline]
pub(crate) fn holds(op: CmpOp, order: std::cmp::Ordering) -> bool {
    match op {
        CmpOp::Eq => order.is_eq(),
        CmpOp::Ne => order.is_ne(),
        CmpOp::Lt => order.is_lt(),
        CmpOp::Le => order.is_le(),
        CmpOp::Gt => order.is_gt(),
        CmpOp::Ge => order.is_ge(),
    }
}

/// The key of a number in a dict: integral floats share the key of the int.
pub(crate) fn number_key(num: Num<'_>) -> HashKey {
    match num {
        Num::Int(int) => HashKey::Int(int),
        Num::Big(big) => HashKey::BigInt(big.clone()),
        Num::Float(float) if float.is_finite() && float.fract() == 0.0 => {
            let big = float_to_bigint(float);
            big.to_i64().map_or_else(|| HashKey::BigInt(big), HashKey::Int)
        }
        Num::Float(float) => HashKey::Float(float.to_bits()),
    }
}

/// `round(x, ndigits)` of an int: half to even at a power of ten; without effect for digits after the point.
pub fn round_int(value: &BigInt, ndigits: i64, it: &mut dyn Interp) -> PyResult {
    if ndigits >= 0 {
        return Ok(int(value.clone()));
    }
    let digits = ndigits.unsigned_abs();
    it.allocate(usize::try_from(digits).unwrap_or(usize::MAX) / 2)?;
    if digits > value.bits() {
        return Ok(Value::from(0));
    }
    let unit: BigInt = Pow::pow(BigInt::from(10), digits as u32);
    let (mut quotient, remainder) = value.div_mod_floor(&unit);
    let twice: BigInt = remainder * 2;
    if twice > unit || (twice == unit && quotient.is_odd()) {
        quotient += 1;
    }
    Ok(int(quotient * unit))
}
