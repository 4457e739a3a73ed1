//! Names, attributes, items and calls as filters.

use std::sync::Arc;

use minijinja::{Environment as Mini, Error, State};

use super::super::env::Env;
use super::super::undefined::Undefined;
use super::super::{UndefinedKind, filters, tests};
use super::vm::{Vm, core, raise};
use super::{Outcome, argument};
use crate::python::{
    self, Args, BoundMethod, FieldAccess, Interp, Kwarg, PyErr, PyObject, PyResult, Value, View, downcast, object, view,
};

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    mini.add_filter("resolve", resolve);
    mini.add_filter("missing", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let kind = core(state)?.env.undefined;
        Ok(Undefined::name(kind, argument(args, 0).as_str().unwrap_or_default()))
    });
    mini.add_filter("no_else", |args: &[Value]| {
        Undefined::hint(UndefinedKind::Lenient, argument(args, 1).as_str().unwrap_or_default().to_owned())
    });
    mini.add_filter("is_unset", |args: &[Value]| argument(args, 0).is_undefined());
    mini.add_filter("unset", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let value = argument(args, 0);
        if !value.is_undefined() {
            return Ok(value.clone());
        }
        let kind = core(state)?.env.undefined;
        Ok(Undefined::name(kind, argument(args, 1).as_str().unwrap_or_default()))
    });
    mini.add_filter("attr", |state: &mut State<'_, '_>, args: &[Value]| {
        let name = argument(args, 1).as_str().unwrap_or_default();
        if let Some(value) = entry(argument(args, 0), name) {
            return Ok(value);
        }
        let mut vm = Vm::new(state)?;
        getattr(argument(args, 0), name, &mut vm).map_err(raise)
    });
    mini.add_filter("item", |state: &mut State<'_, '_>, args: &[Value]| {
        let mut vm = Vm::new(state)?;
        let run = vm.core.run.clone();
        run.getitem(argument(args, 0), argument(args, 1), &mut vm).map_err(raise)
    });
    mini.add_filter("slice", |state: &mut State<'_, '_>, args: &[Value]| {
        let mut vm = Vm::new(state)?;
        python::slice(argument(args, 0), argument(args, 1), argument(args, 2), argument(args, 3), &mut vm)
            .map_err(raise)
    });
    mini.add_filter("call", |state: &mut State<'_, '_>, args: &[Value]| {
        let positional = args.get(1..).unwrap_or_default();
        call(&mut Vm::new(state)?, argument(args, 0), &Args::positional(positional)).map_err(raise)
    });
    mini.add_filter("call_keywords", |state: &mut State<'_, '_>, args: &[Value]| {
        let given = Given::keywords(argument(args, 1), args.get(2..).unwrap_or_default());
        call(&mut Vm::new(state)?, argument(args, 0), &given.args()).map_err(raise)
    });
    mini.add_filter("call_dynamic", |state: &mut State<'_, '_>, args: &[Value]| {
        let mut vm = Vm::new(state)?;
        let callee = argument(args, 0);
        let given = Given::dynamic(argument(args, 1), args.get(2..).unwrap_or_default(), &mut vm);
        given.and_then(|given| call(&mut vm, callee, &given.args())).map_err(raise)
    });
    mini.add_filter("method", |state: &mut State<'_, '_>, args: &[Value]| {
        let positional = args.get(2..).unwrap_or_default();
        method(state, argument(args, 0), text(args, 1), &Args::positional(positional))
    });
    mini.add_filter("method_keywords", |state: &mut State<'_, '_>, args: &[Value]| {
        let given = Given::keywords(argument(args, 1), args.get(3..).unwrap_or_default());
        method(state, argument(args, 0), text(args, 2), &given.args())
    });
    mini.add_filter("method_dynamic", |state: &mut State<'_, '_>, args: &[Value]| {
        let given = Given::dynamic(argument(args, 1), args.get(3..).unwrap_or_default(), &mut Vm::new(state)?);
        method(state, argument(args, 0), text(args, 2), &given.map_err(raise)?.args())
    });
    for (name, function) in filters::builtin() {
        mini.add_filter(format!("filter_{name}"), move |state: &mut State<'_, '_>, args: &[Value]| {
            apply(state, *function, args)
        });
    }
    for (name, function) in tests::builtin() {
        mini.add_filter(format!("test_{name}"), move |state: &mut State<'_, '_>, args: &[Value]| {
            apply(state, *function, args)
        });
    }
    for is_filter in [true, false] {
        let base = if is_filter { "filter" } else { "test" };
        mini.add_filter(base, move |state: &mut State<'_, '_>, args: &[Value]| {
            let positional = args.get(2..).unwrap_or_default();
            named(state, is_filter, args, text(args, 1), &Args::positional(positional))
        });
        mini.add_filter(format!("{base}_keywords"), move |state: &mut State<'_, '_>, args: &[Value]| {
            let given = Given::keywords(argument(args, 1), args.get(3..).unwrap_or_default());
            named(state, is_filter, args, text(args, 2), &given.args())
        });
        mini.add_filter(format!("{base}_dynamic"), move |state: &mut State<'_, '_>, args: &[Value]| {
            let given = Given::dynamic(argument(args, 1), args.get(3..).unwrap_or_default(), &mut Vm::new(state)?);
            named(state, is_filter, args, text(args, 2), &given.map_err(raise)?.args())
        });
        mini.add_filter(format!("no_{base}"), move |args: &[Value]| unknown(base, text(args, 1)));
        mini.add_filter(format!("no_{base}_keywords"), move |args: &[Value]| unknown(base, text(args, 2)));
        mini.add_filter(format!("no_{base}_dynamic"), move |args: &[Value]| unknown(base, text(args, 2)));
    }
}

/// A name that lowering always passes.
fn text(args: &[Value], index: usize) -> &str {
    argument(args, index).as_str().unwrap_or_default()
}

/// `x.name` of a plain dict, where that is an entry and nothing else: the usual case, which needs nobody.
#[inline]
pub(super) fn entry(subject: &Value, name: &str) -> Option<Value> {
    let View::Object(object) = view(subject) else { return None };
    let any: &dyn std::any::Any = object;
    let dict = any.downcast_ref::<python::Dict>()?;
    if name.starts_with("__") || object.has_method(name) {
        return None;
    }
    dict.get_str(name)
}

/// `x.name`. The sandbox puts a function of its own in place of `str.format`.
pub(super) fn getattr(subject: &Value, name: &str, vm: &mut Vm<'_, '_, '_>) -> PyResult {
    let run = vm.core.run.clone();
    if run.sandboxed && matches!(name, "format" | "format_map") && python::text(subject).is_some() {
        return Ok(object(Format { run, text: subject.clone(), name: name.into() }));
    }
    run.getattr(subject, name, vm)
}

/// The function that the sandbox gives for `str.format` and `str.format_map`.
struct Format {
    run: Arc<Env>,
    text: Value,
    name: Arc<str>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Format")
    }
}

impl PyObject for Format {
    fn type_name(&self) -> &str {
        "function"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported("the text of a function holds a memory address, which differs in every process")
            .with_hint("call it: add `()`"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        matches!(name, "__name__" | "__qualname__").then(|| Ok(Value::from(&*self.name)))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        sandboxed_format(&self.run, &self.text, &self.name, args, it)
    }
}

/// A name of the context, or the undefined value for it.
fn resolve(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let core = core(state)?;
    let name = argument(args, 0).as_str().unwrap_or_default();
    let context = core.context().map_err(raise)?;
    Ok(context.resolve(name, &core.env).unwrap_or_else(|| Undefined::name(core.env.undefined, name)))
}

/// A filter or test that an `if` around it allowed to be unknown.
fn unknown(kind: &str, name: &str) -> Outcome {
    let name = python::repr_str(name);
    Err(raise(PyErr::new("TemplateRuntimeError", format!("No {kind} named {name} found."))))
}

pub(super) fn apply(state: &mut State<'_, '_>, function: super::super::env::FilterFn, args: &[Value]) -> Outcome {
    args.iter().try_for_each(super::is_set)?;
    let autoescape = super::autoescape(state);
    let mut vm = Vm::new(state)?;
    let cx = vm.core.cx(autoescape);
    let given = Args::positional(args.get(1..).unwrap_or_default());
    function(&cx, argument(args, 0), &given, &mut vm).map_err(raise)
}

/// A filter or test by name, with any arguments.
pub(super) fn named(
    state: &mut State<'_, '_>,
    is_filter: bool,
    args: &[Value],
    name: &str,
    given: &Args<'_>,
) -> Outcome {
    let autoescape = super::autoescape(state);
    let mut vm = Vm::new(state)?;
    let run: Arc<Env> = vm.core.run.clone();
    let found = if is_filter { run.filter(name) } else { run.test(name) };
    let Some(found) = found else { return unknown(if is_filter { "filter" } else { "test" }, name) };
    let cx = vm.core.cx(autoescape);
    found.apply(&cx, argument(args, 0), given, &mut vm).map_err(raise)
}

/// Arguments of a call, collected.
struct Given {
    pos: Vec<Value>,
    kw: Vec<Kwarg>,
}

impl Given {
    fn args(&self) -> Args<'_> {
        Args { pos: &self.pos, kw: &self.kw }
    }

    /// Positional values, then one value for each of the names.
    fn keywords(names: &Value, values: &[Value]) -> Given {
        let names: Vec<&str> = names.as_str().unwrap_or_default().split_ascii_whitespace().collect();
        let (pos, kw) = values.split_at(values.len().saturating_sub(names.len()));
        let kw = names.into_iter().map(Arc::from).zip(kw.iter().cloned()).collect();
        Given { pos: pos.to_vec(), kw }
    }

    /// The same with `*` and `**` values at the end, as the first word of the names says.
    fn dynamic(spec: &Value, values: &[Value], vm: &mut Vm<'_, '_, '_>) -> PyResult<Given> {
        let sandboxed = vm.core.run.sandboxed;
        let it: &mut dyn Interp = vm;
        let (stars, names) = spec.as_str().unwrap_or_default().split_once(' ').unwrap_or_default();
        let (plain, dynamic) = values.split_at(values.len().saturating_sub(stars.len()));
        let mut given = Given::keywords(&Value::from(names), plain);
        let mut dynamic = dynamic.iter();
        if stars.contains('*')
            && let Some(value) = dynamic.next()
        {
            given.pos.extend(python::to_vec(value, it).map_err(|error| star_error(error, "*", value))?);
        }
        if stars.contains('&')
            && let Some(mapping) = dynamic.next()
        {
            given.add_mapping(mapping, sandboxed, it)?;
        }
        Ok(given)
    }

    fn add_mapping(&mut self, mapping: &Value, sandboxed: bool, it: &mut dyn Interp) -> PyResult<()> {
        let not_a_mapping =
            || PyErr::type_error(format!("argument after ** must be a mapping, not {}", python::type_name(mapping)));
        if super::super::undefined::is_undefined(mapping) {
            // Python asks it for its keys
            python::getattr(mapping, "keys", it)?;
        }
        if !python::has_method(mapping, "keys") {
            return Err(not_a_mapping());
        }
        let keys = python::call_method(mapping, "keys", &Args::default(), it)?;
        for key in python::to_vec(&keys, it)? {
            let Some(name) = python::text(&key) else { return Err(PyErr::type_error("keywords must be strings")) };
            if self.kw.iter().any(|(own, _)| &**own == name) {
                // the call that Jinja2 writes goes through the environment
                let class = if sandboxed { "sandbox.SandboxedEnvironment" } else { "runtime.Context" };
                return Err(PyErr::type_error(format!(
                    "jinja2.{class}.call() got multiple values for keyword argument '{name}'"
                )));
            }
            let value = python::getitem(mapping, &key, it)?;
            self.kw.push((name.into(), value));
        }
        Ok(())
    }
}

fn star_error(error: PyErr, star: &str, value: &Value) -> PyErr {
    if error.class == "TypeError" && error.message.ends_with("is not iterable") {
        let name = python::type_name(value);
        return PyErr::type_error(format!("Value after {star} must be an iterable, not {name}"));
    }
    error
}

/// `x.name(...)`.
pub(super) fn method(state: &mut State<'_, '_>, subject: &Value, name: &str, args: &Args<'_>) -> Outcome {
    let mut vm = Vm::new(state)?;
    let run = vm.core.run.clone();
    let direct = match view(subject) {
        View::Str(_) if run.sandboxed && matches!(name, "format" | "format_map") => {
            return sandboxed_format(&run, subject, name, args, &mut vm).map_err(raise);
        }
        // an attribute that is no method wins over nothing; objects decide themselves which names are methods
        View::Object(object) => !name.starts_with("__") && object.has_method(name) && object.as_text().is_none(),
        View::Foreign => false,
        _ => !name.starts_with("__") && python::has_method(subject, name),
    };
    if direct {
        return python::call_method(subject, name, args, &mut vm).map_err(raise);
    }
    let callee = getattr(subject, name, &mut vm).map_err(raise)?;
    call(&mut vm, &callee, args).map_err(raise)
}

/// `f(...)` as the environment's `call` does it.
pub(super) fn call(vm: &mut Vm<'_, '_, '_>, callee: &Value, args: &Args<'_>) -> PyResult {
    let run = vm.core.run.clone();
    if run.sandboxed
        && let Some(bound) = downcast::<BoundMethod>(callee)
        && matches!(&*bound.name, "format" | "format_map")
        && python::text(&bound.this).is_some()
    {
        return sandboxed_format(&run, &bound.this, &bound.name, args, vm);
    }
    vm.call(callee, args)
}

/// `str.format` with the sandbox's lookups.
fn sandboxed_format(run: &Arc<Env>, text: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    struct Access(Arc<Env>);
    impl FieldAccess for Access {
        fn attribute(&mut self, object: &Value, name: &str, it: &mut dyn Interp) -> PyResult {
            self.0.getattr(object, name, it)
        }

        fn item(&mut self, object: &Value, key: &Value, it: &mut dyn Interp) -> PyResult {
            self.0.getitem(object, key, it)
        }
    }
    let mut access = Access(run.clone());
    if name == "format_map" {
        python::format_map_with(text, args, &mut access, it)
    } else {
        python::format_with(text, args, &mut access, it)
    }
}

/// True when the error of a lookup stands for an undefined name of the context.
pub(super) fn is_missing(value: &Value, name: &str) -> bool {
    value.is_undefined()
        || super::super::undefined::as_undefined(value).is_some_and(|undefined| undefined.is_name(name))
}

/// Values of variables for another template, without those that are missing.
pub(super) fn locals(names: &Value, values: &[Value]) -> Result<Vec<(Arc<str>, Value)>, Error> {
    let names = names.as_str().unwrap_or_default().split_ascii_whitespace();
    let listed: Vec<Value>;
    let values = match values {
        [only] if only.kind() == minijinja::value::ValueKind::Seq => {
            listed = only.try_iter().map(Iterator::collect).unwrap_or_default();
            &listed
        }
        values => values,
    };
    Ok(names
        .zip(values)
        .filter(|(name, value)| !is_missing(value, name))
        .map(|(name, value)| (Arc::from(name), value.clone()))
        .collect())
}
