//! Expressions in filter form. What is emitted is always something a filter can follow.

use std::sync::Arc;

use super::super::ast::{BinOp, CallArgs, CompareOp, Const, Expr, ExprKind};
use super::super::visit::children;
use super::super::{TemplateError, filters, tests};
use super::constants::{literal_truth, may_be_infinite};
use super::{Frame, Lowering, Result, assertion};

/// minijinja calls take at most about 2,000 arguments; longer literals go through a list of its own.
pub(super) const MAX_ARGS: usize = 500;

/// Words of Python that cannot be written as keyword arguments; Jinja2 then passes a dict, in which repeating is allowed.
const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// A filter or a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Filter,
    Test,
}

impl Lowering<'_> {
    /// True when the optimizer makes a constant of the whole expression, asked only where that shows.
    pub(super) fn is_folded(&mut self, expr: &Expr) -> bool {
        if let Some(folded) = self.folded.get(&std::ptr::from_ref(expr)) {
            return *folded;
        }
        let native = self.settings.native;
        let known = &mut self.folded;
        if native || may_be_infinite(expr) {
            let see = &mut |part: &Expr, folds: bool| {
                known.insert(part, folds && (native || may_be_infinite(part)));
            };
            // what the optimizer lets through, `check` reports
            self.settings.folder.folds_parts(expr, see).ok();
        } else {
            parts_and_self(expr, &mut |part| {
                known.insert(part, false);
            });
        }
        *self.folded.entry(expr).or_insert(false)
    }

    /// Emits an expression that is printed; what the optimizer made of it as a whole is printed as it is.
    pub(super) fn printed(&mut self, expr: &Expr, frame: Frame, constant: bool) -> Result<()> {
        let folding = std::mem::replace(&mut self.folding, constant);
        let emitted = self.expr(expr, frame);
        self.folding = folding;
        emitted
    }

    /// Emits an expression.
    pub(super) fn expr(&mut self, expr: &Expr, frame: Frame) -> Result<()> {
        if !self.checked && is_optimized(expr) {
            self.check(expr)?;
            self.checked = true;
            let emitted = self.expr(expr, frame);
            self.checked = false;
            return emitted;
        }
        if !self.folding && self.is_folded(expr) && may_be_infinite(expr) {
            // the largest constant part is what Jinja2 writes into its code
            self.printed(expr, frame, true)?;
            self.apply("folded", expr);
            return Ok(());
        }
        if self.code(expr, frame, "code") {
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Const(value) => {
                self.out.mark(expr.span, expr.line);
                self.constant(value);
            }
            ExprKind::Name(name) => self.name(name, expr, frame)?,
            ExprKind::NsRef(name, _) => self.name(name, expr, frame)?,
            ExprKind::Tuple(items) => self.sequence("tuple", items, expr, frame)?,
            ExprKind::List(items) => self.sequence("list", items, expr, frame)?,
            ExprKind::Dict(pairs) => {
                let items: Vec<&Expr> = pairs.iter().flat_map(|(key, value)| [key, value]).collect();
                self.sequence_of("dict", &items, expr, frame)?;
            }
            ExprKind::CondExpr(cond) => {
                let inner = Frame { soft: true, ..frame };
                self.out.push("(");
                self.expr(&cond.then, inner)?;
                self.out.push(" if ");
                self.truth(&cond.test, inner)?;
                self.out.push(" else ");
                match &cond.otherwise {
                    Some(otherwise) => self.expr(otherwise, inner)?,
                    None => {
                        self.out.push("none|no_else(");
                        self.out.string(&self.no_else(expr.line));
                        self.out.push(")");
                    }
                }
                self.out.push(")");
            }
            ExprKind::Or(pair) if literal_truth(&pair[0]) == Some(true) => self.expr(&pair[0], frame)?,
            ExprKind::And(pair) if literal_truth(&pair[0]) == Some(false) => self.expr(&pair[0], frame)?,
            ExprKind::Or(_) | ExprKind::And(_) => {
                self.out.push("(");
                self.chain(expr, frame, "boolean")?;
                self.out.push(")|operand");
            }
            ExprKind::Not(operand) => {
                self.expr(operand, frame)?;
                self.apply("negate", expr);
            }
            ExprKind::Compare(first, rest) => self.compare(first, rest, expr, frame)?,
            ExprKind::Concat(items) => self.concat(items, expr, frame)?,
            ExprKind::Binary(BinOp::Pow, pair) if self.settings.folder.negates_power(expr, &pair[0]) => {
                self.expr(&pair[0], frame)?;
                self.apply("neg", expr);
                self.apply("pow", expr);
                self.out.push("(");
                self.expr(&pair[1], frame)?;
                self.out.push(")");
                self.apply("neg", expr);
            }
            ExprKind::Binary(_, pair) => {
                self.expr(&pair[0], frame)?;
                self.apply(expr.class_name(), expr);
                self.out.push("(");
                self.expr(&pair[1], frame)?;
                self.out.push(")");
            }
            ExprKind::Unary(_, operand) => {
                self.expr(operand, frame)?;
                self.apply(expr.class_name(), expr);
            }
            ExprKind::Getattr(node, name) => {
                self.expr(node, frame)?;
                self.apply("attr", expr);
                self.out.push("(");
                self.out.string(name);
                self.out.push(")");
            }
            ExprKind::Getitem(node, index) => {
                self.expr(node, frame)?;
                if let ExprKind::Slice(parts) = &index.kind {
                    self.apply("slice", expr);
                    self.out.push("(");
                    self.slice_parts(parts, frame)?;
                } else {
                    self.apply("item", expr);
                    self.out.push("(");
                    self.expr(index, frame)?;
                }
                self.out.push(")");
            }
            ExprKind::Slice(_) => {
                // inside a tuple of subscripts, `x[1:2, 3]`: what Jinja2 makes of it is no Python
                return Err(TemplateError::new("SyntaxError", "invalid syntax")
                    .at_line(expr.line)
                    .at(expr.span.range()));
            }
            ExprKind::Call(callee, args) => self.call(callee, args, None, expr, frame)?,
            ExprKind::Filter(node, name, args) => {
                self.check_known(Kind::Filter, name, expr, frame)?;
                match node {
                    Some(node) => self.expr(node, frame)?,
                    None => self.out.push("captured"),
                }
                self.named(Kind::Filter, name, args, expr, frame)?;
            }
            ExprKind::Test(node, name, args) => {
                self.check_known(Kind::Test, name, expr, frame)?;
                self.expr(node, frame)?;
                self.named(Kind::Test, name, args, expr, frame)?;
            }
        }
        Ok(())
    }

    /// Gives an expression to the optimizer, for what that refuses; where Jinja2's compiler does not do so, its parts.
    pub(super) fn check(&self, expr: &Expr) -> Result<()> {
        if self.checked {
            return Ok(());
        }
        if !is_optimized(expr) {
            return children(expr).into_iter().try_for_each(|child| self.check(child));
        }
        self.settings.folder.check(expr).map_err(|error| {
            let error: TemplateError = error.into();
            error.at_line(expr.line).at(expr.span.range())
        })
    }

    /// Why an inline `if` without `else` is undefined.
    pub(super) fn no_else(&self, line: usize) -> String {
        let place = self.position(line);
        format!("the inline if-expression on {place} evaluated to false and no else section was defined.")
    }

    /// `|filter`, attributed to the expression.
    fn apply(&mut self, filter: &str, expr: &Expr) {
        self.out.push("|");
        self.out.mark(expr.span, expr.line);
        self.out.push(filter);
    }

    fn constant(&mut self, value: &Const) {
        match value {
            Const::None => self.out.push("none"),
            Const::Bool(true) => self.out.push("true"),
            Const::Bool(false) => self.out.push("false"),
            Const::Int(value) => match i64::try_from(value) {
                Ok(value) => self.out.push(&value.to_string()),
                Err(_) => self.out.push(&format!("\"{value}\"|big_int")),
            },
            Const::Float(value) => {
                let text = value.to_string();
                if text.contains('.') && text.len() < 16 {
                    self.out.push(&text);
                } else {
                    self.out.push(&format!("\"{value:e}\"|float"));
                }
            }
            Const::Str(text) => self.out.string(text),
        }
    }

    fn name(&mut self, name: &Arc<str>, expr: &Expr, frame: Frame) -> Result<()> {
        let ident = self.variable(name, expr, frame)?;
        let code = self.reading(&ident, name, frame);
        self.out.mark(expr.span, expr.line);
        self.out.push(&code);
        if self.parameters.contains(&ident) {
            self.out.push("|unset(");
            self.out.string(name);
            self.out.push(")");
        }
        Ok(())
    }

    /// The variable behind a name. Jinja2 fails to compile names that its own analysis does not see.
    pub(super) fn variable(&self, name: &str, expr: &Expr, frame: Frame) -> Result<Arc<str>> {
        match self.scopes.find(frame.symbols, name) {
            Some(ident) => Ok(ident.clone()),
            None => {
                let name = super::super::error::quoted(name);
                let message = format!("Tried to resolve a name to a reference that was unknown to the frame ({name})");
                Err(TemplateError::new("AssertionError", message).at_line(expr.line).at(expr.span.range()))
            }
        }
    }

    fn sequence(&mut self, filter: &str, items: &[Expr], expr: &Expr, frame: Frame) -> Result<()> {
        let items: Vec<&Expr> = items.iter().collect();
        self.sequence_of(filter, &items, expr, frame)
    }

    fn sequence_of(&mut self, filter: &str, items: &[&Expr], expr: &Expr, frame: Frame) -> Result<()> {
        let long = items.len() > MAX_ARGS;
        self.out.push("none");
        self.apply(filter, expr);
        if long {
            self.out.push("_of");
        }
        if items.is_empty() {
            return Ok(());
        }
        self.out.push(if long { "([" } else { "(" });
        self.items(items.iter().copied(), frame)?;
        self.out.push(if long { "])" } else { ")" });
        Ok(())
    }

    fn items<'a>(&mut self, items: impl IntoIterator<Item = &'a Expr>, frame: Frame) -> Result<()> {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(", ");
            }
            self.expr(item, frame)?;
        }
        Ok(())
    }

    fn slice_parts(&mut self, parts: &[Option<Expr>; 3], frame: Frame) -> Result<()> {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.out.push(", ");
            }
            match part {
                Some(part) => self.expr(part, frame)?,
                None => self.out.push("none"),
            }
        }
        Ok(())
    }

    /// An expression as a condition: a value whose truth minijinja sees as Python does.
    pub(super) fn truth(&mut self, expr: &Expr, frame: Frame) -> Result<()> {
        if !self.checked && is_optimized(expr) {
            self.check(expr)?;
            self.checked = true;
            let emitted = self.truth(expr, frame);
            self.checked = false;
            return emitted;
        }
        if self.code(expr, frame, "condition") {
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Or(_) | ExprKind::And(_) => {
                self.out.push("(");
                self.chain(expr, frame, "truth")?;
                self.out.push(")");
                Ok(())
            }
            ExprKind::Const(_) | ExprKind::Not(_) | ExprKind::Compare(..) => self.expr(expr, frame),
            _ => {
                self.expr(expr, frame)?;
                self.apply("truth", expr);
                Ok(())
            }
        }
    }

    /// `a or b or c`: flat, each operand but the last through the filter that makes it testable.
    fn chain(&mut self, expr: &Expr, frame: Frame, filter: &str) -> Result<()> {
        let (is_or, word) = match expr.kind {
            ExprKind::Or(_) => (true, " or "),
            _ => (false, " and "),
        };
        let mut operands = Vec::new();
        let mut at = expr;
        while let (true, ExprKind::Or(pair)) | (false, ExprKind::And(pair)) = (is_or, &at.kind) {
            operands.push(&pair[1]);
            at = &pair[0];
        }
        operands.push(at);
        let last = operands.len() - 1;
        for (index, operand) in operands.into_iter().rev().enumerate() {
            if index > 0 {
                self.out.push(word);
            }
            if filter == "truth" {
                self.truth(operand, frame)?;
                continue;
            }
            self.expr(operand, frame)?;
            if index < last {
                self.apply(filter, operand);
            }
        }
        Ok(())
    }

    fn compare(&mut self, first: &Expr, rest: &[(CompareOp, Expr)], expr: &Expr, frame: Frame) -> Result<()> {
        if let [(op, right)] = rest {
            self.expr(first, frame)?;
            self.apply(compare_filter(*op), expr);
            self.out.push("(");
            self.expr(right, frame)?;
            self.out.push(")");
            return Ok(());
        }
        let last = rest.len() - 1;
        self.out.push("(");
        for (index, (op, right)) in rest.iter().enumerate() {
            if index == 0 {
                self.expr(first, frame)?;
                self.apply("compare_first", expr);
            } else {
                self.out.push(" and none");
                self.apply(if index == last { "compare_last" } else { "compare_next" }, expr);
            }
            self.out.push("(");
            self.out.string(compare_filter(*op));
            self.out.push(", ");
            self.expr(right, frame)?;
            self.out.push(")");
        }
        self.out.push(")");
        Ok(())
    }

    fn concat(&mut self, items: &[Expr], expr: &Expr, frame: Frame) -> Result<()> {
        let Some((first, rest)) = items.split_first() else { return Ok(()) };
        if rest.len() > MAX_ARGS {
            return Err(TemplateError::new("LimitExceeded", "too many operands of ~")
                .at_line(expr.line)
                .at(expr.span.range()));
        }
        self.expr(first, frame)?;
        self.apply("concat", expr);
        self.out.push("(");
        self.items(rest, frame)?;
        self.out.push(")");
        Ok(())
    }

    /// A call; `caller` is the variable of a call block's macro.
    pub(super) fn call(
        &mut self,
        callee: &Expr,
        args: &CallArgs,
        caller: Option<&str>,
        expr: &Expr,
        frame: Frame,
    ) -> Result<()> {
        // `x.name(...)` without building the bound method. Python looks the method up before it evaluates the arguments,
        // so this is only done when no argument can raise.
        let filter = match &callee.kind {
            ExprKind::Getattr(node, name) if args.exprs().all(cannot_raise) => {
                self.expr(node, frame)?;
                Some((name.clone(), "method"))
            }
            _ => {
                self.expr(callee, frame)?;
                None
            }
        };
        let base = filter.as_ref().map_or("call", |(_, base)| base);
        self.arguments(base, filter.as_ref().map(|(name, _)| &**name), args, caller, expr, frame)
    }

    /// `|base(name, arguments)` in one of its three forms: positional, with keywords, or with `*` and `**`.
    fn arguments(
        &mut self,
        base: &str,
        name: Option<&str>,
        args: &CallArgs,
        caller: Option<&str>,
        expr: &Expr,
        frame: Frame,
    ) -> Result<()> {
        let mut names: Vec<&str> = args.kwargs.iter().map(|(name, _)| &**name).collect();
        names.extend(caller.map(|_| "caller"));
        self.check_keywords(&names, expr)?;
        let dynamic = args.dyn_args.is_some() || args.dyn_kwargs.is_some();
        let count = args.args.len() + names.len();
        if count > MAX_ARGS {
            return Err(TemplateError::new("LimitExceeded", format!("a call with {count} arguments"))
                .at_line(expr.line)
                .at(expr.span.range()));
        }
        self.apply(base, expr);
        let mut first = true;
        let mut comma = |this: &mut Self| {
            this.out.push(if std::mem::take(&mut first) { "(" } else { ", " });
        };
        if dynamic {
            self.out.push("_dynamic");
            comma(self);
            let stars = match (args.dyn_args.is_some(), args.dyn_kwargs.is_some()) {
                (true, true) => "*&",
                (true, false) => "*",
                _ => "&",
            };
            self.out.string(&format!("{stars} {}", names.join(" ")));
        } else if !names.is_empty() {
            self.out.push("_keywords");
            comma(self);
            self.out.string(&names.join(" "));
        }
        if let Some(name) = name {
            comma(self);
            self.out.string(name);
        }
        for value in args.args.iter().chain(args.kwargs.iter().map(|(_, value)| value)) {
            comma(self);
            self.expr(value, frame)?;
        }
        if let Some(caller) = caller {
            comma(self);
            self.out.push(caller);
        }
        for value in args.dyn_args.iter().chain(&args.dyn_kwargs) {
            comma(self);
            self.expr(value, frame)?;
        }
        if !first {
            self.out.push(")");
        }
        Ok(())
    }

    /// Python refuses a repeated keyword when it compiles the code Jinja2 generates.
    pub(super) fn check_keywords(&self, names: &[&str], expr: &Expr) -> Result<()> {
        if names.iter().any(|name| PYTHON_KEYWORDS.contains(name)) {
            return Ok(());
        }
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(TemplateError::new("SyntaxError", format!("keyword argument repeated: {name}"))
                    .at_line(expr.line)
                    .at(expr.span.range()));
            }
        }
        Ok(())
    }

    /// What a filter or test is called, whether it replaces one of Jinja2's, and whether it exists.
    fn lookup(&self, kind: Kind, name: &str) -> (&'static str, bool, bool) {
        let (own, builtin, word) = match kind {
            Kind::Filter => (&self.settings.filters, filters::builtin(), "filter"),
            Kind::Test => (&self.settings.tests, tests::builtin(), "test"),
        };
        let overridden = own.contains(name);
        (word, overridden, overridden || builtin.iter().any(|(builtin, _)| *builtin == name))
    }

    /// Refuses an unknown filter or test, before its subject and arguments are looked at, unless an `if` is around it.
    fn check_known(&self, kind: Kind, name: &str, expr: &Expr, frame: Frame) -> Result<()> {
        match self.lookup(kind, name) {
            (word, _, false) if !frame.soft => {
                let quoted = super::super::error::quoted(name);
                Err(assertion(format!("No {word} named {quoted}."), expr.line, expr.span))
            }
            _ => Ok(()),
        }
    }

    /// `| name(...)` or `is name(...)`.
    fn named(&mut self, kind: Kind, name: &Arc<str>, args: &CallArgs, expr: &Expr, frame: Frame) -> Result<()> {
        let (word, overridden, known) = self.lookup(kind, name);
        if !known {
            // arguments are evaluated before the stand-in raises
            return self.arguments(&format!("no_{word}"), Some(name), args, None, expr, frame);
        }
        let plain = args.kwargs.is_empty() && args.dyn_args.is_none() && args.dyn_kwargs.is_none();
        if plain && !overridden {
            return self.arguments(&format!("{word}_{name}"), None, args, None, expr, frame);
        }
        self.arguments(word, Some(name), args, None, expr, frame)
    }

    /// `line 3 in 'x.sql'`
    pub(super) fn position(&self, line: usize) -> String {
        match self.settings.name {
            Some(name) => format!("line {line} in {}", super::super::error::quoted(name)),
            None => format!("line {line}"),
        }
    }
}

/// Nodes that Jinja2's compiler gives to its optimizer first; the others are looked into.
fn is_optimized(expr: &Expr) -> bool {
    !matches!(
        expr.kind,
        ExprKind::Const(_)
            | ExprKind::Name(_)
            | ExprKind::NsRef(..)
            | ExprKind::Tuple(_)
            | ExprKind::List(_)
            | ExprKind::Dict(_)
            | ExprKind::Slice(_)
    )
}

fn parts_and_self<'a>(expr: &'a Expr, see: &mut dyn FnMut(&'a Expr)) {
    children(expr).into_iter().for_each(|child| parts_and_self(child, see));
    see(expr);
}

/// True for expressions whose evaluation always succeeds.
pub(super) fn cannot_raise(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Name(_) => true,
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().all(cannot_raise),
        ExprKind::Unary(_, operand) => {
            matches!(operand.kind, ExprKind::Const(Const::Int(_) | Const::Float(_)))
        }
        _ => false,
    }
}

fn compare_filter(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "eq",
        CompareOp::Ne => "ne",
        CompareOp::Lt => "lt",
        CompareOp::Le => "le",
        CompareOp::Gt => "gt",
        CompareOp::Ge => "ge",
        CompareOp::In => "contained",
        CompareOp::NotIn => "not_contained",
    }
}
