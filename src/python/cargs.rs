//! Argument checks of builtin (C) functions, each family with its own wording.

use super::{Args, PyErr, PyResult, Value, View, number, type_name, view};

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn no_keywords(qualified: &str, args: &Args<'_>) -> PyResult<()> {
    if args.kw.is_empty() {
        return Ok(());
    }
    Err(PyErr::type_error(format!("{qualified}() takes no keyword arguments")))
}

/// A method that takes nothing (`METH_NOARGS`). `qualified` is `str.upper`.
pub(crate) fn none(qualified: &str, args: &Args<'_>) -> PyResult<()> {
    no_keywords(qualified, args)?;
    if args.pos.is_empty() {
        return Ok(());
    }
    Err(PyErr::type_error(format!("{qualified}() takes no arguments ({} given)", args.pos.len())))
}

/// A method of exactly one argument (`METH_O`). `qualified` is `str.join`.
pub(crate) fn one<'a>(qualified: &str, args: &Args<'a>) -> PyResult<&'a Value> {
    no_keywords(qualified, args)?;
    match args.pos {
        [one] => Ok(one),
        pos => Err(PyErr::type_error(format!("{qualified}() takes exactly one argument ({} given)", pos.len()))),
    }
}

/// Positional arguments only, a number between two (`_PyArg_CheckPositional`).
pub(crate) fn positional<'a>(qualified: &str, args: &Args<'a>, min: usize, max: usize) -> PyResult<&'a [Value]> {
    no_keywords(qualified, args)?;
    let short = qualified.rsplit('.').next().unwrap_or(qualified);
    let given = args.pos.len();
    if given < min {
        let bound = if min == max { "" } else { "at least " };
        return Err(PyErr::type_error(format!("{short} expected {bound}{min} argument{}, got {given}", plural(min))));
    }
    if given > max {
        let bound = if min == max { "" } else { "at most " };
        return Err(PyErr::type_error(format!("{short} expected {bound}{max} argument{}, got {given}", plural(max))));
    }
    Ok(args.pos)
}

/// Positional arguments only, worded as `PyArg_ParseTuple` does.
pub(crate) fn parse_tuple<'a>(qualified: &str, args: &Args<'a>, min: usize, max: usize) -> PyResult<&'a [Value]> {
    let short = qualified.rsplit('.').next().unwrap_or(qualified);
    no_keywords(short, args)?;
    let given = args.pos.len();
    let (bound, wanted) = if given < min {
        (if min == max { "exactly" } else { "at least" }, min)
    } else if given > max {
        (if min == max { "exactly" } else { "at most" }, max)
    } else {
        return Ok(args.pos);
    };
    Err(PyErr::type_error(format!("{short}() takes {bound} {wanted} argument{} ({given} given)", plural(wanted))))
}

/// Positional and keyword arguments (`_PyArg_UnpackKeywords`). The first `required` names must be given; names that
/// begin with `*` are keyword only, an empty name is positional only.
pub(crate) fn keywords<'a, const N: usize>(
    name: &str,
    names: &[&str; N],
    required: usize,
    args: &Args<'a>,
) -> PyResult<[Option<&'a Value>; N]> {
    let mut out = [None; N];
    let given = args.pos.len();
    let max_pos = names.iter().filter(|n| !n.starts_with('*')).count();
    if given + args.kw.len() > N {
        let keyword = if given == 0 { "keyword " } else { "" };
        let bound = if required == N && args.kw.is_empty() { "exactly" } else { "at most" };
        return Err(PyErr::type_error(format!(
            "{name}() takes {bound} {N} {keyword}argument{} ({} given)",
            plural(N),
            given + args.kw.len()
        )));
    }
    if given > max_pos {
        if max_pos == 0 {
            return Err(PyErr::type_error(format!("{name}() takes no positional arguments")));
        }
        let bound = if required >= max_pos { "exactly" } else { "at most" };
        return Err(PyErr::type_error(format!(
            "{name}() takes {bound} {max_pos} positional argument{} ({given} given)",
            plural(max_pos)
        )));
    }
    for (slot, value) in out.iter_mut().zip(args.pos) {
        *slot = Some(value);
    }
    for (at, name_of) in names.iter().enumerate().skip(given) {
        let bare = name_of.trim_start_matches('*');
        if bare.is_empty() {
            continue;
        }
        if let (Some(slot), Some(value)) = (out.get_mut(at), args.keyword(bare)) {
            *slot = Some(value);
        }
    }
    for (at, slot) in out.iter().enumerate().take(required) {
        if slot.is_none() {
            let missing = names.get(at).copied().unwrap_or("");
            return Err(PyErr::type_error(format!("{name}() missing required argument '{missing}' (pos {})", at + 1)));
        }
    }
    for (key, _) in args.kw {
        match names.iter().position(|n| !n.is_empty() && n.trim_start_matches('*') == &**key) {
            Some(at) if at < given => {
                return Err(PyErr::type_error(format!(
                    "argument for {name}() given by name ('{key}') and position ({})",
                    at + 1
                )));
            }
            Some(_) => {}
            None => {
                return Err(PyErr::type_error(format!("'{key}' is an invalid keyword argument for {name}()")));
            }
        }
    }
    Ok(out)
}

/// A `str` argument: `must be str, not int`, with what goes before given by the caller.
pub(crate) fn str_arg<'a>(what: &str, value: &'a Value) -> PyResult<&'a str> {
    super::text(value).ok_or_else(|| PyErr::type_error(format!("{what}must be str, not {}", short_type_name(value))))
}

/// The type's name as C code prints it in argument errors: `None` for `NoneType`.
pub(crate) fn short_type_name(value: &Value) -> String {
    if matches!(view(value), View::None) { "None".to_owned() } else { type_name(value) }
}

/// An integer argument (`__index__`) that fits the platform's size.
pub(crate) fn index(value: &Value) -> PyResult<i64> {
    match view(value) {
        View::Int(int) => Ok(int),
        View::Bool(bool) => Ok(i64::from(bool)),
        _ if number::big(value).is_some() => Err(PyErr::overflow("Python int too large to convert to C ssize_t")),
        _ => Err(PyErr::type_error(format!("'{}' object cannot be interpreted as an integer", type_name(value)))),
    }
}

/// One bound of a slice: too large ones are cut to size, `None` is none.
pub(crate) fn slice_index(value: &Value) -> PyResult<Option<i64>> {
    match view(value) {
        View::None => Ok(None),
        View::Int(int) => Ok(Some(int)),
        View::Bool(bool) => Ok(Some(i64::from(bool))),
        _ => match number::big(value) {
            Some(big) if num_traits::Signed::is_negative(big) => Ok(Some(i64::MIN)),
            Some(_) => Ok(Some(i64::MAX)),
            None => Err(PyErr::type_error("slice indices must be integers or None or have an __index__ method")),
        },
    }
}
