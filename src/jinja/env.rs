//! The environment as filters, tests and attribute access see it: names, undefined class, sandbox.

use std::collections::HashMap;
use std::sync::Arc;

use crate::python::{self, Args, Interp, PyErr, PyResult, Value};

use super::internals::{has_internal_attribute, is_internal_attribute};
use super::undefined::{Undefined, as_undefined};
use super::{Environment, UndefinedKind, UserFunction, filters, tests};

/// What a filter or test may need besides its arguments: the environment, and the part of Jinja2's evaluation context
/// that a template can change while it runs.
#[derive(Clone)]
pub struct Cx {
    /// The environment, shared by everything that renders with it; lazy filters keep it.
    pub env: Arc<Env>,
    /// True inside `{% autoescape true %}`.
    pub autoescape: bool,
}

impl Cx {
    /// Outside of any `autoescape` block.
    pub fn new(env: Arc<Env>) -> Self {
        Cx { env, autoescape: false }
    }
}

/// A built-in filter or test: `subject` is the value left of `|` or `is`, `args` are those in parentheses.
pub type FilterFn = fn(cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult;

/// A filter or test by kind of implementation.
#[derive(Clone)]
pub enum Filter {
    /// One of Jinja2's.
    Builtin(FilterFn),
    /// One given from outside.
    User(UserFunction),
}

impl Filter {
    /// Applies it.
    pub fn apply(&self, cx: &Cx, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match self {
            Filter::Builtin(function) => function(cx, subject, args, it),
            Filter::User(function) => function(subject, args, it),
        }
    }
}

/// Jinja2's `Environment`, the part that the run time asks.
pub struct Env {
    /// Class of undefined values.
    pub undefined: UndefinedKind,
    /// True for Airflow's `SandboxedEnvironment`, false for its `NativeEnvironment`.
    pub sandboxed: bool,
    /// What `wordwrap` joins lines with.
    pub newline_sequence: String,
    filters: HashMap<Arc<str>, Filter>,
    tests: HashMap<Arc<str>, Filter>,
}

impl Default for Env {
    fn default() -> Self {
        Env::new(UndefinedKind::Strict, true)
    }
}

impl Env {
    /// An environment with Jinja2's own filters and tests.
    pub fn new(undefined: UndefinedKind, sandboxed: bool) -> Self {
        Env {
            undefined,
            sandboxed,
            newline_sequence: "\n".to_owned(),
            filters: filters::builtin().iter().map(|&(name, f)| (name.into(), Filter::Builtin(f))).collect(),
            tests: tests::builtin().iter().map(|&(name, f)| (name.into(), Filter::Builtin(f))).collect(),
        }
    }

    /// The run-time part of an environment as given.
    pub fn of(environment: &Environment) -> Self {
        let mut env = Env::new(environment.undefined, !environment.native);
        env.newline_sequence.clone_from(&environment.syntax.newline_sequence);
        for (name, filter) in &environment.filters {
            env.add_filter(name.as_str(), Filter::User(filter.clone()));
        }
        for (name, test) in &environment.tests {
            env.add_test(name.as_str(), Filter::User(test.clone()));
        }
        env
    }

    /// Adds or replaces a filter.
    pub fn add_filter(&mut self, name: impl Into<Arc<str>>, filter: Filter) {
        self.filters.insert(name.into(), filter);
    }

    /// Adds or replaces a test.
    pub fn add_test(&mut self, name: impl Into<Arc<str>>, test: Filter) {
        self.tests.insert(name.into(), test);
    }

    /// The filter of that name.
    pub fn filter(&self, name: &str) -> Option<&Filter> {
        self.filters.get(name)
    }

    /// The test of that name.
    pub fn test(&self, name: &str) -> Option<&Filter> {
        self.tests.get(name)
    }

    /// `value is filter`; unhashable values raise.
    pub fn has_filter(&self, name: &Value) -> PyResult<bool> {
        Ok(self.find(&self.filters, name)?.is_some())
    }

    /// `value is test`; unhashable values raise.
    pub fn has_test(&self, name: &Value) -> PyResult<bool> {
        Ok(self.find(&self.tests, name)?.is_some())
    }

    /// Names of all filters, in no order.
    pub fn filter_names(&self) -> impl Iterator<Item = &str> {
        self.filters.keys().map(|name| &**name)
    }

    /// Names of all tests, in no order.
    pub fn test_names(&self) -> impl Iterator<Item = &str> {
        self.tests.keys().map(|name| &**name)
    }

    /// `environment.undefined(hint)`
    pub fn undefined_hint(&self, hint: &'static str) -> Value {
        Undefined::hint(self.undefined, hint)
    }

    /// Jinja2's `Environment.getattr`, `x.name` in a template: the attribute, else the item, else undefined. The sandbox
    /// gives an undefined value that raises `SecurityError` for attributes it hides.
    pub fn getattr(&self, obj: &Value, name: &str, it: &mut dyn Interp) -> PyResult {
        match self.attribute(obj, name, it)? {
            Some(value) => Ok(value),
            None => {
                let key = Value::from(name);
                match python::getitem(obj, &key, it) {
                    Err(error) if self.is_missing(&error) => Ok(Undefined::element(self.undefined, obj, &key)),
                    result => result,
                }
            }
        }
    }

    /// Jinja2's `Environment.getitem`, `x[key]` in a template: the item, else for a string the attribute, else undefined.
    pub fn getitem(&self, obj: &Value, key: &Value, it: &mut dyn Interp) -> PyResult {
        match python::getitem(obj, key, it) {
            Err(error) if self.is_missing(&error) => {
                if let Some(name) = python::text(key)
                    && let Some(value) = self.attribute(obj, name, it)?
                {
                    return Ok(value);
                }
                Ok(Undefined::element(self.undefined, obj, key))
            }
            result => result,
        }
    }

    /// The attribute with the sandbox's check; `None` when the object has none of that name.
    pub fn attribute(&self, obj: &Value, name: &str, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        if self.sandboxed && is_internal_attribute(obj, name) {
            return Ok(has_internal_attribute(obj, name, it)?.then(|| Undefined::forbidden(self.undefined, obj, name)));
        }
        match python::getattr(obj, name, it) {
            Err(error) if error.class == "AttributeError" => Ok(None),
            result => result,
        }
    }

    /// True for the exceptions of `obj[key]` that mean "not there" to Jinja2.
    pub(super) fn is_missing(&self, error: &PyErr) -> bool {
        match &*error.class {
            "TypeError" => true,
            "AttributeError" => !self.sandboxed,
            class => is_lookup_error(class),
        }
    }

    /// `environment.call_filter`, for filters that take the name of another one.
    pub fn call_filter(
        &self,
        cx: &Cx,
        name: &Value,
        subject: &Value,
        args: &Args<'_>,
        it: &mut dyn Interp,
    ) -> PyResult {
        match self.find(&self.filters, name)? {
            Some(filter) => filter.apply(cx, subject, args, it),
            None => Err(no_such("filter", name, it)),
        }
    }

    /// `environment.call_test`, for filters that take the name of a test. The result is not yet a bool.
    pub fn call_test(&self, cx: &Cx, name: &Value, subject: &Value, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match self.find(&self.tests, name)? {
            Some(test) => test.apply(cx, subject, args, it),
            None => Err(no_such("test", name, it)),
        }
    }

    fn find<'a>(&self, table: &'a HashMap<Arc<str>, Filter>, name: &Value) -> PyResult<Option<&'a Filter>> {
        match python::text(name) {
            Some(name) => Ok(table.get(name)),
            None => {
                // a dict lookup: an unhashable name raises here
                python::hash_key(name)?;
                Ok(None)
            }
        }
    }
}

/// Subclasses of `LookupError` that subscripts of values in templates raise.
pub fn is_lookup_error(class: &str) -> bool {
    matches!(class, "KeyError" | "IndexError" | "LookupError" | "ZoneInfoNotFoundError" | "InvalidTimezone")
}

fn no_such(kind: &str, name: &Value, it: &mut dyn Interp) -> PyErr {
    let mut message = match python::repr(name, it) {
        Ok(name) => format!("No {kind} named {name}."),
        Err(error) => return error,
    };
    if let Some(undefined) = as_undefined(name) {
        let reason = undefined.error(it).message;
        message.push_str(&format!(" ({reason}; did you forget to quote the callable name?)"));
    }
    PyErr::new("TemplateRuntimeError", message)
}
