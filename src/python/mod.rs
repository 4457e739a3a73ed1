//! Python values as templates see them.
//!
//! Values travel as [`Value`] of minijinja. `None`, `bool`, `float`, `str`, `bytes` and every `int` that fits an `i64`
//! use its native forms; a safe string of minijinja is markupsafe's `Markup`. Everything else (larger ints, `list`,
//! `dict`, `tuple`, `set`, dates, functions, objects of outer folders) is a [`PyObject`] behind [`Py`], built by
//! [`object`]. minijinja's own sequences, maps and tuples never reach a template: they are converted where they enter.
//!
//! This folder knows nothing of Jinja or Airflow. What a value needs from its surroundings (limits, the clock, calling a
//! macro) comes through [`Interp`].

mod args;
mod dates;
mod error;
mod interp;
mod object;
mod view;
mod zone;

pub use args::{Args, Kwarg};
pub use dates::{Fields, Parsed, strftime, strptime, time_strftime};
pub use error::{PyErr, PyResult};
pub use interp::{Interp, Limits, Plain};
pub use minijinja::Value;
pub use object::{BinOp, CmpOp, HashKey, Py, PyIter, PyIterator, PyObject, UnaryOp, object};
pub use view::{View, downcast, text, view};
pub use zone::Zone;
