//! Decisions of the queue and the scheduler as text: one line each, in Airflow's terms.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::render::instant;
use crate::asset::AssetKey;
use crate::schedule::{AssetWait, DateRule, Decision, PendingStatus};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Keys named one by one; of more, the ends are.
const KEYS_SHOWN: usize = 6;

/// Keys in a line: all of a few, the ends of many.
pub(super) fn keys_text<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let keys: Vec<&str> = keys.into_iter().collect();
    match keys.as_slice() {
        [first, second, .., last] if keys.len() > KEYS_SHOWN => {
            format!("{first:?}, {second:?} .. {last:?} ({} keys)", keys.len())
        }
        keys => keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", "),
    }
}

fn keyed(asset: &AssetKey, key: Option<&str>) -> String {
    key.map_or_else(|| asset.name.clone(), |key| format!("{} {key:?}", asset.name))
}

/// One decision as a line, or several; empty when there is nothing to say that other lines do not say.
pub fn decision_text(decision: &Decision) -> String {
    let mut text = match decision {
        Decision::AssetUnknown { asset } => format!("there is no asset {} ({})", asset.name, asset.uri),
        Decision::AssetCreated { asset, aliases } => {
            format!("asset {} created through the alias {}", asset.name, aliases.join(", "))
        }
        Decision::OutletInactive { outlet } => format!("{outlet} is inactive: no event"),
        Decision::EventRecorded { event, asset, partition_key, inactive, paused, plain, unheard, .. } => {
            let mut text = format!("{BOLD}event #{event}{BOLD:#}  {}", keyed(asset, partition_key.as_deref()));
            if *inactive {
                text.push_str("\n  the asset is inactive: the event counts once it is active again");
            }
            for dag_id in paused {
                let _ = write!(text, "\n  {dag_id}: paused, not queued");
            }
            for dag_id in plain {
                let _ = write!(text, "\n  {dag_id}: not partitioned, an event with a key does not queue it");
            }
            if *unheard {
                text.push_str("\n  nothing consumes the asset");
            }
            text
        }
        Decision::MissingKey { dag_ids, .. } => {
            format!("  {}: partitioned, an event without partition key does not queue it", dag_ids.join(", "))
        }
        Decision::KeyNotMapped { dag_id, error, .. } => {
            format!("  {dag_id}: the key cannot be mapped: {}: {}", error.kind, error.message)
        }
        Decision::TooManyKeys { dag_id, produced, cap, .. } => {
            format!("  {dag_id}: the key maps to {produced} keys, more than {cap}: none is queued")
        }
        Decision::KeyMapped { carry_error: Some(error), dag_id, .. } => {
            format!("  {dag_id}: no date is carried: {}: {}", error.kind, error.message)
        }
        Decision::KeyMapped { .. } => String::new(),
        Decision::PendingOpened { dag_id, partition_key, .. } => {
            format!("  {dag_id}: pending run {partition_key:?}, new")
        }
        Decision::PendingJoined { dag_id, partition_key, conflict, .. } => format!(
            "  {dag_id}: pending run {partition_key:?}, one event more{}",
            if *conflict { "; its date differs from the one carried so far: none is carried now" } else { "" }
        ),
        Decision::Enqueued { dag_id, asset, added, .. } => {
            let how = if *added { "queued" } else { "was queued before" };
            format!("  {dag_id}: {} {how}", asset.name)
        }
        Decision::Dropped { dag_id, partition_key, events, .. } => format!(
            "{dag_id}: pending run {partition_key:?} with {} dropped: a mapper, window, policy or cap changed since",
            counted(events.len(), "event")
        ),
        Decision::Waiting { status } => {
            let waits: Vec<String> =
                status.assets.iter().filter(|wait| !wait.satisfied).map(|wait| wait_text(wait, status)).collect();
            format!("{}: pending run {:?} waits for {}", status.dag_id, status.partition_key, waits.join("; "))
        }
        Decision::LimitReached { limit, behind } => {
            format!("the pass looked at {limit} pending runs; {behind} behind them wait for the next pass")
        }
        Decision::PlainWaiting { dag_id, queued, reason } => {
            let queued: Vec<&str> = queued.iter().map(|asset| asset.name.as_str()).collect();
            format!("{dag_id}: {} queued, no run: {reason}", queued.join(", "))
        }
        Decision::RunCreated { dag_id, run_id, partition_key, partition_date, events, date, .. } => {
            let mut text = format!("{BOLD}{dag_id}{BOLD:#}  {run_id}");
            if let Some(key) = partition_key {
                let _ = write!(text, "\n  partition_key {key:?}");
                match partition_date {
                    Some(date) => {
                        let _ = write!(text, "  partition_date {}", instant(*date));
                    }
                    None => text.push_str("  no partition_date"),
                }
            }
            let _ = write!(text, "\n  {}", counted(events.len(), "event"));
            if let Some(rule) = rule_text(date) {
                let _ = write!(text, "\n  {rule}");
            }
            text
        }
        Decision::PassFailed { dag_id, partition_key, error } => format!(
            "the pass fails at {dag_id}{} and makes no run at all: {}: {}",
            partition_key.as_ref().map(|key| format!(" {key:?}")).unwrap_or_default(),
            error.kind,
            error.message
        ),
    };
    if let Some(line) = decision.log_line().filter(|line| line.level != "info") {
        let _ = write!(text, "\n    {DIM}Airflow logs{DIM:#} {YELLOW}{}{YELLOW:#}: {}", line.level, line.text);
    }
    text.trim_start_matches('\n').to_owned()
}

/// A pending partition run, asset by asset.
pub fn pending_text(status: &PendingStatus) -> String {
    let mut text =
        format!("{BOLD}{}{BOLD:#}  {:?}  pending since {}", status.dag_id, status.partition_key, instant(status.since));
    if let Some(date) = status.carried {
        let _ = write!(text, "  carried {}", instant(date));
    }
    for wait in &status.assets {
        let sign = if wait.satisfied { '+' } else { '-' };
        let what = if wait.satisfied { format!("{}: satisfied", wait.asset.name) } else { wait_text(wait, status) };
        let _ = write!(text, "\n  {sign} {what}");
        if !wait.received.is_empty() {
            let _ = write!(
                text,
                "\n    {DIM}received{DIM:#} {}",
                keys_text(wait.received.iter().map(|source| source.key.as_str()))
            );
        }
        if !wait.missing.is_empty() && !wait.satisfied {
            let _ = write!(text, "\n    {DIM}missing{DIM:#}  {}", keys_text(wait.missing.iter().map(String::as_str)));
        }
    }
    if status.outdated {
        text.push_str("\n  the definition changed: the next pass drops it");
    }
    if status.stale {
        text.push_str("\n  the Dag is stale: no pass looks at it");
    }
    text
}

/// Where a run's date comes from, or why it has none.
pub(super) fn rule_text(rule: &DateRule) -> Option<String> {
    let class = |mapper: &str| mapper.split('(').next().unwrap_or(mapper).to_owned();
    Some(match rule {
        DateRule::Decoded { anchors } => {
            let dated: Vec<String> = anchors
                .iter()
                .filter(|anchor| anchor.date.is_some())
                .map(|anchor| format!("{} of {}", class(&anchor.mapper), anchor.asset.name))
                .collect();
            format!("date: decoded from the key by {}", dated.join(", "))
        }
        DateRule::Carried { .. } => "date: carried by the events; no mapper decodes the key".to_owned(),
        DateRule::NoDate { .. } => {
            "no date: no mapper decodes the key, and the events carried none or different ones".to_owned()
        }
        DateRule::Conflict { anchors } => {
            let said: Vec<String> = anchors
                .iter()
                .filter_map(|anchor| Some((anchor, anchor.date.as_ref()?)))
                .map(|(anchor, date)| format!("{} of {} says {date}", class(&anchor.mapper), anchor.asset.name))
                .collect();
            format!("no date: the mappers disagree, and a carried date does not count then: {}", said.join("; "))
        }
        DateRule::Failed { asset, mapper, error } => format!(
            "no date: {} of {} cannot decode the key, and a carried date does not count then: {}: {}",
            class(mapper),
            asset.name,
            error.kind,
            error.message
        ),
        DateRule::NotPartitioned => return None,
    })
}

/// What an asset's part in a pending run lacks.
pub(super) fn wait_text(wait: &AssetWait, status: &PendingStatus) -> String {
    let name = &wait.asset.name;
    if !wait.active && !wait.received.is_empty() {
        return format!("{name}: inactive, its events do not count");
    }
    if let Some(error) = &wait.error {
        return format!(
            "{name}: the keys of {:?} cannot be told: {}: {}",
            status.partition_key, error.kind, error.message
        );
    }
    if let Some(why) = &wait.unreachable {
        return format!("{name}: can never be satisfied: {why}");
    }
    match (wait.expected, &wait.wait_policy) {
        (Some(expected), Some(policy)) => format!("{name}: {} of {expected} keys, {policy}", wait.matched),
        _ if wait.received.is_empty() => format!("{name}: no event for {:?} yet", status.partition_key),
        _ => format!("{name}: does not count"),
    }
}

/// `1 event`, `3 events`
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
