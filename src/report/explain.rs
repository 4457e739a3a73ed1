//! The trace behind a run or a key: events, what each mapper made of their keys, what is missing, and which rule decided.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value as Json, json};

use super::render::instant;
use super::trace::{counted, keys_text, rule_text, wait_text};
use crate::asset::{AssetCondition, AssetEvent, AssetKey};
use crate::partition::{KeyStep, Mapper};
use crate::python::{PyErr, strptime};
use crate::schedule::{AssetWait, DagRun, Decision, PendingStatus, ScheduleError, Scheduler};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Events told one by one; of more, the first and the last are.
const EVENTS_SHOWN: usize = 4;

/// Pending runs of one Dag explained in full; others are listed.
const PENDING_SHOWN: usize = 2;

/// Formats of keys that people use: one of them is offered when a key does not have the format a mapper expects.
const USUAL_FORMATS: [&str; 9] = [
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H",
    "%Y-%m-%d %H:%M:%S",
    "%Y%m%d",
    "%Y%m%d%H",
    "%Y-%m",
];

/// Which runs and keys are explained.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// A run id, the key of a run or of a pending run, or the key of an event.
    pub what: Option<&'a str>,
    /// Only these Dags; all without one.
    pub dags: &'a [String],
}

impl Wanted<'_> {
    fn dag(&self, dag_id: &str) -> bool {
        self.dags.is_empty() || self.dags.iter().any(|dag| dag == dag_id)
    }

    fn run(&self, run: &DagRun) -> bool {
        let key = run.run.partition_key.as_deref();
        self.dag(&run.run.dag_id) && self.what.is_none_or(|what| what == run.run.run_id || Some(what) == key)
    }

    fn pending(&self, status: &PendingStatus) -> bool {
        self.dag(&status.dag_id) && self.what.is_none_or(|what| what == status.partition_key)
    }
}

/// Explains runs, pending runs and events that queued nothing. `None` when nothing is what is asked for.
///
/// # Errors
/// When the store fails.
pub fn explain_text(scheduler: &Scheduler, wanted: &Wanted<'_>) -> Result<Option<String>, ScheduleError> {
    let teller = Teller { scheduler };
    let mut parts = Vec::new();
    for run in scheduler.runs()? {
        if wanted.run(&run) {
            parts.push(teller.run(&run)?);
        }
    }
    let mut told: HashMap<String, usize> = HashMap::new();
    let mut untold: Vec<(String, Vec<String>)> = Vec::new();
    for status in scheduler.pending_status()? {
        if !wanted.pending(&status) {
            continue;
        }
        let count = told.entry(status.dag_id.clone()).or_default();
        *count += 1;
        if *count <= PENDING_SHOWN {
            parts.push(teller.pending(&status)?);
            continue;
        }
        match untold.iter_mut().find(|(dag_id, _)| *dag_id == status.dag_id) {
            Some((_, keys)) => keys.push(status.partition_key),
            None => untold.push((status.dag_id, vec![status.partition_key])),
        }
    }
    for (dag_id, keys) in untold {
        let keys = keys_text(keys.iter().map(String::as_str));
        parts.push(format!("{BOLD}{dag_id}{BOLD:#}  more pending runs, explained one by one when named: {keys}\n"));
    }
    for event in teller.events()? {
        let asked = wanted.what.is_none_or(|what| Some(what) == event.partition_key.as_deref());
        if asked && let Some(part) = teller.lost(&event, wanted, parts.is_empty())? {
            parts.push(part);
        }
    }
    Ok(if parts.is_empty() { None } else { Some(parts.join("\n")) })
}

/// The keys and run ids that can be asked for, for suggestions.
///
/// # Errors
/// When the store fails.
pub fn explainable(scheduler: &Scheduler) -> Result<Vec<String>, ScheduleError> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for run in scheduler.runs()? {
        names.insert(run.run.run_id);
        names.extend(run.run.partition_key);
    }
    names.extend(scheduler.pending()?.into_iter().map(|row| row.partition_key));
    names.extend(Teller { scheduler }.events()?.into_iter().filter_map(|event| event.partition_key));
    Ok(names.into_iter().collect())
}

/// The same as data: `trace`, the decisions in order, and `pending`.
///
/// # Errors
/// When the store fails.
pub fn explain_json(scheduler: &Scheduler, wanted: &Wanted<'_>) -> Result<Json, ScheduleError> {
    let mut pending = scheduler.pending_status()?;
    let text = |error: serde_json::Error| ScheduleError::Python(PyErr::value_error(error.to_string()));
    let entries: Vec<Json> =
        scheduler.trace().iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(text)?;
    let of_dag = |entry: &Json| entry.get("dag_id").and_then(Json::as_str).is_none_or(|dag_id| wanted.dag(dag_id));
    let mut trace: Vec<&Json> = entries.iter().filter(|entry| of_dag(entry)).collect();
    if let Some(what) = wanted.what {
        // Decisions that name the run or the key, and what the events they name went through.
        let named = trace.iter().filter(|entry| names(entry, what));
        let events: BTreeSet<i64> = named.flat_map(|entry| event_ids(entry)).collect();
        trace.retain(|entry| names(entry, what) || event_ids(entry).iter().any(|event| events.contains(event)));
        let keys: BTreeSet<&str> = trace.iter().filter_map(|entry| entry.get("partition_key")?.as_str()).collect();
        pending.retain(|status| keys.contains(status.partition_key.as_str()));
    }
    pending.retain(|status| wanted.dag(&status.dag_id));
    Ok(json!({"trace": trace, "pending": pending}))
}

fn names(entry: &Json, what: &str) -> bool {
    let is = |field: &str| entry.get(field).and_then(Json::as_str) == Some(what);
    is("run_id") || is("partition_key") || entry.pointer("/status/partition_key").and_then(Json::as_str) == Some(what)
}

fn event_ids(entry: &Json) -> Vec<i64> {
    let one = entry.get("event").and_then(Json::as_i64);
    let many = entry.get("events").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_i64);
    one.into_iter().chain(many).collect()
}

struct Teller<'a> {
    scheduler: &'a Scheduler,
}

impl Teller<'_> {
    fn events(&self) -> Result<Vec<AssetEvent>, ScheduleError> {
        let mut found = Vec::new();
        for id in 1.. {
            match self.scheduler.event(id)? {
                Some(event) => found.push(event),
                None => break,
            }
        }
        Ok(found)
    }

    fn mapper(&self, dag_id: &str, asset: &AssetKey) -> Option<Mapper> {
        let dag = self.scheduler.dags().find(|dag| dag.dag_id == dag_id)?;
        dag.timetable.get_partition_mapper(&asset.name, &asset.uri).ok()
    }

    fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.scheduler.trace().iter().map(|entry| &entry.decision)
    }

    /// A run that was made.
    fn run(&self, run: &DagRun) -> Result<String, ScheduleError> {
        let row = &run.run;
        let mut out = format!("{BOLD}{}{BOLD:#}  {}\n", row.dag_id, row.run_id);
        if let Some(key) = &row.partition_key {
            let date = row.partition_date.map_or_else(|| "None".to_owned(), instant);
            let _ = writeln!(out, "  partition_key {key:?}   partition_date {date}");
        }
        let mut events = Vec::new();
        for id in &row.events {
            events.extend(self.scheduler.event(*id)?);
        }
        self.tell_events(&mut out, &row.dag_id, row.partition_key.as_deref(), &events);
        if row.partition_key.is_none() {
            let _ = writeln!(
                out,
                "  {DIM}why{DIM:#}     every asset of the condition had an event queued; a plain run takes all events up to {}",
                instant(row.run_after)
            );
        }
        let rule = self.decisions().find_map(|decision| match decision {
            Decision::RunCreated { run: id, date, .. } if *id == run.id => Some(date.clone()),
            _ => None,
        });
        let kept = rule.is_some();
        let rule = match rule {
            Some(rule) => rule,
            None => self.scheduler.date_rule(row)?,
        };
        if let Some(text) = rule_text(&rule) {
            let _ = writeln!(out, "  {DIM}decided{DIM:#} {text}");
        }
        self.tell_carried(&mut out, row.pending_id);
        let created =
            self.decisions().find(|decision| matches!(decision, Decision::RunCreated { run: id, .. } if *id == run.id));
        if let Some(line) = created.filter(|_| kept).and_then(Decision::log_line) {
            let _ = writeln!(out, "  {DIM}Airflow logs{DIM:#} {YELLOW}{}{YELLOW:#}: {}", line.level, line.text);
        }
        Ok(out)
    }

    /// How the date that events carried came about, when it was not simply one.
    fn tell_carried(&self, out: &mut String, pending_id: Option<i64>) {
        let Some(pending_id) = pending_id else { return };
        for decision in self.decisions() {
            match decision {
                Decision::PendingOpened { pending, event, carried: Some(date), .. } if *pending == pending_id => {
                    let _ = writeln!(out, "  {DIM}carried{DIM:#} {} by event #{event}", instant(*date));
                }
                Decision::PendingJoined { pending, event, before, carried: Some(date), after, .. }
                    if *pending == pending_id && before != after =>
                {
                    let became = after.map_or_else(
                        || "differs from the date carried so far: none is carried now".to_owned(),
                        |_| "is adopted".to_owned(),
                    );
                    let _ = writeln!(out, "  {DIM}carried{DIM:#} {} by event #{event}: {became}", instant(*date));
                }
                _ => {}
            }
        }
    }

    /// A partition that waits.
    fn pending(&self, status: &PendingStatus) -> Result<String, ScheduleError> {
        let verb = if status.satisfied { "is complete and waits for the next pass" } else { "waits" };
        let mut out = format!(
            "{BOLD}{}{BOLD:#}  {:?} {verb}, pending since {}\n",
            status.dag_id,
            status.partition_key,
            instant(status.since)
        );
        let dag = self.scheduler.dags().find(|dag| dag.dag_id == status.dag_id);
        if let Some(condition) = dag.and_then(|dag| dag.timetable.asset_condition()).filter(|_| status.assets.len() > 1)
        {
            let _ = writeln!(out, "  {DIM}needs{DIM:#}   {}", condition_text(condition, true));
        }
        for wait in &status.assets {
            self.tell_wait(&mut out, status, wait)?;
        }
        let mut events = Vec::new();
        for wait in &status.assets {
            for source in &wait.received {
                events.extend(self.scheduler.event(source.event)?);
            }
        }
        events.sort_by_key(|event| event.id);
        self.tell_events(&mut out, &status.dag_id, Some(&status.partition_key), &events);
        match status.carried {
            Some(date) => {
                let _ = writeln!(out, "  {DIM}date{DIM:#}    {} is carried so far", instant(date));
            }
            None => self.tell_carried(&mut out, Some(status.pending)),
        }
        if status.outdated {
            let _ = writeln!(
                out,
                "  {YELLOW}the mappers changed since the events came: the next pass drops this pending run{YELLOW:#}"
            );
        }
        if status.stale {
            let _ = writeln!(out, "  {YELLOW}the Dag is stale: no pass looks at its pending runs{YELLOW:#}");
        }
        if let Some(line) = status.log_line() {
            let _ = writeln!(out, "  {DIM}Airflow logs{DIM:#} {YELLOW}{}{YELLOW:#}: {}", line.level, line.text);
        }
        Ok(out)
    }

    fn tell_wait(&self, out: &mut String, status: &PendingStatus, wait: &AssetWait) -> Result<(), ScheduleError> {
        let name = &wait.asset.name;
        if wait.satisfied {
            let _ =
                writeln!(out, "  + {name}: satisfied by {}   {DIM}{}{DIM:#}", keys_text(received(wait)), wait.mapper);
            return Ok(());
        }
        let _ = writeln!(out, "  - {}   {DIM}{}{DIM:#}", wait_text(wait, status), wait.mapper);
        if !wait.received.is_empty() {
            let _ = writeln!(out, "      received {}", keys_text(received(wait)));
        }
        if !wait.missing.is_empty() {
            let _ = writeln!(out, "      missing  {}", keys_text(wait.missing.iter().map(String::as_str)));
            let last = wait.received.last().map(|source| self.scheduler.event(source.event)).transpose()?.flatten();
            if let Some(last) = last {
                let _ = writeln!(out, "      since    {} (its last event)", instant(last.timestamp));
            }
        }
        let foreign: Vec<&str> = foreign(wait, self.mapper(&status.dag_id, &wait.asset), &status.partition_key);
        if !foreign.is_empty() {
            let _ = writeln!(
                out,
                "      {YELLOW}not counted{YELLOW:#}: {} is not among the keys the window expects, letter by letter",
                keys_text(foreign)
            );
        }
        if wait.received.is_empty() {
            self.tell_disagreement(out, status, wait)?;
        }
        Ok(())
    }

    /// An asset that sent nothing for this key: whether it ever can, and what it sent instead.
    fn tell_disagreement(
        &self,
        out: &mut String,
        status: &PendingStatus,
        wait: &AssetWait,
    ) -> Result<(), ScheduleError> {
        let Some(mapper) = self.mapper(&status.dag_id, &wait.asset) else { return Ok(()) };
        let mut made: Vec<String> = Vec::new();
        for event in self.events()?.iter().filter(|event| event.asset == wait.asset) {
            let Some(key) = &event.partition_key else { continue };
            if let Ok(keys) = mapper.to_downstream(key) {
                made.extend(keys.into_keys().into_iter().filter(|key| *key != status.partition_key));
            }
        }
        made.dedup();
        if !made.is_empty() {
            let _ = writeln!(out, "      its events were for {}", keys_text(made.iter().map(String::as_str)));
        }
        if let Some(error) = self.scheduler.never_agrees(&status.dag_id, &wait.asset, &status.partition_key) {
            let others: Vec<&str> = status
                .assets
                .iter()
                .filter(|other| !other.received.is_empty())
                .map(|other| other.mapper.as_str())
                .collect();
            let _ = writeln!(
                out,
                "      {YELLOW}never{YELLOW:#}: {} makes no key like {:?} ({}), so it and {} can never agree on a run",
                wait.mapper,
                status.partition_key,
                error.message,
                others.join(", ")
            );
            let _ = writeln!(
                out,
                "      {DIM}help{DIM:#}: give both assets mappers of one period and one output_format, or join them by `|`"
            );
        }
        Ok(())
    }

    /// Events and what the consumer's mappers made of their keys.
    fn tell_events(&self, out: &mut String, dag_id: &str, key: Option<&str>, events: &[AssetEvent]) {
        let _ = writeln!(out, "  {DIM}from{DIM:#}    {}", counted(events.len(), "event"));
        for (index, event) in events.iter().enumerate() {
            if events.len() > EVENTS_SHOWN + 1 && (EVENTS_SHOWN - 1..events.len() - 1).contains(&index) {
                if index == EVENTS_SHOWN - 1 {
                    let _ = writeln!(out, "    ... {} more", events.len() - EVENTS_SHOWN);
                }
                continue;
            }
            let _ = writeln!(out, "    {}", event_line(event));
            let (Some(_), Some(source)) = (key, &event.partition_key) else { continue };
            for step in self.steps(dag_id, event, source) {
                tell_step(out, &step);
            }
        }
    }

    /// What the mappers did with an event's key: as it was decided, or worked out again.
    fn steps(&self, dag_id: &str, event: &AssetEvent, key: &str) -> Vec<KeyStep> {
        let kept = self.decisions().find_map(|decision| match decision {
            Decision::KeyMapped { dag_id: dag, event: id, steps, .. }
            | Decision::KeyNotMapped { dag_id: dag, event: id, steps, .. }
                if dag == dag_id && *id == event.id =>
            {
                Some(steps.clone())
            }
            _ => None,
        });
        let steps = kept.or_else(|| self.mapper(dag_id, &event.asset).map(|mapper| mapper.steps(key, 0)));
        let steps = steps.unwrap_or_default();
        // A mapper that only hands on what its part made says nothing of its own.
        let repeats = |index: usize, step: &KeyStep| {
            steps
                .get(index + 1)
                .is_some_and(|next| next.depth > step.depth && next.key == step.key && next.result == step.result)
        };
        let mut told: Vec<KeyStep> = steps
            .iter()
            .enumerate()
            .filter(|(index, step)| !repeats(*index, step))
            .map(|(_, step)| step.clone())
            .collect();
        let outermost = told.iter().map(|step| step.depth).min().unwrap_or_default();
        told.iter_mut().for_each(|step| step.depth -= outermost);
        told
    }

    /// An event that some consumer could have taken and did not; with `all`, also where it went.
    fn lost(&self, event: &AssetEvent, wanted: &Wanted<'_>, all: bool) -> Result<Option<String>, ScheduleError> {
        let mut lines = String::new();
        for decision in &self.decisions_on(event) {
            match decision {
                Decision::KeyNotMapped { dag_id, error, .. } if wanted.dag(dag_id) => {
                    let _ =
                        writeln!(lines, "  - {BOLD}{dag_id}{BOLD:#}: the key cannot be mapped, so nothing was queued");
                    let key = event.partition_key.as_deref().unwrap_or_default();
                    for step in self.steps(dag_id, event, key) {
                        tell_step(&mut lines, &step);
                    }
                    let _ = writeln!(lines, "      {YELLOW}{}{YELLOW:#}: {}", error.kind, error.message);
                    self.tell_format(&mut lines, dag_id, event, key);
                }
                Decision::TooManyKeys { dag_id, produced, cap, .. } if wanted.dag(dag_id) => {
                    let _ = writeln!(
                        lines,
                        "  - {BOLD}{dag_id}{BOLD:#}: the key maps to {produced} keys, more than {cap}: none was queued"
                    );
                }
                Decision::MissingKey { dag_ids, .. } => {
                    for dag_id in dag_ids.iter().filter(|dag_id| wanted.dag(dag_id)) {
                        let _ = writeln!(
                            lines,
                            "  - {BOLD}{dag_id}{BOLD:#}: partitioned, and the event has no partition key: nothing was queued"
                        );
                    }
                }
                Decision::EventRecorded { paused, plain, unheard, inactive, .. } => {
                    for dag_id in paused.iter().filter(|dag_id| wanted.dag(dag_id)) {
                        let _ = writeln!(lines, "  - {BOLD}{dag_id}{BOLD:#}: was paused when the event came");
                    }
                    for dag_id in plain.iter().filter(|dag_id| wanted.dag(dag_id)) {
                        let _ = writeln!(
                            lines,
                            "  - {BOLD}{dag_id}{BOLD:#}: not partitioned, and an event with a key does not queue it"
                        );
                    }
                    if *unheard {
                        let _ = writeln!(lines, "  - nothing consumes {}", event.asset.name);
                    }
                    if *inactive {
                        let _ = writeln!(lines, "  - the asset is inactive: the event counts once it is active again");
                    }
                }
                Decision::KeyMapped { dag_id, keys, .. } if all && wanted.dag(dag_id) => {
                    let keys = keys_text(keys.iter().map(String::as_str));
                    let _ = writeln!(lines, "  + {BOLD}{dag_id}{BOLD:#}: queued for {keys}");
                }
                _ => continue,
            }
            if let Some(line) = decision.log_line() {
                let _ =
                    writeln!(lines, "      {DIM}Airflow logs{DIM:#} {YELLOW}{}{YELLOW:#}: {}", line.level, line.text);
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let audit: Vec<String> = self
            .scheduler
            .logs()?
            .into_iter()
            .filter(|row| row.at == event.timestamp)
            .filter(|row| wanted.dags.is_empty() || wanted.dags.iter().any(|dag| row.extra.contains(dag)))
            .map(|row| format!("  {DIM}audit log{DIM:#} {}: {}\n", row.event, row.extra.replace('\n', "\n      ")))
            .collect();
        Ok(Some(format!("{BOLD}event{BOLD:#} {}\n{lines}{}", event_line(event), audit.concat())))
    }

    /// What was decided when an event came; for an event of a stored queue, whose decisions nobody kept, what its key maps
    /// to now.
    fn decisions_on(&self, event: &AssetEvent) -> Vec<Decision> {
        let kept: Vec<Decision> =
            self.decisions().filter(|decision| decision.event() == Some(event.id)).cloned().collect();
        let Some(key) = event.partition_key.as_deref().filter(|_| kept.is_empty()) else { return kept };
        let mut redone = Vec::new();
        for dag in self.scheduler.dags().filter(|dag| dag.timetable.partitioned()) {
            let listens = dag
                .timetable
                .asset_condition()
                .is_some_and(|condition| condition.assets().iter().any(|asset| asset.key() == event.asset));
            let Some(mapper) = self.mapper(&dag.dag_id, &event.asset).filter(|_| listens) else { continue };
            let (dag_id, asset, partition_key) = (dag.dag_id.clone(), event.asset.clone(), key.to_owned());
            let (event, steps) = (event.id, mapper.steps(key, 0));
            redone.push(match mapper.to_downstream(key) {
                Ok(keys) => Decision::KeyMapped {
                    dag_id,
                    event,
                    asset,
                    partition_key,
                    steps,
                    keys: keys.into_keys(),
                    carried: None,
                    carry_error: None,
                },
                Err(error) => {
                    Decision::KeyNotMapped { dag_id, event, asset, partition_key, steps, error: (&error).into() }
                }
            });
        }
        redone
    }

    /// Offers the format that the key does have.
    fn tell_format(&self, out: &mut String, dag_id: &str, event: &AssetEvent, key: &str) {
        let Some(mapper) = self.mapper(dag_id, &event.asset) else { return };
        let encoded = mapper.encode();
        let Some((class, expected)) = reader_of(&encoded) else { return };
        let fitting = USUAL_FORMATS.iter().find(|format| **format != expected && strptime(key, format).is_ok());
        if let Some(format) = fitting {
            let _ = writeln!(
                out,
                "      {DIM}help{DIM:#}: {class} expects {expected:?}; {{{class}: {{input_format: {format:?}}}}} reads {key:?}"
            );
        }
    }
}

/// A condition as a Dag file writes it.
fn condition_text(condition: &AssetCondition, outermost: bool) -> String {
    let (parts, sign) = match condition {
        AssetCondition::Asset(asset) => return asset.name.clone(),
        AssetCondition::Alias(alias) => return format!("AssetAlias({:?})", alias.name),
        AssetCondition::Ref(reference) => return format!("Asset.ref({:?})", reference.text()),
        AssetCondition::All(parts) => (parts, " & "),
        AssetCondition::Any(parts) => (parts, " | "),
    };
    let text = parts.iter().map(|part| condition_text(part, false)).collect::<Vec<_>>().join(sign);
    if outermost || parts.len() < 2 { text } else { format!("({text})") }
}

fn received(wait: &AssetWait) -> impl Iterator<Item = &str> {
    wait.received.iter().map(|source| source.key.as_str())
}

/// Keys that came but are not among those a rollup expects: matching is letter by letter.
fn foreign<'a>(wait: &'a AssetWait, mapper: Option<Mapper>, partition_key: &str) -> Vec<&'a str> {
    let expected = mapper.as_ref().and_then(|mapper| mapper.as_rollup()?.to_upstream(partition_key).ok());
    match expected {
        Some(expected) => received(wait).filter(|key| !expected.contains(*key)).collect(),
        None => Vec::new(),
    }
}

/// The mapper inside an encoded mapper that reads the key first: its class and its input format.
fn reader_of(encoded: &Json) -> Option<(&str, &str)> {
    let fields = encoded.get("__var")?;
    if let Some(format) = fields.get("input_format").and_then(Json::as_str) {
        return Some((encoded.get("__type")?.as_str()?.rsplit('.').next()?, format));
    }
    fields.get("upstream_mapper").or_else(|| fields.get("mappers")?.get(0)).and_then(reader_of)
}

fn event_line(event: &AssetEvent) -> String {
    let mut text = format!("#{} {}", event.id, event.asset.name);
    if let Some(key) = &event.partition_key {
        let _ = write!(text, " {key:?}");
    }
    if let Some(date) = event.partition_date {
        let _ = write!(text, " dated {}", instant(date));
    }
    let _ = write!(text, "   {DIM}{}", instant(event.timestamp));
    if let Some(source) = &event.source {
        let _ = write!(text, ", {}.{}", source.dag_id, source.task_id);
    }
    let _ = write!(text, "{DIM:#}");
    text
}

fn tell_step(out: &mut String, step: &KeyStep) {
    let indent = "  ".repeat(step.depth);
    let result = match &step.result {
        Ok(keys) => keys_text(keys.iter().map(String::as_str)),
        Err(error) => format!("{YELLOW}{}{YELLOW:#}", error.class),
    };
    let _ = writeln!(out, "      {indent}{DIM}{}{DIM:#}: {:?} -> {result}", step.mapper, step.key);
}
