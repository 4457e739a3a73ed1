//! Which `__x__` attributes objects have: the sandbox forbids those that exist, the others are merely undefined.

use crate::python::{self, Interp, PyErr, PyResult, Value, View, view};

/// Jinja2's `is_internal_attribute`, which Airflow's environment blocks: dunder names, and what reaches frames and code.
pub fn is_internal_attribute(obj: &Value, name: &str) -> bool {
    if name.starts_with("__") {
        return true;
    }
    match name {
        "gi_frame" | "gi_code" => python::type_name(obj) == "generator",
        "mro" => python::type_name(obj) == "type",
        _ => false,
    }
}

/// Whether an object has an internal attribute. `Unsupported` where partita does not know.
pub(super) fn has_internal_attribute(obj: &Value, name: &str, it: &mut dyn Interp) -> PyResult<bool> {
    let Some(inner) = name.strip_prefix("__") else { return Ok(true) };
    // attributes of data that only begin so (`__dunder` of a namespace)
    if let View::Object(object) = view(obj) {
        match object.getattr(name, it) {
            // a `__getattr__` of the object's own that raises
            Some(Err(error)) if error.class != "Unsupported" => return Err(error),
            Some(_) => return Ok(true),
            None => {}
        }
    }
    let Some(inner) = inner.strip_suffix("__").filter(|inner| !inner.is_empty()) else { return Ok(false) };
    if OBJECT.contains(&inner) {
        return Ok(true);
    }
    let type_name = python::type_name(obj);
    let own: &[&str] = match type_name.as_str() {
        "str" | "bytes" => &["add", "contains", "getitem", "getnewargs", "iter", "len", "mod", "mul", "rmod", "rmul"],
        "int" | "bool" => INT,
        "float" => FLOAT,
        "NoneType" => &["bool"],
        "list" => LIST,
        "dict" => DICT,
        "tuple" => &["add", "class_getitem", "contains", "getitem", "getnewargs", "iter", "len", "mul", "rmul"],
        "set" => SET,
        "frozenset" => FROZENSET,
        "range" => &["bool", "contains", "getitem", "iter", "len", "reversed"],
        "function" => FUNCTION,
        "builtin_function_or_method" => &["call", "module", "name", "qualname", "self", "text_signature"],
        "method" => &["call", "func", "self", "name", "qualname", "module"],
        "generator" => &["del", "iter", "name", "next", "qualname"],
        "dict_keys" | "dict_items" => VIEW,
        "dict_values" => &["iter", "len", "reversed"],
        "StrictUndefined" | "Undefined" | "ChainableUndefined" | "DebugUndefined" => UNDEFINED,
        // classes and modules have more than can be listed
        "type" if TYPE.contains(&inner) => return Ok(true),
        "module" if MODULE.contains(&inner) => return Ok(true),
        _ => return has_of_class(obj, name, inner, &type_name),
    };
    Ok(own.contains(&inner))
}

/// An object of a class written in Python.
fn has_of_class(obj: &Value, name: &str, inner: &str, type_name: &str) -> PyResult<bool> {
    let View::Object(object) = view(obj) else {
        return Err(PyErr::unsupported(format!("the attribute '{name}' of a '{type_name}'")));
    };
    let mut it = python::Plain::default();
    let known = match inner {
        "dict" | "module" | "weakref" => true,
        "len" => object.len(&mut it).is_some(),
        "call" => object.is_callable(),
        _ => false,
    };
    if known { Ok(true) } else { Err(PyErr::unsupported(format!("the attribute '{name}' of a '{type_name}'"))) }
}

/// What every object of CPython 3.11 has.
const OBJECT: &[&str] = &[
    "class",
    "delattr",
    "dir",
    "doc",
    "eq",
    "format",
    "ge",
    "getattribute",
    "getstate",
    "gt",
    "hash",
    "init",
    "init_subclass",
    "le",
    "lt",
    "ne",
    "new",
    "reduce",
    "reduce_ex",
    "repr",
    "setattr",
    "sizeof",
    "str",
    "subclasshook",
];

const INT: &[&str] = &[
    "abs",
    "add",
    "and",
    "bool",
    "ceil",
    "divmod",
    "float",
    "floor",
    "floordiv",
    "getnewargs",
    "index",
    "int",
    "invert",
    "lshift",
    "mod",
    "mul",
    "neg",
    "or",
    "pos",
    "pow",
    "radd",
    "rand",
    "rdivmod",
    "rfloordiv",
    "rlshift",
    "rmod",
    "rmul",
    "ror",
    "round",
    "rpow",
    "rrshift",
    "rshift",
    "rsub",
    "rtruediv",
    "rxor",
    "sub",
    "truediv",
    "trunc",
    "xor",
];

const FLOAT: &[&str] = &[
    "abs",
    "add",
    "bool",
    "ceil",
    "divmod",
    "float",
    "floor",
    "floordiv",
    "getformat",
    "getnewargs",
    "int",
    "mod",
    "mul",
    "neg",
    "pos",
    "pow",
    "radd",
    "rdivmod",
    "rfloordiv",
    "rmod",
    "rmul",
    "round",
    "rpow",
    "rsub",
    "rtruediv",
    "sub",
    "truediv",
    "trunc",
];

const LIST: &[&str] = &[
    "add",
    "class_getitem",
    "contains",
    "delitem",
    "getitem",
    "iadd",
    "imul",
    "iter",
    "len",
    "mul",
    "reversed",
    "rmul",
    "setitem",
];

const DICT: &[&str] =
    &["class_getitem", "contains", "delitem", "getitem", "ior", "iter", "len", "or", "reversed", "ror", "setitem"];

const SET: &[&str] = &[
    "and",
    "class_getitem",
    "contains",
    "iand",
    "ior",
    "isub",
    "iter",
    "ixor",
    "len",
    "or",
    "rand",
    "ror",
    "rsub",
    "rxor",
    "sub",
    "xor",
];

const FROZENSET: &[&str] =
    &["and", "class_getitem", "contains", "iter", "len", "or", "rand", "ror", "rsub", "rxor", "sub", "xor"];

const FUNCTION: &[&str] = &[
    "annotations",
    "builtins",
    "call",
    "closure",
    "code",
    "defaults",
    "dict",
    "get",
    "globals",
    "kwdefaults",
    "module",
    "name",
    "qualname",
];

const VIEW: &[&str] =
    &["and", "contains", "iter", "len", "or", "rand", "reversed", "ror", "rsub", "rxor", "sub", "xor"];

const UNDEFINED: &[&str] = &[
    "add",
    "aiter",
    "bool",
    "call",
    "complex",
    "contains",
    "div",
    "float",
    "floordiv",
    "getattr",
    "getitem",
    "int",
    "iter",
    "len",
    "mod",
    "module",
    "mul",
    "neg",
    "pos",
    "pow",
    "radd",
    "rdiv",
    "rfloordiv",
    "rmod",
    "rmul",
    "rpow",
    "rsub",
    "rtruediv",
    "slots",
    "sub",
    "truediv",
];

const TYPE: &[&str] = &[
    "abstractmethods",
    "annotations",
    "base",
    "bases",
    "basicsize",
    "call",
    "dict",
    "dictoffset",
    "flags",
    "instancecheck",
    "itemsize",
    "module",
    "mro",
    "name",
    "or",
    "prepare",
    "qualname",
    "ror",
    "subclasscheck",
    "subclasses",
    "text_signature",
    "weakrefoffset",
];

const MODULE: &[&str] = &["builtins", "cached", "dict", "file", "loader", "name", "package", "spec"];
