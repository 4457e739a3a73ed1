//! `model_dump` and `model_dump_json` of pydantic models.

use crate::python::{self, Args, Dict, Interp, List, PyErr, PyResult, Sig, Tuple, Value, View, downcast, view};

use super::dates;
use super::enums::StrEnum;
use super::model::Model;

/// The options of one call.
#[derive(Debug, Default)]
pub(super) struct Dump {
    /// `mode='json'`
    pub(super) json: bool,
    /// `indent`
    pub(super) indent: Option<usize>,
    include: Option<Vec<String>>,
    exclude: Vec<String>,
    exclude_none: bool,
}

const PARAMS: &[&str] = &[
    "mode",
    "include",
    "exclude",
    "context",
    "by_alias",
    "exclude_unset",
    "exclude_defaults",
    "exclude_none",
    "exclude_computed_fields",
    "round_trip",
    "warnings",
    "fallback",
    "serialize_as_any",
    "indent",
    "ensure_ascii",
];

const DEPTH: usize = 100;

impl Dump {
    pub(super) fn bind(name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult<Self> {
        let qualified = format!("BaseModel.{name}");
        let bound = Sig::new(&qualified, &[]).method().keyword_only(PARAMS).bind(args)?;
        let mut options = Dump::default();
        for (param, value) in PARAMS.iter().zip(bound) {
            let Some(value) = value else { continue };
            match *param {
                "mode" if name == "model_dump" => match python::text(value) {
                    Some("json") => options.json = true,
                    Some("python") => {}
                    _ => return Err(PyErr::unsupported("`mode` of `model_dump` other than 'json' and 'python'")),
                },
                "include" if !matches!(view(value), View::None) => options.include = Some(names(value, it)?),
                "exclude" if !matches!(view(value), View::None) => options.exclude = names(value, it)?,
                "exclude_none" => options.exclude_none = python::truth(value, it)?,
                "indent" if name == "model_dump_json" => match view(value) {
                    View::None => {}
                    View::Int(width) if (0..=64).contains(&width) => options.indent = usize::try_from(width).ok(),
                    _ => return Err(PyErr::unsupported("this `indent` of `model_dump_json`")),
                },
                _ if !python::truth(value, it)? => {}
                other => return Err(PyErr::unsupported(format!("`{other}` of `{name}`"))),
            }
        }
        Ok(options)
    }
}

/// Field names given as a collection, or as a dict whose values are all True.
fn names(value: &Value, it: &mut dyn Interp) -> PyResult<Vec<String>> {
    if let Some(dict) = downcast::<Dict>(value) {
        for (_, wanted) in dict.items() {
            if !matches!(view(&wanted), View::Bool(true)) {
                return Err(PyErr::unsupported("`include` or `exclude` below the fields of a model"));
            }
        }
    }
    python::to_vec(value, it)?
        .iter()
        .map(|name| {
            python::text(name)
                .map(str::to_owned)
                .ok_or_else(|| PyErr::unsupported("`include` or `exclude` with something else than field names"))
        })
        .collect()
}

/// The dict of a model.
pub(super) fn model(model: &Model, options: &Dump, it: &mut dyn Interp) -> PyResult {
    let mut pairs = Vec::new();
    for (name, field) in model.items()? {
        let wanted = options.include.as_ref().is_none_or(|names| names.iter().any(|wanted| wanted == name));
        if !wanted || options.exclude.iter().any(|unwanted| unwanted == name) {
            continue;
        }
        if options.exclude_none && matches!(view(&field), View::None) {
            continue;
        }
        pairs.push((name, value(&field, options, 0, it)?));
    }
    Ok(python::str_dict(pairs))
}

fn value(field: &Value, options: &Dump, depth: usize, it: &mut dyn Interp) -> PyResult {
    if depth > DEPTH {
        return Err(PyErr::limit("a value nested more than 100 deep"));
    }
    it.charge(1)?;
    if let Some(nested) = downcast::<Model>(field) {
        let inner = Dump { json: options.json, exclude_none: options.exclude_none, ..Dump::default() };
        return model(nested, &inner, it);
    }
    if let Some(items) = downcast::<List>(field) {
        let items = items.snapshot().iter().map(|item| value(item, options, depth + 1, it)).collect::<PyResult<_>>()?;
        return Ok(python::list(items));
    }
    if let Some(dict) = downcast::<Dict>(field) {
        let mut pairs = Vec::new();
        for (key, item) in dict.items() {
            if options.exclude_none && matches!(view(&item), View::None) {
                continue;
            }
            pairs.push((key, value(&item, options, depth + 1, it)?));
        }
        return python::dict(pairs);
    }
    if downcast::<Tuple>(field).is_some() {
        return Err(PyErr::unsupported("dumping a tuple inside a model"));
    }
    if options.json {
        if let Some(member) = downcast::<StrEnum>(field) {
            return Ok(Value::from(member.value()));
        }
        if dates::is_datetime(field) {
            let text = python::str(&python::call_method(field, "isoformat", &Args::default(), it)?, it)?;
            return Ok(Value::from(match text.strip_suffix("+00:00") {
                Some(naive) => format!("{naive}Z"),
                None => text,
            }));
        }
    }
    match view(field) {
        View::Object(object) if object.as_text().is_none() && python::as_bigint(field).is_none() => {
            if dates::is_datetime(field) || downcast::<StrEnum>(field).is_some() {
                Ok(field.clone())
            } else {
                Err(PyErr::unsupported(format!("dumping a {} inside a model", object.type_name())))
            }
        }
        _ => Ok(field.clone()),
    }
}

/// The JSON text of a dumped dict, as pydantic writes it: no spaces, nothing escaped that JSON does not ask for.
pub(super) fn text(value: &Value, indent: Option<usize>) -> PyResult<String> {
    let mut out = String::new();
    write(value, indent, 0, &mut out)?;
    Ok(out)
}

fn write(value: &Value, indent: Option<usize>, depth: usize, out: &mut String) -> PyResult<()> {
    if depth > DEPTH {
        return Err(PyErr::limit("a value nested more than 100 deep"));
    }
    if let Some(list) = downcast::<List>(value) {
        let items = list.snapshot();
        return block(out, indent, depth, ('[', ']'), items.len(), |at, out| match items.get(at) {
            Some(item) => write(item, indent, depth + 1, out),
            None => Ok(()),
        });
    }
    if let Some(dict) = downcast::<Dict>(value) {
        let items: Vec<_> = dict.items().into_iter().collect();
        return block(out, indent, depth, ('{', '}'), items.len(), |at, out| {
            let Some((key, item)) = items.get(at) else { return Ok(()) };
            let key =
                python::text(key).ok_or_else(|| PyErr::unsupported("a key that is not text in `model_dump_json`"))?;
            push_text(key, out);
            out.push_str(if indent.is_some() { ": " } else { ":" });
            write(item, indent, depth + 1, out)
        });
    }
    match view(value) {
        View::None => out.push_str("null"),
        View::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        View::Float(value) if !value.is_finite() => out.push_str("null"),
        View::Float(value) => push_float(value, out),
        View::Str(text) => push_text(text, out),
        _ => match (python::text(value), python::as_bigint(value)) {
            (Some(text), _) => push_text(text, out),
            (_, Some(int)) => out.push_str(&int.to_string()),
            _ => return Err(PyErr::unsupported(format!("a {} in `model_dump_json`", python::type_name(value)))),
        },
    }
    Ok(())
}

fn block(
    out: &mut String,
    indent: Option<usize>,
    depth: usize,
    (open, close): (char, char),
    len: usize,
    mut item: impl FnMut(usize, &mut String) -> PyResult<()>,
) -> PyResult<()> {
    out.push(open);
    for at in 0..len {
        if at > 0 {
            out.push(',');
        }
        if let Some(width) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', width * (depth + 1)));
        }
        item(at, out)?;
    }
    if let (Some(width), true) = (indent, len > 0) {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * depth));
    }
    out.push(close);
    Ok(())
}

fn push_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Rust's shortest digits, laid out as the `ryu` family does.
fn push_float(value: f64, out: &mut String) {
    match serde_json::to_string(&value) {
        Ok(text) => out.push_str(&text),
        Err(_) => out.push_str("null"),
    }
}
