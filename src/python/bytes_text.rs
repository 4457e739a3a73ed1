//! Methods of `bytes` that treat it as ASCII text.

use super::{Args, Interp, PyErr, PyResult, Value, View, cargs, list, tuple, type_name, view};

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

fn new(bytes: impl Into<Vec<u8>>) -> Value {
    Value::from_bytes(bytes.into())
}

fn fill_byte(value: Option<&Value>, name: &str) -> PyResult<u8> {
    match value.map(view) {
        None => Ok(b' '),
        Some(View::Bytes([byte])) => Ok(*byte),
        Some(_) => Err(PyErr::type_error(format!(
            "{name}() argument 2 must be a byte string of length 1, not {}",
            value.map(type_name).unwrap_or_default()
        ))),
    }
}

/// `center`, `ljust`, `rjust`.
pub(super) fn justify(b: &[u8], name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let pos = cargs::positional(&format!("bytes.{name}"), args, 1, 2)?;
    let width = usize::try_from(pos.first().map_or(Ok(0), cargs::index)?).unwrap_or(0);
    let fill = fill_byte(pos.get(1), name)?;
    let missing = width.saturating_sub(b.len());
    it.allocate(b.len().saturating_add(missing))?;
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        _ => missing / 2 + (missing & width & 1),
    };
    Ok(new([vec![fill; left].as_slice(), b, vec![fill; missing - left].as_slice()].concat()))
}

/// `zfill`.
pub(super) fn zfill(b: &[u8], width: i64, it: &mut dyn Interp) -> PyResult {
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(b.len());
    it.allocate(b.len().saturating_add(missing))?;
    let sign = usize::from(matches!(b.first(), Some(b'+' | b'-')));
    let (sign, rest) = b.split_at(sign);
    Ok(new([sign, vec![b'0'; missing].as_slice(), rest].concat()))
}

/// `title`.
pub(super) fn title(b: &[u8]) -> Value {
    let mut in_word = false;
    let out: Vec<u8> = b
        .iter()
        .map(|byte| {
            let cased = if in_word { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
            in_word = byte.is_ascii_alphabetic();
            cased
        })
        .collect();
    new(out)
}

/// `istitle`.
pub(super) fn is_title(b: &[u8]) -> bool {
    let (mut cased, mut previous) = (false, false);
    for byte in b {
        if byte.is_ascii_uppercase() {
            if previous {
                return false;
            }
            (cased, previous) = (true, true);
        } else if byte.is_ascii_lowercase() {
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

/// `capitalize`.
pub(super) fn capitalize(b: &[u8]) -> Value {
    let mut out = b.to_ascii_lowercase();
    if let Some(first) = out.first_mut() {
        *first = first.to_ascii_uppercase();
    }
    new(out)
}

/// `swapcase`.
pub(super) fn swapcase(b: &[u8]) -> Value {
    let swap =
        |byte: &u8| if byte.is_ascii_uppercase() { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
    new(b.iter().map(swap).collect::<Vec<_>>())
}

/// `expandtabs`.
pub(super) fn expandtabs(b: &[u8], args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [size] = cargs::keywords("expandtabs", &["tabsize"], 0, args)?;
    let size = usize::try_from(size.map_or(Ok(8), cargs::index)?).unwrap_or(0);
    let tabs = b.iter().filter(|byte| **byte == b'\t').count();
    it.allocate(tabs.saturating_mul(size).saturating_add(b.len()))?;
    let mut out = Vec::with_capacity(b.len());
    let mut column = 0;
    for byte in b {
        match byte {
            b'\t' => {
                if size > 0 {
                    let blanks = size - column % size;
                    column += blanks;
                    out.extend(std::iter::repeat_n(b' ', blanks));
                }
            }
            byte => {
                column = if matches!(byte, b'\n' | b'\r') { 0 } else { column + 1 };
                out.push(*byte);
            }
        }
    }
    Ok(new(out))
}

/// `partition` and `rpartition`.
pub(super) fn partition(b: &[u8], separator: &[u8], from_right: bool) -> PyResult {
    if separator.is_empty() {
        return Err(PyErr::value_error("empty separator"));
    }
    let found = if from_right { super::bytes::rfind(b, separator) } else { super::bytes::find(b, separator) };
    let (left, middle, right) = match found {
        Some(at) => {
            let (left, rest) = b.split_at(at);
            (left, separator, rest.get(separator.len()..).unwrap_or(&[]))
        }
        None if from_right => (&[][..], &[][..], b),
        None => (b, &[][..], &[][..]),
    };
    Ok(tuple(vec![new(left), new(middle), new(right)]))
}

/// `split` and `rsplit`.
pub(super) fn split(b: &[u8], name: &str, args: &Args<'_>) -> PyResult {
    let [separator, max] = cargs::keywords(name, &["sep", "maxsplit"], 0, args)?;
    let max = usize::try_from(max.map_or(Ok(-1), cargs::index)?).unwrap_or(usize::MAX);
    let from_right = name == "rsplit";
    let parts = match separator.filter(|value| !value.is_none()) {
        None => by_space(b, max, from_right),
        Some(separator) => {
            let separator = super::bytes::bytes_arg(separator)?;
            if separator.is_empty() {
                return Err(PyErr::value_error("empty separator"));
            }
            by_separator(b, separator, max, from_right)
        }
    };
    Ok(list(parts.into_iter().map(new).collect()))
}

fn by_separator<'b>(b: &'b [u8], separator: &[u8], max: usize, from_right: bool) -> Vec<&'b [u8]> {
    let (mut parts, mut rest) = (Vec::new(), b);
    while parts.len() < max {
        let found = if from_right { super::bytes::rfind(rest, separator) } else { super::bytes::find(rest, separator) };
        let Some(at) = found else { break };
        let (left, right) = rest.split_at(at);
        let right = right.get(separator.len()..).unwrap_or(&[]);
        parts.push(if from_right { right } else { left });
        rest = if from_right { left } else { right };
    }
    parts.push(rest);
    if from_right {
        parts.reverse();
    }
    parts
}

fn trim_start(b: &[u8]) -> &[u8] {
    b.get(b.iter().position(|byte| !is_space(*byte)).unwrap_or(b.len())..).unwrap_or(&[])
}

fn trim_end(b: &[u8]) -> &[u8] {
    b.get(..b.iter().rposition(|byte| !is_space(*byte)).map_or(0, |at| at + 1)).unwrap_or(&[])
}

fn by_space(b: &[u8], max: usize, from_right: bool) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = if from_right { trim_end(b) } else { trim_start(b) };
    while !rest.is_empty() {
        let at = if parts.len() == max {
            None
        } else if from_right {
            rest.iter().rposition(|byte| is_space(*byte))
        } else {
            rest.iter().position(|byte| is_space(*byte))
        };
        let Some(at) = at else {
            parts.push(rest);
            break;
        };
        let (left, right) = rest.split_at(at);
        if from_right {
            parts.push(trim_start(right));
            rest = trim_end(left);
        } else {
            parts.push(left);
            rest = trim_start(right);
        }
    }
    if from_right {
        parts.reverse();
    }
    parts
}

/// `splitlines`: only line feeds and carriage returns end a line of bytes.
pub(super) fn splitlines(b: &[u8], args: &Args<'_>) -> PyResult {
    let [keep] = cargs::keywords("splitlines", &["keepends"], 0, args)?;
    let keep = keep.map_or(Ok(0), cargs::index)? != 0;
    let (mut lines, mut rest) = (Vec::new(), b);
    while !rest.is_empty() {
        let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            lines.push(new(rest));
            break;
        };
        let width = if rest.get(at..).is_some_and(|end| end.starts_with(b"\r\n")) { 2 } else { 1 };
        lines.push(new(rest.get(..if keep { at + width } else { at }).unwrap_or(&[])));
        rest = rest.get(at + width..).unwrap_or(&[]);
    }
    Ok(list(lines))
}

/// `translate(table, delete)`.
pub(super) fn translate(b: &[u8], args: &Args<'_>) -> PyResult {
    let [table, delete] = cargs::keywords("translate", &["", "delete"], 1, args)?;
    let table = match table.filter(|value| !value.is_none()) {
        Some(table) => Some(super::bytes::bytes_arg(table)?),
        None => None,
    };
    if table.is_some_and(|table| table.len() != 256) {
        return Err(PyErr::value_error("translation table must be 256 characters long"));
    }
    let delete = delete.map_or(Ok(&[][..]), super::bytes::bytes_arg)?;
    let map = |byte: &u8| table.and_then(|table| table.get(*byte as usize)).copied().unwrap_or(*byte);
    Ok(new(b.iter().filter(|byte| !delete.contains(byte)).map(map).collect::<Vec<_>>()))
}

/// `maketrans(from, to)`.
pub(super) fn maketrans(args: &Args<'_>) -> PyResult {
    let pos = cargs::positional("bytes.maketrans", args, 2, 2)?;
    let [from, to] = pos else { return Ok(new([])) };
    let (from, to) = (super::bytes::bytes_arg(from)?, super::bytes::bytes_arg(to)?);
    if from.len() != to.len() {
        return Err(PyErr::value_error("maketrans arguments must have same length"));
    }
    let mut table: Vec<u8> = (0..=255).collect();
    for (a, b) in from.iter().zip(to) {
        if let Some(slot) = table.get_mut(*a as usize) {
            *slot = *b;
        }
    }
    Ok(new(table))
}

/// `bytes.fromhex(text)`.
pub(super) fn from_hex(args: &Args<'_>) -> PyResult {
    let value = cargs::one("bytes.fromhex", args)?;
    let Some(text) = super::text(value) else {
        return Err(PyErr::type_error(format!("fromhex() argument must be str, not {}", type_name(value))));
    };
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(c) = chars.get(at) {
        if c.is_ascii() && is_space(*c as u8) {
            at += 1;
            continue;
        }
        let digit = |at: usize| {
            chars.get(at).and_then(|c| c.to_digit(16)).ok_or_else(|| {
                PyErr::value_error(format!("non-hexadecimal number found in fromhex() arg at position {at}"))
            })
        };
        let byte = digit(at)? * 16 + digit(at + 1)?;
        out.push(byte as u8);
        at += 2;
    }
    Ok(new(out))
}
