//! Where the templates of imported Dags are put: below a folder for each Dag, and what several Dags include in one for all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::dag::Dag;
use crate::pipeline::file_name;

/// Files of an imported pipeline.
#[derive(Debug)]
pub(super) struct Files {
    files: BTreeMap<Utf8PathBuf, String>,
    /// Names of files as templates write them that are the same for every Dag which needs them.
    shared: BTreeSet<String>,
    shared_folder: String,
    /// First parts of names as templates write them: no folder may be called so.
    reserved: BTreeSet<String>,
    /// Paths in use, in lower case: two may not differ by case alone.
    paths: BTreeSet<String>,
    /// Folders in use, in lower case.
    folders: BTreeSet<String>,
}

impl Files {
    /// Decides what Dags share.
    pub fn of(dags: &[Dag]) -> Self {
        let mut texts: BTreeMap<&str, (&Arc<str>, usize, bool)> = BTreeMap::new();
        let mut reserved = BTreeSet::new();
        for dag in dags {
            for (name, text) in &dag.needs.files {
                let entry = texts.entry(name).or_insert((text, 0, true));
                entry.1 += 1;
                entry.2 &= entry.0 == text;
            }
            let names = dag.needs.files.keys().chain(&dag.needs.missing);
            reserved.extend(names.filter_map(|name| name.split('/').next()).map(str::to_lowercase));
        }
        let missing: BTreeSet<&str> = dags.iter().flat_map(|dag| &dag.needs.missing).map(String::as_str).collect();
        let shared = |(name, (_, count, same)): (&&str, &(&Arc<str>, usize, bool))| {
            (*count > 1 && *same && !missing.contains(name)).then(|| (*name).to_owned())
        };
        let shared: BTreeSet<String> = texts.iter().filter_map(shared).collect();
        let mut files = Files {
            files: BTreeMap::new(),
            shared,
            shared_folder: String::new(),
            reserved,
            paths: BTreeSet::new(),
            folders: BTreeSet::from(["scenarios".to_owned(), "snapshots".to_owned()]),
        };
        if !files.shared.is_empty() {
            files.shared_folder = files.folder("include");
        }
        for dag in dags {
            for (name, text) in &dag.needs.files {
                if files.shared.contains(name) {
                    let path = Utf8PathBuf::from(&files.shared_folder).join(name);
                    files.files.insert(path, text.to_string());
                }
            }
        }
        files
    }

    /// A folder of that name, or one like it that is free.
    pub fn folder(&mut self, name: &str) -> String {
        let base = readable(name);
        let mut candidate = base.clone();
        let mut ordinal = 1;
        while self.reserved.contains(&candidate.to_lowercase()) || self.folders.contains(&candidate.to_lowercase()) {
            ordinal += 1;
            candidate = format!("{base}_{ordinal}");
        }
        self.folders.insert(candidate.to_lowercase());
        candidate
    }

    /// True when Dags share files.
    pub fn shares(&self) -> bool {
        !self.shared.is_empty()
    }

    /// The folder of what Dags share.
    pub fn shared_folder(&self) -> String {
        self.shared_folder.clone()
    }

    /// Adds a file that is a Dag's own, unless it is shared. True when it was put into the folder.
    pub fn include(&mut self, folder: &str, name: &str, text: &str) -> bool {
        if self.shared.contains(name) {
            return false;
        }
        self.files.insert(Utf8PathBuf::from(folder).join(name), text.to_owned());
        true
    }

    /// Adds the text of a field, under a name like the one that is wished; returns the name below the folder.
    pub fn field(&mut self, folder: &str, dag: &Dag, stem: &str, ending: &str, text: &str) -> String {
        let base = readable(stem);
        let mut named: BTreeSet<String> = BTreeSet::new();
        named.extend(dag.needs.files.keys().chain(&dag.needs.missing).map(|known| known.to_lowercase()));
        let taken = |name: &str| {
            let path = Utf8PathBuf::from(folder).join(name).as_str().to_lowercase();
            named.contains(&name.to_lowercase()) || self.paths.contains(&path)
        };
        let mut name = format!("{base}{ending}");
        // Names that are worked out while a template renders may be any: none is likely to be below this folder.
        let prefix = if dag.needs.dynamic { "fields_of_tasks/" } else { "" };
        let mut ordinal = 1;
        while taken(&format!("{prefix}{name}")) {
            ordinal += 1;
            name = format!("{base}_{ordinal}{ending}");
        }
        let name = format!("{prefix}{name}");
        self.paths.insert(Utf8PathBuf::from(folder).join(&name).as_str().to_lowercase());
        self.files.insert(Utf8PathBuf::from(folder).join(&name), text.to_owned());
        name
    }

    /// All of them, by path.
    pub fn into_files(self) -> Vec<(Utf8PathBuf, String)> {
        self.files.into_iter().collect()
    }
}

/// A file name for an id: the id itself where every file system takes it.
fn readable(id: &str) -> String {
    let plain = id.len() <= 90
        && !id.starts_with('.')
        && !id.ends_with('.')
        && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let lower = id.to_lowercase();
    // Device names of Windows are no file names there.
    let device = !file_name(&lower.replace(|c: char| c.is_ascii_digit(), "0"))
        .starts_with(lower.chars().next().unwrap_or('%'))
        && lower.starts_with(|c: char| c.is_ascii_alphabetic());
    if plain && !device { id.to_owned() } else { file_name(id) }
}
