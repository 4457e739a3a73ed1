//! What operators do to an argument between their constructor and rendering (`prepare_template` and kin). What is not done
//! here is refused: the text as written would not be what Airflow renders.

use super::FieldValue;
use super::operators::{Default, Operator};
use crate::python::{PyErr, PyResult};

/// The value that is rendered. `arguments` are all arguments of the task.
///
/// # Errors
/// `Unsupported` for what an operator does to its argument and partita does not.
pub fn prepare(
    operator: &Operator,
    arguments: &[(String, FieldValue)],
    field: &str,
    value: FieldValue,
) -> PyResult<FieldValue> {
    let has = |name: &str| operator.fields.iter().any(|field| field.name == name);
    let given = |name: &str| arguments.iter().any(|(known, value)| known == name && value.truth());
    let refuse = |what: &str| Err(PyErr::unsupported(format!("{}: {what}", operator.class)));
    match (operator.class, field, &value) {
        // A mapping of variables becomes objects whose name and value are templates.
        (class, "env_vars", FieldValue::Dict(_)) if class.ends_with("PodOperator") => Ok(variables(value)),
        // SQLExecuteQueryOperator and its subclasses read parameters given as text as a Python literal.
        (_, "parameters", FieldValue::Str(text))
            if !text.is_empty() && has("hook_params") && has("sql") && has("database") =>
        {
            refuse("`parameters` as a text is read as a Python literal; write it as a mapping or a list")
        }
        ("HiveOperator", "hql", _) if given("hiveconf_jinja_translate") => refuse("`hiveconf_jinja_translate`"),
        ("HiveOperator", "hql", _) if given("script_begin_tag") => refuse("`script_begin_tag`"),
        ("CloudBuildCreateBuildOperator", "build", FieldValue::Str(_)) => {
            refuse("a file as `build`; write the build itself")
        }
        ("SqlToSlackWebhookOperator", "slack_message", _) => {
            refuse("`slack_message` is rendered after the query has run")
        }
        _ => Ok(value),
    }
}

/// Whether the constructor works the field out of its arguments, so that what is given may not be what is rendered.
pub fn is_computed(operator: &Operator, field: &str) -> bool {
    operator.fields.iter().any(|known| known.name == field && known.default == Default::Computed)
}

fn variables(value: FieldValue) -> FieldValue {
    let FieldValue::Dict(entries) = value else { return value };
    let variable = |(key, value)| {
        FieldValue::Dict(vec![(FieldValue::Str("name".to_owned()), key), (FieldValue::Str("value".to_owned()), value)])
    };
    FieldValue::List(entries.into_iter().map(variable).collect())
}
