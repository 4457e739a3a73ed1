//! `partita import`: what people have in Airflow, as a pipeline.

use clap::Subcommand;

use super::{Io, Outcome};

mod dags;
pub mod output;
mod runs;
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
    /// A Dag folder, read by the Python interpreter of your Airflow; nothing is installed
    Dags(dags::Args),
    /// A metadata database: serialized Dags, runs, variables and connections
    Db(runs::DbArgs),
    /// The REST API: runs, variables and connections of Dags that are named
    Api(runs::ApiArgs),
}

/// Imports Dags.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    match &args.from {
        From::Serialized(args) => serialized::run(args, io),
        From::Dags(args) => dags::run(args, io),
        From::Db(args) => runs::db(args, io),
        From::Api(args) => runs::api(args, io),
    }
}
