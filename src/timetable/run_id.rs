//! Run ids as Airflow forms them.

use chrono::{DateTime, Utc};

use super::isoformat;

/// `DagRunType.generate_run_id`: `scheduled__2026-03-10T00:00:00+00:00`.
pub fn run_id(run_type: &str, suffix: &str) -> String {
    format!("{run_type}__{suffix}")
}

/// `DagRun.generate_run_id`: runs without a logical date end in random characters, here given by the caller.
pub fn dag_run_id(
    run_type: &str,
    logical_date: Option<DateTime<Utc>>,
    run_after: DateTime<Utc>,
    random: &str,
) -> String {
    let run_after = isoformat(run_after);
    match logical_date {
        Some(_) => run_id(run_type, &run_after),
        None => run_id(run_type, &format!("{run_after}_{random}")),
    }
}
