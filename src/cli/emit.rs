//! `partita emit`: asset events into a stored queue.

use std::io;

use serde_json::{Map, Value as Json, json};

use super::queue_store::{self, Queue, failure, instant};
use super::{Exit, Failure, Io, Outcome, jsonl, select};
use crate::asset::{AssetKey, EventSource};
use crate::pipeline::{Pipeline, reader::parse_instant};
use crate::python::{PyErr, PyResult};
use crate::report;
use crate::schedule::{AssetChange, ScheduleError};
use crate::timetable::isoformat;

/// Requests that are committed together, when so many are there.
const BATCH: usize = 64;

/// Arguments of `partita emit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The asset, by its name in the pipeline or by its URI
    #[arg(required_unless_present = "jsonl")]
    asset: Option<String>,
    #[command(flatten)]
    queue: queue_store::QueueArgs,
    /// The partition key of the event
    #[arg(long, value_name = "KEY")]
    partition_key: Option<String>,
    /// The producer's partition date
    #[arg(long, value_name = "DATE")]
    partition_date: Option<String>,
    /// The event's extra, as a JSON object
    #[arg(long, value_name = "JSON")]
    extra: Option<String>,
    /// An alias it comes through
    #[arg(long, value_name = "NAME")]
    alias: Vec<String>,
    /// Read events from standard input, one JSON object a line, and answer each once it is on disk
    #[arg(long, conflicts_with_all = ["asset", "partition_key", "partition_date", "extra", "alias"])]
    jsonl: bool,
}

/// Records one event, or one per line.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let mut queue = Queue::open(&args.queue, io)?;
    if args.jsonl {
        return lines(&mut queue, io);
    }
    let name = args.asset.as_deref().unwrap_or_default();
    let Some(asset) = find(&queue.pipeline, name) else {
        let known: Vec<&str> = queue.pipeline.assets.iter().map(|def| def.key.as_str()).collect();
        return Err(select::unknown("asset", name, &known));
    };
    let extra = match &args.extra {
        None => None,
        Some(text) => match serde_json::from_str::<Json>(text) {
            Ok(extra @ Json::Object(_)) => Some(extra),
            Ok(_) => return Err(Failure::Usage("--extra is a JSON object".to_owned())),
            Err(error) => return Err(Failure::Usage(format!("--extra is not JSON: {error}"))),
        },
    };
    let change = AssetChange {
        asset,
        extra,
        source: None,
        aliases: args.alias.clone(),
        partition_key: args.partition_key.clone(),
        partition_date: args.partition_date.as_deref().map(instant).transpose()?,
    };
    queue.in_one(|queue, at| queue.scheduler.register_asset_change(&change, at)).map_err(failure)?;
    for entry in queue.scheduler.trace() {
        let text = report::decision_text(&entry.decision);
        if !text.is_empty() {
            writeln!(io.out, "{text}")?;
        }
    }
    Ok(Exit::Success)
}

fn find(pipeline: &Pipeline, name: &str) -> Option<AssetKey> {
    let by_key = pipeline.assets.iter().find(|def| def.key == name || def.asset.name == name);
    by_key.or_else(|| pipeline.assets.iter().find(|def| def.asset.uri == name)).map(|def| def.asset.key())
}

fn lines(queue: &mut Queue, io: &mut Io<'_>) -> Outcome {
    queue.scheduler.forget();
    jsonl::serve_batches(io::stdin().lock(), io.out, BATCH, |requests| {
        let result = queue.in_one(|queue, _| {
            let mut answers = Vec::with_capacity(requests.len());
            for request in requests {
                answers.push(match read(&queue.pipeline, request) {
                    Ok(change) => {
                        let at = queue.time()?;
                        match queue.scheduler.register_asset_change(&change, at) {
                            Ok(Some(event)) => Ok(jsonl::ok(json!({"event": event, "timestamp": isoformat(at)}))),
                            Ok(None) => Err(no_asset(&change.asset.name)),
                            Err(ScheduleError::Python(error)) => Err(error),
                            Err(error) => return Err(error),
                        }
                    }
                    Err(error) => Err(error),
                });
            }
            Ok(answers)
        });
        queue.scheduler.forget();
        match result {
            Ok(answers) => answers,
            // None of them is on disk, and each must hear it.
            Err(error) => {
                let text = error.to_string();
                requests.iter().map(|_| Err(PyErr::new("StoreError", text.clone()))).collect()
            }
        }
    })
}

fn no_asset(name: &str) -> PyErr {
    PyErr::new("NotFound", format!("there is no asset {name:?}")).with_hint("declare it in the pipeline")
}

/// Reads a request: `asset` (a name, a URI, or `{name, uri}`), `partition_key`, `partition_date`, `extra`, `aliases`, `source`.
fn read(pipeline: &Pipeline, request: &Json) -> PyResult<AssetChange> {
    const KNOWN: [&str; 7] = ["id", "asset", "partition_key", "partition_date", "extra", "aliases", "source"];
    let wants = |what: &str| PyErr::type_error(format!("an event wants {what}"));
    let fields = request.as_object().ok_or_else(|| wants("a JSON object"))?;
    if let Some(unknown) = fields.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(PyErr::type_error(format!("an event has no {unknown:?}")).with_hint(KNOWN.join(", ")));
    }
    let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let text = |name: &str| match given(name) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wants(&format!("{name:?} as a string"))),
    };
    let asset = match given("asset") {
        Some(Json::String(name)) => find(pipeline, name).ok_or_else(|| no_asset(name))?,
        Some(Json::Object(key)) => match (key.get("name"), key.get("uri")) {
            (Some(Json::String(name)), Some(Json::String(uri))) => AssetKey { name: name.clone(), uri: uri.clone() },
            _ => return Err(wants("\"asset\" with name and uri")),
        },
        _ => return Err(wants("\"asset\"")),
    };
    let partition_date = match text("partition_date")? {
        None => None,
        Some(date) => Some(parse_instant(&date).ok_or_else(|| PyErr::value_error(format!("{date:?} is no date")))?),
    };
    let aliases = match given("aliases") {
        None => Vec::new(),
        Some(Json::Array(items)) => {
            let name = |item: &Json| item.as_str().map(str::to_owned).ok_or_else(|| wants("\"aliases\" as strings"));
            items.iter().map(name).collect::<PyResult<_>>()?
        }
        Some(_) => return Err(wants("\"aliases\" as a list")),
    };
    Ok(AssetChange {
        asset,
        extra: match given("extra") {
            None => None,
            Some(extra @ Json::Object(_)) => Some(extra.clone()),
            Some(_) => return Err(wants("\"extra\" as an object")),
        },
        source: given("source")
            .map(|source| self::source(source).ok_or_else(|| wants("a whole \"source\"")))
            .transpose()?,
        aliases,
        partition_key: text("partition_key")?,
        partition_date,
    })
}

fn source(value: &Json) -> Option<EventSource> {
    let value: &Map<String, Json> = value.as_object()?;
    let text = |name: &str| value.get(name).and_then(Json::as_str).map(str::to_owned);
    Some(EventSource {
        dag_id: text("dag_id")?,
        task_id: text("task_id")?,
        run_id: text("run_id")?,
        map_index: value.get("map_index").map_or(Some(-1), Json::as_i64)?,
    })
}
