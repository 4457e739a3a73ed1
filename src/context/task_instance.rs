//! `ti` and `task_instance` (`airflow.sdk.execution_time.task_runner.RuntimeTaskInstance`).

use crate::python::{self, Args, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Sig, Value, object, repr_str};
use crate::run::TaskInstanceState;

use super::Shared;
use super::convert;
use super::enums;
use super::xcom;

/// The task instance being rendered.
#[derive(Debug)]
pub(super) struct RuntimeTaskInstance {
    shared: Shared,
}

/// Methods and parts that are not built.
const HIDDEN: &[&str] = &[
    "axcom_pull",
    "axcom_push",
    "construct",
    "copy",
    "dag_version_id",
    "dict",
    "from_orm",
    "get_dag",
    "get_dagrun_state",
    "get_dr_count",
    "get_first_reschedule_date",
    "get_previous_ti",
    "get_relevant_upstream_map_indexes",
    "get_task_breadcrumbs",
    "get_task_states",
    "get_ti_count",
    "id",
    "json",
    "model_computed_fields",
    "model_config",
    "model_construct",
    "model_copy",
    "model_dump",
    "model_dump_json",
    "model_extra",
    "model_fields",
    "model_fields_set",
    "model_json_schema",
    "model_parametrized_name",
    "model_post_init",
    "model_rebuild",
    "model_validate",
    "model_validate_json",
    "model_validate_strings",
    "parse_file",
    "parse_obj",
    "parse_raw",
    "render_templates",
    "schema",
    "schema_json",
    "update_forward_refs",
    "validate",
    "xcom_push",
    "_abc_impl",
    "_calculate_keys",
    "_copy_and_set_values",
    "_get_value",
    "_iter",
    "_normalize_xcom_pull_params",
    "_setattr_handler",
];

impl RuntimeTaskInstance {
    pub(super) fn build(shared: &Shared) -> Value {
        object(RuntimeTaskInstance { shared: shared.clone() })
    }

    fn attribute(&self, name: &str) -> Option<PyResult> {
        let (run, ti) = (&self.shared.run, &self.shared.run.ti);
        self.shared.note("RuntimeTaskInstance", name);
        Some(Ok(match name {
            "task_id" => Value::from(ti.task_id.as_str()),
            "dag_id" => Value::from(run.dag_run.dag_id.as_str()),
            "run_id" => Value::from(run.dag_run.run_id.as_str()),
            "try_number" => convert::int_of(ti.try_number),
            "max_tries" => convert::int_of(ti.max_tries),
            "map_index" => convert::opt_int(ti.map_index),
            "state" => enums::task_state(TaskInstanceState::Running),
            "queue" => Value::from("default"),
            "task" => return Some(self.shared.task()),
            "start_date" => match ti.start_date {
                Some(date) => convert::plain(Some(date)),
                None => {
                    return Some(Err(PyErr::unsupported("the start date of the task instance is not known")
                        .with_hint("give `start_date` in `ti`")));
                }
            },
            "sentry_integration" => Value::from(""),
            "bundle_instance" | "context_carrier" | "end_date" | "hostname" | "is_mapped" | "rendered_map_index" => {
                python::none()
            }
            "stats_tags" => {
                let mut tags = vec![
                    ("dag_id", Value::from(run.dag_run.dag_id.as_str())),
                    ("task_id", Value::from(ti.task_id.as_str())),
                ];
                if let Some(team) = run.dag_run.team_name.as_deref().filter(|team| !team.is_empty()) {
                    tags.push(("team_name", Value::from(team)));
                }
                python::str_dict(tags)
            }
            "_terminal_state_send_failed" | "_failure_metrics_emitted" => Value::from(false),
            "_ti_context_from_server" => return Some(self.shared.ti_run_context()),
            "_cached_template_context" => return Some(self.shared.as_dict()),
            "log_url" | "mark_success_url" => {
                return Some(Err(PyErr::unsupported(format!("`ti.{name}` depends on the address of the deployment"))));
            }
            _ if HIDDEN.contains(&name) => return Some(Err(convert::not_built("RuntimeTaskInstance", name))),
            _ => return None,
        }))
    }
}

impl PyObject for RuntimeTaskInstance {
    fn type_name(&self) -> &str {
        "RuntimeTaskInstance"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.task_runner.RuntimeTaskInstance".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported(format!(
            "printing the task instance {}: its id differs from run to run",
            repr_str(&self.shared.run.ti.task_id)
        ))
        .with_hint("print what you need of it: ti.task_id, ti.run_id, task_instance_key_str"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if self.has_method(name) {
            return None;
        }
        self.attribute(name)
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "xcom_pull" | "get_previous_dagrun" | "get_template_context")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if name == "xcom_pull" {
            return xcom::pull(&self.shared, args, it);
        }
        if name == "get_template_context" {
            Sig::new("RuntimeTaskInstance.get_template_context", &[]).method().bind(args)?;
            return self.shared.as_dict();
        }
        Sig::new("RuntimeTaskInstance.get_previous_dagrun", &["state"]).required(0).method().bind(args)?;
        match self.shared.run.dag_run.logical_date {
            None => Ok(python::none()),
            Some(_) => Err(PyErr::unsupported("`ti.get_previous_dagrun` asks the metadata database")),
        }
    }

    fn iter(&self, this: &Value, _it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        // the first field is the id
        let this = this.clone();
        Some(Ok(python::from_fn(move |it| python::repr(&this, it).map(|_| None))))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'RuntimeTaskInstance'"))
    }
}
