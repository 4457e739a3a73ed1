//! Golden cases of reading a run's payload: what pydantic 2.14 accepts, and the exact text of what it rejects.
//!
//! Cases recorded from Airflow 3.3.2; see the README beside them. `ti_run_context.jsonl` was recorded from pydantic alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails may say so")]

use std::fs;
use std::path::Path;

use partita::run::{Json, Run};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/render")
}

fn named_runs() -> Json {
    serde_json::from_str(&fs::read_to_string(folder().join("runs.json")).unwrap()).unwrap()
}

/// The named run with the overrides of a case: each replaces one key of one section.
fn run_of(case: &Json, runs: &Json) -> Json {
    let mut run = runs[case["run_ref"].as_str().unwrap()].clone();
    if let Some(overrides) = case["overrides"].as_object() {
        for (section, values) in overrides {
            for (key, value) in values.as_object().unwrap() {
                run[section][key] = value.clone();
            }
        }
    }
    run
}

#[test]
fn payloads_are_read_as_pydantic_reads_them() {
    let runs = named_runs();
    let text = fs::read_to_string(folder().join("payload.jsonl")).unwrap();
    let mut failures = Vec::new();
    let (mut accepted, mut rejected) = (0, 0);
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let expected = &case["expect"];
        let class = expected["error"].as_str().unwrap_or_default();
        let message = expected["message"].as_str().unwrap_or_default();
        let at_payload = matches!(class, "ValidationError" | "OverflowError") || message.starts_with("The key ");
        match Run::from_json(run_of(&case, &runs)) {
            Ok(_) if !at_payload => accepted += 1,
            Err(error) if at_payload && error.class == class && error.message == message => rejected += 1,
            got => failures.push(format!("{}\n  expected {expected}\n  got {:?}", case["id"], got.map(|_| "a run"))),
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), accepted + rejected, failures.join("\n"));
    assert_eq!(accepted + rejected, 82);
}

/// `TIRunContext.model_validate_json` on one payload a line, recorded from pydantic 2.14.4.
#[test]
fn ti_run_contexts_are_validated_as_pydantic_does() {
    use partita::run::TaskInstance;

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ti_run_context.jsonl");
    let mut failures = Vec::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let got = match Run::from_ti_run_context(&case["payload"], TaskInstance::new("t")) {
            // the channel to the task comes after validation
            Ok(_) => serde_json::json!({"ok": true}),
            Err(error) if error.class == "OverflowError" => serde_json::json!({"ok": true}),
            Err(error) => serde_json::json!({"error": error.class, "message": error.message}),
        };
        if got != case["expect"] {
            failures.push(format!("{line}\n  got {got}"));
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}
