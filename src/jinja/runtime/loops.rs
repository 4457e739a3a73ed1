//! Loops: iteration item by item, `jinja2.runtime.LoopContext`, and taking values apart.

use std::sync::{Arc, Mutex};

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Environment as Mini, State};

use super::super::UndefinedKind;
use super::super::undefined::Undefined;
use super::context::Context;
use super::core::{Core, lock};
use super::functions::Function;
use super::vm::{Detached, Vm, core, raise};
use super::{Outcome, argument};
use crate::python::{
    self, Args, CmpOp, Interp, PyErr, PyIter, PyObject, PyResult, Value, View, downcast, object, view,
};

/// What a turn of a loop costs besides its body.
const TURN: u64 = 8;
/// Offset of numbers that the lowering fills in.
const RESERVED: i64 = 1_000_000_000;

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    mini.add_filter("iterate", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let items = Items::of(argument(args, 0), &mut vm).map_err(raise)?;
        let cost = cost(argument(args, 1));
        let shape = shape(argument(args, 2));
        let source = Source::Iter { items, shape };
        Ok(Value::from_object(Feed::new(source, vm.core.clone(), cost)))
    });
    mini.add_filter("loop_object", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let context = vm.core.context().map_err(raise)?;
        let function = |value: &Value, make: fn(Value, Arc<Context>) -> Function| {
            (!value.is_none()).then(|| object(make(value.clone(), context.clone())))
        };
        let setup = Arc::new(Setup {
            test: function(argument(args, 1), Function::giving),
            body: function(argument(args, 2), Function::new),
            cost: cost(argument(args, 3)),
            shape: shape(argument(args, 4)),
            undefined: vm.core.env.undefined,
        });
        LoopContext::start(argument(args, 0), setup, 0, &mut vm).map_err(raise)
    });
    mini.add_filter("start_loop", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let this = argument(args, 0).clone();
        recurse(&this, &mut vm).map_err(raise)
    });
    mini.add_filter("items", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let core = core(state)?;
        let this = argument(args, 0).clone();
        let cost = downcast::<LoopContext>(&this).map_or(0, |this| this.setup.cost);
        Ok(Value::from_object(Feed::new(Source::Loop(this), core, cost)))
    });
    mini.add_filter("turns", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let this = argument(args, 0).clone();
        advance(&this, &mut vm).map_err(raise)?;
        let cost = downcast::<LoopContext>(&this).map_or(0, |this| this.setup.cost);
        Ok(Value::from_object(Feed::new(Source::Turns(this), vm.core.clone(), cost)))
    });
    mini.add_filter("turn", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let Some(this) = downcast::<LoopContext>(argument(args, 0)) else { return Ok(Value::UNDEFINED) };
        let value = lock(&this.state).current.clone().unwrap_or_default();
        match &this.setup.shape {
            Some(shape) => unpack(&value, shape, &mut vm).map_err(raise),
            None => Ok(value),
        }
    });
    mini.add_filter("advance", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        advance(argument(args, 0), &mut vm).map_err(raise)?;
        Ok(Value::from(()))
    });
    mini.add_filter("give", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        core(state)?.machine().given = Some(argument(args, 0).clone());
        Ok(Value::from(()))
    });
    mini.add_filter("unpack", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let Some(shape) = shape(argument(args, 1)) else { return Ok(argument(args, 0).clone()) };
        unpack(argument(args, 0), &shape, &mut Vm::new(state)?).map_err(raise)
    });
    mini.add_filter("flag", |_args: &[Value]| Value::from_object(Flag::default()));
    mini.add_filter("raise_flag", |args: &[Value]| {
        if let Some(flag) = argument(args, 0).downcast_object_ref::<Flag>() {
            *lock(&flag.0) = true;
        }
    });
    mini.add_filter("flag_raised", |args: &[Value]| {
        argument(args, 0).downcast_object_ref::<Flag>().is_some_and(|flag| *lock(&flag.0))
    });
}

/// Whether a filtered loop had a turn.
#[derive(Debug, Default)]
struct Flag(Mutex<bool>);

impl Object for Flag {}

/// `loop.index` and its like: what the state of a loop says at once.
#[inline]
pub(super) fn quick_attribute(subject: &Value, name: &str) -> Option<Value> {
    let View::Object(object) = view(subject) else { return None };
    let any: &dyn std::any::Any = object;
    let this = any.downcast_ref::<LoopContext>()?;
    let mut state = lock(&this.state);
    if name == "last" && state.after.is_none() {
        state.after = state.quick_pull(&this.setup);
    }
    Some(match name {
        "index" => Value::from(state.index0 + 1),
        "index0" => Value::from(state.index0),
        "first" => Value::from(state.index0 == 0),
        "last" => Value::from(state.after.as_ref()?.is_none()),
        "length" => Value::from(state.length?),
        _ => return None,
    })
}

fn cost(value: &Value) -> u64 {
    TURN + value.as_i64().unwrap_or(RESERVED).saturating_sub(RESERVED).unsigned_abs()
}

fn shape(value: &Value) -> Option<Arc<Shape>> {
    value.as_str().map(|text| Arc::new(Shape::parse(&mut text.chars().peekable())))
}

/// The form of a tuple target.
#[derive(Debug)]
enum Shape {
    One,
    Tuple(Vec<Shape>),
}

impl Shape {
    fn parse(text: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Shape {
        if text.next() != Some('(') {
            return Shape::One;
        }
        let mut items = Vec::new();
        while text.peek().is_some_and(|c| *c != ')') {
            items.push(Shape::parse(text));
        }
        text.next();
        Shape::Tuple(items)
    }
}

/// Takes a value apart as Python's assignment to a tuple does. One variable gets its value, several a list of
/// minijinja's.
fn unpack(value: &Value, shape: &Shape, it: &mut dyn Interp) -> PyResult {
    let mut out = Vec::new();
    unpack_into(value, shape, &mut out, it)?;
    super::cells::refuse_missing(&out)?;
    Ok(match out.len() {
        1 => out.pop().unwrap_or_default(),
        _ => Value::from(out),
    })
}

fn unpack_into(value: &Value, shape: &Shape, out: &mut Vec<Value>, it: &mut dyn Interp) -> PyResult<()> {
    let Shape::Tuple(shapes) = shape else {
        out.push(value.clone());
        return Ok(());
    };
    let mut iter = python::iter(value, it).map_err(|error| {
        if error.class == "TypeError" && error.message.ends_with("object is not iterable") {
            return PyErr::type_error(format!("cannot unpack non-iterable {} object", python::type_name(value)));
        }
        error
    })?;
    let mut items = Vec::with_capacity(shapes.len());
    while items.len() <= shapes.len() {
        match iter.next(it)? {
            Some(item) => items.push(item),
            None => break,
        }
    }
    let expected = shapes.len();
    if items.len() > expected {
        return Err(PyErr::value_error(format!("too many values to unpack (expected {expected})")));
    }
    if items.len() < expected {
        let got = items.len();
        return Err(PyErr::value_error(format!("not enough values to unpack (expected {expected}, got {got})")));
    }
    items.iter().zip(shapes).try_for_each(|(item, shape)| unpack_into(item, shape, out, it))
}

/// The values of a target's variables in its form: the reverse of taking a value apart.
fn pack(shape: &Shape, values: &mut impl Iterator<Item = Value>) -> Value {
    match shape {
        Shape::Tuple(shapes) => python::tuple(shapes.iter().map(|shape| pack(shape, values)).collect()),
        _ => values.next().unwrap_or_else(python::none),
    }
}

/// What a loop goes through.
enum Items {
    /// A list, from this index on: nothing can happen while it gives an item.
    List(Value, usize),
    /// Python's iterator.
    Iter(PyIter),
}

impl Items {
    fn of(value: &Value, it: &mut dyn Interp) -> PyResult<Items> {
        match list(value) {
            Some(_) => Ok(Items::List(value.clone(), 0)),
            None => python::iter(value, it).map(Items::Iter),
        }
    }

    fn next(&mut self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        match self {
            Items::List(..) => Ok(self.quick_next().flatten()),
            Items::Iter(iter) => iter.next(it),
        }
    }

    /// The next item of a list; `None` where there may be more to it.
    #[inline]
    fn quick_next(&mut self) -> Option<Option<Value>> {
        let Items::List(value, at) = self else { return None };
        let item = list(value).and_then(|list| list.get(*at));
        // what is added after the end was reached is not seen
        *at = if item.is_some() { *at + 1 } else { usize::MAX };
        Some(item)
    }
}

/// A plain list.
#[inline]
fn list(value: &Value) -> Option<&python::List> {
    let any: &dyn std::any::Any = value.downcast_object_ref::<python::Py>()?.inner();
    any.downcast_ref()
}

/// Where a loop's items come from.
enum Source {
    Iter { items: Items, shape: Option<Arc<Shape>> },
    Loop(Value),
    Turns(Value),
}

/// What minijinja iterates: it fetches one item at a time, as Python's `for` does.
struct Feed(Mutex<Option<Turns>>);

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feed")
    }
}

impl Feed {
    fn new(source: Source, core: Arc<Core>, cost: u64) -> Self {
        Feed(Mutex::new(Some(Turns { source, it: Detached(core), cost, done: false })))
    }
}

impl Object for Feed {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match lock(&self.0).take() {
            Some(turns) => Enumerator::Iter(Box::new(turns)),
            None => Enumerator::Empty,
        }
    }
}

struct Turns {
    source: Source,
    it: Detached,
    cost: u64,
    done: bool,
}

impl Turns {
    fn step(&mut self) -> PyResult<Option<Value>> {
        self.it.charge(self.cost)?;
        let (item, shape) = match &mut self.source {
            Source::Iter { items, shape } => (items.next(&mut self.it)?, shape.as_ref()),
            Source::Loop(this) => match downcast::<LoopContext>(this) {
                Some(context) => (context.next(&mut self.it)?, context.setup.shape.as_ref()),
                None => (None, None),
            },
            Source::Turns(this) => {
                let more = downcast::<LoopContext>(this).is_some_and(|this| lock(&this.state).current.is_some());
                return Ok(more.then(|| this.clone()));
            }
        };
        match (item, shape) {
            (Some(item), Some(shape)) => unpack(&item, shape, &mut self.it).map(Some),
            (item, _) => Ok(item),
        }
    }
}

impl Iterator for Turns {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        if self.done {
            return None;
        }
        match self.step() {
            Ok(Some(item)) => Some(item),
            Ok(None) => {
                self.done = true;
                None
            }
            Err(error) => {
                self.done = true;
                Some(Value::from(raise(error)))
            }
        }
    }
}

/// What all recursions of one loop share.
#[derive(Debug)]
struct Setup {
    /// The loop's `if`, as a function that gives the condition.
    test: Option<Value>,
    /// The body of a recursive loop.
    body: Option<Value>,
    cost: u64,
    shape: Option<Arc<Shape>>,
    undefined: UndefinedKind,
}

/// `jinja2.runtime.LoopContext`
struct LoopContext {
    iterable: Value,
    setup: Arc<Setup>,
    depth0: usize,
    state: Mutex<LoopState>,
}

struct LoopState {
    items: Option<Items>,
    /// -1 before the first turn.
    index0: i64,
    length: Option<i64>,
    before: Option<Value>,
    current: Option<Value>,
    /// The next item, if it was fetched already; `Some(None)` is the end.
    after: Option<Option<Value>>,
    changed: Option<Value>,
}

impl LoopState {
    /// The next item, where fetching it needs nobody.
    fn quick_pull(&mut self, setup: &Setup) -> Option<Option<Value>> {
        if setup.test.is_some() {
            return None;
        }
        self.items.as_mut()?.quick_next()
    }
}

impl std::fmt::Debug for LoopContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoopContext")
    }
}

impl LoopContext {
    fn start(iterable: &Value, setup: Arc<Setup>, depth0: usize, it: &mut dyn Interp) -> PyResult {
        let items = Items::of(iterable, it)?;
        let state = LoopState {
            items: Some(items),
            index0: -1,
            length: None,
            before: None,
            current: None,
            after: None,
            changed: None,
        };
        Ok(object(LoopContext { iterable: iterable.clone(), setup, depth0, state: Mutex::new(state) }))
    }

    /// The next item that passes the loop's filter. The lock is open while Python code runs.
    fn pull(&self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        loop {
            let Some(mut items) = lock(&self.state).items.take() else {
                return Err(PyErr::value_error("generator already executing"));
            };
            let item = items.next(it);
            lock(&self.state).items = Some(items);
            let Some(item) = item? else { return Ok(None) };
            let Some(test) = &self.setup.test else { return Ok(Some(item)) };
            it.charge(self.setup.cost)?;
            let args = match &self.setup.shape {
                Some(shape) => {
                    let mut args = Vec::new();
                    unpack_into(&item, shape, &mut args, it)?;
                    args
                }
                None => vec![item.clone()],
            };
            let passed = it.call(test, &Args::positional(&args))?;
            if passed.is_true() {
                // the filter is a generator that yields its target: what was taken apart comes out as a tuple
                return Ok(Some(match &self.setup.shape {
                    Some(shape) => pack(shape, &mut args.into_iter()),
                    None => item,
                }));
            }
        }
    }

    fn next(&self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        let mut state = lock(&self.state);
        let ahead = match state.after.take() {
            Some(item) => Some(item),
            None => state.quick_pull(&self.setup),
        };
        let item = match ahead {
            Some(item) => item,
            None => {
                drop(state);
                let item = self.pull(it)?;
                state = lock(&self.state);
                item
            }
        };
        let Some(item) = item else {
            state.after = Some(None);
            return Ok(None);
        };
        state.index0 += 1;
        state.before = state.current.take();
        state.current = Some(item.clone());
        Ok(Some(item))
    }

    fn peek(&self, it: &mut dyn Interp) -> PyResult<Option<Value>> {
        if let Some(after) = &lock(&self.state).after {
            return Ok(after.clone());
        }
        let item = self.pull(it)?;
        lock(&self.state).after = Some(item.clone());
        Ok(item)
    }

    fn undefined(&self, hint: &'static str) -> Value {
        Undefined::hint(self.setup.undefined, hint)
    }

    fn length(&self, it: &mut dyn Interp) -> PyResult<i64> {
        if let Some(length) = lock(&self.state).length {
            return Ok(length);
        }
        // a filtered loop iterates a generator, which has no length
        let known = match (&self.setup.test, view(&self.iterable)) {
            (Some(_), _) => None,
            (None, View::Object(object)) => match object.len(it) {
                Some(length) => Some(length?),
                None => object.as_text().map(|text| text.chars().count()),
            },
            (None, _) => Some(python::len(&self.iterable, it)?),
        };
        let length = match known {
            Some(length) => i64::try_from(length).unwrap_or(i64::MAX),
            None => {
                let mut rest = Vec::new();
                while let Some(item) = self.pull(it)? {
                    rest.push(item);
                    if rest.len() % 1024 == 0 {
                        it.allocate(rest.len() * 16)?;
                    }
                }
                let mut state = lock(&self.state);
                let length = rest.len() as i64 + state.index0 + 1 + i64::from(matches!(state.after, Some(Some(_))));
                state.items = Some(Items::Iter(python::values(rest)));
                length
            }
        };
        lock(&self.state).length = Some(length);
        Ok(length)
    }
}

/// Fetches the next item of a loop with a filter.
fn advance(this: &Value, vm: &mut Vm<'_, '_, '_>) -> PyResult<()> {
    let Some(context) = downcast::<LoopContext>(this) else { return Ok(()) };
    if context.next(vm)?.is_none() {
        lock(&context.state).current = None;
    }
    Ok(())
}

/// Runs the body of a recursive loop over its loop object.
fn recurse(this: &Value, it: &mut dyn Interp) -> PyResult {
    match downcast::<LoopContext>(this).and_then(|context| context.setup.body.clone()) {
        Some(body) => it.call(&body, &Args::positional(std::slice::from_ref(this))),
        None => Ok(Value::UNDEFINED),
    }
}

impl PyObject for LoopContext {
    fn type_name(&self) -> &str {
        "LoopContext"
    }

    fn qualified_name(&self) -> String {
        "jinja2.runtime.LoopContext".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        let length = self.length(it)?;
        Ok(format!("<LoopContext {}/{length}>", lock(&self.state).index0 + 1))
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(self.length(it).map(|length| usize::try_from(length).unwrap_or(0)))
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        let index0 = lock(&self.state).index0;
        Some(match name {
            "index0" => Ok(Value::from(index0)),
            "index" => Ok(Value::from(index0 + 1)),
            "depth0" => Ok(Value::from(self.depth0)),
            "depth" => Ok(Value::from(self.depth0 + 1)),
            "first" => Ok(Value::from(index0 == 0)),
            "last" => self.peek(it).map(|next| Value::from(next.is_none())),
            "length" => self.length(it).map(Value::from),
            "revindex" => self.length(it).map(|length| Value::from(length - index0)),
            "revindex0" => self.length(it).map(|length| Value::from(length - index0 - 1)),
            "previtem" => Ok(match &lock(&self.state).before {
                Some(item) if index0 != 0 => item.clone(),
                _ => self.undefined("there is no previous item"),
            }),
            "nextitem" => match self.peek(it) {
                Ok(Some(item)) => Ok(item),
                Ok(None) => Ok(self.undefined("there is no next item")),
                Err(error) => Err(error),
            },
            _ => return None,
        })
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "cycle" | "changed")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        if let Some((key, _)) = args.kw.first() {
            return Err(PyErr::type_error(format!("LoopContext.{name}() got an unexpected keyword argument '{key}'")));
        }
        if name == "cycle" {
            if args.pos.is_empty() {
                return Err(PyErr::type_error("no items for cycling given"));
            }
            let index = lock(&self.state).index0.unsigned_abs() as usize % args.pos.len();
            return Ok(args.pos.get(index).cloned().unwrap_or_default());
        }
        let value = python::tuple(args.pos.to_vec());
        let last = lock(&self.state).changed.clone();
        let same = match &last {
            Some(last) => python::compare(CmpOp::Eq, last, &value, it)?,
            None => false,
        };
        if !same {
            lock(&self.state).changed = Some(value);
        }
        Ok(Value::from(!same))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        let iterable = match (args.pos, args.kw) {
            ([iterable], []) => iterable,
            ([], [(name, iterable)]) if &**name == "iterable" => iterable,
            ([], []) => {
                return Err(PyErr::type_error(
                    "LoopContext.__call__() missing 1 required positional argument: 'iterable'",
                ));
            }
            ([_], [(name, _), ..]) | ([], [(name, _), ..]) => {
                return Err(PyErr::type_error(format!(
                    "LoopContext.__call__() got an unexpected keyword argument '{name}'"
                )));
            }
            (many, _) => {
                return Err(PyErr::type_error(format!(
                    "LoopContext.__call__() takes 2 positional arguments but {} were given",
                    many.len() + 1
                )));
            }
        };
        if self.setup.body.is_none() {
            return Err(PyErr::type_error("The loop must have the 'recursive' marker to be called recursively."));
        }
        let inner = LoopContext::start(iterable, self.setup.clone(), self.depth0 + 1, it)?;
        recurse(&inner, it)
    }
}
