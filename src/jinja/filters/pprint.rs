//! `pprint`: Python's `pprint.pformat` with its defaults (80 columns, one space of indent, sorted keys).

use crate::jinja::Cx;
use crate::python::{self, Args, Interp, PyErr, PyResult, Value, View, chars, downcast, view};

use super::bind::Sig;
use super::sorting::safe_order;
use super::web::split_white;

const WIDTH: isize = 80;
/// Deeper structures are refused; one that contains itself ends here too.
const DEPTH: usize = 150;

/// `do_pprint`
pub fn pprint(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_pprint", leading: &["value"], params: [], required: 0 }.bind(args)?;
    let mut out = String::new();
    write(subject, &mut out, 0, 0, 0, it)?;
    Ok(Value::from(out))
}

/// The containers whose layout `pprint` knows. Named tuples and subclasses with a repr of their own are not among them.
enum Container {
    Dict(Vec<Value>, Vec<Value>),
    Items { open: &'static str, close: &'static str, items: Vec<Value> },
    Set { frozen: bool, items: Vec<Value> },
    Other,
}

fn container(value: &Value, it: &mut dyn Interp) -> PyResult<Container> {
    let View::Object(object) = view(value) else { return Ok(Container::Other) };
    Ok(match object.type_name() {
        "dict" => match downcast::<python::Dict>(value) {
            Some(dict) => {
                let (keys, values): (Vec<_>, Vec<_>) = dict.items().into_iter().unzip();
                let order = safe_order(&keys, it)?;
                Container::Dict(
                    order.iter().map(|index| keys[*index].clone()).collect(),
                    order.iter().map(|index| values[*index].clone()).collect(),
                )
            }
            None => Container::Other,
        },
        "list" => match downcast::<python::List>(value) {
            Some(list) => Container::Items { open: "[", close: "]", items: list.snapshot() },
            None => Container::Other,
        },
        "tuple" => match downcast::<python::Tuple>(value) {
            Some(tuple) => {
                let close = if tuple.items().len() == 1 { ",)" } else { ")" };
                Container::Items { open: "(", close, items: tuple.snapshot() }
            }
            None => Container::Other,
        },
        name @ ("set" | "frozenset") => match downcast::<python::Set>(value) {
            Some(set) => Container::Set { frozen: name == "frozenset", items: set.snapshot() },
            None => Container::Other,
        },
        _ => Container::Other,
    })
}

fn too_deep() -> PyErr {
    PyErr::unsupported("pprint of a structure that contains itself or is nested too deeply")
}

/// `PrettyPrinter._format`
fn write(
    value: &Value,
    out: &mut String,
    indent: isize,
    allowance: isize,
    level: usize,
    it: &mut dyn Interp,
) -> PyResult<()> {
    it.charge(1)?;
    let one_line = on_one_line(value, level, it)?;
    if len(&one_line) <= WIDTH - indent - allowance {
        out.push_str(&one_line);
        return Ok(());
    }
    let level = level + 1;
    match view(value) {
        View::Str(text) if !value.is_safe() => return write_text(text, out, indent, allowance, level),
        View::Bytes(bytes) => return write_bytes(bytes, out, indent, allowance, level, it),
        _ => {}
    }
    match container(value, it)? {
        Container::Dict(keys, values) => {
            out.push('{');
            let indent = indent + 1;
            let last = keys.len().saturating_sub(1);
            for (index, (key, value)) in keys.iter().zip(&values).enumerate() {
                if index > 0 {
                    line_break(out, indent);
                }
                let key = on_one_line(key, level, it)?;
                out.push_str(&key);
                out.push_str(": ");
                let allowance = if index == last { allowance + 1 } else { 1 };
                write(value, out, indent + len(&key) + 2, allowance, level, it)?;
            }
            out.push('}');
        }
        Container::Items { open, close, items } => {
            out.push_str(open);
            write_items(&items, out, indent, allowance + len(close), level, it)?;
            out.push_str(close);
        }
        Container::Set { items, .. } if items.is_empty() => out.push_str(&one_line),
        Container::Set { frozen, items } => {
            let (open, close, shift) = if frozen { ("frozenset({", "})", 10) } else { ("{", "}", 0) };
            let order = safe_order(&items, it)?;
            let items: Vec<Value> = order.into_iter().map(|index| items[index].clone()).collect();
            out.push_str(open);
            write_items(&items, out, indent + shift, allowance + len(close), level, it)?;
            out.push_str(close);
        }
        Container::Other => out.push_str(&one_line),
    }
    Ok(())
}

fn len(text: &str) -> isize {
    text.chars().count() as isize
}

fn line_break(out: &mut String, indent: isize) {
    out.push_str(",\n");
    out.extend(std::iter::repeat_n(' ', usize::try_from(indent).unwrap_or(0)));
}

fn write_items(
    items: &[Value],
    out: &mut String,
    indent: isize,
    allowance: isize,
    level: usize,
    it: &mut dyn Interp,
) -> PyResult<()> {
    let indent = indent + 1;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            line_break(out, indent);
        }
        let allowance = if index + 1 == items.len() { allowance } else { 1 };
        write(item, out, indent, allowance, level, it)?;
    }
    Ok(())
}

/// `PrettyPrinter._safe_repr`: `repr` with sorted dicts.
fn on_one_line(value: &Value, level: usize, it: &mut dyn Interp) -> PyResult<String> {
    if level > DEPTH {
        return Err(too_deep());
    }
    match container(value, it)? {
        Container::Dict(keys, values) => {
            let mut out = String::from("{");
            for (index, (key, value)) in keys.iter().zip(&values).enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(&on_one_line(key, level + 1, it)?);
                out.push_str(": ");
                out.push_str(&on_one_line(value, level + 1, it)?);
            }
            out.push('}');
            Ok(out)
        }
        Container::Items { open, close, items } => {
            let mut out = String::from(open);
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(&on_one_line(item, level + 1, it)?);
            }
            out.push_str(close);
            Ok(out)
        }
        _ => python::repr(value, it),
    }
}

/// A long text becomes several literals, one a line or part of a line.
fn write_text(text: &str, out: &mut String, indent: isize, allowance: isize, level: usize) -> PyResult<()> {
    let outermost = level == 1;
    let (indent, allowance) = if outermost { (indent + 1, allowance + 1) } else { (indent, allowance) };
    let width = WIDTH - indent;
    let lines: Vec<&str> = lines_with_ends(text);
    let mut chunks: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let last_line = index + 1 == lines.len();
        let whole = python::repr_str(line);
        if len(&whole) <= if last_line { width - allowance } else { width } {
            chunks.push(whole);
            continue;
        }
        let parts = words_with_space(line);
        let mut current = String::new();
        for (at, part) in parts.iter().enumerate() {
            let candidate = format!("{current}{part}");
            let width = if last_line && at + 1 == parts.len() { width - allowance } else { width };
            if len(&python::repr_str(&candidate)) > width {
                if !current.is_empty() {
                    chunks.push(python::repr_str(&current));
                }
                current = (*part).to_owned();
            } else {
                current = candidate;
            }
        }
        if !current.is_empty() {
            chunks.push(python::repr_str(&current));
        }
    }
    write_chunks(&chunks, out, indent, outermost && chunks.len() > 1);
    Ok(())
}

fn write_chunks(chunks: &[String], out: &mut String, indent: isize, parentheses: bool) {
    if parentheses {
        out.push('(');
    }
    for (index, chunk) in chunks.iter().enumerate() {
        if index > 0 {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', usize::try_from(indent).unwrap_or(0)));
        }
        out.push_str(chunk);
    }
    if parentheses {
        out.push(')');
    }
}

/// `text.splitlines(True)`
fn lines_with_ends(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest.find(chars::is_line_break) {
            None => rest.len(),
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + rest[at..].chars().next().map_or(1, char::len_utf8),
        };
        let (line, tail) = rest.split_at(end);
        lines.push(line);
        rest = tail;
    }
    lines
}

/// Words, each with the white space after it.
fn words_with_space(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for part in split_white(line) {
        at += part.len();
        if part.starts_with(chars::is_space) {
            parts.push(&line[start..at]);
            start = at;
        }
    }
    if start < line.len() {
        parts.push(&line[start..]);
    }
    parts
}

fn write_bytes(
    bytes: &[u8],
    out: &mut String,
    indent: isize,
    allowance: isize,
    level: usize,
    it: &mut dyn Interp,
) -> PyResult<()> {
    let repr = |bytes: &[u8], it: &mut dyn Interp| python::repr(&Value::from_bytes(bytes.to_vec()), it);
    if bytes.len() <= 4 {
        out.push_str(&repr(bytes, it)?);
        return Ok(());
    }
    let outermost = level == 1;
    let (indent, allowance) = if outermost { (indent + 1, allowance + 1) } else { (indent, allowance) };
    let mut width = WIDTH - indent;
    let last = bytes.len() / 4 * 4;
    let mut chunks = Vec::new();
    let mut current: Vec<u8> = Vec::new();
    for (index, part) in bytes.chunks(4).enumerate() {
        if index * 4 == last {
            width -= allowance;
        }
        let candidate = [&current, part].concat();
        if len(&repr(&candidate, it)?) > width {
            if !current.is_empty() {
                chunks.push(repr(&current, it)?);
            }
            current = part.to_vec();
        } else {
            current = candidate;
        }
    }
    if !current.is_empty() {
        chunks.push(repr(&current, it)?);
    }
    write_chunks(&chunks, out, indent, outermost);
    Ok(())
}
