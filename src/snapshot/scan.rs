//! What files a tree of snapshots holds.

use std::collections::BTreeSet;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::TreeError;

/// Beginning of the names of files that are being written.
pub(super) const TEMPORARY_PREFIX: &str = ".partita-";

/// End of the names of files that are being written.
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// Folders below the root: pipeline, scenario, Dag, run.
const DEPTH: usize = 4;

/// Files of a tree, relative to it, parts joined by `/`.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Snapshots, without `.snap`, sorted.
    pub snapshots: Vec<String>,
    /// Pending ones, without `.snap.new`, sorted.
    pub pending: Vec<String>,
    /// Left behind by a process that was killed while it wrote.
    pub temporary: Vec<Utf8PathBuf>,
    /// Folders that are symbolic links: they are not followed.
    pub links: Vec<String>,
}

impl Found {
    fn add(mut self, other: Found) -> Found {
        self.snapshots.extend(other.snapshots);
        self.pending.extend(other.pending);
        self.temporary.extend(other.temporary);
        self.links.extend(other.links);
        self
    }
}

/// Lists a tree; without folders, all of it. Only files where snapshots can be count; whatever else lies there belongs to
/// somebody else. A tree that does not exist is empty.
pub(super) fn scan(root: &Utf8Path, folders: Option<&BTreeSet<String>>) -> Result<Found, TreeError> {
    let mut found = match folders {
        None => scan_folder(root, "", 0),
        Some(folders) => {
            let of_one = |name: &String| {
                let path = root.join(name);
                match path.symlink_metadata() {
                    Ok(metadata) if metadata.is_symlink() => {
                        Ok(Found { links: vec![name.clone()], ..Found::default() })
                    }
                    _ => scan_folder(&path, name, 1),
                }
            };
            folders.into_par_iter().map(of_one).try_reduce(Found::default, |one, two| Ok(one.add(two)))
        }
    }?;
    found.snapshots.sort_unstable();
    found.pending.sort_unstable();
    Ok(found)
}

fn scan_folder(folder: &Utf8Path, below: &str, depth: usize) -> Result<Found, TreeError> {
    let mut found = Found::default();
    let mut inner: Vec<String> = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(TreeError::new("read", folder, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| TreeError::new("read", folder, error))?;
        // No name of ours is anything but ASCII.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type().map_err(|error| TreeError::new("read", folder.join(&name), error))?;
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if kind.is_dir() {
            if depth < DEPTH && !name.starts_with('.') {
                inner.push(name);
            }
        } else if depth == DEPTH {
            if let Some(stem) = path.strip_suffix(".snap") {
                found.snapshots.push(stem.to_owned());
            } else if let Some(stem) = path.strip_suffix(".snap.new") {
                found.pending.push(stem.to_owned());
            } else if name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX) && kind.is_file() {
                found.temporary.push(folder.join(name));
            }
        } else if kind.is_symlink() && folder.join(&name).is_dir() {
            found.links.push(path);
        }
    }
    let of_one = |name: String| {
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        scan_folder(&folder.join(&name), &path, depth + 1)
    };
    let inner = inner.into_par_iter().map(of_one).try_reduce(Found::default, |one, two| Ok(one.add(two)))?;
    Ok(found.add(inner))
}
