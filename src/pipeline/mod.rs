//! Pipeline and scenario files.

pub mod call;
pub mod expression;
pub mod reader;
pub mod source;
pub mod yaml;
