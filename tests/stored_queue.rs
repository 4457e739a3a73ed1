//! `partita emit`, `tick`, `queue`, and rendering what a stored queue holds.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]
#![cfg(feature = "sqlite")]

mod support;

use serde_json::Value as Json;
use support::Project;

fn project() -> Project {
    Project::new().file(
        "pipeline.yaml",
        r#"
        assets: {orders: "s3://lake/orders"}
        dags:
          daily:
            schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfDayMapper}}
            tasks: {report: {operator: BashOperator, bash_command: "echo {{ partition_key }} {{ partition_date | ds }}"}}
          plain: {schedule: orders, tasks: {t: {operator: BashOperator, bash_command: "echo {{ run_id }}"}}}
        "#,
    )
}

const AT: [&str; 6] = ["--store", "q.db", "--pipeline", ".", "--at", "2026-03-10T12:00:00Z"];

fn with(head: &[&'static str]) -> Vec<&'static str> {
    head.iter().chain(&AT).copied().collect()
}

#[test]
fn a_queue_lives_across_invocations() {
    let project = project();
    project.run(&with(&["emit", "orders", "--partition-key", "2026-03-10T09:00:00"])).success().stdout(
        r#"
            event #1  orders "2026-03-10T09:00:00"
              plain: not partitioned, an event with a key does not queue it
              daily: pending run "2026-03-10", new
            "#,
    );
    project.run(&with(&["emit", "orders"])).success();
    let listed = project.run(&with(&["queue", "list"])).success().stdout;
    assert!(listed.contains("daily  \"2026-03-10\"") && listed.contains("plain  orders queued since"), "{listed}");
    let ticked = project.run(&with(&["tick", "--json"])).success().stdout;
    let runs: Json = serde_json::from_str(&ticked).expect("JSON");
    let made: Vec<&str> =
        runs["runs"].as_array().expect("runs").iter().filter_map(|run| run["dag_id"].as_str()).collect();
    assert_eq!(made, ["daily", "plain"]);
    project.run(&with(&["queue", "list"])).success().stdout("nothing is queued\n");
    project.run(&with(&["tick"])).success().stdout("no run\n");

    let rendered = project.run(&["render", ".", "--store", "q.db", "--format", "jsonl", "--dag", "daily"]).success();
    assert!(rendered.stdout.contains("echo 2026-03-10 2026-03-10"), "{}", rendered.stdout);
}

#[test]
fn what_is_queued_can_be_deleted() {
    let project = project();
    project.run(&with(&["emit", "orders", "--partition-key", "2026-03-10T09:00:00"])).success();
    project.run(&with(&["emit", "orders"])).success();
    project.run(&with(&["queue", "delete", "--dag", "daily", "--partition-key", "2026-03-11"])).code(1);
    project
        .run(&with(&["queue", "delete", "--dag", "daily", "--partition-key", "2026-03-10"]))
        .success()
        .stdout("daily: 0 queued assets and 1 pending partition runs deleted\n");
    project
        .run(&with(&["queue", "delete", "--dag", "plain", "--asset", "orders"]))
        .success()
        .stdout("plain: 1 queued assets and 0 pending partition runs deleted\n");
    project.run(&with(&["tick"])).success().stdout("no run\n");
    let unknown = project.run(&with(&["queue", "delete", "--dag", "dayly"])).code(2);
    assert!(unknown.stderr.contains("did you mean `daily`?"), "{}", unknown.stderr);
}

#[test]
fn every_line_is_answered() {
    let project = project().stdin(
        "{\"id\": 1, \"asset\": \"orders\", \"partition_key\": \"2026-03-10T09:00:00\"}\n\
         {\"id\": 2, \"asset\": \"nothing\"}\n\
         not JSON\n\
         {\"id\": 4, \"asset\": \"s3://lake/orders\", \"extra\": {\"rows\": 12345678901234567890123}}\n\
         {\"id\": 5, \"asset\": \"orders\", \"partition_key\": 20260310}\n",
    );
    let answers = project.run(&with(&["emit", "--jsonl"])).success().stdout;
    let answers: Vec<Json> = answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let event = |index: usize| answers[index]["ok"]["event"].as_i64();
    assert_eq!((event(0), event(3)), (Some(1), Some(2)));
    assert_eq!(answers[1]["error"]["kind"], "NotFound");
    assert_eq!(answers[2]["id"], Json::Null);
    assert_eq!(answers[4]["error"]["kind"], "TypeError");
}

#[test]
fn rendering_does_not_touch_the_file() {
    let project = project();
    project.run(&with(&["emit", "orders"])).success();
    let before = project.run(&with(&["queue", "list", "--json"])).success().stdout;
    let moved = project.file(
        "pipeline.yaml",
        r#"
        assets: {orders: "s3://lake/orders", more: "s3://lake/more"}
        dags:
          new: {schedule: more, tasks: {t: {}}}
          plain: {schedule: orders, tasks: {t: {}}}
        "#,
    );
    moved.run(&["resolve", ".", "--store", "q.db"]).success();
    let store = partita::schedule::SqliteStore::open(&moved.path("q.db")).expect("a store");
    let names: Vec<String> =
        partita::schedule::Store::assets(&store).expect("read").into_iter().map(|row| row.key.name).collect();
    assert_eq!(names, ["orders"], "{before}");
}

#[test]
fn who_only_reads_makes_no_queue() {
    let project = project();
    for args in [&["queue", "list"][..], &["queue", "delete", "--dag", "daily"]] {
        project.run(&with(args)).code(3).stderr_has("there is no stored queue q.db");
    }
    assert!(project.tree(".").iter().all(|path| !path.contains("q.db")));
}

#[test]
fn a_time_before_what_is_stored_is_noted() {
    let project = project();
    project.run(&with(&["emit", "orders"])).success().stderr("");
    let early = ["emit", "orders", "--store", "q.db", "--pipeline", ".", "--at", "2026-03-09T00:00:00Z"];
    project.run(&early).success().stderr_has("note: --at lies before what the queue holds");
}

/// A file that is somebody else's is left as it is, however short.
#[test]
fn files_of_others() {
    let project = Project::new().copy("templates/player_stats", "p");
    let emit = |store: &str| {
        project.run(&[
            "emit",
            "team_a_player_stats",
            "--partition-key",
            "2026-03-10T09:00:00",
            "--pipeline",
            "p",
            "--store",
            store,
        ])
    };
    for text in ["x", "\n", "no store", &"SQLite format 3".repeat(20)] {
        std::fs::write(project.path("other"), text).unwrap();
        emit("other").code(3).stderr_has("other");
        project.run(&["tick", "--pipeline", "p", "--store", "other"]).code(3).stderr_has("other");
        assert_eq!(project.read("other"), text);
    }
    rusqlite::Connection::open(project.path("versioned.db")).unwrap().execute_batch("PRAGMA user_version = 7").unwrap();
    let before = std::fs::read(project.path("versioned.db")).unwrap();
    emit("versioned.db").code(3).stderr_has("no store of partita's");
    assert_eq!(std::fs::read(project.path("versioned.db")).unwrap(), before);
    // An empty file is nobody's: `mktemp` makes such.
    std::fs::write(project.path("empty.db"), "").unwrap();
    emit("empty.db").success();
    emit("empty.db").success();
}
