//! Filters for JSON, URLs and HTML attributes.

use crate::jinja::Cx;
use crate::jinja::markup::{escape, escape_text, markup};
use crate::jinja::undefined::is_undefined;
use crate::python::{self, Args, BinOp, Interp, PyErr, PyResult, Value, View, chars, downcast, text, view};

use super::bind::Sig;

/// `do_tojson`: keys sorted, and no character that HTML would read.
pub fn tojson(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [indent] =
        Sig { name: "do_tojson", leading: &["eval_ctx", "value"], params: ["indent"], required: 0 }.bind(args)?;
    // a text is encoded before the indent is looked at
    let indent = match indent.filter(|indent| !indent.is_none() && text(subject).is_none()) {
        None => None,
        Some(indent) => match text(indent) {
            Some(indent) => Some(indent.to_owned()),
            None => {
                // a number of spaces; what cannot be one fails as " " * indent does
                let spaces = python::binary(BinOp::Mul, &Value::from(" "), indent, it)?;
                Some(text(&spaces).unwrap_or_default().to_owned())
            }
        },
    };
    let options = python::json::Options { sort_keys: true, indent, ..Default::default() };
    let json = python::json::dumps(subject, options, it)?;
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\'' => out.push_str("\\u0027"),
            c => out.push(c),
        }
    }
    Ok(markup(out))
}

/// `do_urlencode`
pub fn urlencode(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_urlencode", leading: &["value"], params: [], required: 0 }.bind(args)?;
    let iterable = match view(subject) {
        View::Bytes(_) => true,
        View::Object(object) => object.as_text().is_none() && object.iter(subject, it).is_some(),
        _ => false,
    };
    if !iterable {
        return Ok(Value::from(quote(subject, false, it)?));
    }
    let pairs = match downcast::<python::Dict>(subject) {
        Some(_) => python::call_method(subject, "items", &Args::default(), it)?,
        None => subject.clone(),
    };
    let mut out = String::new();
    let mut pairs = python::iter(&pairs, it)?;
    let mut first = true;
    while let Some(pair) = pairs.next(it)? {
        it.charge(1)?;
        let (key, value) = unpack_pair(&pair, it)?;
        if !std::mem::take(&mut first) {
            out.push('&');
        }
        out.push_str(&quote(&key, true, it)?);
        out.push('=');
        out.push_str(&quote(&value, true, it)?);
    }
    Ok(Value::from(out))
}

/// `key, value = pair`
fn unpack_pair(pair: &Value, it: &mut dyn Interp) -> PyResult<(Value, Value)> {
    let mut items = match python::iter(pair, it) {
        Err(error) if error.class == "TypeError" && error.message.ends_with("is not iterable") => {
            return Err(PyErr::type_error(format!("cannot unpack non-iterable {} object", python::type_name(pair))));
        }
        items => items?,
    };
    let (first, second) = match items.next(it)? {
        None => (None, None),
        first => (first, items.next(it)?),
    };
    match (first, second) {
        (Some(first), Some(second)) => match items.next(it)? {
            None => Ok((first, second)),
            Some(_) => Err(PyErr::value_error("too many values to unpack (expected 2)")),
        },
        (first, _) => Err(PyErr::value_error(format!(
            "not enough values to unpack (expected 2, got {})",
            usize::from(first.is_some())
        ))),
    }
}

/// `url_quote`: in a query string `/` is quoted too and a space becomes `+`.
fn quote(value: &Value, in_query: bool, it: &mut dyn Interp) -> PyResult<String> {
    let owned;
    let bytes = match view(value) {
        View::Bytes(bytes) => bytes,
        _ => match text(value) {
            Some(text) => text.as_bytes(),
            None => {
                owned = python::str(value, it)?;
                owned.as_bytes()
            }
        },
    };
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b'/' if !in_query => out.push('/'),
            b' ' if in_query => out.push('+'),
            byte => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    Ok(out)
}

/// `do_xmlattr`
pub fn xmlattr(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [autospace] =
        Sig { name: "do_xmlattr", leading: &["eval_ctx", "d"], params: ["autospace"], required: 0 }.bind(args)?;
    let pairs = python::call_method(subject, "items", &Args::default(), it)?;
    let mut out = String::new();
    let mut pairs = python::iter(&pairs, it)?;
    while let Some(pair) = pairs.next(it)? {
        it.charge(1)?;
        let (key, value) = unpack_pair(&pair, it)?;
        if value.is_none() || is_undefined(&value) {
            continue;
        }
        let name = searched(&key)?;
        if name.chars().any(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' | '/' | '>' | '=')) {
            return Err(PyErr::value_error(format!(
                "Invalid character in attribute name: {}",
                python::repr(&key, it)?
            )));
        }
        if !out.is_empty() {
            out.push(' ');
        }
        let (key, value) = (escape(&key, it)?, escape(&value, it)?);
        out.push_str(&format!("{}=\"{}\"", text(&key).unwrap_or_default(), text(&value).unwrap_or_default()));
    }
    if !out.is_empty() && autospace.map_or(Ok(true), |autospace| python::truth(autospace, it))? {
        out.insert(0, ' ');
    }
    Ok(if cx.autoescape { markup(out) } else { Value::from(out) })
}

/// The text that a regular expression of strings searches.
pub(super) fn searched(value: &Value) -> PyResult<&str> {
    match (text(value), view(value)) {
        (Some(text), _) => Ok(text),
        (None, View::Bytes(_)) => Err(PyErr::type_error("cannot use a string pattern on a bytes-like object")),
        _ => {
            Err(PyErr::type_error(format!("expected string or bytes-like object, got '{}'", python::type_name(value))))
        }
    }
}

/// `str(escape(value))`
pub(super) fn escaped(value: &Value, it: &mut dyn Interp) -> PyResult<String> {
    match view(value) {
        View::Str(text) if !value.is_safe() => Ok(escape_text(text)),
        _ => Ok(text(&escape(value, it)?).unwrap_or_default().to_owned()),
    }
}

/// Words and the white space between them, in turn.
pub(super) fn split_white(source: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let white = chars::is_space(first);
        let end = rest.find(|c| chars::is_space(c) != white).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = &rest[end..];
    }
    parts
}
