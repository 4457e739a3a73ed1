//! `partita inspect timetable`: the next runs of a timetable, its partitions in a window, what a key stands for.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, Utc};
use serde_json::{Map, Value as Json, json};

use super::{Exit, Failure, Io, Outcome};
use crate::pipeline::yaml;
use crate::python::{PyErr, Zone};
use crate::timetable::{
    DagRunInfo, TIMETABLE_CLASSES, TimeRestriction, Timetable, construct, decode_timetable, encode_timetable,
    from_schedule, inspect::run_json, isoformat,
};

/// Runs shown from an instant on.
const RUNS_SHOWN: usize = 5;

/// Most partitions of a window that are shown unless more are asked for.
const WINDOW_LIMIT: usize = 10_000;

/// Arguments of `partita inspect timetable`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A cron expression or preset, a class name, {"ClassName": arguments} as in a pipeline file, or Airflow's serialized form
    #[arg(required_unless_present = "jsonl")]
    timetable: Option<String>,
    /// Answer requests from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["timetable", "now", "key", "from", "to"])]
    pub jsonl: bool,
    /// The zone of a cron expression given alone
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    timezone: String,
    /// The clock: runs after this instant are shown
    #[arg(long, value_name = "DATE")]
    now: Option<String>,
    /// How many runs to show at most: 5 from --now on, all from --from to --to
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Show the partitions from this date on, in the timetable's zone
    #[arg(long, value_name = "DATE", requires = "to")]
    from: Option<String>,
    /// Show the partitions up to this date, which is included
    #[arg(long, value_name = "DATE", requires = "from")]
    to: Option<String>,
    /// Decode a partition key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `partita inspect timetable` without `--jsonl`.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let timetable = read(args)?;
    let timetable = &*timetable;
    let mut answer = json!({
        "timetable": encode_timetable(timetable),
        "summary": timetable.summary(),
        "partitioned": timetable.partitioned(),
        "partitioned_at_runtime": timetable.partitioned_at_runtime(),
    });
    let mut text = format!("{}  {}\n", timetable.class_name(), timetable.summary());
    let mut exit = Exit::Success;
    if let Some(key) = &args.key {
        let date = match timetable.resolve_partition_date(Some(key)) {
            Ok(Some(date)) => Ok(Some((date.isoformat(), isoformat(date.instant())))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match date {
            Ok(Some((local, utc))) => {
                text.push_str(&format!("  key {key:?} is the partition of {local} ({utc})\n"));
                answer["partition_date"] = utc.into();
            }
            Ok(None) => {
                text.push_str(&format!("  key {key:?} stands for no date\n"));
                answer["partition_date"] = Json::Null;
            }
            Err(error) => {
                text.push_str(&format!("  {error}\n"));
                answer["error"] = super::jsonl::error_json(&error);
                exit = Exit::Findings;
            }
        }
    }
    if let (Some(from), Some(to)) = (&args.from, &args.to) {
        let runs = timetable
            .iter_partition_dagrun_infos(bound(from, false)?, bound(to, true)?)
            .and_then(|runs| runs.take(args.count.unwrap_or(WINDOW_LIMIT)).collect::<Result<Vec<_>, PyErr>>())
            .map_err(fatal)?;
        show(&runs, &mut text, &mut answer);
        if args.count.is_none() && runs.len() == WINDOW_LIMIT {
            writeln!(io.err, "note: only the first {WINDOW_LIMIT} partitions; --count N shows more")?;
        }
    } else if args.key.is_none() {
        let Some(now) = &args.now else {
            return Err(Failure::Usage("the next runs depend on the clock: give --now DATE".to_owned()));
        };
        let now = bound(now, false)?.to_utc();
        show(&next_runs(timetable, now, args.count.unwrap_or(RUNS_SHOWN)).map_err(fatal)?, &mut text, &mut answer);
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *io.out, &answer).map_err(std::io::Error::from)?;
        io.out.write_all(b"\n")?;
    } else {
        io.out.write_all(text.as_bytes())?;
    }
    Ok(exit)
}

fn fatal(error: PyErr) -> Failure {
    Failure::Fatal(error.to_string())
}

fn next_runs(timetable: &dyn Timetable, now: DateTime<Utc>, count: usize) -> Result<Vec<DagRunInfo>, PyErr> {
    let restriction = TimeRestriction { earliest: Some(now), latest: None, catchup: true };
    let mut runs: Vec<DagRunInfo> = Vec::new();
    while runs.len() < count {
        match timetable.next_dagrun_info_v2(runs.last(), &restriction, now)? {
            Some(run) => runs.push(run),
            None => break,
        }
    }
    Ok(runs)
}

fn show(runs: &[DagRunInfo], text: &mut String, answer: &mut Json) {
    for run in runs {
        text.push_str(&format!("  run after {}", isoformat(run.run_after)));
        if let Some(interval) = run.data_interval {
            text.push_str(&format!("  data interval {} .. {}", isoformat(interval.start), isoformat(interval.end)));
        }
        if let Some(key) = &run.partition_key {
            text.push_str(&format!("  partition key {key:?}"));
        }
        if let Some(date) = run.partition_date.filter(|date| *date != run.run_after) {
            text.push_str(&format!("  partition date {}", isoformat(date)));
        }
        text.push('\n');
    }
    if runs.is_empty() {
        text.push_str("  no runs by time\n");
    }
    answer["runs"] = runs.iter().map(run_json).collect();
}

/// The timetable of the command line.
fn read(args: &Args) -> Result<Arc<dyn Timetable>, Failure> {
    let given = args.timetable.as_deref().unwrap_or_default();
    let zone = Zone::parse(&args.timezone).map_err(|error| Failure::Usage(format!("--timezone: {error}")))?;
    let built = if TIMETABLE_CLASSES.contains(&given) {
        construct(given, &[], &Map::new())
    } else if given.trim_start().starts_with('{') {
        let source = yaml::source("TIMETABLE".into(), given.to_owned());
        let node =
            yaml::parse(&source).map_err(|problem| Failure::Usage(format!("the timetable: {}", problem.message)))?;
        let value = node.to_json();
        match value.as_object() {
            Some(map) if !map.contains_key("__type") => match map.iter().next() {
                Some((class, arguments)) if map.len() == 1 => call(class, arguments),
                _ => return Err(Failure::Usage("the timetable is one class name with its arguments".to_owned())),
            },
            _ => decode_timetable(&value).and_then(|timetable| timetable.validate().map(|()| timetable)),
        }
    } else {
        from_schedule(Some(given), zone, false)
    };
    built.map_err(|error| Failure::Fatal(format!("the timetable cannot be built: {error}")))
}

fn call(class: &str, arguments: &Json) -> Result<Arc<dyn Timetable>, PyErr> {
    match arguments {
        Json::Null => construct(class, &[], &Map::new()),
        Json::Array(items) => construct(class, items, &Map::new()),
        Json::Object(keyword) => construct(class, &[], keyword),
        one => construct(class, std::slice::from_ref(one), &Map::new()),
    }
}

/// A date of the command line. A day alone is its midnight, or, as the end of a window, its last moment.
fn bound(text: &str, end: bool) -> Result<DateTime<FixedOffset>, Failure> {
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Ok(date);
    }
    let naive = match text.parse::<NaiveDate>() {
        Ok(day) if end => day.and_hms_micro_opt(23, 59, 59, 999_999),
        Ok(day) => day.and_hms_opt(0, 0, 0),
        Err(_) => text.parse::<NaiveDateTime>().ok(),
    };
    naive
        .map(|naive| naive.and_utc().fixed_offset())
        .ok_or_else(|| Failure::Usage(format!("{text:?} is no date: write 2026-03-10 or 2026-03-10T09:00:00+00:00")))
}
