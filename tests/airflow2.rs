//! Golden cases of Airflow 2.10.5, and of 3.3.2's endpoints beside them (`tests/conformance/airflow2`): dataset URIs and
//! dataset scheduling, asked as `inspect asset --jsonl` and `resolve --jsonl` are.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::fmt::Write as _;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value as Json, json};

/// The cases of a file below `tests`, and the program's answers to them without what is expected.
fn asked(args: &[&str], name: &str, total: usize) -> Vec<(Json, Json)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let corpus = std::fs::read_to_string(path).expect("the corpus is there");
    let cases: Vec<Json> = corpus.lines().map(|line| serde_json::from_str(line).expect("a case")).collect();
    let mut input = String::new();
    for case in &cases {
        let mut request = case.clone();
        let fields = request.as_object_mut().expect("a case is an object");
        fields.shift_remove("expect");
        fields.shift_remove("setup_error");
        let _ = writeln!(input, "{request}");
    }
    let output =
        Command::cargo_bin("partita").expect("the program").args(args).write_stdin(input).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("answers are text");
    let answers: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect("an answer")).collect();
    assert_eq!((cases.len(), answers.len()), (total, total), "number of cases and answers of {name}");
    cases.into_iter().zip(answers).collect()
}

/// Counts, and the cases that differ: silently, or refused.
#[derive(Default)]
struct Tally {
    equal: usize,
    refused: usize,
    silent: usize,
    report: String,
}

impl Tally {
    fn add(&mut self, case: &Json, expected: &Json, got: &Json) {
        if expected == got {
            self.equal += 1;
            return;
        }
        let kind = if got["error"]["kind"] == "Unsupported" {
            self.refused += 1;
            "refused"
        } else {
            self.silent += 1;
            "silent"
        };
        let _ = writeln!(self.report, "{} ({kind})\n  expected {expected}\n  got      {got}", case["id"]);
    }

    #[track_caller]
    fn all_equal(self, name: &str, total: usize) {
        let Tally { equal, refused, silent, report } = self;
        println!("{name}: {equal} of {total} equal, {refused} refused, {silent} silent mismatches");
        assert_eq!((equal, refused, silent), (total, 0, 0), "{name}\n{report}");
    }
}

#[test]
fn dataset_uris() {
    let mut tally = Tally::default();
    for (case, got) in asked(&["inspect", "asset", "--jsonl"], "conformance/airflow2/uri210.jsonl", 99) {
        let expect = &case["expect"];
        let expected = match expect.get("error") {
            Some(class) => {
                json!({"id": case["id"], "error": {"kind": class, "message": expect["message"]}})
            }
            None => json!({
                "id": case["id"], "ok": expect["ok"], "changed": expect["changed"], "warnings": expect["warnings"],
            }),
        };
        tally.add(&case, &expected, &got);
    }
    tally.all_equal("uri210", 99);
}

#[test]
fn dataset_scheduling() {
    let mut tally = Tally::default();
    for (case, got) in asked(&["resolve", "--jsonl"], "conformance/airflow2/schedule210.jsonl", 116) {
        let mut expected = json!({"id": case["id"], "ok": case["expect"]});
        if let Some(error) = case.get("setup_error") {
            expected["error"] = json!({"kind": error["error"], "message": error["message"]});
        }
        tally.add(&case, &expected, &got);
    }
    tally.all_equal("schedule210", 116);
}

/// More scenarios, played on Airflow 2.10.5's own scheduler, dataset manager and REST API over SQLite. Left out are answers
/// that list runs which one pass made for several Dags: Airflow creates those in random order.
#[test]
fn more_dataset_scheduling() {
    let mut tally = Tally::default();
    for (case, got) in asked(&["resolve", "--jsonl"], "airflow2/scheduling.jsonl", 72) {
        tally.add(&case, &json!({"id": case["id"], "ok": case["expect"]}), &got);
    }
    tally.all_equal("scheduling", 72);
}
