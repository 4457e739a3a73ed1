//! Expressions and runs of output as one call each; see [`crate::jinja::code`].
//!
//! What cannot be built here is left to the filter form: it says the same, and it reports what Jinja2's compiler refuses.

use std::sync::Arc;

use super::super::ast::{BinOp, Branch, CallArgs, Const, Expr, ExprKind, Piece, Stmt, StmtKind};
use super::super::code::{Body, Code, Node, Op, Part, Site};
use super::super::{filters, tests};
use super::constants::{literal_truth, may_be_infinite};
use super::exprs::{MAX_ARGS, cannot_raise};
use super::{Frame, Lowering, Result};
use crate::python::{self, Value};

/// Expressions nested deeper than this stay in filter form.
const MAX_DEPTH: usize = 48;
/// Texts longer than this are not copied into a run of output.
const MAX_TEXT: usize = 1024;
/// Variables of one call.
const MAX_VARIABLES: usize = 100;
/// Bytes of lowered source that an operation stands for, where the cost of a loop's turn is counted.
const OPERATION: usize = 16;

/// A code being built.
#[derive(Default)]
struct Builder {
    sites: Vec<Site>,
    variables: Vec<String>,
    depth: usize,
    weight: usize,
    /// The code is inside a constant whose value as a whole is taken care of.
    folding: bool,
    /// Where a run of output begins, and what is in it.
    first: Option<Site>,
    prints: usize,
    operations: usize,
}

/// What a run of output may consist of.
#[derive(Clone, Copy)]
pub(super) enum Item<'a> {
    /// A piece of an output statement.
    Piece(&'a Piece),
    /// Another statement.
    Stmt(&'a Stmt),
}

/// The statements of a body, with output statements taken apart.
pub(super) fn items(body: &[Stmt]) -> impl Iterator<Item = Item<'_>> {
    body.iter().flat_map(|stmt| {
        let (pieces, other) = match &stmt.kind {
            StmtKind::Output(pieces) => (pieces.as_slice(), None),
            _ => (&[][..], Some(Item::Stmt(stmt))),
        };
        pieces.iter().map(Item::Piece).chain(other)
    })
}

impl Builder {
    /// What there is so far.
    fn mark(&self) -> (usize, usize, usize, usize) {
        (self.sites.len(), self.variables.len(), self.weight, self.depth)
    }

    /// Forgets what was added since.
    fn reset(&mut self, (sites, variables, weight, depth): (usize, usize, usize, usize)) {
        self.sites.truncate(sites);
        self.variables.truncate(variables);
        (self.weight, self.depth) = (weight, depth);
    }

    fn site(&mut self, expr: &Expr) -> usize {
        let site = Site { span: expr.span, line: expr.line };
        if self.sites.last() != Some(&site) {
            self.sites.push(site);
        }
        self.weight += OPERATION;
        self.sites.len() - 1
    }

    fn variable(&mut self, source: String) -> Option<usize> {
        if let Some(at) = self.variables.iter().position(|own| *own == source) {
            return Some(at);
        }
        self.variables.push(source);
        (self.variables.len() <= MAX_VARIABLES).then(|| self.variables.len() - 1)
    }
}

impl Lowering<'_> {
    /// Emits an expression as one call of `filter`, if that can be done and is worth it.
    pub(super) fn code(&mut self, expr: &Expr, frame: Frame, filter: &str) -> bool {
        if !self.checked || matches!(expr.kind, ExprKind::Const(_) | ExprKind::Name(_)) {
            return false;
        }
        let mut builder = Builder { folding: self.folding, ..Builder::default() };
        let Some(node) = self.node(expr, frame, &mut builder) else { return false };
        let site = Site { span: expr.span, line: expr.line };
        self.call_code(Body::Expr(node), builder, site, filter);
        true
    }

    /// Emits the call of a code.
    fn call_code(&mut self, body: Body, builder: Builder, site: Site, filter: &str) {
        let number = self.settings.codes.add(Code { body, sites: builder.sites.into() });
        self.out.push(&format!("{number}|"));
        self.out.mark(site.span, site.line);
        self.out.push(filter);
        if !builder.variables.is_empty() {
            self.out.push("(");
            self.out.push(&builder.variables.join(", "));
            self.out.push(")");
        }
        self.out.weigh(builder.weight);
    }

    /// Emits the output from here on that one call can write; returns how much of it that is.
    pub(super) fn output_run(&mut self, items: &[Item<'_>], frame: Frame) -> Result<usize> {
        // marks stand between the parts of a run
        if self.settings.native || self.settings.exact || self.settings.lines.is_some() {
            return Ok(0);
        }
        let mut builder = Builder::default();
        let mut parts = Vec::new();
        for item in items {
            match self.part(item, frame, &mut builder)? {
                Some(part) => parts.push(part),
                None => break,
            }
        }
        let count = parts.len();
        let Some(first) = builder.first.filter(|_| builder.prints > 1 || builder.operations > 0) else { return Ok(0) };
        self.out.push("{{ ");
        self.call_code(Body::Output(parts.into()), builder, first, "print");
        self.out.push(" }}");
        Ok(count)
    }

    /// A part of a run; `None` where it has to be emitted otherwise, and leaves nothing behind then.
    fn part(&mut self, item: &Item<'_>, frame: Frame, builder: &mut Builder) -> Result<Option<Part>> {
        let before = builder.mark();
        let part = match item {
            Item::Piece(Piece::Data(text, _)) if text.len() <= MAX_TEXT => {
                builder.weight += text.len();
                Some(Part::Text(text.as_str().into()))
            }
            Item::Piece(Piece::Data(..)) => None,
            Item::Piece(Piece::Expr(expr)) => {
                self.check(expr)?;
                builder.folding = self.is_folded(expr);
                let node = self.node(expr, frame, builder);
                builder.folding = false;
                node.map(|node| {
                    builder.prints += 1;
                    builder.operations += usize::from(!matches!(node.op, Op::Var(_) | Op::Const(_)));
                    builder.first.get_or_insert(Site { span: expr.span, line: expr.line });
                    Part::Print(node)
                })
            }
            Item::Stmt(stmt) => match &stmt.kind {
                StmtKind::If(branches, otherwise) => self.if_part(branches, otherwise, frame, builder)?,
                _ => None,
            },
        };
        if part.is_none() {
            builder.reset(before);
        }
        Ok(part)
    }

    fn if_part(
        &mut self,
        branches: &[Branch],
        otherwise: &[Stmt],
        frame: Frame,
        builder: &mut Builder,
    ) -> Result<Option<Part>> {
        if builder.depth >= MAX_DEPTH {
            return Ok(None);
        }
        let frame = Frame { rootlevel: false, soft: true, ..frame };
        builder.depth += 1;
        let mut built = Vec::new();
        for branch in branches {
            self.check(&branch.test)?;
            let Some(test) = self.node(&branch.test, frame, builder) else { return Ok(None) };
            builder.operations += 1;
            builder.first.get_or_insert(Site { span: branch.test.span, line: branch.test.line });
            let Some(body) = self.parts(&branch.body, frame, builder)? else { return Ok(None) };
            built.push((test, body));
        }
        let Some(otherwise) = self.parts(otherwise, frame, builder)? else { return Ok(None) };
        builder.depth -= 1;
        Ok(Some(Part::If(built.into(), otherwise)))
    }

    /// A body, if a run can write all of it.
    fn parts(&mut self, body: &[Stmt], frame: Frame, builder: &mut Builder) -> Result<Option<Box<[Part]>>> {
        let mut parts = Vec::new();
        for item in items(body) {
            match self.part(&item, frame, builder)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        Ok(Some(parts.into()))
    }

    fn nodes<'a>(
        &mut self,
        exprs: impl IntoIterator<Item = &'a Expr>,
        frame: Frame,
        builder: &mut Builder,
    ) -> Option<Box<[Node]>> {
        exprs.into_iter().map(|expr| self.node(expr, frame, builder)).collect()
    }

    /// An expression as an operation; `None` where it has to stay in filter form.
    fn node(&mut self, expr: &Expr, frame: Frame, builder: &mut Builder) -> Option<Node> {
        if builder.depth >= MAX_DEPTH || (!builder.folding && self.is_folded(expr) && may_be_infinite(expr)) {
            return None;
        }
        builder.depth += 1;
        let op = self.op(expr, frame, builder);
        builder.depth -= 1;
        let op = op?;
        Some(Node { op, site: builder.site(expr) })
    }

    fn boxed(&mut self, expr: &Expr, frame: Frame, builder: &mut Builder) -> Option<Box<Node>> {
        self.node(expr, frame, builder).map(Box::new)
    }

    fn op(&mut self, expr: &Expr, frame: Frame, builder: &mut Builder) -> Option<Op> {
        Some(match &expr.kind {
            ExprKind::Const(value) => Op::Const(constant(value)?),
            ExprKind::Name(name) => {
                let ident = self.scopes.find(frame.symbols, name)?.clone();
                if self.parameters.contains(&ident) {
                    return None;
                }
                self.read(&ident);
                let source = self.renamed(&ident);
                let renamed = source.is_some();
                let variable = builder.variable(source.unwrap_or_else(|| ident.to_string()))?;
                if renamed || !self.is_cell(&ident) {
                    return Some(Op::Var(variable));
                }
                let parameter = self.scopes.is_parameter(frame.symbols, &ident);
                Op::Cell(variable, (!parameter).then(|| name.clone()))
            }
            ExprKind::Tuple(items) if items.len() <= MAX_ARGS => Op::Tuple(self.nodes(items, frame, builder)?),
            ExprKind::List(items) if items.len() <= MAX_ARGS => Op::List(self.nodes(items, frame, builder)?),
            ExprKind::Dict(pairs) if pairs.len() <= MAX_ARGS / 2 => {
                Op::Dict(self.nodes(pairs.iter().flat_map(|(key, value)| [key, value]), frame, builder)?)
            }
            ExprKind::CondExpr(cond) => {
                let frame = Frame { soft: true, ..frame };
                let then = self.node(&cond.then, frame, builder)?;
                let test = self.node(&cond.test, frame, builder)?;
                let otherwise = match &cond.otherwise {
                    Some(otherwise) => self.node(otherwise, frame, builder)?,
                    None => Node { op: Op::NoElse(self.no_else(expr.line)), site: builder.site(expr) },
                };
                Op::Cond(Box::new([test, then, otherwise]))
            }
            ExprKind::Or(pair) if literal_truth(&pair[0]) == Some(true) => self.op(&pair[0], frame, builder)?,
            ExprKind::And(pair) if literal_truth(&pair[0]) == Some(false) => self.op(&pair[0], frame, builder)?,
            ExprKind::Or(pair) => Op::Or(self.nodes(&**pair, frame, builder)?),
            ExprKind::And(pair) => Op::And(self.nodes(&**pair, frame, builder)?),
            ExprKind::Not(operand) => Op::Not(self.boxed(operand, frame, builder)?),
            ExprKind::Compare(first, rest) => {
                let first = self.boxed(first, frame, builder)?;
                let rest = rest.iter().map(|(op, right)| Some((*op, self.node(right, frame, builder)?)));
                Op::Compare(first, rest.collect::<Option<_>>()?)
            }
            ExprKind::Concat(items) if items.len() <= MAX_ARGS => Op::Concat(self.nodes(items, frame, builder)?),
            ExprKind::Binary(BinOp::Pow, pair) if self.settings.folder.negates_power(expr, &pair[0]) => return None,
            ExprKind::Binary(op, pair) => Op::Binary(*op, self.pair(pair, frame, builder)?),
            ExprKind::Unary(op, operand) => Op::Unary(*op, self.boxed(operand, frame, builder)?),
            ExprKind::Getattr(node, name) => Op::Attr(self.boxed(node, frame, builder)?, name.clone()),
            ExprKind::Getitem(node, index) => {
                let subject = self.node(node, frame, builder)?;
                let ExprKind::Slice(parts) = &index.kind else {
                    return Some(Op::Item(Box::new([subject, self.node(index, frame, builder)?])));
                };
                let mut bound = |part: &Option<Expr>, builder: &mut Builder| match part {
                    Some(part) => self.node(part, frame, builder),
                    None => Some(Node { op: Op::Const(python::none()), site: builder.site(expr) }),
                };
                let [start, stop, step] = &**parts;
                Op::Slice(Box::new([subject, bound(start, builder)?, bound(stop, builder)?, bound(step, builder)?]))
            }
            ExprKind::Call(callee, args) => {
                let keywords = self.keywords(args, expr)?;
                match &callee.kind {
                    ExprKind::Getattr(node, name) if args.exprs().all(cannot_raise) => {
                        let nodes = self.nodes(std::iter::once(&**node).chain(args.exprs()), frame, builder)?;
                        Op::Method(name.clone(), nodes, keywords)
                    }
                    _ => {
                        Op::Call(self.nodes(std::iter::once(&**callee).chain(args.exprs()), frame, builder)?, keywords)
                    }
                }
            }
            ExprKind::Filter(Some(node), name, args) => self.named_op(true, node, name, args, expr, frame, builder)?,
            ExprKind::Test(node, name, args) => self.named_op(false, node, name, args, expr, frame, builder)?,
            _ => return None,
        })
    }

    fn pair(&mut self, pair: &[Expr; 2], frame: Frame, builder: &mut Builder) -> Option<Box<[Node; 2]>> {
        Some(Box::new([self.node(&pair[0], frame, builder)?, self.node(&pair[1], frame, builder)?]))
    }

    /// The names of keyword arguments, in the plain form of a call.
    fn keywords(&self, args: &CallArgs, expr: &Expr) -> Option<Box<[Arc<str>]>> {
        if args.dyn_args.is_some() || args.dyn_kwargs.is_some() || args.args.len() + args.kwargs.len() > MAX_ARGS {
            return None;
        }
        let names: Vec<&str> = args.kwargs.iter().map(|(name, _)| &**name).collect();
        self.check_keywords(&names, expr).ok()?;
        Some(args.kwargs.iter().map(|(name, _)| name.clone()).collect())
    }

    #[allow(clippy::too_many_arguments)]
    fn named_op(
        &mut self,
        is_filter: bool,
        subject: &Expr,
        name: &Arc<str>,
        args: &CallArgs,
        expr: &Expr,
        frame: Frame,
        builder: &mut Builder,
    ) -> Option<Op> {
        let keywords = self.keywords(args, expr)?;
        let (own, table) = match is_filter {
            true => (&self.settings.filters, filters::builtin()),
            false => (&self.settings.tests, tests::builtin()),
        };
        let overridden = own.contains(&**name);
        let found = table.iter().find(|(builtin, _)| *builtin == &**name).map(|(_, function)| *function);
        if !overridden && found.is_none() {
            return None;
        }
        let nodes = self.nodes(std::iter::once(subject).chain(args.exprs()), frame, builder)?;
        Some(match found {
            Some(function) if !overridden && keywords.is_empty() => Op::Builtin(function, nodes),
            _ => Op::Named(is_filter, name.clone(), nodes, keywords),
        })
    }
}

fn constant(value: &Const) -> Option<Value> {
    Some(match value {
        Const::None => python::none(),
        Const::Bool(value) => Value::from(*value),
        // larger ones are objects, of which every evaluation makes a new one
        Const::Int(value) => Value::from(i64::try_from(value).ok()?),
        Const::Float(value) => Value::from(*value),
        Const::Str(text) => Value::from(text.as_str()),
    })
}
