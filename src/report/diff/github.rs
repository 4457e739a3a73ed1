//! A difference as workflow commands of GitHub Actions: annotations on the changed source lines.

use std::fmt::Write as _;

use super::sarif::{Finding, findings};
use super::words;
use crate::diff::Diff;

/// One command a line, and a summary.
pub fn diff_github(diff: &Diff) -> String {
    let mut out = String::new();
    for Finding { level, title, message, file, line, .. } in findings(diff) {
        let command = match level {
            "error" => "error",
            "note" => "notice",
            _ => "warning",
        };
        let place = match (&file, line) {
            (Some(file), Some(line)) => format!("file={},line={line},", property(file)),
            (Some(file), None) => format!("file={},", property(file)),
            (None, _) => String::new(),
        };
        let _ = writeln!(out, "::{command} {place}title={}::{}", property(&title), data(&message));
    }
    let nothing = if diff.is_empty() { "nothing changed in what is executed; " } else { "" };
    // A line that is no command: what people read in the log.
    let _ = writeln!(out, "{nothing}{}", words::summary(&diff.counts));
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_command() {
        assert_eq!(data("a\n::error::50%\r"), "a%0A::error::50%25%0D");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
