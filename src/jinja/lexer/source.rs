//! The source as the lexer reads it, and the way back to the bytes the author wrote.

use std::borrow::Cow;

/// A source with line breaks normalised to `\n` and the final one dropped, as Jinja2's lexer does before it starts.
#[derive(Debug)]
pub struct Normalized<'s> {
    /// The normalised text.
    pub text: Cow<'s, str>,
    /// Offsets in the normalised text after which one more byte of the original was dropped.
    dropped: Vec<usize>,
}

impl<'s> Normalized<'s> {
    /// Normalises a source; `keep_trailing_newline` as in the environment.
    pub fn new(source: &'s str, keep_trailing_newline: bool) -> Self {
        let mut dropped = Vec::new();
        let mut text = if source.contains('\r') {
            let mut text = String::with_capacity(source.len());
            let mut chars = source.chars().peekable();
            while let Some(c) = chars.next() {
                if c == '\r' {
                    text.push('\n');
                    if chars.peek() == Some(&'\n') {
                        chars.next();
                        dropped.push(text.len());
                    }
                } else {
                    text.push(c);
                }
            }
            Cow::Owned(text)
        } else {
            Cow::Borrowed(source)
        };
        if !keep_trailing_newline && text.ends_with('\n') {
            match &mut text {
                Cow::Borrowed(text) => *text = &text[..text.len() - 1],
                Cow::Owned(text) => {
                    text.pop();
                }
            }
        }
        Normalized { text, dropped }
    }

    /// The offset in the original source.
    pub fn original(&self, offset: usize) -> usize {
        offset + self.dropped.partition_point(|&at| at <= offset)
    }
}
