//! Values that are known to exist and cannot be read: templates that ask for one get an error that says why, instead of the
//! error of a value that is not there.

use serde_json::json;

use super::Json;
use crate::python::PyErr;

/// The key of the marker.
const MARKER: &str = "__unreadable__";

/// A variable, connection or XCom that exists and cannot be read: `why` is a sentence, `help` says what to do.
pub fn unreadable(why: &str, help: &str) -> Json {
    json!({MARKER: {"why": why, "help": help}})
}

/// The same for a text that is known up to the layout of its JSON: what parses it can have `json`, what reads the text itself
/// gets the error.
pub fn unreadable_text(why: &str, help: &str, json: &str) -> Json {
    json!({MARKER: {"why": why, "help": help, "json": json}})
}

/// The JSON of a text that cannot be read as such.
pub fn readable_json(value: &Json) -> Option<&str> {
    value.as_object().filter(|map| map.len() == 1)?.get(MARKER)?.get("json")?.as_str()
}

/// The error of a template that asks for such a value; `None` for every other value.
pub fn unreadable_error(value: &Json) -> Option<PyErr> {
    let marker = value.as_object().filter(|map| map.len() == 1)?.get(MARKER)?;
    let text = |name: &str| marker.get(name).and_then(Json::as_str);
    let error = PyErr::unsupported(text("why")?);
    Some(match text("help") {
        Some(help) => error.with_hint(help),
        None => error,
    })
}
