//! Which pipelines and scenarios a command is about.

use camino::{Utf8Path, Utf8PathBuf};

use super::import::ImportedArgs;
use super::play_args::PlayArgs;
use super::{Failure, Io};
use crate::pipeline::{self, Pipeline, Problem, Profile, Scenario, Severity};
use crate::report;

/// The folder of pipelines that is taken when none is named.
pub const TEMPLATES: &str = "templates";

/// Pipelines named on the command line, or every pipeline below `templates/`.
///
/// # Errors
/// Every problem of every pipeline that cannot be read.
pub fn pipelines(named: &[Utf8PathBuf], io: &mut Io<'_>) -> Result<Vec<Pipeline>, Failure> {
    pipelines_as(named, None, io)
}

/// The same, read as a profile in place of the one each file names.
///
/// # Errors
/// As [`pipelines`]; what the profile does not have.
pub fn pipelines_as(
    named: &[Utf8PathBuf],
    profile: Option<Profile>,
    io: &mut Io<'_>,
) -> Result<Vec<Pipeline>, Failure> {
    let folders = folders(named)?;
    let mut loaded = Vec::new();
    let mut problems = Vec::new();
    for folder in folders {
        match pipeline::load_as(&folder, profile) {
            Ok(pipeline) => loaded.push(pipeline),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(Failure::Report(report::problems(&problems, true)));
    }
    for pipeline in &loaded {
        warn(&pipeline.warnings, io)?;
    }
    Ok(loaded)
}

/// The Dags of an Airflow if they are named, else pipelines.
///
/// # Errors
/// As [`pipelines_as`]; what cannot be imported.
pub fn pipelines_or(
    imported: &ImportedArgs,
    named: &[Utf8PathBuf],
    play: &PlayArgs,
    io: &mut Io<'_>,
) -> Result<Vec<Pipeline>, Failure> {
    match imported.pipeline(&play.dag, play.profile, io)? {
        Some(pipeline) => Ok(vec![pipeline]),
        None => pipelines_as(named, play.profile, io),
    }
}

/// The folders and files of the pipelines that are named, or of those below `templates/`.
///
/// # Errors
/// A folder that holds no pipeline.
pub fn folders(named: &[Utf8PathBuf]) -> Result<Vec<Utf8PathBuf>, Failure> {
    if named.is_empty() {
        return found_below(Utf8Path::new(TEMPLATES));
    }
    let mut folders = Vec::new();
    for path in named {
        // A folder of pipelines stands for each of them.
        if path.is_dir() && !is_pipeline(path)? {
            folders.extend(found_below(path)?);
        } else {
            folders.push(path.clone());
        }
    }
    Ok(folders)
}

/// Whether a folder holds the file of a pipeline, be it one that cannot be read.
///
/// # Errors
/// A folder that cannot be looked into.
fn is_pipeline(folder: &Utf8Path) -> Result<bool, Failure> {
    for name in pipeline::FILE_NAMES {
        match folder.join(name).symlink_metadata() {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(folder, &error)),
        }
    }
    Ok(false)
}

/// Whoever passes over what cannot be read takes it for gone.
fn unreadable(path: &Utf8Path, error: &std::io::Error) -> Failure {
    Failure::Fatal(format!(
        "cannot tell whether {path} is a pipeline: {error}\nhelp: remove it, or name the pipelines that are meant"
    ))
}

fn found_below(root: &Utf8Path) -> Result<Vec<Utf8PathBuf>, Failure> {
    let entries = root.read_dir_utf8().map_err(|error| {
        Failure::Fatal(format!(
            "no pipeline: cannot read the folder {root}: {error}\nhelp: name a pipeline, or run where {TEMPLATES}/ is"
        ))
    })?;
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(root, &error))?;
        let path = entry.path();
        let kind = path.metadata().map_err(|error| unreadable(path, &error))?;
        if kind.is_dir() && is_pipeline(path)? {
            folders.push(path.to_owned());
        }
    }
    folders.sort();
    if folders.is_empty() {
        return Err(Failure::Fatal(format!(
            "no pipeline in {root}: a pipeline is a folder with a {}",
            pipeline::FILE_NAMES[0]
        )));
    }
    Ok(folders)
}

/// Prints warnings on standard error.
///
/// # Errors
/// When the stream fails.
pub fn warn(problems: &[Problem], io: &mut Io<'_>) -> Result<(), Failure> {
    let warnings: Vec<Problem> =
        problems.iter().filter(|problem| problem.severity == Severity::Warning).cloned().collect();
    if !warnings.is_empty() {
        writeln!(io.err, "{}", report::problems(&warnings, true))?;
    }
    Ok(())
}

/// The scenario files of a pipeline.
///
/// # Errors
/// A folder that cannot be listed.
pub fn scenario_files(pipeline: &Pipeline) -> Result<Vec<Utf8PathBuf>, Failure> {
    pipeline::scenario_files(pipeline).map_err(|problems| Failure::Report(report::problems(&problems, true)))
}

/// The scenarios of a pipeline that are asked for: by file name without ending, by path, or all.
///
/// # Errors
/// Problems in the files, or a name that no scenario has.
pub fn scenarios(pipeline: &Pipeline, named: &[String]) -> Result<Vec<Scenario>, Failure> {
    let known = scenario_files(pipeline)?;
    let mut files = Vec::new();
    if named.is_empty() {
        files.clone_from(&known);
    }
    for name in named {
        let by_name = known.iter().find(|file| file.file_stem() == Some(name) || file.file_name() == Some(name));
        let path = Utf8Path::new(name);
        match by_name {
            Some(file) => files.push(file.clone()),
            None if path.is_file() => files.push(path.to_owned()),
            None => {}
        }
    }
    let mut loaded = Vec::new();
    let mut problems = Vec::new();
    for file in files {
        match pipeline::load_scenario(&file, pipeline) {
            Ok(scenario) => loaded.push(scenario),
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(Failure::Report(report::problems(&problems, true)));
    }
    Ok(loaded)
}

/// A name that nothing has: the failure lists close names.
pub fn unknown(what: &str, name: &str, known: &[impl AsRef<str>]) -> Failure {
    let help = pipeline::source::suggestion(name, known.iter().map(AsRef::as_ref));
    let help = help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    Failure::Usage(format!("there is no {what} `{name}`{help}"))
}
