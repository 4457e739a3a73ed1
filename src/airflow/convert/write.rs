//! A Dag and its tasks as entries of a pipeline file.

use chrono::{DateTime, SecondsFormat, Timelike as _, Utc};
use serde_json::{Map, Value as Json, json};

use super::Expected;
use super::assets::Assets;
use super::dag::Dag;
use super::files::Files;
use super::guards;
use super::task::{Mapping, Task};
use crate::airflow::{Finding, Gravity};
use crate::asset::AssetCondition;
use crate::render::operators;
use crate::timetable::cron_preset;

/// Airflow's default of `max_active_runs`.
const MAX_ACTIVE_RUNS: i64 = 16;

/// Writes a Dag.
pub(super) fn dag(
    dag: &Dag,
    schedule: Json,
    assets: &Assets,
    files: &mut Files,
    findings: &mut Vec<Finding>,
    expected: &mut Vec<Expected>,
) -> Json {
    let mut out = Map::new();
    let mut put = |name: &str, value: Json, default: Json| {
        if value != default {
            out.insert(name.to_owned(), value);
        }
    };
    // Airflow 2 keeps the preset that was written, and templates read it.
    let preset = dag.attributes.get("schedule_interval").and_then(Json::as_str).filter(|_| dag.old);
    let schedule = match preset.filter(|preset| cron_preset(preset) == schedule.as_str()) {
        Some(preset) if schedule.is_string() => preset.into(),
        _ => schedule,
    };
    // Airflow 2 has a schedule where none is written.
    let unsaid = if dag.old { Json::Bool(false) } else { Json::Null };
    put("schedule", schedule, unsaid);
    put("start_date", date(dag, "start_date", findings), Json::Null);
    put("end_date", date(dag, "end_date", findings), Json::Null);
    put("timezone", dag.timezone.as_str().into(), "UTC".into());
    let boolean = |name: &str| dag.attributes.get(name).and_then(Json::as_bool).unwrap_or(false);
    // Airflow 2 leaves out what is its default, true.
    let catchup = dag.attributes.get("catchup").and_then(Json::as_bool).unwrap_or(dag.old);
    put("catchup", catchup.into(), dag.old.into());
    let limit = dag.attributes.get("max_active_runs").and_then(Json::as_i64).unwrap_or(MAX_ACTIVE_RUNS);
    put("max_active_runs", limit.clamp(0, i64::from(i32::MAX)).into(), MAX_ACTIVE_RUNS.into());
    put("is_paused", dag.is_paused.unwrap_or(false).into(), false.into());
    put("params", Json::Object(dag.params.clone()), json!({}));
    put("render_template_as_native_obj", boolean("render_template_as_native_obj").into(), false.into());

    extra(dag, &mut out);

    let folder = files.folder(&dag.id);
    let mut own = false;
    for (name, text) in &dag.needs.files {
        own |= files.include(&folder, name, text);
    }
    let mut tasks = Map::new();
    for (at, task) in dag.tasks.iter().enumerate() {
        let mut writer = Writer { dag, task, files, folder: &folder, own: &mut own, fields: Vec::new() };
        let entry = writer.task(at, assets);
        expected.extend(writer.fields.into_iter().map(|(field, value)| Expected {
            dag_id: dag.id.clone(),
            task_id: task.id.clone(),
            field,
            value,
        }));
        tasks.insert(task.id.clone(), entry);
    }
    let mut search = Vec::new();
    if own {
        search.push(folder);
    }
    if dag.needs.dynamic {
        // What is included cannot be known: it is read where it is.
        search.extend(
            dag.path.iter().map(|folder| folder.canonicalize_utf8().unwrap_or_else(|_| folder.clone()).into_string()),
        );
    }
    if !search.is_empty() {
        out.insert("template_searchpath".into(), search.into());
    }
    if !dag.unknown.is_empty() {
        out.insert("unsupported".into(), reasons(&dag.unknown).into());
    }
    if !tasks.is_empty() {
        out.insert("tasks".into(), Json::Object(tasks));
    }
    if out.is_empty() { Json::Null } else { Json::Object(out) }
}

/// What a serialized Dag lacks and its own Python said; what of it cannot be written is refused by [`Dag::read`].
fn extra(dag: &Dag, out: &mut Map<String, Json>) {
    if let Some(known) = dag.extra.get("template_undefined").and_then(Json::as_str)
        && known != "StrictUndefined"
    {
        out.insert("template_undefined".into(), known.into());
    }
    // A mapping with the one key `expression` would be read as one.
    let macros: Map<String, Json> = dag
        .plain("user_defined_macros")
        .into_iter()
        .filter(|(_, value)| value.as_object().is_none_or(|map| map.len() != 1 || !map.contains_key("expression")))
        .collect();
    let options = dag.plain("jinja_environment_kwargs");
    for (name, values) in [("user_defined_macros", macros), ("jinja_environment_kwargs", options)] {
        if !values.is_empty() {
            out.insert(name.to_owned(), Json::Object(values));
        }
    }
}

fn reasons(unknown: &guards::Unknown) -> Map<String, Json> {
    unknown.iter().map(|(name, reason)| (name.clone(), Json::from(reason.as_str()))).collect()
}

/// A date of a Dag: seconds since the epoch, as Airflow stored them.
fn date(dag: &Dag, name: &str, findings: &mut Vec<Finding>) -> Json {
    let Some(value) = dag.attributes.get(name).filter(|value| !value.is_null()) else { return Json::Null };
    let value = value.get("__var").unwrap_or(value);
    let instant = value.as_f64().and_then(|seconds| {
        let micros = (seconds * 1e6).round();
        (micros.abs() < 2.6e17).then(|| DateTime::<Utc>::from_timestamp_micros(micros as i64)).flatten()
    });
    let Some(instant) = instant else {
        let message = format!("`{name}` is no date: {value}");
        findings.push(Finding::new(Gravity::Needed, message).of_dag(&dag.id));
        return Json::Null;
    };
    match instant.num_seconds_from_midnight() == 0 && instant.nanosecond() == 0 {
        true => instant.format("%Y-%m-%d").to_string().into(),
        false => instant.to_rfc3339_opts(SecondsFormat::AutoSi, true).into(),
    }
}

struct Writer<'a> {
    dag: &'a Dag,
    task: &'a Task,
    files: &'a mut Files,
    folder: &'a str,
    /// Set when the Dag has a file of its own.
    own: &'a mut bool,
    /// What each template field must be once it is read.
    fields: Vec<(String, Json)>,
}

impl Writer<'_> {
    fn task(&mut self, at: usize, assets: &Assets) -> Json {
        let task = self.task;
        let mut out = Map::new();
        let operator = task.operator.as_str();
        if operator != "BaseOperator" || !task.fields.is_empty() {
            out.insert("operator".into(), operator.into());
        }
        let short = self.is_short();
        if !short {
            if !task.fields.is_empty() || operators::find(operator).is_none_or(|known| !known.fields.is_empty()) {
                out.insert("template_fields".into(), task.fields.clone().into());
            }
            let known = operators::find(operator).map(|known| known.template_ext.clone()).unwrap_or_default();
            if known != task.template_ext {
                out.insert("template_ext".into(), task.template_ext.clone().into());
            }
        }
        if let Some(native) = task.attributes.get("render_template_as_native_obj").and_then(Json::as_bool) {
            out.insert("render_template_as_native_obj".into(), native.into());
        }
        if let Some(retries) = task.integer("retries").filter(|retries| (1..=i64::from(i32::MAX)).contains(retries)) {
            out.insert("retries".into(), retries.into());
        }
        if let Some(owner) = task.attributes.get("owner").and_then(Json::as_str).filter(|owner| *owner != "airflow") {
            out.insert("owner".into(), owner.into());
        }
        self.readable(at, &mut out);
        match self.dag.task_params.get(at) {
            Some(params) if !params.is_empty() => {
                out.insert("params".into(), Json::Object(params.clone()));
            }
            _ => {}
        }
        if task.mapping.is_some() {
            self.mapped(&mut out);
        } else {
            self.plain(&mut out, short);
        }
        if let Some((inlets, outlets)) = self.dag.ends.get(at) {
            for (name, items) in [("inlets", inlets), ("outlets", outlets)] {
                if !items.is_empty() {
                    let items: Vec<Json> = items.iter().map(|item: &AssetCondition| assets.write(item)).collect();
                    out.insert(name.into(), items.into());
                }
            }
        }
        let mut refused: Map<String, Json> = task
            .refused
            .iter()
            .flat_map(|(name, reason)| self.attributes_of(name).into_iter().map(move |field| (field, reason)))
            .map(|(name, reason)| (name, Json::from(reason.as_str())))
            .collect();
        if let Some(unknown) = self.dag.unknown_of_tasks.get(at).filter(|_| !task.fields.is_empty()) {
            refused.extend(reasons(unknown));
        }
        if !refused.is_empty() {
            out.insert("unsupported".into(), Json::Object(refused));
        }
        if out.is_empty() { Json::Null } else { Json::Object(out) }
    }

    /// The template fields behind an argument: itself, or the attribute that keeps it.
    fn attributes_of(&self, argument: &str) -> Vec<String> {
        let is = |field: &&String| *field == argument || field.trim_start_matches('_') == argument;
        self.task.fields.iter().filter(is).cloned().collect()
    }

    fn refused(&self, field: &str) -> bool {
        self.task.refused.iter().any(|(name, _)| name == field)
    }

    /// Whether the operator is known and says of its fields what was stored.
    fn is_short(&self) -> bool {
        let task = self.task;
        let Some(known) = operators::find(&task.operator) else { return false };
        let names: Vec<&str> = known.fields.iter().map(|field| field.name).collect();
        if names != task.fields || known.template_ext != task.template_ext {
            return false;
        }
        if task.mapping.is_some() {
            return true;
        }
        known.fields.iter().all(|field| {
            let value = task.value(field.name);
            let stored = value.cloned().unwrap_or(Json::Null);
            match &field.default {
                operators::Default::Computed => value.is_none(),
                operators::Default::Required => value.is_some() || self.refused(field.name),
                operators::Default::Value(default) => {
                    // `falsy` of the reader: null becomes the operator's own empty container.
                    !stored.is_null() || default.to_json().is_null() || self.refused(field.name)
                }
                operators::Default::Unknown => true,
            }
        })
    }

    /// Arguments of every operator that templates of this task read.
    fn readable(&self, at: usize, out: &mut Map<String, Json>) {
        let read = self.dag.readable.get(at).map(Vec::as_slice).unwrap_or_default();
        for (name, default) in guards::READABLE.iter().filter(|(name, _)| read.contains(name)) {
            let Some(value) = self.task.attributes.get(*name) else { continue };
            let default: Json = serde_json::from_str(default).unwrap_or_default();
            if *value != default && !value.is_object() && !self.task.fields.iter().any(|field| field == name) {
                out.insert((*name).to_owned(), value.clone());
            }
        }
    }

    fn plain(&mut self, out: &mut Map<String, Json>, short: bool) {
        let task = self.task;
        let known = operators::find(&task.operator);
        for name in &task.fields {
            if self.refused(name) {
                continue;
            }
            let value = task.value(name).cloned().unwrap_or(Json::Null);
            self.fields.push((name.clone(), value.clone()));
            let field = known.and_then(|known| known.fields.iter().find(|field| field.name == name));
            let default = field.and_then(|field| match &field.default {
                operators::Default::Value(default) => Some(default.to_json()),
                _ => None,
            });
            if short && default.as_ref() == Some(&value) {
                continue;
            }
            if value.is_null() && known.is_some() && default.is_none() {
                continue;
            }
            let argument = match field {
                Some(field) if short => field.argument(),
                _ => name.as_str(),
            };
            let written = self.text(name, &value).map_or(value, Json::from);
            out.insert(argument.to_owned(), written);
        }
    }

    /// A text of several lines goes into a file that is named after its task.
    fn text(&mut self, field: &str, value: &Json) -> Option<String> {
        let task = self.task;
        let text = value.as_str()?;
        let several = text.trim_end_matches('\n').contains('\n');
        let is_name = task.template_ext.iter().any(|ending| text.ends_with(ending.as_str()));
        if !several || is_name || text.contains('\r') {
            return None;
        }
        let language = task.renderers.get(field).and_then(Json::as_str).unwrap_or_default();
        // Scripts are best known as .sh, whichever shell they are for.
        let language = if language == "bash" { "sh" } else { language };
        let by_language = task.template_ext.iter().find(|ending| ending.trim_start_matches('.') == language);
        let ending = by_language.or_else(|| task.template_ext.first()).filter(|ending| {
            ending.starts_with('.') && ending.len() > 1 && ending.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        })?;
        let several_fields = task.fields.iter().filter(|name| {
            task.value(name).and_then(Json::as_str).is_some_and(|text| text.trim_end_matches('\n').contains('\n'))
        });
        let stem = if several_fields.count() > 1 { format!("{}.{field}", task.id) } else { task.id.clone() };
        *self.own = true;
        Some(self.files.field(self.folder, self.dag, &stem, ending, text))
    }

    fn mapped(&mut self, out: &mut Map<String, Json>) {
        let task = self.task;
        let mut partial = Map::new();
        for (name, value) in &task.values {
            if self.refused(name) {
                continue;
            }
            partial.insert(name.clone(), value.clone());
            for field in self.attributes_of(name) {
                self.fields.push((field, value.clone()));
            }
        }
        if operators::find(&task.operator).is_none() {
            // What is not known to have a default is none.
            let given: Vec<&String> = match &task.mapping {
                Some(Mapping::Lists(lists)) => lists.iter().map(|(name, _)| name).collect(),
                Some(Mapping::Dicts(dicts)) => dicts.iter().flat_map(Map::keys).collect(),
                Some(Mapping::Unknown) | None => Vec::new(),
            };
            for name in &task.fields {
                let argument = name.trim_start_matches('_');
                let has = |known: &String| known == name || known == argument;
                if !self.refused(name) && !partial.keys().any(has) && !given.iter().any(|known| has(known)) {
                    partial.insert(argument.to_owned(), Json::Null);
                }
            }
        }
        match &task.mapping {
            Some(Mapping::Lists(lists)) => {
                out.insert("partial".into(), Json::Object(partial));
                let lists = lists.iter().map(|(name, values)| (name.clone(), Json::from(values.clone())));
                out.insert("expand".into(), Json::Object(lists.collect()));
            }
            Some(Mapping::Dicts(dicts)) => {
                // What one index lacks, it has from `partial`.
                out.insert("partial".into(), Json::Object(partial));
                let dicts: Vec<Json> = dicts.iter().cloned().map(Json::Object).collect();
                out.insert("expand_kwargs".into(), dicts.into());
            }
            Some(Mapping::Unknown) | None => {
                out.insert("partial".into(), Json::Object(partial));
            }
        }
        if out.get("partial").is_some_and(|partial| partial == &json!({}))
            && !matches!(task.mapping, Some(Mapping::Unknown))
        {
            out.shift_remove("partial");
        }
    }
}
