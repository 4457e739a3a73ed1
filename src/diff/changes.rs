//! Collects what differs in runs and texts, and brings equal changes together.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use camino::{Utf8Path, Utf8PathBuf};

use super::cause::{Indexed, Subject};
use super::compare::{Names, Options, Pair};
use super::group::{group, shape};
use super::hunk::{Hunk, Line, changed_lines, hunks_with};
use super::model::{Cause, ChangePlace, Diff, RunChange, RunValue, Status, TextChange};
use super::pairs::{self, Placed, task_id};
use super::side::{Operator, SideField, SidePipeline, SideRun, SideScenario};
use super::sql;

/// A run of changed lines of a field, not yet grouped.
struct Found {
    status: Status,
    /// The hunk it is part of, and which one of all that is.
    hunk: Rc<Hunk>,
    hunk_number: usize,
    /// Its lines among the hunk's, and which one of the hunk's runs of changed lines it is.
    block: Range<usize>,
    block_number: usize,
    place: ChangePlace,
    causes: Vec<Cause>,
}

/// Collects changes.
pub(super) struct Collector<'o> {
    options: &'o Options,
    found: Vec<Found>,
    hunks: usize,
    /// Fields that were to be compared as SQL and are not, by dialect.
    not_sql: HashMap<&'static str, usize>,
    /// Tasks that stand in another Dag or pipeline on the other side: new side or not, pipeline, Dag, task.
    moved: BTreeSet<(bool, Utf8PathBuf, String, String)>,
}

/// A field of a run on both sides.
#[derive(Clone, Copy)]
struct Both<'a> {
    scenarios: [&'a str; 2],
    scenario_file: &'a Utf8Path,
    runs: [&'a SideRun; 2],
    fields: [Option<&'a SideField>; 2],
}

impl<'o> Collector<'o> {
    pub fn new(options: &'o Options) -> Self {
        Collector { options, found: Vec::new(), hunks: 0, not_sql: HashMap::new(), moved: BTreeSet::new() }
    }

    /// Compares runs and texts of a pipeline.
    pub fn pipeline(&mut self, pair: &Pair<'_>, names: &Names, diff: &mut Diff) {
        let none = Vec::new();
        let (Some(base), Some(head)) = (&pair.base, &pair.head) else { return };
        let (Ok(old), Ok(new)) = (&base.scenarios, &head.scenarios) else { return };
        let renamed = pair.renamed_scenarios();
        let new_name = |name: &'_ str| renamed.get(name).copied().unwrap_or(name).to_owned();
        let known: BTreeSet<String> =
            old.iter().map(|scenario| new_name(&scenario.name)).chain(new.iter().map(|new| new.name.clone())).collect();
        for name in known {
            let old = old.iter().find(|scenario| new_name(&scenario.name) == name);
            let new = new.iter().find(|scenario| scenario.name == name);
            let scenarios = [old.map_or(name.as_str(), |scenario| scenario.name.as_str()), name.as_str()];
            // A side that fails is reported as such: its runs did not disappear.
            if [old, new].into_iter().flatten().any(|scenario| scenario.runs.is_err()) {
                continue;
            }
            let runs =
                |scenario: Option<&'_ SideScenario>| scenario.and_then(|scenario| scenario.runs.as_ref().ok()).cloned();
            let (old_runs, new_runs) = (runs(old).unwrap_or_default(), runs(new).unwrap_or_default());
            let file = new.or(old).map_or(Utf8Path::new(""), |scenario| scenario.file.as_path());
            let pending = new.map_or(&none, |scenario| &scenario.pending);
            for (old_run, new_run) in pairs::runs(&old_runs, &new_runs, &names.dags) {
                self.run(pair, names, (scenarios, file, pending), (old_run, new_run), diff);
            }
        }
    }

    fn run(
        &mut self,
        pair: &Pair<'_>,
        names: &Names,
        scenario: ([&str; 2], &Utf8Path, &[(String, Option<String>, String)]),
        runs: (Option<&SideRun>, Option<&SideRun>),
        diff: &mut Diff,
    ) {
        let (scenarios, file, pending) = scenario;
        let change = |run: &SideRun, status: Status, values: Vec<RunValue>| RunChange {
            pipeline: pair.path().to_owned(),
            scenario: scenarios[1].to_owned(),
            dag_id: run.dag_id.clone(),
            status,
            label: run.label.clone(),
            values: values.into_iter().map(|value| masked(pair, value)).collect(),
            waits: None,
            fields: run.fields.len(),
            causes: Vec::new(),
        };
        match runs {
            (None, Some(new)) => {
                diff.counts.runs_added += 1;
                let mut change = change(new, Status::Added, values(None, Some(new)));
                let explains = |alone: &Indexed| run_of(alone, scenarios, &new.dag_id, &new.label).is_some();
                change.causes = run_causes(pair, file, [&new.dag_id, &new.dag_id], &explains);
                diff.runs.push(change);
            }
            (Some(old), None) => {
                diff.counts.runs_removed += 1;
                let mut change = change(old, Status::Removed, values(Some(old), None));
                let dag = names.dags.get(&old.dag_id).unwrap_or(&old.dag_id);
                change.waits = pending
                    .iter()
                    .find(|(dag_id, key, _)| dag_id == dag && *key == old.partition_key)
                    .map(|(_, _, reason)| reason.clone());
                let explains = |alone: &Indexed| {
                    run_of(alone, scenarios, &old.dag_id, &old.label).is_none()
                        && run_of(alone, scenarios, dag, &old.label).is_none()
                };
                change.causes = run_causes(pair, file, [&old.dag_id, dag], &explains);
                diff.runs.push(change);
            }
            (Some(old), Some(new)) => {
                diff.counts.runs += 1;
                let values = values(Some(old), Some(new));
                if !values.is_empty() {
                    diff.counts.runs_changed += 1;
                    let mut change = change(new, Status::Modified, values);
                    let facts = |run: &SideRun| self::values(Some(run), Some(new)).is_empty();
                    let explains = |alone: &Indexed| {
                        [&new.dag_id, &old.dag_id]
                            .into_iter()
                            .any(|dag| run_of(alone, scenarios, dag, &new.label).is_some_and(facts))
                    };
                    change.causes = run_causes(pair, file, [&old.dag_id, &new.dag_id], &explains);
                    diff.runs.push(change);
                }
                self.fields(pair, names, (scenarios, file), (old, new), diff);
            }
            (None, None) => {}
        }
    }

    fn fields(
        &mut self,
        pair: &Pair<'_>,
        names: &Names,
        scenario: ([&str; 2], &Utf8Path),
        runs: (&SideRun, &SideRun),
        diff: &mut Diff,
    ) {
        let (old, new) = runs;
        let new_task = |task: &str| -> String {
            let id = task_id(task);
            match names.tasks.get(&(old.dag_id.clone(), id.to_owned())) {
                Some((_, renamed)) => format!("{renamed}{}", task.get(id.len()..).unwrap_or_default()),
                None => task.to_owned(),
            }
        };
        let mut partners: HashMap<(String, &str), &SideField> = HashMap::new();
        for field in &old.fields {
            partners.insert((new_task(&field.task), field.field.as_str()), field);
        }
        let both = |old_field, new_field| Both {
            scenarios: scenario.0,
            scenario_file: scenario.1,
            runs: [old, new],
            fields: [old_field, new_field],
        };
        for field in &new.fields {
            let partner = partners.remove(&(field.task.clone(), field.field.as_str()));
            if partner.is_none() && self.has_moved(true, pair, new, field) {
                continue;
            }
            self.field([pair, pair], both(partner, Some(field)), diff);
        }
        for field in &old.fields {
            if partners.contains_key(&(new_task(&field.task), field.field.as_str()))
                && !self.has_moved(false, pair, old, field)
            {
                self.field([pair, pair], both(Some(field), None), diff);
            }
        }
    }

    /// Compares a task that stands in another Dag now: its runs are others, so they are paired by scenario and key, then by
    /// their order.
    pub fn moved(&mut self, old: (&Pair<'_>, &[Placed<'_>]), new: (&Pair<'_>, &[Placed<'_>]), diff: &mut Diff) {
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let mut partners: Vec<Option<usize>> = vec![None; new.1.len()];
        for strict in [true, false] {
            for ((scenario, run, field), partner) in new.1.iter().zip(&mut partners) {
                let fits = |(at, (old_scenario, old_run, old_field)): &(usize, &Placed<'_>)| {
                    !taken.contains(at)
                        && old_field.field == field.field
                        && (!strict || (old_scenario == scenario && old_run.label == run.label))
                };
                if partner.is_none()
                    && let Some((at, _)) = old.1.iter().enumerate().find(fits)
                {
                    taken.insert(at);
                    *partner = Some(at);
                }
            }
        }
        for ((scenario, run, field), partner) in new.1.iter().zip(partners) {
            let Some((old_scenario, old_run, old_field)) = partner.and_then(|at| old.1.get(at)) else { continue };
            let both = Both {
                scenarios: [old_scenario, scenario],
                scenario_file: Utf8Path::new(""),
                runs: [old_run, run],
                fields: [Some(old_field), Some(field)],
            };
            self.field([old.0, new.0], both, diff);
        }
        self.handled(old, new);
    }

    /// What was moved is neither new nor gone.
    fn handled(&mut self, old: (&Pair<'_>, &[Placed<'_>]), new: (&Pair<'_>, &[Placed<'_>])) {
        for (at, (pair, placed)) in [old, new].into_iter().enumerate() {
            for (_, run, field) in placed {
                let id = task_id(&field.task).to_owned();
                self.moved.insert((at == 1, pair.path().to_owned(), run.dag_id.clone(), id));
            }
        }
    }

    fn has_moved(&self, new: bool, pair: &Pair<'_>, run: &SideRun, field: &SideField) -> bool {
        !self.moved.is_empty()
            && self.moved.contains(&(new, pair.path().to_owned(), run.dag_id.clone(), task_id(&field.task).to_owned()))
    }

    fn field(&mut self, pairs: [&Pair<'_>; 2], both: Both<'_>, diff: &mut Diff) {
        let counts = &mut diff.counts;
        let Some(shown) = both.fields[1].or(both.fields[0]) else { return };
        let status = match both.fields {
            [None, _] => {
                counts.fields_added += 1;
                Status::Added
            }
            [_, None] => {
                counts.fields_removed += 1;
                Status::Removed
            }
            [Some(_), Some(_)] => {
                counts.fields += 1;
                Status::Modified
            }
        };
        let fails = |field: Option<&SideField>| field.is_some_and(|field| field.text.is_err());
        let (old_fails, new_fails) = (fails(both.fields[0]), fails(both.fields[1]));
        counts.fields_failing += usize::from(old_fails && new_fails);
        let text = |field: Option<&SideField>| field.map_or(String::new(), |field| field.shown().to_owned());
        let (old, new) = (text(both.fields[0]), text(both.fields[1]));
        if status == Status::Modified && old == new && old_fails == new_fails {
            return;
        }
        let maskers: Vec<&SidePipeline> = [&pairs[0].base, &pairs[1].head].into_iter().flatten().collect();
        let mask = |text: &str| maskers.iter().fold(text.to_owned(), |text, side| side.masks.mask(&text));
        let dialect = self.options.sql.then(|| dialect(pairs, &both)).flatten();
        let (old_shown, new_shown) = (mask(&old), mask(&new));
        let normal = |text: &str| match dialect {
            Some(dialect) if !text.is_empty() => sql::normalised(text, dialect),
            _ => None,
        };
        let prepared = match dialect {
            None => None,
            Some(dialect) => {
                let sides = [(&old_shown, both.fields[0]), (&new_shown, both.fields[1])];
                let normals: Vec<Option<String>> = sides
                    .iter()
                    .map(|(text, field)| if field.is_some() { normal(text) } else { Some(String::new()) })
                    .collect();
                match normals.as_slice() {
                    [Some(one), Some(other)] => Some((one.clone(), other.clone())),
                    _ => {
                        *self.not_sql.entry(dialect).or_default() += 1;
                        None
                    }
                }
            }
        };
        let is_sql = prepared.is_some();
        let masked_only = old_shown == new_shown && old != new;
        let (old_shown, new_shown) = prepared.unwrap_or((old_shown, new_shown));
        let mut hunks = hunks_with(&old_shown, &new_shown, &self.options.hunk);
        if hunks.is_empty() && masked_only {
            hunks.push(Hunk { old_start: 1, old_lines: 0, new_start: 1, new_lines: 0, lines: Vec::new() });
        }
        if hunks.is_empty() {
            // Empty texts of tasks that are new or gone: there is nothing to see, but the task is.
            match status {
                Status::Modified => {
                    counts.fields_ignored += 1;
                    return;
                }
                _ => hunks.push(Hunk { old_start: 1, old_lines: 0, new_start: 1, new_lines: 0, lines: Vec::new() }),
            }
        }
        counts.fields_changed += usize::from(status == Status::Modified);
        let (broken, mended) = (!old_fails && new_fails, old_fails && !new_fails && both.fields[1].is_some());
        counts.fields_broken += usize::from(broken);
        counts.fields_mended += usize::from(mended);
        for hunk in hunks {
            let hunk = Rc::new(hunk);
            self.hunks += 1;
            let mut blocks = hunk.blocks();
            if blocks.is_empty() {
                blocks.push(0..0);
            }
            for (block_number, block) in blocks.into_iter().enumerate() {
                let part = hunk.part(block.clone(), 0);
                let causes = self.causes(pairs, &both, &old, &part, is_sql.then_some(dialect).flatten());
                let place = ChangePlace {
                    pipeline: pairs[1].path().to_owned(),
                    scenario: both.scenarios[1].to_owned(),
                    dag_id: both.runs[usize::from(both.fields[1].is_some())].dag_id.clone(),
                    task: shown.task.clone(),
                    field: shown.field.clone(),
                    run: both.runs[1].label.clone(),
                    file: shown.file.clone(),
                    old_start: part.old_start,
                    new_start: part.new_start,
                    broken,
                    mended,
                };
                let hunk = Rc::clone(&hunk);
                self.found.push(Found { status, hunk, hunk_number: self.hunks, block, block_number, place, causes });
            }
        }
    }

    /// Why a hunk is there.
    fn causes(
        &self,
        pairs: [&Pair<'_>; 2],
        both: &Both<'_>,
        old: &str,
        hunk: &Hunk,
        dialect: Option<&str>,
    ) -> Vec<Cause> {
        let Some(sources) = &pairs[1].sources else { return Vec::new() };
        let templates: BTreeSet<&Utf8Path> =
            both.fields.iter().flatten().flat_map(|field| &field.templates).map(Utf8PathBuf::as_path).collect();
        let task = |at: usize| both.fields[at].or(both.fields[1 - at]).map_or("", |field| field.task.as_str());
        let subject = Subject {
            scenario: both.scenario_file,
            dags: [&both.runs[0].dag_id, &both.runs[1].dag_id],
            tasks: Some([task(0), task(1)]),
            templates: &templates,
            own: [0, 1].map(|at| both.fields[at].and_then(|field| field.file.as_deref())),
        };
        let maskers: Vec<&SidePipeline> = [&pairs[0].base, &pairs[1].head].into_iter().flatten().collect();
        let mask = |text: &str| maskers.iter().fold(text.to_owned(), |text, side| side.masks.mask(&text));
        let normal = |text: &str| {
            let masked = mask(text);
            dialect.and_then(|dialect| sql::normalised(&masked, dialect)).unwrap_or(masked)
        };
        let field_name = both.fields[1].or(both.fields[0]).map_or("", |field| field.field.as_str());
        let blocks: BTreeSet<Vec<Line>> = changed_lines(std::slice::from_ref(hunk)).into_iter().collect();
        let old_normal = if both.fields[0].is_some() { normal(old) } else { String::new() };
        let explains = |alone: &Indexed| {
            let found = [1, 0].into_iter().flat_map(|at| [(at, 0), (at, 1)]).find_map(|(at, run)| {
                alone.field(both.scenarios[at], &both.runs[at].dag_id, &both.runs[run].label, task(at), field_name)
            });
            match (both.fields, found) {
                ([_, None], found) => found.is_none(),
                ([None, _], found) => found.is_some(),
                (_, None) => false,
                (_, Some(field)) if blocks.is_empty() => field.shown() != old,
                (_, Some(field)) => {
                    let new = normal(field.shown());
                    changed_lines(&hunks_with(&old_normal, &new, &self.options.hunk))
                        .iter()
                        .any(|block| blocks.contains(block))
                }
            }
        };
        sources.of(&subject, &explains)
    }

    /// Brings equal changes together.
    pub fn finish(self, diff: &mut Diff) {
        for (dialect, count) in self.not_sql {
            diff.notes.push(format!(
                "--sql: {count} changed {} not parse as {dialect} SQL and {} compared as text",
                if count == 1 { "field does" } else { "fields do" },
                if count == 1 { "was" } else { "were" }
            ));
        }
        let context = self.options.hunk.context;
        let keyed = self.found.into_iter().map(|found| {
            let lines = found.hunk.part(found.block.clone(), 0).lines;
            ((found.status, lines, found.place.broken, found.place.mended), found)
        });
        let mut changes: Vec<TextChange> = Vec::new();
        // The first member of the change before: neighbours that change in the very same places are one change.
        let mut before: Option<(Vec<(usize, usize)>, Rc<Hunk>, Range<usize>)> = None;
        for group in group(keyed) {
            let mut members = group.members;
            let mut causes: Vec<Cause> = Vec::new();
            for cause in members.iter_mut().flat_map(|found| found.causes.drain(..)) {
                if !causes.contains(&cause) {
                    causes.push(cause);
                }
            }
            causes.sort();
            let Some(first) = members.first() else { continue };
            let (hunk, block) = (Rc::clone(&first.hunk), first.block.clone());
            let numbers: Vec<(usize, usize)> =
                members.iter().map(|found| (found.hunk_number, found.block_number)).collect();
            let follows = |(known, _, _): &(Vec<(usize, usize)>, Rc<Hunk>, Range<usize>)| {
                known.iter().map(|(hunk, block)| (*hunk, block + 1)).eq(numbers.iter().copied())
            };
            if let (Some(known), Some(change)) = (before.as_mut().filter(|known| follows(known)), changes.last_mut())
                && change.causes == causes
            {
                known.0 = numbers;
                known.2.end = block.end;
                change.hunk = known.1.part(known.2.clone(), context);
                continue;
            }
            let places = members.into_iter().map(|found| found.place).collect();
            let part = hunk.part(block.clone(), context);
            changes.push(TextChange { status: group.key.0, hunk: part, places, alike: Vec::new(), causes });
            before = Some((numbers, hunk, block));
        }
        // The same change with other numbers in it, run by run.
        let keyed = changes.into_iter().map(|change| {
            let lines: Vec<Line> = change.lines().cloned().collect();
            let fields: BTreeSet<String> = change
                .places
                .iter()
                .map(|place| format!("{}:{}:{}", place.pipeline, place.name(), place.broken))
                .collect();
            ((change.status, shape(&lines), fields, change.causes.clone()), change)
        });
        for group in group(keyed) {
            let mut members = group.members.into_iter();
            if let Some(mut first) = members.next() {
                first.alike = members.collect();
                diff.changes.push(first);
            }
        }
    }
}

fn dialect(pairs: [&Pair<'_>; 2], both: &Both<'_>) -> Option<&'static str> {
    let field = both.fields[1].or(both.fields[0])?;
    let at = usize::from(both.fields[1].is_some());
    if !sql::is_sql(&field.field, field.file.as_deref()) {
        return None;
    }
    let side = if at == 1 { &pairs[1].head } else { &pairs[0].base };
    let key = (both.runs[at].dag_id.clone(), task_id(&field.task).to_owned());
    let operator = side.as_ref().and_then(|side| side.operators.get(&key)).cloned().unwrap_or(Operator::default());
    Some(sql::dialect(&operator))
}

/// A value without secrets.
fn masked(pair: &Pair<'_>, value: RunValue) -> RunValue {
    let sides: Vec<&SidePipeline> = pair.base.iter().chain(&pair.head).collect();
    let mask = |text: String| sides.iter().fold(text, |text, side| side.masks.mask(&text));
    RunValue { old: value.old.map(mask), new: value.new.map(mask), ..value }
}

/// A run of what one change alone comes to: its scenario has the old name, unless the change is the name.
fn run_of<'a>(alone: &'a Indexed, scenarios: [&str; 2], dag: &str, label: &str) -> Option<&'a SideRun> {
    scenarios.into_iter().find_map(|name| alone.run(name, dag, label))
}

fn run_causes(
    pair: &Pair<'_>,
    scenario: &Utf8Path,
    dags: [&String; 2],
    explains: &dyn Fn(&Indexed) -> bool,
) -> Vec<Cause> {
    let Some(sources) = &pair.sources else { return Vec::new() };
    let templates = BTreeSet::new();
    let dags = dags.map(String::as_str);
    let subject = Subject { scenario, dags, tasks: None, templates: &templates, own: [None, None] };
    sources.of(&subject, explains)
}

/// What of a run differs; of a run that is on one side only, what it is.
fn values(old: Option<&SideRun>, new: Option<&SideRun>) -> Vec<RunValue> {
    let interval = |run: &SideRun| run.data_interval.as_ref().map(|(start, end)| format!("{start} to {end}"));
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join(", "));
    type Read = Box<dyn Fn(&SideRun) -> Option<String>>;
    let facts: [(&'static str, Read); 7] = [
        ("partition_key", Box::new(|run| run.partition_key.clone())),
        ("partition_date", Box::new(|run| run.partition_date.clone())),
        ("logical_date", Box::new(|run| run.logical_date.clone())),
        ("data_interval", Box::new(interval)),
        ("run_type", Box::new(|run| run.run_type.clone())),
        ("events", Box::new(move |run| list(&run.events))),
        ("extra of events", Box::new(move |run| list(&run.extras))),
    ];
    let mut values = Vec::new();
    for (name, read) in facts {
        let (before, after) = (old.and_then(&read), new.and_then(&read));
        let plain = matches!(name, "extra of events" | "run_type") && (old.is_none() || new.is_none());
        if before != after && !plain {
            values.push(RunValue { name, old: before, new: after });
        }
    }
    values
}
