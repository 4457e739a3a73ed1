//! A difference as one JSON document.

use serde_json::{Value as Json, json};

use crate::diff::{Cause, ChangePlace, Diff, Hunk, Tag, TextChange};

/// A difference as JSON: everything there is, nothing summed up.
pub fn diff_json(diff: &Diff) -> Json {
    let files: Vec<Json> = diff
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.path, "old_path": file.old_path, "status": file.status, "kind": file.kind,
                "added": file.added, "removed": file.removed, "tasks": file.tasks,
                "fields": file.fields, "fields_changed": file.fields_changed,
            })
        })
        .collect();
    let pipelines: Vec<Json> = diff
        .pipelines
        .iter()
        .map(|pipeline| {
            json!({
                "path": pipeline.path, "old_path": pipeline.old_path, "status": pipeline.status,
                "runs": pipeline.runs, "fields": pipeline.fields,
            })
        })
        .collect();
    let renames: Vec<Json> = diff
        .renames
        .iter()
        .map(|rename| {
            json!({
                "what": rename.what.to_lowercase(), "pipeline": rename.pipeline, "old": rename.old, "new": rename.new,
                "old_pipeline": rename.old_pipeline, "percent": rename.percent,
            })
        })
        .collect();
    let runs: Vec<Json> = diff
        .runs
        .iter()
        .map(|run| {
            let values: Vec<Json> = run
                .values
                .iter()
                .map(|value| json!({"name": value.name, "old": value.old, "new": value.new}))
                .collect();
            json!({
                "pipeline": run.pipeline, "scenario": run.scenario, "dag_id": run.dag_id, "status": run.status,
                "run": run.label, "values": values, "waits": run.waits, "fields": run.fields,
                "causes": causes(&run.causes),
            })
        })
        .collect();
    let failures: Vec<Json> = diff
        .failures
        .iter()
        .map(|failure| {
            let problems: Vec<Json> = failure
                .problems
                .iter()
                .map(|problem| {
                    let place = problem.place.as_ref().map(|place| {
                        let (line, column) = place.line_column();
                        json!({"file": place.source.path, "line": line, "column": column})
                    });
                    json!({"message": problem.message, "place": place, "help": problem.help})
                })
                .collect();
            json!({
                "side": if failure.head { "head" } else { "base" }, "pipeline": failure.pipeline,
                "scenario": failure.scenario, "problems": problems, "differs": failure.differs,
            })
        })
        .collect();
    json!({
        "base": diff.base,
        "head": diff.head,
        "changed": !diff.is_empty(),
        "counts": diff.counts,
        "files": files,
        "pipelines": pipelines,
        "renames": renames,
        "runs": runs,
        "changes": diff.changes.iter().map(change).collect::<Vec<_>>(),
        "failures": failures,
        "notes": diff.notes,
    })
}

fn change(change: &TextChange) -> Json {
    json!({
        "status": change.status,
        "hunk": hunk(&change.hunk),
        "causes": causes(&change.causes),
        "places": change.places.iter().map(place).collect::<Vec<_>>(),
        "alike": change.alike.iter().map(|alike| {
            json!({"hunk": hunk(&alike.hunk), "places": alike.places.iter().map(place).collect::<Vec<_>>()})
        }).collect::<Vec<_>>(),
    })
}

fn place(place: &ChangePlace) -> Json {
    json!({
        "pipeline": place.pipeline, "scenario": place.scenario, "dag_id": place.dag_id, "task": place.task,
        "field": place.field, "run": place.run, "file": place.file, "old_start": place.old_start,
        "new_start": place.new_start, "broken": place.broken, "mended": place.mended,
    })
}

fn hunk(hunk: &Hunk) -> Json {
    if hunk.lines.is_empty() {
        return Json::Null;
    }
    let tag = |tag: Tag| match tag {
        Tag::Equal => "equal",
        Tag::Delete => "delete",
        Tag::Insert => "insert",
    };
    let lines: Vec<Json> = hunk
        .lines
        .iter()
        .map(|line| json!({"tag": tag(line.tag), "text": line.text, "newline": line.newline}))
        .collect();
    json!({
        "old_start": hunk.old_start, "old_lines": hunk.old_lines, "new_start": hunk.new_start,
        "new_lines": hunk.new_lines, "lines": lines,
    })
}

fn causes(causes: &[Cause]) -> Vec<Json> {
    causes
        .iter()
        .map(|cause| {
            json!({
                "kind": cause.kind, "file": cause.file, "line": cause.line,
                "side": if cause.old { "base" } else { "head" }, "what": cause.what, "sure": cause.sure,
            })
        })
        .collect()
}
