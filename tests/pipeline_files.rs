//! Pipeline and scenario files: what they may say, and how mistakes in them are shown.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::Utf8Path;
use partita::pipeline::{self, Problem, yaml};
use serde_json::Value as Json;
use support::{Project, unindent};

/// The problems of a pipeline, each as `line:column: message (help)`.
#[track_caller]
fn problems(text: &str) -> Vec<String> {
    let source = yaml::source(Utf8Path::new("p.yaml"), unindent(text));
    match pipeline::from_source(&source, Utf8Path::new(".")) {
        Ok(pipeline) => pipeline.warnings.iter().map(shown).collect(),
        Err(problems) => problems.iter().map(shown).collect(),
    }
}

fn shown(problem: &Problem) -> String {
    problem.to_string().trim_start_matches("p.yaml:").trim_start_matches("s.yaml:").to_owned()
}

/// The problems of a scenario of a small pipeline.
#[track_caller]
fn scenario_problems(text: &str) -> Vec<String> {
    let source = yaml::source(
        Utf8Path::new("p.yaml"),
        unindent(
            r#"
            assets: {orders: "s3://lake/orders", rates: "s3://lake/rates"}
            dags:
              make: {schedule: PartitionedAtRuntime, tasks: {load: {outlets: [orders]}}}
              use: {schedule: {PartitionedAssetTimetable: orders}}
            "#,
        ),
    );
    let pipeline = pipeline::from_source(&source, Utf8Path::new(".")).unwrap();
    let source = yaml::source(Utf8Path::new("s.yaml"), unindent(text));
    match pipeline::scenario_from_source(&source, &pipeline) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(shown).collect(),
    }
}

#[test]
fn unknown_names_are_shown_with_the_closest() {
    assert_eq!(
        problems(
            r#"
            profil: airflow-3.3
            assets:
              a: "s3://x/a"
              b: {uri: "s3://x/b", exta: {}}
            dags:
              d1: {schedule: {PartitionedAssetTimetable: {assets: a & bb}}}
              d2: {schedule: {PartitionedAssetTimetable: {assets: a, default_partition_mapper: StartOfDayMaper}}}
              d3: {schedule: PartitionedAtRuntim}
              d4: {shedule: null}
              d5: {timezone: europe/berlin}
              d6: {tasks: {t: {operator: BashOperater, bash_command: x}}}
              d7: {tasks: {t: {operatr: BashOperator}}}
            "#
        ),
        [
            "1:1: unknown key `profil` in a pipeline (did you mean `profile`?)",
            "4:24: unknown key `exta` in asset `b` (did you mean `extra`?)",
            "6:59: unknown asset `bb` (did you mean `b`?)",
            "7:84: partition mapper \"StartOfDayMaper\" does not exist (did you mean `StartOfDayMapper`?)",
            "8:18: unknown timetable `PartitionedAtRuntim` (did you mean `PartitionedAtRuntime`?)",
            "9:8: unknown key `shedule` in Dag `d4` (did you mean `schedule`?)",
            "10:18: `timezone`: there is no time zone `europe/berlin` (did you mean `Europe/Berlin`?)",
            "11:30: unknown operator `BashOperater`: its template fields must be given (did you mean `BashOperator`?)",
            "12:29: task `t` has an argument `operatr` but neither `operator` nor `template_fields` (did you mean `operator`?)",
        ]
    );
}

#[test]
fn what_airflow_refuses_is_refused_in_its_words() {
    assert_eq!(
        problems(
            r#"
            assets: {a: "s3://x/a", empty: {uri: ""}}
            dags:
              d1: {schedule: {CronPartitionTimetable: {cron: "0 * * *", timezone: UTC}}}
              d2: {schedule: {CronPartitionTimetable: "0 * * * *"}}
              d3: {schedule: {PartitionedAssetTimetable: {assets: a, default_partition_mapper: {ProductMapper: [IdentityMapper]}}}}
              d4: {schedule: {PartitionedAssetTimetable: {assets: a, default_partition_mapper: {RollupMapper: {upstream_mapper: StartOfDayMapper, window: {SegmentWindow: [x]}}}}}}
              d5: {schedule: {PartitionedAssetTimetable: {assets: a, default_partition_mapper: {StartOfDayMapper: {timezone: Mars/Base}}}}}
              d6: {schedule: "61 * * * *"}
            "#
        ),
        [
            "1:32: asset `empty`: Asset uri cannot be empty",
            "3:19: Exactly 5, 6 or 7 columns has to be specified for iterator expression.",
            "4:19: CronPartitionTimetable.__init__() missing 1 required keyword-only argument: 'timezone'",
            "5:85: ProductMapper.__init__() missing 1 required positional argument: 'mapper1'",
            "6:85: SegmentWindow expects decoded values of type 'str', but StartOfDayMapper decodes to 'datetime'. Pair a window \
             and an upstream mapper whose 'expected_decoded_type' match.",
            "7:114: there is no time zone `Mars/Base` (names are those of the IANA database, such as Europe/Berlin)",
            "8:18: [61 * * * *] is not acceptable, out of range",
        ]
    );
}

#[test]
fn wrong_types_and_missing_parts() {
    assert_eq!(
        problems(
            r#"
            assets: {a: 5}
            variables: {n: 5, j: {x: 1}}
            dags:
              d1: {catchup: maybe, max_active_runs: many}
              d2: {schedule: {PartitionedAssetTimetable: {default_partition_mapper: IdentityMapper}}}
              d3: {tasks: {t: {operator: BashOperator}}}
              d4: {tasks: {t: {template_fields: [sql]}}}
              "d 5": {}
              d6: {schedule: [a, b], start_date: soon}
            "#
        ),
        [
            "2:16: variable `n` must be a string (quote it: \"5\")",
            "2:22: variable `j` must be a string: Airflow stores text (write its JSON text in single quotes, as `airflow variables \
             set` would get it)",
            "1:13: asset `a` must be a URI, or {uri, name, group, extra}",
            "4:17: `catchup` must be true or false",
            "4:41: `max_active_runs` must be a whole number",
            "5:19: PartitionedAssetTimetable needs `assets`",
            "6:20: BashOperator needs `bash_command`",
            "7:20: 'sql' is configured as a template field but this task does not have this attribute. (give the task an argument \
             `sql`, or take it out of `template_fields`)",
            "8:3: `d 5` cannot be the id of a Dag (letters, digits, dashes, dots and underscores only, as Airflow demands)",
            "9:19: unknown asset `a`",
            "9:38: `start_date` is not a date and time (write it as \"2026-03-10T09:00:00Z\"; without an offset it is UTC)",
        ]
    );
}

#[test]
fn slips_are_warnings() {
    assert_eq!(
        problems("dags: {d: {tasks: {t: {operator: BashOperator, bash_command: x, evn: {A: b}, outlet: []}}}}"),
        [
            "1:70: BashOperator has no template field `evn` (did you mean `env`?)",
            "1:86: BashOperator has no template field `outlet` (did you mean `outlets`?)",
        ]
    );
}

#[test]
fn keys_must_be_quoted() {
    assert_eq!(
        scenario_problems(
            r#"
            steps:
              - {emit: orders, partition_key: 20260310}
              - {emit: orders, partition_key: 2026-03-10}
              - {emit: orders, partition_key: "2026-03-10"}
              - {emit: orders, partition_key: eu|2026-03-10}
              - run: make
                tasks: {load: {add_partitions: {orders: [1, "2"]}}}
            "#
        ),
        [
            "2:35: `partition_key` is a string and must be quoted (write \"20260310\")",
            "3:35: `partition_key` is a string and must be quoted (write \"2026-03-10\")",
            "7:46: a partition key of `orders` is a string and must be quoted (write \"1\")",
        ]
    );
}

#[test]
fn steps_that_are_none() {
    assert_eq!(
        scenario_problems(
            r#"
            now: today
            steps:
              - tik
              - {emit: ordrs}
              - {run: mak}
              - {run: make, tasks: {lod: {}}}
              - {emitt: orders}
              - {emit: orders, partition_kye: "x"}
              - {run: make, tasks: {load: {state: done}}}
              - {pause: nobody}
            follow: yes
            "#
        ),
        [
            "1:6: `now` is not a date and time (write it as \"2026-03-10T09:00:00Z\"; without an offset it is UTC)",
            "11:9: `follow` must be true or false",
            "3:5: `tik` is not a step (did you mean `tick`?)",
            "4:12: unknown asset `ordrs` (did you mean `orders`?)",
            "5:11: unknown Dag `mak` (did you mean `make`?)",
            "6:25: task `lod`: Dag `make` has no such task (did you mean `load`?)",
            "7:5: this is not a step (did you mean `emit`?)",
            "8:20: unknown key `partition_kye` in step `emit` (did you mean `partition_key`?)",
            "9:39: `state` must be one of `success`, `failed`, `skipped`, `upstream_failed`",
            "10:13: unknown Dag `nobody` (known here: `make`, `use`)",
        ]
    );
}

#[test]
fn files_that_are_no_yaml() {
    assert_eq!(problems("dags: {a: 1}\ndags: {}\n"), ["2:1: duplicate mapping key: dags"]);
    assert_eq!(problems("dags: [\n"), ["1:7: unclosed bracket '['"]);
    let deep = format!("dags: {}", "[".repeat(10_000));
    assert_eq!(problems(&deep).len(), 1);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    assert_eq!(problems(bomb).len(), 1);
}

#[test]
fn json_is_read_too() {
    let project =
        Project::new().file("p/pipeline.json", r#"{"assets": {"a": "s3://x/a"}, "dags": {"d": {"schedul": "a"}}}"#);
    project.run(&["render", "p"]).code(3).stderr(
        r#"
        error: unknown key `schedul` in Dag `d`
         --> p/pipeline.json:1:46
          |
        1 | {"assets": {"a": "s3://x/a"}, "dags": {"d": {"schedul": "a"}}}
          |                                              ^^^^^^^^^
          |
          = help: did you mean `schedule`?
        "#,
    );
}

#[test]
fn a_folder_without_a_pipeline() {
    let project = Project::new().file("p/readme.txt", "");
    project.run(&["render"]).code(3).stderr_has("no pipeline: cannot read the folder templates");
    project
        .run(&["render", "p"])
        .code(3)
        .stderr("error: no pipeline in p: a pipeline is a folder with a pipeline.yaml\n");
    project.run(&["render", "q"]).code(3).stderr_has("error: cannot read q: ");
    project.run(&["rendr"]).code(2).stderr_has("tip: a similar subcommand exists: 'render'");
}

/// Every entry of the smaller tree is in the larger one, unchanged.
fn contains(larger: &Json, smaller: &Json, path: &str) {
    match (larger, smaller) {
        (Json::Object(larger), Json::Object(smaller)) => {
            for (key, value) in smaller {
                let path = format!("{path}/{key}");
                contains(larger.get(key).unwrap_or_else(|| panic!("{path} is gone")), value, &path);
            }
        }
        _ => assert_eq!(larger, smaller, "{path}"),
    }
}

#[test]
fn the_first_sample_holds_the_example_of_the_design() {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| yaml::parse(&yaml::read(&root.join(path)).unwrap()).unwrap().to_json();
    contains(&read("templates/player_stats/pipeline.yaml"), &read("tests/fixtures/design_pipeline.yaml"), "");
    let mut sample = read("templates/player_stats/scenarios/one_hour.yaml");
    let design = read("tests/fixtures/design_scenario.yaml");
    contains(&sample, &design, "");
    // Nothing else happens in it.
    assert_eq!(sample["steps"].take(), design["steps"]);
}

#[test]
fn schedules_and_operators_that_are_close_to_nothing() {
    for (dag, expected) in [
        ("{schedule: \"* * * *\"}", "Exactly 5, 6 or 7 columns"),
        ("{schedule: \"@dayly\"}", "presets are @once"),
        ("{schedule: \"s3://x/a\"}", "is a URI, where assets are named"),
        ("{schedule: \"s3://x/a\"}", "write its name: `a`"),
        ("{tasks: {t: {operator: FooOperator, x: 1}}}", "add `template_fields: [...]`"),
        ("{tasks: {t: {operator: BashOperater, x: 1}}}", "did you mean `BashOperator`?"),
    ] {
        let ran = Project::new()
            .raw("p/pipeline.yaml", &format!("assets: {{a: \"s3://x/a\"}}\ndags: {{d: {dag}}}\n"))
            .run(&["render", "p"])
            .code(3);
        assert!(ran.stderr.contains(expected), "{dag}: {}", ran.stderr);
    }
}
