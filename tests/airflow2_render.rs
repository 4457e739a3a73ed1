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

/// A run of a daily Dag in the two profiles' forms.
fn daily_run(profile: &str) -> Json {
    let dates = json!({
        "dag_id": "daily", "run_id": "scheduled__2026-11-02T00:00:00+00:00", "run_type": "scheduled", "state": "running",
        "logical_date": "2026-11-02T00:00:00+00:00", "data_interval_start": "2026-11-02T00:00:00+00:00",
        "data_interval_end": "2026-11-03T00:00:00+00:00", "start_date": "2026-11-03T00:00:01+00:00", "end_date": null,
        "conf": {},
    });
    let mut dag_run = dates.as_object().expect("an object").clone();
    if profile == "airflow-2.10" {
        dag_run.insert("external_trigger".into(), false.into());
        let dag = json!({"dag_id": "daily", "schedule": "@daily", "start_date": "2026-11-01T00:00:00+00:00"});
        return json!({"dag": dag, "dag_run": dag_run});
    }
    dag_run.insert("run_after".into(), "2026-11-03T00:00:00+00:00".into());
    dag_run.insert("consumed_asset_events".into(), json!([]));
    dag_run.insert("partition_key".into(), Json::Null);
    json!({"dag_run": dag_run, "ti": {"task_id": "t", "try_number": 1, "map_index": -1}})
}

fn ask(engine: &Engine, profile: &str, template: &str) -> Json {
    let request = json!({"profile": profile, "template": template, "run": daily_run(profile)});
    Json::Object(request::answer(engine, &request))
}

/// Row 49 of the user cases: `next_ds` warns in 2.10 and is gone in 3.x; what to write instead gives the same in both.
#[test]
fn next_ds_goes_away() {
    let engine = Engine::new();
    let old = ask(&engine, "airflow-2.10", "{{ next_ds }}");
    assert_eq!(old["ok"], "2026-11-03", "{old}");
    let warning = old["deprecations"][0].as_str().unwrap_or_default();
    assert!(warning.contains("Please use '{{ data_interval_end | ds }}' instead."), "{old}");
    let new = ask(&engine, "airflow-3.3", "{{ next_ds }}");
    assert_eq!(new["error"]["message"], "'next_ds' is undefined", "{new}");
    let hint = new["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("data_interval_end | ds"), "{new}");
    for profile in ["airflow-2.10", "airflow-3.3"] {
        let both = ask(&engine, profile, "{{ data_interval_end | ds }} {{ data_interval_end | ts_nodash }}");
        assert_eq!(both["ok"], "2026-11-03 20261103T000000", "{profile}: {both}");
    }
}

/// `urllib.parse.unquote` takes two hexadecimal digits and nothing else; bytes that are no UTF-8 become U+FFFD.
#[test]
fn connection_uris_are_decoded_as_python_does() {
    let engine = Engine::new();
    let mut run = daily_run("airflow-2.10");
    run["connections"] = json!({"x": "http://u%+1:p%ff%e4b%4@h/%41s?a=%+1"});
    let template = "{{ conn.x.login }} {{ conn.x.password }} {{ conn.x.schema }} {{ conn.x.extra }}";
    let request = json!({"profile": "airflow-2.10", "template": template, "run": run});
    let answer = Json::Object(request::answer(&engine, &request));
    assert_eq!(answer["ok"], "u%+1 p\u{fffd}\u{fffd}b%4 As {\"a\": \"% 1\"}", "{answer}");
}

/// What exists and cannot be read is no variable that does not exist: a default must not take its place.
#[test]
fn variables_that_cannot_be_read_are_refused() {
    let engine = Engine::new();
    let mut run = daily_run("airflow-2.10");
    run["variables"] = json!({"x": partita::run::unreadable("the variable `x` is encrypted", "give the key")});
    for template in ["{{ var.value.x }}", "{{ var.value.get('x', 'default') }}", "{{ var.json.get('x', 1) }}"] {
        let request = json!({"profile": "airflow-2.10", "template": template, "run": run});
        let answer = Json::Object(request::answer(&engine, &request));
        assert_eq!(answer["error"]["kind"], "Unsupported", "{answer}");
        assert_eq!(answer["error"]["message"], "the variable `x` is encrypted", "{answer}");
    }
}

#[test]
fn event_accessors_are_no_keys() {
    let engine = Engine::new();
    for (name, class) in [("inlet_events", "InletEventsAccessors"), ("outlet_events", "OutletEventAccessors")] {
        let answer = ask(&engine, "airflow-2.10", &format!("{{{{ {{{name}: 1}} }}}}"));
        assert_eq!(answer["error"]["kind"], "TypeError", "{answer}");
        assert_eq!(answer["error"]["message"], format!("unhashable type: '{class}'"), "{answer}");
    }
}
