//! What made a change: the changed lines of source files that a field or run depends on, found out by making each of them
//! alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::model::{Cause, CauseKind, Status};
use super::side::{self, SideField, SidePipeline, SideRun};
use super::source::{self, Atom, Changed};
use super::tree::{Files, Tree, Wanted};

/// Most changes that are tried one by one; with more, whole files are.
const TRIED: usize = 24;

/// Most bytes of a pipeline's files that are copied to try a change.
const COPIED: usize = 64 << 20;

/// The changed sources of a pipeline that is on both sides.
#[derive(Debug)]
pub struct Sources<'a> {
    base_files: &'a Files,
    name: String,
    path: Utf8PathBuf,
    /// What changed, in the order of paths.
    pub changed: Vec<Changed>,
    atoms: Vec<Atom>,
    /// What the old side comes to with one atom's change alone.
    tried: Vec<std::sync::OnceLock<Option<Indexed>>>,
}

/// A played pipeline whose runs and fields are found by name.
#[derive(Debug)]
pub struct Indexed {
    runs: HashMap<(String, String, String), SideRun>,
    fields: HashMap<(String, String, String, String, String), SideField>,
}

impl Indexed {
    fn of(pipeline: SidePipeline) -> Option<Self> {
        let mut indexed = Indexed { runs: HashMap::new(), fields: HashMap::new() };
        for scenario in pipeline.scenarios.ok()? {
            for run in scenario.runs.ok().into_iter().flatten() {
                for field in &run.fields {
                    let key = (
                        scenario.name.clone(),
                        run.dag_id.clone(),
                        run.label.clone(),
                        field.task.clone(),
                        field.field.clone(),
                    );
                    indexed.fields.entry(key).or_insert_with(|| field.clone());
                }
                let key = (scenario.name.clone(), run.dag_id.clone(), run.label.clone());
                indexed.runs.entry(key).or_insert(run);
            }
        }
        Some(indexed)
    }

    /// A run by scenario, Dag and label.
    pub fn run(&self, scenario: &str, dag_id: &str, label: &str) -> Option<&SideRun> {
        self.runs.get(&(scenario.to_owned(), dag_id.to_owned(), label.to_owned()))
    }

    /// A field of a run.
    pub fn field(&self, scenario: &str, dag_id: &str, label: &str, task: &str, field: &str) -> Option<&SideField> {
        let key = (scenario.to_owned(), dag_id.to_owned(), label.to_owned(), task.to_owned(), field.to_owned());
        self.fields.get(&key)
    }
}

/// What a change depends on.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// The scenario's file.
    pub scenario: &'s Utf8Path,
    /// Names of its Dag on both sides.
    pub dags: [&'s str; 2],
    /// Names of its task on both sides; none for a run.
    pub tasks: Option<[&'s str; 2]>,
    /// Templates it read on both sides.
    pub templates: &'s BTreeSet<&'s Utf8Path>,
    /// The file its text was read from, on both sides.
    pub own: [Option<&'s Utf8Path>; 2],
}

impl<'a> Sources<'a> {
    /// The changes between two sides of a pipeline.
    pub fn new(base: (&SidePipeline, &'a Files), head: (&SidePipeline, &Files)) -> Self {
        let (base, base_files) = base;
        let (head, head_files) = head;
        let changed = source::changed(base_files, head_files);
        let mask = |text: &str| head.masks.mask(&base.masks.mask(text));
        let scenarios: BTreeSet<&Utf8Path> = [base, head]
            .into_iter()
            .filter_map(|side| side.scenarios.as_ref().ok())
            .flatten()
            .map(|scenario| scenario.file.as_path())
            .collect();
        let mut atoms = Vec::new();
        for file in &changed {
            let yaml = match () {
                () if file.is(&base.file) || file.is(&head.file) => Some(CauseKind::Pipeline),
                () if scenarios.iter().any(|path| file.is(path)) => Some(CauseKind::Scenario),
                () => None,
            };
            atoms.extend(source::atoms(file, yaml, &mask));
        }
        let tried = atoms.iter().map(|_| std::sync::OnceLock::new()).collect();
        Sources { base_files, name: base.name.clone(), path: base.path.clone(), changed, atoms, tried }
    }

    /// The causes of a change. `explains` says whether what one source change alone comes to shows the same.
    pub fn of(&self, subject: &Subject<'_>, explains: &dyn Fn(&Indexed) -> bool) -> Vec<Cause> {
        let (near, far) = self.candidates(subject);
        let all: Vec<usize> = near.iter().chain(&far).copied().collect();
        if let [only] = all.as_slice() {
            return self.causes(&[*only], subject, true);
        }
        if all.len() <= TRIED {
            let alone: Vec<(usize, Option<&Indexed>)> = all.par_iter().map(|at| (*at, self.try_alone(*at))).collect();
            let proven: Vec<usize> =
                alone.iter().filter(|(_, alone)| alone.is_some_and(explains)).map(|(at, _)| *at).collect();
            if !proven.is_empty() {
                return self.causes(&proven, subject, true);
            }
        }
        self.causes(if near.is_empty() { &far } else { &near }, subject, false)
    }

    fn causes(&self, atoms: &[usize], subject: &Subject<'_>, sure: bool) -> Vec<Cause> {
        let mut causes = Vec::new();
        for cause in atoms.iter().filter_map(|at| self.atoms.get(*at)).flat_map(|atom| atom.causes(sure)) {
            let own = subject.own.contains(&Some(cause.file.as_path()));
            let kind = if cause.kind == CauseKind::Template && !own { CauseKind::Include } else { cause.kind };
            causes.push(Cause { kind, ..cause });
        }
        causes.sort();
        causes.dedup();
        causes
    }

    /// Changes that may matter: of what the subject itself names or reads, and of what it only may depend on.
    fn candidates(&self, subject: &Subject<'_>) -> (Vec<usize>, Vec<usize>) {
        let mut near = Vec::new();
        let mut far = Vec::new();
        for (at, atom) in self.atoms.iter().enumerate() {
            let in_yaml = |label: &source::Label| !matches!(label.kind, CauseKind::Template) || !label.path.is_empty();
            let template = subject.templates.iter().any(|path| atom.file.is(path));
            if template {
                near.push(at);
                continue;
            }
            let Some(label) = atom.labels.first().filter(|label| in_yaml(label)) else { continue };
            if label.kind == CauseKind::Scenario {
                if atom.file.is(subject.scenario) {
                    near.push(at);
                }
                continue;
            }
            if atom.labels.iter().any(|label| concerns(&label.path, subject)) {
                near.push(at);
            } else if atom.labels.iter().any(|label| label.kind != CauseKind::Macro || !label.path.is_empty()) {
                far.push(at);
            }
        }
        (near, far)
    }

    /// What the old side comes to with one change alone.
    fn try_alone(&self, at: usize) -> Option<&Indexed> {
        let make = || {
            let atom = self.atoms.get(at)?;
            let size: usize = self.base_files.values().flatten().map(|content| content.len()).sum();
            if size > COPIED {
                return None;
            }
            let folder = tempfile::Builder::new().prefix("partita-cause-").tempdir().ok()?;
            let root = Utf8PathBuf::from_path_buf(folder.path().to_path_buf()).ok()?;
            let mut files: BTreeMap<Utf8PathBuf, Arc<[u8]>> = BTreeMap::new();
            for (path, content) in self.base_files {
                files.insert(path.clone(), content.clone()?);
            }
            let old_path = atom.file.old_path.as_ref().unwrap_or(&atom.file.path);
            match (atom.hunk, atom.file.status, &atom.file.texts) {
                (Some(hunk), ..) => {
                    files.insert(old_path.clone(), source::applied(&atom.file, hunk)?.into_bytes().into());
                }
                (None, Status::Removed, _) => {
                    files.remove(old_path);
                }
                (None, _, Some((_, new))) => {
                    files.remove(old_path);
                    files.insert(atom.file.path.clone(), new.clone().into_bytes().into());
                }
                (None, _, None) => return None,
            }
            for (path, content) in &files {
                let inside = super::tree::normal(path)?;
                let path = root.join(inside);
                std::fs::create_dir_all(path.parent()?).ok()?;
                std::fs::write(path, content).ok()?;
            }
            let tree = Tree::of_folder(&root, &Wanted::Named(Vec::new()));
            Indexed::of(side::pipeline(&tree, &self.path, Some(&self.name), None, &[]))
        };
        self.tried.get(at)?.get_or_init(make).as_ref()
    }
}

/// True when a key of a pipeline file is about a Dag, or about all of them, or about the task in question.
fn concerns(path: &[String], subject: &Subject<'_>) -> bool {
    let part = |at: usize| path.get(at).map(String::as_str);
    if part(0) != Some("dags") {
        return !path.is_empty();
    }
    let Some(dag) = part(1) else { return true };
    if !subject.dags.contains(&dag) {
        return false;
    }
    match (part(2), part(3), subject.tasks) {
        (Some("tasks"), Some(task), Some(tasks)) => {
            tasks.iter().any(|known| known.split('[').next().unwrap_or(known) == task)
        }
        // The tasks of a consumer do not make its runs.
        (Some("tasks"), _, None) => false,
        _ => true,
    }
}
