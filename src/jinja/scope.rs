//! Which variable a name means, decided before anything runs: the rules of `jinja2.idtracking`.
//!
//! Every frame of a template gets its own level, and a name assigned in a frame becomes a variable of that level
//! (`l_1_x`). So minijinja's own scoping never decides anything.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::ast::{Branch, Expr, For, Piece, Stmt, StmtKind};
use super::visit::{NameUse, names_in_expr};

/// How a variable gets its first value when its frame is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Load {
    /// It is a parameter: whoever enters the frame sets it.
    Parameter,
    /// From the context, by name.
    Resolve(Arc<str>),
    /// From a variable of an outer frame.
    Alias(Arc<str>),
    /// It is undefined until assigned.
    Undefined,
}

/// Index of a frame's symbols.
pub type SymbolsId = usize;

#[derive(Debug, Clone, Default)]
struct Symbols {
    level: usize,
    parent: Option<SymbolsId>,
    refs: IndexMap<Arc<str>, Arc<str>>,
    loads: IndexMap<Arc<str>, Load>,
    stores: BTreeSet<Arc<str>>,
}

/// The symbols of all frames of a template.
#[derive(Debug, Default)]
pub struct Scopes {
    frames: Vec<Symbols>,
}

/// The variable of a name: minijinja's identifiers are ASCII, so other names are spelled out under a prefix of their own.
fn identifier(level: usize, name: &str) -> String {
    if name.is_ascii() {
        return format!("l_{level}_{name}");
    }
    let mut ident = format!("u_{level}_");
    for c in name.chars() {
        match c {
            '_' => ident.push_str("__"),
            c if c.is_ascii() => ident.push(c),
            c => ident.push_str(&format!("_{:x}_", u32::from(c))),
        }
    }
    ident
}

/// Part of a `for` loop that has a frame of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForPart {
    /// The body.
    Body,
    /// The `else` body.
    Else,
    /// The filter.
    Test,
}

impl Scopes {
    /// A frame inside another, or an outermost one.
    pub fn enter(&mut self, parent: Option<SymbolsId>) -> SymbolsId {
        let level = parent.map_or(0, |parent| self.frames[parent].level + 1);
        self.frames.push(Symbols { level, parent, ..Symbols::default() });
        self.frames.len() - 1
    }

    fn define(&mut self, id: SymbolsId, name: &Arc<str>, load: Load) -> Arc<str> {
        let frame = &mut self.frames[id];
        let ident: Arc<str> = identifier(frame.level, name).into();
        frame.refs.insert(name.clone(), ident.clone());
        frame.loads.insert(ident.clone(), load);
        ident
    }

    /// The variable a name means in a frame.
    pub fn find(&self, id: SymbolsId, name: &str) -> Option<&Arc<str>> {
        let mut at = Some(id);
        while let Some(id) = at {
            if let Some(found) = self.frames[id].refs.get(name) {
                return Some(found);
            }
            at = self.frames[id].parent;
        }
        None
    }

    /// The loads of a frame, in order.
    pub fn loads(&self, id: SymbolsId) -> impl Iterator<Item = (&Arc<str>, &Load)> {
        self.frames[id].loads.iter()
    }

    /// True when a variable is a parameter where it gets its first value (`find_load`).
    pub fn is_parameter(&self, id: SymbolsId, ident: &str) -> bool {
        let mut at = Some(id);
        while let Some(id) = at {
            if let Some(load) = self.frames[id].loads.get(ident) {
                return *load == Load::Parameter;
            }
            at = self.frames[id].parent;
        }
        false
    }

    /// The name behind a variable of a frame.
    pub fn name_of(&self, id: SymbolsId, ident: &str) -> Option<&Arc<str>> {
        self.frames[id].refs.iter().find(|(_, own)| &***own == ident).map(|(name, _)| name)
    }

    /// Every assigned name visible in a frame with its variable, innermost first: what included templates get.
    pub fn dump_stores(&self, id: SymbolsId) -> Vec<(Arc<str>, Arc<str>)> {
        let mut found: IndexMap<Arc<str>, Arc<str>> = IndexMap::new();
        let mut at = Some(id);
        while let Some(frame) = at {
            for name in &self.frames[frame].stores {
                if !found.contains_key(name)
                    && let Some(ident) = self.find(id, name)
                {
                    found.insert(name.clone(), ident.clone());
                }
            }
            at = self.frames[frame].parent;
        }
        found.into_iter().collect()
    }

    /// Declares a parameter.
    pub fn declare_parameter(&mut self, id: SymbolsId, name: &str) -> Arc<str> {
        let name: Arc<str> = name.into();
        self.frames[id].stores.insert(name.clone());
        self.define(id, &name, Load::Parameter)
    }

    fn load(&mut self, id: SymbolsId, name: &str) {
        if self.find(id, name).is_none() {
            let name: Arc<str> = name.into();
            self.define(id, &name, Load::Resolve(name.clone()));
        }
    }

    fn store(&mut self, id: SymbolsId, name: &str) {
        let name: Arc<str> = name.into();
        self.frames[id].stores.insert(name.clone());
        if self.frames[id].refs.contains_key(&name) {
            return;
        }
        let outer = self.frames[id].parent.and_then(|parent| self.find(parent, &name)).cloned();
        let load = outer.map_or(Load::Undefined, Load::Alias);
        self.define(id, &name, load);
    }

    fn expr(&mut self, id: SymbolsId, expr: &Expr, use_: NameUse) {
        names_in_expr(expr, use_, &mut |name, use_| match use_ {
            NameUse::Load => self.load(id, name),
            NameUse::Store => self.store(id, name),
            NameUse::Param => {
                self.declare_parameter(id, name);
            }
        });
    }

    /// Takes in the statements of a frame.
    pub fn body(&mut self, id: SymbolsId, body: &[Stmt]) {
        for stmt in body {
            self.stmt(id, stmt);
        }
    }

    fn stmt(&mut self, id: SymbolsId, stmt: &Stmt) {
        use NameUse::{Load, Store};
        match &stmt.kind {
            StmtKind::Output(pieces) => {
                for piece in pieces {
                    if let Piece::Expr(expr) = piece {
                        self.expr(id, expr, Load);
                    }
                }
            }
            StmtKind::For(node) => self.expr(id, &node.iter, Load),
            StmtKind::If(branches, otherwise) => self.branches(id, branches, otherwise),
            StmtKind::Macro(name, _, _) => self.store(id, name),
            StmtKind::CallBlock(call, _, _) => self.expr(id, call, Load),
            StmtKind::FilterBlock(filter, _) => self.expr(id, filter, Load),
            StmtKind::With(pairs, _) => {
                for (_, value) in pairs {
                    self.expr(id, value, Load);
                }
            }
            StmtKind::Block(_) | StmtKind::AutoEscape(..) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Extends(expr) | StmtKind::ExprStmt(expr) => self.expr(id, expr, Load),
            StmtKind::Include(node) => self.expr(id, &node.template, Load),
            StmtKind::Import(node) => {
                self.expr(id, &node.template, Load);
                self.store(id, &node.target);
            }
            StmtKind::FromImport(node) => {
                self.expr(id, &node.template, Load);
                for (_, alias) in &node.names {
                    self.store(id, alias);
                }
            }
            StmtKind::Assign(target, value) => {
                self.expr(id, value, Load);
                self.expr(id, target, Store);
            }
            StmtKind::AssignBlock(target, _, _) => self.expr(id, target, Store),
        }
    }

    fn branches(&mut self, id: SymbolsId, branches: &[Branch], otherwise: &[Stmt]) {
        let Some((first, rest)) = branches.split_first() else { return };
        self.expr(id, &first.test, NameUse::Load);
        let body = self.branch(id, |scopes, copy| scopes.body(copy, &first.body));
        let elifs = self.branch(id, |scopes, copy| {
            for branch in rest {
                // each `elif` is an `if` of its own inside the same branch
                scopes.branches(copy, std::slice::from_ref(branch), &[]);
            }
        });
        let last = self.branch(id, |scopes, copy| scopes.body(copy, otherwise));
        self.merge(id, [body, elifs, last]);
    }

    fn branch(&mut self, id: SymbolsId, visit: impl FnOnce(&mut Self, SymbolsId)) -> Symbols {
        let copy = self.frames[id].clone();
        self.frames.push(copy);
        let copy = self.frames.len() - 1;
        visit(self, copy);
        self.frames.pop().unwrap_or_default()
    }

    fn merge(&mut self, id: SymbolsId, branches: [Symbols; 3]) {
        let mut stores: BTreeSet<Arc<str>> = branches.iter().flat_map(|branch| branch.stores.iter().cloned()).collect();
        stores.retain(|name| !self.frames[id].stores.contains(name));
        for branch in branches {
            let frame = &mut self.frames[id];
            frame.refs.extend(branch.refs);
            frame.loads.extend(branch.loads);
            frame.stores.extend(branch.stores);
        }
        for name in stores {
            let Some(target) = self.find(id, &name).cloned() else { continue };
            let outer = self.frames[id].parent.and_then(|parent| self.find(parent, &name)).cloned();
            let load = outer.map_or_else(|| Load::Resolve(name.clone()), Load::Alias);
            self.frames[id].loads.insert(target, load);
        }
    }

    /// Takes in one part of a `for` loop.
    pub fn for_part(&mut self, id: SymbolsId, node: &For, part: ForPart) {
        if part != ForPart::Else {
            self.expr(id, &node.target, NameUse::Param);
        }
        match part {
            ForPart::Body => self.body(id, &node.body),
            ForPart::Else => self.body(id, &node.otherwise),
            ForPart::Test => {
                if let Some(test) = &node.test {
                    self.expr(id, test, NameUse::Load);
                }
            }
        }
    }

    /// Takes in the frame of a `with`: its targets, then its body.
    pub fn with(&mut self, id: SymbolsId, pairs: &[(Expr, Expr)], body: &[Stmt]) {
        for (target, _) in pairs {
            self.expr(id, target, NameUse::Param);
        }
        self.body(id, body);
    }

    /// Takes in an expression that is read in the frame.
    pub fn read(&mut self, id: SymbolsId, expr: &Expr) {
        self.expr(id, expr, NameUse::Load);
    }
}
