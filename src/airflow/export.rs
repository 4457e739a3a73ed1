//! Runs, variables and connections of an Airflow as files of a pipeline folder.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use serde_json::{Map, Value as Json, json};

use super::convert::yaml;
use super::{Finding, Gravity, ImportError, Imported, StoredRun, Values};
use crate::context::masker::{MASK, is_sensitive};
use crate::pipeline::file_name;
use crate::run::{readable_json, unreadable_error};

/// Adds variables and connections to an imported pipeline. Without `secrets`, passwords and what has a sensitive name are
/// written as `***`; so is what cannot be read. Findings name both.
///
/// # Errors
/// A pipeline that cannot be read with them.
pub fn with_values(imported: Imported, values: &Values, secrets: bool) -> Result<Imported, ImportError> {
    let mut added = Map::new();
    let mut masked = Vec::new();
    let mut variables = Map::new();
    for (name, value) in &values.variables {
        let text = value.as_str().or_else(|| readable_json(value));
        let text = match text {
            Some(_) if is_sensitive(name) && !secrets => {
                masked.push(format!("variable `{name}`"));
                MASK
            }
            Some(text) => text,
            None => MASK,
        };
        variables.insert(name.clone(), Json::from(text));
    }
    let mut connections = Map::new();
    for (conn_id, fields) in &values.connections {
        let mut written = Map::new();
        for (name, value) in fields.as_object().into_iter().flatten() {
            let value = match (name.as_str(), value) {
                (_, value) if unreadable_error(value).is_some() => match readable_json(value) {
                    Some(text) if secrets => Json::from(text),
                    Some(text) => masked_extra(text, conn_id, &mut masked),
                    None => Json::from(MASK),
                },
                ("password", Json::String(_)) if !secrets => {
                    masked.push(format!("`password` of connection `{conn_id}`"));
                    Json::from(MASK)
                }
                ("extra", Json::String(text)) if !secrets => masked_extra(text, conn_id, &mut masked),
                (_, value) => value.clone(),
            };
            written.insert(name.clone(), value);
        }
        connections.insert(conn_id.clone(), Json::Object(written));
    }
    if !variables.is_empty() {
        added.insert("variables".to_owned(), Json::Object(variables));
    }
    if !connections.is_empty() {
        added.insert("connections".to_owned(), Json::Object(connections));
    }
    if added.is_empty() {
        return Ok(imported);
    }
    let Imported { document, files, mut findings, needs, .. } = imported;
    let document = format!("{}\n{}", document.trim_end(), yaml::write(&added, true));
    if !masked.is_empty() {
        let finding = Finding::new(Gravity::Note, format!("written as {MASK}: {}", masked.join(", ")));
        findings.push(finding.help("--with-secrets writes the values"));
    }
    for text in &values.unreadable {
        findings.push(Finding::new(Gravity::Needed, format!("{text}: written as {MASK}")));
    }
    let pipeline = super::read(&document, &imported.pipeline.root, &files, None)?;
    Ok(Imported { pipeline, document, files, findings, needs })
}

/// The JSON of an extra with what is sensitive in it masked; text that is no JSON object is masked as a whole.
fn masked_extra(text: &str, conn_id: &str, masked: &mut Vec<String>) -> Json {
    match serde_json::from_str::<Json>(text) {
        Ok(Json::Object(mut map)) => {
            let mut some = false;
            for (name, value) in &mut map {
                if is_sensitive(name) || value.is_object() || value.is_array() {
                    *value = Json::from(MASK);
                    some = true;
                }
            }
            if !some {
                return Json::from(text);
            }
            masked.push(format!("`extra` of connection `{conn_id}`"));
            Json::from(Json::Object(map).to_string())
        }
        _ if text.is_empty() => Json::from(text),
        _ => {
            masked.push(format!("`extra` of connection `{conn_id}`"));
            Json::from(MASK)
        }
    }
}

/// Adds scenario files of runs. Without `secrets`, texts below a sensitive name in a run's conf are written as `***`; a finding
/// tells the names.
pub fn with_runs(imported: &mut Imported, mut runs: Vec<StoredRun>, secrets: bool) {
    let mut names = BTreeSet::new();
    for conf in runs.iter_mut().filter(|_| !secrets).filter_map(|run| run.dag_run.get_mut("conf")) {
        mask_named(conf, None, &mut names);
    }
    if !names.is_empty() {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let finding = Finding::new(Gravity::Note, format!("written as {MASK} in `conf` of runs: {names}"));
        imported.findings.push(finding.help("--with-secrets writes the values"));
    }
    imported.files.extend(scenarios(&runs));
}

/// Masks the texts below sensitive names, at any depth; collects the names.
fn mask_named(value: &mut Json, sensitive: Option<&str>, names: &mut BTreeSet<String>) {
    match (value, sensitive) {
        (Json::Object(map), _) => {
            for (name, value) in map {
                let own = is_sensitive(name).then_some(name.as_str());
                mask_named(value, sensitive.or(own), names);
            }
        }
        (Json::Array(items), _) => items.iter_mut().for_each(|item| mask_named(item, sensitive, names)),
        (Json::String(text), Some(name)) if !text.is_empty() => {
            MASK.clone_into(text);
            names.insert(name.to_owned());
        }
        _ => {}
    }
}

/// Scenario files of runs, oldest first: one for a Dag, or one for each run where templates read what differs from run to run
/// beside the run itself (XComs, earlier runs).
fn scenarios(runs: &[StoredRun]) -> Vec<(Utf8PathBuf, String)> {
    let mut files = Vec::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut dags: Vec<&str> = runs.iter().map(|run| run.dag_id.as_str()).collect();
    dags.dedup();
    for dag_id in dags {
        let of_dag: Vec<&StoredRun> = runs.iter().filter(|run| run.dag_id == dag_id).collect();
        let (alone, together): (Vec<&StoredRun>, Vec<&StoredRun>) =
            of_dag.into_iter().partition(|run| !run.xcom.is_empty() || !run.previous.is_empty());
        let mut file = |base: String, scenario: Map<String, Json>| {
            let mut name = base.clone();
            let mut ordinal = 1;
            while !taken.insert(name.to_lowercase()) {
                ordinal += 1;
                name = format!("{base}~{ordinal}");
            }
            let path = Utf8PathBuf::from("scenarios").join(format!("{name}.yaml"));
            files.push((path, yaml::write(&scenario, true)));
        };
        if let Some(last) = together.last() {
            let runs: Vec<Json> = together.iter().map(|run| json!({"dag_run": run.dag_run})).collect();
            file(file_name(dag_id), scenario(last, runs));
        }
        for run in alone {
            let mut fields = scenario(run, vec![json!({"dag_run": run.dag_run})]);
            if !run.xcom.is_empty() {
                fields.insert("xcom".to_owned(), Json::Object(run.xcom.clone()));
            }
            if let Some(previous) = run.previous.first() {
                fields.insert("prev_success".to_owned(), Json::Object(previous.dates.clone()));
            }
            let label = run.partition_key().unwrap_or(&run.run_id);
            file(format!("{}.{}", file_name(dag_id), file_name(label)), fields);
        }
    }
    files
}

fn scenario(run: &StoredRun, runs: Vec<Json>) -> Map<String, Json> {
    let now = run.dag_run.get("start_date").filter(|date| !date.is_null());
    let now = now.or_else(|| run.dag_run.get("run_after")).cloned();
    let mut fields = Map::new();
    if let Some(now) = now.filter(Json::is_string) {
        fields.insert("now".to_owned(), now);
    }
    fields.insert("runs".to_owned(), Json::Array(runs));
    fields
}
