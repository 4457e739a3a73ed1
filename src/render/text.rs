//! Rendered values as text and as JSON.

use serde_json::{Map, Number, Value as Json};

use crate::python::{self, Dict, List, Plain, Set, Tuple, Value, View, downcast, text, text as text_of, view};

/// Deepest nesting shown.
const DEPTH_LIMIT: usize = 100;

/// A rendered value for people: a string as it is; anything else in a form like YAML, strings of several lines as blocks.
pub fn display(value: &Value) -> String {
    if let Some(text) = text(value) {
        return text.to_owned();
    }
    let mut out = Layout::default();
    write_value(&mut out, value, 0, 0);
    let trimmed = out.text.trim_start_matches(['\n', ' ']);
    trimmed.to_owned()
}

/// A string inside of a value, and where [`display`] puts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The string.
    pub text: String,
    /// The first line of the display that holds it, from 0.
    pub line: usize,
    /// How many lines hold it: one, or as many as it has itself.
    pub lines: usize,
}

/// The strings of a value (not its keys) in the order in which [`display`] shows them.
pub fn leaves(value: &Value) -> Vec<Leaf> {
    if let Some(text) = text(value) {
        return vec![Leaf { text: text.to_owned(), line: 0, lines: text.split('\n').count() }];
    }
    let mut out = Layout { leaves: Some(Vec::new()), ..Layout::default() };
    write_value(&mut out, value, 0, 0);
    let trimmed = out.text.len() - out.text.trim_start_matches(['\n', ' ']).len();
    let line = |at: usize| out.text.get(trimmed..at).unwrap_or_default().matches('\n').count();
    let leaf = |(range, value): &(std::ops::Range<usize>, Value)| Leaf {
        text: text(value).unwrap_or_default().to_owned(),
        line: line(range.start),
        lines: line(range.end) - line(range.start) + 1,
    };
    out.leaves.iter().flatten().map(leaf).collect()
}

/// A display being written.
#[derive(Default)]
struct Layout {
    text: String,
    /// Where strings stand, if somebody wants to know.
    leaves: Option<Vec<(std::ops::Range<usize>, Value)>>,
}

impl Layout {
    fn leaf(&mut self, start: usize, value: &Value) {
        if let Some(leaves) = &mut self.leaves {
            leaves.push((start..self.text.len(), value.clone()));
        }
    }

    /// Puts what begins with a line break on the line before it: `removed` bytes become a space.
    fn join(&mut self, start: usize, removed: usize) {
        self.text.replace_range(start..start + removed, " ");
        for (range, _) in self.leaves.iter_mut().flatten().filter(|(range, _)| range.start > start) {
            *range = range.start + 1 - removed..range.end + 1 - removed;
        }
    }
}

/// A rendered value as JSON; `None` when it has no JSON form (dates, sets, keys that are no strings).
pub fn to_json(value: &Value) -> Option<Json> {
    json_at(value, 0)
}

/// `repr()` of a value.
pub fn repr(value: &Value) -> String {
    python::repr(value, &mut Plain::default()).unwrap_or_else(|error| format!("<{error}>"))
}

fn json_at(value: &Value, depth: usize) -> Option<Json> {
    if depth > DEPTH_LIMIT {
        return None;
    }
    if let Some(text) = text(value) {
        return Some(Json::from(text));
    }
    match view(value) {
        View::None => Some(Json::Null),
        View::Bool(value) => Some(Json::Bool(value)),
        View::Int(value) => Some(Json::from(value)),
        View::Float(value) => Number::from_f64(value).map(Json::Number),
        View::Object(_) => {
            if let Some(items) = items(value) {
                return items.iter().map(|item| json_at(item, depth + 1)).collect::<Option<Vec<_>>>().map(Json::Array);
            }
            if let Some(dict) = downcast::<Dict>(value) {
                let mut map = Map::new();
                for (key, item) in dict.items() {
                    map.insert(text(&key)?.to_owned(), json_at(&item, depth + 1)?);
                }
                return Some(Json::Object(map));
            }
            // An int of any size prints as JSON writes it.
            (python::type_name(value) == "int").then(|| repr(value).parse().ok().map(Json::Number)).flatten()
        }
        _ => None,
    }
}

/// A rendered value as Airflow stores it (`rendered_task_instance_fields`): keys are sorted text, tuples and sets lists, and
/// what has no JSON form is its `str()`. Long values are not cut.
pub fn stored(value: &Value) -> Json {
    stored_at(value, 0)
}

fn stored_at(value: &Value, depth: usize) -> Json {
    if depth > DEPTH_LIMIT {
        return Json::Null;
    }
    if let Some(json) = json_at(value, DEPTH_LIMIT) {
        return json;
    }
    if let Some(dict) = downcast::<Dict>(value) {
        let key = |key: &Value| match stored_at(key, depth + 1) {
            Json::String(text) => text,
            _ => string(key),
        };
        let mut entries: Vec<(String, Json)> =
            dict.items().iter().map(|(name, item)| (key(name), stored_at(item, depth + 1))).collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        return Json::Object(entries.into_iter().collect());
    }
    if let Some(items) = items(value) {
        return items.iter().map(|item| stored_at(item, depth + 1)).collect();
    }
    if let Some(set) = downcast::<Set>(value) {
        let mut items: Vec<(String, String, Json)> = set
            .snapshot()
            .iter()
            .map(|item| (python::type_name(item), string(item), stored_at(item, depth + 1)))
            .collect();
        items.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        return items.into_iter().map(|(_, _, json)| json).collect();
    }
    Json::String(string(value))
}

/// `str()` of a value.
fn string(value: &Value) -> String {
    python::str(value, &mut Plain::default()).unwrap_or_else(|error| format!("<{error}>"))
}

fn items(value: &Value) -> Option<Vec<Value>> {
    match (downcast::<List>(value), downcast::<Tuple>(value)) {
        (Some(list), _) => Some(list.snapshot()),
        (_, Some(tuple)) => Some(tuple.snapshot()),
        _ => None,
    }
}

/// Writes a value after its key or dash: on the same line if it is short, else on lines of its own.
fn write_value(layout: &mut Layout, value: &Value, indent: usize, depth: usize) {
    if depth > DEPTH_LIMIT {
        layout.text.push_str(" ...");
        return;
    }
    let pad = |out: &mut String, indent: usize| out.extend(std::iter::repeat_n(' ', indent));
    if let Some(text) = text(value) {
        if text.contains('\n')
            && text.lines().all(|line| !line.starts_with([' ', '\t'])) | text.starts_with(|c: char| !c.is_whitespace())
        {
            let out = &mut layout.text;
            out.push_str(if text.ends_with('\n') { " |" } else { " |-" });
            let start = out.len() + 1;
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                out.push('\n');
                if !line.is_empty() {
                    pad(out, indent);
                    out.push_str(line);
                }
            }
            layout.leaf(start, value);
        } else {
            layout.text.push(' ');
            let start = layout.text.len();
            layout.text.push_str(&scalar(text));
            layout.leaf(start, value);
        }
        return;
    }
    if let (Some(items), true) = (items(value), downcast::<List>(value).is_some()) {
        if items.is_empty() {
            layout.text.push_str(" []");
        }
        for item in items {
            let out = &mut layout.text;
            out.push('\n');
            pad(out, indent);
            out.push('-');
            let start = out.len();
            write_value(layout, &item, indent + 2, depth + 1);
            // The first entry of a collection stands on the line of the dash.
            if layout.text[start..].starts_with('\n') && text_of(&item).is_none() {
                layout.join(start, 1 + indent + 2);
            }
        }
        return;
    }
    if let Some(dict) = downcast::<Dict>(value) {
        let entries = dict.items();
        if entries.is_empty() {
            layout.text.push_str(" {}");
        }
        for (key, item) in entries {
            let out = &mut layout.text;
            out.push('\n');
            pad(out, indent);
            match text(&key) {
                Some(text) => out.push_str(&scalar(text)),
                None => out.push_str(&repr(&key)),
            }
            out.push(':');
            write_value(layout, &item, indent + 2, depth + 1);
        }
        return;
    }
    let out = &mut layout.text;
    out.push(' ');
    match view(value) {
        View::None => out.push_str("null"),
        View::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        View::Int(_) | View::Float(_) => out.push_str(&repr(value)),
        _ => {
            out.push_str("!python ");
            out.push_str(&repr(value));
        }
    }
}

/// A string on one line: bare when nothing else could be meant, else in double quotes.
fn scalar(text: &str) -> String {
    let first = text.chars().next();
    let bare = first.is_some_and(|c| c.is_alphabetic() || matches!(c, '/' | '_'))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.chars().any(char::is_control)
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if bare { text.to_owned() } else { Json::from(text).to_string() }
}
