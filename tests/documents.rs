//! Scenario documents of `conformance/schedule` in place of a pipeline, and among a pipeline's scenarios.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::Utf8Path;
use partita::pipeline;
use serde_json::Value as Json;
use support::Project;

const FOLDER: &str = "tests/conformance/schedule/scenarios";

#[test]
fn every_document_plays_as_a_pipeline() {
    let folder = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in folder.read_dir_utf8().unwrap().map(Result::unwrap) {
        count += 1;
        let document: Json = serde_json::from_str(&std::fs::read_to_string(entry.path()).unwrap()).unwrap();
        let run = |run: &Json| {
            let text = |name: &str| run[name].as_str().unwrap_or("none").to_owned();
            (text("dag_id"), text("partition_key"), text("partition_date").replace('Z', "+00:00"))
        };
        let ticks = document["expect"]["ticks"].as_array().unwrap();
        let mut expected: Vec<_> = ticks.iter().flat_map(|tick| tick["runs"].as_array().unwrap()).map(run).collect();
        let outcome = (|| {
            let pipeline = pipeline::load(entry.path()).map_err(|problems| format!("{problems:?}"))?;
            let file = pipeline::scenario_files(&pipeline).unwrap().remove(0);
            let scenario = pipeline::load_scenario(&file, &pipeline).map_err(|problems| format!("{problems:?}"))?;
            pipeline::resolve_scenario(&pipeline, &scenario).map_err(|error| format!("{error:?}"))
        })();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                failures.push(format!("{}: {error}", entry.file_name()));
                continue;
            }
        };
        let got = outcome.runs.iter().map(|run| {
            let date = run.run.partition_date.map_or("none".to_owned(), partita::timetable::isoformat);
            (run.run.dag_id.clone(), run.run.partition_key.clone().unwrap_or("none".to_owned()), date)
        });
        // One pass more closes the list; it may find what a limit or a failed pass left behind.
        let mut got: Vec<_> = got.collect();
        got.truncate(expected.len());
        expected.sort();
        got.sort();
        if got != expected {
            failures.push(format!("{}:\n  expected {expected:?}\n  got      {got:?}", entry.file_name()));
        }
    }
    assert_eq!(count, 148);
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_document_stands_among_the_scenarios_of_a_pipeline() {
    let project = Project::new()
        .file("p/pipeline.yaml", "assets: {x: \"s3://x\"}\ndags: {d: {schedule: x}}\n")
        .copy(FOLDER, "documents");
    std::fs::create_dir_all(project.path("p/scenarios")).unwrap();
    std::fs::copy(project.path("documents/cond-and.json"), project.path("p/scenarios/cond-and.json")).unwrap();
    project.run(&["resolve", "p"]).success().stdout_has("p / cond-and").stdout_has("cons  k   no partition_date");
    project.run(&["resolve", "documents/cond-and.json"]).success().stdout_has("cond-and / cond-and");
    let broken = project.edit("p/scenarios/cond-and.json", |text| text.replace("IdentityMapper", "IdentityMaper"));
    broken.run(&["resolve", "p"]).code(3).stderr_has("p/scenarios/cond-and.json:");
}
