//! Reads revisions of a git repository through the `git` program. Nothing is checked out and nothing is written to the
//! repository.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

/// Why git did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitError {
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl GitError {
    fn new(message: impl Into<String>) -> Self {
        GitError { message: message.into(), help: None }
    }
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The top of the working tree; `None` for a bare repository.
    pub top: Option<Utf8PathBuf>,
    /// The folder git was asked in, relative to the top; empty at the top.
    pub prefix: Utf8PathBuf,
    folder: Utf8PathBuf,
}

/// What kind of thing a path of a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A symbolic link; the blob is its target.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// A path of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// The name of its blob or commit.
    pub object: String,
    /// The path from the top.
    pub path: Utf8PathBuf,
}

/// The paths of a revision.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Those that can be read, sorted by path.
    pub entries: Vec<Entry>,
    /// Names that are not UTF-8, as far as they can be shown.
    pub unreadable: Vec<String>,
}

fn git(folder: &Utf8Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["--no-pager", "-c", "core.quotePath=false", "-c", "color.ui=false"]);
    command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    command
}

fn run(mut command: Command) -> Result<Vec<u8>, GitError> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => GitError {
            message: "cannot run `git`: it is not installed, or not on the path".to_owned(),
            help: Some("install git, or compare two folders".to_owned()),
        },
        _ => GitError::new(format!("cannot run `git`: {error}")),
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    let text = text.strip_prefix("fatal: ").or_else(|| text.strip_prefix("error: ")).unwrap_or(text);
    Err(GitError::new(format!("git: {}", if text.is_empty() { "it failed and did not say why" } else { text })))
}

fn text(bytes: Vec<u8>) -> Result<String, GitError> {
    let text = String::from_utf8(bytes).map_err(|_| GitError::new("git: a path or name that is not UTF-8"))?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

impl Repository {
    /// The repository that a folder is in.
    ///
    /// # Errors
    /// When there is none, or git refuses to use it.
    pub fn discover(folder: &Utf8Path) -> Result<Self, GitError> {
        let ask = |what: &[&str]| {
            let mut command = git(folder);
            command.arg("rev-parse").args(what);
            run(command).and_then(text)
        };
        let bare = ask(&["--is-bare-repository"]).map_err(|error| {
            if error.message.contains("not a git repository") {
                GitError {
                    message: "there is no git repository here".to_owned(),
                    help: Some("name two folders, or run where the repository is".to_owned()),
                }
            } else {
                error
            }
        })? == "true";
        let inside = ask(&["--is-inside-work-tree"])? == "true";
        let (top, prefix) = match bare || !inside {
            true => (None, Utf8PathBuf::new()),
            false => (
                Some(Utf8PathBuf::from(ask(&["--show-toplevel"])?)),
                Utf8PathBuf::from(ask(&["--show-prefix"])?.trim_end_matches('/')),
            ),
        };
        Ok(Repository { top, prefix, folder: folder.to_owned() })
    }

    /// The commit of a revision, or `None` when git knows no such name.
    pub fn commit(&self, revision: &str) -> Option<String> {
        let mut command = git(&self.folder);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]).arg(format!("{revision}^{{commit}}"));
        run(command).and_then(text).ok().filter(|name| !name.is_empty())
    }

    /// The commit of a revision.
    ///
    /// # Errors
    /// When git knows no such name, with what may be the reason.
    pub fn resolve(&self, revision: &str) -> Result<String, GitError> {
        if let Some(commit) = self.commit(revision) {
            return Ok(commit);
        }
        let head = self.commit("HEAD");
        let mut error = GitError::new(format!("there is no revision `{revision}`"));
        if head.is_none() {
            error.message = format!("there is no revision `{revision}`: the repository has no commit yet");
        } else if self.is_shallow() {
            error.help = Some(
                "this is a shallow clone; get more of it: `git fetch --unshallow`, or `fetch-depth: 0` of actions/checkout"
                    .to_owned(),
            );
        } else if self.commit(&format!("origin/{revision}")).is_some() {
            error.help = Some(format!("did you mean `origin/{revision}`?"));
        }
        Err(error)
    }

    fn is_shallow(&self) -> bool {
        let mut command = git(&self.folder);
        command.args(["rev-parse", "--is-shallow-repository"]);
        run(command).and_then(text).is_ok_and(|answer| answer == "true")
    }

    /// The newest commit that two revisions have in common: where `BASE...HEAD` starts.
    ///
    /// # Errors
    /// When they have none.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError> {
        let mut command = git(&self.folder);
        command.args(["merge-base", one, other]);
        run(command).and_then(text).map_err(|_| GitError {
            message: "the two revisions have no commit in common".to_owned(),
            help: Some(
                if self.is_shallow() {
                    "this is a shallow clone; get more of it: `git fetch --unshallow`"
                } else {
                    "write `BASE HEAD` to compare them as they are"
                }
                .to_owned(),
            ),
        })
    }

    /// Every path of a commit.
    ///
    /// # Errors
    /// When git fails.
    pub fn list(&self, commit: &str) -> Result<Listing, GitError> {
        let mut command = git(self.top.as_deref().unwrap_or(&self.folder));
        command.args(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit]);
        let bytes = run(command)?;
        let mut listing = Listing::default();
        for record in bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
            let (facts, path) = record.split_at(tab);
            let Ok(path) = std::str::from_utf8(path.get(1..).unwrap_or_default()) else {
                listing.unreadable.push(String::from_utf8_lossy(path.get(1..).unwrap_or_default()).into_owned());
                continue;
            };
            let facts = String::from_utf8_lossy(facts);
            let mut words = facts.split_ascii_whitespace();
            let (Some(mode), Some(_), Some(object)) = (words.next(), words.next(), words.next()) else { continue };
            let kind = match mode {
                "120000" => EntryKind::Link,
                "160000" => EntryKind::Submodule,
                _ => EntryKind::File,
            };
            listing.entries.push(Entry { kind, object: object.to_owned(), path: Utf8PathBuf::from(path) });
        }
        listing.entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(listing)
    }

    /// The contents of blobs, in order; `None` for one of more than `most` bytes.
    ///
    /// # Errors
    /// When git fails, or lacks one of them.
    pub fn blobs(&self, objects: &[&str], most: u64) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = git(&self.folder);
        command.args(["cat-file", "--batch"]);
        let fail = |error: io::Error| GitError::new(format!("git cat-file: {error}"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| GitError::new(format!("cannot run `git`: {error}")))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::new("git cat-file: no pipe"));
        };
        let requests: String = objects.iter().flat_map(|object| [object, "\n"]).collect();
        // Written from a thread of its own: git answers while it reads, and either pipe may be full.
        let writer = std::thread::spawn(move || stdin.write_all(requests.as_bytes()));
        let mut answers = BufReader::new(stdout);
        let mut contents = Vec::with_capacity(objects.len());
        for object in objects {
            let mut line = String::new();
            answers.read_line(&mut line).map_err(fail)?;
            let size = line.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
            let Some(size) = size.filter(|_| line.contains(" blob ")) else {
                let _ = child.kill();
                let _ = child.wait();
                return Err(GitError {
                    message: format!("git cannot read the object {object}"),
                    help: Some("the clone may be partial: `git fetch` gets what is missing".to_owned()),
                });
            };
            let mut blob = answers.by_ref().take(size);
            if size > most {
                io::copy(&mut blob, &mut io::sink()).map_err(fail)?;
                contents.push(None);
            } else {
                let mut content = Vec::new();
                blob.read_to_end(&mut content).map_err(fail)?;
                contents.push(Some(content));
            }
            let mut end = [0];
            answers.read_exact(&mut end).map_err(fail)?;
        }
        drop(answers);
        let _ = writer.join();
        let _ = child.wait();
        Ok(contents)
    }
}
