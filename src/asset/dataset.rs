//! Datasets of Airflow 2.10: the rules for their URIs (`airflow.datasets`).

use serde_json::{Map, Value as Json, json};

use super::pytext::repr;
use super::uri::{SanitizedUri, SplitUri, normalized_query};
use crate::python::chars::is_space;
use crate::python::{PyErr, PyResult};

/// Longest URI of a dataset, in characters.
const URI_LIMIT: usize = 3000;

const AUTH_WARNING: &str = "A dataset URI should not contain auth info (e.g. username or password). \
                            It has been automatically dropped.";

/// The URI as Airflow 2.10 stores it (`_sanitize_uri`): scheme in lower case, user and password dropped with a warning, query
/// sorted, trailing slashes and fragment removed. Text without a scheme and `x-` schemes stay as they are. No provider
/// changes a URI further: that of `file` is left as it is, and others count as not installed.
///
/// # Errors
/// `ValueError` for empty, blank and non-ASCII text, for the reserved scheme `airflow`, and for what `urlsplit` refuses.
pub fn sanitize_dataset_uri(text: &str) -> PyResult<SanitizedUri> {
    if text.is_empty() {
        return Err(PyErr::value_error("Dataset URI cannot be empty"));
    }
    if text.chars().all(is_space) {
        return Err(PyErr::value_error("Dataset URI cannot be just whitespace"));
    }
    if !text.is_ascii() {
        return Err(PyErr::value_error("Dataset URI must only consist of ASCII characters"));
    }
    let mut parts = SplitUri::parse(text)?;
    if parts.scheme.is_empty() || parts.scheme.starts_with("x-") {
        return Ok(SanitizedUri { uri: text.to_owned(), warnings: Vec::new() });
    }
    if parts.scheme == "airflow" {
        return Err(PyErr::value_error("Dataset scheme 'airflow' is reserved"));
    }
    let mut warnings = Vec::new();
    if let Some((_, host)) = parts.netloc.rsplit_once('@') {
        warnings.push(AUTH_WARNING.to_owned());
        parts.netloc = host.to_owned();
    }
    parts.query = normalized_query(&parts.query);
    let path = parts.path.trim_end_matches('/');
    parts.path = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    parts.fragment.clear();
    Ok(SanitizedUri { uri: parts.join(), warnings })
}

/// The URI of `Dataset(text)`.
///
/// # Errors
/// As [`sanitize_dataset_uri`], and `ValueError` for a URI that is too long.
pub fn dataset_uri(text: &str) -> PyResult<SanitizedUri> {
    let sanitized = sanitize_dataset_uri(text)?;
    let length = sanitized.uri.chars().count();
    if length > URI_LIMIT {
        return Err(PyErr::value_error(format!("Length of 'uri' must be <= {URI_LIMIT}: {length}")));
    }
    Ok(sanitized)
}

/// Answers a request of `inspect asset --jsonl` with `profile` `airflow-2.10`: what a constructor (`Dataset`, `DatasetAlias`)
/// or the function `extract_event_key` makes of a text.
///
/// # Errors
/// As [`dataset_uri`]; `Unsupported` for another constructor or an input that is not a text.
pub fn inspect(request: &Json) -> PyResult<Map<String, Json>> {
    let constructor = request.get("constructor").unwrap_or(&Json::Null);
    let input = request.get("input").unwrap_or(&Json::Null);
    let Some(text) = input.as_str() else {
        return Err(PyErr::unsupported(format!("a dataset URI that is not a text: {}", repr(input))));
    };
    let SanitizedUri { uri, warnings } = match constructor.as_str() {
        Some("Dataset") => dataset_uri(text)?,
        Some("extract_event_key") => sanitize_dataset_uri(text)?,
        Some("DatasetAlias") => SanitizedUri { uri: text.to_owned(), warnings: Vec::new() },
        _ => return Err(PyErr::unsupported(format!("the constructor {}", repr(constructor)))),
    };
    let warnings: Vec<Json> =
        warnings.iter().map(|warning| json!({"category": "UserWarning", "message": warning})).collect();
    Ok(Map::from_iter([
        ("ok".to_owned(), uri.as_str().into()),
        ("changed".to_owned(), (uri != text).into()),
        ("warnings".to_owned(), warnings.into()),
    ]))
}

/// Whether a URI has the scheme `airflow`, which datasets may not use.
///
/// # Errors
/// What `urlsplit` refuses.
pub fn has_reserved_scheme(uri: &str) -> PyResult<bool> {
    Ok(SplitUri::parse(uri)?.scheme == "airflow")
}
