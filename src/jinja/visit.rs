//! Walks over the tree, in the order in which Jinja2's visitors see children.

use super::ast::{CallArgs, Expr, ExprKind, Piece, Signature, Stmt, StmtKind};

/// How a name occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameUse {
    /// It is read.
    Load,
    /// It is assigned (`set`, `for`).
    Store,
    /// It is declared (`with`, parameters).
    Param,
}

/// Direct children of an expression, in Jinja2's field order.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    fn call<'a>(node: Option<&'a Expr>, args: &'a CallArgs) -> Vec<&'a Expr> {
        node.into_iter().chain(args.exprs()).collect()
    }
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Name(_) | ExprKind::NsRef(..) => Vec::new(),
        ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Concat(items) => items.iter().collect(),
        ExprKind::Dict(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        ExprKind::CondExpr(cond) => [&cond.test, &cond.then].into_iter().chain(&cond.otherwise).collect(),
        ExprKind::Or(pair) | ExprKind::And(pair) | ExprKind::Binary(_, pair) => pair.iter().collect(),
        ExprKind::Not(node) | ExprKind::Unary(_, node) | ExprKind::Getattr(node, _) => vec![&**node],
        ExprKind::Compare(first, rest) => std::iter::once(&**first).chain(rest.iter().map(|(_, expr)| expr)).collect(),
        ExprKind::Getitem(node, index) => vec![&**node, &**index],
        ExprKind::Slice(parts) => parts.iter().flatten().collect(),
        ExprKind::Call(node, args) | ExprKind::Test(node, _, args) => call(Some(node), args),
        ExprKind::Filter(node, _, args) => call(node.as_deref(), args),
    }
}

/// Names of an expression, read as `use_` (targets are stores or parameters).
pub fn names_in_expr(expr: &Expr, use_: NameUse, see: &mut dyn FnMut(&str, NameUse)) {
    match &expr.kind {
        ExprKind::Name(name) => see(name, use_),
        ExprKind::NsRef(name, _) => see(name, NameUse::Load),
        _ => {
            for child in children(expr) {
                names_in_expr(child, use_, see);
            }
        }
    }
}

/// Names of statements; blocks are left out, as in Jinja2's search for undeclared names.
pub fn names_in_body(body: &[Stmt], see: &mut dyn FnMut(&str, NameUse)) {
    for stmt in body {
        names_in_stmt(stmt, see);
    }
}

fn names_in_signature(signature: &Signature, see: &mut dyn FnMut(&str, NameUse)) {
    for (name, _) in &signature.args {
        see(name, NameUse::Param);
    }
    for default in &signature.defaults {
        names_in_expr(default, NameUse::Load, see);
    }
}

fn names_in_stmt(stmt: &Stmt, see: &mut dyn FnMut(&str, NameUse)) {
    use NameUse::{Load, Param, Store};
    match &stmt.kind {
        StmtKind::Output(pieces) => {
            for piece in pieces {
                if let Piece::Expr(expr) = piece {
                    names_in_expr(expr, Load, see);
                }
            }
        }
        StmtKind::For(node) => {
            names_in_expr(&node.target, Store, see);
            names_in_expr(&node.iter, Load, see);
            names_in_body(&node.body, see);
            names_in_body(&node.otherwise, see);
            if let Some(test) = &node.test {
                names_in_expr(test, Load, see);
            }
        }
        StmtKind::If(branches, otherwise) => {
            for branch in branches {
                names_in_expr(&branch.test, Load, see);
                names_in_body(&branch.body, see);
            }
            names_in_body(otherwise, see);
        }
        StmtKind::Macro(_, signature, body) => {
            names_in_signature(signature, see);
            names_in_body(body, see);
        }
        StmtKind::CallBlock(call, signature, body) => {
            names_in_expr(call, Load, see);
            names_in_signature(signature, see);
            names_in_body(body, see);
        }
        StmtKind::FilterBlock(filter, body) => {
            names_in_body(body, see);
            names_in_expr(filter, Load, see);
        }
        StmtKind::With(pairs, body) => {
            for (target, _) in pairs {
                names_in_expr(target, Param, see);
            }
            for (_, value) in pairs {
                names_in_expr(value, Load, see);
            }
            names_in_body(body, see);
        }
        StmtKind::Block(_) | StmtKind::Break | StmtKind::Continue => {}
        StmtKind::Extends(expr) | StmtKind::ExprStmt(expr) => names_in_expr(expr, Load, see),
        StmtKind::Include(node) => names_in_expr(&node.template, Load, see),
        StmtKind::Import(node) => names_in_expr(&node.template, Load, see),
        StmtKind::FromImport(node) => names_in_expr(&node.template, Load, see),
        StmtKind::Assign(target, value) => {
            names_in_expr(target, Store, see);
            names_in_expr(value, Load, see);
        }
        StmtKind::AssignBlock(target, filter, body) => {
            names_in_expr(target, Store, see);
            if let Some(filter) = filter {
                names_in_expr(filter, Load, see);
            }
            names_in_body(body, see);
        }
        StmtKind::AutoEscape(value, body) => {
            names_in_expr(value, Load, see);
            names_in_body(body, see);
        }
    }
}

/// `find_undeclared`: which of the names are read before anything declares them.
pub fn undeclared(body: &[Stmt], names: &[&'static str]) -> Vec<&'static str> {
    let mut open: Vec<&'static str> = names.to_vec();
    let mut found = Vec::new();
    names_in_body(body, &mut |name, use_| {
        if let Some(at) = open.iter().position(|open| *open == name) {
            if use_ == NameUse::Load {
                if !found.contains(&open[at]) {
                    found.push(open[at]);
                }
            } else {
                open.swap_remove(at);
            }
        }
    });
    found
}

/// The bodies directly inside a statement.
pub fn bodies(stmt: &Stmt) -> Vec<&[Stmt]> {
    match &stmt.kind {
        StmtKind::For(node) => vec![&node.body, &node.otherwise],
        StmtKind::If(branches, otherwise) => {
            branches.iter().map(|branch| branch.body.as_slice()).chain([otherwise.as_slice()]).collect()
        }
        StmtKind::Macro(_, _, body)
        | StmtKind::CallBlock(_, _, body)
        | StmtKind::FilterBlock(_, body)
        | StmtKind::With(_, body)
        | StmtKind::AssignBlock(_, _, body)
        | StmtKind::AutoEscape(_, body) => vec![body],
        StmtKind::Block(block) => vec![&block.body],
        _ => Vec::new(),
    }
}

/// Calls `see` on every statement, outer ones first.
pub fn statements<'a>(body: &'a [Stmt], see: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        see(stmt);
        for inner in bodies(stmt) {
            statements(inner, see);
        }
    }
}
