//! Operators as Apache Airflow 3.3.2 renders them: `tests/operators/cases.json`, answered by Airflow itself
//! (`tests/operators/regenerate.py`).

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::Utf8Path;
use partita::jinja::Engine;
use partita::pipeline::{self, Renderer, given_run};
use partita::render::stored;
use serde_json::{Map, Value as Json, json};
use support::Project;

/// What differs from Airflow's answer.
fn difference(case: &Json, run: &Json) -> Option<String> {
    let mut project = Project::new();
    for (name, text) in case["files"].as_object().into_iter().flatten() {
        project = project.raw(&format!("p/{name}"), text.as_str().unwrap());
    }
    let mut task = case["arguments"].as_object().unwrap().clone();
    task.insert("operator".to_owned(), case["operator"].clone());
    if let Some(expand) = case.get("expand") {
        task.insert("expand".to_owned(), expand.clone());
    }
    let mut dag = case["dag"].as_object().cloned().unwrap_or_default();
    dag.insert("tasks".to_owned(), json!({"t": task}));
    let project = project.raw("p/pipeline.json", &json!({"dags": {"d": dag}}).to_string());
    let folder = project.path("p");
    let folder = Utf8Path::from_path(&folder).unwrap();
    let pipeline = match pipeline::load(folder) {
        Ok(pipeline) => pipeline,
        Err(problems) => return Some(format!("{problems:?}")),
    };
    let given = given_run(&pipeline, &json!({"dag_run": run, "max_tries": 0}), None).unwrap();
    let engine = Engine::new();
    let mut renderer = Renderer::new(&engine, &pipeline, &given.scenario, given.scenario.clock());
    renderer.map_index = case["map_index"].as_u64().map(|index| usize::try_from(index).unwrap());
    let outcome = renderer.run(&given.run);
    let expected = &case["expect"];
    let mut fields = Map::new();
    for field in outcome.tasks.first().map(|task| task.fields.as_slice()).unwrap_or_default() {
        match &field.value {
            Ok(value) => {
                fields.insert(field.name.clone(), stored(value));
            }
            Err(error) => {
                let message = error.error.message.replace(folder.as_str(), "<folder>");
                let got = json!({"error": error.error.class, "message": message});
                return (got != *expected).then(|| format!("expected {expected}\n    got      {got}"));
            }
        }
    }
    let Some(wanted) = expected["fields"].as_object() else {
        return Some(format!("expected {expected}\n    got      {}", Json::Object(fields)));
    };
    // A field that nobody gave and whose default is not known is left out.
    let differs = wanted.iter().filter(|(name, value)| fields.get(*name).is_some_and(|got| got != *value));
    let absent =
        wanted.keys().filter(|name| !fields.contains_key(*name) && case["arguments"].get(name.as_str()).is_some());
    let names: Vec<&str> = differs.map(|(name, _)| name).chain(absent).map(String::as_str).collect();
    (!names.is_empty())
        .then(|| format!("{}: expected {expected}\n    got      {}", names.join(", "), Json::Object(fields)))
}

#[test]
fn operators_render_as_airflow_renders_them() {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operators/cases.json");
    let document: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = document["cases"].as_array().unwrap();
    let failures: Vec<(String, String)> = cases
        .iter()
        .filter_map(|case| {
            difference(case, &document["run"]).map(|text| (case["id"].as_str().unwrap().to_owned(), text))
        })
        .collect();
    // Loudly refused, never wrong: a template that reads a field of its own task.
    let (refused, wrong): (Vec<_>, Vec<_>) =
        failures.into_iter().partition(|(_, text)| text.contains(r#"got      {"error":"Unsupported""#));
    let shown: Vec<String> = wrong.iter().map(|(id, text)| format!("{id}: {text}")).collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), shown.join("\n"));
    assert_eq!(refused.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["task attributes"]);
}
