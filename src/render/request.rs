//! One rendering as a request: the `render --jsonl` contract as a pure function from a line to its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value as Json};

use crate::context::{self, Profile, Surroundings};
use crate::jinja::{Engine, Environment, MemoryLoader, Names, Rendered, TemplateError};
use crate::python::{self, Dict, List, PyErr, PyResult, Tuple, Value, View, downcast, view};
use crate::run::Run;

/// How messages name the search path of templates given with the request.
const SEARCH_PATH: &str = "<searchpath>";

/// Values a native result may consist of, each counted as often as it occurs.
const MAX_NATIVE: usize = 4_000_000;
/// How deeply a native result may nest to have a JSON form; what prints nests no deeper, unless it contains itself.
const MAX_NATIVE_DEPTH: usize = 250;

/// The fields of an answer beside its `id`: `ok`, or `ok_native` with `type` and `repr`, or `error`.
pub fn answer(engine: &Engine, request: &Json) -> Map<String, Json> {
    match render(engine, request) {
        Ok(fields) => fields,
        Err(error) => Map::from_iter([("error".to_owned(), error_json(&error))]),
    }
}

/// The `error` of an answer: Python's class and text, and the place in the template.
pub fn error_json(error: &TemplateError) -> Json {
    let mut fields = Map::new();
    fields.insert("kind".into(), error.class.clone().into());
    fields.insert("message".into(), error.message.clone().into());
    if let Some(line) = error.line {
        fields.insert("line".into(), line.into());
    }
    if let Some(template) = &error.template {
        fields.insert("template".into(), template.clone().into());
    }
    if let Some(hint) = &error.hint {
        fields.insert("hint".into(), hint.clone().into());
    }
    Json::Object(fields)
}

fn render(engine: &Engine, request: &Json) -> Result<Map<String, Json>, TemplateError> {
    let Json::Object(fields) = request else { return Err(refuse("a request is an object")) };
    const KNOWN: [&str; 9] = ["id", "template", "files", "mode", "profile", "now", "run", "area", "world"];
    if let Some(name) = fields.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(refuse(&format!("a request has no field `{name}`")));
    }
    let template = fields.get("template").and_then(Json::as_str).ok_or_else(|| refuse("`template` is a text"))?;
    let native = match fields.get("mode").map(|mode| mode.as_str()) {
        None | Some(Some("string")) => false,
        Some(Some("native")) => true,
        Some(_) => return Err(refuse("`mode` is \"string\" or \"native\"")),
    };
    match fields.get("profile").map(|profile| profile.as_str()) {
        None | Some(Some("airflow-3.3")) => {}
        Some(Some("airflow-2.10")) => return airflow2(engine, fields, template, native),
        Some(_) => return Err(refuse("`profile` is \"airflow-3.3\" or \"airflow-2.10\"")),
    }
    let now = fields.get("now").filter(|now| !now.is_null()).map(instant).transpose()?;
    let loader = fields.get("files").filter(|files| !files.is_null()).map(files).transpose()?;
    let run = Arc::new(Run::from_json(fields.get("run").cloned().unwrap_or(Json::Null))?);
    let env = Arc::new(Environment {
        native,
        now,
        globals: context::user_macros(&run)?,
        filters: context::filters(),
        loader: loader.map(|loader| Arc::new(loader) as _),
        ..Environment::default()
    });
    let around = Surroundings { profile: Profile::Airflow33, ..Surroundings::default() };
    let names: Arc<dyn Names> = Arc::new(context::build(run, Arc::new(around))?);
    match engine.render(&env, template, &names)? {
        Rendered::Text(text) => Ok(Map::from_iter([("ok".to_owned(), text.into())])),
        Rendered::Native(value) => {
            let mut out = Map::new();
            // first what knows limits
            let repr = python::repr(&value, &mut engine.interp(&env, &names))?;
            let mut left = MAX_NATIVE;
            if let Some(json) = faithful_json(&value, 0, &mut left) {
                out.insert("ok_native".into(), json);
            } else if left == 0 {
                let message = format!("a native result of more than {MAX_NATIVE} values");
                return Err(TemplateError::new("LimitExceeded", message));
            }
            out.insert("type".into(), python::class_name(&value).into());
            out.insert("repr".into(), repr.into());
            Ok(out)
        }
    }
}

/// A rendering by Airflow 2.10: the run is a situation of its metadata database.
fn airflow2(
    engine: &Engine,
    fields: &Map<String, Json>,
    template: &str,
    native: bool,
) -> Result<Map<String, Json>, TemplateError> {
    let now = fields.get("now").filter(|now| !now.is_null()).map(instant).transpose()?;
    let loader = fields.get("files").filter(|files| !files.is_null()).map(files).transpose()?;
    let context = Arc::new(context::airflow2::build(fields.get("run").unwrap_or(&Json::Null), now)?);
    let env = Arc::new(Environment {
        native,
        now: Some(context.now()),
        filters: context::filters(),
        loader: loader.map(|loader| Arc::new(loader) as _),
        ..Environment::default()
    });
    let names: Arc<dyn Names> = context.clone();
    let rendered = engine.render(&env, template, &names).and_then(|rendered| {
        let mut out = Map::new();
        match rendered {
            Rendered::Text(text) => {
                out.insert("ok".into(), text.into());
            }
            Rendered::Native(value) => {
                let text = python::text(&value).filter(|_| python::class_name(&value) == "str").map(str::to_owned);
                match text {
                    Some(text) => out.insert("ok".into(), text.into()),
                    None => {
                        out.insert("ok".into(), python::repr(&value, &mut engine.interp(&env, &names))?.into());
                        out.insert("repr".into(), true.into())
                    }
                };
                out.insert("type".into(), python::class_name(&value).into());
            }
        }
        Ok(out)
    });
    let mut out = rendered.unwrap_or_else(|error| Map::from_iter([("error".to_owned(), error_json(&error))]));
    let deprecations = context.deprecations();
    if !deprecations.is_empty() {
        out.insert("deprecations".into(), deprecations.into());
    }
    Ok(out)
}

/// A native result as JSON; `None` when a part of it has no JSON form: subclasses of `str`, dates, keys that are no strings.
///
/// `left` is how many values there may still be; it is 0 when they were too many.
fn faithful_json(value: &Value, depth: usize, left: &mut usize) -> Option<Json> {
    if depth > MAX_NATIVE_DEPTH || *left == 0 {
        return None;
    }
    *left -= 1;
    let depth = depth + 1;
    match view(value) {
        View::None => Some(Json::Null),
        View::Bool(value) => Some(value.into()),
        View::Int(value) => Some(value.into()),
        View::Float(value) => serde_json::Number::from_f64(value).map(Json::Number),
        View::Str(text) => (!value.is_safe()).then(|| text.into()),
        View::Bytes(_) | View::Foreign => None,
        View::Object(_) => {
            if let Some(int) = python::as_bigint(value) {
                return serde_json::from_str(&int.to_string()).ok();
            }
            if let Some(list) = downcast::<List>(value) {
                return list.snapshot().iter().map(|item| faithful_json(item, depth, left)).collect();
            }
            // a named tuple is no plain tuple
            if let Some(tuple) = downcast::<Tuple>(value).filter(|_| python::class_name(value) == "tuple") {
                return tuple.items().iter().map(|item| faithful_json(item, depth, left)).collect();
            }
            let pairs = downcast::<Dict>(value)?.items();
            let mut pair = |(key, value): (Value, Value)| match view(&key) {
                View::Str(name) if !key.is_safe() => Some((name.to_owned(), faithful_json(&value, depth, left)?)),
                _ => None,
            };
            pairs.into_iter().map(&mut pair).collect::<Option<Map<_, _>>>().map(Json::Object)
        }
    }
}

fn refuse(message: &str) -> TemplateError {
    TemplateError::new("Unsupported", message)
}

fn files(files: &Json) -> Result<MemoryLoader, TemplateError> {
    let Json::Object(files) = files else { return Err(refuse("`files` is an object of names and texts")) };
    let files: Option<BTreeMap<String, String>> =
        files.iter().map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect();
    let files = files.ok_or_else(|| refuse("`files` is an object of names and texts"))?;
    Ok(MemoryLoader::new(files, SEARCH_PATH))
}

fn instant(now: &Json) -> PyResult<DateTime<Utc>> {
    let text = now.as_str().unwrap_or_default();
    match DateTime::parse_from_rfc3339(text) {
        Ok(now) => Ok(now.with_timezone(&Utc)),
        Err(_) => Err(PyErr::unsupported("`now` is an instant such as \"2026-03-10T12:00:00Z\"")),
    }
}
