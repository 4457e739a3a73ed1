//! `ti.xcom_pull` (`RuntimeTaskInstance.xcom_pull`).

use crate::python::{self, Args, Interp, PyErr, PyResult, Sig, Value, View, view};
use crate::run::{Json, Validator};

use super::Shared;
use super::asset::class_repr;
use super::convert;
use super::surroundings::MissingXCom;

const SIG: Sig<'static> =
    Sig::new("RuntimeTaskInstance.xcom_pull", &["task_ids", "dag_id", "key", "include_prior_dates"])
        .required(0)
        .method()
        .keyword_only(&["map_indexes", "default", "run_id"]);

/// Deepest value that is searched for serialized objects.
const DEPTH: usize = 128;

/// What one request to the supervisor carries, apart from the task.
struct Request {
    key: Value,
    dag_id: Value,
    run_id: Value,
    include_prior_dates: Option<Value>,
}

/// `ti.xcom_pull(...)`
pub(super) fn pull(shared: &Shared, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let bound = SIG.bind(args)?;
    let arg = |at: usize| bound.get(at).copied().flatten();
    let or = |at: usize, default: &str| match arg(at) {
        Some(value) if !value.is_none() => value.clone(),
        _ => Value::from(default),
    };
    let request = Request {
        key: arg(2).cloned().unwrap_or_else(|| Value::from("return_value")),
        dag_id: or(1, &shared.run.dag_run.dag_id),
        run_id: or(6, &shared.run.dag_run.run_id),
        include_prior_dates: arg(3).cloned(),
    };
    let default = arg(5).cloned().unwrap_or_else(python::none);

    let (task_ids, single_task) = match arg(0) {
        None => (vec![Value::from(shared.run.ti.task_id.as_str())], true),
        Some(value) if value.is_none() => (vec![Value::from(shared.run.ti.task_id.as_str())], true),
        Some(value) if python::text(value).is_some() => (vec![value.clone()], true),
        Some(value) => (python::to_vec(value, it)?, false),
    };

    let Some(map_indexes) = arg(4) else {
        let mut found = Vec::new();
        for task_id in &task_ids {
            match request.all(shared, task_id)? {
                None => found.push(python::none()),
                Some(values) => found.extend(values),
            }
        }
        return Ok(match (single_task, found.pop()) {
            (true, Some(only)) if found.is_empty() => only,
            (_, last) => {
                found.extend(last);
                python::list(found)
            }
        });
    };

    let (indexes, single_index) = match view(map_indexes) {
        View::None | View::Int(_) | View::Bool(_) => (vec![map_indexes.clone()], true),
        View::Float(_) => return Err(bad_indexes(map_indexes)),
        _ if python::as_bigint(map_indexes).is_some() => (vec![map_indexes.clone()], true),
        View::Object(object) if object.as_text().is_none() && object.iter(map_indexes, it).is_none() => {
            return Err(bad_indexes(map_indexes));
        }
        _ => (python::to_vec(map_indexes, it)?, false),
    };
    let mut found = Vec::new();
    for task_id in &task_ids {
        for index in &indexes {
            let value = request.one(shared, task_id, index)?;
            found.push(if value.is_none() { default.clone() } else { value });
        }
    }
    if single_task && single_index {
        return Ok(found.into_iter().next().unwrap_or_else(python::none));
    }
    Ok(python::list(found))
}

fn bad_indexes(value: &Value) -> PyErr {
    PyErr::type_error(format!(
        "Invalid type for map_indexes: expected int, iterable of ints, or None, got {}",
        class_repr(value)
    ))
}

impl Request {
    /// `GetXComSequenceSlice`: every map index; `None` when there is nothing.
    fn all(&self, shared: &Shared, task_id: &Value) -> PyResult<Option<Vec<Value>>> {
        let mut v = Validator::new("GetXComSequenceSlice");
        let key = text(&mut v, "key", &self.key)?;
        let dag_id = text(&mut v, "dag_id", &self.dag_id)?;
        let run_id = text(&mut v, "run_id", &self.run_id)?;
        let task_id = text(&mut v, "task_id", task_id)?;
        self.check_prior_dates(&mut v)?;
        if let Some(error) = v.finish()? {
            return Err(error);
        }
        let Some(value) = find(shared, &dag_id, &run_id, &task_id, &key)? else { return Ok(None) };
        let values = match mapped(value) {
            Some(values) => values.iter().map(deserialize).collect::<PyResult<Vec<_>>>()?,
            None => vec![deserialize(value)?],
        };
        Ok((!values.is_empty()).then_some(values))
    }

    /// Runs before this one are not known; only the type of the argument matters.
    fn check_prior_dates(&self, v: &mut Validator) -> PyResult<()> {
        let Some(value) = &self.include_prior_dates else { return Ok(()) };
        let json = scalar(value)
            .ok_or_else(|| PyErr::unsupported(format!("`include_prior_dates` of type {}", python::type_name(value))))?;
        v.at("include_prior_dates", |v| v.bool(&json));
        Ok(())
    }

    /// `GetXCom`: one map index.
    fn one(&self, shared: &Shared, task_id: &Value, index: &Value) -> PyResult {
        let mut v = Validator::new("GetXCom");
        let key = text(&mut v, "key", &self.key)?;
        let dag_id = text(&mut v, "dag_id", &self.dag_id)?;
        let run_id = text(&mut v, "run_id", &self.run_id)?;
        let task_id = text(&mut v, "task_id", task_id)?;
        let index = v.at("map_index", |v| -> PyResult<i128> {
            Ok(match view(index) {
                View::None => -1,
                View::Int(index) => i128::from(index),
                View::Bool(value) => i128::from(value),
                View::Float(value) => v.int(&Json::from(value)),
                _ => match python::text(index) {
                    Some(text) => v.int(&Json::from(text)),
                    None => {
                        return Err(PyErr::unsupported(format!("a map index of type {}", python::type_name(index))));
                    }
                },
            })
        })?;
        self.check_prior_dates(&mut v)?;
        if let Some(error) = v.finish()? {
            return Err(error);
        }
        let Some(value) = find(shared, &dag_id, &run_id, &task_id, &key)? else { return Ok(python::none()) };
        match mapped(value) {
            Some(values) => match usize::try_from(index).ok().and_then(|index| values.get(index)) {
                Some(value) => deserialize(value),
                None => Ok(python::none()),
            },
            None if index == -1 => deserialize(value),
            None => Ok(python::none()),
        }
    }
}

fn text(v: &mut Validator, field: &'static str, value: &Value) -> PyResult<String> {
    if let Some(text) = python::text(value) {
        return Ok(text.to_owned());
    }
    let json = scalar(value)
        .ok_or_else(|| PyErr::unsupported(format!("`{field}` of an XCom of type {}", python::type_name(value))))?;
    Ok(v.at(field, |v| v.string(&json)))
}

/// A plain value as JSON, for validation.
fn scalar(value: &Value) -> Option<Json> {
    Some(match view(value) {
        View::None => Json::Null,
        View::Bool(value) => Json::from(value),
        View::Int(value) => Json::from(value),
        View::Float(value) => Json::from(value),
        _ => match python::text(value) {
            Some(text) => Json::from(text),
            None => python::json::to_json(value)?,
        },
    })
}

fn find<'s>(shared: &'s Shared, dag_id: &str, run_id: &str, task_id: &str, key: &str) -> PyResult<Option<&'s Json>> {
    let run = &shared.run;
    let same_run = dag_id == run.dag_run.dag_id && run_id == run.dag_run.run_id;
    let found = if same_run { run.xcom.get(task_id).and_then(|values| values.get(key)) } else { None };
    if found.is_none() && shared.around.missing_xcom == MissingXCom::Refuse {
        return Err(PyErr::unsupported(format!("no XCom `{key}` of task `{task_id}` is given"))
            .with_hint(format!("say what the task returned: `xcom: {{{task_id}: {{{key}: ...}}}}` in the scenario")));
    }
    Ok(found)
}

/// The values of a mapped task, by map index.
fn mapped(value: &Json) -> Option<&Vec<Json>> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get("__mapped__")?.as_array()
}

/// JSON back into Python values; objects that Airflow's serializer wrapped are not built.
fn deserialize(value: &Json) -> PyResult {
    if !crate::run::passes_the_wire(value) {
        return Err(crate::run::int_overflow());
    }
    if let Some(error) = crate::run::unreadable_error(value) {
        return Err(error);
    }
    refuse_serialized(value, 0)?;
    convert::json(value)
}

fn refuse_serialized(value: &Json, depth: usize) -> PyResult<()> {
    if depth > DEPTH {
        return Err(PyErr::limit("an XCom nested more than 128 deep"));
    }
    match value {
        Json::Array(items) => items.iter().try_for_each(|item| refuse_serialized(item, depth + 1)),
        Json::Object(map) => {
            if let Some(key) = ["__classname__", "__type", "__var"].iter().find(|key| map.contains_key(**key)) {
                return Err(PyErr::unsupported(format!(
                    "an XCom that is a serialized object (it has the key `{key}`)"
                )));
            }
            map.values().try_for_each(|item| refuse_serialized(item, depth + 1))
        }
        _ => Ok(()),
    }
}
