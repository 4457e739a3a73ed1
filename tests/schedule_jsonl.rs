//! The `--jsonl` commands answer the corpora from standard input, in order.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value as Json;

fn corpus(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/schedule").join(name);
    std::fs::read_to_string(path).expect("the corpus is there")
}

fn answers(args: &[&str], input: String) -> Vec<Json> {
    let output =
        Command::cargo_bin("partita").expect("the program").args(args).write_stdin(input).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

/// Every case under its id, in order, with the value or the error that the corpus holds; date-times as instants.
fn compare(args: &[&str], name: &str, total: usize) {
    let input = corpus(name);
    let cases: Vec<Json> = input.lines().map(|line| serde_json::from_str(line).expect("a case")).collect();
    let got = answers(args, input);
    assert_eq!((cases.len(), got.len()), (total, total));
    for (case, got) in cases.iter().zip(&got) {
        assert_eq!(case["id"], got["id"]);
        let expected = &case["expect"];
        if let Some(class) = expected.get("error") {
            assert_eq!((class, &expected["message"]), (&got["error"]["kind"], &got["error"]["message"]), "{case}");
        } else {
            assert_eq!(comparable(&expected["ok"]), comparable(&got["ok"]), "{case}");
        }
    }
}

fn comparable(value: &Json) -> Json {
    match value {
        Json::String(text) => match chrono::DateTime::parse_from_rfc3339(text) {
            Ok(date) => date.to_utc().to_rfc3339().into(),
            Err(_) => value.clone(),
        },
        other => other.clone(),
    }
}

#[test]
fn inspect_mapper_answers_the_corpus() {
    compare(&["inspect", "mapper", "--jsonl"], "mappers.jsonl", 1606);
}

#[test]
fn inspect_asset_answers_the_corpus() {
    compare(&["inspect", "asset", "--jsonl"], "assets.jsonl", 347);
}

#[test]
fn resolve_answers_the_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/schedule/scenarios");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the scenarios are there") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a scenario");
        let mut case: Json = serde_json::from_str(&text).expect("a scenario is JSON");
        let expect = case.as_object_mut().and_then(|case| case.shift_remove("expect")).expect("expect");
        cases.push((case, expect));
    }
    let input: String = cases.iter().map(|(case, _)| format!("{case}\n")).collect();
    let got = answers(&["resolve", "--jsonl"], input);
    assert_eq!((cases.len(), got.len()), (148, 148));
    for ((case, expect), got) in cases.iter().zip(&got) {
        assert_eq!(case["id"], got["id"]);
        // Date-times are compared in tests/schedule.rs; here it is the shape and the order that count.
        for part in ["events", "logs"] {
            assert_eq!(expect[part], got["ok"][part], "{}", case["id"]);
        }
        for part in ["ticks", "pending", "asset_dag_run_queue"] {
            let count = |value: &Json| value[part].as_array().map(Vec::len);
            assert_eq!(count(expect), count(&got["ok"]), "{}", case["id"]);
        }
    }
}
