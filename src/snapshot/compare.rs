//! How a tree of files stands to the snapshots it should hold.

use std::collections::{BTreeSet, HashSet};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use foldhash::fast::RandomState;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::TreeError;
use super::file::{Damage, Match, Snapshot, Stored};
use super::scan::scan;
use super::subject::{Filter, Subject};
use crate::pipeline::file_name;

/// The part of a tree that is looked at for files without a snapshot.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Pipelines by name: below their folders, every snapshot must be one of theirs.
    pub pipelines: Vec<String>,
    /// True when these are all pipelines there are: other folders hold what is left of one that is gone.
    pub everything: bool,
    /// Only snapshots that it chooses.
    pub filter: Filter,
}

/// What is in the place of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Its file.
    Same,
    /// A file with its text, and with other facts of the run in the header.
    OtherFacts(Stored),
    /// A file with another text.
    Changed(Stored),
    /// A file that is no snapshot.
    Damaged(Damage),
    /// Nothing.
    Missing,
}

impl State {
    /// True when `snapshot --check` fails for it: the text is not the one that was accepted.
    pub fn differs(&self) -> bool {
        !matches!(self, State::Same | State::OtherFacts(_))
    }
}

/// A snapshot and what is in its place.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// What is in its place.
    pub state: State,
    /// True when a `.snap.new` lies beside it.
    pub pending: bool,
}

/// A tree compared with the snapshots it should hold.
#[derive(Debug, Default)]
pub struct Comparison<'a> {
    /// Every snapshot, in order.
    pub entries: Vec<Entry<'a>>,
    /// Files without a snapshot: relative paths without `.snap`, sorted.
    pub orphaned: Vec<String>,
    /// Pending files that belong to no snapshot: relative paths without `.snap.new`, sorted.
    pub stale: Vec<String>,
    /// Files that a killed process left half written, under names of their own.
    pub temporary: Vec<Utf8PathBuf>,
    /// Folders that are symbolic links, which are not followed.
    pub links: Vec<String>,
}

impl Comparison<'_> {
    /// True when the tree holds the text of every snapshot and no other.
    pub fn agrees(&self) -> bool {
        self.orphaned.is_empty() && !self.entries.iter().any(|entry| entry.state.differs())
    }
}

/// Compares a tree with the snapshots it should hold.
///
/// # Errors
/// When a file or folder cannot be read.
pub fn compare<'a>(root: &Utf8Path, snapshots: &'a [Snapshot], scope: &Scope) -> Result<Comparison<'a>, TreeError> {
    let folders: BTreeSet<String> = scope.pipelines.iter().map(|name| file_name(name)).collect();
    let found = scan(root, (!scope.everything).then_some(&folders))?;
    let entry = |snapshot: &'a Snapshot| -> Result<Entry<'a>, TreeError> {
        let state = if holds(&found.snapshots, &snapshot.path) || !found.links.is_empty() {
            state(root, snapshot)?
        } else {
            State::Missing
        };
        Ok(Entry { snapshot, state, pending: holds(&found.pending, &snapshot.path) })
    };
    let wanted: Vec<&Snapshot> = snapshots.iter().filter(|snapshot| scope.filter.matches(&snapshot.subject)).collect();
    let entries = wanted.par_iter().map(|snapshot| entry(snapshot)).collect::<Result<Vec<_>, _>>()?;
    let known: HashSet<&str, RandomState> = snapshots.iter().map(|snapshot| snapshot.path.as_str()).collect();
    let chosen = |path: &&String| {
        !known.contains(path.as_str()) && Subject::of_path(path).is_some_and(|subject| scope.filter.matches(&subject))
    };
    let own = |path: &&String, suffix: &str| {
        let folder = path.split('/').next().unwrap_or_default();
        folders.contains(folder) || is_ours(&root.join(format!("{path}{suffix}")))
    };
    let orphaned = found.snapshots.iter().filter(chosen).filter(|path| own(path, ".snap")).cloned().collect();
    let stale = found.pending.iter().filter(chosen).filter(|path| own(path, ".snap.new")).cloned().collect();
    Ok(Comparison { entries, orphaned, stale, temporary: found.temporary, links: found.links })
}

/// Whether a sorted list holds a path.
fn holds(sorted: &[String], path: &str) -> bool {
    sorted.binary_search_by(|known| known.as_str().cmp(path)).is_ok()
}

fn state(root: &Utf8Path, snapshot: &Snapshot) -> Result<State, TreeError> {
    let path = root.join(format!("{}.snap", snapshot.path));
    match std::fs::read(&path) {
        Ok(file) => Ok(match snapshot.compare(&file) {
            Match::Same => State::Same,
            Match::OtherFacts(stored) => State::OtherFacts(stored),
            Match::Changed(stored) => State::Changed(stored),
            Match::Damaged(damage) => State::Damaged(damage),
        }),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(State::Missing)
        }
        Err(error) => Err(TreeError::new("read", path, error)),
    }
}

/// Whether a file was written by partita: its header holds the hash of the text. Others may keep snapshots in the same tree.
fn is_ours(path: &Utf8Path) -> bool {
    std::fs::read(path).is_ok_and(|file| Stored::parse(&file).is_ok_and(|stored| stored.sha256.is_some()))
}
