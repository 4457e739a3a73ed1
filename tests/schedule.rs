//! Golden cases of assets, partition mappers and scenarios, recorded from Airflow 3.3.2 (`tests/conformance/schedule`).

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
