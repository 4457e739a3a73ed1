//! Dates of the previous successful run (`PrevSuccessfulDagRunResult`).

use std::sync::Arc;

use crate::python::{PyResult, Value};
use crate::run::{Json, Run, Validator};

use super::convert;
use super::proxy::proxy as lazy;

const FIELDS: [&str; 4] = ["data_interval_start", "data_interval_end", "start_date", "end_date"];

/// A lazy date; all four are validated when the first one is needed.
pub(super) fn proxy(run: &Arc<Run>, field: &'static str) -> Value {
    let run = Arc::clone(run);
    lazy(move || read(&run, field))
}

fn read(run: &Run, wanted: &str) -> PyResult {
    let mut v = Validator::new("PrevSuccessfulDagRunResult");
    let mut found = None;
    for field in FIELDS {
        let raw = run.prev_success.get(field).unwrap_or(&Json::Null);
        let date = v.at(field, |v| v.opt_instant(raw));
        if field == wanted {
            found = date;
        }
    }
    match v.finish()? {
        Some(error) => Err(error),
        None => Ok(convert::pendulum(found)),
    }
}
