//! Reading trees: known keys, expected types, and problems that collect instead of ending at the first.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use serde_json::Value as Json;

use super::source::{Place, Problem, closest, suggestion};
use super::yaml::{Kind, Node};

/// Collects problems while a tree is read. A reader's methods return `None` after they noted a problem.
#[derive(Debug, Default)]
pub struct Reader {
    /// What was found wrong so far.
    pub problems: Vec<Problem>,
    /// Names of Airflow 2 that the file uses.
    pub renamed: Vec<Renamed>,
}

/// A name of Airflow 2 in a file, and what Airflow 3 calls it.
#[derive(Debug, Clone)]
pub struct Renamed {
    /// Where it is written.
    pub place: Place,
    /// The name.
    pub old: &'static str,
    /// What Airflow 3 calls it.
    pub new: &'static str,
}

/// The entries of a mapping whose keys are known.
#[derive(Debug)]
pub struct Fields<'n> {
    entries: Vec<(&'n str, &'n Node, &'n Node)>,
    /// Where the mapping is.
    pub place: Place,
}

impl<'n> Fields<'n> {
    /// The value of a key, unless it is absent or null.
    pub fn get(&self, name: &str) -> Option<&'n Node> {
        self.given(name).filter(|node| !node.is_null())
    }

    /// The value of a key if the key is written, null or not.
    pub fn given(&self, name: &str) -> Option<&'n Node> {
        self.entries.iter().find(|(key, _, _)| *key == name).map(|(_, _, value)| *value)
    }

    /// Where a key is written.
    pub fn key_place(&self, name: &str) -> Option<&'n Place> {
        self.entries.iter().find(|(key, _, _)| *key == name).map(|(_, key, _)| &key.place)
    }

    /// Every entry: name, key, value.
    pub fn iter(&self) -> impl Iterator<Item = (&'n str, &'n Node, &'n Node)> {
        self.entries.iter().copied()
    }
}

impl Reader {
    /// Notes a problem.
    pub fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Notes that a value has the wrong type.
    pub fn expected(&mut self, node: &Node, what: &str, expected: &str) {
        let mut problem = Problem::error(format!("{what} must be {expected}"), node.place.clone())
            .label(format!("this is {}", node.describe()));
        if matches!(node.kind, Kind::Number(_) | Kind::Bool(_)) && expected.contains("string") {
            problem = problem.help(format!("quote it: \"{}\"", node.place.text()));
        }
        self.problem(problem);
    }

    /// The entries of a mapping, keys of any name.
    pub fn entries<'n>(&mut self, node: &'n Node, what: &str) -> Option<Vec<(&'n str, &'n Node, &'n Node)>> {
        let Kind::Map(entries) = &node.kind else {
            self.expected(node, what, "a mapping");
            return None;
        };
        let mut found = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match key.as_str() {
                Some(name) => found.push((name, key, value)),
                None => self.expected(key, &format!("a key of {what}"), "a string"),
            }
        }
        Some(found)
    }

    /// A mapping of known keys: any other key is a problem, with the closest known one as advice.
    pub fn fields<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Fields<'n>> {
        let entries = self.entries(node, what)?;
        for (name, key, _) in &entries {
            if !known.contains(name) {
                self.problem(
                    Problem::error(format!("unknown key `{name}` in {what}"), key.place.clone())
                        .maybe_help(suggestion(name, known.iter().copied())),
                );
            }
        }
        Some(Fields { entries, place: node.place.clone() })
    }

    /// A mapping of known and other keys; a key that is almost a known one is a problem only when `close` is refused.
    pub fn open_fields<'n>(&mut self, node: &'n Node, what: &str) -> Option<Fields<'n>> {
        let entries = self.entries(node, what)?;
        Some(Fields { entries, place: node.place.clone() })
    }

    /// A string.
    pub fn string(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.kind {
            Kind::Str { text, .. } => Some(text.clone()),
            _ => {
                self.expected(node, what, "a string");
                None
            }
        }
    }

    /// A partition key: a string that no YAML reader would take for a number or a date. `None` without a problem is null.
    pub fn partition_key(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.kind {
            Kind::Null => None,
            Kind::Str { text, plain: false } => Some(text.clone()),
            Kind::Str { text, plain: true } if !looks_like_number_or_date(text) => Some(text.clone()),
            Kind::Str { .. } | Kind::Number(_) | Kind::Bool(_) => {
                let written = node.place.text().trim().to_owned();
                self.problem(
                    Problem::error(format!("{what} is a string and must be quoted"), node.place.clone())
                        .label("YAML readers take this for a number or a date")
                        .help(format!("write \"{written}\"")),
                );
                None
            }
            _ => {
                self.expected(node, what, "a string");
                None
            }
        }
    }

    /// A boolean.
    pub fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        match node.kind {
            Kind::Bool(value) => Some(value),
            _ => {
                self.expected(node, what, "true or false");
                None
            }
        }
    }

    /// An integer in a range.
    pub fn integer(&mut self, node: &Node, what: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let value = match &node.kind {
            Kind::Number(number) => number.as_i64(),
            _ => None,
        };
        match value {
            Some(value) if range.contains(&value) => Some(value),
            Some(_) => {
                self.expected(node, what, &format!("between {} and {}", range.start(), range.end()));
                None
            }
            None => {
                self.expected(node, what, "a whole number");
                None
            }
        }
    }

    /// The items of a list.
    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::Seq(items) => Some(items),
            _ => {
                self.expected(node, what, "a list");
                None
            }
        }
    }

    /// A list of strings, or one string for a list of one.
    pub fn strings(&mut self, node: &Node, what: &str) -> Option<Vec<String>> {
        match &node.kind {
            Kind::Str { text, .. } => Some(vec![text.clone()]),
            Kind::Seq(items) => {
                Some(items.iter().filter_map(|item| self.string(item, &format!("an item of {what}"))).collect())
            }
            _ => {
                self.expected(node, what, "a list of strings");
                None
            }
        }
    }

    /// One of a few words.
    pub fn word<T: Copy>(&mut self, node: &Node, what: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.string(node, what)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let problem = Problem::error(format!("{what} must be one of {}", names.join(", ")), node.place.clone());
        let help = closest(&text, words.iter().map(|(word, _)| *word)).map(|close| format!("did you mean `{close}`?"));
        self.problem(problem.maybe_help(help));
        None
    }

    /// An object of JSON values; number and date keys are refused as everywhere.
    pub fn object(&mut self, node: &Node, what: &str) -> Option<serde_json::Map<String, Json>> {
        let entries = self.entries(node, what)?;
        Some(entries.into_iter().map(|(name, _, value)| (name.to_owned(), value.to_json())).collect())
    }

    /// An instant: ISO 8601, UTC unless it has an offset.
    pub fn instant(&mut self, node: &Node, what: &str) -> Option<DateTime<Utc>> {
        let Kind::Str { text, .. } = &node.kind else {
            self.expected(node, what, "a date and time as a string");
            return None;
        };
        match parse_instant(text) {
            Some(instant) => Some(instant),
            None => {
                self.problem(
                    Problem::error(format!("{what} is not a date and time"), node.place.clone())
                        .help("write it as \"2026-03-10T09:00:00Z\"; without an offset it is UTC"),
                );
                None
            }
        }
    }
}

/// Reads an ISO 8601 date, or date and time with or without offset. Without an offset it is UTC.
pub fn parse_instant(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Some(instant.to_utc());
    }
    for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(text, format) {
            return Some(naive.and_utc());
        }
    }
    for format in ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z"] {
        if let Ok(instant) = DateTime::parse_from_str(text, format) {
            return Some(instant.to_utc());
        }
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.and_time(chrono::NaiveTime::MIN).and_utc())
}

/// Whether a plain scalar consists of what numbers, dates and times are made of.
fn looks_like_number_or_date(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-', '.']).unwrap_or(text);
    if matches!(
        body.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "inf" | ".inf" | ".nan"
    ) {
        return true;
    }
    body.starts_with(|c: char| c.is_ascii_digit())
        && body.chars().all(|c| {
            c.is_ascii_digit() || matches!(c, '_' | '.' | ':' | '-' | '+' | 'T' | 't' | 'Z' | 'z' | ' ' | 'e' | 'E')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_need_quotes() {
        for text in
            ["20260310", "2026-03-10", "2026-03-10T09", "2026-03-10 09:00:00", "1_000", "12:30", "-5", "yes", "1e3"]
        {
            assert!(looks_like_number_or_date(text), "{text}");
        }
        for text in ["us", "eu|2026-03-10", "2026-W11", "Q1", "dt=20260310", "x1"] {
            assert!(!looks_like_number_or_date(text), "{text}");
        }
    }

    #[test]
    fn instants() {
        for text in [
            "2026-03-10T09:00:00Z",
            "2026-03-10T09:00:00",
            "2026-03-10 09:00",
            "2026-03-10T10:00:00+01:00",
            "2026-03-10T11:00:00+0200",
        ] {
            assert_eq!(parse_instant(text).unwrap().to_rfc3339(), "2026-03-10T09:00:00+00:00", "{text}");
        }
        assert_eq!(parse_instant("2026-03-10").unwrap().to_rfc3339(), "2026-03-10T00:00:00+00:00");
        assert!(parse_instant("yesterday").is_none());
    }
}
