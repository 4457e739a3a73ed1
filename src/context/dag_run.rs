//! `dag_run`, its consumed events, and asset events as Python objects.

use std::sync::Arc;

use crate::python::{self, PyErr, PyResult, Value, downcast, object};
use crate::run::{
    ASSET_EVENT_FIELDS, AssetEventReference, AssetReference, DAG_RUN_FIELDS, DAG_RUN_RESULT_FIELDS, DagRun, Run,
};

use super::Shared;
use super::convert;
use super::enums;
use super::model::{Model, ModelClass, no_properties};
use super::source_task;
use super::surroundings::StoredEvent;

const GENERATED: &str = "airflow.sdk.api.datamodels._generated";
const COMMS: &str = "airflow.sdk.execution_time.comms";

static DAG_RUN: ModelClass = ModelClass {
    name: "DagRun",
    module: GENERATED,
    fields: DAG_RUN_FIELDS,
    forbids_extra: true,
    properties: no_properties,
};

static DAG_RUN_RESULT: ModelClass = ModelClass {
    name: "DagRunResult",
    module: COMMS,
    fields: DAG_RUN_RESULT_FIELDS,
    forbids_extra: true,
    properties: no_properties,
};

static TI_RUN_CONTEXT: ModelClass = ModelClass {
    name: "TIRunContext",
    module: GENERATED,
    fields: &[
        "dag_run",
        "task_reschedule_count",
        "max_tries",
        "variables",
        "connections",
        "next_method",
        "next_kwargs",
        "xcom_keys_to_clear",
        "should_retry",
        "start_date",
    ],
    forbids_extra: false,
    properties: no_properties,
};

static CONSUMED: ModelClass = ModelClass {
    name: "AssetEventDagRunReference",
    module: GENERATED,
    fields: ASSET_EVENT_FIELDS,
    forbids_extra: true,
    properties: no_properties,
};

static TRIGGERING: ModelClass = ModelClass {
    name: "AssetEventDagRunReferenceResult",
    module: COMMS,
    fields: ASSET_EVENT_FIELDS,
    forbids_extra: true,
    properties: source_properties,
};

static STORED: ModelClass = ModelClass {
    name: "AssetEventResult",
    module: COMMS,
    fields: &[
        "id",
        "timestamp",
        "extra",
        "asset",
        "created_dagruns",
        "source_task_id",
        "source_dag_id",
        "source_run_id",
        "source_map_index",
        "partition_key",
    ],
    forbids_extra: false,
    properties: source_properties,
};

static ASSET: ModelClass = ModelClass {
    name: "AssetReferenceAssetEventDagRun",
    module: GENERATED,
    fields: &["name", "uri", "extra"],
    forbids_extra: true,
    properties: no_properties,
};

static ASSET_RESPONSE: ModelClass = ModelClass {
    name: "AssetResponse",
    module: GENERATED,
    fields: &["name", "uri", "group", "extra"],
    forbids_extra: false,
    properties: no_properties,
};

static ALIAS: ModelClass = ModelClass {
    name: "AssetAliasReferenceAssetEventDagRun",
    module: GENERATED,
    fields: &["name"],
    forbids_extra: true,
    properties: no_properties,
};

/// `dag_run`
pub(super) fn dag_run(shared: &Shared) -> PyResult {
    let values = fields(&shared.run.dag_run)?;
    let source = shared.clone();
    let make = move || consumed(&source.run.dag_run.consumed_asset_events, Some(&source));
    let model = Model::new(&DAG_RUN, values).lazily("consumed_asset_events", Arc::new(make));
    Ok(object(model.with_source(shared.clone())))
}

/// `ti._ti_context_from_server`: what the API server sent for a first, undeferred try.
pub(super) fn ti_run_context(dag_run: Value, run: &Run) -> Value {
    object(Model::new(
        &TI_RUN_CONTEXT,
        vec![
            dag_run,
            convert::int_of(run.ti.task_reschedule_count),
            convert::int_of(run.ti.max_tries),
            python::none(),
            python::none(),
            python::none(),
            python::none(),
            python::none(),
            Value::from(false),
            python::none(),
        ],
    ))
}

/// `DagRunResult` of another run, as `source_dag_run` finds it.
pub(super) fn dag_run_result(run: &DagRun) -> PyResult {
    let mut values = fields(run)?;
    if let Some(slot) = values.get_mut(13) {
        *slot = consumed(&run.consumed_asset_events, None)?;
    }
    values.push(Value::from("DagRunResult"));
    Ok(object(Model::new(&DAG_RUN_RESULT, values)))
}

/// The fields of a Dag run in order; the consumed events are left out.
fn fields(run: &DagRun) -> PyResult<Vec<Value>> {
    Ok(vec![
        Value::from(run.dag_id.as_str()),
        Value::from(run.run_id.as_str()),
        convert::plain(run.logical_date),
        convert::plain(run.data_interval_start),
        convert::plain(run.data_interval_end),
        convert::plain(Some(run.run_after)),
        convert::plain(run.start_date),
        convert::plain(run.end_date),
        convert::opt_int(run.clear_number),
        enums::run_type(run.run_type),
        enums::run_state(run.state),
        run.conf.as_ref().map_or_else(|| Ok(python::none()), convert::dict)?,
        convert::opt_str(run.triggering_user_name.as_deref()),
        python::none(),
        convert::opt_str(run.partition_key.as_deref()),
        convert::plain(run.partition_date),
        convert::opt_str(run.note.as_deref()),
        convert::opt_str(run.team_name.as_deref()),
    ])
}

fn consumed(events: &[AssetEventReference], shared: Option<&Shared>) -> PyResult {
    let event = |event: &AssetEventReference| -> PyResult {
        let model = Model::new(&CONSUMED, event_fields(event)?);
        Ok(object(match shared {
            Some(shared) => model.with_source(shared.clone()),
            None => model,
        }))
    };
    Ok(python::list(events.iter().map(event).collect::<PyResult<_>>()?))
}

/// An event of `triggering_asset_events`.
pub(super) fn triggering(event: &AssetEventReference, shared: &Shared) -> PyResult {
    Ok(object(Model::new(&TRIGGERING, event_fields(event)?).with_source(shared.clone())))
}

fn event_fields(event: &AssetEventReference) -> PyResult<Vec<Value>> {
    let aliases =
        event.source_aliases.iter().map(|name| object(Model::new(&ALIAS, vec![Value::from(name.as_str())]))).collect();
    Ok(vec![
        asset_reference(&event.asset)?,
        convert::dict(&event.extra)?,
        convert::opt_str(event.source_task_id.as_deref()),
        convert::opt_str(event.source_dag_id.as_deref()),
        convert::opt_str(event.source_run_id.as_deref()),
        convert::opt_int(event.source_map_index),
        python::list(aliases),
        convert::plain(Some(event.timestamp)),
        convert::opt_str(event.partition_key.as_deref()),
    ])
}

fn asset_reference(asset: &AssetReference) -> PyResult {
    let fields = vec![Value::from(asset.name.as_str()), Value::from(asset.uri.as_str()), convert::dict(&asset.extra)?];
    Ok(object(Model::new(&ASSET, fields)))
}

/// An event of `inlet_events[...]`.
pub(super) fn stored(event: &StoredEvent, shared: &Shared) -> PyResult {
    let asset = Model::new(
        &ASSET_RESPONSE,
        vec![
            Value::from(event.asset.name.as_str()),
            Value::from(event.asset.uri.as_str()),
            Value::from(event.asset.group.as_str()),
            convert::json(&event.asset.extra)?,
        ],
    );
    let fields = vec![
        Value::from(event.id),
        convert::plain(Some(event.timestamp)),
        convert::dict(&event.extra)?,
        object(asset),
        python::list(Vec::new()),
        convert::opt_str(event.source_task_id.as_deref()),
        convert::opt_str(event.source_dag_id.as_deref()),
        convert::opt_str(event.source_run_id.as_deref()),
        convert::opt_int(event.source_map_index),
        convert::opt_str(event.partition_key.as_deref()),
    ];
    Ok(object(Model::new(&STORED, fields).with_source(shared.clone())))
}

/// `source_dag_run` and `source_task_instance` of an event.
fn source_properties(model: &Model, name: &str) -> Option<PyResult> {
    match name {
        "source_dag_run" => Some(source_dag_run(model)),
        "source_task_instance" => Some(source_task_instance(model)),
        _ => None,
    }
}

fn source_dag_run(model: &Model) -> PyResult {
    let text = |field: &str| -> PyResult<Option<String>> {
        let value = model.field(field).unwrap_or_else(|| Ok(python::none()))?;
        Ok(python::text(&value).filter(|text| !text.is_empty()).map(str::to_owned))
    };
    let (Some(dag_id), Some(run_id)) = (text("source_dag_id")?, text("source_run_id")?) else {
        return Ok(python::none());
    };
    let known = model.source.as_ref().map(|shared| shared.around.dag_runs.as_slice()).unwrap_or_default();
    for run in known {
        let is = |key: &str, wanted: &str| run.get(key).and_then(|value| value.as_str()) == Some(wanted);
        if is("dag_id", &dag_id) && is("run_id", &run_id) {
            return dag_run_result(&DagRun::from_json(run)?);
        }
    }
    Err(PyErr::unsupported(format!("the producer's run `{run_id}` of Dag `{dag_id}` is not known"))
        .with_hint("`source_dag_run` asks the metadata database; the event itself has source_dag_id and source_run_id"))
}

fn source_task_instance(model: &Model) -> PyResult {
    let field = |name: &str| model.field(name).unwrap_or_else(|| Ok(python::none()));
    let (task_id, map_index) = (field("source_task_id")?, field("source_map_index")?);
    if task_id.is_none() || map_index.is_none() {
        return Ok(python::none());
    }
    let dag_run = source_dag_run(model)?;
    if downcast::<Model>(&dag_run).is_none() {
        return Ok(dag_run);
    }
    let missing_xcom = model.source.as_ref().map(|shared| shared.around.missing_xcom).unwrap_or_default();
    Ok(source_task::value(dag_run, task_id, map_index, missing_xcom))
}
