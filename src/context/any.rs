//! The template context of either profile.

use crate::jinja::Names;
use crate::python::Value;

use super::{Context, airflow2};

/// The template context of one rendering, by Airflow 3.3 or 2.10.
#[derive(Debug)]
pub enum AnyContext {
    /// Airflow 3.3
    Airflow33(Context),
    /// Airflow 2.10
    Airflow210(Box<airflow2::Context>),
}

impl AnyContext {
    /// Names that a template has read so far, in Airflow's order.
    pub fn names_read(&self) -> Vec<&'static str> {
        match self {
            AnyContext::Airflow33(context) => context.names_read(),
            AnyContext::Airflow210(context) => context.names_read(),
        }
    }

    /// Texts of the deprecation warnings so far; Airflow 3.3 has none.
    pub fn deprecations(&self) -> Vec<String> {
        match self {
            AnyContext::Airflow33(_) => Vec::new(),
            AnyContext::Airflow210(context) => context.deprecations(),
        }
    }
}

impl Names for AnyContext {
    fn get(&self, name: &str) -> Option<Value> {
        match self {
            AnyContext::Airflow33(context) => context.get(name),
            AnyContext::Airflow210(context) => context.get(name),
        }
    }

    fn hint(&self, name: &str) -> Option<String> {
        match self {
            AnyContext::Airflow33(context) => context.hint(name),
            AnyContext::Airflow210(context) => context.hint(name),
        }
    }
}
