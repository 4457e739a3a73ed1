//! Loops, macros and call blocks: what Jinja2 compiles to loops and functions of Python.

use std::sync::Arc;

use super::super::ast::{Expr, ExprKind, For, Signature, Stmt, StmtKind};
use super::super::scope::ForPart;
use super::super::visit::{NameUse, names_in_body, names_in_expr, statements, undeclared};
use super::frames::declares_functions;
use super::statements::{Unpacking, targets, yields_modules};
use super::{Frame, Lowering, Result, TemplateError, assertion};

/// Bytes of lowered source that count as one step of a loop's turn.
const BYTES_PER_STEP: usize = 8;
/// Loops inside loops that CPython compiles within one function.
const MAX_LOOPS: usize = 20;

/// The target of a `for`.
struct Target {
    /// As minijinja writes it.
    code: String,
    /// The shape to unpack when it is not one name.
    shape: Option<String>,
    /// Variables of it that are cells, and temporaries with their values.
    cells: Vec<(Arc<str>, String)>,
}

impl Lowering<'_> {
    pub(super) fn for_loop(&mut self, node: &For, stmt: &Stmt, frame: Frame) -> Result<()> {
        let body_frame = self.inner(frame);
        let test_frame = self.inner(frame);
        let else_frame = self.inner(frame);
        let mut scoped_block = false;
        statements(&node.body, &mut |stmt| {
            scoped_block |= matches!(&stmt.kind, StmtKind::Block(block) if block.scoped);
        });
        statements(&node.otherwise, &mut |stmt| {
            scoped_block |= matches!(&stmt.kind, StmtKind::Block(block) if block.scoped);
        });
        let extended = node.recursive || scoped_block || undeclared(&node.body, &["loop"]).contains(&"loop");
        let loop_ref = extended.then(|| self.scopes.declare_parameter(body_frame.symbols, "loop"));
        self.scopes.for_part(body_frame.symbols, node, ForPart::Body);
        self.scopes.for_part(else_frame.symbols, node, ForPart::Else);
        if node.test.is_some() {
            self.scopes.for_part(test_frame.symbols, node, ForPart::Test);
        }
        check_loop_is_not_assigned(node, stmt)?;
        if self.loops.len() >= MAX_LOOPS {
            return Err(TemplateError::new("SyntaxError", "too many statically nested blocks")
                .at_line(stmt.line)
                .at(stmt.span.range()));
        }
        match loop_ref {
            None => self.plain_loop(node, frame, body_frame, test_frame, else_frame),
            Some(loop_ref) => self.extended_loop(node, &loop_ref, frame, body_frame, test_frame, else_frame),
        }
    }

    /// The target of a `for`, as minijinja writes it, and the shape to unpack when it is not one name.
    fn loop_target(&mut self, target: &Expr, frame: Frame) -> Result<Target> {
        let unpacking = self.unpacking(target, frame)?;
        let shape = (!matches!(target.kind, ExprKind::Name(_))).then_some(unpacking.shape);
        Ok(Target { code: targets(&unpacking.names), shape, cells: unpacking.cells })
    }

    /// Gives the cells of a loop's variables their values.
    fn fill_cells(&mut self, target: &Target) {
        for (ident, value) in &target.cells {
            self.set_code(ident, value);
        }
    }

    /// A loop whose body does not look at `loop`.
    fn plain_loop(
        &mut self,
        node: &For,
        frame: Frame,
        body_frame: Frame,
        test_frame: Frame,
        else_frame: Frame,
    ) -> Result<()> {
        let target = self.loop_target(&node.target, body_frame)?;
        let ran = (node.test.is_some() && !node.otherwise.is_empty()).then(|| self.temporary());
        if let Some(ran) = &ran {
            self.out.tag(&format!("set {ran} = none|flag"));
        }
        if node.test.is_some() {
            self.enter_frame(test_frame.symbols, None);
        }
        let hoist = node.test.is_none() && !declares_functions(&node.body) && !self.has_cells(body_frame.symbols);
        if hoist {
            self.enter_frame(body_frame.symbols, Some(&node.body));
        }
        self.out.mark(node.target.span, node.target.line);
        self.out.push(&format!("{{% for {} in ", target.code));
        self.expr(&node.iter, frame)?;
        self.out.push("|");
        self.out.mark(node.iter.span, node.iter.line);
        self.out.push("iterate(");
        let cost = self.out.reserve();
        if let Some(shape) = &target.shape {
            self.out.push(", ");
            self.out.string(shape);
        }
        self.out.push(") %}");
        let start = self.out.len();
        if let Some(test) = &node.test {
            self.out.push("{% if ");
            // the filter is a function of its own: what it sees is not in the cells yet
            let before = std::mem::replace(&mut self.functions.renamed, target.cells.clone());
            let emitted = self.truth(test, test_frame);
            self.functions.renamed = before;
            emitted?;
            self.out.push(" %}");
        }
        self.fill_cells(&target);
        self.in_loop(true);
        if let Some(ran) = &ran {
            self.out.tag(&format!("set unused = {ran}|raise_flag"));
        }
        if !hoist {
            self.enter_frame(body_frame.symbols, Some(&node.body));
        }
        self.loops.push(None);
        self.body(&node.body, body_frame)?;
        self.loops.pop();
        self.in_loop(false);
        if node.test.is_some() {
            self.out.tag("endif");
        }
        let length = self.out.len() - start;
        self.out.fill(cost, length / BYTES_PER_STEP);
        match ran {
            None if !node.otherwise.is_empty() => {
                self.out.tag("else");
                self.leave_frame(body_frame.symbols);
                self.loop_else(node, else_frame)?;
                self.out.tag("endfor");
                self.leave_frame(body_frame.symbols);
            }
            None => {
                self.out.tag("endfor");
                self.leave_frame(body_frame.symbols);
            }
            Some(ran) => {
                self.out.tag("endfor");
                self.leave_frame(body_frame.symbols);
                self.out.tag(&format!("if not {ran}|flag_raised"));
                self.loop_else(node, else_frame)?;
                self.out.tag("endif");
            }
        }
        Ok(())
    }

    fn loop_else(&mut self, node: &For, frame: Frame) -> Result<()> {
        self.enter_frame(frame.symbols, Some(&node.otherwise));
        self.body(&node.otherwise, frame)?;
        self.leave_frame(frame.symbols);
        Ok(())
    }

    /// A loop with a `loop` object; recursive ones become a macro that the object calls again.
    fn extended_loop(
        &mut self,
        node: &For,
        loop_ref: &Arc<str>,
        frame: Frame,
        body_frame: Frame,
        test_frame: Frame,
        else_frame: Frame,
    ) -> Result<()> {
        let shape = (!matches!(node.target.kind, ExprKind::Name(_))).then(|| shape(&node.target));
        let test = match &node.test {
            Some(test) => Some(self.loop_filter(node, test, test_frame, body_frame)?),
            None => None,
        };
        let mut object = loop_ref.clone();
        let function = if node.recursive {
            let function = self.temporary();
            self.enter_function();
            self.out.tag(&format!("macro {function}({loop_ref})"));
            self.make_cells(std::slice::from_ref(loop_ref));
            if self.is_cell(loop_ref) {
                object = self.temporary().into();
                self.out.tag(&format!("set {object} = {loop_ref}"));
                self.out.tag(&format!("set {loop_ref} = {loop_ref}|cell_of"));
            }
            self.refuse_generator(&node.body);
            Some(function)
        } else {
            if self.is_cell(loop_ref) {
                object = self.temporary().into();
            }
            self.out.push(&format!("{{% set {object} = "));
            self.expr(&node.iter, frame)?;
            self.loop_object(node, test.as_deref(), None);
            None
        };
        // a non-recursive loop's object is made before its body is known: its cost is filled in at the end
        let cost = function.is_none().then(|| self.finish_loop_object(shape.as_deref()));
        let target = self.loop_target(&node.target, body_frame)?;
        let hoist = node.test.is_none() && !declares_functions(&node.body) && !self.has_cells(body_frame.symbols);
        if hoist {
            self.enter_frame(body_frame.symbols, Some(&node.body));
        }
        let start = self.out.len();
        self.out.mark(node.target.span, node.target.line);
        let items = if test.is_some() { "turns" } else { "items" };
        let advance = test.as_ref().map(|_| format!("{{% set unused = {object}|advance %}}"));
        if test.is_some() {
            let turn = self.temporary();
            self.out.tag(&format!("for {turn} in {object}|{items}"));
            self.out.tag(&format!("set {} = {turn}|turn", target.code));
        } else {
            self.out.tag(&format!("for {} in {object}|{items}", target.code));
        }
        self.fill_cells(&target);
        if object != *loop_ref && !node.recursive {
            self.set_code(loop_ref, &object);
        }
        self.in_loop(true);
        if !hoist {
            self.enter_frame(body_frame.symbols, Some(&node.body));
        }
        // a recursive loop is a function of its own
        let outer = if node.recursive { std::mem::take(&mut self.loops) } else { Vec::new() };
        self.loops.push(advance.clone());
        let around = (self.captures, self.generator);
        if node.recursive {
            (self.captures, self.generator) = (0, yields_modules(&node.body));
        }
        self.inside += usize::from(node.recursive);
        self.body(&node.body, body_frame)?;
        self.inside -= usize::from(node.recursive);
        (self.captures, self.generator) = around;
        self.loops.pop();
        if node.recursive {
            self.loops = outer;
        }
        if let Some(advance) = &advance {
            self.out.push(advance);
        }
        self.in_loop(false);
        let leaves = !node.recursive || !node.otherwise.is_empty();
        if !node.otherwise.is_empty() {
            self.out.tag("else");
            self.leave_frame(body_frame.symbols);
            self.loop_else(node, else_frame)?;
        }
        self.out.tag("endfor");
        if leaves {
            self.leave_frame(body_frame.symbols);
        }
        let steps = (self.out.len() - start) / BYTES_PER_STEP;
        if let Some(cost) = cost {
            self.out.fill(cost, steps);
        }
        if let Some(function) = function {
            self.out.tag("endmacro");
            self.leave_function();
            self.out.push("{{ ");
            self.expr(&node.iter, frame)?;
            self.loop_object(node, test.as_deref(), Some(&function));
            let cost = self.finish_recursive(shape.as_deref());
            self.out.fill(cost, steps);
            self.count(1);
        }
        Ok(())
    }

    fn loop_object(&mut self, node: &For, test: Option<&str>, function: Option<&str>) {
        self.out.push("|");
        self.out.mark(node.iter.span, node.iter.line);
        self.out.push(&format!("loop_object({}, {}, ", test.unwrap_or("none"), function.unwrap_or("none")));
    }

    fn finish_loop_object(&mut self, shape: Option<&str>) -> usize {
        let cost = self.out.reserve();
        self.shape_argument(shape);
        self.out.push(") %}");
        cost
    }

    fn finish_recursive(&mut self, shape: Option<&str>) -> usize {
        let cost = self.out.reserve();
        self.shape_argument(shape);
        self.out.push(")|start_loop }}");
        cost
    }

    fn shape_argument(&mut self, shape: Option<&str>) {
        if let Some(shape) = shape {
            self.out.push(", ");
            self.out.string(shape);
        }
    }

    /// The filter of a loop with a `loop` object: a macro that gives the condition's value for an item.
    fn loop_filter(&mut self, node: &For, test: &Expr, test_frame: Frame, body_frame: Frame) -> Result<String> {
        let function = self.temporary();
        self.enter_frame(test_frame.symbols, None);
        self.enter_function();
        let mut targets: Vec<Arc<str>> = Vec::new();
        names_in_expr(&node.target, NameUse::Store, &mut |name, _| targets.push(name.into()));
        if targets.iter().enumerate().any(|(at, name)| targets[..at].contains(name)) {
            return Err(TemplateError::new("Unsupported", "a filtered loop whose target names a variable twice")
                .at_line(node.target.line)
                .at(node.target.span.range()));
        }
        for name in &targets {
            let ident = self.variable(name, &node.target, body_frame)?;
            self.own(&ident);
        }
        let Unpacking { names, .. } = self.unpacking(&node.target, body_frame)?;
        self.out.tag(&format!("macro {function}({})", names.join(", ")));
        self.out.push("{% set unused = ");
        self.truth(test, test_frame)?;
        self.out.push("|give %}");
        self.out.tag("endmacro");
        self.leave_function();
        Ok(function)
    }

    pub(super) fn macro_definition(
        &mut self,
        name: &Arc<str>,
        signature: &Signature,
        body: &[Stmt],
        stmt: &Stmt,
        frame: Frame,
    ) -> Result<()> {
        let object = self.macro_object(Some(name), signature, body, stmt, frame)?;
        let ident = self.variable_of(name, stmt, frame)?;
        self.stored(&ident);
        self.set_code(&ident, &object);
        self.export(name, frame, "export");
        Ok(())
    }

    pub(super) fn call_block(
        &mut self,
        call: &Expr,
        signature: &Signature,
        body: &[Stmt],
        stmt: &Stmt,
        frame: Frame,
    ) -> Result<()> {
        let object = self.macro_object(None, signature, body, stmt, frame)?;
        let caller = self.temporary();
        self.out.tag(&format!("set {caller} = {object}"));
        let ExprKind::Call(callee, args) = &call.kind else { return Ok(()) };
        self.out.mark(stmt.span, stmt.line);
        self.out.push("{{ ");
        self.call(callee, args, Some(&caller), call, frame)?;
        self.out.push(self.written());
        self.count(1);
        Ok(())
    }

    /// `include ... without context` makes the function around it a Python generator, which does nothing when called.
    fn refuse_generator(&mut self, body: &[Stmt]) {
        if yields_modules(body) {
            self.out.print("none|refuse_generator");
        }
    }

    fn variable_of(&self, name: &str, stmt: &Stmt, frame: Frame) -> Result<Arc<str>> {
        self.scopes.find(frame.symbols, name).cloned().ok_or_else(|| {
            TemplateError::new("AssertionError", format!("unknown name {name}"))
                .at_line(stmt.line)
                .at(stmt.span.range())
        })
    }

    /// Emits the function behind a macro or call block; returns the expression that makes its object.
    fn macro_object(
        &mut self,
        name: Option<&Arc<str>>,
        signature: &Signature,
        body: &[Stmt],
        stmt: &Stmt,
        frame: Frame,
    ) -> Result<String> {
        let inner = Frame { output_check: false, ..self.inner(frame) };
        let symbols = inner.symbols;
        let declare = |this: &mut Self| {
            for (name, _) in &signature.args {
                this.scopes.declare_parameter(symbols, name);
            }
            for default in &signature.defaults {
                this.scopes.read(symbols, default);
            }
        };
        declare(self);
        self.scopes.body(symbols, body);
        let names: Vec<&str> = signature.args.iter().map(|(name, _)| &**name).collect();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                let message = format!("duplicate argument '{name}' in function definition");
                return Err(TemplateError::new("SyntaxError", message).at_line(stmt.line).at(stmt.span.range()));
            }
        }
        let special = undeclared(body, &["caller", "kwargs", "varargs"]);
        let mut params: Vec<Arc<str>> = Vec::new();
        for name in &names {
            params.push(self.variable_of(name, stmt, inner)?);
        }
        let mut flags = String::new();
        if special.contains(&"caller") {
            match names.iter().position(|name| *name == "caller") {
                // it keeps its special meaning only if it has a default
                Some(at) if at + signature.defaults.len() < names.len() => {
                    return Err(assertion(
                        "When defining macros or call blocks the special \"caller\" argument must be omitted or be given \
                         a default."
                            .into(),
                        stmt.line,
                        stmt.span,
                    ));
                }
                Some(_) => flags.push('e'),
                None => params.push(self.scopes.declare_parameter(symbols, "caller")),
            }
            flags.push('c');
        }
        for (name, flag) in [("kwargs", 'k'), ("varargs", 'v')] {
            if special.contains(&name) && !names.contains(&name) {
                params.push(self.scopes.declare_parameter(symbols, name));
                flags.push(flag);
            }
        }
        // the body is read again now that the special parameters are known
        declare(self);
        self.scopes.body(symbols, body);

        let function = self.temporary();
        self.out.mark(stmt.span, stmt.line);
        self.enter_function();
        self.out.tag(&format!("macro {function}({})", params.join(", ")));
        self.make_cells(&params);
        let plain = std::mem::replace(&mut self.functions.plain, params.clone());
        self.refuse_generator(body);
        self.enter_frame(symbols, None);
        let without = names.len() - signature.defaults.len();
        self.parameters = params[..names.len()].to_vec();
        // parameters without a default come with their value or as undefined already
        self.parameters.drain(..without);
        for (default, param) in signature.defaults.iter().zip(&params[without..]) {
            self.out.tag(&format!("if {param}|is_unset"));
            self.out.push(&format!("{{% set {param} = "));
            self.expr(default, inner)?;
            self.out.push(" %}");
            self.out.tag("endif");
            self.parameters.retain(|open| open != param);
        }
        self.parameters.clear();
        self.functions.plain = plain;
        for param in &params {
            if self.is_cell(param) {
                self.out.tag(&format!("set {param} = {param}|cell_of"));
            }
        }
        let loops = std::mem::take(&mut self.loops);
        let around = (self.captures, std::mem::replace(&mut self.generator, yields_modules(body)));
        self.captures = 0;
        self.inside += 1;
        self.body(body, inner)?;
        self.inside -= 1;
        (self.captures, self.generator) = around;
        self.loops = loops;
        self.out.tag("endmacro");
        self.leave_function();
        let count = signature.defaults.len();
        let label = name.map_or_else(|| "none".to_owned(), |name| format!("\"{name}\""));
        Ok(format!("{function}|macro_object({label}, \"{}\", {count}, \"{flags}\")", names.join(" ")))
    }
}

/// The shape of a tuple target.
fn shape(target: &Expr) -> String {
    match &target.kind {
        ExprKind::Tuple(items) => format!("({})", items.iter().map(shape).collect::<String>()),
        _ => "x".to_owned(),
    }
}

/// Jinja2 refuses templates that assign to `loop` inside a loop.
fn check_loop_is_not_assigned(node: &For, stmt: &Stmt) -> Result<()> {
    let mut found = false;
    let mut see = |name: &str, use_: NameUse| found |= use_ == NameUse::Store && name == "loop";
    names_in_expr(&node.target, NameUse::Store, &mut see);
    names_in_body(&node.body, &mut see);
    names_in_body(&node.otherwise, &mut see);
    if found {
        let message = "Can't assign to special loop variable in for-loop target".to_owned();
        return Err(assertion(message, stmt.line, stmt.span));
    }
    Ok(())
}
