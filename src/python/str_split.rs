//! Splitting and stripping text.

use super::chars::{is_line_break, is_space};
use super::{Args, PyErr, PyResult, Value, cargs, list, text};

/// `strip`, `lstrip` and `rstrip`.
pub(crate) fn strip(s: &str, qualified: &str, args: &Args<'_>, left: bool, right: bool) -> PyResult {
    let pos = cargs::positional(qualified, args, 0, 1)?;
    let mut out = s;
    match pos.first() {
        Some(value) if !value.is_none() => {
            let Some(set) = text(value) else {
                let short = qualified.trim_start_matches("str.");
                return Err(PyErr::type_error(format!("{short} arg must be None or str")));
            };
            if left {
                out = out.trim_start_matches(|c| set.contains(c));
            }
            if right {
                out = out.trim_end_matches(|c| set.contains(c));
            }
        }
        _ => {
            if left {
                out = out.trim_start_matches(is_space);
            }
            if right {
                out = out.trim_end_matches(is_space);
            }
        }
    }
    Ok(Value::from(out))
}

/// `split` and `rsplit`.
pub(crate) fn split(s: &str, args: &Args<'_>, from_right: bool) -> PyResult {
    let name = if from_right { "rsplit" } else { "split" };
    let [separator, max] = cargs::keywords(name, &["sep", "maxsplit"], 0, args)?;
    let max = max.map_or(Ok(-1), cargs::index)?;
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let parts = match separator.filter(|value| !value.is_none()) {
        Some(value) => {
            let Some(separator) = text(value) else {
                return Err(PyErr::type_error(format!("must be str or None, not {}", cargs::short_type_name(value))));
            };
            if separator.is_empty() {
                return Err(PyErr::value_error("empty separator"));
            }
            by_separator(s, separator, max, from_right)
        }
        None => by_space(s, max, from_right),
    };
    Ok(list(parts.into_iter().map(Value::from).collect()))
}

/// `s.split(separator, max)`.
pub(crate) fn by_separator<'s>(s: &'s str, separator: &str, max: usize, from_right: bool) -> Vec<&'s str> {
    let pieces = max.saturating_add(1);
    if from_right {
        let mut parts: Vec<&str> = s.rsplitn(pieces, separator).collect();
        parts.reverse();
        return parts;
    }
    s.splitn(pieces, separator).collect()
}

/// `s.split(None, max)`: runs of white space separate, none are kept.
pub(crate) fn by_space(s: &str, max: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    if from_right {
        let mut rest = s.trim_end_matches(is_space);
        while !rest.is_empty() {
            if parts.len() == max {
                parts.push(rest);
                break;
            }
            match rest.rfind(is_space) {
                Some(at) => {
                    let (left, right) = rest.split_at(at);
                    parts.push(right.trim_start_matches(is_space));
                    rest = left.trim_end_matches(is_space);
                }
                None => {
                    parts.push(rest);
                    break;
                }
            }
        }
        parts.reverse();
        return parts;
    }
    let mut rest = s.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == max {
            parts.push(rest);
            break;
        }
        match rest.find(is_space) {
            Some(at) => {
                let (left, right) = rest.split_at(at);
                parts.push(left);
                rest = right.trim_start_matches(is_space);
            }
            None => {
                parts.push(rest);
                break;
            }
        }
    }
    parts
}

/// `s.splitlines(keepends)`.
pub fn lines(s: &str, keep_ends: bool) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = s;
    while !rest.is_empty() {
        let Some(at) = rest.find(is_line_break) else {
            out.push(rest);
            break;
        };
        let after = rest.get(at..).unwrap_or("");
        let width = if after.starts_with("\r\n") { 2 } else { after.chars().next().map_or(1, char::len_utf8) };
        out.push(rest.get(..if keep_ends { at + width } else { at }).unwrap_or(""));
        rest = rest.get(at + width..).unwrap_or("");
    }
    out
}
