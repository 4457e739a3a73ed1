//! `partita context`: the whole template context of a run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails may say so")]

mod support;

use support::Project;

const RUN: &str = r#"{
  "dag_run": {
    "dag_id": "mart", "run_id": "asset_triggered__2026-11-03T04:00:00+00:00_ab12", "logical_date": null,
    "data_interval_start": null, "data_interval_end": null, "run_after": "2026-11-03T04:00:00Z",
    "start_date": null, "end_date": null, "run_type": "asset_triggered", "state": "running", "conf": {},
    "consumed_asset_events": [], "partition_key": "2026-11-03", "partition_date": "2026-11-03T00:00:00Z"
  },
  "ti": {"task_id": "load", "try_number": 1, "map_index": -1, "max_tries": 0},
  "params": {"api_key": "abc-123-xyz", "schema": "mart"}
}"#;

#[test]
fn a_run_given_as_data() {
    Project::new()
        .file("run.json", RUN)
        .run(&[
            "context",
            "--run",
            "run.json",
            "--name",
            "partition_date",
            "--name",
            "ds",
            "--name",
            "params",
            "--name",
            "partition_key",
            "--name",
            "execution_date",
        ])
        .success()
        .stdout(
            "
             mart.load  2026-11-03  asset_triggered__2026-11-03T04:00:00+00:00_ab12
             params          dict       {'api_key': '***', 'schema': 'mart'}
             partition_key   str        2026-11-03
             partition_date  DateTime   2026-11-03 00:00:00+00:00
             ds              undefined  a run made from asset events has no logical date: use `partition_date | ds`
             ",
        );
}

#[test]
fn secrets_on_request() {
    Project::new()
        .file("run.json", RUN)
        .run(&["context", "--run", "run.json", "--name", "params", "--show-secrets"])
        .success()
        .stdout_has("{'api_key': 'abc-123-xyz', 'schema': 'mart'}");
}

#[test]
fn as_json() {
    let ran = Project::new()
        .file("run.json", RUN)
        .run(&[
            "context",
            "--run",
            "run.json",
            "--name",
            "partition_date",
            "--name",
            "ts",
            "--name",
            "ti",
            "--format",
            "json",
        ])
        .success();
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer[0]["task_id"], "load");
    let names = &answer[0]["context"];
    assert_eq!(names[0]["name"], "ti");
    assert_eq!(names[0]["error"]["kind"], "Unsupported");
    assert_eq!(names[1]["type"], "pendulum.datetime.DateTime");
    assert_eq!(names[1]["printed"], "2026-11-03 00:00:00+00:00");
    assert_eq!(names[2]["defined"], false);
    assert!(names[2]["advice"].as_str().unwrap().contains("`partition_date | ts`"));
}

#[test]
fn a_payload_airflow_would_reject() {
    let run = RUN.replace("\"2026-11-03T00:00:00Z\"", "\"2026-11-03\"");
    Project::new()
        .file("run.json", &run)
        .run(&["context", "--run", "run.json"])
        .code(3)
        .stderr_has("dag_run.partition_date\n  Input should have timezone info");
}

#[test]
fn runs_of_a_pipeline() {
    Project::new()
        .copy("templates/player_stats", "p")
        .run(&["context", "p", "--dag", "combine", "--task", "combine_stats", "--name", "partition_key"])
        .success()
        .stdout_has("partition_key  str  2026-03-10T09");
}

#[test]
fn a_name_that_is_none_of_the_context_is_noted() {
    Project::new()
        .file("run.json", RUN)
        .run(&["context", "--run", "run.json", "--name", "partition_kye"])
        .success()
        .stderr_has("note: `partition_kye` is no name of the context: did you mean `partition_key`?");
}
