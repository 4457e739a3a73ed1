//! Serialized Dags of a real Airflow as pipelines: `import serialized` and `render --serialized`.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use camino::{Utf8Path, Utf8PathBuf};
use partita::airflow::serialized::{from_bytes, from_folder};
use partita::airflow::{Folders, Gravity, Imported, SerializedDag, import};
use partita::pipeline::{self, Pipeline, given_run};
use serde_json::{Value as Json, json};
use support::Project;
use support::samples::{SAMPLES, differences, read, run_of};

fn sample(path: &str) -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLES).join(path)
}

fn folders() -> Folders {
    Folders { dags: Some(sample("dags")), template_searchpath: vec![sample("dags/sql")] }
}

fn dags() -> Vec<SerializedDag> {
    from_folder(&sample("serialized_dag")).unwrap()
}

fn write(imported: &Imported, folder: &Utf8Path) -> Pipeline {
    let files = imported.files.iter().map(|(path, text)| (path.clone(), text));
    for (path, text) in files.chain([("pipeline.yaml".into(), &imported.document)]) {
        std::fs::create_dir_all(folder.join(&path).parent().unwrap()).unwrap();
        std::fs::write(folder.join(&path), text).unwrap();
    }
    pipeline::load(folder).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Renders every run that Airflow stored fields of; returns what differs, and how many were compared.
fn stored_rows(pipeline: &Pipeline) -> (usize, Vec<String>) {
    let stored = read("rendered/rendered_fields.json");
    let mut failures = Vec::new();
    let mut compared = 0;
    for row in stored.as_array().unwrap() {
        if pipeline.dag(row["dag_id"].as_str().unwrap()).is_none() {
            continue;
        }
        let given = given_run(pipeline, &run_of(row, pipeline), None).unwrap();
        compared += 1;
        failures.extend(differences(pipeline, &given, &[row]));
    }
    (compared, failures)
}

#[test]
fn all_samples_render_what_airflow_stored() {
    let dags = dags();
    assert_eq!(dags.len(), 36);
    let imported = import(&dags, &folders()).unwrap();
    assert_eq!(imported.findings, [], "nothing is refused");
    assert!(imported.pipeline.warnings.is_empty(), "{:?}", imported.pipeline.warnings);
    let (compared, failures) = stored_rows(&imported.pipeline);
    assert_eq!(compared, 80);
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
    let dir = tempfile::tempdir().unwrap();
    let written = write(&imported, Utf8Path::from_path(dir.path()).unwrap());
    let (compared, failures) = stored_rows(&written);
    assert_eq!(compared, 80);
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn each_sample_alone_renders_the_same_from_its_folder() {
    let mut compared = 0;
    for dag in dags() {
        let imported = import(std::slice::from_ref(&dag), &folders()).unwrap();
        assert_eq!(imported.findings, [], "{}", dag.origin);
        let dir = tempfile::tempdir().unwrap();
        let written = write(&imported, Utf8Path::from_path(dir.path()).unwrap());
        for pipeline in [&imported.pipeline, &written] {
            let (rows, failures) = stored_rows(pipeline);
            compared += rows;
            assert!(failures.is_empty(), "{}:\n{}", dag.origin, failures.join("\n"));
        }
    }
    assert_eq!(compared, 160);
}

#[test]
fn a_folder_that_reads_well() {
    let dag: Vec<SerializedDag> =
        dags().into_iter().filter(|dag| dag.dag_id().unwrap() == "orders_day_consumer").collect();
    let imported = import(&dag, &folders()).unwrap();
    let expected = r#"assets:
  orders_hourly: {uri: "s3://lake/orders/hourly", extra: {owner: shop}}
dags:
  orders_day_consumer:
    schedule: {PartitionedAssetTimetable: {assets: orders_hourly, default_partition_mapper: StartOfDayMapper}}
    start_date: "2026-11-01"
    params: {target_table: mart_orders_day, source_table: raw_orders, regions: [eu, us]}
    template_searchpath: [orders_day_consumer]
    tasks:
      daily_orders:
        operator: SQLExecuteQueryOperator
        sql: daily_orders.sql
        parameters: {day: "{{ partition_key }}"}
        conn_id: warehouse
"#;
    assert_eq!(imported.document, expected);
    let files: Vec<&str> = imported.files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        files,
        ["orders_day_consumer/_filters.sql", "orders_day_consumer/daily_orders.sql", "orders_day_consumer/header.sql"]
    );
    let (_, text) = &imported.files[1];
    assert_eq!(text, &std::fs::read_to_string(sample("dags/sql/daily_orders.sql")).unwrap());
}

#[test]
fn without_folders_what_is_missing_is_named() {
    let imported = import(&dags(), &Folders::default()).unwrap();
    let needed: Vec<String> = imported.findings.iter().map(ToString::to_string).collect();
    assert_eq!(imported.findings.len(), 2, "{needed:#?}");
    assert!(
        needed[0]
            .contains("orders_day_consumer.daily_orders.sql: the file `_filters.sql` is not in the serialized Dag")
    );
    let (compared, failures) = stored_rows(&imported.pipeline);
    // The 14 runs whose template includes files.
    assert_eq!((compared, failures.len()), (80, 14));
    assert!(failures.iter().all(|failure| failure.contains("TemplateNotFound")), "{failures:#?}");
}

#[test]
fn forms_of_input() {
    let data = read("serialized_dag/plain_daily.json");
    let text = data.to_string();
    let zlib = {
        use std::io::Write;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let hex: String = zlib.iter().map(|byte| format!("{byte:02x}")).collect();
    let other = read("serialized_dag/region_producer.json");
    let forms: Vec<(&str, Vec<u8>, usize)> = vec![
        ("data", text.clone().into(), 1),
        ("without a version", json!({"dag": data["dag"]}).to_string().into(), 1),
        ("the Dag alone", data["dag"].to_string().into(), 1),
        ("row", json!({"dag_id": "plain_daily", "data": data, "data_compressed": null}).to_string().into(), 1),
        ("row with text", json!({"data": text}).to_string().into(), 1),
        ("compressed", json!({"_data_compressed": format!("\\x{hex}"), "_data": null}).to_string().into(), 1),
        ("zlib", zlib, 1),
        ("array", json!([data, other]).to_string().into(), 2),
        ("lines", format!("{data}\n{other}\n").into(), 2),
        ("with a byte order mark", format!("\u{feff}{text}").into(), 1),
    ];
    for (name, bytes, count) in forms {
        let dags = from_bytes(&bytes, "x").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(dags.len(), count, "{name}");
        assert_eq!(dags[0].dag_id().unwrap(), "plain_daily", "{name}");
        import(&dags, &Folders::default()).unwrap();
    }
}

#[test]
fn what_is_no_serialized_dag() {
    let whole = read("serialized_dag/plain_daily.json");
    let with = |pointer: &str, value: Json| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    let text = whole.to_string();
    for (input, part) in [
        (text[..900].to_owned(), "x is not JSON: EOF while parsing"),
        (String::new(), "x is empty"),
        ("{}".to_owned(), "it has no `dag`"),
        ("3".to_owned(), "a serialized Dag is a JSON object"),
        ("[]".to_owned(), "holds no Dag"),
        (with("/__version", json!(4)), "`__version` 4 of a serialized Dag is not known"),
        (with("/__version", json!("3")), "`__version` \"3\" of a serialized Dag is not known"),
        (with("/dag/dag_id", json!(7)), "the Dag has no `dag_id`"),
        (with("/dag/tasks", json!({})), "`tasks` is no list"),
        (with("/dag/tasks/0", json!("x")), "a task that is no serialized operator"),
        (with("/dag/tasks/0/__var/template_fields", json!(["a", 1])), "`template_fields` is no list of texts"),
        (format!("[{text},{text}]"), "two Dags are `plain_daily`: x[0] and x[1]"),
        ("[".repeat(200), "recursion limit exceeded"),
    ] {
        let error = from_bytes(input.as_bytes(), "x").and_then(|dags| import(&dags, &Folders::default()).map(|_| ()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(part), "{part}\n{error}");
    }
}

#[test]
fn the_command_renders_without_writing() {
    let project = Project::new().copy(SAMPLES, "airflow");
    let run = [
        "render",
        "--serialized",
        "airflow/serialized_dag",
        "--dags-folder",
        "airflow/dags",
        "--template-searchpath",
        "airflow/dags/sql",
        "--run",
        "airflow/rest/dagRun.orders_day_consumer.json",
        "--events",
        "airflow/rest/upstreamAssetEvents.orders_day_consumer.json",
    ];
    project
        .run(&run)
        .success()
        .stdout_has("orders_day_consumer  2026-11-03")
        .stdout_has("orders_day_consumer/daily_orders.sql\n")
        .stdout_has("| INSERT INTO mart_orders_day (order_day, region, order_count)");
    project
        .run(&[
            "render",
            "--serialized",
            "airflow/serialized_dag",
            "--dag",
            "region_product_consumer",
            "--partition-key",
            "us|2026-11-05",
        ])
        .success()
        .stdout_has("WHERE region = 'us' AND day = '2026-11-05'");
    // The whole chain of events, hop by hop, over Dags of a real Airflow.
    project
        .run(&[
            "render",
            "--serialized",
            "airflow/serialized_dag",
            "--emit",
            "ny_daily=2026-11-01@2026-11-01T04:00:00",
            "--dag",
            "ny_identity_consumer",
        ])
        .success()
        .stdout_has("templates_dict");
    project.run(&["render", "--dags-folder", "airflow/dags"]).code(2);
    project.run(&["render", "--serialized", "nowhere.json"]).code(3).stderr_has("cannot read nowhere.json");
}

#[test]
fn the_command_writes_a_folder_or_nothing() {
    let project = Project::new().copy(SAMPLES, "airflow").file("full/x", "x\n").file("cut.json", "{\"dag\": {");
    let import = |args: &[&str]| {
        let mut all = vec!["import", "serialized"];
        all.extend(args);
        project.run(&all)
    };
    let dags = ["airflow/serialized_dag", "--dags-folder", "airflow/dags", "--template-searchpath", "airflow/dags/sql"];
    import(&[&dags[..], &["--out", "shop"]].concat()).success().stdout_has("shop/pipeline.yaml\n").stderr("");
    project
        .run(&["render", "shop", "--dag", "orders_identity_consumer", "--partition-key", "2026-11-03T00:00:00"])
        .code(1);
    import(&[&dags[..], &["--out", "full"]].concat()).code(3).stderr_has("full is not empty");
    assert_eq!(project.tree("full"), ["x"]);
    import(&[&dags[..], &["--out", "full", "--force"]].concat()).success();
    assert!(project.tree("full").contains(&"x".to_owned()));
    import(&["cut.json", "--out", "cut"]).code(3).stderr_has("error: cut.json is not JSON");
    assert!(!project.path("cut").exists());
    // Without --out the file is printed, and what is missing is a finding.
    import(&["airflow/serialized_dag/plain_daily.json"]).success().stdout_has("schedule: \"0 0 * * *\"");
    import(&["airflow/serialized_dag/orders_day_consumer.json"]).code(1).stderr_has("needed: orders_day_consumer");
}

#[test]
fn standard_input() {
    let text = read("serialized_dag/plain_daily.json").to_string();
    Project::new().stdin(&text).run(&["import", "serialized", "-"]).success().stdout_has("plain_daily:");
}

#[test]
fn versions_say_what_they_are() {
    let mut data = read("serialized_dag/plain_daily.json");
    data["__version"] = json!(2);
    let imported = import(&from_bytes(data.to_string().as_bytes(), "x").unwrap(), &Folders::default()).unwrap();
    assert_eq!(imported.findings[0].gravity, Gravity::Note);
    assert!(imported.findings[0].message.contains("Airflow 3.0 or 3.1"));
}
