//! A Dag folder, read by the user's own Airflow: an interpreter of theirs runs a small script that serializes what it finds.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value as Json};

use super::{ImportError, SerializedDag};

/// The script; it needs nothing but Airflow.
const SCRIPT: &str = include_str!("dags.py");

/// Most bytes that the interpreter may answer.
const MAX_ANSWER: u64 = 512 << 20;

/// Bytes of its standard error that are kept.
const MAX_ERRORS: usize = 64 << 10;

/// What an interpreter found.
#[derive(Debug)]
pub struct DagFolder {
    /// The version of its Airflow.
    pub airflow: String,
    /// Dags that could be serialized.
    pub dags: Vec<SerializedDag>,
    /// Files that could not be imported: the file, and Airflow's text.
    pub errors: Vec<(String, String)>,
}

/// Asks an interpreter for the Dags of a folder or file, and gives it that much time.
///
/// # Errors
/// An interpreter that cannot be started, has no Airflow, does not end in time or ends before it is done.
pub fn read(folder: &Utf8Path, python: &Utf8Path, timeout: Duration) -> Result<DagFolder, ImportError> {
    let absolute: Utf8PathBuf = folder
        .canonicalize_utf8()
        .map_err(|error| ImportError::new(format!("cannot read the Dag folder {folder}: {error}")))?;
    // One file may take half of it, so that the others are kept.
    let each = (timeout.as_secs() / 2).clamp(1, 30).to_string();
    let mut child = Command::new(python)
        .args(["-c", SCRIPT, absolute.as_str(), &each])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            ImportError::new(format!("cannot run {python}: {error}"))
                .help("--python names the interpreter of your Airflow, such as venv/bin/python")
        })?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(ImportError::new(format!("cannot read what {python} prints")));
    };
    let (send, receive) = channel();
    let answers = send.clone();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout.take(MAX_ANSWER)).split(b'\n');
        while let Some(Ok(line)) = lines.next() {
            if answers.send(Told::Line(line)).is_err() {
                return;
            }
        }
        let _ = answers.send(Told::End);
    });
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut chunk = [0_u8; 4096];
        let mut stderr = stderr;
        while let Ok(count @ 1..) = stderr.read(&mut chunk) {
            kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let over = kept.len().saturating_sub(MAX_ERRORS);
            kept.drain(..over);
        }
        let _ = send.send(Told::Errors(String::from_utf8_lossy(&kept).into_owned()));
    });
    let told = listen(&receive, timeout);
    // It has told all, or is not waited for any longer.
    let _ = child.kill();
    let _ = child.wait();
    let (lines, errors) = told.map_err(|lines| {
        let found = lines.iter().filter(|line| line.get("data").is_some()).count();
        ImportError::new(format!(
            "{python} did not read {folder} within {} s ({found} Dags by then)",
            timeout.as_secs()
        ))
        .help("give it more time: --timeout SECONDS")
    })?;
    understand(lines, &errors, folder, python)
}

enum Told {
    Line(Vec<u8>),
    End,
    Errors(String),
}

/// Takes lines until both streams ended. The error holds what came before time was up.
fn listen(
    receive: &std::sync::mpsc::Receiver<Told>,
    timeout: Duration,
) -> Result<(Vec<Map<String, Json>>, String), Vec<Map<String, Json>>> {
    let mut lines: Vec<Map<String, Json>> = Vec::new();
    let (mut ended, mut errors) = (false, None);
    // A timer of its own: what comes in does not buy more time.
    let (alarm, ring) = channel::<()>();
    let timer = thread::spawn(move || {
        let _ = ring.recv_timeout(timeout);
    });
    let done = loop {
        if ended && errors.is_some() {
            break true;
        }
        match receive.recv_timeout(Duration::from_millis(50)) {
            Ok(Told::Line(line)) => {
                if let Ok(Json::Object(line)) = serde_json::from_slice(&line) {
                    let end = line.contains_key("end");
                    lines.push(line);
                    if end {
                        // Whatever the interpreter still does is no concern.
                        break true;
                    }
                }
            }
            Ok(Told::End) => ended = true,
            Ok(Told::Errors(text)) => errors = Some(text),
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if timer.is_finished() {
            break false;
        }
    };
    drop(alarm);
    if done { Ok((lines, errors.unwrap_or_default())) } else { Err(lines) }
}

fn understand(
    lines: Vec<Map<String, Json>>,
    errors: &str,
    folder: &Utf8Path,
    python: &Utf8Path,
) -> Result<DagFolder, ImportError> {
    let mut found = DagFolder { airflow: String::new(), dags: Vec::new(), errors: Vec::new() };
    let mut ended = false;
    for mut line in lines {
        if let Some(version) = line.get("airflow").and_then(Json::as_str) {
            version.clone_into(&mut found.airflow);
        } else if let Some(error) = line.get("error") {
            let text = |name: &str| error.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
            found.errors.push((text("file"), text("text")));
        } else if let Some(data) = line.remove("data") {
            let mut dag = SerializedDag::from_json(data, folder.as_str())?;
            if let Some(Json::Object(extra)) = line.remove("extra") {
                dag.extra = extra;
            }
            found.dags.push(dag);
        } else if line.contains_key("end") {
            ended = true;
        }
    }
    if ended {
        return Ok(found);
    }
    let last = errors.trim_end().lines().next_back().unwrap_or("it ended without a word");
    if found.airflow.is_empty() {
        return Err(ImportError::new(format!("{python} has no Airflow: {last}"))
            .help("--python names the interpreter of your Airflow, such as venv/bin/python"));
    }
    Err(ImportError::new(format!("{python} ended before it had read {folder}: {last}")))
}
