//! `partita schema`

use super::{Exit, Io, Outcome};
use crate::pipeline::{PIPELINE_SCHEMA, SCENARIO_SCHEMA};

/// Arguments of `partita schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which file the schema is for
    #[arg(value_enum, default_value_t)]
    file: File,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum File {
    /// pipeline.yaml
    #[default]
    Pipeline,
    /// Files in scenarios/
    Scenario,
}

/// Prints the JSON Schema of a file.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let schema = match args.file {
        File::Pipeline => PIPELINE_SCHEMA,
        File::Scenario => SCENARIO_SCHEMA,
    };
    io.out.write_all(schema.as_bytes())?;
    Ok(Exit::Success)
}
