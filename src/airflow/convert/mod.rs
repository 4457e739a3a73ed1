//! Serialized Dags into the text of a pipeline file and the templates beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;
use serde_json::{Map, Value as Json};

use super::serialized::Version;
use super::{Finding, Folders, Gravity, ImportError, SerializedDag};
use crate::context::{self, Context};
use crate::jinja::{Engine, Environment};
use crate::pipeline::{Pipeline, yaml as reader};
use crate::timetable::encode_timetable;

mod assets;
mod dag;
mod files;
mod guards;
mod mapper;
mod schedule;
mod task;
mod templates;
mod write;
pub(super) mod yaml;

use assets::Assets;
use dag::Dag;
use files::Files;

/// Most Dags of one import.
const MAX_DAGS: usize = 20_000;

/// A pipeline as text.
#[derive(Debug)]
pub(super) struct Converted {
    /// The text of `pipeline.yaml`.
    pub document: String,
    /// Templates: path below the folder, and text.
    pub files: Vec<(Utf8PathBuf, String)>,
    /// What is to be said.
    pub findings: Vec<Finding>,
    /// What every template field must be once the text is read.
    expected: Vec<Expected>,
    /// The timetable every Dag must have, as Airflow encodes it.
    timetables: Vec<(String, Json)>,
}

/// What a template field must be.
#[derive(Debug)]
struct Expected {
    dag_id: String,
    task_id: String,
    field: String,
    value: Json,
}

/// What the conversion of every Dag shares.
pub(super) struct Shared<'a> {
    folders: &'a Folders,
    engine: Engine,
    environment: Arc<Environment>,
    /// Names of the template context of the profile.
    context: Vec<&'static str>,
}

/// Converts Dags. Their order is kept.
pub(super) fn convert(dags: &[SerializedDag], folders: &Folders) -> Result<Converted, ImportError> {
    check(dags, folders)?;
    let environment = Environment { filters: context::filters(), ..Environment::default() };
    let old = dags.iter().any(|dag| dag.version == Version::V1);
    let names = match old {
        true => context::airflow2::NAMES.to_vec(),
        false => Context::all_names().collect(),
    };
    let shared = Shared { folders, engine: Engine::new(), environment: Arc::new(environment), context: names };
    let mut findings = converted(dags);
    let mut read = Vec::with_capacity(dags.len());
    for serialized in dags {
        read.push(Dag::read(serialized, &shared, &mut findings)?);
    }
    let mut known = Assets::new(old);
    for dag in &read {
        dag.assets().iter().for_each(|condition| known.add(condition));
    }
    known.name();
    let mut files = Files::of(&read);
    let mut document = Map::new();
    if old {
        document.insert("profile".into(), "airflow-2.10".into());
    }
    let mut written = Map::new();
    let mut expected = Vec::new();
    let mut timetables = Vec::new();
    for dag in &read {
        let schedule = schedule::write(&dag.timetable, dag.zone, dag.old, &known);
        findings.extend(schedule.findings.into_iter().map(|finding| finding.of_dag(&dag.id)));
        timetables.extend(schedule.exact.filter(|_| !old).map(|exact| (dag.id.clone(), exact)));
        let entry = write::dag(dag, schedule.schedule, &known, &mut files, &mut findings, &mut expected);
        written.insert(dag.id.clone(), entry);
    }
    if files.shares() {
        document.insert("template_searchpath".into(), Json::from(vec![files.shared_folder()]));
    }
    let assets = known.document();
    if !assets.is_empty() {
        document.insert("assets".into(), Json::Object(assets));
    }
    document.insert("dags".into(), Json::Object(written));
    findings.sort_by_key(|finding| finding.gravity);
    Ok(Converted { document: text(&document)?, files: files.into_files(), findings, expected, timetables })
}

fn check(dags: &[SerializedDag], folders: &Folders) -> Result<(), ImportError> {
    if dags.is_empty() {
        return Err(ImportError::new("there is no Dag to import"));
    }
    if dags.len() > MAX_DAGS {
        return Err(ImportError::new(format!("{} Dags at once; the limit is {MAX_DAGS}", dags.len())));
    }
    for folder in folders.dags.iter().chain(&folders.template_searchpath) {
        if !folder.is_dir() {
            return Err(ImportError::new(format!("there is no folder {folder}")));
        }
    }
    let mut origins: BTreeMap<&str, &str> = BTreeMap::new();
    for dag in dags {
        if let Some(other) = origins.insert(dag.dag_id()?, &dag.origin) {
            return Err(ImportError::new(format!("two Dags are `{}`: {other} and {}", dag.dag_id()?, dag.origin))
                .help("give one version of each Dag"));
        }
    }
    let old = dags.iter().find(|dag| dag.version == Version::V1);
    let new = dags.iter().find(|dag| dag.version != Version::V1);
    if let (Some(old), Some(new)) = (old, new) {
        return Err(ImportError::new(format!(
            "{} is a Dag of Airflow 2, {} one of Airflow 3: they make no pipeline together",
            old.origin, new.origin
        ))
        .help("import them one after the other"));
    }
    Ok(())
}

/// The YAML text, as it reads best; it is read again to be sure that it says the same.
fn text(document: &Map<String, Json>) -> Result<String, ImportError> {
    let mut problem = None;
    for readable in [true, false] {
        let text = yaml::write(document, readable);
        let source = reader::source("pipeline.yaml".into(), text);
        match reader::parse(&source) {
            Ok(tree) if tree.to_json() == Json::Object(document.clone()) => return Ok(source.text.clone()),
            Ok(_) => {}
            Err(error) => problem = Some(error),
        }
    }
    Err(ImportError {
        message: "these Dags cannot be written as a pipeline file".to_owned(),
        help: Some("import fewer Dags at once".to_owned()),
        problems: problem.into_iter().collect(),
    })
}

impl Converted {
    /// Compares the pipeline that was read with what was to be written.
    pub(super) fn verify(&self, pipeline: &Pipeline) -> Result<(), ImportError> {
        for (dag_id, exact) in &self.timetables {
            if pipeline.dag(dag_id).is_none_or(|dag| encode_timetable(&*dag.timetable) != *exact) {
                return Err(ImportError::new(format!(
                    "{dag_id}: the pipeline file does not say the schedule that the serialized Dag says; please report it"
                )));
            }
        }
        for expected in &self.expected {
            let dag = pipeline.dag(&expected.dag_id);
            let task = dag.and_then(|dag| dag.tasks.iter().find(|task| task.task_id == expected.task_id));
            let field = task.and_then(|task| task.fields.iter().find(|field| field.name == expected.field));
            let got = field.and_then(|field| field.value.as_ref()).map_or(Json::Null, |value| value.to_json());
            let search = dag.map(|dag| dag.template_searchpath.as_slice()).unwrap_or_default();
            let text =
                got.as_str().and_then(|name| search.iter().find_map(|folder| pipeline.files.get(&folder.join(name))));
            let same = got == expected.value || text.is_some_and(|text| Some(&**text) == expected.value.as_str());
            if !same {
                return Err(ImportError::new(format!(
                    "{}.{}.{}: the pipeline file does not say what the serialized Dag says; please report it",
                    expected.dag_id, expected.task_id, expected.field
                )));
            }
        }
        Ok(())
    }
}

/// What is to be said about versions that had to be converted.
fn converted(dags: &[SerializedDag]) -> Vec<Finding> {
    let texts = [
        (Version::V2, "stored by Airflow 3.0 or 3.1 (`__version` 2); read as Airflow 3.3 reads it"),
        (Version::V1, "stored by Airflow 2 (`__version` 1); read with the rules of Airflow 2.10"),
    ];
    let mut findings = Vec::new();
    for (version, text) in texts {
        let of_version: Vec<&SerializedDag> = dags.iter().filter(|dag| dag.version == version).collect();
        match of_version.as_slice() {
            [] => {}
            [one] => {
                let finding = Finding::new(Gravity::Note, text);
                findings.push(one.dag_id().map_or(finding.clone(), |id| finding.of_dag(id)));
            }
            several => findings.push(Finding::new(Gravity::Note, format!("{} Dags were {text}", several.len()))),
        }
    }
    findings
}
