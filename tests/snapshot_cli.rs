//! `partita snapshot` and `partita review` as people run them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;

use support::{Project, Ran};

/// Two consumers of hourly keys; the SQL of both has a part in a file of its own. Four runs each, twelve fields.
fn project() -> Project {
    Project::new()
        .file(
            "templates/p/pipeline.yaml",
            r#"
            assets: {orders: "s3://lake/orders"}
            connections: {db: {conn_type: postgres, password: s3cr3tpw}}
            dags:
              use:
                schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfHourMapper}}
                tasks:
                  load: {operator: SQLExecuteQueryOperator, sql: load.sql}
                  say: {operator: BashOperator, bash_command: "echo {{ partition_key }} {{ conn.db.password }}"}
              other:
                schedule: {PartitionedAssetTimetable: {assets: orders, default_partition_mapper: StartOfHourMapper}}
                tasks:
                  copy: {operator: SQLExecuteQueryOperator, sql: "{% include 'part.sql' %}\n-- {{ partition_key }}\n"}
            "#,
        )
        .raw("templates/p/load.sql", "-- {{ partition_key }}\n{% include 'part.sql' %}\n")
        .raw("templates/p/part.sql", "SELECT 1\n")
        .file(
            "templates/p/scenarios/s.yaml",
            r#"
            now: "2026-03-10T12:00:00Z"
            steps:
              - {emit: orders, partition_key: "2026-03-10T06:00:00"}
              - {emit: orders, partition_key: "2026-03-10T07:00:00"}
              - {emit: orders, partition_key: "2026-03-10T08:00:00"}
              - {emit: orders, partition_key: "2026-03-10T09:00:00"}
            "#,
        )
}

/// The same with accepted snapshots.
fn accepted() -> Project {
    let project = project();
    project.run(&["snapshot", "--accept"]).success().stdout_has("12 snapshots: 12 new; 12 accepted");
    project
}

fn pending(project: &Project) -> Vec<String> {
    project.tree("snapshots").into_iter().filter(|path| path.ends_with(".new")).collect()
}

#[track_caller]
fn check(project: &Project) -> Ran {
    project.run(&["snapshot", "--check"])
}

const LOAD: &str = "snapshots/p/s/use/2026-03-10T09/load.sql.snap";

#[test]
fn new_ones_are_pending_until_somebody_accepts() {
    let project = project();
    check(&project).code(1).stdout_has("12 snapshots: 12 new").stderr_has("partita review");
    assert_eq!(project.tree("snapshots"), [""; 0]);
    project.run(&["snapshot"]).code(1).stdout(
        "
        new  p / use.load.sql  4 runs: 2026-03-10T06, 2026-03-10T07, 2026-03-10T08, 2026-03-10T09
        new  p / use.say.bash_command  4 runs: 2026-03-10T06, 2026-03-10T07, 2026-03-10T08, 2026-03-10T09
        new  p / other.copy.sql  4 runs: 2026-03-10T06, 2026-03-10T07, 2026-03-10T08, 2026-03-10T09

        12 snapshots: 12 new; 12 pending
        ",
    );
    assert_eq!(pending(&project).len(), 12);
    assert_eq!(project.tree("snapshots").len(), 12);
    project.run(&["review", "--accept", "*"]).success().stdout("12 accepted, 0 rejected, 0 pending\n");
    check(&project).success().stdout("12 snapshots: 12 unchanged\n");
}

#[test]
fn the_file_is_instas_and_says_which_run_it_is() {
    let project = accepted();
    assert_eq!(
        project.read(LOAD),
        support::unindent(
            r#"
            ---
            source: "p/pipeline.yaml"
            expression: "load.sql"
            info:
              dag_id: "use"
              task_id: "load"
              field: "sql"
              partition_key: "2026-03-10T09"
              partition_date: "2026-03-10T09:00:00+00:00"
              triggering_events:
                - "orders 2026-03-10T09:00:00"
              file: "load.sql"
              sha256: "161e41235ba53abc9489527e353c6e8944447db3cc5df7c9787cf77b9abe8e14"
              trailing_newlines: 0
            ---
            -- 2026-03-10T09
            SELECT 1
            "#
        )
    );
}

#[test]
fn one_change_is_told_once() {
    let project = accepted().raw("templates/p/part.sql", "SELECT 2\n");
    let expected = "
        same change in 8 snapshots
          p / use.load.sql  4 runs: 2026-03-10T06, 2026-03-10T07, 2026-03-10T08, 2026-03-10T09
          p / other.copy.sql  4 runs: 2026-03-10T06, 2026-03-10T07, 2026-03-10T08, 2026-03-10T09
          @@ -1,2 +1,2 @@
           -- 2026-03-10T06
          -SELECT 1
          +SELECT 2

        12 snapshots: 4 unchanged, 8 changed";
    check(&project).code(1).stdout(&format!("{expected}\n"));
    assert!(pending(&project).is_empty());
    project.run(&["snapshot"]).code(1).stdout(&format!("{expected}; 8 pending\n"));
    assert_eq!(pending(&project).len(), 8);
    assert!(project.read(LOAD).ends_with("SELECT 1\n"), "nothing is overwritten");
    assert!(project.read(&format!("{LOAD}.new")).ends_with("SELECT 2\n"));
    // Nothing is pending any more when the template is as before.
    let project = project.raw("templates/p/part.sql", "SELECT 1\n");
    project.run(&["snapshot"]).success().stdout("12 snapshots: 12 unchanged\n");
    assert!(pending(&project).is_empty());
}

#[test]
fn changes_that_name_their_run_are_told_once_too() {
    let project = accepted().raw("templates/p/load.sql", "-- key {{ partition_key }}\n{% include 'part.sql' %}\n");
    check(&project).code(1).stdout(
        "
        p / s / use.load.sql  2026-03-10T06
          template load.sql
          @@ -1,2 +1,2 @@
          --- 2026-03-10T06
          +-- key 2026-03-10T06
           SELECT 1
          alike, but for the key and for numbers: p / use.load.sql  3 runs: 2026-03-10T07, 2026-03-10T08, 2026-03-10T09

        12 snapshots: 8 unchanged, 4 changed
        ",
    );
}

#[test]
fn review_without_a_terminal() {
    let project = accepted().raw("templates/p/part.sql", "SELECT 2\n");
    project.run(&["review"]).success().stderr("nothing is pending in snapshots\n");
    project.run(&["snapshot"]).code(1);
    project.run(&["review"]).code(2).stderr(
        "
        error: 8 snapshots pending, and no terminal to ask in
        help: --list lists them, --accept GLOB and --reject GLOB decide without questions; --accept '*' accepts all
        ",
    );
    project.run(&["review", "--list", "--filter", "other"]).code(1).stdout(
        "
        changed  p/s/other/2026-03-10T06/copy.sql
        changed  p/s/other/2026-03-10T07/copy.sql
        changed  p/s/other/2026-03-10T08/copy.sql
        changed  p/s/other/2026-03-10T09/copy.sql
        ",
    );
    project.run(&["review", "--accept", "nothing"]).code(2).stderr_has("--accept nothing matches nothing");
    project.run(&["review", "--accept", "*", "--reject", "other"]).code(2).stderr_has("both match p/s/other/");
    project.run(&["review", "--accept", "[a"]).code(2).stderr_has("`[a` is no pattern");
    assert_eq!(pending(&project).len(), 8);
    project
        .run(&["review", "--accept", "use/2026-03-10T0[67]", "--reject", "other/*/copy.sql"])
        .code(1)
        .stdout("2 accepted, 4 rejected, 2 pending\n");
    assert_eq!(
        pending(&project),
        ["p/s/use/2026-03-10T08/load.sql.snap.new", "p/s/use/2026-03-10T09/load.sql.snap.new"]
    );
    check(&project).code(1).stdout_has("12 snapshots: 6 unchanged, 6 changed");
    project.run(&["review", "--accept", "**"]).success();
    check(&project).code(1).stdout_has("12 snapshots: 8 unchanged, 4 changed");
}

#[test]
fn nothing_is_written_under_ci_unless_asked_for() {
    let project = accepted().raw("templates/p/part.sql", "SELECT 2\n");
    let before = project.tree("snapshots");
    let ci = |args: &[&str]| project.run_with(args, &[("CI", "true")]);
    ci(&["snapshot"]).code(1).stdout_has("8 changed\n");
    ci(&["snapshot", "--prune"]).code(1);
    assert_eq!(project.tree("snapshots"), before);
    ci(&["snapshot", "--accept"]).success().stdout_has("12 snapshots: 4 unchanged, 8 changed; 8 accepted\n");
    ci(&["snapshot"]).success();
    project.run_with(&["snapshot"], &[("CI", "false")]).success();
    project.run(&["snapshot", "--check", "--accept"]).code(2);
}

#[test]
fn orphans_are_named_and_pruned_on_request() {
    let project = accepted().edit("templates/p/scenarios/s.yaml", |text| text.replace("T08:00:00", "T07:00:00"));
    let project = project.raw("snapshots/README.md", "ours").raw("snapshots/p/s/notes.snap", "not one of partita's");
    let ran = check(&project).code(1).stdout_has("orphaned  p / s / use.load.sql  2026-03-10T08\n");
    ran.stdout_has("; 3 orphaned").stderr_has("--prune removes");
    project.run(&["snapshot", "--accept"]).code(1).stdout_has("; 3 orphaned");
    project.run(&["snapshot", "--prune"]).stdout_has("; 3 removed");
    project.run(&["snapshot", "--accept"]).success();
    assert!(!project.path("snapshots/p/s/use/2026-03-10T08").exists(), "no empty folder is left");
    check(&project).success();
    assert_eq!(project.read("snapshots/README.md"), "ours");
    assert!(project.path("snapshots/p/s/notes.snap").exists());
}

#[test]
fn what_is_left_of_a_pipeline_that_is_gone() {
    let project = accepted().copy("templates/warehouse", "templates/w");
    project.run(&["snapshot", "templates/w", "--accept"]).success();
    check(&project).success();
    // A snapshot of another tool in the same place is not partita's to remove.
    let foreign = "snapshots/x/y/z/k/a.b.snap";
    let project = project.raw(foreign, "---\nsource: tests/a.rs\nexpression: x\n---\ntext\n");
    fs::remove_dir_all(project.path("templates/w")).unwrap();
    // Only a pipeline that is named: others are not looked at.
    project.run(&["snapshot", "templates/p", "--check"]).success();
    check(&project).code(1).stdout_has(" orphaned");
    project.run(&["snapshot", "--prune"]).success();
    check(&project).success();
    assert!(project.path(foreign).exists());
    assert!(!project.path("snapshots/w").exists());
}

#[test]
fn a_filter_looks_at_a_part() {
    let project = accepted().raw("templates/p/part.sql", "SELECT 2\n");
    project.run(&["snapshot", "--check", "--filter", "say"]).success().stdout("4 snapshots: 4 unchanged\n");
    project
        .run(&["snapshot", "--accept", "--filter", "use/*T09"])
        .success()
        .stdout_has("2 snapshots: 1 unchanged, 1 changed");
    check(&project).code(1).stdout_has("12 snapshots: 5 unchanged, 7 changed");
    project.run(&["snapshot", "--filter", "nope"]).code(2).stderr_has("--filter nope chooses no snapshot");
}

#[test]
fn secrets_are_masked() {
    let project = accepted();
    for path in project.tree("snapshots") {
        assert!(!project.read(&format!("snapshots/{path}")).contains("s3cr3tpw"), "{path}");
    }
    assert!(
        project.read("snapshots/p/s/use/2026-03-10T09/say.bash_command.snap").ends_with("echo 2026-03-10T09 ***\n")
    );
    project.run(&["snapshot", "--show-secrets"]).code(2);
}

#[test]
fn fields_that_fail() {
    let project = accepted().raw("templates/p/part.sql", "SELECT {{ ds }}\n");
    let error = "UndefinedError: 'ds' is undefined";
    check(&project).code(1).stdout_has("failed  p / use.load.sql  4 runs: ").stdout_has(&format!("\n  {error}\n\n"));
    // Accepting an error is possible, but never silent.
    project.run(&["snapshot", "--accept"]).code(1).stdout_has(error);
    check(&project).success().stderr_has("note: 8 fail to render, with the error that was accepted");
    assert!(project.read(LOAD).contains("  error: \"UndefinedError\"\n"));
    let project = project.raw("templates/p/part.sql", "SELECT 1\n");
    check(&project).code(1).stdout_has("error was UndefinedError, is none").stdout_has("-UndefinedError");
}

#[test]
fn what_reads_the_clock_is_a_finding() {
    let project = project().raw("templates/p/part.sql", "SELECT '{{ macros.datetime.now() }}'\n");
    let ran = project.run(&["snapshot", "--accept"]).success();
    let ran =
        ran.stderr_has("warning: use.load.sql reads the clock in 4 runs of p / s").stderr_has("the scenario's `now`");
    assert!(!ran.stderr.contains("say"), "{}", ran.stderr);
    check(&project).success().stderr_has("reads the clock");
    let project =
        project.edit("templates/p/scenarios/s.yaml", |text| text.replace("now: \"2026-03-10T12:00:00Z\"\n", ""));
    check(&project).code(1).stderr_has("error: use.load.sql reads the clock");
    project.run(&["snapshot", "--accept"]).code(1).stderr_has("the scenario sets no `now`");
}

#[test]
fn what_was_assumed_is_in_the_header() {
    let project = project().raw("templates/p/part.sql", "SELECT '{{ run_id }}'\n");
    project.run(&["snapshot", "--accept"]).success();
    assert!(project.read(LOAD).contains("  assumed:\n    - \"the end of run_id\"\n"), "{}", project.read(LOAD));
}

#[test]
fn line_ends_of_a_checkout_do_not_count() {
    let mut project = accepted();
    for path in project.tree("snapshots") {
        project = project.edit(&format!("snapshots/{path}"), |text| text.replace('\n', "\r\n"));
    }
    check(&project).success().stdout("12 snapshots: 12 unchanged\n");
    project.run(&["snapshot"]).success();
    assert!(pending(&project).is_empty());
}

#[test]
fn damaged_files_are_named_and_mended() {
    let whole = accepted();
    let content = whole.read(LOAD);
    let damages: [(&str, String); 5] = [
        ("no header", String::new()),
        ("no header", content[..content.len() / 2].to_owned()),
        ("markers of an unresolved merge", content.replace("  partition_key", "<<<<<<< HEAD\n  partition_key")),
        ("not readable as YAML", content.replace("  partition_key", " \tpartition_key")),
        ("not readable as YAML", content.replace("  field", "  task_id: \"x\"\n  field")),
    ];
    let mut project = whole;
    for (message, damaged) in damages {
        project = project.raw(LOAD, &damaged);
        check(&project).code(1).stdout_has("damaged  p/s/use/2026-03-10T09/load.sql.snap: ").stdout_has(message);
        project.run(&["snapshot", "--accept"]).success();
        assert_eq!(project.read(LOAD), content);
    }
    fs::write(project.path(LOAD), b"---\n\xff\n---\n").unwrap();
    check(&project).code(1).stdout_has("it is not UTF-8");
    project.run(&["snapshot"]).code(1);
    project.run(&["review", "--accept", "*"]).success();
    assert_eq!(project.read(LOAD), content);
}

#[test]
fn headers_edited_by_hand() {
    let project = accepted();
    let content = project.read(LOAD);
    // A fact that does not change the text is no difference, and is mended on the next occasion.
    let project = project.raw(LOAD, &content.replace("T09:00:00+00:00", "T10:00:00+00:00"));
    check(&project).success().stderr_has("note: 1 with the same text tell other facts");
    project.run(&["snapshot"]).success();
    project.run(&["snapshot", "--accept"]).success().stdout_has("1 accepted");
    assert_eq!(project.read(LOAD), content);
    // Without its hash nobody knows how the text ends.
    let hash = content.lines().find(|line| line.contains("sha256")).unwrap();
    let project = project.raw(LOAD, &content.replace(&format!("{hash}\n"), ""));
    check(&project).code(1).stdout_has("the file's header does not vouch for them");
    // The body, with the hash of the old one.
    let project = project.raw(LOAD, &content.replace("SELECT 1", "SELECT 3"));
    check(&project).code(1).stdout_has("-SELECT 3").stdout_has("+SELECT 1");
}

#[test]
fn white_space_at_the_end_counts() {
    let project = accepted().raw("templates/p/load.sql", "-- {{ partition_key }}\n{% include 'part.sql' %}\n\n\n");
    check(&project).code(1).stdout_has("12 snapshots: 8 unchanged, 4 changed").stdout_has("+\n");
    project.run(&["snapshot", "--accept"]).success();
    check(&project).success();
    let project = project.raw("templates/p/load.sql", "-- {{ partition_key }}\n{% include 'part.sql' %}\n\n");
    check(&project).code(1).stdout_has("4 changed");
}

#[test]
fn pending_files_of_somebody_else_are_not_accepted() {
    let project = accepted();
    let new = format!("{LOAD}.new");
    let project = project.raw(&new, "---\nsource: tests/a.rs\nassertion_line: 3\nexpression: x\n---\nSELECT 9\n");
    project.run(&["review", "--accept", "*"]).code(1).stderr_has("another tool wrote it").stdout_has("0 accepted");
    let edited = project.read(LOAD).replace("SELECT 1", "DROP TABLE x");
    let project = project.raw(&new, &edited);
    project.run(&["review", "--list"]).code(1).stderr_has("it was edited");
    project.run(&["review", "--accept", "load"]).code(1).stderr_has("left alone");
    assert!(project.read(LOAD).contains("SELECT 1"));
    project.run(&["snapshot"]).success();
    assert!(pending(&project).is_empty(), "`snapshot` removes what is not pending");
}

#[cfg(unix)]
#[test]
fn links_are_not_written_through() {
    let project = accepted();
    let outside = tempfile::tempdir().unwrap();
    let folder = project.path("snapshots/p/s/use");
    let moved = outside.path().join("use");
    fs::create_dir_all(&moved).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&moved, &folder).unwrap();
    let ran = project.run(&["snapshot", "--accept"]).code(3);
    ran.stderr_has("snapshots/p/s/use is a symbolic link");
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
    // A loop of links ends.
    fs::remove_file(&folder).unwrap();
    std::os::unix::fs::symlink(project.path("snapshots/p"), &folder).unwrap();
    check(&project).code(1).stderr_has("snapshots/p/s/use is a symbolic link");
    // The tree itself may be one.
    fs::remove_dir_all(project.path("snapshots")).unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path("snapshots")).unwrap();
    project.run(&["snapshot", "--accept"]).success();
    check(&project).success();
}

#[cfg(unix)]
#[test]
fn folders_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let project = accepted().raw("templates/p/part.sql", "SELECT 2\n");
    let folder = project.path("snapshots/p/s/use/2026-03-10T09");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    // Root writes everywhere.
    if fs::write(folder.join("probe"), "").is_ok() {
        fs::remove_file(folder.join("probe")).unwrap();
    } else {
        project.run(&["snapshot"]).code(3).stderr_has("cannot write snapshots/p/s/use/2026-03-10T09/load.sql.snap.new");
        check(&project).code(1).stdout_has("8 changed");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mode = fs::metadata(project.path(LOAD)).unwrap().permissions().mode();
    assert_eq!(mode & 0o044, 0o044, "others may read a snapshot, as any file that is checked out: {mode:o}");
}

#[test]
fn a_tree_that_is_a_file() {
    let project = project().raw("snapshots", "text");
    project.run(&["snapshot"]).code(3).stderr_has("cannot read snapshots");
    project.run(&["review"]).code(3).stderr_has("cannot read snapshots");
    let project = self::project();
    fs::create_dir_all(project.path(LOAD)).unwrap();
    project.run(&["snapshot", "--accept"]).code(3).stderr_has("load.sql.snap");
}

#[test]
fn two_pipelines_of_one_name() {
    let project = project();
    fs::create_dir_all(project.path("a")).unwrap();
    let project = project.copy("templates/warehouse", "a/p").copy("templates/warehouse", "b/p");
    project.run(&["snapshot", "a/p", "b/p"]).code(3).stderr_has("would share the file");
}

#[test]
fn keys_that_file_systems_confuse_have_files_of_their_own() {
    let keys = ["us", "US", "Us", "con", "CON", "a.", "a", "a ", "é", "e\u{301}", "a/b", "a\\b", "a:b", "x~2", "~"];
    let steps: Vec<String> = keys
        .iter()
        .map(|key| format!("  - {{emit: orders, partition_key: {}}}\n", serde_json::to_string(key).unwrap()))
        .collect();
    let long = format!(
        "  - {{emit: orders, partition_key: \"{}\"}}\n  - {{emit: orders, partition_key: \"{}\"}}\n",
        "k".repeat(240),
        "k".repeat(241)
    );
    let project = Project::new()
        .raw(
            "templates/p/pipeline.yaml",
            "assets: {orders: \"s3://lake/orders\"}\ndags:\n  use:\n    schedule: {PartitionedAssetTimetable: {assets: orders}}\n    tasks:\n      t: {operator: BashOperator, bash_command: \"echo {{ partition_key }}\"}\n",
        )
        .raw("templates/p/scenarios/s.yaml", &format!("now: \"2026-03-10T12:00:00Z\"\nsteps:\n{}{long}", steps.concat()));
    project.run(&["snapshot", "--accept"]).success().stdout_has(&format!("{} snapshots", keys.len() + 2));
    let mut names: Vec<String> = project.tree("snapshots").iter().map(|path| path.to_lowercase()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), keys.len() + 2);
    assert!(names.iter().flat_map(|path| path.split('/')).all(|part| part.is_ascii() && part.len() < 120));
    project.run(&["snapshot", "--check"]).success();
}

#[test]
fn what_hides_in_a_text_is_spelt_out() {
    let project = accepted().raw("templates/p/part.sql", "SELECT \u{1b}[2K\u{202e}1\r{{ '\\x08' }}\n");
    check(&project).code(1).stdout_has("+SELECT \\u{1b}[2K\\u{202e}1");
}

/// What a killed process left is removed by the next one.
#[test]
fn temporary_files_are_swept() {
    let project = accepted().raw("snapshots/p/s/use/2026-03-10T09/.partita-x1.tmp", "---\nsou");
    check(&project).success();
    assert!(project.path("snapshots/p/s/use/2026-03-10T09/.partita-x1.tmp").exists(), "--check writes nothing");
    project.run(&["snapshot"]).success();
    assert!(!project.path("snapshots/p/s/use/2026-03-10T09/.partita-x1.tmp").exists());
}

/// A pipeline that cannot be read is no pipeline that is gone: nothing of it is orphaned, and nothing is removed.
#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_not_pruned() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let pipeline = |project: &Project| project.path("templates/p");
    let damages: [(&str, &dyn Fn(&Project)); 7] = [
        ("pipeline.yaml is a dangling link", &|project| {
            fs::remove_file(pipeline(project).join("pipeline.yaml")).unwrap();
            symlink("nowhere", pipeline(project).join("pipeline.yaml")).unwrap();
        }),
        ("pipeline.yaml is a folder", &|project| {
            fs::remove_file(pipeline(project).join("pipeline.yaml")).unwrap();
            fs::create_dir(pipeline(project).join("pipeline.yaml")).unwrap();
        }),
        ("the folder is a dangling link", &|project| {
            fs::rename(pipeline(project), project.path("elsewhere")).unwrap();
            symlink("nowhere", pipeline(project)).unwrap();
        }),
        ("the folder's name is not UTF-8", &|project| {
            let name = std::ffi::OsStr::from_bytes(b"p\xff");
            fs::rename(pipeline(project), project.path("templates").join(name)).unwrap();
        }),
        ("scenarios is a file", &|project| {
            fs::remove_dir_all(pipeline(project).join("scenarios")).unwrap();
            fs::write(pipeline(project).join("scenarios"), "").unwrap();
        }),
        ("scenarios is a dangling link", &|project| {
            fs::remove_dir_all(pipeline(project).join("scenarios")).unwrap();
            symlink("nowhere", pipeline(project).join("scenarios")).unwrap();
        }),
        ("a scenario is a dangling link", &|project| {
            fs::remove_file(pipeline(project).join("scenarios/s.yaml")).unwrap();
            symlink("nowhere", pipeline(project).join("scenarios/s.yaml")).unwrap();
        }),
    ];
    for (damage, make) in damages {
        // A second pipeline is well: what is found is not nothing.
        let project = project().copy("templates/models", "templates/models");
        project.run(&["snapshot", "--accept"]).success();
        let before = project.tree("snapshots");
        make(&project);
        for command in [&["snapshot", "--prune"][..], &["snapshot", "--accept", "--prune"], &["snapshot", "--check"]] {
            let ran = project.run(command);
            assert_eq!(ran.code, 3, "{damage}: {}{}", ran.stdout, ran.stderr);
            assert!(ran.stderr.starts_with("error: "), "{damage}: {}", ran.stderr);
        }
        assert_eq!(project.tree("snapshots"), before, "{damage}");
        assert_eq!(project.run(&["render"]).code, 3, "{damage}");
    }
}
