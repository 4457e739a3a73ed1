//! Where the parts of a rendered text come from.
//!
//! A traced rendering writes marks into its output: before each literal text, before each line of it, and before each
//! printed value stands one that names the template and the line. A template could notice marks where it works on its own
//! output (`{% filter %}`, `{% set x %}...{% endset %}`, what a macro returns), so a traced text is never shown: it is
//! taken apart by [`unmarked`], and counts only where the text without marks is the text of a plain rendering.

/// Opens a mark; it and the other characters of marks lie in the last private use plane.
const OPEN: char = '\u{10fe00}';
/// Closes a mark.
const CLOSE: char = '\u{10fe01}';
/// The first of 256 characters that stand for bytes inside a mark.
const BYTES: u32 = 0x0010_fc00;
/// Separates the template's name from the line.
const SEPARATOR: u8 = 0;

/// How much of a rendering is marked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Trace {
    /// Nothing: a plain rendering.
    #[default]
    Off,
    /// What a template writes straight into its output.
    Outer,
    /// Inside captures and macros too.
    All,
}

/// The place in a template that a part of a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The template's name as its loader knows it; what the caller calls the template that was given as text.
    pub template: String,
    /// The line in it, from 1.
    pub line: usize,
}

/// Lines of a source by byte offset.
#[derive(Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    /// Finds the lines of a source: `\n`, `\r\n` and `\r` end one.
    pub fn of(source: &str) -> Self {
        let bytes = source.as_bytes();
        let ends = |at: &usize| match bytes.get(*at) {
            Some(b'\n') => true,
            Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        Lines((0..bytes.len()).filter(ends).map(|at| at + 1).collect())
    }

    /// The line of an offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset) + 1
    }
}

/// A mark.
pub(crate) fn mark(template: &str, line: usize) -> String {
    let mut text = String::from(OPEN);
    let line = line.to_string();
    for byte in template.bytes().chain([SEPARATOR]).chain(line.bytes()) {
        text.extend(char::from_u32(BYTES + u32::from(byte)));
    }
    text.push(CLOSE);
    text
}

/// A traced text without its marks, and where each origin begins in it: byte offsets, ascending. `None` when something has
/// damaged a mark.
pub fn unmarked(traced: &str) -> Option<(String, Vec<(usize, Origin)>)> {
    let mut text = String::with_capacity(traced.len());
    let mut origins: Vec<(usize, Origin)> = Vec::new();
    let mut rest = traced;
    while let Some(at) = rest.find(OPEN) {
        text.push_str(rest.get(..at)?);
        let inside = rest.get(at + OPEN.len_utf8()..)?;
        let end = inside.find(CLOSE)?;
        let origin = read(inside.get(..end)?)?;
        match origins.last_mut() {
            Some((begin, last)) if *begin == text.len() => *last = origin,
            Some((_, last)) if *last == origin => {}
            _ => origins.push((text.len(), origin)),
        }
        rest = inside.get(end + CLOSE.len_utf8()..)?;
    }
    text.push_str(rest);
    let whole = !text.contains([OPEN, CLOSE]);
    whole.then_some((text, origins))
}

/// A traced text in which the template without a name has one, and which says where it ends: by an origin without a name.
pub fn named(traced: &str, name: &str) -> String {
    let unnamed: String = [OPEN].into_iter().chain(char::from_u32(BYTES + u32::from(SEPARATOR))).collect();
    let mut label = String::from(OPEN);
    label.extend(name.bytes().chain([SEPARATOR]).filter_map(|byte| char::from_u32(BYTES + u32::from(byte))));
    let mut text = traced.replace(&unnamed, &label);
    // What follows is not this template's; line breaks at the end stay at the end, where whoever lays texts out looks.
    let end = text.trim_end_matches('\n').len();
    text.insert_str(end, &mark("", 0));
    text
}

fn read(inside: &str) -> Option<Origin> {
    let bytes: Vec<u8> = inside
        .chars()
        .map(|c| u32::from(c).checked_sub(BYTES).and_then(|byte| u8::try_from(byte).ok()))
        .collect::<Option<_>>()?;
    let separator = bytes.iter().rposition(|byte| *byte == SEPARATOR)?;
    let line = std::str::from_utf8(bytes.get(separator + 1..)?).ok()?.parse().ok()?;
    let template = String::from_utf8(bytes.get(..separator)?.to_vec()).ok()?;
    Some(Origin { template, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_out_again() {
        let traced = format!("{}a\n{}b{}c", mark("", 1), mark("x/é.sql", 7), mark("x/é.sql", 7));
        let (text, origins) = unmarked(&named(&traced, "main")).unwrap_or_default();
        assert_eq!(text, "a\nbc");
        let origin = |template: &str, line| Origin { template: template.to_owned(), line };
        assert_eq!(origins, [(0, origin("main", 1)), (2, origin("x/é.sql", 7)), (4, origin("", 0))]);
        assert_eq!(unmarked(&mark("x", 1).replace(CLOSE, "")), None);
    }

    #[test]
    fn lines_end_as_jinja_ends_them() {
        let lines = Lines::of("a\r\nb\rc\nd");
        assert_eq!([0, 2, 3, 5, 7].map(|at| lines.line(at)), [1, 1, 2, 3, 4]);
    }
}
