//! Python's `json` module.

use serde_json::Value as Json;

use super::guard::Depth;
use super::repr::repr_float;
use super::{Dict, Interp, List, PyErr, PyResult, Value, View, downcast, float, list, number, object, view};

pub use super::json_write::{Fallback, Options, dumps};

/// A value of JSON as Python reads it.
pub fn from_json(json: &Json) -> PyResult {
    let _depth = Depth::enter()?;
    Ok(match json {
        Json::Null => super::none(),
        Json::Bool(bool) => Value::from(*bool),
        Json::Number(number) => read_number(&number.to_string())?,
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => list(items.iter().map(from_json).collect::<PyResult<_>>()?),
        Json::Object(entries) => {
            let dict = Dict::default();
            for (key, value) in entries {
                dict.insert(&Value::from(key.as_str()), from_json(value)?)?;
            }
            object(dict)
        }
    })
}

fn read_number(text: &str) -> PyResult {
    if let Ok(small) = text.parse::<i64>() {
        return Ok(Value::from(small));
    }
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return float::parse_int(text, 10);
    }
    Ok(Value::from(float::parse_float(text)?))
}

/// `json.loads(text)`.
pub fn loads(text: &str, it: &mut dyn Interp) -> PyResult {
    it.allocate(text.len())?;
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        return Err(decode_error("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0));
    }
    reader.skip_space();
    let value = reader.value()?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(decode_error("Extra data", text, reader.at));
    }
    Ok(value)
}

fn decode_error(message: &str, text: &str, at: usize) -> PyErr {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let position = before.chars().count();
    let column = match before.rfind('\n') {
        Some(newline) => before.get(newline..).unwrap_or("").chars().count(),
        None => position + 1,
    };
    PyErr::new("JSONDecodeError", format!("{message}: line {line} column {column} (char {position})"))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error<T>(&self, message: &str, at: usize) -> PyResult<T> {
        Err(decode_error(message, self.text, at))
    }

    fn value(&mut self) -> PyResult {
        let _depth = Depth::enter()?;
        let start = self.at;
        match self.peek() {
            Some(b'"') => Ok(Value::from(self.string()?)),
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'-' | b'0'..=b'9' | b'n' | b't' | b'f' | b'N' | b'I') => {
                for (word, value) in [
                    ("null", super::none()),
                    ("true", Value::from(true)),
                    ("false", Value::from(false)),
                    ("NaN", Value::from(f64::NAN)),
                    ("Infinity", Value::from(f64::INFINITY)),
                    ("-Infinity", Value::from(f64::NEG_INFINITY)),
                ] {
                    if self.rest().starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                self.number()
            }
            _ => self.error("Expecting value", start),
        }
    }

    fn number(&mut self) -> PyResult {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut at = start + usize::from(self.peek() == Some(b'-'));
        let whole = at;
        at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at) };
        if at == whole {
            return self.error("Expecting value", start);
        }
        let mut is_float = false;
        if bytes.get(at) == Some(&b'.') && digits(at + 1) > at + 1 {
            at = digits(at + 1);
            is_float = true;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            if digits(at + 1 + sign) > at + 1 + sign {
                at = digits(at + 1 + sign);
                is_float = true;
            }
        }
        let text = self.text.get(start..at).unwrap_or("0");
        self.at = at;
        if is_float { Ok(Value::from(float::parse_float(text)?)) } else { float::parse_int(text, 10) }
    }

    fn string(&mut self) -> PyResult<String> {
        let begin = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return self.error("Unterminated string starting at", begin);
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(out);
                }
                '\\' => {
                    self.at += 1;
                    self.escape(begin, &mut out)?;
                }
                c if (c as u32) < 0x20 => return self.error("Invalid control character at", self.at),
                c => {
                    out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, begin: usize, out: &mut String) -> PyResult<()> {
        let Some(c) = self.rest().chars().next() else {
            return self.error("Unterminated string starting at", begin);
        };
        let plain = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                // Python wants one more character after the digits before it looks at them
                if self.at + 5 >= self.text.len() {
                    return self.error("Invalid \\uXXXX escape", self.at);
                }
                let high = self.hex(self.at + 1)?;
                self.at += 5;
                let low = if (0xd800..0xdc00).contains(&high) && self.rest().starts_with("\\u") {
                    Some(self.hex(self.at + 2)?).filter(|low| (0xdc00..0xe000).contains(low))
                } else {
                    None
                };
                let code = match low {
                    Some(low) => {
                        self.at += 6;
                        0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                    }
                    None => high,
                };
                out.push(char::from_u32(code).ok_or_else(|| PyErr::unsupported("lone surrogates in text"))?);
                return Ok(());
            }
            _ => return self.error("Invalid \\escape", self.at - 1),
        };
        out.push(plain);
        self.at += 1;
        Ok(())
    }

    fn hex(&self, at: usize) -> PyResult<u32> {
        let digits = self.text.get(at..at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => Ok(code),
            None => self.error("Invalid \\uXXXX escape", at.saturating_sub(1)),
        }
    }

    fn array(&mut self) -> PyResult {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(list(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(list(items));
                }
                _ => return self.error("Expecting ',' delimiter", self.at),
            }
            self.skip_space();
        }
    }

    fn object(&mut self) -> PyResult {
        self.at += 1;
        let dict = Dict::default();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(object(dict));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.error("Expecting property name enclosed in double quotes", self.at);
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.error("Expecting ':' delimiter", self.at);
            }
            self.at += 1;
            self.skip_space();
            let value = self.value()?;
            dict.insert(&Value::from(key), value)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(object(dict));
                }
                _ => return self.error("Expecting ',' delimiter", self.at),
            }
            self.skip_space();
        }
    }
}

/// A value as JSON: what [`from_json`] reads back. `None` for types JSON has no form for, and for nan and infinity.
pub fn to_json(value: &Value) -> Option<Json> {
    let _depth = Depth::enter().ok()?;
    if let Some(text) = super::text(value) {
        return Some(Json::from(text));
    }
    match view(value) {
        View::None => Some(Json::Null),
        View::Bool(bool) => Some(Json::from(bool)),
        View::Int(int) => Some(Json::from(int)),
        View::Float(float) if float.is_finite() => {
            repr_float(float).parse::<serde_json::Number>().ok().map(Json::Number)
        }
        View::Object(_) => {
            if let Some(big) = number::big(value) {
                return big.to_string().parse::<serde_json::Number>().ok().map(Json::Number);
            }
            if let Some(list) = downcast::<List>(value) {
                return list.snapshot().iter().map(to_json).collect::<Option<Vec<_>>>().map(Json::from);
            }
            let dict = downcast::<Dict>(value)?;
            let mut out = serde_json::Map::new();
            for (key, value) in dict.items() {
                out.insert(super::text(&key)?.to_owned(), to_json(&value)?);
            }
            Some(Json::Object(out))
        }
        _ => None,
    }
}
