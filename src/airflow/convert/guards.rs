//! What a template may read of a Dag or task that a pipeline file does not hold. A field whose text reads it by its usual name
//! is refused when the Dag is imported; where it is reached in another way, the object itself refuses it as the field renders.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

/// Something that a template must not read, and why.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    /// Part of a template's text.
    pattern: String,
    /// Why the field cannot be rendered.
    reason: String,
    /// It is a param: also whatever takes all of them is refused.
    param: bool,
}

impl Guard {
    /// Refuses templates with such a part, at the boundaries of words.
    pub fn new(pattern: impl Into<String>, reason: impl Into<String>) -> Self {
        Guard { pattern: pattern.into(), reason: reason.into(), param: false }
    }

    /// Refuses templates that read a param, or all of them.
    pub fn of_param(name: &str, reason: impl Into<String>) -> Self {
        Guard { pattern: name.to_owned(), reason: reason.into(), param: true }
    }

    /// Why a text is refused, if it is.
    pub fn refuses(&self, text: &str) -> Option<&str> {
        let refused = mentions(text, &self.pattern) || self.param && takes_all_params(text);
        refused.then_some(self.reason.as_str())
    }
}

/// Whether texts may read that attribute of their Dag or task: its name stands in them, or they can work names out. More than
/// what they do read: what is not read does no harm.
pub(super) fn reaches(texts: &[Arc<str>], name: &str) -> bool {
    let objects = ["dag", "task", "ti", "task_instance"];
    texts.iter().any(|text| objects.iter().any(|object| mentions(text, object)))
        && texts.iter().any(|text| mentions(text, name) || computes(text))
}

/// Whether a text may work out names of attributes: a filter that takes a name, or a subscript, without a literal.
fn computes(text: &str) -> bool {
    let literal = |inner: &str| {
        let quoted = |quote: char| {
            let inside = inner.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote));
            inside.is_some_and(|inside| !inside.contains(quote))
        };
        quoted('\'') || quoted('"') || inner.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | ' '))
    };
    let subscripts = text.match_indices('[').any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.trim_end().chars().next_back());
        let inner = text.get(at + 1..).and_then(|rest| rest.split(']').next()).unwrap_or_default();
        before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '}' | '"' | '\''))
            && !literal(inner.trim())
    });
    let filters = ["attr", "attribute", "selectattr", "rejectattr", "groupby"].iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let rest = text.get(at + word.len()..).unwrap_or_default().trim_start_matches([' ', '(', '=']);
            let end = rest.find([')', ',']).unwrap_or(rest.len());
            !literal(rest.get(..end).unwrap_or_default().trim())
        })
    });
    subscripts || filters
}

/// Whether a text uses `params` other than by one name.
fn takes_all_params(text: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices("params").any(|(at, part)| {
        let rest = text.get(at + part.len()..).unwrap_or_default();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        if rest.starts_with(word) || before.is_some_and(word) {
            return false;
        }
        match rest.strip_prefix('.') {
            Some(name) => {
                let end = name.find(|c| !word(c)).unwrap_or(name.len());
                matches!(name.get(..end), Some("items" | "values" | "dump" | "copy" | "popitem"))
            }
            None => !rest.starts_with('['),
        }
    })
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

/// An attribute as it was stored; Airflow 2 stored some by the name of what keeps them.
fn stored<'a>(map: &'a Map<String, Json>, name: &str) -> Option<&'a Json> {
    map.get(name).or_else(|| map.get(&format!("_{name}"))).or_else(|| match name {
        "dag_display_name" => map.get("_dag_display_property_value"),
        "_task_display_name" => map.get("_task_display_property_value"),
        "fail_fast" => map.get("fail_stop"),
        _ => None,
    })
}

fn differs(map: &Map<String, Json>, name: &str, default: &str) -> bool {
    stored(map, name)
        .is_some_and(|value| !value.is_null() && serde_json::from_str::<Json>(default).ok().as_ref() != Some(value))
}

/// Attributes that are not what partita takes for them, and why they are refused.
pub(super) type Unknown = Vec<(String, String)>;

/// Attributes of a Dag that a pipeline file does not hold.
pub(super) fn of_dag(dag: &Map<String, Json>) -> Unknown {
    let mut unknown = Vec::new();
    for (name, _) in DAG.iter().filter(|(name, default)| differs(dag, name, default)) {
        add(&mut unknown, "dag", name);
    }
    if dag.get("default_args").is_some_and(|arguments| arguments.get("__var") != Some(&Json::Object(Map::new()))) {
        let reason = "`dag.default_args`: a serialized Dag does not hold them as written";
        unknown.push(("default_args".to_owned(), reason.to_owned()));
    }
    unknown
}

/// Attributes of a task that a pipeline file does not hold.
pub(super) fn of_task(task: &Map<String, Json>) -> Unknown {
    let mut unknown = Vec::new();
    for (name, _) in TASK.iter().filter(|(name, default)| differs(task, name, default)) {
        add(&mut unknown, "task", if *name == "_task_display_name" { "task_display_name" } else { name });
    }
    for (name, default) in READABLE {
        if differs(task, name, default) && task.get(*name).is_some_and(Json::is_object) {
            add(&mut unknown, "task", name);
        }
    }
    if task.contains_key("_operator_name") {
        unknown.push(("operator_name".to_owned(), "`task.operator_name` of a decorated task".to_owned()));
    }
    if task.get("map_index_template").is_some_and(|template| !template.is_null()) {
        let reason = "`map_index_template` has no place in a pipeline file";
        unknown.push(("map_index_template".to_owned(), reason.to_owned()));
    }
    unknown
}

fn add(unknown: &mut Unknown, object: &str, name: &str) {
    let reason =
        |name: &str| format!("`{object}.{name}` is in the serialized Dag, but has no place in a pipeline file");
    unknown.push((name.to_owned(), reason(name)));
    // A serialized Dag says of callbacks only that there are some.
    if let Some(callback) = name.strip_prefix("has_") {
        unknown.push((callback.to_owned(), reason(callback)));
    }
}

/// What refuses fields whose texts read such attributes by their usual names.
pub(super) fn by_name<'a>(object: &'a str, unknown: &'a Unknown) -> impl Iterator<Item = Guard> + 'a {
    unknown.iter().map(move |(name, reason)| match name.as_str() {
        // Also a name of the context.
        "map_index_template" => Guard::new(name.as_str(), reason.as_str()),
        _ => Guard::new(format!("{object}.{name}"), reason.as_str()),
    })
}

/// What refuses fields that read dependencies between tasks.
pub(super) fn of_dependencies(tasks: usize) -> Vec<Guard> {
    let names: &[&str] = if tasks > 1 { &["upstream_task_ids", "downstream_task_ids"] } else { &[] };
    let guard = |name: &&str| {
        Guard::new(
            format!(".{name}"),
            format!("`task.{name}`: dependencies between tasks have no place in a pipeline file"),
        )
    };
    names.iter().map(guard).collect()
}
