//! Filters over text.

use crate::jinja::Cx;
use crate::jinja::markup::{escape, has_html, markup, soft_str};
use crate::jinja::undefined::as_undefined;
use crate::python::{self, Args, BinOp, CmpOp, Interp, PyErr, PyResult, Value, chars, text, view};

use super::bind::{Sig, only_positional_subject, only_subject, reject_leading};
use super::wrap::{Wrap, wrap};

const ONE: &[&str] = &["s"];

fn method(value: &Value, name: &str, pos: &[Value], it: &mut dyn Interp) -> PyResult {
    python::call_method(value, name, &Args::positional(pos), it)
}

/// `do_upper`
pub fn upper(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_upper", leading: ONE, params: [], required: 0 }.bind(args)?;
    method(&soft_str(subject, it)?, "upper", &[], it)
}

/// `do_lower`
pub fn lower(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_lower", leading: ONE, params: [], required: 0 }.bind(args)?;
    method(&soft_str(subject, it)?, "lower", &[], it)
}

/// `do_capitalize`
pub fn capitalize(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_capitalize", leading: ONE, params: [], required: 0 }.bind(args)?;
    method(&soft_str(subject, it)?, "capitalize", &[], it)
}

/// `do_title`: words begin after white space, `-`, `(`, `{`, `[` or `<`. The result is a plain `str` even of a `Markup`.
pub fn title(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_title", leading: ONE, params: [], required: 0 }.bind(args)?;
    let value = soft_str(subject, it)?;
    let source = text(&value).unwrap_or_default();
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let separates = breaks_word(first);
        let end = rest.find(|c| breaks_word(c) != separates).unwrap_or(rest.len());
        let (head, tail) = rest[..end].split_at(first.len_utf8());
        out.push_str(&chars::upper(head));
        out.push_str(&chars::lower(tail));
        rest = &rest[end..];
    }
    Ok(Value::from(out))
}

fn breaks_word(c: char) -> bool {
    matches!(c, '-' | '(' | '{' | '[' | '<') || chars::is_space(c)
}

/// `do_trim`
pub fn trim(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [characters] = Sig { name: "do_trim", leading: &["value"], params: ["chars"], required: 0 }.bind(args)?;
    let value = soft_str(subject, it)?;
    match characters {
        Some(characters) => method(&value, "strip", std::slice::from_ref(characters), it),
        None => method(&value, "strip", &[], it),
    }
}

/// `do_center`
pub fn center(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [width] = Sig { name: "do_center", leading: &["value"], params: ["width"], required: 0 }.bind(args)?;
    let value = soft_str(subject, it)?;
    let width = width.cloned().unwrap_or_else(|| Value::from(80));
    method(&value, "center", &[width], it)
}

/// markupsafe's `soft_str`
pub fn string(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    only_positional_subject("soft_str", "s", args)?;
    soft_str(subject, it)
}

/// `do_replace`
pub fn replace(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [old, new, count] =
        Sig { name: "do_replace", leading: &["eval_ctx", "s"], params: ["old", "new", "count"], required: 2 }
            .bind(args)?;
    let undefined = Value::UNDEFINED;
    let (old, new) = (old.unwrap_or(&undefined), new.unwrap_or(&undefined));
    let count = match count {
        Some(count) if !count.is_none() => count.clone(),
        _ => Value::from(-1),
    };
    if !cx.autoescape {
        let value = Value::from(python::str(subject, it)?);
        let old = Value::from(python::str(old, it)?);
        let new = Value::from(python::str(new, it)?);
        return method(&value, "replace", &[old, new, count], it);
    }
    let value = if has_html(old) || (has_html(new) && !has_html(subject)) {
        escape(subject, it)?
    } else {
        soft_str(subject, it)?
    };
    let (old, new) = (soft_str(old, it)?, soft_str(new, it)?);
    method(&value, "replace", &[old, new, count], it)
}

/// `do_format`: printf-style.
pub fn format(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    reject_leading("do_format", &["value"], args)?;
    if !args.pos.is_empty() && !args.kw.is_empty() {
        return Err(PyErr::new(
            "FilterArgumentError",
            "can't handle positional and keyword arguments at the same time",
        ));
    }
    let value = soft_str(subject, it)?;
    let values = if args.kw.is_empty() {
        python::tuple(args.pos.to_vec())
    } else {
        python::dict(args.kw.iter().map(|(key, value)| (Value::from(&**key), value.clone())))?
    };
    python::binary(BinOp::Mod, &value, &values, it)
}

/// `do_striptags`
pub fn striptags(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_striptags", leading: &["value"], params: [], required: 0 }.bind(args)?;
    method(&markup(python::str(subject, it)?), "striptags", &[], it)
}

/// markupsafe's `escape`
pub fn escape_filter(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    only_positional_subject("escape", "s", args)?;
    escape(subject, it)
}

/// `do_forceescape`
pub fn forceescape(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_forceescape", leading: &["value"], params: [], required: 0 }.bind(args)?;
    escape(&Value::from(python::str(subject, it)?), it)
}

/// `do_mark_safe`
pub fn safe(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_mark_safe", leading: &["value"], params: [], required: 0 }.bind(args)?;
    Ok(markup(python::str(subject, it)?))
}

/// `do_wordcount`
pub fn wordcount(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Sig::<0> { name: "do_wordcount", leading: ONE, params: [], required: 0 }.bind(args)?;
    let value = soft_str(subject, it)?;
    let words = text(&value).unwrap_or_default().split(|c| !is_word(c)).filter(|word| !word.is_empty()).count();
    Ok(python::int(words))
}

/// `\w` of Python's `re`.
pub(super) fn is_word(c: char) -> bool {
    c == '_' || chars::is_alnum(c)
}

/// `len`
pub fn length(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    only_subject("len", args)?;
    Ok(python::int(python::len(subject, it)?))
}

/// `do_indent`
pub fn indent(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [width, first, blank] =
        Sig { name: "do_indent", leading: ONE, params: ["width", "first", "blank"], required: 0 }.bind(args)?;
    let indention = match width {
        None => "    ".to_owned(),
        Some(width) => match text(width) {
            Some(width) => width.to_owned(),
            None => {
                let spaces = python::binary(BinOp::Mul, &Value::from(" "), width, it)?;
                text(&spaces).unwrap_or_default().to_owned()
            }
        },
    };
    let Some(source) = text(subject) else { return Err(not_a_text(subject, it)) };
    let blank = truth_or(blank, it)?;
    let lines = split_lines(source);
    it.allocate(source.len() + lines.len().saturating_mul(indention.len()))?;
    let mut out = String::with_capacity(source.len() + indention.len() * 2);
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
            if blank || !line.is_empty() {
                out.push_str(&indention);
            }
        }
        out.push_str(line);
    }
    if truth_or(first, it)? {
        out.insert_str(0, &indention);
    }
    Ok(if subject.is_safe() { markup(out) } else { Value::from(out) })
}

/// The error of `s += "\n"; s.splitlines()` for what is not a string.
fn not_a_text(subject: &Value, it: &mut dyn Interp) -> PyErr {
    if let Some(undefined) = as_undefined(subject) {
        return undefined.error(it);
    }
    if python::downcast::<python::List>(subject).is_some() {
        // a list takes the characters, then has no such method
        return PyErr::attribute_error("'list' object has no attribute 'splitlines'");
    }
    match python::binary(BinOp::Add, subject, &Value::from("\n"), it) {
        Err(mut error) => {
            error.message = error.message.replacen("operand type(s) for +:", "operand type(s) for +=:", 1);
            error
        }
        Ok(sum) => {
            PyErr::attribute_error(format!("'{}' object has no attribute 'splitlines'", python::type_name(&sum)))
        }
    }
}

fn truth_or(value: Option<&Value>, it: &mut dyn Interp) -> PyResult<bool> {
    value.map_or(Ok(false), |value| python::truth(value, it))
}

/// `(text + "\n").splitlines()`: at least one line.
fn split_lines(source: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(chars::is_line_break) {
        lines.push(&rest[..at]);
        let tail = &rest[at..];
        let skip = if tail.starts_with("\r\n") { 2 } else { tail.chars().next().map_or(1, char::len_utf8) };
        rest = &tail[skip..];
        // the added line break joins a carriage return at the end
        if rest.is_empty() && tail == "\r" {
            return lines;
        }
    }
    lines.push(rest);
    lines
}

/// `do_truncate`
pub fn truncate(_: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [length, killwords, end, leeway] = Sig {
        name: "do_truncate",
        leading: &["env", "s"],
        params: ["length", "killwords", "end", "leeway"],
        required: 0,
    }
    .bind(args)?;
    let length = length.cloned().unwrap_or_else(|| Value::from(255));
    let end = end.cloned().unwrap_or_else(|| Value::from("..."));
    let leeway = match leeway {
        Some(leeway) if !leeway.is_none() => leeway.clone(),
        _ => Value::from(5),
    };
    let end_length = python::int(python::len(&end, it)?);
    if !python::compare(CmpOp::Ge, &length, &end_length, it)? {
        return Err(assertion("length", &end_length, &length, it));
    }
    let zero = Value::from(0);
    if !python::compare(CmpOp::Ge, &leeway, &zero, it)? {
        return Err(assertion("leeway", &zero, &leeway, it));
    }
    let size = python::int(python::len(subject, it)?);
    let most = python::binary(BinOp::Add, &length, &leeway, it)?;
    if python::compare(CmpOp::Le, &size, &most, it)? {
        return Ok(subject.clone());
    }
    let keep = python::binary(BinOp::Sub, &length, &end_length, it)?;
    if truth_or(killwords, it)? {
        let head = python::slice(subject, &python::none(), &keep, &python::none(), it)?;
        return python::binary(BinOp::Add, &head, &end, it);
    }
    let head = python::slice(subject, &python::none(), &keep, &python::none(), it)?;
    let parts = method(&head, "rsplit", &[Value::from(" "), Value::from(1)], it)?;
    let head = python::getitem(&parts, &zero, it)?;
    python::binary(BinOp::Add, &head, &end, it)
}

fn assertion(what: &str, least: &Value, got: &Value, it: &mut dyn Interp) -> PyErr {
    match (python::str(least, it), python::format(got, "", it)) {
        (Ok(least), Ok(got)) => PyErr::new("AssertionError", format!("expected {what} >= {least}, got {got}")),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

/// `do_wordwrap`
pub fn wordwrap(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [width, break_long_words, wrapstring, break_on_hyphens] = Sig {
        name: "do_wordwrap",
        leading: &["environment", "s"],
        params: ["width", "break_long_words", "wrapstring", "break_on_hyphens"],
        required: 0,
    }
    .bind(args)?;
    let joiner = match wrapstring {
        Some(joiner) if !joiner.is_none() => joiner.clone(),
        _ => Value::from(cx.env.newline_sequence.as_str()),
    };
    if let Some(undefined) = as_undefined(&joiner) {
        return Err(undefined.error(it));
    }
    if text(&joiner).is_none() && python::getattr(&joiner, "join", it)?.is_none() {
        return Err(PyErr::attribute_error(format!("'{}' object has no attribute 'join'", python::type_name(&joiner))));
    }
    let width = width.cloned().unwrap_or_else(|| Value::from(79));
    let lines = python::to_vec(&method(subject, "splitlines", &[], it)?, it)?;
    let mut paragraphs = Vec::with_capacity(lines.len());
    for line in &lines {
        let Some(line) = text(line) else {
            return Err(PyErr::type_error("cannot use a string pattern on a bytes-like object"));
        };
        let wrap_args = Wrap {
            width: &width,
            break_long_words: break_long_words.map_or(Ok(true), |value| python::truth(value, it))?,
            // textwrap asks for the value True itself to choose how it splits, and for truth where it breaks
            split_on_hyphens: break_on_hyphens.is_none_or(|value| matches!(view(value), python::View::Bool(true))),
            break_on_hyphens: break_on_hyphens.map_or(Ok(true), |value| python::truth(value, it))?,
        };
        let wrapped = wrap(line, &wrap_args, it)?.into_iter().map(Value::from).collect();
        paragraphs.push(method(&joiner, "join", &[python::list(wrapped)], it)?);
    }
    method(&joiner, "join", &[python::list(paragraphs)], it)
}
