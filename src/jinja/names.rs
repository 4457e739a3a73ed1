//! Where a template's names come from.

use std::collections::BTreeMap;
use std::fmt;

use crate::python::Value;

/// The context a template reads: asked once per name and rendering, so that costly values are built only when used.
pub trait Names: fmt::Debug + Send + Sync {
    /// The value behind a name; `None` is undefined (Jinja2 then looks at the environment's globals).
    fn get(&self, name: &str) -> Option<Value>;

    /// Advice for a name that is undefined here, for the error's hint.
    fn hint(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
}

impl Names for BTreeMap<String, Value> {
    fn get(&self, name: &str) -> Option<Value> {
        BTreeMap::get(self, name).cloned()
    }
}

impl Names for () {
    fn get(&self, _name: &str) -> Option<Value> {
        None
    }
}
