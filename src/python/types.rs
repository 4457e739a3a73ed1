//! Calling builtin types: `dict(...)`, `int(...)`, `list(...)`.

use super::float;
use super::{
    Args, Dict, Interp, PyErr, PyResult, Range, Value, View, cargs, frozenset, iter, list, object, set, str_dict,
    tuple, type_name, view,
};

/// `name(*args, **kwargs)` of a builtin type.
pub(crate) fn construct(name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    match name {
        "dict" => {
            let out = Dict::default();
            out.update("dict", args, it)?;
            Ok(object(out))
        }
        "list" | "tuple" => {
            let pos = cargs::positional(name, args, 0, 1)?;
            let items = pos.first().map_or(Ok(Vec::new()), |value| iter::to_vec(value, it))?;
            it.allocate(items.len() * 16)?;
            Ok(if name == "list" { list(items) } else { tuple(items) })
        }
        "set" | "frozenset" => {
            let pos = cargs::positional(name, args, 0, 1)?;
            let items = pos.first().map_or(Ok(Vec::new()), |value| iter::to_vec_unordered(value, it))?;
            if name == "set" { set(items) } else { frozenset(items) }
        }
        "bool" => {
            let pos = cargs::positional(name, args, 0, 1)?;
            pos.first().map_or(Ok(false), |value| super::truth(value, it)).map(Value::from)
        }
        "float" => {
            let pos = cargs::positional(name, args, 0, 1)?;
            pos.first().map_or(Ok(0.0), float::to_float).map(Value::from)
        }
        "int" => {
            let [value, base] = cargs::keywords("int", &["", "base"], 0, args)?;
            match (value, base) {
                (None, None) => Ok(Value::from(0)),
                (None, Some(_)) => Err(PyErr::type_error("int() missing string argument")),
                (Some(value), None) => float::to_int(value),
                (Some(value), Some(base)) => {
                    let base = cargs::index(base)?;
                    let Some(text) = super::text(value) else {
                        return Err(PyErr::type_error("int() can't convert non-string with explicit base"));
                    };
                    float::parse_int(text, u32::try_from(base).unwrap_or(99))
                }
            }
        }
        "str" => {
            let [value, encoding, errors] = cargs::keywords("str", &["object", "encoding", "errors"], 0, args)?;
            let Some(value) = value else { return Ok(Value::from("")) };
            if encoding.is_none() && errors.is_none() {
                return super::str(value, it).map(Value::from);
            }
            match view(value) {
                View::Bytes(_) => super::call_method(
                    value,
                    "decode",
                    &Args { pos: args.pos.get(1..).unwrap_or(&[]), kw: args.kw },
                    it,
                ),
                View::Str(_) => Err(PyErr::type_error("decoding str is not supported")),
                _ => Err(PyErr::type_error(format!(
                    "decoding to str: need a bytes-like object, {} found",
                    type_name(value)
                ))),
            }
        }
        "range" => Range::new(args).map(object),
        _ => Err(PyErr::unsupported(format!("calling the type '{name}'"))),
    }
}

/// An empty `dict`.
pub fn empty_dict() -> Value {
    str_dict::<&str>([])
}

/// The class of a value of a builtin type.
pub(crate) fn class_of(value: &Value) -> Option<&'static str> {
    Some(match view(value) {
        View::None => "NoneType",
        View::Bool(_) => "bool",
        View::Int(_) => "int",
        View::Float(_) => "float",
        View::Str(_) if !value.is_safe() => "str",
        View::Bytes(_) => "bytes",
        View::Object(object) => match object.type_name() {
            "int" => "int",
            "list" => "list",
            "dict" => "dict",
            "tuple" => "tuple",
            "set" => "set",
            "frozenset" => "frozenset",
            "range" => "range",
            "complex" => "complex",
            _ => return None,
        },
        _ => return None,
    })
}
