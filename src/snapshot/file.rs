//! One snapshot file, in insta's format.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// A snapshot: what it is of, and the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Folder and file name without `.snap`, joined by `/`, relative to the root of the tree.
    pub path: String,
    /// `source`: the pipeline, as a path below the folder of pipelines.
    pub source: String,
    /// `expression`: task and field.
    pub expression: String,
    /// `info`: facts about the run, in order.
    pub info: Vec<(String, Info)>,
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
    /// Nothing
    Null,
    /// A list of strings
    List(Vec<String>),
}

impl Snapshot {
    /// SHA-256 of the exact text, in hexadecimal.
    pub fn sha256(&self) -> String {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(self.text.as_bytes()) {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// Newlines at the end of the exact text, which insta does not keep.
    pub fn trailing_newlines(&self) -> usize {
        self.text.len() - self.text.trim_end_matches('\n').len()
    }

    /// The file's content.
    pub fn to_file(&self) -> String {
        let mut file = String::from("---\n");
        let _ = writeln!(file, "source: {}", quoted(&self.source));
        let _ = writeln!(file, "expression: {}", quoted(&self.expression));
        file.push_str("info:\n");
        let hash = [
            ("sha256".to_owned(), Info::Text(self.sha256())),
            ("trailing_newlines".to_owned(), Info::Number(self.trailing_newlines() as u64)),
        ];
        for (name, value) in self.info.iter().chain(&hash) {
            let _ = match value {
                Info::Text(text) => writeln!(file, "  {name}: {}", quoted(text)),
                Info::Number(number) => writeln!(file, "  {name}: {number}"),
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

    /// Whether a file holds this snapshot's text: its body and the hash agree. `None` when it is no snapshot file.
    pub fn matches(&self, file: &str) -> Option<bool> {
        let (header, body) = split(file)?;
        let hash = header.lines().find_map(|line| line.trim().strip_prefix("sha256: "))?.trim_matches('"');
        Some(hash == self.sha256() && normal(body) == normal(&self.text))
    }
}

/// Header and body of a snapshot file.
pub fn split(file: &str) -> Option<(&str, &str)> {
    let rest = file.strip_prefix("---\n")?;
    let end = rest.find("\n---\n")?;
    Some((&rest[..end], &rest[end + 5..]))
}

/// What insta compares: without white space at the end and with `\n` for line ends.
fn normal(text: &str) -> String {
    text.trim_end().replace("\r\n", "\n")
}

/// A YAML string in double quotes: JSON's escapes are YAML's too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_matches_its_own_snapshot_only() {
        let mut snapshot = Snapshot {
            path: "p/s/d/k/t.sql".into(),
            source: "p".into(),
            expression: "t.sql".into(),
            info: vec![
                ("dag_id".into(), Info::Text("d".into())),
                ("events".into(), Info::List(vec!["a \"b\"".into()])),
            ],
            text: "SELECT 1\n\n".into(),
        };
        let file = snapshot.to_file();
        assert_eq!(snapshot.matches(&file), Some(true), "{file}");
        assert_eq!(snapshot.trailing_newlines(), 2);
        snapshot.text = "SELECT 1\n".into();
        assert_eq!(snapshot.matches(&file), Some(false));
        assert_eq!(snapshot.matches("no snapshot"), None);
    }
}
