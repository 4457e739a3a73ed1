//! Python's builtin functions on values of any type: `repr`, `str`, `len`, `sorted`, `round`...

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::number::{self, Num};
use super::{
    Args, CmpOp, Complex, Interp, PyErr, PyResult, UnaryOp, Value, View, cargs, compare, downcast, float, guard,
    repr as text_repr, spec, view,
};

/// `None`.
pub fn none() -> Value {
    Value::from(())
}

/// `type(x).__name__`: unlike [`type_name`], which C code prints with its module, the bare name.
pub fn class_name(value: &Value) -> String {
    let name = type_name(value);
    name.rsplit('.').next().map(str::to_owned).unwrap_or(name)
}

/// `type(x).__name__`.
pub fn type_name(value: &Value) -> String {
    match view(value) {
        View::None => "NoneType".to_owned(),
        View::Bool(_) => "bool".to_owned(),
        View::Int(_) => "int".to_owned(),
        View::Float(_) => "float".to_owned(),
        View::Str(_) => if value.is_safe() { "Markup" } else { "str" }.to_owned(),
        View::Bytes(_) => "bytes".to_owned(),
        View::Object(object) => object.type_name().to_owned(),
        View::Foreign => "object".to_owned(),
    }
}

/// `AttributeError: 'X' object has no attribute 'y'`.
pub fn no_attribute(value: &Value, name: &str) -> PyErr {
    PyErr::attribute_error(format!("'{}' object has no attribute '{name}'", type_name(value)))
}

/// `bool(x)`.
#[inline]
pub fn truth(value: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    match view(value) {
        View::None => Ok(false),
        View::Bool(bool) => Ok(bool),
        View::Int(int) => Ok(int != 0),
        View::Float(float) => Ok(float != 0.0),
        View::Str(text) => Ok(!text.is_empty()),
        View::Bytes(bytes) => Ok(!bytes.is_empty()),
        View::Object(object) => object.truth(it),
        View::Foreign => Ok(value.is_true()),
    }
}

/// Appends `repr(x)`.
pub(crate) fn push_repr(value: &Value, out: &mut String, it: &mut dyn Interp) -> PyResult<()> {
    match view(value) {
        View::Int(int) => {
            let _ = write!(out, "{int}");
        }
        View::Object(_) => {
            let text = repr(value, it)?;
            // a list that holds one list many times prints to far more than it takes in memory
            it.charge(12 + text.len() as u64 / 8)?;
            out.push_str(&text);
        }
        _ => out.push_str(&repr(value, it)?),
    }
    Ok(())
}

/// `repr(x)`.
pub fn repr(value: &Value, it: &mut dyn Interp) -> PyResult<String> {
    Ok(match view(value) {
        View::None => "None".to_owned(),
        View::Bool(true) => "True".to_owned(),
        View::Bool(false) => "False".to_owned(),
        View::Int(int) => int.to_string(),
        View::Float(float) => text_repr::repr_float(float),
        View::Str(text) if value.is_safe() => format!("Markup({})", text_repr::repr_str(text)),
        View::Str(text) => text_repr::repr_str(text),
        View::Bytes(bytes) => text_repr::repr_bytes(bytes),
        View::Object(object) => return object.repr(it),
        View::Foreign => return Err(PyErr::unsupported("printing this object")),
    })
}

/// `str(x)`.
pub fn str(value: &Value, it: &mut dyn Interp) -> PyResult<String> {
    match view(value) {
        View::Str(text) => Ok(text.to_owned()),
        View::Object(object) => object.str(it),
        _ => repr(value, it),
    }
}

/// `format(x, spec)`.
pub fn format(value: &Value, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
    match view(value) {
        View::Str(text) => spec::format_str(text, spec, if value.is_safe() { "Markup" } else { "str" }, it),
        View::Bool(_) if spec.is_empty() => str(value, it),
        View::Bool(bool) => spec::format_integral(&Num::Int(i64::from(bool)), spec, "bool", it),
        View::Int(int) => spec::format_int(&Num::Int(int), spec, it),
        View::Float(float) => spec::format_float(float, spec, it),
        View::Object(object) => object.format(spec, it),
        _ if spec.is_empty() => str(value, it),
        _ => Err(PyErr::type_error(format!("unsupported format string passed to {}.__format__", type_name(value)))),
    }
}

/// `a is b`, as far as values can tell: objects by identity, everything else by type and value.
pub fn identical(a: &Value, b: &Value) -> bool {
    match (view(a), view(b)) {
        (View::Object(x), View::Object(y)) => {
            guard::address(x) == guard::address(y) && !x.is_always_new() || x.interned(b)
        }
        (View::None, View::None) => true,
        (View::Bool(x), View::Bool(y)) => x == y,
        (View::Int(x), View::Int(y)) => x == y,
        (View::Float(x), View::Float(y)) => x.to_bits() == y.to_bits(),
        (View::Str(x), View::Str(y)) => x == y && a.is_safe() == b.is_safe(),
        (View::Bytes(x), View::Bytes(y)) => x == y,
        _ => false,
    }
}

/// `a is b or a == b`: how containers compare their items.
pub fn identical_or_equal(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    if identical(a, b) { Ok(true) } else { compare(CmpOp::Eq, a, b, it) }
}

/// The number of code points of a text.
pub(crate) fn char_count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// `len(x)`.
pub fn len(value: &Value, it: &mut dyn Interp) -> PyResult<usize> {
    match view(value) {
        View::Str(text) => return Ok(char_count(text)),
        View::Bytes(bytes) => return Ok(bytes.len()),
        View::Object(object) => {
            if let Some(len) = object.len(it) {
                return len;
            }
            if let Some(text) = object.as_text() {
                return Ok(char_count(text));
            }
        }
        _ => {}
    }
    Err(PyErr::type_error(format!("object of type '{}' has no len()", type_name(value))))
}

/// True when `callable(x)`.
pub fn is_callable(value: &Value) -> bool {
    matches!(view(value), View::Object(object) if object.is_callable())
}

/// `sorted(items, key=..., reverse=...)`: stable, by `<` alone.
pub fn sorted(items: Vec<Value>, key: Option<&Value>, reverse: bool, it: &mut dyn Interp) -> PyResult<Vec<Value>> {
    let mut keyed: Vec<(Value, Value)> = Vec::with_capacity(items.len());
    for item in items {
        let by = match key {
            Some(key) => it.call(key, &Args::positional(std::slice::from_ref(&item)))?,
            None => item.clone(),
        };
        keyed.push((by, item));
    }
    sort_keyed(&mut keyed, reverse, it)?;
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

/// Sorts pairs of key and item by key as `list.sort` does; the first failing comparison is the error.
pub fn sort_keyed(keyed: &mut Vec<(Value, Value)>, reverse: bool, it: &mut dyn Interp) -> PyResult<()> {
    it.charge(keyed.len() as u64 / 4)?;
    // Python reverses before and after, which keeps equal items in order
    if reverse {
        keyed.reverse();
    }
    let result = super::sort::merge_sort(keyed, it);
    if reverse {
        keyed.reverse();
    }
    result
}

/// The order of two values by `<`, for searching the smallest.
pub fn less(a: &Value, b: &Value, it: &mut dyn Interp) -> PyResult<bool> {
    compare(CmpOp::Lt, a, b, it)
}

/// `round(x, ndigits)`; `None` for no digits.
pub fn round(value: &Value, ndigits: Option<&Value>, it: &mut dyn Interp) -> PyResult {
    let Some(num) = Num::of(value) else {
        return Err(PyErr::type_error(format!("type {} doesn't define __round__ method", type_name(value))));
    };
    let digits = match ndigits {
        Some(value) if !value.is_none() => Some(cargs::index(value)?),
        _ => None,
    };
    match (num, digits) {
        (Num::Float(float), None) => float::round_float_to_int(float),
        (Num::Float(float), Some(digits)) => float::round_float(float, digits).map(Value::from),
        (num, digits) => number::round_int(&num.to_bigint().unwrap_or_default(), digits.unwrap_or(0), it),
    }
}

/// `abs(x)`.
pub fn abs(value: &Value) -> PyResult {
    match Num::of(value) {
        Some(Num::Float(float)) => Ok(Value::from(float.abs())),
        Some(num) if number::order(num, Num::Int(0)) == Some(Ordering::Less) => Ok(number::unary(UnaryOp::Neg, num)),
        Some(num) => Ok(number::unary(UnaryOp::Pos, num)),
        None if downcast::<Complex>(value).is_some() => {
            downcast::<Complex>(value).map_or(Ok(0.0), |complex| complex.magnitude()).map(Value::from)
        }
        None => {
            let own = if let View::Object(object) = view(value) { object.abs() } else { None };
            own.unwrap_or_else(|| Err(PyErr::type_error(format!("bad operand type for abs(): '{}'", type_name(value)))))
        }
    }
}
