//! Where included, imported and extended templates come from.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::TemplateError;

/// Finds a template's source by name, as `jinja2.FileSystemLoader` does.
pub trait Loader: fmt::Debug + Send + Sync {
    /// The source; the error is `TemplateNotFound` with the loader's text, or what reading raised.
    fn load(&self, name: &str) -> Result<Arc<str>, TemplateError>;
}

/// Splits a template name as Jinja2 does: empty and `.` segments vanish, a name with a `..` segment is not found.
pub fn split_template_path(name: &str) -> Result<Vec<&str>, TemplateError> {
    let mut pieces = Vec::new();
    for piece in name.split('/') {
        if piece == ".." {
            return Err(TemplateError::not_found(name));
        }
        if !piece.is_empty() && piece != "." {
            pieces.push(piece);
        }
    }
    Ok(pieces)
}

/// `'x.sql' not found in search path: '/a'`, as `FileSystemLoader` words it for one or several folders.
fn not_in_search_path(name: &str, search_path: &[String]) -> TemplateError {
    let repr = crate::jinja::error::quoted;
    let plural = if search_path.len() == 1 { "path" } else { "paths" };
    let folders = search_path.iter().map(|folder| repr(folder)).collect::<Vec<_>>().join(", ");
    TemplateError::not_found(format!("{} not found in search {plural}: {folders}", repr(name)))
}

/// Templates in folders, searched in order.
#[derive(Debug, Clone)]
pub struct FileSystemLoader {
    /// Folder to read, and the text by which error messages name it.
    folders: Vec<(PathBuf, String)>,
}

impl FileSystemLoader {
    /// A loader over folders, each named in messages by its path.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        FileSystemLoader {
            folders: folders.into_iter().map(|folder| (folder.clone(), folder.display().to_string())).collect(),
        }
    }

    /// A loader over folders whose text in messages is given (the path Airflow would have there).
    pub fn with_names(folders: Vec<(PathBuf, String)>) -> Self {
        FileSystemLoader { folders }
    }
}

thread_local! {
    static ASKED_FOR: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Does some work and says which templates it asked file system loaders for on this thread, by name and whether they were
/// found or not; each once, in the order they were first asked for.
pub fn recording_loads<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let outer = ASKED_FOR.replace(Some(Vec::new()));
    let done = work();
    let names = ASKED_FOR.replace(outer).unwrap_or_default();
    names.iter().for_each(|name| record_load(name));
    (done, names)
}

/// Notes that a template was asked for: [`FileSystemLoader`] does it itself, a loader that answers without one calls it.
pub fn record_load(name: &str) {
    ASKED_FOR.with_borrow_mut(|names| {
        if let Some(names) = names
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    });
}

impl Loader for FileSystemLoader {
    fn load(&self, name: &str) -> Result<Arc<str>, TemplateError> {
        record_load(name);
        let pieces = split_template_path(name)?;
        for (folder, _) in &self.folders {
            let mut path = folder.clone();
            path.extend(&pieces);
            if path.is_file() {
                let bytes = std::fs::read(&path).map_err(|error| TemplateError::new("OSError", error.to_string()))?;
                return match String::from_utf8(bytes) {
                    Ok(text) => Ok(text.into()),
                    Err(error) => Err(TemplateError::new(
                        "UnicodeDecodeError",
                        format!("'utf-8' codec can't decode bytes at position {}", error.utf8_error().valid_up_to()),
                    )),
                };
            }
        }
        let names: Vec<String> = self.folders.iter().map(|(_, name)| name.clone()).collect();
        Err(not_in_search_path(name, &names))
    }
}

/// Templates in memory, with the texts of a `FileSystemLoader` over one folder.
#[derive(Debug, Clone)]
pub struct MemoryLoader {
    files: BTreeMap<String, Arc<str>>,
    search_path: String,
}

impl MemoryLoader {
    /// A loader over files by name; `search_path` is how messages name the folder.
    pub fn new(files: impl IntoIterator<Item = (String, String)>, search_path: impl Into<String>) -> Self {
        MemoryLoader {
            files: files.into_iter().map(|(name, text)| (name, text.into())).collect(),
            search_path: search_path.into(),
        }
    }
}

impl Loader for MemoryLoader {
    fn load(&self, name: &str) -> Result<Arc<str>, TemplateError> {
        let key = split_template_path(name)?.join("/");
        match self.files.get(&key) {
            Some(source) => Ok(source.clone()),
            None => Err(not_in_search_path(name, std::slice::from_ref(&self.search_path))),
        }
    }
}
