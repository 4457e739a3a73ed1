//! Tokens and how Jinja2's messages describe them.

use std::fmt;

use num_bigint::BigInt;

/// Kind of a token, with Jinja2's distinctions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Text between tags.
    Data,
    /// `{{`
    VariableBegin,
    /// `}}`
    VariableEnd,
    /// `{%`, or a line statement's start
    BlockBegin,
    /// `%}`, or a line statement's end
    BlockEnd,
    /// An identifier or keyword.
    Name,
    /// A string literal.
    Str,
    /// An integer literal.
    Integer,
    /// A float literal.
    Float,
    /// An operator, by its text.
    Op(&'static str),
    /// The end of the template.
    Eof,
}

/// The value of a token.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenValue<'s> {
    /// Nothing beyond the kind.
    Empty,
    /// A name as written.
    Name(&'s str),
    /// Decoded text of a string literal or data.
    Text(String),
    /// Value of an integer literal.
    Int(BigInt),
    /// Value of a float literal.
    Float(f64),
}

/// A token with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Token<'s> {
    /// The kind.
    pub kind: TokenKind,
    /// The value.
    pub value: TokenValue<'s>,
    /// Line as Jinja2 counts it, from 1.
    pub line: usize,
    /// First byte in the normalised source.
    pub start: usize,
    /// Byte after the last in the normalised source.
    pub end: usize,
}

impl<'s> Token<'s> {
    /// The name, if the token is one.
    pub fn name(&self) -> Option<&'s str> {
        match self.value {
            TokenValue::Name(name) => Some(name),
            _ => None,
        }
    }

    /// True for a name with this text.
    pub fn is_name(&self, name: &str) -> bool {
        self.name() == Some(name)
    }

    /// True for this operator.
    pub fn is_op(&self, op: &str) -> bool {
        self.kind
            == TokenKind::Op(match self.kind {
                TokenKind::Op(own) if own == op => own,
                _ => return false,
            })
    }

    /// `describe_token`: the name itself, else the kind's description.
    pub fn describe(&self) -> String {
        match self.name() {
            Some(name) => name.to_owned(),
            None => self.kind.to_string(),
        }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenKind::Data => "template data / text",
            TokenKind::VariableBegin => "begin of print statement",
            TokenKind::VariableEnd => "end of print statement",
            TokenKind::BlockBegin => "begin of statement block",
            TokenKind::BlockEnd => "end of statement block",
            TokenKind::Name => "name",
            TokenKind::Str => "string",
            TokenKind::Integer => "integer",
            TokenKind::Float => "float",
            TokenKind::Op(op) => op,
            TokenKind::Eof => "end of template",
        })
    }
}
