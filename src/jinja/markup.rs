//! markupsafe: escaping text for HTML, and strings marked as safe.
//!
//! A `Markup` is a safe string of minijinja.

pub use crate::python::markup::escape_text;
use crate::python::{self, Interp, PyResult, Value, View, view};

use super::UndefinedKind;
use super::undefined::as_undefined;

/// A `Markup` of the text as it is.
pub fn markup(text: impl Into<String>) -> Value {
    Value::from_safe_string(text.into())
}

/// `markupsafe.escape(value)`: a `Markup`, with the five special characters replaced unless it was one.
pub fn escape(value: &Value, it: &mut dyn Interp) -> PyResult {
    if value.is_safe() {
        return Ok(value.clone());
    }
    if let View::Str(text) = view(value) {
        return Ok(markup(escape_text(text)));
    }
    let text = python::str(value, it)?;
    Ok(if has_html(value) { markup(text) } else { markup(escape_text(&text)) })
}

/// `hasattr(value, "__html__")`
pub fn has_html(value: &Value) -> bool {
    value.is_safe() || as_undefined(value).is_some_and(|undefined| undefined.kind() == UndefinedKind::Chainable)
}

/// `markupsafe.soft_str(value)`: strings stay what they are, others become `str(value)`.
pub fn soft_str(value: &Value, it: &mut dyn Interp) -> PyResult {
    if python::text(value).is_some() { Ok(value.clone()) } else { Ok(Value::from(python::str(value, it)?)) }
}
