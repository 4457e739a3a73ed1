//! Two sides compared: which pipelines, Dags, tasks, runs and texts differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::alike::{Tokens, pair};
use super::cause::Sources;
use super::changes::Collector;
use super::hunk::HunkOptions;
use super::model::{Diff, FileChange, FileKind, PipelineChange, Rename, SideFailure, Status};
use super::pairs::{self, Placed, Tasks, task_tokens};
use super::side::{self, SideField, SidePipeline, SideRun, SideScenario};
use super::tree::{self, Files, Tree};
use crate::pipeline::Problem;

/// Pipelines with at least this in common are one that was moved.
const MOVED: f64 = 0.6;

/// How two sides are compared.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How texts are.
    pub hunk: HunkOptions,
    /// SQL is compared in one layout.
    pub sql: bool,
    /// Only these scenarios, by name; all without one.
    pub scenarios: Vec<String>,
}

/// A pipeline on both sides or on one.
pub(super) struct Pair<'a> {
    pub base: Option<SidePipeline>,
    pub head: Option<SidePipeline>,
    pub sources: Option<Sources<'a>>,
}

impl Pair<'_> {
    /// Its path on the new side, or on the old one when it is gone.
    pub fn path(&self) -> &Utf8Path {
        self.head.as_ref().or(self.base.as_ref()).map_or(Utf8Path::new(""), |side| side.path.as_path())
    }

    /// New names of scenarios by old ones, of those whose file was renamed.
    pub fn renamed_scenarios(&self) -> BTreeMap<&str, &str> {
        fn named<'s>(side: &'s SidePipeline, wanted: &Utf8Path) -> Option<&'s str> {
            let mut scenarios = side.scenarios.iter().flatten();
            scenarios.find(|scenario| scenario.file == wanted).map(|scenario| scenario.name.as_str())
        }
        let (Some(base), Some(head), Some(sources)) = (&self.base, &self.head, &self.sources) else {
            return BTreeMap::new();
        };
        let pairs = sources.changed.iter().filter_map(|file| {
            let (old, new) = (named(base, file.old_path.as_deref()?)?, named(head, &file.path)?);
            let known =
                |side: &SidePipeline, name: &str| side.scenarios.iter().flatten().any(|scenario| scenario.name == name);
            (!known(head, old) && !known(base, new)).then_some((old, new))
        });
        pairs.collect()
    }
}

/// Compares the pipelines of two trees.
pub fn trees(base: &Tree, head: &Tree, options: &Options) -> Diff {
    let mut diff = Diff::default();
    for (tree, name) in [(base, "base"), (head, "head")] {
        diff.notes.extend(tree.notes.iter().map(|note| format!("{name}: {note}")));
    }
    let (base_files, head_files) = rayon::join(|| all_files(base, head), || all_files(head, base));
    let matched = matched(&base_files, &head_files);
    diff.counts.pipelines = matched.len();
    let same = |(old, new): &(Option<usize>, Option<usize>)| -> bool {
        let old = old.and_then(|at| base_files.get(at));
        let new = new.and_then(|at| head_files.get(at));
        match (old, new) {
            (Some((old_path, Some(old))), Some((new_path, Some(new)))) => {
                old_path == new_path && old.keys().eq(new.keys()) && super::source::changed(old, new).is_empty()
            }
            _ => false,
        }
    };
    let (equal, different): (Vec<_>, Vec<_>) = matched.into_iter().partition(|pair| same(pair));
    diff.counts.same_inputs = equal.len();
    for (tree, files) in [(base, &base_files), (head, &head_files)] {
        outside(tree, &mut diff.notes);
        for (path, _) in files.iter().filter(|(_, files)| files.is_none()) {
            diff.notes.push(format!("{path} holds too many files: changes are shown without their causes"));
        }
    }
    let rendered: Vec<Pair<'_>> = different
        .par_iter()
        .map(|(old, new)| {
            let old = old.and_then(|at| base_files.get(at));
            let new = new.and_then(|at| head_files.get(at));
            // A pipeline that moved keeps one name: run ids hang on it.
            let name = new.or(old).map(|(path, _)| name_of(head, path));
            let render = |tree: &Tree, side: Option<&(Utf8PathBuf, Option<Files>)>| {
                side.map(|(path, files)| {
                    side::pipeline(tree, path, name.as_deref(), files.as_ref(), &options.scenarios)
                })
            };
            let (one, other) = rayon::join(|| render(base, old), || render(head, new));
            let sources = match (&one, &other, old, new) {
                (Some(one), Some(other), Some((_, Some(old))), Some((_, Some(new)))) => {
                    Some(Sources::new((one, old), (other, new)))
                }
                _ => None,
            };
            Pair { base: one, head: other, sources }
        })
        .collect();
    compare(&rendered, options, &mut diff);
    diff
}

/// Compares pipelines that are rendered already, such as those of two snapshot trees; they are matched by path.
pub fn sides(base: Vec<SidePipeline>, mut head: Vec<SidePipeline>, options: &Options) -> Diff {
    let mut diff = Diff::default();
    let mut rendered = Vec::new();
    for one in base {
        let at = head.iter().position(|other| other.path == one.path);
        rendered.push(Pair { base: Some(one), head: at.map(|at| head.remove(at)), sources: None });
    }
    rendered.extend(head.into_iter().map(|other| Pair { base: None, head: Some(other), sources: None }));
    rendered.sort_by(|one, other| one.path().cmp(other.path()));
    diff.counts.pipelines = rendered.len();
    compare(&rendered, options, &mut diff);
    diff
}

fn all_files(tree: &Tree, other: &Tree) -> Vec<(Utf8PathBuf, Option<Files>)> {
    tree.pipelines.par_iter().map(|path| (path.clone(), tree::files(&tree.root, path, &other.root))).collect()
}

fn name_of(tree: &Tree, path: &Utf8Path) -> String {
    let folder = if tree.root.join(path).is_file() { path.parent().unwrap_or(Utf8Path::new("")) } else { path };
    folder.file_name().unwrap_or("pipeline").to_owned()
}

/// Folders of a search path outside of the tree: what they hold is the same for both sides.
fn outside(tree: &Tree, notes: &mut Vec<String>) {
    for pipeline in &tree.pipelines {
        for folder in tree::search_path(&tree.root, pipeline) {
            if tree::normal(&folder).is_none() {
                let note = format!(
                    "{pipeline}: its template_searchpath {folder} lies outside of what is compared and is read as it is now"
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
}

/// Which pipelines of both sides belong together: by path, then by content.
fn matched(
    base: &[(Utf8PathBuf, Option<Files>)],
    head: &[(Utf8PathBuf, Option<Files>)],
) -> Vec<(Option<usize>, Option<usize>)> {
    let partner =
        |list: &[(Utf8PathBuf, Option<Files>)], path: &Utf8Path| list.iter().position(|(known, _)| known == path);
    let gone: Vec<usize> = (0..base.len()).filter(|at| partner(head, &base[*at].0).is_none()).collect();
    let new: Vec<usize> = (0..head.len()).filter(|at| partner(base, &head[*at].0).is_none()).collect();
    let tokens = |(_, files): &(Utf8PathBuf, Option<Files>)| {
        let mut tokens = Tokens::default();
        let contents = files.iter().flat_map(|files| files.values()).flatten();
        contents.filter_map(|content| std::str::from_utf8(content).ok()).for_each(|text| tokens.add(text));
        tokens
    };
    let old_tokens: Vec<Tokens> = gone.iter().map(|at| tokens(&base[*at])).collect();
    let new_tokens: Vec<Tokens> = new.iter().map(|at| tokens(&head[*at])).collect();
    let moved: HashMap<usize, usize> = pair(&old_tokens, &new_tokens, MOVED)
        .into_iter()
        .filter_map(|(old, to, _)| Some((*new.get(to)?, *gone.get(old)?)))
        .collect();
    let mut pairs: Vec<(Option<usize>, Option<usize>)> = Vec::new();
    for (at, (path, _)) in head.iter().enumerate() {
        pairs.push((partner(base, path).or_else(|| moved.get(&at).copied()), Some(at)));
    }
    for at in gone {
        if !moved.values().any(|old| *old == at) {
            pairs.push((Some(at), None));
        }
    }
    let path = |pair: &(Option<usize>, Option<usize>)| match pair {
        (_, Some(at)) => head.get(*at).map(|(path, _)| path.clone()),
        (Some(at), None) => base.get(*at).map(|(path, _)| path.clone()),
        (None, None) => None,
    };
    pairs.sort_by_key(path);
    pairs
}

/// Names of Dags and tasks that differ between the sides.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// New names by old ones.
    pub dags: HashMap<String, String>,
    /// New Dag and task by old ones, within a pipeline.
    pub tasks: HashMap<(String, String), (String, String)>,
}

/// A task: the place of its pipeline among the pairs, Dag and task.
type TaskKey = (usize, String, String);

fn compare(rendered: &[Pair<'_>], options: &Options, diff: &mut Diff) {
    let mut names: Vec<Names> = Vec::new();
    let mut gone: Vec<(TaskKey, Tokens)> = Vec::new();
    let mut new: Vec<(TaskKey, Tokens)> = Vec::new();
    let mut indexed: Vec<(Tasks<'_>, Tasks<'_>)> = Vec::new();
    for (at, pair) in rendered.iter().enumerate() {
        pipeline_change(pair, diff);
        failures(pair, diff);
        if let Some(head) = &pair.head {
            diff.definitions.insert(head.path.clone(), head.file.clone());
        }
        let old = pair.base.as_ref().map(pairs::tasks).unwrap_or_default();
        let current = pair.head.as_ref().map(pairs::tasks).unwrap_or_default();
        let names_of = name_changes(at, pair, (&old, &current), (&mut gone, &mut new), diff);
        names.push(names_of);
        indexed.push((old, current));
    }
    let mut collector = Collector::new(options);
    moved_tasks(rendered, (&gone, &new), &mut names, &indexed, &mut collector, diff);
    for (pair, names) in rendered.iter().zip(&names) {
        collector.pipeline(pair, names, diff);
    }
    collector.finish(diff);
    files(rendered, &names, diff);
    diff.notes.sort();
    diff.notes.dedup();
}

fn pipeline_change(pair: &Pair<'_>, diff: &mut Diff) {
    let count = |side: &SidePipeline| {
        let runs = || side.scenarios.iter().flatten().flat_map(|scenario| scenario.runs.iter().flatten());
        (runs().count(), runs().map(|run| run.fields.len()).sum())
    };
    let (status, side, old_path) = match (&pair.base, &pair.head) {
        (Some(base), Some(head)) if base.path != head.path => (Status::Renamed, head, Some(base.path.clone())),
        (None, Some(head)) => (Status::Added, head, None),
        (Some(base), None) => (Status::Removed, base, None),
        _ => return,
    };
    let (runs, fields) = if status == Status::Renamed { (0, 0) } else { count(side) };
    diff.pipelines.push(PipelineChange { path: side.path.clone(), old_path, status, runs, fields });
}

fn failures(pair: &Pair<'_>, diff: &mut Diff) {
    let broken = |side: &Option<SidePipeline>| side.as_ref().and_then(|side| side.scenarios.as_ref().err().cloned());
    failure(pair, None, broken(&pair.base), broken(&pair.head), diff);
    let names: BTreeSet<&str> = [&pair.base, &pair.head]
        .into_iter()
        .flatten()
        .flat_map(|side| side.scenarios.iter().flatten())
        .map(|scenario| scenario.name.as_str())
        .collect();
    for name in names {
        let broken = |side: &Option<SidePipeline>| {
            let mut scenarios = side.iter().flat_map(|side| side.scenarios.iter().flatten());
            scenarios.find(|scenario| scenario.name == name).and_then(|scenario| scenario.runs.as_ref().err().cloned())
        };
        failure(pair, Some(name), broken(&pair.base), broken(&pair.head), diff);
    }
}

/// Notes what cannot be rendered, a pipeline or a scenario of it, on each side.
fn failure(
    pair: &Pair<'_>,
    scenario: Option<&str>,
    old: Option<Vec<Problem>>,
    new: Option<Vec<Problem>>,
    diff: &mut Diff,
) {
    let texts = |problems: &[Problem]| problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>();
    let differs = old.as_deref().map(texts) != new.as_deref().map(texts);
    for (head, problems) in [(false, old), (true, new)] {
        if let Some(problems) = problems {
            diff.failures.push(SideFailure {
                head,
                pipeline: pair.path().to_owned(),
                scenario: scenario.map(str::to_owned),
                problems,
                differs,
            });
        }
    }
}

fn percent(likeness: f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    let percent = (likeness * 100.0).floor().clamp(0.0, 100.0) as u8;
    percent
}

/// Renamed Dags and tasks of a pipeline; tasks without a counterpart are collected.
fn name_changes(
    at: usize,
    pair: &Pair<'_>,
    tasks: (&Tasks<'_>, &Tasks<'_>),
    lone: (&mut Vec<(TaskKey, Tokens)>, &mut Vec<(TaskKey, Tokens)>),
    diff: &mut Diff,
) -> Names {
    let mut names = Names::default();
    let (old, new) = tasks;
    if let (Some(base), Some(head)) = (&pair.base, &pair.head) {
        for renamed in pairs::dags(base, head) {
            diff.renames.push(Rename {
                what: "Dag",
                pipeline: head.path.clone(),
                old: renamed.old.clone(),
                new: renamed.new.clone(),
                old_pipeline: None,
                percent: percent(renamed.likeness),
            });
            names.dags.insert(renamed.old, renamed.new);
        }
    }
    let new_name = |dag: &str| names.dags.get(dag).cloned().unwrap_or_else(|| dag.to_owned());
    let mut matched: BTreeSet<(String, String)> = BTreeSet::new();
    let mut gone: Vec<((String, String), Tokens)> = Vec::new();
    for ((dag, task), placed) in old {
        let wanted = (new_name(dag), (*task).to_owned());
        if new.contains_key(&(wanted.0.as_str(), *task)) {
            matched.insert(wanted);
        } else {
            gone.push((((*dag).to_owned(), (*task).to_owned()), task_tokens(placed)));
        }
    }
    let free = new.iter().filter(|((dag, task), _)| !matched.contains(&((*dag).to_owned(), (*task).to_owned())));
    let free: Vec<((String, String), Tokens)> =
        free.map(|((dag, task), placed)| (((*dag).to_owned(), (*task).to_owned()), task_tokens(placed))).collect();
    // Within a Dag first: another name is less of a change than another Dag.
    let mut renamed: Vec<pairs::Renamed<(String, String)>> = Vec::new();
    let dags: BTreeSet<String> = gone.iter().map(|((dag, _), _)| dag.clone()).collect();
    for dag in dags {
        let target = new_name(&dag);
        let of = |list: &[((String, String), Tokens)], dag: &str| {
            list.iter().filter(|((known, _), _)| known == dag).cloned().collect::<Vec<_>>()
        };
        renamed.extend(pairs::renamed_tasks(&of(&gone, &dag), &of(&free, &target)));
    }
    let lonely = |list: &[((String, String), Tokens)], new: bool, renamed: &[pairs::Renamed<(String, String)>]| {
        let taken = |key: &(String, String)| {
            renamed.iter().any(|renamed| if new { renamed.new == *key } else { renamed.old == *key })
        };
        list.iter().filter(|(key, _)| !taken(key)).cloned().collect::<Vec<_>>()
    };
    let more = pairs::renamed_tasks(&lonely(&gone, false, &renamed), &lonely(&free, true, &renamed));
    renamed.extend(more);
    for (key, tokens) in lonely(&gone, false, &renamed) {
        lone.0.push(((at, key.0, key.1), tokens));
    }
    for (key, tokens) in lonely(&free, true, &renamed) {
        lone.1.push(((at, key.0, key.1), tokens));
    }
    for renamed in renamed {
        diff.renames.push(Rename {
            what: "task",
            pipeline: pair.path().to_owned(),
            old: format!("{}.{}", renamed.old.0, renamed.old.1),
            new: format!("{}.{}", renamed.new.0, renamed.new.1),
            old_pipeline: None,
            percent: percent(renamed.likeness),
        });
        names.tasks.insert(renamed.old, renamed.new);
    }
    names
}

/// Tasks that moved to another pipeline; and every task that moved to another Dag is compared here, because its runs are others.
fn moved_tasks(
    rendered: &[Pair<'_>],
    lone: (&[(TaskKey, Tokens)], &[(TaskKey, Tokens)]),
    names: &mut [Names],
    indexed: &[(Tasks<'_>, Tasks<'_>)],
    collector: &mut Collector<'_>,
    diff: &mut Diff,
) {
    let mut moves: Vec<(TaskKey, TaskKey)> = Vec::new();
    for renamed in pairs::renamed_tasks(lone.0, lone.1) {
        let (Some(old), Some(new)) = (rendered.get(renamed.old.0), rendered.get(renamed.new.0)) else { continue };
        let old_path = old.base.as_ref().map(|side| side.path.clone());
        diff.renames.push(Rename {
            what: "task",
            pipeline: new.path().to_owned(),
            old: format!("{}.{}", renamed.old.1, renamed.old.2),
            new: format!("{}.{}", renamed.new.1, renamed.new.2),
            old_pipeline: old_path.filter(|path| path != new.path()),
            percent: percent(renamed.likeness),
        });
        moves.push((renamed.old, renamed.new));
    }
    for (at, names) in names.iter_mut().enumerate() {
        let dags = names.dags.clone();
        let target = |dag: &String| dags.get(dag).unwrap_or(dag).clone();
        names.tasks.retain(|old, new| {
            let stays = target(&old.0) == new.0;
            if !stays {
                moves.push(((at, old.0.clone(), old.1.clone()), (at, new.0.clone(), new.1.clone())));
            }
            stays
        });
    }
    moves.sort();
    for (old, new) in moves {
        let none: Vec<Placed<'_>> = Vec::new();
        let from =
            indexed.get(old.0).and_then(|(tasks, _)| tasks.get(&(old.1.as_str(), old.2.as_str()))).unwrap_or(&none);
        let to =
            indexed.get(new.0).and_then(|(_, tasks)| tasks.get(&(new.1.as_str(), new.2.as_str()))).unwrap_or(&none);
        if let (Some(one), Some(other)) = (rendered.get(old.0), rendered.get(new.0)) {
            collector.moved((one, from), (other, to), diff);
        }
    }
}

/// The files that changed, with what reads them.
/// A field by its names on the new side: scenario, Dag, run, task with its map index, field.
type FieldPlace = (String, String, String, String, String);

fn files(rendered: &[Pair<'_>], names: &[Names], diff: &mut Diff) {
    let mut found: Vec<FileChange> = Vec::new();
    for (pair, names) in rendered.iter().zip(names) {
        let Some(sources) = &pair.sources else { continue };
        let renamed = pair.renamed_scenarios();
        // A field of the old side goes by the names it has now: it is one and the same.
        let now = |scenario: &SideScenario, run: &SideRun, field: &SideField, old: bool| -> FieldPlace {
            let id = pairs::task_id(&field.task);
            let index = field.task.get(id.len()..).unwrap_or_default();
            let (dag, task) = match names.tasks.get(&(run.dag_id.clone(), id.to_owned())).filter(|_| old) {
                Some(known) => known.clone(),
                None => (names.dags.get(&run.dag_id).filter(|_| old).unwrap_or(&run.dag_id).clone(), id.to_owned()),
            };
            let scenario = renamed.get(scenario.name.as_str()).filter(|_| old).copied().unwrap_or(&scenario.name);
            (scenario.to_owned(), dag, run.label.clone(), format!("{task}{index}"), field.field.clone())
        };
        for changed in &sources.changed {
            let sides = || pair.base.iter().chain(&pair.head);
            let scenarios = || sides().flat_map(|side| side.scenarios.iter().flatten());
            let mut tasks: BTreeSet<String> = BTreeSet::new();
            let mut places: BTreeSet<FieldPlace> = BTreeSet::new();
            for (side, old) in [(&pair.base, true), (&pair.head, false)] {
                for scenario in side.iter().flat_map(|side| side.scenarios.iter().flatten()) {
                    for run in scenario.runs.iter().flatten() {
                        for field in
                            run.fields.iter().filter(|field| field.templates.iter().any(|path| changed.is(path)))
                        {
                            let place = now(scenario, run, field, old);
                            tasks.insert(format!("{}.{}", place.1, pairs::task_id(&place.3)));
                            places.insert(place);
                        }
                    }
                }
            }
            let kind = match () {
                () if sides().any(|side| changed.is(&side.file)) => FileKind::Pipeline,
                () if scenarios().any(|scenario| changed.is(&scenario.file)) => FileKind::Scenario,
                () if places.is_empty() => FileKind::Other,
                () => FileKind::Template,
            };
            let fields_changed: BTreeSet<_> = diff
                .changes
                .iter()
                .flat_map(super::model::TextChange::all_places)
                .filter(|place| place.pipeline == pair.path())
                .map(|place| {
                    (
                        place.scenario.clone(),
                        place.dag_id.clone(),
                        place.run.clone(),
                        place.task.clone(),
                        place.field.clone(),
                    )
                })
                .filter(|place| places.contains(place))
                .collect();
            let lines = |tag| changed.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.tag == tag).count();
            let file = FileChange {
                path: changed.path.clone(),
                old_path: changed.old_path.clone(),
                status: changed.status,
                kind,
                added: lines(super::hunk::Tag::Insert),
                removed: lines(super::hunk::Tag::Delete),
                tasks: tasks.into_iter().collect(),
                fields: places.len(),
                fields_changed: fields_changed.len(),
            };
            match found.iter_mut().find(|known| known.path == file.path && known.old_path == file.old_path) {
                Some(known) => {
                    known.tasks.extend(file.tasks);
                    known.tasks.sort();
                    known.tasks.dedup();
                    known.fields += file.fields;
                    known.fields_changed += file.fields_changed;
                    if known.kind == FileKind::Other {
                        known.kind = file.kind;
                    }
                }
                None => found.push(file),
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    diff.files = found;
}
