//! Finding an asset by reference (`_AssetRefResolutionMixin` of `airflow.sdk.execution_time.context`).

use crate::asset::{Asset, AssetRef};
use crate::python::{PyErr, PyResult, repr_str};

use super::SharedInner;
use super::asset::EventKey;

/// What a reference resolved to; kept for the whole rendering, as the class-level cache of Airflow's does.
#[derive(Debug, Default)]
pub(super) struct RefCache(Vec<(AssetRef, EventKey, serde_json::Value)>);

impl SharedInner {
    /// Key and extra of the asset a reference names; `AirflowRuntimeError` when there is none.
    pub(super) fn resolve(&self, reference: &AssetRef) -> PyResult<(EventKey, serde_json::Value)> {
        let mut cache = self.refs();
        if let Some((_, key, extra)) = cache.0.iter().find(|(known, _, _)| known == reference) {
            return Ok((key.clone(), extra.clone()));
        }
        let asset = self.find(reference)?;
        let key = EventKey::of(&asset);
        let other = match reference {
            AssetRef::Name(_) => AssetRef::Uri(asset.uri.clone()),
            AssetRef::Uri(_) => AssetRef::Name(asset.name.clone()),
        };
        for reference in [reference.clone(), other] {
            cache.0.retain(|(known, _, _)| *known != reference);
            cache.0.push((reference, key.clone(), asset.extra.clone()));
        }
        Ok((key, asset.extra))
    }

    /// The asset itself: the metadata database's if it is known, else that of a consumed event.
    pub(super) fn find(&self, reference: &AssetRef) -> PyResult<Asset> {
        let matches = |name: &str, uri: &str| match reference {
            AssetRef::Name(wanted) => wanted == name,
            AssetRef::Uri(wanted) => wanted == uri,
        };
        if let Some(asset) = self.around.assets.iter().find(|asset| matches(&asset.name, &asset.uri)) {
            return Ok(asset.clone());
        }
        for event in &self.run.dag_run.consumed_asset_events {
            if matches(&event.asset.name, &event.asset.uri) {
                let (mut asset, _) = Asset::new(Some(&event.asset.name), Some(&event.asset.uri))?;
                asset.extra = serde_json::Value::Object(event.asset.extra.clone());
                return Ok(asset);
            }
        }
        let (field, text) = match reference {
            AssetRef::Name(name) => ("name", name),
            AssetRef::Uri(uri) => ("uri", uri),
        };
        Err(PyErr::new("AirflowRuntimeError", format!("ASSET_NOT_FOUND: {{{}: {}}}", repr_str(field), repr_str(text))))
    }
}
