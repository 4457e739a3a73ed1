//! Assets: what producers emit events about and what consumers wait for.
//!
//! An [`Asset`] has a name and a URI; an [`AssetAlias`] stands for assets found while a task runs; an [`AssetRef`] names an
//! asset declared elsewhere. [`AssetCondition`] combines them with `&` and `|` as a Dag's `schedule` does. Serialized forms
//! are those inside Airflow's serialized Dags. This folder knows nothing of scheduling.

mod condition;
pub mod dataset;
mod event;
mod expression;
pub mod inspect;
mod model;
pub mod pytext;
mod serialized;
mod uri;

pub use condition::{AssetCondition, BoolOp, Registry};
pub use dataset::{dataset_uri, sanitize_dataset_uri};
pub use event::{AssetEvent, EventSource};
pub use expression::{ExpressionError, parse_expression};
pub use model::{Asset, AssetAlias, AssetArgs, AssetClass, AssetKey, AssetRef};
pub use serialized::{decode_asset, decode_asset_like, encode_asset, encode_asset_like};
pub(crate) use uri::unquote;
pub use uri::{SanitizedUri, normalized_uri, sanitize_uri};
