//! Values of the template context, beyond the golden areas: what the objects do when templates handle them roughly.
//!
//! `context/values.jsonl` was recorded from Airflow 3.3.2, in the case format of `conformance/render`. An answer is Airflow's
//! own, or a refusal; never another text.
#![allow(clippy::unwrap_used, clippy::panic, clippy::result_large_err, reason = "a test that fails may say so")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use partita::context::{self, Surroundings};
use partita::jinja::{Engine, Names, Rendered, TemplateError};
use partita::python;
use partita::run::{Json, Run};
use serde_json::json;

fn run_of(case: &Json, runs: &Json) -> Json {
    if case["run"].is_object() {
        return case["run"].clone();
    }
    let mut run = runs[case["run_ref"].as_str().unwrap()].clone();
    for (section, values) in case["overrides"].as_object().into_iter().flatten() {
        for (key, value) in values.as_object().unwrap() {
            run[section][key] = value.clone();
        }
    }
    run
}

fn answer(engine: &Engine, case: &Json, runs: &Json) -> Result<Json, TemplateError> {
    let run = Run::from_json(run_of(case, runs))?;
    let env = Arc::new(context::environment(&run, case["mode"] == "native")?);
    let context = context::build(Arc::new(run), Arc::new(Surroundings::of_request()))?;
    let names: Arc<dyn Names> = Arc::new(context);
    Ok(match engine.render(&env, case["template"].as_str().unwrap(), &names)? {
        Rendered::Text(text) => json!(text),
        Rendered::Native(value) => json!(python::repr(&value, &mut engine.interp(&env, &names))?),
    })
}

#[test]
fn every_answer_is_airflows_or_a_refusal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let runs: Json =
        serde_json::from_str(&fs::read_to_string(root.join("conformance/render/runs.json")).unwrap()).unwrap();
    let engine = Engine::new();
    let (mut identical, mut refused, mut total) = (0, 0, 0);
    let mut wrong = Vec::new();
    for line in fs::read_to_string(root.join("context/values.jsonl")).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        total += 1;
        let expected = &case["expect"];
        let text = expected.get("ok").or_else(|| expected.get("repr"));
        match answer(&engine, &case, &runs) {
            Ok(got) if Some(&got) == text => identical += 1,
            Err(error) if expected["error"] == *error.class && expected["message"] == error.message => identical += 1,
            Err(error) if error.class == "Unsupported" => refused += 1,
            // where the exception is of the right class, but its text differs
            Err(error) if expected["error"] == *error.class => refused += 1,
            got => wrong.push(format!("{} {}\n  expected {expected}\n  got {got:?}", case["id"], case["template"])),
        }
    }
    assert!(wrong.is_empty(), "{} of {total} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(identical * 100 >= total * 94, "{identical} identical, {refused} refused of {total}");
}
