//! `GET /api/pipelines`: pipelines, scenarios, Dags, runs, tasks and fields.

use serde_json::{Value as Json, json};

use super::super::answer::{Failure, problem_json};
use super::super::scene::{How, Scene, masked, run_json};
use super::super::select;
use super::super::workspace::{Folder, ScenarioFile};
use super::Ask;
use crate::pipeline::{Dag, Pipeline, Task};
use crate::report::{self, Shown};

/// Lists everything there is to choose from.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    ask.request.query.only(&["pipeline"])?;
    let only = ask.request.query.get("pipeline")?;
    if only.is_some() {
        select::folder(ask.workspace, &ask.request.query)?;
    }
    let folders = ask.workspace.folders.iter().filter(|folder| only.is_none_or(|only| only == folder.name));
    let pipelines: Vec<Json> = folders.map(|folder| folder_json(ask, folder)).collect();
    Ok(json!({
        "pipelines": pipelines,
        "missing": ask.workspace.missing,
        "store": ask.preview.options.queues.as_ref().map(|queues| json!({
            "path": queues.path(),
            "pipeline": queues.pipeline_name(),
        })),
    }))
}

fn folder_json(ask: &Ask<'_>, folder: &Folder) -> Json {
    let pipeline = match &folder.loaded {
        Ok(pipeline) => pipeline,
        Err(problems) => {
            return json!({
                "name": folder.name, "path": folder.path, "profile": null, "dags": [], "assets": [], "scenarios": [],
                "errors": problems.iter().map(problem_json).collect::<Vec<_>>(), "warnings": [],
            });
        }
    };
    let scenarios: Vec<Json> = folder.scenarios.iter().map(|file| scenario_json(ask, folder, file)).collect();
    let assets: Vec<Json> = pipeline
        .assets
        .iter()
        .map(|def| json!({"key": def.key, "name": def.asset.name, "uri": def.asset.uri, "group": def.asset.group}))
        .collect();
    json!({
        "name": folder.name,
        "path": pipeline.source.path,
        "profile": pipeline.profile.name(),
        "dags": pipeline.dags.iter().map(|dag| dag_json(pipeline, dag)).collect::<Vec<_>>(),
        "assets": assets,
        "scenarios": scenarios,
        "errors": [],
        "warnings": pipeline.warnings.iter().map(problem_json).collect::<Vec<_>>(),
    })
}

fn dag_json(pipeline: &Pipeline, dag: &Dag) -> Json {
    let (line, _) = dag.place.line_column();
    json!({
        "dag_id": dag.dag_id,
        "schedule": dag.timetable.class_name(),
        "partitioned": dag.timetable.partitioned(),
        "is_paused": dag.is_paused,
        "place": {"path": pipeline.source.path, "line": line},
        "tasks": dag.tasks.iter().map(task_json).collect::<Vec<_>>(),
    })
}

/// A task with its template fields. A field that the author did not give is the operator's own.
fn task_json(task: &Task) -> Json {
    let expanded = |name: &str| task.expand.iter().any(|(known, _)| known == name);
    let fields: Vec<Json> = task
        .fields
        .iter()
        .filter(|field| field.value.is_some() || expanded(&field.name))
        .map(|field| json!({"name": field.name, "given": field.place.is_some() || expanded(&field.name)}))
        .collect();
    let instances = task
        .mapped
        .then(|| task.expand.iter().try_fold(1_usize, |all, (_, items)| all.checked_mul(items.len())))
        .flatten();
    json!({
        "task_id": task.task_id,
        "operator": task.operator,
        "mapped": task.mapped,
        "map_length": instances,
        "fields": fields,
    })
}

fn scenario_json(ask: &Ask<'_>, folder: &Folder, file: &ScenarioFile) -> Json {
    let mut json = json!({
        "name": file.name, "path": file.path, "errors": [], "runs": [], "pending": [], "log": [], "warnings": [],
    });
    let errors = match &file.loaded {
        Err(problems) => Some(problems.iter().map(problem_json).collect::<Vec<_>>()),
        Ok(_) => {
            match select::of_parts(ask.preview, ask.workspace, folder, Some(&file.name), How::Steps)
                .and_then(|scene| scene_json(ask, &scene))
            {
                Ok(Json::Object(scene)) => {
                    for (name, value) in scene {
                        json[name] = value;
                    }
                    None
                }
                Ok(_) => None,
                Err(failure) => Some(std::iter::once(failure.error).chain(failure.others).collect()),
            }
        }
    };
    if let Some(errors) = errors {
        json["errors"] = errors.into();
    }
    json
}

/// The runs of a scene, what is pending, the log and what a person should know.
pub fn scene_json(ask: &Ask<'_>, scene: &Scene) -> Result<Json, Failure> {
    let renderer = scene.renderer(&ask.preview.engine);
    let masker = renderer.masker();
    let outcome = scene.outcome()?;
    let mut json = report::resolve_json(&outcome, &Shown::default(), &|text| masker.mask(text).into_owned());
    let runs: Vec<Json> = scene.runs.iter().map(|run| Json::Object(run_json(run, &masker))).collect();
    let mut warnings: Vec<Json> = scene.notes.iter().map(|note| masker.mask(note).into()).collect();
    warnings.extend(json["warnings"].as_array().cloned().unwrap_or_default());
    Ok(json!({
        "runs": runs,
        "pending": masked(json["pending"].take(), &masker),
        "log": json["log"].take(),
        "warnings": warnings,
        "now": scene.scenario.clock().to_rfc3339(),
    }))
}
