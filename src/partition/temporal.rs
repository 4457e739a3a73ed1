//! The mappers that read dates: `StartOfHourMapper` to `StartOfYearMapper`.

use chrono::{Datelike, Duration, NaiveDateTime, NaiveTime, Timelike};
use serde_json::{Map, Value as Json};

use super::key_pattern::KeyPattern;
use super::serialized::encoded;
use super::{Decoded, DecodedType, Downstream, KeyCap, Moment, Offset, PartitionMapper};
use crate::python::{self, Fields, PyErr, PyResult, Zone, repr_str};

/// The `input_format` of a temporal mapper without one.
pub const DEFAULT_INPUT_FORMAT: &str = "%Y-%m-%dT%H:%M:%S";

/// What a temporal mapper takes the start of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// `StartOfHourMapper`
    Hour,
    /// `StartOfDayMapper`
    Day,
    /// `StartOfWeekMapper`: Monday
    Week,
    /// `StartOfMonthMapper`
    Month,
    /// `StartOfQuarterMapper`
    Quarter,
    /// `StartOfYearMapper`
    Year,
}

impl Period {
    /// The class of that period.
    pub fn class_name(self) -> &'static str {
        match self {
            Period::Hour => "StartOfHourMapper",
            Period::Day => "StartOfDayMapper",
            Period::Week => "StartOfWeekMapper",
            Period::Month => "StartOfMonthMapper",
            Period::Quarter => "StartOfQuarterMapper",
            Period::Year => "StartOfYearMapper",
        }
    }

    /// The period of that class.
    pub fn named(class: &str) -> Option<Self> {
        [Period::Hour, Period::Day, Period::Week, Period::Month, Period::Quarter, Period::Year]
            .into_iter()
            .find(|period| period.class_name() == class)
    }

    /// `default_output_format`
    pub fn default_output_format(self) -> &'static str {
        match self {
            Period::Hour => "%Y-%m-%dT%H",
            Period::Day => "%Y-%m-%d",
            Period::Week => "%Y-%m-%d (W%V)",
            Period::Month => "%Y-%m",
            Period::Quarter => "%Y-Q{quarter}",
            Period::Year => "%Y",
        }
    }

    /// `normalize`: the start of the period, on the wall clock.
    fn start(self, moment: &Moment) -> PyResult<Moment> {
        if self == Period::Week {
            let days = moment.naive.weekday().num_days_from_monday();
            let monday = moment.plus(-Duration::days(days.into()))?;
            return Ok(monday.with_naive(midnight(monday.naive)));
        }
        let naive = moment.naive;
        let month = match self {
            Period::Quarter => naive.month0() / 3 * 3 + 1,
            Period::Year => 1,
            _ => naive.month(),
        };
        let start = match self {
            Period::Hour => naive.with_minute(0).and_then(|t| t.with_second(0)).and_then(|t| t.with_nanosecond(0)),
            Period::Day | Period::Week => Some(midnight(naive)),
            Period::Month | Period::Quarter | Period::Year => {
                midnight(naive).with_day(1).and_then(|first| first.with_month(month))
            }
        };
        Ok(moment.with_naive(start.unwrap_or(naive)))
    }
}

fn midnight(naive: NaiveDateTime) -> NaiveDateTime {
    naive.date().and_time(NaiveTime::MIN)
}

/// A mapper to the start of the period that contains the key.
#[derive(Debug, Clone)]
pub struct TemporalMapper {
    period: Period,
    zone: Zone,
    input_format: String,
    output_format: String,
    /// An offset of a day or more: pendulum takes it, and Python fails where it is used.
    impossible_offset: Option<i64>,
    /// How week and quarter keys are read back.
    pattern: Option<KeyPattern>,
    cap: Option<KeyCap>,
}

impl TemporalMapper {
    /// The constructor; an empty `output_format` means the default of the period.
    pub fn new(
        period: Period,
        zone: Zone,
        input_format: String,
        output_format: Option<String>,
        cap: Option<KeyCap>,
    ) -> PyResult<Self> {
        let output_format = output_format
            .filter(|format| !format.is_empty())
            .unwrap_or_else(|| period.default_output_format().to_owned());
        let pattern = match period {
            Period::Week => Some(KeyPattern::compile(&output_format, &[])?),
            Period::Quarter => Some(KeyPattern::compile(&output_format, &[("quarter", "[1-4]")])?),
            _ => None,
        };
        Ok(TemporalMapper { period, zone, impossible_offset: None, input_format, output_format, pattern, cap })
    }

    /// The mapper with a fixed offset that no datetime can have.
    #[must_use]
    pub(super) fn with_impossible_offset(mut self, seconds: i64) -> Self {
        self.impossible_offset = Some(seconds);
        self
    }

    fn zone(&self) -> PyResult<Zone> {
        match self.impossible_offset {
            None => Ok(self.zone),
            Some(seconds) => Err(PyErr::unsupported(format!("a time zone {seconds} seconds from UTC"))),
        }
    }

    /// The mapper of a period with every argument left out.
    pub fn of(period: Period) -> PyResult<Self> {
        Self::new(period, Zone::UTC, DEFAULT_INPUT_FORMAT.to_owned(), None, None)
    }

    fn format_moment(&self, moment: &Moment) -> PyResult<String> {
        let text = python::strftime(&self.output_format, &fields(moment))?;
        if self.period != Period::Quarter {
            return Ok(text);
        }
        let quarter = i64::from(moment.naive.month0() / 3 + 1);
        format_quarter(&text, quarter)
    }

    fn decode(&self, key: &str) -> PyResult<Moment> {
        let Some(pattern) = &self.pattern else { return parse(key, &self.output_format) };
        let found = pattern.matches(key);
        let group = |name: &str| found.as_ref().and_then(|groups| groups.get(name)).copied();
        let (parts, wants) = match self.period {
            Period::Quarter => {
                (group("Y").zip(group("quarter")).map(|(year, quarter)| (year, quarter * 3 - 2, 1)), QUARTER_WANTS)
            }
            _ => {
                let date = group("Y").zip(group("m")).zip(group("d"));
                (date.map(|((year, month), day)| (year, month, day)), WEEK_WANTS)
            }
        };
        let Some((year, month, day)) = parts else {
            return Err(PyErr::value_error(format!(
                "{}.decode_downstream could not parse {} with output_format {}; output_format must include {wants}.",
                self.class_name(),
                repr_str(key),
                repr_str(&self.output_format)
            )));
        };
        let small = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
        Moment::date(year, small(month), small(day))
    }
}

const WEEK_WANTS: &str = "the %Y, %m and %d directives";
const QUARTER_WANTS: &str = "the %Y directive and the {quarter} placeholder";

/// `datetime.strptime(text, format)`
fn parse(text: &str, format: &str) -> PyResult<Moment> {
    let parsed = python::strptime(text, format)?;
    let offset = parsed.offset.map(|micros| Offset::Fixed(micros, parsed.tzname));
    Ok(Moment { naive: parsed.naive, offset, fold: false })
}

/// `text.format(quarter=quarter)`
fn format_quarter(text: &str, quarter: i64) -> PyResult<String> {
    let keyword = [("quarter".into(), python::Value::from(quarter))];
    let args = python::Args { pos: &[], kw: &keyword };
    let formatted = python::call_method(&python::Value::from(text), "format", &args, &mut python::Plain::default())?;
    Ok(python::text(&formatted).unwrap_or_default().to_owned())
}

/// What `strftime` reads of a datetime.
fn fields(moment: &Moment) -> Fields {
    let mut fields = Fields::naive(moment.naive);
    fields.offset = moment.utcoffset();
    match &moment.offset {
        None => {}
        Some(Offset::Zone(zone)) => {
            fields.tzname = Some(zone.abbreviation(moment.instant()));
            fields.dst = Some(zone.is_dst(moment.instant()));
        }
        Some(Offset::Fixed(_, Some(name))) => fields.tzname = Some(name.clone()),
        Some(Offset::Fixed(0, None)) => fields.tzname = Some("UTC".to_owned()),
        Some(Offset::Fixed(..)) => {
            let iso = moment.isoformat();
            let offset = iso.rfind(['+', '-']).and_then(|at| iso.get(at..)).unwrap_or_default();
            fields.tzname = Some(format!("UTC{offset}"));
        }
    }
    fields
}

fn no_attribute(name: &str) -> PyErr {
    PyErr::attribute_error(format!("'str' object has no attribute '{name}'"))
}

impl PartitionMapper for TemporalMapper {
    fn class_name(&self) -> &str {
        self.period.class_name()
    }

    fn label(&self) -> String {
        let mut parts = Vec::new();
        if !self.zone.is_utc() {
            parts.push(format!("timezone={}", repr_str(&self.zone.name())));
        }
        if self.input_format != DEFAULT_INPUT_FORMAT {
            parts.push(format!("input_format={}", repr_str(&self.input_format)));
        }
        if self.output_format != self.period.default_output_format() {
            parts.push(format!("output_format={}", repr_str(&self.output_format)));
        }
        if parts.is_empty() {
            self.class_name().to_owned()
        } else {
            format!("{}({})", self.class_name(), parts.join(", "))
        }
    }

    fn to_downstream(&self, key: &str) -> PyResult<Downstream> {
        let parsed = parse(key, &self.input_format)?;
        let aware = match parsed.offset {
            None => Moment::make_aware(parsed.naive, self.zone()?)?,
            Some(_) => parsed.in_zone(self.zone()?)?,
        };
        self.format_moment(&self.period.start(&aware)?).map(Downstream::One)
    }

    fn decode_downstream(&self, downstream_key: &str) -> PyResult<Decoded> {
        self.decode(downstream_key).map(Decoded::Date)
    }

    fn encode_upstream(&self, decoded: &Decoded) -> PyResult<String> {
        let Decoded::Date(moment) = decoded else { return Err(no_attribute("tzinfo")) };
        let naive = match moment.offset {
            None => moment.naive,
            Some(_) => moment.in_zone(self.zone()?)?.naive,
        };
        python::strftime(&self.input_format, &fields(&Moment::make_aware(naive, self.zone()?)?))
    }

    fn to_partition_date(&self, downstream_key: &str) -> PyResult<Option<Moment>> {
        let anchor = self.period.start(&self.decode(downstream_key)?)?;
        match anchor.offset {
            None => Moment::make_aware(anchor.naive, self.zone()?).map(Some),
            Some(_) => Ok(Some(anchor)),
        }
    }

    fn max_downstream_keys(&self) -> Option<&KeyCap> {
        self.cap.as_ref()
    }

    fn decodes_to(&self) -> DecodedType {
        DecodedType::Datetime
    }

    fn format(&self, decoded: &Decoded) -> Option<PyResult<String>> {
        Some(match decoded {
            Decoded::Date(moment) => self.format_moment(moment),
            Decoded::Key(_) if self.period == Period::Quarter => Err(no_attribute("month")),
            Decoded::Key(_) => Err(no_attribute("strftime")),
        })
    }

    fn encode(&self) -> Json {
        let zone = match self.zone {
            _ if self.impossible_offset.is_some() => self.impossible_offset.into(),
            Zone::Fixed(0) => "UTC".into(),
            Zone::Fixed(seconds) => seconds.into(),
            Zone::Named(_) => self.zone.name().into(),
        };
        let mut fields = Map::new();
        fields.insert("timezone".into(), zone);
        fields.insert("input_format".into(), self.input_format.clone().into());
        fields.insert("output_format".into(), self.output_format.clone().into());
        encoded(&format!("temporal.{}", self.class_name()), fields, self.cap.as_ref())
    }
}
