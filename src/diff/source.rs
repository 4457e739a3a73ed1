//! Source files that changed: which, where, and what the changed lines are.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;
use serde_json::Value as Json;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::alike::{Tokens, likeness};
use super::hunk::{Hunk, HunkOptions, Tag, hunks_with};
use super::model::{Cause, CauseKind, Status};
use super::tree::{Files, same_content};
use crate::context::masker::is_sensitive;
use crate::pipeline::Source;
use crate::pipeline::yaml::{self, Kind, Node};

/// Files with at least this in common are one that was renamed.
const RENAMED: f64 = 0.6;

/// Longest value shown in a cause.
const VALUE_SHOWN: usize = 60;

/// A file of a pipeline that differs.
#[derive(Debug, Clone)]
pub struct Changed {
    /// Its path, on the old side if it is gone.
    pub path: Utf8PathBuf,
    /// Its old path, if it is another.
    pub old_path: Option<Utf8PathBuf>,
    /// What became of it.
    pub status: Status,
    /// Both texts; empty for a side that has none; `None` for what is no text.
    pub texts: Option<(String, String)>,
    /// Where it differs, without context.
    pub hunks: Vec<Hunk>,
}

impl Changed {
    /// True for a path the file has or had.
    pub fn is(&self, path: &Utf8Path) -> bool {
        self.path == path || self.old_path.as_deref() == Some(path)
    }
}

/// The files that differ between two sides of a pipeline.
pub fn changed(base: &Files, head: &Files) -> Vec<Changed> {
    let mut changed = Vec::new();
    let paths: BTreeSet<&Utf8PathBuf> = base.keys().chain(head.keys()).collect();
    let text = |content: &Option<std::sync::Arc<[u8]>>| {
        content.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()).map(|text| text.replace("\r\n", "\n"))
    };
    for path in paths {
        let (status, texts) = match (base.get(path), head.get(path)) {
            (Some(Some(old)), Some(Some(new))) if same_content(old, new) => continue,
            (Some(old), Some(new)) => (Status::Modified, text(old).zip(text(new))),
            (Some(old), None) => (Status::Removed, text(old).map(|old| (old, String::new()))),
            (None, Some(new)) => (Status::Added, text(new).map(|new| (String::new(), new))),
            (None, None) => continue,
        };
        changed.push(Changed { path: path.clone(), old_path: None, status, hunks: hunks_of(texts.as_ref()), texts });
    }
    join_renamed(&mut changed);
    changed
}

fn hunks_of(texts: Option<&(String, String)>) -> Vec<Hunk> {
    let options = HunkOptions { context: 0, ..HunkOptions::default() };
    texts.map(|(old, new)| hunks_with(old, new, &options)).unwrap_or_default()
}

fn join_renamed(changed: &mut Vec<Changed>) {
    let tokens = |file: &Changed, new: bool| {
        file.texts.as_ref().map(|(old, text)| Tokens::of(if new { text.as_str() } else { old.as_str() }))
    };
    let of = |changed: &[Changed], status: Status| -> Vec<(usize, Tokens)> {
        let files = changed.iter().enumerate().filter(|(_, file)| file.status == status);
        files.filter_map(|(at, file)| Some((at, tokens(file, status == Status::Added)?))).collect()
    };
    let (removed, added) = (of(changed, Status::Removed), of(changed, Status::Added));
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (old, old_tokens) in &removed {
        for (new, new_tokens) in &added {
            let percent = likeness(old_tokens, new_tokens);
            if percent >= RENAMED {
                pairs.push((percent, *old, *new));
            }
        }
    }
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)).then(one.2.cmp(&other.2)));
    let mut gone = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for (_, old, new) in pairs {
        if gone.contains(&old) || !taken.insert(new) {
            continue;
        }
        gone.insert(old);
        let old_file = changed.get(old).cloned();
        if let (Some(old_file), Some(file)) = (old_file, changed.get_mut(new)) {
            file.status = Status::Renamed;
            file.old_path = Some(old_file.path);
            file.texts =
                old_file.texts.zip(file.texts.take()).map(|((old_text, _), (_, new_text))| (old_text, new_text));
            file.hunks = hunks_of(file.texts.as_ref());
        }
    }
    let mut at = 0;
    changed.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}

/// A change of a source file that can be made by itself.
#[derive(Debug, Clone)]
pub struct Atom {
    /// The file.
    pub file: Changed,
    /// The hunk; `None` for the file as a whole.
    pub hunk: Option<usize>,
    /// What it is, in the words of the file.
    pub labels: Vec<Label>,
}

/// What a change of a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// What kind of thing.
    pub kind: CauseKind,
    /// The key path of a YAML file, in parts.
    pub path: Vec<String>,
    /// A macro's name, a key path with both values, `new file`.
    pub what: String,
    /// The line, from 1.
    pub line: usize,
    /// True when it is one of the old file.
    pub old: bool,
}

impl Atom {
    /// The causes it stands for.
    pub fn causes(&self, sure: bool) -> impl Iterator<Item = Cause> + '_ {
        self.labels.iter().map(move |label| Cause {
            kind: label.kind,
            file: match (label.old, &self.file.old_path) {
                (true, Some(old)) => old.clone(),
                _ => self.file.path.clone(),
            },
            line: label.line,
            old: label.old,
            what: label.what.clone(),
            sure,
        })
    }
}

/// The changes a file consists of; none for one whose changes mean nothing (comments and layout of YAML). `yaml` says what a
/// pipeline or scenario file is; `mask` hides secrets in what is said about it.
pub fn atoms(file: &Changed, yaml: Option<CauseKind>, mask: &dyn Fn(&str) -> String) -> Vec<Atom> {
    let whole = |what: &str, kind: CauseKind| {
        let (line, old) = file.hunks.first().map_or((1, file.status == Status::Removed), first_line);
        let label = Label { kind, path: Vec::new(), what: what.to_owned(), line, old };
        vec![Atom { file: file.clone(), hunk: None, labels: vec![label] }]
    };
    let kind = yaml.unwrap_or(CauseKind::Template);
    let Some((old, new)) = &file.texts else { return whole("not a text", kind) };
    match file.status {
        Status::Added => return whole("new file", kind),
        Status::Removed => return whole("deleted file", kind),
        Status::Renamed => {
            let old = file.old_path.as_ref().map_or("", |path| path.as_str());
            return whole(&format!("renamed from {old}"), kind);
        }
        Status::Modified => {}
    }
    let keys = yaml.map(|kind| key_changes(&file.path, old, new, &Walk { kind, mask }));
    let atom = |(at, hunk): (usize, &Hunk)| {
        let labels = match &keys {
            Some(None) => vec![line_label(hunk, new, old, kind)],
            Some(Some(keys)) => keys.iter().filter(|key| touches(hunk, key)).map(|key| key.label.clone()).collect(),
            None => vec![line_label(hunk, new, old, CauseKind::Template)],
        };
        (!labels.is_empty()).then(|| Atom { file: file.clone(), hunk: Some(at), labels })
    };
    file.hunks.iter().enumerate().filter_map(atom).collect()
}

/// The first changed line and whether it is one of the old text.
fn first_line(hunk: &Hunk) -> (usize, bool) {
    let (removed, added) = hunk.changed_numbers();
    match (added.first(), removed.first()) {
        (Some(line), _) => (*line, false),
        (None, Some(line)) => (*line, true),
        (None, None) => (1, false),
    }
}

fn line_label(hunk: &Hunk, new: &str, old: &str, kind: CauseKind) -> Label {
    let (line, is_old) = first_line(hunk);
    let text = if is_old { old } else { new };
    match enclosing_macro(text, line).filter(|_| kind == CauseKind::Template) {
        Some(name) => Label { kind: CauseKind::Macro, path: Vec::new(), what: format!("`{name}`"), line, old: is_old },
        None => Label { kind, path: Vec::new(), what: String::new(), line, old: is_old },
    }
}

static MACRO: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{%[-+]?\s*(?:macro\s+([\p{L}_][\p{L}\p{N}_]*)|(endmacro))").ok());

/// The macro that a line of a template stands in.
fn enclosing_macro(text: &str, line: usize) -> Option<String> {
    let until: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut open: Vec<&str> = Vec::new();
    for found in MACRO.as_ref()?.captures_iter(text.get(..until)?) {
        match (found.get(1), found.get(2)) {
            (Some(name), _) => open.push(name.as_str()),
            // A macro that ends on the line itself still holds it.
            (_, Some(end)) if end.start() < start => {
                open.pop();
            }
            _ => {}
        }
    }
    open.last().map(|name| (*name).to_owned())
}

/// A key of a YAML file whose value differs, and its lines on both sides.
struct KeyChange {
    label: Label,
    old: Option<RangeInclusive<usize>>,
    new: Option<RangeInclusive<usize>>,
}

fn touches(hunk: &Hunk, key: &KeyChange) -> bool {
    let (removed, added) = hunk.changed_numbers();
    let within = |lines: &[usize], range: &Option<RangeInclusive<usize>>| {
        range.as_ref().is_some_and(|range| lines.iter().any(|line| range.contains(line)))
    };
    within(&removed, &key.old) || within(&added, &key.new)
}

/// Keys whose values differ; `None` when a side cannot be parsed.
fn key_changes(path: &Utf8Path, old: &str, new: &str, how: &Walk<'_>) -> Option<Vec<KeyChange>> {
    let parse = |text: &str| {
        let source = std::sync::Arc::new(Source { path: path.to_owned(), text: text.to_owned() });
        yaml::parse(&source).ok()
    };
    let (old, new) = (parse(old)?, parse(new)?);
    let mut found = Vec::new();
    walk(&mut Vec::new(), None, Some(&old), None, Some(&new), how, &mut found);
    Some(found)
}

fn walk(
    path: &mut Vec<String>,
    old_key: Option<&Node>,
    old: Option<&Node>,
    new_key: Option<&Node>,
    new: Option<&Node>,
    how: &Walk<'_>,
    found: &mut Vec<KeyChange>,
) {
    match (old.map(|node| &node.kind), new.map(|node| &node.kind)) {
        (Some(Kind::Map(old_entries)), Some(Kind::Map(new_entries))) if path.len() < 64 => {
            for (key, value) in old_entries {
                let name = key_text(key);
                let other = new_entries.iter().find(|(other, _)| key_text(other) == name);
                path.push(name);
                walk(
                    path,
                    Some(key),
                    Some(value),
                    other.map(|(key, _)| key),
                    other.map(|(_, value)| value),
                    how,
                    found,
                );
                path.pop();
            }
            for (key, value) in new_entries {
                let name = key_text(key);
                if !old_entries.iter().any(|(other, _)| key_text(other) == name) {
                    path.push(name);
                    walk(path, None, None, Some(key), Some(value), how, found);
                    path.pop();
                }
            }
            return;
        }
        (Some(Kind::Seq(old_items)), Some(Kind::Seq(new_items))) if path.len() < 64 => {
            walk_items(path, old_items, new_items, how, found);
            return;
        }
        _ => {}
    }
    let (old_json, new_json) = (old.map(Node::to_json), new.map(Node::to_json));
    if old_json == new_json {
        return;
    }
    let lines = |key: Option<&Node>, node: Option<&Node>| {
        let node = node?;
        let first = key.map_or(node.place.range.start, |key| key.place.range.start.min(node.place.range.start));
        let end = node.place.range.end.max(first + 1);
        let (start, _) = node.place.source.line_column(first);
        let (end, _) = node.place.source.line_column(end - 1);
        Some(start..=end.max(start))
    };
    let (old_lines, new_lines) = (lines(old_key, old), lines(new_key, new));
    let line = new_lines.as_ref().or(old_lines.as_ref()).map_or(1, |lines| *lines.start());
    let value = |json: &Json| how.value(path, json);
    let what = match (&old_json, &new_json) {
        (Some(old), Some(new)) => format!("{}: {} -> {}", dotted(path), value(old), value(new)),
        (None, Some(new)) => format!("{} added: {}", dotted(path), value(new)),
        (Some(old), None) => format!("{} removed: {}", dotted(path), value(old)),
        (None, None) => dotted(path),
    };
    let label = Label { kind: kind_of(path, how.kind), path: path.clone(), what, line, old: new_lines.is_none() };
    found.push(KeyChange { label, old: old_lines, new: new_lines });
}

fn walk_items(path: &mut Vec<String>, old: &[Node], new: &[Node], how: &Walk<'_>, found: &mut Vec<KeyChange>) {
    let texts = |items: &[Node]| items.iter().map(|item| item.to_json().to_string()).collect::<Vec<_>>();
    for op in capture_diff_slices(Algorithm::Myers, &texts(old), &texts(new)) {
        if let DiffOp::Equal { .. } = op {
            continue;
        }
        let (old_at, new_at) = (op.old_range().start, op.new_range().start);
        for step in 0..op.old_range().len().max(op.new_range().len()) {
            let one = old.get(op.old_range()).and_then(|items| items.get(step));
            let other = new.get(op.new_range()).and_then(|items| items.get(step));
            let index = if other.is_some() { new_at + step } else { old_at + step };
            path.push(format!("[{index}]"));
            walk(path, None, one, None, other, how, found);
            path.pop();
        }
    }
}

fn key_text(key: &Node) -> String {
    key.as_str().map_or_else(|| key.to_json().to_string(), str::to_owned)
}

fn dotted(path: &[String]) -> String {
    let mut out = String::new();
    for part in path {
        if !out.is_empty() && !part.starts_with('[') {
            out.push('.');
        }
        out.push_str(part);
    }
    if out.is_empty() { "the whole file".to_owned() } else { out }
}

/// What a walk through two files needs to know.
struct Walk<'a> {
    kind: CauseKind,
    mask: &'a dyn Fn(&str) -> String,
}

impl Walk<'_> {
    /// A value in a few words, without secrets.
    fn value(&self, path: &[String], value: &Json) -> String {
        // What a connection holds, and what has a telling name, is never shown.
        if path.iter().any(|part| part == "connections" || is_sensitive(part)) {
            return "***".to_owned();
        }
        let text = self.masked(value).to_string();
        match text.char_indices().nth(VALUE_SHOWN) {
            Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
            None => text,
        }
    }

    fn masked(&self, value: &Json) -> Json {
        match value {
            Json::String(text) => Json::String((self.mask)(text)),
            Json::Array(items) => items.iter().map(|item| self.masked(item)).collect(),
            Json::Object(map) => map
                .iter()
                .map(|(name, item)| {
                    let item = if is_sensitive(name) { Json::from("***") } else { self.masked(item) };
                    (name.clone(), item)
                })
                .collect(),
            Json::Number(number) => {
                let text = (self.mask)(&number.to_string());
                if text == number.to_string() { value.clone() } else { Json::String(text) }
            }
            other => other.clone(),
        }
    }
}

fn kind_of(path: &[String], kind: CauseKind) -> CauseKind {
    if kind != CauseKind::Pipeline {
        return kind;
    }
    let has = |word: &str| path.iter().any(|part| part == word);
    let mapper = path.iter().any(|part| part.contains("partition_mapper") || part.ends_with("Mapper"));
    match path.first().map(String::as_str) {
        Some("variables") => CauseKind::Variable,
        Some("connections") => CauseKind::Connection,
        Some("user_defined_macros" | "user_defined_filters") => CauseKind::Macro,
        _ if has("schedule") && mapper => CauseKind::Mapper,
        _ if has("schedule") => CauseKind::Schedule,
        _ if has("user_defined_macros") || has("user_defined_filters") => CauseKind::Macro,
        _ if has("params") => CauseKind::Params,
        _ => CauseKind::Pipeline,
    }
}

/// A file's old text with one of its changes made.
pub fn applied(file: &Changed, hunk: usize) -> Option<String> {
    let (old, _) = file.texts.as_ref()?;
    let hunk = file.hunks.get(hunk)?;
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let start = hunk.old_start.checked_sub(1)?;
    let mut text: String = lines.get(..start)?.concat();
    for line in hunk.lines.iter().filter(|line| line.tag != Tag::Delete) {
        text.push_str(&line.text);
        if line.newline {
            text.push('\n');
        }
    }
    text.push_str(&lines.get(start + hunk.old_lines..)?.concat());
    Some(text)
}
