//! `partita inspect mapper|timetable|asset`: one object on one key, instant or URI.

use std::io;

use clap::Subcommand;
use serde_json::Value as Json;

use super::{Io, Outcome, inspect_asset, inspect_mapper, inspect_timetable, jsonl};
use crate::python::{PyErr, PyResult};
use crate::{asset, partition, timetable};

/// Arguments of `partita inspect`.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Try a partition mapper on a key
    Mapper(inspect_mapper::Args),
    /// Try a timetable: its next runs, its partitions, a key
    Timetable(inspect_timetable::Args),
    /// Try an asset's URI, or list who produces and consumes each asset
    Asset(inspect_asset::Args),
}

/// Runs `partita inspect`.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    match &args.what {
        What::Timetable(args) if !args.jsonl => inspect_timetable::run(args, io),
        What::Timetable(_) => {
            lines(io, |request, op, input| timetable::inspect::operate(part(request, "timetable"), op, input))
        }
        What::Mapper(args) if !args.jsonl => inspect_mapper::run(args, io),
        What::Asset(args) if !args.jsonl => inspect_asset::run(args, io),
        What::Mapper(_) => {
            lines(io, |request, op, input| partition::inspect::operate(part(request, "mapper"), op, input))
        }
        What::Asset(_) => jsonl::serve(io::stdin().lock(), io.out, |request| {
            if part(request, "profile").as_str() == Some("airflow-2.10") {
                return asset::dataset::inspect(request);
            }
            asset::inspect::operate(operation(request)?, part(request, "input")).map(jsonl::ok)
        }),
    }
}

fn lines(io: &mut Io<'_>, operate: impl Fn(&Json, &str, &Json) -> PyResult<Json>) -> Outcome {
    jsonl::serve(io::stdin().lock(), io.out, |request| {
        operate(request, operation(request)?, part(request, "input")).map(jsonl::ok)
    })
}

fn operation(request: &Json) -> PyResult<&str> {
    part(request, "op").as_str().ok_or_else(|| PyErr::unsupported("a request without `op`"))
}

fn part<'a>(request: &'a Json, name: &str) -> &'a Json {
    request.get(name).unwrap_or(&Json::Null)
}
