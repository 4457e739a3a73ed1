//! Snapshots of rendered text: a tree of files in insta's format, one file a field of a run.

mod file;

pub use file::{Info, Snapshot, split};
