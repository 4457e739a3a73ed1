//! Properties of mappers and of resolving.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, TimeZone, Utc};
use partita::asset::{Asset, AssetCondition, AssetKey};
use partita::partition::{Decoded, Mapper, PartitionMapper, Period, TemporalMapper, read_mapper};
use partita::python::Zone;
use partita::schedule::{AssetChange, ConsumerDag, Scheduler};
use partita::timetable::PartitionedAssetTimetable;
use proptest::prelude::*;
use serde_json::json;

fn instant(seconds: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(seconds, 0).single().expect("an instant")
}

const ZONES: [&str; 6] =
    ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"];
const PERIODS: [Period; 6] = [Period::Hour, Period::Day, Period::Week, Period::Month, Period::Quarter, Period::Year];

proptest! {
    /// A key that a mapper wrote decodes to a start that the mapper writes as the same key, and maps onto itself.
    #[test]
    fn decoded_keys_format_back(seconds in 0i64..4_000_000_000, zone in 0usize..6, period in 0usize..6) {
        let zone = Zone::parse(ZONES[zone]).expect("a zone");
        let input = "%Y-%m-%dT%H:%M:%S%z".to_owned();
        let mapper = TemporalMapper::new(PERIODS[period], zone, input, None, None).expect("a mapper");
        let key = instant(seconds).format("%Y-%m-%dT%H:%M:%S+0000").to_string();
        let downstream = mapper.to_downstream(&key).expect("a key").into_keys().remove(0);
        let decoded = mapper.decode_downstream(&downstream).expect("a start");
        prop_assert!(matches!(decoded, Decoded::Date(_)));
        prop_assert_eq!(mapper.format(&decoded).expect("temporal").expect("a key"), downstream.clone());
        let date = mapper.to_partition_date(&downstream).expect("a date").expect("temporal");
        let again = date.instant().format("%Y-%m-%dT%H:%M:%S+0000").to_string();
        prop_assert_eq!(mapper.to_downstream(&again).expect("a key").into_keys().remove(0), downstream);
    }

    /// Every member of a forward window maps onto the key it is a member of.
    #[test]
    fn members_of_a_window_map_onto_it(seconds in 0i64..4_000_000_000, which in 0usize..5) {
        let (mapper, window) = [
            ("StartOfHourMapper", "HourWindow"),
            ("StartOfDayMapper", "DayWindow"),
            ("StartOfWeekMapper", "WeekWindow"),
            ("StartOfMonthMapper", "MonthWindow"),
            ("StartOfYearMapper", "YearWindow"),
        ][which];
        let rollup = read_mapper(&json!({"RollupMapper": {"upstream_mapper": mapper, "window": window}}), None).expect("a rollup");
        let key = instant(seconds).format("%Y-%m-%dT%H:%M:%S").to_string();
        let downstream = rollup.to_downstream(&key).expect("a key").into_keys().remove(0);
        for member in rollup.as_rollup().expect("a rollup").to_upstream(&downstream).expect("members") {
            prop_assert_eq!(rollup.to_downstream(&member).expect("a key").into_keys(), vec![downstream.clone()]);
        }
    }

    /// Which runs come about, with which dates and events, does not depend on when passes happen, as long as every
    /// partition gets each of its keys once.
    #[test]
    fn batches_do_not_matter(order in Just((0usize..14).collect::<Vec<_>>()).prop_shuffle(), passes in proptest::collection::vec(any::<bool>(), 14)) {
        let one = play(&order, &[false; 14]);
        let many = play(&order, &passes);
        prop_assert_eq!(one, many);
    }
}

fn asset(name: &str) -> (AssetCondition, AssetKey) {
    let (asset, _) = Asset::new(Some(name), None).expect("an asset");
    let key = asset.key();
    (AssetCondition::Asset(asset), key)
}

fn mapper(spec: serde_json::Value) -> Mapper {
    read_mapper(&spec, None).expect("a mapper")
}

type Run = (String, Option<String>, Option<DateTime<Utc>>, BTreeSet<String>);

/// Seven days of a week, for a join of two daily assets and for a weekly rollup of one of them.
fn play(order: &[usize], passes: &[bool]) -> BTreeSet<Run> {
    let start = instant(1_700_000_000);
    let mut scheduler = Scheduler::default();
    let ((a, a_key), (b, b_key)) = (asset("a"), asset("b"));
    let day = json!({"StartOfDayMapper": {"input_format": "%Y-%m-%d"}});
    let join = PartitionedAssetTimetable::new(AssetCondition::All(vec![a.clone(), b]), Vec::new(), mapper(day));
    let week = json!({"RollupMapper": {
        "upstream_mapper": {"StartOfWeekMapper": {"input_format": "%Y-%m-%d"}}, "window": "WeekWindow"}});
    let weekly = PartitionedAssetTimetable::new(a, Vec::new(), mapper(week));
    for (dag_id, timetable) in [("join", join), ("weekly", weekly)] {
        let timetable = std::sync::Arc::new(timetable.expect("a timetable"));
        scheduler.add_dag(ConsumerDag::new(dag_id, timetable), start).expect("a Dag");
    }
    let mut clock = start;
    for (step, which) in order.iter().enumerate() {
        clock += Duration::seconds(1);
        let key = format!("2026-03-{:02}", 9 + which % 7);
        let asset = if *which < 7 { a_key.clone() } else { b_key.clone() };
        let change = AssetChange { partition_key: Some(key), ..AssetChange::of(asset) };
        scheduler.register_asset_change(&change, clock).expect("an event");
        if passes[step] {
            clock += Duration::seconds(1);
            scheduler.tick(clock).expect("a pass");
        }
    }
    scheduler.tick(clock + Duration::seconds(1)).expect("a pass");
    let runs = scheduler.runs().expect("runs");
    assert_eq!(runs.len(), 8, "seven days and a week");
    runs.into_iter()
        .map(|run| {
            let events = run.run.events.iter().filter_map(|id| scheduler.event(*id).expect("an event"));
            let events = events.map(|event| format!("{}={:?}", event.asset.name, event.partition_key)).collect();
            (run.run.dag_id, run.run.partition_key, run.run.partition_date, events)
        })
        .collect()
}
