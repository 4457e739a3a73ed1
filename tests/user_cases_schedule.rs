//! Problems that people reported about partitioned scheduling, each with the answer Airflow 3.3.2 gives. The number in a
//! test's name is Apache Airflow's issue or pull request.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

mod support;

use serde_json::{Value as Json, json};
use support::Project;

fn temporal(class: &str, fields: Json) -> Json {
    let mut all = json!({"timezone": "UTC", "input_format": "%Y-%m-%dT%H:%M:%S", "output_format": "%Y-%m-%d"});
    for (name, value) in fields.as_object().expect("fields") {
        all[name] = value.clone();
    }
    json!({"__type": format!("airflow.partition_mappers.temporal.{class}"), "__var": all})
}

/// Asks `inspect mapper --jsonl`.
#[track_caller]
fn mapped(mapper: &Json, op: &str, input: &Json) -> Json {
    let request = json!({"id": 0, "mapper": mapper, "op": op, "input": input});
    let ran = Project::new().stdin(&format!("{request}\n")).run(&["inspect", "mapper", "--jsonl"]).success();
    serde_json::from_str(ran.stdout.trim()).expect("an answer")
}

/// Renders a pipeline and returns what it printed.
#[track_caller]
fn rendered(pipeline: &str, scenario: &str) -> String {
    let ran = Project::new().file("pipeline.yaml", pipeline).file("scenarios/s.yaml", scenario).run(&["render", "."]);
    ran.success().stdout
}

#[test]
fn a_day_key_needs_its_format_70762() {
    let refused = mapped(&temporal("StartOfDayMapper", json!({})), "to_downstream", &json!("2026-07-30"));
    assert_eq!(
        refused["error"],
        json!({"kind": "ValueError", "message": "time data '2026-07-30' does not match format '%Y-%m-%dT%H:%M:%S'"})
    );
    let day = temporal("StartOfDayMapper", json!({"input_format": "%Y-%m-%d"}));
    assert_eq!(mapped(&day, "to_downstream", &json!("2026-07-30"))["ok"], "2026-07-30");
}

#[test]
fn a_rollup_expects_the_hours_that_exist_68004() {
    let rollup = json!({
        "__type": "airflow.partition_mappers.base.RollupMapper",
        "__var": {
            "upstream_mapper": temporal("StartOfDayMapper", json!({"timezone": "America/New_York"})),
            "window": {"__type": "airflow.partition_mappers.window.DayWindow", "__var": {"direction": "forward"}},
            "wait_policy": {"__type": "airflow.partition_mappers.wait_policy.WaitForAll", "__var": {}},
        },
    });
    let spring = mapped(&rollup, "to_upstream", &json!("2026-03-08"));
    let spring = spring["ok"].as_array().expect("keys").clone();
    assert_eq!(spring.len(), 23);
    assert!(!spring.contains(&json!("2026-03-08T02:00:00")));
    let autumn = mapped(&rollup, "to_upstream", &json!("2026-11-01"));
    assert_eq!(autumn["ok"].as_array().expect("keys").len(), 24);
}

#[test]
fn a_run_without_key_starts_nothing_71284() {
    let project = Project::new()
        .file(
            "pipeline.yaml",
            r#"
            assets: {a: "s3://lake/a"}
            dags:
              load:
                schedule: {CronPartitionTimetable: {cron: "0 0 * * *", timezone: UTC}}
                tasks: {t: {operator: BashOperator, bash_command: "k={{ partition_key }}", outlets: [a]}}
              next: {schedule: {PartitionedAssetTimetable: {assets: a}}, tasks: {t: {}}}
            "#,
        )
        .file("scenarios/s.yaml", "steps: [{run: load}]");
    let ran = project.run(&["render", "."]).success();
    assert!(ran.stdout.contains("| k=None"), "{}", ran.stdout);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("load is partitioned but its run has no partition_key"), "{said}");
    let resolved = project.run(&["resolve", ".", "--format", "json"]).success();
    assert!(!resolved.stdout.contains("\"dag_id\": \"next\""), "{}", resolved.stdout);
}

#[test]
fn an_offset_in_a_key_needs_a_format_63442() {
    let day = temporal("StartOfDayMapper", json!({}));
    assert_eq!(mapped(&day, "to_downstream", &json!("2026-11-03T05:00:00"))["ok"], "2026-11-03");
    let refused = mapped(&day, "to_downstream", &json!("2026-11-03T05:00:00+0000"));
    assert_eq!(refused["error"], json!({"kind": "ValueError", "message": "unconverted data remains: +0000"}));
}

const TWO_CONSUMERS: &str = r#"
    assets: {orders: "s3://lake/orders"}
    dags:
      partitioned:
        schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfDayMapper}}
        tasks: {t: {operator: BashOperator, bash_command: "{{ partition_key }}: {{ triggering_asset_events.values() | first | length }}"}}
      plain: {schedule: orders, tasks: {t: {operator: BashOperator, bash_command: "plain"}}}
"#;

#[test]
fn a_key_starts_partitioned_dags_alone_63734() {
    let text = rendered(TWO_CONSUMERS, "steps: [{emit: orders, partition_key: \"2026-11-03T05:00:00\"}]");
    assert!(text.contains("| 2026-11-03: 1"), "{text}");
    assert!(!text.contains("| plain"), "{text}");
}

#[test]
fn later_events_of_a_day_make_another_run_68045() {
    let scenario = r#"
        steps:
          - {emit: orders, partition_key: "2026-11-03T00:00:00"}
          - {emit: orders, partition_key: "2026-11-03T01:00:00"}
          - {emit: orders, partition_key: "2026-11-03T02:00:00"}
          - tick
          - {emit: orders, partition_key: "2026-11-03T03:00:00"}
          - tick
    "#;
    let text = rendered(TWO_CONSUMERS, scenario);
    assert!(text.contains("| 2026-11-03: 3") && text.contains("| 2026-11-03: 1"), "{text}");
}

fn fan_out(direction: &str) -> Json {
    json!({
        "__type": "airflow.partition_mappers.temporal.FanOutMapper",
        "__var": {
            "upstream_mapper": temporal("StartOfWeekMapper", json!({"output_format": "%Y-%m-%dT%H:%M:%S"})),
            "window": {"__type": "airflow.partition_mappers.window.WeekWindow", "__var": {"direction": direction}},
            "downstream_mapper": temporal("StartOfDayMapper", json!({})),
        },
    })
}

#[test]
fn a_week_fans_out_into_seven_days_65761() {
    let days = |direction: &str| -> Vec<String> {
        let answer = mapped(&fan_out(direction), "to_downstream", &json!("2026-11-02T00:00:00"));
        let keys = answer["ok"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let mut keys: Vec<String> = keys.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        keys.sort();
        keys
    };
    let (forward, backward) = (days("forward"), days("backward"));
    assert_eq!((forward.len(), forward[0].as_str(), forward[6].as_str()), (7, "2026-11-02", "2026-11-08"));
    assert_eq!((backward.len(), backward[0].as_str(), backward[6].as_str()), (7, "2026-10-27", "2026-11-02"));
}

#[test]
fn a_segment_window_needs_a_downstream_mapper_68722() {
    let project = Project::new().file(
        "pipeline.yaml",
        r#"
        assets: {a: "s3://lake/a"}
        dags:
          regions:
            schedule:
              PartitionedAssetTimetable:
                assets: a
                default_partition_mapper: {FanOutMapper: {upstream_mapper: IdentityMapper, window: {SegmentWindow: [us, eu]}}}
            tasks: {t: {}}
        "#,
    );
    let ran = project.run(&["resolve", "."]).code(3);
    assert!(ran.stderr.contains("downstream_mapper"), "{}", ran.stderr);
}

#[test]
fn a_manual_run_has_the_interval_of_its_date_64740() {
    let text = rendered(
        r#"
        dags:
          load:
            schedule: {CronPartitionTimetable: {cron: "0 0 * * *", timezone: UTC, key_format: "%Y-%m-%d"}}
            tasks:
              t:
                operator: BashOperator
                bash_command: "{{ partition_key }} {{ ds }} {{ data_interval_start }} {{ data_interval_end }}"
        "#,
        r#"steps: [{run: load, partition_key: "2026-11-06", logical_date: "2026-11-06T00:00:00Z"}]"#,
    );
    assert!(text.contains("| 2026-11-06 2026-11-06 2026-11-06 00:00:00+00:00 2026-11-06 00:00:00+00:00"), "{text}");
}
