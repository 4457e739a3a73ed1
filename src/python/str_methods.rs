//! Methods of `str`.

use std::fmt::Write as _;

use super::builtins::char_count;
use super::str_case::{capitalize, casefold, is_title, maketrans, swapcase, title, translate};
use super::{
    Args, Interp, PyErr, PyResult, Tuple, Value, View, cargs, chars, downcast, iter, list, seq, str_format, str_split,
    text, tuple, type_name, view,
};

/// True when `str` has a method of that name.
pub(crate) fn has(name: &str) -> bool {
    matches!(
        name,
        "capitalize"
            | "casefold"
            | "center"
            | "count"
            | "encode"
            | "endswith"
            | "expandtabs"
            | "find"
            | "format"
            | "format_map"
            | "index"
            | "isalnum"
            | "isalpha"
            | "isascii"
            | "isdecimal"
            | "isdigit"
            | "isidentifier"
            | "islower"
            | "isnumeric"
            | "isprintable"
            | "isspace"
            | "istitle"
            | "isupper"
            | "join"
            | "ljust"
            | "lower"
            | "lstrip"
            | "maketrans"
            | "partition"
            | "removeprefix"
            | "removesuffix"
            | "replace"
            | "rfind"
            | "rindex"
            | "rjust"
            | "rpartition"
            | "rsplit"
            | "rstrip"
            | "split"
            | "splitlines"
            | "startswith"
            | "strip"
            | "swapcase"
            | "title"
            | "translate"
            | "upper"
            | "zfill"
    )
}

fn plain(text: String) -> PyResult {
    Ok(Value::from(text))
}

/// Calls a method of which [`has`] is true.
pub(crate) fn call(s: &str, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bool_of = |qualified: &str, test: &dyn Fn(&str) -> bool| -> PyResult {
        cargs::none(qualified, args)?;
        Ok(Value::from(test(s)))
    };
    match name {
        "lower" => cargs::none("str.lower", args).and_then(|()| plain(chars::lower(s))),
        "upper" => cargs::none("str.upper", args).and_then(|()| plain(chars::upper(s))),
        "capitalize" => cargs::none("str.capitalize", args).and_then(|()| plain(capitalize(s))),
        "casefold" => cargs::none("str.casefold", args).and_then(|()| plain(casefold(s))),
        "swapcase" => cargs::none("str.swapcase", args).and_then(|()| plain(swapcase(s))),
        "title" => cargs::none("str.title", args).and_then(|()| plain(title(s))),
        "isalnum" => bool_of("str.isalnum", &|s| all(s, chars::is_alnum)),
        "isalpha" => bool_of("str.isalpha", &|s| all(s, chars::is_alpha)),
        "isascii" => bool_of("str.isascii", &|s| s.is_ascii()),
        "isdecimal" => bool_of("str.isdecimal", &|s| all(s, |c| chars::decimal_value(c).is_some())),
        "isdigit" => bool_of("str.isdigit", &|s| all(s, chars::is_digit)),
        "isidentifier" => bool_of("str.isidentifier", &chars::is_identifier),
        "islower" => bool_of("str.islower", &|s| {
            s.chars().any(chars::is_lower) && !s.chars().any(|c| chars::is_upper(c) || chars::is_title(c))
        }),
        "isupper" => bool_of("str.isupper", &|s| {
            s.chars().any(chars::is_upper) && !s.chars().any(|c| chars::is_lower(c) || chars::is_title(c))
        }),
        "isnumeric" => bool_of("str.isnumeric", &|s| all(s, chars::is_numeric)),
        "isprintable" => bool_of("str.isprintable", &|s| s.chars().all(chars::is_printable)),
        "isspace" => bool_of("str.isspace", &|s| all(s, chars::is_space)),
        "istitle" => bool_of("str.istitle", &is_title),
        "center" | "ljust" | "rjust" => justify(s, name, args, it),
        "zfill" => {
            let width = cargs::index(cargs::one("str.zfill", args)?)?;
            zfill(s, width, it)
        }
        "count" | "find" | "index" | "rfind" | "rindex" => search(s, name, args),
        "startswith" | "endswith" => affix(s, name, args),
        "encode" => encode(s, args),
        "expandtabs" => {
            let [size] = cargs::keywords("expandtabs", &["tabsize"], 0, args)?;
            expandtabs(s, size.map_or(Ok(8), cargs::index)?, it)
        }
        "format" => str_format::format(s, args, it),
        "format_map" => str_format::format_map(s, cargs::one("str.format_map", args)?, it),
        "join" => join(s, cargs::one("str.join", args)?, it),
        "maketrans" => maketrans(args),
        "translate" => translate(s, cargs::one("str.translate", args)?, it),
        "partition" | "rpartition" => {
            let qualified = if name == "partition" { "str.partition" } else { "str.rpartition" };
            let separator = cargs::str_arg("", cargs::one(qualified, args)?)?;
            if separator.is_empty() {
                return Err(PyErr::value_error("empty separator"));
            }
            let (a, b, c) = match if name == "partition" { s.split_once(separator) } else { s.rsplit_once(separator) } {
                Some((left, right)) => (left, separator, right),
                None if name == "partition" => (s, "", ""),
                None => ("", "", s),
            };
            Ok(tuple(vec![Value::from(a), Value::from(b), Value::from(c)]))
        }
        "removeprefix" => {
            let prefix = cargs::str_arg("removeprefix() argument ", cargs::one("str.removeprefix", args)?)?;
            Ok(Value::from(s.strip_prefix(prefix).unwrap_or(s)))
        }
        "removesuffix" => {
            let suffix = cargs::str_arg("removesuffix() argument ", cargs::one("str.removesuffix", args)?)?;
            Ok(Value::from(s.strip_suffix(suffix).unwrap_or(s)))
        }
        "replace" => {
            let pos = cargs::positional("str.replace", args, 2, 3)?;
            let [old, new, ..] = pos else { return plain(s.to_owned()) };
            let old = cargs::str_arg("replace() argument 1 ", old)?;
            let new = cargs::str_arg("replace() argument 2 ", new)?;
            let count = pos.get(2).map_or(Ok(-1), cargs::index)?;
            replace(s, old, new, count, it).map(Value::from)
        }
        "strip" => str_split::strip(s, "str.strip", args, true, true),
        "lstrip" => str_split::strip(s, "str.lstrip", args, true, false),
        "rstrip" => str_split::strip(s, "str.rstrip", args, false, true),
        "split" => str_split::split(s, args, false),
        "rsplit" => str_split::split(s, args, true),
        "splitlines" => {
            let [keep] = cargs::keywords("splitlines", &["keepends"], 0, args)?;
            let keep = keep.map_or(Ok(0), cargs::index)? != 0;
            Ok(list(str_split::lines(s, keep).into_iter().map(Value::from).collect()))
        }
        _ => Err(super::no_attribute(&Value::from(s), name)),
    }
}

fn all(s: &str, test: impl Fn(char) -> bool) -> bool {
    !s.is_empty() && s.chars().all(test)
}

/// Pads to a width in code points.
pub(crate) fn pad(s: &str, left: usize, right: usize, fill: char) -> String {
    let mut out = String::with_capacity(s.len() + (left + right) * fill.len_utf8());
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(s);
    out.extend(std::iter::repeat_n(fill, right));
    out
}

fn justify(s: &str, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let qualified = match name {
        "center" => "str.center",
        "ljust" => "str.ljust",
        _ => "str.rjust",
    };
    let pos = cargs::positional(qualified, args, 1, 2)?;
    let width = pos.first().map_or(Ok(0), cargs::index)?;
    let fill = match pos.get(1) {
        None => ' ',
        Some(value) => {
            let Some(fill) = text(value) else {
                return Err(PyErr::type_error(format!(
                    "The fill character must be a unicode character, not {}",
                    type_name(value)
                )));
            };
            let mut chars = fill.chars();
            match (chars.next(), chars.next()) {
                (Some(one), None) => one,
                _ => return Err(PyErr::type_error("The fill character must be exactly one character long")),
            }
        }
    };
    justified(s, name, width, fill, it).map(Value::from)
}

/// `center`, `ljust` or `rjust`.
pub(crate) fn justified(s: &str, name: &str, width: i64, fill: char, it: &mut dyn Interp) -> PyResult<String> {
    let len = char_count(s);
    let width = usize::try_from(width).unwrap_or(0);
    let Some(missing) = width.checked_sub(len).filter(|missing| *missing > 0) else { return Ok(s.to_owned()) };
    it.allocate(s.len().saturating_add(missing.saturating_mul(fill.len_utf8())))?;
    Ok(match name {
        "ljust" => pad(s, 0, missing, fill),
        "rjust" => pad(s, missing, 0, fill),
        _ => {
            let left = missing / 2 + (missing & width & 1);
            pad(s, left, missing - left, fill)
        }
    })
}

fn zfill(s: &str, width: i64, it: &mut dyn Interp) -> PyResult {
    let width = usize::try_from(width).unwrap_or(0);
    let Some(missing) = width.checked_sub(char_count(s)).filter(|missing| *missing > 0) else {
        return Ok(Value::from(s));
    };
    it.allocate(s.len().saturating_add(missing))?;
    let (sign, rest) = match s.strip_prefix(['+', '-']) {
        Some(rest) => s.split_at(s.len() - rest.len()),
        None => ("", s),
    };
    plain(format!("{sign}{}", pad(rest, missing, 0, '0')))
}

/// The part of a text between two indices in code points, and the index where it starts; `None` when `start` lies
/// beyond the end.
fn window<'s>(s: &'s str, start: Option<&Value>, stop: Option<&Value>) -> PyResult<Option<(&'s str, usize)>> {
    if start.is_none() && stop.is_none() {
        return Ok(Some((s, 0)));
    }
    let len = char_count(s) as i64;
    let bound = |value: Option<&Value>, default: i64| -> PyResult<i64> {
        let at = value.map_or(Ok(None), cargs::slice_index)?.unwrap_or(default);
        Ok(if at < 0 { at.saturating_add(len).max(0) } else { at })
    };
    let (start, stop) = (bound(start, 0)?, bound(stop, len)?.min(len));
    if start > stop {
        return Ok(None);
    }
    let (start, stop) = (start as usize, stop as usize);
    if s.is_ascii() {
        return Ok(s.get(start..stop).map(|part| (part, start)));
    }
    let offset = |chars: usize| s.char_indices().nth(chars).map_or(s.len(), |(at, _)| at);
    Ok(s.get(offset(start)..offset(stop)).map(|part| (part, start)))
}

fn search(s: &str, name: &str, args: &Args<'_>) -> PyResult {
    let qualified = match name {
        "count" => "str.count",
        "find" => "str.find",
        "index" => "str.index",
        "rfind" => "str.rfind",
        _ => "str.rindex",
    };
    let pos = cargs::parse_tuple(qualified, args, 1, 3)?;
    // the bounds are read first
    let found = window(s, pos.get(1), pos.get(2))?;
    let wanted = cargs::str_arg("", pos.first().unwrap_or(&Value::from(())))?.to_owned();
    if name == "count" {
        let count = match found {
            None => 0,
            Some((part, _)) if wanted.is_empty() => char_count(part) + 1,
            Some((part, _)) => part.matches(wanted.as_str()).count(),
        };
        return Ok(Value::from(count as i64));
    }
    let at = found.and_then(|(part, start)| {
        let byte = if name.starts_with('r') { part.rfind(&wanted) } else { part.find(&wanted) }?;
        Some(start + char_count(part.get(..byte)?))
    });
    match at {
        Some(at) => Ok(Value::from(at as i64)),
        None if name.ends_with("index") => Err(PyErr::value_error("substring not found")),
        None => Ok(Value::from(-1)),
    }
}

fn affix(s: &str, name: &str, args: &Args<'_>) -> PyResult {
    let qualified = if name == "startswith" { "str.startswith" } else { "str.endswith" };
    let pos = cargs::parse_tuple(qualified, args, 1, 3)?;
    let part = window(s, pos.get(1), pos.get(2))?.map(|(part, _)| part);
    let matches = |affix: &str| {
        part.is_some_and(|part| if name == "startswith" { part.starts_with(affix) } else { part.ends_with(affix) })
    };
    let Some(first) = pos.first() else { return Ok(Value::from(false)) };
    if let Some(affixes) = downcast::<Tuple>(first) {
        for affix in affixes.items() {
            let Some(affix) = text(affix) else {
                return Err(PyErr::type_error(format!(
                    "tuple for {name} must only contain str, not {}",
                    type_name(affix)
                )));
            };
            if matches(affix) {
                return Ok(Value::from(true));
            }
        }
        return Ok(Value::from(false));
    }
    match text(first) {
        Some(affix) => Ok(Value::from(matches(affix))),
        None => {
            Err(PyErr::type_error(format!("{name} first arg must be str or a tuple of str, not {}", type_name(first))))
        }
    }
}

/// `s.replace(old, new, count)`; a negative count is no limit.
pub fn replace(s: &str, old: &str, new: &str, count: i64, it: &mut dyn Interp) -> PyResult<String> {
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    if new.len() > old.len() {
        let found = if old.is_empty() { char_count(s) + 1 } else { s.matches(old).count() };
        it.allocate(s.len().saturating_add(found.min(limit).saturating_mul(new.len())))?;
    }
    if count < 0 {
        return Ok(s.replace(old, new));
    }
    Ok(s.replacen(old, new, limit))
}

fn expandtabs(s: &str, size: i64, it: &mut dyn Interp) -> PyResult {
    let size = usize::try_from(size).unwrap_or(0);
    it.allocate(s.matches('\t').count().saturating_mul(size).saturating_add(s.len()))?;
    let mut out = String::with_capacity(s.len());
    let mut column = 0;
    for c in s.chars() {
        match c {
            '\t' => {
                if size > 0 {
                    let blanks = size - column % size;
                    column += blanks;
                    out.extend(std::iter::repeat_n(' ', blanks));
                }
            }
            c => {
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
                out.push(c);
            }
        }
    }
    plain(out)
}

fn join(s: &str, items: &Value, it: &mut dyn Interp) -> PyResult {
    let items = iter::to_vec(items, it).map_err(|error| {
        if error.class == "TypeError" && error.message.ends_with("object is not iterable") {
            PyErr::type_error("can only join an iterable")
        } else {
            error
        }
    })?;
    if let [one] = items.as_slice()
        && matches!(view(one), View::Str(_))
        && !one.is_safe()
    {
        return Ok(one.clone());
    }
    join_values(s, &items, it).map(Value::from)
}

/// `s.join(items)`, with Python's TypeError for what is not text.
pub(crate) fn join_values(s: &str, items: &[Value], it: &mut dyn Interp) -> PyResult<String> {
    let mut size = s.len().saturating_mul(items.len());
    for (at, item) in items.iter().enumerate() {
        let Some(part) = text(item) else {
            return Err(PyErr::type_error(format!(
                "sequence item {at}: expected str instance, {} found",
                type_name(item)
            )));
        };
        size = size.saturating_add(part.len());
    }
    it.allocate(size)?;
    let mut out = String::with_capacity(size);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(s);
        }
        out.push_str(text(item).unwrap_or_default());
    }
    Ok(out)
}

fn encode(s: &str, args: &Args<'_>) -> PyResult {
    let [encoding, errors] = cargs::keywords("encode", &["encoding", "errors"], 0, args)?;
    let of = |value: Option<&Value>, name: &str, default: &str| -> PyResult<String> {
        match value {
            None => Ok(default.to_owned()),
            Some(value) => cargs::str_arg(&format!("encode() argument '{name}' "), value).map(str::to_owned),
        }
    };
    let (encoding, errors) = (of(encoding, "encoding", "utf-8")?, of(errors, "errors", "strict")?);
    let (codec, limit) = match encoding.to_ascii_lowercase().replace(['_', ' '], "-").as_str() {
        "utf-8" | "utf8" | "u8" | "utf" => return Ok(Value::from_bytes(s.as_bytes().to_vec())),
        "ascii" | "us-ascii" | "646" => ("ascii", 0x80),
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "8859" | "l1" => ("latin-1", 0x100),
        _ => return Err(PyErr::unsupported(format!("the encoding '{encoding}'"))),
    };
    let mut out = Vec::with_capacity(s.len());
    for (at, c) in s.chars().enumerate() {
        if (c as u32) < limit {
            out.push(c as u8);
            continue;
        }
        match errors.as_str() {
            "ignore" => {}
            "replace" => out.push(b'?'),
            "backslashreplace" => {
                let mut escaped = String::new();
                super::repr::push_escape(c, &mut escaped);
                out.extend_from_slice(escaped.as_bytes());
            }
            "xmlcharrefreplace" => out.extend_from_slice(format!("&#{};", c as u32).as_bytes()),
            "strict" => {
                let run = s.chars().skip(at).take_while(|c| *c as u32 >= limit).count();
                let place = if run == 1 {
                    let mut escaped = String::new();
                    super::repr::push_escape(c, &mut escaped);
                    format!("character '{escaped}' in position {at}")
                } else {
                    format!("characters in position {at}-{}", at + run - 1)
                };
                return Err(PyErr::new(
                    "UnicodeEncodeError",
                    format!("'{codec}' codec can't encode {place}: ordinal not in range({limit})"),
                ));
            }
            _ => return Err(PyErr::unsupported(format!("the error handler '{errors}'"))),
        }
    }
    Ok(Value::from_bytes(out))
}

/// Hexadecimal text of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Bounds of a slice that a method takes, in bytes.
pub(crate) fn byte_window(len: usize, start: Option<&Value>, stop: Option<&Value>) -> PyResult<Option<(usize, usize)>> {
    let none = super::none();
    let (start_value, stop_value) = (start.unwrap_or(&none), stop.unwrap_or(&none));
    let beyond = cargs::slice_index(start_value)?.is_some_and(|at| at > len as i64);
    let indices = seq::Indices::new(start_value, stop_value, &none, len)?;
    if beyond || indices.start > indices.stop {
        return Ok(None);
    }
    Ok(Some((indices.start as usize, indices.stop as usize)))
}
