//! What a template may read of a Dag or task that a pipeline file does not hold: fields that read it are refused.

use serde_json::{Map, Value as Json};

/// Something that a template must not read, and why.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    /// Part of a template's text.
    pattern: String,
    /// Why the field cannot be rendered.
    reason: String,
}

impl Guard {
    /// Refuses templates with such a part, at the boundaries of words.
    pub fn new(pattern: impl Into<String>, reason: impl Into<String>) -> Self {
        Guard { pattern: pattern.into(), reason: reason.into() }
    }

    /// Why a text is refused, if it is.
    pub fn refuses(&self, text: &str) -> Option<&str> {
        mentions(text, &self.pattern).then_some(self.reason.as_str())
    }
}

/// Whether a text has a part that does not go on as a word on either side.
pub(super) fn mentions(text: &str, part: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(part).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + part.len()..).and_then(|after| after.chars().next());
        !(after.is_some_and(word) || part.starts_with(word) && before.is_some_and(word))
    })
}

/// Attributes of a Dag with the value that partita takes for it.
const DAG: &[(&str, &str)] = &[
    ("description", "null"),
    ("doc_md", "null"),
    ("tags", "[]"),
    ("dag_display_name", "null"),
    ("max_active_tasks", "16"),
    ("max_consecutive_failed_dag_runs", "0"),
    ("fail_fast", "false"),
    ("dagrun_timeout", "null"),
    ("owner_links", "{}"),
    ("access_control", "null"),
    ("disable_bundle_versioning", "false"),
    ("deadline", "null"),
    ("allowed_run_types", "null"),
    ("has_on_success_callback", "false"),
    ("has_on_failure_callback", "false"),
    ("is_paused_upon_creation", "null"),
    ("rerun_with_latest_version", "null"),
];

/// Attributes of a task that a pipeline file has no form for, with the value that partita takes for it.
const TASK: &[(&str, &str)] = &[
    ("doc", "null"),
    ("doc_md", "null"),
    ("doc_json", "null"),
    ("doc_yaml", "null"),
    ("doc_rst", "null"),
    ("executor_config", "{}"),
    ("resources", "null"),
    ("start_date", "null"),
    ("end_date", "null"),
    ("_task_display_name", "null"),
    ("has_on_execute_callback", "false"),
    ("has_on_failure_callback", "false"),
    ("has_on_retry_callback", "false"),
    ("has_on_skipped_callback", "false"),
    ("has_on_success_callback", "false"),
    ("has_retry_policy", "false"),
    ("start_from_trigger", "false"),
];

/// Arguments of every operator that are written into the pipeline file when a template reads them, with Airflow's defaults.
pub(super) const READABLE: &[(&str, &str)] = &[
    ("trigger_rule", "\"all_success\""),
    ("weight_rule", "\"downstream\""),
    ("pool", "\"default_pool\""),
    ("pool_slots", "1"),
    ("queue", "\"default\""),
    ("priority_weight", "1"),
    ("depends_on_past", "false"),
    ("ignore_first_depends_on_past", "false"),
    ("wait_for_past_depends_before_skipping", "false"),
    ("wait_for_downstream", "false"),
    ("retry_delay", "300.0"),
    ("max_retry_delay", "null"),
    ("execution_timeout", "null"),
    ("retry_exponential_backoff", "0"),
    ("do_xcom_push", "true"),
    ("email_on_failure", "true"),
    ("email_on_retry", "true"),
    ("email", "null"),
    ("executor", "null"),
    ("max_active_tis_per_dag", "null"),
    ("max_active_tis_per_dagrun", "null"),
    ("run_as_user", "null"),
    ("multiple_outputs", "false"),
    ("is_setup", "false"),
    ("is_teardown", "false"),
    ("on_failure_fail_dagrun", "false"),
    ("allow_nested_operators", "true"),
];

fn differs(map: &Map<String, Json>, name: &str, default: &str) -> bool {
    map.get(name)
        .is_some_and(|value| !value.is_null() && serde_json::from_str::<Json>(default).ok().as_ref() != Some(value))
}

/// What templates must not read of a Dag.
pub(super) fn of_dag(dag: &Map<String, Json>, tasks: usize) -> Vec<Guard> {
    let mut guards = Vec::new();
    for (name, default) in DAG {
        if differs(dag, name, default) {
            guards.push(Guard::new(
                format!("dag.{name}"),
                format!("`dag.{name}` is in the serialized Dag, but has no place in a pipeline file"),
            ));
        }
    }
    if dag.get("default_args").is_some_and(|arguments| arguments.get("__var") != Some(&Json::Object(Map::new()))) {
        guards
            .push(Guard::new("dag.default_args", "`dag.default_args`: a serialized Dag does not hold them as written"));
    }
    if tasks > 1 {
        for name in ["upstream_task_ids", "downstream_task_ids"] {
            guards.push(Guard::new(
                format!(".{name}"),
                format!("`task.{name}`: dependencies between tasks have no place in a pipeline file"),
            ));
        }
    }
    guards
}

/// What templates must not read of a task.
pub(super) fn of_task(task: &Map<String, Json>) -> Vec<Guard> {
    let mut guards = Vec::new();
    for (name, default) in TASK {
        if differs(task, name, default) {
            let name = if *name == "_task_display_name" { "task_display_name" } else { name };
            guards.push(Guard::new(
                format!("task.{name}"),
                format!("`task.{name}` is in the serialized Dag, but has no place in a pipeline file"),
            ));
        }
    }
    if task.contains_key("_operator_name") {
        guards.push(Guard::new("task.operator_name", "`task.operator_name` of a decorated task"));
    }
    if task.get("map_index_template").is_some_and(|template| !template.is_null()) {
        guards.push(Guard::new("map_index_template", "`map_index_template` has no place in a pipeline file"));
    }
    guards
}
