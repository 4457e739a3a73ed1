//! Events named on a command line or in a page: `ASSET=KEY@DATE`.

use std::sync::Arc;

use camino::Utf8Path;
use serde_json::Value as Json;

use super::model::{Pipeline, Profile};
use super::reader::parse_instant;
use super::scenario::{Action, Emit, Step};
use super::source::{Place, suggestion};
use super::yaml;

/// Reads `ASSET`, `ASSET=KEY` or `ASSET=KEY@DATE` as a step that emits an event. `origin` is where the text stands, as
/// people know it: `--emit`.
///
/// # Errors
/// An asset that the pipeline does not have, a date that is none: a sentence, and advice if there is some.
pub fn emit_step(pipeline: &Pipeline, origin: &str, text: &str) -> Result<Step, (String, Option<String>)> {
    let (asset, rest) = match text.split_once('=') {
        Some((asset, rest)) => (asset, Some(rest)),
        None => (text, None),
    };
    let (key, date) = match rest.map(|rest| rest.rsplit_once('@')) {
        None => (None, None),
        Some(None) => (rest, None),
        Some(Some((key, date))) => {
            let date = parse_instant(date).ok_or_else(|| {
                (format!("{origin} {text}: `{date}` is no date; write ASSET=KEY@2026-03-10T09:00:00Z"), None)
            })?;
            (Some(key), Some(date))
        }
    };
    let def = pipeline.asset(asset).ok_or_else(|| {
        let known = pipeline.assets.iter().map(|def| def.key.as_str());
        (format!("there is no asset `{asset}`"), suggestion(asset, known))
    })?;
    if rest.is_some() && pipeline.profile == Profile::Airflow210 {
        let hint = format!("write {origin} {asset}");
        return Err((format!("{origin} {text}: Airflow 2.10 has no partitions"), Some(hint)));
    }
    let emit = Emit {
        asset: def.asset.key(),
        partition_key: key.map(str::to_owned),
        partition_date: date,
        extra: Json::Null,
        source: None,
        aliases: Vec::new(),
        at: None,
    };
    let source = yaml::source(Utf8Path::new(origin), text.to_owned());
    let place = Place { source: Arc::clone(&source), range: 0..text.len() };
    Ok(Step { action: Action::Emit(emit), place })
}
