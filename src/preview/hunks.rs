//! Two texts line by line, with what changed inside lines.

use serde_json::{Value as Json, json};
use similar::{ChangeTag, DiffOp, TextDiff};

use crate::diff::{self, CONTEXT, Hunk, Line, Tag};

/// Changed lines in one place above this are not compared word by word: such a place was written anew.
const WORDS_LIMIT: usize = 2_000;

/// The hunks of a comparison: `old_start`, `old_lines`, `new_start`, `new_lines` and `lines`, each with `op` (`equal`,
/// `delete`, `insert`), its numbers `old` and `new`, and `parts`: pairs of text and whether that is what changed.
pub fn hunks(old: &str, new: &str, whole: bool) -> Json {
    let context = if whole { usize::MAX } else { CONTEXT };
    diff::hunks(old, new, context).iter().map(hunk_json).collect()
}

fn hunk_json(hunk: &Hunk) -> Json {
    let mut parts: Vec<Vec<(bool, String)>> = hunk.lines.iter().map(|line| vec![(false, line.text.clone())]).collect();
    for block in hunk.blocks() {
        let lines = hunk.lines.get(block.clone()).unwrap_or_default();
        for (at, words) in words(lines) {
            if let Some(parts) = parts.get_mut(block.start + at) {
                *parts = words;
            }
        }
    }
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let mut lines = Vec::with_capacity(hunk.lines.len());
    for (line, parts) in hunk.lines.iter().zip(parts) {
        let (in_old, in_new) = (line.tag != Tag::Insert, line.tag != Tag::Delete);
        let parts: Vec<Json> =
            parts.iter().filter(|(_, text)| !text.is_empty()).map(|(changed, text)| json!([text, changed])).collect();
        lines.push(json!({
            "op": match line.tag {
                Tag::Equal => "equal",
                Tag::Delete => "delete",
                Tag::Insert => "insert",
            },
            "old": in_old.then_some(old),
            "new": in_new.then_some(new),
            "parts": parts,
            "newline": line.newline,
        }));
        old += usize::from(in_old);
        new += usize::from(in_new);
    }
    json!({
        "old_start": hunk.old_start,
        "old_lines": hunk.old_lines,
        "new_start": hunk.new_start,
        "new_lines": hunk.new_lines,
        "lines": lines,
    })
}

/// What changed inside the lines of one place: for the index of a line, pairs of whether it changed and text.
fn words(lines: &[Line]) -> Vec<(usize, Vec<(bool, String)>)> {
    let of = |tag: Tag| -> (Vec<usize>, Vec<String>) {
        let mine = lines.iter().enumerate().filter(|(_, line)| line.tag == tag);
        mine.map(|(at, line)| (at, format!("{}{}", line.text, if line.newline { "\n" } else { "" }))).unzip()
    };
    let ((old_at, old), (new_at, new)) = (of(Tag::Delete), of(Tag::Insert));
    if old.is_empty() || new.is_empty() || lines.len() > WORDS_LIMIT {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&old, &new);
    let all = DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() };
    let changes = diff.iter_inline_changes(&all).filter_map(|change| {
        let at = match change.tag() {
            ChangeTag::Insert => new_at.get(change.new_index()?),
            ChangeTag::Delete | ChangeTag::Equal => old_at.get(change.old_index()?),
        };
        let parts = change
            .iter_strings_lossy()
            .map(|(changed, text)| (changed, text.strip_suffix('\n').unwrap_or(&text).to_owned()));
        Some((*at?, parts.collect()))
    });
    changes.collect()
}
