//! Python's operators, methods and formatting against recorded answers of CPython 3.11.
//!
//! Each line of `tests/python/*.jsonl` is one case; the first line of each file says which Python gave the answers.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;

use partita::python::{self, Args, BinOp, CmpOp, Plain, PyErr, PyResult, UnaryOp, Value};
use serde_json::Value as Json;

fn decode(json: &Json) -> PyResult {
    match json {
        Json::String(literal) => python::literal_eval(literal),
        Json::Object(map) => {
            let (kind, of) = map.iter().next().expect("a kind");
            match kind.as_str() {
                "Markup" => Ok(python::Markup::wrap(of.as_str().expect("text"))),
                "float" => Ok(Value::from(python::parse_float(of.as_str().expect("text"))?)),
                "frozenset" => {
                    let items = python::literal_eval(of.as_str().expect("text"))?;
                    python::frozenset(python::to_vec(&items, &mut Plain::default())?)
                }
                "range" => {
                    let ints: Vec<Value> =
                        of.as_array().expect("ints").iter().map(|i| Value::from(i.as_i64().expect("int"))).collect();
                    python::Range::new(&Args::positional(&ints)).map(python::object)
                }
                other => panic!("unknown kind {other}"),
            }
        }
        other => panic!("no value: {other}"),
    }
}

fn decode_all(json: &Json) -> PyResult<Vec<Value>> {
    json.as_array().expect("a list").iter().map(decode).collect()
}

enum Got {
    Text(String),
    Attribute(bool),
}

fn run(case: &Json, it: &mut Plain) -> PyResult<Got> {
    let a = case.get("a").map(decode).transpose()?;
    let a = a.unwrap_or_default();
    let shown = |value: Value, it: &mut Plain| python::repr(&value, it).map(Got::Text);
    if let Some(name) = case.get("name").and_then(Json::as_str) {
        let this = decode(&case["this"])?;
        let pos = decode_all(&case["args"])?;
        let kw: Vec<(Arc<str>, Value)> = case["kw"]
            .as_array()
            .expect("pairs")
            .iter()
            .map(|pair| Ok((Arc::from(pair[0].as_str().expect("name")), decode(&pair[1])?)))
            .collect::<PyResult<_>>()?;
        let result = python::call_method(&this, name, &Args { pos: &pos, kw: &kw }, it);
        if let Some(after) = case.get("after").and_then(Json::as_str) {
            let now = python::repr(&this, it)?;
            if now != after {
                return Ok(Got::Text(format!("the object is then {now}, not {after}")));
            }
        }
        return shown(result?, it);
    }
    if let Some(op) = case.get("op").and_then(Json::as_str) {
        let b = decode(&case["b"])?;
        let arithmetic = match op {
            "+" => Some(BinOp::Add),
            "-" => Some(BinOp::Sub),
            "*" => Some(BinOp::Mul),
            "/" => Some(BinOp::Div),
            "//" => Some(BinOp::FloorDiv),
            "%" => Some(BinOp::Mod),
            "**" => Some(BinOp::Pow),
            _ => None,
        };
        if let Some(arithmetic) = arithmetic {
            let result = python::binary(arithmetic, &a, &b, it)?;
            return shown(result, it);
        }
        let comparison = match op {
            "==" => CmpOp::Eq,
            "!=" => CmpOp::Ne,
            "<" => CmpOp::Lt,
            "<=" => CmpOp::Le,
            ">" => CmpOp::Gt,
            ">=" => CmpOp::Ge,
            _ => return shown(Value::from(python::contains(&b, &a, it)?), it),
        };
        return shown(Value::from(python::compare(comparison, &a, &b, it)?), it);
    }
    if let Some(op) = case.get("un").and_then(Json::as_str) {
        let base = |base: u32, it: &mut Plain| match python::text(&a) {
            Some(text) => python::parse_int(text, base).and_then(|v| shown(v, it)),
            None => Err(PyErr::type_error("no text")),
        };
        let value = match op {
            "neg" => python::unary(UnaryOp::Neg, &a, it)?,
            "pos" => python::unary(UnaryOp::Pos, &a, it)?,
            "len" => Value::from(python::len(&a, it)? as i64),
            "bool" => Value::from(python::truth(&a, it)?),
            "str" => Value::from(python::str(&a, it)?),
            "repr" => Value::from(python::repr(&a, it)?),
            "abs" => python::abs(&a)?,
            "round" => python::round(&a, None, it)?,
            "list" => python::list(python::to_vec(&a, it)?),
            "hashable" => python::hash_key(&a).map(|_| python::none())?,
            "int" => python::to_int(&a)?,
            "float" => Value::from(python::to_float(&a)?),
            "int0" => return base(0, it),
            "int2" => return base(2, it),
            "int16" => return base(16, it),
            other => panic!("unknown operation {other}"),
        };
        return shown(value, it);
    }
    if let Some(spec) = case.get("format").and_then(Json::as_str) {
        let text = python::format(&decode(&case["this"])?, spec, it)?;
        return shown(Value::from(text), it);
    }
    if let Some(digits) = case.get("round").and_then(Json::as_i64) {
        let value = python::round(&a, Some(&Value::from(digits)), it)?;
        return shown(value, it);
    }
    if let Some(key) = case.get("get") {
        let value = python::getitem(&a, &decode(key)?, it)?;
        return shown(value, it);
    }
    if let Some(parts) = case.get("slice") {
        let parts = decode_all(parts)?;
        let value = python::slice(&a, &parts[0], &parts[1], &parts[2], it)?;
        return shown(value, it);
    }
    if let Some(text) = case.get("literal").and_then(Json::as_str) {
        let value = python::literal_eval(text)?;
        return shown(value, it);
    }
    if let Some(text) = case.get("loads").and_then(Json::as_str) {
        let value = python::json::loads(text, it)?;
        return shown(value, it);
    }
    if let Some(options) = case.get("dumps") {
        let flag = |name: &str, default: bool| options.get(name).map_or(default, |v| v.as_bool().expect("bool"));
        let options = python::json::Options {
            indent: options.get("indent").map(|n| " ".repeat(n.as_u64().expect("a number") as usize)),
            sort_keys: flag("sort_keys", false),
            ensure_ascii: flag("ensure_ascii", true),
            separators: options
                .get("separators")
                .map(|s| (s[0].as_str().expect("text").to_owned(), s[1].as_str().expect("text").to_owned())),
            ..Default::default()
        };
        let text = python::json::dumps(&a, options, it)?;
        return shown(Value::from(text), it);
    }
    if let Some(reverse) = case.get("sorted").and_then(Json::as_bool) {
        let items = python::to_vec(&a, it)?;
        let value = python::list(python::sorted(items, None, reverse, it)?);
        return shown(value, it);
    }
    if let Some(name) = case.get("getattr").and_then(Json::as_str) {
        return match python::getattr(&a, name, it)? {
            None => Ok(Got::Attribute(false)),
            Some(value) if python::is_callable(&value) => Ok(Got::Attribute(true)),
            Some(value) => shown(value, it),
        };
    }
    panic!("unknown case {case}")
}

/// What went wrong, and whether wrong text came out (`SILENT`), or only an error.
fn judge(case: &Json, result: PyResult<Got>) -> Option<String> {
    if case.get("fails").is_some() {
        return match result {
            Err(_) => None,
            Ok(Got::Text(got)) => Some(format!("SILENT: no literal, got {got}")),
            Ok(Got::Attribute(_)) => Some("SILENT".to_owned()),
        };
    }
    if let Some(expected) = case.get("attr").and_then(Json::as_bool) {
        return match result {
            Ok(Got::Attribute(got)) if got == expected => None,
            Ok(_) => Some("SILENT: attribute".to_owned()),
            Err(error) => Some(format!("LOUD: attribute, got {error}")),
        };
    }
    if let Some(expected) = case.get("ok").and_then(Json::as_str) {
        return match result {
            Ok(Got::Text(got)) if got == expected => None,
            Ok(Got::Text(got)) => Some(format!("SILENT: expected {expected}\n       got      {got}")),
            Ok(Got::Attribute(_)) => Some("SILENT: attribute".to_owned()),
            Err(error) => Some(format!("LOUD: expected {expected}\n      got {error}")),
        };
    }
    let class = case["error"][0].as_str().expect("class");
    let message = case["error"][1].as_str().expect("message");
    match result {
        Ok(Got::Text(got)) => Some(format!("SILENT: expected {class}: {message}\n       got {got}")),
        Ok(Got::Attribute(_)) => Some("SILENT: attribute".to_owned()),
        Err(error) if error.class == class && error.message == message => None,
        Err(error) if error.class == "Unsupported" => {
            Some(format!("LOUD: expected {class}: {message}\n      got {error}"))
        }
        Err(error) => Some(format!("TEXT: expected {class}: {message}\n      got      {error}")),
    }
}

#[test]
fn answers_of_cpython() {
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python"))];
    // more cases than the tree keeps, from a generator run by hand
    folders.extend(std::env::var_os("PARTITA_PYTHON_CASES").map(std::path::PathBuf::from));
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders {
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).expect("the folder of cases").flatten().map(|e| e.path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).expect("a file of cases");
            for (at, line) in text.lines().enumerate() {
                let case: Json = serde_json::from_str(line).expect("a line of JSON");
                if case.get("python").is_some() {
                    continue;
                }
                count += 1;
                let result = run(&case, &mut Plain::default());
                if let Some(failure) = judge(&case, result) {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    failures.push(format!("{name}:{}: {line}\n    {failure}", at + 1));
                }
            }
        }
    }
    let silent = failures.iter().filter(|f| f.contains("\n    SILENT")).count();
    let loud = failures.iter().filter(|f| f.contains("\n    LOUD")).count();
    assert!(
        failures.is_empty(),
        "{} of {count} cases fail: {silent} silent, {loud} loud, {} with another error text\n{}",
        failures.len(),
        failures.len() - silent - loud,
        failures.join("\n")
    );
    println!("{count} cases");
}

/// A list in a list in a list...
fn nested(levels: usize) -> Value {
    let mut value = python::list(Vec::new());
    for _ in 0..levels {
        value = python::list(vec![value]);
    }
    value
}

#[test]
fn deep_nesting_is_an_error() {
    let it = &mut Plain::default();
    let deep = nested(100_000);
    assert_eq!(python::repr(&deep, it).unwrap_err().class, "LimitExceeded");
    let other = nested(100_000);
    assert_eq!(python::compare(CmpOp::Eq, &deep, &other, it).unwrap_err().class, "LimitExceeded");
    assert!(python::json::dumps(&deep, python::json::Options::default(), it).is_err());
    assert!(python::json::loads(&"[".repeat(100_000), it).is_err());
    assert!(python::literal_eval(&"[".repeat(100_000)).is_err());
    assert!(python::literal_eval(&format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000))).is_err());
    let mut tuple = python::tuple(Vec::new());
    for _ in 0..100_000 {
        tuple = python::tuple(vec![tuple]);
    }
    assert_eq!(python::hash_key(&tuple).unwrap_err().class, "LimitExceeded");
    let mut dict = python::empty_dict();
    for _ in 0..100_000 {
        dict = python::str_dict([("a", dict)]);
    }
    assert!(python::str(&dict, it).is_err());
    // nothing below overflows the stack when it is dropped
}

#[test]
fn containers_in_themselves() {
    let it = &mut Plain::default();
    let list = python::list(vec![Value::from(1)]);
    python::call_method(&list, "append", &Args::positional(std::slice::from_ref(&list)), it).unwrap();
    assert_eq!(python::repr(&list, it).unwrap(), "[1, [...]]");
    let dict = python::empty_dict();
    let pair = [Value::from("me"), dict.clone()];
    python::call_method(&dict, "setdefault", &Args::positional(&pair), it).unwrap();
    assert_eq!(python::repr(&dict, it).unwrap(), "{'me': {...}}");
    let error = python::json::dumps(&list, python::json::Options::default(), it).unwrap_err();
    assert_eq!(error.to_string(), "ValueError: Circular reference detected");
}

#[test]
fn a_dict_changed_while_iterating() {
    let it = &mut Plain::default();
    let dict = python::str_dict([("a", Value::from(1)), ("b", Value::from(2))]);
    let mut iter = python::iter(&dict, it).unwrap();
    assert!(iter.next(it).unwrap().is_some());
    python::call_method(&dict, "pop", &Args::positional(&[Value::from("a")]), it).unwrap();
    assert_eq!(iter.next(it).unwrap_err().to_string(), "RuntimeError: dictionary changed size during iteration");
}

#[test]
fn large_results_are_refused_before_they_are_made() {
    let it = &mut Plain::default();
    let large = Value::from(1_000_000_000_000i64);
    let x = Value::from("x");
    let refused = |result: PyResult| assert_eq!(result.unwrap_err().class, "LimitExceeded");
    refused(python::binary(BinOp::Mul, &x, &large, it));
    refused(python::binary(BinOp::Mul, &python::list(vec![x.clone()]), &large, it));
    refused(python::binary(BinOp::Pow, &Value::from(3), &large, it));
    for method in ["center", "ljust", "rjust", "zfill"] {
        refused(python::call_method(&x, method, &Args::positional(std::slice::from_ref(&large)), it));
    }
    refused(python::format(&x, "1000000000000", it).map(Value::from));
    refused(python::format(&Value::from(1), "01000000000000,d", it).map(Value::from));
    refused(python::format(&Value::from(1.5), ".2000000000f", it).map(Value::from));
    refused(python::binary(BinOp::Mod, &Value::from("%1000000000000d"), &Value::from(1), it));
    let range = python::Range::new(&Args::positional(std::slice::from_ref(&large))).map(python::object).unwrap();
    refused(python::to_vec(&range, it).map(python::list));
    let tabs = Value::from("\t\t");
    refused(python::call_method(&tabs, "expandtabs", &Args::positional(std::slice::from_ref(&large)), it));
    let text = Value::from("x".repeat(1 << 20));
    let wide = Value::from("y".repeat(1 << 20));
    refused(python::call_method(&text, "replace", &Args::positional(&[x.clone(), wide.clone()]), it));
    refused(python::call_method(&wide, "join", &Args::positional(std::slice::from_ref(&text)), it));
}
