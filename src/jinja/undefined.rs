//! Jinja2's undefined values: what a template holds in place of a value that is not there.

use std::borrow::Cow;

use super::UndefinedKind;
use crate::python::{
    self, Args, BinOp, CmpOp, HashKey, Interp, Plain, PyErr, PyIter, PyIterator, PyObject, PyResult, UnaryOp, Value,
    View, object, view,
};

impl UndefinedKind {
    /// The kind of a class name as a Dag file gives it.
    pub fn from_class(name: &str) -> Option<Self> {
        match name.rsplit('.').next()? {
            "StrictUndefined" => Some(Self::Strict),
            "Undefined" => Some(Self::Lenient),
            "ChainableUndefined" => Some(Self::Chainable),
            "DebugUndefined" => Some(Self::Debug),
            _ => None,
        }
    }

    /// `__name__` of the class.
    pub fn class_name(self) -> &'static str {
        match self {
            Self::Strict => "StrictUndefined",
            Self::Lenient => "Undefined",
            Self::Chainable => "ChainableUndefined",
            Self::Debug => "DebugUndefined",
        }
    }
}

/// One undefined value: the class, and what was looked for. The message is made when it is needed.
#[derive(Debug, Clone)]
pub struct Undefined {
    kind: UndefinedKind,
    /// Class of the exception it raises: `UndefinedError`, or `SecurityError` of the sandbox.
    class: &'static str,
    reason: Reason,
}

#[derive(Debug, Clone)]
enum Reason {
    Hint(Cow<'static, str>),
    Name(Box<str>),
    Element { of: Value, name: Value },
}

impl Undefined {
    /// A name that the context does not have: `'x' is undefined`.
    pub fn name(kind: UndefinedKind, name: impl Into<Box<str>>) -> Value {
        object(Undefined { kind, class: "UndefinedError", reason: Reason::Name(name.into()) })
    }

    /// A missing attribute or item of a value: `'dict object' has no attribute 'y'`, `list object has no element 10`.
    pub fn element(kind: UndefinedKind, of: &Value, name: &Value) -> Value {
        object(Undefined {
            kind,
            class: "UndefinedError",
            reason: Reason::Element { of: of.clone(), name: name.clone() },
        })
    }

    /// A value that is missing for the reason given (`No first item, sequence was empty.`).
    pub fn hint(kind: UndefinedKind, hint: impl Into<Cow<'static, str>>) -> Value {
        object(Undefined { kind, class: "UndefinedError", reason: Reason::Hint(hint.into()) })
    }

    /// A parameter of a macro that the call left out and that has no default.
    pub fn parameter(kind: UndefinedKind, name: &str) -> Value {
        Self::hint(kind, format!("parameter {} was not provided", python::repr_str(name)))
    }

    /// An attribute that the sandbox hides: any use raises `SecurityError`.
    pub fn forbidden(kind: UndefinedKind, of: &Value, attribute: &str) -> Value {
        let hint = format!(
            "access to attribute {} of {} object is unsafe.",
            python::repr_str(attribute),
            python::repr_str(&python::class_name(of))
        );
        object(Undefined { kind, class: "SecurityError", reason: Reason::Hint(hint.into()) })
    }

    /// True when it stands for that name of the context.
    pub fn is_name(&self, name: &str) -> bool {
        matches!(&self.reason, Reason::Name(own) if &**own == name)
    }

    /// The class of this value.
    pub fn kind(&self) -> UndefinedKind {
        self.kind
    }

    /// The text of the exception that using it raises.
    pub fn message(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(match &self.reason {
            // an empty hint counts as none, and there is no object: Python then prints the name, which is None
            Reason::Hint(hint) => hint.to_string(),
            Reason::Name(name) => format!("{} is undefined", python::repr_str(name)),
            Reason::Element { of, name } => match python::text(name) {
                Some(text) => format!(
                    "{} has no attribute {}",
                    python::repr_str(&object_type_repr(of)),
                    if name.is_safe() { python::repr(name, it)? } else { python::repr_str(text) }
                ),
                None => format!("{} has no element {}", object_type_repr(of), python::repr(name, it)?),
            },
        })
    }

    /// The exception that using it raises.
    pub fn error(&self, it: &mut dyn Interp) -> PyErr {
        match self.message(it) {
            Ok(message) => PyErr::new(self.class, message),
            Err(error) => error,
        }
    }

    fn strict(&self) -> bool {
        self.kind == UndefinedKind::Strict
    }
}

/// The undefined value inside a value, if it is one.
#[inline]
pub fn as_undefined(value: &Value) -> Option<&Undefined> {
    python::downcast::<Undefined>(value)
}

/// `isinstance(value, Undefined)`
#[inline]
pub fn is_undefined(value: &Value) -> bool {
    as_undefined(value).is_some()
}

/// Jinja2's `object_type_repr`: how messages name the object something is missing of.
pub fn object_type_repr(value: &Value) -> String {
    match view(value) {
        View::None => "None".to_owned(),
        View::Str(_) if value.is_safe() => "markupsafe.Markup object".to_owned(),
        View::Object(object) => format!("{} object", object.qualified_name()),
        _ => format!("{} object", python::type_name(value)),
    }
}

/// An iterator without items.
struct Empty;

impl PyIterator for Empty {
    fn next(&mut self, _it: &mut dyn Interp) -> PyResult<Option<Value>> {
        Ok(None)
    }
}

impl PyObject for Undefined {
    fn type_name(&self) -> &str {
        self.kind.class_name()
    }

    fn qualified_name(&self) -> String {
        format!("jinja2.runtime.{}", self.kind.class_name())
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("Undefined".to_owned())
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        match self.kind {
            UndefinedKind::Strict => Err(self.error(it)),
            UndefinedKind::Lenient | UndefinedKind::Chainable => Ok(String::new()),
            UndefinedKind::Debug => Ok(match &self.reason {
                Reason::Hint(hint) => format!("{{{{ undefined value printed: {hint} }}}}"),
                Reason::Name(name) => format!("{{{{ {name} }}}}"),
                Reason::Element { of, name } => {
                    format!("{{{{ no such element: {}[{}] }}}}", object_type_repr(of), python::repr(name, it)?)
                }
            }),
        }
    }

    fn truth(&self, it: &mut dyn Interp) -> PyResult<bool> {
        if self.strict() { Err(self.error(it)) } else { Ok(false) }
    }

    fn len(&self, it: &mut dyn Interp) -> Option<PyResult<usize>> {
        Some(if self.strict() { Err(self.error(it)) } else { Ok(0) })
    }

    fn getattr(&self, name: &str, it: &mut dyn Interp) -> Option<PyResult> {
        // Python's own protocols probe for such names: they are plainly absent
        if name.starts_with("__") && name.ends_with("__") {
            return None;
        }
        Some(match self.kind {
            UndefinedKind::Chainable => Ok(object(self.clone())),
            _ => Err(self.error(it)),
        })
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "__int__" | "__float__" | "__complex__" | "__getitem__")
    }

    fn call_method(&self, _this: &Value, _name: &str, _args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        Err(self.error(it))
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, _args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        Err(self.error(it))
    }

    fn getitem(&self, _key: &Value, it: &mut dyn Interp) -> Option<PyResult> {
        Some(match self.kind {
            UndefinedKind::Chainable => Ok(object(self.clone())),
            _ => Err(self.error(it)),
        })
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        Some(if self.strict() { Err(self.error(it)) } else { Ok(Box::new(Empty)) })
    }

    fn contains(&self, _item: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        Some(if self.strict() { Err(self.error(it)) } else { Ok(false) })
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let same_class = || as_undefined(other).is_some_and(|other| other.kind == self.kind);
        Some(match op {
            CmpOp::Eq if !self.strict() => Ok(same_class()),
            CmpOp::Ne if !self.strict() => Ok(!same_class()),
            _ => Err(self.error(it)),
        })
    }

    // Jinja2 makes one wherever the name is used
    fn is_always_new(&self) -> bool {
        true
    }

    fn binary(&self, _op: BinOp, _other: &Value, _reflected: bool, it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(self.error(it)))
    }

    fn unary(&self, _op: UnaryOp, it: &mut dyn Interp) -> Option<PyResult> {
        Some(Err(self.error(it)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        if self.strict() {
            return Err(self.error(&mut Plain::default()));
        }
        Ok(HashKey::Parts(self.kind.class_name(), Vec::new()))
    }
}
