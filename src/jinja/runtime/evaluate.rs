//! Runs [`Code`]: the filters `code`, `condition` and `print`.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use minijinja::{Environment as Mini, Error, ErrorKind, Output, State};

use super::super::ast::CompareOp;
use super::super::code::{Body, Code, Codes, Node, Op, Part, Site};
use super::super::undefined::Undefined;
use super::super::{UndefinedKind, markup};
use super::access::{self, entry};
use super::loops::quick_attribute;
use super::operators::{plain_truth, quick_binary, quick_compare};
use super::pieces::{FREE, printable};
use super::vm::{Vm, exception, placed, raise};
use super::{Outcome, argument};
use crate::python::{self, Args, Interp, Kwarg, PyErr, PyResult, Value, View, view};

/// Buffers larger than this are not kept.
const KEPT: usize = 64 << 10;
/// Bytes after which the length of a run of output is looked at.
const CHECKED: usize = 4096;

thread_local! {
    /// What a run of output wrote, on its way to the formatter.
    static READY: Cell<Option<String>> = const { Cell::new(None) };
    /// A buffer to write to.
    static SPARE: Cell<String> = const { Cell::new(String::new()) };
}

/// The value that stands for a run of output until the formatter writes it: an integer as no template ever sees it, since
/// those outside of `i64` are objects.
const RUN: u64 = u64::MAX;

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>, codes: &Arc<Codes>) {
    let table = codes.clone();
    mini.add_filter("code", move |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let (run, body) = Run::new(&table, args)?;
        match body {
            Body::Expr(node) => run.value(node, state).map(Cow::into_owned),
            Body::Output(_) => Err(unknown()),
        }
    });
    let table = codes.clone();
    mini.add_filter("condition", move |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let (run, body) = Run::new(&table, args)?;
        match body {
            Body::Expr(node) => run.truth(node, state).map(Value::from),
            Body::Output(_) => Err(unknown()),
        }
    });
    let table = codes.clone();
    mini.add_filter("print", move |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let (run, body) = Run::new(&table, args)?;
        let Body::Output(parts) = body else { return Err(unknown()) };
        let mut out = SPARE.take();
        out.clear();
        run.output(parts, &mut out, state)?;
        READY.set(Some(out));
        Ok(Value::from(RUN))
    });
}

/// Writes what a run of output left, if the value stands for one.
pub(super) fn write_run(out: &mut Output<'_>, value: &Value) -> Option<std::fmt::Result> {
    if value.as_usize() != usize::try_from(RUN).ok() {
        return None;
    }
    let mut text = READY.take()?;
    let written = out.write_str(&text);
    if text.capacity() <= KEPT {
        text.clear();
        SPARE.set(text);
    }
    Some(written)
}

/// Where an operation stands that raised the error: code and place in it.
pub(crate) fn site(error: &Error, codes: &Codes) -> Option<Site> {
    let (number, site) = error.detail()?.split_once(' ')?;
    codes.get(number.parse().ok()?)?.sites.get(site.parse::<usize>().ok()?).copied()
}

#[cold]
fn unknown() -> Error {
    raise(PyErr::unsupported("code that is not there: please report this template"))
}

/// A code with its variables.
#[derive(Clone, Copy)]
struct Run<'a> {
    number: usize,
    variables: &'a [Value],
}

impl<'a> Run<'a> {
    #[inline]
    fn new(codes: &'a Codes, args: &'a [Value]) -> Result<(Run<'a>, &'a Body), Error> {
        let number = argument(args, 0).as_usize().ok_or_else(unknown)?;
        let code: &Code = codes.get(number).ok_or_else(unknown)?;
        Ok((Run { number, variables: args.get(1..).unwrap_or_default() }, &code.body))
    }

    /// The error with the place of an operation.
    #[cold]
    fn at(&self, node: &Node, error: Error) -> Error {
        if error.detail().is_some_and(|detail| !detail.is_empty()) || placed(&error).is_some() {
            return error;
        }
        Error::new(ErrorKind::InvalidOperation, format!("{} {}", self.number, node.site)).with_source(exception(&error))
    }

    #[cold]
    fn raised(&self, node: &Node, error: PyErr) -> Error {
        Error::new(ErrorKind::InvalidOperation, format!("{} {}", self.number, node.site)).with_source(error)
    }

    fn value(&self, node: &'a Node, state: &mut State<'_, '_>) -> Result<Cow<'a, Value>, Error> {
        Ok(Cow::Owned(match &node.op {
            Op::Var(at) => {
                let value = argument(self.variables, *at);
                if value.is_undefined() {
                    return Err(self.at(node, super::is_set(value).err().unwrap_or_else(unknown)));
                }
                return Ok(Cow::Borrowed(value));
            }
            Op::Cell(at, name) => super::cells::read(state, argument(self.variables, *at), name.as_deref())
                .map_err(|error| self.at(node, error))?,
            Op::Const(value) => return Ok(Cow::Borrowed(value)),
            Op::Attr(subject, name) => {
                let subject = self.value(subject, state)?;
                if let Some(value) = entry(&subject, name).or_else(|| quick_attribute(&subject, name)) {
                    return Ok(Cow::Owned(value));
                }
                let mut vm = Vm::new(state)?;
                access::getattr(&subject, name, &mut vm).map_err(|error| self.raised(node, error))?
            }
            Op::Item(pair) => {
                let subject = self.value(&pair[0], state)?;
                let key = self.value(&pair[1], state)?;
                let mut vm = Vm::new(state)?;
                let run = vm.core.run.clone();
                run.getitem(&subject, &key, &mut vm).map_err(|error| self.raised(node, error))?
            }
            Op::Slice(parts) => {
                let subject = self.value(&parts[0], state)?;
                let (start, stop) = (self.value(&parts[1], state)?, self.value(&parts[2], state)?);
                let step = self.value(&parts[3], state)?;
                python::slice(&subject, &start, &stop, &step, &mut Vm::new(state)?)
                    .map_err(|error| self.raised(node, error))?
            }
            Op::Binary(op, pair) => {
                let a = self.value(&pair[0], state)?;
                let b = self.value(&pair[1], state)?;
                match quick_binary(*op, &a, &b) {
                    Some(value) => value,
                    None => {
                        python::binary(*op, &a, &b, &mut Vm::new(state)?).map_err(|error| self.raised(node, error))?
                    }
                }
            }
            Op::Unary(op, operand) => {
                let operand = self.value(operand, state)?;
                python::unary(*op, &operand, &mut Vm::new(state)?).map_err(|error| self.raised(node, error))?
            }
            Op::Not(_) | Op::Compare(..) => Value::from(self.truth(node, state)?),
            Op::And(operands) => return self.junction(operands, false, state),
            Op::Or(operands) => return self.junction(operands, true, state),
            Op::Cond(parts) => {
                let chosen = if self.truth(&parts[0], state)? { &parts[1] } else { &parts[2] };
                return self.value(chosen, state);
            }
            Op::NoElse(hint) => Undefined::hint(UndefinedKind::Lenient, hint.clone()),
            Op::Concat(operands) => {
                if super::autoescape(state) {
                    let values = self.values(operands, state)?;
                    return super::operators::concat(state, &values)
                        .map(Cow::Owned)
                        .map_err(|error| self.at(node, error));
                }
                let mut text = SPARE.take();
                text.clear();
                self.concat(node, operands, &mut text, state)?;
                let value = Value::from(text.as_str());
                if text.capacity() <= KEPT {
                    SPARE.set(text);
                }
                value
            }
            Op::Tuple(items) => python::tuple(self.values(items, state)?),
            Op::List(items) => python::list(self.values(items, state)?),
            Op::Dict(items) => {
                let values = self.values(items, state)?;
                super::operators::dict(values).map_err(|error| self.at(node, error))?
            }
            Op::Builtin(function, operands) => {
                let applied = match &**operands {
                    [subject] => {
                        let subject = self.value(subject, state)?;
                        access::apply(state, *function, std::slice::from_ref(&*subject))
                    }
                    _ => {
                        let values = self.values(operands, state)?;
                        access::apply(state, *function, &values)
                    }
                };
                applied.map_err(|error| self.at(node, error))?
            }
            Op::Named(is_filter, name, operands, keywords) => {
                let (pos, kw) = self.given(operands, keywords, state)?;
                let given = Args { pos: pos.get(1..).unwrap_or_default(), kw: &kw };
                access::named(state, *is_filter, &pos, name, &given).map_err(|error| self.at(node, error))?
            }
            Op::Call(operands, keywords) => {
                let (pos, kw) = self.given(operands, keywords, state)?;
                let given = Args { pos: pos.get(1..).unwrap_or_default(), kw: &kw };
                access::call(&mut Vm::new(state)?, argument(&pos, 0), &given)
                    .map_err(|error| self.raised(node, error))?
            }
            Op::Method(name, operands, keywords) => {
                let (pos, kw) = self.given(operands, keywords, state)?;
                let given = Args { pos: pos.get(1..).unwrap_or_default(), kw: &kw };
                access::method(state, argument(&pos, 0), name, &given).map_err(|error| self.at(node, error))?
            }
        }))
    }

    fn values(&self, nodes: &'a [Node], state: &mut State<'_, '_>) -> Result<Vec<Value>, Error> {
        let mut values = Vec::with_capacity(nodes.len());
        for node in nodes {
            values.push(self.value(node, state)?.into_owned());
        }
        Ok(values)
    }

    /// Positional and keyword arguments.
    fn given(
        &self,
        nodes: &'a [Node],
        keywords: &[Arc<str>],
        state: &mut State<'_, '_>,
    ) -> Result<(Vec<Value>, Vec<Kwarg>), Error> {
        let mut values = self.values(nodes, state)?;
        let kw = values.split_off(values.len().saturating_sub(keywords.len()));
        Ok((values, keywords.iter().cloned().zip(kw).collect()))
    }

    /// `and`, `or`: the first operand whose truth is `stop`, or the last.
    fn junction(&self, operands: &'a [Node], stop: bool, state: &mut State<'_, '_>) -> Result<Cow<'a, Value>, Error> {
        let Some((last, first)) = operands.split_last() else { return Err(unknown()) };
        for operand in first {
            let value = self.value(operand, state)?;
            if self.truth_of(&value, operand, state)? == stop {
                return Ok(value);
            }
        }
        self.value(last, state)
    }

    /// The truth of an operation's value.
    fn truth(&self, node: &'a Node, state: &mut State<'_, '_>) -> Result<bool, Error> {
        match &node.op {
            Op::Not(operand) => self.truth(operand, state).map(|truth| !truth),
            Op::And(operands) => {
                for operand in operands {
                    if !self.truth(operand, state)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Op::Or(operands) => {
                for operand in operands {
                    if self.truth(operand, state)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Op::Compare(first, rest) => {
                let mut left = self.value(first, state)?;
                for (op, right) in rest {
                    let right = self.value(right, state)?;
                    if !self.compare(node, *op, &left, &right, state)? {
                        return Ok(false);
                    }
                    left = right;
                }
                Ok(true)
            }
            Op::Cond(parts) => {
                let chosen = if self.truth(&parts[0], state)? { &parts[1] } else { &parts[2] };
                self.truth(chosen, state)
            }
            _ => {
                let value = self.value(node, state)?;
                self.truth_of(&value, node, state)
            }
        }
    }

    fn truth_of(&self, value: &Value, node: &Node, state: &mut State<'_, '_>) -> Result<bool, Error> {
        match plain_truth(value) {
            Some(truth) => Ok(truth),
            None => super::operators::truth(state, value).map_err(|error| self.at(node, error)),
        }
    }

    fn compare(
        &self,
        node: &Node,
        op: CompareOp,
        a: &Value,
        b: &Value,
        state: &mut State<'_, '_>,
    ) -> Result<bool, Error> {
        let Some(op) = op.order() else {
            let found = python::contains(b, a, &mut Vm::new(state)?).map_err(|error| self.raised(node, error))?;
            return Ok(found == (op == CompareOp::In));
        };
        match quick_compare(op, a, b) {
            Some(holds) => Ok(holds),
            None => python::compare(op, a, b, &mut Vm::new(state)?).map_err(|error| self.raised(node, error)),
        }
    }

    /// `a ~ b` outside of `autoescape`, written. Python turns the operands into text when all are evaluated; for text and
    /// integers nobody can tell when.
    fn concat(
        &self,
        node: &Node,
        operands: &'a [Node],
        out: &mut String,
        state: &mut State<'_, '_>,
    ) -> Result<(), Error> {
        let start = out.len();
        for (at, operand) in operands.iter().enumerate() {
            // what an operand's evaluation writes must not come between
            let value = self.value(operand, state)?;
            match view(&value) {
                View::Str(text) => out.push_str(text),
                View::Int(int) => push_int(out, int),
                _ => {
                    let mut values = vec![value];
                    for operand in operands.get(at + 1..).unwrap_or_default() {
                        values.push(self.value(operand, state)?);
                    }
                    let mut vm = Vm::new(state)?;
                    for value in values {
                        let text = python::str(&value, &mut vm).map_err(|error| self.raised(node, error))?;
                        out.push_str(&text);
                        if out.len() - start > CHECKED {
                            vm.allocate(out.len() - start).map_err(|error| self.raised(node, error))?;
                        }
                    }
                    return Ok(());
                }
            }
            if out.len() - start > CHECKED {
                Vm::new(state)?.allocate(out.len() - start).map_err(|error| self.raised(node, error))?;
            }
        }
        Ok(())
    }

    /// A run of output.
    fn output(&self, parts: &'a [Part], out: &mut String, state: &mut State<'_, '_>) -> Result<(), Error> {
        let escape = super::autoescape(state);
        let mut checked = CHECKED;
        self.parts(parts, escape, &mut checked, out, state)
    }

    fn parts(
        &self,
        parts: &'a [Part],
        escape: bool,
        checked: &mut usize,
        out: &mut String,
        state: &mut State<'_, '_>,
    ) -> Result<(), Error> {
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Print(node) => self.print(node, escape, out, state)?,
                Part::If(branches, otherwise) => {
                    let mut chosen = otherwise;
                    for (test, body) in branches {
                        if self.truth(test, state)? {
                            chosen = body;
                            break;
                        }
                    }
                    self.parts(chosen, escape, checked, out, state)?;
                }
            }
            if out.len() > *checked {
                let limit = Vm::new(state)?.core.env.limits.output;
                if out.len() > limit {
                    return Err(raise(super::too_long(limit)));
                }
                *checked = out.len() + CHECKED;
            }
        }
        Ok(())
    }

    fn print(&self, node: &'a Node, escape: bool, out: &mut String, state: &mut State<'_, '_>) -> Result<(), Error> {
        match &node.op {
            Op::Cond(parts) => {
                let chosen = if self.truth(&parts[0], state)? { &parts[1] } else { &parts[2] };
                return self.print(chosen, escape, out, state);
            }
            Op::Concat(operands) if !escape => {
                let start = out.len();
                self.concat(node, operands, out, state)?;
                let written = out.len() - start;
                if written > FREE {
                    Vm::new(state)?.charge(written as u64 / 8).map_err(|error| self.raised(node, error))?;
                }
                return Ok(());
            }
            _ => {}
        }
        let value = self.value(node, state)?;
        match view(&value) {
            View::Str(text) if !escape || value.is_safe() => {
                if text.len() > FREE {
                    Vm::new(state)?.charge(text.len() as u64 / 8).map_err(|error| self.raised(node, error))?;
                }
                out.push_str(text);
            }
            View::Int(int) if !escape => push_int(out, int),
            _ => {
                let mut vm = Vm::new(state)?;
                self.write(&value, escape, out, &mut vm).map_err(|error| self.raised(node, error))?;
            }
        }
        Ok(())
    }

    fn write(&self, value: &Value, escape: bool, out: &mut String, vm: &mut Vm<'_, '_, '_>) -> PyResult<()> {
        if escape {
            let escaped = markup::escape(value, vm)?;
            out.push_str(escaped.as_str().unwrap_or_default());
            return Ok(());
        }
        let text = printable(value, vm, false)?;
        if text.len() > FREE {
            vm.charge(text.len() as u64 / 8)?;
        }
        out.push_str(&text);
        Ok(())
    }
}

/// Appends an integer.
fn push_int(out: &mut String, value: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.push_str(digits.get(at..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default());
}
