//! The Jinja2 3.1.6 dialect as Airflow configures it, on stock minijinja.
//!
//! A template goes through a lexer and parser of our own into an AST with true byte spans, is scoped as Jinja2's compiler
//! scopes it, and lowered to minijinja source in which every operation is a filter of our run time. minijinja runs that.

mod engine;
mod environment;
mod error;
mod loader;
mod names;

pub use engine::{Engine, Rendered};
pub use environment::{Environment, Syntax, UndefinedKind, UserFunction};
pub use error::TemplateError;
pub use loader::{FileSystemLoader, Loader, MemoryLoader, split_template_path};
pub use names::Names;
