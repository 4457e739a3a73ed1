//! The Jinja environment in which Airflow renders a task's templates.

use crate::jinja::Environment;
use crate::python::PyResult;
use crate::run::Run;

use super::user_macros;

/// `create_template_env` for a run whose Dag sets nothing special: sandboxed or native, Airflow's filters, the user macros of
/// the run.
pub fn environment(run: &Run, native: bool) -> PyResult<Environment> {
    Ok(Environment { native, globals: user_macros(run)?, filters: super::filters(), ..Environment::default() })
}
