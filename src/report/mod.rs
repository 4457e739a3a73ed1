//! Findings, runs and traces as text for people and for machines.
//!
//! Text may hold colour codes; whoever prints it strips them where they do not belong.

mod problems;

pub use problems::{Excerpt, excerpt, problems};
