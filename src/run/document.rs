//! The run document: everything a rendering needs to know about one task instance.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::asset::pytext;
use crate::python::{PyErr, PyResult};

use super::{DagRun, Json, JsonMap, TaskInstance, Validator};

/// Connections by id: raw objects, validated when a template asks for one.
pub type Connections = IndexMap<String, Json>;

/// XComs of the same Dag and run: task id, key, value. `{"__mapped__": [...]}` is one value per map index.
pub type XCom = IndexMap<String, JsonMap>;

/// A run of one task, as `conformance/render` and `render --jsonl` give it. What many task instances have in common is shared.
#[derive(Debug, Clone)]
pub struct Run {
    /// The Dag run.
    pub dag_run: Arc<DagRun>,
    /// The task instance.
    pub ti: TaskInstance,
    /// Params of the Dag and task, before `dag_run.conf` is merged in.
    pub params: JsonMap,
    /// Airflow variables: raw stored strings.
    pub variables: Arc<JsonMap>,
    /// Connections by id.
    pub connections: Arc<Connections>,
    /// XComs by task and key.
    pub xcom: Arc<XCom>,
    /// Dates of the previous successful run; raw, validated when a template asks.
    pub prev_success: Arc<JsonMap>,
    /// `user_defined_macros` that are plain values.
    pub user_macros: JsonMap,
}

const SECTIONS: &[&str] =
    &["dag_run", "ti", "params", "variables", "connections", "xcom", "prev_success", "user_macros"];

impl Run {
    /// A run with nothing but its Dag run and task instance.
    pub fn new(dag_run: impl Into<Arc<DagRun>>, ti: TaskInstance) -> Self {
        Run {
            dag_run: dag_run.into(),
            ti,
            params: JsonMap::new(),
            variables: Arc::default(),
            connections: Arc::default(),
            xcom: Arc::default(),
            prev_success: Arc::default(),
            user_macros: JsonMap::new(),
        }
    }

    /// Reads and validates the document in the order a worker does: the payload, the Dag and its task, the channel to the
    /// task process.
    pub fn from_json(mut value: Json) -> PyResult<Self> {
        let Json::Object(map) = &mut value else {
            return Err(PyErr::unsupported("a run is an object with `dag_run` and `ti`"));
        };
        if let Some(key) = map.keys().find(|key| !SECTIONS.contains(&key.as_str())) {
            return Err(PyErr::unsupported(format!("a run has no section `{key}`"))
                .with_hint(format!("its sections are {}", SECTIONS.join(", "))));
        }
        let dag_run = map.shift_remove("dag_run").unwrap_or(Json::Null);
        let ti = map.shift_remove("ti").unwrap_or(Json::Null);
        let mut context = JsonMap::new();
        context.insert("dag_run".to_owned(), dag_run);
        context.insert("max_tries".to_owned(), ti.get("max_tries").cloned().unwrap_or_else(|| Json::from(0)));
        context.insert(
            "task_reschedule_count".to_owned(),
            ti.get("task_reschedule_count").cloned().unwrap_or_else(|| Json::from(0)),
        );
        let (dag_run, max_tries, reschedules, wire) = read_context(&Json::Object(context))?;
        validate_key(&dag_run.dag_id)?;
        if let Some(task_id) = ti.get("task_id").and_then(Json::as_str) {
            validate_key(task_id)?;
        }
        let mut ti = TaskInstance::from_json(&ti)?;
        ti.max_tries = max_tries;
        ti.task_reschedule_count = reschedules;
        if let Some(error) = wire {
            return Err(error);
        }
        Ok(Run {
            dag_run: Arc::new(dag_run),
            ti,
            params: section(map, "params")?,
            variables: Arc::new(section(map, "variables")?),
            connections: Arc::new(section(map, "connections")?.into_iter().collect()),
            xcom: Arc::new(
                section(map, "xcom")?
                    .into_iter()
                    .map(|(task, values)| match values {
                        Json::Object(values) => Ok((task, values)),
                        _ => Err(PyErr::unsupported(format!("`xcom` of task `{task}` is an object of keys"))),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            prev_success: Arc::new(section(map, "prev_success")?),
            user_macros: section(map, "user_macros")?,
        })
    }

    /// Reads a `TIRunContext` as the API server sends it, for the task instance given.
    pub fn from_ti_run_context(value: &Json, mut ti: TaskInstance) -> PyResult<Self> {
        let (dag_run, max_tries, reschedules, wire) = read_context(value)?;
        validate_key(&dag_run.dag_id)?;
        validate_key(&ti.task_id)?;
        if let Some(error) = wire {
            return Err(error);
        }
        ti.max_tries = max_tries;
        ti.task_reschedule_count = reschedules;
        Ok(Run::new(dag_run, ti))
    }
}

fn read_context(value: &Json) -> PyResult<(DagRun, i128, i128, Option<PyErr>)> {
    let mut v = Validator::new("TIRunContext");
    let (mut dag_run, mut max_tries, mut reschedules) = (None, 0, None);
    if v.model(value).is_some() {
        dag_run = v.field(value, "dag_run", true, DagRun::read);
        reschedules = v.field(value, "task_reschedule_count", false, Validator::opt_int);
        max_tries = v.field(value, "max_tries", true, Validator::int);
        for list in ["variables", "connections"] {
            v.field(value, list, false, |v, value| {
                if !value.is_null() {
                    v.list(value, |v, item| v.model(item).is_some());
                }
            });
        }
        v.field(value, "next_method", false, Validator::opt_string);
        v.field(value, "xcom_keys_to_clear", false, |v, value| {
            if !value.is_null() {
                v.list(value, Validator::string);
            }
        });
        v.field(value, "start_date", false, Validator::opt_instant);
    }
    let wire = v.finish()?;
    let dag_run = dag_run.ok_or_else(|| PyErr::unsupported("this Dag run cannot be read"))?;
    Ok((dag_run, max_tries, reschedules.unwrap_or(0), wire))
}

fn section(map: &mut JsonMap, name: &str) -> PyResult<JsonMap> {
    match map.shift_remove(name) {
        None | Some(Json::Null) => Ok(JsonMap::new()),
        Some(Json::Object(section)) => Ok(section),
        Some(other) => Err(PyErr::unsupported(format!(
            "section `{name}` of a run is an object, not {}",
            pytext::type_name(&other)
        ))),
    }
}

/// What Airflow allows as Dag or task id (`airflow.sdk.definitions._internal.node.validate_key`).
pub(crate) fn validate_key(key: &str) -> PyResult<()> {
    let length = key.chars().count();
    if length > 250 {
        return Err(PyErr::value_error(format!("The key has to be less than 250 characters, not {length}")));
    }
    // a trailing newline passes Python's `$`
    let body = key.strip_suffix('\n').unwrap_or(key);
    if body.is_empty() || !body.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')) {
        return Err(PyErr::value_error(format!(
            "The key {} has to be made of alphanumeric characters, dashes, dots, and underscores exclusively",
            crate::python::repr_str(key)
        )));
    }
    Ok(())
}
