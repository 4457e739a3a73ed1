//! A folder of templates becomes a folder of plain SQL that a parser accepts.
//!
//! Row 79 of the collected user cases: linters and parsers cannot read Airflow templates without a context.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use sqlparser::dialect::HiveDialect;
use sqlparser::parser::Parser;
use support::Project;

#[test]
fn a_folder_of_templates_is_plain_sql() {
    let project = Project::new()
        .file(
            "templates/mart/pipeline.yaml",
            r#"
            template_searchpath: [sql]
            assets: {orders: "s3://lake/orders"}
            dags:
              build:
                schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfDayMapper}}
                params: {schema: mart, columns: [points, score, "rank"], full: false}
                tasks:
                  create: {operator: SQLExecuteQueryOperator, sql: create.sql}
                  fill: {operator: SQLExecuteQueryOperator, sql: fill.sql}
                  drop: {operator: SQLExecuteQueryOperator, sql: [drop.sql, "ANALYZE TABLE {{ params.schema }}.t COMPUTE STATISTICS"]}
            "#,
        )
        .raw(
            "templates/mart/sql/create.sql",
            "CREATE TABLE IF NOT EXISTS {{ params.schema }}.t (\n  id INT{% for c in params.columns %},\n  `{{ c }}` INT{% endfor %}\n);\n",
        )
        .raw(
            "templates/mart/sql/fill.sql",
            "{% from 'macros.sql' import day %}\n{#- a comment -#}\nINSERT OVERWRITE TABLE {{ params.schema }}.t PARTITION (dt = {{ day(partition_date) }})\nSELECT id{% for c in params.columns %}, {{ c }}{% endfor %} FROM raw.orders\n{% if not params.full %}WHERE dt = {{ day(partition_date) }} AND note <> '{{ '{' ~ '{' }}'{% endif %};\n",
        )
        .raw("templates/mart/sql/drop.sql", "DROP TABLE IF EXISTS {{ params.schema }}.t_{{ partition_date | ds_nodash }};")
        .raw("templates/mart/sql/macros.sql", "{% macro day(date) %}'{{ date | ds }}'{% endmacro %}")
        .file(
            "templates/mart/scenarios/days.yaml",
            r#"
            now: "2026-03-12T12:00:00Z"
            steps:
              - {emit: orders, partition_key: "2026-03-10T09:00:00"}
              - {emit: orders, partition_key: "2026-03-11T09:00:00"}
            "#,
        );
    project.run(&["render", "--out", "rendered"]).success();
    let files: Vec<String> = project.tree("rendered").into_iter().filter(|path| path.ends_with(".sql")).collect();
    assert_eq!(files.len(), 6, "{files:#?}");
    let mut statements = 0;
    for file in files {
        let text = project.read(&format!("rendered/{file}"));
        // What a list of statements is stored as: one item a line.
        let texts: Vec<String> = match text.strip_prefix("- ") {
            Some(items) => items.split("\n- ").map(|item| item.trim().trim_matches('"').to_owned()).collect(),
            None => vec![text],
        };
        for text in texts {
            // The only brace that is left is one that a template wrote into a literal on purpose.
            assert!(
                !text.replace("'{{'", "").contains("{{") && !text.contains("{%") && !text.contains("{#"),
                "{file}: {text}"
            );
            let parsed =
                Parser::parse_sql(&HiveDialect {}, &text).unwrap_or_else(|error| panic!("{file}: {error}\n{text}"));
            statements += parsed.len();
        }
    }
    assert_eq!(statements, 8);
    // The template itself is none.
    assert!(Parser::parse_sql(&HiveDialect {}, &project.read("templates/mart/sql/fill.sql")).is_err());
}
