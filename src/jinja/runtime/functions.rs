//! Functions of a template: macros, bodies of loops, blocks as values.

use std::sync::Arc;

use minijinja::{Environment as Mini, State};

use super::super::undefined::Undefined;
use super::context::Context;
use super::core::Written;
use super::vm::{Vm, raise};
use super::{Outcome, argument, pieces, templates};
use crate::python::{self, Args, Interp, PyErr, PyObject, PyResult, Value, downcast, object};

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    mini.add_filter("macro_object", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let vm = Vm::new(state)?;
        let context = vm.core.context().map_err(raise)?;
        let names = argument(args, 2).as_str().unwrap_or_default();
        let flags = argument(args, 4).as_str().unwrap_or_default();
        Ok(object(Macro {
            name: argument(args, 1).as_str().map(Arc::from),
            arguments: names.split_ascii_whitespace().map(Arc::from).collect(),
            defaults: usize::try_from(argument(args, 3).as_i64().unwrap_or(0)).unwrap_or(0),
            catch_kwargs: flags.contains('k'),
            catch_varargs: flags.contains('v'),
            caller: flags.contains('c'),
            function: Function::new(argument(args, 0).clone(), context),
        }))
    });
}

/// A macro of minijinja with the context its free names are resolved in.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    body: Value,
    context: Arc<Context>,
    /// Its result is what it gives (a loop's filter), not what it writes.
    gives: bool,
}

impl Function {
    pub fn new(body: Value, context: Arc<Context>) -> Self {
        Function { body, context, gives: false }
    }

    pub fn giving(body: Value, context: Arc<Context>) -> Self {
        Function { body, context, gives: true }
    }

    /// Runs it; what it wrote is the result.
    fn run(&self, vm: &mut Vm<'_, '_, '_>, args: &[Value]) -> PyResult {
        nested(vm, &self.context, |vm| {
            let native = vm.core.env.native;
            if native {
                vm.core.machine().pieces.push(Vec::new());
            }
            let depth = if vm.core.exact { vm.core.machine().begin() } else { 0 };
            let result = self.body.call(vm.state, args);
            let collected = if native { vm.core.machine().pieces.pop() } else { None };
            let written = if vm.core.exact { vm.core.machine().end(depth) } else { Written::default() };
            let text = result.map_err(|error| vm.caught(&error))?;
            if self.gives {
                return Ok(vm.core.machine().given.take().unwrap_or_default());
            }
            match collected {
                Some(collected) => pieces::concat(collected, vm),
                None => written.check().map(|()| text),
            }
        })
    }
}

impl PyObject for Function {
    fn type_name(&self) -> &str {
        "function"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported("printing a function"))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, _args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Err(out_of_reach())
    }
}

/// Runs something inside a context, one level deeper.
pub(super) fn nested(
    vm: &mut Vm<'_, '_, '_>,
    context: &Arc<Context>,
    run: impl FnOnce(&mut Vm<'_, '_, '_>) -> PyResult,
) -> PyResult {
    let limit = vm.core.env.limits.recursion;
    vm.charge(16)?;
    {
        let mut machine = vm.core.machine();
        if machine.depth >= limit {
            return Err(PyErr::limit(format!("calls are nested more than {limit} deep")));
        }
        machine.depth += 1;
        machine.contexts.push(context.clone());
    }
    let result = stacker::maybe_grow(256 << 10, 2 << 20, || run(vm));
    let mut machine = vm.core.machine();
    machine.contexts.pop();
    machine.depth -= 1;
    drop(machine);
    result
}

/// A macro where minijinja's state is not at hand.
fn out_of_reach() -> PyErr {
    PyErr::unsupported("a macro called from inside a lazy filter or after the rendering")
}

/// Calls what only the engine can call; `None` for everything else.
pub(super) fn call(vm: &mut Vm<'_, '_, '_>, callee: &Value, args: &Args<'_>) -> Option<PyResult> {
    if let Some(function) = downcast::<Macro>(callee) {
        return Some(function.invoke(vm, args));
    }
    if let Some(function) = downcast::<Function>(callee) {
        return Some(function.run(vm, args.pos));
    }
    downcast::<templates::BlockReference>(callee).map(|block| block.invoke(vm, args))
}

/// `jinja2.runtime.Macro`
#[derive(Debug)]
pub(crate) struct Macro {
    name: Option<Arc<str>>,
    arguments: Vec<Arc<str>>,
    /// How many of the last arguments have a default.
    defaults: usize,
    catch_kwargs: bool,
    catch_varargs: bool,
    caller: bool,
    function: Function,
}

impl Macro {
    fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| "None".to_owned(), |name| python::repr_str(name))
    }

    fn invoke(&self, vm: &mut Vm<'_, '_, '_>, args: &Args<'_>) -> PyResult {
        super::cells::refuse_missing(args.pos.iter().chain(args.kw.iter().map(|(_, value)| value)))?;
        let kind = vm.core.env.undefined;
        let count = self.arguments.len();
        let mut keywords = args.kw.to_vec();
        let mut values: Vec<Value> = args.pos.iter().take(count).cloned().collect();
        let mut found_caller = values.len() == count && self.arguments.iter().any(|name| &**name == "caller");
        let without_default = count - self.defaults.min(count);
        for (index, name) in self.arguments.iter().enumerate().skip(values.len()) {
            found_caller |= &**name == "caller";
            let given = keywords.iter().position(|(key, _)| key == name).map(|at| keywords.remove(at).1);
            values.push(match given {
                Some(value) => value,
                None if index < without_default => Undefined::parameter(kind, name),
                None => Value::UNDEFINED,
            });
        }
        if self.caller && !found_caller {
            let given = keywords.iter().position(|(key, _)| &**key == "caller").map(|at| keywords.remove(at).1);
            let caller = given.filter(|value| !value.is_none());
            values.push(caller.unwrap_or_else(|| Undefined::hint(kind, "No caller defined")));
        }
        if self.catch_kwargs {
            let pairs = keywords.iter().map(|(key, value)| (Value::from(&**key), value.clone()));
            values.push(python::dict(pairs)?);
        } else if let Some((first, _)) = keywords.first() {
            let label = self.label();
            if keywords.iter().any(|(key, _)| &**key == "caller") {
                return Err(PyErr::type_error(format!(
                    "macro {label} was invoked with two values for the special caller argument. This is most likely a bug."
                )));
            }
            let first = python::repr_str(first);
            return Err(PyErr::type_error(format!("macro {label} takes no keyword argument {first}")));
        }
        if self.catch_varargs {
            values.push(python::tuple(args.pos.iter().skip(count).cloned().collect()));
        } else if args.pos.len() > count {
            let label = self.label();
            return Err(PyErr::type_error(format!("macro {label} takes not more than {count} argument(s)")));
        }
        self.function.run(vm, &values)
    }
}

impl PyObject for Macro {
    fn type_name(&self) -> &str {
        "Macro"
    }

    fn qualified_name(&self) -> String {
        "jinja2.runtime.Macro".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(match &self.name {
            Some(name) => format!("<Macro {}>", python::repr_str(name)),
            None => "<Macro anonymous>".to_owned(),
        })
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        Some(Ok(match name {
            "name" => self.name.as_ref().map_or_else(python::none, |name| Value::from(&**name)),
            "arguments" => python::tuple(self.arguments.iter().map(|name| Value::from(&**name)).collect()),
            "catch_kwargs" => Value::from(self.catch_kwargs),
            "catch_varargs" => Value::from(self.catch_varargs),
            "caller" => Value::from(self.caller),
            "explicit_caller" => Value::from(self.arguments.iter().any(|name| &**name == "caller")),
            _ => return None,
        }))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, _args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Err(out_of_reach())
    }
}
