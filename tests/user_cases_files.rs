//! Problems real users had with files of templates, nested fields, cut texts and mapped tasks.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::json;
use support::{Project, Ran};

const RUN: [&str; 4] = ["--run-type", "manual", "--logical-date", "2026-11-20T00:00:00Z"];

/// Renders the one task of a pipeline for a manual run of 2026-11-20.
fn render(project: &Project) -> Ran {
    project.run(&[&["render", "p"], &RUN[..]].concat())
}

fn task(text: &str) -> Project {
    let body: String = text.lines().map(|line| format!("      {line}\n")).collect();
    Project::new()
        .raw(
            "p/pipeline.yaml",
            &format!("template_searchpath: [first, second]\ndags:\n  d:\n    params: {{t: x}}\n    tasks:\n{body}"),
        )
        .raw("p/first/q.sql", "select 'first'\n")
        .raw("p/second/q.sql", "select 'second'\n")
}

#[test]
fn case_22_a_command_that_ends_like_a_file_name() {
    let made = render(&task("t: {operator: BashOperator, bash_command: \"touch made.sh\"}")).code(1);
    made.stdout_has("TemplateNotFound: 'touch made.sh' not found in search paths: 'p', 'p/first', 'p/second'");
    render(&task("t: {operator: BashOperator, bash_command: \"touch made.sh \"}"))
        .success()
        .stdout_has("| touch made.sh \n");
}

#[test]
fn case_23_file_names_inside_of_mappings() {
    let made = render(&task("t: {operator: BashOperator, bash_command: \"true\", env: {S: /opt/run.sh}}")).code(1);
    made.stdout_has("env.S").stdout_has("TemplateNotFound: '/opt/run.sh' not found in search paths");
}

#[test]
fn case_25_absolute_and_relative_paths() {
    let sql = |name: &str| {
        task(&format!("t: {{operator: SQLExecuteQueryOperator, sql: \"{name}\"}}")).raw("p/sql/q.sql", "select 'own'\n")
    };
    render(&sql("/abs/q.sql"))
        .code(1)
        .stdout_has("TemplateNotFound: '/abs/q.sql' not found in search paths: 'p', 'p/first'");
    render(&sql("./sql/q.sql")).success().stdout_has("| select 'own'\n");
}

#[test]
fn case_26_a_file_chosen_by_a_param() {
    let made = render(&task("t: {operator: SQLExecuteQueryOperator, sql: \"sql/{{ params.t }}.sql\"}")).code(1);
    made.stdout_has("TemplateNotFound: 'sql/{{ params.t }}.sql' not found in search paths").stdout_has("include");
}

#[test]
fn case_28_two_folders_hold_the_file() {
    let made = render(&task("t: {operator: SQLExecuteQueryOperator, sql: q.sql}")).success();
    made.stdout_has("first/q.sql\n").stdout_has("| select 'first'\n");
}

#[test]
fn case_29_a_parent_step_in_an_include() {
    let with = |name: &str| {
        task(&format!("t: {{operator: SQLExecuteQueryOperator, sql: \"{{% include '{name}' %}}\"}}"))
            .raw("p/part.sql", "part\n")
            .raw("inc/part.sql", "no\n")
    };
    render(&with("../inc/part.sql")).code(1).stdout_has("TemplateNotFound: ../inc/part.sql");
    render(&with("./part.sql")).success().stdout_has("| part\n");
}

#[test]
fn cases_64_and_65_long_texts() {
    let lines: String = (0..300).map(|line| format!("select {line} from a_table_with_a_name\n")).collect();
    assert!(lines.len() > 6_000);
    let project = task("t: {operator: SQLExecuteQueryOperator, sql: long.sql}").raw("p/first/long.sql", &lines);
    // Whole, and every line of it a line.
    let made = render(&project).success();
    assert_eq!(made.stdout.lines().filter(|line| line.trim_start().starts_with("| select ")).count(), 300);
    // What a serialized Dag has of it is refused, and where its text is to be had is said.
    let cut = "Truncated. You can change this behaviour in [core]max_templated_field_length. select 0 from a_table...";
    let dag = json!({"__version": 3, "dag": {
        "dag_id": "d", "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
        "tasks": [{"__type": "operator", "__var": {
            "task_id": "t", "task_type": "SQLExecuteQueryOperator", "template_ext": [".sql", ".json"],
            "template_fields": ["sql", "parameters", "conn_id", "database", "hook_params"], "sql": cut, "hook_params": {},
        }}],
    }});
    let project = project.raw("dag.json", &dag.to_string());
    let made = project.run(&[&["render", "--serialized", "dag.json"], &RUN[..]].concat()).code(1);
    made.stdout_has("Airflow cut this field").stderr_has("help: give the folder with its file: --dags-folder");
}

#[test]
fn case_70_keys_are_not_rendered() {
    let made = render(&task("t: {template_fields: [conf], conf: {\"{{ ds }}\": \"{{ ds }}\"}}")).success();
    made.stdout_has("\"{{ ds }}\": \"2026-11-20\"");
}

#[test]
fn case_71_sql_inside_of_a_job() {
    let made = render(&task(
        "t:\n  operator: BigQueryInsertJobOperator\n  configuration:\n    query:\n      query: \"select 1\\nfrom t where d = '{{ ds }}'\\n\"\n      useLegacySql: false",
    ))
    .success();
    made.stdout_has("| query:\n")
        .stdout_has("|   query: |")
        .stdout_has("|     select 1\n")
        .stdout_has("|     from t where d = '2026-11-20'");
}

#[test]
fn case_73_map_indexes() {
    let project = task("t: {operator: BashOperator, expand: {bash_command: [\"echo {{ ds }} a\", \"echo b\"]}}");
    let index = |n: &str| project.run(&[&["render", "p", "--task", "t", "--map-index", n], &RUN[..]].concat());
    index("0").success().stdout_has("| echo 2026-11-20 a\n");
    index("7").code(2).stderr_has("map index 7 is out of range in t of d");
    // Without an index Airflow's command fails; here all of them are shown.
    let made = render(&project).success();
    made.stdout_has("t[0].bash_command").stdout_has("t[1].bash_command");
}
