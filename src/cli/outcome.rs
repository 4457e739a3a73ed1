//! Streams and outcomes of a subcommand.

use std::fmt;
use std::io::{self, Write};

/// Where a subcommand writes: results to `out`, messages to `err`. Colour codes may be written to both; they are stripped
/// when the stream is no terminal, under `NO_COLOR`, and so on.
pub struct Io<'a> {
    /// Standard output, buffered.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Io")
    }
}

/// How a subcommand that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All well.
    Success,
    /// It did its work and there is something to look at: findings, differences, a template that failed.
    Findings,
}

impl Exit {
    /// `Findings` when the condition holds.
    pub fn findings_if(condition: bool) -> Self {
        if condition { Exit::Findings } else { Exit::Success }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Findings => 1,
        }
    }
}

/// Why a subcommand could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage: exit code 2.
    Usage(String),
    /// Nothing could be done (bad pipeline, unreachable source): exit code 3. The text is printed after `error: `.
    Fatal(String),
    /// The same, with a report that already has its form (several lines, excerpts).
    Report(String),
    /// The streams failed. A closed pipe ends the command silently.
    Io(io::Error),
}

impl Failure {
    /// Prints the failure and returns the exit code.
    pub fn report(&self, io: &mut Io<'_>) -> u8 {
        let (text, code) = match self {
            Failure::Usage(message) => (format!("error: {message}\n"), 2),
            Failure::Fatal(message) => (format!("error: {message}\n"), 3),
            Failure::Report(text) => (text.clone(), 3),
            Failure::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            Failure::Io(error) => (format!("error: {error}\n"), 3),
        };
        // If standard error is gone there is nobody left to tell.
        let _ = io.out.flush();
        let _ = io.err.write_all(text.as_bytes());
        code
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

/// What a subcommand returns.
pub type Outcome = Result<Exit, Failure>;
