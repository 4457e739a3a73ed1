//! Renders task instances again and compares with what Airflow stored for them (`rendered_task_instance_fields`).
//!
//! Airflow stores a value with the keys of dicts sorted, tuples and sets as lists, secrets as `***`, and cuts what is longer
//! than `[core] max_templated_field_length` (`airflow.serialization.helpers.serialize_template_field`).

use chrono::Duration;
use serde_json::{Map, Value as Json};

use super::{StoredInstance, StoredRun, Surrounding, Values};
use crate::context::Masker;
use crate::context::masker::{MASK, is_sensitive};
use crate::jinja::Engine;
use crate::pipeline::{GivenRun, Pipeline, PlayedRun, Renderer, TaskResult, given_run};
use crate::python::{self, Plain, PyErr, PyResult};
use crate::render;

/// How a value begins that Airflow cut (`airflow._shared.template_rendering`).
pub const CUT_PREFIX: &str = "Truncated. You can change this behaviour in [core]max_templated_field_length. ";

/// How it ends.
const CUT_SUFFIX: &str = "...";

/// Deepest value that is compared.
const DEPTH: usize = 200;

/// What came of one task instance.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every field is as Airflow stored it.
    Equal {
        /// Fields that are equal as far as they were stored: the rest was cut.
        cut: Vec<String>,
        /// Fields that hold `***`: they are equal once the secrets that are known are masked.
        masked: Vec<String>,
    },
    /// Some field is not.
    Different(Vec<Difference>),
    /// Some field could not be compared, and none is different.
    NotCompared(Vec<Obstacle>),
}

/// A field that is not as Airflow stored it.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// The stored value, as text.
    pub stored: String,
    /// The rendered value as text, or the error.
    pub rendered: Result<String, String>,
}

/// Why a field was not compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    /// The field; empty when it is the whole task instance.
    pub field: String,
    /// Why, in words.
    pub reason: String,
}

/// One task instance and what came of it.
#[derive(Debug, Clone)]
pub struct Verified {
    /// The Dag.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// Its partition.
    pub partition_key: Option<String>,
    /// The task.
    pub task_id: String,
    /// Its map index; -1 when it is not mapped.
    pub map_index: i64,
    /// What came of it.
    pub verdict: Verdict,
}

impl Verified {
    /// What came of a run's task instance.
    pub(super) fn new(run: &StoredRun, instance: &StoredInstance, verdict: Verdict) -> Self {
        Verified {
            dag_id: run.dag_id.clone(),
            run_id: run.run_id.clone(),
            partition_key: run.partition_key().map(str::to_owned),
            task_id: instance.task_id.clone(),
            map_index: instance.map_index,
            verdict,
        }
    }
}

/// What Airflow knew when it rendered.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Variables and connections.
    pub values: &'a Values,
    /// Events and the runs behind them.
    pub surrounding: &'a Surrounding,
    /// True when every XCom of the run is known.
    pub xcoms: bool,
}

/// Does something with a renderer that stands where Airflow stood when a task instance of a run ran: `later` moves the clock.
///
/// # Errors
/// A run that Airflow would not accept, and what `work` raises.
pub fn with_renderer<T>(
    engine: &Engine,
    pipeline: &Pipeline,
    (run, instance): (&StoredRun, &StoredInstance),
    known: Known<'_>,
    later: Duration,
    work: impl FnOnce(&Renderer<'_>, &PlayedRun) -> PyResult<T>,
) -> PyResult<T> {
    let given = given(pipeline, run, Some(instance), known)?;
    // The clock stood at the start of the try.
    let now = instance.start_date.unwrap_or_else(|| given.scenario.clock()) + later;
    let events = known.surrounding.events.as_ref().map(|events| match instance.start_date {
        Some(start) if events.last().is_some_and(|event| event.timestamp > start) => {
            std::sync::Arc::new(events.iter().filter(|event| event.timestamp <= start).cloned().collect())
        }
        _ => events.clone(),
    });
    let mut renderer = Renderer::new(engine, pipeline, &given.scenario, now).with_stored(
        events,
        known.surrounding.dag_runs.clone(),
        known.xcoms,
    );
    renderer.map_index = usize::try_from(instance.map_index).ok();
    work(&renderer, &given.run)
}

/// A run as `--run` would take it.
///
/// # Errors
/// A run that Airflow would not accept.
pub fn given(
    pipeline: &Pipeline,
    run: &StoredRun,
    instance: Option<&StoredInstance>,
    known: Known<'_>,
) -> PyResult<GivenRun> {
    given_run(pipeline, &run.document(instance, known.values), None)
}

/// Renders a task instance and compares it with what Airflow stored. `None` when nothing is stored.
pub fn verify(
    engine: &Engine,
    pipeline: &Pipeline,
    run: &StoredRun,
    instance: &StoredInstance,
    known: Known<'_>,
) -> Option<Verified> {
    let stored = instance.rendered.as_ref()?;
    let verdict = verdict(engine, pipeline, run, instance, stored, known);
    Some(Verified::new(run, instance, verdict))
}

fn verdict(
    engine: &Engine,
    pipeline: &Pipeline,
    run: &StoredRun,
    instance: &StoredInstance,
    stored: &Map<String, Json>,
    known: Known<'_>,
) -> Verdict {
    let whole = |reason: String| Verdict::NotCompared(vec![Obstacle { field: String::new(), reason }]);
    let Some(dag) = pipeline.dag(&run.dag_id) else { return whole(format!("there is no Dag {}", run.dag_id)) };
    let Some(task) = dag.tasks.iter().find(|task| task.task_id == instance.task_id) else {
        return whole(format!("{} has no task {}", run.dag_id, instance.task_id));
    };
    let render = |later| {
        with_renderer(engine, pipeline, (run, instance), known, later, |renderer, played| {
            let masker = Masker::of_run(&renderer.document(dag, task, played, instance.map_index));
            Ok((renderer.task(dag, task, played).into_iter().next(), masker))
        })
    };
    let (result, masker) = match render(Duration::zero()) {
        Ok(rendered) => rendered,
        Err(error) => return whole(error_text(&error.class, &error.message)),
    };
    // What is different another day depends on the clock, which stood elsewhere when Airflow rendered.
    let mut another_day = None;
    let mut reads_clock = |field: &str, value: &Json| {
        let again = another_day
            .get_or_insert_with(|| render(Duration::seconds(86_400 * 32 + 3_661)).ok().and_then(|(result, _)| result));
        let again = again.as_ref().and_then(|result| value_of(result, field).ok().flatten());
        again.is_some_and(|again| !same(&again, value, 0))
    };
    let (mut cut, mut masked) = (Vec::new(), Vec::new());
    let (mut differences, mut obstacles) = (Vec::new(), Vec::new());
    for (field, stored) in stored {
        let obstacle = |reason: String| Obstacle { field: field.clone(), reason };
        let value = match result.as_ref().map_or(Ok(None), |result| value_of(result, field)) {
            Ok(Some(value)) => value,
            Ok(None) if stored.is_null() => continue,
            Ok(None) => {
                obstacles.push(obstacle("the task has no such field, or its value is the operator's own".to_owned()));
                continue;
            }
            Err(error) => {
                match &*error.class {
                    "Unsupported" | "LimitExceeded" => obstacles.push(obstacle(error.message)),
                    "TemplateNotFound" => {
                        let name = error.message.split(" not found in search path").next().unwrap_or_default();
                        obstacles.push(obstacle(format!("the file {name} is in no folder given")));
                    }
                    class => differences.push(Difference {
                        field: field.clone(),
                        stored: shown(stored),
                        rendered: Err(format!("{class}: {}", error.message)),
                    }),
                }
                continue;
            }
        };
        match compared(&value, stored, field, &masker) {
            Compared::Equal => {}
            Compared::Cut => cut.push(field.clone()),
            Compared::Masked => masked.push(field.clone()),
            Compared::Different if reads_clock(field, &value) => {
                obstacles.push(obstacle("its template reads the clock".to_owned()));
            }
            Compared::Different if may_be(&value, stored) => {
                obstacles.push(obstacle("Airflow masked a value that is not known here".to_owned()));
            }
            Compared::Different => {
                differences.push(Difference {
                    field: field.clone(),
                    stored: shown(stored),
                    rendered: Ok(shown(&value)),
                });
            }
        }
    }
    match (differences.is_empty(), obstacles.is_empty()) {
        (false, _) => Verdict::Different(differences),
        (true, false) => Verdict::NotCompared(obstacles),
        (true, true) => Verdict::Equal { cut, masked },
    }
}

/// The value of a field as Airflow stores it; for `configuration.query` (`template_fields_renderers`) of a part of one.
fn value_of(result: &TaskResult, name: &str) -> Result<Option<Json>, PyErr> {
    let find = |name: &str| result.fields.iter().find(|field| field.name == name);
    let (field, rest) = match find(name) {
        Some(field) => (field, None),
        None => match name.split_once('.').and_then(|(base, rest)| find(base).zip(Some(rest))) {
            Some((field, rest)) => (field, Some(rest)),
            None => return Ok(None),
        },
    };
    let value = match &field.value {
        Ok(value) => render::stored(value),
        Err(error) => return Err(PyErr::new(error.error.class.clone(), error.error.message.clone())),
    };
    let Some(rest) = rest else { return Ok(Some(value)) };
    let mut part = &value;
    for key in rest.split('.') {
        match part.get(key) {
            Some(inner) => part = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(part.clone()))
}

enum Compared {
    Equal,
    Cut,
    Masked,
    Different,
}

fn compared(value: &Json, stored: &Json, field: &str, masker: &Masker) -> Compared {
    if same(value, stored, 0) {
        return Compared::Equal;
    }
    let hidden = redacted(value, Some(field), masker, 0);
    if same(&hidden, stored, 0) {
        return Compared::Masked;
    }
    let Some(content) = stored.as_str().and_then(|text| text.strip_prefix(CUT_PREFIX)?.strip_suffix(CUT_SUFFIX)) else {
        return Compared::Different;
    };
    // The whole is masked before it is cut, and what is left once more.
    let longer =
        |value: &Json| text_of(value).is_some_and(|text| text.len() > content.len() && text.starts_with(content));
    if longer(value) {
        Compared::Cut
    } else if longer(&hidden) {
        Compared::Masked
    } else {
        Compared::Different
    }
}

/// `str()` of a stored value.
fn text_of(value: &Json) -> Option<String> {
    if let Json::String(text) = value {
        return Some(text.clone());
    }
    python::str(&python::json::from_json(value).ok()?, &mut Plain::default()).ok()
}

/// A value with its secrets masked, as `redact(value, name)` does.
fn redacted(value: &Json, name: Option<&str>, masker: &Masker, depth: usize) -> Json {
    if depth > DEPTH {
        return value.clone();
    }
    if name.is_some_and(is_sensitive) {
        return hidden(value, 0);
    }
    match value {
        Json::String(text) => Json::from(masker.mask(text).into_owned()),
        Json::Array(items) => items.iter().map(|item| redacted(item, None, masker, depth + 1)).collect(),
        Json::Object(map) => {
            map.iter().map(|(key, item)| (key.clone(), redacted(item, Some(key), masker, depth + 1))).collect()
        }
        other => other.clone(),
    }
}

/// Every text of a value masked.
fn hidden(value: &Json, depth: usize) -> Json {
    /// `MAX_RECURSION_DEPTH` of Airflow's masker.
    const LIMIT: usize = 5;
    match value {
        _ if depth > LIMIT => Json::from(MASK),
        Json::String(_) => Json::from(MASK),
        Json::Array(items) => items.iter().map(|item| hidden(item, depth + 1)).collect(),
        Json::Object(map) => map.iter().map(|(key, item)| (key.clone(), hidden(item, depth + 1))).collect(),
        other => other.clone(),
    }
}

/// True when both are equal: objects whatever the order of their keys, numbers by value.
fn same(one: &Json, other: &Json, depth: usize) -> bool {
    if depth > DEPTH {
        return false;
    }
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other, depth + 1)))
        }
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other, depth + 1))
        }
        (Json::Number(one), Json::Number(other)) => {
            let float = |number: &str| number.contains(['.', 'e', 'E']);
            let (a, b) = (one.as_str(), other.as_str());
            a == b || (float(a) && float(b) && one.as_f64().is_some() && one.as_f64() == other.as_f64())
        }
        _ => one == other,
    }
}

/// True when a stored value is the rendered one but for parts that Airflow masked.
fn may_be(value: &Json, stored: &Json) -> bool {
    match (value, stored) {
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| may_be(value, other)))
        }
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| may_be(one, other))
        }
        (_, Json::String(pattern)) if pattern.contains(MASK) => {
            let (pattern, open) = match pattern.strip_prefix(CUT_PREFIX).and_then(|text| text.strip_suffix(CUT_SUFFIX))
            {
                Some(content) => (content, true),
                None => (pattern.as_str(), false),
            };
            text_of(value).is_some_and(|text| matches(&text, pattern, open))
        }
        _ => same(value, stored, 0),
    }
}

/// Whether a text is a pattern with something for each `***`; `open` lets more follow.
fn matches(text: &str, pattern: &str, open: bool) -> bool {
    let mut parts = pattern.split(MASK);
    let Some(first) = parts.next() else { return false };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return open || rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    if open { rest.contains(last) } else { rest.ends_with(last) }
}

/// A value for people: text as it is, the rest as JSON.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

fn error_text(class: &str, message: &str) -> String {
    match class {
        "Unsupported" | "LimitExceeded" => message.to_owned(),
        class => format!("{class}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_as_airflow_stores_them() {
        let masker = Masker::default();
        let equal = |value: Json, stored: Json, field: &str| match compared(&value, &stored, field, &masker) {
            Compared::Equal => "equal",
            Compared::Cut => "cut",
            Compared::Masked => "masked",
            Compared::Different => "different",
        };
        assert_eq!(equal(json!({"b": 1, "a": [1.0]}), json!({"a": [1.00], "b": 1}), "x"), "equal");
        assert_eq!(equal(json!(1), json!(1.0), "x"), "different");
        assert_eq!(equal(json!({"token": "t", "n": 1}), json!({"token": "***", "n": 1}), "x"), "masked");
        assert_eq!(equal(json!("anything"), json!("***"), "api_key"), "masked");
        let long = "y".repeat(5000);
        let cut = format!("{CUT_PREFIX}{}{CUT_SUFFIX}", "y".repeat(4000));
        assert_eq!(equal(json!(long), json!(cut), "x"), "cut");
        assert_eq!(equal(json!("x".repeat(5000)), json!(cut), "x"), "different");
        let listed = format!("{CUT_PREFIX}['{}{CUT_SUFFIX}", "y".repeat(4000));
        assert_eq!(equal(json!([long]), json!(listed), "x"), "cut");
        assert!(may_be(&json!("user:secret@host"), &json!("user:***@host")));
        assert!(!may_be(&json!("user:secret@other"), &json!("user:***@host")));
    }
}
