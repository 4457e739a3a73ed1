//! `EventsTimetable`: a list of dates.

use std::any::Any;

use chrono::{DateTime, FixedOffset, Utc};
use serde_json::{Value as Json, json};

use super::rules::isoformat_with_offset;
use super::{DagRunInfo, DataInterval, TimeRestriction, Timetable};
use crate::python::PyResult;

/// Runs at listed instants.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsTimetable {
    dates: Vec<DateTime<FixedOffset>>,
    restrict_to_events: bool,
    description: String,
    summary: String,
}

impl EventsTimetable {
    /// A timetable of dates: sorted unless they are said to be; described by their number unless a description is given.
    pub fn new(
        mut dates: Vec<DateTime<FixedOffset>>,
        restrict_to_events: bool,
        presorted: bool,
        description: Option<&str>,
    ) -> Self {
        if !presorted {
            dates.sort();
        }
        let (description, summary) = match (description, dates.first(), dates.last()) {
            (Some(text), _, _) => (text.to_owned(), text.to_owned()),
            (None, Some(first), Some(last)) => (
                format!("{} events between {} and {}", dates.len(), text(first), text(last)),
                format!("{} events", dates.len()),
            ),
            _ => ("No events".to_owned(), "0 events".to_owned()),
        };
        EventsTimetable { dates, restrict_to_events, description, summary }
    }

    /// The same with the summary that was stored.
    #[must_use]
    pub(super) fn with_summary(mut self, summary: String) -> Self {
        self.summary = summary;
        self
    }
}

fn text(date: &DateTime<FixedOffset>) -> String {
    isoformat_with_offset(date.naive_local(), date.offset().local_minus_utc())
}

impl Timetable for EventsTimetable {
    fn class_name(&self) -> &'static str {
        "EventsTimetable"
    }

    fn module(&self) -> &'static str {
        "airflow.timetables.events"
    }

    fn serialize(&self) -> Json {
        json!({
            "event_dates": self.dates.iter().map(text).collect::<Vec<_>>(),
            "restrict_to_events": self.restrict_to_events,
            "description": self.description,
            "_summary": self.summary,
        })
    }

    fn summary(&self) -> String {
        self.summary.clone()
    }

    fn next_dagrun_info(
        &self,
        last: Option<DataInterval>,
        restriction: &TimeRestriction,
        now: DateTime<Utc>,
    ) -> PyResult<Option<DagRunInfo>> {
        let earliest = match restriction.earliest {
            earliest if restriction.catchup => earliest,
            Some(earliest) if earliest >= now => Some(earliest),
            _ => Some(now),
        };
        let next =
            self.dates.iter().map(DateTime::to_utc).find(|date| {
                earliest.is_none_or(|earliest| *date >= earliest) && last.is_none_or(|last| *date > last.end)
            });
        Ok(next.filter(|next| restriction.latest.is_none_or(|latest| *next <= latest)).map(DagRunInfo::exact))
    }

    fn infer_manual_data_interval(&self, run_after: DateTime<Utc>) -> PyResult<DataInterval> {
        let (Some(first), true) = (self.dates.first(), self.restrict_to_events) else {
            return Ok(DataInterval::exact(run_after));
        };
        let past = self.dates.iter().rev().find(|date| date.to_utc() <= run_after);
        Ok(DataInterval::exact(past.unwrap_or(first).to_utc()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
