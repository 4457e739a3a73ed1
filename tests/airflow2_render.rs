//! Golden cases of rendering in Airflow 2.10.5 (`tests/conformance/airflow2`), answered as `render --jsonl` answers them.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::fmt::Write as _;
use std::path::Path;

use partita::jinja::Engine;
use partita::render::request;
use serde_json::{Map, Value as Json, json};

/// What the answer to a case is to be; the class of an error without its module.
fn expected(case: &Json) -> Json {
    let expect = &case["expect"];
    let mut out = Map::new();
    match expect.get("error").and_then(Json::as_str) {
        Some(class) => {
            let class = class.rsplit('.').next().unwrap_or(class);
            out.insert("error".into(), json!({"kind": class, "message": expect["message"]}));
        }
        None => {
            for name in ["ok", "repr", "type"] {
                if let Some(value) = expect.get(name) {
                    out.insert(name.into(), value.clone());
                }
            }
        }
    }
    if let Some(deprecations) = expect.get("deprecations") {
        out.insert("deprecations".into(), deprecations.clone());
    }
    Json::Object(out)
}

/// The answer without what Airflow does not say: place and advice.
fn answered(engine: &Engine, case: &Json) -> Json {
    let mut request = case.clone();
    request.as_object_mut().expect("a case is an object").shift_remove("expect");
    let mut out = Json::Object(request::answer(engine, &request));
    if let Some(error) = out.get("error") {
        let message = if case["expect"]["message"].is_null() { Json::Null } else { error["message"].clone() };
        out["error"] = json!({"kind": error["kind"], "message": message});
    }
    out
}

/// Renders the cases of a file; at most `refused` may be answered with `Unsupported`, none differently.
fn golden(name: &str, total: usize, allowed: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/airflow2").join(name);
    let corpus = std::fs::read_to_string(path).expect("the corpus is there");
    let cases = corpus.lines().map(|line| serde_json::from_str::<Json>(line).expect("a case"));
    let engine = Engine::new();
    let (mut count, mut equal, mut refused, mut silent) = (0, 0, 0, 0);
    let mut report = String::new();
    for case in cases.filter(|case| case["profile"] == "airflow-2.10") {
        count += 1;
        let (expected, got) = (expected(&case), answered(&engine, &case));
        if expected == got {
            equal += 1;
            continue;
        }
        let kind = if got["error"]["kind"] == "Unsupported" {
            refused += 1;
            "refused"
        } else {
            silent += 1;
            "silent"
        };
        let (id, template) = (&case["id"], &case["template"]);
        let _ = writeln!(report, "{id} ({kind}) {template}\n  expected {expected}\n  got      {got}");
    }
    println!("{name}: {equal} of {count} equal, {refused} refused, {silent} silent mismatches\n{report}");
    assert_eq!(count, total, "number of cases of {name}");
    assert_eq!(silent, 0, "silent mismatches of {name}\n{report}");
    assert!(refused <= allowed, "{refused} cases of {name} refused, at most {allowed} may be\n{report}");
}

/// 628 of 635 are equal. Refused are six that read the deployment's configuration and one that prints a memory address.
#[test]
fn render210() {
    golden("render210.jsonl", 635, 7);
}

#[test]
fn inlets210() {
    golden("inlets.jsonl", 140, 0);
}
