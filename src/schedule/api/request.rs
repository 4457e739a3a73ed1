//! Requests and answers.

use serde_json::Value as Json;

use crate::asset::unquote;
use crate::python::{PyErr, PyResult};

/// A request, already read.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// The path, decoded, without the API's prefix.
    pub path: String,
    /// The query's parameters, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Json>,
}

/// What the server answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body; none where it is empty.
    pub body: Option<Json>,
}

impl Answer {
    pub(super) fn new(status: u16, body: Json) -> Self {
        Answer { status, body: Some(body) }
    }

    pub(super) fn no_content() -> Self {
        Answer { status: 204, body: None }
    }
}

impl Request {
    /// A request to a target as it stands in the request line: path and query, percent-encoded.
    pub fn new(method: &str, target: &str, body: Option<Json>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unquote(&name.replace('+', " ")), unquote(&value.replace('+', " ")))
        };
        let query = query.split('&').filter(|part| !part.is_empty()).map(pair).collect();
        Request { method: method.to_ascii_uppercase(), path: unquote(path), query, body }
    }

    /// The request of an `api` step: `method`, `path`, `body`.
    ///
    /// # Errors
    /// `Unsupported` when a field is missing.
    pub fn read(step: &Json) -> PyResult<Self> {
        let text = |name: &str| {
            let value = step.get(name).and_then(Json::as_str);
            value.ok_or_else(|| PyErr::unsupported(format!("a request without `{name}`")))
        };
        Ok(Self::new(text("method")?, text("path")?, step.get("body").cloned()))
    }

    /// A parameter of the query.
    ///
    /// # Errors
    /// `Unsupported` when it is given more than once.
    pub(super) fn parameter(&self, name: &str) -> PyResult<Option<&str>> {
        let mut values = self.query.iter().filter(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let value = values.next();
        match values.next() {
            Some(_) => Err(PyErr::unsupported(format!("the parameter {name} given twice"))),
            None => Ok(value),
        }
    }

    pub(super) fn unknown(&self) -> PyErr {
        PyErr::unsupported(format!("the endpoint {} {}", self.method, self.path))
    }
}
