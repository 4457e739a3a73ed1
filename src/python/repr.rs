//! Python's `repr` of text, bytes and floats.

use std::fmt::Write as _;

use super::chars::is_printable;

/// `repr` of a `str`.
pub fn repr_str(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => push_escape(c, &mut out),
        }
    }
    out.push(quote);
    out
}

/// `\x41`, `\u1234` or `\U00012345`, the shortest that fits.
pub(crate) fn push_escape(c: char, out: &mut String) {
    let code = c as u32;
    let _ = match code {
        0..=0xff => write!(out, "\\x{code:02x}"),
        0x100..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// `ascii()` of a value, from its `repr`: what is not ASCII becomes an escape.
pub fn ascii_of(repr: &str) -> String {
    let mut out = String::with_capacity(repr.len());
    for c in repr.chars() {
        if c.is_ascii() { out.push(c) } else { push_escape(c, &mut out) }
    }
    out
}

/// `repr` of `bytes`.
pub fn repr_bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = String::with_capacity(bytes.len() + 3);
    out.push('b');
    out.push(quote);
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b if b == quote as u8 => {
                out.push('\\');
                out.push(quote);
            }
            b' '..=b'~' => out.push(byte as char),
            b => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push(quote);
    out
}

/// The shortest digits that read back as the same float, and the decimal exponent of the first digit.
pub(crate) fn shortest_digits(value: f64) -> (String, i32) {
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.chars().filter(|c| *c != '.').collect(), exponent.parse().unwrap_or(0))
}

/// `repr` of a `float`, which is also its `str`.
pub fn repr_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.1}");
    }
    let (digits, exponent) = shortest_digits(value);
    let mut out = String::with_capacity(24);
    if value.is_sign_negative() {
        out.push('-');
    }
    push_positional(&digits, exponent, -4, 16, true, &mut out);
    out
}

/// Writes digits with the point where the exponent says, or in scientific form outside of `low..high`.
pub(crate) fn push_positional(digits: &str, exponent: i32, low: i32, high: i32, point_zero: bool, out: &mut String) {
    if exponent < low || exponent >= high {
        let (first, rest) = digits.split_at(1.min(digits.len()));
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.push_str(digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', whole - digits.len()));
            if point_zero {
                out.push_str(".0");
            }
        } else {
            let (left, right) = digits.split_at(whole);
            out.push_str(left);
            out.push('.');
            out.push_str(right);
        }
    }
}
