//! `ExpressionMapper`: a mapper of one's own in a pipeline file.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test that fails may say so")]

use camino::Utf8Path;
use chrono::{TimeZone, Utc};
use partita::partition::Mapper;
use partita::pipeline;

/// The default mapper of the Dag in a pipeline with this mapper, or what is wrong with it.
fn mapper(spec: &str) -> Result<Mapper, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "assets: {{a: \"s3://b/a\"}}\ndags:\n  d:\n    schedule:\n      PartitionedAssetTimetable:\n        assets: a\n        \
         default_partition_mapper: {spec}\n    tasks: {{t: {{operator: BashOperator, bash_command: \"true\"}}}}\n"
    );
    std::fs::write(folder.path().join("pipeline.yaml"), text).expect("a file");
    let path = Utf8Path::from_path(folder.path()).expect("a path");
    let pipeline =
        pipeline::load(path).map_err(|problems| problems.iter().map(|p| p.message.clone()).collect::<String>())?;
    let dag = pipeline.dag("d").expect("the Dag");
    dag.timetable.get_partition_mapper("a", "s3://b/a").map_err(|error| error.to_string())
}

#[test]
fn keys_stay_texts_and_a_list_gives_several() {
    let one = mapper(r#"{ExpressionMapper: "{{ key[:8] }}"}"#).expect("a mapper");
    assert_eq!(one.to_downstream("20260310T09").expect("a key").into_keys(), ["20260310"]);
    let two = mapper(r#"{ExpressionMapper: {to_downstream: "{{ [key, key ~ '-eu'] }}"}}"#).expect("a mapper");
    assert_eq!(two.to_downstream("us").expect("keys").into_keys(), ["us", "us-eu"]);
    let wrong = mapper(r#"{ExpressionMapper: "{{ 7 }}"}"#).expect("a mapper");
    assert_eq!(
        wrong.to_downstream("x").expect_err("no text").message,
        "ExpressionMapper.to_downstream must give a text or a list of texts, not int"
    );
}

#[test]
fn the_date_is_carried_or_decoded() {
    let date = Utc.with_ymd_and_hms(2026, 3, 10, 9, 0, 0).single().expect("an instant");
    let carry = mapper(
        r#"{ExpressionMapper: {to_downstream: "{{ key }}", carry_partition_date: "{{ source_partition_date }}"}}"#,
    )
    .expect("a mapper");
    assert_eq!(carry.carry_partition_date(Some(date)), Ok(Some(date)));
    assert_eq!(carry.carry_partition_date(None), Ok(None));
    assert!(carry.to_partition_date("k").expect("no date").is_none());
    let broken = mapper(r#"{ExpressionMapper: {to_downstream: "{{ key }}", carry_partition_date: "{{ nope }}"}}"#);
    assert_eq!(broken.expect("a mapper").carry_partition_date(Some(date)).expect_err("raises").class, "UndefinedError");
}

#[test]
fn decode_and_encode_come_together() {
    let both = r#"{RollupMapper: {upstream_mapper: {ExpressionMapper: {to_downstream: "all", decode_downstream: "{{ key }}",
        encode_upstream: "{{ decoded | upper }}"}}, window: {SegmentWindow: [us, eu]}}}"#;
    let rollup = mapper(both).expect("a mapper");
    let expected = rollup.as_rollup().expect("a rollup").to_upstream("all").expect("keys");
    assert_eq!(expected.into_iter().collect::<Vec<_>>(), ["EU", "US"]);
    let one = mapper(r#"{ExpressionMapper: {to_downstream: "{{ key }}", decode_downstream: "{{ key }}"}}"#);
    assert!(one.expect_err("refused").contains("overrides only one side of the decode/encode pair"));
}

#[test]
fn macros_make_dates_for_windows() {
    let spec = r#"{RollupMapper: {upstream_mapper: {ExpressionMapper: {
        to_downstream: "{{ key[:8] }}",
        to_partition_date: "{{ macros.datetime.strptime(key ~ '+0000', '%Y%m%d%z') }}",
        decode_downstream: "{{ macros.datetime.strptime(key, '%Y%m%d') }}",
        encode_upstream: "{{ decoded.strftime('%Y%m%d.%H') }}"}}, window: DayWindow}}"#;
    let rollup = mapper(spec).expect("a mapper");
    assert_eq!(rollup.to_downstream("20260310.09").expect("a key").into_keys(), ["20260310"]);
    let expected = rollup.as_rollup().expect("a rollup").to_upstream("20260310").expect("keys");
    assert_eq!(expected.len(), 24);
    assert_eq!(expected.first().map(String::as_str), Some("20260310.00"));
    let date = rollup.to_partition_date("20260310").expect("a date").expect("temporal");
    assert_eq!(date.isoformat(), "2026-03-10T00:00:00+00:00");
    let naive = mapper(
        r#"{ExpressionMapper: {to_downstream: "{{ key }}", to_partition_date: "{{ macros.datetime(2026, 3, 10) }}"}}"#,
    );
    assert_eq!(naive.expect("a mapper").to_partition_date("k").expect_err("refused").class, "Unsupported");
    assert_eq!(rollup.to_partition_date("nope").expect_err("raises").class, "ValueError");
}

#[test]
fn what_is_no_expression_is_refused_when_the_file_is_read() {
    let pieces = mapper(r#"{ExpressionMapper: {to_downstream: "{{ key[:4] }}-{{ key[4:6] }}"}}"#).expect_err("refused");
    assert_eq!(pieces, r#""{{ key[:4] }}-{{ key[4:6] }}" is a template, where one Jinja expression is expected"#);
    let cut = mapper(r#"{ChainMapper: [{ExpressionMapper: "{{ key[:4 }}"}, IdentityMapper]}"#).expect_err("refused");
    assert!(cut.starts_with(r#""{{ key[:4 }}" is no Jinja expression: "#), "{cut}");
    let filter = mapper(r#"{ExpressionMapper: "{{ key | uper }}"}"#).expect_err("refused");
    assert!(filter.contains("No filter named 'uper'"), "{filter}");
}
