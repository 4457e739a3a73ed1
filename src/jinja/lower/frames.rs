//! What happens when a frame is entered: every variable of it gets the value it starts with.

use std::sync::Arc;

use super::super::ast::{ExprKind, Stmt, StmtKind};
use super::super::scope::{Load, SymbolsId};
use super::super::visit::{NameUse, bodies, names_in_body, names_in_expr};
use super::Lowering;

impl Lowering<'_> {
    /// Emits the loads of a frame. With the body given, a variable that is assigned before anything can read it is left
    /// out.
    pub(super) fn enter_frame(&mut self, symbols: SymbolsId, body: Option<&[Stmt]>) {
        let loads: Vec<(Arc<str>, Load)> =
            self.scopes.loads(symbols).map(|(ident, load)| (ident.clone(), load.clone())).collect();
        for (ident, load) in loads {
            self.own(&ident);
            match load {
                Load::Parameter => {}
                Load::Resolve(name) => {
                    let value = format!("{}|resolve", quoted(&name));
                    self.load(&ident, &name, &value);
                }
                Load::Alias(outer) => {
                    self.read(&outer);
                    let Some(name) = self.scopes.name_of(symbols, &ident).cloned() else { continue };
                    let value = match self.is_cell(&outer) {
                        true => format!("{outer}|cell_value({})", quoted(&name)),
                        false => outer.to_string(),
                    };
                    self.load(&ident, &name, &value);
                }
                Load::Undefined => {
                    let Some(name) = self.scopes.name_of(symbols, &ident).cloned() else { continue };
                    if self.is_cell(&ident) {
                        self.out.tag(&format!("set unused = {ident}|clear_cell"));
                        continue;
                    }
                    if body.is_some_and(|body| assigned_first(body, &name)) {
                        continue;
                    }
                    let value = format!("{}|missing", quoted(&name));
                    self.set_code(&ident, &value);
                }
            }
        }
    }

    /// Gives a variable its first value; a cell gets none if there is none.
    fn load(&mut self, ident: &Arc<str>, name: &str, value: &str) {
        if self.is_cell(ident) {
            self.out.tag(&format!("set unused = {ident}|load_cell({value}, {})", quoted(name)));
        } else {
            self.out.tag(&format!("set {ident} = {value}"));
        }
    }

    /// True when a variable of the frame is a cell, which gets its value anew in every turn.
    pub(super) fn has_cells(&self, symbols: SymbolsId) -> bool {
        self.scopes.loads(symbols).any(|(ident, _)| self.is_cell(ident))
    }
}

/// A name as a constant.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// True when a statement of the body itself assigns the name before anything could read it.
fn assigned_first(body: &[Stmt], name: &str) -> bool {
    for stmt in body {
        let reads = |expr| {
            let mut found = false;
            names_in_expr(expr, NameUse::Load, &mut |seen, _| found |= seen == name);
            found
        };
        match &stmt.kind {
            StmtKind::Output(_) => {}
            StmtKind::Assign(target, value) => {
                if reads(value) {
                    return false;
                }
                match &target.kind {
                    ExprKind::Name(own) if &**own == name => return true,
                    ExprKind::Tuple(items)
                        if items.iter().any(|item| matches!(&item.kind, ExprKind::Name(own) if &**own == name)) =>
                    {
                        return true;
                    }
                    _ => {}
                }
            }
            StmtKind::Macro(own, signature, _) if &**own == name => {
                return !signature.defaults.iter().any(reads);
            }
            StmtKind::AssignBlock(target, _, body) => {
                if dumps_locals(body) {
                    return false;
                }
                if matches!(&target.kind, ExprKind::Name(own) if &**own == name) {
                    return !mentions(body, name);
                }
            }
            _ => {}
        }
        if mentions(std::slice::from_ref(stmt), name) || dumps_locals(std::slice::from_ref(stmt)) {
            return false;
        }
    }
    false
}

fn mentions(body: &[Stmt], name: &str) -> bool {
    let mut found = false;
    names_in_body(body, &mut |seen, _| found |= seen == name);
    found
}

/// True when the statements hand all variables to another template or block.
fn dumps_locals(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Include(_) | StmtKind::Import(_) | StmtKind::FromImport(_) | StmtKind::Block(_) => true,
        _ => bodies(stmt).into_iter().any(dumps_locals),
    })
}

/// True when the statements declare functions that could keep a variable of the frame.
pub(super) fn declares_functions(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Macro(..) | StmtKind::CallBlock(..) => true,
        StmtKind::For(node) if node.recursive || node.test.is_some() => true,
        _ => bodies(stmt).into_iter().any(declares_functions),
    })
}
