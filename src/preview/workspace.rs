//! What was last read from disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use super::answer::{Failure, Reply};
use super::scene::{Scene, SceneKey};
use crate::pipeline::{self, Pipeline, Problem, Scenario};

/// Bytes of answers that are kept until the next change.
const KEPT_BYTES: usize = 32 << 20;

/// Answers that are kept until the next change.
const KEPT_ANSWERS: usize = 10_000;

/// Scenes that are kept until the next change.
const KEPT_SCENES: usize = 256;

/// A scenario file, read or not.
#[derive(Debug)]
pub struct ScenarioFile {
    /// The file's name without its ending.
    pub name: String,
    /// The file.
    pub path: Utf8PathBuf,
    /// The scenario, or everything that is wrong with it.
    pub loaded: Result<Arc<Scenario>, Vec<Problem>>,
}

/// A pipeline's folder, read or not.
#[derive(Debug)]
pub struct Folder {
    /// The pipeline's name; it has one even when its file cannot be read.
    pub name: String,
    /// The folder or file.
    pub path: Utf8PathBuf,
    /// The pipeline, or everything that is wrong with its file.
    pub loaded: Result<Arc<Pipeline>, Vec<Problem>>,
    /// Its scenarios; none when the pipeline cannot be read.
    pub scenarios: Vec<ScenarioFile>,
}

type Cell = Arc<OnceLock<Result<Arc<Scene>, Failure>>>;

/// Every pipeline as it was read at one moment, and what was worked out from that since.
#[derive(Debug)]
pub struct Workspace {
    /// Counts the readings, from 1.
    pub revision: u64,
    /// The pipelines, in the order they were named.
    pub folders: Vec<Folder>,
    /// Why the folders themselves could not be found.
    pub missing: Option<String>,
    scenes: Mutex<HashMap<SceneKey, Cell>>,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    bytes: usize,
    known: HashMap<String, Arc<OnceLock<Reply>>>,
}

impl Workspace {
    /// Reads pipelines and their scenarios. What cannot be read is part of the result.
    pub fn read(revision: u64, folders: Result<Vec<Utf8PathBuf>, String>) -> Self {
        let (folders, missing) = match folders {
            Ok(folders) => (folders, None),
            Err(missing) => (Vec::new(), Some(missing)),
        };
        let mut read: Vec<Folder> = Vec::with_capacity(folders.len());
        let mut names: HashMap<String, usize> = HashMap::new();
        for path in &folders {
            let mut folder = read_folder(path);
            // Requests name pipelines: folders of one name are told apart by a number.
            let count = names.entry(folder.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                folder.name = format!("{}~{count}", folder.name);
            }
            read.push(folder);
        }
        Workspace { revision, folders: read, missing, scenes: Mutex::default(), answers: Mutex::default() }
    }

    /// The folder of that name.
    pub fn folder(&self, name: &str) -> Option<&Folder> {
        self.folders.iter().find(|folder| folder.name == name)
    }

    /// Folders that templates are searched in and that lie outside of their pipelines.
    pub fn search_folders(&self) -> Vec<Utf8PathBuf> {
        let pipelines = self.folders.iter().filter_map(|folder| folder.loaded.as_ref().ok());
        let mut found = Vec::new();
        for pipeline in pipelines {
            let Ok(root) = pipeline.root.canonicalize_utf8() else { continue };
            let of_dags = pipeline.dags.iter().flat_map(|dag| &dag.template_searchpath);
            let searched = pipeline.template_searchpath.iter().chain(of_dags).map(|folder| pipeline.root.join(folder));
            let outside = searched.filter_map(|folder| folder.canonicalize_utf8().ok());
            found.extend(outside.filter(|folder| folder.is_dir() && !folder.starts_with(&root)));
        }
        found.sort();
        found.dedup();
        found
    }

    /// A scene, made when it is first asked for.
    pub(super) fn scene(
        &self,
        key: SceneKey,
        make: impl FnOnce() -> Result<Arc<Scene>, Failure>,
    ) -> Result<Arc<Scene>, Failure> {
        let cell = {
            let mut scenes = self.scenes.lock().unwrap_or_else(PoisonError::into_inner);
            if scenes.len() >= KEPT_SCENES && !scenes.contains_key(&key) {
                scenes.clear();
            }
            scenes.entry(key).or_default().clone()
        };
        cell.get_or_init(make).clone()
    }

    /// The answer to a request: made once, whoever else asks the same in the meantime waits for it.
    pub(super) fn answered(&self, target: &str, make: impl FnOnce() -> Reply) -> Reply {
        let lock = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = lock().known.entry(target.to_owned()).or_default().clone();
        let mut made = false;
        let reply = cell.get_or_init(|| {
            made = true;
            make()
        });
        if made {
            let mut answers = lock();
            answers.bytes += target.len() + reply.len();
            if answers.bytes > KEPT_BYTES || answers.known.len() > KEPT_ANSWERS {
                *answers = Answers::default();
            }
        }
        reply.clone()
    }
}

/// The name that requests give to the pipeline in a folder or a file.
pub fn pipeline_name(path: &Utf8Path) -> String {
    let root = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    pipeline::name_of(if root.as_str().is_empty() { Utf8Path::new(".") } else { root })
}

fn read_folder(path: &Utf8Path) -> Folder {
    let loaded = pipeline::load(path).map(Arc::new);
    let (name, scenarios) = match &loaded {
        Ok(pipeline) => (pipeline.name.clone(), read_scenarios(pipeline)),
        Err(_) => (pipeline_name(path), Vec::new()),
    };
    Folder { name, path: path.to_owned(), loaded, scenarios }
}

fn read_scenarios(pipeline: &Pipeline) -> Vec<ScenarioFile> {
    let read = |path: Utf8PathBuf| ScenarioFile {
        name: path.file_stem().unwrap_or_default().to_owned(),
        loaded: pipeline::load_scenario(&path, pipeline).map(Arc::new),
        path,
    };
    match pipeline::scenario_files(pipeline) {
        Ok(files) => files.into_iter().map(read).collect(),
        Err(problems) => {
            let (name, path) = ("scenarios".to_owned(), pipeline.root.join("scenarios"));
            vec![ScenarioFile { name, path, loaded: Err(problems) }]
        }
    }
}
