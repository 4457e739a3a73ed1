//! Methods of `bytes`.

use super::{
    Args, Interp, PyErr, PyResult, Tuple, Value, View, bytes_text, cargs, downcast, iter, str_methods, type_name, view,
};

/// True when `bytes` has a method of that name.
pub(crate) fn has(name: &str) -> bool {
    matches!(
        name,
        "decode"
            | "hex"
            | "count"
            | "find"
            | "index"
            | "rfind"
            | "rindex"
            | "startswith"
            | "endswith"
            | "join"
            | "lower"
            | "upper"
            | "strip"
            | "lstrip"
            | "rstrip"
            | "split"
            | "replace"
            | "removeprefix"
            | "removesuffix"
            | "isdigit"
            | "isalpha"
            | "isalnum"
            | "isascii"
            | "isspace"
            | "islower"
            | "isupper"
            | "istitle"
            | "title"
            | "capitalize"
            | "swapcase"
            | "center"
            | "ljust"
            | "rjust"
            | "zfill"
            | "expandtabs"
            | "partition"
            | "rpartition"
            | "rsplit"
            | "splitlines"
            | "translate"
            | "maketrans"
            | "fromhex"
    )
}

pub(super) fn bytes_arg(value: &Value) -> PyResult<&[u8]> {
    match view(value) {
        View::Bytes(bytes) => Ok(bytes),
        _ => Err(PyErr::type_error(format!("a bytes-like object is required, not '{}'", type_name(value)))),
    }
}

/// `item in bytes`.
pub(crate) fn contains(bytes: &[u8], item: &Value) -> PyResult<bool> {
    match view(item) {
        View::Bytes(part) => Ok(find(bytes, part).is_some()),
        View::Int(byte) => match u8::try_from(byte) {
            Ok(byte) => Ok(bytes.contains(&byte)),
            Err(_) => Err(PyErr::value_error("byte must be in range(0, 256)")),
        },
        View::Bool(byte) => Ok(bytes.contains(&u8::from(byte))),
        _ => Err(PyErr::type_error(format!("a bytes-like object is required, not '{}'", type_name(item)))),
    }
}

pub(super) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    bytes.windows(part.len()).position(|window| window == part)
}

pub(super) fn rfind(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(bytes.len());
    }
    bytes.windows(part.len()).rposition(|window| window == part)
}

/// Calls a method of which [`has`] is true.
pub(crate) fn call(b: &[u8], name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let qualified = format!("bytes.{name}");
    let new = |bytes: Vec<u8>| Ok(Value::from_bytes(bytes));
    let test = |result: bool| -> PyResult {
        cargs::none(&qualified, args)?;
        Ok(Value::from(result))
    };
    match name {
        "decode" => decode(b, args),
        "hex" => hex(b, args, it),
        "lower" => cargs::none(&qualified, args).and_then(|()| new(b.to_ascii_lowercase())),
        "upper" => cargs::none(&qualified, args).and_then(|()| new(b.to_ascii_uppercase())),
        "isascii" => test(b.is_ascii()),
        "isdigit" => test(!b.is_empty() && b.iter().all(u8::is_ascii_digit)),
        "isalpha" => test(!b.is_empty() && b.iter().all(u8::is_ascii_alphabetic)),
        "isalnum" => test(!b.is_empty() && b.iter().all(u8::is_ascii_alphanumeric)),
        "isspace" => test(!b.is_empty() && b.iter().all(|b| matches!(b, b'\t'..=b'\r' | b' '))),
        "islower" => test(b.iter().any(u8::is_ascii_lowercase) && !b.iter().any(u8::is_ascii_uppercase)),
        "isupper" => test(b.iter().any(u8::is_ascii_uppercase) && !b.iter().any(u8::is_ascii_lowercase)),
        "count" | "find" | "index" | "rfind" | "rindex" => {
            let pos = cargs::parse_tuple(&qualified, args, 1, 3)?;
            let window = str_methods::byte_window(b.len(), pos.get(1), pos.get(2))?;
            let one;
            let part = match pos.first().map(view) {
                Some(View::Bytes(part)) => part,
                Some(View::Int(byte)) => {
                    one = [u8::try_from(byte).map_err(|_| PyErr::value_error("byte must be in range(0, 256)"))?];
                    &one
                }
                _ => {
                    return Err(PyErr::type_error(format!(
                        "argument should be integer or bytes-like object, not '{}'",
                        pos.first().map(type_name).unwrap_or_default()
                    )));
                }
            };
            let slice = window.and_then(|(start, stop)| b.get(start..stop));
            if name == "count" {
                let Some(slice) = slice else { return Ok(Value::from(0)) };
                if part.is_empty() {
                    return Ok(Value::from(slice.len() as i64 + 1));
                }
                let (mut count, mut rest) = (0, slice);
                while let Some(at) = find(rest, part) {
                    count += 1;
                    rest = rest.get(at + part.len()..).unwrap_or(&[]);
                }
                return Ok(Value::from(count));
            }
            let at = slice.and_then(|slice| if name.starts_with('r') { rfind(slice, part) } else { find(slice, part) });
            match at {
                Some(at) => Ok(Value::from((at + window.map_or(0, |(start, _)| start)) as i64)),
                None if name.ends_with("index") => Err(PyErr::value_error("subsection not found")),
                None => Ok(Value::from(-1)),
            }
        }
        "startswith" | "endswith" => {
            let pos = cargs::parse_tuple(&qualified, args, 1, 3)?;
            let slice =
                str_methods::byte_window(b.len(), pos.get(1), pos.get(2))?.and_then(|(start, stop)| b.get(start..stop));
            let matches = |affix: &[u8]| {
                slice.is_some_and(|s| if name == "startswith" { s.starts_with(affix) } else { s.ends_with(affix) })
            };
            let Some(first) = pos.first() else { return Ok(Value::from(false)) };
            if let Some(affixes) = downcast::<Tuple>(first) {
                for affix in affixes.items() {
                    if matches(bytes_arg(affix)?) {
                        return Ok(Value::from(true));
                    }
                }
                return Ok(Value::from(false));
            }
            match view(first) {
                View::Bytes(affix) => Ok(Value::from(matches(affix))),
                _ => Err(PyErr::type_error(format!(
                    "{name} first arg must be bytes or a tuple of bytes, not {}",
                    type_name(first)
                ))),
            }
        }
        "join" => {
            let items = iter::to_vec(cargs::one(&qualified, args)?, it)?;
            let mut out = Vec::new();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b);
                }
                match view(item) {
                    View::Bytes(part) => out.extend_from_slice(part),
                    _ => {
                        return Err(PyErr::type_error(format!(
                            "sequence item {at}: expected a bytes-like object, {} found",
                            type_name(item)
                        )));
                    }
                }
                it.allocate(out.len())?;
            }
            new(out)
        }
        "strip" | "lstrip" | "rstrip" => {
            let pos = cargs::positional(&qualified, args, 0, 1)?;
            let set = match pos.first() {
                Some(value) if !value.is_none() => bytes_arg(value)?,
                _ => b" \t\n\r\x0b\x0c",
            };
            let mut out = b;
            while let [first, rest @ ..] = out
                && name != "rstrip"
                && set.contains(first)
            {
                out = rest;
            }
            while let [rest @ .., last] = out
                && name != "lstrip"
                && set.contains(last)
            {
                out = rest;
            }
            new(out.to_vec())
        }
        "split" | "rsplit" => bytes_text::split(b, name, args),
        "splitlines" => bytes_text::splitlines(b, args),
        "center" | "ljust" | "rjust" => bytes_text::justify(b, name, args, it),
        "zfill" => bytes_text::zfill(b, cargs::index(cargs::one(&qualified, args)?)?, it),
        "expandtabs" => bytes_text::expandtabs(b, args, it),
        "title" => cargs::none(&qualified, args).map(|()| bytes_text::title(b)),
        "capitalize" => cargs::none(&qualified, args).map(|()| bytes_text::capitalize(b)),
        "swapcase" => cargs::none(&qualified, args).map(|()| bytes_text::swapcase(b)),
        "istitle" => test(bytes_text::is_title(b)),
        "partition" | "rpartition" => {
            bytes_text::partition(b, bytes_arg(cargs::one(&qualified, args)?)?, name == "rpartition")
        }
        "translate" => bytes_text::translate(b, args),
        "maketrans" => bytes_text::maketrans(args),
        "fromhex" => bytes_text::from_hex(args),
        "replace" => {
            let pos = cargs::positional(&qualified, args, 2, 3)?;
            let [old, replacement, ..] = pos else { return new(b.to_vec()) };
            let (old, replacement) = (bytes_arg(old)?, bytes_arg(replacement)?);
            let mut left = usize::try_from(pos.get(2).map_or(Ok(-1), cargs::index)?).unwrap_or(usize::MAX);
            if old.is_empty() {
                return Err(PyErr::unsupported("bytes.replace() of nothing"));
            }
            it.allocate((b.len() / old.len() + 1).saturating_mul(replacement.len()).saturating_add(b.len()))?;
            let (mut out, mut rest) = (Vec::new(), b);
            while left > 0
                && let Some(at) = find(rest, old)
            {
                out.extend_from_slice(rest.get(..at).unwrap_or(&[]));
                out.extend_from_slice(replacement);
                rest = rest.get(at + old.len()..).unwrap_or(&[]);
                left -= 1;
            }
            out.extend_from_slice(rest);
            new(out)
        }
        "removeprefix" => {
            let prefix = bytes_arg(cargs::one(&qualified, args)?)?;
            new(b.strip_prefix(prefix).unwrap_or(b).to_vec())
        }
        "removesuffix" => {
            let suffix = bytes_arg(cargs::one(&qualified, args)?)?;
            new(b.strip_suffix(suffix).unwrap_or(b).to_vec())
        }
        _ => Err(PyErr::unsupported(format!("{qualified}()"))),
    }
}

fn hex(b: &[u8], args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [separator, group] = cargs::keywords("hex", &["sep", "bytes_per_sep"], 0, args)?;
    let group = group.map_or(Ok(1), cargs::index)?;
    let Some(separator) = separator else { return Ok(Value::from(str_methods::hex(b))) };
    if super::len(separator, it)? != 1 {
        return Err(PyErr::value_error("sep must be length 1."));
    }
    let separator = match view(separator) {
        View::Str(text) => text.to_owned(),
        View::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => return Err(PyErr::type_error("sep must be str or bytes.")),
    };
    if !separator.is_ascii() {
        return Err(PyErr::value_error("sep must be ASCII."));
    }
    if group == 0 {
        return Ok(Value::from(str_methods::hex(b)));
    }
    let size = group.unsigned_abs() as usize;
    let parts: Vec<String> = if group > 0 {
        // counted from the right
        let head = b.len() % size;
        let (first, rest) = b.split_at(head);
        let first = (head > 0).then(|| str_methods::hex(first));
        first.into_iter().chain(rest.chunks(size).map(str_methods::hex)).collect()
    } else {
        b.chunks(size).map(str_methods::hex).collect()
    };
    Ok(Value::from(parts.join(&separator)))
}

fn decode(b: &[u8], args: &Args<'_>) -> PyResult {
    let [encoding, errors] = cargs::keywords("decode", &["encoding", "errors"], 0, args)?;
    let of = |value: Option<&Value>, name: &str, default: &str| -> PyResult<String> {
        match value {
            None => Ok(default.to_owned()),
            Some(value) => cargs::str_arg(&format!("decode() argument '{name}' "), value).map(str::to_owned),
        }
    };
    let (encoding, errors) = (of(encoding, "encoding", "utf-8")?, of(errors, "errors", "strict")?);
    match encoding.to_ascii_lowercase().replace(['_', ' '], "-").as_str() {
        "utf-8" | "utf8" | "u8" | "utf" => decode_utf8(b, &errors),
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "8859" | "l1" => {
            Ok(Value::from(b.iter().map(|byte| *byte as char).collect::<String>()))
        }
        "ascii" | "us-ascii" | "646" => {
            let mut out = String::with_capacity(b.len());
            for (at, byte) in b.iter().enumerate() {
                match (byte.is_ascii(), errors.as_str()) {
                    (true, _) => out.push(*byte as char),
                    (false, "ignore") => {}
                    (false, "replace") => out.push('\u{fffd}'),
                    (false, "strict") => {
                        return Err(PyErr::new(
                            "UnicodeDecodeError",
                            format!(
                                "'ascii' codec can't decode byte 0x{byte:02x} in position {at}: ordinal not in range(128)"
                            ),
                        ));
                    }
                    _ => return Err(PyErr::unsupported(format!("the error handler '{errors}'"))),
                }
            }
            Ok(Value::from(out))
        }
        _ => Err(PyErr::unsupported(format!("the encoding '{encoding}'"))),
    }
}

fn decode_utf8(b: &[u8], errors: &str) -> PyResult {
    let mut out = String::with_capacity(b.len());
    let mut rest = b;
    let mut at = 0;
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                out.push_str(valid);
                return Ok(Value::from(out));
            }
            Err(error) => {
                let valid = error.valid_up_to();
                out.push_str(std::str::from_utf8(rest.get(..valid).unwrap_or(&[])).unwrap_or(""));
                at += valid;
                let bad = rest.get(valid..).unwrap_or(&[]);
                let width = error.error_len().unwrap_or(bad.len());
                match errors {
                    "ignore" => {}
                    "replace" => out.push('\u{fffd}'),
                    "backslashreplace" => {
                        for byte in bad.iter().take(width) {
                            out.push_str(&format!("\\x{byte:02x}"));
                        }
                    }
                    "strict" => {
                        let first = bad.first().copied().unwrap_or_default();
                        let reason = if error.error_len().is_none() {
                            "unexpected end of data"
                        } else if matches!(first, 0xc2..=0xf4) {
                            "invalid continuation byte"
                        } else {
                            "invalid start byte"
                        };
                        let place = if width == 1 {
                            format!("byte 0x{first:02x} in position {at}")
                        } else {
                            format!("bytes in position {at}-{}", at + width - 1)
                        };
                        return Err(PyErr::new(
                            "UnicodeDecodeError",
                            format!("'utf-8' codec can't decode {place}: {reason}"),
                        ));
                    }
                    _ => return Err(PyErr::unsupported(format!("the error handler '{errors}'"))),
                }
                at += width;
                rest = bad.get(width..).unwrap_or(&[]);
            }
        }
    }
}
