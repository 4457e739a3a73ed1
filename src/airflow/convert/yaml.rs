//! Writes a pipeline file that reads well: blocks for its structure, one line for what fits on one, texts of several lines as
//! block scalars.

use serde_json::{Map, Value as Json};

/// Widest line of a flow collection.
const WIDTH: usize = 110;

/// Where in a pipeline file a mapping stands: its structure is written in blocks, what it says on one line where that fits.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    /// The file
    Top,
    /// `assets`
    Assets,
    /// `dags`
    Dags,
    /// A Dag
    Dag,
    /// `tasks`
    Tasks,
    /// A task
    Task,
    /// Inside of any of these
    Inner,
}

impl Level {
    fn below(self, key: &str) -> Level {
        match (self, key) {
            (Level::Top, "assets") => Level::Assets,
            (Level::Top, "dags") => Level::Dags,
            (Level::Dags, _) => Level::Dag,
            (Level::Dag, "tasks") => Level::Tasks,
            (Level::Tasks, _) => Level::Task,
            _ => Level::Inner,
        }
    }
}

/// The YAML text of a document. With `readable` false every text is in double quotes.
pub(in crate::airflow) fn write(document: &Map<String, Json>, readable: bool) -> String {
    let mut writer = Writer { out: String::new(), readable };
    writer.entries(document, 0, Level::Top);
    writer.out
}

struct Writer {
    out: String,
    readable: bool,
}

impl Writer {
    fn pad(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Entries of a mapping, each on its own lines.
    fn entries(&mut self, map: &Map<String, Json>, indent: usize, level: Level) {
        for (at, (key, value)) in map.iter().enumerate() {
            if level == Level::Dags && at > 0 {
                self.out.push('\n');
            }
            self.pad(indent);
            self.out.push_str(&self.scalar(key, false));
            self.out.push(':');
            self.value(value, indent, level.below(key));
        }
    }

    /// A value after its key or dash, up to the end of its last line.
    fn value(&mut self, value: &Json, indent: usize, level: Level) {
        if let Json::String(text) = value
            && let Some(header) = block_header(text).filter(|_| self.readable)
        {
            self.out.push_str(header);
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                self.out.push('\n');
                if !line.is_empty() {
                    self.pad(indent + 2);
                    self.out.push_str(line);
                }
            }
            self.out.push('\n');
            return;
        }
        let structure = level != Level::Inner && matches!(value, Json::Object(map) if !map.is_empty());
        if !structure
            && let Some(flow) = self.flow(value).filter(|flow| is_scalar(value) || flow.len() + indent <= WIDTH)
        {
            self.out.push(' ');
            self.out.push_str(&flow);
            self.out.push('\n');
            return;
        }
        match value {
            Json::Object(map) => {
                self.out.push('\n');
                self.entries(map, indent + 2, level);
            }
            Json::Array(items) => {
                self.out.push('\n');
                for item in items {
                    self.pad(indent + 2);
                    self.out.push('-');
                    self.value(item, indent + 2, Level::Inner);
                }
            }
            _ => self.out.push('\n'),
        }
    }

    /// The value on one line; `None` when a text in it belongs on several.
    fn flow(&self, value: &Json) -> Option<String> {
        Some(match value {
            Json::Null => "null".to_owned(),
            Json::Bool(_) | Json::Number(_) => value.to_string(),
            Json::String(text) => self.scalar(text, true),
            Json::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.part(item)).collect::<Option<_>>()?;
                format!("[{}]", items.join(", "))
            }
            Json::Object(map) => {
                let entry =
                    |(key, value): (&String, &Json)| Some(format!("{}: {}", self.scalar(key, true), self.part(value)?));
                let entries: Vec<String> = map.iter().map(entry).collect::<Option<_>>()?;
                format!("{{{}}}", entries.join(", "))
            }
        })
    }

    /// A value inside of a flow collection.
    fn part(&self, value: &Json) -> Option<String> {
        if self.readable && matches!(value, Json::String(text) if block_header(text).is_some()) {
            return None;
        }
        self.flow(value)
    }

    fn scalar(&self, text: &str, flow: bool) -> String {
        if self.readable && is_plain(text, flow) { text.to_owned() } else { quoted(text) }
    }
}

fn is_scalar(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// Whether a text can stand without quotes and no reader takes it for anything else.
fn is_plain(text: &str, _flow: bool) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let inner = |c: char| word(c) || matches!(c, ' ' | '&' | '|' | '(' | ')' | '=' | '+');
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '('));
    first
        && text.len() <= 1000
        && text.chars().all(inner)
        && !text.ends_with(' ')
        && !text.contains("  ")
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
}

/// The header of a block scalar for a text of several lines, if the block holds the text exactly.
fn block_header(text: &str) -> Option<&'static str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let several = body.contains('\n');
    let plain =
        |c: char| c == '\n' || c == '\t' || !(c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}'));
    let starts = !body.starts_with([' ', '\t', '\n']);
    let ends = !body.ends_with('\n');
    (several && starts && ends && text.chars().all(plain)).then_some(if text.ends_with('\n') { " |" } else { " |-" })
}

/// A text in double quotes: JSON's escapes are YAML's.
fn quoted(text: &str) -> String {
    let json = Json::from(text).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use camino::Utf8Path;
    use serde_json::json;

    use super::*;
    use crate::pipeline::{Source, yaml};

    fn read(text: String) -> Json {
        let source: Arc<Source> = yaml::source(Utf8Path::new("x.yaml"), text);
        yaml::parse(&source).unwrap_or_else(|problem| panic!("{problem}\n{}", source.text)).to_json()
    }

    #[test]
    fn what_is_written_is_read() {
        let texts = [
            "",
            " ",
            "a",
            "a b",
            "no",
            "Null",
            "~",
            "1",
            "1e3",
            "0x1F",
            "2026-01-01",
            "a: b",
            "a #b",
            "#a",
            "- a",
            "-",
            "[x",
            "{x",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "'a",
            "\"a\"",
            "a\nb",
            "a\nb\n",
            "a\n\n",
            "\na\nb",
            " a\nb",
            "a\n b\n",
            "a\n\tb\n",
            "a \nb \n",
            "a\r\nb",
            "a\u{85}b\nc",
            "\u{feff}a\nb",
            "é\nü\n",
            "x\u{2028}y",
            "a\n---\nb\n",
            "a\n...\nb",
            "a\n#b\nc",
            "{{ x }}",
            "{% if a %}\n b\n{% endif %}\n",
            "a\\b",
            "\u{0}",
            "\u{1f600}\nx",
            "a\n\n\nb\n",
            "key: |\n  x",
            "a & b | (c)",
            "? x",
            "a\n  \nb",
            "a\n   ",
        ];
        for readable in [true, false] {
            for text in texts {
                let document = json!({"top": {"d": {"s": text, "l": [text, {"k": text}], text: [[text], text]}}});
                let Json::Object(map) = &document else { panic!() };
                let written = write(map, readable);
                assert_eq!(read(written.clone()), document, "{text:?}\n{written}");
            }
        }
    }
}
