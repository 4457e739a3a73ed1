//! The sample Dags, rendered for the runs that Airflow 3.3.2 really made: the text equals what Airflow stored for them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::Utf8Path;
use partita::pipeline::{self, Pipeline, given_run, yaml};
use serde_json::Value as Json;
use support::Project;
use support::samples::{SAMPLES, differences, read, run_of};

fn shop() -> Pipeline {
    let manifest = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = yaml::read(&manifest.join("tests/fixtures/shop_assets.yaml")).unwrap();
    pipeline::from_source(&source, &manifest.join(SAMPLES).join("dags")).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

#[test]
fn runs_of_the_rest_api() {
    let pipeline = shop();
    let stored = read("rendered/rendered_fields.json");
    let mut failures = Vec::new();
    let mut compared = 0;
    for name in [
        "orders_identity_consumer",
        "orders_day_consumer",
        "orders_day_consumer.manual",
        "region_product_consumer",
        "orders_rollup_consumer",
        "ny_identity_consumer",
        "orders_hourly_producer",
        "plain_daily",
    ] {
        let body = read(&format!("rest/dagRun.{name}.json"));
        let events_path = format!("rest/upstreamAssetEvents.{name}.json");
        let has_events = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLES).join(&events_path).is_file();
        let events = has_events.then(|| read(&events_path));
        let given = given_run(&pipeline, &body, events.as_ref()).unwrap();
        let rows: Vec<&Json> = stored
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["run_id"] == body["dag_run_id"] && row["dag_id"] == body["dag_id"])
            .collect();
        assert!(!rows.is_empty(), "{name}");
        compared += rows.len();
        failures.extend(differences(&pipeline, &given, &rows));
    }
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_run_that_airflow_stored() {
    let pipeline = shop();
    let stored = read("rendered/rendered_fields.json");
    let mut failures = Vec::new();
    let mut compared = 0;
    for row in stored.as_array().unwrap() {
        let run = run_of(row, &pipeline);
        let given = given_run(&pipeline, &run, None).unwrap();
        compared += 1;
        failures.extend(differences(&pipeline, &given, &[row]));
    }
    assert_eq!(compared, 80);
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_command_takes_rest_bodies() {
    let ran = Project::new()
        .copy("tests/airflow-samples/dags", "shop")
        .copy("tests/airflow-samples/rest", "rest")
        .copy("tests/fixtures", "fixtures");
    std::fs::copy(ran.path("fixtures/shop_assets.yaml"), ran.path("shop/pipeline.yaml")).unwrap();
    let ran = ran
        .run(&[
            "render",
            "shop",
            "--run",
            "rest/dagRun.region_product_consumer.json",
            "--events",
            "rest/upstreamAssetEvents.region_product_consumer.json",
        ])
        .success();
    ran.stdout_has("region_product_consumer  eu|2026-11-03   partition_date 2026-11-03 00:00 UTC (as given)")
        .stdout_has("| DELETE FROM mart_region_day WHERE region = 'eu' AND day = '2026-11-03';");
}
