//! Lowering: the tree to minijinja source in filter form.
//!
//! A template becomes units, as Jinja2's compiler makes functions of it: its root and each of its blocks. A unit is a
//! minijinja template of its own. In it every operation is a filter of the run time (`a|add(b)`, `x|attr("name")`), every
//! variable has the name that scoping gave it, and each value a frame starts with is assigned explicitly. What minijinja
//! contributes is control flow, captures, macros' calling convention and output.

mod cells;
mod code;
mod constants;
mod exprs;
mod flow;
mod frames;
mod statements;
mod writer;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::TemplateError;
use super::ast::{Expr, Span, Stmt, StmtKind, Template};
use super::code::Codes;
use super::fold::Folder;
use super::scope::{Scopes, SymbolsId};
use super::trace::{Lines, Trace, mark};
use super::visit::{statements, undeclared};

pub use writer::Place;
use writer::Writer;

/// What the lowering must know of the environment.
#[derive(Debug)]
pub struct Settings<'e> {
    /// Native mode: output is collected as values.
    pub native: bool,
    /// Filters that replace Jinja2's own or add to them.
    pub filters: HashSet<&'e str>,
    /// Tests that replace Jinja2's own or add to them.
    pub tests: HashSet<&'e str>,
    /// The template's name, which messages mention.
    pub name: Option<&'e str>,
    /// What is written is counted.
    pub exact: bool,
    /// What is marked with where it comes from.
    pub trace: Trace,
    /// The lines of the source, where something is marked.
    pub lines: Option<Lines>,
    /// Jinja2's optimizer.
    pub folder: Folder,
    /// The template may be loaded by another one: assignments at its top must be visible to that.
    pub exports: bool,
    /// Where codes go.
    pub codes: &'e Codes,
}

/// One unit of a lowered template.
#[derive(Debug)]
pub struct Unit {
    /// The block it is, or the root.
    pub block: Option<Arc<str>>,
    /// minijinja source.
    pub source: String,
    /// Where its parts come from.
    pub places: Vec<Place>,
    /// The size of its codes, in bytes of source that say the same.
    pub weight: usize,
}

/// Lowers a parsed template: the root first, then its blocks in the order of their appearance.
pub fn lower(template: &Template, settings: &Settings<'_>) -> Result<Vec<Unit>> {
    let mut blocks = Vec::new();
    let mut composed = false;
    let mut extends = false;
    statements(&template.body, &mut |stmt| match &stmt.kind {
        StmtKind::Block(block) => blocks.push((block, stmt)),
        StmtKind::Extends(_) => extends = true,
        StmtKind::Include(_) | StmtKind::Import(_) | StmtKind::FromImport(_) => composed = true,
        _ => {}
    });
    let mut seen = HashSet::new();
    for (block, stmt) in &blocks {
        if !seen.insert(block.name.clone()) {
            return Err(assertion(format!("block '{}' defined twice", block.name), stmt.line, stmt.span));
        }
    }
    composed |= extends || !blocks.is_empty();
    let mut lowering = Lowering {
        settings,
        scopes: Scopes::default(),
        out: Writer::default(),
        temporaries: 0,
        extends_so_far: 0,
        known_extends: false,
        exports: settings.exports || composed,
        parameters: Vec::new(),
        folding: false,
        folded: HashMap::default(),
        loops: Vec::new(),
        checked: false,
        captures: 0,
        inside: 0,
        generator: false,
        functions: cells::Functions::default(),
    };
    let mut units = vec![lowering.unit(|lowering| lowering.root(&template.body, extends, composed))?];
    for (block, _) in blocks {
        units.push(lowering.unit(|lowering| lowering.block(&block.name, &block.body))?);
    }
    Ok(units)
}

/// Jinja2's `TemplateAssertionError`.
fn assertion(message: String, line: usize, span: Span) -> TemplateError {
    TemplateError { class: "TemplateAssertionError".into(), ..TemplateError::syntax(message, line).at(span.range()) }
}

/// What is known of the place where code is emitted.
#[derive(Debug, Clone, Copy)]
struct Frame {
    symbols: SymbolsId,
    /// The root or a branch of it: assignments are exported.
    toplevel: bool,
    /// The root itself.
    rootlevel: bool,
    /// Output may be suppressed because of an `extends`.
    output_check: bool,
    /// Inside an `if`: unknown filters and tests fail only when reached.
    soft: bool,
}

struct Lowering<'e> {
    settings: &'e Settings<'e>,
    scopes: Scopes,
    out: Writer,
    temporaries: usize,
    extends_so_far: usize,
    known_extends: bool,
    exports: bool,
    /// Parameters of the macro whose defaults are being emitted that have no value yet.
    parameters: Vec<Arc<str>>,
    /// Inside a constant whose value as a whole is taken care of.
    folding: bool,
    /// What `is_folded` found, by the address of the expression: the tree stays where it is while it is lowered.
    folded: HashMap<*const Expr, bool, FixedState>,
    /// The optimizer has seen the expression around this one.
    checked: bool,
    /// Captures around the current place, in its unit.
    captures: usize,
    /// Captures and functions around the current place: what it writes is a value before it is output.
    inside: usize,
    /// Inside of a function that an `include ... without context` makes a generator.
    generator: bool,
    /// The functions around the current place.
    functions: cells::Functions,
    /// For each loop around the current place: what must run before `continue`.
    loops: Vec<Option<String>>,
}

type Result<T> = std::result::Result<T, TemplateError>;

impl Lowering<'_> {
    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t_{}", self.temporaries)
    }

    /// Marks what is written next with where it comes from, if that is asked for.
    fn trace(&mut self, span: Span, more_lines: usize) {
        let wanted = match self.settings.trace {
            Trace::Off => false,
            Trace::Outer => self.inside == 0,
            Trace::All => true,
        };
        if let Some(lines) = self.settings.lines.as_ref().filter(|_| wanted && !self.settings.native) {
            let mark = mark(self.settings.name.unwrap_or_default(), lines.line(span.start) + more_lines);
            self.out.text(&mark);
        }
    }

    fn take(&mut self, block: Option<Arc<str>>) -> Unit {
        let (source, places, weight) = std::mem::take(&mut self.out).finish();
        Unit { block, source, places, weight }
    }

    fn root(&mut self, body: &[Stmt], extends: bool, composed: bool) -> Result<Unit> {
        self.enter_function();
        self.make_cells(&[]);
        let symbols = self.scopes.enter(None);
        if undeclared(body, &["self"]).contains(&"self") {
            let ident = self.scopes.declare_parameter(symbols, "self");
            self.out.tag(&format!("set {ident} = none|self_reference"));
        }
        self.scopes.body(symbols, body);
        let frame = Frame { symbols, toplevel: true, rootlevel: true, output_check: extends, soft: false };
        if extends {
            self.out.tag("set parent = none");
        }
        self.enter_frame(symbols, Some(body));
        self.body(body, frame)?;
        if extends {
            self.out.tag("if parent");
            self.out.print("parent|run_parent");
            self.out.tag("endif");
        }
        if composed || self.settings.exports {
            self.runner();
        }
        self.leave_function();
        Ok(self.take(None))
    }

    fn block(&mut self, name: &Arc<str>, body: &[Stmt]) -> Result<Unit> {
        self.enter_function();
        self.make_cells(&[]);
        let symbols = self.scopes.enter(None);
        let undeclared = undeclared(body, &["self", "super"]);
        if undeclared.contains(&"self") {
            let ident = self.scopes.declare_parameter(symbols, "self");
            self.out.tag(&format!("set {ident} = none|self_reference"));
        }
        if undeclared.contains(&"super") {
            let ident = self.scopes.declare_parameter(symbols, "super");
            self.out.tag(&format!("set {ident} = none|super_reference"));
        }
        self.scopes.body(symbols, body);
        let frame = Frame { symbols, toplevel: false, rootlevel: false, output_check: false, soft: false };
        self.enter_frame(symbols, Some(body));
        self.body(body, frame)?;
        self.runner();
        self.leave_function();
        Ok(self.take(Some(name.clone())))
    }

    /// The door through which the run time runs another unit inside this rendering: a block that is never reached in
    /// place and includes what the run time says.
    fn runner(&mut self) {
        self.out.raw_tag("{% if false %}{% block run %}{% include none|next_unit %}{% endblock %}{% endif %}");
    }
}
