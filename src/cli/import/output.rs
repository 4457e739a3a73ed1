//! What an import prints and writes.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use crate::airflow::{Finding, Gravity, ImportError, Imported};
use crate::cli::{Exit, Failure, Io, Outcome};
use crate::report;

/// Findings printed before the rest is only counted.
const SHOWN: usize = 100;

/// Where an import goes.
#[derive(Debug, Clone, clap::Args)]
pub struct OutputArgs {
    /// Write a pipeline folder: pipeline.yaml and the templates beside it; without it pipeline.yaml is printed
    #[arg(long, value_name = "DIR")]
    pub out: Option<Utf8PathBuf>,

    /// Write into a folder that is not empty; files of the same names are replaced, others are kept
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Prints findings, then prints or writes the pipeline.
///
/// # Errors
/// A folder that is not empty, or cannot be written.
pub fn finish(imported: &Imported, args: &OutputArgs, io: &mut Io<'_>) -> Outcome {
    match &args.out {
        None => io.out.write_all(imported.document.as_bytes())?,
        Some(out) => {
            write(imported, out, args.force)?;
            for path in files(imported).map(|(path, _)| out.join(path)) {
                writeln!(io.out, "{path}")?;
            }
        }
    }
    io.out.flush()?;
    findings(imported.findings.iter(), io)?;
    if args.out.is_none() && !imported.files.is_empty() {
        let count = imported.files.len();
        writeln!(io.err, "note: {count} templates belong beside it; --out DIR writes them too")?;
    }
    Ok(Exit::findings_if(imported.findings.iter().any(|finding| finding.gravity != Gravity::Note)))
}

/// Prints findings on standard error.
///
/// # Errors
/// When the stream fails.
pub fn findings<'a>(findings: impl Iterator<Item = &'a Finding>, io: &mut Io<'_>) -> Result<(), Failure> {
    let mut left = 0;
    for (at, finding) in findings.enumerate() {
        if at >= SHOWN {
            left += 1;
            continue;
        }
        let subject = finding.subject();
        let colon = if subject.is_empty() { "" } else { ": " };
        writeln!(io.err, "{}: {subject}{colon}{}", finding.gravity.name(), finding.message)?;
        if let Some(help) = &finding.help {
            writeln!(io.err, "  help: {help}")?;
        }
    }
    if left > 0 {
        writeln!(io.err, "... and {left} more")?;
    }
    Ok(())
}

/// An import that came to nothing.
pub fn failure(error: &ImportError) -> Failure {
    let help = error.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    if error.problems.is_empty() {
        return Failure::Fatal(format!("{}{help}", error.message));
    }
    Failure::Report(format!("error: {}{help}\n{}", error.message, report::problems(&error.problems, true)))
}

fn files(imported: &Imported) -> impl Iterator<Item = (Utf8PathBuf, &str)> {
    let templates = imported.files.iter().map(|(path, text)| (path.clone(), text.as_str()));
    std::iter::once(("pipeline.yaml".into(), imported.document.as_str())).chain(templates)
}

/// Writes a new folder beside its place first and then moves it there: it is whole or not there at all. Into a folder that
/// exists (it may be a link, or where the user stands) files are moved once all are written.
fn write(imported: &Imported, out: &Utf8Path, force: bool) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::Fatal(format!("cannot write {out}: {error}"));
    let exists = out.exists();
    if exists && !out.is_dir() {
        return Err(Failure::Fatal(format!("cannot write {out}: it is a file")));
    }
    let filled = exists && out.read_dir_utf8().map_err(fail)?.next().is_some();
    if filled && !force {
        return Err(Failure::Fatal(format!(
            "{out} is not empty\nhelp: name another folder, or --force to replace the files of the import in it"
        )));
    }
    let parent = match out.parent() {
        _ if exists => out,
        Some(parent) if !parent.as_str().is_empty() => parent,
        _ => Utf8Path::new("."),
    };
    fs::create_dir_all(parent).map_err(fail)?;
    let beside = tempfile::Builder::new().prefix(".partita-import").tempdir_in(parent).map_err(fail)?;
    let stage = Utf8Path::from_path(beside.path())
        .ok_or_else(|| Failure::Fatal(format!("cannot write {out}: its path is not UTF-8")))?
        .join("folder");
    for (path, text) in files(imported) {
        let target = stage.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        fs::write(&target, text).map_err(fail)?;
    }
    if !exists {
        return fs::rename(&stage, out).map_err(fail);
    }
    // pipeline.yaml comes last: until then the folder is what it was, with files nobody names.
    let mut paths: Vec<Utf8PathBuf> = files(imported).map(|(path, _)| path).collect();
    paths.rotate_left(1);
    for path in paths {
        let target = out.join(&path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        fs::rename(stage.join(&path), &target).map_err(fail)?;
    }
    Ok(())
}
