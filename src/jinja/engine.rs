//! Compiles and renders templates.

use std::io;
use std::sync::{Arc, Mutex, Weak};

use super::cache::{Generation, Options, compile_units};
use super::code::Codes;
use super::env::Env;
use super::runtime::context::{Context, Scope};
use super::runtime::core::{Core, lock};
use super::runtime::vm::{Detached, Root, innermost};
use super::runtime::{evaluate, pieces, vm};
use super::trace::Trace;
use super::{Environment, Names, TemplateError};
use crate::python::{Interp, Value};

/// What a rendering gave.
#[derive(Debug, Clone)]
pub enum Rendered {
    /// The text (string mode).
    Text(String),
    /// The Python value (native mode).
    Native(Value),
}

/// Environments whose run-time part is kept.
const KEPT: usize = 64;

/// Compiled templates, shared by all renderings: one for a process, behind an `Arc` or borrowed. Compilation is cached by
/// content, within a bound.
#[derive(Default)]
pub struct Engine {
    generation: Mutex<Arc<Generation>>,
    environments: Mutex<Vec<(Weak<Environment>, Arc<Env>)>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("generation", &self.generation).finish_non_exhaustive()
    }
}

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
        self.render_named(env, source, None, names)
    }

    /// Renders a template of the environment's loader (`Environment.get_template(name).render(context)`).
    pub fn render_file(
        &self,
        env: &Arc<Environment>,
        name: &str,
        names: &Arc<dyn Names>,
    ) -> Result<Rendered, TemplateError> {
        let Some(loader) = &env.loader else {
            return Err(TemplateError::new("TypeError", "no loader for this environment specified"));
        };
        let source = loader.load(name)?;
        self.render_named(env, &source, Some(name), names)
    }

    /// Renders with marks in the text that say where its parts come from: see [`unmarked`](super::unmarked). The text may
    /// differ from a plain rendering's by more than the marks; whoever uses them compares. Native renderings have none.
    ///
    /// # Errors
    /// As rendering, and `Unsupported` in native mode.
    pub fn render_traced(
        &self,
        env: &Arc<Environment>,
        source: &str,
        name: Option<&str>,
        names: &Arc<dyn Names>,
        trace: Trace,
    ) -> Result<String, TemplateError> {
        match self.render_once(env, source, name, names, false, trace, &mut false)? {
            Rendered::Text(text) => Ok(text),
            Rendered::Native(_) => Err(TemplateError::new("Unsupported", "tracing a native rendering")),
        }
    }

    /// Checks a template's syntax and what else Jinja2 finds at compile time (unknown filters and tests) without rendering.
    pub fn check(&self, env: &Arc<Environment>, source: &str) -> Result<(), TemplateError> {
        compile_units(env, &self.run_time(env), source, None, Options::default(), &Codes::default()).map(|_| ())
    }

    /// An interpreter for values that a rendering in this environment gave: to print a native result, for instance.
    pub fn interp(&self, env: &Arc<Environment>, names: &Arc<dyn Names>) -> impl Interp + use<> {
        Detached(Arc::new(Core::new(env.clone(), self.run_time(env), self.generation(), names.clone())))
    }

    fn generation(&self) -> Arc<Generation> {
        let mut generation = lock(&self.generation);
        if generation.is_full() {
            *generation = Arc::default();
        }
        generation.clone()
    }

    /// The run-time part of an environment, made once.
    fn run_time(&self, env: &Arc<Environment>) -> Arc<Env> {
        let mut kept = lock(&self.environments);
        let found = kept.iter().find(|(own, _)| std::ptr::eq(own.as_ptr(), Arc::as_ptr(env)));
        if let Some((_, run)) = found {
            return run.clone();
        }
        kept.retain(|(own, _)| own.strong_count() > 0);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        let run = Arc::new(Env::of(env));
        kept.push((Arc::downgrade(env), run.clone()));
        run
    }

    fn render_named(
        &self,
        env: &Arc<Environment>,
        source: &str,
        name: Option<&str>,
        names: &Arc<dyn Names>,
    ) -> Result<Rendered, TemplateError> {
        let mut again = false;
        let first = match self.render_once(env, source, name, names, false, Trace::Off, &mut again) {
            Err(error) if again => error,
            result => return result,
        };
        // Airflow goes on and may fail elsewhere. Values that the template changed are changed already, so this rendering
        // is asked for its error only.
        Err(match self.render_once(env, source, name, names, true, Trace::Off, &mut again) {
            Ok(_) => first,
            Err(exact) if exact.line.is_none() && pieces::is_not_text(&exact.class, &exact.message) => {
                TemplateError { message: exact.message, hint: exact.hint, class: exact.class, ..first }
            }
            Err(exact) if matches!(&*exact.class, "Unsupported" | "LimitExceeded") => first,
            Err(exact) => exact,
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn render_once(
        &self,
        env: &Arc<Environment>,
        source: &str,
        name: Option<&str>,
        names: &Arc<dyn Names>,
        exact: bool,
        trace: Trace,
        again: &mut bool,
    ) -> Result<Rendered, TemplateError> {
        let run = self.run_time(env);
        let generation = self.generation();
        let program = generation.program(env, &run, source, name, Options { exports: name.is_some(), exact, trace })?;
        let mut core = Core::new(env.clone(), run, generation.clone(), names.clone());
        core.exact = exact;
        core.trace = trace;
        let core = Arc::new(core);
        let scope = Arc::new(Scope::Base(Some(names.clone())));
        {
            let mut machine = core.machine();
            machine.contexts.push(Arc::new(Context::new(program.name(), scope, program.blocks())));
            machine.units.push(program.root().into());
        }
        let template = match program.template(&generation) {
            Ok(template) => template,
            Err(error) => return Err(converted(&error, &core)),
        };
        let mut out = Bounded { bytes: Vec::with_capacity(source.len() * 2), limit: env.limits.output, full: false };
        let result = template.render_captured_to(Value::from_object(Root(core.clone())), &mut out);
        if out.full {
            return Err(super::runtime::too_long(env.limits.output).into());
        }
        if let Err(error) = &result {
            *again = core.machine().again;
            return Err(converted(error, &core));
        }
        drop(result);
        core.machine().end(0).check()?;
        if env.native {
            let collected = core.machine().pieces.pop().unwrap_or_default();
            let value = pieces::concat(collected, &mut Detached(core.clone()))?;
            return Ok(Rendered::Native(value));
        }
        match String::from_utf8(out.bytes) {
            Ok(text) => Ok(Rendered::Text(text)),
            Err(_) => Err(TemplateError::new("Unsupported", "the output is not text")),
        }
    }
}

/// Output up to a limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl io::Write for &mut Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.full = true;
            return Err(io::Error::other("output limit"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error of minijinja as Airflow would report it, with its place in the original source.
fn converted(error: &minijinja::Error, core: &Core) -> TemplateError {
    let inner = innermost(error);
    if let Some(error) = vm::placed(inner) {
        return error.clone();
    }
    let exception = vm::exception(error);
    let mut converted: TemplateError = exception.clone().into();
    let raised = core.machine().raised.take().filter(|raised| raised.error == exception);
    if let Some(error) = raised.as_ref().and_then(|raised| raised.template_error.clone()) {
        return error;
    }
    let place = match (&raised, inner.name(), inner.range()) {
        (Some(raised), _, _) => Some((raised.unit.clone(), raised.range.start)),
        (None, Some(unit), Some(range)) => Some((unit.to_owned(), range.start)),
        _ => None,
    };
    if let Some((unit, at)) = place
        && let Some(unit) = core.generation.unit(&unit)
    {
        converted.template = unit.template.as_deref().map(str::to_owned);
        let site = match &raised {
            Some(raised) => raised.site,
            None => evaluate::site(inner, core.generation.codes()),
        };
        if let Some(place) = site.or_else(|| unit.place(at)) {
            converted.line = (place.line > 0).then_some(place.line);
            converted.range = Some(place.span.range());
        }
    }
    if converted.hint.is_none() && &*converted.class == "UndefinedError" {
        converted.hint = undefined_name(&converted.message).and_then(|name| core.names.hint(name));
    }
    converted
}

/// The name in `'x' is undefined`.
fn undefined_name(message: &str) -> Option<&str> {
    message.strip_prefix('\'')?.strip_suffix("' is undefined")
}
