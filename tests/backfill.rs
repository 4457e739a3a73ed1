//! `partita render --from --to`: a producer's partitions over a window, and every consumer run that results.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

mod support;

use serde_json::Value as Json;
use support::Project;

fn project(zone: &str) -> Project {
    Project::new().file(
        "pipeline.yaml",
        &format!(
            r#"
            assets: {{hours: "s3://lake/hours", days: "s3://lake/days"}}
            dags:
              load:
                schedule: {{CronPartitionTimetable: {{cron: "0 * * * *", timezone: {zone}}}}}
                tasks: {{hour: {{outlets: [hours], operator: BashOperator, bash_command: "load {{{{ partition_key }}}}"}}}}
              daily:
                schedule:
                  PartitionedAssetTimetable:
                    assets: hours
                    default_partition_mapper:
                      RollupMapper: {{upstream_mapper: {{StartOfDayMapper: {{timezone: {zone}}}}}, window: DayWindow}}
                tasks: {{sum: {{outlets: [days], operator: BashOperator, bash_command: "sum {{{{ partition_key }}}} {{{{ partition_date }}}}"}}}}
              publish:
                schedule: {{PartitionedAssetTimetable: {{assets: days}}}}
                tasks: {{t: {{operator: BashOperator, bash_command: "publish {{{{ partition_key }}}} {{{{ triggering_asset_events.values() | first | length }}}}"}}}}
            "#
        ),
    )
}

#[track_caller]
fn texts(project: &Project, from: &str, to: &str) -> (Vec<String>, String) {
    let ran = project.run(&["render", ".", "--from", from, "--to", to, "--format", "jsonl"]).success();
    let texts = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).expect("JSON"))
        .filter_map(|line| {
            line["text"].as_str().or_else(|| line["ok"].as_str()).or_else(|| line["value"].as_str()).map(str::to_owned)
        })
        .collect();
    (texts, ran.stderr)
}

#[test]
fn three_days_come_hop_by_hop() {
    let (texts, _) = texts(&project("UTC"), "2026-03-09", "2026-03-11");
    assert_eq!(texts.iter().filter(|text| text.starts_with("load ")).count(), 72, "{texts:?}");
    let rest: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.starts_with("load ")).collect();
    assert_eq!(
        rest,
        [
            "sum 2026-03-09 2026-03-09 00:00:00+00:00",
            "sum 2026-03-10 2026-03-10 00:00:00+00:00",
            "sum 2026-03-11 2026-03-11 00:00:00+00:00",
            "publish 2026-03-09 1",
            "publish 2026-03-10 1",
            "publish 2026-03-11 1",
        ]
    );
}

#[test]
fn days_of_summer_time_are_complete() {
    let project = project("America/New_York");
    let (spring, _) = texts(&project, "2026-03-08", "2026-03-08");
    assert_eq!(spring.iter().filter(|text| text.starts_with("load ")).count(), 23);
    assert!(spring.contains(&"sum 2026-03-08 2026-03-08 05:00:00+00:00".to_owned()), "{spring:?}");
    let (autumn, stderr) = texts(&project, "2026-11-01", "2026-11-01");
    assert_eq!(autumn.iter().filter(|text| text.starts_with("load ")).count(), 24);
    assert!(stderr.contains("load has the partition \"2026-11-01T01:00:00\" twice in this window"), "{stderr}");
    assert!(autumn.contains(&"sum 2026-11-01 2026-11-01 04:00:00+00:00".to_owned()), "{autumn:?}");
}

#[test]
fn a_part_of_a_day_leaves_the_day_pending() {
    let project = project("UTC");
    let (texts, _) = texts(&project, "2026-03-10T05:00:00", "2026-03-10T06:30:00");
    assert_eq!(texts, ["load 2026-03-10T05:00:00", "load 2026-03-10T06:00:00"]);
    let pending = project.run(&["resolve", ".", "--from", "2026-03-10T05:00:00", "--to", "2026-03-10T06:30:00"]);
    assert!(pending.stdout.contains("2 of 24 keys"), "{}", pending.stdout);
}

#[test]
fn a_window_needs_a_producer() {
    let ran = project("UTC").run(&["render", ".", "--from", "2026-03-10", "--to", "2026-03-10", "--producer", "daily"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("without a CronPartitionTimetable"), "{}", ran.stderr);
}
