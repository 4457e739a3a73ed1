//! One task's template fields, rendered for one context.

use std::fmt;
use std::sync::Arc;

use super::FieldValue;
use crate::jinja::{Engine, Environment, Names, Rendered, TemplateError, Trace, clock_reads, named, recording_loads};
use crate::python::{PyErr, Value};

/// A field, or a place inside it: `env.REGION`, `arguments[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    /// The field's name.
    pub field: String,
    /// Keys and indexes inside it.
    pub inner: Vec<String>,
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        for part in &self.inner {
            if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
                write!(f, "[{part}]")?;
            } else {
                write!(f, ".{part}")?;
            }
        }
        Ok(())
    }
}

/// Why a field could not be rendered.
#[derive(Debug, Clone)]
pub struct FieldError {
    /// The string that failed.
    pub path: FieldPath,
    /// The file it was read from, if its text named one.
    pub file: Option<String>,
    /// The template's text that the error's line and range refer to, where it is known.
    pub source: Option<Arc<str>>,
    /// Where people find the template, if it is a file; the name otherwise.
    pub shown: Option<String>,
    /// What Airflow would raise.
    pub error: TemplateError,
}

/// A field after rendering.
#[derive(Debug, Clone)]
pub struct RenderedField {
    /// The field's name.
    pub name: String,
    /// The file it was read from, if its text named one.
    pub file: Option<String>,
    /// False when the value was false and Airflow left it alone.
    pub rendered: bool,
    /// False when the author did not give the field and it is no template: the operator's own plain value.
    pub given: bool,
    /// True when a template read the clock: what Airflow would execute depends on the moment.
    pub reads_clock: bool,
    /// The text, or the Python value (nested fields, native mode).
    pub value: Result<Value, Box<FieldError>>,
    /// Names of all templates that were looked for: the file itself, what it includes, imports and extends.
    pub templates: Vec<String>,
}

impl RenderedField {
    /// A field for which no template was run: its plain value (`rendered` false), or why none can be.
    pub fn without_template(name: &str, rendered: bool, value: Result<Value, Box<FieldError>>) -> Self {
        let (name, templates) = (name.to_owned(), Vec::new());
        RenderedField { name, file: None, rendered, given: true, reads_clock: false, value, templates }
    }
}

/// The template fields of one task, and the environment of its Dag.
#[derive(Debug, Clone)]
pub struct TaskTemplates {
    /// Fields in the order of `template_fields`.
    pub fields: Vec<(String, FieldValue)>,
    /// Endings that make a string the name of a file.
    pub template_ext: Vec<String>,
    /// True when Airflow replaces file names by the files' texts as it reads the Dag file: for every task but mapped ones.
    pub inline_files: bool,
    /// The Dag's environment: search path, native mode, user macros.
    pub environment: Arc<Environment>,
    /// What is marked with where it comes from; off for every text that is shown.
    pub trace: Trace,
}

impl TaskTemplates {
    /// Renders every field; one that fails leaves the others alone.
    ///
    /// As Airflow does it: when the Dag file is read, a field (or an item of a list field) that ends like a file name is
    /// replaced by the file's text if the file exists. When the task runs, strings at any depth are rendered, and those
    /// that still end like a file name are loaded by name.
    pub fn render(&self, engine: &Engine, names: &Arc<dyn Names>) -> Vec<RenderedField> {
        self.fields.iter().map(|(name, value)| self.render_field(engine, names, name, value)).collect()
    }

    /// Renders one field.
    pub fn render_field(
        &self,
        engine: &Engine,
        names: &Arc<dyn Names>,
        name: &str,
        value: &FieldValue,
    ) -> RenderedField {
        let fail = |error: PyErr| {
            Box::new(FieldError {
                path: FieldPath { field: name.to_owned(), inner: Vec::new() },
                file: None,
                source: None,
                shown: None,
                error: error.into(),
            })
        };
        if !value.truth() {
            return RenderedField::without_template(name, false, value.to_python().map_err(fail));
        }
        let file = match value {
            FieldValue::Str(text) if self.is_file(text) => Some(text.clone()),
            _ => None,
        };
        let mut string = |path: &[String], text: &str| -> Result<Value, LeafError> {
            let inlined = self.inline_files && path.len() <= usize::from(matches!(value, FieldValue::List(_)));
            let place = FieldPath { field: name.to_owned(), inner: path.to_vec() };
            self.render_string(engine, names, &place, text, inlined).map_err(|(file, source, error)| LeafError {
                path: path.to_vec(),
                file,
                source,
                error,
            })
        };
        let reads = clock_reads();
        let (value, templates) = recording_loads(|| value.map_strings(&mut string, &mut Vec::new()));
        let value = value.map_err(|leaf| {
            Box::new(FieldError {
                path: FieldPath { field: name.to_owned(), inner: leaf.path },
                shown: leaf.error.template.clone().or_else(|| leaf.file.clone()),
                file: leaf.file,
                source: leaf.source,
                error: leaf.error,
            })
        });
        let reads_clock = clock_reads() != reads;
        RenderedField { name: name.to_owned(), file, rendered: true, given: true, reads_clock, value, templates }
    }

    fn is_file(&self, text: &str) -> bool {
        self.template_ext.iter().any(|ending| text.ends_with(ending.as_str()))
    }

    /// Renders one string. `inlined` says that Airflow replaces a file name by the file's text when it reads the Dag file.
    fn render_string(
        &self,
        engine: &Engine,
        names: &Arc<dyn Names>,
        place: &FieldPath,
        text: &str,
        inlined: bool,
    ) -> Result<Value, (Option<String>, Option<Arc<str>>, TemplateError)> {
        let mut file = self.is_file(text).then(|| text.to_owned());
        let loaded = match (&file, &self.environment.loader, inlined) {
            (Some(name), Some(loader), true) => loader.load(name).ok(),
            _ => None,
        };
        let source: Arc<str> = loaded.unwrap_or_else(|| text.into());
        let by_name = self.is_file(&source);
        if by_name {
            file = Some(source.to_string());
        }
        if self.trace != Trace::Off && !self.environment.native {
            let loaded = match (by_name, &self.environment.loader) {
                (true, Some(loader)) => loader.load(&source).ok(),
                _ => None,
            };
            let (text, name) = match &loaded {
                Some(text) => (text, Some(&*source)),
                None => (&source, None),
            };
            let label = file.clone().unwrap_or_else(|| inline_name(place));
            return match engine.render_traced(&self.environment, text, name, names, self.trace) {
                Ok(text) => Ok(Value::from(named(&text, &label))),
                Err(error) => Err((file, None, error)),
            };
        }
        let result = if by_name {
            engine.render_file(&self.environment, &source, names)
        } else {
            engine.render(&self.environment, &source, names)
        };
        match result {
            Ok(Rendered::Text(text)) => Ok(Value::from(text)),
            Ok(Rendered::Native(value)) => Ok(value),
            Err(mut error) => {
                if by_name && source.contains("{{") && error.class == "TemplateNotFound" && error.hint.is_none() {
                    let hint =
                        "the name of a file is not rendered; `{% include ... %}` takes a name that is worked out";
                    error.hint = Some(hint.to_owned());
                }
                let template = error.template.clone().or_else(|| by_name.then(|| source.to_string()));
                let shown = match (&template, &self.environment.loader) {
                    (Some(name), Some(loader)) => loader.load(name).ok(),
                    (Some(_), None) => None,
                    (None, _) => Some(source),
                };
                Err((file, shown, error))
            }
        }
    }
}

/// What the marks of a traced rendering call a template that is written in a field itself; no file has such a name.
pub fn inline_name(place: &FieldPath) -> String {
    format!("\u{1}{place}")
}

struct LeafError {
    path: Vec<String>,
    file: Option<String>,
    source: Option<Arc<str>>,
    error: TemplateError,
}

impl From<PyErr> for LeafError {
    fn from(error: PyErr) -> Self {
        LeafError { path: Vec::new(), file: None, source: None, error: error.into() }
    }
}
