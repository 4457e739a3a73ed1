//! `partita import dags`

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::output::{self, OutputArgs, failure};
use crate::airflow::dags::{DagFolder, read};
use crate::airflow::{Folders, import};
use crate::cli::{Exit, Failure, Io, Outcome};

/// Arguments of `partita import dags`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The Dag folder, or one Dag file
    #[arg(value_name = "FOLDER")]
    folder: Utf8PathBuf,

    /// The interpreter of your Airflow environment
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: Utf8PathBuf,

    /// Most time for reading the folder
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,

    /// More folders for templates, after those that the Dags name themselves
    #[arg(long, value_name = "DIR")]
    template_searchpath: Vec<Utf8PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Imports a Dag folder.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let found = ask(&args.folder, &args.python, args.timeout, io)?;
    let folders = Folders { dags: folder_of(&args.folder), template_searchpath: args.template_searchpath.clone() };
    let imported = import(&found.dags, &folders).map_err(|error| failure(&error))?;
    let exit = output::finish(&imported, &args.output, io)?;
    Ok(if found.errors.is_empty() { exit } else { Exit::Findings })
}

/// The folder of a Dag folder or of a Dag file.
pub(super) fn folder_of(path: &Utf8Path) -> Option<Utf8PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    path.parent().map(|parent| if parent.as_str().is_empty() { ".".into() } else { parent.to_owned() })
}

/// Asks the interpreter; errors of Dag files are printed, and are fatal only when there is nothing else.
pub(super) fn ask(folder: &Utf8Path, python: &Utf8Path, seconds: u64, io: &mut Io<'_>) -> Result<DagFolder, Failure> {
    let found = read(folder, python, Duration::from_secs(seconds)).map_err(|error| failure(&error))?;
    for (file, text) in &found.errors {
        writeln!(io.err, "error: {file} could not be imported")?;
        for line in text.trim_end().lines() {
            writeln!(io.err, "  | {line}")?;
        }
    }
    if found.dags.is_empty() {
        return Err(Failure::Fatal(match found.errors.len() {
            0 => format!("{folder} holds no Dag"),
            count => format!("no Dag of {folder} could be imported ({count} errors)"),
        }));
    }
    Ok(found)
}
