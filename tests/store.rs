//! The queue in a SQLite file: the same answers as in memory, several processes at once, and nothing acknowledged is lost.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]
#![cfg(feature = "sqlite")]

use std::path::Path;

use partita::schedule::{SqliteStore, Store, document};
use serde_json::{Value as Json, json};

/// Lists whose order says nothing.
fn unordered(mut value: Json) -> Json {
    if let Some(queue) = value.get_mut("asset_dag_run_queue").and_then(Json::as_array_mut) {
        queue.sort_by_key(Json::to_string);
    }
    value
}

#[test]
fn scenarios_are_answered_as_in_memory() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/schedule/scenarios");
    let temp = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).expect("the scenarios are there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a scenario");
        let scenario: Json = serde_json::from_str(&text).expect("a scenario is JSON");
        let file = temp.path().join(format!("{compared}.db"));
        let store = Box::new(SqliteStore::open(&file).expect("a store"));
        let show = |answer: Result<Json, _>| {
            answer.map_or_else(|error: partita::schedule::ScheduleError| json!(error.to_string()), unordered)
        };
        assert_eq!(
            show(document::resolve_in(&scenario, store)),
            show(document::resolve(&scenario)),
            "{}",
            path.display()
        );
        compared += 1;
    }
    assert_eq!(compared, 148);
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let temp = tempfile::tempdir().expect("a folder");
    let text = temp.path().join("notes.txt");
    std::fs::write(&text, "not a database, but long enough to look like something that could be one").expect("written");
    let error = SqliteStore::open(&text).expect_err("refused").to_string();
    assert!(error.contains("notes.txt") && error.contains("not a database"), "{error}");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/airflow-samples/airflow.db");
    let other = temp.path().join("airflow.db");
    std::fs::copy(samples, &other).expect("copied");
    let error = SqliteStore::open(&other).expect_err("refused").to_string();
    assert!(error.contains("no store of partita's"), "{error}");
}

#[test]
fn transactions_nest() {
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("queue.db");
    let key = |name: &str| partita::asset::AssetKey { name: name.to_owned(), uri: name.to_owned() };
    let mut store = SqliteStore::open(&file).expect("a store");
    store.begin().expect("begun");
    store.add_asset(&key("kept")).expect("added");
    store.begin().expect("begun");
    store.add_asset(&key("dropped")).expect("added");
    store.rollback();
    store.commit().expect("committed");
    let names: Vec<String> = SqliteStore::open(&file)
        .expect("a store")
        .assets()
        .expect("read")
        .into_iter()
        .map(|row| row.key.name)
        .collect();
    assert_eq!(names, ["kept"]);
}
