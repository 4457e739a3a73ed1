//! The samples of a real Airflow: files, stored rows, and runs made of them.

#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use camino::Utf8Path;
use partita::jinja::Engine;
use partita::pipeline::{GivenRun, Pipeline, Renderer};
use serde_json::{Value as Json, json};

pub const SAMPLES: &str = "tests/airflow-samples";

/// A JSON file of the samples.
pub fn read(path: &str) -> Json {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLES).join(path);
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

/// Renders a run and compares every field of the tasks that Airflow stored; returns what differs.
pub fn differences(pipeline: &Pipeline, given: &GivenRun, stored: &[&Json]) -> Vec<String> {
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
pub fn sorted(value: &Json) -> String {
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
pub fn instant(value: &Json) -> Json {
    value.as_str().map_or(Json::Null, |text| format!("{}+00:00", text.replace(' ', "T")).into())
}

/// The run of a stored row, as a document; the pipeline has the extras of assets.
pub fn run_of(row: &Json, pipeline: &Pipeline) -> Json {
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
    json!({"dag_run": {
        "dag_id": row["dag_id"], "run_id": row["run_id"], "run_type": row["run_type"],
        "logical_date": logical, "data_interval_start": logical, "data_interval_end": logical,
        "run_after": "2026-11-29T20:00:00+00:00", "start_date": "2026-11-29T20:00:00+00:00", "end_date": null,
        "clear_number": 0, "state": "running", "conf": {}, "consumed_asset_events": events,
        "partition_key": row["partition_key"], "partition_date": instant(&row["partition_date"]),
    }, "max_tries": 0})
}
