//! A project in a temporary folder, and the real binary run in it.

#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod preview;
pub mod samples;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Files in a temporary folder.
#[must_use]
pub struct Project {
    dir: tempfile::TempDir,
    stdin: Option<String>,
    env: Vec<(String, String)>,
}

/// What a command did: everything is compared exactly.
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Project {
    pub fn new() -> Self {
        Project { dir: tempfile::tempdir().unwrap(), stdin: None, env: Vec::new() }
    }

    /// Adds a file; a common indent is removed from its lines.
    pub fn file(self, path: &str, text: &str) -> Self {
        self.raw(path, &unindent(text))
    }

    /// Adds a file exactly as given.
    pub fn raw(self, path: &str, text: &str) -> Self {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Changes a file.
    pub fn edit(self, path: &str, change: impl FnOnce(String) -> String) -> Self {
        let text = change(self.read(path));
        self.raw(path, &text)
    }

    /// Adds a copy of a folder of the repository.
    pub fn copy(self, from: &str, to: &str) -> Self {
        copy_dir(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(from), &self.dir.path().join(to));
        self
    }

    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = Some(text.to_owned());
        self
    }

    /// Sets a variable of the environment; the last of a name counts.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Every file below a folder, as relative paths, sorted.
    pub fn tree(&self, below: &str) -> Vec<String> {
        let root = self.path(below);
        let mut found = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    found.push(entry.path().strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// Runs partita in the folder, with an environment that holds nothing but what is needed.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    /// The same with variables in the environment.
    #[track_caller]
    pub fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        self.run_at("", args, variables)
    }

    /// The same in a folder of the project.
    #[track_caller]
    pub fn run_at(&self, folder: &str, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_partita"));
        command.args(args).current_dir(self.path(folder)).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.stdin.clone().unwrap_or_default();
        let writer = std::thread::spawn(move || {
            use std::io::Write;
            let _ = stdin.write_all(input.as_bytes());
        });
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran {
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
            code: status.code().unwrap_or(-1),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    #[track_caller]
    pub fn stdout(self, expected: &str) -> Self {
        assert_eq!(self.stdout, unindent(expected), "stderr:\n{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn stderr(self, expected: &str) -> Self {
        assert_eq!(self.stderr, unindent(expected), "stdout:\n{}", self.stdout);
        self
    }

    #[track_caller]
    pub fn stdout_has(self, part: &str) -> Self {
        assert!(self.stdout.contains(part), "not in stdout: {part}\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn stderr_has(self, part: &str) -> Self {
        assert!(self.stderr.contains(part), "not in stderr: {part}\n{}", self.stderr);
        self
    }
}

/// Removes the indent that all lines share, and a first line that is empty.
pub fn unindent(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let mut lines: Vec<&str> = text.split('\n').map(|line| line.get(indent..).unwrap_or("")).collect();
    if lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
        lines.push("");
    }
    lines.join("\n")
}

fn copy_dir(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
