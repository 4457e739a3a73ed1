//! The Jinja2 3.1.6 dialect as Airflow configures it, on stock minijinja.
//!
//! A template goes through a lexer and parser of our own into an AST with true byte spans, is scoped as Jinja2's compiler
//! scopes it, and lowered to minijinja source in which every operation is a filter of our run time. minijinja runs that.

pub mod ast;
mod cache;
mod code;
mod engine;
mod env;
mod environment;
mod error;
pub mod filters;
mod fold;
pub mod globals;
mod internals;
mod lexer;
mod loader;
mod lower;
pub mod markup;
mod names;
mod parser;
mod runtime;
mod scope;
pub mod tests;
mod trace;
mod undefined;
pub mod visit;

pub use engine::{Engine, Rendered};
pub use env::{Cx, Env, Filter, FilterFn, is_lookup_error};
pub use environment::{Environment, Syntax, UndefinedKind, UserFunction};
pub use error::TemplateError;
pub use internals::is_internal_attribute;
pub use loader::{FileSystemLoader, Loader, MemoryLoader, record_load, recording_loads, split_template_path};
pub use names::Names;
pub use parser::parse;
pub use runtime::vm::clock_reads;
pub use trace::{Origin, Trace, named, unmarked};
pub use undefined::{Undefined, as_undefined, is_undefined, object_type_repr};
