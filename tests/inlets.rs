//! Golden cases of `inlet_events` in templates: profile airflow-3.3 of `inlets.jsonl`, recorded from Airflow 3.3.2.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails may say so")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use partita::asset::{Asset, AssetAlias};
use partita::context::{self, AssetItem, StoredEvent, Surroundings};
use partita::jinja::{Engine, Names, Rendered};
use partita::python::{self, Plain};
use partita::run::{Json, JsonMap, Run, TaskInstance};
use serde_json::json;

/// A Dag run as the corpus writes it, on the wire.
fn wire(run: &Json) -> Json {
    let mut out = JsonMap::new();
    for key in [
        "dag_id",
        "run_id",
        "run_type",
        "logical_date",
        "data_interval_start",
        "data_interval_end",
        "start_date",
        "end_date",
        "state",
        "conf",
    ] {
        out.insert(key.into(), run[key].clone());
    }
    out.insert("run_after".into(), run["queued_at"].clone());
    if run["queued_at"].is_null() {
        out.insert("run_after".into(), run["start_date"].clone());
    }
    out.insert("consumed_asset_events".into(), json!([]));
    out.insert("partition_key".into(), Json::Null);
    Json::Object(out)
}

fn asset(world: &Json, uri: &str, with_extra: bool) -> Asset {
    let (mut asset, _) = Asset::new(Some(uri), Some(uri)).unwrap();
    if with_extra {
        let row = world["datasets"].as_array().unwrap().iter().find(|row| row["uri"] == uri);
        asset.extra =
            row.map_or(json!({}), |row| if row["extra"].is_null() { json!({}) } else { row["extra"].clone() });
    }
    asset
}

fn surroundings(world: &Json) -> Surroundings {
    let mut around = Surroundings::of_request();
    for inlet in world["task"]["inlets"].as_array().into_iter().flatten() {
        around.task.inlets.push(match inlet {
            Json::String(uri) => AssetItem::Asset(asset(world, uri, false)),
            _ if inlet["alias"].is_string() => {
                AssetItem::Alias(AssetAlias::new(inlet["alias"].as_str().unwrap()).unwrap())
            }
            _ => AssetItem::Object(inlet["object"].clone()),
        });
    }
    // the operator of these cases is a class of the corpus itself; no case prints it
    around.dag_runs = std::sync::Arc::new(world["other_runs"].as_array().unwrap().iter().map(wire).collect());
    let text = |event: &Json, key: &str| event[key].as_str().map(str::to_owned);
    let events = world["dataset_events"].as_array().unwrap().iter().map(|event| StoredEvent {
        id: event["id"].as_i64().unwrap(),
        asset: asset(world, event["uri"].as_str().unwrap(), true),
        timestamp: event["timestamp"].as_str().unwrap().parse().unwrap(),
        extra: event["extra"].as_object().unwrap().clone(),
        source_dag_id: text(event, "source_dag_id"),
        source_task_id: text(event, "source_task_id"),
        source_run_id: text(event, "source_run_id"),
        source_map_index: event["source_map_index"].as_i64().map(i128::from).or(Some(-1)),
        source_aliases: event["source_aliases"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|alias| alias.as_str().unwrap().to_owned())
            .collect(),
        partition_key: None,
    });
    around.asset_events = Some(std::sync::Arc::new(events.collect()));
    around
}

fn answer(engine: &Engine, case: &Json) -> Json {
    let world = &case["run"];
    let payload = json!({"dag_run": wire(&world["dag_run"]), "max_tries": 0});
    let ti = TaskInstance::new(world["task"]["task_id"].as_str().unwrap());
    let native = case["mode"] == "native";
    let result = Run::from_ti_run_context(&payload, ti).and_then(|mut run| {
        run.params = world["dag"]["params"].as_object().cloned().unwrap_or_default();
        let env = Arc::new(context::environment(&run, native)?);
        let context = context::build(Arc::new(run), Arc::new(surroundings(world)))?;
        let names: Arc<dyn Names> = Arc::new(context);
        Ok(engine.render(&env, case["template"].as_str().unwrap(), &names)?)
    });
    match result {
        Ok(Rendered::Text(text)) => json!({"ok": text}),
        Ok(Rendered::Native(value)) => match python::text(&value) {
            Some(text) => json!({"ok": text, "type": "str"}),
            None => json!({
                "ok": python::repr(&value, &mut Plain::default()).unwrap(),
                "repr": true,
                "type": python::type_name(&value).rsplit('.').next(),
            }),
        },
        Err(error) => json!({"error": error.class, "message": error.message}),
    }
}

#[test]
fn inlet_events_read_as_airflow_reads_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/airflow2/inlets.jsonl");
    let engine = Engine::new();
    let (mut identical, mut total) = (0, 0);
    let mut failures = Vec::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if case["profile"] != "airflow-3.3" {
            continue;
        }
        total += 1;
        let mut expected = case["expect"].clone();
        if let Some(class) = expected["error"].as_str().map(|class| class.rsplit('.').next().unwrap().to_owned()) {
            expected["error"] = json!(class);
        }
        let mut got = answer(&engine, &case);
        if expected.get("type").is_none() {
            got.as_object_mut().unwrap().shift_remove("type");
        }
        if got == expected {
            identical += 1;
        } else {
            failures.push(format!(
                "{}\n  template {}\n  expected {expected}\n  got      {got}",
                case["id"], case["template"]
            ));
        }
    }
    assert!(failures.is_empty(), "{identical} of {total} identical\n{}", failures.join("\n"));
    assert_eq!(total, 169);
}
