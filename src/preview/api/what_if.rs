//! `POST /api/what-if`: events or a key, and the runs they would make.

use serde_json::{Map, Value as Json, json};

use super::super::answer::Failure;
use super::super::scene::{How, run_json};
use super::super::select;
use super::super::workspace::Folder;
use super::Ask;
use super::pipelines::scene_json;
use crate::pipeline::PlayedRun;
use crate::pipeline::source::suggestion;

const KEYS: [&str; 6] = ["pipeline", "scenario", "emit", "after", "partition_key", "store"];

/// Plays events, or asks for a key; with `store`, the events are recorded in the open store and stay.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    ask.request.query.only(&[])?;
    let body = match &ask.request.body {
        Some(Json::Object(body)) => body,
        _ => return Err(Failure::bad_request("the body is no JSON object")),
    };
    if let Some(unknown) = body.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Failure::bad_request(format!("unknown key `{unknown}`")).hinted(suggestion(unknown, KEYS)));
    }
    let folder = select::named_folder(ask.workspace, text(body, "pipeline")?)?;
    let scenario = text(body, "scenario")?;
    let events = events(body)?;
    let (after, store) = (flag(body, "after")?, flag(body, "store")?);
    let key = text(body, "partition_key")?;
    match (events.is_empty(), key) {
        (false, None) if store => write(ask, folder, &events),
        (false, None) => play(ask, folder, scenario, How::Emit { events, after }),
        (true, Some(_)) if store => Err(Failure::bad_request("only events can be recorded, not a key")),
        (true, Some(key)) => play(ask, folder, scenario, How::Key(key.to_owned())),
        _ => Err(Failure::bad_request("give either `emit` or `partition_key`")),
    }
}

fn play(ask: &Ask<'_>, folder: &Folder, scenario: Option<&str>, how: How) -> Result<Json, Failure> {
    let mut before = match &how {
        How::Emit { after: true, .. } => {
            let scene = select::of_parts(ask.preview, ask.workspace, folder, scenario, How::Steps)?;
            scene.runs.iter().map(same).collect()
        }
        _ => Vec::new(),
    };
    let parameters = parameters(folder, scenario, &how);
    let scene = select::of_parts(ask.preview, ask.workspace, folder, scenario, how)?;
    let mut answer = scene_json(ask, &scene)?;
    let runs = answer["runs"].as_array_mut().into_iter().flatten();
    for (json, run) in runs.zip(&scene.runs) {
        let known = before.iter().position(|known| *known == same(run));
        known.map(|at| before.swap_remove(at));
        json["new"] = known.is_none().into();
    }
    answer["written"] = false.into();
    answer["parameters"] = parameters;
    Ok(answer)
}

/// What makes a run the same one with and without further events: its id may end otherwise.
fn same(run: &PlayedRun) -> (String, Option<String>, Vec<(String, Option<String>)>) {
    let events = run.run.consumed_asset_events.iter();
    let events = events.map(|event| (event.asset.name.clone(), event.partition_key.clone())).collect();
    (run.run.dag_id.clone(), run.run.partition_key.clone(), events)
}

/// What other endpoints are asked with to be about these runs.
fn parameters(folder: &Folder, scenario: Option<&str>, how: &How) -> Json {
    let mut parameters = json!({"pipeline": folder.name});
    if let Some(scenario) = scenario {
        parameters["scenario"] = scenario.into();
    }
    match how {
        How::Emit { events, after } => {
            parameters["emit"] = events.clone().into();
            if *after {
                parameters["after"] = "true".into();
            }
        }
        How::Key(key) => parameters["partition_key"] = key.as_str().into(),
        How::Stored => parameters["store"] = "true".into(),
        How::Steps => {}
    }
    parameters
}

fn write(ask: &Ask<'_>, folder: &Folder, events: &[String]) -> Result<Json, Failure> {
    let queues = ask.preview.options.queues.as_ref().ok_or_else(select::no_store)?;
    let pipeline = select::loaded(folder)?;
    queues.belong_to(&folder.name)?;
    let made: Vec<String> = queues.emit(pipeline, events)?.into_iter().map(|run| run.run.run_id).collect();
    let scene = queues.scene(pipeline, None)?;
    let masker = scene.renderer(&ask.preview.engine).masker();
    let mut answer = scene_json(ask, &scene)?;
    let runs = scene.runs.iter().filter(|run| made.contains(&run.run.run_id));
    answer["runs"] = runs
        .map(|run| {
            let mut run = run_json(run, &masker);
            run.insert("new".to_owned(), true.into());
            Json::Object(run)
        })
        .collect();
    answer["written"] = true.into();
    answer["parameters"] = parameters(folder, None, &How::Stored);
    Ok(answer)
}

fn text<'a>(body: &'a Map<String, Json>, name: &str) -> Result<Option<&'a str>, Failure> {
    match body.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(Failure::bad_request(format!("`{name}` is not a string"))),
    }
}

fn flag(body: &Map<String, Json>, name: &str) -> Result<bool, Failure> {
    match body.get(name) {
        None | Some(Json::Null) => Ok(false),
        Some(Json::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Failure::bad_request(format!("`{name}` is not true or false"))),
    }
}

fn events(body: &Map<String, Json>) -> Result<Vec<String>, Failure> {
    let wrong = || Failure::bad_request("`emit` is not a list of ASSET=KEY[@DATE]");
    match body.get("emit") {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::String(text)) => Ok(vec![text.clone()]),
        Some(Json::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
