//! The running engine as Python values see it, and errors on their way between both worlds.

use std::cell::Cell;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use minijinja::value::Object;
use minijinja::{Error, ErrorKind, State};

use super::super::TemplateError;
use super::core::{Core, Raised};
use super::functions;
use crate::python::{Args, Interp, Limits, PyErr, PyResult, Value, View, take_debt, type_name, view};

/// The rendering's core inside minijinja's root context, from where the first filter fetches it.
#[derive(Debug)]
pub(crate) struct Root(pub Arc<Core>);

/// Key of [`Root`]'s only entry.
const CORE: &str = "core";

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some(CORE)).then(|| Value::from_dyn_object(self.clone()))
    }
}

/// The core as an extension of minijinja's state.
struct Handle(Arc<Core>);

/// The core of the rendering that a state belongs to.
pub(crate) fn core(state: &mut State<'_, '_>) -> Result<Arc<Core>, Error> {
    if let Some(handle) = state.get_extension::<Handle>() {
        return Ok(handle.0.clone());
    }
    let root = state.lookup(CORE).unwrap_or_default();
    let Some(root) = root.downcast_object_ref::<Root>() else {
        return Err(raise(PyErr::unsupported("a template outside of a rendering")));
    };
    let core = root.0.clone();
    state.get_or_insert_extension(Handle(core.clone()));
    Ok(core)
}

/// True in native mode, and where that is not known yet.
pub(crate) fn is_native(state: &State<'_, '_>) -> bool {
    state.get_extension::<Handle>().is_none_or(|handle| handle.0.env.native)
}

/// A Python exception as an error of minijinja.
#[cold]
pub(crate) fn raise(error: PyErr) -> Error {
    Error::new(ErrorKind::InvalidOperation, "").with_source(error)
}

/// An error of another template as an error of minijinja.
#[cold]
pub(crate) fn raise_template(error: TemplateError) -> Error {
    Error::new(ErrorKind::InvalidOperation, "").with_source(error)
}

/// The innermost error of minijinja's chain that says something, and the exception in it.
pub(crate) fn innermost(error: &Error) -> &Error {
    let mut at = error;
    while let Some(inner) = std::error::Error::source(at).and_then(|source| source.downcast_ref::<Error>()) {
        at = inner;
    }
    at
}

/// An error of another template with its place, inside an error of minijinja.
pub(crate) fn placed(error: &Error) -> Option<&TemplateError> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<TemplateError>().filter(|error| error.line.is_some())
}

/// The exception inside an error of minijinja.
pub(crate) fn exception(error: &Error) -> PyErr {
    let inner = innermost(error);
    let source = std::error::Error::source(inner);
    if let Some(error) = source.and_then(|source| source.downcast_ref::<PyErr>()) {
        return error.clone();
    }
    if let Some(error) = source.and_then(|source| source.downcast_ref::<TemplateError>()) {
        return error.clone().into();
    }
    let detail = inner.detail().unwrap_or_default();
    if detail.contains("recursion limit") || detail.contains("maximum recursion") {
        return PyErr::limit("the template is nested too deeply");
    }
    PyErr::unsupported(format!("the engine refused the template: {inner}"))
}

/// The engine inside a filter.
pub(crate) struct Vm<'a, 't, 'e> {
    pub core: Arc<Core>,
    pub state: &'a mut State<'t, 'e>,
}

impl<'a, 't, 'e> Vm<'a, 't, 'e> {
    pub fn new(state: &'a mut State<'t, 'e>) -> Result<Self, Error> {
        Ok(Vm { core: core(state)?, state })
    }

    /// Turns an error of nested minijinja code into an exception, remembering where it was raised.
    pub fn caught(&mut self, error: &Error) -> PyErr {
        let exception = exception(error);
        let inner = innermost(error);
        if let (Some(unit), Some(range)) = (inner.name(), inner.range()) {
            let site = super::evaluate::site(inner, self.core.generation.codes());
            let mut machine = self.core.machine();
            if machine.raised.as_ref().is_none_or(|raised| raised.error != exception) {
                let template_error = placed(inner).cloned();
                machine.raised =
                    Some(Raised { unit: unit.to_owned(), range, site, error: exception.clone(), template_error });
            }
        }
        exception
    }
}

impl Interp for Vm<'_, '_, '_> {
    fn limits(&self) -> &Limits {
        &self.core.env.limits
    }

    fn charge(&mut self, steps: u64) -> PyResult<()> {
        self.core.charge(steps.saturating_add(take_debt()))
    }

    fn now(&self) -> PyResult<DateTime<Utc>> {
        now(&self.core)
    }

    fn call(&mut self, callee: &Value, args: &Args<'_>) -> PyResult {
        match functions::call(self, callee, args) {
            Some(result) => result,
            None => match view(callee) {
                View::Object(object) => object.call(args, self),
                _ => Err(PyErr::type_error(format!("'{}' object is not callable", type_name(callee)))),
            },
        }
    }
}

thread_local! {
    static CLOCK_READS: Cell<u64> = const { Cell::new(0) };
}

/// How often templates rendered by this thread have read the clock: a caller that compares the number before and after a
/// rendering knows whether that one did.
pub fn clock_reads() -> u64 {
    CLOCK_READS.get()
}

fn now(core: &Core) -> PyResult<DateTime<Utc>> {
    CLOCK_READS.set(CLOCK_READS.get().wrapping_add(1));
    core.env.now.ok_or_else(|| {
        PyErr::unsupported("this reads the clock, and no clock was given")
            .with_hint("give `now`: partita never reads the machine's clock")
    })
}

/// The engine where minijinja's state is out of reach: while a loop fetches its next item, and after the rendering.
#[derive(Debug, Clone)]
pub(crate) struct Detached(pub Arc<Core>);

impl Interp for Detached {
    fn limits(&self) -> &Limits {
        &self.0.env.limits
    }

    fn charge(&mut self, steps: u64) -> PyResult<()> {
        self.0.charge(steps.saturating_add(take_debt()))
    }

    fn now(&self) -> PyResult<DateTime<Utc>> {
        now(&self.0)
    }

    fn call(&mut self, callee: &Value, args: &Args<'_>) -> PyResult {
        match view(callee) {
            View::Object(object) => object.call(args, self),
            _ => Err(PyErr::type_error(format!("'{}' object is not callable", type_name(callee)))),
        }
    }
}
