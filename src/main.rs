//! The `partita` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(partita::cli::main(std::env::args_os()))
}
