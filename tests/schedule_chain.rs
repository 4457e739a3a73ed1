//! Task outlets, chains and the trace of decisions.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Duration, TimeZone, Utc};
use partita::asset::{Asset, AssetAlias, AssetCondition, AssetKey, EventSource};
use partita::partition::read_mapper;
use partita::schedule::{
    AliasEvent, AssetChange, ConsumerDag, DagRun, DateRule, Decision, Follow, OutletEvent, Producer, Scheduler,
    TaskOutlets, validate_runtime_keys,
};
use partita::timetable::{AssetTriggeredTimetable, PartitionedAssetTimetable};
use serde_json::{Value as Json, json};

fn start() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 10, 12, 0, 0).single().expect("an instant")
}

fn asset(name: &str) -> AssetCondition {
    AssetCondition::Asset(Asset::new(Some(name), None).expect("an asset").0)
}

fn key(name: &str) -> AssetKey {
    AssetKey { name: name.to_owned(), uri: name.to_owned() }
}

fn partitioned(condition: AssetCondition, mapper: Json) -> Arc<PartitionedAssetTimetable> {
    let mapper = read_mapper(&mapper, None).expect("a mapper");
    Arc::new(PartitionedAssetTimetable::new(condition, Vec::new(), mapper).expect("a timetable"))
}

fn source(dag_id: &str, run_id: &str) -> EventSource {
    EventSource { dag_id: dag_id.into(), task_id: "t".into(), run_id: run_id.into(), map_index: -1 }
}

fn outlets(dag_id: &str, run_id: &str, outlets: Vec<AssetCondition>) -> TaskOutlets {
    TaskOutlets {
        source: source(dag_id, run_id),
        outlets,
        events: Vec::new(),
        alias_events: Vec::new(),
        partition_key: None,
        partition_date: None,
    }
}

/// Each Dag has one task with one outlet.
struct OneOutlet(BTreeMap<&'static str, &'static str>);

impl Producer for OneOutlet {
    fn outlets(&self, run: &DagRun) -> Vec<TaskOutlets> {
        let made = self.0.get(run.run.dag_id.as_str()).map(|outlet| TaskOutlets {
            partition_key: run.run.partition_key.clone(),
            partition_date: run.run.partition_date,
            ..outlets(&run.run.dag_id, &run.run.run_id, vec![asset(outlet)])
        });
        made.into_iter().collect()
    }
}

#[test]
fn a_chain_keeps_the_date_hop_by_hop() {
    let mut scheduler = Scheduler::default().with_seed("chain");
    let hour = json!({"StartOfHourMapper": {"input_format": "%Y%m%d%H"}});
    for (dag_id, on, mapper) in
        [("one", "a", hour), ("two", "b", json!("IdentityMapper")), ("three", "c", json!("IdentityMapper"))]
    {
        scheduler.add_dag(ConsumerDag::new(dag_id, partitioned(asset(on), mapper)), start()).expect("a Dag");
    }
    let mut clock = start() + Duration::seconds(1);
    let change = AssetChange { partition_key: Some("2026031009".into()), ..AssetChange::of(key("a")) };
    scheduler.register_asset_change(&change, clock).expect("an event");
    clock += Duration::seconds(1);
    scheduler.tick(clock).expect("a pass");
    clock += Duration::seconds(1);
    let producer = OneOutlet(BTreeMap::from([("one", "b"), ("two", "c")]));
    let hops = Follow::new().run(&mut scheduler, &producer, &mut clock).expect("a chain");
    assert_eq!(hops, 2);
    let runs = scheduler.runs().expect("runs");
    let nine = Utc.with_ymd_and_hms(2026, 3, 10, 9, 0, 0).single();
    for (run, dag_id) in runs.iter().zip(["one", "two", "three"]) {
        assert_eq!(run.run.dag_id, dag_id);
        assert_eq!(run.run.partition_key.as_deref(), Some("2026-03-10T09"));
        assert_eq!(run.run.partition_date, nine);
    }
    let rules: Vec<&DateRule> = scheduler
        .trace()
        .iter()
        .filter_map(|entry| match &entry.decision {
            Decision::RunCreated { date, .. } => Some(date),
            _ => None,
        })
        .collect();
    assert!(matches!(rules.as_slice(), [DateRule::Decoded { .. }, DateRule::Carried { .. }, DateRule::Carried { .. }]));
}

#[test]
fn a_cycle_is_named() {
    let mut scheduler = Scheduler::default();
    for (dag_id, on) in [("one", "a"), ("two", "b")] {
        let timetable = partitioned(asset(on), json!("IdentityMapper"));
        scheduler.add_dag(ConsumerDag::new(dag_id, timetable), start()).expect("a Dag");
    }
    let mut clock = start() + Duration::seconds(1);
    let change = AssetChange { partition_key: Some("k".into()), ..AssetChange::of(key("a")) };
    scheduler.register_asset_change(&change, clock).expect("an event");
    clock += Duration::seconds(1);
    scheduler.tick(clock).expect("a pass");
    let producer = OneOutlet(BTreeMap::from([("one", "b"), ("two", "a")]));
    let error = Follow::new().run(&mut scheduler, &producer, &mut clock).expect_err("a cycle");
    assert_eq!(
        error.to_string(),
        "LimitExceeded: the chain of assets comes back to a Dag it came from: one -> two -> one"
    );
}

#[test]
fn runtime_keys_count_once_and_have_no_date_of_the_run() {
    let mut scheduler = Scheduler::default();
    let timetable = partitioned(asset("a"), json!("IdentityMapper"));
    scheduler.add_dag(ConsumerDag::new("cons", timetable), start()).expect("a Dag");
    let task = TaskOutlets {
        events: vec![OutletEvent {
            asset: key("a"),
            extra: json!({"rows": 7}),
            partition_keys: vec!["us".into(), "eu".into(), "us".into(), "run".into()],
        }],
        partition_key: Some("run".into()),
        partition_date: Some(start()),
        ..outlets("prod", "manual__1", vec![asset("a")])
    };
    let events = scheduler.register_task_outlets(&task, start() + Duration::seconds(1)).expect("events");
    let events: Vec<_> = events.into_iter().filter_map(|id| scheduler.event(id).expect("an event")).collect();
    let seen: Vec<_> = events.iter().map(|event| (event.partition_key.as_deref(), event.partition_date)).collect();
    assert_eq!(seen, [(Some("us"), None), (Some("eu"), None), (Some("run"), Some(start()))]);
    assert!(events.iter().all(|event| event.extra == json!({"rows": 7})));
    assert_eq!(
        validate_runtime_keys(&[" ".into()]).expect_err("blank").message,
        "partition_key must not be empty or whitespace-only; got ' '."
    );
}

#[test]
fn equal_additions_to_aliases_are_one_event() {
    let alias = |name: &str| AssetCondition::Alias(AssetAlias::new(name).expect("an alias"));
    let mut scheduler = Scheduler::default();
    let condition = AssetCondition::Alias(AssetAlias::new("x").expect("an alias"));
    let timetable = Arc::new(AssetTriggeredTimetable::new(condition));
    scheduler.add_dag(ConsumerDag::new("cons", timetable), start()).expect("a Dag");
    let add = |alias: &str, extra: Json| AliasEvent {
        alias: alias.into(),
        asset: key("s3://made/here"),
        asset_extra: json!({}),
        extra,
    };
    let task = TaskOutlets {
        alias_events: vec![
            add("x", json!({"a": 1, "b": 2})),
            add("y", json!({"b": 2, "a": 1})),
            add("x", json!({"a": 1})),
            add("not declared", json!({})),
        ],
        ..outlets("prod", "manual__1", vec![alias("x"), alias("y")])
    };
    let events = scheduler.register_task_outlets(&task, start() + Duration::seconds(1)).expect("events");
    assert_eq!(events.len(), 2);
    let first = scheduler.event(events[0]).expect("an event").expect("there");
    assert_eq!(first.aliases, ["x", "y"]);
    let created = |entry: &partita::schedule::Entry| matches!(entry.decision, Decision::AssetCreated { .. });
    assert_eq!(scheduler.trace().iter().filter(|entry| created(entry)).count(), 1);
    scheduler.tick(start() + Duration::seconds(2)).expect("a pass");
    assert_eq!(scheduler.runs().expect("runs")[0].run.events, events);
}

#[test]
fn what_a_rollup_waits_for_is_said() {
    let mut scheduler = Scheduler::default();
    let mapper = json!({"RollupMapper": {
        "upstream_mapper": {"StartOfDayMapper": {"input_format": "%Y-%m-%dT%H"}}, "window": "DayWindow"}});
    scheduler.add_dag(ConsumerDag::new("daily", partitioned(asset("a"), mapper)), start()).expect("a Dag");
    let mut clock = start();
    for hour in [3, 4, 5] {
        clock += Duration::seconds(1);
        let change = AssetChange { partition_key: Some(format!("2026-03-10T{hour:02}")), ..AssetChange::of(key("a")) };
        scheduler.register_asset_change(&change, clock).expect("an event");
    }
    scheduler.tick(clock + Duration::seconds(1)).expect("a pass");
    assert!(scheduler.runs().expect("runs").is_empty());
    let status = scheduler.pending_status().expect("a status").remove(0);
    let wait = &status.assets[0];
    assert_eq!((wait.expected, wait.matched, wait.needed), (Some(24), 3, Some(24.0)));
    assert_eq!(wait.missing.len(), 21);
    assert_eq!(status.since, start() + Duration::seconds(1));
    assert!(!status.satisfied);
}

#[test]
fn mappers_that_can_never_agree_leave_no_date_and_say_so() {
    let mut scheduler = Scheduler::default();
    let condition = AssetCondition::All(vec![asset("a"), asset("b")]);
    let day = |zone: &str| {
        read_mapper(&json!({"StartOfDayMapper": {"timezone": zone, "input_format": "%Y-%m-%d"}}), None)
            .expect("a mapper")
    };
    let config = vec![(asset("b"), day("America/New_York"))];
    let timetable = PartitionedAssetTimetable::new(condition, config, day("UTC")).expect("a timetable");
    scheduler.add_dag(ConsumerDag::new("cons", Arc::new(timetable)), start()).expect("a Dag");
    for (second, name) in [(1, "a"), (2, "b")] {
        let change = AssetChange { partition_key: Some("2026-03-10".into()), ..AssetChange::of(key(name)) };
        scheduler.register_asset_change(&change, start() + Duration::seconds(second)).expect("an event");
    }
    scheduler.tick(start() + Duration::seconds(3)).expect("a pass");
    assert_eq!(scheduler.runs().expect("runs")[0].run.partition_date, None);
    let created = scheduler.trace().last().expect("a decision");
    let Decision::RunCreated { date: DateRule::Conflict { anchors }, .. } = &created.decision else {
        panic!("{created:?}");
    };
    let dates: Vec<_> = anchors.iter().filter_map(|anchor| anchor.date.as_deref()).collect();
    assert_eq!(dates, ["2026-03-10T00:00:00+00:00", "2026-03-10T00:00:00-04:00"]);
    let line = created.decision.log_line().expect("a warning");
    assert!(line.text.starts_with("Upstream partition mappers resolved conflicting partition_date values"));
}
