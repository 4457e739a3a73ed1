//! One serialized Dag: its parts checked, its templates looked into.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8PathBuf;
use serde_json::{Map, Value as Json, json};

use super::guards::{self, Guard, Unknown};
use super::task::{self, Mapping, Task};
use super::templates::{self, Look, Needs};
use super::{Shared, assets, schedule};
use crate::airflow::serialized::{SerializedDag, Undecodable, Version, decode};
use crate::airflow::verify::CUT_PREFIX;
use crate::airflow::{Finding, Gravity, ImportError};
use crate::asset::AssetCondition;
use crate::pipeline::{self, yaml};
use crate::python::Zone;
use crate::render::FieldValue;

/// Files of a folder that a cut field is compared with.
const CANDIDATES: usize = 5_000;

/// A Dag, ready to be written.
pub(super) struct Dag {
    /// `dag_id`
    pub id: String,
    /// Everything else.
    pub attributes: Map<String, Json>,
    /// Its timetable in the names of Airflow 3.
    pub timetable: Json,
    /// Its time zone; UTC where a pipeline file cannot hold it.
    pub zone: Zone,
    /// The zone's name.
    pub timezone: String,
    /// True when it was stored by Airflow 2.
    pub old: bool,
    /// What only the Dag's own Python knows, where it was asked.
    pub extra: Map<String, Json>,
    /// `is_paused`, where known
    pub is_paused: Option<bool>,
    /// Values of `params`
    pub params: Map<String, Json>,
    /// Tasks in order.
    pub tasks: Vec<Task>,
    /// Inlets and outlets of each task.
    pub ends: Vec<(Vec<AssetCondition>, Vec<AssetCondition>)>,
    /// Params of each task.
    pub task_params: Vec<Map<String, Json>>,
    /// What its templates need.
    pub needs: Needs,
    /// Folders its templates were looked for in.
    pub path: Vec<Utf8PathBuf>,
    /// Which arguments templates of each task may read.
    pub readable: Vec<Vec<&'static str>>,
    /// Attributes of the Dag that its templates may read and must not.
    pub unknown: Unknown,
    /// Such attributes of each task.
    pub unknown_of_tasks: Vec<Unknown>,
}

impl Dag {
    /// Reads a Dag.
    ///
    /// # Errors
    /// Parts that are no parts of a Dag.
    pub fn read(
        serialized: &SerializedDag,
        shared: &Shared<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Self, ImportError> {
        let id = serialized.dag_id()?.to_owned();
        let origin = format!("{}: Dag `{id}`", serialized.origin);
        let attributes = serialized.dag.clone();
        let old = serialized.version == Version::V1;
        let mut tasks = Vec::new();
        for value in list(&attributes, "tasks", &origin)? {
            let task = task::read(value, &serialized.task_defaults, old, &origin)?;
            if tasks.iter().any(|known: &Task| known.id == task.id) {
                return Err(ImportError::new(format!("{origin}: two tasks are `{}`", task.id)));
            }
            tasks.push(task);
        }
        let mut dag = Dag {
            timetable: timetable(&attributes, &id, findings),
            id,
            old,
            zone: Zone::UTC,
            timezone: "UTC".to_owned(),
            is_paused: serialized.is_paused,
            extra: serialized.extra.clone(),
            params: Map::new(),
            ends: Vec::new(),
            task_params: Vec::new(),
            needs: Needs::default(),
            path: templates::search_path(&attributes, &serialized.extra, shared.folders),
            readable: Vec::new(),
            unknown: Vec::new(),
            unknown_of_tasks: Vec::new(),
            tasks,
            attributes,
        };
        dag.unknown = guards::of_dag(&dag.attributes);
        dag.unknown_of_tasks = dag.tasks.iter().map(|task| guards::of_task(&task.attributes)).collect();
        let mut guards: Vec<Guard> = guards::by_name("dag", &dag.unknown).collect();
        guards.extend(guards::of_dependencies(dag.tasks.len()));
        dag.read_zone(&mut guards, findings);
        let own = dag.attributes.get("params").cloned();
        dag.params = params(own.as_ref(), &mut guards, &mut |message| {
            findings.push(Finding::new(Gravity::Note, message).of_dag(&dag.id));
        });
        dag.mapped_groups();
        dag.read_ends(&mut guards, findings);
        dag.read_task_params(&mut guards);
        dag.whole_texts(findings);
        dag.refuse_whole();
        dag.look(shared, &guards, findings);
        dag.report(findings);
        Ok(dag)
    }

    /// Every condition with assets in it.
    pub fn assets(&self) -> Vec<AssetCondition> {
        let mut all = schedule::conditions(&self.timetable);
        for (inlets, outlets) in &self.ends {
            all.extend(inlets.iter().chain(outlets).cloned());
        }
        all
    }

    /// Values of that kind that are plain data.
    pub fn plain(&self, kind: &str) -> Map<String, Json> {
        let known = self.extra.get(kind).and_then(Json::as_object).into_iter().flatten();
        let plain = known.filter(|(_, value)| value.get("plain") == Some(&Json::Bool(true)));
        plain.map(|(name, value)| (name.clone(), value.get("value").cloned().unwrap_or_default())).collect()
    }

    /// Refuses every field where the Dag's templates are read in a way that a pipeline file cannot say.
    fn refuse_whole(&mut self) {
        let options = self.plain("jinja_environment_kwargs");
        let given = self.extra.get("jinja_environment_kwargs").and_then(Json::as_object);
        let mut reasons: Vec<String> = given
            .into_iter()
            .flat_map(Map::keys)
            .filter(|name| !options.contains_key(*name))
            .map(|name| format!("`{name}` of `jinja_environment_kwargs` exists only in Python"))
            .collect();
        reasons.extend(unreadable(&options));
        match self.extra.get("template_undefined").and_then(Json::as_str) {
            None | Some("StrictUndefined" | "Undefined" | "ChainableUndefined" | "DebugUndefined") => {}
            Some(other) => reasons.push(format!("`template_undefined` {other} exists only in Python")),
        }
        let Some(reason) = reasons.first() else { return };
        if let Some(Json::Object(kept)) = self.extra.get_mut("jinja_environment_kwargs") {
            kept.clear();
        }
        self.extra.shift_remove("template_undefined");
        for task in &mut self.tasks {
            for field in task.fields.clone() {
                task.values.retain(|(name, _)| *name != field);
                task.refuse(&field, reason.clone());
            }
        }
    }

    fn read_zone(&mut self, guards: &mut Vec<Guard>, findings: &mut Vec<Finding>) {
        let given = match self.attributes.get("timezone") {
            None | Some(Json::Null) => return,
            Some(Json::Object(map)) => map.get("__var").cloned().unwrap_or(Json::Null),
            Some(given) => given.clone(),
        };
        let known = given.as_str().and_then(|name| Some((name, Zone::parse(name).ok()?)));
        if let Some((name, zone)) = known.filter(|(name, _)| name.parse::<chrono_tz::Tz>().is_ok()) {
            self.zone = zone;
            name.clone_into(&mut self.timezone);
            return;
        }
        let reason = format!("the Dag's time zone {given} has no place in a pipeline file");
        findings.push(Finding::new(Gravity::Note, format!("{reason}: what reads it is refused")).of_dag(&self.id));
        for part in ["dag.timezone", "dag.start_date", "dag.end_date", "task.start_date", "task.dag", "get_dag"] {
            guards.push(Guard::new(part, reason.clone()));
        }
        for name in ["timezone", "start_date", "end_date"] {
            self.unknown.push((name.to_owned(), reason.clone()));
        }
        for name in ["start_date", "end_date"] {
            self.unknown_of_tasks.iter_mut().for_each(|unknown| unknown.push((name.to_owned(), reason.clone())));
        }
    }

    /// Marks the tasks of mapped task groups.
    fn mapped_groups(&mut self) {
        let mut inside = BTreeSet::new();
        if let Some(root) = self.attributes.get("task_group") {
            members(root, false, 0, &mut inside);
        }
        for task in &mut self.tasks {
            task.in_mapped_group = inside.contains(&task.id);
        }
    }

    fn read_ends(&mut self, guards: &mut Vec<Guard>, findings: &mut Vec<Finding>) {
        for (task, unknown) in self.tasks.iter().zip(&mut self.unknown_of_tasks) {
            let mut read = |name: &str| match assets::items(task.attributes.get(name)) {
                Ok(items) => items,
                Err(error) => {
                    let message = format!("`{name}` cannot be read: {error}");
                    findings.push(Finding::new(Gravity::Refused, message).of_dag(&self.id).of_task(&task.id));
                    unknown.push((name.to_owned(), format!("`{name}` of task `{}` cannot be read", task.id)));
                    let events = format!("{}_events", name.trim_end_matches('s'));
                    guards.push(Guard::new(name, format!("`{name}` of task `{}` cannot be read", task.id)));
                    guards.push(Guard::new(events, format!("`{name}` of task `{}` cannot be read", task.id)));
                    Vec::new()
                }
            };
            let ends = (read("inlets"), read("outlets"));
            self.ends.push(ends);
        }
    }

    fn read_task_params(&mut self, guards: &mut Vec<Guard>) {
        for task in &self.tasks {
            let all = params(task.attributes.get("params"), guards, &mut |_| {});
            let own = all.into_iter().filter(|(name, value)| self.params.get(name) != Some(value)).collect();
            self.task_params.push(own);
        }
    }

    /// Finds the files of fields that were cut: the one file that starts like the text.
    fn whole_texts(&mut self, findings: &mut Vec<Finding>) {
        let mut known: Option<Vec<(Utf8PathBuf, String)>> = None;
        for at in 0..self.tasks.len() {
            let Some(task) = self.tasks.get(at) else { break };
            let cut: Vec<(String, String)> = task
                .fields
                .iter()
                .filter_map(|field| {
                    let text = task.attributes.get(field)?.as_str()?.strip_prefix(CUT_PREFIX)?;
                    Some((field.clone(), text.trim_end().trim_end_matches('.').to_owned()))
                })
                .filter(|_| task.mapping.is_none())
                .collect();
            for (field, start) in cut {
                let Some(task) = self.tasks.get(at) else { break };
                let old = start.strip_prefix('\'').and_then(|start| start.strip_suffix('\'')).filter(|_| self.old);
                // Airflow 2 shows the text as Python prints it.
                let start = old.map_or(start.clone(), |text| text.replace("\\n", "\n").replace("\\'", "'"));
                let files = known.get_or_insert_with(|| candidates(&self.path));
                let fits = |(path, text): &&(Utf8PathBuf, String)| {
                    task.template_ext.iter().any(|ending| path.as_str().ends_with(ending.as_str()))
                        && start.len() >= 40
                        && text.starts_with(&start)
                };
                let mut found: Vec<&(Utf8PathBuf, String)> = files.iter().filter(fits).collect();
                found.dedup_by(|one, other| one.1 == other.1);
                let (task_id, dag_id) = (task.id.clone(), self.id.clone());
                let about = |finding: Finding| finding.of_dag(&dag_id).of_task(&task_id).of_field(&field);
                match found.as_slice() {
                    [(path, text)] => {
                        let message = format!("cut when the Dag was stored; its whole text is taken from {path}");
                        findings.push(about(Finding::new(Gravity::Note, message)));
                        let text = Json::from(text.as_str());
                        if let Some(task) = self.tasks.get_mut(at) {
                            task.refused.retain(|(name, _)| *name != field);
                            task.values.push((field, text));
                        }
                    }
                    _ if self.path.is_empty() => {}
                    several => {
                        let message = match several.len() {
                            0 => "no file in the folders given starts like this field".to_owned(),
                            count => format!("{count} different files in the folders given start like this field"),
                        };
                        findings.push(about(Finding::new(Gravity::Note, message)));
                    }
                }
            }
        }
    }

    /// Looks into every template of every task.
    fn look(&mut self, shared: &Shared<'_>, guards: &[Guard], findings: &mut Vec<Finding>) {
        let blind = self.path.is_empty();
        let macros = self.plain("user_defined_macros");
        let mut said: BTreeSet<(String, String)> = BTreeSet::new();
        let mut may_read = BTreeSet::new();
        for (task, unknown) in self.tasks.iter_mut().zip(&mut self.unknown_of_tasks) {
            let own: Vec<Guard> = guards::by_name("task", unknown).collect();
            let mut texts: Vec<Arc<str>> = Vec::new();
            // What is not looked into may read anything.
            let mut unseen = false;
            let mut fields: BTreeMap<String, Vec<Json>> = BTreeMap::new();
            for (name, value) in &task.values {
                fields.entry(name.clone()).or_default().push(value.clone());
            }
            match &task.mapping {
                Some(Mapping::Lists(lists)) => {
                    for (name, values) in lists {
                        fields.entry(name.clone()).or_default().extend(values.iter().cloned());
                    }
                }
                Some(Mapping::Dicts(dicts)) => {
                    for (name, value) in dicts.iter().flatten() {
                        fields.entry(name.clone()).or_default().push(value.clone());
                    }
                }
                Some(Mapping::Unknown) | None => {}
            }
            for (field, values) in fields {
                let mut look = Look::new(shared, &self.path);
                for value in &values {
                    leaves(value, &mut |text| {
                        if !text.contains('\n') && task.template_ext.iter().any(|ending| text.ends_with(ending)) {
                            look.file(text);
                        } else {
                            look.text(text);
                        }
                    });
                }
                let unknown_index = task.in_mapped_group || matches!(task.mapping, Some(Mapping::Unknown));
                for text in &look.texts {
                    if let Some(reason) = guards.iter().chain(&own).find_map(|guard| guard.refuses(text)) {
                        task.refuse(&field, reason);
                    } else if unknown_index && guards::mentions(text, "map_index") {
                        task.refuse(&field, "it reads the map index, and how the task is mapped is not known");
                    }
                }
                for name in &look.needs.optional {
                    if blind && look.needs.missing.contains(name) {
                        task.refuse(
                            &field,
                            format!("it includes `{name}` if that exists, and no folder to look in was given"),
                        );
                    }
                }
                texts.append(&mut look.texts);
                unseen |= look.needs.dynamic || !look.needs.missing.is_empty();
                look.needs.names.retain(|name| !macros.contains_key(name));
                missing(&self.id, &task.id, &field, &look.needs, blind, &mut said, findings);
                unseen |= !look.needs.names.is_empty();
                self.needs.extend(look.needs);
            }
            let reads = |name: &str| unseen || guards::reaches(&texts, name);
            self.readable.push(guards::READABLE.iter().map(|(name, _)| *name).filter(|name| reads(name)).collect());
            unknown.retain(|(name, _)| reads(name) && !task.fields.contains(name));
            may_read.extend(self.unknown.iter().map(|(name, _)| name.clone()).filter(|name| reads(name)));
        }
        self.unknown.retain(|(name, _)| may_read.contains(name));
    }

    fn report(&self, findings: &mut Vec<Finding>) {
        for task in &self.tasks {
            for (field, reason) in &task.refused {
                let finding = Finding::new(Gravity::Refused, reason.clone()).of_dag(&self.id).of_task(&task.id);
                let finding = finding.of_field(field);
                findings.push(match reason.as_str() {
                    cut if cut == task::truncated() => {
                        finding.help("give the folder with its file: --dags-folder, --template-searchpath")
                    }
                    _ => finding,
                });
            }
            if task.in_mapped_group {
                let message = "in a mapped task group: shown once, without a map index";
                findings.push(Finding::new(Gravity::Note, message).of_dag(&self.id).of_task(&task.id));
            }
        }
    }
}

/// What a pipeline file refuses of `jinja_environment_kwargs`.
fn unreadable(options: &Map<String, Json>) -> Option<String> {
    if options.is_empty() {
        return None;
    }
    let document = json!({"dags": {"d": {"jinja_environment_kwargs": options}}}).to_string();
    let source = yaml::source("pipeline.json".into(), document);
    let problems = pipeline::from_source(&source, ".".into()).err()?;
    problems.first().map(|problem| problem.message.clone())
}

fn list<'a>(map: &'a Map<String, Json>, name: &str, origin: &str) -> Result<&'a [Json], ImportError> {
    match map.get(name) {
        Some(Json::Array(items)) => Ok(items),
        None | Some(Json::Null) => Ok(&[]),
        Some(_) => Err(ImportError::new(format!("{origin}: `{name}` is no list"))),
    }
}

/// The timetable; Airflow 2 stored what `schedule_interval` says where it was no timetable.
fn timetable(attributes: &Map<String, Json>, id: &str, findings: &mut Vec<Finding>) -> Json {
    if let Some(timetable) = schedule::serialized(attributes) {
        return timetable;
    }
    let null = json!({"__type": "airflow.timetables.simple.NullTimetable", "__var": {}});
    let zone = attributes.get("timezone").cloned().unwrap_or_else(|| "UTC".into());
    match attributes.get("schedule_interval") {
        None | Some(Json::Null) => null,
        Some(Json::String(text)) if text == "@once" => {
            json!({"__type": "airflow.timetables.simple.OnceTimetable", "__var": {}})
        }
        Some(Json::String(text)) if text == "@continuous" => {
            json!({"__type": "airflow.timetables.simple.ContinuousTimetable", "__var": {}})
        }
        Some(Json::String(cron)) => json!({
            "__type": "airflow.timetables.interval.CronDataIntervalTimetable",
            "__var": {"expression": crate::timetable::cron_preset(cron).unwrap_or(cron), "timezone": zone},
        }),
        Some(other) => match (other.get("__type").and_then(Json::as_str), other.get("__var")) {
            (Some("timedelta" | "relativedelta"), Some(delta)) => json!({
                "__type": "airflow.timetables.interval.DeltaDataIntervalTimetable",
                "__var": {"delta": delta},
            }),
            _ => {
                let message = format!("`schedule_interval` {other} cannot be read");
                findings.push(Finding::new(Gravity::Needed, message).of_dag(id));
                null
            }
        },
    }
}

/// Task ids below a mapped task group.
fn members(group: &Json, mapped: bool, depth: usize, inside: &mut BTreeSet<String>) {
    let mapped = mapped || group.get("is_mapped").and_then(Json::as_bool) == Some(true);
    for child in group.get("children").and_then(Json::as_object).into_iter().flat_map(Map::values) {
        match child.get(1) {
            Some(Json::String(task_id)) if mapped => {
                inside.insert(task_id.clone());
            }
            Some(inner @ Json::Object(_)) if depth < 50 => members(inner, mapped, depth + 1, inside),
            _ => {}
        }
    }
}

/// Names and values of params (`_deserialize_params_dict`).
fn params(value: Option<&Json>, guards: &mut Vec<Guard>, note: &mut dyn FnMut(String)) -> Map<String, Json> {
    let pairs: Vec<(String, &Json)> = match value {
        Some(Json::Array(pairs)) => {
            pairs.iter().filter_map(|pair| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?))).collect()
        }
        Some(Json::Object(map)) => map.iter().map(|(name, value)| (name.clone(), value)).collect(),
        _ => Vec::new(),
    };
    let mut found = Map::new();
    for (name, param) in pairs {
        let default = match param.get("__class") {
            Some(_) => param.get("default").unwrap_or(&Json::Null),
            None => param,
        };
        match decode(default) {
            Ok(value) => {
                if has_tuple(&value) {
                    guards.push(Guard::of_param(&name, format!("param `{name}` holds a tuple or a set")));
                }
                found.insert(name, value.to_json());
            }
            Err(Undecodable::NotSet) => {
                note(format!("param `{name}` has no default: a run must give it in its conf"));
            }
            // Airflow 2.2 and older stored them as they were.
            Err(_) if default.get("__type").is_none() => {
                found.insert(name, default.clone());
            }
            Err(what) => {
                guards.push(Guard::of_param(&name, format!("param `{name}` is {}", what.describe())));
            }
        }
    }
    found
}

fn has_tuple(value: &FieldValue) -> bool {
    match value {
        FieldValue::Tuple(_) | FieldValue::Set(_) => true,
        FieldValue::List(items) => items.iter().any(has_tuple),
        FieldValue::Dict(entries) => entries.iter().any(|(_, value)| has_tuple(value)),
        _ => false,
    }
}

/// Every text in a value; keys are no templates.
fn leaves(value: &Json, see: &mut dyn FnMut(&str)) {
    match value {
        Json::String(text) => see(text),
        Json::Array(items) => items.iter().for_each(|item| leaves(item, see)),
        Json::Object(map) => map.values().for_each(|item| leaves(item, see)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Files of folders and the folders below them, with their texts.
fn candidates(path: &[Utf8PathBuf]) -> Vec<(Utf8PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<(Utf8PathBuf, usize)> = path.iter().rev().map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = folder.read_dir_utf8() else { continue };
        for entry in entries.flatten() {
            let path = entry.path().to_owned();
            if path.is_dir() && depth < 12 {
                folders.push((path, depth + 1));
            } else if found.len() < CANDIDATES
                && entry.metadata().is_ok_and(|data| data.is_file() && data.len() < 1 << 20)
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// Says what the templates of a field need and nobody gave, once for each Dag and thing.
fn missing(
    dag_id: &str,
    task_id: &str,
    field: &str,
    needs: &Needs,
    blind: bool,
    said: &mut BTreeSet<(String, String)>,
    findings: &mut Vec<Finding>,
) {
    let mut say = |kind: &str, name: &str, finding: Finding| {
        if said.insert((kind.to_owned(), name.to_owned())) {
            findings.push(finding.of_dag(dag_id).of_task(task_id).of_field(field));
        }
    };
    for name in needs.missing.difference(&needs.optional) {
        let (message, help) = match blind {
            true => (
                format!("the file `{name}` is not in the serialized Dag"),
                "give its folder: --dags-folder, --template-searchpath",
            ),
            false => (format!("the file `{name}` is in no folder given"), "give its folder: --template-searchpath"),
        };
        say("file", name, Finding::new(Gravity::Needed, message).help(help));
    }
    if needs.dynamic {
        let message = "it includes files whose names are worked out while it renders";
        let help = match blind {
            true => "give their folders: --dags-folder, --template-searchpath",
            false => "the pipeline reads them from the folders given",
        };
        let gravity = if blind { Gravity::Needed } else { Gravity::Note };
        say("dynamic", "", Finding::new(gravity, message).help(help));
    }
    for name in &needs.names {
        let message = format!("`{name}` is not Airflow's: a user-defined macro exists only in Python");
        let help = format!("give it in the pipeline file: user_defined_macros: {{{name}: {{expression: \"...\"}}}}");
        say("name", name, Finding::new(Gravity::Needed, message).help(help));
    }
    for plugin in &needs.plugins {
        let message = format!("`macros.{plugin}` is not Airflow's: a plugin's macros exist only in Python");
        let help = format!(
            "give it in the pipeline file: user_defined_macros: {{macros.{plugin}.NAME: {{expression: \"...\"}}}}"
        );
        say("plugin", plugin, Finding::new(Gravity::Needed, message).help(help));
    }
    for filter in &needs.filters {
        let message =
            format!("{} A user-defined filter exists only in Python", filter.trim_end_matches('.').to_owned() + ".");
        let help = "give it in the pipeline file: user_defined_filters: {NAME: {expression: \"...\"}}";
        say("filter", filter, Finding::new(Gravity::Needed, message).help(help));
    }
}
