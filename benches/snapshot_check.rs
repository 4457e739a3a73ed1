//! `partita snapshot --check` over 10,000 snapshots, beside what cannot be done without: reading and hashing the same files.
//!
//! `cargo bench --bench snapshot_check` prints both times and their ratio; wanted are a ratio of 6 at most and less than 2
//! seconds. `-- N` makes another number of runs of 10 fields each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use sha2::{Digest, Sha256};

const SQL: &str = "\
{% import 'macros.sql' as m %}INSERT OVERWRITE TABLE {{ params.schema }}.t PARTITION (dt = '{{ partition_date | ds }}')
SELECT id,
       SUM(points)     AS points,
       MAX(score_time) AS last_score,
{%- for column in ['home', 'away', 'draw', 'total'] %}
       {{ m.coalesced(column) }}{{ '' if loop.last else ',' }}
{%- endfor %}
FROM {{ params.schema }}.events
WHERE dt = '{{ partition_date | ds }}' AND hour = '{{ partition_date.strftime('%H') }}'
GROUP BY id -- {{ partition_key }}
";

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Ten tasks with one statement each.
fn project(root: &Path, runs: usize) {
    let tasks: String =
        (0..10).map(|n| format!("      t{n}: {{operator: SQLExecuteQueryOperator, sql: t.sql}}\n")).collect();
    let pipeline = format!(
        "assets: {{a: \"s3://a\"}}\ndags:\n  d:\n    schedule: {{PartitionedAssetTimetable: {{assets: a, default_partition_mapper: StartOfHourMapper}}}}\n    params: {{schema: mart}}\n    tasks:\n{tasks}"
    );
    let day = |n: usize| format!("2026-{:02}-{:02}T{:02}:00:00", 1 + n / 672 % 12, 1 + n / 24 % 28, n % 24);
    // A pass of the scheduler makes so many runs at most.
    let tick = |n: usize| if n % 200 == 199 { "  - tick\n" } else { "" };
    let emit = |n: usize| format!("  - {{emit: a, partition_key: \"{}\"}}\n{}", day(n), tick(n));
    let emits: String = (0..runs).map(emit).collect();
    write(root.join("templates/p/pipeline.yaml"), &pipeline);
    write(root.join("templates/p/t.sql"), SQL);
    write(root.join("templates/p/macros.sql"), "{% macro coalesced(c) %}COALESCE({{ c }}, 0) AS {{ c }}{% endmacro %}");
    write(root.join("templates/p/scenarios/s.yaml"), &format!("now: \"2026-12-31T12:00:00Z\"\nsteps:\n{emits}"));
}

fn partita(root: &Path, argument: &str) -> f64 {
    let started = Instant::now();
    let ran = Command::new(env!("CARGO_BIN_EXE_partita"))
        .args(["snapshot", argument])
        .current_dir(root)
        .env_clear()
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    started.elapsed().as_secs_f64()
}

/// Reads and hashes every file below a folder, one after another; how many there are.
fn read_and_hash(folder: &Path, count: &mut usize) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_and_hash(&path, count);
        } else {
            std::hint::black_box(Sha256::digest(fs::read(path).unwrap()));
            *count += 1;
        }
    }
}

fn best(mut job: impl FnMut() -> f64) -> f64 {
    (0..5).map(|_| job()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let runs = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), runs);
    let write = partita(folder.path(), "--accept");
    let mut count = 0;
    let hash = best(|| {
        count = 0;
        let started = Instant::now();
        read_and_hash(&folder.path().join("snapshots"), &mut count);
        started.elapsed().as_secs_f64()
    });
    let check = best(|| partita(folder.path(), "--check"));
    assert_eq!(count, runs * 10);
    println!("{count} snapshots: written in {write:.3} s, read and hashed in {hash:.3} s, checked in {check:.3} s");
    println!("ratio {:.2} (at most 6)", check / hash);
}
