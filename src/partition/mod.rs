//! Partition mappers: from the key of an asset event to the keys of consumer runs, and back.
//!
//! A [`PartitionMapper`] turns an upstream key into downstream keys, decodes a downstream key into the date of its
//! partition, and may carry the producer's date along. [`RollupMapper`] adds a [`Window`] of expected upstream keys and a
//! [`WaitPolicy`]; [`FanOutMapper`] spreads one key over a window. Class names, arguments, serialized forms, results and
//! error texts are those of `airflow.partition_mappers`.

mod allowed_key;
mod chain;
mod construct;
mod expression;
mod fan_out;
mod fixed_key;
mod identity;
pub mod inspect;
mod key_pattern;
mod mapper;
mod moment;
mod product;
mod rollup;
mod serialized;
mod spec;
mod temporal;
mod wait_policy;
mod window;

pub use allowed_key::AllowedKeyMapper;
pub use chain::ChainMapper;
pub use construct::{Arg, Object, construct};
pub use expression::{Evaluate, ExpressionMapper, Expressions};
pub use fan_out::FanOutMapper;
pub use fixed_key::FixedKeyMapper;
pub use identity::IdentityMapper;
pub use mapper::{Decoded, DecodedType, Downstream, KeyCap, KeyStep, Mapper, PartitionMapper};
pub use moment::{Moment, Offset};
pub use product::ProductMapper;
pub use rollup::RollupMapper;
pub use serialized::decode_partition_mapper;
pub use spec::{MAPPER_CLASSES, POLICY_CLASSES, SpecError, WINDOW_CLASSES, read_mapper};
pub use temporal::{Period, TemporalMapper};
pub use wait_policy::{Satisfaction, WaitPolicy};
pub use window::{Direction, Span, Window};
