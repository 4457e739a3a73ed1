//! `jinja2.runtime.Context`: where a unit's names come from, and what its template exports.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use indexmap::IndexMap;

use super::super::globals;
use super::super::{Environment, Names};
use super::core::lock;
use crate::python::Value;

/// The names below a context's own variables: never changed once made.
#[derive(Debug)]
pub(crate) enum Scope {
    /// The rendering's context, if it is visible, and the environment's globals.
    Base(Option<Arc<dyn Names>>),
    /// Variables handed over by another template.
    Layer(HashMap<Arc<str>, Value>, Arc<Scope>),
}

impl Scope {
    fn get(&self, name: &str, env: &Environment) -> Option<Value> {
        let mut at = self;
        loop {
            match at {
                Scope::Layer(values, next) => {
                    if let Some(value) = values.get(name) {
                        return Some(value.clone());
                    }
                    at = next;
                }
                Scope::Base(names) => {
                    let found = names.as_ref().and_then(|names| names.get(name));
                    return found
                        .or_else(|| env.globals.get(name).cloned())
                        .or_else(|| globals::builtin(name, !env.native));
                }
            }
        }
    }
}

/// A block of a template: which unit renders it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockUnit {
    /// minijinja's name of the unit.
    pub unit: Arc<str>,
}

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    /// The template's name.
    pub name: Option<Arc<str>>,
    scope: Arc<Scope>,
    vars: Mutex<IndexMap<Arc<str>, Value>>,
    exported: Mutex<BTreeSet<Arc<str>>>,
    /// Blocks by name, the most derived template's first.
    pub blocks: Mutex<HashMap<Arc<str>, Vec<BlockUnit>>>,
}

impl Context {
    /// A fresh context of a template.
    pub fn new(name: Option<Arc<str>>, scope: Arc<Scope>, blocks: HashMap<Arc<str>, Vec<BlockUnit>>) -> Self {
        Context {
            name,
            scope,
            vars: Mutex::new(IndexMap::new()),
            exported: Mutex::new(BTreeSet::new()),
            blocks: Mutex::new(blocks),
        }
    }

    /// The value of a name.
    pub fn resolve(&self, name: &str, env: &Environment) -> Option<Value> {
        if let Some(value) = lock(&self.vars).get(name) {
            return Some(value.clone());
        }
        self.scope.get(name, env)
    }

    /// All names as the base of another context (`get_all`), with variables on top.
    pub fn layer(&self, locals: Vec<(Arc<str>, Value)>) -> Arc<Scope> {
        let mut values: HashMap<Arc<str>, Value> =
            lock(&self.vars).iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        values.extend(locals);
        if values.is_empty() { self.scope.clone() } else { Arc::new(Scope::Layer(values, self.scope.clone())) }
    }

    /// Sets a variable of the template's top level, exported or not.
    pub fn set(&self, name: &str, value: Value, exported: bool) {
        let name: Arc<str> = name.into();
        let mut names = lock(&self.exported);
        if exported && !name.starts_with('_') {
            names.insert(name.clone());
        } else if !exported {
            names.remove(&name);
        }
        drop(names);
        lock(&self.vars).insert(name, value);
    }

    /// What a module of this template offers (`get_exported`).
    pub fn exported(&self) -> IndexMap<Arc<str>, Value> {
        let vars = lock(&self.vars);
        let names = lock(&self.exported);
        vars.iter()
            .filter(|(name, _)| names.contains(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The blocks of that name.
    pub fn block(&self, name: &str) -> Vec<BlockUnit> {
        lock(&self.blocks).get(name).cloned().unwrap_or_default()
    }
}
