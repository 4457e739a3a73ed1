//! What differs between two texts, line by line.

use similar::{Algorithm, ChangeTag, TextDiff};

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// In both texts: it stands there for orientation.
    Equal,
    /// In the old text only.
    Delete,
    /// In the new text only.
    Insert,
}

impl Tag {
    /// The sign in front of the line in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Tag::Equal => ' ',
            Tag::Delete => '-',
            Tag::Insert => '+',
        }
    }
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// What became of it.
    pub tag: Tag,
    /// Its text, without the newline.
    pub text: String,
    /// False for a last line that no newline ends.
    pub newline: bool,
}

/// Changed lines that lie together, with lines around them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hunk {
    /// Number of its first line in the old text; lines count from 1.
    pub old_start: usize,
    /// How many lines of the old text it spans.
    pub old_lines: usize,
    /// Number of its first line in the new text.
    pub new_start: usize,
    /// How many lines of the new text it spans.
    pub new_lines: usize,
    /// Its lines, in order.
    pub lines: Vec<Line>,
}

impl Hunk {
    /// The line that stands above a hunk in a unified diff: `@@ -3,4 +3,5 @@`.
    pub fn heading(&self) -> String {
        let span = |start: usize, lines: usize| match lines {
            1 => start.to_string(),
            // As `diff -u` counts: an empty span names the line before it.
            0 => format!("{},0", start.saturating_sub(1)),
            lines => format!("{start},{lines}"),
        };
        format!("@@ -{} +{} @@", span(self.old_start, self.old_lines), span(self.new_start, self.new_lines))
    }
}

/// The hunks that turn one text into another, with so many unchanged lines around each; none when the texts are equal.
pub fn hunks(old: &str, new: &str, context: usize) -> Vec<Hunk> {
    if old == new {
        return Vec::new();
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(old, new);
    let mut hunks = Vec::new();
    for operations in diff.grouped_ops(context) {
        let (Some(first), Some(last)) = (operations.first(), operations.last()) else { continue };
        let mut lines = Vec::new();
        for change in operations.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let value = change.value();
            let text = value.strip_suffix('\n');
            lines.push(Line {
                tag: match change.tag() {
                    ChangeTag::Equal => Tag::Equal,
                    ChangeTag::Delete => Tag::Delete,
                    ChangeTag::Insert => Tag::Insert,
                },
                text: text.unwrap_or(value).to_owned(),
                newline: text.is_some(),
            });
        }
        let (old_range, new_range) = (first.old_range(), first.new_range());
        hunks.push(Hunk {
            old_start: old_range.start + 1,
            old_lines: last.old_range().end - old_range.start,
            new_start: new_range.start + 1,
            new_lines: last.new_range().end - new_range.start,
            lines,
        });
    }
    hunks
}

/// The lines of hunks that changed, without those around them: equal for equal changes, wherever they stand.
pub fn changed_lines(hunks: &[Hunk]) -> Vec<Vec<Line>> {
    let mut blocks: Vec<Vec<Line>> = Vec::new();
    for hunk in hunks {
        let mut open = false;
        for line in &hunk.lines {
            match (line.tag, open) {
                (Tag::Equal, _) => open = false,
                (_, true) => {
                    if let Some(block) = blocks.last_mut() {
                        block.push(line.clone());
                    }
                }
                (_, false) => {
                    blocks.push(vec![line.clone()]);
                    open = true;
                }
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(hunks("a\n", "a\n", 3), []);
    }

    #[test]
    fn a_hunk_has_lines_around_it() {
        let hunks = hunks("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", 1);
        assert_eq!(hunks.len(), 1);
        assert_eq!(hunks[0].heading(), "@@ -2,3 +2,3 @@");
        let shown: Vec<String> =
            hunks[0].lines.iter().map(|line| format!("{}{}", line.tag.sign(), line.text)).collect();
        assert_eq!(shown, [" b", "-c", "+X", " d"]);
    }

    #[test]
    fn a_newline_at_the_end_is_a_difference() {
        let hunks = hunks("a\n", "a", 3);
        assert_eq!(hunks[0].lines.iter().map(|line| line.newline).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_text_out_of_nothing() {
        let hunks = hunks("", "a\nb\n", 3);
        assert_eq!(hunks[0].heading(), "@@ -0,0 +1,2 @@");
    }

    #[test]
    fn changes_are_equal_wherever_they_stand() {
        let (one, two) = (hunks("a\nx\n", "a\ny\n", 3), hunks("x\nb\n", "y\nb\n", 3));
        assert_ne!(one, two);
        assert_eq!(changed_lines(&one), changed_lines(&two));
    }
}
