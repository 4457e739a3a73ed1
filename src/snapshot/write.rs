//! Changes of the tree: every file is the old one or the new one at any moment.

use std::fs;
use std::io::{self, Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::TreeError;
use super::compare::{Comparison, Entry, State};
use super::file::{Snapshot, Stored};
use super::pending::Pending;
use super::scan::{TEMPORARY_PREFIX, TEMPORARY_SUFFIX};

/// A tree of snapshots that is written to. Others that write to it wait until it is dropped.
#[derive(Debug)]
pub struct Tree {
    root: Utf8PathBuf,
    /// The locked folder, where folders can be locked.
    lock: Option<fs::File>,
}

/// What [`Tree::update`] did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// `.snap` files written.
    pub accepted: usize,
    /// `.snap.new` files that lie there now.
    pub pending: usize,
    /// `.snap.new` files removed, because nothing is pending any more.
    pub settled: usize,
}

impl Tree {
    /// Opens a tree for writing, and makes its folder.
    ///
    /// # Errors
    /// When the folder cannot be made, or is none.
    pub fn open(root: &Utf8Path) -> Result<Self, TreeError> {
        fs::create_dir_all(root).map_err(|error| TreeError::new("write", root, error))?;
        // Windows and some network file systems lock no folders. Then two writers may do work twice, and no harm: files
        // are replaced as a whole.
        let lock = fs::File::open(root).ok().filter(|folder| folder.lock().is_ok());
        Ok(Tree { root: root.to_owned(), lock })
    }

    /// Brings pending files up to date with a comparison: `.snap.new` beside what differs, none beside what does not. With
    /// `accept`, the snapshots themselves are written.
    ///
    /// # Errors
    /// When a file cannot be written or removed; those written before stay, each whole.
    pub fn update(&self, comparison: &Comparison<'_>, accept: bool) -> Result<Updated, TreeError> {
        self.sweep(comparison)?;
        let done: Vec<Updated> =
            comparison.entries.par_iter().map(|entry| self.settle(entry, accept)).collect::<Result<_, _>>()?;
        let mut updated = done.iter().fold(Updated::default(), |sum, one| Updated {
            accepted: sum.accepted + one.accepted,
            pending: sum.pending + one.pending,
            settled: sum.settled + one.settled,
        });
        for path in &comparison.stale {
            self.remove(&format!("{path}.snap.new"))?;
            updated.settled += 1;
        }
        Ok(updated)
    }

    /// Removes snapshots of nothing, and folders that are empty then.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn prune(&self, comparison: &Comparison<'_>) -> Result<(), TreeError> {
        comparison.orphaned.iter().try_for_each(|path| self.remove(&format!("{path}.snap")))
    }

    fn settle(&self, entry: &Entry<'_>, accept: bool) -> Result<Updated, TreeError> {
        let path = &entry.snapshot.path;
        let mut updated = Updated::default();
        let write = match entry.state {
            State::Same => false,
            State::OtherFacts(_) => accept,
            State::Changed(_) | State::Damaged(_) | State::Missing => true,
        };
        if write && !accept {
            updated.pending = 1;
            let new = format!("{path}.snap.new");
            let content = entry.snapshot.to_file();
            let there = entry.pending && fs::read(self.root.join(&new)).is_ok_and(|file| file == content.as_bytes());
            if !there {
                self.replace(&new, content.as_bytes())?;
            }
            return Ok(updated);
        }
        if write {
            self.write(entry.snapshot)?;
            updated.accepted = 1;
        }
        if entry.pending {
            self.remove(&format!("{path}.snap.new"))?;
            updated.settled = 1;
        }
        Ok(updated)
    }

    /// Writes a snapshot.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, snapshot: &Snapshot) -> Result<(), TreeError> {
        self.replace(&format!("{}.snap", snapshot.path), snapshot.to_file().as_bytes())
    }

    /// Puts a pending file into the snapshot's place, if it still holds what was looked at. False when it does not: somebody
    /// rendered anew or decided in the meantime.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn accept(&self, pending: &Pending) -> Result<bool, TreeError> {
        let (new, old) = self.paths(pending);
        self.check_links(&old)?;
        if !unchanged(pending, &new)? {
            return Ok(false);
        }
        fs::rename(&new, &old).map_err(|error| TreeError::new("write", old, error))?;
        Ok(true)
    }

    /// Removes a pending file, if it still holds what was looked at, and folders that are empty then. False when it does not.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn reject(&self, pending: &Pending) -> Result<bool, TreeError> {
        let (new, _) = self.paths(pending);
        if !unchanged(pending, &new)? {
            return Ok(false);
        }
        self.remove(&format!("{}.snap.new", pending.path))?;
        Ok(true)
    }

    fn paths(&self, pending: &Pending) -> (Utf8PathBuf, Utf8PathBuf) {
        let path = |suffix: &str| self.root.join(format!("{}{suffix}", pending.path));
        (path(".snap.new"), path(".snap"))
    }

    /// Writes beside the file and then moves it into its place, so that no reader sees half of it.
    fn replace(&self, path: &str, content: &[u8]) -> Result<(), TreeError> {
        let path = self.root.join(path);
        let failed = |error: io::Error| TreeError::new("write", &path, error);
        let folder = path.parent().unwrap_or(&self.root);
        self.check_links(&path)?;
        fs::create_dir_all(folder).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
        // As any file that is checked out: others may read it, as far as the umask lets them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder).map_err(failed)?;
        file.write_all(content).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Refuses folders that are symbolic links: what lies behind one belongs to somebody else. The root may be one.
    fn check_links(&self, path: &Utf8Path) -> Result<(), TreeError> {
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
        for folder in folders {
            if folder.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(TreeError::new("write", path, format!("{folder} is a symbolic link")));
            }
        }
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<(), TreeError> {
        let path = self.root.join(path);
        self.check_links(&path)?;
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(TreeError::new("remove", path, error)),
        }
        // A folder that still holds something stays: that is what the error says.
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
        for folder in folders {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Removes what a killed process left. Under the lock nobody is writing.
    fn sweep(&self, comparison: &Comparison<'_>) -> Result<(), TreeError> {
        if self.lock.is_none() {
            return Ok(());
        }
        for path in &comparison.temporary {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(TreeError::new("remove", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn unchanged(pending: &Pending, path: &Utf8Path) -> Result<bool, TreeError> {
    match fs::read(path) {
        Ok(file) => Ok(Stored::parse(&file) == pending.new),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(TreeError::new("read", path, error)),
    }
}
