//! `event.source_task_instance` (`airflow.sdk.execution_time.comms.AssetEventSourceTaskInstance`).

use crate::python::{self, Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, downcast, object};

use super::model::Model;
use super::surroundings::MissingXCom;

/// The task instance that emitted an event.
#[derive(Debug)]
struct SourceTask {
    dag_run: Value,
    task_id: Value,
    map_index: Value,
    missing_xcom: MissingXCom,
}

/// Makes one. XComs of other runs are never given: what pulling one means is as for the run's own.
pub(super) fn value(dag_run: Value, task_id: Value, map_index: Value, missing_xcom: MissingXCom) -> Value {
    object(SourceTask { dag_run, task_id, map_index, missing_xcom })
}

impl PyObject for SourceTask {
    fn type_name(&self) -> &str {
        "AssetEventSourceTaskInstance"
    }

    fn qualified_name(&self) -> String {
        "airflow.sdk.execution_time.comms.AssetEventSourceTaskInstance".to_owned()
    }

    fn repr(&self, it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!(
            "AssetEventSourceTaskInstance(dag_run={}, task_id={}, map_index={})",
            python::repr(&self.dag_run, it)?,
            python::repr(&self.task_id, it)?,
            python::repr(&self.map_index, it)?
        ))
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "dag_run" => Some(Ok(self.dag_run.clone())),
            "task_id" => Some(Ok(self.task_id.clone())),
            "map_index" => Some(Ok(self.map_index.clone())),
            "dag_id" | "run_id" => downcast::<Model>(&self.dag_run).and_then(|run| run.field(name)),
            _ => None,
        }
    }

    fn has_method(&self, name: &str) -> bool {
        name == "xcom_pull"
    }

    fn call_method(&self, _this: &Value, _name: &str, args: &Args<'_>, _it: &mut dyn Interp) -> PyResult {
        let bound = Sig::new("AssetEventSourceTaskInstance.xcom_pull", &[])
            .method()
            .keyword_only(&["key", "default"])
            .bind(args)?;
        match self.missing_xcom {
            MissingXCom::None => Ok(bound.get(1).copied().flatten().cloned().unwrap_or_else(python::none)),
            MissingXCom::Refuse => Err(PyErr::unsupported("XComs of a producer's run are not known")),
        }
    }

    fn compare(&self, op: CmpOp, other: &Value, it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<SourceTask>(other)?;
        if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            return None;
        }
        let mut equal = || -> PyResult<bool> {
            Ok(python::compare(CmpOp::Eq, &self.dag_run, &other.dag_run, it)?
                && python::compare(CmpOp::Eq, &self.task_id, &other.task_id, it)?
                && python::compare(CmpOp::Eq, &self.map_index, &other.map_index, it)?)
        };
        Some(equal().map(|equal| equal == (op == CmpOp::Eq)))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Err(PyErr::type_error("unhashable type: 'AssetEventSourceTaskInstance'"))
    }
}
