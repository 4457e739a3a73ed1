//! `strftime` and `strptime` against recorded answers of CPython.
//!
//! Each line of `tests/python_dates/*.jsonl` is one case; the first line of each file says which Python gave the answers.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use chrono::NaiveDateTime;
use partita::python::{Fields, strftime, strptime};
use serde_json::Value as Json;

fn lines(name: &str) -> Vec<Json> {
    let path = format!("{}/tests/python_dates/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the table");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn report(name: &str, cases: usize, wrong: &[String]) {
    println!("{name}: {cases} cases, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{name}: {} of {cases} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn strftime_prints_what_python_prints() {
    let table = lines("strftime");
    let values: Vec<NaiveDateTime> =
        table[0]["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap().parse().unwrap()).collect();
    let mut wrong = Vec::new();
    for case in &table[1..] {
        let format = case["format"].as_str().unwrap();
        for (value, expected) in values.iter().zip(case["texts"].as_array().unwrap()) {
            let got = strftime(format, &Fields::naive(*value)).unwrap();
            if Some(got.as_str()) != expected.as_str() {
                wrong.push(format!("{format:?} of {value}: expected {expected}, got {got:?}"));
            }
        }
    }
    report("strftime", (table.len() - 1) * values.len(), &wrong);
}

#[test]
fn strptime_reads_what_python_reads() {
    let table = lines("strptime");
    let mut wrong = Vec::new();
    for case in &table[1..] {
        let (text, format) = (case["text"].as_str().unwrap(), case["format"].as_str().unwrap());
        let got = match strptime(text, format) {
            Ok(parsed) => {
                let name = parsed.offset.and(parsed.tzname);
                format!("{} {:?} {name:?}", parsed.naive.format("%Y-%m-%dT%H:%M:%S%.6f"), parsed.offset)
            }
            Err(error) => error.to_string(),
        };
        if Some(got.as_str()) != case["result"].as_str() {
            wrong.push(format!("{text:?} by {format:?}: expected {}, got {got}", case["result"]));
        }
    }
    report("strptime", table.len() - 1, &wrong);
}
