//! Why a source could not be read.

use std::fmt;

/// Why a metadata database, the REST API or what they hold could not be read: one sentence, never with a password in it,
/// and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl SourceError {
    /// An error without advice.
    pub fn new(message: impl Into<String>) -> Self {
        SourceError { message: message.into(), help: None }
    }

    /// The same with advice.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        SourceError { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SourceError {}
