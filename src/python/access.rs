//! Attributes, subscripts, slices and calls on values of any type.

use super::builtins::char_count;
use super::number::{self, Num};
use super::seq::{self, Indices};
use super::{
    Args, Interp, List, Markup, PyErr, PyResult, Range, Slice, Tuple, Value, View, bytes, downcast, float, markup,
    no_attribute, object, str_methods, type_name, view,
};

/// The code point at an index.
fn char_at(text: &str, key: &Value) -> PyResult {
    let wrong = "string indices must be integers";
    let error = |error: PyErr| {
        if error.class == "TypeError" {
            PyErr::type_error(format!("string indices must be integers, not '{}'", type_name(key)))
        } else {
            error
        }
    };
    let at = seq::position(key, char_count(text), "string index out of range", wrong).map_err(error)?;
    let found = if text.is_ascii() { text.get(at..=at) } else { None };
    if let Some(found) = found {
        return Ok(Value::from(found));
    }
    let c = text.chars().nth(at).unwrap_or_default();
    Ok(Value::from(&*c.encode_utf8(&mut [0; 4])))
}

/// `x[key]`.
pub fn getitem(value: &Value, key: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(cut) = downcast::<Slice>(key)
        && !matches!(view(value), View::Object(object) if object.as_text().is_none() && !is_sequence(value))
    {
        return slice(value, &cut.start, &cut.stop, &cut.step, it);
    }
    match view(value) {
        View::Str(text) => {
            let item = char_at(text, key)?;
            Ok(if value.is_safe() { Markup::wrap(super::text(&item).unwrap_or_default()) } else { item })
        }
        View::Bytes(bytes) => {
            let wrong = "byte indices must be integers or slices";
            let at = seq::position(key, bytes.len(), "index out of range", wrong)?;
            Ok(Value::from(i64::from(bytes.get(at).copied().unwrap_or_default())))
        }
        View::Object(object) => match object.getitem(key, it) {
            Some(result) => result,
            None => match object.as_text() {
                Some(text) => char_at(text, key),
                None => Err(not_subscriptable(value)),
            },
        },
        _ => Err(not_subscriptable(value)),
    }
}

fn not_subscriptable(value: &Value) -> PyErr {
    if let Some(ty) = downcast::<super::Type>(value) {
        return PyErr::type_error(format!("type '{}' is not subscriptable", ty.name()));
    }
    PyErr::type_error(format!("'{}' object is not subscriptable", type_name(value)))
}

fn is_sequence(value: &Value) -> bool {
    downcast::<List>(value).is_some() || downcast::<Tuple>(value).is_some() || downcast::<Range>(value).is_some()
}

/// `x[start:stop:step]`; what was not written is `None`.
pub fn slice(value: &Value, start: &Value, stop: &Value, step: &Value, it: &mut dyn Interp) -> PyResult {
    if let Some(text) = super::text(value) {
        let cut = slice_str(text, start, stop, step)?;
        return Ok(if value.is_safe() { Markup::wrap(cut) } else { Value::from(cut) });
    }
    if let View::Bytes(bytes) = view(value) {
        return Ok(Value::from_bytes(seq::pick(bytes, Indices::new(start, stop, step, bytes.len())?)));
    }
    if let Some(list) = downcast::<List>(value) {
        return Ok(list.slice(Indices::new(start, stop, step, list.size())?));
    }
    if let Some(tuple) = downcast::<Tuple>(value) {
        return Ok(tuple.slice(Indices::new(start, stop, step, tuple.items().len())?));
    }
    if let Some(range) = downcast::<Range>(value) {
        return range.slice(start, stop, step);
    }
    let key = object(Slice { start: start.clone(), stop: stop.clone(), step: step.clone() });
    match view(value) {
        View::Object(object) => object.getitem(&key, it).unwrap_or_else(|| Err(not_subscriptable(value))),
        _ => Err(not_subscriptable(value)),
    }
}

fn slice_str(text: &str, start: &Value, stop: &Value, step: &Value) -> PyResult<String> {
    let indices = Indices::new(start, stop, step, char_count(text))?;
    if text.is_ascii() {
        let bytes = seq::pick(text.as_bytes(), indices);
        return Ok(String::from_utf8(bytes).unwrap_or_default());
    }
    if indices.step == 1 {
        return Ok(text.chars().skip(indices.start as usize).take(indices.count).collect());
    }
    let chars: Vec<char> = text.chars().collect();
    Ok(indices.iter().filter_map(|at| chars.get(at)).collect())
}

/// True when `x.name` is a method of the value's type.
pub fn has_method(value: &Value, name: &str) -> bool {
    match view(value) {
        View::Str(_) => str_methods::has(name) || (value.is_safe() && markup::has(name)),
        View::Bytes(_) => bytes::has(name),
        View::Int(_) | View::Bool(_) => number_method(name),
        View::Float(_) => matches!(name, "is_integer" | "as_integer_ratio" | "conjugate" | "hex" | "fromhex"),
        View::Object(object) => {
            object.has_method(name)
                || (object.as_text().is_some() && str_methods::has(name))
                || (number::big(value).is_some() && number_method(name))
        }
        _ => false,
    }
}

fn number_method(name: &str) -> bool {
    matches!(name, "bit_length" | "bit_count" | "conjugate" | "as_integer_ratio" | "to_bytes" | "from_bytes")
}

/// `getattr(x, name)`; `None` is `AttributeError`.
pub fn getattr(value: &Value, name: &str, it: &mut dyn Interp) -> PyResult<Option<Value>> {
    if let View::Object(object) = view(value)
        && let Some(result) = object.getattr(name, it)
    {
        return result.map(Some);
    }
    if has_method(value, name) {
        return Ok(Some(super::bound_method(value, name)));
    }
    if let Some(num) = Num::of(value) {
        return Ok(match (name, num) {
            ("real" | "numerator", Num::Int(int)) => Some(Value::from(int)),
            ("real" | "numerator", Num::Big(_)) => Some(value.clone()),
            ("imag", Num::Int(_) | Num::Big(_)) => Some(Value::from(0)),
            ("denominator", Num::Int(_) | Num::Big(_)) => Some(Value::from(1)),
            ("real", Num::Float(float)) => Some(Value::from(float)),
            ("imag", Num::Float(_)) => Some(Value::from(0.0)),
            _ => special_attribute(value, name)?,
        });
    }
    special_attribute(value, name)
}

/// `__x__` of builtins exists in Python and is nothing a template should need.
fn special_attribute(value: &Value, name: &str) -> PyResult<Option<Value>> {
    if name == "__class__"
        && let Some(class) = super::types::class_of(value)
    {
        return Ok(Some(super::builtin_type(class)));
    }
    if name.len() > 4 && name.starts_with("__") && name.ends_with("__") && COMMON_SPECIAL.contains(&name) {
        return Err(PyErr::unsupported(format!("the attribute '{name}' of a '{}'", type_name(value))));
    }
    Ok(None)
}

const COMMON_SPECIAL: &[&str] = &[
    "__class__",
    "__doc__",
    "__dict__",
    "__module__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__contains__",
    "__add__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__str__",
    "__repr__",
    "__hash__",
    "__init__",
    "__new__",
    "__format__",
    "__sizeof__",
    "__dir__",
    "__reduce__",
    "__reduce_ex__",
    "__getattribute__",
    "__setattr__",
    "__delattr__",
    "__init_subclass__",
    "__subclasshook__",
    "__mul__",
    "__mod__",
    "__rmul__",
    "__rmod__",
    "__next__",
    "__call__",
    "__name__",
    "__qualname__",
    "__self__",
    "__int__",
    "__float__",
    "__bool__",
    "__index__",
    "__abs__",
    "__neg__",
    "__sub__",
    "__pow__",
    "__truediv__",
    "__floordiv__",
    "__setitem__",
    "__delitem__",
    "__reversed__",
    "__getnewargs__",
    "__getstate__",
    "__html__",
    "__or__",
    "__ror__",
    "__ior__",
    "__iadd__",
    "__imul__",
    "__class_getitem__",
    "__func__",
    "__wrapped__",
    "__globals__",
    "__code__",
    "__defaults__",
    "__closure__",
];

/// `f(...)`.
pub fn call(callee: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    match view(callee) {
        View::Object(object) => object.call(args, it),
        View::Foreign => it.call(callee, args),
        _ => Err(PyErr::type_error(format!("'{}' object is not callable", type_name(callee)))),
    }
}

/// A subclass of `str` that `partition` or `rpartition` found nothing in comes back as it is.
fn unparted(value: &Value, text: &str, parts: Value) -> Value {
    let Some(tuple) = downcast::<Tuple>(&parts) else { return parts };
    let whole = |part: &Value| if super::text(part) == Some(text) { value.clone() } else { part.clone() };
    super::tuple(tuple.items().iter().map(whole).collect())
}

/// `x.name(...)`.
pub fn call_method(value: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    match view(value) {
        View::Str(text) => {
            if value.is_safe() {
                return markup::call_method(value, text, name, args, it);
            }
            if str_methods::has(name) {
                return str_methods::call(text, name, args, it);
            }
        }
        View::Bytes(data) if bytes::has(name) => return bytes::call(data, name, args, it),
        View::Object(object) => {
            if object.has_method(name) {
                return object.call_method(value, name, args, it);
            }
            if let Some(attribute) = object.getattr(name, it) {
                return it.call(&attribute?, args);
            }
            if let Some(text) = object.as_text()
                && str_methods::has(name)
            {
                let result = str_methods::call(text, name, args, it)?;
                return Ok(if name.ends_with("partition") { unparted(value, text, result) } else { result });
            }
        }
        _ => {}
    }
    if has_method(value, name) {
        return float::call_number_method(value, name, args, it);
    }
    match getattr(value, name, it)? {
        Some(attribute) => it.call(&attribute, args),
        None => Err(no_attribute(value, name)),
    }
}
