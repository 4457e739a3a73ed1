//! Every sample pipeline and scenario against the files in `snapshots/`.
//!
//! A changed template makes this test fail with a diff. `partita snapshot` and `partita review` then decide: one tree, the same
//! files.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use camino::Utf8Path;
use partita::jinja::Engine;
use partita::pipeline::{self, Pipeline, Renderer};
use partita::report::{self, Shown};
use partita::snapshot::{self, Scope, Snapshot, State};

/// The sample pipelines, by name.
fn pipelines() -> Vec<Pipeline> {
    let templates = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut folders: Vec<_> =
        templates.read_dir_utf8().unwrap().map(|entry| entry.unwrap().path().to_owned()).collect();
    folders.sort();
    folders.iter().map(|folder| pipeline::load(folder).unwrap()).collect()
}

/// The snapshots of all samples.
fn samples() -> Vec<Snapshot> {
    let engine = Engine::new();
    let mut snapshots = Vec::new();
    for pipeline in pipelines() {
        for file in pipeline::scenario_files(&pipeline).unwrap() {
            let scenario = pipeline::load_scenario(&file, &pipeline).unwrap();
            let played = pipeline::play(&pipeline, &scenario).unwrap();
            let renderer = Renderer::new(&engine, &pipeline, &scenario, played.clock).with_played(&played);
            let outcome = pipeline::outcome(&pipeline, &scenario, &played, |run| renderer.run(run)).unwrap();
            let masker = renderer.masker();
            snapshots.extend(snapshot::of_outcome(outcome, &|text| masker.mask(text).into_owned()));
        }
    }
    snapshots
}

#[test]
fn samples_render_as_before() {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let snapshots = samples();
    assert_eq!(snapshot::collisions(&snapshots), []);
    let mut failed = Vec::new();
    for snapshot in &snapshots {
        let (folder, name) = snapshot.path.rsplit_once('/').unwrap();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root.join(folder));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let same = settings.bind(|| catch_unwind(AssertUnwindSafe(|| insta::assert_snapshot!(name, snapshot.text))));
        if same.is_err() {
            failed.push(snapshot.path.clone());
        }
    }
    // insta forgives white space at the end; the hash in the file does not.
    let scope = Scope { everything: true, ..Scope::default() };
    let comparison = snapshot::compare(&root, &snapshots, &scope).unwrap();
    assert!(comparison.orphaned.is_empty(), "snapshots of nothing: {:#?}", comparison.orphaned);
    let differing = comparison.entries.iter().filter(|entry| entry.state != State::Same);
    failed.extend(differing.map(|entry| entry.snapshot.path.clone()));
    failed.sort();
    failed.dedup();
    assert!(failed.is_empty(), "{} of {} snapshots differ: {failed:#?}", failed.len(), snapshots.len());
}

/// The command and the test above look at one tree and say the same of it.
#[test]
fn the_command_agrees() {
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_partita"))
        .args(["snapshot", "--check"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!(ran.status.code(), Some(0), "{stdout}{stderr}");
    let count = samples().len();
    assert_eq!(stdout, format!("{count} snapshots: {count} unchanged\n"));
}

/// What every scenario resolves to: runs, dates and why, what waits, the log. Some make no run at all, and that is the point.
#[test]
fn samples_resolve_as_before() {
    let manifest = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut failed = Vec::new();
    for pipeline in pipelines() {
        for file in pipeline::scenario_files(&pipeline).unwrap() {
            let scenario = pipeline::load_scenario(&file, &pipeline).unwrap();
            let outcome = pipeline::resolve_scenario(&pipeline, &scenario).unwrap();
            let text = plain(&report::resolve_text(&outcome, &Shown::default(), &str::to_owned));
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(manifest.join("tests/resolved").join(&pipeline.name));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            let name = scenario.name.as_str();
            if settings.bind(|| catch_unwind(AssertUnwindSafe(|| insta::assert_snapshot!(name, text)))).is_err() {
                failed.push(format!("{}/{name}", pipeline.name));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Without colour codes.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// No field of a sample fails, except where the scenario is about failing.
#[test]
fn samples_render_without_errors() {
    let errors: Vec<String> = samples()
        .into_iter()
        .filter(|snapshot| snapshot.info.iter().any(|(name, _)| *name == "error"))
        .map(|snapshot| format!("{}: {}", snapshot.path, snapshot.text))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
