//! `GET /api/explain`: why a run is what it is, or why there is none.

use serde_json::{Value as Json, json};

use super::super::answer::Failure;
use super::super::scene::{masked, run_json};
use super::super::select;
use super::Ask;
use crate::pipeline::RunOutcome;
use crate::report::{self, Wanted};

/// Explains a run, a key, or everything.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    let known: Vec<&str> = select::SCENE.into_iter().chain(["dag", "run"]).collect();
    query.only(&known)?;
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    let dags: Vec<String> = query.get("dag")?.map(str::to_owned).into_iter().collect();
    if let Some(name) = dags.first()
        && scene.pipeline.dag(name).is_none()
    {
        return Err(Failure::unknown("Dag", name, scene.pipeline.dags.iter().map(|dag| dag.dag_id.as_str())));
    }
    let what = query.get("run")?;
    let wanted = Wanted { what, dags: &dags };
    let masker = scene.renderer(&ask.preview.engine).masker();
    let (text, trace, known) = scene.with_played(|played| -> Result<_, Failure> {
        if let Some(datasets) = &played.datasets {
            let text = report::explain_datasets_text(datasets, &wanted);
            let told = report::explain_datasets_json(datasets, &wanted).unwrap_or_default();
            let list = |name: &str| Json::from(told[name].as_array().cloned().unwrap_or_default());
            let trace = json!({"trace": list("runs"), "pending": list("queued")});
            return Ok((text, trace, report::explainable_datasets(datasets)));
        }
        let scheduler = &played.scheduler;
        let text = report::explain_text(scheduler, &wanted)?;
        Ok((text, report::explain_json(scheduler, &wanted)?, report::explainable(scheduler)?))
    })?;
    // A run that is only asked for, given, or made by a step has its heading in place of a trace.
    let mut parts: Vec<String> = text.into_iter().collect();
    let run = match what {
        Some(name) => select::named_run(&scene, dags.first().map(String::as_str), Some(name)).ok(),
        None => None,
    };
    if parts.is_empty()
        && let Some(run) = run
    {
        let mut heading = String::new();
        report::run_heading(&mut heading, &RunOutcome::bare(run));
        parts.push(heading);
    }
    if let (Some(what), true) = (what, parts.is_empty()) {
        return Err(Failure::unknown("run or key", what, known.iter().map(String::as_str)));
    }
    let text = anstream::adapter::strip_str(&parts.join("\n")).to_string();
    Ok(json!({
        "text": masker.mask(text.trim_end()),
        "run": run.map(|run| run_json(run, &masker)),
        "trace": masked(trace["trace"].clone(), &masker),
        "pending": masked(trace["pending"].clone(), &masker),
    }))
}
