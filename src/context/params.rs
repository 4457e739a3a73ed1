//! `params`, and the `ParamsDict` of a Dag or task (`airflow.sdk.definitions.param`).

use crate::python::{
    self, Args, CmpOp, Dict, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Sig, Value, downcast, object,
};
use crate::run::{JsonMap, Run};

use super::convert;
use super::views::{self, ViewKind};

/// `params` of the context: Dag and task params, overridden and extended by `dag_run.conf`
/// (`core.dag_run_conf_overrides_params`, on by default).
///
/// A value that came with `conf` is the very object that `dag_run.conf` holds.
pub(super) fn merged(run: &Run, conf: Option<&Value>) -> PyResult<Vec<(String, Value)>> {
    let mut pairs: Vec<(String, Value)> = Vec::with_capacity(run.params.len());
    for (key, value) in &run.params {
        pairs.push((key.clone(), convert::json(value)?));
    }
    if let Some(conf) = conf.and_then(downcast::<Dict>) {
        for (key, value) in conf.items() {
            let Some(key) = python::text(&key) else { continue };
            match pairs.iter_mut().find(|(known, _)| known == key) {
                Some((_, slot)) => *slot = value,
                None => pairs.push((key.to_owned(), value)),
            }
        }
    }
    Ok(pairs)
}

/// `dag.params`, `task.params`: a mapping whose subscripts are values and whose `values()` are `Param` objects.
#[derive(Debug)]
pub(super) struct ParamsDict {
    values: Value,
}

impl ParamsDict {
    /// The Dag's params, as declared.
    pub(super) fn of_dag(params: &JsonMap) -> PyResult {
        Ok(object(ParamsDict { values: convert::dict(params)? }))
    }

    /// The task's params: merging `conf` into the context's params changes them as well, but adds none.
    pub(super) fn of_task(declared: &JsonMap, merged: &[(String, Value)]) -> Value {
        let own = merged.iter().filter(|(name, _)| declared.contains_key(name)).cloned();
        object(ParamsDict { values: python::str_dict(own) })
    }

    /// The dict of `Param` objects underneath.
    fn objects(&self) -> PyResult {
        let dict = downcast::<Dict>(&self.values);
        let pairs =
            dict.map(|dict| dict.items().into_iter().map(|(key, value)| (key, param(value))).collect::<Vec<_>>());
        python::dict(pairs.unwrap_or_default())
    }
}

const METHODS: &[&str] = &["get", "dump", "serialize", "validate", "get_param", "copy"];

impl PyObject for ParamsDict {
    fn type_name(&self) -> &str {
        "ParamsDict"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.definitions.param.ParamsDict".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        python::repr(&self.values, it)
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(python::len(&self.values, it))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "suppress_exception" => Some(Ok(Value::from(false))),
            "clear"
            | "pop"
            | "popitem"
            | "setdefault"
            | "update"
            | "deserialize"
            | "filter_params_by_source"
            | "_abc_impl"
            | "_fill_missing_param_source"
            | "_ParamsDict__dict" => Some(Err(convert::not_built("ParamsDict", name))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        (METHODS.contains(&name) && name != "copy") || ViewKind::of_method(name).is_some()
    }

    fn call_method(&self, this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if let Some(kind) = ViewKind::of_method(name) {
            Sig::new(&format!("ParamsDict.{name}"), &[]).method().bind(args)?;
            let mapping = if kind == ViewKind::Keys { this.clone() } else { self.objects()? };
            return Ok(views::view(kind, mapping));
        }
        match name {
            "get" => {
                let bound = Sig::new("Mapping.get", &["key", "default"]).required(1).method().bind(args)?;
                let key = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
                match python::getitem(&self.values, &key, it) {
                    Err(error) if error.class == "KeyError" => {
                        Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(python::none))
                    }
                    result => result,
                }
            }
            "get_param" => {
                let bound = Sig::new("ParamsDict.get_param", &["key"]).method().bind(args)?;
                let key = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
                python::getitem(&self.values, &key, it).map(param)
            }
            _ => {
                Sig::new(&format!("ParamsDict.{name}"), &[]).method().bind(args)?;
                python::call_method(&self.values, "copy", &Args::default(), it)
            }
        }
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(python::getitem(&self.values, key, it))
    }

    fn contains(&self, item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(python::contains(&self.values, item, it))
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(python::iter(&self.values, it))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        let other = match downcast::<ParamsDict>(other) {
            Some(params) => &params.values,
            None => {
                downcast::<Dict>(other)?;
                other
            }
        };
        Some(python::compare(op, &self.values, other, it))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'dict'"))
    }
}

/// `Param(...)`, seen only by who iterates a `ParamsDict`'s values.
#[derive(Debug)]
struct Param {
    value: Value,
}

fn param(value: Value) -> Value {
    object(Param { value })
}

impl PyObject for Param {
    fn type_name(&self) -> &str {
        "Param"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.definitions.param.Param".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(convert::address("Param").with_hint(
            "`.items()` and `.values()` of `dag.params` give Param objects; use `params`, or `.value` of each",
        ))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "value" => Some(Ok(self.value.clone())),
            "has_value" => Some(Ok(Value::from(!self.value.is_none()))),
            "description" | "schema" | "source" | "serialize" | "dump" | "deserialize" | "_check_json"
            | "CLASS_IDENTIFIER" => Some(Err(convert::not_built("Param", name))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "resolve"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        if args.is_empty() { Ok(self.value.clone()) } else { Err(PyErr::unsupported("arguments of `Param.resolve`")) }
    }
}
