//! The REST API as a source: the bodies of a real Airflow 3.3.2, served by a tiny server, and answers that are none.

#![cfg(feature = "api")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value as Json, json};
use support::Project;

/// A request: method, path with query, and the token.
struct Request {
    method: String,
    path: String,
    token: Option<String>,
    body: String,
}

/// A server on loopback that answers with what `answer` writes.
fn serve(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                let mut words = line.split_whitespace();
                let mut request = Request {
                    method: words.next().unwrap_or_default().to_owned(),
                    path: words.next().unwrap_or_default().to_owned(),
                    token: None,
                    body: String::new(),
                };
                let mut length = 0;
                loop {
                    let mut header = String::new();
                    reader.read_line(&mut header).unwrap();
                    let Some((name, value)) = header.trim_end().split_once(": ") else { break };
                    match name.to_ascii_lowercase().as_str() {
                        "authorization" => request.token = value.strip_prefix("Bearer ").map(str::to_owned),
                        "content-length" => length = value.parse().unwrap(),
                        _ => {}
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                request.body = String::from_utf8(body).unwrap();
                answer(&request, &mut stream);
            });
        }
    });
    url
}

fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let kind = if body.starts_with('<') { "text/html" } else { "application/json" };
    let length = body.len();
    // A client that gave up is no failure of the server.
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n{body}"
    );
}

fn rest() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/airflow-samples/rest")
}

/// Every `KIND.NAME.json`: the name and the body.
fn named(kind: &str) -> Vec<(String, Json)> {
    let name = |path: &Utf8Path| {
        let name = path.file_name()?.strip_prefix(kind)?.strip_prefix('.')?.strip_suffix(".json")?;
        Some(name.to_owned())
    };
    let mut found: Vec<(String, Json)> = rest()
        .read_dir_utf8()
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path().to_owned();
            let body = || serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            name(&path).map(|name| (name, body()))
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// The bodies of every `KIND.*.json`.
fn bodies(kind: &str) -> Vec<Json> {
    named(kind).into_iter().map(|(_, body)| body).collect()
}

/// What an API server over the sample database answers, as far as its bodies are there.
fn sample(request: &Request) -> (&'static str, Json) {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8().unwrap().into_owned();
    let parts: Vec<&str> = decoded.trim_start_matches('/').split('/').collect();
    if parts == ["auth", "token"] {
        let asked: Json = serde_json::from_str(&request.body).unwrap_or_default();
        return match (request.method.as_str(), asked["password"].as_str()) {
            ("POST", Some("right")) => ("201 Created", json!({"access_token": "the-token"})),
            _ => ("401 Unauthorized", json!({"detail": "Invalid credentials"})),
        };
    }
    if parts[2..] == ["version"] {
        return ("200 OK", json!({"version": "3.3.2", "git_version": null}));
    }
    if request.token.as_deref() != Some("the-token") {
        return ("401 Unauthorized", json!({"detail": "Not authenticated"}));
    }
    let offset: usize = query.split('&').find_map(|pair| pair.strip_prefix("offset=")?.parse().ok()).unwrap_or(0);
    // Pages of two: that they are put together shows.
    let page = |name: &str, items: Vec<Json>| {
        let total = items.len();
        let items: Vec<Json> = items.into_iter().skip(offset).take(2).collect();
        ("200 OK", json!({name: items, "total_entries": total}))
    };
    let list = |file: &str, items: &str| -> Vec<Json> {
        let body: Json = serde_json::from_str(&std::fs::read_to_string(rest().join(file)).unwrap()).unwrap();
        body[items].as_array().unwrap().clone()
    };
    let runs = || bodies("dagRun");
    match parts[2..] {
        ["dags"] => {
            let mut ids: Vec<String> = runs().iter().map(|run| run["dag_id"].as_str().unwrap().to_owned()).collect();
            ids.dedup();
            page("dags", ids.into_iter().map(|id| json!({"dag_id": id})).collect())
        }
        ["variables" | "connections"] => page(parts[2], Vec::new()),
        ["assets"] => page("assets", list("assets.json", "assets")),
        ["assets", "events"] => page("asset_events", list("assetEvents.json", "asset_events")),
        ["dags", dag_id, "dagRuns"] => {
            page("dag_runs", runs().into_iter().filter(|run| run["dag_id"] == dag_id).collect())
        }
        ["dags", _, "dagRuns", run_id] => match runs().into_iter().find(|run| run["dag_run_id"] == run_id) {
            Some(run) => ("200 OK", run),
            None => ("404 Not Found", json!({"detail": "The DagRun was not found"})),
        },
        ["dags", dag_id, "dagRuns", run_id, "upstreamAssetEvents"] => {
            // An event lists every run it made: the body of a run is the one of the same file name.
            let runs = named("dagRun").into_iter();
            let name = runs
                .filter(|(_, run)| run["dag_run_id"] == run_id && run["dag_id"] == dag_id)
                .map(|(name, _)| name)
                .next();
            let events = named("upstreamAssetEvents").into_iter().find(|(body, _)| Some(body) == name.as_ref());
            let events = events.map(|(_, body)| body);
            ("200 OK", events.unwrap_or_else(|| json!({"asset_events": [], "total_entries": 0})))
        }
        ["dags", _, "dagRuns", run_id, "taskInstances"] => {
            page("task_instances", bodies("taskInstance").into_iter().filter(|ti| ti["dag_run_id"] == run_id).collect())
        }
        ["dags", _, "dagRuns", _, "taskInstances", "~", "xcomEntries"] => page("xcom_entries", Vec::new()),
        _ => ("404 Not Found", json!({"detail": "Not Found"})),
    }
}

fn sample_server() -> String {
    serve(|request, stream| {
        let (status, body) = sample(request);
        reply(stream, status, "", &body.to_string());
    })
}

fn project() -> Project {
    Project::new()
        .copy("tests/airflow-samples/dags", "dags")
        .copy("tests/airflow-samples/serialized_dag", "serialized")
        .env("AIRFLOW_API_USERNAME", "admin")
        .env("AIRFLOW_API_PASSWORD", "right")
}

const FOLDERS: [&str; 6] = ["--serialized", "serialized", "--dags-folder", "dags", "--template-searchpath", "dags/sql"];

#[test]
fn every_run_whose_bodies_are_there() {
    let url = sample_server();
    let project = project();
    let mut compared = 0;
    for run in bodies("dagRun") {
        let (dag_id, run_id) = (run["dag_id"].as_str().unwrap(), run["dag_run_id"].as_str().unwrap());
        let mut args = vec!["render", "--api", &url, "--dag", dag_id, "--run-id", run_id, "--format", "json"];
        args.extend(FOLDERS);
        let ran = project.run(&args);
        let document: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        let stored: Json =
            serde_json::from_str(&std::fs::read_to_string(rest().join("../rendered/rendered_fields.json")).unwrap())
                .unwrap();
        for row in stored.as_array().unwrap().iter().filter(|row| row["run_id"] == run_id && row["dag_id"] == dag_id) {
            let text = document.to_string();
            for (field, value) in row["rendered_fields"].as_object().unwrap() {
                if let Some(value) = value.as_str() {
                    assert!(text.contains(&Json::from(value).to_string()), "{run_id}.{field}: {value}\n{text}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 8, "{compared}");
}

/// Every run has a context, with the key that the API tells.
#[test]
fn contexts_of_runs() {
    let url = sample_server();
    let project = project();
    for run in bodies("dagRun") {
        let (dag_id, run_id) = (run["dag_id"].as_str().unwrap(), run["dag_run_id"].as_str().unwrap());
        let mut args = vec!["context", "--api", &url, "--dag", dag_id, "--run-id", run_id];
        args.extend(["--name", "partition_key", "--name", "run_id", "--format", "json"]);
        args.extend(FOLDERS);
        let ran = project.run(&args).success();
        let documents: Json = serde_json::from_str(&ran.stdout).unwrap();
        for context in documents.as_array().unwrap().iter().map(|task| task["context"].as_array().unwrap()) {
            let printed = |name: &str| &context.iter().find(|entry| entry["name"] == name).unwrap()["printed"];
            assert_eq!(printed("run_id"), run_id);
            assert_eq!(printed("partition_key"), run["partition_key"].as_str().unwrap_or("None"), "{run_id}");
        }
        assert!(!documents.as_array().unwrap().is_empty(), "{run_id}");
    }
}

#[test]
fn verified_through_the_api() {
    let url = sample_server();
    let mut args = vec!["verify", "--api", &url];
    args.extend(FOLDERS);
    project().run(&args).success().stdout_has("7 of 7 task instances render as Airflow stored them");
}

/// Runs `verify --api` against answers that are none; the error must come in seconds and print nothing on standard output.
fn refused(name: &str, url: &str, timeout: &str, expected: &str) {
    let started = Instant::now();
    let ran = project().run(&["verify", "--api", url, "--serialized", "serialized", "--timeout", timeout]);
    assert!(started.elapsed() < Duration::from_secs(15), "{name}: {:?}", started.elapsed());
    assert_eq!(ran.code, 3, "{name}: {}", ran.stderr);
    assert_eq!(ran.stdout, "", "{name}");
    assert!(ran.stderr.contains(expected), "{name}: {}", ran.stderr);
    assert!(!ran.stderr.contains("right"), "{name}: {}", ran.stderr);
}

/// A server that answers requests of one path its own way and all others as the sample does.
fn broken(path: &'static str, answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> String {
    serve(move |request, stream| match request.path.split('?').next() == Some(path) {
        true => answer(stream),
        false => {
            let (status, body) = sample(request);
            reply(stream, status, "", &body.to_string());
        }
    })
}

#[test]
fn answers_that_are_none() {
    let variables = "/api/v2/variables";
    let cut = broken(variables, |stream| {
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{{\"variables\": [{{"
        );
    });
    refused("cut", &cut, "5", "the answer is no JSON, or cut");
    let html = broken(variables, |stream| reply(stream, "200 OK", "", "<html>please log in</html>"));
    refused("html", &html, "5", "HTML in place of JSON");
    let gone = broken(variables, |stream| reply(stream, "404 Not Found", "", r#"{"detail": "Not Found"}"#));
    refused("404", &gone, "5", "HTTP 404 (Not Found)");
    let forbidden =
        broken("/api/v2/version", |stream| reply(stream, "403 Forbidden", "", r#"{"detail": "Forbidden"}"#));
    refused("403", &forbidden, "5", "HTTP 403 (Forbidden)");
    let redirected = broken(variables, |stream| reply(stream, "302 Found", "Location: /api/v2/variables\r\n", ""));
    refused("redirects", &redirected, "5", "redirects more than 5 times");
    let list = broken(variables, |stream| reply(stream, "200 OK", "", r#"{"items": []}"#));
    refused("another API", &list, "5", "holds no list `variables`");
    let silent = broken(variables, |_| std::thread::sleep(Duration::from_secs(20)));
    refused("slow", &silent, "2", "no answer in time");
    let old = broken("/api/v2/version", |stream| reply(stream, "200 OK", "", r#"{"version": "2.10.5"}"#));
    refused("old", &old, "5", "is Airflow 2.10.5");
}

#[test]
fn a_body_without_end() {
    let url = broken("/api/v2/variables", |stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[");
        let block = vec![b' '; 1 << 20];
        for _ in 0..200 {
            if stream.write_all(&block).is_err() {
                return;
            }
        }
    });
    refused("200 MB", &url, "10", "has more than 64 MB");
}

#[test]
fn overload_passes() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let url = broken("/api/v2/variables", |stream| match ASKED.fetch_add(1, Ordering::SeqCst) {
        0 => reply(stream, "429 Too Many Requests", "Retry-After: 1\r\n", r#"{"detail": "slow down"}"#),
        1 => reply(stream, "503 Service Unavailable", "", "<html>busy</html>"),
        _ => reply(stream, "200 OK", "", r#"{"variables": [], "total_entries": 0}"#),
    });
    let mut args = vec!["verify", "--api", &url];
    args.extend(FOLDERS);
    project().run(&args).success();
    assert_eq!(ASKED.load(Ordering::SeqCst), 3);
    let busy = broken("/api/v2/variables", |stream| reply(stream, "503 Service Unavailable", "", "{}"));
    refused("busy", &busy, "5", "HTTP 503 (4 tries)");
}

#[test]
fn a_wrong_password() {
    let url = sample_server();
    let ran =
        project().env("AIRFLOW_API_PASSWORD", "wr0ng").run(&["verify", "--api", &url, "--serialized", "serialized"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("the user name or password is wrong"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("wr0ng"));
    let ran =
        project().env("AIRFLOW_API_TOKEN", "expired").run(&["verify", "--api", &url, "--serialized", "serialized"]);
    assert!(ran.stderr.contains("HTTP 401 (Not authenticated)"), "{}", ran.stderr);
    let ran = project().run(&["verify", "--api", "http://127.0.0.1:1", "--serialized", "serialized"]);
    assert!(ran.stderr.contains("Connection refused"), "{}", ran.stderr);
}

#[test]
fn values_that_the_api_masks() {
    let url = serve(|request, stream| {
        let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
        match path {
            "/api/v2/variables" => reply(
                stream,
                "200 OK",
                "",
                r#"{"variables": [{"key": "api_token", "value": "***"}, {"key": "plain", "value": "v"}], "total_entries": 2}"#,
            ),
            _ => {
                let (status, body) = sample(request);
                reply(stream, status, "", &body.to_string());
            }
        }
    });
    let run = bodies("dagRun").into_iter().find(|run| run["dag_id"] == "plain_daily").unwrap();
    let ran = project()
        .file(
            "p/pipeline.yaml",
            "dags:\n  plain_daily:\n    schedule: '@daily'\n    tasks:\n      a: {operator: BashOperator, bash_command: 'echo {{ var.value.plain }}'}\n      b: {operator: BashOperator, bash_command: 'echo {{ var.value.api_token }}'}\n",
        )
        .run(&[
            "render",
            "p",
            "--api",
            &url,
            "--dag",
            "plain_daily",
            "--run-id",
            run["dag_run_id"].as_str().unwrap(),
        ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("| echo v"), "{}", ran.stdout);
    assert!(ran.stdout.contains("variable `api_token` is masked by the API"), "{}", ran.stdout);
}

/// More runs than a page holds are taken, and of the Dags that are named no others.
#[test]
fn imported_page_after_page() {
    let of = |number: usize| {
        let mut run = bodies("dagRun").into_iter().find(|run| run["dag_id"] == "plain_daily").unwrap();
        run["dag_run_id"] = format!("run_{number}").into();
        run
    };
    let url = serve(move |request, stream| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let offset: usize = query.split('&').find_map(|pair| pair.strip_prefix("offset=")?.parse().ok()).unwrap_or(0);
        let body = match path.strip_prefix("/api/v2/dags/plain_daily/dagRuns") {
            Some("") => {
                let page: Vec<Json> = (1..=5).rev().skip(offset).take(2).map(of).collect();
                json!({"dag_runs": page, "total_entries": 5})
            }
            Some(rest) if rest.ends_with("/taskInstances") => json!({"task_instances": [], "total_entries": 0}),
            Some(rest) if rest.ends_with("/xcomEntries") => json!({"xcom_entries": [], "total_entries": 0}),
            Some(rest) => of(rest.trim_start_matches("/run_").parse().unwrap()),
            None => sample(request).1,
        };
        reply(stream, "200 OK", "", &body.to_string());
    });
    let project = project();
    let mut args = vec!["import", "api", &url, "--dag", "plain_daily", "--runs", "4", "--out", "p"];
    args.extend(FOLDERS);
    project.run(&args).success();
    let dags = project.read("p/pipeline.yaml");
    assert!(dags.contains("plain_daily:") && !dags.contains("_consumer:"), "{dags}");
    let runs = project.read("p/scenarios/plain_daily.yaml");
    let taken: Vec<bool> = (1..=5).map(|number| runs.contains(&format!("run_{number}"))).collect();
    assert_eq!(taken, [false, true, true, true, true], "{runs}");
    args[4] = "plain_dail";
    project.run(&args).code(2).stderr_has("`plain_daily`");
}
