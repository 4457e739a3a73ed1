//! `GET /api/render`: the text of a field, the templates behind it, and which line comes from where.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::answer::{Failure, Query, error_json, text_place};
use super::super::highlight::{self, Delimiters, Language};
use super::super::scene::{Scene, masked, run_json};
use super::super::select;
use super::super::templates::{Finder, Source, TRACES};
use super::super::{lines, state::Preview};
use super::Ask;
use crate::context::Masker;
use crate::jinja::Origin;
use crate::pipeline::{Dag, PlayedRun, Renderer, Task, TaskResult};
use crate::python::Value;
use crate::render::{FieldError, RenderedField, display, repr, to_json};
use crate::report;

/// Renders a field.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    query.only(&select::FIELD)?;
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    let chosen = Chosen::of(&scene, query)?;
    let mut renderer = chosen.renderer(ask.preview);
    let rendered = chosen.field(&renderer, query.get("field")?)?;
    let sources = chosen.sources(&mut renderer, &rendered.field);
    Ok(Shown { rendered, sources }.json(&scene, &chosen))
}

/// The run and task instance that a request is about.
pub struct Chosen<'a> {
    pub scene: &'a Arc<Scene>,
    pub run: &'a PlayedRun,
    pub dag: &'a Dag,
    pub task: &'a Task,
    pub map_index: i64,
}

/// A rendered field.
pub struct Rendered {
    pub result: TaskResult,
    pub field: RenderedField,
    pub masker: Masker,
}

/// The templates behind a field, and for each line of its text the places it comes from, where that is known.
struct Sources {
    templates: Vec<Source>,
    origins: Option<Vec<Vec<Origin>>>,
}

/// A rendered field with its templates.
struct Shown {
    rendered: Rendered,
    sources: Sources,
}

impl<'a> Chosen<'a> {
    /// Chooses what a query names.
    pub fn of(scene: &'a Arc<Scene>, query: &Query) -> Result<Self, Failure> {
        let run = select::run(scene, query)?;
        Self::of_run(scene, run, query)
    }

    /// The task of a given run that a query names.
    pub fn of_run(scene: &'a Arc<Scene>, run: &'a PlayedRun, query: &Query) -> Result<Self, Failure> {
        let (dag, task) = select::task(scene, run, query)?;
        let map_index = select::map_index(task, query)?;
        Ok(Chosen { scene, run, dag, task, map_index })
    }

    /// Renders a field; without a name the first that is a template.
    pub fn field(&self, renderer: &Renderer<'_>, field: Option<&str>) -> Result<Rendered, Failure> {
        let masker = renderer.masker();
        let result = self.result(renderer)?;
        let found = match field {
            Some(name) => result.fields.iter().find(|field| field.name == name).ok_or_else(|| {
                Failure::unknown("field", name, result.fields.iter().map(|field| field.name.as_str()))
            })?,
            None => result
                .fields
                .iter()
                .find(|field| field.rendered && field.given)
                .or_else(|| result.fields.first())
                .ok_or_else(|| {
                    Failure::new(404, "not_found", format!("{} has no template field", self.task.task_id))
                })?,
        }
        .clone();
        Ok(Rendered { result, field: found, masker })
    }

    /// A renderer of the task instance.
    pub fn renderer<'p>(&'p self, preview: &'p Preview) -> Renderer<'p> {
        let mut renderer = self.scene.renderer(&preview.engine);
        renderer.map_index = usize::try_from(self.map_index).ok();
        renderer
    }

    /// Finds where a rendered field comes from: the task is rendered once more, with marks in its texts.
    fn sources(&self, renderer: &mut Renderer<'_>, field: &RenderedField) -> Sources {
        let origins = match &field.value {
            Ok(value) if field.rendered => self.origins(renderer, &field.name, value),
            _ => None,
        };
        let templates = self.templates(renderer, field, origins.as_deref().unwrap_or_default());
        Sources { templates, origins }
    }

    fn result(&self, renderer: &Renderer<'_>) -> Result<TaskResult, Failure> {
        renderer.task(self.dag, self.task, self.run).into_iter().next().ok_or_else(|| {
            let message = match self.map_index {
                -1 => format!("{} has no template field", self.task.task_id),
                index => format!("{} has no map index {index}", self.task.task_id),
            };
            Failure::new(404, "not_found", message)
        })
    }

    /// Traces the rendering, the fullest way that gives the same text.
    fn origins(&self, renderer: &mut Renderer<'_>, field: &str, value: &Value) -> Option<Vec<Vec<Origin>>> {
        let found = TRACES.into_iter().find_map(|trace| {
            renderer.trace = trace;
            let traced = self.result(renderer).ok()?;
            let field = traced.fields.into_iter().find(|known| known.name == field)?;
            lines::of_value(value, &field.value.ok()?)
        });
        renderer.trace = crate::jinja::Trace::Off;
        found
    }

    fn templates(&self, renderer: &Renderer<'_>, field: &RenderedField, origins: &[Vec<Origin>]) -> Vec<Source> {
        let Ok(environment) = renderer.environment(self.dag) else { return Vec::new() };
        let finder = Finder { renderer, pipeline: &self.scene.pipeline, dag: self.dag, environment: &environment };
        let value = renderer.field_value(self.task, &field.name, self.map_index).ok().flatten();
        let mut found = finder.find(self.task, &field.name, value.as_ref(), origins);
        if let Err(error) = &field.value
            && let Some(name) = &error.error.template
            && !found.iter().any(|source| source.key == *name)
        {
            found.extend(finder.file(name));
        }
        found
    }
}

impl Rendered {
    /// The text as people see it: masked; none when the field failed.
    pub fn text(&self) -> Option<String> {
        let value = self.field.value.as_ref().ok()?;
        Some(self.masker.mask(&display(value)).into_owned())
    }
}

impl Shown {
    fn json(&self, scene: &Scene, chosen: &Chosen<'_>) -> Json {
        let text = self.rendered.text();
        let file = self.sources.templates.first().filter(|source| source.is_file).map(|source| source.name.as_str());
        let language = Language::of(file, &self.rendered.field.name, text.as_deref().unwrap_or_default());
        let nested = match &self.rendered.field.value {
            Ok(value) => crate::python::text(value).is_none(),
            Err(_) => false,
        };
        // A value of several parts is laid out in a form like YAML.
        let shown = if nested { Language::Yaml } else { language };
        let delimiters = Delimiters::of(&chosen.dag.syntax);
        let templates: Vec<Json> = self
            .sources
            .templates
            .iter()
            .map(|source| {
                let own = Language::of(
                    source.is_file.then_some(source.name.as_str()),
                    &self.rendered.field.name,
                    &source.text,
                );
                let masked = self.rendered.masker.mask(&source.text);
                json!({
                    "name": source.name,
                    "path": source.path,
                    "kind": if source.is_file { "file" } else { "inline" },
                    "first_line": source.first_line,
                    "language": own.name(),
                    "text": masked,
                    "html": highlight::template(&masked, own, &delimiters),
                })
            })
            .collect();
        let (map, back) = self.map(text.as_deref());
        json!({
            "pipeline": scene.pipeline.name,
            "scenario": scene.scenario.name,
            "run": run_json(chosen.run, &self.rendered.masker),
            "task_id": self.rendered.result.task_id,
            "map_index": self.rendered.result.map_index,
            "field": self.rendered.field.name,
            "rendered": self.rendered.field.rendered,
            "given": self.rendered.field.given,
            "language": shown.name(),
            "text": text,
            "html": text.as_deref().map(|text| highlight::text(text, shown)),
            "value": self.value(nested),
            "repr": self.rendered.field.value.as_ref().ok().filter(|_| nested).map(|value| self.rendered.masker.mask(&repr(value)).into_owned()),
            "error": self.rendered.field.value.as_ref().err().map(|error| self.error(chosen, error)),
            "templates": templates,
            "map": map,
            "back": back,
            "assumed": self.rendered.result.assumed,
        })
    }

    /// A value that is no plain text, as JSON where JSON can hold it.
    fn value(&self, nested: bool) -> Json {
        match &self.rendered.field.value {
            Ok(value) if nested => to_json(value).map(|json| masked(json, &self.rendered.masker)).unwrap_or_default(),
            _ => Json::Null,
        }
    }

    /// For each line of the text the template lines it comes from, and for each line of each template the text's lines.
    fn map(&self, text: Option<&str>) -> (Json, Json) {
        let (Some(origins), Some(text)) = (&self.sources.origins, text) else { return (Json::Null, Json::Null) };
        // A secret of several lines is masked as one: nobody can say then which line is which.
        if text.split('\n').count() != origins.len() {
            return (Json::Null, Json::Null);
        }
        let index = |origin: &Origin| self.sources.templates.iter().position(|source| source.key == origin.template);
        let mut back: Vec<Vec<Vec<usize>>> =
            self.sources.templates.iter().map(|source| vec![Vec::new(); source.text.split('\n').count()]).collect();
        let mut map = Vec::new();
        for (line, places) in origins.iter().enumerate() {
            let mut found = Vec::new();
            for origin in places {
                let Some(template) = index(origin) else { continue };
                found.push(json!({"template": template, "line": origin.line}));
                let of_line = back.get_mut(template).and_then(|lines| lines.get_mut(origin.line.saturating_sub(1)));
                if let Some(of_line) = of_line {
                    of_line.push(line + 1);
                }
            }
            map.push(if found.is_empty() { Json::Null } else { found.into() });
        }
        (map.into(), json!(back))
    }

    /// What went wrong, at its line of its template.
    fn error(&self, chosen: &Chosen<'_>, error: &FieldError) -> Json {
        let template = &error.error;
        let mask = |text: &str| self.rendered.masker.mask(text).into_owned();
        let key = match &template.template {
            Some(name) => Some(name.clone()),
            None => error.file.clone(),
        };
        let key = key.unwrap_or_else(|| crate::render::inline_name(&error.path));
        let index = self.sources.templates.iter().position(|source| source.key == key);
        let source = index.and_then(|index| self.sources.templates.get(index));
        let path = source.map(|source| source.path.to_string()).or_else(|| error.shown.clone());
        let path =
            path.unwrap_or_else(|| format!("{}.{}.{}", chosen.dag.dag_id, self.rendered.result.label(), error.path));
        let text = error.source.as_deref().or_else(|| source.map(|source| &*source.text)).unwrap_or_default();
        let place = match (&template.range, template.line) {
            (Some(range), _) => Some(text_place(&path, text, range)),
            (None, Some(line)) => {
                let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
                let end =
                    text.get(start..).and_then(|rest| rest.lines().next()).map_or(start, |line| start + line.len());
                Some(text_place(&path, text, &(start..end)))
            }
            (None, None) => None,
        };
        let mut json = error_json(&template.class, &mask(&template.message), place);
        if json["place"].is_object() {
            json["place"]["template"] = index.into();
        }
        json["hint"] = template.hint.as_deref().map(mask).into();
        json["field"] = error.path.to_string().into();
        let excerpt = report::field_error(&chosen.dag.dag_id, &self.rendered.result, error, &mask);
        json["excerpt"] = mask(&anstream::adapter::strip_str(&excerpt).to_string()).into();
        json
    }
}
