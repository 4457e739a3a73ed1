//! Dags of every kind, serialized and rendered by the real thing: `tests/fixtures/serialized/varied.py` by Airflow 3.3.2,
//! `old.py` by Airflow 2.10.5. Each line of `varied.expected.jsonl` after the first is a task instance with its rendered
//! fields as Airflow's own operators and context made them for the run of the first line.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::Utf8Path;
use partita::airflow::serialized::from_file;
use partita::airflow::{Folders, Gravity, Imported, SerializedDag, import};
use partita::jinja::Engine;
use partita::pipeline::{Renderer, given_run};
use serde_json::{Value as Json, json};
use support::Project;
use support::samples::sorted;

fn fixture(name: &str) -> camino::Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/serialized").join(name)
}

fn dags(name: &str) -> Vec<SerializedDag> {
    from_file(&fixture(name)).unwrap()
}

fn imported(name: &str) -> Imported {
    import(&dags(name), &Folders::default()).unwrap()
}

#[test]
fn varied_dags_render_as_airflow_renders_them() {
    let imported = imported("varied.json");
    let text = std::fs::read_to_string(fixture("varied.expected.jsonl")).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let run = lines.next().unwrap()["run"].clone();
    let engine = Engine::new();
    let (mut equal, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for expected in lines {
        let dag_id = expected["dag_id"].as_str().unwrap();
        let mut run = run.clone();
        run["dag_run"]["dag_id"] = dag_id.into();
        let given = given_run(&imported.pipeline, &run, None).unwrap();
        let rendered =
            Renderer::new(&engine, &imported.pipeline, &given.scenario, given.scenario.clock()).run(&given.run);
        let label = format!("{dag_id}.{}[{}]", expected["task_id"].as_str().unwrap(), expected["map_index"]);
        let task = rendered
            .tasks
            .iter()
            .find(|task| task.task_id == expected["task_id"] && task.map_index == expected["map_index"]);
        let Some(fields) = expected["fields"].as_object() else {
            // Airflow cannot render it before the run either: so must partita not.
            let task = task.unwrap_or_else(|| panic!("{label} is missing"));
            if task.fields.iter().all(|field| field.value.is_ok()) {
                wrong.push(format!("{label} is rendered, where Airflow fails: {}", expected["error"]));
            }
            continue;
        };
        for (name, value) in fields {
            let field = task.and_then(|task| task.fields.iter().find(|field| field.name == *name));
            match field.map(|field| &field.value) {
                Some(Err(error)) => refused.push(format!("{label}.{name}: {}", error.error.class)),
                Some(Ok(got)) if sorted(&partita::render::stored(got)) != sorted(value) => {
                    wrong.push(format!("{label}.{name}\n  expected {value}\n  got      {got:?}"));
                }
                None if !value.is_null() => wrong.push(format!("{label}.{name} is missing, expected {value}")),
                _ => equal += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    // XComs of tasks that have not run (2), a Python object, a text that was cut, a command made by a function.
    assert_eq!(refused.len(), 5, "{refused:#?}");
    assert!(equal >= 111, "{equal}");
}

#[test]
fn what_is_refused_is_named_before_anything_renders() {
    let imported = imported("varied.json");
    let shown: Vec<String> = imported.findings.iter().map(ToString::to_string).collect();
    for part in [
        "refused: mapped.add.op_kwargs: `x`: mapped over the XCom of task `get`, known only when that has run",
        "refused: mapped.xc.op_args: the XCom of task `get` itself, known only when that has run",
        "refused: mapped.tg.in.env: an argument of a mapped task group: its value differs by map index",
        "refused: varied.my.thing: a Python object (<m.Nested object>) that a serialized Dag does not hold",
        "refused: varied.longsql.sql: Airflow cut this field when it stored the Dag",
        "refused: varied.bsh.bash_command: the decorated function makes this text when the task runs",
        "refused: fixed.b.bash_command: the Dag's time zone 19800 has no place in a pipeline file",
        "needed: mapped.m5.bash_command: the file `scripts/run.sh` is not in the serialized Dag",
        "note: none: param `need` has no default: a run must give it in its conf",
    ] {
        assert!(shown.iter().any(|line| line.starts_with(part)), "{part}\n{shown:#?}");
    }
    // Refused fields are errors where they are rendered, never texts.
    let gravest = imported.findings.iter().filter(|finding| finding.gravity == Gravity::Refused).count();
    assert_eq!(gravest, 10);
}

#[test]
fn a_cut_field_is_taken_from_its_file() {
    let project = Project::new();
    let text = format!("-- long\n{}", "select '{{ run_id }}', 1 from t union all\n".repeat(300));
    let project = project.raw("dags/sql/long.sql", &text).raw("dags/sql/other.sql", "-- long\nselect 2\n");
    let root = Utf8Path::from_path(&project.path("dags")).unwrap().to_owned();
    let folders = Folders { dags: Some(root), template_searchpath: Vec::new() };
    let imported = import(&dags("varied.json"), &folders).unwrap();
    let said = imported.findings.iter().find(|finding| finding.subject() == "varied.longsql.sql").unwrap();
    assert_eq!(said.gravity, Gravity::Note);
    assert!(said.message.contains("its whole text is taken from"), "{said}");
    let (_, taken) = imported.files.iter().find(|(path, _)| path == "varied/longsql.sql").unwrap();
    assert_eq!(*taken, text);
}

#[test]
fn dags_of_airflow_2() {
    let imported = imported("old.json");
    let document = &imported.document;
    for part in [
        "profile: airflow-2.10\n",
        "  bucket_b: {uri: \"s3://bucket/b\", extra: {k: 1}}\n",
        "    schedule: bucket_a | bucket_b\n",
        "    schedule: \"@daily\"\n",
        "    schedule: null\n",
        "    schedule: {DeltaDataIntervalTimetable: {delta: 21600.0}}\n",
        "assets: [bucket_a, bucket_b]}\n",
    ] {
        assert!(document.contains(part), "{part}\n{document}");
    }
    assert!(imported.findings.iter().any(|finding| finding.message.contains("8 Dags were stored by Airflow 2")));
    let project = Project::new().copy("tests/fixtures/serialized", "in");
    project
        .run(&[
            "render",
            "--serialized",
            "in/old.json",
            "--dag",
            "daily",
            "--logical-date",
            "2026-02-03T00:00:00Z",
            "--task",
            "b",
        ])
        .success()
        .stdout_has("| echo 2026-02-03 2026-02-03 00:00:00+00:00 3");
}

#[test]
fn versions_do_not_mix() {
    let mut both = dags("varied.json");
    both.extend(dags("old.json").into_iter().filter(|dag| dag.dag_id().unwrap() == "daily"));
    let error = import(&both, &Folders::default()).unwrap_err();
    assert!(error.message.contains("is a Dag of Airflow 2"), "{error}");
}

/// A data file that is wrong anywhere gives an error or a pipeline, never a panic, and quickly.
#[test]
fn mutants() {
    let texts: Vec<String> = ["varied.json", "old.json"]
        .iter()
        .flat_map(|name| {
            let all: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(fixture(name)).unwrap()).unwrap();
            all.into_iter().map(|dag| dag.to_string())
        })
        .collect();
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("x"),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({"__type": "dict", "__var": 3}),
        json!({"__type": "asset", "__var": {}}),
        json!({"__type": 7}),
    ];
    let count: usize = std::env::var("PARTITA_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let (mut read, mut failed) = (0, 0);
    for _ in 0..count {
        let mut dag: Json = serde_json::from_str(&texts[next(texts.len())]).unwrap();
        for _ in 0..=next(2) {
            let mut node = &mut dag;
            // Down a random way, and there something else.
            for _ in 0..2 + next(9) {
                let size = match &*node {
                    Json::Object(map) => map.len(),
                    Json::Array(items) => items.len(),
                    _ => 0,
                };
                if size == 0 {
                    break;
                }
                let at = next(size);
                node = match node {
                    Json::Object(map) => map.values_mut().nth(at).unwrap(),
                    Json::Array(items) => &mut items[at],
                    _ => break,
                };
            }
            *node = values[next(values.len())].clone();
        }
        match SerializedDag::from_json(dag, "mutant").and_then(|dag| import(&[dag], &Folders::default())) {
            Ok(_) => read += 1,
            Err(error) => {
                failed += 1;
                assert!(!error.to_string().contains("please report it"), "{error}");
            }
        }
    }
    assert!(read > 0 && failed > 0, "{read} read, {failed} refused");
}

/// A script that stands for an interpreter.
fn with_interpreter(script: &str) -> Project {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new().file("dags/x.py", "").raw("python", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(project.path("python"), std::fs::Permissions::from_mode(0o755)).unwrap();
    project
}

#[test]
#[cfg(unix)]
fn a_dag_folder_through_an_interpreter() {
    let dag = |id: &str| {
        json!({"data": {"__version": 3, "dag": {
            "dag_id": id, "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
            "tasks": [{"__type": "operator", "__var": {
                "task_id": "t", "task_type": "BashOperator", "template_fields": ["bash_command", "env", "cwd"],
                "template_ext": [".sh", ".bash"], "bash_command": "echo {{ where }} {{ f() }} {{ partition_key }}",
            }}],
        }}, "extra": {
            "folder": "/home/airflow/dags", "template_searchpath": [], "template_undefined": "StrictUndefined",
            "user_defined_macros": {"where": {"plain": true, "value": "here"}, "f": {"plain": false, "value": null}},
            "user_defined_filters": {}, "jinja_environment_kwargs": {"trim_blocks": {"plain": true, "value": true}},
        }})
    };
    let lines = [
        json!({"airflow": "3.3.2"}),
        json!({"error": {"file": "broken.py", "text": "Traceback\nNameError: name 'x' is not defined"}}),
        dag("one"),
        json!({"end": 1}),
    ];
    let script: String =
        lines.iter().map(|line| format!("printf '%s\\n' '{}'\n", line.to_string().replace('\'', "'\\''"))).collect();
    let project = with_interpreter(&script);
    project
        .run(&["import", "dags", "dags", "--python", "./python"])
        .code(1)
        .stdout_has("    user_defined_macros: {where: here}\n    jinja_environment_kwargs: {trim_blocks: true}\n")
        .stderr_has("error: broken.py could not be imported\n  | Traceback\n  | NameError")
        .stderr_has("needed: one.t.bash_command: `f` is not Airflow's: a user-defined macro exists only in Python");
    project
        .run(&["render", "--dags-folder", "dags", "--python", "./python", "--partition-key", "k", "--dag", "one"])
        .code(1)
        .stdout_has("'f' is undefined");
    with_interpreter("echo '{\"airflow\": \"3.3.2\"}'; while :; do :; done")
        .run(&["import", "dags", "dags", "--python", "./python", "--timeout", "1"])
        .code(3)
        .stderr_has("./python did not read dags within 1 s");
    with_interpreter("echo \"ModuleNotFoundError: No module named 'airflow'\" >&2; exit 1")
        .run(&["import", "dags", "dags", "--python", "./python"])
        .code(3)
        .stderr_has("./python has no Airflow: ModuleNotFoundError: No module named 'airflow'");
    project.run(&["import", "dags", "dags", "--python", "./none"]).code(3).stderr_has("cannot run ./none");
    project
        .run(&["import", "dags", "nowhere", "--python", "./python"])
        .code(3)
        .stderr_has("cannot read the Dag folder");
}

/// A template comes to its Dag and task in many ways: what the import does not know is refused in each of them, and what is
/// printed is what Airflow printed.
fn reached(name: &str, rendered_here: &[&str]) {
    let imported = imported(&format!("{name}.json"));
    let text = std::fs::read_to_string(fixture(&format!("{name}.expected.json"))).unwrap();
    let expected: serde_json::Map<String, Json> = serde_json::from_str(&text).unwrap();
    let run = json!({"dag_run_id": "manual__2026-02-01T00:00:00+00:00", "dag_id": name, "run_type": "manual",
        "logical_date": "2026-02-01T00:00:00Z", "data_interval_start": "2026-02-01T00:00:00Z",
        "data_interval_end": "2026-02-01T00:00:00Z", "run_after": "2026-02-01T00:00:00Z", "state": "running", "conf": {}});
    let given = given_run(&imported.pipeline, &run, None).unwrap();
    let engine = Engine::new();
    let rendered = Renderer::new(&engine, &imported.pipeline, &given.scenario, given.scenario.clock()).run(&given.run);
    let mut equal = Vec::new();
    let mut refused = Vec::new();
    for task in &rendered.tasks {
        let field = task.fields.iter().find(|field| field.name == "bash_command").unwrap();
        match &field.value {
            Ok(value) => {
                assert_eq!(partita::render::stored(value), expected[&task.task_id], "{}", task.task_id);
                equal.push(task.task_id.as_str());
            }
            Err(error) => {
                assert_eq!(error.error.class, "Unsupported", "{}: {}", task.task_id, error.error);
                refused.push(task.task_id.as_str());
            }
        }
    }
    assert_eq!(equal.len() + refused.len(), expected.len());
    assert_eq!(equal, rendered_here, "refused: {refused:?}");
}

#[test]
fn what_is_not_known_of_a_dag_is_refused_however_it_is_reached() {
    let known = ["comp", "mapattr", "params_all", "params_json", "one", "label", "setlabel", "getitem"];
    reached("reaching", &known);
}

#[test]
fn and_of_a_dag_of_airflow_2() {
    reached("reaching210", &["comp", "mapattr", "owner", "sched", "tz", "repr"]);
}
