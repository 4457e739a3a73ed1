//! One serialized task: what its template fields are, and what of them is refused.

use serde_json::{Map, Number, Value as Json};

use crate::airflow::ImportError;
use crate::airflow::serialized::{Undecodable, decode};
use crate::airflow::verify::CUT_PREFIX;
use crate::pipeline::TASK_KEYS;
use crate::render::FieldValue;

/// Map indexes of an `op_kwargs` that are written out.
const MAPPED_LIMIT: usize = 1_000;

/// Deepest nesting of a template field.
const DEPTH: usize = 60;

/// A task as it was stored.
#[derive(Debug, Clone)]
pub(super) struct Task {
    /// `task_id`
    pub id: String,
    /// `task_type`: the operator's class name
    pub operator: String,
    /// `template_fields`
    pub fields: Vec<String>,
    /// `template_ext`
    pub template_ext: Vec<String>,
    /// `template_fields_renderers`: the language of a field or of a path inside it
    pub renderers: Map<String, Json>,
    /// Values of template fields; of a mapped task the arguments that are no template fields too.
    pub values: Vec<(String, Json)>,
    /// Fields that cannot be rendered, and why.
    pub refused: Vec<(String, String)>,
    /// How the task is mapped.
    pub mapping: Option<Mapping>,
    /// True inside of a mapped task group.
    pub in_mapped_group: bool,
    /// Every attribute, defaults of the Dag's `client_defaults` filled in; of a mapped task its partial arguments too.
    pub attributes: Map<String, Json>,
}

/// `expand` or `expand_kwargs`
#[derive(Debug, Clone)]
pub(super) enum Mapping {
    /// Values of each argument.
    Lists(Vec<(String, Vec<Json>)>),
    /// Arguments of each map index.
    Dicts(Vec<Map<String, Json>>),
    /// Known only when another task has run.
    Unknown,
}

/// Arguments of every operator: what of them matters is written under its own key.
const BASE: &[&str] = &[
    "task_id",
    "owner",
    "retries",
    "params",
    "inlets",
    "outlets",
    "start_date",
    "end_date",
    "retry_delay",
    "max_retry_delay",
    "execution_timeout",
    "executor_config",
    "resources",
    "python_callable_name",
    "default_args",
    "dag",
    "task_group",
    "doc",
    "doc_md",
    "doc_json",
    "doc_yaml",
    "doc_rst",
    "sla",
    "map_index_template",
    "weight_rule",
    "trigger_rule",
    "pool",
    "pool_slots",
    "queue",
    "priority_weight",
    "depends_on_past",
    "ignore_first_depends_on_past",
    "wait_for_past_depends_before_skipping",
    "wait_for_downstream",
    "retry_exponential_backoff",
    "do_xcom_push",
    "email",
    "email_on_failure",
    "email_on_retry",
    "executor",
    "max_active_tis_per_dag",
    "max_active_tis_per_dagrun",
    "run_as_user",
    "multiple_outputs",
    "is_setup",
    "is_teardown",
    "on_failure_fail_dagrun",
    "render_template_as_native_obj",
    "allow_nested_operators",
];

/// Reads a task; `defaults` are the Dag's `client_defaults`.
///
/// # Errors
/// What is no task.
pub(super) fn read(value: &Json, defaults: &Map<String, Json>, old: bool, origin: &str) -> Result<Task, ImportError> {
    let wrong = |what: &str| ImportError::new(format!("{origin}: {what}"));
    let own = match (value.get("__type").and_then(Json::as_str), value.get("__var")) {
        (Some("operator"), Some(Json::Object(own))) => own,
        // Airflow 2.8 and older wrote the task without an encoding around it.
        (None, None) if old => value.as_object().ok_or_else(|| wrong("a task is no JSON object"))?,
        _ => return Err(wrong("a task that is no serialized operator")),
    };
    let mut attributes = defaults.clone();
    attributes.extend(own.clone());
    let text = |name: &str| attributes.get(name).and_then(Json::as_str).map(str::to_owned);
    let id = text("task_id").ok_or_else(|| wrong("a task without `task_id`"))?;
    let what = |name: &str| wrong(&format!("task `{id}`: `{name}` is no list of texts"));
    let fields = texts(&attributes, "template_fields").ok_or_else(|| what("template_fields"))?;
    let template_ext = texts(&attributes, "template_ext").ok_or_else(|| what("template_ext"))?;
    let operator = text("task_type").unwrap_or_else(|| "BaseOperator".to_owned());
    let renderers = match attributes.get("template_fields_renderers") {
        Some(Json::Object(map)) => map.get("__var").and_then(Json::as_object).unwrap_or(map).clone(),
        _ => Map::new(),
    };
    let mut task = Task {
        id,
        operator,
        fields,
        template_ext,
        renderers,
        values: Vec::new(),
        refused: Vec::new(),
        mapping: None,
        in_mapped_group: false,
        attributes: Map::new(),
    };
    if attributes.get("_is_mapped").and_then(Json::as_bool) == Some(true) {
        mapped(&mut task, &mut attributes, origin)?;
    } else {
        plain(&mut task, &attributes, old);
    }
    for name in task.fields.clone() {
        if TASK_KEYS.contains(&name.trim_start_matches('_')) {
            task.values.retain(|(known, _)| *known != name);
            task.refuse(&name, format!("`{name}` stands for something else in a pipeline file"));
        }
    }
    task.attributes = attributes;
    Ok(task)
}

fn texts(map: &Map<String, Json>, name: &str) -> Option<Vec<String>> {
    match map.get(name) {
        None | Some(Json::Null) => Some(Vec::new()),
        Some(Json::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Some(Json::Object(map)) if map.contains_key("__var") => texts(map, "__var"),
        Some(_) => None,
    }
}

/// Template fields of a task that is not mapped: as they were, without encoding.
fn plain(task: &mut Task, attributes: &Map<String, Json>, old: bool) {
    for name in task.fields.clone() {
        let Some(value) = attributes.get(&name).filter(|value| !value.is_null()) else { continue };
        let value = &unwrapped(value, old);
        if let Some(reason) = unlike(value, 0) {
            task.refused.push((name, reason));
            continue;
        }
        let language = task.renderers.get(&name).and_then(Json::as_str);
        let collection = matches!(&*name, "op_args" | "op_kwargs" | "templates_dict" | "env")
            || matches!(language, Some("py" | "json"));
        if old && collection && value.as_str().is_some_and(|text| text.trim_start().starts_with(['(', '[', '{'])) {
            let reason =
                "Airflow 2 stored this collection as Python prints it, because something in it is no plain data";
            task.refused.push((name, reason.to_owned()));
            continue;
        }
        task.values.push((name, value.clone()));
    }
}

/// Airflow 2 encoded some fields (`{"__type": "dict", ...}`).
fn unwrapped(value: &Json, old: bool) -> Json {
    if old && value.get("__type").is_some() {
        return decode(value).map_or_else(|_| value.clone(), |decoded| decoded.to_json());
    }
    value.clone()
}

/// What in a stored field stands for something that it is not.
fn unlike(value: &Json, depth: usize) -> Option<String> {
    if depth > DEPTH {
        return Some(format!("nested deeper than {DEPTH} levels"));
    }
    match value {
        Json::String(text) => {
            if text.starts_with(CUT_PREFIX.trim_end()) {
                return Some(truncated());
            }
            if text == "DYNAMIC (set during execution)" {
                return Some("the decorated function makes this text when the task runs".to_owned());
            }
            if text.starts_with("MappedArgument(_input=") {
                return Some("an argument of a mapped task group: its value differs by map index".to_owned());
            }
            if let Some(task_id) = xcom_arg(text) {
                return Some(format!("the XCom of task `{task_id}` itself, known only when that has run"));
            }
            if is_object(text) {
                return Some(format!("a Python object ({text}) that a serialized Dag does not hold"));
            }
            None
        }
        Json::Array(items) => items.iter().find_map(|item| unlike(item, depth + 1)),
        Json::Object(map) => map.values().find_map(|item| unlike(item, depth + 1)),
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

/// Why a field that Airflow cut is refused.
pub(super) fn truncated() -> String {
    "Airflow cut this field when it stored the Dag ([core] max_templated_field_length): its text is not here".to_owned()
}

/// `<module.Class object>`, or with an address; a callable is shown as Airflow shows it, for it is not rendered.
fn is_object(text: &str) -> bool {
    text.starts_with('<') && (text.ends_with(" object>") || text.contains(" object at 0x")) && !text.contains('\n')
}

/// The task of a text that is an `XComArg` and nothing else: Airflow hands its value over, not its text.
fn xcom_arg(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("{{ task_instance.xcom_pull(task_ids='")?;
    let (task_id, rest) = rest.split_once("', dag_id='")?;
    let (_, rest) = rest.split_once("', key='")?;
    rest.strip_suffix("') }}").filter(|key| !key.contains('\'')).map(|_| task_id)
}

fn mapped(task: &mut Task, attributes: &mut Map<String, Json>, origin: &str) -> Result<(), ImportError> {
    let wrong = |what: &str| ImportError::new(format!("{origin}: mapped task `{}`: {what}", task.id));
    let partial = match attributes.get("partial_kwargs") {
        Some(Json::Object(partial)) => partial.clone(),
        None | Some(Json::Null) => Map::new(),
        Some(_) => return Err(wrong("`partial_kwargs` is no JSON object")),
    };
    let attribute = match attributes.get("_expand_input_attr").and_then(Json::as_str) {
        Some("op_kwargs_expand_input") => "op_kwargs_expand_input",
        _ => "expand_input",
    };
    let input = attributes.get(attribute).cloned().ok_or_else(|| wrong("it has no `expand_input`"))?;
    let kind = input.get("type").and_then(Json::as_str).ok_or_else(|| wrong("`expand_input` has no type"))?;
    let value = input.get("value").ok_or_else(|| wrong("`expand_input` has no value"))?;
    let refuse = |name: &str, what: &Undecodable| (name.to_owned(), what.describe());
    let mut refused = Vec::new();
    for (name, value) in &partial {
        if BASE.contains(&name.as_str()) || name.starts_with("has_") || name.starts_with("on_") {
            // As of a task that is not mapped: the value without its encoding.
            let plain = value.get("__var").filter(|_| value.get("__type").is_some()).unwrap_or(value);
            attributes.insert(name.clone(), plain.clone());
            continue;
        }
        match decode(value) {
            Ok(value) => match unlike(&value.to_json(), 0) {
                Some(reason) => refused.push((name.clone(), reason)),
                None => task.values.push((name.clone(), value.to_json())),
            },
            Err(what) => refused.push(refuse(name, &what)),
        }
    }
    let mapping = match kind {
        "dict-of-lists" => lists(value, &mut refused),
        "list-of-dicts" => dicts(value, &mut refused),
        other => return Err(wrong(&format!("`expand_input` of the type `{other}`"))),
    };
    let mapping = if attribute == "op_kwargs_expand_input" { op_kwargs(task, mapping, &mut refused) } else { mapping };
    if matches!(mapping, Mapping::Unknown) && refused.iter().all(|(name, _)| !is_field(task, name)) {
        // All fields may come from what is not known.
        let reason = "mapped over what is known only when another task has run";
        refused.extend(task.fields.iter().map(|name| (name.clone(), reason.to_owned())));
    }
    task.mapping = Some(mapping);
    task.refused = refused;
    Ok(())
}

fn is_field(task: &Task, argument: &str) -> bool {
    task.fields.iter().any(|field| field == argument || field.trim_start_matches('_') == argument)
}

fn lists(value: &Json, refused: &mut Vec<(String, String)>) -> Mapping {
    let entries = match (value.get("__type").and_then(Json::as_str), value.get("__var")) {
        (Some("dict"), Some(Json::Object(entries))) => entries,
        _ => match value.as_object() {
            Some(entries) => entries,
            None => return Mapping::Unknown,
        },
    };
    let mut found = Vec::new();
    let mut unknown = false;
    for (name, value) in entries {
        match value {
            Json::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    match decode(item) {
                        Ok(item) => values.push(item.to_json()),
                        Err(what) => {
                            values.push(Json::Null);
                            refuse_once(refused, name, what.describe());
                        }
                    }
                }
                found.push((name.clone(), values));
            }
            value => match decode(value) {
                Ok(FieldValue::List(items) | FieldValue::Tuple(items)) => {
                    found.push((name.clone(), items.iter().map(FieldValue::to_json).collect()));
                }
                // A mapping is expanded into its items.
                Ok(FieldValue::Dict(items)) => {
                    let pair =
                        |(key, value): &(FieldValue, FieldValue)| Json::from(vec![key.to_json(), value.to_json()]);
                    found.push((name.clone(), items.iter().map(pair).collect()));
                }
                Ok(_) => {
                    unknown = true;
                    refuse_once(refused, name, "mapped over something that is no list".to_owned());
                }
                Err(what) => {
                    unknown = true;
                    refuse_once(refused, name, format!("mapped over {}", what.describe()));
                }
            },
        }
    }
    if !unknown {
        return Mapping::Lists(found);
    }
    for (name, _) in found {
        refuse_once(refused, &name, "mapped together with what is known only when another task has run".to_owned());
    }
    Mapping::Unknown
}

fn refuse_once(refused: &mut Vec<(String, String)>, name: &str, reason: String) {
    if !refused.iter().any(|(known, _)| known == name) {
        refused.push((name.to_owned(), reason));
    }
}

fn dicts(value: &Json, refused: &mut Vec<(String, String)>) -> Mapping {
    let Json::Array(items) = value else { return Mapping::Unknown };
    let mut found = Vec::new();
    for item in items {
        let Some(entries) = item.get("__var").and_then(Json::as_object) else { return Mapping::Unknown };
        if item.get("__type").and_then(Json::as_str) != Some("dict") {
            return Mapping::Unknown;
        }
        let mut arguments = Map::new();
        for (name, value) in entries {
            let value = match decode(value) {
                Ok(value) => value.to_json(),
                Err(what) => {
                    refuse_once(refused, name, what.describe());
                    Json::Null
                }
            };
            arguments.insert(name.clone(), value);
        }
        found.push(arguments);
    }
    Mapping::Dicts(found)
}

/// A decorated task is mapped over arguments of its function: each map index has an `op_kwargs` of its own.
fn op_kwargs(task: &mut Task, mapping: Mapping, refused: &mut Vec<(String, String)>) -> Mapping {
    const NAME: &str = "op_kwargs";
    let base = task.values.iter().position(|(name, _)| name == NAME).map(|at| task.values.remove(at).1);
    let base = base.and_then(|base| base.as_object().cloned()).unwrap_or_default();
    let mut inner = std::mem::take(refused);
    let outer: Vec<(String, String)> = inner.extract_if(.., |(name, _)| is_field(task, name)).collect();
    refused.extend(outer);
    if let Some((name, reason)) = inner.first() {
        refuse_once(refused, NAME, format!("`{name}`: {reason}"));
    }
    let merged = |arguments: Map<String, Json>| {
        let mut all = base.clone();
        all.extend(arguments);
        Json::Object(all)
    };
    let indexes = match mapping {
        Mapping::Unknown => {
            refuse_once(refused, NAME, "mapped over what is known only when another task has run".to_owned());
            return Mapping::Unknown;
        }
        Mapping::Dicts(dicts) => dicts.into_iter().map(merged).collect(),
        Mapping::Lists(lists) => {
            let count = lists.iter().try_fold(1_usize, |all, (_, values)| all.checked_mul(values.len()));
            let Some(count) = count.filter(|count| *count <= MAPPED_LIMIT) else {
                refuse_once(refused, NAME, format!("mapped over more than {MAPPED_LIMIT} combinations"));
                return Mapping::Unknown;
            };
            // The last argument turns fastest.
            let at = |index: usize| {
                let mut left = index;
                let mut arguments = Vec::new();
                for (name, values) in lists.iter().rev() {
                    let value = values.get(left % values.len().max(1)).cloned().unwrap_or_default();
                    arguments.push((name.clone(), value));
                    left /= values.len().max(1);
                }
                merged(arguments.into_iter().rev().collect())
            };
            (0..count).map(at).collect()
        }
    };
    Mapping::Lists(vec![(NAME.to_owned(), indexes)])
}

impl Task {
    /// The value of a template field or argument.
    pub fn value(&self, name: &str) -> Option<&Json> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Refuses a field, unless it is refused already.
    pub fn refuse(&mut self, field: &str, reason: impl Into<String>) {
        refuse_once(&mut self.refused, field, reason.into());
    }

    /// A whole number among the attributes.
    pub fn integer(&self, name: &str) -> Option<i64> {
        let number: &Number = self.attributes.get(name)?.as_number()?;
        number.as_i64().or_else(|| number.as_f64().filter(|value| value.fract() == 0.0).map(|value| value as i64))
    }
}
