//! `partita render` as people run it.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value as Json;
use support::{Project, Ran};

/// A pipeline with one partitioned consumer; its tasks are given, indented as in the file.
fn pipeline(tasks: &str) -> Project {
    dag("", tasks)
}

/// The same with more keys for the Dag.
fn dag(keys: &str, tasks: &str) -> Project {
    let yaml = format!(
        "assets: {{orders: \"s3://lake/orders\"}}\n\
         dags:\n\
         \x20 use:\n\
         \x20   schedule: {{PartitionedAssetTimetable: {{assets: orders, default_partition_mapper: StartOfDayMapper}}}}\n{keys}\
         \x20   tasks:\n{tasks}"
    );
    Project::new().raw("p/pipeline.yaml", &yaml).file(
        "p/scenarios/s.yaml",
        r#"
        now: "2026-03-10T12:00:00Z"
        steps:
          - {emit: orders, partition_key: "2026-03-10T09:00:00", partition_date: "2026-03-10T09:00:00Z"}
        "#,
    )
}

/// The values of a task's fields, from `--format json`.
#[track_caller]
fn fields(project: &Project) -> Json {
    let ran = project.run(&["render", "p", "--format", "json"]);
    let outcomes: Json =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{}\n{}", ran.stdout, ran.stderr));
    outcomes[0]["runs"][0]["tasks"][0]["fields"].clone()
}

#[track_caller]
fn bash(command: &str) -> Ran {
    let quoted = serde_json::to_string(command).unwrap();
    pipeline(&format!("      t: {{operator: BashOperator, bash_command: {quoted}}}\n")).run(&["render", "p"])
}

#[test]
fn text_says_which_run_it_is() {
    bash("echo {{ partition_date | ds }}").success().stdout(
        r#"
        p / s

        use  2026-03-10   partition_date 2026-03-10 00:00 UTC (StartOfDayMapper)
          from orders "2026-03-10T09:00:00"

          t.bash_command
          | echo 2026-03-10
        "#,
    );
}

#[test]
fn one_field_fails_and_the_others_are_rendered() {
    let project = pipeline(
        "      t: {operator: BashOperator, bash_command: \"echo {{ ds }}\", env: {K: \"{{ partition_key }}\"}}\n",
    );
    project.run(&["render", "p"]).code(1).stdout(
        r#"
        p / s

        use  2026-03-10   partition_date 2026-03-10 00:00 UTC (StartOfDayMapper)
          from orders "2026-03-10T09:00:00"

          t.bash_command
          error: UndefinedError: 'ds' is undefined
           --> use.t.bash_command:1:9
            |
          1 | echo {{ ds }}
            |         ^^
            |
            = help: a run made from asset events has no logical date: use `partition_date | ds`
          t.env
          | K: "2026-03-10"
        "#,
    );
}

#[test]
fn an_error_in_an_included_file_is_shown_there() {
    let project = pipeline("      t: {operator: SQLExecuteQueryOperator, sql: main.sql}\n")
        .raw("p/main.sql", "SELECT 1;\n{% include 'part.sql' %}\n")
        .raw("p/part.sql", "-- part\nSELECT {{ params.nope }};\n");
    project
        .run(&["render", "p", "--field", "sql"])
        .code(1)
        .stdout_has("error: UndefinedError: 'dict object' has no attribute 'nope'")
        .stdout_has(" --> part.sql:2:")
        .stdout_has("SELECT {{ params.nope }};");
    let broken = pipeline("      t: {operator: SQLExecuteQueryOperator, sql: main.sql}\n")
        .raw("p/main.sql", "SELECT 1;\n{% if %}\n");
    broken
        .run(&["render", "p", "--field", "sql"])
        .code(1)
        .stdout_has(" --> main.sql:2:7")
        .stdout_has("TemplateSyntaxError");
}

#[test]
fn a_cycle_of_includes_ends() {
    let project = pipeline("      t: {operator: SQLExecuteQueryOperator, sql: a.sql}\n")
        .raw("p/a.sql", "{% include 'b.sql' %}")
        .raw("p/b.sql", "{% include 'a.sql' %}");
    project.run(&["render", "p"]).code(1).stdout_has("error: ");
}

// Rows 22 to 29, 70 and 74 of the collected user cases.
#[test]
fn text_that_ends_like_a_file_name_is_one() {
    bash("touch made.sh").code(1).stdout_has("error: TemplateNotFound: 'touch made.sh' not found in search path: 'p'");
    bash("touch made.sh ").success().stdout_has("| touch made.sh \n");
    let nested = pipeline("      t: {operator: BashOperator, bash_command: x, env: {S: /opt/run.sh}}\n");
    nested
        .run(&["render", "p"])
        .code(1)
        .stdout_has("TemplateNotFound: '/opt/run.sh' not found in search path: 'p'")
        .stdout_has("in env.S");
}

#[test]
fn files_are_found_along_the_search_path() {
    let project =
        dag("    template_searchpath: [sql, more]\n", "      t: {operator: SQLExecuteQueryOperator, sql: q.sql}\n")
            .raw("p/sql/q.sql", "first\n")
            .raw("p/more/q.sql", "second\n");
    assert_eq!(fields(&project)["sql"]["value"], "first");
    let project = project.raw("p/q.sql", "beside the pipeline");
    assert_eq!(fields(&project)["sql"]["value"], "beside the pipeline");
    assert_eq!(fields(&project)["sql"]["file"], "q.sql");
    for (name, found) in
        [("./sql/q.sql", true), ("/abs/q.sql", false), ("../p/q.sql", false), ("sql/{{ params.t }}.sql", false)]
    {
        let project = pipeline(&format!("      t: {{operator: SQLExecuteQueryOperator, sql: \"{name}\"}}\n"))
            .raw("p/sql/q.sql", "text");
        let sql = fields(&project)["sql"].clone();
        match found {
            true => assert_eq!(sql["value"], "text", "{name}"),
            false => assert_eq!(sql["error"]["kind"], "TemplateNotFound", "{name}: {sql}"),
        }
    }
}

#[test]
fn newlines_of_files() {
    for (text, expected) in [("a\n", "a"), ("a\n\n", "a\n"), ("a\r\nb", "a\nb"), ("\u{feff}a", "\u{feff}a")] {
        let project = pipeline("      t: {operator: SQLExecuteQueryOperator, sql: q.sql}\n").raw("p/q.sql", text);
        assert_eq!(fields(&project)["sql"]["value"], expected, "{text:?}");
    }
}

#[test]
fn keys_of_dicts_are_not_rendered_and_false_fields_are_left_alone() {
    let project = pipeline(
        "      t: {template_fields: [a, b, c, d], a: {\"{{ partition_key }}\": \"{{ partition_key }}\"}, b: [], c: \"\", d: [[{x: \"{{ 1 + 1 }}\"}], 7, null, true]}\n",
    );
    let fields = fields(&project);
    assert_eq!(fields["a"]["value"].to_string(), r#"{"{{ partition_key }}":"2026-03-10"}"#);
    assert_eq!(fields["b"]["value"].to_string(), "[]");
    assert_eq!(fields["c"]["value"], "");
    assert_eq!(fields["d"]["value"].to_string(), r#"[[{"x":"2"}],7,null,true]"#);
}

#[test]
fn native_fields_are_python_values() {
    let project = dag(
        "    render_template_as_native_obj: true\n",
        "      t: {template_fields: [f], f: {life: \"42\", n: \"007\", l: \"['a', 1.0]\", d: \"{{ partition_date }}\", j: '{\"a\": true}'}}\n",
    );
    let ran = project.run(&["render", "p"]).success();
    ran.stdout_has("| life: 42\n")
        .stdout_has("| \"n\": \"007\"\n")
        .stdout_has("|   - a\n  |   - 1.0\n")
        .stdout_has("| d: !python DateTime(2026, 3, 10, 0, 0, 0, tzinfo=Timezone('UTC'))\n")
        .stdout_has("| j: \"{\\\"a\\\": true}\"\n");
}

#[test]
fn data_in_a_field_is_a_template_too() {
    let project = pipeline("      t: {operator: PythonOperator, op_kwargs: {pat: \"a{%b\"}}\n");
    project.run(&["render", "p"]).code(1).stdout_has("TemplateSyntaxError").stdout_has("in op_kwargs.pat");
    bash("echo ${#arr[@]}").code(1).stdout_has("TemplateSyntaxError: Missing end of comment tag");
    bash("{% raw %}echo ${#arr[@]}{% endraw %}").success().stdout_has("| echo ${#arr[@]}\n");
    bash("docker ps --format \"{{.Names}}\"").code(1).stdout_has("TemplateSyntaxError");
    bash("docker ps --format \"{{ '{{' }}.Names{{ '}}' }}\"")
        .success()
        .stdout_has("| docker ps --format \"{{.Names}}\"\n");
}

#[test]
fn nested_text_keeps_its_lines() {
    let project = pipeline(
        "      t: {template_fields: [configuration], configuration: {query: {query: \"SELECT 1\\nFROM t\\n\", useLegacySql: false}}}\n",
    );
    project.run(&["render", "p"]).success().stdout_has(
        "  t.configuration\n  | query:\n  |   query: |-\n  |     SELECT 1\n  |     FROM t\n  |   useLegacySql: false\n",
    );
}

#[test]
fn mapped_tasks_render_once_for_each_index() {
    let project = pipeline(
        "      t: {operator: BashOperator, partial: {env: {I: \"{{ ti.map_index }}\"}}, expand: {bash_command: [\"echo {{ partition_key }} a\", echo b]}}\n",
    );
    let all = project.run(&["render", "p"]).success();
    all.stdout_has("t[0].bash_command\n  | echo 2026-03-10 a\n")
        .stdout_has("t[1].bash_command\n  | echo b\n")
        .stdout_has("| I: \"1\"\n");
    let one = project.run(&["render", "p", "--task", "t", "--map-index", "1", "--field", "bash_command"]).success();
    assert!(!one.stdout.contains("t[0]"), "{}", one.stdout);
    project
        .run(&["render", "p", "--task", "t", "--map-index", "7"])
        .code(2)
        .stderr_has("map index 7 is out of range in t of use");
    let product = pipeline("      t: {template_fields: [a, b], expand: {a: [\"1\", \"2\"], b: [x, y, z]}}\n");
    product.run(&["render", "p"]).success().stdout_has("t[4].a\n  | 2\n  t[4].b\n  | y\n");
}

#[test]
fn secrets_are_masked_for_people_only() {
    let project = dag(
        "",
        "      t: {operator: BashOperator, bash_command: \"psql {{ conn.db.password }} {{ var.value.api_token }} {{ var.value.plain }} {{ var.value.hidden }}\"}\n",
    );
    let project = project.edit("p/pipeline.yaml", |text| {
        format!(
            "connections: {{db: {{conn_type: postgres, password: s3cr3tpw}}}}\nvariables: {{api_token: tok-12345, plain: shown, hidden: xy-99}}\nsecrets: [hidden]\n{text}"
        )
    });
    project.run(&["render", "p"]).success().stdout_has("| psql *** *** shown ***\n");
    for format in ["json", "jsonl"] {
        let ran = project.run(&["render", "p", "--format", format]).success();
        assert!(
            !ran.stdout.contains("s3cr3tpw") && !ran.stdout.contains("tok-12345") && !ran.stdout.contains("xy-99"),
            "{}",
            ran.stdout
        );
    }
    project.run(&["render", "p", "--show-secrets"]).success().stdout_has("| psql s3cr3tpw tok-12345 shown xy-99\n");
    project.run(&["render", "p", "--out", "out"]).success();
    assert_eq!(project.read("out/p/s/use/2026-03-10/t.bash_command"), "psql s3cr3tpw tok-12345 shown xy-99");
}

#[test]
fn files_hold_the_exact_text() {
    let project = pipeline(
        "      t: {operator: BashOperator, bash_command: \"a\\n\\n\", env: {K: v}}\n      u: {template_fields: [x], x: \"é {{ run_id }}\"}\n",
    );
    let ran = project.run(&["render", "p", "--out", "out"]).success();
    assert_eq!(ran.stdout.lines().count(), 3);
    assert_eq!(
        project.tree("out"),
        ["p/s/use/2026-03-10/t.bash_command", "p/s/use/2026-03-10/t.env", "p/s/use/2026-03-10/u.x"]
    );
    assert_eq!(project.read("out/p/s/use/2026-03-10/t.bash_command"), "a\n");
    assert!(project.read("out/p/s/use/2026-03-10/u.x").starts_with("é asset_triggered__2026-03-10T12:00:02+00:00_"));
}

#[test]
fn json_lines_hold_a_field_each() {
    let project = pipeline("      t: {operator: BashOperator, bash_command: \"{{ ds }}\", env: {K: v}}\n");
    let ran = project.run(&["render", "p", "--format", "jsonl"]).code(1);
    let lines: Vec<Json> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["error"]["kind"], "UndefinedError");
    assert_eq!(lines[0]["error"]["message"], "'ds' is undefined");
    assert_eq!(lines[0]["error"]["line"], 1);
    assert_eq!(lines[1]["value"]["K"], "v");
    assert_eq!(lines[1]["partition_date"], "2026-03-10T00:00:00+00:00");
}

#[test]
fn runs_that_no_scenario_makes() {
    let project = pipeline(
        "      t: {operator: BashOperator, bash_command: \"{{ partition_key }} {{ partition_date | ds }} {{ triggering_asset_events | length }} {{ logical_date | default('no logical date') }}\"}\n",
    );
    project
        .run(&["render", "p", "--partition-key", "2026-03-11"])
        .success()
        .stdout_has("use  2026-03-11   partition_date 2026-03-11 00:00 UTC (StartOfDayMapper; decoded)")
        .stdout_has("assumed: no event made this run")
        .stdout_has("| 2026-03-11 2026-03-11 0 no logical date\n");
    project
        .run(&["render", "p", "--partition-key", "2026-03-11", "--logical-date", "2026-03-12", "--run-type", "manual"])
        .success()
        .stdout_has("| 2026-03-11 2026-03-11 0 2026-03-12 00:00:00+00:00\n");
    project
        .run(&["render", "p", "--emit", "orders=2026-03-12T01:00:00"])
        .success()
        .stdout_has("| 2026-03-12 2026-03-12 1 no logical date\n");
    project.run(&["render", "p", "--partition-key", "x", "--emit", "orders=x"]).code(2);
    project
        .run(&["render", "p", "--emit", "ordrs=x"])
        .code(2)
        .stderr_has("there is no asset `ordrs`\nhelp: did you mean `orders`?");
    project
        .run(&["render", "p", "--emit", "orders=nonsense"])
        .success()
        .stdout_has("warning: failed to map partition_key: Could not map partition_key 'nonsense'")
        .stderr_has("note: nothing was rendered");
}

#[test]
fn runs_as_a_worker_gets_them() {
    let project = pipeline("      t: {operator: BashOperator, bash_command: \"{{ run_id }} {{ ti.try_number }} {{ dag_run.conf.x }}\"}\n").file(
        "run.json",
        r#"
        {"dag_run": {"dag_id": "use", "run_id": "r1", "logical_date": null, "data_interval_start": null, "data_interval_end": null,
          "run_after": "2026-03-10T12:00:00Z", "start_date": "2026-03-10T12:00:00Z", "end_date": null, "run_type": "asset_triggered",
          "state": "running", "conf": {"x": 5}, "consumed_asset_events": [], "partition_key": "k", "partition_date": null},
         "max_tries": 2, "ti": {"task_id": "t", "try_number": 3}}
        "#,
    );
    project.run(&["render", "p", "--run", "run.json"]).success().stdout_has("| r1 3 5\n");
    let wrong = project.edit("run.json", |text| text.replace("\"use\"", "\"us\""));
    wrong
        .run(&["render", "p", "--run", "run.json"])
        .code(2)
        .stderr_has("there is no Dag `us`\nhelp: did you mean `use`?");
    let invalid =
        wrong.edit("run.json", |text| text.replace("asset_triggered", "asset_trigered").replace("\"us\"", "\"use\""));
    invalid
        .run(&["render", "p", "--run", "run.json"])
        .code(3)
        .stderr_has("ValidationError: 1 validation error for DagRun\nrun_type");
    invalid.run(&["render", "p", "--run", "nothing.json"]).code(3).stderr_has("cannot read nothing.json");
}

#[test]
fn names_that_nothing_has() {
    let project = pipeline("      t: {operator: BashOperator, bash_command: x}\n");
    project
        .run(&["render", "p", "--dag", "uze"])
        .code(2)
        .stderr("error: there is no Dag `uze`\nhelp: did you mean `use`?\n");
    project
        .run(&["render", "p", "--task", "q"])
        .code(2)
        .stderr("error: there is no task `q`\nhelp: did you mean `t`?\n");
    project
        .run(&["render", "p", "--field", "bash"])
        .code(2)
        .stderr_has("there is no field `bash`\nhelp: known here: `bash_command`, `cwd`, `env`");
    project.run(&["render", "p", "--scenario", "z"]).code(2).stderr_has("there is no scenario `z`");
}

#[test]
fn a_chain_without_end_is_refused() {
    let project = Project::new()
        .file(
            "p/pipeline.yaml",
            r#"
            assets: {a: "s3://x/a", b: "s3://x/b"}
            dags:
              one: {schedule: {PartitionedAssetTimetable: a}, tasks: {t: {outlets: [b]}}}
              two: {schedule: {PartitionedAssetTimetable: b}, tasks: {t: {outlets: [a]}}}
            "#,
        )
        .file("p/scenarios/s.yaml", "{steps: [{emit: a, partition_key: k}], follow: true}\n");
    project
        .run(&["render", "p"])
        .code(3)
        .stderr_has("error: the chain of assets comes back to a Dag it came from: one -> two -> one")
        .stderr_has("help: leave out `follow`");
}

#[test]
fn what_is_not_given_is_not_invented() {
    let project = pipeline("      t: {operator: BashOperator, bash_command: \"{{ ti.xcom_pull('load') }}\"}\n");
    project.run(&["render", "p"]).code(1).stdout_has("error: Unsupported: ");
    bash("{{ var.value.nope }}").code(1).stdout_has("AirflowRuntimeError");
}

#[test]
fn a_pod_renders_names_and_values_of_its_variables() {
    let project =
        pipeline("      t: {operator: KubernetesPodOperator, env_vars: {\"{{ 'A' }}\": \"{{ partition_key }}\"}}\n");
    assert_eq!(fields(&project)["env_vars"]["value"].to_string(), r#"[{"name":"A","value":"2026-03-10"}]"#);
}

#[test]
fn requests_name_tasks_of_a_pipeline() {
    let run = |ti: &str| {
        format!(
            r#"{{"dag_run": {{"dag_id": "use", "run_id": "r1", "logical_date": null, "data_interval_start": null,
            "data_interval_end": null, "run_after": "2026-03-10T12:00:00Z", "start_date": null, "end_date": null,
            "run_type": "asset_triggered", "state": "running", "conf": {{}}, "consumed_asset_events": [],
            "partition_key": "2026-03-10", "partition_date": "2026-03-10T00:00:00Z"}}, "max_tries": 0, "ti": {ti}}}"#
        )
        .replace('\n', " ")
    };
    let lines = [
        format!(r#"{{"id": 1, "dag_id": "use", "task_id": "t", "run": {}}}"#, run(r#"{"task_id": "t"}"#)),
        format!(
            r#"{{"id": 2, "dag_id": "use", "task_id": "m", "run": {}}}"#,
            run(r#"{"task_id": "m", "map_index": 1}"#)
        ),
        format!(
            r#"{{"id": 3, "dag_id": "use", "task_id": "m", "run": {}}}"#,
            run(r#"{"task_id": "m", "map_index": 2}"#)
        ),
        r#"{"id": 4, "dag_id": "uze", "task_id": "t", "run": {}}"#.to_owned(),
        "no json".to_owned(),
    ];
    let project = pipeline(
        "      t: {operator: BashOperator, bash_command: \"{{ partition_date | ds }}\", env: {A: \"{{ ds }}\"}}\n      m: {template_fields: [x], expand: {x: [a, \"{{ partition_key }}\"]}}\n",
    )
    .stdin(&(lines.join("\n") + "\n"));
    let ran = project.run(&["render", "--jsonl", "--pipeline", "p"]).success();
    let answers: Vec<Json> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0]["fields"]["bash_command"], "2026-03-10");
    assert_eq!(answers[0]["errors"]["env"]["message"], "'ds' is undefined");
    assert_eq!(answers[1]["fields"]["x"], "2026-03-10");
    assert_eq!(answers[2]["error"]["message"], "map index out of range in m");
    assert_eq!(answers[3]["error"]["hint"], "did you mean `use`?");
    assert_eq!(answers[4]["id"], Json::Null);
    assert_eq!(answers.len(), 5);
}

#[test]
fn a_mapped_task_without_end_is_refused() {
    let items: Vec<String> = (0..200).map(|item| item.to_string()).collect();
    let list = items.join(", ");
    let project = pipeline(&format!("      t: {{template_fields: [a, b], expand: {{a: [{list}], b: [{list}]}}}}\n"));
    project
        .run(&["render", "p"])
        .code(1)
        .stdout_has("LimitExceeded: 40000 task instances of one mapped task; the limit is 10000");
    project.run(&["render", "p", "--task", "t", "--map-index", "39999"]).success();
}

#[test]
fn what_is_not_asked_for_neither_fails_nor_shows() {
    let project = pipeline(
        "      good: {operator: BashOperator, bash_command: \"echo\", env: {A: \"{{ nope }}\"}}\n\
         \x20     bad: {operator: BashOperator, bash_command: \"{{ nope }}\"}\n",
    );
    project.run(&["render", "p"]).code(1);
    project.run(&["render", "p", "--task", "good"]).code(1);
    project.run(&["render", "p", "--task", "good", "--field", "bash_command"]).success();
    project.run(&["render", "p", "--task", "bad"]).code(1);
    project.run(&["render", "p", "--field", "env"]).code(1);
}

#[test]
fn a_map_index_of_one_dag_among_several() {
    let project = Project::new()
        .file(
            "p/pipeline.yaml",
            r#"
            assets: {orders: "s3://lake/orders"}
            dags:
              make: {schedule: null, tasks: {t: {outlets: [orders]}}}
              use:
                schedule: orders
                tasks:
                  m: {operator: BashOperator, expand: {bash_command: ["a {{ ti.map_index }}", "b {{ ti.map_index }}"]}}
            "#,
        )
        .file("p/scenarios/s.yaml", "now: \"2026-03-10T12:00:00Z\"\nsteps: [{run: make}]\n");
    project.run(&["render", "p", "--task", "m", "--map-index", "1"]).success().stdout_has("| b 1");
    project.run(&["render", "p", "--task", "m", "--map-index", "2"]).code(2).stderr_has("out of range in m of use");
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let project = pipeline("      t: {operator: BashOperator, bash_command: \"echo\"}\n");
    let refused: [&[&str]; 6] = [
        &["--pipeline", "p"],
        &["--jsonl", "--logical-date", "2026-03-10T00:00:00Z"],
        &["p", "--out", "x", "--format", "json"],
        &["p", "--from", "2026-03-11", "--to", "2026-03-10"],
        &["p", "--emit", "orders=2026-03-10T09:00:00", "--run-type", "manual"],
        &["p", "--from", "2026-03-10", "--to", "2026-03-10", "--logical-date", "2026-03-10T00:00:00Z"],
    ];
    for args in refused {
        project.run(&[&["render"], args].concat()).code(2);
    }
}

#[test]
fn what_waits_is_said() {
    let project = Project::new().file(
        "p/pipeline.yaml",
        r#"
            assets: {orders: "s3://lake/orders"}
            dags:
              daily:
                schedule:
                  PartitionedAssetTimetable:
                    assets: orders
                    default_partition_mapper: {RollupMapper: {upstream_mapper: StartOfDayMapper, window: DayWindow}}
                tasks: {t: {operator: BashOperator, bash_command: "echo"}}
            "#,
    );
    let day = ["render", "p", "--emit", "orders=2026-03-10T09:00:00"];
    project.run(&day).success().stdout_has("pending: daily \"2026-03-10\" (orders: 1 of 24 keys, WaitForAll())");
    let days = [&day[..], &["--emit", "orders=2026-03-11T09:00:00"]].concat();
    project.run(&days).success().stdout_has("pending: daily, 2 partitions");
}

#[test]
fn a_logical_date_means_a_run_by_hand() {
    let project =
        pipeline("      t: {operator: BashOperator, bash_command: \"{{ dag_run.run_type.value }} {{ ds }}\"}\n");
    let ran = project.run(&["render", "p", "--logical-date", "2026-03-10T00:00:00Z"]).success();
    ran.stdout_has("| manual 2026-03-10").stdout_has("it is the manual run that the command asks for");
}

#[test]
fn a_secret_param_that_a_run_overrides_is_hidden() {
    let project = Project::new()
        .file(
            "p/pipeline.yaml",
            r#"
            secrets: [internal_code]
            dags:
              d:
                schedule: null
                params: {password: of-the-dag, internal_code: zz-of-dag}
                tasks: {t: {operator: BashOperator, bash_command: "{{ params.password }} {{ params.internal_code }}"}}
            "#,
        )
        .file(
            "p/scenarios/s.yaml",
            "now: \"2026-03-10T12:00:00Z\"\nsteps: [{run: d, conf: {password: of-the-run, internal_code: zz-of-run}}]\n",
        );
    project.run(&["render", "p"]).success().stdout_has("| *** ***");
    project.run(&["render", "p", "--show-secrets"]).success().stdout_has("| of-the-run zz-of-run");
    project.run(&["context", "p", "--name", "dag_run"]).success().stdout_has("'password': '***'");
}

#[test]
fn what_an_operator_does_to_its_argument_is_done_or_refused() {
    let sql = pipeline(
        "      t: {operator: SQLExecuteQueryOperator, sql: \"{{ partition_key }}\", parameters: \"{'a': 1}\"}\n",
    );
    sql.run(&["render", "p"])
        .code(1)
        .stdout_has("error: Unsupported: SQLExecuteQueryOperator: `parameters` as a text is read as a Python literal")
        .stdout_has("t.sql\n  | 2026-03-10\n");
    let check = pipeline("      t: {operator: SQLValueCheckOperator, sql: SELECT 1, pass_value: 5}\n");
    check
        .run(&["render", "p"])
        .success()
        .stderr_has("warning: SQLValueCheckOperator works `pass_value` out of its arguments");
}

#[test]
fn what_was_assumed_is_said() {
    let project = pipeline(
        "      t: {template_fields: [a], template_ext: [.sql], a: q.sql}\n      u: {template_fields: [a], a: \"{{ partition_key }}\"}\n",
    )
    .raw("p/q.sql", "{% include 'part.sql' %} {{ ti.try_number }}")
    .raw("p/part.sql", "{{ dag_run.run_after }} {{ dag_run.run_id | length }}");
    let ran = project.run(&["render", "p"]).success();
    ran.stdout_has("assumed in t: the end of run_id; try_number 1; run_after from the scenario's clock\n");
    let ran = project.run(&["render", "p", "--task", "u"]).success();
    assert!(!ran.stdout.contains("assumed"), "{}", ran.stdout);
}

/// A clock that nobody set is never shown as if it were one: every form of the answer marks what read it.
#[test]
fn a_clock_that_nobody_set_is_marked() {
    let pipeline = "assets: {a: \"s3://a\"}\ndags:\n  d:\n    schedule: {PartitionedAssetTimetable: {assets: a, default_partition_mapper: StartOfHourMapper}}\n    tasks:\n      t: {operator: BashOperator, bash_command: \"echo {{ macros.datetime.now().year }}\"}\n";
    let project = Project::new()
        .raw("templates/p/pipeline.yaml", pipeline)
        .raw("templates/p/scenarios/s.yaml", "steps:\n  - {emit: a, partition_key: \"2026-03-10T09:00:00\"}\n");
    let mark = "now from a clock that nobody set";
    project.run(&["render"]).success().stdout_has(mark);
    project.run(&["render", "--format", "json"]).success().stdout_has(mark);
    project.run(&["render", "--format", "jsonl"]).success().stdout_has(mark);
    project.run(&["render", "--partition-key", "2026-03-10T09", "--dag", "d"]).success().stdout_has(mark);
    let set = project.raw(
        "templates/p/scenarios/s.yaml",
        "now: \"2026-03-11T00:00:00Z\"\nsteps:\n  - {emit: a, partition_key: \"2026-03-10T09:00:00\"}\n",
    );
    for format in ["text", "json", "jsonl"] {
        let ran = set.run(&["render", "--format", format]).success();
        assert!(!ran.stdout.contains(mark) && ran.stdout.contains("echo 2026"), "{}", ran.stdout);
    }
}
