//! `partita import`: what people have in Airflow, as a pipeline.

use clap::Subcommand;

use super::{Io, Outcome};

pub mod output;
mod serialized;
mod source;

pub use source::ImportedArgs;

/// Arguments of `partita import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Serialized Dags: the `data` of rows of Airflow's table serialized_dag, as JSON
    Serialized(serialized::Args),
}

/// Imports Dags.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    match &args.from {
        From::Serialized(args) => serialized::run(args, io),
    }
}
