//! Statements other than loops and macros.

use std::sync::Arc;

use super::super::ast::{Block, Branch, Expr, ExprKind, FromImport, Import, Include, Piece, Span, Stmt, StmtKind};
use super::super::visit::{NameUse, bodies, names_in_expr};
use super::code::{Item, items};
use super::constants::literal_text;
use super::{Frame, Lowering, Result, TemplateError, assertion};

/// How a tuple target takes a value apart.
#[derive(Debug, Default)]
pub(super) struct Unpacking {
    /// Its shape: `x` a variable, parentheses a tuple.
    pub shape: String,
    /// minijinja's variables in order.
    pub names: Vec<String>,
    /// Attributes of namespaces: the namespace, the name, the temporary with the value.
    pub attributes: Vec<(String, Arc<str>, String)>,
    /// Cells and the temporaries with their values.
    pub cells: Vec<(Arc<str>, String)>,
}

/// What follows a statement in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The next statement.
    Statement,
    /// Nothing: Jinja2 stops compiling the body here.
    End,
}

impl Lowering<'_> {
    /// Emits the statements of a body.
    pub(super) fn body(&mut self, body: &[Stmt], frame: Frame) -> Result<()> {
        let mut at = 0;
        while let Some(stmt) = body.get(at) {
            // output and the branches between it are taken together
            let plain = |stmt: &&Stmt| matches!(stmt.kind, StmtKind::Output(_) | StmtKind::If(..));
            let count = body.get(at..).unwrap_or_default().iter().take_while(plain).count();
            if count > 0 && !frame.output_check && !self.settings.native && !self.settings.exact {
                self.written_items(body.get(at..at + count).unwrap_or_default(), frame)?;
                at += count;
                continue;
            }
            if self.stmt(stmt, frame)? == Next::End {
                break;
            }
            at += 1;
        }
        Ok(())
    }

    /// Emits output and branches: as much as possible in one call each.
    fn written_items(&mut self, body: &[Stmt], frame: Frame) -> Result<()> {
        let all: Vec<Item<'_>> = items(body).collect();
        let mut at = 0;
        while let Some(item) = all.get(at) {
            let run = self.output_run(all.get(at..).unwrap_or_default(), frame)?;
            if run == 0 {
                match item {
                    Item::Piece(piece) => self.piece(piece, frame)?,
                    Item::Stmt(stmt) => {
                        self.stmt(stmt, frame)?;
                    }
                }
            }
            at += run.max(1);
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, frame: Frame) -> Result<Next> {
        self.out.mark(stmt.span, stmt.line);
        if matches!(stmt.kind, StmtKind::CallBlock(..) | StmtKind::FilterBlock(..) | StmtKind::Include(_)) {
            self.trace(stmt.span, 0);
        }
        match &stmt.kind {
            StmtKind::Output(pieces) => self.output(pieces, frame)?,
            StmtKind::For(node) => self.for_loop(node, stmt, frame)?,
            StmtKind::If(branches, otherwise) => self.branches(branches, otherwise, frame)?,
            StmtKind::Macro(name, signature, body) => self.macro_definition(name, signature, body, stmt, frame)?,
            StmtKind::CallBlock(call, signature, body) => self.call_block(call, signature, body, stmt, frame)?,
            StmtKind::FilterBlock(filter, body) => self.filter_block(filter, body, frame)?,
            StmtKind::With(pairs, body) => self.with(pairs, body, frame)?,
            StmtKind::Block(block) => self.block_call(block, stmt, frame)?,
            StmtKind::Extends(template) => return self.extends(template, stmt, frame),
            StmtKind::Include(node) => self.include(node, stmt, frame)?,
            StmtKind::Import(node) => self.import(node, stmt, frame)?,
            StmtKind::FromImport(node) => self.import_names(node, stmt, frame)?,
            StmtKind::Assign(target, value) => self.assign(target, value, frame)?,
            StmtKind::AssignBlock(target, filter, body) => self.assign_block(target, filter.as_ref(), body, frame)?,
            StmtKind::ExprStmt(expr) => {
                self.out.push("{% set unused = ");
                self.expr(expr, frame)?;
                self.out.push(" %}");
            }
            StmtKind::AutoEscape(value, body) => self.autoescape(value, body, frame)?,
            StmtKind::Break => {
                self.out.tag("break");
            }
            StmtKind::Continue => {
                if let Some(Some(advance)) = self.loops.last().cloned() {
                    self.out.push(&advance);
                }
                self.out.tag("continue");
            }
        }
        Ok(Next::Statement)
    }

    /// Statements that an `extends` before them switches off while the template runs.
    fn unless_extended(&mut self, frame: Frame, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if !frame.output_check {
            return emit(self);
        }
        if self.known_extends {
            return Ok(());
        }
        self.out.tag("if not parent");
        emit(self)?;
        self.out.tag("endif");
        Ok(())
    }

    fn output(&mut self, pieces: &[Piece], frame: Frame) -> Result<()> {
        self.unless_extended(frame, |this| {
            this.count_output(pieces);
            pieces.iter().try_for_each(|piece| this.piece(piece, frame))
        })
    }

    fn piece(&mut self, piece: &Piece, frame: Frame) -> Result<()> {
        match piece {
            Piece::Data(text, span) => {
                self.out.mark(*span, 0);
                self.traced_data(text, *span);
            }
            Piece::Expr(expr) => match literal_text(expr).filter(|_| self.settings.native) {
                Some(text) => self.data(&text),
                None => {
                    self.out.mark(expr.span, expr.line);
                    self.trace(expr.span, 0);
                    self.out.push("{{ ");
                    let constant = self.is_folded(expr);
                    self.printed(expr, frame, constant)?;
                    self.out.push(if constant && self.settings.native { "|constant }}" } else { " }}" });
                }
            },
        }
        Ok(())
    }

    /// Counts the items of an output statement: constants in a row are one.
    fn count_output(&mut self, pieces: &[Piece]) {
        if !self.settings.exact {
            return;
        }
        let mut items = 0;
        let mut constant = false;
        for piece in pieces {
            let folded = match piece {
                Piece::Data(..) => true,
                Piece::Expr(expr) => self.settings.folder.folds(expr),
            };
            items += usize::from(!folded || !constant);
            constant = folded;
        }
        self.count(items);
    }

    /// Counts items that are written.
    pub(super) fn count(&mut self, items: usize) {
        if self.settings.exact {
            self.out.tag(&format!("set unused = none|count_items({items})"));
        }
    }

    /// Text: written, or collected as a piece in native mode.
    fn data(&mut self, text: &str) {
        if self.settings.native {
            self.out.push("{{ ");
            self.out.string(text);
            self.out.push("|piece }}");
        } else {
            self.out.text(text);
        }
    }

    /// Text of the template, each line of it marked where that is asked for.
    fn traced_data(&mut self, text: &str, span: Span) {
        if self.settings.lines.is_none() {
            return self.data(text);
        }
        let ends = |c: char| c == '\n' || c == '\r';
        let mut rest = text;
        let mut line = 0;
        while !rest.is_empty() {
            let end = match rest.find(ends) {
                Some(at) if rest[at..].starts_with("\r\n") => at + 2,
                Some(at) => at + 1,
                None => rest.len(),
            };
            let (first, others) = rest.split_at(end);
            self.trace(span, line);
            self.data(first);
            rest = others;
            line += 1;
        }
    }

    fn branches(&mut self, branches: &[Branch], otherwise: &[Stmt], frame: Frame) -> Result<()> {
        let frame = Frame { rootlevel: false, soft: true, ..frame };
        for (index, branch) in branches.iter().enumerate() {
            self.out.push(if index == 0 { "{% if " } else { "{% elif " });
            self.truth(&branch.test, frame)?;
            self.out.push(" %}");
            self.body(&branch.body, frame)?;
        }
        if !otherwise.is_empty() {
            self.out.tag("else");
            self.body(otherwise, frame)?;
        }
        self.out.tag("endif");
        Ok(())
    }

    /// A frame inside `frame` that is neither the root nor output-checked differently.
    pub(super) fn inner(&mut self, frame: Frame) -> Frame {
        let symbols = self.scopes.enter(Some(frame.symbols));
        Frame { symbols, toplevel: false, rootlevel: false, soft: false, ..frame }
    }

    fn with(&mut self, pairs: &[(Expr, Expr)], body: &[Stmt], frame: Frame) -> Result<()> {
        let inner = self.inner(frame);
        self.scopes.with(inner.symbols, pairs, body);
        self.enter_frame(inner.symbols, Some(body));
        for (target, value) in pairs {
            self.store(target, inner, |this| this.expr(value, frame))?;
        }
        self.body(body, inner)?;
        self.leave_frame(inner.symbols);
        Ok(())
    }

    fn autoescape(&mut self, value: &Expr, body: &[Stmt], frame: Frame) -> Result<()> {
        if !self.settings.folder.folds(value) {
            // Jinja2 then decides piece by piece, partly while compiling, what is escaped
            return Err(TemplateError::new("Unsupported", "autoescape with a value that is not constant")
                .at_line(value.line)
                .at(value.span.range()));
        }
        let inner = self.inner(frame);
        self.scopes.read(inner.symbols, value);
        self.scopes.body(inner.symbols, body);
        self.enter_frame(inner.symbols, Some(body));
        self.out.push("{% autoescape ");
        self.expr(value, inner)?;
        self.out.push("|truth %}");
        self.body(body, inner)?;
        self.leave_frame(inner.symbols);
        self.out.tag("endautoescape");
        Ok(())
    }

    /// Emits an assignment of what `value` emits to a target.
    pub(super) fn store(
        &mut self,
        target: &Expr,
        frame: Frame,
        value: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let ident = self.variable(name, target, frame)?;
                self.set(&ident, name, frame, value)?;
            }
            ExprKind::NsRef(name, attr) => {
                let ident = self.variable(name, target, frame)?;
                let namespace = self.reading(&ident, name, frame);
                self.out.push("{% set unused = ");
                self.out.push(&namespace);
                self.out.push("|set_attribute(");
                self.out.string(attr);
                self.out.push(", ");
                value(self)?;
                self.out.push(") %}");
            }
            _ => {
                let Unpacking { shape, names, attributes, cells } = self.unpacking(target, frame)?;
                if names.is_empty() {
                    self.out.push("{% set unused = ");
                } else {
                    self.out.push("{% set ");
                    self.out.push(&targets(&names));
                    self.out.push(" = ");
                }
                value(self)?;
                self.out.push("|");
                self.out.mark(target.span, target.line);
                self.out.push("unpack(");
                self.out.string(&shape);
                self.out.push(") %}");
                for (ident, temporary) in cells {
                    self.set_code(&ident, &temporary);
                }
                for (ident, attr, temporary) in attributes {
                    self.out.push("{% set unused = ");
                    self.out.push(&ident);
                    self.out.push("|set_attribute(");
                    self.out.string(&attr);
                    self.out.push(&format!(", {temporary}) %}}"));
                }
            }
        }
        Ok(())
    }

    /// How a target takes a value apart.
    pub(super) fn unpacking(&mut self, target: &Expr, frame: Frame) -> Result<Unpacking> {
        let mut unpacking = Unpacking::default();
        self.unpack_into(target, frame, &mut unpacking)?;
        Ok(unpacking)
    }

    fn unpack_into(&mut self, target: &Expr, frame: Frame, out: &mut Unpacking) -> Result<()> {
        match &target.kind {
            ExprKind::Tuple(items) => {
                out.shape.push('(');
                for item in items {
                    self.unpack_into(item, frame, out)?;
                }
                out.shape.push(')');
            }
            ExprKind::NsRef(name, attr) => {
                let ident = self.variable(name, target, frame)?;
                let namespace = self.reading(&ident, name, frame);
                let temporary = self.temporary();
                out.shape.push('x');
                out.names.push(temporary.clone());
                out.attributes.push((namespace, attr.clone(), temporary));
            }
            ExprKind::Name(name) => {
                let ident = self.variable(name, target, frame)?;
                self.stored(&ident);
                out.shape.push('x');
                if self.is_cell(&ident) {
                    let temporary = self.temporary();
                    out.names.push(temporary.clone());
                    out.cells.push((ident, temporary));
                } else {
                    out.names.push(ident.to_string());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that the targets of dotted assignments are namespaces, before the value is evaluated.
    fn check_namespaces(&mut self, target: &Expr, frame: Frame) -> Result<()> {
        let mut seen: Vec<Arc<str>> = Vec::new();
        let mut at = vec![target];
        while let Some(expr) = at.pop() {
            match &expr.kind {
                ExprKind::NsRef(name, _) if !seen.contains(name) => {
                    seen.push(name.clone());
                    let ident = self.variable(name, expr, frame)?;
                    let namespace = self.reading(&ident, name, frame);
                    self.out.mark(expr.span, expr.line);
                    self.out.tag(&format!("set unused = {namespace}|check_namespace"));
                }
                ExprKind::Tuple(items) => at.extend(items.iter().rev()),
                _ => {}
            }
        }
        Ok(())
    }

    fn assign(&mut self, target: &Expr, value: &Expr, frame: Frame) -> Result<()> {
        self.check_namespaces(target, frame)?;
        self.store(target, frame, |this| this.expr(value, frame))?;
        self.export_targets(target, frame)
    }

    fn export_targets(&mut self, target: &Expr, frame: Frame) -> Result<()> {
        let mut names: Vec<String> = Vec::new();
        names_in_expr(target, NameUse::Store, &mut |name, use_| {
            if use_ == NameUse::Store {
                names.push(name.to_owned());
            }
        });
        for name in names {
            self.export(&name, frame, "export");
        }
        Ok(())
    }

    /// Makes a variable of the top visible outside of the unit.
    pub(super) fn export(&mut self, name: &str, frame: Frame, filter: &str) {
        if !frame.toplevel || !self.exports {
            return;
        }
        if let Some(ident) = self.scopes.find(frame.symbols, name).cloned() {
            let value = self.reading(&ident, name, frame);
            self.out.push(&format!("{{% set unused = {value}|{filter}("));
            self.out.string(name);
            self.out.push(") %}");
        }
    }

    fn assign_block(&mut self, target: &Expr, filter: Option<&Expr>, body: &[Stmt], frame: Frame) -> Result<()> {
        let inner = Frame { output_check: false, ..self.inner(frame) };
        self.scopes.body(inner.symbols, body);
        self.enter_frame(inner.symbols, Some(body));
        self.check_namespaces(target, frame)?;
        self.capture(body, inner)?;
        self.store(target, frame, |this| {
            match filter {
                Some(filter) => this.expr(filter, inner)?,
                None => this.out.push("captured"),
            }
            this.out.push("|block_value");
            Ok(())
        })?;
        self.leave_frame(inner.symbols);
        self.export_targets(target, frame)
    }

    /// Runs a body and puts what it writes into the variable `captured`.
    fn capture(&mut self, body: &[Stmt], frame: Frame) -> Result<()> {
        let leaks = self.captures == 0 && !self.generator && yields_modules(body);
        if leaks && body.iter().any(jumps) {
            return Err(TemplateError::new("Unsupported", "a jump out of a block that includes without context"));
        }
        if leaks {
            self.out.tag("set unused = none|begin_leaks");
        }
        self.captures += 1;
        self.inside += 1;
        let depth = self.settings.exact.then(|| self.temporary());
        if let Some(depth) = &depth {
            self.out.tag(&format!("set {depth} = none|begin_frame"));
        }
        let captured = self.captured(body, frame);
        if let Some(depth) = &depth {
            self.out.tag(&format!("set unused = {depth}|end_frame"));
        }
        self.captures -= 1;
        self.inside -= 1;
        if leaks {
            self.out.print("none|leaked");
        }
        captured
    }

    fn captured(&mut self, body: &[Stmt], frame: Frame) -> Result<()> {
        if self.settings.native {
            self.out.tag("set unused = none|begin_pieces");
            self.body(body, frame)?;
            self.out.tag("set captured = none|end_pieces");
        } else {
            self.out.tag("set captured");
            self.body(body, frame)?;
            self.out.tag("endset");
        }
        Ok(())
    }

    fn filter_block(&mut self, filter: &Expr, body: &[Stmt], frame: Frame) -> Result<()> {
        let inner = self.inner(frame);
        self.scopes.body(inner.symbols, body);
        self.scopes.read(inner.symbols, filter);
        self.enter_frame(inner.symbols, None);
        self.capture(body, inner)?;
        self.out.push("{{ ");
        self.expr(filter, inner)?;
        self.out.push(self.written());
        self.count(1);
        self.leave_frame(inner.symbols);
        Ok(())
    }

    /// The end of a print tag for what Jinja2 writes without turning it into text itself: anything but a string then
    /// fails when the pieces are joined.
    pub(super) fn written(&self) -> &'static str {
        if self.settings.native { " }}" } else { "|written }}" }
    }

    /// Names and values of all variables a template or block gets from here.
    fn locals(&mut self, frame: Frame) {
        let stores = self.scopes.dump_stores(frame.symbols);
        let names: Vec<&str> = stores.iter().map(|(name, _)| &**name).collect();
        self.out.string(&names.join(" "));
        if stores.len() > 400 {
            self.out.push(", [");
        }
        for (index, (name, ident)) in stores.iter().enumerate() {
            if stores.len() <= 400 || index > 0 {
                self.out.push(", ");
            }
            let value = self.reading(ident, name, frame);
            self.out.push(&value);
        }
        if stores.len() > 400 {
            self.out.push("]");
        }
    }

    fn block_call(&mut self, block: &Block, stmt: &Stmt, frame: Frame) -> Result<()> {
        if frame.toplevel && self.known_extends {
            return Ok(());
        }
        let check = frame.toplevel && self.extends_so_far > 0;
        if check {
            self.out.tag("if not parent");
        }
        self.out.mark(stmt.span, stmt.line);
        self.out.push("{{ ");
        self.out.string(&block.name);
        self.out.push(if block.required { "|required_block(" } else { "|block(" });
        if block.scoped {
            self.locals(frame);
        } else {
            self.out.push("none");
        }
        self.out.push(") }}");
        if check {
            self.out.tag("endif");
        }
        Ok(())
    }

    fn extends(&mut self, template: &Expr, stmt: &Stmt, frame: Frame) -> Result<Next> {
        if !frame.toplevel {
            return Err(assertion("cannot use extend from a non top-level scope".into(), stmt.line, stmt.span));
        }
        if self.extends_so_far > 0 {
            if !self.known_extends {
                self.out.tag("if parent");
            }
            self.out.push("{{ \"extended multiple times\"|raise_runtime }}");
            if self.known_extends {
                return Ok(Next::End);
            }
            self.out.tag("endif");
        }
        self.out.push("{% set parent = ");
        self.expr(template, frame)?;
        self.out.push("|");
        self.out.mark(stmt.span, stmt.line);
        self.out.push("extends %}");
        if frame.rootlevel {
            self.known_extends = true;
        }
        self.extends_so_far += 1;
        Ok(Next::Statement)
    }

    fn include(&mut self, node: &Include, stmt: &Stmt, frame: Frame) -> Result<()> {
        // a literal decides at compile time whether one template or the first of several is meant
        let how = match &node.template.kind {
            ExprKind::Const(super::super::ast::Const::Str(_)) => "one",
            ExprKind::Tuple(_) | ExprKind::List(_) => "select",
            _ => "any",
        };
        self.out.push("{{ ");
        self.expr(&node.template, frame)?;
        self.out.push("|");
        self.out.mark(stmt.span, stmt.line);
        self.out.push(if node.with_context { "include(" } else { "include_module(" });
        self.out.string(how);
        self.out.push(if node.ignore_missing { ", true" } else { ", false" });
        if node.with_context {
            self.out.push(", ");
            self.locals(frame);
        } else {
            self.out.push(if self.captures > 0 { ", true" } else { ", false" });
        }
        self.out.push(") }}");
        Ok(())
    }

    fn import_expr(&mut self, template: &Expr, with_context: bool, stmt: &Stmt, frame: Frame) -> Result<()> {
        self.expr(template, frame)?;
        self.out.push("|");
        self.out.mark(stmt.span, stmt.line);
        self.out.push("import");
        if with_context {
            self.out.push("(");
            self.locals(frame);
            self.out.push(")");
        }
        Ok(())
    }

    fn import(&mut self, node: &Import, stmt: &Stmt, frame: Frame) -> Result<()> {
        let ident = self.variable(&node.target, &node.template, frame)?;
        self.set(&ident, &node.target, frame, |this| this.import_expr(&node.template, node.with_context, stmt, frame))?;
        self.export(&node.target, frame, "export_private");
        Ok(())
    }

    fn import_names(&mut self, node: &FromImport, stmt: &Stmt, frame: Frame) -> Result<()> {
        let module = self.temporary();
        self.out.push(&format!("{{% set {module} = "));
        self.import_expr(&node.template, node.with_context, stmt, frame)?;
        self.out.push(" %}");
        let place = self.position(stmt.line);
        for (name, alias) in &node.names {
            let ident = self.variable(alias, &node.template, frame)?;
            self.set(&ident, alias, frame, |this| {
                this.out.push(&format!("{module}|module_attribute("));
                this.out.string(name);
                this.out.push(", ");
                this.out.string(&place);
                this.out.push(")");
                Ok(())
            })?;
        }
        for (_, alias) in &node.names {
            self.export(alias, frame, "export_private");
        }
        Ok(())
    }
}

/// True when a function with this body yields what `include ... without context` writes; macros and recursive loops inside
/// it are functions of their own.
pub(super) fn yields_modules(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Include(node) => !node.with_context,
        StmtKind::Macro(..) | StmtKind::CallBlock(..) | StmtKind::Block(_) => false,
        StmtKind::For(node) if node.recursive => false,
        _ => bodies(stmt).into_iter().any(yields_modules),
    })
}

/// True when there is a `break` or `continue` in the statement.
fn jumps(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Break | StmtKind::Continue) || bodies(stmt).into_iter().flatten().any(jumps)
}

/// Several variables as a target of minijinja's; a single one stands for itself.
pub(super) fn targets(names: &[String]) -> String {
    match names {
        [] => "unused".to_owned(),
        [only] => only.clone(),
        _ => format!("({})", names.join(", ")),
    }
}
