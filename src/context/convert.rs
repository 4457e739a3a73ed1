//! From the run's data to Python values.

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

/// An attribute that the Python object has and that is not built.
pub(super) fn not_built(class: &str, name: &str) -> PyErr {
    PyErr::unsupported(format!("`{name}` of `{class}` is not supported"))
}

/// `repr` of an object whose class defines none: it holds a memory address.
pub(super) fn address(class: &str) -> PyErr {
    PyErr::unsupported(format!("`{class}` prints as a memory address, which differs from run to run"))
}
