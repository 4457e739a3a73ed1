//! Operator templates: which arguments of an operator are templates, and rendering them as Airflow does.
//!
//! A task's fields are data ([`FieldValue`]); [`operators`] knows which arguments of Airflow's operators are templates and
//! which endings make a string a file name; [`TaskTemplates::render`] renders every field for one template context.

pub mod operators;
mod prepare;
pub mod request;
mod task;
mod text;
mod value;

pub use prepare::{is_computed, prepare};
pub use task::{FieldError, FieldPath, RenderedField, TaskTemplates, inline_name};
pub use text::{Leaf, display, leaves, repr, stored, to_json};
pub use value::FieldValue;
