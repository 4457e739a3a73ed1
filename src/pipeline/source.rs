//! Files with places in them, and problems that point at such places.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use camino::Utf8PathBuf;

/// A file that was read: its path as it is shown to people, and its text.
#[derive(Debug)]
pub struct Source {
    /// Path as given or found, relative to the working directory where possible.
    pub path: Utf8PathBuf,
    /// The text, without a byte order mark.
    pub text: String,
}

impl Source {
    /// Line and column (both from 1, columns in characters) of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// A range of bytes in a file.
#[derive(Clone)]
pub struct Place {
    /// The file.
    pub source: Arc<Source>,
    /// Bytes of its text.
    pub range: Range<usize>,
}

impl Place {
    /// Line and column where the place starts, both from 1.
    pub fn line_column(&self) -> (usize, usize) {
        self.source.line_column(self.range.start)
    }

    /// The text at the place.
    pub fn text(&self) -> &str {
        self.source.text.get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.source.path)
    }
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used; somebody should look.
    Warning,
}

/// Something wrong in a file, as data; the report draws it.
#[derive(Debug, Clone)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// What stands there, in a few words; shown under the excerpt.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Other places that explain it.
    pub related: Vec<(Place, String)>,
}

impl Problem {
    /// An error at a place.
    pub fn error(message: impl Into<String>, place: Place) -> Self {
        Problem {
            severity: Severity::Error,
            message: message.into(),
            place: Some(place),
            label: String::new(),
            help: None,
            related: Vec::new(),
        }
    }

    /// An error without a place (a file that cannot be read).
    pub fn nowhere(message: impl Into<String>) -> Self {
        Problem {
            severity: Severity::Error,
            message: message.into(),
            place: None,
            label: String::new(),
            help: None,
            related: Vec::new(),
        }
    }

    /// A warning at a place.
    pub fn warning(message: impl Into<String>, place: Place) -> Self {
        Problem { severity: Severity::Warning, ..Problem::error(message, place) }
    }

    /// Says in a few words what stands at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds advice when there is some.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = self.help.or(help);
        self
    }

    /// Points at another place that explains it.
    #[must_use]
    pub fn related(mut self, place: Place, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place:?}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

/// The closest of the known names, if one is close enough to be a slip of the fingers.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count().min(name.chars().count()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Advice that names the closest known name, or lists the known names when they are few.
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(close) = closest(name, known.iter().copied()) {
        return Some(format!("did you mean `{close}`?"));
    }
    (!known.is_empty() && known.len() <= 24).then(|| {
        let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        format!("known here: {}", names.join(", "))
    })
}
