//! A running preview: what was last read, and who is told when that changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use camino::Utf8PathBuf;
use tokio::sync::watch;

use super::queue::Queues;
use super::workspace::Workspace;
use crate::jinja::Engine;

/// Finds the folders of pipelines, or says why there are none.
pub type Discover = Box<dyn Fn() -> Result<Vec<Utf8PathBuf>, String> + Send + Sync>;

/// What a preview is about.
pub struct Options {
    /// Finds the pipelines: asked again whenever something changes.
    pub discover: Discover,
    /// The tree of accepted snapshots.
    pub snapshots: Utf8PathBuf,
    /// The open queue behind `/api/v1`, `/api/v2` and `/api/partitions`, if one is open.
    pub queues: Option<Queues>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("snapshots", &self.snapshots)
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}

/// A change on disk that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The revision there is now.
    pub revision: u64,
    /// The files that changed since the revision before.
    pub paths: Vec<Utf8PathBuf>,
    /// False when some pipeline or scenario cannot be read.
    pub ok: bool,
}

/// A running preview.
#[derive(Debug)]
pub struct Preview {
    pub(super) options: Options,
    pub(super) engine: Engine,
    current: RwLock<Arc<Workspace>>,
    changes: watch::Sender<Change>,
    reading: Mutex<()>,
    revision: AtomicU64,
}

impl Preview {
    /// Reads everything for the first time.
    pub fn new(options: Options) -> Self {
        let workspace = Workspace::read(1, (options.discover)());
        let (changes, _) = watch::channel(change(&workspace, Vec::new()));
        Preview {
            options,
            engine: Engine::new(),
            current: RwLock::new(Arc::new(workspace)),
            changes,
            reading: Mutex::new(()),
            revision: AtomicU64::new(1),
        }
    }

    /// What was last read.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The open queue, if one is open.
    pub fn queues(&self) -> Option<&Queues> {
        self.options.queues.as_ref()
    }

    /// Reads everything again because these files changed, and tells who listens.
    pub fn reload(&self, paths: Vec<Utf8PathBuf>) {
        // One at a time: a reading that began earlier must not take the place of one that began later.
        let _one = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        let workspace = Workspace::read(revision, (self.options.discover)());
        let change = change(&workspace, paths);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(workspace);
        self.changes.send_replace(change);
    }

    /// The latest change, and every one after it.
    pub fn changes(&self) -> watch::Receiver<Change> {
        self.changes.subscribe()
    }
}

fn change(workspace: &Workspace, paths: Vec<Utf8PathBuf>) -> Change {
    let ok = workspace.missing.is_none()
        && workspace
            .folders
            .iter()
            .all(|folder| folder.loaded.is_ok() && folder.scenarios.iter().all(|scenario| scenario.loaded.is_ok()));
    Change { revision: workspace.revision, paths, ok }
}
