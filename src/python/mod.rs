//! Python values as templates see them.
//!
//! Values travel as [`Value`] of minijinja. `None`, `bool`, `float`, `str`, `bytes` and every `int` that fits an `i64`
//! use its native forms; a safe string of minijinja is markupsafe's `Markup`. Everything else (larger ints, `list`,
//! `dict`, `tuple`, `set`, dates, functions, objects of outer folders) is a [`PyObject`] behind [`Py`], built by
//! [`object`]. minijinja's own sequences, maps and tuples never reach a template: they are converted where they enter.
//!
//! This folder knows nothing of Jinja or Airflow. What a value needs from its surroundings (limits, the clock, calling a
//! macro) comes through [`Interp`].

mod access;
mod args;
mod builtins;
mod bytes;
mod bytes_text;
mod cargs;
pub mod chars;
mod complex;
mod dates;
mod dict;
mod dict_views;
mod entities;
mod entity_table;
mod error;
mod float;
mod function;
mod guard;
mod hash;
mod interp;
mod iter;
pub mod json;
mod json_module;
mod json_write;
mod list;
mod literal;
pub mod markup;
mod module;
mod number;
mod object;
mod ops;
mod printf;
mod range;
mod repr;
mod seq;
mod set;
mod set_table;
mod sig;
mod sort;
mod spec;
mod str_case;
mod str_format;
mod str_methods;
mod str_split;
mod time_module;
mod tuple;
mod types;
mod uuid;
mod view;
mod yaml;
pub(crate) mod zone;

pub use access::{call, call_method, getattr, getitem, has_method, slice};
pub use args::{Args, Kwarg};
pub(crate) use builtins::push_repr;
pub use builtins::{
    abs, class_name, format, identical, identical_or_equal, is_callable, len, less, no_attribute, none, repr, round,
    sort_keyed, sorted, str, truth, type_name,
};
pub use chars::{
    is_alnum, is_alpha, is_digit, is_identifier, is_identifier_continue, is_lower, is_numeric, is_printable, is_space,
    is_upper, lower,
};
pub use complex::Complex;
pub use dates::{
    Class, Date, DateTime, DateutilWeekday, Duration, Fields, Interval, Parsed, RelativeDelta, Time, TimeDelta, TzInfo,
    TzObject, WeekDay, dateutil, parse_text, pendulum_instance, strftime, strptime, time_strftime,
};
pub use dict::{Dict, dict, key_error, str_dict};
pub use dict_views::DictView;
pub use entities::unescape as html_unescape;
pub use error::{PyErr, PyResult};
pub use float::{parse_float, parse_int, round_float, to_float, to_int};
pub use function::{BoundMethod, Function, Type, bound_method, builtin_type, function};
pub(crate) use guard::take_debt;
pub use hash::hash_key;
pub use interp::{Interp, Limits, Plain};
pub use iter::{Generator, Values, drain, from_fn, generator, iter, iterator, to_vec, to_vec_unordered, values};
pub use json_module::json_module;
pub use list::{List, list};
pub use literal::literal_eval;
pub use markup::Markup;
pub use minijinja::Value;
pub use module::{Module, module};
pub(crate) use number::holds;
pub use number::{Int, Num, as_bigint, big, float_to_int, int};
pub use object::{BinOp, CmpOp, HashKey, Py, PyIter, PyIterator, PyObject, UnaryOp, object};
pub use ops::{binary, compare, contains, unary};
pub use range::{Range, range_iterator};
pub use repr::{ascii_of, repr_bytes, repr_float, repr_str};
pub use seq::{Indices, Slice};
pub use set::{Set, frozenset, set};
pub use sig::Sig;
pub use str_case::{capitalize, title as str_title};
pub use str_format::{FieldAccess, PlainAccess, format_map_with, format_with};
pub use str_methods::replace as str_replace;
pub use str_split::lines as splitlines;
pub use time_module::time_module;
pub use tuple::{Named, Tuple, named_tuple, tuple};
pub use types::empty_dict;
pub use uuid::{Uuid, uuid_module};
pub use view::{View, downcast, text, view};
pub use yaml::yaml_module;
pub use zone::Zone;
