//! Airflow's own endpoints, answered by a server: the REST answers recorded from Airflow 2.10.5 and 3.3.2
//! (`tests/conformance/airflow2/schedule210.jsonl`), status and body, through real sockets; and over a stored queue.
#![cfg(all(feature = "preview", feature = "sqlite"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use partita::preview::{Access, Limits, Options, Preview, Queue, Queues, serve};
use partita::schedule::api::{Answer, Request};
use partita::schedule::datasets::{self, DatasetScheduler};
use partita::schedule::{Scheduler, api};
use serde_json::{Value as Json, json};

use support::Project;
use support::preview::{Server, ask};

/// A server over a queue in memory, in this process: the test looks into its rows between requests.
struct InProcess {
    address: String,
    preview: Arc<Preview>,
    clock: Arc<Mutex<DateTime<Utc>>>,
}

impl InProcess {
    fn start() -> Self {
        let clock = Arc::new(Mutex::new(DateTime::<Utc>::UNIX_EPOCH));
        let now = clock.clone();
        let queues =
            Queues::memory(Scheduler::default(), DatasetScheduler::default(), Box::new(move || *now.lock().unwrap()));
        let preview = Arc::new(Preview::new(Options {
            discover: Box::new(|| Ok(Vec::new())),
            snapshots: "snapshots".into(),
            queues: Some(queues),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = preview.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let never = std::future::pending();
            runtime.block_on(serve(listener, served, Access::loopback(), Limits::default(), never)).unwrap();
        });
        InProcess { address, preview, clock }
    }

    fn queues(&self) -> &Queues {
        self.preview.queues().unwrap()
    }

    /// Sends a step's request as it stands in the case.
    fn send(&self, version: u8, request: &Json, at: DateTime<Utc>) -> Answer {
        *self.clock.lock().unwrap() = at;
        let target = format!("/api/v{version}{}", request["path"].as_str().unwrap());
        let body = request.get("body").filter(|body| !body.is_null()).map(Json::to_string);
        let headers: &[(&str, &str)] = if body.is_some() { &[("Content-Type", "application/json")] } else { &[] };
        let response = ask(&self.address, request["method"].as_str().unwrap(), &target, headers, body.as_deref());
        let body = (!response.body.is_empty()).then(|| response.json());
        Answer { status: response.status, body }
    }
}

/// Plays a case of 2.10; while a request is under way, the server has the rows.
fn resolve_v1(server: &InProcess, case: &Json, requests: &mut dyn Iterator<Item = Json>) -> Vec<Json> {
    let swap = |scheduler: &mut DatasetScheduler| match &mut *server.queues().lock() {
        Queue::Memory(_, served) => std::mem::swap(scheduler, served),
        Queue::File(..) => panic!("the queue is in memory"),
    };
    let mut by_socket = |scheduler: &mut DatasetScheduler, _: &Request, at: DateTime<Utc>| {
        swap(scheduler);
        let answer = server.send(1, &requests.next().unwrap(), at);
        swap(scheduler);
        Ok(answer)
    };
    datasets::document::resolve_by(case, &mut by_socket).unwrap().steps
}

/// The same for 3.3.
fn resolve_v2(server: &InProcess, case: &Json, requests: &mut dyn Iterator<Item = Json>) -> Vec<Json> {
    let swap = |scheduler: &mut Scheduler| match &mut *server.queues().lock() {
        Queue::Memory(served, _) => std::mem::swap(scheduler, served),
        Queue::File(..) => panic!("the queue is in memory"),
    };
    let mut by_socket =
        |scheduler: &mut Scheduler, names: &BTreeMap<String, String>, _: &Request, at: DateTime<Utc>| {
            server.queues().set_display_names(names.clone());
            swap(scheduler);
            let answer = server.send(2, &requests.next().unwrap(), at);
            swap(scheduler);
            Ok(answer)
        };
    api::document::resolve_by(case, &mut by_socket).unwrap()
}

#[test]
fn recorded_answers_of_both_versions() {
    let server = InProcess::start();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/airflow2/schedule210.jsonl");
    let corpus = std::fs::read_to_string(path).unwrap();
    let (mut equal, mut answers, mut report) = (0, [0, 0], String::new());
    for line in corpus.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let requests: Vec<Json> =
            case["steps"].as_array().unwrap().iter().filter(|step| step["op"] == "api").cloned().collect();
        if requests.is_empty() {
            continue;
        }
        let mut requests = requests.into_iter();
        let steps = if case["profile"] == "airflow-2.10" {
            answers[0] += requests.len();
            resolve_v1(&server, &case, &mut requests)
        } else {
            answers[1] += requests.len();
            resolve_v2(&server, &case, &mut requests)
        };
        let expected = case["expect"].as_array().unwrap();
        if *expected == steps {
            equal += 1;
        } else {
            let at = expected.iter().zip(&steps).position(|(one, other)| one != other);
            let _ = writeln!(
                report,
                "{}\n  expected {}\n  got      {}",
                case["id"],
                at.map_or(&Json::Null, |at| &expected[at]),
                at.map_or(&Json::Null, |at| &steps[at]),
            );
        }
    }
    println!("answers of 2.10: {}, of 3.3: {}; cases equal: {equal}", answers[0], answers[1]);
    assert!(report.is_empty(), "{report}");
    assert_eq!(answers, [33, 275]);
}

const PIPELINE: &str = r#"
    profile: airflow-3.3
    assets:
      orders: "s3://lake/orders"
      refunds: "s3://lake/refunds"
    dags:
      plain:
        schedule: orders & refunds
        tasks: {t: {operator: BashOperator, bash_command: "echo {{ run_id }}"}}
      daily:
        schedule: {PartitionedAssetTimetable: {assets: orders & refunds, default_partition_mapper: StartOfDayMapper}}
        tasks: {t: {operator: BashOperator, bash_command: "echo {{ partition_key }}"}}
"#;

fn stored() -> (Project, Server) {
    let project = Project::new().file("shop/pipeline.yaml", PIPELINE);
    let server = Server::start(&project, &["shop", "--store", "queue.db"]);
    (project, server)
}

#[test]
fn a_stored_queue_over_both_apis() {
    let (project, server) = stored();
    let queue = || server.get("/api/v2/dags/plain/assets/queuedEvents");
    assert_eq!(queue().json()["total_entries"], 0);
    let posted = server.post("/api/v2/assets/events", &json!({"asset_id": 1, "extra": {"rows": 3}}));
    assert_eq!((posted.status, &posted.json()["asset_id"]), (200, &json!(1)), "{}", posted.body);
    assert_eq!(queue().json()["total_entries"], 1);
    // the command line sees the same file
    project
        .run(&["queue", "list", "--store", "queue.db", "--pipeline", "shop"])
        .success()
        .stdout_has("plain  orders queued");
    project.run(&["emit", "refunds", "--store", "queue.db", "--pipeline", "shop"]).success();
    assert_eq!(queue().json()["total_entries"], 2);

    let one = server.get("/api/v1/dags/plain/datasets/queuedEvent/s3%3A%2F%2Flake%2Forders");
    assert_eq!((one.status, &one.json()["uri"]), (200, &json!("s3://lake/orders")), "{}", one.body);
    let of_uri = server.get("/api/v1/datasets/queuedEvent/s3://lake/orders");
    assert_eq!((of_uri.status, &of_uri.json()["total_entries"]), (200, &json!(1)), "{}", of_uri.body);
    let deleted =
        ask(&server.address, "DELETE", "/api/v1/dags/plain/datasets/queuedEvent/s3%3A%2F%2Flake%2Forders", &[], None);
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    assert_eq!(queue().json()["total_entries"], 1);
    let posted = server.post("/api/v1/datasets/events", &json!({"dataset_uri": "s3://lake/orders"}));
    assert_eq!((posted.status, &posted.json()["id"]), (200, &json!(3)), "{}", posted.body);
    assert_eq!(queue().json()["total_entries"], 2);
    let deleted = ask(&server.address, "DELETE", "/api/v2/dags/plain/assets/queuedEvents", &[], None);
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert_eq!(queue().json()["total_entries"], 0);
}

#[test]
fn pending_partitions_and_events_that_stay() {
    let (_project, server) = stored();
    let emit = |events: Json| server.post("/api/what-if", &json!({"pipeline": "shop", "emit": events, "store": true}));
    // without `store` nothing is written
    let tried = server.post("/api/what-if", &json!({"pipeline": "shop", "emit": ["orders=2026-03-10T09:00:00"]}));
    assert_eq!((tried.status, &tried.json()["written"]), (200, &json!(false)), "{}", tried.body);
    assert_eq!(server.json("/api/partitions")["partitions"], json!([]));

    let written = emit(json!(["orders=2026-03-10T09:00:00"]));
    assert_eq!(written.status, 200, "{}", written.body);
    assert_eq!((&written.json()["written"], &written.json()["runs"]), (&json!(true), &json!([])));
    let partitions = server.json("/api/partitions");
    let pending = &partitions["partitions"][0];
    assert_eq!(
        (&pending["dag_id"], &pending["partition_key"]),
        (&json!("daily"), &json!("2026-03-10")),
        "{partitions}"
    );
    assert_eq!(pending["assets"][0]["received"][0]["key"], "2026-03-10T09:00:00");
    assert_eq!((&pending["assets"][1]["name"], &pending["assets"][1]["satisfied"]), (&json!("refunds"), &json!(false)));

    let made = emit(json!(["refunds=2026-03-10T10:00:00"])).json();
    assert_eq!(made["runs"][0]["partition_key"], "2026-03-10", "{made}");
    let rendered = server.json("/api/render?pipeline=shop&store=true&dag=daily&run=2026-03-10");
    assert_eq!(rendered["text"], "echo 2026-03-10");
    assert_eq!(server.json("/api/partitions")["partitions"], json!([]));
}

#[test]
fn without_a_store_there_is_no_queue() {
    let project = Project::new().file("shop/pipeline.yaml", PIPELINE);
    let server = Server::start(&project, &["shop"]);
    for target in ["/api/v2/assets/1/queuedEvents", "/api/v1/datasets/queuedEvent/x"] {
        let response = server.get(target);
        assert_eq!((response.status, &response.json()["error"]["kind"]), (409, &json!("no_store")), "{target}");
    }
    let written = server.post("/api/what-if", &json!({"emit": ["orders=1"], "store": true}));
    assert_eq!(written.status, 409, "{}", written.body);
}
