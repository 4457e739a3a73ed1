//! Requests and answers of the JSON API.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::pipeline::{Place, PlayError, Problem, Severity};
use crate::report;

/// A request, as handlers get it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// Path and query as they stand in the request line.
    pub target: String,
    /// The query's parameters.
    pub query: Query,
    /// The body, if there is one.
    pub body: Option<Json>,
}

/// Parameters of a query, decoded, in order.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind the question mark.
    pub fn parse(text: &str) -> Self {
        let decoded = |part: &str| {
            let spaced = part.replace('+', " ");
            percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(name), decoded(value))
        };
        Query(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// A parameter; the empty text counts as not given.
    ///
    /// # Errors
    /// When it is given twice.
    pub fn get<'a>(&'a self, name: &str) -> Result<Option<&'a str>, Failure> {
        let mut values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Err(Failure::bad_request(format!("the parameter `{name}` is given twice"))),
            (value, _) => Ok(value.filter(|value| !value.is_empty())),
        }
    }

    /// A parameter that must be there.
    ///
    /// # Errors
    /// When it is not, or is given twice.
    pub fn need<'a>(&'a self, name: &str) -> Result<&'a str, Failure> {
        self.get(name)?.ok_or_else(|| Failure::bad_request(format!("the parameter `{name}` is missing")))
    }

    /// Every value of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Refuses parameters that are none of these: a misspelt one must not be ignored.
    ///
    /// # Errors
    /// When there is another one.
    pub fn only(&self, known: &[&str]) -> Result<(), Failure> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => {
                let hint = crate::pipeline::source::suggestion(name, known.iter().copied());
                Err(Failure::bad_request(format!("unknown parameter `{name}`")).hinted(hint))
            }
            None => Ok(()),
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// `Content-Type`; none where there is no body.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: Arc<str>,
}

impl Reply {
    /// A JSON document.
    pub fn json(status: u16, body: &Json) -> Self {
        Reply { status, content_type: Some("application/json"), body: body.to_string().into() }
    }

    /// No body at all.
    pub fn empty(status: u16) -> Self {
        Reply { status, content_type: None, body: "".into() }
    }

    /// Bytes of the body.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// True when there is no body.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

/// Why a request has no answer: an HTTP status, and an error object.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The status code.
    pub status: u16,
    /// The error, as `error_json` shapes it.
    pub error: Json,
    /// Further errors of the same file.
    pub others: Vec<Json>,
}

impl Failure {
    /// An error without a place.
    pub fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Failure { status, error: error_json(kind, &message.into(), None), others: Vec::new() }
    }

    /// A request that cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "bad_request", message)
    }

    /// Something of that name does not exist; close names are suggested.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let hint = crate::pipeline::source::suggestion(name, known);
        Self::new(404, "not_found", format!("there is no {what} `{name}`")).hinted(hint)
    }

    /// Adds advice, if there is some.
    #[must_use]
    pub fn hinted(mut self, hint: Option<String>) -> Self {
        if let Some(hint) = hint {
            self.error["hint"] = hint.into();
        }
        self
    }

    /// What is wrong with a file, the first problem first.
    pub fn of_problems(problems: &[Problem]) -> Self {
        let mut errors = problems.iter().map(problem_json);
        let error = errors.next().unwrap_or_else(|| error_json("file", "the file cannot be read", None));
        Failure { status: 422, error, others: errors.collect() }
    }

    /// The answer.
    pub fn reply(&self) -> Reply {
        let mut body = json!({"error": self.error});
        if !self.others.is_empty() {
            body["others"] = self.others.clone().into();
        }
        Reply::json(self.status, &body)
    }
}

impl From<PlayError> for Failure {
    fn from(error: PlayError) -> Self {
        let message = match &*error.error.class {
            "Unsupported" => format!("not supported: {}", error.error.message),
            _ => error.error.message.clone(),
        };
        let mut json = error_json(&error.error.class, &message, error.place.as_ref().map(place_json));
        if let Some(place) = &error.place {
            let problem = Problem::error(message, place.clone()).maybe_help(error.error.hint.clone());
            json["excerpt"] = report::problems(&[problem], false).into();
        }
        Failure { status: 422, error: json, others: Vec::new() }.hinted(error.error.hint)
    }
}

impl From<crate::schedule::ScheduleError> for Failure {
    fn from(error: crate::schedule::ScheduleError) -> Self {
        match error {
            crate::schedule::ScheduleError::Python(error) => error.into(),
            other => Failure::new(500, "store", other.to_string()),
        }
    }
}

impl From<crate::python::PyErr> for Failure {
    fn from(error: crate::python::PyErr) -> Self {
        Failure::new(422, &error.class, error.message).hinted(error.hint)
    }
}

/// An error object: `kind`, `message`, `hint`, `place`, `excerpt`; what is not known is null.
pub(super) fn error_json(kind: &str, message: &str, place: Option<Json>) -> Json {
    let mut error = Map::new();
    error.insert("kind".to_owned(), kind.into());
    error.insert("message".to_owned(), message.into());
    error.insert("hint".to_owned(), Json::Null);
    error.insert("place".to_owned(), place.unwrap_or_default());
    error.insert("excerpt".to_owned(), Json::Null);
    Json::Object(error)
}

/// A place in a file: `path`, `line`, `column`, `range`.
pub(super) fn place_json(place: &Place) -> Json {
    text_place(place.source.path.as_str(), &place.source.text, &place.range)
}

/// A place in any text: lines and columns from 1, columns in characters, the range in bytes.
pub(super) fn text_place(path: &str, text: &str, range: &Range<usize>) -> Json {
    let before = text.get(..range.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    json!({"path": path, "line": line, "column": column, "range": [range.start, range.end]})
}

/// A problem of a file as an error object; warnings have the kind `warning`.
pub(super) fn problem_json(problem: &Problem) -> Json {
    let kind = match problem.severity {
        Severity::Error => "file",
        Severity::Warning => "warning",
    };
    let mut error = error_json(kind, &problem.message, problem.place.as_ref().map(place_json));
    error["hint"] = problem.help.clone().into();
    error["excerpt"] = report::problems(std::slice::from_ref(problem), false).into();
    error
}
