//! Letter case of whole texts, and translation tables.

use super::{Args, Dict, Interp, PyErr, PyResult, Value, View, cargs, chars, dict, downcast, number, text, view};

/// `str.capitalize`.
pub fn capitalize(s: &str) -> String {
    let mut chars = s.chars();
    let mut out = String::with_capacity(s.len());
    if let Some(first) = chars.next() {
        super::chars::push_title(first, &mut out);
        // the final sigma looks at the whole word
        let rest = super::chars::lower(s);
        let first_lower: usize = if rest.is_ascii() {
            1
        } else {
            let mut lowered = String::new();
            super::chars::push_lower(first, &mut lowered);
            lowered.len()
        };
        out.push_str(rest.get(first_lower..).unwrap_or(""));
    }
    out
}

/// `str.casefold`.
pub(super) fn casefold(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    s.chars().for_each(|c| chars::push_folded(c, &mut out));
    out
}

/// Lowers one character of a text where the final sigma may be in play.
fn push_lower_at(s: &str, at: usize, c: char, out: &mut String) {
    if c != 'Σ' {
        return chars::push_lower(c, out);
    }
    // let the standard library decide within the whole text
    let before: String = s.get(..at).unwrap_or("").to_lowercase();
    let lowered = s.to_lowercase();
    match lowered.get(before.len()..).and_then(|rest| rest.chars().next()) {
        Some(sigma @ ('σ' | 'ς')) => out.push(sigma),
        _ => out.push('σ'),
    }
}

/// `str.swapcase`.
pub(super) fn swapcase(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for (at, c) in s.char_indices() {
        if chars::is_upper(c) {
            push_lower_at(s, at, c, &mut out);
        } else if chars::is_lower(c) {
            chars::push_upper(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

/// `str.title`.
pub fn title(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut in_word = false;
    for (at, c) in s.char_indices() {
        if in_word {
            push_lower_at(s, at, c, &mut out)
        } else {
            chars::push_title(c, &mut out)
        }
        in_word = chars::is_lower(c) || chars::is_upper(c) || chars::is_title(c);
    }
    out
}

/// `str.istitle`.
pub(super) fn is_title(s: &str) -> bool {
    let (mut cased, mut previous) = (false, false);
    for c in s.chars() {
        if chars::is_upper(c) || chars::is_title(c) {
            if previous {
                return false;
            }
            (previous, cased) = (true, true);
        } else if chars::is_lower(c) {
            if !previous {
                return false;
            }
            cased = true;
        } else {
            previous = false;
        }
    }
    cased
}

/// `str.maketrans`.
pub(super) fn maketrans(args: &Args<'_>) -> PyResult {
    let pos = cargs::positional("str.maketrans", args, 1, 3)?;
    let code = |c: char| Value::from(i64::from(c as u32));
    if let [table] = pos {
        let Some(table) = downcast::<Dict>(table) else {
            return Err(PyErr::type_error("if you give only one argument to maketrans it must be a dict"));
        };
        let mut pairs = Vec::new();
        for (key, value) in table.items() {
            let key = match text(&key) {
                Some(text) => {
                    let mut chars = text.chars();
                    match (chars.next(), chars.next()) {
                        (Some(c), None) => code(c),
                        _ => return Err(PyErr::value_error("string keys in translate table must be of length 1")),
                    }
                }
                None if number::as_bigint(&key).is_some() => key,
                None => {
                    return Err(PyErr::type_error("keys in translate table must be strings or integers"));
                }
            };
            pairs.push((key, value));
        }
        return dict(pairs);
    }
    let mut texts = Vec::new();
    // the first argument is looked at last
    for (at, value) in pos.iter().enumerate().skip(1).chain(pos.iter().enumerate().take(1)) {
        match text(value) {
            Some(text) if at == 0 => texts.insert(0, text.chars().collect::<Vec<_>>()),
            Some(text) => texts.push(text.chars().collect::<Vec<_>>()),
            None if at == 0 => {
                return Err(PyErr::type_error(
                    "first maketrans argument must be a string if there is a second argument",
                ));
            }
            None => {
                return Err(PyErr::type_error(format!(
                    "maketrans() argument {} must be str, not {}",
                    at + 1,
                    cargs::short_type_name(value)
                )));
            }
        }
    }
    let [from, to, rest @ ..] = texts.as_slice() else { return dict([]) };
    if from.len() != to.len() {
        return Err(PyErr::value_error("the first two maketrans arguments must have equal length"));
    }
    let mut pairs: Vec<(Value, Value)> = from.iter().zip(to).map(|(a, b)| (code(*a), code(*b))).collect();
    for c in rest.iter().flatten() {
        pairs.push((code(*c), super::none()));
    }
    dict(pairs)
}

/// `str.translate`.
pub(super) fn translate(s: &str, table: &Value, it: &mut dyn Interp) -> PyResult {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        let found = super::getitem(table, &Value::from(i64::from(c as u32)), it);
        let mapped = match found {
            Ok(value) => value,
            Err(error) if matches!(&*error.class, "KeyError" | "IndexError") => {
                out.push(c);
                continue;
            }
            Err(error) => return Err(error),
        };
        match view(&mapped) {
            View::None => {}
            View::Str(text) => out.push_str(text),
            View::Int(code) => match u32::try_from(code) {
                Ok(code) if code < 0x11_0000 => match char::from_u32(code) {
                    Some(c) => out.push(c),
                    None => return Err(PyErr::unsupported("lone surrogates in text")),
                },
                _ => return Err(PyErr::value_error("character mapping must be in range(0x110000)")),
            },
            _ => {
                return Err(PyErr::type_error("character mapping must return integer, None or str"));
            }
        }
        if out.len() > it.limits().allocation {
            it.allocate(out.len())?;
        }
    }
    Ok(Value::from(out))
}
