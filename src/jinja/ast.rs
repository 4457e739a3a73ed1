//! The tree of a template: Jinja2's nodes with true byte spans.
//!
//! It knows nothing of how templates are run: checks, excerpts and the preview read it too. Spans are byte ranges of the
//! source as the author wrote it; `line` is the line Jinja2 gives the node.

use std::ops::Range;
use std::sync::Arc;

use num_bigint::BigInt;

use crate::python::CmpOp;
pub use crate::python::{BinOp, UnaryOp};

/// A byte range of the original source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl Span {
    /// As a standard range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// From the start of one span to the end of another.
    #[must_use]
    pub fn to(self, end: Span) -> Span {
        Span { start: self.start, end: end.end }
    }
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
    /// Jinja2's `lineno`.
    pub line: usize,
    /// Height of the tree, for the limit on nesting.
    pub depth: usize,
}

/// A literal's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Const {
    /// `none`
    None,
    /// `true`, `false`
    Bool(bool),
    /// An int of any size.
    Int(BigInt),
    /// A float.
    Float(f64),
    /// A string, adjacent literals joined.
    Str(String),
}

/// Comparison operators as Jinja2's `Operand` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

impl CompareOp {
    /// The comparison; `None` for `in` and `not in`.
    pub fn order(self) -> Option<CmpOp> {
        Some(match self {
            CompareOp::Eq => CmpOp::Eq,
            CompareOp::Ne => CmpOp::Ne,
            CompareOp::Lt => CmpOp::Lt,
            CompareOp::Le => CmpOp::Le,
            CompareOp::Gt => CmpOp::Gt,
            CompareOp::Ge => CmpOp::Ge,
            CompareOp::In | CompareOp::NotIn => return None,
        })
    }
}

/// Arguments of a call, filter or test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallArgs {
    /// Positional arguments.
    pub args: Vec<Expr>,
    /// Keyword arguments.
    pub kwargs: Vec<(Arc<str>, Expr)>,
    /// `*args`
    pub dyn_args: Option<Box<Expr>>,
    /// `**kwargs`
    pub dyn_kwargs: Option<Box<Expr>>,
}

impl CallArgs {
    /// True when there is nothing between the parentheses.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty() && self.kwargs.is_empty() && self.dyn_args.is_none() && self.dyn_kwargs.is_none()
    }

    /// Every expression in it, in the order of evaluation.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let keywords = self.kwargs.iter().map(|(_, value)| value);
        self.args.iter().chain(keywords).chain(self.dyn_args.as_deref()).chain(self.dyn_kwargs.as_deref())
    }
}

/// Kinds of expressions, after Jinja2's node classes.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Const(Const),
    /// A name: loaded in expressions, stored in targets.
    Name(Arc<str>),
    /// `ns.attr` as a target of `set`.
    NsRef(Arc<str>, Arc<str>),
    /// `(a, b)` or `a, b`
    Tuple(Vec<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{k: v}`
    Dict(Vec<(Expr, Expr)>),
    /// `then if test else otherwise`
    CondExpr(Box<CondExpr>),
    /// `a or b`
    Or(Box<[Expr; 2]>),
    /// `a and b`
    And(Box<[Expr; 2]>),
    /// `not a`
    Not(Box<Expr>),
    /// `a < b <= c`
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    /// `a ~ b ~ c`
    Concat(Vec<Expr>),
    /// An arithmetic operation.
    Binary(BinOp, Box<[Expr; 2]>),
    /// `-a`, `+a`
    Unary(UnaryOp, Box<Expr>),
    /// `a.name`
    Getattr(Box<Expr>, Arc<str>),
    /// `a[index]`
    Getitem(Box<Expr>, Box<Expr>),
    /// `start:stop:step` inside brackets.
    Slice(Box<[Option<Expr>; 3]>),
    /// `a(...)`
    Call(Box<Expr>, Box<CallArgs>),
    /// `a | name(...)`; without a subject it filters the block it belongs to.
    Filter(Option<Box<Expr>>, Arc<str>, Box<CallArgs>),
    /// `a is name(...)`
    Test(Box<Expr>, Arc<str>, Box<CallArgs>),
}

impl Expr {
    /// Jinja2's class name of a node, in lower case.
    pub fn class_name(&self) -> &'static str {
        match &self.kind {
            ExprKind::Const(_) => "const",
            ExprKind::Name(_) => "name",
            ExprKind::NsRef(..) => "nsref",
            ExprKind::Tuple(_) => "tuple",
            ExprKind::List(_) => "list",
            ExprKind::Dict(_) => "dict",
            ExprKind::CondExpr(_) => "condexpr",
            ExprKind::Or(_) => "or",
            ExprKind::And(_) => "and",
            ExprKind::Not(_) => "not",
            ExprKind::Compare(..) => "compare",
            ExprKind::Concat(_) => "concat",
            ExprKind::Binary(op, _) => match op {
                BinOp::Add => "add",
                BinOp::Sub => "sub",
                BinOp::Mul => "mul",
                BinOp::Div => "div",
                BinOp::FloorDiv => "floordiv",
                BinOp::Mod => "mod",
                BinOp::Pow => "pow",
            },
            ExprKind::Unary(UnaryOp::Neg, _) => "neg",
            ExprKind::Unary(UnaryOp::Pos, _) => "pos",
            ExprKind::Getattr(..) => "getattr",
            ExprKind::Getitem(..) => "getitem",
            ExprKind::Slice(_) => "slice",
            ExprKind::Call(..) => "call",
            ExprKind::Filter(..) => "filter",
            ExprKind::Test(..) => "test",
        }
    }
}

/// The parts of an inline `if`.
#[derive(Debug, Clone, PartialEq)]
pub struct CondExpr {
    /// The condition.
    pub test: Expr,
    /// The value if it holds.
    pub then: Expr,
    /// The value if not; undefined when left out.
    pub otherwise: Option<Expr>,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Text as written, and its span.
    Data(String, Span),
    /// `{{ expr }}`
    Expr(Expr),
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// From the opening of its (first) tag to the end of that tag.
    pub span: Span,
    /// Jinja2's `lineno`.
    pub line: usize,
}

/// A branch of an `if`.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The condition.
    pub test: Expr,
    /// What it guards.
    pub body: Vec<Stmt>,
}

/// A `for` loop.
#[derive(Debug, Clone, PartialEq)]
pub struct For {
    /// Target names.
    pub target: Expr,
    /// What is iterated.
    pub iter: Expr,
    /// `if` filter.
    pub test: Option<Expr>,
    /// `recursive`
    pub recursive: bool,
    /// The body.
    pub body: Vec<Stmt>,
    /// The `else` body.
    pub otherwise: Vec<Stmt>,
}

/// Parameters of a macro or call block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signature {
    /// Names with their spans.
    pub args: Vec<(Arc<str>, Span)>,
    /// Defaults of the last of them.
    pub defaults: Vec<Expr>,
}

/// Kinds of statements, after Jinja2's node classes.
#[derive(Debug, Clone, PartialEq)]
pub enum StmtKind {
    /// Text and `{{ }}` in a row, or `{% print %}`.
    Output(Vec<Piece>),
    /// `for`
    For(Box<For>),
    /// `if` / `elif`, and the `else` body.
    If(Vec<Branch>, Vec<Stmt>),
    /// `macro`
    Macro(Arc<str>, Signature, Vec<Stmt>),
    /// `call`
    CallBlock(Expr, Signature, Vec<Stmt>),
    /// `filter`
    FilterBlock(Expr, Vec<Stmt>),
    /// `with`
    With(Vec<(Expr, Expr)>, Vec<Stmt>),
    /// `block`
    Block(Block),
    /// `extends`
    Extends(Expr),
    /// `include`
    Include(Include),
    /// `import`
    Import(Import),
    /// `from ... import`
    FromImport(FromImport),
    /// `set a = b`
    Assign(Expr, Expr),
    /// `set a | filter` with a body.
    AssignBlock(Expr, Option<Expr>, Vec<Stmt>),
    /// `do`
    ExprStmt(Expr),
    /// `autoescape`
    AutoEscape(Expr, Vec<Stmt>),
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// A `block`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: Arc<str>,
    /// `scoped`
    pub scoped: bool,
    /// `required`
    pub required: bool,
    /// Its body.
    pub body: Vec<Stmt>,
}

/// An `include`.
#[derive(Debug, Clone, PartialEq)]
pub struct Include {
    /// A name or list of names.
    pub template: Expr,
    /// `ignore missing`
    pub ignore_missing: bool,
    /// `with context` (the default).
    pub with_context: bool,
}

/// An `import`.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The template's name.
    pub template: Expr,
    /// The name it gets.
    pub target: Arc<str>,
    /// `with context`
    pub with_context: bool,
}

/// A `from ... import`.
#[derive(Debug, Clone, PartialEq)]
pub struct FromImport {
    /// The template's name.
    pub template: Expr,
    /// Names and what they become here.
    pub names: Vec<(Arc<str>, Arc<str>)>,
    /// `with context`
    pub with_context: bool,
}

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Template {
    /// Its statements.
    pub body: Vec<Stmt>,
}
