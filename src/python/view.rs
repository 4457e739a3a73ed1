//! Looking at a value as Python's type of it.

use std::any::Any;

use minijinja::value::ValueKind;

use super::{Py, PyObject, Value};

/// A value, by Python type. Ints outside `i64` are objects.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// `None`
    None,
    /// `bool`
    Bool(bool),
    /// `int` that fits
    Int(i64),
    /// `float`
    Float(f64),
    /// `str`, or `Markup` when [`Value::is_safe`] says so
    Str(&'a str),
    /// `bytes`
    Bytes(&'a [u8]),
    /// Everything else.
    Object(&'a dyn PyObject),
    /// A value of minijinja's that has no Python form (its own undefined, a macro, a loop): only the engine's code sees it.
    Foreign,
}

/// Looks at a value.
#[inline]
pub fn view(value: &Value) -> View<'_> {
    if let Some(object) = value.downcast_object_ref::<Py>() {
        return View::Object(object.inner());
    }
    match value.kind() {
        ValueKind::None => View::None,
        ValueKind::Bool => View::Bool(value.is_true()),
        ValueKind::Number => {
            if value.is_integer() {
                value.as_i64().map_or(View::Foreign, View::Int)
            } else {
                f64::try_from(value.clone()).map_or(View::Foreign, View::Float)
            }
        }
        ValueKind::String => value.as_str().map_or(View::Foreign, View::Str),
        ValueKind::Bytes => value.as_bytes().map_or(View::Foreign, View::Bytes),
        _ => View::Foreign,
    }
}

/// The object of a concrete type, if the value is one, or a proxy of one.
#[inline]
pub fn downcast<T: PyObject>(value: &Value) -> Option<&T> {
    let object = value.downcast_object_ref::<Py>()?.inner();
    let any: &dyn Any = object;
    any.downcast_ref::<T>().or_else(|| object.target().and_then(downcast))
}

/// The text of a `str` or of a subclass of `str` (an enum of strings), else `None`.
#[inline]
pub fn text(value: &Value) -> Option<&str> {
    match view(value) {
        View::Str(text) => Some(text),
        View::Object(object) => object.as_text(),
        _ => None,
    }
}
