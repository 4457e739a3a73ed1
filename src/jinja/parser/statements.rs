//! Statements and the text between them.

use std::sync::Arc;

use super::super::ast::{
    Block, Branch, Expr, ExprKind, For, FromImport, Import, Include, Piece, Signature, Span, Stmt, StmtKind,
};
use super::super::error::quoted;
use super::super::lexer::{TokenKind, TokenValue};
use super::expressions::Items;
use super::{EndTags, MAX_ELIFS, MAX_STMT_NESTING, Parser, Result};

impl<'s> Parser<'s> {
    /// Statements and text until one of the end tags (left in the stream) or the end of the template.
    pub(super) fn subparse(&mut self, end_tags: Option<EndTags>) -> Result<Vec<Stmt>> {
        if self.statements >= MAX_STMT_NESTING {
            return self.too_deep("statement");
        }
        self.statements += 1;
        if let Some(tags) = end_tags {
            self.end_stack.push(tags);
        }
        let body = self.subparse_body(end_tags);
        if end_tags.is_some() {
            self.end_stack.pop();
        }
        self.statements -= 1;
        body
    }

    fn subparse_body(&mut self, end_tags: Option<EndTags>) -> Result<Vec<Stmt>> {
        let mut body = Vec::new();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut first_line = None;
        loop {
            match self.current.kind {
                TokenKind::Eof => break,
                TokenKind::Data => {
                    let token = self.next()?;
                    let span = self.token_span(&token);
                    first_line.get_or_insert(token.line);
                    if let TokenValue::Text(text) = token.value {
                        pieces.push(Piece::Data(text, span));
                    }
                }
                TokenKind::VariableBegin => {
                    self.next()?;
                    let expr = self.parse_tuple(Items::Expressions, false)?;
                    first_line.get_or_insert(expr.line);
                    pieces.push(Piece::Expr(expr));
                    self.expect_kind(TokenKind::VariableEnd)?;
                }
                _ => {
                    self.flush(&mut pieces, &mut first_line, &mut body);
                    let open = self.next()?;
                    if end_tags.is_some_and(|tags| tags.iter().any(|tag| self.current.is_name(tag))) {
                        return Ok(body);
                    }
                    let (kind, line) = self.parse_statement()?;
                    let end = self.current.end;
                    self.expect_kind(TokenKind::BlockEnd)?;
                    body.push(Stmt { kind, span: self.span(open.start, end), line });
                }
            }
        }
        self.flush(&mut pieces, &mut first_line, &mut body);
        Ok(body)
    }

    fn flush(&self, pieces: &mut Vec<Piece>, line: &mut Option<usize>, body: &mut Vec<Stmt>) {
        let place = |piece: &Piece| match piece {
            Piece::Data(_, span) => *span,
            Piece::Expr(expr) => expr.span,
        };
        if let (Some(first), Some(last)) = (pieces.first(), pieces.last()) {
            let span = place(first).to(place(last));
            let line = line.take().unwrap_or(1);
            body.push(Stmt { kind: StmtKind::Output(std::mem::take(pieces)), span, line });
        }
        *line = None;
    }

    fn parse_statement(&mut self) -> Result<(StmtKind, usize)> {
        let line = self.current.line;
        let Some(tag) = self.current.name() else { return self.fail("tag name expected") };
        self.tag_stack.push(tag);
        let kind = match tag {
            "for" => self.parse_for(),
            "if" => self.parse_if(),
            "block" => self.parse_block(),
            "extends" => self.parse_extends(),
            "print" => self.parse_print(),
            "macro" => self.parse_macro(),
            "include" => self.parse_include(),
            "from" => self.parse_from(),
            "import" => self.parse_import(),
            "set" => self.parse_set(),
            "with" => self.parse_with(),
            "autoescape" => self.parse_autoescape(),
            "call" => self.parse_call_block(line),
            "filter" => self.parse_filter_block(),
            "do" if self.syntax.do_extension => self.parse_do(),
            "break" if self.syntax.loop_controls => self.next().map(|_| StmtKind::Break),
            "continue" if self.syntax.loop_controls => self.next().map(|_| StmtKind::Continue),
            _ => {
                self.tag_stack.pop();
                let range = self.current.start..self.current.end;
                return self.fail_ut_eof(Some(tag), self.end_stack.clone(), line, range);
            }
        }?;
        self.tag_stack.pop();
        Ok((kind, line))
    }

    /// Jinja2's text for an unknown tag or a template that ends too early.
    fn fail_ut_eof<T>(
        &self,
        name: Option<&str>,
        stack: Vec<EndTags>,
        line: usize,
        range: std::ops::Range<usize>,
    ) -> Result<T> {
        let looking = stack.last().map(|tags| tags.iter().map(|tag| quoted(tag)).collect::<Vec<_>>().join(" or "));
        let mut message = match name {
            None => "Unexpected end of template.".to_owned(),
            Some(name) => format!("Encountered unknown tag {}.", quoted(name)),
        };
        if let Some(looking) = looking {
            if name.is_some_and(|name| stack.iter().any(|tags| tags.contains(&name))) {
                message.push_str(&format!(
                    " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for {looking}."
                ));
            } else {
                message.push_str(&format!(" Jinja was looking for the following tags: {looking}."));
            }
        }
        if let Some(tag) = self.tag_stack.last() {
            message.push_str(&format!(" The innermost block that needs to be closed is {}.", quoted(tag)));
        }
        self.fail_at(message, line, range)
    }

    /// A body up to one of the end tags, which stays the current token.
    fn parse_statements(&mut self, end_tags: EndTags) -> Result<Vec<Stmt>> {
        self.skip_op(":")?;
        self.expect_kind(TokenKind::BlockEnd)?;
        let body = self.subparse(Some(end_tags))?;
        if self.current.kind == TokenKind::Eof {
            let mut stack = self.end_stack.clone();
            stack.push(end_tags);
            return self.fail_ut_eof(None, stack, self.current.line, self.current.start..self.current.end);
        }
        Ok(body)
    }

    /// A body and its end tag.
    fn parse_block_body(&mut self, end_tags: EndTags) -> Result<Vec<Stmt>> {
        let body = self.parse_statements(end_tags)?;
        self.next()?;
        Ok(body)
    }

    fn parse_set(&mut self) -> Result<StmtKind> {
        self.next()?;
        let target = self.parse_assign_target(true)?;
        if self.skip_op("=")? {
            let value = self.parse_tuple(Items::Expressions, false)?;
            return Ok(StmtKind::Assign(target, value));
        }
        let start = self.current.start;
        let filter = self.parse_filter(None, start, false)?;
        let body = self.parse_block_body(&["endset"])?;
        Ok(StmtKind::AssignBlock(target, filter, body))
    }

    fn parse_for(&mut self) -> Result<StmtKind> {
        self.next()?;
        let target = self.parse_assign_target(false)?;
        self.expect_name("in")?;
        let iter = self.parse_tuple(Items::NoCondExpr, false)?;
        let test = if self.skip_name("if")? { Some(self.parse_expression()?) } else { None };
        let recursive = self.skip_name("recursive")?;
        let body = self.parse_statements(&["endfor", "else"])?;
        let otherwise = if self.next()?.is_name("endfor") { Vec::new() } else { self.parse_block_body(&["endfor"])? };
        Ok(StmtKind::For(Box::new(For { target, iter, test, recursive, body, otherwise })))
    }

    fn parse_if(&mut self) -> Result<StmtKind> {
        self.next()?;
        let mut branches = Vec::new();
        let outer = self.elifs;
        loop {
            let test = self.parse_tuple(Items::NoCondExpr, false)?;
            let body = self.parse_statements(&["elif", "else", "endif"])?;
            branches.push(Branch { test, body });
            let token = self.next()?;
            if token.is_name("elif") {
                self.elifs += 1;
                if self.elifs > MAX_ELIFS {
                    return self.too_long(format!("more than {MAX_ELIFS} `elif` branches"));
                }
                continue;
            }
            let otherwise = if token.is_name("else") { self.parse_block_body(&["endif"])? } else { Vec::new() };
            self.elifs = outer;
            return Ok(StmtKind::If(branches, otherwise));
        }
    }

    fn parse_with(&mut self) -> Result<StmtKind> {
        self.next()?;
        let mut pairs = Vec::new();
        while self.current.kind != TokenKind::BlockEnd {
            if !pairs.is_empty() {
                self.expect_op(",")?;
            }
            let target = self.parse_assign_target(false)?;
            self.expect_op("=")?;
            pairs.push((target, self.parse_expression()?));
        }
        let body = self.parse_block_body(&["endwith"])?;
        Ok(StmtKind::With(pairs, body))
    }

    fn parse_autoescape(&mut self) -> Result<StmtKind> {
        self.next()?;
        let value = self.parse_expression()?;
        let body = self.parse_block_body(&["endautoescape"])?;
        Ok(StmtKind::AutoEscape(value, body))
    }

    fn parse_block(&mut self) -> Result<StmtKind> {
        self.next()?;
        let (name, _) = self.expect_identifier()?;
        let scoped = self.skip_name("scoped")?;
        let required = self.skip_name("required")?;
        if self.current.is_op("-") {
            return self.fail(
                "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, \
                 use an underscore instead.",
            );
        }
        let body = self.parse_block_body(&["endblock"])?;
        let blank = |piece: &Piece| match piece {
            Piece::Data(text, _) => text.chars().all(char::is_whitespace),
            Piece::Expr(_) => false,
        };
        let is_blank = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Output(pieces) if pieces.iter().all(blank));
        if required && !body.iter().all(is_blank) {
            return self.fail("Required blocks can only contain comments or whitespace");
        }
        self.skip_name(&name)?;
        Ok(StmtKind::Block(Block { name, scoped, required, body }))
    }

    fn parse_extends(&mut self) -> Result<StmtKind> {
        self.next()?;
        Ok(StmtKind::Extends(self.parse_expression()?))
    }

    /// `with context` or `without context`; `None` when neither follows.
    fn parse_context(&mut self) -> Result<Option<bool>> {
        let with = self.current.is_name("with");
        if (with || self.current.is_name("without")) && self.look()?.is_name("context") {
            self.next()?;
            self.next()?;
            return Ok(Some(with));
        }
        Ok(None)
    }

    fn parse_include(&mut self) -> Result<StmtKind> {
        self.next()?;
        let template = self.parse_expression()?;
        let ignore_missing = self.current.is_name("ignore") && self.look()?.is_name("missing");
        if ignore_missing {
            self.next()?;
            self.next()?;
        }
        let with_context = self.parse_context()?.unwrap_or(true);
        Ok(StmtKind::Include(Include { template, ignore_missing, with_context }))
    }

    fn parse_import(&mut self) -> Result<StmtKind> {
        self.next()?;
        let template = self.parse_expression()?;
        self.expect_name("as")?;
        let (target, _) = self.parse_target_name()?;
        let with_context = self.parse_context()?.unwrap_or(false);
        Ok(StmtKind::Import(Import { template, target, with_context }))
    }

    fn parse_from(&mut self) -> Result<StmtKind> {
        self.next()?;
        let template = self.parse_expression()?;
        self.expect_name("import")?;
        let mut names = Vec::new();
        let with_context = loop {
            if !names.is_empty() {
                self.expect_op(",")?;
            }
            if self.current.kind != TokenKind::Name {
                self.expect_kind(TokenKind::Name)?;
            }
            let context = self.parse_context()?;
            if context.is_some() {
                break context;
            }
            let (line, range) = (self.current.line, self.current.start..self.current.end);
            let (name, _) = self.parse_target_name()?;
            if name.starts_with('_') {
                let mut error =
                    super::TemplateError::syntax("names starting with an underline can not be imported", line)
                        .at(range);
                error.class = "TemplateAssertionError".into();
                return Err(error);
            }
            let alias = if self.skip_name("as")? { self.parse_target_name()?.0 } else { name.clone() };
            names.push((name, alias));
            let context = self.parse_context()?;
            if context.is_some() || !self.current.is_op(",") {
                break context;
            }
        };
        Ok(StmtKind::FromImport(FromImport { template, names, with_context: with_context.unwrap_or(false) }))
    }

    fn parse_signature(&mut self) -> Result<Signature> {
        let mut signature = Signature::default();
        self.expect_op("(")?;
        while !self.current.is_op(")") {
            if !signature.args.is_empty() {
                self.expect_op(",")?;
            }
            let (name, span) = self.parse_target_name()?;
            if self.skip_op("=")? {
                signature.defaults.push(self.parse_expression()?);
            } else if !signature.defaults.is_empty() {
                return self.fail("non-default argument follows default argument");
            }
            signature.args.push((name, span));
        }
        self.expect_op(")")?;
        Ok(signature)
    }

    fn parse_call_block(&mut self, line: usize) -> Result<StmtKind> {
        let tag = self.next()?;
        let signature = if self.current.is_op("(") { self.parse_signature()? } else { Signature::default() };
        let call = self.parse_expression()?;
        if !matches!(call.kind, ExprKind::Call(..)) {
            return self.fail_at("expected call", line, tag.start..tag.end);
        }
        let body = self.parse_block_body(&["endcall"])?;
        Ok(StmtKind::CallBlock(call, signature, body))
    }

    fn parse_filter_block(&mut self) -> Result<StmtKind> {
        self.next()?;
        let start = self.current.start;
        let Some(filter) = self.parse_filter(None, start, true)? else { return self.expected("name") };
        let body = self.parse_block_body(&["endfilter"])?;
        Ok(StmtKind::FilterBlock(filter, body))
    }

    fn parse_macro(&mut self) -> Result<StmtKind> {
        self.next()?;
        let (name, _) = self.parse_target_name()?;
        let signature = self.parse_signature()?;
        let body = self.parse_block_body(&["endmacro"])?;
        Ok(StmtKind::Macro(name, signature, body))
    }

    fn parse_print(&mut self) -> Result<StmtKind> {
        self.next()?;
        let mut pieces = Vec::new();
        while self.current.kind != TokenKind::BlockEnd {
            if !pieces.is_empty() {
                self.expect_op(",")?;
            }
            pieces.push(Piece::Expr(self.parse_expression()?));
        }
        Ok(StmtKind::Output(pieces))
    }

    fn parse_do(&mut self) -> Result<StmtKind> {
        self.next()?;
        Ok(StmtKind::ExprStmt(self.parse_tuple(Items::Expressions, false)?))
    }

    /// A single name as a target.
    fn parse_target_name(&mut self) -> Result<(Arc<str>, Span)> {
        let (name, token) = self.expect_identifier()?;
        if is_reserved(&name) {
            return self.fail_at("can't assign to 'name'", token.line, token.start..token.end);
        }
        Ok((name, self.token_span(&token)))
    }

    /// A name, tuple of names or (when allowed) namespace attribute.
    fn parse_assign_target(&mut self, namespace: bool) -> Result<Expr> {
        let start = self.current.start;
        let target = self.parse_tuple(Items::Primary { namespace }, false)?;
        if !can_assign(&target) {
            let message = format!("can't assign to {}", quoted(target.class_name()));
            return self.fail_at(message, target.line, start..self.last_end);
        }
        Ok(target)
    }
}

fn is_reserved(name: &str) -> bool {
    matches!(name, "true" | "false" | "none" | "True" | "False" | "None")
}

fn can_assign(target: &Expr) -> bool {
    match &target.kind {
        ExprKind::Name(_) | ExprKind::NsRef(..) => true,
        ExprKind::Tuple(items) => items.iter().all(can_assign),
        _ => false,
    }
}
