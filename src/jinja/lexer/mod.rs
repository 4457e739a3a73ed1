//! Jinja2's lexer: text, tags and the tokens inside them.
//!
//! Jinja2 lexes lazily, so an error only counts once the parser gets there: [`lex`] returns the tokens before it together
//! with the error.

mod literal;
mod source;
mod token;

use std::ops::RangeInclusive;

use literal::Unescape;

use super::{Syntax, TemplateError};
use crate::python::{is_alnum, is_identifier, is_identifier_continue};

pub use source::Normalized;
pub use token::{Token, TokenKind, TokenValue};

/// The operators, longest first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
    ":", "|", ",", ";",
];

/// What [`lex`] found: the tokens, ending in `Eof` when there was no error.
#[derive(Debug)]
pub struct Lexed<'s> {
    /// The tokens in order.
    pub tokens: Vec<Token<'s>>,
    /// The error that follows the last token.
    pub error: Option<TemplateError>,
}

/// Splits a normalised source into tokens.
pub fn lex<'s>(source: &'s str, syntax: &Syntax) -> Lexed<'s> {
    let mut lexer = Lexer {
        source,
        syntax,
        pos: 0,
        line: 1,
        line_starting: true,
        tokens: Vec::new(),
        plain: syntax.line_statement_prefix.is_none() && syntax.line_comment_prefix.is_none(),
        order: begin_order(syntax),
    };
    let error = lexer.run().err();
    if error.is_none() {
        let end = source.len();
        let line = lexer.tokens.last().map_or(1, |token| token.line);
        lexer.tokens.push(Token { kind: TokenKind::Eof, value: TokenValue::Empty, line, start: end, end });
    }
    Lexed { tokens: lexer.tokens, error }
}

/// What opens at a place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Begin {
    Block,
    Comment,
    LineComment,
    LineStatement,
    Variable,
    Raw,
}

/// A place where text ends.
struct Opening {
    begin: Begin,
    /// Where the tag starts (for line statements: with the white space before).
    start: usize,
    /// Where the tag's inside starts.
    end: usize,
    /// `-`, `+` or none.
    sign: Option<u8>,
}

/// The ways a tag can begin, in the order in which Jinja2's regular expression tries them.
fn begin_order(syntax: &Syntax) -> Vec<(Begin, String)> {
    let mut order = vec![
        (Begin::Comment, syntax.comment_start.clone()),
        (Begin::Block, syntax.block_start.clone()),
        (Begin::Variable, syntax.variable_start.clone()),
    ];
    order.extend(syntax.line_statement_prefix.clone().map(|prefix| (Begin::LineStatement, prefix)));
    order.extend(syntax.line_comment_prefix.clone().map(|prefix| (Begin::LineComment, prefix)));
    // longest first; among equals, the reverse alphabet of Jinja2's token names, which is the order of `Begin`
    order.sort_by_key(|(begin, text)| std::cmp::Reverse((text.chars().count(), *begin)));
    order
}

/// White space as Python's `\s` and `str.isspace` see it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// A character of a name. Python's tables decide: a newer Unicode knows more letters.
fn is_word(c: char) -> bool {
    c == '_'
        || is_alnum(c)
        || (!c.is_ascii() && is_identifier_continue(c) && !NOT_IN_JINJA.iter().any(|r| r.contains(&c)))
}

/// Marks of identifiers that Python knows and Jinja2's own table, made from an older Unicode, does not.
const NOT_IN_JINJA: [RangeInclusive<char>; 34] = [
    '\u{898}'..='\u{89f}',
    '\u{8ca}'..='\u{8d2}',
    '\u{b55}'..='\u{b55}',
    '\u{c3c}'..='\u{c3c}',
    '\u{d81}'..='\u{d81}',
    '\u{eba}'..='\u{eba}',
    '\u{1715}'..='\u{1715}',
    '\u{180f}'..='\u{180f}',
    '\u{1abf}'..='\u{1ace}',
    '\u{1dfa}'..='\u{1dfa}',
    '\u{a82c}'..='\u{a82c}',
    '\u{10eab}'..='\u{10eac}',
    '\u{10f82}'..='\u{10f85}',
    '\u{11070}'..='\u{11070}',
    '\u{11073}'..='\u{11074}',
    '\u{110c2}'..='\u{110c2}',
    '\u{111ce}'..='\u{111cf}',
    '\u{11930}'..='\u{11935}',
    '\u{11937}'..='\u{11938}',
    '\u{1193b}'..='\u{1193e}',
    '\u{11940}'..='\u{11940}',
    '\u{11942}'..='\u{11943}',
    '\u{119d1}'..='\u{119d7}',
    '\u{119da}'..='\u{119e0}',
    '\u{119e4}'..='\u{119e4}',
    '\u{16f4f}'..='\u{16f4f}',
    '\u{16f7f}'..='\u{16f87}',
    '\u{16fe4}'..='\u{16fe4}',
    '\u{16ff0}'..='\u{16ff1}',
    '\u{1cf00}'..='\u{1cf2d}',
    '\u{1cf30}'..='\u{1cf46}',
    '\u{1e130}'..='\u{1e136}',
    '\u{1e2ae}'..='\u{1e2ae}',
    '\u{1e2ec}'..='\u{1e2ef}',
];

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}

struct Lexer<'s, 'e> {
    source: &'s str,
    syntax: &'e Syntax,
    pos: usize,
    line: usize,
    line_starting: bool,
    tokens: Vec<Token<'s>>,
    /// No line statements or comments: only delimiters open tags.
    plain: bool,
    order: Vec<(Begin, String)>,
}

impl<'s> Lexer<'s, '_> {
    fn run(&mut self) -> Result<(), TemplateError> {
        while self.pos < self.source.len() {
            let Some(opening) = self.find_opening() else {
                let text = &self.source[self.pos..];
                self.data(self.pos, text);
                self.pos = self.source.len();
                return Ok(());
            };
            let newlines = self.text_before(&opening);
            self.line += newlines;
            let tag = &self.source[opening.start..opening.end];
            let (line, start, end) = (self.line, opening.start, opening.end);
            self.line += count_lines(tag);
            self.line_starting = tag.ends_with('\n');
            self.pos = end;
            match opening.begin {
                Begin::Comment => self.comment()?,
                Begin::Raw => self.raw()?,
                Begin::LineComment => {
                    let rest = &self.source[self.pos..];
                    self.advance(rest.find('\n').unwrap_or(rest.len()));
                }
                Begin::Variable => {
                    self.push(TokenKind::VariableBegin, line, start, end);
                    self.inside(Begin::Variable)?;
                }
                Begin::Block | Begin::LineStatement => {
                    self.push(TokenKind::BlockBegin, line, start, end);
                    self.inside(opening.begin)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, kind: TokenKind, line: usize, start: usize, end: usize) {
        self.tokens.push(Token { kind, value: TokenValue::Empty, line, start, end });
    }

    /// Moves on, counting lines.
    fn advance(&mut self, bytes: usize) {
        let text = &self.source[self.pos..self.pos + bytes];
        self.line += count_lines(text);
        self.line_starting = text.ends_with('\n');
        self.pos += bytes;
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, TemplateError> {
        let end = self.source[self.pos..].chars().next().map_or(self.pos, |c| self.pos + c.len_utf8());
        Err(TemplateError::syntax(message, self.line).at(self.pos..end))
    }

    /// Emits text, with the newline sequence of the environment.
    fn data(&mut self, start: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        let value = if self.syntax.newline_sequence == "\n" {
            text.to_owned()
        } else {
            text.replace('\n', &self.syntax.newline_sequence)
        };
        let line = self.line;
        self.tokens.push(Token {
            kind: TokenKind::Data,
            value: TokenValue::Text(value),
            line,
            start,
            end: start + text.len(),
        });
    }

    /// Emits the text before a tag, stripped as the tag's sign and `lstrip_blocks` say; returns the lines it spans.
    fn text_before(&mut self, opening: &Opening) -> usize {
        let whole = &self.source[self.pos..opening.start];
        let mut text = whole;
        match opening.sign {
            Some(b'-') => text = whole.trim_end_matches(is_space),
            Some(_) => {}
            None if self.syntax.lstrip_blocks && opening.begin != Begin::Variable => text = self.lstripped(whole),
            None => {}
        }
        self.data(self.pos, text);
        // white space that `lstrip_blocks` drops holds no line break; what `-` drops is counted by Jinja2 too
        count_lines(whole)
    }

    /// Without the white space between the last line break and the tag, if there is nothing else there.
    fn lstripped<'t>(&self, text: &'t str) -> &'t str {
        let at = text.rfind('\n').map_or(0, |newline| newline + 1);
        let tail = &text[at..];
        if (at > 0 || self.line_starting) && !tail.is_empty() && tail.chars().all(is_space) {
            &text[..at]
        } else {
            text
        }
    }

    /// The next place where something opens.
    fn find_opening(&self) -> Option<Opening> {
        let bytes = self.source.as_bytes();
        let mut at = self.pos;
        if self.plain {
            let firsts: Vec<u8> = self.order.iter().filter_map(|(_, text)| text.bytes().next()).collect();
            while at < bytes.len() {
                let skip = bytes[at..].iter().position(|byte| firsts.contains(byte))?;
                at += skip;
                if let Some(opening) = self.opening_at(at) {
                    return Some(opening);
                }
                at += 1;
            }
            return None;
        }
        self.source[at..].char_indices().find_map(|(offset, _)| self.opening_at(at + offset))
    }

    fn opening_at(&self, at: usize) -> Option<Opening> {
        if !self.source.is_char_boundary(at) {
            return None;
        }
        let rest = &self.source[at..];
        if let Some(opening) = self.raw_begin(at, rest) {
            return Some(opening);
        }
        self.order.iter().find_map(|(begin, text)| {
            let length = match begin {
                Begin::LineStatement => {
                    if !self.at_line_start(at) {
                        return None;
                    }
                    let indent = rest.len() - rest.trim_start_matches([' ', '\t', '\x0b']).len();
                    rest[indent..].starts_with(text.as_str()).then_some(indent + text.len())?
                }
                Begin::LineComment => {
                    let after_text = self.source[..at].chars().next_back().is_some_and(|c| !is_space(c));
                    if !self.at_line_start(at) && !after_text {
                        return None;
                    }
                    let indent = rest.len() - rest.trim_start_matches(|c| is_space(c) && c != '\r' && c != '\n').len();
                    rest[indent..].starts_with(text.as_str()).then_some(indent + text.len())?
                }
                _ => rest.starts_with(text.as_str()).then_some(text.len())?,
            };
            let sign = rest.as_bytes().get(length).copied().filter(|byte| matches!(byte, b'-' | b'+'));
            Some(Opening { begin: *begin, start: at, end: at + length + usize::from(sign.is_some()), sign })
        })
    }

    fn at_line_start(&self, at: usize) -> bool {
        at == 0 || self.source.as_bytes().get(at - 1) == Some(&b'\n')
    }

    /// `{% raw %}` with its signs.
    fn raw_begin(&self, at: usize, rest: &str) -> Option<Opening> {
        let after = rest.strip_prefix(self.syntax.block_start.as_str())?;
        let sign = after.bytes().next().filter(|byte| matches!(byte, b'-' | b'+'));
        let after = &after[usize::from(sign.is_some())..];
        let after = after.trim_start_matches(is_space).strip_prefix("raw")?.trim_start_matches(is_space);
        let end_text = self.syntax.block_end.as_str();
        let left = match after.strip_prefix('-').and_then(|after| after.strip_prefix(end_text)) {
            Some(after) => after.trim_start_matches(is_space),
            None => after.strip_prefix(end_text)?,
        };
        Some(Opening { begin: Begin::Raw, start: at, end: at + rest.len() - left.len(), sign })
    }

    /// Length of a tag's end at the start of `rest`: `+%}`, `-%}` with white space, or `%}` with a trimmed line break.
    fn end_length(&self, rest: &str, text: &str, plus: bool, trim: bool) -> Option<usize> {
        if let Some(after) = rest.strip_prefix('-').and_then(|after| after.strip_prefix(text)) {
            return Some(1 + text.len() + spaces(after));
        }
        if plus && rest.strip_prefix('+').is_some_and(|after| after.starts_with(text)) {
            return Some(1 + text.len());
        }
        let after = rest.strip_prefix(text)?;
        Some(text.len() + usize::from(trim && self.syntax.trim_blocks && after.starts_with('\n')))
    }

    fn comment(&mut self) -> Result<(), TemplateError> {
        let rest = &self.source[self.pos..];
        if rest.is_empty() {
            return Ok(());
        }
        let end = rest.char_indices().find_map(|(at, _)| {
            self.end_length(&rest[at..], &self.syntax.comment_end, true, true).map(|length| at + length)
        });
        match end {
            Some(end) => {
                self.advance(end);
                Ok(())
            }
            None => self.fail("Missing end of comment tag"),
        }
    }

    fn raw(&mut self) -> Result<(), TemplateError> {
        let rest = &self.source[self.pos..];
        if rest.is_empty() {
            return Ok(());
        }
        let start_text = self.syntax.block_start.clone();
        let mut from = 0;
        while let Some(found) = rest[from..].find(start_text.as_str()) {
            let at = from + found;
            from = at + start_text.chars().next().map_or(1, char::len_utf8);
            let after = &rest[at + start_text.len()..];
            let sign = after.bytes().next().filter(|byte| matches!(byte, b'-' | b'+'));
            let signed = usize::from(sign.is_some());
            let body = &after[signed..];
            let Some(tail) = body.trim_start_matches(is_space).strip_prefix("endraw") else { continue };
            let tail = tail.trim_start_matches(is_space);
            let Some(length) = self.end_length(tail, &self.syntax.block_end, true, true) else { continue };
            let end = rest.len() - tail.len() + length;
            let text = &rest[..at];
            let text = match sign {
                Some(b'-') => text.trim_end_matches(is_space),
                Some(_) => text,
                None if self.syntax.lstrip_blocks => self.lstripped(text),
                None => text,
            };
            self.data(self.pos, text);
            self.advance(end);
            return Ok(());
        }
        self.fail("Missing end of raw directive")
    }

    /// Length of what ends the tag here, if anything does.
    fn tag_end(&self, begin: Begin, rest: &str) -> Option<usize> {
        match begin {
            Begin::Variable => self.end_length(rest, &self.syntax.variable_end, false, false),
            Begin::LineStatement => {
                let run = spaces(rest);
                if run == rest.len() { Some(run) } else { rest[..run].rfind('\n').map(|newline| newline + 1) }
            }
            _ => self.end_length(rest, &self.syntax.block_end, true, true),
        }
    }

    /// The tokens of a tag up to its end.
    fn inside(&mut self, begin: Begin) -> Result<(), TemplateError> {
        let mut open: Vec<&'static str> = Vec::new();
        let end_kind = if begin == Begin::Variable { TokenKind::VariableEnd } else { TokenKind::BlockEnd };
        loop {
            let source = self.source;
            let rest = &source[self.pos..];
            if open.is_empty()
                && let Some(length) = self.tag_end(begin, rest)
            {
                self.push(end_kind, self.line, self.pos, self.pos + length);
                self.advance(length);
                return Ok(());
            }
            let Some(first) = rest.chars().next() else { return Ok(()) };
            if is_space(first) {
                self.advance(spaces(rest));
            } else if first.is_ascii_digit() {
                self.number(rest);
            } else if is_word(first) {
                self.name(rest)?;
            } else if matches!(first, '\'' | '"') {
                self.string(rest, first)?;
            } else {
                self.operator(rest, first, &mut open)?;
            }
        }
    }

    fn emit(&mut self, kind: TokenKind, value: TokenValue<'s>, length: usize) {
        self.tokens.push(Token { kind, value, line: self.line, start: self.pos, end: self.pos + length });
        self.advance(length);
    }

    fn number(&mut self, rest: &'s str) {
        let after_dot = self.source[..self.pos].ends_with('.');
        let float = if after_dot { None } else { literal::float_length(rest) };
        if let Some(length) = float {
            let plain: String = rest[..length].chars().filter(|c| *c != '_').collect();
            let value = plain.parse().unwrap_or(f64::INFINITY);
            self.emit(TokenKind::Float, TokenValue::Float(value), length);
        } else if let Some((length, value)) = literal::integer(rest) {
            self.emit(TokenKind::Integer, TokenValue::Int(value), length);
        }
    }

    fn name(&mut self, rest: &'s str) -> Result<(), TemplateError> {
        let name = &rest[..rest.len() - rest.trim_start_matches(is_word).len()];
        if !name.is_ascii() && !is_identifier(name) {
            return Err(
                TemplateError::syntax("Invalid character in identifier", self.line).at(self.pos..self.pos + name.len())
            );
        }
        self.emit(TokenKind::Name, TokenValue::Name(name), name.len());
        Ok(())
    }

    fn string(&mut self, rest: &'s str, quote: char) -> Result<(), TemplateError> {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find_map(|(at, c)| {
            if escaped {
                escaped = false;
                return None;
            }
            escaped = c == '\\';
            (c == quote).then_some(at)
        });
        let Some(end) = end else { return self.unexpected(quote) };
        let inside = &rest[1..end];
        let decoded = if self.syntax.newline_sequence == "\n" {
            literal::unescape(inside)
        } else {
            literal::unescape(&inside.replace('\n', &self.syntax.newline_sequence))
        };
        let range = self.pos..self.pos + end + 1;
        match decoded {
            Ok(text) => {
                self.emit(TokenKind::Str, TokenValue::Text(text), end + 1);
                Ok(())
            }
            Err(Unescape::Python(message)) => Err(TemplateError::syntax(message, self.line).at(range)),
            Err(Unescape::Unsupported(what)) => {
                Err(TemplateError::new("Unsupported", format!("{what} is not supported")).at_line(self.line).at(range))
            }
        }
    }

    fn operator(&mut self, rest: &str, first: char, open: &mut Vec<&'static str>) -> Result<(), TemplateError> {
        let Some(op) = OPERATORS.into_iter().find(|op| rest.starts_with(op)) else { return self.unexpected(first) };
        match op {
            "{" => open.push("}"),
            "(" => open.push(")"),
            "[" => open.push("]"),
            "}" | ")" | "]" => match open.pop() {
                None => return self.fail(format!("unexpected '{op}'")),
                Some(expected) if expected != op => {
                    return self.fail(format!("unexpected '{op}', expected '{expected}'"));
                }
                Some(_) => {}
            },
            _ => {}
        }
        self.emit(TokenKind::Op(op), TokenValue::Empty, op.len());
        Ok(())
    }

    /// The message counts characters, as Python's strings do.
    fn unexpected<T>(&self, c: char) -> Result<T, TemplateError> {
        let at = self.source[..self.pos].chars().count();
        let mut text = [0; 4];
        self.fail(format!("unexpected char {} at {at}", super::error::quoted(c.encode_utf8(&mut text))))
    }
}
