//! Differences between rendered texts, and equal differences brought together.

mod group;
mod hunk;

pub use group::{Group, group};
pub use hunk::{Hunk, Line, Tag, changed_lines, hunks};
