//! Golden cases of assets, partition mappers and scenarios, recorded from Airflow 3.3.2 (`tests/conformance/schedule`).
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::fmt::Write as _;
use std::path::Path;

use partita::python::PyResult;
use serde_json::{Value as Json, json};

/// Counts of a corpus and its differing cases.
#[derive(Default)]
struct Tally {
    total: usize,
    differ: String,
    differing: usize,
}

impl Tally {
    fn add(&mut self, id: &str, expected: &Json, got: &Json) {
        self.total += 1;
        if expected != got {
            self.differing += 1;
            let _ = writeln!(self.differ, "{id}\n  expected {expected}\n  got      {got}");
        }
    }

    #[track_caller]
    fn finish(self, name: &str, total: usize) {
        println!("{name}: {} of {} equal", self.total - self.differing, self.total);
        assert_eq!(self.total, total, "number of cases in {name}");
        assert!(self.differing == 0, "{name}: {} of {} differ\n{}", self.differing, self.total, self.differ);
    }
}

fn corpus(name: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/schedule").join(name);
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    text.lines().map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

fn answer(result: PyResult<Json>) -> Json {
    match result {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": error.class, "message": error.message}),
    }
}

#[test]
fn assets() {
    let mut tally = Tally::default();
    for case in corpus("assets.jsonl") {
        let got = answer(partita::asset::inspect::operate(case["op"].as_str().expect("op"), &case["input"]));
        tally.add(case["id"].as_str().expect("id"), &case["expect"], &got);
    }
    tally.finish("assets", 347);
}

/// Date-times with an offset are compared as instants.
fn instants(value: &Json) -> Json {
    match value {
        Json::String(text) => match chrono::DateTime::parse_from_rfc3339(text) {
            Ok(aware) => json!({"instant": aware.to_utc().to_rfc3339()}),
            Err(_) => value.clone(),
        },
        Json::Array(items) => items.iter().map(instants).collect(),
        other => other.clone(),
    }
}

#[test]
fn mappers() {
    let mut tally = Tally::default();
    for case in corpus("mappers.jsonl") {
        let op = case["op"].as_str().expect("op");
        let mut got = answer(partita::partition::inspect::operate(&case["mapper"], op, &case["input"]));
        let mut expected = case["expect"].clone();
        if case["unordered"] == json!(true)
            && let Some(keys) = got.get_mut("ok").and_then(Json::as_array_mut)
        {
            keys.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
        if matches!(op, "to_partition_date" | "carry_partition_date" | "decode_downstream") {
            for side in [&mut got, &mut expected] {
                if let Some(value) = side.get_mut("ok") {
                    *value = instants(value);
                }
            }
        }
        tally.add(case["id"].as_str().expect("id"), &expected, &got);
    }
    tally.finish("mappers", 1606);
}

/// Every date-time with an offset in a value, as an instant.
fn deep_instants(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().map(deep_instants).collect(),
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let date = key == "partition_date";
                (key.clone(), if date { instants(value) } else { deep_instants(value) })
            })
            .collect(),
        other => other.clone(),
    }
}

/// Lists whose order says nothing.
fn unordered(mut value: Json) -> Json {
    if let Some(queue) = value.get_mut("asset_dag_run_queue").and_then(Json::as_array_mut) {
        queue.sort_by_key(Json::to_string);
    }
    value
}

#[test]
fn scenarios() {
    play("tests/conformance/schedule/scenarios", 148);
}

/// Scenarios in which partita once differed, found by playing random ones on Airflow 3.3.2 too.
#[test]
fn found_scenarios() {
    play("tests/schedule_found", 3);
}

fn play(folder: &str, total: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the scenarios are there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut tally = Tally::default();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a scenario");
        let mut document: Json = serde_json::from_str(&text).expect("a scenario is JSON");
        let expected = document.as_object_mut().and_then(|map| map.shift_remove("expect")).expect("expect");
        let got = match partita::schedule::document::resolve(&document) {
            Ok(answer) => answer,
            Err(error) => json!(error.to_string()),
        };
        let id = document["id"].as_str().expect("id");
        tally.add(id, &unordered(deep_instants(&expected)), &unordered(deep_instants(&got)));
    }
    tally.finish("scenarios", total);
}
