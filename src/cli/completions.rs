//! `partita completions`

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Exit, Io, Outcome};

/// Arguments of `partita completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to complete for
    shell: Shell,
}

/// Prints the completion script of a shell.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "partita", &mut script);
    io.out.write_all(&script)?;
    Ok(Exit::Success)
}
