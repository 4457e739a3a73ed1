//! A real metadata database of Airflow 3.3.2 as a source: everything that it rendered is rendered again.

#![cfg(feature = "sqlite")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value as Json;
use support::{Project, Ran};

fn project() -> Project {
    Project::new().copy("tests/airflow-samples", "samples")
}

const DB: &str = "samples/airflow.db";

fn with_folders<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut all = args.to_vec();
    all.extend(["--dags-folder", "samples/dags", "--template-searchpath", "samples/dags/sql"]);
    all
}

#[test]
fn every_run_that_airflow_stored() {
    let ran = project().run(&with_folders(&["verify", "--db", DB])).success();
    ran.stdout("80 of 80 task instances render as Airflow stored them\n").stderr("");
}

#[test]
fn without_the_files_of_includes() {
    let ran = project().run(&["verify", "--db", DB]).code(1);
    let named = ran
        .stdout
        .lines()
        .filter(|line| line.contains("orders_day_consumer") || line.contains("__2026-11-29T"))
        .count();
    assert_eq!(named, 1 + 14, "{}", ran.stdout);
    ran.stdout_has("the file 'header.sql' is in no folder given")
        .stdout_has("66 of 80 task instances render as Airflow stored them (14 could not be compared)");
    let ran = project().run(&["verify", "--db", DB, "--format", "json"]).code(1);
    let document: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&document["total"], &document["equal"]), (&80.into(), &66.into()));
    assert_eq!(document["not_compared"].as_array().unwrap().len(), 14);
}

#[test]
fn one_dag() {
    let url = "sqlite:///samples/airflow.db";
    let ran = project().run(&["verify", "--db", url, "--dag", "orders_identity_consumer"]).success();
    ran.stdout_has(" of 27 ").stdout_has("27 of 27");
    let ran = project().run(&["verify", "--db", url, "--dag", "orders_identity"]).code(2);
    ran.stderr_has("`orders_identity_consumer`");
}

#[test]
fn what_differs_is_shown() {
    let project = project();
    edit(&project, |connection| {
        let changed = connection.execute(
            "UPDATE rendered_task_instance_fields SET rendered_fields = replace(rendered_fields, 'SUM(amount)', 'sum(cents)') \
             WHERE dag_id = 'orders_rollup_consumer'",
            [],
        );
        assert_eq!(changed.unwrap(), 1);
    });
    let ran = project.run(&with_folders(&["verify", "--db", DB])).code(1);
    ran.stdout_has("orders_rollup_consumer.rollup_day").stdout_has("sum(cents)").stdout_has("79 of 80");
}

/// Row 2 of the users' problems: `airflow tasks render` fails on a run that consumed an asset event.
#[test]
fn a_run_that_consumed_asset_events_renders() {
    let ran = project().run(&with_folders(&[
        "render",
        "--db",
        DB,
        "--dag",
        "orders_rollup_consumer",
        "--partition-key",
        "2026-11-03",
    ]));
    ran.success()
        .stdout_has("orders_rollup_consumer  2026-11-03   partition_date 2026-11-03 00:00 UTC")
        .stdout_has("24 events of orders_hourly");
    let project = project();
    let run_id = first(
        &project,
        "SELECT run_id FROM dag_run WHERE dag_id = 'orders_identity_consumer' AND partition_key = '2026-11-03T05:00:00'",
    );
    let ran = project.run(&[
        "render",
        "--db",
        DB,
        "--dag",
        "orders_identity_consumer",
        "--run-id",
        &run_id,
        "--task",
        "show",
    ]);
    ran.success().stdout_has("2026-11-03T05:00:00");
}

/// What templates of a run could read: the same values that its rendered text shows.
#[test]
fn the_context_of_a_run() {
    let run = ["--db", DB, "--dag", "orders_identity_consumer", "--partition-key", "2026-11-03T05:00:00"];
    let of = |args: &[&str]| -> Ran {
        let mut all = vec!["context"];
        all.extend(run);
        all.extend(args);
        project().run(&all)
    };
    of(&["--task", "show"])
        .success()
        .stdout_has("orders_identity_consumer.show  2026-11-03T05:00:00  asset_triggered__")
        .stdout_has("2026-11-03 05:00:00+00:00")
        .stdout_has("name='orders_hourly', uri='s3://lake/orders/hourly'")
        .stdout_has("use `partition_date | ds`");
    let ran = of(&["--name", "partition_key", "--format", "json"]).success();
    let documents: Json = serde_json::from_str(&ran.stdout).unwrap();
    let of_tasks = documents.as_array().unwrap().iter();
    let printed: Vec<(&str, &str)> =
        of_tasks.map(|of| (of["task_id"].as_str().unwrap(), of["context"][0]["printed"].as_str().unwrap())).collect();
    assert_eq!(printed, [("show", "2026-11-03T05:00:00"), ("uses_ds", "2026-11-03T05:00:00")]);
    let refused = |args: &[&str]| {
        let mut all = vec!["context"];
        all.extend(args);
        project().run(&all)
    };
    refused(&["--db", DB, "--dag", "orders_identity_consumer"]).code(2).stderr_has("which run?");
    refused(&["--db", DB, "--dag", "orders_identity_consumer", "--run-id", "x"]).code(2).stderr_has("no run of");
    refused(&["--run-id", "x"]).code(2).stderr_has("--db or --api");
}

#[test]
fn runs_that_are_not_there() {
    let of = |args: &[&str]| -> Ran {
        let mut all = vec!["render", "--db", DB];
        all.extend(args);
        project().run(&all)
    };
    of(&["--dag", "orders_day_consumer", "--run-id", "nothing"])
        .code(2)
        .stderr_has("there is no run of orders_day_consumer `nothing`");
    of(&["--dag", "orders_day_consumers", "--run-id", "nothing"])
        .code(2)
        .stderr_has("did you mean `orders_day_consumer`?");
    of(&["--dag", "orders_rollup_consumer", "--partition-key", "2026-11-06"])
        .code(3)
        .stderr_has("has no run of the partition \"2026-11-06\"")
        .stderr_has("waits for more events");
    of(&["--dag", "orders_day_consumer"]).code(2).stderr_has("which run?");
    of(&["--run-id", "x"]).code(2);
    of(&["--dag", "orders_day_consumer", "--run-id", "x", "--emit", "a=b"]).code(2);
    project().run(&["render", "--run-id", "x"]).code(2).stderr_has("--db or --api");
}

#[test]
fn what_waits() {
    let ran = project().run(&["resolve", "--db", DB]).success();
    ran.stdout_has("orders_rollup_consumer  2026-11-06")
        .stdout_has("1 of 24 keys")
        .stdout_has("missing  23 keys, \"2026-11-06T00:00:00\" to \"2026-11-06T23:00:00\"");
    let ran = project().run(&["resolve", "--db", DB, "--dag", "plain_daily"]).success();
    ran.stdout_has("nothing waits for more events");
}

#[test]
fn an_imported_folder_renders_the_same() {
    let project = project();
    project.run(&with_folders(&["import", "db", DB, "--out", "shop", "--runs", "1000"])).success();
    let ran = project.run(&["render", "shop", "--format", "json"]);
    let rendered: Json = serde_json::from_str(&ran.stdout).unwrap();
    let stored: Json = serde_json::from_str(&project.read("samples/rendered/rendered_fields.json")).unwrap();
    let text = rendered.to_string();
    let mut compared = 0;
    for row in stored.as_array().unwrap() {
        for (field, value) in row["rendered_fields"].as_object().unwrap() {
            if value.as_str().is_some_and(|text| text.contains('\n') || text.contains("key=")) {
                assert!(text.contains(&value.to_string()), "{}.{}.{field}\n{value}", row["dag_id"], row["task_id"]);
                compared += 1;
            }
        }
    }
    assert!(compared >= 70, "{compared}");
    project.run(&["import", "db", DB, "--out", "shop"]).code(3).stderr_has("shop is not empty");
}

/// Changes the copy of the database.
fn edit(project: &Project, change: impl FnOnce(&Connection)) {
    change(&Connection::open(project.path(DB)).unwrap());
}

fn first(project: &Project, sql: &str) -> String {
    Connection::open(project.path(DB)).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn values_that_are_encrypted() {
    let key = "cJd4aDGrBTxnbYYQbbXdmPzIzXC1ZzJnqLzAyz2Y0hE=";
    let fernet = fernet::Fernet::new(key).unwrap();
    let (token, password) = (fernet.encrypt(b"lake-prod"), fernet.encrypt(b"pass-w0rd"));
    let project = project().raw(
        "pipeline/pipeline.yaml",
        "dags:\n  plain_daily:\n    schedule: '@daily'\n    tasks:\n      show: {operator: BashOperator, bash_command: 'echo {{ var.value.bucket }} {{ var.value.get(\"other\", \"none\") }} {{ conn.warehouse.host }}'}\n",
    );
    edit(&project, |connection| {
        connection
            .execute("INSERT INTO variable (id, key, val, is_encrypted) VALUES (1, 'bucket', ?1, 1)", [&token])
            .unwrap();
        connection
            .execute(
                "INSERT INTO connection (id, conn_id, conn_type, host, password, is_encrypted, is_extra_encrypted) \
                 VALUES (1, 'warehouse', 'postgres', 'db.example', ?1, 1, 0)",
                [&password],
            )
            .unwrap();
    });
    let run_id = first(&project, "SELECT run_id FROM dag_run WHERE dag_id = 'plain_daily'");
    let args = ["render", "pipeline", "--db", DB, "--dag", "plain_daily", "--run-id", &run_id];
    project
        .run(&args)
        .code(1)
        .stdout_has("variable `bucket` is encrypted, and no Fernet key is given")
        .stdout_has("AIRFLOW__CORE__FERNET_KEY");
    let other = "3nlMLVHDIVpc0WXDcZ4IDkZ5rXN6NS3MWMZGwBzTrpU=";
    let project = project.env("AIRFLOW__CORE__FERNET_KEY", other);
    project.run(&args).code(1).stdout_has("variable `bucket` is encrypted with another Fernet key");
    let project = project.env("AIRFLOW__CORE__FERNET_KEY", &format!("{other},{key}"));
    project.run(&args).success().stdout_has("| echo lake-prod none db.example");
    let project = project.env("AIRFLOW__CORE__FERNET_KEY", "nonsense");
    let ran = project.run(&args).code(3);
    assert!(ran.stderr.contains("is not one") && !ran.stderr.contains("nonsense"), "{}", ran.stderr);
}

/// Runs `verify` on a database that is none; the error must come in seconds and nothing may be printed besides.
fn refused(project: &Project, url: &str, expected: &str) {
    let started = Instant::now();
    let ran = project.run(&["verify", "--db", url]).code(3);
    assert!(started.elapsed() < Duration::from_secs(12), "{url}: {:?}", started.elapsed());
    assert_eq!(ran.stdout, "", "{url}");
    assert!(ran.stderr.contains(expected), "{url}: {}", ran.stderr);
    assert!(!ran.stderr.contains("s3cret"), "{url}: {}", ran.stderr);
}

#[test]
fn databases_that_are_none() {
    let project = project().raw("text.db", "no database").raw("empty.db", "");
    refused(&project, "text.db", "text.db is not a SQLite database");
    refused(&project, "empty.db", "it has no tables");
    refused(&project, "missing.db", "there is no such file");
    refused(&project, "samples", "is a folder");
    Connection::open(project.path("other.db")).unwrap().execute_batch("CREATE TABLE x (a)").unwrap();
    refused(&project, "other.db", "is not a metadata database of Airflow");
    let whole = std::fs::read(project.path(DB)).unwrap();
    std::fs::write(project.path("cut.db"), &whole[..whole.len() / 3]).unwrap();
    refused(&project, "cut.db", "damaged or cut");
    for (revision, of) in [("5f2621c13b39", " of Airflow 2.10"), ("0123456789ab", "")] {
        edit(&project, |connection| {
            connection.execute("UPDATE alembic_version SET version_num = ?1", [revision]).unwrap();
        });
        refused(&project, DB, &format!("has the schema revision {revision:?}{of}, which is not read"));
    }
    refused(&project, "mysql://root:s3cret@host/airflow", "MySQL");
    refused(&project, "postgresql://airflow:s3cret/x@host/airflow", "no number");
}

#[cfg(feature = "postgres")]
#[test]
fn servers_that_are_none() {
    let project = project();
    refused(&project, "postgresql+psycopg2://airflow:s3cret@127.0.0.1:1/airflow", "Connection refused");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgresql://airflow:s3cret@{}/airflow?connect_timeout=1", listener.local_addr().unwrap());
    refused(&project, &url, "no answer within 6 s");
}

#[test]
fn a_database_in_use() {
    let project = project();
    // Write-ahead mode: what a writer has not committed is not seen, and nobody waits for anybody.
    let writer = Connection::open(project.path(DB)).unwrap();
    writer
        .execute_batch("PRAGMA journal_mode = wal; BEGIN IMMEDIATE; DELETE FROM rendered_task_instance_fields")
        .unwrap();
    project.run(&with_folders(&["verify", "--db", DB])).success().stdout_has("80 of 80");
    writer.execute_batch("ROLLBACK; PRAGMA journal_mode = delete; BEGIN EXCLUSIVE").unwrap();
    refused(&project, DB, "is locked");
}

#[test]
fn a_database_is_never_written() {
    let project = project();
    let before = std::fs::read(project.path(DB)).unwrap();
    let path = project.path(DB);
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).unwrap();
    project.run(&with_folders(&["verify", "--db", DB])).success();
    project.run(&["resolve", "--db", DB]).success();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(!project.path("samples/airflow.db-journal").exists());
}

/// What has a sensitive name in the conf of a run is written as `***`, at any depth; the author can ask for it.
#[test]
fn secrets_in_conf_are_not_written() {
    let project = project();
    edit(&project, |connection| {
        let conf = r#"{"password": "hunter2hunter2", "x": {"api_key": ["kkkkkkkk"], "limit": 5}, "plain": "shown"}"#;
        connection.execute("UPDATE dag_run SET conf = ?1", [conf]).unwrap();
    });
    let written = |out: &str| -> String {
        let files = project.tree(out).into_iter().filter(|file| file.contains("scenarios/"));
        files.map(|file| project.read(&format!("{out}/{file}"))).collect()
    };
    let ran = project.run(&with_folders(&["import", "db", DB, "--out", "masked"])).success();
    ran.stderr_has("written as ***").stderr_has("`conf` of runs: api_key, password");
    let text = written("masked");
    assert!(!text.contains("hunter2") && !text.contains("kkkkkkkk"), "{text}");
    assert!(text.contains("***") && text.contains("shown") && text.contains("limit"), "{text}");
    project.run(&with_folders(&["import", "db", DB, "--out", "whole", "--with-secrets"])).success();
    let text = written("whole");
    assert!(text.contains("hunter2hunter2") && text.contains("kkkkkkkk"), "{text}");
}

/// A writer that was killed leaves a journal: until it is rolled back, the file holds rows that nobody committed.
#[test]
fn a_database_with_a_journal() {
    let project = project();
    let writer = Connection::open(project.path(DB)).unwrap();
    writer
        .execute_batch(
            "PRAGMA journal_mode = delete; PRAGMA cache_size = 1; BEGIN IMMEDIATE; \
             UPDATE dag_run SET partition_key = 'never committed', conf = hex(zeroblob(20000))",
        )
        .unwrap();
    for name in ["", "-journal"] {
        std::fs::copy(project.path(&format!("{DB}{name}")), project.path(&format!("killed.db{name}"))).unwrap();
    }
    drop(writer);
    let before = std::fs::read(project.path("killed.db")).unwrap();
    let ran =
        project.run(&["context", "--db", "killed.db", "--dag", "orders_identity_consumer", "--partition-key", "x"]);
    ran.code(3).stderr_has("killed.db-journal").stderr_has("help:");
    assert_eq!(std::fs::read(project.path("killed.db")).unwrap(), before);
}
