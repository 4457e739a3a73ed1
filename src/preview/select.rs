//! Which run, task and field a request is about.

use std::sync::Arc;

use super::answer::{Failure, Query};
use super::scene::{How, Scene, SceneKey};
use super::state::Preview;
use super::workspace::{Folder, Workspace};
use crate::pipeline::{Dag, Pipeline, PlayedRun, Task};

/// Parameters that say which scene a request is about.
pub const SCENE: [&str; 6] = ["pipeline", "scenario", "emit", "after", "partition_key", "store"];

/// Parameters that say which field of it.
pub const FIELD: [&str; 11] =
    ["pipeline", "scenario", "emit", "after", "partition_key", "store", "dag", "run", "task", "map_index", "field"];

/// The folder that the parameters of a request name, or the only one.
pub fn folder<'a>(workspace: &'a Workspace, query: &Query) -> Result<&'a Folder, Failure> {
    named_folder(workspace, query.get("pipeline")?)
}

/// The folder of a pipeline, or the only one there is.
pub fn named_folder<'a>(workspace: &'a Workspace, name: Option<&str>) -> Result<&'a Folder, Failure> {
    if let Some(missing) = &workspace.missing {
        return Err(Failure::new(422, "file", missing.clone()));
    }
    match (name, workspace.folders.as_slice()) {
        (Some(name), folders) => workspace
            .folder(name)
            .ok_or_else(|| Failure::unknown("pipeline", name, folders.iter().map(|folder| folder.name.as_str()))),
        (None, [only]) => Ok(only),
        (None, _) => Err(Failure::bad_request("`pipeline` is missing")),
    }
}

/// The pipeline of a folder.
pub fn loaded(folder: &Folder) -> Result<&Arc<Pipeline>, Failure> {
    folder.loaded.as_ref().map_err(|problems| Failure::of_problems(problems))
}

/// The scene a request is about.
pub fn scene(preview: &Preview, workspace: &Workspace, query: &Query) -> Result<Arc<Scene>, Failure> {
    let folder = folder(workspace, query)?;
    let events: Vec<String> = query.all("emit").filter(|text| !text.is_empty()).map(str::to_owned).collect();
    let after = flag(query, "after")?;
    let how = match (events.is_empty(), query.get("partition_key")?, flag(query, "store")?) {
        (true, None, false) => How::Steps,
        (false, None, false) => How::Emit { events, after },
        (true, Some(key), false) => How::Key(key.to_owned()),
        (true, None, true) => How::Stored,
        _ => return Err(Failure::bad_request("only one of `emit`, `partition_key` and `store` can be given")),
    };
    of_parts(preview, workspace, folder, query.get("scenario")?, how)
}

/// The scene of a scenario in which something happens.
pub fn of_parts(
    preview: &Preview,
    workspace: &Workspace,
    folder: &Folder,
    scenario: Option<&str>,
    how: How,
) -> Result<Arc<Scene>, Failure> {
    let pipeline = loaded(folder)?;
    let scenario = match (scenario, &how) {
        // Without a name it is the first, as in the list of pipelines.
        (None, How::Steps) => folder.scenarios.first(),
        (None, _) => None,
        (Some(name), _) => Some(folder.scenarios.iter().find(|known| known.name == name).ok_or_else(|| {
            Failure::unknown("scenario", name, folder.scenarios.iter().map(|known| known.name.as_str()))
        })?),
    };
    let base = match scenario {
        Some(file) => Some(file.loaded.as_ref().map_err(|problems| Failure::of_problems(problems))?),
        None => None,
    };
    if how == How::Stored {
        let queues = preview.options.queues.as_ref().ok_or_else(no_store)?;
        return queues.scene(pipeline, base.map(|base| &**base));
    }
    let key = SceneKey { pipeline: folder.name.clone(), scenario: scenario.map(|file| file.name.clone()), how };
    workspace.scene(key.clone(), || Scene::play(pipeline, base.map(|base| &**base), &key.how))
}

/// What is asked of a store when none is open.
pub fn no_store() -> Failure {
    Failure::new(409, "no_store", "no store is open").hinted(Some("start the preview with --store FILE".to_owned()))
}

/// A parameter that is `true`, `false` or not given.
pub fn flag(query: &Query, name: &str) -> Result<bool, Failure> {
    match query.get(name)? {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(other) => Err(Failure::bad_request(format!("`{name}` is true or false, not `{other}`"))),
    }
}

/// The run a request names, by its id or its key; the first of the Dag without a name.
pub fn run<'a>(scene: &'a Scene, query: &Query) -> Result<&'a PlayedRun, Failure> {
    named_run(scene, query.get("dag")?, query.get("run")?)
}

/// A run by its id or its key.
pub fn named_run<'a>(scene: &'a Scene, dag: Option<&str>, name: Option<&str>) -> Result<&'a PlayedRun, Failure> {
    if let Some(name) = dag
        && scene.pipeline.dag(name).is_none()
    {
        return Err(Failure::unknown("Dag", name, scene.pipeline.dags.iter().map(|dag| dag.dag_id.as_str())));
    }
    let of_dag = || scene.runs.iter().filter(|run| dag.is_none_or(|dag| dag == run.run.dag_id));
    let Some(name) = name else {
        return of_dag().next().ok_or_else(|| Failure::new(404, "not_found", "there is no run"));
    };
    of_dag()
        .find(|run| run.run.run_id == name)
        .or_else(|| of_dag().find(|run| run.run.partition_key.as_deref() == Some(name)))
        .ok_or_else(|| {
            let known = of_dag().map(|run| run.run.partition_key.as_deref().unwrap_or(&run.run.run_id));
            Failure::unknown("run", name, known.collect::<Vec<_>>())
        })
}

/// The Dag of a run, and the task a request names; the first that has template fields without a name.
pub fn task<'a>(scene: &'a Scene, run: &PlayedRun, query: &Query) -> Result<(&'a Dag, &'a Task), Failure> {
    let dag = scene
        .pipeline
        .dag(&run.run.dag_id)
        .ok_or_else(|| Failure::new(404, "not_found", format!("the pipeline has no Dag `{}`", run.run.dag_id)))?;
    let task = match query.get("task")? {
        Some(name) => dag
            .tasks
            .iter()
            .find(|task| task.task_id == name)
            .ok_or_else(|| Failure::unknown("task", name, dag.tasks.iter().map(|task| task.task_id.as_str())))?,
        None => dag
            .tasks
            .iter()
            .find(|task| task.fields.iter().any(|field| field.place.is_some()))
            .or_else(|| dag.tasks.first())
            .ok_or_else(|| Failure::new(404, "not_found", format!("{} has no task", dag.dag_id)))?,
    };
    Ok((dag, task))
}

/// The map index a request asks for: -1 of a task that is not mapped.
pub fn map_index(task: &Task, query: &Query) -> Result<i64, Failure> {
    let given = match query.get("map_index")? {
        None => None,
        Some(text) => Some(
            text.parse::<i64>()
                .map_err(|_| Failure::bad_request(format!("`map_index` is a whole number, not `{text}`")))?,
        ),
    };
    match (task.mapped, given) {
        (false, None | Some(-1)) => Ok(-1),
        (false, Some(_)) => Err(Failure::bad_request(format!("{} is not a mapped task", task.task_id))),
        (true, None) => Ok(0),
        (true, Some(index)) if index >= 0 => Ok(index),
        (true, Some(_)) => Err(Failure::bad_request("`map_index` of a mapped task is 0 or more")),
    }
}
