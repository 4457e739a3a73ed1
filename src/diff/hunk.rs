//! Hunks of two texts, line by line.

use std::collections::HashMap;
use std::ops::Range;

use regex::Regex;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Products of line counts above this are not searched for a smallest difference: it would take minutes.
const SEARCH_LIMIT: usize = 400_000_000;

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
    /// The text without its line feed. Of a line that is the same but for what was ignored, the new one.
    pub text: String,
    /// False for a last line without a line feed.
    pub newline: bool,
}

/// A place where two texts differ, with lines around it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hunk {
    /// Number of its first line in the old text; lines count from 1.
    pub old_start: usize,
    /// Lines of the old text.
    pub old_lines: usize,
    /// Number of its first line in the new text.
    pub new_start: usize,
    /// Lines of the new text.
    pub new_lines: usize,
    /// The lines.
    pub lines: Vec<Line>,
}

/// How texts are compared.
#[derive(Debug, Clone)]
pub struct HunkOptions {
    /// Lines shown around a change.
    pub context: usize,
    /// Lines that differ in white space only are the same, as in `git diff -w`.
    pub ignore_whitespace: bool,
    /// A change all of whose lines match one of these is none, as in `diff -I`.
    pub ignore_lines: Vec<Regex>,
}

impl Default for HunkOptions {
    fn default() -> Self {
        HunkOptions { context: 3, ignore_whitespace: false, ignore_lines: Vec::new() }
    }
}

impl HunkOptions {
    fn ignores(&self, line: &str) -> bool {
        self.ignore_lines.iter().any(|pattern| pattern.is_match(line.trim_end_matches(['\n', '\r'])))
    }
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

    /// The hunk in unified form, without its header.
    pub fn body(&self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            out.push(line.tag.sign());
            out.push_str(&line.text);
            out.push('\n');
            if !line.newline {
                out.push_str("\\ No newline at end of file\n");
            }
        }
        out
    }

    /// The changed lines alone.
    pub fn changed(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.tag != Tag::Equal)
    }

    /// Numbers of the changed lines in the old and in the new text, from 1.
    pub fn changed_numbers(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut old, mut new) = (self.old_start, self.new_start);
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for line in &self.lines {
            match line.tag {
                Tag::Equal => {}
                Tag::Delete => removed.push(old),
                Tag::Insert => added.push(new),
            }
            old += usize::from(line.tag != Tag::Insert);
            new += usize::from(line.tag != Tag::Delete);
        }
        (removed, added)
    }

    /// Where runs of changed lines stand among the lines of the hunk.
    pub fn blocks(&self) -> Vec<Range<usize>> {
        let mut blocks: Vec<Range<usize>> = Vec::new();
        for (at, _) in self.lines.iter().enumerate().filter(|(_, line)| line.tag != Tag::Equal) {
            match blocks.last_mut().filter(|block| block.end == at) {
                Some(block) => block.end = at + 1,
                None => blocks.push(at..at + 1),
            }
        }
        blocks
    }

    /// A part of the hunk, with so many unchanged lines around it as there are.
    #[must_use]
    pub fn part(&self, range: Range<usize>, context: usize) -> Hunk {
        let same = |line: &&Line| line.tag == Tag::Equal;
        let before = self.lines.get(..range.start).unwrap_or_default().iter().rev().take(context).take_while(same);
        let after = self.lines.get(range.end..).unwrap_or_default().iter().take(context).take_while(same);
        let (start, end) = (range.start - before.count(), range.end + after.count());
        let lines = self.lines.get(start..end).unwrap_or_default().to_vec();
        let count = |lines: &[Line], other: Tag| lines.iter().filter(|line| line.tag != other).count();
        let skipped = self.lines.get(..start).unwrap_or_default();
        Hunk {
            old_start: self.old_start + count(skipped, Tag::Insert),
            old_lines: count(&lines, Tag::Insert),
            new_start: self.new_start + count(skipped, Tag::Delete),
            new_lines: count(&lines, Tag::Delete),
            lines,
        }
    }

    /// Every line passed through `change`, such as a masker of secrets.
    #[must_use]
    pub fn map_lines(&self, mut change: impl FnMut(&str) -> String) -> Hunk {
        let lines =
            self.lines.iter().map(|line| Line { text: change(&line.text), newline: line.newline, tag: line.tag });
        Hunk { lines: lines.collect(), ..*self }
    }
}

/// The hunks that turn one text into another, with so many unchanged lines around each; none when the texts are equal.
pub fn hunks(old: &str, new: &str, context: usize) -> Vec<Hunk> {
    hunks_with(old, new, &HunkOptions { context, ..HunkOptions::default() })
}

/// The hunks that turn one text into another; none when they are equal or differ only in what is ignored.
pub fn hunks_with(old: &str, new: &str, options: &HunkOptions) -> Vec<Hunk> {
    if old == new {
        return Vec::new();
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let entries = entries(&old, &new, options);
    let changed: Vec<usize> =
        entries.iter().enumerate().filter(|(_, entry)| entry.tag != Tag::Equal).map(|(at, _)| at).collect();
    let mut hunks = Vec::new();
    let mut rest = changed.as_slice();
    while let Some(&first) = rest.first() {
        let mut last = first;
        let mut taken = 0;
        for &at in rest {
            // Hunks whose surroundings touch are one.
            if at.saturating_sub(last) > options.context.saturating_mul(2).saturating_add(1) {
                break;
            }
            last = at;
            taken += 1;
        }
        rest = rest.get(taken..).unwrap_or_default();
        let start = first.saturating_sub(options.context);
        let end = last.saturating_add(options.context).saturating_add(1).min(entries.len());
        hunks.extend(entries.get(start..end).and_then(hunk));
    }
    hunks
}

/// A line of the whole difference and how many lines of each text stand before it.
struct Entry<'a> {
    tag: Tag,
    text: &'a str,
    old_before: usize,
    new_before: usize,
    /// Lines of each text it stands for: a change that is ignored may have more on one side.
    old: usize,
    new: usize,
}

fn hunk(entries: &[Entry<'_>]) -> Option<Hunk> {
    let first = entries.first()?;
    let old_lines = entries.iter().map(|entry| entry.old).sum();
    let new_lines = entries.iter().map(|entry| entry.new).sum();
    let line = |entry: &Entry<'_>| Line {
        tag: entry.tag,
        text: entry.text.strip_suffix('\n').unwrap_or(entry.text).to_owned(),
        newline: entry.text.ends_with('\n'),
    };
    Some(Hunk {
        old_start: first.old_before + 1,
        old_lines,
        new_start: first.new_before + 1,
        new_lines,
        lines: entries.iter().map(line).collect(),
    })
}

fn entries<'a>(old: &[&'a str], new: &[&'a str], options: &HunkOptions) -> Vec<Entry<'a>> {
    let mut entries = Vec::with_capacity(new.len());
    let (mut old_at, mut new_at) = (0, 0);
    let mut push = |tag, text: &'a str, old: usize, new: usize| {
        entries.push(Entry { tag, text, old_before: old_at, new_before: new_at, old, new });
        old_at += old;
        new_at += new;
    };
    for op in operations(old, new, options) {
        let removed = old.get(op.old_range()).unwrap_or_default();
        let added = new.get(op.new_range()).unwrap_or_default();
        if let DiffOp::Equal { .. } = op {
            added.iter().for_each(|text| push(Tag::Equal, text, 1, 1));
            continue;
        }
        if !options.ignore_lines.is_empty() && removed.iter().chain(added).all(|line| options.ignores(line)) {
            // Shown as it is now, if it is shown at all.
            for (at, text) in added.iter().enumerate() {
                push(Tag::Equal, text, usize::from(at < removed.len()), 1);
            }
            for text in removed.get(added.len()..).unwrap_or_default() {
                push(Tag::Equal, text, 1, 0);
            }
            continue;
        }
        removed.iter().for_each(|text| push(Tag::Delete, text, 1, 0));
        added.iter().for_each(|text| push(Tag::Insert, text, 0, 1));
    }
    entries
}

fn operations(old: &[&str], new: &[&str], options: &HunkOptions) -> Vec<DiffOp> {
    // Lines as numbers: equal lines have equal ones.
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut number = |line: &str| {
        let text = if options.ignore_whitespace {
            line.chars().filter(|c| !c.is_whitespace()).collect()
        } else {
            line.to_owned()
        };
        let next = known.len();
        *known.entry(text).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|line| number(line)).collect();
    let new: Vec<usize> = new.iter().map(|line| number(line)).collect();
    if old.len().saturating_mul(new.len()) <= SEARCH_LIMIT {
        return capture_diff_slices(Algorithm::Patience, &old, &new);
    }
    let head = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let tail = old.iter().skip(head).rev().zip(new.iter().skip(head).rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (old.len() - head - tail, new.len() - head - tail);
    let mut operations = vec![DiffOp::Equal { old_index: 0, new_index: 0, len: head }];
    if old_len > 0 || new_len > 0 {
        operations.push(DiffOp::Replace { old_index: head, old_len, new_index: head, new_len });
    }
    operations.push(DiffOp::Equal { old_index: head + old_len, new_index: head + new_len, len: tail });
    operations
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

    fn bodies(old: &str, new: &str, options: &HunkOptions) -> Vec<String> {
        hunks_with(old, new, options).iter().map(|hunk| format!("{}\n{}", hunk.heading(), hunk.body())).collect()
    }

    #[test]
    fn far_changes_are_hunks_of_their_own_and_near_ones_are_one() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("3\n", "three\n").replace("18\n", "18\nmore\n");
        let options = HunkOptions { context: 1, ..HunkOptions::default() };
        let found = bodies(&old, &new, &options);
        // 13 holds a 3 as well.
        assert_eq!(
            found,
            [
                "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n",
                "@@ -12,3 +12,3 @@\n 12\n-13\n+1three\n 14\n",
                "@@ -18,2 +18,3 @@\n 18\n+more\n 19\n"
            ]
        );
        let wide = HunkOptions { context: 5, ..HunkOptions::default() };
        assert_eq!(hunks_with(&old, &new, &wide).len(), 1);
    }

    #[test]
    fn a_missing_line_feed_at_the_end_is_a_change() {
        let options = HunkOptions::default();
        assert_eq!(bodies("a", "a\n", &options), ["@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"]);
        assert_eq!(bodies("", "a\n", &options), ["@@ -0,0 +1 @@\n+a\n"]);
    }

    #[test]
    fn white_space_and_lines_can_be_ignored() {
        let white = HunkOptions { ignore_whitespace: true, ..HunkOptions::default() };
        assert!(hunks_with("a  b\nc", "a b\r\n c\n", &white).is_empty());
        let lines = HunkOptions {
            ignore_lines: vec![Regex::new("^-- made at").unwrap_or_else(|error| panic!("{error}"))],
            context: 1,
            ..HunkOptions::default()
        };
        assert!(hunks_with("-- made at 1\nx\n", "-- made at 2\nx\n", &lines).is_empty());
        assert_eq!(bodies("-- made at 1\nx\ny\n", "-- made at 2\nx\nz\n", &lines), ["@@ -2,2 +2,2 @@\n x\n-y\n+z\n"]);
    }

    #[test]
    fn a_hunk_has_parts() {
        let found = hunks("a\nb\nc\nd\n", "a\nB\nc\nD\n", 3);
        let parts: Vec<Hunk> = found[0].blocks().into_iter().map(|block| found[0].part(block, 1)).collect();
        assert_eq!(parts.len(), 2);
        assert_eq!(format!("{} {}", parts[0].heading(), parts[0].body()), "@@ -1,3 +1,3 @@  a\n-b\n+B\n c\n");
        assert_eq!(format!("{} {}", parts[1].heading(), parts[1].body()), "@@ -3,2 +3,2 @@  c\n-d\n+D\n");
    }

    #[test]
    fn numbers_of_changed_lines_are_those_of_each_text() {
        let found = hunks("a\nb\nc\n", "a\nx\ny\nc\n", 0);
        assert_eq!(found[0].changed_numbers(), (vec![2], vec![2, 3]));
        let found = hunks("a\nc\n", "a\nb\nc\n", 0);
        assert_eq!(found[0].heading(), "@@ -1,0 +2 @@");
        assert_eq!(found[0].changed_numbers(), (vec![], vec![2]));
    }

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
