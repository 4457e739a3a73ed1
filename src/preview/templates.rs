//! The templates behind a field: its own, and those it includes, imports or extends.

use std::sync::{Arc, LazyLock};

use camino::Utf8PathBuf;
use regex::Regex;

use crate::jinja::{Environment, Origin, Trace};
use crate::pipeline::{Dag, Pipeline, Renderer, Task};
use crate::render::{FieldPath, FieldValue, inline_name};

/// Templates shown for one field.
const LIMIT: usize = 200;

static OTHER_TEMPLATE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\{%[-+]?\s*(?:include|import|from|extends)\s+["']([^"']+)["']"#).ok());

/// A template.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name as origins have it.
    pub key: String,
    /// Its name for people: what the loader calls it, or the place in the field.
    pub name: String,
    /// The file it stands in: of a template written in the pipeline's own file, that.
    pub path: Utf8PathBuf,
    /// True for a file of its own.
    pub is_file: bool,
    /// Where it begins in the file, from 1: more than 1 only inside the pipeline's file.
    pub first_line: usize,
    /// Its text.
    pub text: Arc<str>,
}

/// The templates of a field, its own first.
pub struct Finder<'a> {
    pub renderer: &'a Renderer<'a>,
    pub pipeline: &'a Pipeline,
    pub dag: &'a Dag,
    pub environment: &'a Environment,
}

impl Finder<'_> {
    /// Finds them: what the field holds, what rendering came through, and what is included by a fixed name.
    pub fn find(&self, task: &Task, field: &str, value: Option<&FieldValue>, origins: &[Vec<Origin>]) -> Vec<Source> {
        let mut found: Vec<Source> = Vec::new();
        for (path, text) in value.map(|value| strings(field, value)).unwrap_or_default() {
            let is_file = task.template_ext.iter().any(|ending| text.ends_with(ending.as_str()));
            match self.file(&text).filter(|_| is_file) {
                Some(source) => add(&mut found, source),
                None => add(&mut found, self.inline(task, &path, &text)),
            }
        }
        // Strings that are no templates are shown only when there is nothing else.
        if found.len() > 1 {
            let is_template = |source: &Source| source.is_file || source.text.contains(['{', '#']);
            if found.iter().any(is_template) {
                found.retain(is_template);
            }
        }
        for origin in origins.iter().flatten() {
            if !found.iter().any(|source| source.key == origin.template) {
                found.extend(self.file(&origin.template));
            }
        }
        let mut at = 0;
        while let Some(source) = found.get(at).cloned() {
            at += 1;
            let Some(pattern) = OTHER_TEMPLATE.as_ref() else { break };
            for name in pattern.captures_iter(&source.text).filter_map(|captures| captures.get(1)) {
                if let Some(source) = self.file(name.as_str()) {
                    add(&mut found, source);
                }
            }
        }
        found
    }

    /// A template of the search path; it is never outside of it.
    pub fn file(&self, name: &str) -> Option<Source> {
        let text = self.environment.loader.as_ref()?.load(name).ok()?;
        let path = self.pipeline.root.join(self.renderer.template_path(self.dag, name));
        Some(Source { key: name.to_owned(), name: name.to_owned(), path, is_file: true, first_line: 1, text })
    }

    fn inline(&self, task: &Task, path: &FieldPath, text: &str) -> Source {
        let written = task.fields.iter().find(|field| field.name == path.field).and_then(|field| field.place.as_ref());
        Source {
            key: inline_name(path),
            name: path.to_string(),
            path: self.pipeline.source.path.clone(),
            is_file: false,
            first_line: written.map_or(1, |place| first_line(place, text)),
            text: text.into(),
        }
    }
}

/// The line at which a text begins, if the file has it as it is.
fn first_line(place: &crate::pipeline::Place, text: &str) -> usize {
    let (line, _) = place.line_column();
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let at = place.text().find(first).filter(|_| !first.is_empty()).unwrap_or(0);
    let blank = text.lines().take_while(|line| line.trim().is_empty()).count();
    let before = place.text().get(..at).unwrap_or_default().matches('\n').count();
    (line + before).saturating_sub(blank).max(1)
}

fn add(found: &mut Vec<Source>, source: Source) {
    if found.len() < LIMIT && !found.iter().any(|known| known.key == source.key) {
        found.push(source);
    }
}

/// Every string of a field's value, with its place.
fn strings(field: &str, value: &FieldValue) -> Vec<(FieldPath, String)> {
    let mut found = Vec::new();
    let mut record = |path: &[String], text: &str| -> Result<crate::python::Value, crate::python::PyErr> {
        found.push((FieldPath { field: field.to_owned(), inner: path.to_vec() }, text.to_owned()));
        Ok(crate::python::Value::from(""))
    };
    // What cannot be walked has no strings to show.
    let _ = value.map_strings(&mut record, &mut Vec::new());
    found
}

/// The ways a rendering is traced, the fullest first.
pub const TRACES: [Trace; 2] = [Trace::All, Trace::Outer];
