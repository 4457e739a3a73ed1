//! Compiles and renders templates.

use std::sync::Arc;

use super::{Environment, Names, TemplateError};
use crate::python::Value;

/// What a rendering gave.
#[derive(Debug, Clone)]
pub enum Rendered {
    /// The text (string mode).
    Text(String),
    /// The Python value (native mode).
    Native(Value),
}

/// Compiled templates, shared by all renderings: one for a process, behind an `Arc` or borrowed. Compilation is cached by
/// content, within a bound.
#[derive(Debug, Default)]
pub struct Engine {}

impl Engine {
    /// An engine with an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Renders a template given as text (`Environment.from_string(source).render(context)`).
    pub fn render(
        &self,
        env: &Arc<Environment>,
        source: &str,
        names: &Arc<dyn Names>,
    ) -> Result<Rendered, TemplateError> {
        let (_, _, _) = (env, source, names);
        Err(TemplateError::new("Unsupported", "the engine is not built yet"))
    }

    /// Renders a template of the environment's loader (`Environment.get_template(name).render(context)`).
    pub fn render_file(
        &self,
        env: &Arc<Environment>,
        name: &str,
        names: &Arc<dyn Names>,
    ) -> Result<Rendered, TemplateError> {
        let (_, _, _) = (env, name, names);
        Err(TemplateError::new("Unsupported", "the engine is not built yet"))
    }

    /// Checks a template's syntax and what else Jinja2 finds at compile time (unknown filters and tests) without rendering.
    pub fn check(&self, env: &Arc<Environment>, source: &str) -> Result<(), TemplateError> {
        let (_, _) = (env, source);
        Err(TemplateError::new("Unsupported", "the engine is not built yet"))
    }
}
