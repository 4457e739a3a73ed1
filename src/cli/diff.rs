//! `partita diff`

use camino::Utf8PathBuf;

use super::diff_profiles::{self, Form};
use super::{Io, Outcome};
use crate::pipeline::Profile;

/// Arguments of `partita diff`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, every pipeline below templates/
    pipelines: Vec<Utf8PathBuf>,

    /// The same pipeline under two profiles: what fails, what changes its text, what stays
    #[arg(long, value_name = "FROM,TO", required = true, value_parser = diff_profiles::two_profiles)]
    profiles: Option<(Profile, Profile)>,

    /// Only these scenarios, by name or path; all of a pipeline's without one
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,

    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

/// Compares rendered texts.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    match args.profiles {
        Some(profiles) => diff_profiles::run(&args.pipelines, &args.scenario, profiles, args.format, io),
        None => Ok(super::Exit::Success),
    }
}
