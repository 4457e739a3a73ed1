//! Expressions ready to run: what one filter call of a lowered template evaluates.
//!
//! Calling a filter of minijinja for every operator costs more than most operators do. So an expression is lowered to a
//! single call, `7|code(x, y)`: the number finds a tree of operations here, the arguments are the variables it reads. Each
//! operation is what its filter of the run time is, in the same order, and knows its place in the original source.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::ast::{CompareOp, Span};
use super::env::FilterFn;
use crate::python::{BinOp, UnaryOp, Value};

/// Where an operation stands in the original source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    /// Span in the original source.
    pub span: Span,
    /// Jinja2's line.
    pub line: usize,
}

/// A piece of an output statement.
#[derive(Debug)]
pub(crate) enum Part {
    /// Text as written.
    Text(Box<str>),
    /// `{{ expr }}`
    Print(Node),
    /// `{% if %}` around output: conditions and what they guard, then the `else`.
    If(Box<[(Node, Box<[Part]>)]>, Box<[Part]>),
}

/// What one call runs.
#[derive(Debug)]
pub(crate) enum Body {
    /// An expression, for its value (`code`) or its truth (`condition`).
    Expr(Node),
    /// A run of output (`print`): text, values, and branches of nothing else.
    Output(Box<[Part]>),
}

/// An operation.
#[derive(Debug)]
pub(crate) struct Node {
    /// What it does.
    pub op: Op,
    /// Index into [`Code::sites`].
    pub site: usize,
}

/// Operations, after the filters of the run time that do the same.
pub(crate) enum Op {
    /// A variable, by its place among the arguments.
    Var(usize),
    /// A variable that functions share, by its place among the arguments, with the name that is undefined without a value.
    Cell(usize, Option<Arc<str>>),
    /// A literal.
    Const(Value),
    /// `x.name`
    Attr(Box<Node>, Arc<str>),
    /// `x[key]`
    Item(Box<[Node; 2]>),
    /// `x[start:stop:step]`
    Slice(Box<[Node; 4]>),
    /// An arithmetic operation.
    Binary(BinOp, Box<[Node; 2]>),
    /// `-x`, `+x`
    Unary(UnaryOp, Box<Node>),
    /// `not x`
    Not(Box<Node>),
    /// `a and b`: the last operand, or the first that is false.
    And(Box<[Node]>),
    /// `a or b`: the last operand, or the first that is true.
    Or(Box<[Node]>),
    /// `a < b <= c`
    Compare(Box<Node>, Box<[(CompareOp, Node)]>),
    /// `a ~ b`
    Concat(Box<[Node]>),
    /// `then if test else otherwise`: test, then, otherwise.
    Cond(Box<[Node; 3]>),
    /// What an inline `if` without `else` gives: an undefined value with this hint.
    NoElse(String),
    /// `(a, b)`
    Tuple(Box<[Node]>),
    /// `[a, b]`
    List(Box<[Node]>),
    /// `{a: b}`, keys and values in turn.
    Dict(Box<[Node]>),
    /// One of Jinja2's filters or tests with positional arguments, the subject first.
    Builtin(FilterFn, Box<[Node]>),
    /// A filter (or test) by name: subject and positional arguments, then one for each keyword.
    Named(bool, Arc<str>, Box<[Node]>, Box<[Arc<str>]>),
    /// `f(...)`: the callee and positional arguments, then one for each keyword.
    Call(Box<[Node]>, Box<[Arc<str>]>),
    /// `x.name(...)` without the bound method: subject and positional arguments, then one for each keyword.
    Method(Arc<str>, Box<[Node]>, Box<[Arc<str>]>),
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Op")
    }
}

/// What one filter call runs, with the places of its parts.
#[derive(Debug)]
pub(crate) struct Code {
    /// The operations.
    pub body: Body,
    /// Where they stand.
    pub sites: Box<[Site]>,
}

/// Codes of the first chunk of a table; each further chunk is twice as large.
const FIRST: usize = 64;
/// Chunks of a table: more codes than memory holds.
const CHUNKS: usize = 32;

type Chunk = Box<[OnceLock<Code>]>;

/// All codes of a cache by number. They are added while templates compile and read, without a lock, while others run.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    chunks: [OnceLock<Chunk>; CHUNKS],
    next: AtomicUsize,
}

/// Chunk and place of a number.
fn slot(number: usize) -> Option<(usize, usize)> {
    let position = number.checked_add(FIRST)?;
    let chunk = (position / FIRST).ilog2() as usize;
    Some((chunk, position - (FIRST << chunk)))
}

impl Codes {
    /// Adds a code and returns its number.
    pub fn add(&self, code: Code) -> usize {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some((chunk, at)) = slot(number)
            && let Some(chunk_cell) = self.chunks.get(chunk)
        {
            let chunk = chunk_cell.get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
            if let Some(cell) = chunk.get(at) {
                let _ = cell.set(code);
            }
        }
        number
    }

    /// The code of a number.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&Code> {
        let (chunk, at) = slot(number)?;
        self.chunks.get(chunk)?.get()?.get(at)?.get()
    }
}
