//! Jinja2's filters and tests, called with values: answers recorded from Jinja2 3.1.6 under Python 3.11.
//!
//! `tests/filters/*.jsonl`: the first line holds values that cases name, each other line a call and its answer, as
//! `repr(result)` (of a list of the items where the result is an iterator) or as exception. The environment variable
//! `PARTITA_FILTER_CASES` names other files of the same form instead, with colons between them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use partita::jinja::{Cx, Env, Undefined, UndefinedKind};
use partita::python::{self, Args, Interp, Kwarg, Plain, PyErr, Value};
use serde_json::Value as Json;

fn files() -> Vec<PathBuf> {
    if let Ok(files) = std::env::var("PARTITA_FILTER_CASES") {
        return files.split(':').map(PathBuf::from).collect();
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filters");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")).collect();
    files.sort();
    files
}

/// A value as the files spell it: JSON, and an object of one key for what JSON has not.
fn value(json: &Json, params: &Json, kind: UndefinedKind, it: &mut dyn Interp) -> Value {
    let list = |items: &Json, it: &mut dyn Interp| -> Vec<Value> {
        items.as_array().unwrap().iter().map(|item| value(item, params, kind, it)).collect()
    };
    let Some(object) = json.as_object() else {
        return match json {
            Json::Array(_) => python::list(list(json, it)),
            json => python::json::from_json(json).unwrap(),
        };
    };
    let (tag, json) = object.iter().next().unwrap();
    match tag.as_str() {
        "p" => python::json::from_json(&params[json.as_str().unwrap()]).unwrap(),
        "safe" => Value::from_safe_string(json.as_str().unwrap().to_owned()),
        "tuple" => python::tuple(list(json, it)),
        "set" => python::set(list(json, it)).unwrap(),
        "range" => {
            let stop = value(json, params, kind, it);
            python::call(&python::builtin_type("range"), &Args::positional(&[stop]), it).unwrap()
        }
        "items" | "keys" | "values" => {
            let dict = value(json, params, kind, it);
            python::call_method(&dict, tag, &Args::default(), it).unwrap()
        }
        "gen" => {
            let items = value(json, params, kind, it);
            python::generator(python::iter(&items, it).unwrap())
        }
        "dict" => {
            let pairs = json.as_array().unwrap();
            python::dict(pairs.iter().map(|pair| {
                let mut it = Plain::default();
                (value(&pair[0], params, kind, &mut it), value(&pair[1], params, kind, &mut it))
            }))
            .unwrap()
        }
        "undef" => Undefined::name(kind, json.as_str().unwrap()),
        "attr" => Undefined::element(kind, &python::empty_dict(), &Value::from(json.as_str().unwrap())),
        "bytes" => Value::from_bytes(json.as_str().unwrap().as_bytes().to_vec()),
        "nan" => Value::from(f64::NAN),
        "inf" => Value::from(f64::INFINITY),
        tag => panic!("unknown tag {tag}"),
    }
}

fn answer(case: &Json, params: &Json, envs: &BTreeMap<String, Arc<Env>>) -> Result<String, PyErr> {
    let mut it = Plain::default();
    let env = envs[case["undefined"].as_str().unwrap()].clone();
    let kind = env.undefined;
    let cx = Cx { env: env.clone(), autoescape: case["autoescape"].as_bool().unwrap() };
    let subject = value(&case["subject"], params, kind, &mut it);
    let pos: Vec<Value> =
        case["args"].as_array().unwrap().iter().map(|arg| value(arg, params, kind, &mut it)).collect();
    let kw: Vec<Kwarg> = case["kw"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, arg)| (key.as_str().into(), value(arg, params, kind, &mut it)))
        .collect();
    let args = Args { pos: &pos, kw: &kw };
    let result = match case["filter"].as_str() {
        Some(name) => {
            let result = env.call_filter(&cx, &Value::from(name), &subject, &args, &mut it)?;
            let class = python::type_name(&result);
            if class == "generator" || class == "reversed" || class.ends_with("iterator") {
                python::list(python::to_vec(&result, &mut it)?)
            } else {
                result
            }
        }
        None => {
            let name = Value::from(case["test"].as_str().unwrap());
            let result = env.call_test(&cx, &name, &subject, &args, &mut it)?;
            Value::from(python::truth(&result, &mut it)?)
        }
    };
    python::repr(&result, &mut it)
}

#[test]
fn filters_and_tests_answer_as_those_of_jinja2() {
    let kinds = [UndefinedKind::Strict, UndefinedKind::Lenient, UndefinedKind::Chainable, UndefinedKind::Debug];
    let envs: BTreeMap<String, Arc<Env>> =
        kinds.iter().map(|kind| (format!("{kind:?}"), Arc::new(Env::new(*kind, true)))).collect();
    let (mut same, mut other_text, mut loud, mut silent) = (0, 0, 0, 0);
    let mut failures = String::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let head: Json = serde_json::from_str(lines.next().unwrap()).unwrap();
        for line in lines {
            let case: Json = serde_json::from_str(line).unwrap();
            let got = answer(&case, &head["params"], &envs);
            let verdict = match (case["ok"].as_str(), &got) {
                (Some(ok), Ok(got)) if ok == got => None,
                (Some(_), Ok(_)) | (None, Ok(_)) => Some("SILENT"),
                (Some(_), Err(_)) => Some("loud"),
                (None, Err(error)) => match (case["error"] == *error.class, case["message"] == error.message) {
                    (true, true) => None,
                    (true, false) => Some("text"),
                    (false, _) => Some("loud"),
                },
            };
            match verdict {
                None => same += 1,
                Some("SILENT") => silent += 1,
                Some("loud") => loud += 1,
                Some(_) => other_text += 1,
            }
            if let Some(verdict) = verdict {
                let got = got.unwrap_or_else(|error| error.to_string());
                writeln!(failures, "{verdict} {line}\n  got {got}").unwrap();
            }
        }
    }
    println!("identical {same}, same class but other text {other_text}, loud {loud}, SILENT {silent}\n{failures}");
    assert!(silent == 0 && other_text == 0 && loud == 0, "answers differ:\n{failures}");
}
