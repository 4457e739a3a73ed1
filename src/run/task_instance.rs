//! The task instance of a run, as far as the wire carries it.

use crate::python::{PyErr, PyResult};

use super::{Instant, Json, Validator};

/// A task instance (`airflow.sdk.api.datamodels._generated.TaskInstance`, and what `RuntimeTaskInstance` adds).
///
/// What a request need not say is `None`: a template that reads it gets an error instead of an invention.
#[derive(Debug, Clone)]
pub struct TaskInstance {
    /// Task of the instance.
    pub task_id: String,
    /// Number of this try, from 1.
    pub try_number: i128,
    /// Index of a mapped task; -1 when it is not mapped.
    pub map_index: Option<i128>,
    /// Highest number of tries.
    pub max_tries: i128,
    /// Times the task was rescheduled.
    pub task_reschedule_count: i128,
    /// UUID, in canonical form.
    pub id: Option<String>,
    /// UUID of the Dag version, in canonical form.
    pub dag_version_id: Option<String>,
    /// When this try started.
    pub start_date: Option<Instant>,
}

const FIELDS: &[&str] =
    &["task_id", "try_number", "map_index", "max_tries", "task_reschedule_count", "id", "dag_version_id", "start_date"];

impl TaskInstance {
    /// A first try of a task that is not mapped.
    pub fn new(task_id: impl Into<String>) -> Self {
        TaskInstance {
            task_id: task_id.into(),
            try_number: 1,
            map_index: Some(-1),
            max_tries: 0,
            task_reschedule_count: 0,
            id: None,
            dag_version_id: None,
            start_date: None,
        }
    }

    /// Reads the `ti` section of a run. `max_tries` belongs to the `TIRunContext` and is read by its validator.
    pub fn from_json(value: &Json) -> PyResult<Self> {
        let Json::Object(map) = value else {
            return Err(PyErr::unsupported("`ti` of a run is an object with `task_id`"));
        };
        if let Some(key) = map.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(PyErr::unsupported(format!("`ti` of a run has no key `{key}`"))
                .with_hint(format!("its keys are {}", FIELDS.join(", "))));
        }
        let mut v = Validator::new("TaskInstance");
        let mut ti = TaskInstance::new(v.field(value, "task_id", true, Validator::string));
        if map.contains_key("try_number") {
            ti.try_number = v.field(value, "try_number", true, Validator::int);
        }
        if map.contains_key("map_index") {
            ti.map_index = v.field(value, "map_index", true, Validator::opt_int);
        }
        ti.id = v.field(value, "id", false, Validator::opt_string);
        ti.dag_version_id = v.field(value, "dag_version_id", false, Validator::opt_string);
        ti.start_date = v.field(value, "start_date", false, Validator::opt_instant);
        match v.finish()? {
            Some(error) => Err(error),
            None => Ok(ti),
        }
    }
}
