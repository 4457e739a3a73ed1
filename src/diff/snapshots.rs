//! Sides that are snapshot trees: what was rendered once, without the sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value as Json;

use super::side::{Masks, SideField, SidePipeline, SideRun, SideScenario};
use crate::pipeline::yaml;
use crate::pipeline::{Problem, Source};
use crate::snapshot;

/// Folders of a tree: pipeline, scenario, Dag, run.
const DEPTH: usize = 4;

/// True when a folder is a snapshot tree: there are snapshots in it where `partita snapshot` writes them.
pub fn is_tree(root: &Utf8Path) -> bool {
    !snapshots(root, true).is_empty()
}

/// Every snapshot at its proper depth, sorted; only the first with `one`.
fn snapshots(root: &Utf8Path, one: bool) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = todo.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            if depth < DEPTH && path.is_dir() {
                todo.push((path.to_owned(), depth + 1));
            } else if depth == DEPTH && path.extension() == Some("snap") {
                found.push(path.to_owned());
                if one {
                    return found;
                }
            }
        }
    }
    found.sort();
    found
}

/// The pipelines of a tree. A file that is no snapshot makes its scenario fail.
pub fn pipelines(root: &Utf8Path) -> Vec<SidePipeline> {
    let mut pipelines: BTreeMap<String, BTreeMap<String, Vec<Utf8PathBuf>>> = BTreeMap::new();
    for path in snapshots(root, false) {
        let below = path.strip_prefix(root).unwrap_or(&path);
        let mut parts = below.components().map(|part| part.as_str().to_owned());
        if let (Some(pipeline), Some(scenario)) = (parts.next(), parts.next()) {
            pipelines.entry(pipeline).or_default().entry(scenario).or_default().push(path.clone());
        }
    }
    let pipeline = |(name, scenarios): (String, BTreeMap<String, Vec<Utf8PathBuf>>)| SidePipeline {
        path: Utf8PathBuf::from(&name),
        file: Utf8PathBuf::from(&name),
        name,
        definitions: BTreeMap::new(),
        operators: BTreeMap::new(),
        scenarios: Ok(scenarios.into_iter().map(|(name, files)| scenario(root, name, &files)).collect()),
        masks: Masks::default(),
    };
    pipelines.into_iter().map(pipeline).collect()
}

fn scenario(root: &Utf8Path, name: String, files: &[Utf8PathBuf]) -> SideScenario {
    let mut runs: Vec<(Utf8PathBuf, SideRun)> = Vec::new();
    let mut problems = Vec::new();
    for file in files {
        let folder = file.parent().unwrap_or(root).to_owned();
        match read(root, file) {
            Ok((mut run, field)) => match runs.iter_mut().find(|(known, _)| *known == folder) {
                Some((_, known)) => known.fields.push(field),
                None => {
                    run.fields.push(field);
                    runs.push((folder, run));
                }
            },
            Err(problem) => problems.push(problem),
        }
    }
    let runs = if problems.is_empty() { Ok(runs.into_iter().map(|(_, run)| run).collect()) } else { Err(problems) };
    SideScenario { name, file: Utf8PathBuf::new(), runs, pending: Vec::new() }
}

fn read(root: &Utf8Path, path: &Utf8Path) -> Result<(SideRun, SideField), Problem> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let fail = |why: &str| Problem::nowhere(format!("{below} is no snapshot: {why}"));
    let text = std::fs::read_to_string(path).map_err(|error| fail(&error.to_string()))?.replace("\r\n", "\n");
    let (header, body) = snapshot::split(&text).ok_or_else(|| fail("it has no front matter"))?;
    let source = Arc::new(Source { path: below.to_owned(), text: header.to_owned() });
    let header = yaml::parse(&source)?;
    let info = header.get("info").map(yaml::Node::to_json).ok_or_else(|| fail("it has no `info`"))?;
    let text_of = |name: &str| info.get(name).and_then(Json::as_str).map(str::to_owned);
    let needed = |name: &str| text_of(name).ok_or_else(|| fail(&format!("its `info` has no `{name}`")));
    let (dag_id, task_id, field) = (needed("dag_id")?, needed("task_id")?, needed("field")?);
    let newlines = info.get("trailing_newlines").and_then(Json::as_u64).and_then(|count| usize::try_from(count).ok());
    // insta keeps no line feeds at the end; how many there were stands in the header.
    let mut body = body.trim_end_matches('\n').to_owned();
    body.extend(std::iter::repeat_n('\n', newlines.unwrap_or(0).min(1 << 16)));
    let list = |name: &str| -> Vec<String> {
        let items = info.get(name).and_then(Json::as_array).into_iter().flatten();
        items.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let partition_key = text_of("partition_key");
    let folder = path.parent().and_then(Utf8Path::file_name).unwrap_or_default().to_owned();
    let run = SideRun {
        dag_id,
        label: partition_key.clone().unwrap_or(folder),
        run_id: None,
        run_type: None,
        partition_key,
        partition_date: text_of("partition_date"),
        logical_date: None,
        data_interval: None,
        events: list("triggering_events"),
        extras: Vec::new(),
        date_reason: String::new(),
        fields: Vec::new(),
    };
    let task = match info.get("map_index").and_then(Json::as_u64) {
        Some(index) => format!("{task_id}[{index}]"),
        None => task_id,
    };
    let text = if info.get("error").is_some() { Err(body) } else { Ok(body) };
    Ok((run, SideField { task, field, file: None, templates: Vec::new(), text }))
}
