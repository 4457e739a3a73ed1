//! Snapshots of rendered text: a tree of files in insta's format, one file a field of a run.

mod compare;
mod file;
mod pending;
mod scan;
mod subject;
mod tree;
mod write;

pub use compare::{Comparison, Entry, Scope, State, compare};
pub use file::{Damage, Info, Match, Snapshot, Stored, split};
pub use pending::{Pending, pending};
pub use subject::{BadPattern, Filter, Subject};
pub use tree::{collisions, of_outcome};
pub use write::{Tree, Updated};

/// Why the tree of snapshots cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}: {reason}")]
pub struct TreeError {
    /// What was tried: `read`, `write`, `remove`.
    pub action: &'static str,
    /// The file or folder.
    pub path: camino::Utf8PathBuf,
    /// Why it did not work.
    pub reason: String,
}

impl TreeError {
    fn new(action: &'static str, path: impl Into<camino::Utf8PathBuf>, reason: impl ToString) -> Self {
        TreeError { action, path: path.into(), reason: reason.to_string() }
    }
}
