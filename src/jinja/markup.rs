//! markupsafe: escaping text for HTML, and strings marked as safe.
//!
//! A `Markup` is a safe string of minijinja.

use std::collections::HashMap;
use std::sync::OnceLock;

use entities::ENTITIES;

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

/// The text with `&`, `<`, `>`, `'` and `"` replaced as markupsafe spells them.
pub fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '>' => out.push_str("&gt;"),
            '<' => out.push_str("&lt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// `hasattr(value, "__html__")`
pub fn has_html(value: &Value) -> bool {
    value.is_safe() || as_undefined(value).is_some_and(|undefined| undefined.kind() == UndefinedKind::Chainable)
}

/// `markupsafe.soft_str(value)`: strings stay what they are, others become `str(value)`.
pub fn soft_str(value: &Value, it: &mut dyn Interp) -> PyResult {
    if python::text(value).is_some() { Ok(value.clone()) } else { Ok(Value::from(python::str(value, it)?)) }
}

/// `Markup(text).striptags()`: tags and comments removed, white space collapsed, entities replaced.
pub fn strip_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start..];
        let end = match tag.strip_prefix("<!--") {
            Some(comment) => comment.find("-->").map(|end| 4 + end + 3),
            None => tag.find('>').map(|end| end + 1),
        };
        let Some(end) = end else { break };
        kept.push_str(&rest[..start]);
        rest = &tag[end..];
    }
    kept.push_str(rest);
    let words: Vec<&str> = kept.split(python::chars::is_space).filter(|word| !word.is_empty()).collect();
    unescape(&words.join(" "))
}

/// `html.unescape(text)`: HTML5's character references, with and without a semicolon.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let used = match rest.as_bytes().get(1) {
            Some(b'#') => numeric_reference(rest, &mut out),
            _ => named_reference(rest, &mut out),
        };
        if used == 0 {
            out.push('&');
            rest = &rest[1..];
        } else {
            rest = &rest[used..];
        }
    }
    out.push_str(rest);
    out
}

/// Reads `&#12;` or `&#x1f;` (the semicolon may be missing); returns the bytes used, 0 when there is no reference.
fn numeric_reference(text: &str, out: &mut String) -> usize {
    let body = &text[2..];
    let (radix, digits) = match body.as_bytes().first() {
        Some(b'x' | b'X') => (16, &body[1..]),
        _ => (10, body),
    };
    let mut value: u32 = 0;
    let mut len = 0;
    for c in digits.chars() {
        let Some(digit) = c.to_digit(radix) else { break };
        value = value.saturating_mul(radix).saturating_add(digit);
        len += c.len_utf8();
    }
    if len == 0 {
        return 0;
    }
    let mut used = text.len() - digits.len() + len;
    if digits[len..].starts_with(';') {
        used += 1;
    }
    push_code_point(value, out);
    used
}

fn push_code_point(value: u32, out: &mut String) {
    // Windows-1252 in place of the C1 controls, as browsers read them
    const C1: [char; 32] = [
        '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
        '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}',
        '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}',
        '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
    ];
    match value {
        0 => out.push('\u{fffd}'),
        0x0d => out.push('\r'),
        0x80..=0x9f => out.push(C1[(value - 0x80) as usize]),
        0xd800..=0xdfff | 0x11_0000.. => out.push('\u{fffd}'),
        // not characters: dropped
        0x01..=0x08 | 0x0b | 0x0e..=0x1f | 0x7f | 0xfdd0..=0xfdef => {}
        value if value & 0xfffe == 0xfffe => {}
        value => out.extend(char::from_u32(value)),
    }
}

/// Reads `&name;`, or the longest known name without a semicolon; returns the bytes used.
fn named_reference(text: &str, out: &mut String) -> usize {
    // a name is at most 32 characters up to one of these or the semicolon
    let mut end = 1;
    for (count, c) in text[1..].chars().enumerate() {
        if count == 32 || matches!(c, '\t' | '\n' | '\x0c' | ' ' | '<' | '&' | '#' | ';') {
            break;
        }
        end += c.len_utf8();
    }
    if end == 1 {
        return 0;
    }
    let with_semicolon = if text[end..].starts_with(';') { end + 1 } else { end };
    if let Some(replacement) = entity(&text[..with_semicolon]) {
        out.push_str(replacement);
        return with_semicolon;
    }
    let mut cut = with_semicolon;
    // the first two characters are never tried alone, as in Python
    while cut > 3 {
        cut -= 1;
        if text.is_char_boundary(cut)
            && let Some(replacement) = entity(&text[..cut])
        {
            out.push_str(replacement);
            return cut;
        }
    }
    0
}

fn entity(name: &str) -> Option<&'static str> {
    static TABLE: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    TABLE.get_or_init(|| ENTITIES.iter().map(|entity| (entity.entity, entity.characters)).collect()).get(name).copied()
}
