//! `partita render --jsonl`: templates and runs as lines.

use std::io;

use camino::Utf8Path;

use super::{Failure, Io, Outcome, jsonl, select};
use crate::jinja::Engine;
use crate::pipeline;
use crate::render::request;

/// Answers requests until the input ends. With a pipeline, requests name its Dags and tasks in place of a template.
pub fn run(pipeline: Option<&Utf8Path>, io: &mut Io<'_>) -> Outcome {
    let engine = Engine::new();
    let Some(path) = pipeline else {
        return jsonl::serve(io::stdin().lock(), io.out, |line| Ok(request::answer(&engine, line)));
    };
    let mut pipelines = select::pipelines(&[path.to_owned()], io)?;
    let (Some(pipeline), true) = (pipelines.pop(), pipelines.is_empty()) else {
        return Err(Failure::Usage(format!("{path} holds several pipelines; name one")));
    };
    jsonl::serve(io::stdin().lock(), io.out, |line| pipeline::request::answer(&engine, &pipeline, line))
}
