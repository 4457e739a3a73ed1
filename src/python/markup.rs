//! `markupsafe.Markup`: text that is safe to put into HTML; what joins it is escaped.

use super::{
    Args, BinOp, Interp, PyErr, PyResult, Sig, Tuple, Value, View, cargs, downcast, entities, iter, list, printf,
    str_format, str_methods, str_split, tuple, type_name, view,
};

/// Makes safe strings.
#[derive(Debug, Clone, Copy)]
pub struct Markup;

impl Markup {
    /// Text as it is, marked as safe.
    pub fn wrap(text: impl Into<String>) -> Value {
        Value::from_safe_string(text.into())
    }
}

/// Escapes text for HTML, as `markupsafe.escape` does.
pub fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// `str(markupsafe.escape(x))`: a safe string stays as it is.
pub fn escape(value: &Value, it: &mut dyn Interp) -> PyResult<String> {
    let text = super::str(value, it)?;
    Ok(if value.is_safe() { text } else { escape_text(&text) })
}

/// True when `Markup` has a method of that name that `str` has not.
pub(crate) fn has(name: &str) -> bool {
    matches!(name, "unescape" | "striptags")
}

/// An operator of which one side is a safe string; `None` leaves it to the rules of `str`.
pub(crate) fn binary(op: BinOp, a: &Value, b: &Value, it: &mut dyn Interp) -> Option<PyResult> {
    match op {
        BinOp::Add => {
            let (Some(_), Some(_)) = (super::text(a), super::text(b)) else {
                // objects may have a rule of their own; a safe string on the right leaves it to the left
                if !a.is_safe() {
                    return None;
                }
                if let View::Object(object) = view(b)
                    && let Some(result) = object.binary(op, a, true, it)
                {
                    return Some(result);
                }
                return Some(Err(PyErr::type_error(format!(
                    "unsupported operand type(s) for +: '{}' and '{}'",
                    type_name(a),
                    type_name(b)
                ))));
            };
            Some((|| {
                let text = escape(a, it)? + &escape(b, it)?;
                it.allocate(text.len())?;
                Ok(Markup::wrap(text))
            })())
        }
        BinOp::Mul => {
            let (text, times) = if a.is_safe() { (a, b) } else { (b, a) };
            Some((|| {
                let times = usize::try_from(cargs::index(times)?).unwrap_or(0);
                let text = super::text(text).unwrap_or_default();
                it.allocate(text.len().saturating_mul(times))?;
                Ok(Markup::wrap(text.repeat(times)))
            })())
        }
        BinOp::Mod if a.is_safe() => {
            Some(printf::format_markup(super::text(a).unwrap_or_default(), b, it).map(Markup::wrap))
        }
        BinOp::Mod => super::text(a).map(|text| printf::format(text, b, it).map(Value::from)),
        _ => None,
    }
}

/// The parameters of the methods that markupsafe wraps in Python, and how many are required and positional only.
fn signature(name: &str) -> Option<(&'static str, &'static [&'static str], usize, usize)> {
    Some(match name {
        "capitalize" => ("Markup.capitalize", &[], 0, 0),
        "title" => ("Markup.title", &[], 0, 0),
        "lower" => ("Markup.lower", &[], 0, 0),
        "upper" => ("Markup.upper", &[], 0, 0),
        "swapcase" => ("Markup.swapcase", &[], 0, 0),
        "casefold" => ("Markup.casefold", &[], 0, 0),
        "unescape" => ("Markup.unescape", &[], 0, 0),
        "striptags" => ("Markup.striptags", &[], 0, 0),
        "join" => ("Markup.join", &["iterable"], 1, 1),
        "split" => ("Markup.split", &["sep", "maxsplit"], 0, 0),
        "rsplit" => ("Markup.rsplit", &["sep", "maxsplit"], 0, 0),
        "splitlines" => ("Markup.splitlines", &["keepends"], 0, 0),
        "replace" => ("Markup.replace", &["old", "new", "count"], 2, 3),
        "ljust" => ("Markup.ljust", &["width", "fillchar"], 1, 2),
        "rjust" => ("Markup.rjust", &["width", "fillchar"], 1, 2),
        "center" => ("Markup.center", &["width", "fillchar"], 1, 2),
        "lstrip" => ("Markup.lstrip", &["chars"], 0, 1),
        "rstrip" => ("Markup.rstrip", &["chars"], 0, 1),
        "strip" => ("Markup.strip", &["chars"], 0, 1),
        "translate" => ("Markup.translate", &["table"], 1, 1),
        "expandtabs" => ("Markup.expandtabs", &["tabsize"], 0, 0),
        "zfill" => ("Markup.zfill", &["width"], 1, 1),
        "removeprefix" => ("Markup.removeprefix", &["prefix"], 1, 1),
        "removesuffix" => ("Markup.removesuffix", &["suffix"], 1, 0),
        "partition" => ("Markup.partition", &["sep"], 1, 1),
        "rpartition" => ("Markup.rpartition", &["sep"], 1, 1),
        "format_map" => ("Markup.format_map", &["mapping"], 1, 1),
        _ => return None,
    })
}

fn wrapped(value: &Value) -> Value {
    match super::text(value) {
        Some(text) => Markup::wrap(text),
        None => value.clone(),
    }
}

/// Calls a method of a safe string.
pub(crate) fn call_method(this: &Value, text: &str, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    if name == "format" {
        return str_format::format_with(this, args, &mut str_format::PlainAccess, it);
    }
    let Some((qualified, params, required, positional_only)) = signature(name) else {
        if str_methods::has(name) {
            // C methods name the type of the object they were called on
            return str_methods::call(text, name, args, it).map_err(|mut error| {
                if error.class == "TypeError"
                    && name != "maketrans"
                    && let Some(rest) = error.message.strip_prefix("str.")
                {
                    error.message = format!("Markup.{rest}");
                }
                error
            });
        }
        return Err(super::no_attribute(this, name));
    };
    let bound = Sig::new(qualified, params).required(required).positional_only(positional_only).method().bind(args)?;
    let arg = |at: usize| bound.get(at).copied().flatten();
    match name {
        "unescape" => return Ok(Value::from(entities::unescape(text))),
        "striptags" => return Ok(Value::from(strip_tags(text))),
        "format_map" => {
            return str_format::format_map_with(this, args, &mut str_format::PlainAccess, it);
        }
        "join" => {
            let items = iter::to_vec(arg(0).unwrap_or(this), it)?;
            let mut out = String::new();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(text);
                }
                out.push_str(&escape(item, it)?);
                if out.len() > it.limits().allocation {
                    it.allocate(out.len())?;
                }
            }
            return Ok(Markup::wrap(out));
        }
        "replace" => {
            let old = cargs::str_arg("replace() argument 1 ", arg(0).unwrap_or(this))?;
            let new = escape(arg(1).unwrap_or(this), it)?;
            let count = arg(2).map_or(Ok(-1), cargs::index)?;
            return str_methods::replace(text, old, &new, count, it).map(Markup::wrap);
        }
        _ => {}
    }
    // the same call on the plain text, in order of the parameters
    let none = super::none();
    let given = bound.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
    let mut pos: Vec<Value> = Vec::with_capacity(given);
    for (at, slot) in bound.iter().take(given).enumerate() {
        let value = match (slot, params.get(at)) {
            (Some(value), Some(&"fillchar")) => Value::from(escape(value, it)?),
            (Some(value), _) => (*value).clone(),
            (None, _) => none.clone(),
        };
        pos.push(value);
    }
    let result = str_methods::call(text, name, &Args::positional(&pos), it)?;
    Ok(match name {
        "split" | "rsplit" | "splitlines" => {
            let parts = downcast::<super::List>(&result).map(super::List::snapshot).unwrap_or_default();
            list(parts.iter().map(wrapped).collect())
        }
        "partition" | "rpartition" => {
            let parts = downcast::<Tuple>(&result).map(Tuple::snapshot).unwrap_or_default();
            tuple(parts.iter().map(wrapped).collect())
        }
        _ => wrapped(&result),
    })
}

/// `Markup.striptags`: drops tags and comments, collapses white space, resolves entities.
pub fn strip_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let after = rest.get(start..).unwrap_or("");
        let end = match after.strip_prefix("<!--") {
            Some(comment) => comment.find("-->").map(|at| start + 4 + at + 3),
            None => after.find('>').map(|at| start + at + 1),
        };
        let Some(end) = end else { break };
        kept.push_str(rest.get(..start).unwrap_or(""));
        rest = rest.get(end..).unwrap_or("");
    }
    kept.push_str(rest);
    let words = str_split::by_space(&kept, usize::MAX, false);
    entities::unescape(&words.join(" "))
}
