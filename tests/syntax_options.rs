//! Delimiters, whitespace control and line statements as `jinja_environment_kwargs` sets them: against Jinja2 3.1.6.
//! `syntax_options.jsonl` was recorded from `SandboxedEnvironment(undefined=StrictUndefined, extensions=[do], **options)`.
#![allow(clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::Arc;

use partita::jinja::{Engine, Environment, Names, Rendered, Syntax};
use partita::python;
use serde_json::Value as Json;

fn syntax(options: &Json) -> Syntax {
    let mut syntax = Syntax::default();
    for (name, value) in options.as_object().expect("options") {
        let text = value.as_str().unwrap_or_default().to_owned();
        let flag = value.as_bool().unwrap_or_default();
        match name.as_str() {
            "trim_blocks" => syntax.trim_blocks = flag,
            "lstrip_blocks" => syntax.lstrip_blocks = flag,
            "keep_trailing_newline" => syntax.keep_trailing_newline = flag,
            "line_statement_prefix" => syntax.line_statement_prefix = Some(text),
            "line_comment_prefix" => syntax.line_comment_prefix = Some(text),
            "block_start_string" => syntax.block_start = text,
            "block_end_string" => syntax.block_end = text,
            "variable_start_string" => syntax.variable_start = text,
            "variable_end_string" => syntax.variable_end = text,
            "comment_start_string" => syntax.comment_start = text,
            "comment_end_string" => syntax.comment_end = text,
            "newline_sequence" => syntax.newline_sequence = text,
            other => panic!("option {other}"),
        }
    }
    syntax
}

#[test]
fn every_option() {
    let names: Arc<dyn Names> = Arc::new(BTreeMap::from([("x".to_owned(), python::int(1))]));
    let engine = Engine::new();
    let mut wrong = Vec::new();
    let mut cases = 0;
    for line in include_str!("syntax_options.jsonl").lines() {
        let case: Json = serde_json::from_str(line).expect("a case");
        let env = Arc::new(Environment { syntax: syntax(&case["options"]), ..Environment::default() });
        let got = engine.render(&env, case["template"].as_str().expect("a template"), &names);
        let expect = &case["expect"];
        let same = match &got {
            Ok(Rendered::Text(text)) => expect["ok"] == **text,
            Ok(Rendered::Native(_)) => false,
            Err(error) => {
                expect["error"] == *error.class
                    && expect["message"] == error.message
                    && (expect["lineno"].is_null() || expect["lineno"] == error.line.unwrap_or_default())
            }
        };
        cases += 1;
        if !same {
            wrong.push(format!("{case}\n    got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {cases} differ:\n{}", wrong.len(), wrong.join("\n"));
}
