//! The command line: one file per subcommand. Each parses, calls the library, prints and says its exit code; no rule of
//! the domain lives here.
//!
//! To add a subcommand: a file with a `clap::Args` struct and `pub fn run(args: &Args, io: &mut Io) -> Outcome`, a variant
//! of `Command`, and a line in `dispatch`.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Parser, Subcommand};

mod completions;
mod connect;
mod context;
mod definitions;
mod diff;
mod diff_profiles;
#[cfg(feature = "sqlite")]
mod emit;
mod explain;
#[cfg(feature = "preview")]
mod follow;
mod import;
mod inspect;
mod inspect_asset;
mod inspect_mapper;
mod inspect_timetable;
pub mod jsonl;
mod outcome;
mod play_args;
#[cfg(feature = "preview")]
mod preview;
#[cfg(feature = "sqlite")]
mod queue;
#[cfg(feature = "sqlite")]
mod queue_store;
mod render;
mod render_jsonl;
mod resolve;
mod review;
mod schema;
mod select;
mod snapshot;
mod source_args;
mod stored_runs;
#[cfg(feature = "sqlite")]
mod tick;
mod verify;
#[cfg(feature = "preview")]
mod watch;

pub use outcome::{Exit, Failure, Io, Outcome};

/// Shows exactly what an Apache Airflow task will execute for a partition, before anything runs.
#[derive(Debug, Parser)]
#[command(name = "partita", version, about, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The whole template context of a run: every name, its type, what it prints
    Context(context::Args),
    /// Read Dags of Airflow into a pipeline
    Import(Box<import::Args>),
    /// What a change does to the rendered text and to the runs, each distinct change once
    Diff(Box<diff::Args>),
    /// Try one mapper, timetable or asset
    Inspect(inspect::Args),
    /// A live page: templates beside what they render, updated on save
    #[cfg(feature = "preview")]
    Preview(preview::Args),
    /// Render template fields of the runs that events make
    Render(Box<render::Args>),
    /// Show the runs that events make, what is still pending and why, and the audit log
    Resolve(Box<resolve::Args>),
    /// Explain a run or a key: events, mappers, what is missing, which rule decided
    Explain(explain::Args),
    /// Write or verify snapshots of everything that is rendered
    Snapshot(snapshot::Args),
    /// Accept or reject pending snapshots
    Review(review::Args),
    /// Render every run of an Airflow that has stored rendered fields, and compare
    Verify(Box<verify::Args>),
    /// Record an asset event in a stored queue
    #[cfg(feature = "sqlite")]
    Emit(emit::Args),
    /// One pass of the scheduler over a stored queue
    #[cfg(feature = "sqlite")]
    Tick(tick::Args),
    /// List or delete what is queued in a stored queue
    #[cfg(feature = "sqlite")]
    Queue(queue::Args),
    /// Print the JSON Schema of pipeline or scenario files
    Schema(schema::Args),
    /// Print shell completions
    Completions(completions::Args),
}

fn dispatch(command: &Command, io: &mut Io<'_>) -> Outcome {
    match command {
        Command::Context(args) => context::run(args, io),
        Command::Import(args) => import::run(args, io),
        Command::Diff(args) => diff::run(args, io),
        Command::Inspect(args) => inspect::run(args, io),
        #[cfg(feature = "preview")]
        Command::Preview(args) => preview::run(args, io),
        Command::Render(args) => render::run(args, io),
        Command::Resolve(args) => resolve::run(args, io),
        Command::Explain(args) => explain::run(args, io),
        Command::Snapshot(args) => snapshot::run(args, io),
        Command::Review(args) => review::run(args, io),
        Command::Verify(args) => verify::run(args, io),
        #[cfg(feature = "sqlite")]
        Command::Emit(args) => emit::run(args, io),
        #[cfg(feature = "sqlite")]
        Command::Tick(args) => tick::run(args, io),
        #[cfg(feature = "sqlite")]
        Command::Queue(args) => queue::run(args, io),
        Command::Schema(args) => schema::run(args, io),
        Command::Completions(args) => completions::run(args, io),
    }
}

/// Runs the command of these arguments (the first is the program's name) on the process's own streams and returns its exit
/// code: 0 all well, 1 findings, differences or a template that failed, 2 wrong usage, 3 nothing could be done.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is the reader's decision, not an error.
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let mut out = io::BufWriter::with_capacity(1 << 16, anstream::stdout().lock());
    let mut err = anstream::stderr().lock();
    let code = {
        let mut io = Io { out: &mut out, err: &mut err };
        run(&cli, &mut io)
    };
    match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => 3,
        _ => code,
    }
}

/// Runs a parsed command line on any pair of streams.
pub fn run(cli: &Cli, io: &mut Io<'_>) -> u8 {
    match dispatch(&cli.command, io) {
        Ok(exit) => exit.code(),
        Err(failure) => failure.report(io),
    }
}
