//! Native mode: constants that Jinja2 turns into text while compiling.

use super::super::ast::{Const, Expr, ExprKind};
use crate::python::repr_float;

/// The text of a literal: `NativeCodeGenerator` joins constants as strings before anything is evaluated, so an infinite
/// float, for instance, ends as the string `inf`.
pub(super) fn constant_text(expr: &Expr) -> Option<String> {
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
