//! Python's `json` module as a value.

use super::json::{Options, dumps, loads};
use super::{Args, Interp, PyErr, PyResult, Sig, Value, View, call, function, module, text, truth, type_name, view};

/// The module.
pub fn json_module() -> Value {
    module("json", false, attribute)
}

fn attribute(name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
    Some(Ok(match name {
        "dumps" => function("dumps", dump),
        "loads" => function("loads", load),
        "JSONDecodeError" | "JSONDecoder" | "JSONEncoder" | "decoder" | "encoder" | "scanner" | "codecs" | "dump"
        | "load" | "detect_encoding" => return Some(Err(PyErr::unsupported(format!("json.{name}")))),
        _ => return None,
    }))
}

/// `json.dumps(obj, *, skipkeys, ensure_ascii, check_circular, allow_nan, cls, indent, separators, default, sort_keys)`
fn dump(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    const KEYWORDS: [&str; 9] = [
        "skipkeys",
        "ensure_ascii",
        "check_circular",
        "allow_nan",
        "cls",
        "indent",
        "separators",
        "default",
        "sort_keys",
    ];
    let own: Vec<_> =
        args.kw.iter().filter(|(name, _)| &**name == "obj" || KEYWORDS.contains(&&**name)).cloned().collect();
    let bound = Sig::new("dumps", &["obj"]).keyword_only(&KEYWORDS).bind(&Args { pos: args.pos, kw: &own })?;
    if let Some((name, _)) = args.kw.iter().find(|(name, _)| !own.iter().any(|(known, _)| known == name)) {
        return Err(PyErr::type_error(format!("JSONEncoder.__init__() got an unexpected keyword argument '{name}'")));
    }
    let get = |name: &str| {
        let at = KEYWORDS.iter().position(|known| *known == name)? + 1;
        bound.get(at).copied().flatten().filter(|value| !matches!(view(value), View::None))
    };
    let flag = |name: &str, default: bool, it: &mut dyn Interp| get(name).map_or(Ok(default), |value| truth(value, it));
    if get("cls").is_some() {
        return Err(PyErr::unsupported("the argument cls of json.dumps"));
    }
    let indent = match get("indent") {
        None => None,
        Some(value) => match (text(value), super::as_bigint(value)) {
            (Some(indent), _) => Some(indent.to_owned()),
            (None, Some(width)) => {
                let width = usize::try_from(&width).unwrap_or(0);
                it.allocate(width)?;
                Some(" ".repeat(width))
            }
            _ => {
                return Err(PyErr::type_error(format!(
                    "can't multiply sequence by non-int of type '{}'",
                    type_name(value)
                )));
            }
        },
    };
    let separators = match get("separators") {
        None => None,
        Some(value) => match super::to_vec(value, it)?.as_slice() {
            [item, key] => match (text(item), text(key)) {
                (Some(item), Some(key)) => Some((item.to_owned(), key.to_owned())),
                _ => return Err(PyErr::unsupported("separators of json.dumps that are no text")),
            },
            items if items.len() > 2 => {
                return Err(PyErr::value_error("too many values to unpack (expected 2)"));
            }
            items => {
                return Err(PyErr::value_error(format!(
                    "not enough values to unpack (expected 2, got {})",
                    items.len()
                )));
            }
        },
    };
    let default = get("default").cloned();
    let mut fallback = |value: &Value, it: &mut dyn Interp| match &default {
        Some(default) => call(default, &Args::positional(std::slice::from_ref(value)), it),
        None => Err(PyErr::unsupported("json.dumps of this value")),
    };
    let options = Options {
        indent,
        sort_keys: flag("sort_keys", false, it)?,
        ensure_ascii: flag("ensure_ascii", true, it)?,
        separators,
        allow_nan: flag("allow_nan", true, it)?,
        skip_keys: flag("skipkeys", false, it)?,
        fallback: if default.is_some() { Some(&mut fallback) } else { None },
    };
    let value = bound.first().copied().flatten().cloned().unwrap_or_default();
    dumps(&value, options, it).map(Value::from)
}

/// `json.loads(s, ...)`
fn load(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    const KEYWORDS: [&str; 6] =
        ["cls", "object_hook", "parse_float", "parse_int", "parse_constant", "object_pairs_hook"];
    let bound = Sig::new("loads", &["s"]).keyword_only(&KEYWORDS).bind(args)?;
    if bound.iter().skip(1).flatten().any(|value| !matches!(view(value), View::None)) {
        return Err(PyErr::unsupported("the hooks of json.loads"));
    }
    let value = bound.first().copied().flatten().cloned().unwrap_or_default();
    match view(&value) {
        View::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => loads(text, it),
            _ => Err(PyErr::unsupported("json.loads of bytes that are not UTF-8")),
        },
        _ => match text(&value) {
            Some(text) => loads(text, it),
            None => Err(PyErr::type_error(format!(
                "the JSON object must be str, bytes or bytearray, not {}",
                type_name(&value).rsplit('.').next().unwrap_or_default()
            ))),
        },
    }
}
