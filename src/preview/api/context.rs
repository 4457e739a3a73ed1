//! `GET /api/context`: every name that a template of a task instance can read.

use serde_json::{Value as Json, json};

use super::super::answer::Failure;
use super::super::scene::run_json;
use super::super::select;
use super::Ask;
use super::render::Chosen;
use crate::context;
use crate::pipeline::Origin;
use crate::python::Plain;
use crate::report;

/// Names whose end is made up unless the run was given.
const ASSUMED: [&str; 2] = ["run_id", "task_instance_key_str"];

/// Lists the names.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    let known: Vec<&str> = select::FIELD.into_iter().filter(|name| *name != "field").collect();
    query.only(&known)?;
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    let chosen = Chosen::of(&scene, query)?;
    let renderer = scene.renderer(&ask.preview.engine);
    let masker = renderer.masker();
    let context = renderer.context(chosen.dag, chosen.task, chosen.run, chosen.map_index)?;
    let mut interp = Plain { now: Some(scene.clock), ..Plain::default() };
    let entries = context::describe(&context, &mut interp);
    let mut names = report::context_json(&entries, &masker);
    for entry in names.as_array_mut().into_iter().flatten() {
        let assumed = entry["name"].as_str().is_some_and(|name| ASSUMED.contains(&name));
        entry["assumed"] = (assumed && chosen.run.origin != Origin::Given).into();
    }
    Ok(json!({
        "run": run_json(chosen.run, &masker),
        "task_id": chosen.task.task_id,
        "map_index": chosen.map_index,
        "names": names,
    }))
}
