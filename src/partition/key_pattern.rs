//! How week and quarter keys are read back: a format turned into a pattern, as Airflow does it.

use std::collections::BTreeMap;

use regex::Regex;

use crate::python::{self, PyErr, PyResult, repr_str};

/// The directives that are read back; all others stand for themselves.
const DIRECTIVES: [(char, &str); 9] = [
    ('Y', r"\d{4}"),
    ('m', r"\d{2}"),
    ('d', r"\d{2}"),
    ('H', r"\d{2}"),
    ('M', r"\d{2}"),
    ('S', r"\d{2}"),
    ('V', r"\d{2}"),
    ('U', r"\d{2}"),
    ('W', r"\d{2}"),
];

/// A compiled `output_format`.
#[derive(Debug, Clone)]
pub(super) struct KeyPattern {
    regex: Regex,
    /// The name of each group, in order.
    groups: Vec<String>,
}

impl KeyPattern {
    /// Compiles a format. `patterns` narrows placeholders by name; the others match word characters.
    ///
    /// # Errors
    /// `ValueError` for an invalid, repeated or ambiguous placeholder and for a repeated directive.
    pub fn compile(format: &str, patterns: &[(&str, &str)]) -> PyResult<Self> {
        let shown = repr_str(format);
        let mut regex = String::new();
        let mut groups: Vec<String> = Vec::new();
        let mut after_open_placeholder = false;
        let mut rest = format;
        while let Some(c) = rest.chars().next() {
            let tail = rest.get(c.len_utf8()..).unwrap_or("");
            let directive = (c == '%').then(|| tail.chars().next()).flatten();
            if let Some((name, pattern)) =
                DIRECTIVES.iter().find(|(name, _)| directive == Some(*name)).map(|(name, pattern)| (*name, *pattern))
            {
                if groups.iter().any(|group| group.len() == 1 && group.starts_with(name)) {
                    return Err(PyErr::value_error(format!(
                        "output_format {shown} reuses directive '%{name}'; each strftime directive may appear at most once."
                    )));
                }
                groups.push(name.to_string());
                regex.push_str(&format!("({pattern})"));
                rest = tail.get(1..).unwrap_or("");
                after_open_placeholder = false;
                continue;
            }
            if c == '{'
                && let Some((name, after)) = tail.split_once('}')
            {
                if !python::is_identifier(name) {
                    return Err(PyErr::value_error(format!(
                        "output_format {shown} has invalid placeholder {{{name}}}; placeholder names must be valid Python \
                         identifiers."
                    )));
                }
                if groups.iter().any(|group| group == name) {
                    return Err(PyErr::value_error(format!(
                        "output_format {shown} reuses placeholder {{{name}}}; each placeholder may appear at most once."
                    )));
                }
                groups.push(name.to_owned());
                let narrowed = patterns.iter().find(|(known, _)| *known == name).map(|(_, pattern)| *pattern);
                if narrowed.is_none() && after_open_placeholder {
                    return Err(PyErr::value_error(format!(
                        "output_format {shown} has adjacent default-pattern placeholders ending at {{{name}}}; the greedy \
                         ``\\w+`` default would consume the previous group's tail. Insert a separator between the \
                         placeholders, or narrow at least one of them via placeholder_patterns."
                    )));
                }
                regex.push_str(&format!("({})", narrowed.unwrap_or(r"[\p{L}\p{N}_]+")));
                after_open_placeholder = narrowed.is_none();
                rest = after;
                continue;
            }
            regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
            rest = tail;
            after_open_placeholder = false;
        }
        // Python's `$` also matches before a line feed at the very end.
        let regex = Regex::new(&format!(r"(?s)\A{regex}\n?\z"))
            .map_err(|_| PyErr::unsupported(format!("output_format {shown}: too long to compile")))?;
        Ok(KeyPattern { regex, groups })
    }

    /// The numbers that a key holds, by group; `None` when the key does not match. Groups that hold no number are left
    /// out: nothing reads them.
    pub fn matches(&self, key: &str) -> Option<BTreeMap<&str, i64>> {
        let found = self.regex.captures(key)?;
        let mut numbers = BTreeMap::new();
        for (index, name) in self.groups.iter().enumerate() {
            let digits = found.get(index + 1).map_or("", |group| group.as_str());
            if let Some(value) = python::parse_int(digits, 10).ok().and_then(|value| value.as_i64()) {
                numbers.insert(name.as_str(), value);
            }
        }
        Some(numbers)
    }
}
