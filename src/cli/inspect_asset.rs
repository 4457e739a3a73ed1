//! `partita inspect asset`: a URI as Airflow stores it, or who produces and who consumes each asset of a pipeline.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use camino::Utf8PathBuf;
use serde_json::{Value as Json, json};

use super::{Exit, Failure, Io, Outcome, jsonl, select};
use crate::asset::{Asset, AssetCondition, AssetRef, encode_asset};
use crate::pipeline::Pipeline;

/// Arguments of `partita inspect asset`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// URIs or names; with --dags, pipelines (all below templates/ if none is named)
    #[arg(required_unless_present_any = ["jsonl", "dags"])]
    assets: Vec<String>,
    /// The name, where it is not the URI
    #[arg(long, conflicts_with = "dags")]
    name: Option<String>,
    /// List who produces and who consumes each asset of the pipelines
    #[arg(long)]
    dags: bool,
    /// Answer requests from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["assets", "name", "dags", "json"])]
    pub jsonl: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `partita inspect asset` without `--jsonl`.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let (text, answer, failed) = if args.dags { list(args, io)? } else { inspect(args) };
    if args.json {
        serde_json::to_writer_pretty(&mut *io.out, &answer).map_err(std::io::Error::from)?;
        io.out.write_all(b"\n")?;
    } else {
        io.out.write_all(text.as_bytes())?;
    }
    Ok(Exit::findings_if(failed))
}

fn inspect(args: &Args) -> (String, Json, bool) {
    let mut text = String::new();
    let mut answers = Vec::new();
    let mut failed = false;
    for uri in &args.assets {
        match Asset::new(args.name.as_deref(), Some(uri)) {
            Ok((asset, warnings)) => {
                let _ = writeln!(text, "{uri}\n  name {}\n  uri  {}", asset.name, asset.uri);
                for warning in &warnings {
                    let _ = writeln!(text, "  warning: {warning}");
                }
                answers.push(json!({"given": uri, "serialized": encode_asset(&asset), "warnings": warnings}));
            }
            Err(error) => {
                let _ = writeln!(text, "{uri}\n  {error}");
                answers.push(json!({"given": uri, "error": jsonl::error_json(&error)}));
                failed = true;
            }
        }
    }
    (text, answers.into(), failed)
}

/// What touches an asset.
#[derive(Default)]
struct Uses {
    producers: Vec<String>,
    consumers: Vec<String>,
    readers: Vec<String>,
}

fn list(args: &Args, io: &mut Io<'_>) -> Result<(String, Json, bool), Failure> {
    let named: Vec<Utf8PathBuf> = args.assets.iter().map(Utf8PathBuf::from).collect();
    let mut text = String::new();
    let mut answers = Vec::new();
    for pipeline in select::pipelines(&named, io)? {
        let _ = writeln!(text, "{}", pipeline.name);
        for (asset, uses) in uses(&pipeline) {
            let _ = writeln!(text, "  {asset}");
            for (verb, dags) in
                [("produced by", &uses.producers), ("consumed by", &uses.consumers), ("read by", &uses.readers)]
            {
                if !dags.is_empty() {
                    let _ = writeln!(text, "    {verb} {}", dags.join(", "));
                }
            }
            if uses.producers.is_empty() {
                let _ = writeln!(text, "    produced outside of the pipeline, or not at all");
            }
            if uses.consumers.is_empty() {
                let _ = writeln!(text, "    no Dag is scheduled on it");
            }
            answers.push(json!({
                "pipeline": pipeline.name,
                "asset": asset,
                "producers": uses.producers,
                "consumers": uses.consumers,
                "readers": uses.readers,
            }));
        }
    }
    Ok((text, answers.into(), false))
}

/// Each asset and alias of a pipeline in words, and what touches it.
fn uses(pipeline: &Pipeline) -> BTreeMap<String, Uses> {
    let mut found: BTreeMap<String, Uses> = BTreeMap::new();
    let words = |leaf: &AssetCondition| match leaf {
        AssetCondition::Alias(alias) => format!("alias {}", alias.name),
        AssetCondition::Asset(asset) => asset_words(&asset.name, &asset.uri),
        AssetCondition::Ref(reference) => {
            let meant = pipeline.assets.iter().map(|def| &def.asset).find(|asset| match reference {
                AssetRef::Name(name) => asset.name == *name,
                AssetRef::Uri(uri) => asset.uri == *uri,
            });
            meant.map_or_else(
                || format!("reference to {}", reference.text()),
                |asset| asset_words(&asset.name, &asset.uri),
            )
        }
        AssetCondition::All(_) | AssetCondition::Any(_) => String::new(),
    };
    for def in &pipeline.assets {
        found.entry(asset_words(&def.asset.name, &def.asset.uri)).or_default();
    }
    for alias in &pipeline.asset_aliases {
        found.entry(format!("alias {}", alias.name)).or_default();
    }
    let add = |list: &mut Vec<String>, name: String| {
        if !list.contains(&name) {
            list.push(name);
        }
    };
    for dag in &pipeline.dags {
        for leaf in dag.timetable.asset_condition().map(AssetCondition::leaves).unwrap_or_default() {
            add(&mut found.entry(words(leaf)).or_default().consumers, dag.dag_id.clone());
        }
        for task in &dag.tasks {
            let name = format!("{}.{}", dag.dag_id, task.task_id);
            for leaf in task.outlets.iter().flat_map(AssetCondition::leaves) {
                add(&mut found.entry(words(leaf)).or_default().producers, name.clone());
            }
            for leaf in task.inlets.iter().flat_map(AssetCondition::leaves) {
                add(&mut found.entry(words(leaf)).or_default().readers, name.clone());
            }
        }
    }
    found
}

fn asset_words(name: &str, uri: &str) -> String {
    if name == uri { uri.to_owned() } else { format!("{name} ({uri})") }
}
