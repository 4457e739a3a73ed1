//! `partita render`

use camino::Utf8PathBuf;

use super::{Exit, Io, Outcome, select};

/// Arguments of `partita render`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pipelines: folders or files; without one, every pipeline below templates/
    pipelines: Vec<Utf8PathBuf>,

    /// Only these scenarios, by name or path
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
}

/// Renders template fields.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let pipelines = select::pipelines(&args.pipelines, io)?;
    for pipeline in &pipelines {
        for scenario in select::scenarios(pipeline, &args.scenario)? {
            writeln!(io.out, "{} / {}", pipeline.name, scenario.name)?;
        }
    }
    Ok(Exit::Success)
}
