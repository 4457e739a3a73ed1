//! Airflow's own template filters: `airflow.sdk.definitions._internal.templater.FILTERS`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::jinja::UserFunction;
use crate::python::{self, Args, Interp, PyErr, PyResult, Value, View, view};

/// What a filter does with a date.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// `value.strftime(format)`
    Strftime(&'static str),
    /// `value.isoformat()`
    Isoformat,
    /// The same without `-` and `:`
    IsoformatBare,
}

const FILTERS: [(&str, &str, Form); 5] = [
    ("ds", "ds_filter", Form::Strftime("%Y-%m-%d")),
    ("ds_nodash", "ds_nodash_filter", Form::Strftime("%Y%m%d")),
    ("ts", "ts_filter", Form::Isoformat),
    ("ts_nodash", "ts_nodash_filter", Form::Strftime("%Y%m%dT%H%M%S")),
    ("ts_nodash_with_tz", "ts_nodash_with_tz_filter", Form::IsoformatBare),
];

/// The filters by name, for the environment of a template.
pub fn filters() -> BTreeMap<String, UserFunction> {
    FILTERS
        .iter()
        .map(|&(name, function, form)| {
            let filter: UserFunction = Arc::new(move |value: &Value, args: &Args<'_>, it: &mut dyn Interp| {
                check_arguments(function, args)?;
                apply(form, value, it)
            });
            (name.to_owned(), filter)
        })
        .collect()
}

fn check_arguments(function: &str, args: &Args<'_>) -> PyResult<()> {
    if let Some((name, _)) = args.kw.first() {
        if &**name == "value" {
            return Err(PyErr::type_error(format!("{function}() got multiple values for argument 'value'")));
        }
        return Err(PyErr::type_error(format!("{function}() got an unexpected keyword argument '{name}'")));
    }
    if !args.pos.is_empty() {
        let given = args.pos.len() + 1;
        return Err(PyErr::type_error(format!("{function}() takes 1 positional argument but {given} were given")));
    }
    Ok(())
}

fn apply(form: Form, value: &Value, it: &mut dyn Interp) -> PyResult {
    if matches!(view(value), View::None) {
        return Ok(python::none());
    }
    let (name, argument) = match form {
        Form::Strftime(format) => ("strftime", Some(Value::from(format))),
        Form::Isoformat | Form::IsoformatBare => ("isoformat", None),
    };
    let method = python::getattr(value, name, it)?.ok_or_else(|| python::no_attribute(value, name))?;
    let text = it.call(&method, &Args::positional(argument.as_slice()))?;
    match (form, python::text(&text)) {
        (Form::IsoformatBare, Some(text)) => Ok(Value::from(text.replace(['-', ':'], ""))),
        _ => Ok(text),
    }
}
