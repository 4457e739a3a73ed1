//! Expressions, with Jinja2's precedence.

use std::sync::Arc;

use super::super::ast::{BinOp, CallArgs, CompareOp, CondExpr, Const, Expr, ExprKind, UnaryOp};
use super::super::lexer::{TokenKind, TokenValue};
use super::{MAX_EXPR_NESTING, Parser, Result};

/// How `parse_tuple` reads its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// Full expressions.
    Expressions,
    /// Expressions without an inline `if`.
    NoCondExpr,
    /// Names and literals (targets), namespace attributes allowed or not.
    Primary { namespace: bool },
}

impl Parser<'_> {
    pub(super) fn parse_expression(&mut self) -> Result<Expr> {
        self.nested(Self::parse_condexpr)
    }

    /// One level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_EXPR_NESTING {
            return self.too_deep("expression");
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    fn parse_condexpr(&mut self) -> Result<Expr> {
        let (mut line, start) = (self.current.line, self.current.start);
        let mut expr = self.parse_or()?;
        while self.skip_name("if")? {
            let test = self.parse_or()?;
            let otherwise = if self.skip_name("else")? { Some(self.nested(Self::parse_condexpr)?) } else { None };
            expr = self.expr(ExprKind::CondExpr(Box::new(CondExpr { test, then: expr, otherwise })), line, start)?;
            line = self.current.line;
        }
        Ok(expr)
    }

    pub(super) fn parse_or(&mut self) -> Result<Expr> {
        let (mut line, start) = (self.current.line, self.current.start);
        let mut left = self.parse_and()?;
        while self.skip_name("or")? {
            let right = self.parse_and()?;
            left = self.expr(ExprKind::Or(Box::new([left, right])), line, start)?;
            line = self.current.line;
        }
        Ok(left)
    }

    fn parse_and(&mut self) -> Result<Expr> {
        let (mut line, start) = (self.current.line, self.current.start);
        let mut left = self.parse_not()?;
        while self.skip_name("and")? {
            let right = self.parse_not()?;
            left = self.expr(ExprKind::And(Box::new([left, right])), line, start)?;
            line = self.current.line;
        }
        Ok(left)
    }

    fn parse_not(&mut self) -> Result<Expr> {
        let mut nots = Vec::new();
        while self.current.is_name("not") {
            let token = self.next()?;
            nots.push((token.line, token.start));
        }
        let mut expr = self.parse_compare()?;
        while let Some((line, start)) = nots.pop() {
            expr = self.expr(ExprKind::Not(Box::new(expr)), line, start)?;
        }
        Ok(expr)
    }

    fn parse_compare(&mut self) -> Result<Expr> {
        let (mut line, start) = (self.current.line, self.current.start);
        let first = self.parse_math1()?;
        let mut rest = Vec::new();
        loop {
            let kind = self.current.kind;
            let op = match kind {
                TokenKind::Op("==") => CompareOp::Eq,
                TokenKind::Op("!=") => CompareOp::Ne,
                TokenKind::Op("<") => CompareOp::Lt,
                TokenKind::Op("<=") => CompareOp::Le,
                TokenKind::Op(">") => CompareOp::Gt,
                TokenKind::Op(">=") => CompareOp::Ge,
                TokenKind::Name if self.current.is_name("in") => CompareOp::In,
                TokenKind::Name if self.current.is_name("not") && self.look()?.is_name("in") => {
                    self.next()?;
                    CompareOp::NotIn
                }
                _ => break,
            };
            self.next()?;
            rest.push((op, self.parse_math1()?));
            line = self.current.line;
        }
        if rest.is_empty() { Ok(first) } else { self.expr(ExprKind::Compare(Box::new(first), rest), line, start) }
    }

    /// Left-associative operators of one level.
    fn binary(&mut self, ops: fn(TokenKind) -> Option<BinOp>, operand: fn(&mut Self) -> Result<Expr>) -> Result<Expr> {
        let (mut line, start) = (self.current.line, self.current.start);
        let mut left = operand(self)?;
        while let Some(op) = ops(self.current.kind) {
            self.next()?;
            let right = operand(self)?;
            left = self.expr(ExprKind::Binary(op, Box::new([left, right])), line, start)?;
            line = self.current.line;
        }
        Ok(left)
    }

    fn parse_math1(&mut self) -> Result<Expr> {
        let ops = |kind| match kind {
            TokenKind::Op("+") => Some(BinOp::Add),
            TokenKind::Op("-") => Some(BinOp::Sub),
            _ => None,
        };
        self.binary(ops, Self::parse_concat)
    }

    fn parse_concat(&mut self) -> Result<Expr> {
        let (line, start) = (self.current.line, self.current.start);
        let first = self.parse_math2()?;
        if !self.current.is_op("~") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.skip_op("~")? {
            items.push(self.parse_math2()?);
        }
        self.expr(ExprKind::Concat(items), line, start)
    }

    fn parse_math2(&mut self) -> Result<Expr> {
        let ops = |kind| match kind {
            TokenKind::Op("*") => Some(BinOp::Mul),
            TokenKind::Op("/") => Some(BinOp::Div),
            TokenKind::Op("//") => Some(BinOp::FloorDiv),
            TokenKind::Op("%") => Some(BinOp::Mod),
            _ => None,
        };
        self.binary(ops, Self::parse_pow)
    }

    fn parse_pow(&mut self) -> Result<Expr> {
        let ops = |kind| match kind {
            TokenKind::Op("**") => Some(BinOp::Pow),
            _ => None,
        };
        self.binary(ops, Self::parse_unary)
    }

    fn parse_unary(&mut self) -> Result<Expr> {
        let start = self.current.start;
        let mut signs = Vec::new();
        loop {
            let op = match self.current.kind {
                TokenKind::Op("-") => UnaryOp::Neg,
                TokenKind::Op("+") => UnaryOp::Pos,
                _ => break,
            };
            let token = self.next()?;
            signs.push((op, token.line, token.start));
        }
        let at = self.current.start;
        let mut node = self.parse_primary(false)?;
        node = self.parse_postfix(node, at)?;
        while let Some((op, line, start)) = signs.pop() {
            // a postfix after the operand belongs to it: none is left here
            node = self.expr(ExprKind::Unary(op, Box::new(node)), line, start)?;
            node = self.parse_postfix(node, start)?;
        }
        self.parse_filter_expr(node, start)
    }

    pub(super) fn parse_primary(&mut self, namespace: bool) -> Result<Expr> {
        let (line, start) = (self.current.line, self.current.start);
        match self.current.kind {
            TokenKind::Name => {
                let token = self.next()?;
                let name = token.name().unwrap_or_default();
                let kind = match name {
                    "true" | "True" => ExprKind::Const(Const::Bool(true)),
                    "false" | "False" => ExprKind::Const(Const::Bool(false)),
                    "none" | "None" => ExprKind::Const(Const::None),
                    _ if namespace && self.current.is_op(".") => {
                        self.next()?;
                        let (attr, _) = self.expect_identifier()?;
                        ExprKind::NsRef(name.into(), attr)
                    }
                    _ => ExprKind::Name(name.into()),
                };
                self.expr(kind, line, start)
            }
            TokenKind::Str => {
                let mut text = String::new();
                while self.current.kind == TokenKind::Str {
                    if let TokenValue::Text(part) = self.next()?.value {
                        text.push_str(&part);
                    }
                }
                self.expr(ExprKind::Const(Const::Str(text)), line, start)
            }
            TokenKind::Integer | TokenKind::Float => {
                let value = match self.next()?.value {
                    TokenValue::Int(value) => Const::Int(value),
                    TokenValue::Float(value) => Const::Float(value),
                    _ => Const::None,
                };
                self.expr(ExprKind::Const(value), line, start)
            }
            TokenKind::Op("(") => {
                self.next()?;
                let mut inside = self.parse_tuple(Items::Expressions, true)?;
                self.expect_op(")")?;
                if matches!(inside.kind, ExprKind::Tuple(_)) {
                    inside.span = self.span(start, self.last_end);
                }
                Ok(inside)
            }
            TokenKind::Op("[") => self.parse_list(),
            TokenKind::Op("{") => self.parse_dict(),
            _ => self.fail(format!("unexpected {}", super::super::error::quoted(&self.current.describe()))),
        }
    }

    /// Jinja2 means `in` and `recursive` to end a tuple as well, but its check for them never holds.
    fn is_tuple_end(&self) -> bool {
        matches!(self.current.kind, TokenKind::VariableEnd | TokenKind::BlockEnd | TokenKind::Op(")"))
    }

    /// An expression, or a tuple if there are commas.
    pub(super) fn parse_tuple(&mut self, items: Items, parentheses: bool) -> Result<Expr> {
        let (mut line, start) = (self.current.line, self.current.start);
        let mut args = Vec::new();
        let mut is_tuple = false;
        loop {
            if !args.is_empty() {
                self.expect_op(",")?;
            }
            if self.is_tuple_end() {
                break;
            }
            args.push(match items {
                Items::Expressions => self.parse_expression()?,
                Items::NoCondExpr => self.nested(Self::parse_or)?,
                Items::Primary { namespace } => self.parse_primary(namespace)?,
            });
            if !self.current.is_op(",") {
                break;
            }
            is_tuple = true;
            line = self.current.line;
        }
        if !is_tuple {
            if let Some(only) = args.pop() {
                return Ok(only);
            }
            if !parentheses {
                let got = super::super::error::quoted(&self.current.describe());
                return self.fail(format!("Expected an expression, got {got}"));
            }
        }
        self.expr(ExprKind::Tuple(args), line, start)
    }

    fn parse_list(&mut self) -> Result<Expr> {
        let open = self.expect_op("[")?;
        let mut items = Vec::new();
        while !self.current.is_op("]") {
            if !items.is_empty() {
                self.expect_op(",")?;
            }
            if self.current.is_op("]") {
                break;
            }
            items.push(self.parse_expression()?);
        }
        self.expect_op("]")?;
        self.expr(ExprKind::List(items), open.line, open.start)
    }

    fn parse_dict(&mut self) -> Result<Expr> {
        let open = self.expect_op("{")?;
        let mut pairs = Vec::new();
        while !self.current.is_op("}") {
            if !pairs.is_empty() {
                self.expect_op(",")?;
            }
            if self.current.is_op("}") {
                break;
            }
            let key = self.parse_expression()?;
            self.expect_op(":")?;
            pairs.push((key, self.parse_expression()?));
        }
        self.expect_op("}")?;
        self.expr(ExprKind::Dict(pairs), open.line, open.start)
    }

    fn parse_postfix(&mut self, mut node: Expr, start: usize) -> Result<Expr> {
        loop {
            node = match self.current.kind {
                TokenKind::Op("." | "[") => self.parse_subscript(node, start)?,
                TokenKind::Op("(") => self.parse_call(node, start)?,
                _ => return Ok(node),
            };
        }
    }

    fn parse_filter_expr(&mut self, mut node: Expr, start: usize) -> Result<Expr> {
        loop {
            node = match self.current.kind {
                TokenKind::Op("|") => match self.parse_filter(Some(node), start, false)? {
                    Some(node) => node,
                    None => return self.fail("unexpected '|'"),
                },
                TokenKind::Name if self.current.is_name("is") => self.parse_test(node, start)?,
                TokenKind::Op("(") => self.parse_call(node, start)?,
                _ => return Ok(node),
            };
        }
    }

    fn parse_subscript(&mut self, node: Expr, start: usize) -> Result<Expr> {
        let token = self.next()?;
        if token.is_op(".") {
            let attr = self.next()?;
            let kind = match attr.value {
                TokenValue::Name(name) => ExprKind::Getattr(Box::new(node), name.into()),
                TokenValue::Int(value) => {
                    let index = self.expr(ExprKind::Const(Const::Int(value)), attr.line, attr.start)?;
                    ExprKind::Getitem(Box::new(node), Box::new(index))
                }
                _ => return self.fail_at("expected name or number", attr.line, attr.start..attr.end),
            };
            return self.expr(kind, token.line, start);
        }
        let inside = self.current.start;
        let mut args = Vec::new();
        while !self.current.is_op("]") {
            if !args.is_empty() {
                self.expect_op(",")?;
            }
            args.push(self.parse_subscribed()?);
        }
        let index =
            if args.len() == 1 { args.pop() } else { Some(self.expr(ExprKind::Tuple(args), token.line, inside)?) };
        self.expect_op("]")?;
        match index {
            Some(index) => self.expr(ExprKind::Getitem(Box::new(node), Box::new(index)), token.line, start),
            None => self.fail_at("expected subscript expression", token.line, token.start..token.end),
        }
    }

    fn parse_subscribed(&mut self) -> Result<Expr> {
        let (line, start) = (self.current.line, self.current.start);
        let first = if self.skip_op(":")? {
            None
        } else {
            let node = self.parse_expression()?;
            if !self.skip_op(":")? {
                return Ok(node);
            }
            Some(node)
        };
        let ends = |parser: &Self| parser.current.is_op("]") || parser.current.is_op(",");
        let stop = if self.current.is_op(":") || ends(self) { None } else { Some(self.parse_expression()?) };
        let step = if self.skip_op(":")? && !ends(self) { Some(self.parse_expression()?) } else { None };
        self.expr(ExprKind::Slice(Box::new([first, stop, step])), line, start)
    }

    pub(super) fn parse_call_args(&mut self) -> Result<CallArgs> {
        let token = self.expect_op("(")?;
        let mut call = CallArgs::default();
        let mut comma = false;
        while !self.current.is_op(")") {
            if comma {
                self.expect_op(",")?;
                if self.current.is_op(")") {
                    break;
                }
            }
            let allowed;
            if self.current.is_op("*") {
                allowed = call.dyn_args.is_none() && call.dyn_kwargs.is_none();
                if allowed {
                    self.next()?;
                    call.dyn_args = Some(Box::new(self.parse_expression()?));
                }
            } else if self.current.is_op("**") {
                allowed = call.dyn_kwargs.is_none();
                if allowed {
                    self.next()?;
                    call.dyn_kwargs = Some(Box::new(self.parse_expression()?));
                }
            } else if self.current.kind == TokenKind::Name && self.look()?.is_op("=") {
                allowed = call.dyn_kwargs.is_none();
                if allowed {
                    let (key, _) = self.expect_identifier()?;
                    self.next()?;
                    let value = self.parse_expression()?;
                    call.kwargs.push((key, value));
                }
            } else {
                allowed = call.dyn_args.is_none() && call.dyn_kwargs.is_none() && call.kwargs.is_empty();
                if allowed {
                    let arg = self.parse_expression()?;
                    call.args.push(arg);
                }
            }
            if !allowed {
                return self.fail_at(
                    "invalid syntax for function call expression",
                    token.line,
                    token.start..self.current.end,
                );
            }
            comma = true;
        }
        self.expect_op(")")?;
        Ok(call)
    }

    fn parse_call(&mut self, node: Expr, start: usize) -> Result<Expr> {
        let line = self.current.line;
        let args = self.parse_call_args()?;
        self.expr(ExprKind::Call(Box::new(node), Box::new(args)), line, start)
    }

    /// `a.b.c` after `|` or `is`.
    fn parse_dotted(&mut self) -> Result<(Arc<str>, usize, usize)> {
        let (mut name, token) = self.expect_identifier()?;
        while self.skip_op(".")? {
            let (part, _) = self.expect_identifier()?;
            name = format!("{name}.{part}").into();
        }
        Ok((name, token.line, token.start))
    }

    /// Filters after a subject, or after nothing for `filter` and `set` blocks.
    pub(super) fn parse_filter(&mut self, mut node: Option<Expr>, start: usize, inline: bool) -> Result<Option<Expr>> {
        let mut inline = inline;
        while inline || self.current.is_op("|") {
            if !inline {
                self.next()?;
            }
            inline = false;
            let (name, line, _) = self.parse_dotted()?;
            let args = if self.current.is_op("(") { self.parse_call_args()? } else { CallArgs::default() };
            node = Some(self.expr(ExprKind::Filter(node.map(Box::new), name, Box::new(args)), line, start)?);
        }
        Ok(node)
    }

    fn parse_test(&mut self, node: Expr, start: usize) -> Result<Expr> {
        let token = self.next()?;
        let negated = self.skip_name("not")?;
        let (name, _, _) = self.parse_dotted()?;
        let starts_argument = match self.current.kind {
            TokenKind::Name => !["else", "or", "and"].iter().any(|word| self.current.is_name(word)),
            TokenKind::Str | TokenKind::Integer | TokenKind::Float | TokenKind::Op("[" | "{") => true,
            _ => false,
        };
        let mut args = CallArgs::default();
        if self.current.is_op("(") {
            args = self.parse_call_args()?;
        } else if starts_argument {
            if self.current.is_name("is") {
                return self.fail("You cannot chain multiple tests with is");
            }
            let at = self.current.start;
            let arg = self.parse_primary(false)?;
            args.args.push(self.parse_postfix(arg, at)?);
        }
        let test = self.expr(ExprKind::Test(Box::new(node), name, Box::new(args)), token.line, start)?;
        if negated { self.expr(ExprKind::Not(Box::new(test)), token.line, start) } else { Ok(test) }
    }
}
