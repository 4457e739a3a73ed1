//! `task` (`airflow.sdk.BaseOperator` or a subclass).

use std::sync::OnceLock;

use crate::python::{self, Args, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, object};

use super::Shared;
use super::convert;
use super::dates;
use super::enums;
use super::params::ParamsDict;

/// The task of the instance.
#[derive(Debug)]
pub(super) struct Task {
    shared: Shared,
    params: OnceLock<Value>,
}

/// Methods and parts of an operator that are not built.
const HIDDEN: &[&str] = &[
    "add_inlets",
    "add_outlets",
    "as_setup",
    "as_teardown",
    "defer",
    "downstream_list",
    "dry_run",
    "execute",
    "expand_start_trigger_args",
    "get_closest_mapped_task_group",
    "get_direct_relative_ids",
    "get_direct_relatives",
    "get_flat_relative_ids",
    "get_flat_relatives",
    "get_needs_expansion",
    "get_serialized_fields",
    "get_template_env",
    "get_upstreams_follow_setups",
    "get_upstreams_only_setups",
    "get_upstreams_only_setups_and_teardowns",
    "iter_mapped_dependants",
    "iter_mapped_task_groups",
    "leaves",
    "log",
    "on_kill",
    "operator_class",
    "operator_extra_links",
    "output",
    "partial",
    "post_execute",
    "pre_execute",
    "prepare_for_execution",
    "prepare_template",
    "render_template",
    "render_template_fields",
    "resolve_template_files",
    "resume_execution",
    "roots",
    "serialize_for_task_group",
    "set_downstream",
    "set_upstream",
    "start_trigger_args",
    "task_group",
    "template_fields_renderers",
    "unmap",
    "update_relative",
    "upstream_list",
    "_BaseOperator__from_mapped",
    "_BaseOperator__init_kwargs",
    "_BaseOperator__instantiated",
    "_abc_impl",
    "_cached_logger",
    "_comps",
    "_dag",
    "_is_mapped",
    "_is_sensor",
    "_log_config_logger_name",
    "_render",
    "_task_display_name",
];

impl Task {
    pub(super) fn build(shared: &Shared) -> Value {
        object(Task { shared: shared.clone(), params: OnceLock::new() })
    }

    fn task_id(&self) -> &str {
        &self.shared.run.ti.task_id
    }

    fn is_base(&self) -> bool {
        self.shared.around.task.operator == "BaseOperator"
    }

    fn attribute(&self, name: &str) -> Option<PyResult> {
        let task = &self.shared.around.task;
        let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        if task.template_fields.iter().any(|field| field == name) {
            // its value changes while the fields are rendered one after the other
            return Some(Err(PyErr::unsupported(format!("`task.{name}`: it is a template field, being rendered now"))));
        }
        if let Some(reason) = task.unknown.get(name) {
            return Some(Err(PyErr::unsupported(reason.as_str())));
        }
        // arguments that Airflow turns into something else than what the author wrote
        match (name, task.attributes.get(name)) {
            ("trigger_rule", given) => {
                let given = given.and_then(|value| value.as_str()).unwrap_or("all_success");
                return Some(enums::trigger_rule(given).ok_or_else(|| convert::not_built("BaseOperator", name)));
            }
            ("weight_rule", given) => {
                let given = given.and_then(|value| value.as_str()).unwrap_or("downstream");
                return Some(enums::weight_rule(given).ok_or_else(|| convert::not_built("BaseOperator", name)));
            }
            (
                "retry_delay" | "max_retry_delay" | "execution_timeout" | "start_date" | "end_date" | "params",
                Some(_),
            ) => {
                return Some(Err(convert::not_built(&task.operator, name)));
            }
            (_, Some(value)) => return Some(convert::json(value)),
            (_, None) => {}
        }
        Some(Ok(match name {
            // without the task group's prefix, if the dot ends one
            "label" if self.task_id().contains('.') => return Some(Err(convert::not_built(&task.operator, name))),
            "task_id" | "label" | "node_id" | "task_display_name" => Value::from(self.task_id()),
            "dag_id" => Value::from(self.shared.run.dag_run.dag_id.as_str()),
            "task_type" | "operator_name" => Value::from(task.operator.as_str()),
            "owner" => Value::from(task.owner.as_str()),
            "dag" => return Some(self.shared.dag()),
            "params" => {
                return Some(convert::once(&self.params, || {
                    Ok(ParamsDict::of_task(&self.shared.run.params, self.shared.merged_params()?))
                }));
            }
            "inlets" => return Some(self.shared.inlets()),
            "outlets" => return Some(self.shared.outlets()),
            "map_index_template" => convert::opt_str(task.map_index_template.as_deref()),
            "template_fields" => python::tuple(texts(&task.template_fields)),
            "template_ext" => python::tuple(texts(&task.template_ext)),
            "upstream_task_ids" => return Some(python::set(texts(&task.upstream_task_ids))),
            "downstream_task_ids" => return Some(python::set(texts(&task.downstream_task_ids))),
            "retries" => Value::from(task.retries),
            "retry_delay" => dates::seconds(300),
            "start_date" => match self.shared.around.dag.start_date {
                Some(date) => dates::pendulum_in(date),
                None => python::none(),
            },
            "queue" => Value::from("default"),
            "pool" => Value::from("default_pool"),
            "pool_slots" | "priority_weight" => Value::from(1),
            "retry_exponential_backoff" => Value::from(0),
            "ui_color" if self.is_base() => Value::from("#fff"),
            "ui_fgcolor" if self.is_base() => Value::from("#000"),
            "executor_config" => python::str_dict(Vec::<(&str, Value)>::new()),
            "on_execute_callback"
            | "on_failure_callback"
            | "on_retry_callback"
            | "on_skipped_callback"
            | "on_success_callback" => python::list(Vec::new()),
            "allow_nested_operators" | "do_xcom_push" | "email_on_failure" | "email_on_retry" => Value::from(true),
            "depends_on_past"
            | "has_on_execute_callback"
            | "has_on_failure_callback"
            | "has_on_retry_callback"
            | "has_on_skipped_callback"
            | "has_on_success_callback"
            | "has_retry_policy"
            | "ignore_first_depends_on_past"
            | "is_setup"
            | "is_teardown"
            | "multiple_outputs"
            | "on_failure_fail_dagrun"
            | "overwrite_rtif_after_execution"
            | "returns_dag_result"
            | "wait_for_downstream"
            | "wait_for_past_depends_before_skipping"
            | "is_mapped" => Value::from(false),
            "inherits_from_empty_operator" | "inherits_from_skipmixin" | "is_async" | "start_from_trigger"
                if self.is_base() =>
            {
                Value::from(false)
            }
            "default_args"
            | "doc"
            | "doc_json"
            | "doc_md"
            | "doc_rst"
            | "doc_yaml"
            | "email"
            | "end_date"
            | "execution_timeout"
            | "executor"
            | "logger_name"
            | "max_active_tis_per_dag"
            | "max_active_tis_per_dagrun"
            | "max_retry_delay"
            | "render_template_as_native_obj"
            | "resources"
            | "retry_policy"
            | "run_as_user"
            | "task_concurrency" => python::none(),
            _ if HIDDEN.contains(&name) => return Some(Err(convert::not_built(&task.operator, name))),
            _ if self.is_base() => return None,
            // whether an operator's class has the attribute is only known to its code
            _ if name.starts_with("__") => return None,
            _ => {
                return Some(Err(PyErr::unsupported(format!(
                    "attribute `{name}` of a {} is not among the arguments given",
                    task.operator
                ))));
            }
        }))
    }
}

impl PyObject for Task {
    fn type_name(&self) -> &str {
        &self.shared.around.task.operator
    }

    fn qualified_name(&self) -> String {
        let task = &self.shared.around.task;
        match &task.module {
            Some(module) => format!("{module}.{}", task.operator),
            None => task.operator.clone(),
        }
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<Task({}): {}>", self.shared.around.task.operator, self.task_id()))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if self.has_method(name) {
            return None;
        }
        self.attribute(name)
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "get_dag" | "has_dag")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Sig::new(name, &[]).method().bind(args)?;
        if name == "get_dag" { self.shared.dag() } else { Ok(Value::from(true)) }
    }

    fn compare(&self, op: python::CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        // `<` and `>` set dependencies between tasks
        let _ = other;
        match op {
            python::CmpOp::Eq | python::CmpOp::Ne => None,
            _ => Some(Err(PyErr::unsupported("comparing a task by order"))),
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("BaseOperator", vec![HashKey::Str(self.task_id().into())]))
    }
}
