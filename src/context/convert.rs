//! From the run's data to Python values.

use std::sync::OnceLock;

use crate::python::{self, PyErr, PyResult, Value};
use crate::run::{Instant, Json, JsonMap};

use super::dates;

/// A `dict` of a JSON object.
pub(super) fn dict(map: &JsonMap) -> PyResult {
    let items = map
        .iter()
        .map(|(key, value)| Ok((key.as_str(), python::json::from_json(value)?)))
        .collect::<PyResult<Vec<_>>>()?;
    Ok(python::str_dict(items))
}

/// Any JSON value.
pub(super) fn json(value: &Json) -> PyResult {
    python::json::from_json(value)
}

/// `str | None`
pub(super) fn opt_str(text: Option<&str>) -> Value {
    text.map_or_else(python::none, Value::from)
}

/// `int | None`
pub(super) fn opt_int(int: Option<i128>) -> Value {
    int.map_or_else(python::none, int_of)
}

/// `int`
pub(super) fn int_of(int: i128) -> Value {
    i64::try_from(int).map_or_else(|_| python::int(int), Value::from)
}

/// A plain `datetime` in UTC, or None.
pub(super) fn plain(instant: Option<Instant>) -> Value {
    instant.map_or_else(python::none, dates::plain)
}

/// A pendulum `DateTime` in UTC, or None: what `coerce_datetime` makes of a date of the payload.
pub(super) fn pendulum(instant: Option<Instant>) -> Value {
    instant.map_or_else(python::none, dates::pendulum)
}

/// The value made when first asked for.
pub(super) fn once(made: &OnceLock<Value>, make: impl FnOnce() -> PyResult) -> PyResult {
    if let Some(made) = made.get() {
        return Ok(made.clone());
    }
    let value = make()?;
    Ok(made.get_or_init(|| value).clone())
}

/// True for the special attributes that every object of a Python class has, so that its `__getattr__` is not asked.
pub(super) fn is_of_object(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "__class__",
        "__delattr__",
        "__dict__",
        "__dir__",
        "__doc__",
        "__eq__",
        "__format__",
        "__ge__",
        "__getattr__",
        "__getattribute__",
        "__getstate__",
        "__gt__",
        "__hash__",
        "__init__",
        "__init_subclass__",
        "__le__",
        "__lt__",
        "__module__",
        "__ne__",
        "__new__",
        "__reduce__",
        "__reduce_ex__",
        "__repr__",
        "__setattr__",
        "__sizeof__",
        "__str__",
        "__subclasshook__",
        "__weakref__",
    ];
    NAMES.contains(&name)
}

/// An attribute that the Python object has and that is not built.
pub(super) fn not_built(class: &str, name: &str) -> PyErr {
    PyErr::unsupported(format!("`{name}` of `{class}` is not supported"))
}

/// `repr` of an object whose class defines none: it holds a memory address.
pub(super) fn address(class: &str) -> PyErr {
    PyErr::unsupported(format!("`{class}` prints as a memory address, which differs from run to run"))
}
