//! Constant folding as Jinja2's optimizer does it while it compiles.
//!
//! What folding computes is what the run time would compute, so only its failures show: most make the optimizer give up on
//! a node, but some leave it and end the compilation, even for code that would never run.

use std::sync::Arc;

use super::ast::{BinOp, CallArgs, CompareOp, Const, Expr, ExprKind};
use super::env::{Cx, Env};
use super::undefined::Undefined;
use super::visit::children;
use crate::python::{self, Args, Kwarg, Plain, PyErr, PyResult, Slice, Value, object};

/// Filters that Jinja2 gives the context: they are never folded.
const WITH_CONTEXT: [&str; 6] = ["map", "random", "reject", "rejectattr", "select", "selectattr"];
/// Bits of an integer (a few less than 4,300 digits) that Python writes into generated code in any case.
const MAX_BITS: u64 = 14_280;

/// The optimizer for one environment.
#[derive(Clone)]
pub(crate) struct Folder {
    cx: Cx,
}

impl std::fmt::Debug for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Folder")
    }
}

/// `Some` for a constant, `None` for nodes that raise `Impossible`; an error is one that the optimizer lets through.
type Folded = PyResult<Option<Value>>;

impl Folder {
    pub fn new(run: &Arc<Env>, autoescape: bool) -> Self {
        Folder { cx: Cx { env: run.clone(), autoescape } }
    }

    /// What visiting an expression with the optimizer raises, if anything.
    pub fn check(&self, expr: &Expr) -> PyResult<()> {
        if !may_escape(expr) {
            return Ok(());
        }
        match self.fold(expr)? {
            Some(value) => writable(&value),
            None => Ok(()),
        }
    }

    /// True when the expression as a whole is a constant that can be written into code.
    pub fn folds(&self, expr: &Expr) -> bool {
        matches!(self.fold(expr), Ok(folded) if printable(folded.as_ref()))
    }

    /// The same of every part of an expression and, last, of itself; an error that the optimizer lets through ends it.
    pub fn folds_parts<'a>(&self, expr: &'a Expr, see: &mut dyn FnMut(&'a Expr, bool)) -> PyResult<()> {
        self.fold_parts(expr, &mut |part, folded| see(part, printable(folded))).map(drop)
    }

    /// True for a power whose base becomes a negative literal in Python code: there the minus applies to the whole power.
    pub fn negates_power(&self, power: &Expr, base: &Expr) -> bool {
        let Ok(Some(folded)) = self.fold(base) else { return false };
        let number = matches!(python::view(&folded), python::View::Int(_) | python::View::Float(_))
            || python::downcast::<python::Int>(&folded).is_some();
        number
            && python::repr(&folded, &mut Plain::default()).is_ok_and(|text| text.starts_with('-'))
            && !matches!(self.fold(power), Ok(Some(_)))
    }

    fn fold(&self, expr: &Expr) -> Folded {
        self.fold_parts(expr, &mut |_, _| {})
    }

    /// Folds the parts of a node, then the node; `see` is shown each of them.
    fn fold_parts<'a>(&self, expr: &'a Expr, see: &mut dyn FnMut(&'a Expr, Option<&Value>)) -> Folded {
        let parts = parts(expr).into_iter().map(|child| self.fold_parts(child, see)).collect::<PyResult<Vec<_>>>()?;
        let folded = self.node(expr, &parts)?;
        see(expr, folded.as_ref());
        if folded.is_none() {
            for part in parts.iter().flatten() {
                writable(part)?;
            }
        }
        Ok(folded)
    }

    /// `as_const` of a node whose children gave `parts`.
    fn node(&self, expr: &Expr, parts: &[Option<Value>]) -> Folded {
        let it = &mut Plain::default();
        let part = |index: usize| parts.get(index).and_then(Clone::clone);
        let all = || parts.iter().cloned().collect::<Option<Vec<Value>>>();
        match &expr.kind {
            ExprKind::Const(value) => Ok(Some(match value {
                Const::None => python::none(),
                Const::Bool(value) => Value::from(*value),
                Const::Int(value) => python::int(value.clone()),
                Const::Float(value) => Value::from(*value),
                Const::Str(text) => Value::from(text.as_str()),
            })),
            ExprKind::Name(_) | ExprKind::NsRef(..) | ExprKind::Call(..) | ExprKind::Slice(_) => Ok(None),
            ExprKind::Tuple(_) => Ok(all().map(python::tuple)),
            ExprKind::List(_) => Ok(all().map(python::list)),
            ExprKind::Dict(pairs) => {
                let mut items = Vec::with_capacity(pairs.len());
                for at in 0..pairs.len() {
                    let (Some(key), Some(value)) = (part(2 * at), part(2 * at + 1)) else { return Ok(None) };
                    python::hash_key(&key)?;
                    items.push((key, value));
                }
                python::dict(items).map(Some)
            }
            ExprKind::CondExpr(cond) => {
                let Some(test) = part(0) else { return Ok(None) };
                if python::truth(&test, it)? {
                    return Ok(part(1));
                }
                Ok(if cond.otherwise.is_some() { part(2) } else { None })
            }
            ExprKind::Or(_) | ExprKind::And(_) => {
                let Some(left) = part(0) else { return Ok(None) };
                let decided = python::truth(&left, it)? == matches!(expr.kind, ExprKind::Or(_));
                Ok(if decided { Some(left) } else { part(1) })
            }
            ExprKind::Concat(_) => {
                let mut text = String::new();
                for part in parts {
                    let Some(part) = part else { return Ok(None) };
                    match python::str(part, it) {
                        Ok(part) => text.push_str(&part),
                        // partita's own refusals are for the run time to make
                        Err(error) if is_own(&error) => return Ok(None),
                        Err(error) => return Err(error),
                    }
                }
                Ok(Some(Value::from(text)))
            }
            ExprKind::Compare(_, rest) => {
                let Some(mut value) = part(0) else { return Ok(None) };
                for (at, (op, _)) in rest.iter().enumerate() {
                    let Some(next) = part(at + 1) else { return Ok(None) };
                    match compare(*op, &value, &next) {
                        Ok(true) => value = next,
                        Ok(false) => return Ok(Some(Value::from(false))),
                        Err(_) => return Ok(None),
                    }
                }
                Ok(Some(Value::from(true)))
            }
            ExprKind::Binary(op, _) => {
                let (Some(left), Some(right)) = (part(0), part(1)) else { return Ok(None) };
                Ok(python::binary(*op, &left, &right, it).ok())
            }
            ExprKind::Not(_) => Ok(part(0).and_then(|value| python::truth(&value, it).ok()).map(|it| Value::from(!it))),
            ExprKind::Unary(op, _) => Ok(part(0).and_then(|value| python::unary(*op, &value, it).ok())),
            ExprKind::Getattr(_, name) => Ok(part(0).and_then(|value| self.cx.env.getattr(&value, name, it).ok())),
            ExprKind::Getitem(_, index) => {
                let Some(value) = part(0) else { return Ok(None) };
                if let ExprKind::Slice(bounds) = &index.kind {
                    let mut folded = parts.iter().skip(1).cloned();
                    let bounds = bounds.each_ref().map(|bound| match bound {
                        Some(_) => folded.next().flatten(),
                        None => Some(python::none()),
                    });
                    let [Some(start), Some(stop), Some(step)] = bounds else { return Ok(None) };
                    return Ok(self.slice(&value, start, stop, step));
                }
                Ok(part(1).and_then(|key| self.cx.env.getitem(&value, &key, it).ok()))
            }
            ExprKind::Filter(node, name, args) => {
                if node.is_none() || WITH_CONTEXT.contains(&&**name) {
                    return Ok(None);
                }
                Ok(self.apply(self.cx.env.filter(name), args, parts))
            }
            ExprKind::Test(_, name, args) => Ok(self.apply(self.cx.env.test(name), args, parts)),
        }
    }

    fn slice(&self, value: &Value, start: Value, stop: Value, step: Value) -> Option<Value> {
        match python::slice(value, &start, &stop, &step, &mut Plain::default()) {
            Ok(value) => Some(value),
            Err(error) if self.cx.env.is_missing(&error) => {
                Some(Undefined::element(self.cx.env.undefined, value, &object(Slice { start, stop, step })))
            }
            Err(_) => None,
        }
    }

    /// A filter or test; its children are the subject, then the arguments.
    fn apply(&self, found: Option<&super::Filter>, args: &CallArgs, parts: &[Option<Value>]) -> Option<Value> {
        if args.dyn_args.is_some() || args.dyn_kwargs.is_some() {
            return None;
        }
        let values = parts.iter().cloned().collect::<Option<Vec<Value>>>()?;
        let (subject, values) = values.split_first()?;
        let (pos, keywords) = values.split_at_checked(args.args.len())?;
        let kw: Vec<Kwarg> =
            args.kwargs.iter().zip(keywords).map(|((name, _), value)| (name.clone(), value.clone())).collect();
        found?.apply(&self.cx, subject, &Args { pos, kw: &kw }, &mut Plain::default()).ok()
    }
}

fn printable(folded: Option<&Value>) -> bool {
    folded.is_some_and(|value| python::str(value, &mut Plain::default()).is_ok())
}

/// Children of a node, those of a subscript's slice among them: a slice itself is no constant.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Getitem(node, index) if matches!(index.kind, ExprKind::Slice(_)) => {
            std::iter::once(&**node).chain(children(index)).collect()
        }
        _ => children(expr),
    }
}

/// Only these nodes let errors through; everything else gives up. Powers and repetitions make integers too long to write.
fn may_escape(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Concat(_)
            | ExprKind::CondExpr(_)
            | ExprKind::Or(_)
            | ExprKind::And(_)
            | ExprKind::Dict(_)
            | ExprKind::Binary(BinOp::Pow | BinOp::Mul, _)
    ) || children(expr).into_iter().any(may_escape)
}

fn is_own(error: &PyErr) -> bool {
    matches!(&*error.class, "Unsupported" | "LimitExceeded")
}

/// Constants end up in Python code by their `repr`, which fails for very long integers.
fn writable(value: &Value) -> PyResult<()> {
    let long = python::downcast::<python::Int>(value).is_some_and(|int| int.0.bits() > MAX_BITS);
    match if long { python::repr(value, &mut Plain::default()).err() } else { None } {
        Some(error) if !is_own(&error) => Err(error),
        _ => Ok(()),
    }
}

fn compare(op: CompareOp, a: &Value, b: &Value) -> PyResult<bool> {
    let it = &mut Plain::default();
    match op.order() {
        Some(op) => python::compare(op, a, b, it),
        None => python::contains(b, a, it).map(|found| found == (op == CompareOp::In)),
    }
}
