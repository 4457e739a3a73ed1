//! What goes wrong in a template, with the place in the source the author wrote.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::python::PyErr;

/// A failure to compile or render a template, as Airflow's log would show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Python's class name without its module (`UndefinedError`, `TemplateSyntaxError`, `TypeError`...); `Unsupported`
    /// for what partita refuses and `LimitExceeded` for what a limit stopped.
    pub class: Cow<'static, str>,
    /// `str(exception)`, byte for byte. Syntax errors hold the bare message, without the lines Jinja2 appends.
    pub message: String,
    /// The template's name as its loader knows it; `None` for a template given as text.
    pub template: Option<String>,
    /// Line in the original source, from 1.
    pub line: Option<usize>,
    /// Byte range in the original source.
    pub range: Option<Range<usize>>,
    /// What to do about it, in partita's words.
    pub hint: Option<String>,
}

impl TemplateError {
    /// An error without a place.
    pub fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        TemplateError {
            class: class.into(),
            message: message.into(),
            template: None,
            line: None,
            range: None,
            hint: None,
        }
    }

    /// Jinja2's `TemplateSyntaxError` at a line.
    pub fn syntax(message: impl Into<String>, line: usize) -> Self {
        Self::new("TemplateSyntaxError", message).at_line(line)
    }

    /// `jinja2.exceptions.TemplateNotFound`; the message is the name alone, or a loader's fuller sentence.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new("TemplateNotFound", message)
    }

    /// Sets the line.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// Sets the byte range in the original source.
    #[must_use]
    pub fn at(mut self, range: Range<usize>) -> Self {
        self.range = Some(range);
        self
    }
}

impl From<PyErr> for TemplateError {
    fn from(error: PyErr) -> Self {
        TemplateError { hint: error.hint, ..TemplateError::new(error.class, error.message) }
    }
}

impl From<TemplateError> for PyErr {
    fn from(error: TemplateError) -> Self {
        PyErr { class: error.class, message: error.message, hint: error.hint }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)?;
        match (&self.template, self.line) {
            (Some(name), Some(line)) => write!(f, " ({name}, line {line})"),
            (None, Some(line)) => write!(f, " (line {line})"),
            (Some(name), None) => write!(f, " ({name})"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for TemplateError {}

/// Python's `repr` of a plain string, for messages.
pub(crate) fn quoted(text: &str) -> String {
    crate::python::repr_str(text)
}
