//! Where it shows what Jinja2's optimizer computes while compiling.
//!
//! Folding is invisible except in three ways. A constant that is printed in native mode has become text before anything is
//! joined. An operand that folds to an infinite or undefined float is written into Python code by name, and no name `inf`
//! exists there. And what a constant `or` or `and` decides at compile time is never looked at again: of that, what literals
//! decide is built; COMPATIBILITY.md names the rest.

use super::super::ast::{Const, Expr, ExprKind};
use super::super::visit::children;
use crate::python::repr_float;

/// The text of a literal.
pub(super) fn literal_text(expr: &Expr) -> Option<String> {
    let ExprKind::Const(value) = &expr.kind else { return None };
    Some(match value {
        Const::None => "None".to_owned(),
        Const::Bool(true) => "True".to_owned(),
        Const::Bool(false) => "False".to_owned(),
        Const::Int(value) => value.to_string(),
        Const::Float(value) => repr_float(*value),
        Const::Str(text) => text.clone(),
    })
}

/// True when computing the expression could give a float without a literal form: it has a float in it or makes one.
pub(super) fn may_be_infinite(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(Const::Float(value)) => value.is_infinite() || value.abs() > 1e100,
        ExprKind::Filter(_, name, _) if &**name == "float" => true,
        _ => children(expr).into_iter().any(may_be_infinite),
    }
}

/// The truth of a literal, which decides an `and` or `or` before it is compiled.
pub(super) fn literal_truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Const(value) => Some(match value {
            Const::None => false,
            Const::Bool(value) => *value,
            Const::Int(value) => value.sign() != num_bigint::Sign::NoSign,
            Const::Float(value) => *value != 0.0,
            Const::Str(text) => !text.is_empty(),
        }),
        ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Dict(_) => {
            let parts = children(expr);
            parts.iter().all(|part| literal_truth(part).is_some()).then_some(!parts.is_empty())
        }
        _ => None,
    }
}
