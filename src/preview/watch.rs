//! Watching folders for changes.

use std::collections::BTreeSet;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use notify::event::{AccessKind, EventKind, MetadataKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};

/// How long a burst of changes is collected: editors write a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(40);

/// How often the collected changes are looked at.
const TICK: Duration = Duration::from_millis(10);

/// Folders whose files are never part of a pipeline and change all the time.
const IGNORED: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];

/// Folders being watched, until it is dropped.
pub struct Watch {
    debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
    watched: Arc<Mutex<BTreeSet<Utf8PathBuf>>>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("watched", &self.watched).finish_non_exhaustive()
    }
}

/// Watches folders and everything below them. `changed` gets the files that changed, a short while after the first of a
/// burst, on a thread of its own.
///
/// # Errors
/// Why a folder cannot be watched, in a sentence.
pub fn watch(
    folders: &[Utf8PathBuf],
    changed: impl Fn(Vec<Utf8PathBuf>) + Send + Sync + 'static,
) -> Result<Watch, String> {
    let watched: Arc<Mutex<BTreeSet<Utf8PathBuf>>> = Arc::default();
    let roots = watched.clone();
    let on_events = move |result: DebounceEventResult| {
        let paths = match result {
            Ok(events) => {
                let mut paths: Vec<Utf8PathBuf> = events
                    .iter()
                    .filter(|event| is_change(&event.kind))
                    .flat_map(|event| &event.paths)
                    .filter(|path| !is_ignored(path, &roots.lock().unwrap_or_else(PoisonError::into_inner)))
                    .filter_map(|path| Utf8PathBuf::from_path_buf(path.clone()).ok())
                    .collect();
                paths.sort();
                paths.dedup();
                if paths.is_empty() {
                    return;
                }
                paths
            }
            // Events were lost: whatever it was, everything is read again.
            Err(_) => Vec::new(),
        };
        changed(paths);
    };
    let debouncer =
        new_debouncer(DEBOUNCE, Some(TICK), on_events).map_err(|error| format!("files cannot be watched: {error}"))?;
    let mut watch = Watch { debouncer, watched };
    for folder in folders {
        watch.add(folder)?;
    }
    Ok(watch)
}

impl Watch {
    /// Watches one more folder.
    ///
    /// # Errors
    /// Why it cannot be watched.
    pub fn add(&mut self, folder: &Utf8Path) -> Result<(), String> {
        let folder = if folder.as_str().is_empty() { Utf8Path::new(".") } else { folder };
        if !self.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned()) {
            return Ok(());
        }
        self.debouncer
            .watch(folder.as_std_path(), RecursiveMode::Recursive)
            .map_err(|error| format!("{folder} cannot be watched: {error}"))
    }
}

/// Reading is no change: partita's own reading would be one otherwise.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(notify::event::AccessMode::Write)) => true,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) => false,
        _ => true,
    }
}

/// Whether a path below a watched folder is of no interest; what is above the folder does not matter.
fn is_ignored(path: &Path, roots: &BTreeSet<Utf8PathBuf>) -> bool {
    let below =
        roots.iter().filter_map(|root| path.strip_prefix(root).ok()).min_by_key(|below| below.components().count());
    below.unwrap_or(path).components().any(|part| match part {
        Component::Normal(name) => IGNORED.iter().any(|ignored| name == *ignored),
        _ => false,
    })
}
