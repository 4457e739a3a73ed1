//! `GET /api/graph`: assets, Dags and events of a scene, and the hops between runs.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value as Json, json};

use super::super::answer::Failure;
use super::super::scene::{Scene, masked};
use super::super::select;
use super::Ask;
use crate::asset::{AssetCondition, AssetEvent, AssetKey, AssetRef};
use crate::pipeline::{DatasetPlay, Pipeline, PlayedRun};
use crate::schedule::datasets::DatasetEvent;
use crate::timetable::isoformat;

/// Draws the graph.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    query.only(&select::SCENE)?;
    let folder = select::folder(ask.workspace, query)?;
    let pipeline = select::loaded(folder)?;
    let mut graph = json!({"assets": assets(pipeline), "dags": dags(pipeline), "events": [], "runs": [], "hops": []});
    // A pipeline without any scenario still has its assets and Dags.
    if folder.scenarios.is_empty() && select::SCENE.iter().skip(1).all(|name| query.all(name).next().is_none()) {
        return Ok(graph);
    }
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    let masker = scene.renderer(&ask.preview.engine).masker();
    let happened = happened(&scene)?;
    for (name, value) in happened.as_object().into_iter().flatten() {
        graph[name] = masked(value.clone(), &masker);
    }
    Ok(graph)
}

/// Each asset and alias, who produces it, who is scheduled on it, and who reads it.
fn assets(pipeline: &Pipeline) -> Json {
    let is = |leaf: &AssetCondition, key: &AssetKey| match leaf {
        AssetCondition::Asset(asset) => asset.key() == *key,
        AssetCondition::Ref(AssetRef::Name(name)) => *name == key.name,
        AssetCondition::Ref(AssetRef::Uri(uri)) => *uri == key.uri,
        _ => false,
    };
    let is_alias =
        |leaf: &AssetCondition, name: &str| matches!(leaf, AssetCondition::Alias(alias) if alias.name == name);
    let of_assets = pipeline.assets.iter().map(|def| {
        let key = def.asset.key();
        let (line, _) = def.place.line_column();
        let mut node = node(pipeline, &|leaf| is(leaf, &key));
        node["kind"] = "asset".into();
        node["key"] = def.key.as_str().into();
        node["name"] = key.name.as_str().into();
        node["uri"] = key.uri.as_str().into();
        node["place"] = json!({"path": def.place.source.path, "line": line});
        node
    });
    let of_aliases = pipeline.asset_aliases.iter().map(|alias| {
        let mut node = node(pipeline, &|leaf| is_alias(leaf, &alias.name));
        node["kind"] = "alias".into();
        node["key"] = alias.name.as_str().into();
        node["name"] = alias.name.as_str().into();
        node["uri"] = Json::Null;
        node["place"] = Json::Null;
        node
    });
    of_assets.chain(of_aliases).collect()
}

fn node(pipeline: &Pipeline, is: &dyn Fn(&AssetCondition) -> bool) -> Json {
    let touches = |leaves: &[AssetCondition]| leaves.iter().flat_map(AssetCondition::leaves).any(is);
    let tasks = |leaves: &dyn Fn(&crate::pipeline::Task) -> bool| -> Vec<Json> {
        let all = pipeline.dags.iter().flat_map(|dag| dag.tasks.iter().map(move |task| (dag, task)));
        all.filter(|(_, task)| leaves(task))
            .map(|(dag, task)| json!({"dag_id": dag.dag_id, "task_id": task.task_id}))
            .collect()
    };
    let consumers: Vec<Json> = pipeline
        .dags
        .iter()
        .filter(|dag| dag.timetable.asset_condition().is_some_and(|condition| condition.leaves().into_iter().any(is)))
        .map(|dag| json!({"dag_id": dag.dag_id}))
        .collect();
    json!({
        "producers": tasks(&|task| touches(&task.outlets)),
        "consumers": consumers,
        "readers": tasks(&|task| touches(&task.inlets)),
    })
}

fn dags(pipeline: &Pipeline) -> Json {
    pipeline
        .dags
        .iter()
        .map(|dag| {
            json!({
                "dag_id": dag.dag_id,
                "schedule": dag.timetable.class_name(),
                "is_paused": dag.is_paused,
                "tasks": dag.tasks.iter().map(|task| task.task_id.as_str()).collect::<Vec<_>>(),
            })
        })
        .collect()
}

/// Events and runs in their order, and a hop for each event that a run consumed: from the run that emitted it, if any.
fn happened(scene: &Scene) -> Result<Json, Failure> {
    scene.with_played(|played| {
        let (events, consumed) = match &played.datasets {
            Some(play) => {
                let runs = play.scheduler.runs().iter();
                (dataset_events(play), consumed(runs.map(|run| (&*run.dag_id, &*run.run_id, &*run.consumed))))
            }
            None => {
                let scheduler = &played.scheduler;
                let made = scheduler.runs()?;
                let mut events = Vec::new();
                for id in 1.. {
                    let Some(event) = scheduler.event(id)? else { break };
                    events.push(event);
                }
                let runs = made.iter().map(|made| (&*made.run.dag_id, &*made.run.run_id, &*made.run.events));
                (events, consumed(runs))
            }
        };
        let mut hops = Vec::new();
        let mut shown = Vec::with_capacity(events.len());
        for event in &events {
            let consumers = consumed.get(&event.id).map(Vec::as_slice).unwrap_or_default();
            let source = event.source.as_ref().map(|source| json!({"dag_id": source.dag_id, "run_id": source.run_id}));
            for consumer in consumers {
                hops.push(json!({"from": source, "event": event.id, "asset": event.asset.name, "to": consumer}));
            }
            shown.push(event_json(event, consumers));
        }
        Ok(json!({"events": shown, "runs": runs(scene), "hops": hops}))
    })
}

/// The runs (Dag, run id, consumed events) that consumed each event, in the order of the runs.
fn consumed<'a>(runs: impl Iterator<Item = (&'a str, &'a str, &'a [i64])>) -> HashMap<i64, Vec<Json>> {
    let mut consumed: HashMap<i64, Vec<Json>> = HashMap::new();
    for (dag_id, run_id, events) in runs {
        let run = json!({"dag_id": dag_id, "run_id": run_id});
        // A run is a consumer once, however often it names an event.
        for event in events.iter().collect::<BTreeSet<_>>() {
            consumed.entry(*event).or_default().push(run.clone());
        }
    }
    consumed
}

fn runs(scene: &Scene) -> Json {
    let run = |run: &PlayedRun| {
        json!({
            "dag_id": run.run.dag_id,
            "run_id": run.run.run_id,
            "partition_key": run.run.partition_key,
            "partition_date": run.run.partition_date.map(isoformat),
        })
    };
    scene.runs.iter().map(run).collect()
}

/// The events of Airflow 2.10, which have no keys.
fn dataset_events(play: &DatasetPlay) -> Vec<AssetEvent> {
    let event = |event: &DatasetEvent| AssetEvent {
        id: event.id,
        asset: play.key(play.scheduler.uri(event.dataset_id).unwrap_or_default()),
        timestamp: event.timestamp,
        extra: event.extra.clone(),
        source: event.source.clone(),
        aliases: event.aliases.clone(),
        partition_key: None,
        partition_date: None,
    };
    play.scheduler.events().iter().map(event).collect()
}

fn event_json(event: &AssetEvent, consumers: &[Json]) -> Json {
    json!({
        "id": event.id,
        "asset": {"name": event.asset.name, "uri": event.asset.uri},
        "partition_key": event.partition_key,
        "timestamp": isoformat(event.timestamp),
        "source": event.source.as_ref().map(|source| json!({
            "dag_id": source.dag_id, "task_id": source.task_id, "run_id": source.run_id, "map_index": source.map_index,
        })),
        "extra": event.extra,
        "consumed_by": consumers,
    })
}
