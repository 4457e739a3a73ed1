//! The JSON Schemas: they know the keys that the readers know, and every sample conforms to them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use camino::Utf8Path;
use partita::pipeline::{self, yaml};
use serde_json::Value as Json;

fn schema(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

fn keys(node: &Json) -> Vec<&str> {
    node["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn keys_are_those_of_the_readers() {
    let schema_ = schema(pipeline::PIPELINE_SCHEMA);
    assert_eq!(keys(&schema_), pipeline::PIPELINE_KEYS);
    assert_eq!(keys(&schema_["$defs"]["dag"]), pipeline::DAG_KEYS);
    assert_eq!(keys(&schema_["$defs"]["task"]), pipeline::TASK_KEYS);
    assert_eq!(keys(&schema_["$defs"]["asset"]["anyOf"][2]), pipeline::ASSET_KEYS);
    assert_eq!(keys(&schema_["$defs"]["connection"]), pipeline::CONNECTION_KEYS);
    let schema_ = schema(pipeline::SCENARIO_SCHEMA);
    assert_eq!(keys(&schema_), pipeline::SCENARIO_KEYS);
    let steps = schema_["properties"]["steps"]["items"]["anyOf"].as_array().unwrap();
    for (word, extra) in pipeline::STEPS {
        let step = steps.iter().find(|step| step["required"][0] == word).unwrap_or_else(|| panic!("{word}"));
        let known: Vec<&str> = std::iter::once(word).chain(extra.iter().copied()).collect();
        assert_eq!(keys(step), known);
    }
}

#[test]
fn samples_conform() {
    let (pipelines, scenarios) = (schema(pipeline::PIPELINE_SCHEMA), schema(pipeline::SCENARIO_SCHEMA));
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut count = 0;
    for folder in root.read_dir_utf8().unwrap().map(Result::unwrap) {
        let mut files = vec![(folder.path().join("pipeline.yaml"), &pipelines)];
        for file in folder.path().join("scenarios").read_dir_utf8().unwrap().map(Result::unwrap) {
            files.push((file.path().to_owned(), &scenarios));
        }
        for (file, schema) in files {
            let value = yaml::parse(&yaml::read(&file).unwrap()).unwrap().to_json();
            let errors = errors(schema, schema, &value, "");
            assert!(errors.is_empty(), "{file}: {}", errors.join("; "));
            count += 1;
        }
    }
    assert!(count > 15);
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = schema(pipeline::PIPELINE_SCHEMA);
    for text in ["dags: {d: {shedule: null}}", "assets: {}", "dags: {d: {catchup: 1}}", "dags: {}\nvariables: {a: 1}"] {
        let source = yaml::source(Utf8Path::new("x.yaml"), text.to_owned());
        let value = yaml::parse(&source).unwrap().to_json();
        assert!(!errors(&schema, &schema, &value, "").is_empty(), "{text}");
        assert!(pipeline::from_source(&source, Utf8Path::new(".")).is_err(), "{text}");
    }
}

/// The part of JSON Schema that is used here.
fn errors(root: &Json, schema: &Json, value: &Json, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(reference) = schema["$ref"].as_str() {
        return errors(root, root.pointer(reference.trim_start_matches('#')).unwrap(), value, path);
    }
    if let Some(options) = schema["anyOf"].as_array() {
        let all: Vec<_> = options.iter().map(|option| errors(root, option, value, path)).collect();
        if all.iter().all(|errors| !errors.is_empty()) {
            found.push(format!("{path}: {}", all.concat().join(" | ")));
        }
    }
    if let Some(options) = schema["enum"].as_array()
        && !options.contains(value)
    {
        found.push(format!("{path}: not one of {options:?}"));
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        found.push(format!("{path}: not {}", schema["const"]));
    }
    let types: Vec<&str> = match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    if !types.is_empty() && !types.iter().any(|name| is(name)) {
        found.push(format!("{path}: not {types:?}"));
    }
    if let Some(map) = value.as_object() {
        for required in schema["required"].as_array().into_iter().flatten() {
            if !map.contains_key(required.as_str().unwrap()) {
                found.push(format!("{path}: no {required}"));
            }
        }
        for (key, item) in map {
            let path = format!("{path}/{key}");
            match (schema["properties"].get(key), &schema["additionalProperties"]) {
                (Some(property), _) => found.extend(errors(root, property, item, &path)),
                (None, Json::Bool(false)) => found.push(format!("{path}: unknown")),
                (None, Json::Object(_)) => found.extend(errors(root, &schema["additionalProperties"], item, &path)),
                _ => {}
            }
        }
    }
    if let (Some(items), true) = (value.as_array(), schema["items"].is_object()) {
        for (index, item) in items.iter().enumerate() {
            found.extend(errors(root, &schema["items"], item, &format!("{path}/{index}")));
        }
    }
    found
}
