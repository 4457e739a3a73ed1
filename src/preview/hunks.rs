//! Two texts line by line, with what changed inside lines.

use serde_json::{Value as Json, json};
use similar::{ChangeTag, TextDiff};

/// Lines around a change that are shown.
const CONTEXT: usize = 3;

/// The hunks of a comparison: `old_start`, `old_lines`, `new_start`, `new_lines` and `lines`, each with `op` (`equal`,
/// `delete`, `insert`), its numbers `old` and `new`, and `parts`: pairs of text and whether that is what changed.
pub fn hunks(old: &str, new: &str, whole: bool) -> Json {
    let diff = TextDiff::from_lines(old, new);
    let context = if whole { usize::MAX / 4 } else { CONTEXT };
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(context) {
        let mut lines = Vec::new();
        for op in &group {
            for change in diff.iter_inline_changes(op) {
                let parts: Vec<Json> = change
                    .iter_strings_lossy()
                    .map(|(changed, text)| json!([text.strip_suffix('\n').unwrap_or(&text), changed]))
                    .filter(|part| part[0] != "")
                    .collect();
                let tag = match change.tag() {
                    ChangeTag::Equal => "equal",
                    ChangeTag::Delete => "delete",
                    ChangeTag::Insert => "insert",
                };
                lines.push(json!({
                    "op": tag,
                    "old": change.old_index().map(|index| index + 1),
                    "new": change.new_index().map(|index| index + 1),
                    "parts": parts,
                    "newline": !change.missing_newline(),
                }));
            }
        }
        let (first, last) = (group.first(), group.last());
        let start = |range: Option<std::ops::Range<usize>>| range.map_or(0, |range| range.start);
        let end = |range: Option<std::ops::Range<usize>>| range.map_or(0, |range| range.end);
        let (old_from, new_from) = (start(first.map(|op| op.old_range())), start(first.map(|op| op.new_range())));
        let (old_to, new_to) = (end(last.map(|op| op.old_range())), end(last.map(|op| op.new_range())));
        hunks.push(json!({
            "old_start": old_from + 1,
            "old_lines": old_to - old_from,
            "new_start": new_from + 1,
            "new_lines": new_to - new_from,
            "lines": lines,
        }));
    }
    hunks.into()
}
