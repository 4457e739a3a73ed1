//! Profile `airflow-2.10` in pipelines: scenarios against what Airflow 2.10.5 did, and the commands on such pipelines.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::Utf8Path;
use partita::pipeline::{self, Pipeline, Played, yaml};
use serde_json::{Map, Value as Json, json};
use support::Project;

fn lines(name: &str) -> Vec<Json> {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/airflow2").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A dataset expression as a pipeline file writes it.
fn expression(value: &Json) -> String {
    let join = |items: &Json, sign: &str| {
        let parts: Vec<String> = items.as_array().unwrap().iter().map(expression).collect();
        format!("({})", parts.join(sign))
    };
    if let Some(any) = value.get("any") {
        return join(any, " | ");
    }
    if let Some(all) = value.get("all") {
        return join(all, " & ");
    }
    if let Some(alias) = value.get("alias") {
        return format!("DatasetAlias({alias})");
    }
    let uri = value.as_str().or_else(|| value["uri"].as_str()).unwrap();
    format!("Dataset({uri:?})")
}

fn schedule(value: &Json) -> Json {
    if let Some(items) = value.get("dataset_list") {
        return items.as_array().unwrap().iter().map(|item| Json::from(expression(item))).collect();
    }
    if let Some(one) = value.get("dataset_expr") {
        return expression(one).into();
    }
    if let Some(both) = value.get("dataset_or_time") {
        let timetable = &both["timetable"];
        let class = if timetable.get("cron").is_some() { "CronDataIntervalTimetable" } else { "CronTriggerTimetable" };
        let cron = timetable.get("cron").or_else(|| timetable.get("cron_trigger")).unwrap();
        let datasets: Json = match both["datasets"].as_array() {
            Some(items) => items.iter().map(|item| Json::from(expression(item))).collect(),
            None => expression(&both["datasets"]).into(),
        };
        return json!({"DatasetOrTimeSchedule": {
            "timetable": {class: {"cron": cron, "timezone": timetable["timezone"]}},
            "datasets": datasets,
        }});
    }
    value.clone()
}

/// Every URI in a document.
fn uris(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::String(text) if text.contains("://") && !found.contains(text) => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| uris(item, found)),
        Json::Object(map) => map.values().for_each(|item| uris(item, found)),
        _ => {}
    }
}

/// A recorded case as a pipeline and a scenario; why not, where a scenario cannot say it.
fn translate(case: &Json) -> Result<(Json, Json), String> {
    let setup = &case["setup"];
    let mut datasets = Vec::new();
    uris(setup, &mut datasets);
    uris(&case["steps"], &mut datasets);
    let mut dags = Map::new();
    for dag in setup["dags"].as_array().unwrap() {
        if dag["initially_absent"] == true {
            return Err("a Dag that comes later".into());
        }
        dags.insert(
            dag["dag_id"].as_str().unwrap().to_owned(),
            json!({
                "schedule": schedule(&dag["schedule"]),
                "start_date": dag.get("start_date").cloned().unwrap_or_else(|| "2024-01-01".into()),
                "catchup": dag["catchup"] == true,
                "is_paused": dag["is_paused"] == true,
                "max_active_runs": dag.get("max_active_runs").cloned().unwrap_or_else(|| 16.into()),
                "tasks": {"t": null},
            }),
        );
    }
    // Rows of datasets exist in the case; here a Dag that produces them says so.
    let outlets: Vec<String> = datasets.iter().map(|uri| format!("Dataset({uri:?})")).collect();
    dags.insert("zz_outlets".into(), json!({"schedule": null, "tasks": {"all": {"outlets": outlets}}}));
    let names: Map<String, Json> = datasets.iter().map(|uri| (uri.clone(), uri.as_str().into())).collect();
    let runs = setup["runs"].as_array().cloned().unwrap_or_default();
    let source = |source: &Json| -> Result<Json, String> {
        let known = runs.iter().find(|run| run["dag_id"] == source["dag_id"] && run["run_id"] == source["run_id"]);
        let run = known.ok_or("a source run that does not exist")?;
        let mut written = source.clone();
        for name in ["logical_date", "data_interval_start", "data_interval_end"] {
            written[name] = run[name].clone();
        }
        Ok(written)
    };
    let mut steps: Vec<Json> = Vec::new();
    let mut clock = chrono::DateTime::parse_from_rfc3339("2024-06-01T00:00:00Z").unwrap();
    for step in case["steps"].as_array().unwrap() {
        let at = step.get("at").map(|at| chrono::DateTime::parse_from_rfc3339(at.as_str().unwrap()).unwrap());
        if let Some(at) = at {
            if (at - clock).num_milliseconds() < 1000 {
                return Err("two steps at one instant".into());
            }
            steps.push(json!({"at": at.to_rfc3339()}));
            clock = at;
        } else {
            clock += chrono::Duration::seconds(1);
        }
        match step["op"].as_str().unwrap() {
            "schedule" => steps.push("tick".into()),
            "finish_runs" => steps.push(json!({"finish_runs": step["dag_id"]})),
            "set_dag" => {
                for (column, value) in step["values"].as_object().unwrap() {
                    let word = match (column.as_str(), value.as_bool().unwrap()) {
                        ("is_paused", true) => "pause",
                        ("is_paused", false) => "unpause",
                        ("is_active", true) => "unmark_stale",
                        ("is_active", false) => "mark_stale",
                        _ => return Err(format!("setting {column}")),
                    };
                    steps.push(json!({word: step["dag_id"]}));
                }
            }
            "register" => {
                let mut emit = json!({"emit": format!("Dataset({})", step["uri"]), "extra": step["extra"]});
                if let Some(aliases) = step.get("source_aliases") {
                    emit["aliases"] = aliases.clone();
                }
                if let Some(given) = step.get("source").filter(|given| !given.is_null()) {
                    emit["source"] = source(given)?;
                }
                steps.push(emit);
            }
            other => return Err(format!("the step {other}")),
        }
    }
    let pipeline = json!({"profile": "airflow-2.10", "datasets": names, "dags": dags});
    Ok((pipeline, json!({"now": "2024-06-01T00:00:00Z", "steps": steps})))
}

fn play(pipeline: &Json, scenario: &Json) -> Result<Played, String> {
    let root = Utf8Path::new("nowhere");
    let source = yaml::source(&root.join("pipeline.yaml"), pipeline.to_string());
    let problems = |found: Vec<pipeline::Problem>| format!("{found:?}");
    let pipeline: Pipeline = pipeline::from_source(&source, root).map_err(problems)?;
    let source = yaml::source(&root.join("scenario.yaml"), scenario.to_string());
    let scenario = pipeline::scenario_from_source(&source, &pipeline).map_err(problems)?;
    pipeline::play(&pipeline, &scenario).map_err(|error| error.error.to_string())
}

/// Runs that datasets triggered, and the events, as a scenario of a pipeline makes them.
#[test]
fn scenarios_do_what_airflow_did() {
    let (mut compared, mut runs) = (0, 0);
    let mut left: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    let mut failed = Vec::new();
    for case in lines("schedule210.jsonl") {
        if case["profile"] != "airflow-2.10" || case.get("setup_error").is_some() {
            continue;
        }
        let (pipeline, scenario) = match translate(&case) {
            Ok(both) => both,
            Err(why) => {
                *left.entry(why).or_default() += 1;
                continue;
            }
        };
        compared += 1;
        let id = case["id"].as_str().unwrap();
        let played = match play(&pipeline, &scenario) {
            Ok(played) => played,
            Err(error) => {
                failed.push(format!("{id}: {error}"));
                continue;
            }
        };
        let got_scheduler = &played.datasets.as_ref().unwrap().scheduler;
        let instant = |at: chrono::DateTime<chrono::Utc>| partita::timetable::isoformat(at);
        // The list closes with a pass of the scheduler that the case does not have.
        let last_tick = instant(played.clock);
        let got: Vec<Json> = got_scheduler
            .runs()
            .iter()
            .filter(|run| {
                run.run_type == "dataset_triggered" && run.queued_at.map(instant).as_ref() != Some(&last_tick)
            })
            .filter(|run| run.queued_at.is_some())
            .map(|run| {
                json!({
                    "dag_id": run.dag_id,
                    "run_id": run.run_id,
                    "logical_date": instant(run.logical_date),
                    "data_interval_start": run.data_interval.map(|interval| instant(interval.start)),
                    "data_interval_end": run.data_interval.map(|interval| instant(interval.end)),
                    "consumed_event_ids": run.consumed,
                })
            })
            .collect();
        let mut expected: Vec<Json> = Vec::new();
        for step in case["expect"].as_array().unwrap() {
            for run in step["new_runs"].as_array().unwrap().iter().filter(|run| run["run_type"] == "dataset_triggered")
            {
                expected.push(json!({
                    "dag_id": run["dag_id"],
                    "run_id": run["run_id"],
                    "logical_date": run["logical_date"],
                    "data_interval_start": run["data_interval_start"],
                    "data_interval_end": run["data_interval_end"],
                    "consumed_event_ids": run["consumed_event_ids"],
                }));
            }
        }
        let sorted = |mut runs: Vec<Json>| {
            runs.sort_by_key(Json::to_string);
            runs
        };
        let (got, expected) = (sorted(got), sorted(expected));
        runs += expected.len();
        if got != expected {
            failed.push(format!("{id}\n  expected {}\n  got      {}", Json::from(expected), Json::from(got)));
        }
    }
    println!("{compared} recorded cases as scenarios, {runs} runs; left out: {left:?}");
    assert!(compared >= 35, "only {compared} cases could be told as scenarios: {left:?}");
    assert!(failed.is_empty(), "{} of {compared} differ:\n{}", failed.len(), failed.join("\n"));
}

const PIPELINE: &str = r#"
    profile: airflow-2.10
    datasets:
      orders: "s3://lake/orders"
      refunds: {uri: "s3://lake/refunds", extra: {team: shop}}
    dags:
      ingest:
        schedule: "0 2 * * *"
        start_date: "2024-01-01"
        catchup: false
        tasks:
          load:
            operator: BashOperator
            bash_command: "bin/load.sh {{ ds }} {{ next_ds }} {{ prev_execution_date }} {{ dag.schedule_interval }} {{ task }}"
            outlets: [orders]
      build_mart:
        schedule: [orders, refunds]
        start_date: "2024-01-01"
        tasks:
          overwrite:
            operator: BashOperator
            bash_command: "{{ (triggering_dataset_events.values() | first | first).source_dag_run.data_interval_start | ds }} {{ params }}"
          each:
            operator: BashOperator
            expand: {bash_command: ["{{ ti.map_index }} of {{ expanded_ti_count }}", "{{ ti }}"]}
          pull:
            operator: BashOperator
            bash_command: "{{ ti.xcom_pull('load') }} {{ ti.xcom_pull(task_ids='load', key='rows') }} {{ ti.try_number }}"
    "#;

const SCENARIO: &str = r#"
    now: "2024-06-04T03:00:00Z"
    xcom: {load: {return_value: done, rows: 7}}
    steps:
      - run: ingest
        logical_date: "2024-06-03T02:00:00Z"
      - at: "2024-06-04T05:30:00Z"
      - emit: refunds
        extra: {rows: 12}
    "#;

fn project() -> Project {
    Project::new().file("p/pipeline.yaml", PIPELINE).file("p/scenarios/night.yaml", SCENARIO)
}

#[test]
fn a_pipeline_renders_as_2_10_does() {
    let ran = project().run(&["render", "p", "--format", "jsonl"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let lines: Vec<Json> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<String> = lines
        .iter()
        .filter(|line| line["field"] == "bash_command")
        .map(|line| {
            format!("{} {}: {}", line["run_id"].as_str().unwrap(), line["task_id"], line["value"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        texts,
        [
            "scheduled__2024-06-03T02:00:00+00:00 \"load\": bin/load.sh 2024-06-03 2024-06-04 2024-06-02 02:00:00+00:00 0 2 * * * \
             <Task(BashOperator): load>",
            "dataset_triggered__2024-06-04T05:30:00+00:00 \"overwrite\": 2024-06-03 {}",
            "dataset_triggered__2024-06-04T05:30:00+00:00 \"each\": 0 of 2",
            "dataset_triggered__2024-06-04T05:30:00+00:00 \"each\": <TaskInstance: build_mart.each \
             dataset_triggered__2024-06-04T05:30:00+00:00 map_index=1 [running]>",
            "dataset_triggered__2024-06-04T05:30:00+00:00 \"pull\": done 7 1",
        ]
    );
}

#[test]
fn every_answer_says_which_run_it_is() {
    let ran = project().run(&["render", "p", "--dag", "build_mart", "--task", "overwrite"]);
    assert_eq!(
        ran.stdout,
        "p / night\n\n\
         build_mart  dataset_triggered__2024-06-04T05:30:00+00:00   logical_date 2024-06-04 05:30 UTC (the last update queued; \
         data interval 2024-06-03 02:00 to 2024-06-04 05:30)\n  from orders, refunds\n\n  \
         overwrite.bash_command\n  | 2024-06-03 {}\n"
    );
    let ran = project().run(&["render", "p", "--dag", "ingest"]);
    assert!(ran.stdout.contains("deprecated in load: next_ds, prev_execution_date"), "{}", ran.stdout);
}

#[test]
fn runs_by_date_and_by_updates() {
    let ran = project().run(&["render", "p", "--dag", "ingest", "--logical-date", "2024-06-03T02:00:00Z"]);
    assert!(ran.stdout.contains("scheduled__2024-06-03T02:00:00+00:00"), "{}", ran.stdout);
    assert!(ran.stdout.contains("bin/load.sh 2024-06-03 2024-06-04"), "{}", ran.stdout);
    let ran = project().run(&["render", "p", "--dag", "ingest", "--logical-date", "2024-06-03T02:30:00Z"]);
    assert!(ran.stdout.contains("manual__2024-06-03T02:30:00+00:00"), "{}", ran.stdout);
    let ran = project().run(&["resolve", "p", "--emit", "orders", "--emit", "refunds", "--scenario", "night"]);
    assert!(ran.stdout.contains("dataset_triggered__2024-06-04T03:00:02+00:00"), "{}", ran.stdout);
    let ran = project().run(&["resolve", "p", "--emit", "orders"]);
    assert!(ran.stdout.contains("- refunds: no update since the last run"), "{}", ran.stdout);
    for args in [
        &["render", "p", "--partition-key", "x"][..],
        &["render", "p", "--emit", "orders=x"],
        &["render", "p", "--from", "2024-01-01", "--to", "2024-01-02"],
    ] {
        let ran = project().run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains("Airflow 2.10 has no partitions"), "{}", ran.stderr);
    }
}

#[test]
fn a_run_of_the_rest_api() {
    let run = json!({
        "dag_id": "build_mart", "dag_run_id": "dataset_triggered__x", "run_type": "dataset_triggered", "state": "success",
        "logical_date": "2024-06-04T05:30:00+00:00", "execution_date": "2024-06-04T05:30:00+00:00",
        "data_interval_start": "2024-06-03T00:00:00+00:00", "data_interval_end": "2024-06-04T00:00:00+00:00",
        "start_date": "2024-06-04T05:31:00+00:00", "end_date": null, "external_trigger": false, "conf": {}
    });
    let events = json!({"total_entries": 1, "dataset_events": [{
        "dataset_id": 3, "dataset_uri": "s3://lake/orders", "extra": {"rows": 5}, "source_dag_id": "ingest",
        "source_task_id": "load", "source_run_id": "scheduled__2024-06-03T02:00:00+00:00", "source_map_index": -1,
        "created_dagruns": [], "timestamp": "2024-06-04T05:30:00+00:00"
    }]});
    let given = || project().raw("run.json", &run.to_string()).raw("events.json", &events.to_string());
    let with = |template: &str| {
        let project = given().edit("p/pipeline.yaml", |text| {
            text.replace("\"{{ (triggering_dataset_events.values() | first | first).source_dag_run.data_interval_start | ds }} {{ params }}\"", template)
        });
        project.run(&["render", "p", "--run", "run.json", "--events", "events.json", "--task", "overwrite"])
    };
    let ran = with("'{{ ds }} {{ run_id }} {{ (triggering_dataset_events.values() | first | first).extra.rows }}'");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("| 2024-06-04 dataset_triggered__x 5"), "{}", ran.stdout);
    // What the REST API does not tell is refused, not guessed.
    for part in ["source_dag_run.run_id", "id", "dataset.id", "dataset_id"] {
        let ran = with(&format!("'{{{{ (triggering_dataset_events.values() | first | first).{part} }}}}'"));
        assert!(ran.stdout.contains("Unsupported"), "{part}: {}", ran.stdout);
    }
    for name in ["dag_run", "dag_run.queued_at", "prev_start_date_success", "prev_execution_date_success"] {
        let ran = with(&format!("'{{{{ {name} }}}}'"));
        assert!(ran.stdout.contains("Unsupported"), "{name}: {}", ran.stdout);
    }
    let ran = given().run(&["render", "p", "--run", "run.json"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(ran.stderr.contains("--events"), "{}", ran.stderr);
}

/// What 2.10 does not have is an error that says so, at its place.
#[test]
fn what_2_10_does_not_have() {
    let dag = |arguments: &str| {
        let text = format!(
            "profile: airflow-2.10\ndatasets: {{a: 's3://x/a', b: 's3://x/b'}}\ndags:\n  d: {{{arguments}, tasks: {{t: null}}}}\n"
        );
        Project::new().raw("p/pipeline.yaml", &text).run(&["resolve", "p"])
    };
    let dated = "start_date: '2024-01-01'";
    for (arguments, message) in [
        (
            format!("schedule: {{PartitionedAssetTimetable: a}}, {dated}"),
            "Airflow 2.10 has no `PartitionedAssetTimetable`",
        ),
        (format!("schedule: PartitionedAtRuntime, {dated}"), "Airflow 2.10 has no `PartitionedAtRuntime`"),
        (format!("schedule: 'Asset.ref(name=\"a\")', {dated}"), "Airflow 2.10 has no `Asset.ref`"),
        (format!("schedule: [a | b], {dated}"), "All elements in 'schedule' should be datasets or dataset aliases"),
        (format!("schedule: '@continuous', {dated}"), "requires max_active_runs <= 1"),
        (format!("schedule: a & c, {dated}"), "unknown dataset `c`"),
        ("schedule: '@daily'".to_owned(), "DAG is missing the start_date parameter"),
        (format!("schedule: a, schedule_interval: '@daily', {dated}"), "write one of them"),
    ] {
        let ran = dag(&arguments);
        assert_eq!(ran.code, 3, "{arguments}: {}", ran.stdout);
        assert!(ran.stderr.contains(message), "{arguments}: {}", ran.stderr);
    }
    let step = |steps: &str| {
        let project = project().raw("p/scenarios/x.yaml", &format!("now: '2024-06-01'\nsteps: [{steps}]\n"));
        project.run(&["resolve", "p", "--scenario", "x"])
    };
    for (steps, message) in [
        ("{emit: orders, partition_key: 'x'}", "Airflow 2.10 has no partitions: no `partition_key`"),
        ("{run: ingest, tasks: {load: {add_partitions: {orders: [a]}}}}", "no `add_partitions`"),
        ("{deactivate_asset: orders}", "Airflow 2.10 has no step `deactivate_asset`"),
        ("{emit: orders, source: {dag_id: z, task_id: t, run_id: r}}", "which no step made"),
        ("{at: '2024-05-01'}", "the clock already stands at"),
    ] {
        let ran = step(steps);
        assert_eq!(ran.code, 3, "{steps}: {}", ran.stdout);
        assert!(ran.stderr.contains(message), "{steps}: {}", ran.stderr);
    }
}

#[test]
fn warnings_of_a_scenario() {
    let night = "now: '2024-06-01'\nsteps:\n  - {pause: build_mart}\n  - {emit: orders}\n  - {unpause: build_mart}\n  \
                 - {run: ingest, logical_date: '2024-05-01T02:00:00Z'}\n  - {run: ingest, logical_date: '2024-05-01T02:00:00Z'}\n";
    let ran = project().raw("p/scenarios/night.yaml", night).run(&["resolve", "p"]);
    assert!(ran.stdout.contains("warning: build_mart is paused and misses an update of orders"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no second run of ingest: DagRunAlreadyExists"), "{}", ran.stdout);
}

/// A name of Airflow 2 in a file that says it is of Airflow 3 is read, and warned of.
#[test]
fn names_of_2_10_in_a_file_of_3() {
    let ran =
        project().edit("p/pipeline.yaml", |text| text.replace("airflow-2.10", "airflow-3.3")).run(&["resolve", "p"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("`datasets` is a name of Airflow 2: Airflow 3 has `assets`"), "{}", ran.stderr);
}

/// The sample written for 2.10, on its way to 3.3.
#[test]
fn the_sample_under_both_profiles() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let project = Project::new().copy("templates/web_shop", "templates/web_shop");
    for form in ["text", "markdown", "json"] {
        let ran = project.run(&["diff", "--profiles", "airflow-2.10,airflow-3.3", "--format", form]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        settings.bind(|| insta::assert_snapshot!(format!("web_shop.{form}"), ran.stdout));
    }
}

/// User case 49: `next_ds` is `data_interval_end | ds`, in both profiles; the old name fails in 3 and says so.
#[test]
fn next_ds_on_the_way_to_3() {
    let dag = "
        profile: airflow-2.10
        dags:
          daily:
            schedule: {CronDataIntervalTimetable: {cron: '0 0 * * *', timezone: UTC}}
            start_date: '2026-01-01'
            catchup: false
            tasks:
              old: {operator: BashOperator, bash_command: '{{ next_ds }} {{ next_ds_nodash }}'}
              new: {operator: BashOperator, bash_command: '{{ data_interval_end | ds }} {{ data_interval_end | ts_nodash }}'}
        ";
    let scenario = "
        now: '2026-11-03T00:10:00Z'
        steps: [{run: daily, logical_date: '2026-11-02'}]
        ";
    let project = Project::new().file("p/pipeline.yaml", dag).file("p/scenarios/s.yaml", scenario);
    let ran = project.run(&["diff", "p", "--profiles", "airflow-2.10,airflow-3.3", "--format", "json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let diff: Json = serde_json::from_str(&ran.stdout).unwrap();
    let fields = diff[0]["fields"].as_array().unwrap();
    let of =
        |task: &str| fields.iter().find(|field| field["task"] == task && field["field"] == "bash_command").unwrap();
    assert_eq!(of("new")["outcome"], "stays");
    assert_eq!(of("old")["outcome"], "fails");
    assert_eq!(of("old")["from"], "2026-11-03 20261103");
    assert_eq!(of("old")["to"]["message"], "'next_ds' is undefined");
    assert_eq!(of("old")["gone"][0]["instead"], "Airflow 3 has no `next_ds`: use `data_interval_end | ds`");
    let ran = project.run(&["render", "p", "--task", "new"]);
    assert!(ran.stdout.contains("| 2026-11-03 20261103T000000"), "{}", ran.stdout);
}

#[test]
fn a_pipeline_that_stays_the_same_exits_0() {
    let dag = "
        profile: airflow-2.10
        dags:
          d:
            schedule: null
            tasks: {t: {operator: BashOperator, bash_command: 'echo {{ ds }} {{ params }}'}}
        ";
    let scenario = "
        now: '2026-11-03T00:10:00Z'
        steps: [{run: d, logical_date: '2026-11-02'}]
        ";
    let project = Project::new().file("p/pipeline.yaml", dag).file("p/scenarios/s.yaml", scenario);
    let ran = project.run(&["diff", "p", "--profiles", "airflow-2.10,airflow-3.3"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("stays  1 field\n  d.t.bash_command\n"), "{}", ran.stdout);
    let ran = project.run(&["diff", "p", "--profiles", "airflow-2.10"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
}

/// Recorded from Airflow 2.10.5: after a dataset-triggered run whose data interval ends inside an interval of the timetable, the
/// next date is the start of that interval.
#[test]
fn next_ds_of_a_run_between_two_intervals() {
    let dag = "
        profile: airflow-2.10
        datasets: {c: 's3://lake/c'}
        dags:
          both:
            schedule: {DatasetOrTimeSchedule: {timetable: {CronDataIntervalTimetable: {cron: '0 0 * * *', timezone: UTC}}, datasets: c}}
            start_date: '2024-01-01'
            catchup: false
            tasks: {t: {operator: BashOperator, bash_command: '{{ run_id }} {{ next_ds }} {{ prev_ds }} {{ dag.schedule_interval }}'}}
        ";
    let scenario = "
        now: '2024-06-10T06:59:59Z'
        steps: [{emit: c}]
        ";
    let ran = Project::new().file("p/pipeline.yaml", dag).file("p/scenarios/s.yaml", scenario).run(&["render", "p"]);
    let text = "| dataset_triggered__2024-06-10T07:00:00+00:00 2024-06-10 None Dataset or 0 0 * * *";
    assert!(ran.stdout.contains(text), "{}{}", ran.stdout, ran.stderr);
}
