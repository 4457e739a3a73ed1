//! `partita diff`

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;

use super::diff_profiles::{self, Form};
use super::{Exit, Failure, Io, Outcome, select};
use crate::diff::git::{GitError, Repository};
use crate::diff::{self, Diff, HunkOptions, Options, Tree, Wanted, snapshots};
use crate::pipeline::{FILE_NAMES, Profile};
use crate::report::{self, Detail};

/// The folder of pipelines that is taken when none is named.
const TEMPLATES: &str = "templates";

/// Arguments of `partita diff`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "partita diff [OPTIONS] <BASE> [HEAD] [-- <PIPELINE>...]\n       \
                            partita diff [OPTIONS] --profiles <FROM,TO> [PIPELINE]...")]
pub struct Args {
    /// Two sides: git revisions, BASE..HEAD, BASE...HEAD, two folders, or two snapshot trees. HEAD is the working tree with
    /// untracked files when it is not given. With --profiles: pipelines
    #[arg(value_name = "BASE [HEAD]", required_unless_present = "profiles")]
    names: Vec<String>,

    /// The same pipeline under two profiles: what fails, what changes its text, what stays
    #[arg(long, value_name = "FROM,TO", value_parser = diff_profiles::two_profiles, conflicts_with_all = ["context", "ignore_line", "ignore_whitespace", "sql", "exit_code", "stat", "all"])]
    profiles: Option<(Profile, Profile)>,

    /// Only these pipelines: folders or files; without one, every pipeline below templates/
    #[arg(short, long = "pipeline", value_name = "PIPELINE")]
    pipelines: Vec<Utf8PathBuf>,

    /// The same as --pipeline; what stands before `--` is a revision, as in git
    #[arg(last = true, value_name = "PIPELINE")]
    paths: Vec<Utf8PathBuf>,

    /// Only these scenarios, by name
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,

    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Lines shown around a change
    #[arg(short = 'U', long, value_name = "N", default_value_t = 3)]
    context: usize,

    /// Changes all of whose lines match are none
    #[arg(short = 'I', long, value_name = "REGEX", value_parser = pattern)]
    ignore_line: Vec<Regex>,

    /// Lines that differ in white space only are the same
    #[arg(short = 'w', long)]
    ignore_whitespace: bool,

    /// Compare SQL in one layout, in the dialect of the task's operator and connection
    #[arg(long)]
    sql: bool,

    /// Exit with 1 when anything differs
    #[arg(long)]
    exit_code: bool,

    /// Only counts and headings, no texts
    #[arg(long)]
    stat: bool,

    /// Every place and every text, however many
    #[arg(long, conflicts_with = "stat")]
    all: bool,
}

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For a comment of a pull request: at most 65,536 characters
    Markdown,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
}

fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

/// Compares rendered texts.
pub fn run(args: &Args, io: &mut Io<'_>) -> Outcome {
    if let Some(profiles) = args.profiles {
        let form = match args.format {
            Format::Text => Form::Text,
            Format::Markdown => Form::Markdown,
            Format::Json => Form::Json,
            Format::Sarif | Format::Github => {
                return Err(Failure::Usage("--profiles goes with --format text, markdown or json".to_owned()));
            }
        };
        let named = args.names.iter().map(Utf8PathBuf::from).chain(named(args).into_iter().cloned());
        return diff_profiles::run(&named.collect::<Vec<_>>(), &args.scenario, profiles, form, io);
    }
    if args.stat && !matches!(args.format, Format::Text | Format::Markdown) {
        return Err(Failure::Usage("--stat goes with --format text or markdown".to_owned()));
    }
    let options = Options {
        hunk: HunkOptions {
            context: args.context,
            ignore_whitespace: args.ignore_whitespace,
            ignore_lines: args.ignore_line.clone(),
        },
        sql: args.sql,
        scenarios: args.scenario.clone(),
    };
    let mut diff = compare(args, &options)?;
    diff.notes.sort();
    diff.notes.dedup();
    let detail = Detail { stat: args.stat, all: args.all };
    match args.format {
        Format::Text => io.out.write_all(report::diff_text(&diff, detail).as_bytes())?,
        Format::Markdown => {
            io.out.write_all(report::diff_markdown(&diff, detail, report::COMMENT_LIMIT).as_bytes())?;
        }
        Format::Json => writeln!(io.out, "{:#}", report::diff_json(&diff))?,
        Format::Sarif => writeln!(io.out, "{:#}", report::diff_sarif(&diff))?,
        Format::Github => io.out.write_all(report::diff_github(&diff).as_bytes())?,
    }
    Ok(Exit::findings_if(args.exit_code && !diff.is_empty()))
}

/// What the two arguments are.
enum Sides {
    Revisions { base: String, head: Option<String>, merge_base: bool },
    Folders(Utf8PathBuf, Utf8PathBuf),
}

fn compare(args: &Args, options: &Options) -> Result<Diff, Failure> {
    match sides(args)? {
        Sides::Folders(base, head) => folders(args, &base, &head, options),
        Sides::Revisions { base, head, merge_base } => {
            let here = Utf8Path::new(".");
            let repository = Repository::discover(here).map_err(|error| Failure::Fatal(error.to_string()))?;
            revisions(args, &repository, (&base, head.as_deref(), merge_base), options)
        }
    }
}

fn sides(args: &Args) -> Result<Sides, Failure> {
    let only_revisions = !args.paths.is_empty();
    let (base, head) = match args.names.as_slice() {
        [base] => (base, None),
        [base, head] => (base, Some(head)),
        _ => {
            return Err(Failure::Usage(
                "two sides are compared: BASE [HEAD]\nhelp: name pipelines with -p, or after `--`".to_owned(),
            ));
        }
    };
    let is_folder = |name: &str| !only_revisions && Utf8Path::new(name).is_dir();
    let range = |name| if is_folder(name) { None } else { range(name) };
    if let Some(((old, new), merge_base)) = range(base) {
        if let Some(more) = head {
            return Err(Failure::Usage(format!("{base} names both sides already: what is `{more}`?")));
        }
        let or_head = |name: &str| if name.is_empty() { "HEAD" } else { name }.to_owned();
        return Ok(Sides::Revisions { base: or_head(old), head: Some(or_head(new)), merge_base });
    }
    if let Some(head) = head.filter(|head| range(head).is_some()) {
        return Err(Failure::Usage(format!("`{head}` names two sides: write it alone")));
    }
    let names: Vec<&String> = std::iter::once(base).chain(head).collect();
    let folders: Vec<bool> = names.iter().map(|name| is_folder(name)).collect();
    // A name that could be both is asked about, as git does.
    if folders.contains(&true)
        && let Ok(repository) = Repository::discover(Utf8Path::new("."))
    {
        for name in names.iter().zip(&folders).filter(|(_, folder)| **folder).map(|(name, _)| name) {
            let plain = !name.contains(['/', '\\']) && *name != "." && *name != "..";
            if plain && repository.commit(name).is_some() {
                return Err(Failure::Usage(format!(
                    "`{name}` is both a folder and a revision\nhelp: write `./{name}` for the folder, or `refs/heads/{name}` for the branch"
                )));
            }
        }
    }
    match (folders.as_slice(), head) {
        ([true, true], Some(head)) => Ok(Sides::Folders(Utf8PathBuf::from(base), Utf8PathBuf::from(head))),
        ([true], None) => Err(Failure::Usage(format!("`{base}` is a folder: name the folder to compare it with"))),
        ([false, true], Some(head)) | ([true, false], Some(head)) => {
            let (folder, other) = if folders.first() == Some(&true) { (base, head) } else { (head, base) };
            Err(Failure::Usage(format!(
                "`{folder}` is a folder and `{other}` is not: name two folders or two revisions"
            )))
        }
        _ => Ok(Sides::Revisions { base: base.clone(), head: head.cloned(), merge_base: false }),
    }
}

/// The two revisions of `BASE..HEAD` or `BASE...HEAD`, and whether it is the latter.
fn range(name: &str) -> Option<((&str, &str), bool)> {
    if name.starts_with(['.', '/']) && name.contains('/') {
        return None;
    }
    let three = name.split_once("...").map(|both| (both, true));
    three.or_else(|| name.split_once("..").map(|both| (both, false)))
}

/// A scenario that was named must be on one side at least.
fn check_scenarios(args: &Args, trees: &[Tree]) -> Result<(), Failure> {
    let known: Vec<String> = trees.iter().flat_map(Tree::scenarios).collect();
    for name in &args.scenario {
        let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
        if !known.iter().any(|known| known == name || known == stem) {
            return Err(select::unknown("scenario", name, &known.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
    Ok(())
}

fn named(args: &Args) -> Vec<&Utf8PathBuf> {
    args.pipelines.iter().chain(&args.paths).collect()
}

fn folders(args: &Args, base: &Utf8Path, head: &Utf8Path, options: &Options) -> Result<Diff, Failure> {
    let real = |path: &Utf8Path| {
        path.canonicalize_utf8().map_err(|error| Failure::Fatal(format!("cannot read the folder {path}: {error}")))
    };
    let (old, new) = (real(base)?, real(head)?);
    let trees = [&old, &new].map(|root| Tree::of_folder(root, &wanted_in(args, root)));
    let [old_tree, new_tree] = &trees;
    let mut diff = if trees.iter().any(|tree| !tree.pipelines.is_empty()) {
        check_named(args, &trees, &|path| path.clone())?;
        check_scenarios(args, &trees)?;
        diff::trees(old_tree, new_tree, options)
    } else if snapshots::is_tree(&old) || snapshots::is_tree(&new) {
        if !named(args).is_empty() || !args.scenario.is_empty() {
            return Err(Failure::Usage("--pipeline and --scenario do not go with snapshot trees".to_owned()));
        }
        let (one, other) = rayon::join(|| snapshots::pipelines(&old), || snapshots::pipelines(&new));
        diff::sides(one, other, options)
    } else {
        return Err(Failure::Fatal(format!(
            "neither {base} nor {head} holds a pipeline or snapshots\nhelp: a pipeline is a folder with a {}; they are looked for in the folder itself, in its {TEMPLATES}/, and directly below it",
            FILE_NAMES[0]
        )));
    };
    diff.base = base.to_string();
    diff.head = head.to_string();
    Ok(diff)
}

/// Where pipelines are in a folder: named, the folder itself, those of `templates/`, or those directly below.
fn wanted_in(args: &Args, root: &Utf8Path) -> Wanted {
    let named: Vec<Utf8PathBuf> = named(args).into_iter().filter_map(|path| diff::normal(path)).collect();
    if !named.is_empty() {
        return Wanted::Named(named);
    }
    if FILE_NAMES.iter().any(|name| root.join(name).is_file()) {
        return Wanted::Named(vec![Utf8PathBuf::new()]);
    }
    let templates = Wanted::Below(TEMPLATES.into());
    if Tree::of_folder(root, &templates).pipelines.is_empty() { Wanted::Below(Utf8PathBuf::new()) } else { templates }
}

/// A pipeline that was named must be on one side at least.
fn check_named(args: &Args, trees: &[Tree], place: &dyn Fn(&Utf8PathBuf) -> Utf8PathBuf) -> Result<(), Failure> {
    for path in named(args) {
        let Some(wanted) = diff::normal(&place(path)) else {
            return Err(Failure::Usage(format!("--pipeline {path} lies outside of what is compared")));
        };
        let found = trees.iter().flat_map(|tree| &tree.pipelines).any(|known| known.starts_with(&wanted));
        if !found {
            return Err(Failure::Fatal(format!("there is no pipeline {path} on either side")));
        }
    }
    Ok(())
}

fn revisions(
    args: &Args,
    repository: &Repository,
    (base, head, merge_base): (&str, Option<&str>, bool),
    options: &Options,
) -> Result<Diff, Failure> {
    let fatal = |error: GitError| Failure::Fatal(error.to_string());
    let mut old = repository.resolve(base).map_err(fatal)?;
    let new = head.map(|head| repository.resolve(head)).transpose().map_err(fatal)?;
    let mut base_name = revision_name(base, &old);
    if let (true, Some(new)) = (merge_base, &new) {
        old = repository.merge_base(&old, new).map_err(fatal)?;
        base_name = format!("merge base of {base} and {} ({})", head.unwrap_or("HEAD"), short(&old));
    }
    // A path that is absolute names a file of the working tree.
    let place = |path: &Utf8PathBuf| -> Utf8PathBuf {
        match &repository.top {
            Some(top) if path.is_absolute() => path.strip_prefix(top).unwrap_or(path).to_owned(),
            _ => repository.prefix.join(path),
        }
    };
    let mut named_paths = Vec::new();
    for path in named(args) {
        let path = diff::normal(&place(path))
            .ok_or_else(|| Failure::Usage(format!("--pipeline {path} lies outside of the repository")))?;
        named_paths.push(path);
    }
    let wanted = match named_paths.is_empty() {
        true => Wanted::Below(repository.prefix.join(TEMPLATES)),
        false => Wanted::Named(named_paths),
    };
    let of_commit =
        |commit: &str, also: &BTreeSet<Utf8PathBuf>| Tree::of_commit(repository, commit, &wanted, also).map_err(fatal);
    let none = BTreeSet::new();
    let head_tree = || match (&new, &repository.top) {
        (Some(new), _) => of_commit(new, &none),
        (None, Some(top)) => Ok(Tree::of_folder(top, &wanted)),
        (None, None) => Err(Failure::Fatal(
            "a bare repository has no working tree\nhelp: name both revisions: partita diff BASE HEAD".to_owned(),
        )),
    };
    let (base_tree, head_tree) = rayon::join(|| of_commit(&old, &none), head_tree);
    let (mut base_tree, mut head_tree) = (base_tree?, head_tree?);
    // A folder that only the other side names as search path is read from both.
    let (base_folders, head_folders) = (base_tree.search_folders(), head_tree.search_folders());
    if !head_folders.is_subset(&base_folders) {
        base_tree = of_commit(&old, &head_folders)?;
    }
    if let (Some(new), false) = (&new, base_folders.is_subset(&head_folders)) {
        head_tree = of_commit(new, &base_folders)?;
    }
    let trees = [base_tree, head_tree];
    check_named(args, &trees, &place)?;
    check_scenarios(args, &trees)?;
    let [base_tree, head_tree] = &trees;
    if base_tree.pipelines.is_empty() && head_tree.pipelines.is_empty() {
        let folder = repository.prefix.join(TEMPLATES);
        return Err(Failure::Fatal(format!(
            "no pipeline below {folder} on either side\nhelp: name pipelines with -p, or run where {TEMPLATES}/ is"
        )));
    }
    let mut diff = diff::trees(base_tree, head_tree, options);
    diff.base = base_name;
    diff.head = match (head, &new) {
        (Some(head), Some(new)) => revision_name(head, new),
        _ => "working tree".to_owned(),
    };
    Ok(diff)
}

/// A revision as it was written, with its commit unless it is one.
fn revision_name(written: &str, commit: &str) -> String {
    if written.len() >= 4 && commit.starts_with(written) {
        short(commit).to_owned()
    } else {
        format!("{written} ({})", short(commit))
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
