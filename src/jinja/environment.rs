//! Settings under which templates are read and rendered: `jinja2.Environment` as Airflow makes it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::Loader;
use crate::python::{Args, Interp, Limits, PyResult, Value};

/// A filter or test given from outside: `subject | name(args)`.
pub type UserFunction = Arc<dyn Fn(&Value, &Args<'_>, &mut dyn Interp) -> PyResult + Send + Sync>;

/// `template_undefined`: what an unknown name becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UndefinedKind {
    /// `jinja2.StrictUndefined`, Airflow's default.
    #[default]
    Strict,
    /// `jinja2.Undefined`
    Lenient,
    /// `jinja2.ChainableUndefined`
    Chainable,
    /// `jinja2.DebugUndefined`
    Debug,
}

/// Delimiters and whitespace rules: the part of `jinja_environment_kwargs` that the lexer and parser read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Syntax {
    /// `block_start_string`
    pub block_start: String,
    /// `block_end_string`
    pub block_end: String,
    /// `variable_start_string`
    pub variable_start: String,
    /// `variable_end_string`
    pub variable_end: String,
    /// `comment_start_string`
    pub comment_start: String,
    /// `comment_end_string`
    pub comment_end: String,
    /// `line_statement_prefix`
    pub line_statement_prefix: Option<String>,
    /// `line_comment_prefix`
    pub line_comment_prefix: Option<String>,
    /// `trim_blocks`
    pub trim_blocks: bool,
    /// `lstrip_blocks`
    pub lstrip_blocks: bool,
    /// `newline_sequence`
    pub newline_sequence: String,
    /// `keep_trailing_newline`
    pub keep_trailing_newline: bool,
    /// The extension `jinja2.ext.do`; on in Airflow unless `extensions` says otherwise.
    pub do_extension: bool,
    /// The extension `jinja2.ext.loopcontrols`; off in Airflow.
    pub loop_controls: bool,
}

impl Default for Syntax {
    fn default() -> Self {
        Syntax {
            block_start: "{%".into(),
            block_end: "%}".into(),
            variable_start: "{{".into(),
            variable_end: "}}".into(),
            comment_start: "{#".into(),
            comment_end: "#}".into(),
            line_statement_prefix: None,
            line_comment_prefix: None,
            trim_blocks: false,
            lstrip_blocks: false,
            newline_sequence: "\n".into(),
            keep_trailing_newline: false,
            do_extension: true,
            loop_controls: false,
        }
    }
}

/// `jinja2.Environment` as `airflow.sdk...create_template_env` makes it: share one behind an `Arc`.
#[derive(Clone)]
pub struct Environment {
    /// `render_template_as_native_obj`: a `NativeEnvironment` (not sandboxed) in place of the sandbox.
    pub native: bool,
    /// `template_undefined`
    pub undefined: UndefinedKind,
    /// Delimiters, whitespace, extensions.
    pub syntax: Syntax,
    /// `autoescape`; off in Airflow.
    pub autoescape: bool,
    /// Names known besides Jinja2's own globals (`user_defined_macros`); the context wins over them.
    pub globals: BTreeMap<String, Value>,
    /// Filters besides Jinja2's own (Airflow's and `user_defined_filters`); they win over Jinja2's.
    pub filters: BTreeMap<String, UserFunction>,
    /// Tests besides Jinja2's own.
    pub tests: BTreeMap<String, UserFunction>,
    /// Finds other templates; without it they are not found, as in an environment without a loader.
    pub loader: Option<Arc<dyn Loader>>,
    /// Bounds of one rendering.
    pub limits: Limits,
    /// The frozen clock.
    pub now: Option<DateTime<Utc>>,
}

impl Default for Environment {
    fn default() -> Self {
        Environment {
            native: false,
            undefined: UndefinedKind::Strict,
            syntax: Syntax::default(),
            autoescape: false,
            globals: BTreeMap::new(),
            filters: BTreeMap::new(),
            tests: BTreeMap::new(),
            loader: None,
            limits: Limits::default(),
            now: None,
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("native", &self.native)
            .field("undefined", &self.undefined)
            .field("syntax", &self.syntax)
            .field("globals", &self.globals.keys())
            .field("filters", &self.filters.keys())
            .field("tests", &self.tests.keys())
            .field("loader", &self.loader)
            .field("limits", &self.limits)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
