//! `partita explain`: four situations a user asks about, each answered in one screen.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

mod support;

use support::Project;

/// Lines of a screen.
const SCREEN: usize = 24;

fn hourly() -> Project {
    Project::new().file(
        "pipeline.yaml",
        r#"
        assets:
          orders: "s3://lake/orders"
          refunds: "s3://lake/refunds"
        dags:
          load:
            schedule: {CronPartitionTimetable: {cron: "0 * * * *", timezone: UTC}}
            tasks: {hour: {outlets: [orders]}}
          daily:
            schedule:
              PartitionedAssetTimetable:
                assets: orders
                default_partition_mapper: {RollupMapper: {upstream_mapper: StartOfDayMapper, window: DayWindow}}
            tasks: {report: {operator: BashOperator, bash_command: "echo {{ partition_key }}"}}
        "#,
    )
}

#[track_caller]
fn explained(project: &Project, args: &[&str]) -> String {
    let mut all = vec!["explain", "--pipeline", "."];
    all.extend(args);
    let ran = project.run(&all).success();
    assert!(ran.stdout.lines().count() <= SCREEN, "more than a screen:\n{}", ran.stdout);
    ran.stdout
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not said:\n{text}");
    }
}

#[test]
fn a_rollup_waits_for_hours() {
    let project = hourly().file(
        "scenarios/three.yaml",
        r#"
        now: "2026-03-10T12:00:00Z"
        steps:
          - {run: load, partition_key: "2026-03-10T00:00:00"}
          - {run: load, partition_key: "2026-03-10T01:00:00"}
          - {run: load, partition_key: "2026-03-10T05:00:00"}
        "#,
    );
    let text = explained(&project, &["2026-03-10"]);
    says(
        &text,
        &[
            "daily  \"2026-03-10\" waits, pending since 2026-03-10 12:00:01 UTC",
            "orders: 3 of 24 keys, WaitForAll()",
            "missing  \"2026-03-10T02:00:00\", \"2026-03-10T03:00:00\" .. \"2026-03-10T23:00:00\" (21 keys)",
            "since    2026-03-10 12:00:03 UTC",
            "StartOfDayMapper: \"2026-03-10T05:00:00\" -> \"2026-03-10\"",
            "load.hour",
        ],
    );
}

#[test]
fn dates_conflict() {
    let project = Project::new()
        .file(
            "pipeline.yaml",
            r#"
            assets: {here: "s3://lake/here", there: "s3://lake/there"}
            dags:
              both:
                schedule:
                  PartitionedAssetTimetable:
                    assets: here & there
                    default_partition_mapper: {StartOfDayMapper: {input_format: "%Y-%m-%d"}}
                    partition_mapper_config:
                      there: {StartOfDayMapper: {timezone: America/New_York, input_format: "%Y-%m-%d"}}
                tasks: {t: {operator: BashOperator, bash_command: "echo {{ partition_date }}"}}
            "#,
        )
        .file(
            "scenarios/s.yaml",
            r#"
            now: "2026-03-10T12:00:00Z"
            steps:
              - {emit: here, partition_key: "2026-03-10"}
              - {emit: there, partition_key: "2026-03-10"}
            "#,
        );
    let text = explained(&project, &["2026-03-10"]);
    says(
        &text,
        &[
            "partition_key \"2026-03-10\"   partition_date None",
            "no date: the mappers disagree",
            "StartOfDayMapper of here says 2026-03-10T00:00:00+00:00",
            "StartOfDayMapper of there says 2026-03-10T00:00:00-04:00",
            "Airflow logs warning: Upstream partition mappers resolved conflicting partition_date values",
        ],
    );
}

#[test]
fn carried_dates_conflict() {
    let project = Project::new()
        .file(
            "pipeline.yaml",
            r#"
            assets: {a: "s3://lake/a"}
            dags:
              same: {schedule: {PartitionedAssetTimetable: {assets: a}}, tasks: {t: {}}}
              other:
                schedule: {PartitionedAssetTimetable: {assets: a, default_partition_mapper: {FixedKeyMapper: all}}}
                tasks: {t: {}}
            "#,
        )
        .file(
            "scenarios/s.yaml",
            r#"
            now: "2026-03-10T12:00:00Z"
            steps:
              - {emit: a, partition_key: k, partition_date: "2026-03-10T00:00:00Z"}
              - {emit: a, partition_key: k, partition_date: "2026-03-11T00:00:00Z"}
            "#,
        );
    let text = explained(&project, &["k", "--dag", "same"]);
    says(
        &text,
        &[
            "partition_date None",
            "carried 2026-03-10 00:00 UTC by event #1",
            "carried 2026-03-11 00:00 UTC by event #2: differs from the date carried so far: none is carried now",
        ],
    );
}

#[test]
fn a_key_cannot_be_mapped() {
    let project = hourly().file(
        "scenarios/s.yaml",
        r#"
        now: "2026-03-10T12:00:00Z"
        steps:
          - {emit: orders, partition_key: "2026-07-30"}
        "#,
    );
    let text = explained(&project, &["2026-07-30"]);
    says(
        &text,
        &[
            "event #1 orders \"2026-07-30\"",
            "daily: the key cannot be mapped, so nothing was queued",
            "ValueError: time data '2026-07-30' does not match format '%Y-%m-%dT%H:%M:%S'",
            "{StartOfDayMapper: {input_format: \"%Y-%m-%d\"}} reads \"2026-07-30\"",
            "Airflow logs error: Could not map partition key for asset in target Dag.",
            "audit log failed to map partition_key: Could not map partition_key '2026-07-30'",
        ],
    );
}

fn mismatched() -> Project {
    Project::new().file(
        "pipeline.yaml",
        r#"
        assets: {orders: "s3://lake/orders", refunds: "s3://lake/refunds"}
        dags:
          joined:
            schedule:
              PartitionedAssetTimetable:
                assets: orders & refunds
                partition_mapper_config: {orders: StartOfHourMapper, refunds: StartOfDayMapper}
            tasks: {t: {}}
        "#,
    )
}

#[test]
fn two_mappers_can_never_agree() {
    let project = mismatched().file(
        "scenarios/s.yaml",
        r#"
        now: "2026-03-10T12:00:00Z"
        steps:
          - {emit: orders, partition_key: "2026-03-10T09:00:00"}
          - {emit: refunds, partition_key: "2026-03-10T00:00:00"}
        "#,
    );
    let text = explained(&project, &["2026-03-10T09"]);
    says(
        &text,
        &[
            "needs   orders & refunds",
            "+ orders: satisfied by \"2026-03-10T09:00:00\"",
            "- refunds: no event for \"2026-03-10T09\" yet",
            "its events were for \"2026-03-10\"",
            "never: StartOfDayMapper makes no key like \"2026-03-10T09\" (unconverted data remains: T09), so it and \
             StartOfHourMapper can never agree on a run",
        ],
    );
}

#[test]
fn what_nobody_knows_is_an_error_with_a_close_name() {
    let project = hourly().file("scenarios/s.yaml", "steps: [{emit: orders, partition_key: \"2026-07-30\"}]");
    let ran = project.run(&["explain", "--pipeline", ".", "2026-07-31"]).code(2);
    assert!(ran.stderr.contains("did you mean `2026-07-30`?"), "{}", ran.stderr);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_stored_queue_is_explained_too() {
    let project = hourly();
    for key in ["2026-03-10T00:00:00", "2026-07-30"] {
        let store = ["emit", "orders", "--store", "q.db", "--pipeline", ".", "--partition-key", key];
        project.run(&store).success();
    }
    says(&explained(&project, &["--store", "q.db", "2026-03-10"]), &["orders: 1 of 24 keys", "(23 keys)"]);
    says(&explained(&project, &["--store", "q.db", "2026-07-30"]), &["the key cannot be mapped", "audit log"]);
    let ran = project.run(&["explain", "--pipeline", ".", "--store", "none.db"]).code(3);
    assert!(ran.stderr.contains("there is no stored queue none.db"), "{}", ran.stderr);
}

#[test]
fn json_is_about_what_is_asked() {
    let project = hourly().file(
        "scenarios/s.yaml",
        r#"
        now: "2026-03-10T12:00:00Z"
        steps:
          - {emit: orders, partition_key: "2026-03-10T09:00:00"}
          - {emit: orders, partition_key: "2026-03-11T09:00:00"}
        "#,
    );
    let ran = project.run(&["explain", "--pipeline", ".", "--json", "2026-03-11"]).success();
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let pending = document["pending"].as_array().expect("a list");
    assert_eq!(pending.len(), 1, "{document}");
    assert!(!document["trace"].to_string().contains("2026-03-10T09:00:00"), "{document}");
    assert!(document["trace"].to_string().contains("2026-03-11T09:00:00"), "{document}");
    project.run(&["explain", "--pipeline", ".", "--json", "nothing"]).code(2);
}

#[test]
fn a_run_that_is_only_asked_for() {
    let ran =
        hourly().run(&["explain", "--pipeline", ".", "--partition-key", "2026-03-10", "--dag", "daily"]).success();
    says(&ran.stdout, &["daily  2026-03-10   partition_date 2026-03-10 00:00 UTC (RollupMapper; decoded)", "assumed:"]);
    let json = hourly()
        .run(&["explain", "--pipeline", ".", "--partition-key", "2026-03-10", "--dag", "daily", "--json"])
        .success();
    let run: serde_json::Value = serde_json::from_str(&json.stdout).expect("one JSON document");
    assert_eq!(run["origin"], "assumed");
}
