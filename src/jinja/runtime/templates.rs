//! Composition: include, import, extends, blocks.

use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::{Environment as Mini, State};

use super::super::TemplateError;
use super::super::cache::{Options, Program};
use super::super::undefined::{Undefined, as_undefined, is_undefined};
use super::access::locals;
use super::context::{BlockUnit, Context, Scope};
use super::core::Written;
use super::functions::nested;
use super::pieces::not_text;
use super::vm::{Vm, core, raise, raise_template};
use super::{Outcome, argument, pieces};
use crate::python::{self, Args, Interp, PyErr, PyObject, PyResult, Value, downcast, object};

/// Registers the filters.
pub(super) fn register(mini: &mut Mini<'static>) {
    mini.add_filter("next_unit", |state: &mut State<'_, '_>, _args: &[Value]| -> Outcome {
        Ok(core(state)?.machine().next_unit.take().map_or(Value::UNDEFINED, Value::from))
    });
    mini.add_filter("export", |state: &mut State<'_, '_>, args: &[Value]| export(state, args, true));
    mini.add_filter("export_private", |state: &mut State<'_, '_>, args: &[Value]| export(state, args, false));
    mini.add_filter("raise_runtime", |args: &[Value]| -> Outcome {
        Err(raise(PyErr::new("TemplateRuntimeError", argument(args, 0).as_str().unwrap_or_default())))
    });
    mini.add_filter("check_namespace", |args: &[Value]| -> Outcome {
        match downcast::<super::super::globals::Namespace>(argument(args, 0)) {
            Some(_) => Ok(Value::from(())),
            None => Err(raise(super::super::globals::not_a_namespace())),
        }
    });
    mini.add_filter("set_attribute", |args: &[Value]| -> Outcome {
        let name = argument(args, 1).as_str().unwrap_or_default();
        match downcast::<super::super::globals::Namespace>(argument(args, 0)) {
            Some(namespace) => namespace.set(name, argument(args, 2).clone()).map_err(raise)?,
            None => return Err(raise(super::super::globals::not_a_namespace())),
        }
        Ok(Value::from(()))
    });
    mini.add_filter("self_reference", |state: &mut State<'_, '_>, _args: &[Value]| -> Outcome {
        let context = core(state)?.context().map_err(raise)?;
        Ok(object(TemplateReference { context }))
    });
    mini.add_filter("super_reference", super_reference);
    mini.add_filter("block", |state: &mut State<'_, '_>, args: &[Value]| block(state, args, false));
    mini.add_filter("required_block", |state: &mut State<'_, '_>, args: &[Value]| block(state, args, true));
    mini.add_filter("extends", extends);
    mini.add_filter("run_parent", |state: &mut State<'_, '_>, args: &[Value]| -> Outcome {
        let mut vm = Vm::new(state)?;
        let context = vm.core.context().map_err(raise)?;
        let unit = argument(args, 0).as_str().unwrap_or_default();
        run(&mut vm, unit, &context)
    });
    mini.add_filter("include", include);
    mini.add_filter("include_module", include_module);
    mini.add_filter("refuse_generator", |_args: &[Value]| -> Outcome {
        let what = "`include ... without context` inside of a macro, call block or recursive loop";
        Err(raise(
            PyErr::unsupported(what).with_hint("Jinja2 makes it a generator that writes nothing: include it elsewhere"),
        ))
    });
    mini.add_filter("begin_leaks", begin_leaks);
    mini.add_filter("leaked", leaked);
    mini.add_filter("import", import);
    mini.add_filter("module_attribute", module_attribute);
}

fn export(state: &mut State<'_, '_>, args: &[Value], exported: bool) -> Outcome {
    let context = core(state)?.context().map_err(raise)?;
    let name = argument(args, 1).as_str().unwrap_or_default();
    context.set(name, argument(args, 0).clone(), exported);
    Ok(Value::from(()))
}

/// Runs a unit where its output belongs: as text to write, or in native mode straight into the pieces.
fn run(vm: &mut Vm<'_, '_, '_>, unit: &str, context: &Arc<Context>) -> Outcome {
    match run_text(vm, unit, context) {
        Ok(_) if vm.core.env.native => Ok(pieces::nothing()),
        Ok(text) if super::autoescape(vm.state) => Ok(Value::from_safe_string(text)),
        Ok(text) => Ok(Value::from(text)),
        Err(error) => Err(raise(error)),
    }
}

fn run_text(vm: &mut Vm<'_, '_, '_>, unit: &str, context: &Arc<Context>) -> PyResult<String> {
    let unit: Arc<str> = unit.into();
    let mut text = String::new();
    nested(vm, context, |vm| {
        {
            let mut machine = vm.core.machine();
            machine.units.push(unit.clone());
            machine.next_unit = Some(unit.clone());
        }
        let result = vm.state.render_block("run");
        vm.core.machine().units.pop();
        text = result.map_err(|error| vm.caught(&error))?;
        Ok(Value::UNDEFINED)
    })?;
    Ok(text)
}

/// Runs a unit and gives what it wrote as a value (native mode: the concatenated pieces).
fn run_value(vm: &mut Vm<'_, '_, '_>, unit: &str, context: &Arc<Context>) -> PyResult {
    let (collected, written) = run_pieces(vm, unit, context)?;
    if vm.core.env.native {
        return pieces::concat(collected, vm);
    }
    written.check()?;
    Ok(joined(&collected, super::autoescape(vm.state)))
}

fn run_pieces(vm: &mut Vm<'_, '_, '_>, unit: &str, context: &Arc<Context>) -> PyResult<(Vec<Value>, Written)> {
    let native = vm.core.env.native;
    let depth = {
        let mut machine = vm.core.machine();
        if native {
            machine.pieces.push(Vec::new());
        }
        machine.begin()
    };
    let result = run_text(vm, unit, context);
    let mut machine = vm.core.machine();
    let written = machine.end(depth);
    if native {
        let collected = machine.pieces.pop().unwrap_or_default();
        return result.map(|_| (collected, written));
    }
    drop(machine);
    result.map(|text| (vec![Value::from(text)], written))
}

fn block(state: &mut State<'_, '_>, args: &[Value], required: bool) -> Outcome {
    let mut vm = Vm::new(state)?;
    let name = argument(args, 0).as_str().unwrap_or_default();
    let mut context = vm.core.context().map_err(raise)?;
    let stack = context.block(name);
    if required && stack.len() <= 1 {
        let message = format!("Required block {} not found", python::repr_str(name));
        return Err(raise(PyErr::new("TemplateRuntimeError", message)));
    }
    let Some(first) = stack.first() else { return Err(raise(PyErr::new("KeyError", python::repr_str(name)))) };
    if !argument(args, 1).is_none() {
        // `scoped`: the block's context is derived from this one and sees its variables
        let locals = locals(argument(args, 1), args.get(2..).unwrap_or_default())?;
        let blocks = super::core::lock(&context.blocks).clone();
        context = Arc::new(Context::new(context.name.clone(), context.layer(locals), blocks));
    }
    let unit = first.unit.clone();
    run(&mut vm, &unit, &context)
}

/// Loads the parent: its blocks go behind those of the templates that extend it.
fn extends(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let mut vm = Vm::new(state)?;
    let program = get_template(&mut vm, argument(args, 0)).map_err(raise_template)?;
    let context = vm.core.context().map_err(raise)?;
    let mut blocks = super::core::lock(&context.blocks);
    for (name, unit) in program.block_units() {
        blocks.entry(name.clone()).or_default().push(BlockUnit { unit: unit.clone() });
    }
    drop(blocks);
    Ok(Value::from(program.root()))
}

fn super_reference(state: &mut State<'_, '_>, _args: &[Value]) -> Outcome {
    let core = core(state)?;
    let context = core.context().map_err(raise)?;
    let current = core.machine().units.last().cloned();
    let blocks = super::core::lock(&context.blocks);
    let found = blocks.iter().find_map(|(name, stack)| {
        let at = stack.iter().position(|block| Some(&block.unit) == current.as_ref())?;
        Some((name.clone(), stack.clone(), at + 1))
    });
    drop(blocks);
    let Some((name, stack, depth)) = found else {
        return Ok(Undefined::hint(core.env.undefined, "there is no parent block"));
    };
    Ok(reference(name, context, stack, depth, core.env.undefined))
}

fn reference(
    name: Arc<str>,
    context: Arc<Context>,
    stack: Vec<BlockUnit>,
    depth: usize,
    undefined: super::super::UndefinedKind,
) -> Value {
    if depth >= stack.len() {
        let name = python::repr_str(&name);
        return Undefined::hint(undefined, format!("there is no parent block called {name}."));
    }
    object(BlockReference { name, context, stack, depth, undefined })
}

/// `jinja2.runtime.BlockReference`: what `super` and `self.name` are.
#[derive(Debug)]
pub(crate) struct BlockReference {
    name: Arc<str>,
    context: Arc<Context>,
    stack: Vec<BlockUnit>,
    depth: usize,
    undefined: super::super::UndefinedKind,
}

impl BlockReference {
    /// Renders the block.
    pub fn invoke(&self, vm: &mut Vm<'_, '_, '_>, args: &Args<'_>) -> PyResult {
        if let Some((name, _)) = args.kw.first() {
            return Err(PyErr::type_error(format!(
                "BlockReference.__call__() got an unexpected keyword argument '{name}'"
            )));
        }
        if !args.pos.is_empty() {
            return Err(PyErr::type_error(format!(
                "BlockReference.__call__() takes 1 positional argument but {} were given",
                args.pos.len() + 1
            )));
        }
        match self.stack.get(self.depth) {
            Some(block) => run_value(vm, &block.unit.clone(), &self.context),
            None => Ok(Value::UNDEFINED),
        }
    }
}

impl PyObject for BlockReference {
    fn type_name(&self) -> &str {
        "BlockReference"
    }

    fn qualified_name(&self) -> String {
        "jinja2.runtime.BlockReference".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(PyErr::unsupported("printing a block: its text in Airflow is a memory address")
            .with_hint("call it: `super()` or `self.name()`"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "name" => Some(Ok(Value::from(&*self.name))),
            "super" => {
                let (name, stack) = (self.name.clone(), self.stack.clone());
                Some(Ok(reference(name, self.context.clone(), stack, self.depth + 1, self.undefined)))
            }
            _ => None,
        }
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, _args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Err(PyErr::unsupported("a block called from inside a lazy filter"))
    }
}

/// `jinja2.runtime.TemplateReference`: what `self` is.
#[derive(Debug)]
struct TemplateReference {
    context: Arc<Context>,
}

impl PyObject for TemplateReference {
    fn type_name(&self) -> &str {
        "TemplateReference"
    }

    fn qualified_name(&self) -> String {
        "jinja2.runtime.TemplateReference".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        let name = self.context.name.as_ref().map_or_else(|| "None".to_owned(), |name| python::repr_str(name));
        Ok(format!("<TemplateReference {name}>"))
    }

    fn getitem(&self, key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        let name = python::text(key).unwrap_or_default();
        let stack = self.context.block(name);
        if stack.is_empty() {
            return Some(Err(python::key_error(key, it)));
        }
        Some(Ok(reference(name.into(), self.context.clone(), stack, 0, super::super::UndefinedKind::Strict)))
    }
}

/// Loads and compiles a template by name, as `Environment.get_template` does.
fn get_template(vm: &mut Vm<'_, '_, '_>, name: &Value) -> Result<Arc<Program>, TemplateError> {
    let core = vm.core.clone();
    let Some(loader) = &core.env.loader else {
        return Err(PyErr::type_error("no loader for this environment specified").into());
    };
    if let Some(undefined) = as_undefined(name) {
        return Err(undefined.error(vm).into());
    }
    let Some(text) = python::text(name) else {
        return Err(python::no_attribute(name, "split").into());
    };
    let source = loader.load(text)?;
    let options = Options { exports: true, exact: core.exact, trace: core.trace };
    core.generation.program(&core.env, &core.run, &source, Some(text), options)
}

fn not_found(error: &TemplateError) -> bool {
    matches!(&*error.class, "TemplateNotFound" | "TemplatesNotFound")
}

/// The first template that exists, as `Environment.select_template` does.
fn select_template(vm: &mut Vm<'_, '_, '_>, names: &Value) -> Result<Arc<Program>, TemplateError> {
    if let Some(undefined) = as_undefined(names) {
        return Err(undefined.error(vm).into());
    }
    if !python::truth(names, vm)? {
        return Err(TemplateError::new("TemplatesNotFound", "Tried to select from an empty list of templates."));
    }
    let mut parts = Vec::new();
    for name in python::to_vec(names, vm)? {
        match get_template(vm, &name) {
            Err(error) if not_found(&error) || &*error.class == "UndefinedError" => {
                parts.push(match as_undefined(&name) {
                    Some(undefined) => undefined.message(vm)?,
                    None => python::str(&name, vm)?,
                });
            }
            other => return other,
        }
    }
    let parts = parts.join(", ");
    Err(TemplateError::new("TemplatesNotFound", format!("none of the templates given were found: {parts}")))
}

/// Finds the template of an include; `None` when it is missing and may be.
fn find(
    vm: &mut Vm<'_, '_, '_>,
    name: &Value,
    how: &Value,
    ignore_missing: bool,
) -> Result<Option<Arc<Program>>, TemplateError> {
    let one = match how.as_str().unwrap_or_default() {
        "one" => true,
        "select" => false,
        _ => python::text(name).is_some() || is_undefined(name),
    };
    let found = if one { get_template(vm, name) } else { select_template(vm, name) };
    match found {
        Ok(program) => Ok(Some(program)),
        Err(error) if ignore_missing && not_found(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn include(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let mut vm = Vm::new(state)?;
    let found = find(&mut vm, argument(args, 0), argument(args, 1), argument(args, 2).is_true());
    let Some(program) = found.map_err(raise_template)? else { return Ok(pieces::nothing()) };
    let locals = locals(argument(args, 3), args.get(4..).unwrap_or_default())?;
    let outer = vm.core.context().map_err(raise)?;
    let context = Arc::new(Context::new(program.name(), outer.layer(locals), program.blocks()));
    run(&mut vm, program.root(), &context)
}

fn include_module(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let mut vm = Vm::new(state)?;
    let found = find(&mut vm, argument(args, 0), argument(args, 1), argument(args, 2).is_true());
    let Some(program) = found.map_err(raise_template)? else { return Ok(pieces::nothing()) };
    let context = module_context(&program);
    let (pieces, written) = run_pieces(&mut vm, program.root(), &context).map_err(raise)?;
    if argument(args, 3).is_true() {
        // inside a capture: Jinja2 hands the pieces to the function around it, past the capture
        let mut machine = vm.core.machine();
        if let Some(leaks) = machine.leaks.last_mut() {
            leaks.push((pieces, written));
            return Ok(pieces::nothing());
        }
        return Err(raise(PyErr::unsupported("`include ... without context` in a place where its output gets lost")));
    }
    vm.core.machine().add(written);
    if vm.core.env.native {
        for piece in pieces {
            pieces::collect(piece, &mut vm).map_err(raise)?;
        }
        return Ok(pieces::nothing());
    }
    Ok(joined(&pieces, super::autoescape(vm.state)))
}

fn joined(pieces: &[Value], safe: bool) -> Value {
    let text = pieces.iter().filter_map(|piece| piece.as_str()).collect::<String>();
    if safe { Value::from_safe_string(text) } else { Value::from(text) }
}

/// Begins to keep what leaves captures (see [`include_module`]).
fn begin_leaks(state: &mut State<'_, '_>, _args: &[Value]) -> Outcome {
    core(state)?.machine().leaks.push(Vec::new());
    Ok(Value::from(()))
}

/// Writes what left the capture.
fn leaked(state: &mut State<'_, '_>, _args: &[Value]) -> Outcome {
    let mut vm = Vm::new(state)?;
    let leaks = vm.core.machine().leaks.pop().unwrap_or_default();
    let mut text = Vec::new();
    for (pieces, written) in leaks {
        vm.core.machine().add(written);
        for piece in pieces {
            if vm.core.env.native {
                pieces::collect(piece, &mut vm).map_err(raise)?;
            } else {
                text.push(piece);
            }
        }
    }
    if vm.core.env.native {
        return Ok(pieces::nothing());
    }
    Ok(joined(&text, super::autoescape(vm.state)))
}

/// A context that sees the environment's globals only.
fn module_context(program: &Program) -> Arc<Context> {
    Arc::new(Context::new(program.name(), Arc::new(Scope::Base(None)), program.blocks()))
}

/// `import`, with the locals of the importing template when it says `with context`.
fn import(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let mut vm = Vm::new(state)?;
    let program = get_template(&mut vm, argument(args, 0)).map_err(raise_template)?;
    let context = if args.len() > 1 {
        let locals = locals(argument(args, 1), args.get(2..).unwrap_or_default())?;
        let outer = vm.core.context().map_err(raise)?;
        Arc::new(Context::new(program.name(), outer.layer(locals), program.blocks()))
    } else {
        module_context(&program)
    };
    let (body, written) = run_pieces(&mut vm, program.root(), &context).map_err(raise)?;
    Ok(object(TemplateModule { name: program.name(), body, written, exported: context.exported() }))
}

fn module_attribute(state: &mut State<'_, '_>, args: &[Value]) -> Outcome {
    let core = core(state)?;
    let Some(module) = downcast::<TemplateModule>(argument(args, 0)) else { return Ok(Value::UNDEFINED) };
    let name = argument(args, 1).as_str().unwrap_or_default();
    if let Some(value) = module.exported.get(name) {
        return Ok(value.clone());
    }
    let place = argument(args, 2).as_str().unwrap_or_default();
    let own = module.name.as_ref().map_or_else(|| "None".to_owned(), |name| python::repr_str(name));
    let name = python::repr_str(name);
    let hint = format!("the template {own} (imported on {place}) does not export the requested name {name}");
    Ok(Undefined::hint(core.env.undefined, hint))
}

/// `jinja2.environment.TemplateModule`
#[derive(Debug)]
struct TemplateModule {
    name: Option<Arc<str>>,
    body: Vec<Value>,
    written: Written,
    exported: IndexMap<Arc<str>, Value>,
}

impl PyObject for TemplateModule {
    fn type_name(&self) -> &str {
        "TemplateModule"
    }

    fn qualified_name(&self) -> String {
        "jinja2.environment.TemplateModule".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        let name = self.name.as_ref().map_or_else(|| "None".to_owned(), |name| python::repr_str(name));
        Ok(format!("<TemplateModule {name}>"))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        self.written.check()?;
        let mut text = String::new();
        for (at, piece) in self.body.iter().enumerate() {
            match python::text(piece) {
                Some(part) => text.push_str(part),
                None => return Err(not_text(at, piece)),
            }
        }
        Ok(text)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some(value) = self.exported.get(name) {
            return Some(Ok(value.clone()));
        }
        match (name, &self.name) {
            ("__name__", Some(name)) => Some(Ok(Value::from(&**name))),
            ("__name__", None) => Some(Ok(python::none())),
            _ => None,
        }
    }
}
