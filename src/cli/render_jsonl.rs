//! `partita render --jsonl`: templates and runs as lines.

use std::io;

use super::{Io, Outcome, jsonl};
use crate::jinja::Engine;
use crate::render::request;

/// Answers requests until the input ends.
pub fn run(io: &mut Io<'_>) -> Outcome {
    let engine = Engine::new();
    jsonl::serve(io::stdin().lock(), io.out, |line| Ok(request::answer(&engine, line)))
}
