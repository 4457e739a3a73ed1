//! Templates of a pipeline: files of its folder, on disk or in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::memo::Memo;
use super::model::{Dag, Pipeline};
use crate::jinja::{FileSystemLoader, Loader, TemplateError, record_load, split_template_path};

/// Finds templates as `FileSystemLoader` does, and in files that are in memory as if they stood in the pipeline's folder. Each
/// is read once: all runs that are rendered together see the same text of it.
#[derive(Debug)]
pub(super) struct FolderLoader {
    /// Folders in order: below the pipeline's root, and a loader for what is on disk there.
    folders: Vec<(Utf8PathBuf, FileSystemLoader)>,
    files: Arc<BTreeMap<Utf8PathBuf, Arc<str>>>,
    /// All of them: its error names every folder.
    all: FileSystemLoader,
    /// What was answered, by name.
    known: Memo<String, Result<Arc<str>, TemplateError>>,
}

impl FolderLoader {
    /// A loader over a pipeline's folder and a Dag's search path.
    pub(super) fn new(pipeline: &Pipeline, dag: &Dag) -> Self {
        let below: Vec<&Utf8Path> = std::iter::once(Utf8Path::new(""))
            .chain(dag.template_searchpath.iter().map(Utf8PathBuf::as_path))
            .collect();
        let on_disk = |folder: &Utf8Path| {
            if folder.as_str().is_empty() { pipeline.root.clone() } else { pipeline.root.join(folder) }
        };
        let one = |folder: &Utf8Path| FileSystemLoader::new([on_disk(folder).into()]);
        let folders = if pipeline.files.is_empty() {
            Vec::new()
        } else {
            below.iter().map(|folder| ((*folder).to_owned(), one(folder))).collect()
        };
        let all = FileSystemLoader::new(below.iter().map(|folder| on_disk(folder).into()));
        FolderLoader { folders, files: pipeline.files.clone(), all, known: Memo::default() }
    }

    fn find(&self, name: &str) -> Result<Arc<str>, TemplateError> {
        let pieces = split_template_path(name)?.join("/");
        for (folder, on_disk) in &self.folders {
            if let Some(text) = self.files.get(&folder.join(&pieces)) {
                return Ok(text.clone());
            }
            match on_disk.load(name) {
                Err(error) if error.class == "TemplateNotFound" => {}
                loaded => return loaded,
            }
        }
        self.all.load(name)
    }
}

impl Loader for FolderLoader {
    fn load(&self, name: &str) -> Result<Arc<str>, TemplateError> {
        record_load(name);
        self.known.get(name, || self.find(name))
    }
}
