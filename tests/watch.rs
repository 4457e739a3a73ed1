//! `partita render --watch`: into a pipe, and in a terminal (by `script`, where it is installed).
#![cfg(all(feature = "preview", unix))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::Project;

fn shop() -> Project {
    Project::new()
        .file(
            "shop/pipeline.yaml",
            r#"
            assets: {orders: "s3://lake/orders"}
            dags:
              mart:
                schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfDayMapper}}
                tasks: {load: {operator: SQLExecuteQueryOperator, sql: load.sql}}
            "#,
        )
        .file("shop/load.sql", "SELECT '{{ partition_key }}'\n")
}

const ARGS: [&str; 7] = ["render", "shop", "--partition-key", "2026-03-10", "--field", "sql", "--watch"];

/// A command whose output can be waited for.
struct Watched {
    child: Child,
    seen: Arc<Mutex<String>>,
}

impl Watched {
    fn start(mut command: Command, project: &Project) -> Self {
        command.current_dir(project.path("")).env_clear().env("TERM", "xterm").env("PATH", "/usr/bin:/bin");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let seen = Arc::new(Mutex::new(String::new()));
        let all = seen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = out.read(&mut bytes) {
                if count == 0 {
                    break;
                }
                all.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Watched { child, seen }
    }

    /// Waits for a text, and forgets what was seen up to it.
    #[track_caller]
    fn wait(&self, text: &str) {
        let start = Instant::now();
        loop {
            {
                let mut seen = self.seen.lock().unwrap();
                if let Some(at) = seen.find(text) {
                    *seen = seen.split_off(at + text.len());
                    return;
                }
                assert!(start.elapsed() < Duration::from_secs(20), "no {text:?} in {seen:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn into_a_pipe() {
    let project = shop();
    let mut command = Command::new(env!("CARGO_BIN_EXE_partita"));
    command.args(ARGS);
    let mut watched = Watched::start(command, &project);
    watched.wait("SELECT '2026-03-10'");
    std::fs::write(project.path("shop/load.sql"), "SELECT 2, '{{ partition_key }}'\n").unwrap();
    watched.wait("SELECT 2, '2026-03-10'");
    std::fs::write(project.path("shop/load.sql"), "SELECT {{ partition_kee }}\n").unwrap();
    watched.wait("'partition_kee' is undefined");
    let yaml = project.read("shop/pipeline.yaml");
    std::fs::write(project.path("shop/pipeline.yaml"), yaml.replace("assets:", "asets:")).unwrap();
    watched.wait("did you mean `assets`?");
    std::fs::write(project.path("shop/load.sql"), "SELECT 3\n").unwrap();
    std::fs::write(project.path("shop/pipeline.yaml"), yaml).unwrap();
    watched.wait("SELECT 3");
    Command::new("kill").args(["-INT", &watched.child.id().to_string()]).status().unwrap();
    assert_eq!(watched.child.wait().unwrap().code(), Some(0));
}

#[test]
fn in_a_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let project = shop();
    let mut command = Command::new("script");
    let line = format!("exec {} {}", env!("CARGO_BIN_EXE_partita"), ARGS.join(" "));
    command.args(["-q", "-e", "-c", &line, "/dev/null"]);
    let watched = Watched::start(command, &project);
    watched.wait("\x1b[?1049h");
    watched.wait("SELECT '2026-03-10'");
    std::fs::write(project.path("shop/load.sql"), "SELECT 2\n").unwrap();
    watched.wait("\x1b[H");
    watched.wait("SELECT 2");
    watched.wait("\x1b[J");
    // the terminal's own child gets the signal, as from Ctrl-C
    let children = format!("/proc/{0}/task/{0}/children", watched.child.id());
    if let Ok(children) = std::fs::read_to_string(children) {
        Command::new("kill").arg("-INT").args(children.split_whitespace()).status().unwrap();
        watched.wait("\x1b[?1049l");
    }
}

#[test]
fn what_cannot_be_watched() {
    let project = shop();
    project.run(&["render", "shpo", "--watch"]).code(3).stderr_has("there is no pipeline shpo");
    project.run(&["render", "shop", "--dag", "marty", "--watch"]).code(2).stderr_has("did you mean `mart`?");
    project.run(&["render", "shop", "--watch", "--format", "json"]).code(2);
}
