//! Variables that functions share: Python's closures.
//!
//! A macro of minijinja keeps the values it finds where it is declared; a function of Python sees the variables around it
//! as they are when it runs. Where somebody could tell, a variable becomes a cell: an object made when the function that
//! the variable belongs to starts, which everybody reads and writes. A unit is lowered once to learn which these are, and
//! again if there are any.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::scope::SymbolsId;
use super::{Frame, Lowering, Result, Unit};

/// How a variable is used by functions inside the one it belongs to.
#[derive(Debug, Clone, Copy, Default)]
struct Capture {
    /// By one that is declared where minijinja has another scope, or inside of another function.
    away: bool,
}

/// A function of the code that Jinja2 generates: a unit, a macro, a recursive loop, the filter of a loop.
#[derive(Debug, Default)]
struct Function {
    number: usize,
    /// Loops around the current place.
    loops: usize,
    locals: BTreeSet<Arc<str>>,
    used: BTreeSet<Arc<str>>,
    captured: BTreeMap<Arc<str>, Capture>,
    /// Variables that are assigned, beyond their first value.
    stored: BTreeSet<Arc<str>>,
    /// Variables that lose their value when their frame is left.
    left: BTreeSet<Arc<str>>,
}

/// What is known of the functions of a unit.
#[derive(Debug, Default)]
pub(super) struct Functions {
    open: Vec<Function>,
    next: usize,
    /// Of the first lowering: variables of each function, and which of them are shared.
    locals: Vec<BTreeSet<Arc<str>>>,
    cells: Vec<BTreeSet<Arc<str>>>,
    /// Parameters that are not made cells yet.
    pub(super) plain: Vec<Arc<str>>,
    /// Variables whose values are in temporaries for now.
    pub(super) renamed: Vec<(Arc<str>, String)>,
    /// The same, being found.
    seen: BTreeMap<usize, (BTreeSet<Arc<str>>, BTreeSet<Arc<str>>)>,
}

impl Lowering<'_> {
    /// Lowers a unit, twice if variables of it are shared.
    pub(super) fn unit(&mut self, lower: impl Fn(&mut Self) -> Result<Unit>) -> Result<Unit> {
        self.functions = Functions::default();
        let before = (self.extends_so_far, self.known_extends);
        let unit = lower(self)?;
        let seen = std::mem::take(&mut self.functions.seen);
        if seen.values().all(|(_, cells)| cells.is_empty()) {
            return Ok(unit);
        }
        (self.extends_so_far, self.known_extends) = before;
        let (locals, cells) = seen.into_values().unzip();
        self.functions = Functions { locals, cells, ..Functions::default() };
        lower(self)
    }

    /// Enters a function, and makes its cells.
    pub(super) fn enter_function(&mut self) {
        let number = self.functions.next;
        self.functions.next += 1;
        self.functions.open.push(Function { number, ..Function::default() });
    }

    /// Makes the cells of the function just entered, but for its parameters.
    pub(super) fn make_cells(&mut self, parameters: &[Arc<str>]) {
        let Some(function) = self.functions.open.last() else { return };
        let cells = self.functions.cells.get(function.number).cloned().unwrap_or_default();
        for ident in cells {
            if !parameters.contains(&ident) {
                self.out.tag(&format!("set {ident} = none|new_cell"));
            }
        }
    }

    /// Leaves a function.
    pub(super) fn leave_function(&mut self) {
        let Some(function) = self.functions.open.pop() else { return };
        let mut cells = BTreeSet::new();
        let mut outer = self.functions.open.last_mut();
        let captured = function.captured.iter().map(|(ident, capture)| (ident, *capture));
        for (ident, capture) in captured {
            if function.locals.contains(ident) {
                let left = function.left.contains(ident);
                if left || (capture.away && function.stored.contains(ident)) {
                    cells.insert(ident.clone());
                }
            } else if let Some(outer) = &mut outer {
                outer.captured.entry(ident.clone()).or_default().away = true;
            }
        }
        if let Some(outer) = outer {
            for ident in function.used.difference(&function.locals) {
                outer.used.insert(ident.clone());
                outer.captured.entry(ident.clone()).or_default().away |= outer.loops > 0;
            }
        }
        self.functions.seen.insert(function.number, (function.locals, cells));
    }

    /// Enters or leaves a loop of minijinja's.
    pub(super) fn in_loop(&mut self, enter: bool) {
        if let Some(function) = self.functions.open.last_mut() {
            function.loops = if enter { function.loops + 1 } else { function.loops.saturating_sub(1) };
        }
    }

    /// A variable belongs to the current function.
    pub(super) fn own(&mut self, ident: &Arc<str>) {
        if let Some(function) = self.functions.open.last_mut() {
            function.locals.insert(ident.clone());
        }
    }

    /// A variable is read.
    pub(super) fn read(&mut self, ident: &Arc<str>) {
        if let Some(function) = self.functions.open.last_mut() {
            function.used.insert(ident.clone());
        }
    }

    /// A variable is assigned.
    pub(super) fn stored(&mut self, ident: &Arc<str>) {
        if let Some(function) = self.functions.open.last_mut() {
            function.stored.insert(ident.clone());
        }
    }

    /// True when a variable is a cell.
    pub(super) fn is_cell(&self, ident: &str) -> bool {
        if self.functions.plain.iter().any(|plain| &**plain == ident) {
            return false;
        }
        for function in self.functions.open.iter().rev() {
            let number = function.number;
            if self.functions.locals.get(number).is_some_and(|locals| locals.contains(ident)) {
                return self.functions.cells.get(number).is_some_and(|cells| cells.contains(ident));
            }
        }
        false
    }

    /// The temporary that holds a variable's value for now.
    pub(super) fn renamed(&self, ident: &str) -> Option<String> {
        self.functions.renamed.iter().find(|(own, _)| &**own == ident).map(|(_, temporary)| temporary.clone())
    }

    /// The code that reads a variable. Without a value, those that Jinja2 takes for always set print their sentinel.
    pub(super) fn reading(&mut self, ident: &Arc<str>, name: &str, frame: Frame) -> String {
        self.read(ident);
        if let Some(temporary) = self.renamed(ident) {
            return temporary;
        }
        if !self.is_cell(ident) {
            return ident.to_string();
        }
        match self.scopes.is_parameter(frame.symbols, ident) {
            true => format!("{ident}|cell_value"),
            false => format!("{ident}|cell_value(\"{name}\")"),
        }
    }

    /// Emits `set variable = value`.
    pub(super) fn set(
        &mut self,
        ident: &Arc<str>,
        name: &str,
        frame: Frame,
        value: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.stored(ident);
        let cell = self.is_cell(ident);
        let parameter = self.scopes.is_parameter(frame.symbols, ident);
        let (open, close) = if cell { ("|set_cell(", ") %}") } else { (" = ", " %}") };
        self.out.push(if cell { "{% set unused = " } else { "{% set " });
        self.out.push(ident);
        self.out.push(open);
        value(self)?;
        if self.functions.cells.iter().any(|cells| !cells.is_empty()) && !parameter {
            // the sentinel, read from a variable that is taken for always set, leaves this one without a value
            self.out.push(&format!("|unless_missing(\"{name}\")"));
        }
        self.out.push(close);
        Ok(())
    }

    /// Emits `set variable = code`.
    pub(super) fn set_code(&mut self, ident: &Arc<str>, code: &str) {
        if self.is_cell(ident) {
            self.out.tag(&format!("set unused = {ident}|set_cell({code})"));
        } else {
            self.out.tag(&format!("set {ident} = {code}"));
        }
    }

    /// The frame ends inside its function: its variables have no value any more.
    pub(super) fn leave_frame(&mut self, symbols: SymbolsId) {
        let idents: Vec<Arc<str>> = self.scopes.loads(symbols).map(|(ident, _)| ident.clone()).collect();
        for ident in idents {
            if self.is_cell(&ident) {
                self.out.tag(&format!("set unused = {ident}|clear_cell"));
            }
            if let Some(function) = self.functions.open.last_mut() {
                function.left.insert(ident);
            }
        }
    }
}
