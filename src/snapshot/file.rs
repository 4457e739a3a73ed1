//! One snapshot file, in insta's format.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::Subject;

/// A snapshot: what it is of, and the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Folder and file name without `.snap`, joined by `/`, relative to the root of the tree.
    pub path: String,
    /// What it is of, by names.
    pub subject: Subject,
    /// `source`: the pipeline, as a path below the folder of pipelines.
    pub source: String,
    /// `expression`: task and field.
    pub expression: String,
    /// `info`: facts about the run, in order.
    pub info: Vec<(&'static str, Info)>,
    /// The exact text.
    pub text: String,
}

/// A value of `info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Info {
    /// A string
    Text(String),
    /// A number
    Number(u64),
    /// True or false
    Bool(bool),
    /// Nothing
    Null,
    /// A list of strings
    List(Vec<String>),
}

impl Info {
    /// The value as JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Info::Text(text) => Json::from(text.as_str()),
            Info::Number(number) => Json::from(*number),
            Info::Bool(bool) => Json::from(*bool),
            Info::Null => Json::Null,
            Info::List(items) => Json::from(items.as_slice()),
        }
    }
}

impl Snapshot {
    /// SHA-256 of the exact text, in hexadecimal.
    pub fn sha256(&self) -> String {
        sha256(&self.text)
    }

    /// Newlines at the end of the exact text, which insta does not keep.
    pub fn trailing_newlines(&self) -> usize {
        self.text.len() - self.text.trim_end_matches('\n').len()
    }

    /// A fact of `info`.
    pub fn fact(&self, name: &str) -> Option<&Info> {
        self.info.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// True when the field could not be rendered and the text is the error.
    pub fn failed(&self) -> bool {
        self.fact("error").is_some()
    }

    /// The file's content.
    pub fn to_file(&self) -> String {
        let mut file = String::with_capacity(self.text.len() + 640);
        file.push_str("---\n");
        let _ = writeln!(file, "source: {}", quoted(&self.source));
        let _ = writeln!(file, "expression: {}", quoted(&self.expression));
        file.push_str("info:\n");
        let hash = [
            ("sha256", Info::Text(self.sha256())),
            ("trailing_newlines", Info::Number(self.trailing_newlines() as u64)),
        ];
        for (name, value) in self.info.iter().chain(&hash) {
            let _ = match value {
                Info::Text(text) => writeln!(file, "  {name}: {}", quoted(text)),
                Info::Number(number) => writeln!(file, "  {name}: {number}"),
                Info::Bool(bool) => writeln!(file, "  {name}: {bool}"),
                Info::Null => writeln!(file, "  {name}: ~"),
                Info::List(items) if items.is_empty() => writeln!(file, "  {name}: []"),
                Info::List(items) => {
                    let _ = writeln!(file, "  {name}:");
                    for item in items {
                        let _ = writeln!(file, "    - {}", quoted(item));
                    }
                    Ok(())
                }
            };
        }
        file.push_str("---\n");
        file.push_str(&self.text);
        if !self.text.ends_with('\n') {
            file.push('\n');
        }
        file
    }

    /// How a file stands to this snapshot.
    pub fn compare(&self, file: &[u8]) -> Match {
        if file == self.to_file().as_bytes() {
            return Match::Same;
        }
        let stored = match Stored::parse(file) {
            Ok(stored) => stored,
            Err(damage) => return Match::Damaged(damage),
        };
        let same_body = normal(&stored.body) == normal(&self.text);
        match &stored.sha256 {
            Some(hash) if same_body && *hash == self.sha256() => {
                if self.facts() == stored.info {
                    Match::Same
                } else {
                    Match::OtherFacts(stored)
                }
            }
            _ => Match::Changed(stored),
        }
    }

    /// `info` without what describes the text itself.
    pub fn facts(&self) -> Map<String, Json> {
        self.info.iter().map(|(name, value)| ((*name).to_owned(), value.to_json())).collect()
    }
}

/// How a file stands to the snapshot it should hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Match {
    /// It holds it. Line ends that git converted, and the form in which insta writes a header, do not count.
    Same,
    /// The text is the same; facts about its run in the header are not.
    OtherFacts(Stored),
    /// Another text, or one whose exact form the header no longer vouches for.
    Changed(Stored),
    /// No snapshot file.
    Damaged(Damage),
}

/// Why a file is no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Damage {
    /// Bytes that are no UTF-8.
    #[error("it is not UTF-8")]
    Encoding,
    /// No header between two lines of `---`: torn, or something else.
    #[error("it has no header between two lines of `---`")]
    Header,
    /// Conflict markers of a merge.
    #[error("it holds the markers of an unresolved merge")]
    Conflict,
    /// The header is no YAML.
    #[error("its header is not readable as YAML")]
    Yaml,
}

/// A snapshot file as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// `expression`: task and field.
    pub expression: Option<String>,
    /// `info`, without what describes the text itself.
    pub info: Map<String, Json>,
    /// `info.sha256`: the hash of the exact text. `None` when the file is insta's own or edited by hand.
    pub sha256: Option<String>,
    /// `info.trailing_newlines`
    pub trailing_newlines: Option<usize>,
    /// The body as it stands, with `\n` for line ends where git had converted them.
    pub body: String,
}

impl Stored {
    /// Reads a file. Both line ends are understood, and headers as partita and as insta write them.
    ///
    /// # Errors
    /// When it is no snapshot file.
    pub fn parse(file: &[u8]) -> Result<Self, Damage> {
        let text = std::str::from_utf8(file).map_err(|_| Damage::Encoding)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let converted;
        let text = if text.starts_with("---\r\n") {
            converted = text.replace("\r\n", "\n");
            converted.as_str()
        } else {
            text
        };
        let (header, body) = split(text).ok_or(Damage::Header)?;
        // Those in a body make its hash wrong, and the difference shows them.
        if header.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ")) {
            return Err(Damage::Conflict);
        }
        let mut budget = serde_saphyr::Budget::default();
        budget.max_depth = 16;
        budget.max_documents = 1;
        let options = serde_saphyr::options! {
            budget: Some(budget),
            strict_booleans: true,
            duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
        };
        let header: Json = serde_saphyr::from_str_with_options(header, options).map_err(|_| Damage::Yaml)?;
        let text_of = |value: &Json| value.as_str().map(str::to_owned);
        let mut info = header.get("info").and_then(Json::as_object).cloned().unwrap_or_default();
        let sha256 = info.shift_remove("sha256").as_ref().and_then(text_of);
        let newlines = info.shift_remove("trailing_newlines");
        Ok(Stored {
            expression: header.get("expression").and_then(text_of),
            info,
            sha256,
            trailing_newlines: newlines.and_then(|value| value.as_u64()).and_then(|count| usize::try_from(count).ok()),
            body: body.to_owned(),
        })
    }

    /// The exact text, as far as the file tells: the body with as many newlines at its end as the header says.
    pub fn text(&self) -> String {
        match self.trailing_newlines {
            Some(count) => {
                let body = self.body.trim_end_matches('\n');
                let mut text = String::with_capacity(body.len() + count.min(self.body.len() + 64));
                text.push_str(body);
                // A number that somebody made up shall not fill the memory.
                text.extend(std::iter::repeat_n('\n', count.min(self.body.len() + 64)));
                text
            }
            None => self.body.clone(),
        }
    }

    /// True when the header's hash is that of [`Stored::text`].
    pub fn is_exact(&self) -> bool {
        self.sha256.as_ref().is_some_and(|hash| *hash == sha256(&self.text()))
    }
}

/// Header and body of a snapshot file.
pub fn split(file: &str) -> Option<(&str, &str)> {
    let rest = file.strip_prefix("---\n")?;
    match rest.find("\n---\n") {
        Some(end) => Some((&rest[..end], &rest[end + 5..])),
        // An empty body, whose last newline some editor took.
        None => rest.strip_suffix("\n---").map(|header| (header, "")),
    }
}

fn sha256(text: &str) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or_default());
    Sha256::digest(text.as_bytes()).iter().flat_map(digits).collect()
}

/// What insta compares: without white space at the end and with `\n` for line ends.
fn normal(text: &str) -> String {
    text.trim_end().replace("\r\n", "\n")
}

/// A YAML string in double quotes: JSON's escapes are YAML's too. What YAML takes for a line end or does not allow in a file
/// is escaped besides.
fn quoted(text: &str) -> String {
    let json = Json::from(text).to_string();
    let special = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    if !json.contains(special) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if special(c) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: &str) -> Snapshot {
        Snapshot {
            path: "p/s/d/k/t.sql".into(),
            subject: Subject::default(),
            source: "p".into(),
            expression: "t.sql".into(),
            info: vec![
                ("dag_id", Info::Text("d".into())),
                ("partition_key", Info::Text("20260310".into())),
                ("partition_date", Info::Null),
                ("events", Info::List(vec!["a \"b\"\u{85}\u{2028}\\".into()])),
            ],
            text: text.into(),
        }
    }

    #[test]
    fn a_file_matches_its_own_snapshot_only() {
        let mut snapshot = snapshot("SELECT 1\n\n");
        let file = snapshot.to_file();
        assert_eq!(snapshot.compare(file.as_bytes()), Match::Same, "{file}");
        assert_eq!(snapshot.trailing_newlines(), 2);
        snapshot.text = "SELECT 1\n".into();
        assert!(matches!(snapshot.compare(file.as_bytes()), Match::Changed(_)));
        assert_eq!(snapshot.compare(b"no snapshot"), Match::Damaged(Damage::Header));
        assert_eq!(snapshot.compare(b"---\n\xff\n---\n"), Match::Damaged(Damage::Encoding));
    }

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "\n", "a", "a\n", "a\n\n\n", "---\n", "\n---\n", "a\r\nb\r\n", " a \n b ", "é\u{2028}"] {
            let snapshot = snapshot(text);
            let stored = Stored::parse(snapshot.to_file().as_bytes()).unwrap();
            assert_eq!(stored.text(), text);
            assert!(stored.is_exact(), "{text:?}");
            assert_eq!(stored.info, snapshot.facts(), "{text:?}");
        }
    }

    #[test]
    fn line_ends_that_git_converted_do_not_count() {
        let snapshot = snapshot("a\nb\n");
        assert_eq!(snapshot.compare(snapshot.to_file().replace('\n', "\r\n").as_bytes()), Match::Same);
    }

    #[test]
    fn what_insta_makes_of_a_file_is_the_same() {
        let snapshot = snapshot("a\n\n");
        let file = snapshot.to_file().replace("\"d\"", "d").replace("a\n\n", "a\n");
        assert_ne!(file, snapshot.to_file());
        assert_eq!(snapshot.compare(file.as_bytes()), Match::Same);
    }

    #[test]
    fn edited_headers() {
        let snapshot = snapshot("a\n");
        let file = snapshot.to_file();
        let facts = file.replace("20260310", "20260311");
        assert!(matches!(snapshot.compare(facts.as_bytes()), Match::OtherFacts(_)));
        let hash = file.replace("sha256: \"", "sha256: \"0");
        assert!(matches!(snapshot.compare(hash.as_bytes()), Match::Changed(_)));
        let twice = file.replace("  partition_date: ~\n", "  partition_date: ~\n  partition_date: ~\n");
        assert_eq!(snapshot.compare(twice.as_bytes()), Match::Damaged(Damage::Yaml));
        let merge = file.replace("  partition_date", "<<<<<<< HEAD\n  partition_date");
        assert_eq!(snapshot.compare(merge.as_bytes()), Match::Damaged(Damage::Conflict));
    }
}
