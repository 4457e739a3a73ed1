//! Golden cases of timetables, recorded from Airflow 3.3.2 with croniter 7.0.0
//! (`tests/conformance/schedule/timetables.jsonl`).
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::fmt::Write as _;
use std::path::Path;

use partita::timetable::inspect;
use serde_json::{Value as Json, json};

/// Date-times with an offset are compared as an instant and an offset: the wall-clock time printed for a gap may differ.
fn comparable(value: &Json) -> Json {
    match value {
        Json::String(text) => match chrono::DateTime::parse_from_rfc3339(text) {
            Ok(aware) => json!({"instant": aware.to_utc().to_rfc3339(), "offset": aware.offset().local_minus_utc()}),
            Err(_) => value.clone(),
        },
        Json::Array(items) => items.iter().map(comparable).collect(),
        Json::Object(map) => {
            let sorted: std::collections::BTreeMap<&String, Json> =
                map.iter().map(|(key, value)| (key, comparable(value))).collect();
            json!(sorted)
        }
        Json::Number(number) => json!({"number": number.as_f64(), "float": number.to_string().contains('.')}),
        other => other.clone(),
    }
}

#[test]
fn timetables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/schedule/timetables.jsonl");
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    let (mut total, mut differing, mut report) = (0, 0, String::new());
    for line in text.lines() {
        total += 1;
        let case: Json = serde_json::from_str(line).expect("a case is JSON");
        let op = case["op"].as_str().expect("op");
        let got = match inspect::operate(&case["timetable"], op, &case["input"]) {
            Ok(value) => json!({"ok": value}),
            Err(error) => json!({"error": error.class, "message": error.message}),
        };
        if comparable(&got) != comparable(&case["expect"]) {
            differing += 1;
            let _ = writeln!(report, "{}\n  expected {}\n  got      {got}", case["id"], case["expect"]);
        }
    }
    println!("timetables: {} of {total} equal", total - differing);
    assert_eq!(total, 1358, "number of cases");
    assert!(differing == 0, "timetables: {differing} of {total} differ\n{report}");
}
