//! `GET /api/diff` and `GET /api/compare`: a field against its accepted snapshot, and two runs side by side.

use serde_json::{Value as Json, json};

use super::super::answer::Failure;
use super::super::hunks::hunks;
use super::super::scene::{How, run_json};
use super::super::select;
use super::Ask;
use super::render::Chosen;
use crate::pipeline::{Outcome, RunOutcome};
use crate::snapshot::{self, Match, Snapshot};

/// Compares a field with its accepted snapshot.
pub fn with_snapshot(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    query.only(&select::FIELD)?;
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    let chosen = Chosen::of(&scene, query)?;
    let rendered = chosen.field(&chosen.renderer(ask.preview), query.get("field")?)?;
    // Names of runs that share a key depend on the runs before them: all of them are there, one has its field.
    let runs = scene.runs.iter().map(|run| {
        let mut outcome = RunOutcome::bare(run);
        if std::ptr::eq(run, chosen.run) {
            let mut result = rendered.result.clone();
            result.fields.retain(|field| field.name == rendered.field.name);
            outcome.tasks.push(result);
        }
        outcome
    });
    let outcome = Outcome {
        pipeline: scene.pipeline.name.clone(),
        scenario: scene.scenario.name.clone(),
        runs: runs.collect(),
        ..Outcome::default()
    };
    let mask = |text: &str| rendered.masker.mask(text).into_owned();
    let Some(snapshot) = snapshot::of_outcome(outcome, &mask).into_iter().next() else {
        return Ok(json!({"status": "not_a_template", "path": null, "hunks": []}));
    };
    let path = ask.preview.options.snapshots.join(format!("{}.snap", snapshot.path));
    let mut answer = json!({"path": path, "pending": path.with_extension("snap.new").is_file(), "hunks": []});
    match std::fs::read(&path) {
        Ok(file) => compare(&mut answer, &snapshot, &file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => answer["status"] = "new".into(),
        Err(error) => return Err(Failure::new(500, "file", format!("cannot read {path}: {error}"))),
    }
    Ok(answer)
}

fn compare(answer: &mut Json, snapshot: &Snapshot, file: &[u8]) {
    let (status, stored) = match snapshot.compare(file) {
        Match::Same => ("same", None),
        Match::OtherFacts(_) => ("other_facts", None),
        Match::Changed(stored) => ("changed", Some(stored)),
        Match::Damaged(damage) => {
            answer["note"] = damage.to_string().into();
            ("damaged", None)
        }
    };
    answer["status"] = status.into();
    let Some(stored) = stored else { return };
    let hunks = hunks(&stored.text(), &snapshot.text, false);
    if hunks.as_array().is_some_and(Vec::is_empty) {
        answer["note"] = "the header of the snapshot no longer vouches for its exact text".into();
    }
    answer["hunks"] = hunks;
}

/// Compares the same field of two runs; `a_scenario` names the scenario of the first where it is another one.
pub fn runs(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    let known: Vec<&str> =
        select::FIELD.into_iter().filter(|name| *name != "run").chain(["a", "a_scenario", "b", "whole"]).collect();
    query.only(&known)?;
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    let first = match query.get("a_scenario")? {
        Some(name) => {
            let folder = select::folder(ask.workspace, query)?;
            select::of_parts(ask.preview, ask.workspace, folder, Some(name), How::Steps)?
        }
        None => scene.clone(),
    };
    let dag = query.get("dag")?;
    let one = select::named_run(&first, dag, Some(query.need("a")?))?;
    let dag = dag.unwrap_or(&one.run.dag_id);
    let other = select::named_run(&scene, Some(dag), Some(query.need("b")?))?;
    let field = query.get("field")?;
    let (left, right) = (Chosen::of_run(&first, one, query)?, Chosen::of_run(&scene, other, query)?);
    let a = left.field(&left.renderer(ask.preview), field)?;
    let b = right.field(&right.renderer(ask.preview), field)?;
    let text = |rendered: &super::render::Rendered| match (&rendered.field.value, rendered.text()) {
        (_, Some(text)) => text,
        (Err(error), None) => {
            format!("{}: {}\n", error.error.class, rendered.masker.mask(&error.error.message))
        }
        (Ok(_), None) => String::new(),
    };
    let (old, new) = (text(&a), text(&b));
    Ok(json!({
        "a": run_json(one, &a.masker),
        "b": run_json(other, &b.masker),
        "task_id": a.result.task_id,
        "field": a.field.name,
        "failed": [a.field.value.is_err(), b.field.value.is_err()],
        "status": if old == new { "same" } else { "changed" },
        "hunks": hunks(&old, &new, select::flag(query, "whole")?),
    }))
}
