//! `dag` (`airflow.sdk.DAG`).

use std::sync::OnceLock;

use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Sig, Value, downcast, object,
};

use super::Shared;
use super::convert;
use super::dates;
use super::params::ParamsDict;

/// The Dag of the task.
#[derive(Debug)]
pub(super) struct Dag {
    shared: Shared,
    params: OnceLock<Value>,
}

/// Methods and parts of a Dag that are not built.
const HIDDEN: &[&str] = &[
    "add_result",
    "add_task",
    "add_tasks",
    "check_cycle",
    "cli",
    "edge_info",
    "fileloc",
    "folder",
    "get_edge_info",
    "get_serialized_fields",
    "get_template_env",
    "has_task_group",
    "jinja_environment_kwargs",
    "last_loaded",
    "leaves",
    "param",
    "partial_subset",
    "relative_fileloc",
    "resolve_template_files",
    "roots",
    "schedule",
    "set_dependency",
    "set_edge_info",
    "sla_miss_callback",
    "task",
    "task_dict",
    "task_group",
    "task_group_dict",
    "tasks",
    "tasks_upstream_of_teardowns",
    "teardowns",
    "template_searchpath",
    "template_undefined",
    "test",
    "timetable",
    "topological_sort",
    "user_defined_filters",
    "user_defined_macros",
    "validate",
    "validate_setup_teardown",
    "_abc_impl",
    "_default_timetable",
    "_extract_tz",
    "_has_on_failure_callback",
    "_has_on_success_callback",
    "_remove_task",
];

impl Dag {
    pub(super) fn build(shared: &Shared) -> Value {
        object(Dag { shared: shared.clone(), params: OnceLock::new() })
    }

    fn dag_id(&self) -> &str {
        &self.shared.run.dag_run.dag_id
    }

    fn task_ids(&self) -> Vec<&str> {
        let known = &self.shared.around.dag.task_ids;
        if known.is_empty() { vec![&self.shared.run.ti.task_id] } else { known.iter().map(String::as_str).collect() }
    }

    /// True when the Dag has no other task.
    fn is_alone(&self) -> bool {
        self.task_ids() == [self.shared.run.ti.task_id.as_str()]
    }

    fn attribute(&self, name: &str) -> Option<PyResult> {
        let dag = &self.shared.around.dag;
        if let Some(reason) = dag.unknown.get(name) {
            return Some(Err(PyErr::unsupported(reason.as_str())));
        }
        if let Some(value) = dag.attributes.get(name) {
            return Some(convert::json(value));
        }
        Some(Ok(match name {
            "dag_id" => Value::from(self.dag_id()),
            "dag_display_name" => Value::from(dag.display_name.as_deref().unwrap_or_else(|| self.dag_id())),
            "params" => {
                let params = dag.params.as_ref().unwrap_or(&self.shared.run.params);
                return Some(convert::once(&self.params, || ParamsDict::of_dag(params)));
            }
            "start_date" => dag.start_date.map_or_else(python::none, dates::pendulum_in),
            "end_date" => dag.end_date.map_or_else(python::none, dates::pendulum_in),
            "timezone" => dates::timezone(dag.timezone),
            "description" => convert::opt_str(dag.description.as_deref()),
            "doc_md" => convert::opt_str(dag.doc_md.as_deref()),
            "tags" => return Some(python::set(dag.tags.iter().map(|tag| Value::from(tag.as_str())))),
            "catchup" => Value::from(dag.catchup),
            "max_active_runs" => Value::from(dag.max_active_runs),
            "max_active_tasks" => Value::from(16),
            "max_consecutive_failed_dag_runs" => Value::from(0),
            "owner" => Value::from(dag.owner.as_str()),
            "render_template_as_native_obj" => Value::from(dag.native),
            "tasks" | "roots" | "leaves" if self.is_alone() => {
                return Some(self.shared.task().map(|task| python::list(vec![task])));
            }
            "task_dict" if self.is_alone() => {
                return Some(
                    self.shared.task().map(|task| python::str_dict([(self.shared.run.ti.task_id.as_str(), task)])),
                );
            }
            "task_ids" => python::list(self.task_ids().into_iter().map(Value::from).collect()),
            "auto_register" => Value::from(true),
            "disable_bundle_versioning"
            | "fail_fast"
            | "has_on_failure_callback"
            | "has_on_success_callback"
            | "partial" => Value::from(false),
            "access_control"
            | "allowed_run_types"
            | "dagrun_timeout"
            | "deadline"
            | "is_paused_upon_creation"
            | "on_failure_callback"
            | "on_success_callback"
            | "rerun_with_latest_version" => python::none(),
            "default_args" if dag.params.is_some() => return Some(Err(convert::not_built("DAG", name))),
            "default_args" | "owner_links" => python::str_dict(Vec::<(&str, Value)>::new()),
            _ if HIDDEN.contains(&name) || name.starts_with("_validate") || name.starts_with("_DAG__") => {
                return Some(Err(convert::not_built("DAG", name)));
            }
            _ => return None,
        }))
    }
}

impl PyObject for Dag {
    fn type_name(&self) -> &str {
        "DAG"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.definitions.dag.DAG".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<DAG: {}>", self.dag_id()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if self.has_method(name) {
            return None;
        }
        self.attribute(name)
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "has_task" | "get_task")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let qualified = format!("DAG.{name}");
        let params: &[&str] = if name == "get_task" { &["task_id", "include_subdags"] } else { &["task_id"] };
        let bound = Sig::new(&qualified, params).required(1).method().bind(args)?;
        let task_id = bound.first().copied().flatten().cloned().unwrap_or_else(python::none);
        let known = python::text(&task_id).is_some_and(|id| self.task_ids().contains(&id));
        if name == "has_task" {
            return Ok(Value::from(known));
        }
        if python::text(&task_id) == Some(&self.shared.run.ti.task_id) {
            return self.shared.task();
        }
        match python::text(&task_id) {
            Some(task_id) if !known => Err(PyErr::new("TaskNotFound", format!("Task {task_id} not found"))),
            _ => Err(PyErr::unsupported("`dag.get_task` of another task")),
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        // a context holds one Dag only, so both are it
        downcast::<Dag>(other)?;
        Some(Ok(matches!(op, CmpOp::Eq | CmpOp::Le | CmpOp::Ge)))
    }

    fn getitem(&self, key: &Value, _it: &mut dyn Interp) -> Option<PyResult> {
        // tasks by id; what is no task raises an exception that Jinja2 takes for a missing key
        Some(match python::text(key) {
            Some(task_id) if task_id == self.shared.run.ti.task_id => self.shared.task(),
            Some(task_id) if self.task_ids().contains(&task_id) => {
                Err(PyErr::unsupported(format!("task `{task_id}` of the Dag")))
            }
            _ => Err(PyErr::new("KeyError", "a task of the Dag")),
        })
    }

    fn iter(&self, _this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        // a class with subscripts and no `__iter__` is tried with 0, 1, ...
        Some(Ok(python::from_fn(|_| Err(PyErr::new("NodeNotFound", "Task or group 0 not found")))))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("DAG", vec![HashKey::Str(self.dag_id().into())]))
    }
}
