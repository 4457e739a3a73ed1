//! The preview's JSON API and its page over real sockets: what it answers, that it follows the files, and whom it refuses.
#![cfg(feature = "preview")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use support::Project;
use support::preview::{Server, ask, read};

fn samples() -> (Project, Server) {
    let project = Project::new().copy("templates", "templates").copy("snapshots", "snapshots");
    let server = Server::start(&project, &[]);
    (project, server)
}

const COMBINE: &str = "pipeline=player_stats&scenario=one_hour&dag=combine&task=combine_stats&field=sql";

#[test]
fn what_there_is_to_choose_from() {
    let (_project, server) = samples();
    let all = server.json("/api/pipelines");
    let pipelines = all["pipelines"].as_array().unwrap();
    let names: Vec<&str> = pipelines.iter().map(|pipeline| pipeline["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"player_stats") && names.contains(&"models"), "{names:?}");
    let stats = pipelines.iter().find(|pipeline| pipeline["name"] == "player_stats").unwrap();
    let scenario = stats["scenarios"].as_array().unwrap().iter().find(|one| one["name"] == "one_hour").unwrap();
    let run = scenario["runs"].as_array().unwrap().iter().find(|run| run["dag_id"] == "combine").unwrap();
    assert_eq!(run["partition_key"], "2026-03-10T09");
    assert_eq!(run["partition_date"], "2026-03-10T09:00:00+00:00");
    assert_eq!(run["triggering_events"].as_array().unwrap().len(), 2);
    let dag = stats["dags"].as_array().unwrap().iter().find(|dag| dag["dag_id"] == "combine").unwrap();
    assert_eq!(dag["tasks"][0]["fields"][0], json!({"name": "sql", "given": true}));
}

#[test]
fn a_field_with_its_templates_and_lines() {
    let (project, server) = samples();
    let rendered = server.json(&format!("/api/render?{COMBINE}"));
    let text = rendered["text"].as_str().unwrap();
    let printed = project.run(&[
        "render",
        "templates/player_stats",
        "--scenario",
        "one_hour",
        "--dag",
        "combine",
        "--task",
        "combine_stats",
        "--field",
        "sql",
        "--format",
        "jsonl",
    ]);
    let line: Json = serde_json::from_str(printed.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(line["value"], text);
    assert_eq!(rendered["html"].as_array().unwrap().len(), text.split('\n').count());
    assert_eq!(rendered["language"], "sql");
    let templates = rendered["templates"].as_array().unwrap();
    let paths: Vec<&str> = templates.iter().map(|template| template["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["templates/player_stats/sql/combine.sql", "templates/player_stats/sql/_hours.sql"]);
    // the line with the macro's text comes from both files; the map and the way back agree
    let at = text.split('\n').position(|line| line.contains("staging.team_a")).unwrap();
    assert_eq!(rendered["map"][at], json!([{"template": 0, "line": 8}, {"template": 1, "line": 3}]));
    for (line, places) in rendered["map"].as_array().unwrap().iter().enumerate() {
        for place in places.as_array().into_iter().flatten() {
            let (template, of) = (place["template"].as_u64().unwrap(), place["line"].as_u64().unwrap());
            let back = rendered["back"][template as usize][of as usize - 1].as_array().unwrap();
            assert!(back.contains(&json!(line + 1)), "{line}: {places}");
        }
    }
    assert_eq!(rendered["error"], Json::Null);
    let inline = server.json("/api/render?pipeline=player_stats&scenario=one_hour&dag=combine&task=export&field=env");
    assert_eq!(inline["value"], json!({"REGION": "eu"}));
    assert_eq!((&inline["language"], &inline["templates"][0]["name"]), (&json!("yaml"), &json!("env.REGION")));
    assert_eq!(inline["map"], json!([[{"template": 0, "line": 1}]]));
}

/// Every field of every run of every sample: the text is what the command line prints, and most lines have an origin.
#[test]
fn every_sample_is_shown_as_it_is_rendered() {
    let (project, server) = samples();
    let printed = project.run(&["render", "--format", "jsonl"]);
    let (mut fields, mut lines, mut known) = (0, 0, 0);
    for line in printed.stdout.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap();
        let encode =
            |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        let mut target = format!(
            "/api/render?pipeline={}&scenario={}&dag={}&run={}&task={}&field={}",
            text("pipeline"),
            text("scenario"),
            text("dag_id"),
            encode(text("run_id")),
            text("task_id"),
            text("field"),
        );
        if line["map_index"] != -1 {
            target.push_str(&format!("&map_index={}", line["map_index"]));
        }
        let shown = server.json(&target);
        fields += 1;
        if let Some(error) = line.get("error") {
            assert_eq!(
                (&shown["error"]["kind"], &shown["error"]["message"]),
                (&error["kind"], &error["message"]),
                "{target}"
            );
            continue;
        }
        match line.get("value") {
            Some(Json::String(value)) => assert_eq!(shown["text"], *value, "{target}"),
            Some(value) => assert_eq!(shown["value"], *value, "{target}"),
            None => assert_eq!(shown["repr"], line["repr"], "{target}"),
        }
        if shown["rendered"] == true {
            let count = shown["text"].as_str().unwrap().split('\n').count();
            lines += count;
            known += shown["map"].as_array().map_or(0, |map| map.iter().filter(|places| !places.is_null()).count());
        }
    }
    println!("{fields} fields, {known} of {lines} lines with an origin");
    assert!(fields > 100 && known * 100 >= lines * 90, "{known} of {lines}");
}

#[test]
fn context_explanation_graph_and_comparisons() {
    let (project, server) = samples();
    let context = server.json("/api/context?pipeline=player_stats&scenario=one_hour&dag=combine&task=export");
    let names = context["names"].as_array().unwrap();
    let name = |name: &str| names.iter().find(|entry| entry["name"] == name).unwrap();
    assert_eq!(
        (&name("partition_key")["printed"], &name("partition_key")["type"]),
        (&json!("2026-03-10T09"), &json!("str"))
    );
    assert_eq!((&name("ds")["defined"], &name("run_id")["assumed"]), (&json!(false), &json!(true)));
    assert!(name("ds")["advice"].as_str().is_some_and(|advice| !advice.is_empty()));

    let why = server.json("/api/explain?pipeline=player_stats&scenario=one_hour&dag=combine&run=2026-03-10T09");
    assert!(why["text"].as_str().unwrap().contains("StartOfHourMapper"), "{why}");
    assert_eq!(server.get("/api/explain?pipeline=player_stats&scenario=one_hour&run=nothing").status, 404);

    let graph = server.json("/api/graph?pipeline=player_stats&scenario=one_hour");
    let asset =
        graph["assets"].as_array().unwrap().iter().find(|asset| asset["name"] == "team_a_player_stats").unwrap();
    assert_eq!(asset["producers"], json!([{"dag_id": "ingest_team_a", "task_id": "ingest"}]));
    assert!(asset["consumers"].as_array().unwrap().contains(&json!({"dag_id": "combine"})));
    let hops = graph["hops"].as_array().unwrap();
    assert!(
        hops.iter().any(|hop| hop["from"]["dag_id"] == "ingest_team_a" && hop["to"]["dag_id"] == "combine"),
        "{graph}"
    );
    assert!(hops.iter().any(|hop| hop["from"]["dag_id"] == "combine"), "the chain goes on: {graph}");

    let same = server.json(&format!("/api/diff?{COMBINE}"));
    assert_eq!(same["status"], "same", "{same}");
    let project = project.edit("templates/player_stats/sql/combine.sql", |text| text.replace("GROUP BY", "ORDER BY"));
    let changed = wait(&server, &format!("/api/diff?{COMBINE}"), |diff| diff["status"] == "changed");
    let lines = changed["hunks"][0]["lines"].as_array().unwrap();
    let changed: Vec<&Json> = lines.iter().filter(|line| line["op"] != "equal").collect();
    assert_eq!(changed[0]["parts"], json!([["GROUP", true], [" BY player_id", false]]), "{changed:?}");
    assert_eq!(changed[1]["parts"], json!([["ORDER", true], [" BY player_id", false]]));
    drop(project);
}

#[test]
fn two_runs_side_by_side() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    let both = server.json("/api/compare?a=2026-03-10&b=2026-03-11&dag=mart");
    assert_eq!((&both["status"], &both["a"]["partition_key"]), (&json!("changed"), &json!("2026-03-10")));
    let lines = both["hunks"][0]["lines"].as_array().unwrap();
    assert_eq!(lines[1]["parts"], json!([["WHERE day = ", false], ["'2026-03-10'", true]]), "{both}");
    assert_eq!(server.json("/api/compare?a=2026-03-10&b=2026-03-10&dag=mart")["status"], "same");
    assert_eq!(server.get("/api/compare?a=2026-03-10&dag=mart").status, 400);
}

#[test]
fn runs_of_two_scenarios_side_by_side() {
    let (_project, server) = samples();
    let scene = server.json("/api/runs?pipeline=player_stats&scenario=one_hour");
    let keys: Vec<&str> =
        scene["runs"].as_array().unwrap().iter().filter_map(|run| run["partition_key"].as_str()).collect();
    assert!(keys.contains(&"2026-03-10T09"), "{keys:?}");
    let compared =
        server.json(&format!("/api/compare?{COMBINE}&a_scenario=three_teams&a=2026-03-10T11&b=2026-03-10T09"));
    assert_eq!(compared["a"]["partition_key"], "2026-03-10T11");
    assert_eq!(compared["status"], "changed");
    assert!(compared["hunks"].to_string().contains("11:00:00"));
}

fn shop() -> Project {
    Project::new()
        .file(
            "shop/pipeline.yaml",
            r#"
            assets: {orders: "s3://lake/orders"}
            variables: {api_key: "hunter2-hunter2"}
            dags:
              mart:
                schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfDayMapper}}
                tasks:
                  load: {operator: SQLExecuteQueryOperator, sql: load.sql}
                  call: {operator: BashOperator, bash_command: "curl -H '{{ var.value.api_key }}' {{ partition_key }}"}
            "#,
        )
        .file("shop/load.sql", "SELECT 1\nWHERE day = '{{ partition_date | ds }}'\n")
        .file(
            "shop/scenarios/two.yaml",
            r#"
            now: "2026-03-12T00:00:00Z"
            steps:
              - {emit: orders, partition_key: "2026-03-10T09:00:00"}
              - {emit: orders, partition_key: "2026-03-11T09:00:00"}
            "#,
        )
}

/// Asks until an answer is as expected: at most ten seconds.
#[track_caller]
fn wait(server: &Server, target: &str, expected: impl Fn(&Json) -> bool) -> Json {
    let start = Instant::now();
    loop {
        let response = server.get(target);
        let json = response.json();
        if expected(&json) {
            return json;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{target}: {json}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn edits_show_and_mistakes_mend() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    let mut events = server.events();
    assert_eq!(events.next().unwrap()["revision"], 1);
    let target = "/api/render?pipeline=shop&dag=mart&task=load&run=2026-03-10";
    assert_eq!(server.json(target)["text"], "SELECT 1\nWHERE day = '2026-03-10'");

    // told within 200 ms, and the answer after that is the new one
    let mut slowest = Duration::ZERO;
    for round in 0..5 {
        let text = format!("SELECT {round}");
        std::fs::write(project.path("shop/load.sql"), &text).unwrap();
        let saved = Instant::now();
        let change = events.next().unwrap();
        slowest = slowest.max(saved.elapsed());
        assert_eq!(change["paths"], json!(["shop/load.sql"]), "{change}");
        assert_eq!(server.json(target)["text"], text);
        std::thread::sleep(Duration::from_millis(60));
    }
    println!("slowest of 5 changes: {slowest:?}");
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");

    // a template that breaks has its error at its line, and mends
    std::fs::write(project.path("shop/load.sql"), "SELECT\n  {{ partition_dte }}\n").unwrap();
    events.next().unwrap();
    let broken = server.json(target);
    let error = &broken["error"];
    assert_eq!((&error["kind"], &error["message"]), (&json!("UndefinedError"), &json!("'partition_dte' is undefined")));
    assert_eq!(
        error["place"],
        json!({"path": "shop/load.sql", "line": 2, "column": 6, "range": [12, 25], "template": 0}),
    );
    assert!(
        error["excerpt"].as_str().unwrap().contains("shop/load.sql:2:6")
            || error["excerpt"].as_str().unwrap().contains("load.sql:2:6"),
        "{error}"
    );
    assert_eq!(
        (&broken["text"], &broken["templates"][0]["text"]),
        (&Json::Null, &json!("SELECT\n  {{ partition_dte }}\n"))
    );
    std::fs::write(project.path("shop/load.sql"), "SELECT 9\n").unwrap();
    events.next().unwrap();
    assert_eq!(server.json(target)["text"], "SELECT 9");

    // the same for the pipeline's own file: a rename in its place, as editors save
    let good = project.read("shop/pipeline.yaml");
    std::fs::write(project.path("shop/pipeline.yaml.tmp"), good.replace("StartOfDayMapper", "StartOfDayMaper"))
        .unwrap();
    std::fs::rename(project.path("shop/pipeline.yaml.tmp"), project.path("shop/pipeline.yaml")).unwrap();
    while events.next().unwrap()["ok"] == true {}
    let refused = server.get(target);
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["kind"], &error["place"]["line"]), (422, &json!("file"), &json!(5)), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("StartOfDayMapper"), "{error}");
    let listed = server.json("/api/pipelines");
    assert_eq!(listed["pipelines"][0]["errors"][0]["place"]["path"], "shop/pipeline.yaml");
    std::fs::write(project.path("shop/pipeline.yaml"), good).unwrap();
    while events.next().unwrap()["ok"] == false {}
    assert_eq!(server.json(target)["text"], "SELECT 9");
}

#[test]
fn what_if() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    let made = server.post("/api/what-if", &json!({"pipeline": "shop", "emit": ["orders=2026-04-01T00:00:00"]})).json();
    assert_eq!((&made["runs"][0]["partition_key"], &made["written"]), (&json!("2026-04-01"), &json!(false)), "{made}");
    let rendered = server.json("/api/render?pipeline=shop&emit=orders%3D2026-04-01T00%3A00%3A00&dag=mart");
    assert_eq!(rendered["text"], "SELECT 1\nWHERE day = '2026-04-01'");
    let after = json!({"scenario": "two", "emit": ["orders=2026-04-01T00:00:00"], "after": true});
    let runs = server.post("/api/what-if", &after).json()["runs"].clone();
    let new: Vec<&Json> = runs.as_array().unwrap().iter().map(|run| &run["new"]).collect();
    assert_eq!(new, [false, false, true]);
    let asked = server.post("/api/what-if", &json!({"partition_key": "2026-05-01"})).json();
    assert_eq!(
        (&asked["runs"][0]["assumed"], &asked["runs"][0]["partition_key"]),
        (&json!(true), &json!("2026-05-01"))
    );
    let rendered = server.json("/api/render?partition_key=2026-05-01&dag=mart");
    assert_eq!(rendered["text"], "SELECT 1\nWHERE day = '2026-05-01'");
    for (body, status) in [
        (json!({"emit": ["ordres=1"]}), 422),
        (json!({"emit": ["orders=1@never"]}), 422),
        (json!({"emmit": []}), 400),
        (json!({"emit": ["orders=1"], "partition_key": "x"}), 400),
        (json!({}), 400),
        (json!([]), 400),
        (json!({"pipeline": "shopp", "emit": ["orders=1"]}), 404),
    ] {
        let response = server.post("/api/what-if", &body);
        assert_eq!(response.status, status, "{body}: {}", response.body);
        assert!(response.json()["error"]["message"].is_string());
    }
}

#[test]
fn secrets_stay_secret() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    for target in [
        "/api/pipelines",
        "/api/render?dag=mart&task=call",
        "/api/context?dag=mart&task=call",
        "/api/explain",
        "/api/graph",
        "/api/diff?dag=mart&task=call",
        "/api/compare?dag=mart&task=call&a=2026-03-10&b=2026-03-11&whole=true",
    ] {
        let response = server.get(target);
        assert_eq!(response.status, 200, "{target}: {}", response.body);
        assert!(!response.body.contains("hunter2"), "{target}: {}", response.body);
    }
    assert_eq!(server.json("/api/render?dag=mart&task=call")["text"], "curl -H '***' 2026-03-10");
}

#[test]
fn strangers_are_refused() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    let status = |method: &str, target: &str, headers: &[(&str, &str)]| {
        let body = (method == "POST").then_some("{\"partition_key\": \"x\"}");
        ask(&server.address, method, target, headers, body).status
    };
    let json = ("Content-Type", "application/json");
    for target in [
        "/",
        "/app.js",
        "/api/pipelines",
        "/api/render?dag=mart",
        "/api/events",
        "/api/openapi.json",
        "/api/v2/assets/1/queuedEvents",
        "/nothing",
    ] {
        assert_eq!(status("GET", target, &[("Host", "evil.example")]), 403, "{target}");
        assert_eq!(status("GET", target, &[("Origin", "http://evil.example")]), 403, "{target}");
    }
    for target in ["/api/what-if", "/api/v2/assets/events", "/api/v1/datasets/events"] {
        assert_eq!(status("POST", target, &[json, ("Origin", "http://evil.example")]), 403, "{target}");
        assert_eq!(status("POST", target, &[json, ("Origin", "null")]), 403, "{target}");
        assert_eq!(status("POST", target, &[json, ("Host", "evil.example")]), 403, "{target}");
    }
    assert_eq!(status("DELETE", "/api/v2/dags/x/assets/queuedEvents", &[("Origin", "http://evil.example")]), 403);
    // a form of another page cannot send JSON
    assert_eq!(status("POST", "/api/what-if", &[("Content-Type", "text/plain")]), 415);
    let own = format!("http://{}", server.address);
    assert_eq!(status("POST", "/api/what-if", &[json, ("Origin", &own)]), 200);
    for target in [
        "/..%2f..%2fetc%2fpasswd",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/shop/pipeline.yaml",
        "//etc/passwd",
        "/app.js/../../x",
    ] {
        assert_eq!(status("GET", target, &[]), 404, "{target}");
    }
    for target in [
        "/api/render?dag=mart&task=..%2f..%2fx",
        "/api/render?pipeline=..%2f..%2fetc",
        "/api/render?scenario=..%2f..%2fx",
        "/api/render?dag=mart&field=..%2fx",
    ] {
        assert_eq!(status("GET", target, &[]), 404, "{target}");
    }
    assert_eq!(status("GET", "/api/render?dag=mart&feild=sql", &[]), 400);
    assert_eq!(status("PUT", "/api/pipelines", &[]), 405);
    let answer = server.get("/api/pipelines");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// A template that names a file outside is refused by the loader, as Airflow's is.
#[test]
fn no_file_outside_of_the_folders() {
    let project = shop().raw("secret.sql", "SECRET").raw("shop/load.sql", "{% include '../secret.sql' %}");
    let server = Server::start(&project, &["shop"]);
    let rendered = server.json("/api/render?dag=mart");
    assert_eq!(rendered["error"]["kind"], "TemplateNotFound", "{rendered}");
    assert!(!rendered.to_string().contains("SECRET"));
}

#[test]
fn big_bodies_and_slow_clients() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    // 100 MB are refused before they are sent
    let head = |length: &str| {
        format!(
            "POST /api/what-if HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{length}\r\n\r\n",
            server.address
        )
    };
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(head("Content-Length: 104857600").as_bytes()).unwrap();
    let start = Instant::now();
    let response = read(&mut stream);
    assert_eq!((response.status, &response.json()["error"]["kind"]), (413, &json!("too_large")));
    assert!(start.elapsed() < Duration::from_secs(2));
    // and those that do not say how long they are, once they are too long
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(head("Transfer-Encoding: chunked").as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..1600 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    // the server may have reset the connection already: it took no 100 MB in any case
    if stream.read_exact(&mut answer).is_ok() {
        assert_eq!(&answer, b"HTTP/1.1 413");
    }
    // many who send nothing keep nobody else waiting
    let idle: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(b"GET /api/pipelines HTTP/1.1\r\nHost: 127.").unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    assert_eq!(server.get("/api/pipelines").status, 200);
    assert!(start.elapsed() < Duration::from_secs(2));
    drop(idle);
}

#[test]
fn a_slow_client_is_dropped() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    let mut head = TcpStream::connect(&server.address).unwrap();
    head.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    let mut body = TcpStream::connect(&server.address).unwrap();
    let start = format!(
        "POST /api/what-if HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{{",
        server.address
    );
    body.write_all(start.as_bytes()).unwrap();
    for stream in [&mut head, &mut body] {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let response = read(&mut body);
    assert_eq!(response.status, 408, "{}", response.body);
    let mut rest = Vec::new();
    let _ = head.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
}

#[test]
fn another_host_needs_a_token() {
    let project = shop();
    project.run(&["preview", "shop", "--port", "0", "--host", "0.0.0.0"]).code(2).stderr_has("--token");
    project.run(&["preview", "shop", "--port", "0", "--token", "a b"]).code(2).stderr_has("letters, digits");
    let server = Server::start(&project, &["shop", "--host", "0.0.0.0", "--token", "s3cret"]);
    assert_eq!(server.get("/api/pipelines").status, 401);
    assert_eq!(server.get("/api/events").status, 401);
    assert_eq!(server.get("/?token=wrong").status, 401);
    let signed = server.get("/?token=s3cret");
    assert_eq!((signed.status, signed.header("location")), (303, Some("/")));
    let cookie = signed.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(ask(&server.address, "GET", "/api/pipelines", &[("Cookie", cookie)], None).status, 200);
    assert_eq!(ask(&server.address, "GET", "/api/pipelines", &[("Authorization", "Bearer s3cret")], None).status, 200);
    let stranger = [("Authorization", "Bearer s3cret"), ("Host", "evil.example")];
    assert_eq!(ask(&server.address, "GET", "/api/pipelines", &stranger, None).status, 403);
}

#[test]
fn a_taken_port_and_a_missing_pipeline() {
    let project = shop();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    project.run(&["preview", "shop", "--port", &port]).code(3).stderr(&format!(
        "
        error: port {port} is taken: another program listens on it
        help: --port 0 takes a free one
        "
    ));
    project.run(&["preview", "shpo", "--port", "0"]).code(3).stderr_has("there is no pipeline shpo");
    project.run(&["preview", "--port", "0"]).code(3).stderr_has("no pipeline");
}

/// Ctrl-C and SIGTERM end the server within a second, whoever is listening.
#[cfg(unix)]
#[test]
fn signals_end_it_with_open_streams() {
    for signal in ["-INT", "-TERM"] {
        let project = shop();
        let mut server = Server::start(&project, &["shop"]);
        let mut events: Vec<_> = (0..5).map(|_| server.events()).collect();
        for stream in &mut events {
            assert!(stream.next().is_some());
        }
        let kept = TcpStream::connect(&server.address).unwrap();
        let start = Instant::now();
        let sent = std::process::Command::new("kill").args([signal, &server.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let status = server.child.wait().unwrap();
        let took = start.elapsed();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(took < Duration::from_secs(1), "{signal}: {took:?}");
        for stream in &mut events {
            assert!(stream.next().is_none());
        }
        drop(kept);
    }
}

/// The document that is served describes every endpoint there is, and only those.
#[test]
fn the_document_is_complete() {
    let project = shop();
    let server = Server::start(&project, &["shop"]);
    let document = server.json("/api/openapi.json");
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            described.insert((method.to_uppercase(), path.clone()));
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{path}");
            assert!(operation["responses"].as_object().is_some_and(|all| !all.is_empty()), "{path}");
        }
    }
    let routes: BTreeSet<(String, String)> =
        partita::preview::routes().iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
    let own: BTreeSet<_> = described
        .iter()
        .filter(|(_, path)| !path.starts_with("/api/v1/") && !path.starts_with("/api/v2/"))
        .cloned()
        .collect();
    assert_eq!(own, routes);
    // Airflow's: each that is described is answered by the queue (here: by the error that none is open)
    for (method, path) in described.difference(&own) {
        let target = path.replace("{asset_id}", "1").replace("{dag_id}", "mart").replace("{uri}", "x");
        let response = ask(&server.address, method, &target, &[], None);
        assert_eq!(response.json()["error"]["kind"], "no_store", "{method} {path}");
    }
    let queued = described.len() - own.len();
    assert_eq!(queued, 16, "six queued-event paths read and deleted, two event paths read and posted");
    references(&document, &document);
    // and answers have the shape that it describes
    for (target, schema) in [
        ("/api/pipelines", "Pipelines"),
        ("/api/runs", "Runs"),
        ("/api/render?dag=mart", "Rendered"),
        ("/api/context?dag=mart", "Context"),
        ("/api/explain?dag=mart", "Explanation"),
        ("/api/graph", "Graph"),
        ("/api/diff?dag=mart", "SnapshotDiff"),
        ("/api/compare?dag=mart&a=2026-03-10&b=2026-03-11", "Comparison"),
        ("/api/partitions", "Partitions"),
    ] {
        conforms(&document, &document["components"]["schemas"][schema], &server.json(target), target);
    }
    let made = server.post("/api/what-if", &json!({"emit": ["orders=2026-04-01T00:00:00"]})).json();
    conforms(&document, &document["components"]["schemas"]["WhatIfAnswer"], &made, "what-if");
    let failed = server.get("/api/render?dag=nope").json();
    conforms(&document, &document["components"]["schemas"]["Failure"], &failed, "failure");
}

/// Every reference leads somewhere.
fn references(document: &Json, value: &Json) {
    match value {
        Json::Object(map) => {
            if let Some(Json::String(target)) = map.get("$ref") {
                assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target}");
            }
            map.values().for_each(|value| references(document, value));
        }
        Json::Array(items) => items.iter().for_each(|value| references(document, value)),
        _ => {}
    }
}

/// The part of JSON Schema that the document uses.
#[track_caller]
fn conforms(document: &Json, schema: &Json, value: &Json, path: &str) {
    if let Some(problem) = mismatch(document, schema, value, path) {
        panic!("{problem}");
    }
}

fn mismatch(document: &Json, schema: &Json, value: &Json, path: &str) -> Option<String> {
    if let Some(target) = schema["$ref"].as_str() {
        return mismatch(document, document.pointer(target.trim_start_matches('#'))?, value, path);
    }
    if let Some(options) = schema["oneOf"].as_array() {
        let problems: Vec<String> =
            options.iter().map_while(|option| mismatch(document, option, value, path)).collect();
        return (problems.len() == options.len()).then(|| problems.join(" or "));
    }
    if let Some(options) = schema["enum"].as_array() {
        return (!options.contains(value)).then(|| format!("{path}: {value}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(many) => many.iter().filter_map(Json::as_str).collect(),
        _ => return None,
    };
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let fits = types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
    if !fits {
        return Some(format!("{path}: {value} is no {types:?}"));
    }
    match value {
        Json::Object(map) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
            if let Some(missing) = required.into_iter().find(|name| !map.contains_key(*name)) {
                return Some(format!("{path}: no {missing}"));
            }
            map.iter().find_map(|(name, value)| match schema["properties"].get(name) {
                Some(schema) => mismatch(document, schema, value, &format!("{path}.{name}")),
                None if schema["additionalProperties"] == false => Some(format!("{path}: {name} is not described")),
                None => None,
            })
        }
        Json::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| mismatch(document, &schema["items"], item, &format!("{path}[{at}]"))),
        _ => None,
    }
}
