//! Python's `str` enums: `DagRunType`, `DagRunState`, `TaskInstanceState`, `TriggerRule`, `WeightRule`.

use std::sync::Arc;

use crate::python::{self, HashKey, Interp, PyObject, PyResult, Value, object};
use crate::run::{DagRunState, DagRunType, TaskInstanceState};

/// A member of a class `X(str, Enum)`: it compares, hashes and slices as its value, but prints as `X.MEMBER`.
#[derive(Debug, Clone)]
pub struct StrEnum {
    class: &'static EnumClass,
    member: &'static str,
    value: &'static str,
}

/// Such a class: its name, module and members.
#[derive(Debug)]
pub struct EnumClass {
    name: &'static str,
    module: &'static str,
    members: fn() -> Vec<(&'static str, &'static str)>,
}

static RUN_TYPE: EnumClass = EnumClass {
    name: "DagRunType",
    module: "airflow.sdk.api.datamodels._generated",
    members: || DagRunType::ALL.iter().map(|m| (m.member(), m.value())).collect(),
};

static RUN_STATE: EnumClass = EnumClass {
    name: "DagRunState",
    module: "airflow.sdk.api.datamodels._generated",
    members: || DagRunState::ALL.iter().map(|m| (m.member(), m.value())).collect(),
};

static TASK_STATE: EnumClass = EnumClass {
    name: "TaskInstanceState",
    module: "airflow.sdk.api.datamodels._generated",
    members: || TaskInstanceState::ALL.iter().map(|m| (m.member(), m.value())).collect(),
};

static TRIGGER_RULE: EnumClass = EnumClass {
    name: "TriggerRule",
    module: "airflow.sdk.api.datamodels._generated",
    members: || {
        vec![
            ("ALL_SUCCESS", "all_success"),
            ("ALL_FAILED", "all_failed"),
            ("ALL_DONE", "all_done"),
            ("ALL_DONE_MIN_ONE_SUCCESS", "all_done_min_one_success"),
            ("ALL_DONE_SETUP_SUCCESS", "all_done_setup_success"),
            ("ONE_SUCCESS", "one_success"),
            ("ONE_FAILED", "one_failed"),
            ("ONE_DONE", "one_done"),
            ("NONE_FAILED", "none_failed"),
            ("NONE_SKIPPED", "none_skipped"),
            ("ALWAYS", "always"),
            ("NONE_FAILED_MIN_ONE_SUCCESS", "none_failed_min_one_success"),
            ("ALL_SKIPPED", "all_skipped"),
        ]
    },
};

static WEIGHT_RULE: EnumClass = EnumClass {
    name: "WeightRule",
    module: "airflow.sdk.api.datamodels._generated",
    members: || vec![("DOWNSTREAM", "downstream"), ("UPSTREAM", "upstream"), ("ABSOLUTE", "absolute")],
};

/// `DagRunType.X`
pub fn run_type(value: DagRunType) -> Value {
    object(StrEnum { class: &RUN_TYPE, member: value.member(), value: value.value() })
}

/// `DagRunState.X`
pub fn run_state(value: DagRunState) -> Value {
    object(StrEnum { class: &RUN_STATE, member: value.member(), value: value.value() })
}

/// `TaskInstanceState.X`
pub fn task_state(value: TaskInstanceState) -> Value {
    object(StrEnum { class: &TASK_STATE, member: value.member(), value: value.value() })
}

/// `TriggerRule.X`, for a value it has.
pub fn trigger_rule(value: &str) -> Option<Value> {
    TRIGGER_RULE.by_value(value)
}

/// `WeightRule.X`, for a value it has.
pub fn weight_rule(value: &str) -> Option<Value> {
    WEIGHT_RULE.by_value(value)
}

impl EnumClass {
    fn by_value(&'static self, value: &str) -> Option<Value> {
        (self.members)()
            .into_iter()
            .find(|(_, known)| *known == value)
            .map(|(member, value)| object(StrEnum { class: self, member, value }))
    }
}

impl StrEnum {
    /// The value on the wire.
    pub fn value(&self) -> &'static str {
        self.value
    }
}

impl PyObject for StrEnum {
    fn type_name(&self) -> &str {
        self.class.name
    }

    fn qualified_name(&self) -> String {
        format!("{}.{}", self.class.module, self.class.name)
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("<{}.{}: '{}'>", self.class.name, self.member, self.value))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("{}.{}", self.class.name, self.member))
    }

    fn format(&self, spec: &str, it: &mut dyn Interp) -> PyResult<String> {
        // since Python 3.11 a mixed-in str no longer decides how a member is formatted
        python::format(&Value::from(self.str(it)?), spec, it)
    }

    fn as_text(&self) -> Option<&str> {
        Some(self.value)
    }

    fn truth(&self, _it: &mut dyn Interp) -> PyResult<bool> {
        Ok(true)
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        match name {
            "value" | "_value_" => Some(Ok(Value::from(self.value))),
            "name" | "_name_" => Some(Ok(Value::from(self.member))),
            _ => (self.class.members)()
                .into_iter()
                .find(|(member, _)| *member == name)
                .map(|(member, value)| Ok(object(StrEnum { class: self.class, member, value }))),
        }
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Str(Arc::from(self.value)))
    }
}
