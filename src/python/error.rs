//! Python exceptions as values.

use std::borrow::Cow;
use std::fmt;

/// What an operation on Python values returns.
pub type PyResult<T = minijinja::Value> = Result<T, PyErr>;

/// A Python exception: the class name that Airflow's log would show, and the exact text of `str(exception)`.
///
/// Advice of our own never goes into the message; it goes into `hint`. What partita refuses has the class
/// `Unsupported`, what a limit stopped has the class `LimitExceeded`: neither exists in Python, so neither can be taken
/// for Airflow's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PyErr {
    /// Class name without its module, as `type(e).__name__`.
    pub class: Cow<'static, str>,
    /// `str(e)`, byte for byte.
    pub message: String,
    /// What to do about it, in our words.
    pub hint: Option<String>,
}

impl PyErr {
    /// An exception of any class.
    pub fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        PyErr { class: class.into(), message: message.into(), hint: None }
    }

    /// `TypeError`.
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }

    /// `ValueError`.
    pub fn value_error(message: impl Into<String>) -> Self {
        Self::new("ValueError", message)
    }

    /// `AttributeError`.
    pub fn attribute_error(message: impl Into<String>) -> Self {
        Self::new("AttributeError", message)
    }

    /// `OverflowError`.
    pub fn overflow(message: impl Into<String>) -> Self {
        Self::new("OverflowError", message)
    }

    /// Something Airflow would do and partita does not: names the construct.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new("Unsupported", message)
    }

    /// A limit of partita's (fuel, output, one allocation, recursion) was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new("LimitExceeded", message)
    }

    /// True for what is partita's own doing, unsupported or over a limit: Airflow would not have raised it, so no rule that
    /// catches or reports Airflow's errors applies.
    pub fn is_refusal(&self) -> bool {
        matches!(&*self.class, "Unsupported" | "LimitExceeded")
    }

    /// Adds advice, kept apart from the message.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for PyErr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

impl std::error::Error for PyErr {}
