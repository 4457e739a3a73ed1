//! Wrapping of paragraphs as Python's `textwrap.wrap` does it with `expand_tabs` and `replace_whitespace` off.

use crate::python::{self, CmpOp, Interp, PyErr, PyResult, Value, View, chars, view};

use super::text::is_word;

/// The options of `textwrap.TextWrapper` that `wordwrap` sets.
pub(super) struct Wrap<'a> {
    /// Longest line, in characters.
    pub width: &'a Value,
    /// Cut words that fit on no line.
    pub break_long_words: bool,
    /// Take hyphenated words apart.
    pub split_on_hyphens: bool,
    /// Cut long words after a hyphen where there is one.
    pub break_on_hyphens: bool,
}

/// Wraps one line of text.
pub(super) fn wrap(line: &str, options: &Wrap<'_>, it: &mut dyn Interp) -> PyResult<Vec<String>> {
    if python::compare(CmpOp::Le, options.width, &Value::from(0), it)? {
        let width = python::repr(options.width, it)?;
        return Err(PyErr::value_error(format!("invalid width {width} (must be > 0)")));
    }
    // longest line in whole characters, and how much of a word goes on a line of its own; a float cannot cut
    let (width, cuts) = match view(options.width) {
        View::Int(width) => (usize::try_from(width).unwrap_or(usize::MAX), true),
        View::Bool(width) => (usize::from(width), true),
        View::Float(width) if !width.is_nan() => (width as usize, width < 1.0),
        _ if python::big(options.width).is_some() => (usize::MAX, true),
        _ => return Err(PyErr::unsupported("wordwrap with such a width")),
    };
    it.charge(line.len() as u64 / 8)?;
    let characters: Vec<char> = line.chars().collect();
    let mut chunks = if options.split_on_hyphens { split_words(&characters) } else { split_spaces(&characters) };
    chunks.reverse();
    let mut lines = Vec::new();
    while !chunks.is_empty() {
        if !lines.is_empty() && chunks.last().is_some_and(|chunk| is_blank(chunk)) {
            chunks.pop();
        }
        let mut current: Vec<&[char]> = Vec::new();
        let mut used = 0;
        while let Some(chunk) = chunks.last() {
            if chunk.len() > width.saturating_sub(used) {
                break;
            }
            used += chunk.len();
            current.extend(chunks.pop());
        }
        if chunks.last().is_some_and(|chunk| chunk.len() > width) {
            if !cuts && options.break_long_words {
                return Err(PyErr::type_error("slice indices must be integers or None or have an __index__ method"));
            }
            break_word(&mut chunks, &mut current, if width == 0 { 1 } else { width.saturating_sub(used) }, options);
        }
        if current.last().is_some_and(|chunk| is_blank(chunk)) {
            current.pop();
        }
        if !current.is_empty() {
            lines.push(current.concat().into_iter().collect());
        }
    }
    Ok(lines)
}

/// Puts the start of a word longer than any line on the current line, or all of it on a line of its own.
fn break_word<'a>(chunks: &mut Vec<&'a [char]>, current: &mut Vec<&'a [char]>, space: usize, options: &Wrap<'_>) {
    if options.break_long_words {
        let Some(chunk) = chunks.last_mut() else { return };
        let mut end = space.min(chunk.len());
        if options.break_on_hyphens
            && chunk.len() > space
            && let Some(hyphen) = chunk[..end].iter().rposition(|c| *c == '-')
            && hyphen > 0
            && chunk[..hyphen].iter().any(|c| *c != '-')
        {
            end = hyphen + 1;
        }
        let (head, tail) = chunk.split_at(end);
        current.push(head);
        *chunk = tail;
    } else if current.is_empty() {
        current.extend(chunks.pop());
    }
}

fn is_blank(chunk: &[char]) -> bool {
    chunk.iter().all(|c| chars::is_space(*c))
}

/// White space of `textwrap`: that of ASCII.
fn is_white(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0b' | '\x0c' | '\r' | ' ')
}

fn split_spaces(text: &[char]) -> Vec<&[char]> {
    text.chunk_by(|a, b| is_white(*a) == is_white(*b)).collect()
}

/// Chunks that a line can end after: words, parts of hyphenated words, dashes, white space.
fn split_words(text: &[char]) -> Vec<&[char]> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = chunk_end(text, start);
        chunks.push(&text[start..end]);
        start = end;
    }
    chunks
}

fn chunk_end(text: &[char], start: usize) -> usize {
    if is_white(text[start]) {
        return text[start..].iter().position(|c| !is_white(*c)).map_or(text.len(), |len| start + len);
    }
    if start > 0
        && is_punctuation(text[start - 1])
        && let Some(dashes) = dashes_before_word(text, start)
    {
        return start + dashes;
    }
    let mut end = start + 1;
    loop {
        let Some(&c) = text.get(end) else { return end };
        if c == '-' && hyphen_inside_word(text, end) {
            return end + 1;
        }
        if is_white(c) || (is_punctuation(text[end - 1]) && dashes_before_word(text, end).is_some()) {
            return end;
        }
        end += 1;
    }
}

/// Two letters, or letter, hyphen, letter before the hyphen, and two letters (or the like) after it.
fn hyphen_inside_word(text: &[char], hyphen: usize) -> bool {
    let letter = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|c| is_letter(*c));
    let dash = |at: Option<usize>| at.and_then(|at| text.get(at)) == Some(&'-');
    let (one, two, three) = (hyphen.checked_sub(1), hyphen.checked_sub(2), hyphen.checked_sub(3));
    let before = letter(one) && (letter(two) || (dash(two) && letter(three)));
    let after = |offset: usize| Some(hyphen + offset);
    before && letter(after(1)) && (letter(after(2)) || (dash(after(2)) && letter(after(3))))
}

/// The number of dashes, two or more, that begin here and end at a word.
fn dashes_before_word(text: &[char], start: usize) -> Option<usize> {
    let dashes = text[start..].iter().take_while(|c| **c == '-').count();
    let next = text.get(start + dashes)?;
    (dashes >= 2 && is_word(*next)).then_some(dashes)
}

fn is_punctuation(c: char) -> bool {
    matches!(c, '!' | '"' | '\'' | '&' | '.' | ',' | '?') || is_word(c)
}

fn is_letter(c: char) -> bool {
    is_word(c) && chars::decimal_value(c).is_none()
}
