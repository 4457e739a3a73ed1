//! `partita inspect mapper`: what a partition mapper makes of a key, step by step.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{Exit, Failure, Io, Outcome, jsonl};
use crate::partition::{Evaluate, KeyStep, Mapper, decode_partition_mapper, read_mapper};
use crate::pipeline::{Expressions, yaml};
use crate::python::PyErr;

/// How many expected keys of a window are printed in full.
const SHOWN: usize = 31;

/// Arguments of `partita inspect mapper`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A class name, {ClassName: arguments} as in a pipeline file, or Airflow's serialized form
    #[arg(required_unless_present = "jsonl")]
    mapper: Option<String>,
    /// Partition keys of asset events
    #[arg(required_unless_present_any = ["jsonl", "downstream"])]
    keys: Vec<String>,
    /// A partition key of a consumer run: its date, and for a rollup the keys it waits for (repeatable)
    #[arg(long, value_name = "KEY")]
    downstream: Vec<String>,
    /// Answer requests from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["mapper", "keys", "downstream", "json"])]
    pub jsonl: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `partita inspect mapper` without `--jsonl`.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let mapper = read(args.mapper.as_deref().unwrap_or_default())?;
    let mut text = format!("{}\n", mapper.label());
    let mut answers = Vec::new();
    let mut failed = false;
    for key in &args.keys {
        let steps = mapper.steps(key, 0);
        let made = steps.first().map(|step| step.result.clone()).unwrap_or_else(|| Ok(Vec::new()));
        for step in &steps {
            show_step(step, &mut text);
        }
        let mut answer = json!({"key": key, "steps": steps});
        match made {
            Ok(mut keys) => {
                keys.dedup();
                answer["downstream"] =
                    keys.iter().map(|key| downstream(&mapper, key, 2, &mut text, &mut failed)).collect();
            }
            Err(_) => failed = true,
        }
        answers.push(answer);
    }
    for key in &args.downstream {
        let _ = writeln!(text, "  run {key:?}");
        answers.push(downstream(&mapper, key, 2, &mut text, &mut failed));
    }
    if args.json {
        let answer = json!({"mapper": mapper.encode(), "answers": answers});
        serde_json::to_writer_pretty(&mut *io.out, &answer).map_err(std::io::Error::from)?;
        io.out.write_all(b"\n")?;
    } else {
        io.out.write_all(text.as_bytes())?;
    }
    Ok(Exit::findings_if(failed))
}

fn show_step(step: &KeyStep, text: &mut String) {
    let indent = "  ".repeat(step.depth + 1);
    let name = if step.depth == 0 { String::new() } else { format!("{}: ", step.mapper) };
    let result = match &step.result {
        Ok(keys) => keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", "),
        Err(error) => error.to_string(),
    };
    let _ = writeln!(text, "{indent}{name}{:?} -> {result}", step.key);
}

/// The date of a downstream key and what it waits for.
fn downstream(mapper: &Mapper, key: &str, depth: usize, text: &mut String, failed: &mut bool) -> Json {
    let indent = "  ".repeat(depth);
    let mut answer = json!({"key": key});
    match mapper.to_partition_date(key) {
        Ok(Some(date)) => {
            let _ = writeln!(text, "{indent}{key:?} has the partition date {}", date.isoformat());
            answer["partition_date"] = date.isoformat().into();
        }
        Ok(None) => {
            let _ = writeln!(text, "{indent}{key:?} carries no date");
            answer["partition_date"] = Json::Null;
        }
        Err(error) => {
            let _ = writeln!(text, "{indent}{key:?}: {error}");
            answer["error"] = jsonl::error_json(&error);
            *failed = true;
        }
    }
    let Some(rollup) = mapper.as_rollup() else { return answer };
    match rollup.to_upstream(key) {
        Ok(keys) => {
            let shown: Vec<&str> = keys.iter().take(SHOWN).map(String::as_str).collect();
            let more = if keys.len() > SHOWN { ", ..." } else { "" };
            let policy = rollup.wait_policy().repr();
            let _ = writeln!(text, "{indent}{policy} over {} keys: {}{more}", keys.len(), shown.join(", "));
            answer["expected"] = json!(keys);
        }
        Err(error) => {
            let _ = writeln!(text, "{indent}{error}");
            answer["error"] = jsonl::error_json(&error);
            *failed = true;
        }
    }
    answer
}

/// The mapper of the command line.
fn read(given: &str) -> Result<Mapper, Failure> {
    let source = yaml::source("MAPPER".into(), given.to_owned());
    let node = yaml::parse(&source).map_err(|problem| Failure::Usage(format!("the mapper: {}", problem.message)))?;
    let spec = node.to_json();
    let fatal = |error: &PyErr, hint: String| {
        let advice = error.hint.as_ref().map(|hint| format!("\nhelp: {hint}")).unwrap_or_default();
        Failure::Fatal(format!("the mapper cannot be built: {error}{hint}{advice}"))
    };
    if spec.get("__type").is_some() {
        return decode_partition_mapper(&spec).map_err(|error| fatal(&error, String::new()));
    }
    let evaluate: Arc<dyn Evaluate> = Arc::new(Expressions::default());
    read_mapper(&spec, Some(&evaluate)).map_err(|error| {
        let known = error.candidates.join(", ");
        fatal(&error.error, if known.is_empty() { String::new() } else { format!("\nhelp: known: {known}") })
    })
}
