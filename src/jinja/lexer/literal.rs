//! Literals: numbers and string escapes.

use num_bigint::BigInt;

/// Length of a float literal at the start of `text`, or `None`.
pub fn float_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let whole = digits(bytes, 0)?;
    let fraction = if bytes.get(whole) == Some(&b'.') { digits(bytes, whole + 1) } else { None };
    let mantissa = fraction.unwrap_or(whole);
    if matches!(bytes.get(mantissa), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(mantissa + 1), Some(b'+' | b'-')));
        if let Some(end) = digits(bytes, mantissa + 1 + sign) {
            return Some(end);
        }
    }
    fraction
}

/// End of digits separated by single underscores, starting at `at`.
fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    let mut good = None;
    while let Some(&byte) = bytes.get(end) {
        if byte.is_ascii_digit() {
            end += 1;
            good = Some(end);
        } else if byte == b'_' && good == Some(end) && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end += 1;
        } else {
            break;
        }
    }
    good
}

/// Length and value of an integer literal at the start of `text`, or `None`.
pub fn integer(text: &str) -> Option<(usize, BigInt)> {
    let bytes = text.as_bytes();
    let (radix, skip) = match (bytes.first()?, bytes.get(1)) {
        (b'0', Some(b'b' | b'B')) => (2, 2),
        (b'0', Some(b'o' | b'O')) => (8, 2),
        (b'0', Some(b'x' | b'X')) => (16, 2),
        (b'0', _) => (0, 0),
        (b'1'..=b'9', _) => (10, 0),
        _ => return None,
    };
    if radix != 0 {
        let belongs = |byte: u8| (byte as char).is_digit(radix);
        let end = run(bytes, skip, skip > 0, belongs);
        if end > skip {
            let plain: String = text[skip..end].chars().filter(|c| *c != '_').collect();
            return Some((end, BigInt::parse_bytes(plain.as_bytes(), radix)?));
        }
    }
    let end = run(bytes, 0, false, |byte| byte == b'0');
    (end > 0).then(|| (end, BigInt::from(0)))
}

/// End of a run of digits with optional single underscores between (and before, when `leading`).
fn run(bytes: &[u8], start: usize, leading: bool, belongs: impl Fn(u8) -> bool) -> usize {
    let mut end = start;
    loop {
        match bytes.get(end) {
            Some(&byte) if belongs(byte) => end += 1,
            Some(b'_') if (end > start || leading) && bytes.get(end + 1).is_some_and(|byte| belongs(*byte)) => end += 2,
            _ => return end,
        }
    }
}

/// Decodes the inside of a string literal as Jinja2 does: every character outside ASCII is first written as an escape,
/// then Python's `unicode-escape` codec reads all of it.
pub fn unescape(inside: &str) -> Result<String, Unescape> {
    if !inside.contains('\\') {
        return Ok(inside.to_owned());
    }
    let mut ascii = String::with_capacity(inside.len());
    for c in inside.chars() {
        match u32::from(c) {
            code @ 0..=0x7f => ascii.push(char::from(code as u8)),
            code @ 0x80..=0xff => ascii.push_str(&format!("\\x{code:02x}")),
            code @ 0x100..=0xffff => ascii.push_str(&format!("\\u{code:04x}")),
            code => ascii.push_str(&format!("\\U{code:08x}")),
        }
    }
    decode(&ascii)
}

/// Why a string literal cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unescape {
    /// Python's text for it.
    Python(&'static str),
    /// An escape partita does not know.
    Unsupported(&'static str),
}

fn decode(ascii: &str) -> Result<String, Unescape> {
    let mut out = String::with_capacity(ascii.len());
    let mut rest = ascii;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            return Err(Unescape::Python("\\ at end of string"));
        };
        rest = &rest[1..];
        match kind {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(kind),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            '0'..='7' => {
                let mut code = kind.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    rest = &rest[1..];
                }
                out.push(char::from_u32(code).unwrap_or('\0'));
            }
            'x' | 'u' | 'U' => {
                let (width, truncated) = match kind {
                    'x' => (2, "truncated \\xXX escape"),
                    'u' => (4, "truncated \\uXXXX escape"),
                    _ => (8, "truncated \\UXXXXXXXX escape"),
                };
                let digits = rest.get(..width).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let Some(code) = code else { return Err(Unescape::Python(truncated)) };
                if code > 0x10_ffff {
                    return Err(Unescape::Python("illegal Unicode character"));
                }
                let Some(c) = char::from_u32(code) else {
                    return Err(Unescape::Unsupported("a lone surrogate in a string literal"));
                };
                out.push(c);
                rest = &rest[width..];
            }
            'N' => match rest.strip_prefix('{').and_then(|name| name.find('}')) {
                Some(0) | None => return Err(Unescape::Python("malformed \\N character escape")),
                Some(_) => return Err(Unescape::Unsupported("the escape \\N{...} in a string literal")),
            },
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(float_length("1.5e3x"), Some(5));
        assert_eq!(float_length("1e"), None);
        assert_eq!(float_length("1.e5"), None);
        assert_eq!(float_length("1_0.5"), Some(5));
        assert_eq!(integer("0x_1Fz"), Some((5, BigInt::from(31))));
        assert_eq!(integer("012"), Some((1, BigInt::from(0))));
        assert_eq!(integer("1__0"), Some((1, BigInt::from(1))));
        assert_eq!(integer("0b2"), Some((1, BigInt::from(0))));
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape("a\\n\\x41é"), Ok("a\nAé".into()));
        assert_eq!(unescape("\\é"), Ok("\\xe9".into()));
        assert_eq!(unescape("\\d"), Ok("\\d".into()));
        assert_eq!(unescape("\\x4"), Err(Unescape::Python("truncated \\xXX escape")));
    }
}
