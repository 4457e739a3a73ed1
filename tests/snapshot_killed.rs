//! `partita snapshot` is killed at random moments while it writes: every file is the old one or the new one.

#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

use support::Project;

/// A task with 20 fields, 100 runs: 2,000 snapshots.
fn project() -> Project {
    let names: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
    let fields: String = names.iter().map(|name| format!(", {name}: t.sql")).collect();
    let task = format!("{{template_fields: [{}], template_ext: [.sql]{fields}}}", names.join(", "));
    let emits: String = (0..100)
        .map(|n| format!("  - {{emit: a, partition_key: \"2026-03-{:02}T{:02}\"}}\n", 1 + n / 24, n % 24))
        .collect();
    Project::new()
        .raw(
            "templates/p/pipeline.yaml",
            &format!("assets: {{a: \"s3://a\"}}\ndags:\n  d:\n    schedule: {{PartitionedAssetTimetable: {{assets: a}}}}\n    tasks:\n      t: {task}\n"),
        )
        .raw("templates/p/scenarios/s.yaml", &format!("now: \"2026-03-10T12:00:00Z\"\nsteps:\n{emits}"))
        .raw("templates/p/t.sql", &text(0))
}

/// Lines before the one that holds the key, and those after it.
fn around(version: usize) -> (String, String) {
    let lines: String = (0..8).map(|line| format!("-- line {line} of version {version}\n")).collect();
    (lines, format!(", {version}\n-- end {version}\n"))
}

fn text(version: usize) -> String {
    let (before, after) = around(version);
    format!("{before}SELECT '{{{{ partition_key }}}}'{after}")
}

/// The version that a file holds, when it is whole.
fn version(file: &str, path: &str, around: &[(String, String)]) -> usize {
    let end = file.trim_end().rsplit_once("-- end ").unwrap_or_else(|| panic!("{path} is torn: {file:?}")).1;
    let version: usize = end.parse().unwrap_or_else(|_| panic!("{path} is torn: {file:?}"));
    let (header, body) = file.split_once("\n---\n").unwrap_or_else(|| panic!("{path} has no header: {file:?}"));
    let (before, after) = &around[version];
    assert!(body.starts_with(before) && body.ends_with(after), "{path} is mixed: {file:?}");
    assert!(header.starts_with("---\nsource: ") && header.contains("trailing_newlines: 0"), "{path}: {file:?}");
    version
}

/// The moments at which files of the runs' folders were last made or replaced.
fn moments(project: &Project) -> Vec<SystemTime> {
    let folders = fs::read_dir(project.path("snapshots/p/s/d")).unwrap();
    folders.map(|folder| folder.unwrap().metadata().unwrap().modified().unwrap()).collect()
}

#[test]
fn every_file_is_old_or_new_and_the_next_run_mends_it() {
    let mut project = project();
    let started = Instant::now();
    project.run(&["snapshot", "--accept"]).success().stdout_has("2000 accepted");
    let whole = started.elapsed();
    let around: Vec<(String, String)> = (0..=100).map(around).collect();
    // A fixed sequence of moments that are spread like random ones.
    let mut seed: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let (mut killed, mut midway) = (0, 0);
    for round in 1..=100 {
        project = project.raw("templates/p/t.sql", &text(round));
        let before = moments(&project);
        let mut child = Command::new(env!("CARGO_BIN_EXE_partita"))
            .args(["snapshot", if round % 4 == 0 { "--dir=snapshots" } else { "--accept" }])
            .current_dir(project.path("."))
            .env_clear()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Now and then at any moment of its life, mostly at one when it has begun to write.
        if round % 5 == 0 {
            thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * random()));
        } else {
            while child.try_wait().unwrap().is_none() && moments(&project) == before {
                thread::sleep(Duration::from_micros(500));
            }
            thread::sleep(Duration::from_secs_f64(0.1 * random()));
        }
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().code().is_none());
        let (mut now, mut temporary, mut pending, mut snapshots) = (0, 0, 0, 0);
        for path in project.tree("snapshots") {
            if path.ends_with(".tmp") {
                temporary += 1;
                continue;
            }
            let file = fs::read_to_string(project.path("snapshots").join(&path)).unwrap();
            let version = version(&file, &path, &around);
            assert!(version <= round, "{path}");
            now += usize::from(version == round);
            match path.ends_with(".snap.new") {
                true => pending += 1,
                false => snapshots += 1,
            }
        }
        assert_eq!(snapshots, 2000, "round {round}: a snapshot is lost");
        midway += usize::from(temporary > 0 || now > 0 && now < 2000);
        assert!(temporary <= 16, "{temporary} temporary files");
        assert!(pending <= 2000);
        // Every tenth time the next run mends it; else the next one is killed too.
        if round % 10 == 0 {
            project.run(&["snapshot", "--accept"]).success();
            project.run(&["snapshot", "--check"]).success().stdout("2000 snapshots: 2000 unchanged\n");
            let rest: Vec<String> =
                project.tree("snapshots").into_iter().filter(|path| !path.ends_with(".snap")).collect();
            assert_eq!(rest, [""; 0], "round {round}");
        }
    }
    println!("killed {killed} times, {midway} of them while it wrote");
    assert!(
        killed >= 50 && midway >= 20,
        "killed {killed} times, {midway} of them while it wrote: too few to prove it"
    );
}
