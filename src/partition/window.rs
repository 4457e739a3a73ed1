//! Windows: which members make up one period.

use std::collections::BTreeSet;

use chrono::{Datelike, Duration};
use serde_json::{Value as Json, json};

use super::{Decoded, DecodedType, Moment};
use crate::asset::pytext::{repr, type_name};
use crate::python::{PyErr, PyResult, repr_str};

/// `Window.Direction`: the period that starts at the key, or the one that ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// `forward`
    #[default]
    Forward,
    /// `backward`
    Backward,
}

impl Direction {
    /// `Window.Direction(value)`
    pub fn read(value: &Json) -> PyResult<Self> {
        match value.as_str() {
            Some("forward") => Ok(Direction::Forward),
            Some("backward") => Ok(Direction::Backward),
            _ => Err(PyErr::value_error(format!("{} is not a valid Window.Direction", repr(value)))),
        }
    }

    /// The value of the enum.
    pub fn value(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        }
    }
}

/// The period of a temporal window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// `HourWindow`: 60 minutes
    Hour,
    /// `DayWindow`: 24 hours, whatever the local clock does
    Day,
    /// `WeekWindow`: 7 days
    Week,
    /// `MonthWindow`: the days of a month
    Month,
    /// `QuarterWindow`: 3 months
    Quarter,
    /// `YearWindow`: 12 months
    Year,
}

impl Span {
    /// The class of that span.
    pub fn class_name(self) -> &'static str {
        match self {
            Span::Hour => "HourWindow",
            Span::Day => "DayWindow",
            Span::Week => "WeekWindow",
            Span::Month => "MonthWindow",
            Span::Quarter => "QuarterWindow",
            Span::Year => "YearWindow",
        }
    }

    /// The span of that class.
    pub fn named(class: &str) -> Option<Self> {
        [Span::Hour, Span::Day, Span::Week, Span::Month, Span::Quarter, Span::Year]
            .into_iter()
            .find(|span| span.class_name() == class)
    }

    fn members(self, start: &Moment, direction: Direction) -> PyResult<Vec<Moment>> {
        match self {
            Span::Hour => steps(start, 60, direction, |base, i| base.plus(Duration::minutes(i.into()))),
            Span::Day => steps(start, 24, direction, |base, i| base.plus(Duration::hours(i.into()))),
            Span::Week => steps(start, 7, direction, |base, i| base.plus(Duration::days(i.into()))),
            Span::Month => self.month(start, direction),
            Span::Quarter | Span::Year => {
                self.require_day_one(start)?;
                let months = if self == Span::Quarter { 3 } else { 12 };
                steps(start, months, direction, Moment::plus_months)
            }
        }
    }

    /// Backward, the days after the previous first up to and including the anchor: not a calendar month.
    fn month(self, anchor: &Moment, direction: Direction) -> PyResult<Vec<Moment>> {
        self.require_day_one(anchor)?;
        let (first, next, skip) = match direction {
            Direction::Forward => (anchor.clone(), anchor.plus_months(1)?, 0),
            Direction::Backward => (anchor.plus_months(-1)?, anchor.clone(), 1),
        };
        let days = (next.naive - first.naive).num_days();
        (0..days).map(|i| first.plus(Duration::days(i + skip))).collect()
    }

    fn require_day_one(self, start: &Moment) -> PyResult<()> {
        if start.naive.day() == 1 {
            return Ok(());
        }
        Err(PyErr::value_error(format!(
            "{} expects a period start on day 1 of the month, got {}. The paired upstream mapper's decode_downstream must \
             normalise to day 1.",
            self.class_name(),
            start.isoformat()
        )))
    }
}

/// `count` members from the start on, or the same number ending at it.
fn steps(
    start: &Moment,
    count: i32,
    direction: Direction,
    step: impl Fn(&Moment, i32) -> PyResult<Moment>,
) -> PyResult<Vec<Moment>> {
    let base = match direction {
        Direction::Forward => start.clone(),
        Direction::Backward => step(start, 1 - count)?,
    };
    (0..count).map(|i| step(&base, i)).collect()
}

/// The members that belong to one downstream key (Airflow's `Window` classes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Window {
    /// A period of time and its direction
    Span(Span, Direction),
    /// `SegmentWindow`: a fixed set of keys
    Segment(BTreeSet<String>),
}

impl Window {
    /// `SegmentWindow(segments)`: an iterable of texts, none empty, at least one.
    pub fn segments(segments: &Json) -> PyResult<Self> {
        let items: Vec<Json> = match segments {
            Json::Array(items) => items.clone(),
            Json::Object(map) => map.keys().map(|key| key.as_str().into()).collect(),
            Json::String(text) => text.chars().map(|c| c.to_string().into()).collect(),
            other => {
                return Err(PyErr::type_error(format!("'{}' object is not iterable", type_name(other))));
            }
        };
        let mut set = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            match item {
                Json::String(key) if key.is_empty() => {
                    return Err(PyErr::value_error(format!(
                        "SegmentWindow segment keys must be non-empty; got an empty string at index {index}."
                    )));
                }
                Json::String(key) => set.insert(key.clone()),
                other => {
                    return Err(PyErr::value_error(format!(
                        "SegmentWindow segment keys must be str; got '{}' at index {index}: {}",
                        type_name(other),
                        repr(other)
                    )));
                }
            };
        }
        if set.is_empty() {
            return Err(PyErr::value_error("SegmentWindow requires at least one segment key; got an empty iterable."));
        }
        Ok(Window::Segment(set))
    }

    /// `type(self).__name__`
    pub fn class_name(&self) -> &'static str {
        match self {
            Window::Span(span, _) => span.class_name(),
            Window::Segment(_) => "SegmentWindow",
        }
    }

    /// A short text for people.
    pub fn label(&self) -> String {
        match self {
            Window::Span(span, Direction::Forward) => span.class_name().to_owned(),
            Window::Span(span, Direction::Backward) => format!("{}(backward)", span.class_name()),
            Window::Segment(segments) => {
                let segments: Vec<String> = segments.iter().map(|segment| repr_str(segment)).collect();
                format!("SegmentWindow([{}])", segments.join(", "))
            }
        }
    }

    /// `expected_decoded_type`
    pub fn expects(&self) -> DecodedType {
        match self {
            Window::Span(..) => DecodedType::Datetime,
            Window::Segment(_) => DecodedType::Str,
        }
    }

    /// The members of the period of a decoded key; segments come sorted, in Airflow they have no order.
    pub fn to_upstream(&self, decoded: &Decoded) -> PyResult<Vec<Decoded>> {
        match (self, decoded) {
            (Window::Segment(segments), _) => Ok(segments.iter().cloned().map(Decoded::Key).collect()),
            (Window::Span(span, direction), Decoded::Date(start)) => {
                Ok(span.members(start, *direction)?.into_iter().map(Decoded::Date).collect())
            }
            (Window::Span(Span::Hour | Span::Day | Span::Week, _), Decoded::Key(_)) => {
                Err(PyErr::type_error("can only concatenate str (not \"datetime.timedelta\") to str"))
            }
            (Window::Span(..), Decoded::Key(_)) => Err(PyErr::attribute_error("'str' object has no attribute 'day'")),
        }
    }

    /// The serialized form.
    pub fn encode(&self) -> Json {
        let class = format!("airflow.partition_mappers.window.{}", self.class_name());
        match self {
            Window::Span(_, direction) => json!({"__type": class, "__var": {"direction": direction.value()}}),
            Window::Segment(segments) => json!({"__type": class, "__var": {"segments": segments}}),
        }
    }
}
