//! Arguments of functions written in C, with `PyArg_Parse`'s errors.

use crate::python::{Args, PyErr, PyResult, Value, View, as_bigint, text, type_name, view};
use num_traits::ToPrimitive;

pub(crate) use crate::python::cargs::{none, one};

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Binds arguments to the names of a C function. `function` is its name in messages, where it has one; the first
/// `required` names must be given; from `positional` on names are keyword-only.
pub(crate) fn parse<'a>(
    function: Option<&str>,
    names: &[&str],
    required: usize,
    positional: usize,
    args: &Args<'a>,
) -> PyResult<Vec<Option<&'a Value>>> {
    let subject = function.map_or_else(|| "function".to_owned(), |name| format!("{name}()"));
    let given = args.pos.len() + args.kw.len();
    if given > names.len() {
        return Err(PyErr::type_error(format!(
            "{subject} takes {} {} {}argument{} ({given} given)",
            if required == names.len() { "exactly" } else { "at most" },
            names.len(),
            if args.pos.is_empty() { "keyword " } else { "" },
            plural(names.len()),
        )));
    }
    if args.pos.len() > positional {
        return Err(PyErr::type_error(format!(
            "{subject} takes {} {positional} positional argument{} ({} given)",
            if required == positional { "exactly" } else { "at most" },
            plural(positional),
            args.pos.len()
        )));
    }
    let mut out: Vec<Option<&Value>> = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let by_name = args.keyword(name);
        match (args.pos.get(at), by_name) {
            (Some(_), Some(_)) => {
                return Err(PyErr::type_error(format!(
                    "argument for {subject} given by name ('{name}') and position ({})",
                    at + 1
                )));
            }
            (Some(value), None) | (None, Some(value)) => out.push(Some(value)),
            (None, None) if at < required => {
                return Err(PyErr::type_error(format!(
                    "{subject} missing required argument '{name}' (pos {})",
                    at + 1
                )));
            }
            (None, None) => out.push(None),
        }
    }
    for (key, _) in args.kw {
        if !names.contains(&&**key) {
            let subject = function.map_or_else(|| "this function".to_owned(), |name| format!("{name}()"));
            return Err(PyErr::type_error(format!("'{key}' is an invalid keyword argument for {subject}")));
        }
    }
    Ok(out)
}

/// An `int` argument (format `i`).
pub(crate) fn int(value: &Value) -> PyResult<i64> {
    let too_large = || PyErr::overflow("Python int too large to convert to C long");
    let int = match view(value) {
        View::Int(int) => int,
        View::Bool(bool) => i64::from(bool),
        _ => match as_bigint(value) {
            Some(big) => big.to_i64().ok_or_else(too_large)?,
            None => return super::weekday::as_index(value).ok_or_else(|| not_an_integer(value)),
        },
    };
    if int > i64::from(i32::MAX) {
        return Err(PyErr::overflow("signed integer is greater than maximum"));
    }
    if int < i64::from(i32::MIN) {
        return Err(PyErr::overflow("signed integer is less than minimum"));
    }
    Ok(int)
}

/// `'str' object cannot be interpreted as an integer`
pub(crate) fn not_an_integer(value: &Value) -> PyErr {
    PyErr::type_error(format!("'{}' object cannot be interpreted as an integer", type_name(value)))
}

/// A `str` argument of a named method: `strftime() argument 1 must be str, not int`.
pub(crate) fn str_arg<'a>(function: &str, position: usize, value: &'a Value) -> PyResult<&'a str> {
    text(value).ok_or_else(|| {
        let place = if position == 0 { "argument".to_owned() } else { format!("argument {position}") };
        PyErr::type_error(format!("{function}() {place} must be str, not {}", none_name(value)))
    })
}

/// The type's name in argument errors of C functions, where `None` is called by its own name.
pub(crate) fn none_name(value: &Value) -> String {
    if matches!(view(value), View::None) { "None".into() } else { type_name(value) }
}
