//! A side's files on disk: a folder as it is, or what a revision needs of its files in a temporary folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::git::{Entry, EntryKind, GitError, Listing, Repository};
use crate::pipeline::{FILE_NAMES, yaml};

/// Files larger than this are left out: nothing that partita reads is so large.
const MAX_FILE: u64 = 16 << 20;

/// Most files of one pipeline that are looked at for what changed.
const MAX_FILES: usize = 20_000;

/// Most bytes of one pipeline's files that are held to see what changed.
const MAX_BYTES: u64 = 256 << 20;

/// How the pointer of a file in Git LFS begins.
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// Links followed one after another in a revision.
const MAX_LINKS: usize = 16;

/// A folder to which all paths of a side are relative.
#[derive(Debug)]
pub struct Tree {
    /// The folder.
    pub root: Utf8PathBuf,
    /// What could not be read, one sentence each.
    pub notes: Vec<String>,
    /// Where pipelines are looked for: their folders or files, relative to the root.
    pub pipelines: Vec<Utf8PathBuf>,
    /// Removes the temporary folder in the end.
    _temporary: Option<tempfile::TempDir>,
}

/// Which pipelines.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Those named, relative to the root.
    Named(Vec<Utf8PathBuf>),
    /// Every pipeline directly below this folder.
    Below(Utf8PathBuf),
}

impl Tree {
    /// A folder as it is.
    pub fn of_folder(root: &Utf8Path, wanted: &Wanted) -> Self {
        let exists = |path: &Utf8Path| root.join(path).is_file();
        let folders = |path: &Utf8Path| {
            let mut found: Vec<Utf8PathBuf> = root
                .join(path)
                .read_dir_utf8()
                .into_iter()
                .flatten()
                .filter_map(Result::ok)
                .filter(|entry| entry.path().is_dir())
                .map(|entry| path.join(entry.file_name()))
                .collect();
            found.sort();
            found
        };
        Tree { root: root.to_owned(), notes: Vec::new(), pipelines: find(wanted, &exists, &folders), _temporary: None }
    }

    /// What a commit's pipelines need, in a temporary folder, and the folders `also`.
    ///
    /// # Errors
    /// When git fails or the folder cannot be written.
    pub fn of_commit(
        repository: &Repository,
        commit: &str,
        wanted: &Wanted,
        also: &BTreeSet<Utf8PathBuf>,
    ) -> Result<Self, GitError> {
        let fail = |error: std::io::Error| GitError {
            message: format!("cannot write the files of {commit} to a temporary folder: {error}"),
            help: None,
        };
        let listing = repository.list(commit)?;
        let temporary = tempfile::Builder::new().prefix("partita-diff-").tempdir().map_err(fail)?;
        let root = Utf8PathBuf::from_path_buf(temporary.path().to_path_buf()).map_err(|path| GitError {
            message: format!("the temporary folder {} is not UTF-8", path.display()),
            help: None,
        })?;
        let files: BTreeMap<&Utf8Path, &Entry> =
            listing.entries.iter().map(|entry| (entry.path.as_path(), entry)).collect();
        let exists = |path: &Utf8Path| files.get(path).is_some_and(|entry| entry.kind != EntryKind::Submodule);
        let folders = |path: &Utf8Path| -> Vec<Utf8PathBuf> {
            let mut names = BTreeSet::new();
            for entry in below(&listing, path) {
                let rest = entry.path.strip_prefix(path).unwrap_or(&entry.path);
                let mut parts = rest.components();
                if let (Some(name), Some(_)) = (parts.next(), parts.next()) {
                    names.insert(path.join(name));
                }
            }
            names.into_iter().collect()
        };
        let pipelines = find(wanted, &exists, &folders);
        let mut writer = Writer {
            repository,
            listing: &listing,
            files: &files,
            root: &root,
            done: BTreeSet::new(),
            notes: Vec::new(),
        };
        let mut todo: Vec<Utf8PathBuf> = pipelines.iter().map(|path| folder_of(path, &exists)).collect();
        todo.extend(also.iter().cloned());
        while !todo.is_empty() {
            writer.write(&todo)?;
            let mut more = BTreeSet::new();
            for pipeline in &pipelines {
                for folder in search_path(&root, pipeline) {
                    if let Some(folder) = normal(&folder)
                        && !writer.done.iter().any(|done| folder.starts_with(done))
                    {
                        more.insert(folder);
                    }
                }
            }
            todo = more.into_iter().collect();
        }
        let mut notes = writer.notes;
        for name in &listing.unreadable {
            if pipelines.iter().any(|path| name.starts_with(path.as_str())) {
                notes.push(format!("{name}: its name is not UTF-8; it was left out"));
            }
        }
        notes.sort();
        notes.dedup();
        Ok(Tree { root, notes, pipelines, _temporary: Some(temporary) })
    }

    /// Folders inside of the tree that its pipelines name as search path.
    pub fn search_folders(&self) -> BTreeSet<Utf8PathBuf> {
        let folders = self.pipelines.iter().flat_map(|pipeline| search_path(&self.root, pipeline));
        folders.filter_map(|folder| normal(&folder)).collect()
    }

    /// Names of the scenarios of all pipelines.
    pub fn scenarios(&self) -> Vec<String> {
        let is_file = |path: &Utf8Path| self.root.join(path).is_file();
        let folders = self.pipelines.iter().map(|path| self.root.join(folder_of(path, &is_file)).join("scenarios"));
        let files = folders.flat_map(|folder| folder.read_dir_utf8().into_iter().flatten().filter_map(Result::ok));
        let stems = files.filter_map(|entry| entry.path().file_stem().map(str::to_owned));
        stems.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Hides the folder's own path in a message: what is said must not depend on where a side lies.
    pub fn hide(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root), "").replace(self.root.as_str(), ".")
    }
}

/// The paths of a revision below a folder.
fn below<'a>(listing: &'a Listing, folder: &Utf8Path) -> impl Iterator<Item = &'a Entry> + use<'a> {
    let start = listing.entries.partition_point(|entry| entry.path.as_path() < folder);
    let folder = folder.to_owned();
    listing.entries.get(start..).unwrap_or_default().iter().take_while(move |entry| entry.path.starts_with(&folder))
}

fn find(
    wanted: &Wanted,
    is_file: &dyn Fn(&Utf8Path) -> bool,
    folders: &dyn Fn(&Utf8Path) -> Vec<Utf8PathBuf>,
) -> Vec<Utf8PathBuf> {
    let is_pipeline = |folder: &Utf8Path| FILE_NAMES.iter().any(|name| is_file(&folder.join(name)));
    let inside = |folder: &Utf8Path| -> Vec<Utf8PathBuf> {
        folders(folder).into_iter().filter(|folder| is_pipeline(folder)).collect()
    };
    let named = match wanted {
        Wanted::Below(folder) => return inside(folder),
        Wanted::Named(named) => named,
    };
    let mut found = Vec::new();
    for path in named {
        if is_file(path) || is_pipeline(path) {
            found.push(path.clone());
        } else {
            // A folder of pipelines stands for each of them.
            found.extend(inside(path));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn folder_of(path: &Utf8Path, is_file: &dyn Fn(&Utf8Path) -> bool) -> Utf8PathBuf {
    if is_file(path) { path.parent().unwrap_or(Utf8Path::new("")).to_owned() } else { path.to_owned() }
}

/// A path without `.` and `..`; `None` when it leaves the root or is absolute.
pub fn normal(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            camino::Utf8Component::Normal(name) => parts.push(name),
            camino::Utf8Component::CurDir => {}
            camino::Utf8Component::ParentDir => {
                parts.pop()?;
            }
            _ => return None,
        }
    }
    Some(parts.join("/").into())
}

/// The folders that a pipeline's file names as search path, joined to its own, not normalised.
pub fn search_path(root: &Utf8Path, pipeline: &Utf8Path) -> Vec<Utf8PathBuf> {
    let file = match root.join(pipeline).is_file() {
        true => Some(pipeline.to_owned()),
        false => FILE_NAMES.iter().map(|name| pipeline.join(name)).find(|file| root.join(file).is_file()),
    };
    let Some(file) = file else { return Vec::new() };
    let Ok(tree) = yaml::read(&root.join(&file)).and_then(|source| yaml::parse(&source)) else { return Vec::new() };
    let folder = file.parent().unwrap_or(Utf8Path::new(""));
    let mut names: Vec<serde_json::Value> =
        tree.get("template_searchpath").map(yaml::Node::to_json).into_iter().collect();
    if let Some(serde_json::Value::Object(dags)) = tree.get("dags").map(yaml::Node::to_json) {
        names.extend(dags.into_iter().filter_map(|(_, dag)| dag.get("template_searchpath").cloned()));
    }
    let texts = names.iter().flat_map(|value| match value {
        serde_json::Value::Array(items) => items.iter().filter_map(serde_json::Value::as_str).collect(),
        serde_json::Value::String(text) => vec![text.as_str()],
        _ => Vec::new(),
    });
    texts.map(|text| folder.join(text)).collect()
}

/// Writes parts of a revision to a folder.
struct Writer<'a> {
    repository: &'a Repository,
    listing: &'a Listing,
    files: &'a BTreeMap<&'a Utf8Path, &'a Entry>,
    root: &'a Utf8Path,
    /// Folders that are written, with all below them.
    done: BTreeSet<Utf8PathBuf>,
    notes: Vec<String>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, folders: &[Utf8PathBuf]) -> Result<(), GitError> {
        let fail = |path: &Utf8Path, error: std::io::Error| GitError {
            message: format!("cannot write {path} to a temporary folder: {error}"),
            help: None,
        };
        let mut wanted: Vec<(Utf8PathBuf, &'a Entry)> = Vec::new();
        for folder in folders {
            self.done.insert(folder.clone());
            // A folder that exists on disk only while it holds files: git knows no empty ones.
            for entry in below(self.listing, folder) {
                self.collect(&entry.path, entry, &mut wanted)?;
            }
            if let Some(module) = self
                .listing
                .entries
                .iter()
                .find(|entry| entry.kind == EntryKind::Submodule && folder.starts_with(&entry.path))
            {
                self.notes.push(submodule(&module.path));
            }
        }
        let objects: Vec<&str> = wanted.iter().map(|(_, entry)| entry.object.as_str()).collect();
        let contents = self.repository.blobs(&objects, MAX_FILE)?;
        for ((path, _), content) in wanted.iter().zip(contents) {
            let Some(content) = content else {
                self.notes.push(format!("{path} has more than {MAX_FILE} bytes; it was left out"));
                continue;
            };
            let target = self.root.join(path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(|error| fail(path, error))?;
            }
            fs::write(&target, content).map_err(|error| fail(path, error))?;
        }
        Ok(())
    }

    fn collect(
        &mut self,
        path: &Utf8Path,
        entry: &'a Entry,
        wanted: &mut Vec<(Utf8PathBuf, &'a Entry)>,
    ) -> Result<(), GitError> {
        match entry.kind {
            EntryKind::Submodule => self.notes.push(submodule(&entry.path)),
            EntryKind::File => wanted.push((path.to_owned(), entry)),
            EntryKind::Link => self.follow(path, entry, 0, wanted)?,
        }
        Ok(())
    }

    /// A link inside the revision stands for what it points to; one that leads out of it is left out.
    fn follow(
        &mut self,
        path: &Utf8Path,
        entry: &Entry,
        links: usize,
        wanted: &mut Vec<(Utf8PathBuf, &'a Entry)>,
    ) -> Result<(), GitError> {
        let target = self.repository.blobs(&[&entry.object], MAX_FILE)?.pop().flatten().unwrap_or_default();
        let target = String::from_utf8_lossy(&target).into_owned();
        let parent = entry.path.parent().unwrap_or(Utf8Path::new(""));
        let Some(inside) = normal(&parent.join(&target)).filter(|_| links < MAX_LINKS) else {
            self.notes.push(format!("{path} is a link to {target}, outside of the repository; it was left out"));
            return Ok(());
        };
        if path.starts_with(&inside) {
            self.notes.push(format!("{path} is a link to a folder that it is in; it was left out"));
            return Ok(());
        }
        let (files, listing) = (self.files, self.listing);
        if let Some(found) = files.get(inside.as_path()).copied() {
            if found.kind == EntryKind::File {
                wanted.push((path.to_owned(), found));
                return Ok(());
            }
            return self.follow(path, found, links + 1, wanted);
        }
        for found in below(listing, &inside) {
            let rest = found.path.strip_prefix(&inside).unwrap_or(&found.path).to_owned();
            if found.kind == EntryKind::File {
                wanted.push((path.join(rest), found));
            }
        }
        Ok(())
    }
}

fn submodule(path: &Utf8Path) -> String {
    format!("{path} is a submodule: what it held at that revision is not in this repository and was left out")
}

/// The files a pipeline can read, by path from the root, with their contents. `None` for a file that is too large.
pub type Files = BTreeMap<Utf8PathBuf, Option<Arc<[u8]>>>;

/// Reads every file of a pipeline's folder and of its search path; `None` when they are too many or too large.
///
/// The search path of the `other` side is read too: a file that only one side names is not one that came or went.
pub fn files(root: &Utf8Path, pipeline: &Utf8Path, other: &Utf8Path) -> Option<Files> {
    let folder = folder_of(pipeline, &|path| root.join(path).is_file());
    let mut todo = vec![folder];
    todo.extend(search_path(root, pipeline).into_iter().map(|path| normal(&path).unwrap_or(path)));
    todo.extend(search_path(other, pipeline).iter().filter_map(|path| normal(path)));
    let mut seen: BTreeSet<Utf8PathBuf> = BTreeSet::new();
    let mut files = Files::new();
    let mut bytes = 0_u64;
    while let Some(folder) = todo.pop() {
        // By its real place: a link may lead back.
        if !root.join(&folder).canonicalize_utf8().is_ok_and(|real| seen.insert(real)) {
            continue;
        }
        for entry in root.join(&folder).read_dir_utf8().into_iter().flatten().filter_map(Result::ok) {
            let path = folder.join(entry.file_name());
            let Ok(facts) = fs::metadata(entry.path()) else { continue };
            if facts.is_dir() {
                if entry.file_name() != ".git" {
                    todo.push(path);
                }
            } else if facts.is_file() {
                bytes = bytes.saturating_add(facts.len().min(MAX_FILE));
                let content = match facts.len() > MAX_FILE {
                    true => None,
                    false => fs::read(entry.path()).ok().map(Into::into),
                };
                files.insert(path, content);
                if files.len() > MAX_FILES || bytes > MAX_BYTES {
                    return None;
                }
            }
        }
    }
    Some(files)
}

/// True for the pointer that stands in place of a file in Git LFS.
pub fn is_lfs_pointer(content: &[u8]) -> bool {
    content.starts_with(LFS)
}

/// True when two contents are equal but for the ends of their lines, which templates and YAML do not tell apart.
pub fn same_content(one: &[u8], other: &[u8]) -> bool {
    let plain = |bytes: &[u8]| -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for (at, byte) in bytes.iter().enumerate() {
            if !(*byte == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
                out.push(*byte);
            }
        }
        out
    };
    one == other || plain(one) == plain(other)
}
