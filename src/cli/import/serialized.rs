//! `partita import serialized`

use std::io::Read as _;

use camino::Utf8PathBuf;

use super::output::{self, OutputArgs, failure};
use crate::airflow::serialized::{MAX_BYTES, from_bytes};
use crate::airflow::{Folders, SerializedDag, import};
use crate::cli::{Failure, Io, Outcome};

/// Arguments of `partita import serialized`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, a folder of .json files, or - for standard input
    #[arg(value_name = "FILE|DIR|-")]
    source: Utf8PathBuf,

    /// The Dag folder: where templates look for files beside their Dag's file
    #[arg(long, value_name = "DIR")]
    dags_folder: Option<Utf8PathBuf>,

    /// More folders for templates, in order: `template_searchpath` is not in a serialized Dag
    #[arg(long, value_name = "DIR")]
    template_searchpath: Vec<Utf8PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Imports serialized Dags.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let dags = read(&args.source)?;
    let folders = Folders { dags: args.dags_folder.clone(), template_searchpath: args.template_searchpath.clone() };
    let imported = import(&dags, &folders).map_err(|error| failure(&error))?;
    output::finish(&imported, &args.output, io)
}

/// Reads serialized Dags from a file, a folder or standard input.
pub(super) fn read(source: &Utf8PathBuf) -> Result<Vec<SerializedDag>, Failure> {
    if source != "-" {
        return SerializedDag::from_path(source).map_err(|error| failure(&error));
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    from_bytes(&bytes, "standard input").map_err(|error| failure(&error))
}
