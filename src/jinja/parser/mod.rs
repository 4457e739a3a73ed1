//! Jinja2's parser: tokens to [`ast`](super::ast), with its error texts.

mod expressions;
mod statements;

use std::sync::Arc;

use super::ast::{Expr, ExprKind, Span, Template};
use super::lexer::{Lexed, Normalized, Token, TokenKind, TokenValue, lex};
use super::{Syntax, TemplateError};

/// Nesting of expressions: Python's own recursion limit stops Jinja2 at about this depth.
const MAX_EXPR_NESTING: usize = 74;
/// Height of an expression's tree; long chains of one operator count too.
const MAX_EXPR_DEPTH: usize = 400;
/// Nesting of statements: CPython refuses generated code that is indented more than 100 levels.
const MAX_STMT_NESTING: usize = 98;
/// `elif` branches around one place, those of enclosing statements included: each nests in the one before it.
const MAX_ELIFS: usize = 1000;

type Result<T> = std::result::Result<T, TemplateError>;

/// Parses a template.
pub fn parse(source: &str, syntax: &Syntax) -> Result<Template> {
    let normalized = Normalized::new(source, syntax.keep_trailing_newline);
    let parsed =
        Parser::new(lex(&normalized.text, syntax), &normalized, syntax).and_then(|mut parser| parser.template());
    parsed.map_err(|mut error| {
        if let Some(range) = &mut error.range {
            *range = normalized.original(range.start)..normalized.original(range.end);
        }
        error
    })
}

/// A set of end tags, as texts of name tokens.
type EndTags = &'static [&'static str];

struct Parser<'s> {
    tokens: std::vec::IntoIter<Token<'s>>,
    error: Option<TemplateError>,
    current: Token<'s>,
    ahead: Option<Token<'s>>,
    normalized: &'s Normalized<'s>,
    syntax: &'s Syntax,
    tag_stack: Vec<&'s str>,
    end_stack: Vec<EndTags>,
    nesting: usize,
    statements: usize,
    elifs: usize,
    /// End of the last token taken, in the normalised source.
    last_end: usize,
}

impl<'s> Parser<'s> {
    fn new(lexed: Lexed<'s>, normalized: &'s Normalized<'s>, syntax: &'s Syntax) -> Result<Self> {
        let current = Token { kind: TokenKind::Eof, value: TokenValue::Empty, line: 1, start: 0, end: 0 };
        let mut parser = Parser {
            tokens: lexed.tokens.into_iter(),
            error: lexed.error,
            current,
            ahead: None,
            normalized,
            syntax,
            tag_stack: Vec::new(),
            end_stack: Vec::new(),
            nesting: 0,
            statements: 0,
            elifs: 0,
            last_end: 0,
        };
        parser.next()?;
        Ok(parser)
    }

    fn template(&mut self) -> Result<Template> {
        Ok(Template { body: self.subparse(None)? })
    }

    fn pull(&mut self) -> Result<Option<Token<'s>>> {
        match self.tokens.next() {
            Some(token) => Ok(Some(token)),
            None => self.error.take().map_or(Ok(None), Err),
        }
    }

    /// Goes one token ahead and returns the old one.
    fn next(&mut self) -> Result<Token<'s>> {
        let following = match self.ahead.take() {
            Some(token) => Some(token),
            None => self.pull()?,
        };
        self.last_end = self.current.end;
        Ok(match following {
            Some(token) => std::mem::replace(&mut self.current, token),
            None => self.current.clone(),
        })
    }

    /// The token after the current one.
    fn look(&mut self) -> Result<&Token<'s>> {
        if self.ahead.is_none() {
            self.ahead = self.pull()?;
        }
        Ok(self.ahead.as_ref().unwrap_or(&self.current))
    }

    fn skip_op(&mut self, op: &str) -> Result<bool> {
        let found = self.current.is_op(op);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn skip_name(&mut self, name: &str) -> Result<bool> {
        let found = self.current.is_name(name);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        if self.current.kind == TokenKind::Eof {
            return self.fail(format!("unexpected end of template, expected '{what}'."));
        }
        self.fail(format!("expected token '{what}', got {}", super::error::quoted(&self.current.describe())))
    }

    fn expect_op(&mut self, op: &str) -> Result<Token<'s>> {
        if self.current.is_op(op) { self.next() } else { self.expected(op) }
    }

    fn expect_kind(&mut self, kind: TokenKind) -> Result<Token<'s>> {
        if self.current.kind == kind { self.next() } else { self.expected(&kind.to_string()) }
    }

    fn expect_name(&mut self, name: &str) -> Result<Token<'s>> {
        if self.current.is_name(name) { self.next() } else { self.expected(name) }
    }

    /// Any identifier, with the token's place.
    fn expect_identifier(&mut self) -> Result<(Arc<str>, Token<'s>)> {
        let token = self.expect_kind(TokenKind::Name)?;
        let name = token.name().unwrap_or_default();
        Ok((Arc::from(name), token))
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        self.fail_at(message, self.current.line, self.current.start..self.current.end)
    }

    fn fail_at<T>(&self, message: impl Into<String>, line: usize, range: std::ops::Range<usize>) -> Result<T> {
        Err(TemplateError::syntax(message, line).at(range))
    }

    fn too_deep<T>(&self, what: &str) -> Result<T> {
        let message = format!("{what} nested too deeply: Python's recursion limit stops Airflow at about this depth");
        Err(TemplateError::new("LimitExceeded", message)
            .at_line(self.current.line)
            .at(self.current.start..self.current.end))
    }

    fn too_long<T>(&self, what: String) -> Result<T> {
        Err(TemplateError::new("LimitExceeded", what)
            .at_line(self.current.line)
            .at(self.current.start..self.current.end))
    }

    /// A span in the original source.
    fn span(&self, start: usize, end: usize) -> Span {
        Span { start: self.normalized.original(start), end: self.normalized.original(end.max(start)) }
    }

    fn token_span(&self, token: &Token<'_>) -> Span {
        self.span(token.start, token.end)
    }

    /// An expression from a start offset to the last token taken.
    fn expr(&self, kind: ExprKind, line: usize, start: usize) -> Result<Expr> {
        let depth = 1 + height(&kind);
        if depth > MAX_EXPR_DEPTH {
            if let ExprKind::Compare(_, rest) = &kind
                && rest.len() > MAX_EXPR_DEPTH / 2
            {
                return self.too_long(format!("a comparison with {} operators", rest.len()));
            }
            return self.too_deep("expression");
        }
        Ok(Expr { kind, span: self.span(start, self.last_end), line, depth })
    }
}

/// Height of the children of an expression.
fn height(kind: &ExprKind) -> usize {
    fn all<'a>(items: impl IntoIterator<Item = &'a Expr>) -> usize {
        items.into_iter().map(|item| item.depth).max().unwrap_or(0)
    }
    match kind {
        ExprKind::Const(_) | ExprKind::Name(_) | ExprKind::NsRef(..) => 0,
        ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Concat(items) => all(items),
        ExprKind::Dict(pairs) => all(pairs.iter().flat_map(|(key, value)| [key, value])),
        ExprKind::CondExpr(cond) => all([&cond.test, &cond.then].into_iter().chain(&cond.otherwise)),
        ExprKind::Or(pair) | ExprKind::And(pair) | ExprKind::Binary(_, pair) => all(pair.iter()),
        ExprKind::Not(operand) | ExprKind::Unary(_, operand) | ExprKind::Getattr(operand, _) => operand.depth,
        // a chain nests to the left: each further comparison puts the ones before it one level deeper
        ExprKind::Compare(first, rest) => {
            all(rest.iter().map(|(_, expr)| expr)).max(first.depth) + rest.len().saturating_sub(1)
        }
        ExprKind::Getitem(node, index) => node.depth.max(index.depth),
        ExprKind::Slice(parts) => all(parts.iter().flatten()),
        ExprKind::Call(node, args) | ExprKind::Test(node, _, args) => all(args.exprs()).max(node.depth),
        ExprKind::Filter(node, _, args) => all(args.exprs()).max(node.as_ref().map_or(0, |node| node.depth)),
    }
}
