//! Snapshots of rendered text: a tree of files in insta's format, one file a field of a run.

mod file;
mod tree;

pub use file::{Info, Snapshot, split};
pub use tree::{TreeDifference, compare, of_outcome, write};
