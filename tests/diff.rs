//! `partita diff` on real git repositories in temporary folders.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value as Json;
use support::{Project, Ran};

/// Runs git in the project's folder, with nothing of the user's settings and at a fixed time.
#[track_caller]
fn git(project: &Project, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(project.path(""))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", project.path(""))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_AUTHOR_DATE", "2026-03-10T00:00:00Z"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
            ("GIT_COMMITTER_DATE", "2026-03-10T00:00:00Z"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn commit(project: &Project, message: &str) {
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "--allow-empty", "-m", message]);
}

/// Files of one pipeline with ten tasks and 24 hourly runs; its macros are shared.
fn pipeline(mut project: Project, name: &str, hours: u32) -> Project {
    let mut tasks = String::new();
    for task in 0..10 {
        let _ = write!(
            tasks,
            "      load_{task}:\n        operator: SQLExecuteQueryOperator\n        sql: load_{task}.sql\n"
        );
        project = project.raw(
            &format!("templates/{name}/sql/load_{task}.sql"),
            &format!(
                "{{% from '_macros.sql' import scope %}}\nINSERT INTO mart.{name}_{task}\nSELECT a, b\nFROM {name}_{task}\n{{{{ scope() }}}}\nAND hour = '{{{{ partition_key }}}}';\n"
            ),
        );
    }
    let mut steps = String::new();
    for hour in 0..hours {
        let _ = write!(steps, "  - emit: {name}_src\n    partition_key: \"2026-03-10T{hour:02}:00:00\"\n");
    }
    project
        .raw(
            &format!("templates/{name}/pipeline.yaml"),
            &format!(
                "template_searchpath: [sql, ../../shared]\nassets: {{{name}_src: \"s3://lake/{name}\"}}\ndags:\n  build_{name}:\n    schedule:\n      PartitionedAssetTimetable:\n        assets: {name}_src\n        default_partition_mapper: StartOfHourMapper\n    tasks:\n{tasks}"
            ),
        )
        .raw(&format!("templates/{name}/scenarios/day.yaml"), &format!("now: \"2026-03-11T00:00:00Z\"\nsteps:\n{steps}"))
}

/// 3 pipelines, 30 tasks, 24 hourly runs: 720 fields, committed.
fn warehouse() -> Project {
    let mut project = Project::new().raw(
        "shared/_macros.sql",
        "{% macro scope() %}\nWHERE region IN ('eu', 'us')\n{% endmacro %}\n{% macro other() %}x{% endmacro %}\n",
    );
    for name in ["orders", "refunds", "stock"] {
        project = pipeline(project, name, 24);
    }
    git(&project, &["init", "-q"]);
    commit(&project, "first");
    project
}

/// One pipeline with three runs, committed.
fn small() -> Project {
    let project = pipeline(
        Project::new().raw("shared/_macros.sql", "{% macro scope() %}\nWHERE region = 'eu'\n{% endmacro %}\n"),
        "orders",
        3,
    );
    git(&project, &["init", "-q"]);
    commit(&project, "first");
    project
}

trait Diffs {
    fn diff(&self, args: &[&str]) -> Ran;
    fn json(&self, args: &[&str]) -> Json;
    fn partita_in(&self, folder: &str, args: &[&str]) -> Ran;
}

impl Diffs for Project {
    #[track_caller]
    fn diff(&self, args: &[&str]) -> Ran {
        let all: Vec<&str> = std::iter::once("diff").chain(args.iter().copied()).collect();
        self.partita_in("", &all)
    }

    #[track_caller]
    fn partita_in(&self, folder: &str, args: &[&str]) -> Ran {
        let path = std::env::var("PATH").unwrap_or_default();
        let environment = [("PATH", path.as_str()), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")];
        self.run_at(folder, args, &environment)
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Json {
        let all: Vec<&str> = ["--format", "json"].into_iter().chain(args.iter().copied()).collect();
        serde_json::from_str(&self.diff(&all).success().stdout).unwrap()
    }
}

/// A report as an insta snapshot, with the names of commits left out. They lie beside the tests: `snapshots/` at the top
/// belongs to `partita snapshot`.
#[track_caller]
fn assert_report(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("diff_reports");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"\(([0-9a-f]{7})\)", "(COMMIT)");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn one_line_of_a_shared_macro_is_one_change_in_720_fields() {
    let project = warehouse().edit("shared/_macros.sql", |text| text.replace("'eu', 'us'", "'eu', 'us', 'kr'"));
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["counts"]["fields"], 720, "{:#}", diff["counts"]);
    assert_eq!(diff["counts"]["fields_changed"], 720);
    let changes = diff["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["places"].as_array().unwrap().len(), 720);
    assert_eq!(changes[0]["alike"].as_array().unwrap().len(), 0);
    let causes = &changes[0]["causes"];
    assert_eq!(causes.as_array().unwrap().len(), 1, "{causes:#}");
    assert_eq!(causes[0]["kind"], "macro");
    assert_eq!((&causes[0]["file"], &causes[0]["line"]), (&"shared/_macros.sql".into(), &2.into()));
    // User case 77: each task that includes the file is named.
    assert_eq!(diff["files"][0]["tasks"].as_array().unwrap().len(), 30);
    assert_report("shared_macro.txt", &project.diff(&["HEAD"]).success().stdout);
    assert_report("shared_macro.md", &project.diff(&["HEAD", "--format", "markdown"]).success().stdout);
    assert_report("shared_macro.github", &project.diff(&["HEAD", "--format", "github"]).success().stdout);
}

#[test]
fn changes_that_meet_in_a_field_are_told_apart_with_their_causes() {
    let project = small()
        .edit("shared/_macros.sql", |text| text.replace("'eu'", "'kr'"))
        .edit("templates/orders/sql/load_3.sql", |text| text.replace("INSERT INTO", "INSERT OVERWRITE"));
    let diff = project.json(&["HEAD"]);
    let mut found: Vec<(usize, Vec<String>)> = Vec::new();
    for change in diff["changes"].as_array().unwrap() {
        let causes = change["causes"].as_array().unwrap().iter();
        let causes =
            causes.map(|cause| format!("{}:{} {}", cause["file"].as_str().unwrap(), cause["line"], cause["sure"]));
        found.push((change["places"].as_array().unwrap().len(), causes.collect()));
    }
    assert_eq!(
        found,
        [
            (30, vec!["shared/_macros.sql:2 true".to_owned()]),
            (3, vec!["templates/orders/sql/load_3.sql:2 true".to_owned()]),
        ]
    );
}

#[test]
fn a_zone_of_a_mapper_shows_the_runs_that_change_their_date() {
    let project = small().edit("templates/orders/pipeline.yaml", |text| {
        text.replace(
            "default_partition_mapper: StartOfHourMapper",
            "default_partition_mapper: {StartOfHourMapper: {timezone: Asia/Seoul}}",
        )
    });
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["counts"]["runs_changed"], 3, "{diff:#}");
    for run in diff["runs"].as_array().unwrap() {
        assert!(run["values"].as_array().unwrap().iter().any(|value| value["name"] == "partition_date"), "{run:#}");
        assert_eq!(run["causes"][0]["kind"], "mapper", "{run:#}");
        assert_eq!(run["causes"][0]["file"], "templates/orders/pipeline.yaml");
    }
    assert_report("mapper_zone.txt", &project.diff(&["HEAD"]).success().stdout);
}

#[test]
fn a_renamed_task_a_moved_task_and_a_new_one() {
    let project = small().edit("templates/orders/pipeline.yaml", |text| {
        text.replace("      load_1:\n", "      load_first:\n").replace(
            "      load_2:\n",
            "      brand_new:\n        operator: BashOperator\n        bash_command: \"echo {{ partition_key }} > marker\"\n      load_2:\n",
        )
    });
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["renames"].as_array().unwrap().len(), 1, "{:#}", diff["renames"]);
    assert_eq!(diff["renames"][0]["old"], "build_orders.load_1");
    assert_eq!(diff["renames"][0]["new"], "build_orders.load_first");
    assert_eq!(diff["counts"]["fields_changed"], 0, "{diff:#}");
    assert_eq!(diff["counts"]["fields_added"], 3);
    assert_eq!(diff["counts"]["fields_removed"], 0);
    assert_report("renamed_task.txt", &project.diff(&["HEAD"]).success().stdout);
    // To a Dag of its own.
    git(&project, &["checkout", "-q", "."]);
    let project = project.edit("templates/orders/pipeline.yaml", |text| {
        let task = "      load_9:\n        operator: SQLExecuteQueryOperator\n        sql: load_9.sql\n";
        let other = "  late:\n    schedule: {PartitionedAssetTimetable: {assets: orders_src, default_partition_mapper: StartOfHourMapper}}\n    tasks:\n";
        format!("{}{other}{task}", text.replace(task, ""))
    });
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["renames"][0]["old"], "build_orders.load_9", "{diff:#}");
    assert_eq!(diff["renames"][0]["new"], "late.load_9");
    assert_eq!(diff["counts"]["fields_changed"], 0);
    assert_eq!(diff["counts"]["fields_removed"], 0);
}

#[test]
fn moved_pipelines_and_renamed_dags_are_recognised() {
    let project = small();
    git(&project, &["mv", "templates/orders", "templates/sales"]);
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["pipelines"][0]["status"], "renamed", "{diff:#}");
    assert_eq!(diff["pipelines"][0]["old_path"], "templates/orders");
    assert_eq!((&diff["counts"]["fields_changed"], &diff["counts"]["runs_changed"]), (&0.into(), &0.into()));
    let project = project.edit("templates/sales/pipeline.yaml", |text| text.replace("build_orders:", "build_sales:"));
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["renames"][0]["what"], "dag", "{diff:#}");
    assert_eq!(diff["renames"][0]["new"], "build_sales");
    assert_eq!(diff["counts"]["fields_changed"], 0);
    assert_eq!(diff["counts"]["runs_added"], 0);
}

#[test]
fn a_renamed_scenario_has_the_same_runs() {
    let project = small();
    git(&project, &["mv", "templates/orders/scenarios/day.yaml", "templates/orders/scenarios/daily.yaml"]);
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["files"][0]["status"], "renamed", "{diff:#}");
    assert_eq!((diff["counts"]["runs"].clone(), diff["counts"]["fields"].clone()), (3.into(), 30.into()), "{diff:#}");
    assert_eq!((&diff["counts"]["runs_added"], &diff["counts"]["runs_removed"]), (&0.into(), &0.into()));
    assert_eq!(diff["counts"]["fields_changed"], 0);
    project.diff(&["HEAD"]).success().stdout_has("nothing changed in what is executed");
    // With a task that is renamed too, each field is counted once, and the line that changed its text is the cause.
    let project = project
        .edit("templates/orders/sql/load_1.sql", |text| text.replace("SELECT a", "SELECT z"))
        .edit("templates/orders/pipeline.yaml", |text| text.replace("      load_1:\n", "      load_first:\n"));
    let diff = project.json(&["HEAD"]);
    let file = diff["files"].as_array().unwrap().iter().find(|file| file["path"] == "templates/orders/sql/load_1.sql");
    let file = file.unwrap();
    assert_eq!((&file["fields"], &file["fields_changed"]), (&3.into(), &3.into()), "{file:#}");
    assert_eq!(file["tasks"], serde_json::json!(["build_orders.load_first"]));
    assert_eq!(diff["changes"][0]["places"][0]["scenario"], "daily");
    assert!(diff["changes"][0]["causes"].as_array().unwrap().iter().any(|cause| cause["line"] == 3), "{diff:#}");
}

#[test]
fn runs_appear_and_disappear_and_say_why() {
    let project = small().edit("templates/orders/scenarios/day.yaml", |text| text.replace("T02:00:00", "T05:00:00"));
    let diff = project.json(&["HEAD"]);
    let runs: Vec<(&str, &str)> = diff["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["status"].as_str().unwrap(), run["run"].as_str().unwrap()))
        .collect();
    assert_eq!(runs, [("added", "2026-03-10T05"), ("removed", "2026-03-10T02")]);
    for run in diff["runs"].as_array().unwrap() {
        assert_eq!(run["causes"][0]["kind"], "scenario");
        assert_eq!(run["fields"], 10);
    }
    assert_report("runs.txt", &project.diff(&["HEAD"]).success().stdout);
}

/// User case 76: two checkouts of one commit, at other paths.
#[test]
fn two_checkouts_at_different_paths_do_not_differ() {
    let project = small();
    let broken = "{{ nothing_of_that_name }}{% include 'missing.sql' %}";
    let project = project.edit("templates/orders/sql/load_0.sql", |text| format!("{text}{broken}\n"));
    commit(&project, "a template that fails, with a path in its message");
    git(&project, &["worktree", "add", "-q", "elsewhere/deep/checkout", "HEAD"]);
    git(&project, &["clone", "-q", ".", "other"]);
    project.diff(&["elsewhere/deep/checkout", "other", "--exit-code"]).success().stdout_has("nothing changed");
    project.diff(&["HEAD", "HEAD", "--exit-code"]).success().stdout_has("nothing changed");
    project.diff(&["HEAD", "--exit-code"]).success().stdout_has("nothing changed");
    // Something changes elsewhere in the pipeline, so that both sides are rendered: messages hold no path of a side.
    let project = project.edit("other/templates/orders/scenarios/day.yaml", |text| format!("{text}follow: true\n"));
    let diff = project.json(&["elsewhere/deep/checkout", "other"]);
    assert_eq!(diff["counts"]["fields_changed"], 0, "{diff:#}");
    assert_eq!(diff["counts"]["fields_failing"], 3);
}

#[test]
fn revisions_ranges_and_subfolders() {
    let project = small();
    git(&project, &["checkout", "-q", "-b", "topic"]);
    let project = project.edit("templates/orders/sql/load_0.sql", |text| text.replace("SELECT a", "SELECT x"));
    commit(&project, "topic");
    git(&project, &["checkout", "-q", "main"]);
    let project = project.edit("templates/orders/sql/load_1.sql", |text| text.replace("SELECT a", "SELECT y"));
    commit(&project, "main");
    let changed = |args: &[&str]| -> u64 { project.json(args)["counts"]["fields_changed"].as_u64().unwrap() };
    assert_eq!(changed(&["main", "topic"]), 6);
    assert_eq!(changed(&["main..topic"]), 6);
    assert_eq!(changed(&["main...topic"]), 3);
    assert_eq!(changed(&["HEAD~1"]), 3);
    assert_eq!(changed(&["HEAD~1", "-p", "templates/orders"]), 3);
    assert_eq!(changed(&["HEAD~1", "--", "templates"]), 3);
    project.diff(&["HEAD~1", "--exit-code"]).code(1);
    project.diff(&["HEAD~1", "--exit-code", "--scenario", "day"]).code(1);
    project.diff(&["HEAD~1", "--scenario", "dya"]).code(2).stderr_has("did you mean `day`?");
    project.diff(&["HEAD~1", "-p", "templates/nothing"]).code(3).stderr_has("no pipeline templates/nothing");
    project.diff(&["HEAD~1", "-p", "../../elsewhere"]).code(2).stderr_has("outside of the repository");
    // From a folder inside.
    let below = project.partita_in("templates/orders", &["diff", "HEAD~1", "-p", "."]);
    below.success().stdout_has("3 of 30 fields changed");
}

#[test]
fn untracked_files_count_and_nothing_is_written() {
    let project = pipeline(small(), "refunds", 2);
    let before = (git(&project, &["status", "--porcelain"]), project.tree(".git").len());
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["pipelines"][0]["status"], "added");
    assert_eq!(diff["pipelines"][0]["fields"], 20);
    assert_eq!((git(&project, &["status", "--porcelain"]), project.tree(".git").len()), before);
}

#[test]
fn what_cannot_be_compared_says_so() {
    let project = Project::new();
    project
        .diff(&["HEAD"])
        .code(3)
        .stderr("error: there is no git repository here\nhelp: name two folders, or run where the repository is\n");
    git(&project, &["init", "-q"]);
    project.diff(&["HEAD"]).code(3).stderr("error: there is no revision `HEAD`: the repository has no commit yet\n");
    commit(&project, "empty");
    project.diff(&["nothing"]).code(3).stderr("error: there is no revision `nothing`\n");
    project.diff(&["--upload-pack=x"]).code(2);
    project.diff(&["HEAD"]).code(3).stderr_has("no pipeline below templates on either side");
    project.diff(&["HEAD", "HEAD", "HEAD"]).code(2).stderr_has("two sides are compared");
    project.diff(&[]).code(2);
    project.diff(&["HEAD", "--ignore-line", "("]).code(2).stderr_has("--ignore-line");
    project.diff(&["HEAD", "--stat", "--format", "json"]).code(2);
    let project = project.raw("main/x", "").raw("other/x", "");
    project.diff(&["main", "other"]).code(2).stderr_has("`main` is both a folder and a revision");
    project.diff(&["./main", "other"]).code(3).stderr_has("neither ./main nor other holds a pipeline");
    project.diff(&["./main", "HEAD"]).code(2).stderr_has("name two folders or two revisions");
    project.diff(&["./main"]).code(2).stderr_has("name the folder to compare it with");
}

#[test]
fn shallow_and_bare_repositories() {
    let project = small();
    commit(&project, "second");
    let url = format!("file://{}", project.path("").display());
    git(&project, &["clone", "-q", "--depth", "1", &url, "shallow"]);
    project.partita_in("shallow", &["diff", "HEAD~1"]).code(3).stderr_has("shallow clone");
    project.partita_in("shallow", &["diff", "HEAD"]).success();
    git(&project, &["clone", "-q", "--bare", ".", "bare.git"]);
    project.partita_in("bare.git", &["diff", "HEAD~1"]).code(3).stderr_has("name both revisions");
    project.partita_in("bare.git", &["diff", "HEAD~1", "HEAD"]).success().stdout_has("nothing changed");
}

#[test]
fn a_side_that_fails_is_shown() {
    let project =
        small().edit("templates/orders/pipeline.yaml", |text| text.replace("StartOfHourMapper", "StartOfHourMaper"));
    let ran = project.diff(&["HEAD", "--exit-code"]).code(1);
    assert_report("broken_pipeline.txt", &ran.stdout);
    project.diff(&["HEAD", "--format", "markdown"]).success().stdout_has("did you mean `StartOfHourMapper`?");
    project
        .diff(&["HEAD", "--format", "github"])
        .success()
        .stdout_has("::error file=templates/orders/pipeline.yaml,line=8,");
    // A scenario that is broken leaves the others alone.
    git(&project, &["checkout", "-q", "."]);
    let project = project
        .raw("templates/orders/scenarios/bad.yaml", "steps: [{emit: nowhere}]\n")
        .edit("templates/orders/sql/load_0.sql", |text| text.replace("SELECT a", "SELECT z"));
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["failures"][0]["scenario"], "bad", "{diff:#}");
    assert_eq!(diff["counts"]["fields_changed"], 3);
    // A template that fails now.
    git(&project, &["clean", "-qfd"]);
    git(&project, &["checkout", "-q", "."]);
    let project = project.edit("templates/orders/sql/load_0.sql", |text| text.replace("SELECT a", "SELECT {{ nope }}"));
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["counts"]["fields_broken"], 3, "{diff:#}");
    project.diff(&["HEAD"]).success().stdout_has("now fails in 3 runs of build_orders.load_0.sql");
}

#[test]
fn what_is_ignored_is_counted() {
    let project = small()
        .edit("templates/orders/sql/load_0.sql", |text| text.replace("SELECT a, b", "SELECT  a,  b"))
        .edit("templates/orders/sql/load_1.sql", |text| text.replace("SELECT a, b\nFROM", "select a,\n       b FROM"))
        .edit("templates/orders/sql/load_2.sql", |text| format!("-- owner: us\n{text}"));
    let changed = |args: &[&str]| -> (u64, u64) {
        let counts = &project.json(&[&["HEAD"], args].concat())["counts"];
        (counts["fields_changed"].as_u64().unwrap(), counts["fields_ignored"].as_u64().unwrap())
    };
    assert_eq!(changed(&[]), (9, 0));
    assert_eq!(changed(&["--ignore-whitespace"]), (6, 3));
    assert_eq!(changed(&["--ignore-line", "^-- owner"]), (6, 3));
    assert_eq!(changed(&["--sql"]), (3, 6));
    assert_eq!(changed(&["--sql", "-I", "owner"]), (0, 9));
    // What does not parse is compared as text, and said.
    let project =
        project.edit("templates/orders/sql/load_3.sql", |text| text.replace("INSERT INTO", "FROBNICATE  THE"));
    project
        .diff(&["HEAD", "--sql"])
        .success()
        .stdout_has("--sql: 3 changed fields do not parse as generic SQL and were compared as text");
}

#[test]
fn secrets_are_masked_and_their_change_is_not_silent() {
    let secret = |value: &str| {
        format!(
            "variables: {{api_password: {value}}}\ndags:\n  d:\n    schedule: null\n    tasks:\n      t: {{operator: BashOperator, bash_command: \"login {{{{ var.value.api_password }}}}\"}}\n"
        )
    };
    let project = Project::new()
        .raw("templates/p/pipeline.yaml", &secret("hunter-old-1"))
        .raw("templates/p/scenarios/s.yaml", "steps: [{run: d, logical_date: \"2026-03-10T00:00:00Z\"}]\n");
    git(&project, &["init", "-q"]);
    commit(&project, "first");
    let project = project.raw("templates/p/pipeline.yaml", &secret("hunter-new-2"));
    for format in ["text", "markdown", "json", "sarif", "github"] {
        let ran = project.diff(&["HEAD", "--format", format, "--exit-code"]).code(1);
        assert!(!ran.stdout.contains("hunter"), "{format}: {}", ran.stdout);
    }
    project.diff(&["HEAD"]).success().stdout_has("only values that are masked differ").stdout_has("variable");
}

#[test]
fn submodules_pointers_and_files_that_are_no_text() {
    let project = small();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1\n";
    let project = project.raw("templates/orders/sql/load_0.sql", pointer);
    commit(&project, "a pointer");
    let project = project.edit("templates/orders/sql/load_1.sql", |text| text.replace("SELECT a", "SELECT q"));
    let diff = project.json(&["HEAD"]);
    // A pointer is not the text that would be executed.
    assert_eq!(diff["counts"]["fields_failing"], 3, "{diff:#}");
    assert_eq!(diff["counts"]["fields_changed"], 3);
    project.diff(&["HEAD~1"]).success().stdout_has("is a pointer of Git LFS");
    std::fs::write(project.path("templates/orders/sql/load_2.sql"), b"\xff\xfe\x00 no text").unwrap();
    let diff = project.json(&["HEAD"]);
    assert_eq!(diff["counts"]["fields_broken"], 3, "{diff:#}");
    git(&project, &["init", "-q", "module"]);
    let module = project.path("module");
    let run = |args: &[&str]| {
        let status =
            Command::new("git").args(args).current_dir(&module).env("GIT_CONFIG_NOSYSTEM", "1").status().unwrap();
        assert!(status.success());
    };
    run(&["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "m"]);
    git(&project, &["checkout", "-q", "."]);
    git(&project, &["submodule", "--quiet", "add", "./module", "templates/orders/vendor"]);
    commit(&project, "a submodule");
    project.diff(&["HEAD", "HEAD~1"]).success().stdout_has("templates/orders/vendor is a submodule");
}

#[cfg(unix)]
#[test]
fn links_inside_the_repository_are_followed_and_names_that_are_no_text_left_out() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = small();
    let sql = project.path("templates/orders/sql");
    std::fs::remove_file(sql.join("load_0.sql")).unwrap();
    std::os::unix::fs::symlink("load_1.sql", sql.join("load_0.sql")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", sql.join("outside.sql")).unwrap();
    std::fs::write(sql.join(std::ffi::OsStr::from_bytes(b"bad\xff.sql")), "x").unwrap();
    commit(&project, "links");
    let diff = project.json(&["HEAD", "HEAD~1"]);
    assert_eq!(diff["counts"]["fields_broken"], 0, "{diff:#}");
    let notes = diff["notes"].to_string();
    assert!(notes.contains("outside.sql is a link to /etc/passwd"), "{notes}");
    assert!(notes.contains("its name is not UTF-8"), "{notes}");
}

#[test]
fn markdown_is_safe_and_fits_a_comment() {
    let project = small().edit("templates/orders/sql/load_0.sql", |text| {
        format!("{text}```` end <!-- @everyone -->\n{}", "a line of some length that is not short\n".repeat(2_500))
    });
    let project = project.edit("templates/orders/sql/load_1.sql", |text| format!("{text}``` here\n"));
    let ran = project.diff(&["HEAD", "--format", "markdown", "--all"]).success();
    assert!(ran.stdout.len() <= 65_536, "{}", ran.stdout.len());
    assert!(ran.stdout.contains("Not shown, for want of room:** 1 change in 3 fields"), "{}", ran.stdout);
    assert!(ran.stdout.contains("````diff\n"), "{}", ran.stdout);
    git(&project, &["checkout", "-q", "."]);
    project.diff(&["HEAD", "--format", "markdown"]).success().stdout_has("**Nothing changed** in what is executed.");
}

#[test]
fn sarif_has_the_shape_of_2_1_0() {
    let project = small()
        .edit("shared/_macros.sql", |text| text.replace("'eu'", "'kr'"))
        .edit("templates/orders/scenarios/day.yaml", |text| text.replace("T02:00:00", "T05:00:00"));
    let log: Json = serde_json::from_str(&project.diff(&["HEAD", "--format", "sarif"]).success().stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 2, "{log:#}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        for location in result["locations"].as_array().unwrap() {
            let physical = &location["physicalLocation"];
            let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
            assert!(project.path(uri).is_file(), "{uri}");
            assert!(physical["region"]["startLine"].as_u64().unwrap() >= 1);
        }
    }
}

#[test]
fn what_became_of_a_file_that_is_gone_is_shown_where_there_is_a_file() {
    let project =
        small().edit("templates/orders/pipeline.yaml", |text| text.replace("  build_orders:", "  build_all:"));
    std::fs::remove_file(project.path("templates/orders/sql/load_3.sql")).unwrap();
    let log: Json = serde_json::from_str(&project.diff(&["HEAD", "--format", "sarif"]).success().stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["ruleId"] == "field-fails"), "{log:#}");
    assert!(results.iter().any(|result| result["ruleId"] == "renamed"), "{log:#}");
    for result in results {
        let physical = &result["locations"][0]["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], "templates/orders/pipeline.yaml", "{result:#}");
        assert!(physical["region"]["startLine"].is_u64(), "{result:#}");
    }
    let github = project.diff(&["HEAD", "--format", "github"]).success().stdout;
    assert!(github.contains("::error file=templates/orders/pipeline.yaml,"), "{github}");
    assert!(!github.contains("load_3.sql,"), "{github}");
}

#[test]
fn a_file_that_only_one_side_names_is_not_one_that_came_or_went() {
    let files = |diff: &Json| -> Vec<String> {
        let files = diff["files"].as_array().unwrap();
        files
            .iter()
            .map(|file| format!("{} {}", file["status"].as_str().unwrap(), file["path"].as_str().unwrap()))
            .collect()
    };
    // The search path of a file that cannot be read is not known.
    let project = small().edit("templates/orders/pipeline.yaml", |text| text + "x: [\n");
    assert_eq!(files(&project.json(&["HEAD"])), ["modified templates/orders/pipeline.yaml"]);
    commit(&project, "broken");
    assert_eq!(files(&project.json(&["HEAD~1", "HEAD"])), ["modified templates/orders/pipeline.yaml"]);
    assert_eq!(files(&project.json(&["HEAD", "HEAD~1"])), ["modified templates/orders/pipeline.yaml"]);
    // A folder that is named no more, with a file that changed meanwhile.
    git(&project, &["reset", "-q", "--hard", "HEAD~1"]);
    let project = project
        .edit("templates/orders/pipeline.yaml", |text| text.replace("[sql, ../../shared]", "[sql]"))
        .edit("shared/_macros.sql", |text| text.replace("'eu'", "'kr'"));
    commit(&project, "no shared folder");
    for sides in [["HEAD~1", "HEAD"], ["HEAD", "HEAD~1"]] {
        let diff = project.json(&sides);
        assert_eq!(files(&diff), ["modified shared/_macros.sql", "modified templates/orders/pipeline.yaml"]);
    }
    let diff = project.json(&["HEAD~1", "HEAD"]);
    let causes = diff["changes"][0]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{causes:#?}");
    assert!(causes[0]["what"].as_str().unwrap().contains("template_searchpath"), "{causes:#?}");
}

#[test]
fn snapshot_trees_are_compared_without_their_sources() {
    let project = small().edit("shared/_macros.sql", |text| text);
    project.run(&["snapshot", "--dir", "old", "--accept"]).success();
    let project = project.edit("shared/_macros.sql", |text| text.replace("'eu'", "'kr'"));
    project.run(&["snapshot", "--dir", "new", "--accept"]).success();
    let diff = project.json(&["old", "new"]);
    assert_eq!(diff["counts"]["fields_changed"], 30, "{diff:#}");
    assert_eq!(diff["changes"].as_array().unwrap().len(), 1);
    project.diff(&["old", "old", "--exit-code"]).success().stdout_has("nothing changed");
}
