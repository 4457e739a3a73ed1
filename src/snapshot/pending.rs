//! Pending snapshots: those that wait beside the accepted ones for somebody's decision.

use std::io;

use camino::Utf8Path;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::TreeError;
use super::file::{Damage, Stored};
use super::scan::scan;
use super::subject::{Filter, Subject};

/// A pending snapshot.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Relative to the tree, without `.snap.new`.
    pub path: String,
    /// What it is of.
    pub subject: Subject,
    /// The accepted one; `None` for a snapshot that is new.
    pub old: Option<Result<Stored, Damage>>,
    /// What somebody has to decide about.
    pub new: Result<Stored, Damage>,
}

impl Pending {
    /// True when partita wrote it and it is whole: only then is it known what would be accepted.
    pub fn is_exact(&self) -> bool {
        self.new.as_ref().is_ok_and(Stored::is_exact)
    }

    /// The accepted text; empty for a new snapshot or one that was no snapshot file.
    pub fn old_text(&self) -> String {
        self.old.as_ref().and_then(|old| old.as_ref().ok()).map(Stored::text).unwrap_or_default()
    }

    /// The pending text.
    pub fn new_text(&self) -> String {
        self.new.as_ref().map(Stored::text).unwrap_or_default()
    }
}

/// The pending snapshots of a tree that a filter chooses, sorted by path.
///
/// # Errors
/// When a file or folder cannot be read.
pub fn pending(root: &Utf8Path, filter: &Filter) -> Result<Vec<Pending>, TreeError> {
    let found = scan(root, None)?;
    let chosen: Vec<(String, Subject)> = found
        .pending
        .into_iter()
        .filter_map(|path| Subject::of_path(&path).map(|subject| (path, subject)))
        .filter(|(_, subject)| filter.matches(subject))
        .collect();
    let read = |path: &str, suffix: &str| {
        let path = root.join(format!("{path}{suffix}"));
        match std::fs::read(&path) {
            Ok(file) => Ok(Some(Stored::parse(&file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(TreeError::new("read", path, error)),
        }
    };
    let one = |(path, subject): &(String, Subject)| {
        let (old, new) = (read(path, ".snap")?, read(path, ".snap.new")?);
        // Somebody may have decided in the meantime.
        Ok(new.map(|new| Pending { path: path.clone(), subject: subject.clone(), old, new }))
    };
    let pending: Vec<Option<Pending>> = chosen.par_iter().map(one).collect::<Result<_, _>>()?;
    Ok(pending.into_iter().flatten().collect())
}
