//! Problems real users had, one test each, with the answer Airflow 3.3.2 gives.
//!
//! Every text was rendered by Airflow 3.3.2. Advice is partita's own: it is in the error's hint, never in its message. The
//! number in a test's name is that of the report it stands for.

#![allow(clippy::unwrap_used, clippy::panic, clippy::result_large_err, reason = "a test that fails may say so")]

use std::sync::Arc;

use partita::context::{self, Context, Masker, MissingXCom, Surroundings};
use partita::jinja::{Engine, Environment, Names, Rendered, TemplateError};
use partita::python::{self, Plain};
use partita::run::{Json, Run};
use serde_json::json;

/// A run made from asset events, for the partition 2026-11-03.
fn asset_run() -> Json {
    json!({
        "dag_run": {
            "dag_id": "d", "run_id": "asset_triggered__2026-11-03T04:00:00+00:00_ab12", "logical_date": null,
            "data_interval_start": null, "data_interval_end": null, "run_after": "2026-11-03T04:00:00Z",
            "start_date": "2026-11-03T04:00:01Z", "end_date": null, "run_type": "asset_triggered", "state": "running",
            "conf": {}, "consumed_asset_events": [], "partition_key": "2026-11-03",
            "partition_date": "2026-11-03T00:00:00Z"
        },
        "ti": {"task_id": "t", "try_number": 1, "map_index": -1, "max_tries": 0}
    })
}

/// A scheduled run of 2026-11-03 with an empty data interval.
fn daily_run() -> Json {
    let mut run = asset_run();
    set(
        &mut run,
        "dag_run",
        json!({
            "run_type": "scheduled", "run_id": "scheduled__2026-11-03T00:00:00+00:00",
            "logical_date": "2026-11-03T00:00:00Z", "data_interval_start": "2026-11-03T00:00:00Z",
            "data_interval_end": "2026-11-03T00:00:00Z", "partition_key": null, "partition_date": null
        }),
    );
    run
}

fn set(run: &mut Json, section: &str, values: Json) {
    if run[section].is_null() {
        run[section] = json!({});
    }
    for (key, value) in values.as_object().unwrap() {
        run[section][key] = value.clone();
    }
}

fn with(mut run: Json, section: &str, values: Json) -> Json {
    set(&mut run, section, values);
    run
}

fn event(key: &str) -> Json {
    json!({
        "asset": {"name": "orders", "uri": "s3://lake/orders", "extra": {}}, "extra": {}, "source_task_id": "load",
        "source_dag_id": "p", "source_run_id": "r", "source_map_index": -1, "source_aliases": [],
        "timestamp": "2026-11-03T03:00:00Z", "partition_key": key
    })
}

fn two_events() -> Json {
    let events = json!([event("2026-11-03T00:00:00"), event("2026-11-03T01:00:00")]);
    with(asset_run(), "dag_run", json!({"consumed_asset_events": events}))
}

fn build(run: Json, missing_xcom: MissingXCom) -> (Arc<Run>, Context) {
    let run = Arc::new(Run::from_json(run).unwrap());
    let around = Surroundings { missing_xcom, ..Surroundings::of_request() };
    (Arc::clone(&run), context::build(run, Arc::new(around)).unwrap())
}

fn attempt(template: &str, run: Json, native: bool, missing_xcom: MissingXCom) -> Result<Rendered, TemplateError> {
    let (run, context) = build(run, missing_xcom);
    let env = Arc::new(context::environment(&run, native).unwrap());
    let names: Arc<dyn Names> = Arc::new(context);
    Engine::new().render(&env, template, &names)
}

#[track_caller]
fn renders(template: &str, run: Json, expected: &str) {
    match attempt(template, run, false, MissingXCom::None) {
        Ok(Rendered::Text(text)) => assert_eq!(text, expected, "{template}"),
        other => panic!("{template}: {other:?}"),
    }
}

/// `repr` of what native rendering gives.
#[track_caller]
fn native(template: &str, expected: &str) {
    match attempt(template, asset_run(), true, MissingXCom::None) {
        Ok(Rendered::Native(value)) => assert_eq!(python::repr(&value, &mut Plain::default()).unwrap(), expected),
        other => panic!("{template}: {other:?}"),
    }
}

/// Fails with that class and message; the hint contains the advice.
#[track_caller]
fn fails(template: &str, run: Json, class: &str, message: &str, advice: &str) -> TemplateError {
    match attempt(template, run, false, MissingXCom::None) {
        Err(error) => {
            assert_eq!((&*error.class, error.message.as_str()), (class, message), "{template}");
            let hint = error.hint.clone().unwrap_or_default();
            assert!(hint.contains(advice), "{template}: hint {hint:?} without {advice:?}");
            error
        }
        Ok(rendered) => panic!("{template}: {rendered:?}"),
    }
}

#[test]
fn case_01_ds_of_an_asset_triggered_run() {
    fails("day={{ ds }}", asset_run(), "UndefinedError", "'ds' is undefined", "`partition_date | ds`");
    renders("day={{ partition_date | ds }}", asset_run(), "day=2026-11-03");
}

#[test]
fn case_07_partition_date_in_place_of_slicing_the_key() {
    let run = with(
        asset_run(),
        "dag_run",
        json!({"partition_key": "2026-11-03T05:00:00", "partition_date": "2026-11-03T05:00:00Z"}),
    );
    renders("{{ partition_date | ds }} {{ partition_date | ds_nodash }}", run, "2026-11-03 20261103");
}

#[test]
fn case_08_partition_keys_of_the_triggering_events() {
    renders(
        "{{ triggering_asset_events.values() | first | map(attribute='partition_key') | join(',') }}",
        two_events(),
        "2026-11-03T00:00:00,2026-11-03T01:00:00",
    );
}

#[test]
fn case_10_events_by_string() {
    fails(
        "{{ triggering_asset_events['orders'] }}",
        two_events(),
        "UndefinedError",
        "'airflow.sdk.execution_time.context.TriggeringAssetEventsAccessor object' has no attribute 'orders'",
        "",
    );
    renders("{{ triggering_asset_events.for_asset(name='orders') | length }}", two_events(), "2");
}

#[test]
fn case_14_local_key_and_utc_date() {
    let run = with(
        asset_run(),
        "dag_run",
        json!({"partition_key": "2026-11-03T00:00:00", "partition_date": "2026-11-02T15:00:00Z"}),
    );
    renders(
        "{{ partition_date | ds }} {{ partition_date.in_timezone('Asia/Tokyo') | ds }}",
        run,
        "2026-11-02 2026-11-03",
    );
}

#[test]
fn case_31_native_reads_the_whole_field() {
    native("['a', 1.0]", "['a', 1.0]");
    native("'1.0'", "'1.0'");
}

#[test]
fn case_32_native_json_body() {
    native(r#"{"a": 1}"#, "{'a': 1}");
    native(r#"{"a": true}"#, r#"'{"a": true}'"#);
}

#[test]
fn case_34_native_values() {
    native("42", "42");
    native("007", "'007'");
    native("", "None");
}

#[test]
fn case_35_shell_array_length() {
    let error = fails("a\necho ${#arr[@]}", asset_run(), "TemplateSyntaxError", "Missing end of comment tag", "");
    assert_eq!(error.line, Some(2));
    renders("echo {% raw %}${#arr[@]}{% endraw %}", asset_run(), "echo ${#arr[@]}");
}

#[test]
fn case_37_sql_with_a_block_start() {
    renders("{% raw %}FORMAT('{%t}', x){% endraw %}", asset_run(), "FORMAT('{%t}', x)");
    fails("FORMAT('{%t}', x)", asset_run(), "TemplateSyntaxError", "Encountered unknown tag 't'.", "");
}

#[test]
fn case_38_docker_format() {
    fails("\"{{.Names}}\"", asset_run(), "TemplateSyntaxError", "unexpected '.'", "");
    renders("{{ '{{' }}.Names{{ '}}' }}", asset_run(), "{{.Names}}");
}

#[test]
fn case_40_data_is_a_template_too() {
    fails("a{%b", asset_run(), "TemplateSyntaxError", "Encountered unknown tag 'b'.", "");
}

#[test]
fn case_41_ts_has_a_fraction_only_sometimes() {
    fails(
        "{{ macros.ds_format(ts, '%Y-%m-%dT%H:%M:%S.%f%z', '%Y/%m/%d/%H') }}",
        daily_run(),
        "ValueError",
        "time data '2026-11-03T00:00:00+00:00' does not match format '%Y-%m-%dT%H:%M:%S.%f%z'",
        "",
    );
    renders("{{ macros.ds_format(ts, '%Y-%m-%dT%H:%M:%S%z', '%Y/%m/%d/%H') }}", daily_run(), "2026/11/03/00");
    let run = with(daily_run(), "dag_run", json!({"logical_date": "2026-11-03T01:02:03.000456Z"}));
    renders("{{ ts }}", run, "2026-11-03T01:02:03.000456+00:00");
}

#[test]
fn case_43_adding_a_timedelta() {
    renders("{{ logical_date + macros.timedelta(days=1) }}", daily_run(), "2026-11-04 00:00:00+00:00");
    fails(
        "{{ ds + macros.timedelta(days=1) }}",
        daily_run(),
        "TypeError",
        "can only concatenate str (not \"datetime.timedelta\") to str",
        "",
    );
}

#[test]
fn case_44_dates_in_the_dags_zone() {
    renders("{{ logical_date.in_timezone('America/New_York').strftime('%Y-%m-%d') }}", daily_run(), "2026-11-02");
    fails(
        "{{ dag_run.partition_date.in_timezone('UTC') }}",
        asset_run(),
        "UndefinedError",
        "'datetime.datetime object' has no attribute 'in_timezone'",
        "",
    );
}

#[test]
fn case_46_empty_data_interval() {
    let template = "{{ (data_interval_end - data_interval_start).days }}";
    renders(template, daily_run(), "0");
    renders(template, with(daily_run(), "dag_run", json!({"data_interval_end": "2026-11-04T00:00:00Z"})), "1");
}

#[test]
fn case_47_ds_is_the_day_of_the_run() {
    renders("{{ ds }} {{ macros.ds_add(ds, -1) }}", daily_run(), "2026-11-03 2026-11-02");
}

#[test]
fn case_50_params_are_not_rendered() {
    renders("{{ params.p }}", with(asset_run(), "params", json!({"p": "/x/{{ ds }}"})), "/x/{{ ds }}");
}

#[test]
fn case_52_missing_param() {
    fails("{{ params.foo }}", asset_run(), "UndefinedError", "'dict object' has no attribute 'foo'", "");
    renders("{{ params.get('zz','d') }}", asset_run(), "d");
}

#[test]
fn case_53_conf_is_an_empty_dict() {
    renders("{{ dag_run.conf.get('zz','d') }}", asset_run(), "d");
    fails("{{ dag_run.conf.zz }}", asset_run(), "UndefinedError", "'dict object' has no attribute 'zz'", "");
}

#[test]
fn case_55_list_param_in_sql() {
    let run = || with(asset_run(), "params", json!({"l": ["a", "b"]}));
    renders("IN ({{ params.l }})", run(), "IN (['a', 'b'])");
    renders("IN ('{{ params.l | join(\"', '\") }}')", run(), "IN ('a', 'b')");
}

#[test]
fn case_56_list_from_an_earlier_task() {
    let template = "{{ ti.xcom_pull('a') | join(',') }}";
    renders(template, with(asset_run(), "xcom", json!({"a": {"return_value": ["foo", "bar"]}})), "foo,bar");
    // a run that somebody assumed does not know what the task returned
    let error = attempt(template, asset_run(), false, MissingXCom::Refuse).unwrap_err();
    assert_eq!(error.class, "Unsupported");
    assert!(error.message.contains("`return_value` of task `a`"), "{}", error.message);
    assert!(error.hint.unwrap_or_default().contains("xcom: {a: {return_value: ...}}"));
    // a complete run does: there is none
    fails(template, asset_run(), "TypeError", "'NoneType' object is not iterable", "");
}

#[test]
fn case_58_missing_variable() {
    renders("{{ var.value.get('nope','d') }}", asset_run(), "d");
    fails(
        "{{ var.value.nope }}",
        asset_run(),
        "AirflowRuntimeError",
        "VARIABLE_NOT_FOUND: {'message': 'Variable nope not found'}",
        "add `nope` to `variables`",
    );
}

#[test]
fn case_59_variables_as_text_and_as_json() {
    let run = with(asset_run(), "variables", json!({"cfg": "{\"bucket\":\"lake\"}"}));
    renders("{{ var.json.cfg.bucket }} {{ var.value.cfg }}", run, "lake {\"bucket\":\"lake\"}");
}

#[test]
fn case_61_password_in_a_command() {
    let run = with(
        asset_run(),
        "connections",
        json!({"db": {"conn_type": "postgres", "host": "h", "login": "u", "password": "s3cr3tpw"}}),
    );
    let masker = Masker::of_run(&Run::from_json(run.clone()).unwrap());
    match attempt("psql {{ conn.db.get_uri() }} -p {{ conn.db.password }}", run, false, MissingXCom::None) {
        Ok(Rendered::Text(text)) => {
            assert_eq!(text, "psql postgres://u:s3cr3tpw@h -p s3cr3tpw");
            assert_eq!(masker.mask(&text), "psql postgres://u:***@h -p ***");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_62_secret_variable_of_a_task_that_never_ran() {
    let run = with(asset_run(), "variables", json!({"api_key": "abc-123-xyz", "bucket": "lake"}));
    let masker = Masker::of_run(&Run::from_json(run.clone()).unwrap());
    match attempt("{{ var.value.api_key }} {{ var.value.bucket }}", run, false, MissingXCom::None) {
        Ok(Rendered::Text(text)) => assert_eq!(masker.mask(&text), "*** lake"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_67_user_macro_that_nobody_supplied() {
    fails(
        "{{ get_child() }}",
        asset_run(),
        "UndefinedError",
        "'get_child' is undefined",
        "add `get_child` to `user_defined_macros`",
    );
    renders("{{ get_child }}", with(asset_run(), "user_macros", json!({"get_child": "kid"})), "kid");
}

#[test]
fn case_68_macro_of_a_plugin() {
    fails(
        "{{ macros.my_plugin.f() }}",
        asset_run(),
        "UndefinedError",
        "'airflow.sdk.execution_time.context.MacrosAccessor object' has no attribute 'my_plugin'",
        "",
    );
    // with a stub in the pipeline file
    let given = json!({"macros.my_plugin.f": {"expression": "'v' ~ args | length"}});
    let engine = Arc::new(Engine::new());
    let inner = Arc::new(Environment { native: true, ..Environment::default() });
    let macros = context::user_defined_macros(given.as_object().unwrap(), &engine, &inner).unwrap();
    let around = Surroundings { plugins: Arc::new(context::plugin_macros(&macros)), ..Surroundings::of_request() };
    let run = Arc::new(Run::from_json(asset_run()).unwrap());
    let env = Arc::new(context::environment(&run, false).unwrap());
    let names: Arc<dyn Names> = Arc::new(context::build(run, Arc::new(around)).unwrap());
    match Engine::new().render(&env, "{{ macros.my_plugin.f(1, 2) }}", &names) {
        Ok(Rendered::Text(text)) => assert_eq!(text, "v2"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_74_last_newline() {
    renders("a\n", asset_run(), "a");
    renders("a\n\n", asset_run(), "a\n");
    renders("a\r\nb", asset_run(), "a\nb");
    renders("\u{feff}a", asset_run(), "\u{feff}a");
}

#[test]
fn case_80_every_documented_name_is_defined_or_refused_by_name() {
    for run in [asset_run(), daily_run()] {
        let (_, context) = build(run.clone(), MissingXCom::None);
        let context = context::AnyContext::Airflow33(context);
        for entry in context::describe(&context, &mut Plain::default()) {
            match entry.printed {
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    assert_eq!(error.class, "Unsupported", "{}: {error}", entry.name);
                    assert!(!error.message.is_empty());
                }
                None => {
                    let message = format!("'{}' is undefined", entry.name);
                    let template = format!("{{{{ {} }}}}", entry.name);
                    let advice = entry.advice.unwrap();
                    fails(&template, run.clone(), "UndefinedError", &message, &advice);
                }
            }
        }
    }
}

#[test]
fn case_83_task_instance_key_of_an_asset_run() {
    renders("{{ task_instance_key_str }}", asset_run(), "d__t__asset_triggered__2026-11-03T04:00:00+00:00_ab12");
}
