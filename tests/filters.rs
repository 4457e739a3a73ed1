//! Jinja2's filters and tests against answers recorded from Jinja2 3.1.6 in Airflow 3.3.2.
//!
//! `tests/filters/*.jsonl`: the first line holds the `params` of the file, each other line a template and its answer. The
//! environment variable `PARTITA_FILTER_CASES` names other files of the same form instead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use partita::jinja::{Engine, Environment, Names, Rendered};
use partita::python;
use serde_json::Value as Json;

#[derive(Default)]
struct Count {
    same: usize,
    other_text: usize,
    loud: usize,
    silent: usize,
}

fn files() -> Vec<PathBuf> {
    if let Ok(files) = std::env::var("PARTITA_FILTER_CASES") {
        return files.split(':').map(PathBuf::from).collect();
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filters");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    files
}

#[test]
fn filters_answer_as_jinja2_does() {
    // deep recursion of a debug build is tested elsewhere; here a roomy stack keeps cases independent
    let report = std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap().join().unwrap();
    if let Err(report) = report {
        panic!("{report}");
    }
}

fn run() -> Result<(), String> {
    let env = Arc::new(Environment::default());
    let engine = Engine::new();
    let mut count = Count::default();
    let mut failures = String::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let head: Json = serde_json::from_str(lines.next().unwrap()).unwrap();
        let mut names = BTreeMap::new();
        names.insert("params".to_owned(), python::json::from_json(&head["params"]).unwrap());
        for line in lines {
            let case: Json = serde_json::from_str(line).unwrap();
            let template = case["template"].as_str().unwrap();
            // a case may change the values: every one gets its own
            names.insert("params".to_owned(), python::json::from_json(&head["params"]).unwrap());
            let names: Arc<dyn Names> = Arc::new(names.clone());
            let got = match engine.render(&env, template, &names) {
                Ok(Rendered::Text(text)) => Ok(text),
                Ok(Rendered::Native(_)) => unreachable!("string mode"),
                Err(error) => Err((error.class.to_string(), error.message.clone())),
            };
            let expect = &case["expect"];
            let wanted = match expect["ok"].as_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err((
                    expect["error"].as_str().unwrap().to_owned(),
                    expect["message"].as_str().unwrap().to_owned(),
                )),
            };
            let verdict = match (&wanted, &got) {
                (Ok(wanted), Ok(got)) if wanted == got => {
                    count.same += 1;
                    continue;
                }
                (Err(wanted), Err(got)) if wanted == got => {
                    count.same += 1;
                    continue;
                }
                (Err(wanted), Err(got)) if wanted.0 == got.0 => {
                    count.other_text += 1;
                    "text"
                }
                (_, Err(_)) => {
                    count.loud += 1;
                    "loud"
                }
                _ => {
                    count.silent += 1;
                    "SILENT"
                }
            };
            writeln!(failures, "{verdict} {template}\n  expected {wanted:?}\n  got      {got:?}").unwrap();
        }
    }
    println!(
        "identical {}, same class but other text {}, loud {}, SILENT {}",
        count.same, count.other_text, count.loud, count.silent
    );
    let total = count.same + count.other_text + count.loud + count.silent;
    if count.silent > 0 || count.other_text * 100 > total || count.loud * 100 > total {
        return Err(failures);
    }
    println!("{failures}");
    Ok(())
}
