//! The golden cases of `conformance/render`: what partita renders against what Airflow 3.3.2 rendered.
//!
//! `language.jsonl` beside this file holds more cases of the template language (scoping, composition, native mode), recorded
//! from the same Airflow; a message of null there is one that holds a line of generated code.
//!
//! Each area is one test. It reports how many cases are identical, fail with the same class, the same text, the same line,
//! how many fail loudly and how many differ silently, and names every case that is not the same.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use partita::jinja::Engine;
use partita::render::request;
use serde_json::{Map, Value as Json};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/render")
}

fn runs() -> &'static HashMap<String, Json> {
    static RUNS: OnceLock<HashMap<String, Json>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let text = std::fs::read_to_string(folder().join("runs.json")).expect("runs.json");
        serde_json::from_str(&text).expect("runs.json is JSON")
    })
}

/// The run of a case: the named one with its overrides.
fn run_of(case: &Json) -> Json {
    let mut run = runs()[case["run_ref"].as_str().expect("run_ref")].clone();
    if let Some(Json::Object(overrides)) = case.get("overrides") {
        for (section, values) in overrides {
            let entry = run
                .as_object_mut()
                .expect("a run is an object")
                .entry(section)
                .or_insert_with(|| Json::Object(Map::new()));
            for (key, value) in values.as_object().expect("sections are objects") {
                entry.as_object_mut().expect("sections are objects").insert(key.clone(), value.clone());
            }
        }
    }
    run
}

#[derive(Default)]
struct Counts {
    cases: usize,
    /// The same output, or an error of the same class where Airflow fails.
    same: usize,
    errors: usize,
    texts: usize,
    lines: usize,
    syntax: usize,
    loud: Vec<String>,
    silent: Vec<String>,
    /// Same class, other text or line.
    worded: Vec<String>,
}

/// Equal as JSON values: numbers by value, so that `1e5` is `100000.0`.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x == y || (x.is_f64() || y.is_f64()) && x.as_f64() == y.as_f64(),
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| equal(x, y)))
        }
        _ => a == b,
    }
}

/// An area's floor: `(same or same class, texts among errors, lines among syntax errors)`, as fractions.
type Floor = (f64, f64, f64);

fn area(name: &str, floor: Floor) {
    let own = matches!(name, "language" | "dates");
    let file = if own { format!("../../{name}.jsonl") } else { format!("{name}.jsonl") };
    let text = std::fs::read_to_string(folder().join(file)).expect("the area's file");
    let engine = Engine::new();
    let mut counts = Counts::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Json = serde_json::from_str(line).expect("a case is JSON");
        judge(&engine, &case, &mut counts);
    }
    let Counts { cases, same, errors, texts, lines, syntax, .. } = counts;
    let report = format!(
        "{name}: {cases} cases, same {same}, loud {}, SILENT {}; errors {errors}, same text {texts}; syntax {syntax}, same line {lines}",
        counts.loud.len(),
        counts.silent.len()
    );
    println!("{report}");
    for (label, list) in [("SILENT", &counts.silent), ("loud", &counts.loud), ("text", &counts.worded)] {
        for case in list {
            println!("  {label} {case}");
        }
    }
    let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    assert!(counts.silent.is_empty(), "{report}");
    assert!(share(same, cases) >= floor.0, "{report}");
    assert!(share(texts, errors) >= floor.1, "{report}");
    assert!(share(lines, syntax) >= floor.2, "{report}");
}

fn judge(engine: &Engine, case: &Json, counts: &mut Counts) {
    let mut request = Map::new();
    for key in ["id", "template", "files", "mode"] {
        if let Some(value) = case.get(key) {
            request.insert(key.to_owned(), value.clone());
        }
    }
    request.insert("run".to_owned(), run_of(case));
    let answer = Json::Object(request::answer(engine, &Json::Object(request)));
    let expect = &case["expect"];
    counts.cases += 1;
    let describe = || {
        let id = case["id"].as_str().unwrap_or_default();
        format!("{id}\n    template {}\n    expected {expect}\n    got      {answer}", case["template"])
    };
    let failed = answer.get("error");
    if let Some(class) = expect.get("error") {
        counts.errors += 1;
        let Some(error) = failed else {
            counts.silent.push(describe());
            return;
        };
        if error["kind"] != *class {
            counts.loud.push(describe());
            return;
        }
        counts.same += 1;
        let text_is_same = expect["message"].is_null() || error["message"] == expect["message"];
        counts.texts += usize::from(text_is_same);
        let mut line_is_same = true;
        if let Some(line) = expect.get("lineno") {
            counts.syntax += 1;
            line_is_same = error["line"] == *line;
            counts.lines += usize::from(line_is_same);
        }
        if !text_is_same || !line_is_same {
            counts.worded.push(describe());
        }
    } else if failed.is_some() {
        counts.loud.push(describe());
    } else {
        let same = if expect.get("ok").is_some() {
            answer["ok"] == expect["ok"]
        } else {
            answer["type"] == expect["type"]
                && answer["repr"] == expect["repr"]
                && match (answer.get("ok_native"), expect.get("ok_native")) {
                    (Some(got), Some(expected)) => equal(got, expected),
                    (got, expected) => got.is_none() && expected.is_none(),
                }
        };
        if same {
            counts.same += 1;
        } else {
            counts.silent.push(describe());
        }
    }
}

macro_rules! areas {
    ($($name:ident $floor:expr;)*) => {$(
        #[test]
        fn $name() {
            area(stringify!($name), $floor);
        }
    )*};
}

areas! {
    language (1.0, 1.0, 1.0);
    dates (0.995, 0.98, 1.0);
    statements (0.99, 0.97, 0.97);
    composition (1.0, 0.97, 0.97);
    whitespace (1.0, 0.97, 0.97);
    syntax (1.0, 0.97, 0.97);
    sandbox (1.0, 0.97, 0.97);
    native (0.99, 0.97, 0.97);
    expr (0.99, 0.97, 0.97);
    builtin_filters (0.995, 0.97, 0.97);
    tests (1.0, 0.97, 0.97);
    context (0.995, 0.97, 0.97);
    datetime (0.995, 0.97, 0.97);
    strftime (0.995, 0.97, 0.97);
    timezone (0.995, 0.97, 0.97);
    macros (0.985, 0.97, 0.97);
    filters (0.995, 0.97, 0.97);
    assets (0.995, 0.97, 0.97);
    payload (0.995, 0.97, 0.97);
    realistic (1.0, 1.0, 1.0);
    exotic (0.70, 0.0, 0.0);
}
