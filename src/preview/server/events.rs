//! `GET /api/events`: who asks is told of every change on disk.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde_json::json;
use tokio::sync::watch;

use super::super::state::{Change, Preview};

/// What has been sent so far.
struct Sent {
    changes: watch::Receiver<Change>,
    stop: watch::Receiver<bool>,
    revision: Option<u64>,
}

/// A stream of `change` events: the current revision at once, then each new one. It ends when the server does.
pub fn stream(
    preview: &Preview,
    stop: watch::Receiver<bool>,
    keep_alive: Duration,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
    let sent = Sent { changes: preview.changes(), stop, revision: None };
    let stream = unfold(sent, |mut sent| async move {
        if sent.revision.is_some() {
            tokio::select! {
                changed = sent.changes.changed() => changed.ok()?,
                _ = sent.stop.changed() => return None,
            }
        }
        let change = sent.changes.borrow_and_update().clone();
        // Whoever reads slowly misses revisions, and with them what had changed.
        let whole = sent.revision.is_none_or(|last| last + 1 == change.revision);
        sent.revision = Some(change.revision);
        let data = json!({
            "revision": change.revision,
            "paths": whole.then_some(&change.paths),
            "ok": change.ok,
        });
        let event = Event::default().event("change").id(change.revision.to_string()).data(data.to_string());
        Some((Ok(event), sent))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(keep_alive))
}
