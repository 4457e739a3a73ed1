//! `float` arithmetic, rounding, and reading numbers.

use num_bigint::BigInt;
use num_traits::Num as _;

use super::chars::{decimal_value, is_space};
use super::number::{self, MAX_STR_DIGITS};
use super::repr::repr_str;
use super::{BinOp, PyErr, PyResult, Value, View, view};

/// An arithmetic operator on two floats.
pub(crate) fn binary(op: BinOp, x: f64, y: f64) -> PyResult {
    let zero = |text: &'static str| Err(PyErr::new("ZeroDivisionError", text));
    let value = match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div if y == 0.0 => return zero("float division by zero"),
        BinOp::Div => x / y,
        BinOp::FloorDiv if y == 0.0 => return zero("float floor division by zero"),
        BinOp::FloorDiv => floor_division(x, y).0,
        BinOp::Mod if y == 0.0 => return zero("float modulo"),
        BinOp::Mod => modulo(x, y),
        BinOp::Pow => return power(x, y),
    };
    Ok(Value::from(value))
}

fn modulo(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest == 0.0 {
        return 0f64.copysign(y);
    }
    if (y < 0.0) != (rest < 0.0) { rest + y } else { rest }
}

fn floor_division(x: f64, y: f64) -> (f64, f64) {
    let mut rest = x % y;
    let mut quotient = (x - rest) / y;
    if rest == 0.0 {
        rest = 0f64.copysign(y);
    } else if (y < 0.0) != (rest < 0.0) {
        rest += y;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0f64.copysign(x / y), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

fn power(x: f64, y: f64) -> PyResult {
    if y == 0.0 || x == 1.0 {
        return Ok(Value::from(1.0));
    }
    if x == 0.0 && y < 0.0 && y.is_finite() {
        return Err(PyErr::new("ZeroDivisionError", "0.0 cannot be raised to a negative power"));
    }
    if x.is_finite() && y.is_finite() && x < 0.0 && y.fract() != 0.0 {
        return super::complex::power(x, y);
    }
    let value = x.powf(y);
    if value.is_infinite() && x.is_finite() && y.is_finite() {
        return Err(PyErr::overflow("(34, 'Numerical result out of range')"));
    }
    Ok(Value::from(value))
}

/// `round(x, ndigits)` of a float: correctly rounded in decimal, half to even.
pub fn round_float(value: f64, ndigits: i64) -> PyResult<f64> {
    if !value.is_finite() || ndigits > 323 {
        return Ok(value);
    }
    if ndigits < -308 {
        return Ok(0f64.copysign(value));
    }
    let text = if ndigits >= 0 {
        format!("{value:.*}", ndigits as usize)
    } else {
        let digits = number::float_to_bigint(value.abs());
        let unit: BigInt = num_traits::Pow::pow(BigInt::from(10), ndigits.unsigned_abs() as u32);
        let (mut quotient, rest) = num_integer::Integer::div_rem(&digits, &unit);
        let twice: BigInt = rest * 2;
        let up = twice > unit || (twice == unit && (value.fract() != 0.0 || num_integer::Integer::is_odd(&quotient)));
        if up {
            quotient += 1;
        }
        let sign = if value.is_sign_negative() { "-" } else { "" };
        format!("{sign}{}", quotient * unit)
    };
    let rounded: f64 = text.parse().unwrap_or(value);
    if rounded.is_infinite() {
        return Err(PyErr::overflow("rounded value too large to represent"));
    }
    Ok(rounded)
}

/// `round(x)` of a float, an `int`: half to even.
pub fn round_float_to_int(value: f64) -> PyResult {
    number::float_to_int(if value.is_finite() { value.round_ties_even() } else { value })
}

/// Decimal digits of any script as ASCII, spaces of any kind as a blank: how CPython reads numbers.
fn to_ascii(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_ascii() => c,
            c if is_space(c) => ' ',
            c => decimal_value(c).and_then(|d| char::from_digit(d, 10)).unwrap_or('?'),
        })
        .collect()
}

/// Drops underscores that stand between digits; `None` when one stands elsewhere.
fn without_underscores(text: &str, digit: impl Fn(char) -> bool) -> Option<String> {
    if !text.contains('_') {
        return Some(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut last = '\0';
    for c in text.chars() {
        if c == '_' {
            if !digit(last) {
                return None;
            }
        } else {
            if last == '_' && !digit(c) {
                return None;
            }
            out.push(c);
        }
        last = c;
    }
    (last != '_').then_some(out)
}

/// `float(text)`.
pub fn parse_float(text: &str) -> PyResult<f64> {
    let fail = || PyErr::value_error(format!("could not convert string to float: {}", repr_str(text)));
    let ascii = to_ascii(text);
    let trimmed = ascii.trim_matches(is_space);
    let plain = without_underscores(trimmed, |c| c.is_ascii_digit()).ok_or_else(fail)?;
    read_float(&plain).ok_or_else(fail)
}

/// A float in Python's form without spaces or underscores.
pub(crate) fn read_float(plain: &str) -> Option<f64> {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let lower = unsigned.to_ascii_lowercase();
    let value = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => {
            let starts = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            if !starts || !unsigned.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
                return None;
            }
            unsigned.parse().ok()?
        }
    };
    Some(if plain.starts_with('-') { -value } else { value })
}

/// `int(text, base)`; base 0 reads a prefix.
pub fn parse_int(text: &str, base: u32) -> PyResult {
    let fail = || PyErr::value_error(format!("invalid literal for int() with base {base}: {}", repr_str(text)));
    if base == 1 || base > 36 {
        return Err(PyErr::value_error("int() base must be >= 2 and <= 36, or 0"));
    }
    let ascii = to_ascii(text);
    let trimmed = ascii.trim_matches(is_space);
    let (negative, mut rest) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let prefix =
        |letter: char| rest.strip_prefix('0').and_then(|r| r.strip_prefix([letter, letter.to_ascii_uppercase()]));
    let mut radix = base;
    for (letter, of) in [('x', 16), ('o', 8), ('b', 2)] {
        if (base == of || base == 0)
            && let Some(after) = prefix(letter)
        {
            radix = of;
            rest = after.strip_prefix('_').unwrap_or(after);
            break;
        }
    }
    if radix == 0 {
        radix = 10;
        // base 0 refuses leading zeros, except for zero itself
        if rest.starts_with('0') && rest.bytes().any(|b| b != b'0' && b != b'_') {
            return Err(fail());
        }
    }
    let digits = without_underscores(rest, |c| c.is_digit(radix)).ok_or_else(fail)?;
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(fail());
    }
    if !radix.is_power_of_two() && digits.len() > MAX_STR_DIGITS {
        return Err(PyErr::value_error(format!(
            "Exceeds the limit ({MAX_STR_DIGITS} digits) for integer string conversion: value has {} digits; use \
             sys.set_int_max_str_digits() to increase the limit",
            digits.len()
        )));
    }
    if let Ok(small) = i64::from_str_radix(&digits, radix) {
        return Ok(Value::from(if negative { -small } else { small }));
    }
    let big = BigInt::from_str_radix(&digits, radix).map_err(|_| fail())?;
    Ok(number::int(if negative { -big } else { big }))
}

/// `int(x)` without a base.
pub fn to_int(value: &Value) -> PyResult {
    match view(value) {
        View::Int(int) => Ok(Value::from(int)),
        View::Bool(bool) => Ok(Value::from(i64::from(bool))),
        View::Float(float) => number::float_to_int(float),
        View::Bytes(bytes) => parse_int(&String::from_utf8_lossy(bytes), 10).map_err(|error| {
            if error.message.starts_with("invalid literal") {
                PyErr::value_error(format!(
                    "invalid literal for int() with base 10: {}",
                    super::repr::repr_bytes(bytes)
                ))
            } else {
                error
            }
        }),
        _ => {
            if number::big(value).is_some() {
                return Ok(value.clone());
            }
            match super::text(value) {
                Some(text) => parse_int(text, 10).map_err(|error| about_markup(error, value, text)),
                None => Err(PyErr::type_error(format!(
                    "int() argument must be a string, a bytes-like object or a real number, not '{}'",
                    super::type_name(value)
                ))),
            }
        }
    }
}

/// Errors show the `repr` of what was given, also of a safe string.
fn about_markup(mut error: PyErr, value: &Value, text: &str) -> PyErr {
    if value.is_safe()
        && let Some(start) = error.message.strip_suffix(&repr_str(text))
    {
        error.message = format!("{start}Markup({})", repr_str(text));
    }
    error
}

/// `float(x)`.
pub fn to_float(value: &Value) -> PyResult<f64> {
    if let Some(num) = number::Num::of(value) {
        return num.to_f64();
    }
    if let Some(text) = super::text(value) {
        return parse_float(text).map_err(|error| about_markup(error, value, text));
    }
    if let View::Bytes(bytes) = view(value) {
        return parse_float(&String::from_utf8_lossy(bytes)).map_err(|_| {
            PyErr::value_error(format!("could not convert string to float: {}", super::repr::repr_bytes(bytes)))
        });
    }
    Err(PyErr::type_error(format!(
        "float() argument must be a string or a real number, not '{}'",
        super::type_name(value)
    )))
}

/// Methods of `int`, `bool` and `float`.
pub(crate) fn call_number_method(
    value: &Value,
    name: &str,
    args: &super::Args<'_>,
    it: &mut dyn super::Interp,
) -> PyResult {
    use super::cargs;
    let ty = match view(value) {
        View::Float(_) => "float",
        View::Bool(_) => "bool",
        _ => "int",
    };
    let qualified = format!("{ty}.{name}");
    let integer = || number::as_bigint(value).unwrap_or_default();
    match (name, view(value)) {
        ("is_integer", View::Float(float)) => {
            cargs::none(&qualified, args)?;
            Ok(Value::from(float.is_finite() && float.fract() == 0.0))
        }
        ("conjugate", _) => {
            cargs::none(&qualified, args)?;
            super::unary(super::UnaryOp::Pos, value, it)
        }
        ("as_integer_ratio", View::Float(float)) => {
            cargs::none(&qualified, args)?;
            ratio(float)
        }
        ("as_integer_ratio", _) => {
            cargs::none(&qualified, args)?;
            Ok(super::tuple(vec![number::int(integer()), Value::from(1)]))
        }
        ("to_bytes", _) => to_bytes(&integer(), args),
        ("from_bytes", _) => from_bytes(args),
        ("bit_length", _) => {
            cargs::none(&qualified, args)?;
            Ok(Value::from(integer().bits() as i64))
        }
        ("bit_count", _) => {
            cargs::none(&qualified, args)?;
            Ok(Value::from(integer().magnitude().count_ones() as i64))
        }
        _ => Err(PyErr::unsupported(format!("{qualified}()"))),
    }
}

fn ratio(value: f64) -> PyResult {
    if value.is_nan() {
        return Err(PyErr::value_error("cannot convert NaN to integer ratio"));
    }
    if value.is_infinite() {
        return Err(PyErr::overflow("cannot convert Infinity to integer ratio"));
    }
    let (mut numerator, mut shift) = (value, 0u32);
    while numerator.fract() != 0.0 {
        numerator *= 2.0;
        shift += 1;
    }
    let denominator: BigInt = BigInt::from(1) << shift;
    Ok(super::tuple(vec![number::int(number::float_to_bigint(numerator)), number::int(denominator)]))
}

/// `byteorder` and `signed` as both methods read them: true for big endian.
fn byte_order(order: Option<&Value>, signed: Option<&Value>, it: &mut dyn super::Interp) -> PyResult<(bool, bool)> {
    let big = match order.map(|value| super::text(value).unwrap_or_default()) {
        None | Some("big") => true,
        Some("little") => false,
        Some(_) => return Err(PyErr::value_error("byteorder must be either 'little' or 'big'")),
    };
    Ok((big, signed.map_or(Ok(false), |value| super::truth(value, it))?))
}

fn to_bytes(int: &BigInt, args: &super::Args<'_>) -> PyResult {
    let mut it = super::Plain::default();
    let [length, order, signed] = super::cargs::keywords("to_bytes", &["length", "byteorder", "*signed"], 0, args)?;
    let length = length.map_or(Ok(1), super::cargs::index)?;
    let (big, signed) = byte_order(order, signed, &mut it)?;
    let Ok(length) = usize::try_from(length) else {
        return Err(PyErr::value_error("length argument must be non-negative"));
    };
    super::Interp::allocate(&mut it, length)?;
    let negative = num_traits::Signed::is_negative(int);
    if negative && !signed {
        return Err(PyErr::overflow("can't convert negative int to unsigned"));
    }
    let mut bytes = if signed { int.to_signed_bytes_le() } else { int.magnitude().to_bytes_le() };
    if bytes == [0] {
        bytes.clear();
    }
    if bytes.len() > length {
        return Err(PyErr::overflow("int too big to convert"));
    }
    bytes.resize(length, if negative { 0xff } else { 0 });
    if big {
        bytes.reverse();
    }
    Ok(Value::from_bytes(bytes))
}

fn from_bytes(args: &super::Args<'_>) -> PyResult {
    let mut it = super::Plain::default();
    let [bytes, order, signed] = super::cargs::keywords("from_bytes", &["bytes", "byteorder", "*signed"], 1, args)?;
    let (big, signed) = byte_order(order, signed, &mut it)?;
    let Some(View::Bytes(bytes)) = bytes.map(view) else {
        return Err(PyErr::unsupported("int.from_bytes() of what is no bytes"));
    };
    let mut bytes = bytes.to_vec();
    if big {
        bytes.reverse();
    }
    Ok(number::int(if signed {
        BigInt::from_signed_bytes_le(&bytes)
    } else {
        BigInt::from_bytes_le(num_bigint::Sign::Plus, &bytes)
    }))
}
