//! The scheduler's pass over pending partition runs.

use std::collections::{BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::ScheduleError;
use super::decision::{Anchor, DateRule, Decision, ErrorText};
use super::rows::{NewRun, PendingRow};
use super::scheduler::{Scheduler, StoreRegistry, TickOutcome};
use super::store::Stored;
use super::wait::Contribution;
use crate::asset::AssetKey;
use crate::partition::Moment;
use crate::python::{PyErr, repr_str};
use crate::timetable::{Timetable, dag_run_id};

/// `ID_LEN`: the longest partition key of a run, in characters.
const KEY_LIMIT: usize = 250;

/// What a pass over pending rows decided; nothing is changed before all of it is known.
#[derive(Default)]
struct Plan {
    dropped: Vec<PendingRow>,
    waiting: Vec<PendingRow>,
    runs: Vec<(NewRun, DateRule)>,
    behind: usize,
}

impl Scheduler {
    /// One pass: pending partition runs first, then plain consumers of the Dags that got none. Everything or nothing.
    ///
    /// # Errors
    /// The exception that ends the pass in Airflow (a key that no run can have); it is in the trace too, and nothing the
    /// pass did is kept.
    pub fn tick(&mut self, at: DateTime<Utc>) -> Result<TickOutcome, ScheduleError> {
        self.transact(|this| {
            let mut outcome = TickOutcome::default();
            let made = this.partition_pass(at, &mut outcome)?;
            this.plain_pass(at, &made, &mut outcome)?;
            Ok(outcome)
        })
    }

    fn partition_pass(&mut self, at: DateTime<Utc>, outcome: &mut TickOutcome) -> Stored<HashSet<String>> {
        let plan = self.plan(at)?;
        for row in &plan.dropped {
            let events = self.store.key_logs(row.id)?.into_iter().map(|log| log.event_id).collect();
            let decision = Decision::Dropped {
                dag_id: row.dag_id.clone(),
                partition_key: row.partition_key.clone(),
                pending: row.id,
                events,
            };
            self.note(at, decision);
        }
        let dropped: Vec<i64> = plan.dropped.iter().map(|row| row.id).collect();
        self.store.delete_pending(&dropped)?;
        if self.is_tracing() {
            for row in &plan.waiting {
                let mut status = self.status(row)?;
                for wait in &mut status.assets {
                    // Airflow says it once per Dag and asset, not at each pass.
                    let seen = (row.dag_id.clone(), wait.asset.clone());
                    if wait.unreachable.is_some() && !self.unreachable_seen.insert(seen) {
                        wait.unreachable = None;
                    }
                }
                self.note(at, Decision::Waiting { status });
            }
            if plan.behind > 0 {
                self.note(at, Decision::LimitReached { limit: self.rows_per_tick, behind: plan.behind });
            }
        }
        let mut made = HashSet::new();
        for (run, date) in plan.runs {
            made.insert(run.dag_id.clone());
            let id = self.store.add_run(&run)?;
            outcome.runs.push(id);
            self.note_run(at, id, run, date);
        }
        Ok(made)
    }

    pub(super) fn note_run(&mut self, at: DateTime<Utc>, id: i64, run: NewRun, date: DateRule) {
        let decision = Decision::RunCreated {
            dag_id: run.dag_id,
            run: id,
            run_id: run.run_id,
            partition_key: run.partition_key,
            partition_date: run.partition_date,
            pending: run.pending_id,
            events: run.events,
            date,
        };
        self.note(at, decision);
    }

    fn plan(&mut self, at: DateTime<Utc>) -> Stored<Plan> {
        // One more than the limit tells whether rows are left behind; counting them costs only when somebody asks.
        let mut rows = self.store.pending(false, Some(self.rows_per_tick))?;
        let mut plan = Plan::default();
        if self.is_tracing() && rows.len() == self.rows_per_tick {
            plan.behind = self.store.pending(false, None)?.len() - rows.len();
        }
        rows.retain(|row| {
            let fingerprint = self.consumer(&row.dag_id).and_then(|consumer| consumer.fingerprint.as_ref().ok());
            let outdated = fingerprint.is_some_and(|fingerprint| *fingerprint != row.fingerprint);
            if outdated {
                plan.dropped.push(row.clone());
            }
            !outdated
        });
        let active: HashMap<i64, AssetKey> =
            self.store.assets()?.into_iter().filter(|row| row.active).map(|row| (row.id, row.key)).collect();
        let mut ordinals: HashMap<String, usize> = HashMap::new();
        for row in rows {
            let Some(timetable) = self.consumer(&row.dag_id).map(|consumer| consumer.dag.timetable.clone()) else {
                // Not in the serialized Dags: Airflow logs an error and goes on.
                continue;
            };
            let from = self.contributions(row.id, &active)?;
            if !self.holds(timetable.as_ref(), &row, &from)? {
                plan.waiting.push(row);
                continue;
            }
            let (date, rule) = match timetable.partitioned() {
                true => resolve_date(timetable.as_ref(), &row, &from)?,
                false => (None, DateRule::NotPartitioned),
            };
            if let Err(error) = validate_key(timetable.as_ref(), &row) {
                let failed = Decision::PassFailed {
                    dag_id: row.dag_id.clone(),
                    partition_key: Some(row.partition_key.clone()),
                    error: ErrorText::from(&error),
                };
                self.note(at, failed);
                return Err(error.into());
            }
            let ordinal = ordinals.entry(row.dag_id.clone()).or_default();
            let count = self.store.run_count(&row.dag_id)? + *ordinal;
            *ordinal += 1;
            let mut events: Vec<i64> = self.store.key_logs(row.id)?.into_iter().map(|log| log.event_id).collect();
            events.sort_unstable();
            events.dedup();
            let run = NewRun {
                run_id: self.run_id(&row.dag_id, Some(&row.partition_key), count, at),
                dag_id: row.dag_id,
                partition_key: Some(row.partition_key),
                partition_date: date,
                run_after: at,
                events,
                pending_id: Some(row.id),
            };
            plan.runs.push((run, rule));
        }
        Ok(plan)
    }

    fn holds(&self, timetable: &dyn Timetable, row: &PendingRow, from: &[Contribution]) -> Stored<bool> {
        let mut states = HashMap::new();
        for contribution in from {
            let satisfied =
                !timetable.partitioned() || self.is_satisfied(timetable, &row.partition_key, contribution)?;
            states.insert(contribution.asset.clone(), satisfied);
        }
        let registry = StoreRegistry(self.store.as_ref());
        Ok(timetable.asset_condition().is_some_and(|condition| condition.evaluate(&states, &registry)))
    }

    /// A run id of Airflow's form; its last eight characters follow from the seed, the Dag, the key and how many runs there
    /// were, where Airflow draws them.
    /// Which rule gave a partition run its date, worked out again from its events: for runs whose decision nobody kept.
    ///
    /// # Errors
    /// Of the store, or what partita refuses.
    pub fn date_rule(&self, run: &NewRun) -> Result<DateRule, ScheduleError> {
        let timetable = self.consumer(&run.dag_id).map(|consumer| consumer.dag.timetable.clone());
        let (Some(timetable), Some(key)) = (timetable, &run.partition_key) else { return Ok(DateRule::NotPartitioned) };
        if !timetable.partitioned() {
            return Ok(DateRule::NotPartitioned);
        }
        let mut from: Vec<Contribution> = Vec::new();
        for id in &run.events {
            let Some(event) = self.store.event(*id)? else { continue };
            if !from.iter().any(|known| known.asset == event.asset) {
                from.push(Contribution { asset: event.asset, keys: BTreeSet::new() });
            }
        }
        let row = PendingRow {
            id: run.pending_id.unwrap_or_default(),
            dag_id: run.dag_id.clone(),
            partition_key: key.clone(),
            partition_date: run.partition_date,
            fingerprint: serde_json::Value::Null,
            created_at: run.run_after,
            run_id: None,
        };
        Ok(resolve_date(timetable.as_ref(), &row, &from)?.1)
    }

    pub(super) fn run_id(&self, dag_id: &str, key: Option<&str>, ordinal: usize, run_after: DateTime<Utc>) -> String {
        // Of the characters Airflow draws from, those that read well in file names.
        const ALPHABET: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
        let parts = [self.seed.as_str(), dag_id, key.unwrap_or_default(), &ordinal.to_string()];
        let digest = Sha256::digest(parts.join("\0"));
        let letter = |byte: &u8| ALPHABET.get(usize::from(*byte) % ALPHABET.len()).map(|letter| char::from(*letter));
        let suffix: String = digest.iter().take(8).filter_map(letter).collect();
        dag_run_id("asset_triggered", None, run_after, &suffix)
    }
}

/// The partition date of a run (`_resolve_partition_date`): what the mappers of the assets that sent events decode the key
/// to, when they agree; the carried date when none of them decodes it.
fn resolve_date(
    timetable: &dyn Timetable,
    row: &PendingRow,
    from: &[Contribution],
) -> Stored<(Option<DateTime<Utc>>, DateRule)> {
    let mut dates: Vec<Moment> = Vec::new();
    let mut anchors = Vec::new();
    for Contribution { asset, .. } in from {
        let mapper = timetable.get_partition_mapper(&asset.name, &asset.uri)?;
        match mapper.to_partition_date(&row.partition_key) {
            Ok(date) => {
                anchors.push(Anchor {
                    asset: asset.clone(),
                    mapper: mapper.label(),
                    date: date.as_ref().map(Moment::isoformat),
                });
                if let Some(date) = date
                    && !dates.iter().any(|known| known.equals(&date))
                {
                    dates.push(date);
                }
            }
            Err(error) if error.is_refusal() => return Err(error.into()),
            Err(error) => {
                let (asset, mapper) = (asset.clone(), mapper.label());
                return Ok((None, DateRule::Failed { asset, mapper, error: ErrorText::from(&error) }));
            }
        }
    }
    Ok(match dates.as_slice() {
        [] if row.partition_date.is_some() => (row.partition_date, DateRule::Carried { anchors }),
        [] => (None, DateRule::NoDate { anchors }),
        [date] => (Some(date.instant()), DateRule::Decoded { anchors }),
        _ => (None, DateRule::Conflict { anchors }),
    })
}

/// `SerializedDAG.validate_partition_key`
fn validate_key(timetable: &dyn Timetable, row: &PendingRow) -> Result<(), PyErr> {
    let key = &row.partition_key;
    if !timetable.partitioned() && !timetable.partitioned_at_runtime() {
        return Err(PyErr::new(
            "DagNotPartitionedError",
            format!("Dag '{}' is not a partitioned Dag and does not accept a partition_key.", row.dag_id),
        )
        .with_hint(format!("partition key {}", repr_str(key))));
    }
    check_key(key)
}

/// A key that no run can have: blank, or too long.
pub(super) fn check_key(key: &str) -> Result<(), PyErr> {
    if is_blank(key) {
        return Err(PyErr::new("InvalidPartitionKeyError", "partition_key must not be empty or whitespace-only."));
    }
    let length = key.chars().count();
    if length > KEY_LIMIT {
        return Err(PyErr::new(
            "InvalidPartitionKeyError",
            format!("partition_key must be at most {KEY_LIMIT} characters; got {length}."),
        ));
    }
    Ok(())
}

/// `not key.strip()`
pub(super) fn is_blank(key: &str) -> bool {
    key.chars().all(crate::python::is_space)
}
