//! The sample Dags, rendered for the runs that Airflow 3.3.2 really made: the text equals what Airflow stored for them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use camino::Utf8Path;
use partita::jinja::Engine;
use partita::pipeline::{self, GivenRun, Pipeline, Renderer, given_run, yaml};
use serde_json::{Value as Json, json};
use support::Project;

const SAMPLES: &str = "tests/airflow-samples";

fn read(path: &str) -> Json {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLES).join(path);
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

fn shop() -> Pipeline {
    let manifest = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = yaml::read(&manifest.join("tests/fixtures/shop_assets.yaml")).unwrap();
    pipeline::from_source(&source, &manifest.join(SAMPLES).join("dags")).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

/// Renders a run and compares every field of the tasks that Airflow stored; returns what differs.
fn differences(pipeline: &Pipeline, given: &GivenRun, stored: &[&Json]) -> Vec<String> {
    let engine = Engine::new();
    let now = given.scenario.clock();
    let rendered = Renderer::new(&engine, pipeline, &given.scenario, now).run(&given.run);
    let mut found = Vec::new();
    for row in stored {
        let task_id = row["task_id"].as_str().unwrap();
        let Some(task) = rendered.tasks.iter().find(|task| task.task_id == task_id) else {
            found.push(format!("{task_id} was not rendered"));
            continue;
        };
        let mut got = serde_json::Map::new();
        for field in &task.fields {
            let value = match &field.value {
                Ok(value) => partita::render::stored(value),
                Err(error) => json!(format!("{}: {}", error.path, error.error)),
            };
            got.insert(field.name.clone(), value);
        }
        for (name, expected) in row["rendered_fields"].as_object().unwrap() {
            let got = got.get(name).unwrap_or(&Json::Null);
            if sorted(got) != sorted(expected) {
                found.push(format!("{}.{task_id}.{name}\n    expected {expected}\n    got      {got}", row["run_id"]));
            }
        }
    }
    found
}

/// With the keys of objects sorted: Airflow stores them so.
fn sorted(value: &Json) -> String {
    fn order(value: &Json) -> Json {
        match value {
            Json::Object(map) => {
                map.iter().map(|(k, v)| (k.clone(), order(v))).collect::<BTreeMap<_, _>>().into_iter().collect()
            }
            Json::Array(items) => items.iter().map(order).collect(),
            other => other.clone(),
        }
    }
    order(value).to_string()
}

/// A partition date as stored in the database, in ISO form.
fn instant(value: &Json) -> Json {
    value.as_str().map_or(Json::Null, |text| format!("{}+00:00", text.replace(' ', "T")).into())
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
        let events: Vec<Json> = row["triggering_asset_events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| {
                let def = pipeline.asset(event["asset"].as_str().unwrap()).unwrap();
                json!({
                    "asset": {"name": event["asset"], "uri": event["uri"], "extra": def.asset.extra},
                    "extra": event["extra"],
                    "source_task_id": event["source_task_id"],
                    "source_dag_id": event["source_dag_id"],
                    "source_run_id": event["source_run_id"],
                    "source_map_index": -1,
                    "source_aliases": [],
                    "timestamp": instant(&event["timestamp"]),
                    "partition_key": event["partition_key"],
                })
            })
            .collect();
        let logical = instant(&row["logical_date"]);
        let run = json!({"dag_run": {
            "dag_id": row["dag_id"], "run_id": row["run_id"], "run_type": row["run_type"],
            "logical_date": logical, "data_interval_start": logical, "data_interval_end": logical,
            "run_after": "2026-11-29T20:00:00+00:00", "start_date": "2026-11-29T20:00:00+00:00", "end_date": null,
            "clear_number": 0, "state": "running", "conf": {}, "consumed_asset_events": events,
            "partition_key": row["partition_key"], "partition_date": instant(&row["partition_date"]),
        }, "max_tries": 0});
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
