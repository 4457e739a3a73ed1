//! Objects of pydantic models: attributes, printing, comparison, `model_dump`.

use std::sync::{Arc, OnceLock};

use crate::python::{
    self, Args, CmpOp, HashKey, Interp, PyErr, PyIter, PyObject, PyResult, Sig, Value, downcast, object,
};

use super::convert;
use super::dump::{self, Dump};

/// A model class: name, module, fields in order.
#[derive(Debug)]
pub struct ModelClass {
    /// Class name.
    pub name: &'static str,
    /// Module of the class.
    pub module: &'static str,
    /// Its fields, in order.
    pub fields: &'static [&'static str],
    /// True for `extra="forbid"`.
    pub forbids_extra: bool,
    /// Cached properties, which are not fields.
    pub properties: fn(&Model, &str) -> Option<PyResult>,
}

/// No properties.
pub fn no_properties(_model: &Model, _name: &str) -> Option<PyResult> {
    None
}

/// What makes the value of a field when it is first read.
pub type Make = Arc<dyn Fn() -> PyResult + Send + Sync>;

enum Slot {
    Ready(Value),
    Lazy(OnceLock<Value>, Make),
}

/// An object of a model class.
pub struct Model {
    class: &'static ModelClass,
    slots: Vec<Slot>,
    /// What the properties of the class need besides the fields.
    pub(super) source: Option<super::Shared>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.class.name).finish_non_exhaustive()
    }
}

/// Attributes every pydantic model has that are not built.
const HIDDEN: &[&str] = &[
    "_abc_impl",
    "_calculate_keys",
    "_copy_and_set_values",
    "_get_value",
    "_iter",
    "_setattr_handler",
    "construct",
    "from_orm",
    "model_construct",
    "model_fields",
    "model_json_schema",
    "model_parametrized_name",
    "model_post_init",
    "model_rebuild",
    "model_validate",
    "model_validate_json",
    "model_validate_strings",
    "parse_file",
    "parse_obj",
    "parse_raw",
    "schema",
    "schema_json",
    "update_forward_refs",
    "validate",
];

impl Model {
    /// An object of that class; `values` go with its fields.
    pub fn new(class: &'static ModelClass, values: Vec<Value>) -> Self {
        Model { class, slots: values.into_iter().map(Slot::Ready).collect(), source: None }
    }

    /// Makes a field's value lazy.
    #[must_use]
    pub fn lazily(mut self, field: &str, make: Make) -> Self {
        if let Some(slot) =
            self.class.fields.iter().position(|name| *name == field).and_then(|at| self.slots.get_mut(at))
        {
            *slot = Slot::Lazy(OnceLock::new(), make);
        }
        self
    }

    /// Gives its properties what they need.
    #[must_use]
    pub(super) fn with_source(mut self, source: super::Shared) -> Self {
        self.source = Some(source);
        self
    }

    /// A field's value.
    pub fn field(&self, name: &str) -> Option<PyResult> {
        let at = self.class.fields.iter().position(|field| *field == name)?;
        self.at(at)
    }

    fn at(&self, at: usize) -> Option<PyResult> {
        if let (Some(source), Some(name)) = (&self.source, self.class.fields.get(at)) {
            source.note(self.class.name, name);
        }
        Some(match self.slots.get(at)? {
            Slot::Ready(value) => Ok(value.clone()),
            Slot::Lazy(cell, make) => match cell.get() {
                Some(value) => Ok(value.clone()),
                None => make().map(|value| cell.get_or_init(|| value).clone()),
            },
        })
    }

    /// Fields and values in order.
    pub fn items(&self) -> PyResult<Vec<(&'static str, Value)>> {
        self.class
            .fields
            .iter()
            .enumerate()
            .map(|(at, name)| Ok((*name, self.at(at).unwrap_or_else(|| Ok(python::none()))?)))
            .collect()
    }

    fn pairs(&self, separator: &str, it: &mut dyn Interp) -> PyResult<String> {
        let mut parts = Vec::with_capacity(self.class.fields.len());
        for (name, value) in self.items()? {
            parts.push(format!("{name}={}", python::repr(&value, it)?));
        }
        Ok(parts.join(separator))
    }

    fn copy(&self) -> PyResult<Model> {
        let values = self.items()?.into_iter().map(|(_, value)| value).collect();
        Ok(Model { source: self.source.clone(), ..Model::new(self.class, values) })
    }
}

impl PyObject for Model {
    fn type_name(&self) -> &str {
        self.class.name
    }

    fn qualified_name(&self) -> String {
        format!("{}.{}", self.class.module, self.class.name)
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("{}({})", self.class.name, self.pairs(", ", it)?))
    }

    fn str(&self, it: &mut dyn Interp) -> PyResult<String> {
        self.pairs(" ", it)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        if let Some(value) = self.field(name) {
            return Some(value);
        }
        if let Some(value) = (self.class.properties)(self, name) {
            return Some(value);
        }
        match name {
            "model_extra" => Some(Ok(python::none())),
            "model_computed_fields" => Some(Ok(python::str_dict(Vec::<(&str, Value)>::new()))),
            "model_config" => Some(Ok(if self.class.forbids_extra {
                python::str_dict([("extra", Value::from("forbid"))])
            } else {
                python::str_dict(Vec::<(&str, Value)>::new())
            })),
            "model_fields_set" => Some(python::set(self.class.fields.iter().map(|name| Value::from(*name)))),
            _ if HIDDEN.contains(&name) => Some(Err(convert::not_built(self.class.name, name))),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        matches!(name, "model_dump" | "model_dump_json" | "dict" | "json" | "copy" | "model_copy")
    }

    fn call_method(&self, _this: &Value, name: &str, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        match name {
            "model_dump" | "dict" => {
                let options = Dump::bind(name, args, it)?;
                dump::model(self, &options, it)
            }
            "model_dump_json" | "json" => {
                let mut options = Dump::bind(name, args, it)?;
                options.json = true;
                let value = dump::model(self, &options, it)?;
                dump::text(&value, options.indent).map(Value::from)
            }
            _ => {
                let bound = Sig::new(name, &[]).method().keyword_only(&["update", "deep"]).bind(args)?;
                if bound.iter().any(Option::is_some) {
                    return Err(PyErr::unsupported(format!("arguments of `{name}`")));
                }
                Ok(object(self.copy()?))
            }
        }
    }

    fn iter(&self, _this: &Value, it: &mut dyn Interp) -> Option<PyResult<PyIter>> {
        let pairs = self.items().map(|items| {
            items.into_iter().map(|(name, value)| python::tuple(vec![Value::from(name), value])).collect()
        });
        Some(pairs.and_then(|pairs| python::iter(&python::list(pairs), it)))
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Model>(other)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        let mut equal = || -> PyResult<bool> {
            if !std::ptr::eq(self.class, other.class) {
                return Ok(false);
            }
            for ((_, a), (_, b)) in self.items()?.iter().zip(&other.items()?) {
                if !python::compare(CmpOp::Eq, a, b, it)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error(format!("unhashable type: '{}'", self.class.name)))
    }
}
