//! The names every template has: `range`, `dict`, `lipsum`, `cycler`, `joiner`, `namespace`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::filters::Sig;
use crate::python::{self, Args, Dict, Interp, PyErr, PyObject, PyResult, Range, Value, View, downcast, object, view};

/// The largest range that Jinja2's sandbox makes.
const MAX_RANGE: u64 = 100_000;

/// Jinja2's global of that name; `sandboxed` as the environment is.
pub fn builtin(name: &str, sandboxed: bool) -> Option<Value> {
    Some(match name {
        "range" if sandboxed => python::function("safe_range", |args, _| safe_range(args)),
        "range" => python::builtin_type("range"),
        "dict" => python::builtin_type("dict"),
        "lipsum" => python::function("generate_lorem_ipsum", lipsum),
        "cycler" => object(Class { name: "Cycler", make: cycler }),
        "joiner" => object(Class { name: "Joiner", make: joiner }),
        "namespace" => object(Class { name: "Namespace", make: namespace }),
        _ => return None,
    })
}

/// The names of [`builtin`].
pub const NAMES: &[&str] = &["range", "dict", "lipsum", "cycler", "joiner", "namespace"];

fn safe_range(args: &Args<'_>) -> PyResult {
    if let Some((key, _)) = args.kw.first() {
        return Err(PyErr::type_error(format!("safe_range() got an unexpected keyword argument '{key}'")));
    }
    let range = Range::new(args)?;
    if range.count() > MAX_RANGE {
        return Err(PyErr::overflow(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MAX_RANGE})."
        )));
    }
    Ok(object(range))
}

fn lipsum(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    let [n, html, _min, _max] =
        Sig { name: "generate_lorem_ipsum", leading: &[], params: ["n", "html", "min", "max"], required: 0 }
            .bind(args)?;
    let paragraphs = match n.map(view) {
        None => 5,
        Some(View::Int(n)) => n,
        Some(View::Bool(n)) => i64::from(n),
        Some(_) => {
            return Err(PyErr::type_error(format!(
                "'{}' object cannot be interpreted as an integer",
                python::type_name(n.unwrap_or(&Value::UNDEFINED))
            )));
        }
    };
    if paragraphs > 0 {
        return Err(PyErr::unsupported("lipsum: its text differs at every run"));
    }
    let html = html.map_or(Ok(true), |html| python::truth(html, it))?;
    Ok(if html { Value::from_safe_string(String::new()) } else { Value::from("") })
}

/// A class of `jinja2.utils`: calling it makes an object.
#[derive(Debug)]
struct Class {
    name: &'static str,
    make: fn(&Args<'_>, &mut dyn Interp) -> PyResult,
}

impl PyObject for Class {
    fn type_name(&self) -> &str {
        "type"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<class 'jinja2.utils.{}'>", self.name))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        matches!(name, "__name__" | "__qualname__").then(|| Ok(Value::from(self.name)))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        (self.make)(args, it)
    }
}

fn no_text(class: &str) -> PyErr {
    PyErr::unsupported(format!("printing a {class}: its text in Airflow is a memory address"))
}

/// `jinja2.utils.Cycler`
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    position: AtomicUsize,
}

fn cycler(args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    if let Some((key, _)) = args.kw.first() {
        return Err(PyErr::type_error(format!("Cycler.__init__() got an unexpected keyword argument '{key}'")));
    }
    if args.pos.is_empty() {
        return Err(PyErr::new("RuntimeError", "at least one item has to be provided"));
    }
    Ok(object(Cycler { items: args.pos.to_vec(), position: AtomicUsize::new(0) }))
}

impl Cycler {
    fn current(&self) -> Value {
        self.items.get(self.position.load(Ordering::Relaxed)).cloned().unwrap_or_default()
    }
}

impl PyObject for Cycler {
    fn type_name(&self) -> &str {
        "Cycler"
    }

    fn qualified_name(&self) -> String {
        "jinja2.utils.Cycler".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(no_text("cycler"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "current" => Some(Ok(self.current())),
            "items" => Some(Ok(python::tuple(self.items.clone()))),
            "pos" => Some(Ok(python::int(self.position.load(Ordering::Relaxed)))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "next" | "reset")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        if name == "next" {
            Sig::<0> { name: "Cycler.next", leading: &["self"], params: [], required: 0 }.bind(args)?;
            let current = self.current();
            let next = (self.position.load(Ordering::Relaxed) + 1) % self.items.len().max(1);
            self.position.store(next, Ordering::Relaxed);
            return Ok(current);
        }
        Sig::<0> { name: "Cycler.reset", leading: &["self"], params: [], required: 0 }.bind(args)?;
        self.position.store(0, Ordering::Relaxed);
        Ok(python::none())
    }
}

/// `jinja2.utils.Joiner`
#[derive(Debug)]
struct Joiner {
    separator: Value,
    used: AtomicBool,
}

fn joiner(args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
    let [separator] = Sig { name: "Joiner.__init__", leading: &["self"], params: ["sep"], required: 0 }.bind(args)?;
    let separator = separator.cloned().unwrap_or_else(|| Value::from(", "));
    Ok(object(Joiner { separator, used: AtomicBool::new(false) }))
}

impl PyObject for Joiner {
    fn type_name(&self) -> &str {
        "Joiner"
    }

    fn qualified_name(&self) -> String {
        "jinja2.utils.Joiner".to_owned()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Err(no_text("joiner"))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "sep" => Some(Ok(self.separator.clone())),
            "used" => Some(Ok(Value::from(self.used.load(Ordering::Relaxed)))),
            _ => None,
        }
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        Sig::<0> { name: "Joiner.__call__", leading: &["self"], params: [], required: 0 }.bind(args)?;
        if self.used.swap(true, Ordering::Relaxed) { Ok(self.separator.clone()) } else { Ok(Value::from("")) }
    }
}

/// `jinja2.utils.Namespace`: attributes that `{% set ns.x = ... %}` assigns.
#[derive(Debug)]
pub struct Namespace {
    attributes: Value,
}

fn namespace(args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
    Ok(object(Namespace { attributes: python::call(&python::builtin_type("dict"), args, it)? }))
}

impl Namespace {
    /// `{% set ns.name = value %}`
    pub fn set(&self, name: &str, value: Value) -> PyResult<()> {
        match downcast::<Dict>(&self.attributes) {
            Some(attributes) => attributes.insert(&Value::from(name), value),
            None => Ok(()),
        }
    }
}

impl PyObject for Namespace {
    fn type_name(&self) -> &str {
        "Namespace"
    }

    fn qualified_name(&self) -> String {
        "jinja2.utils.Namespace".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<Namespace {}>", python::repr(&self.attributes, it)?))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        let attributes = downcast::<Dict>(&self.attributes)?;
        attributes.get_str(name).map(Ok)
    }
}

/// The error of `{% set x.name = value %}` where `x` is no namespace.
pub fn not_a_namespace() -> PyErr {
    PyErr::new("TemplateRuntimeError", "cannot assign attribute on non-namespace object")
}
