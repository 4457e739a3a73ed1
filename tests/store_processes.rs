//! The stored queue under several processes and under SIGKILL: the real binary, a real file.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]
#![cfg(all(feature = "sqlite", unix))]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use chrono::{DateTime, Utc};
use partita::asset::AssetEvent;
use partita::pipeline;
use partita::schedule::{AssetChange, NewRun, Scheduler, SqliteStore};
use serde_json::{Value as Json, json};

const PIPELINE: &str = r#"
assets:
  orders: "s3://lake/orders"
dags:
  same: {schedule: {PartitionedAssetTimetable: {assets: orders}}, tasks: {t: {}}}
  day: {schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfDayMapper}}, tasks: {t: {}}}
  rollup:
    schedule:
      PartitionedAssetTimetable:
        assets: orders
        default_partition_mapper: {RollupMapper: {upstream_mapper: StartOfDayMapper, window: DayWindow}}
    tasks: {t: {}}
  plain: {schedule: orders, tasks: {t: {}}}
"#;

fn pipeline_in(folder: &Path) {
    std::fs::write(folder.join("pipeline.yaml"), PIPELINE).expect("written");
}

fn emitter(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_partita"))
        .args(["emit", "--jsonl", "--store", "queue.db", "--pipeline", "."])
        .current_dir(folder)
        .env_remove("PARTITA_STORE")
        .env_remove("PARTITA_PIPELINE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

/// Every event in the file, by id.
fn events(folder: &Path) -> Vec<AssetEvent> {
    let store = SqliteStore::open(&folder.join("queue.db")).expect("the database opens");
    let scheduler = Scheduler::new(Box::new(store));
    (1..).map_while(|id| scheduler.event(id).expect("read")).collect()
}

fn write_request(input: &mut ChildStdin, id: &str, key: &str) -> std::io::Result<()> {
    writeln!(input, "{}", json!({"id": id, "asset": "orders", "partition_key": key, "extra": {"id": id}}))
}

#[test]
fn two_processes_emit_ten_thousand_events_each() {
    const EACH: usize = 10_000;
    let temp = tempfile::tempdir().expect("a folder");
    pipeline_in(temp.path());
    let workers: Vec<_> = (0..2)
        .map(|worker| {
            let mut child = emitter(temp.path());
            let mut input = child.stdin.take().expect("an input");
            let writer = std::thread::spawn(move || {
                for n in 0..EACH {
                    let key = format!("2026-03-{:02}T{:02}:00:00", n % 28 + 1, n / 28 % 24);
                    write_request(&mut input, &format!("{worker}/{n}"), &key).expect("taken");
                }
            });
            let output = BufReader::new(child.stdout.take().expect("an output"));
            let reader = std::thread::spawn(move || {
                let mut acknowledged = HashMap::new();
                for line in output.lines() {
                    let answer: Json = serde_json::from_str(&line.expect("a line")).expect("an answer");
                    let id = answer["id"].as_str().expect("an id").to_owned();
                    let event = answer["ok"]["event"].as_i64().unwrap_or_else(|| panic!("not recorded: {answer}"));
                    assert!(acknowledged.insert(id, event).is_none(), "answered twice: {answer}");
                }
                acknowledged
            });
            (child, writer, reader)
        })
        .collect();
    let mut acknowledged: HashMap<String, i64> = HashMap::new();
    for (mut child, writer, reader) in workers {
        writer.join().expect("written");
        acknowledged.extend(reader.join().expect("read"));
        assert!(child.wait().expect("ended").success());
    }
    let events = events(temp.path());
    assert_eq!((acknowledged.len(), events.len()), (2 * EACH, 2 * EACH));
    let mut seen = HashMap::new();
    for pair in events.windows(2) {
        assert!(pair[0].timestamp < pair[1].timestamp, "time goes forward: {pair:?}");
    }
    for event in events {
        let id = event.extra["id"].as_str().expect("an id").to_owned();
        assert_eq!(acknowledged.get(&id), Some(&event.id), "{id}");
        assert!(seen.insert(id, event.id).is_none(), "stored twice");
    }
}

/// A cheap source of moments that need no quality.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn nothing_acknowledged_is_lost_to_sigkill() {
    const KILLS: usize = 100;
    let temp = tempfile::tempdir().expect("a folder");
    pipeline_in(temp.path());
    let mut random = Random(std::process::id().into());
    let mut acknowledged: HashMap<String, i64> = HashMap::new();
    let mut killed_while_writing = 0;
    for round in 0..KILLS {
        let mut child = emitter(temp.path());
        let mut input = child.stdin.take().expect("an input");
        let writer = std::thread::spawn(move || {
            let mut n = 0;
            // Until the reader is gone.
            while write_request(&mut input, &format!("{round}/{n}"), &format!("2026-03-10T{:02}:00:00", n % 24)).is_ok()
            {
                n += 1;
            }
            n
        });
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let reader = std::thread::spawn(move || {
            let mut found = Vec::new();
            for line in output.lines().map_while(Result::ok) {
                // The last line may be cut by the kill: it was not heard, so it acknowledges nothing.
                let Ok(answer) = serde_json::from_str::<Json>(&line) else { break };
                found.push((
                    answer["id"].as_str().expect("an id").to_owned(),
                    answer["ok"]["event"].as_i64().expect("stored"),
                ));
            }
            found
        });
        std::thread::sleep(Duration::from_micros(random.below(400_000)));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let written = writer.join().expect("written");
        let heard = reader.join().expect("read");
        killed_while_writing += usize::from(!heard.is_empty() && heard.len() < written);
        acknowledged.extend(heard);
    }
    println!("{} acknowledged, {killed_while_writing} of {KILLS} kills between answers", acknowledged.len());
    assert!(killed_while_writing > 10, "kills hit the work: {killed_while_writing}");
    let events = events(temp.path());
    let stored: HashMap<&str, i64> =
        events.iter().map(|event| (event.extra["id"].as_str().expect("an id"), event.id)).collect();
    assert_eq!(stored.len(), events.len(), "none twice");
    for (id, event) in &acknowledged {
        assert_eq!(stored.get(id.as_str()), Some(event), "{id} was acknowledged");
    }
    let store = Box::new(SqliteStore::open(&temp.path().join("queue.db")).expect("the database opens"));
    let pipeline = pipeline::load(camino::Utf8Path::from_path(temp.path()).expect("UTF-8")).expect("a pipeline");
    let declared: DateTime<Utc> = "2020-01-01T00:00:00Z".parse().expect("a time");
    let after = events.last().expect("an event").timestamp + chrono::Duration::seconds(1);

    let mut killed = Scheduler::new(store).without_trace();
    pipeline::declare(&pipeline, &mut killed, declared).expect("declared");
    let mut clean = Scheduler::default().without_trace();
    pipeline::declare(&pipeline, &mut clean, declared).expect("declared");
    for event in &events {
        let change = AssetChange {
            asset: event.asset.clone(),
            extra: Some(event.extra.clone()),
            source: None,
            aliases: Vec::new(),
            partition_key: event.partition_key.clone(),
            partition_date: None,
        };
        clean.register_asset_change(&change, event.timestamp).expect("registered");
    }
    let runs = |scheduler: &mut Scheduler| -> Vec<NewRun> {
        scheduler.tick(after).expect("a pass");
        scheduler.runs().expect("runs").into_iter().map(|run| NewRun { run_id: String::new(), ..run.run }).collect()
    };
    let (killed, clean) = (runs(&mut killed), runs(&mut clean));
    assert!(killed.iter().any(|run| run.dag_id == "rollup"), "the day is complete");
    assert_eq!(killed, clean);
}
