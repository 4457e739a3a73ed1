//! Rows of the metadata database as a template sees them: Dag runs, task instances, datasets and their events.

use std::sync::Arc;

use crate::python::{self, DateTime, Named, PyErr, PyResult, TzInfo, Value, Zone, function, named_tuple, object, text};
use crate::run::{Instant, Json};

use super::super::convert;
use super::record::{Class, Print, Record};
use super::world::{EventRow, Item, RunRow, TaskRow, World, XComs};

pub(super) static DAG_RUN: Class =
    Class { name: "DagRun", module: "airflow.models.dagrun", by_value: false, closed: true };
pub(super) static TASK_INSTANCE: Class =
    Class { name: "TaskInstance", module: "airflow.models.taskinstance", by_value: false, closed: true };
static EVENT: Class = Class { name: "DatasetEvent", module: "airflow.models.dataset", by_value: false, closed: true };
static DATASET_ROW: Class =
    Class { name: "DatasetModel", module: "airflow.models.dataset", by_value: false, closed: true };
static ALIAS_ROW: Class =
    Class { name: "DatasetAliasModel", module: "airflow.models.dataset", by_value: false, closed: true };
/// `airflow.datasets.Dataset`
pub(super) static DATASET: Class = Class { name: "Dataset", module: "airflow.datasets", by_value: true, closed: true };
/// `airflow.datasets.DatasetAlias`
pub(super) static ALIAS: Class =
    Class { name: "DatasetAlias", module: "airflow.datasets", by_value: true, closed: true };

static KEY: Named = Named {
    class: "TaskInstanceKey",
    fields: &["dag_id", "task_id", "run_id", "try_number", "map_index"],
    plain_repr: false,
};

/// A datetime column: a plain `datetime` whose zone is pendulum's UTC.
pub(super) fn column(instant: Option<Instant>) -> Value {
    match instant {
        None => python::none(),
        Some(instant) => object(DateTime { tz: Some(TzInfo::Pendulum(Zone::UTC)), ..DateTime::utc_plain(instant) }),
    }
}

/// `str()` of such a datetime.
fn printed(instant: Option<Instant>) -> String {
    let Some(instant) = instant else { return "None".to_owned() };
    let micros = instant.timestamp_subsec_micros();
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{}{fraction}+00:00", instant.format("%Y-%m-%d %H:%M:%S"))
}

/// A function of no arguments that gives a value.
fn getter(name: &'static str, value: Value) -> Value {
    function(name, move |args, _it| {
        if args.is_empty() {
            return Ok(value.clone());
        }
        Err(PyErr::unsupported(format!("arguments of `{name}`")))
    })
}

/// `DagRun`. `consumed` are its events, where they are known.
pub(super) fn dag_run(run: &RunRow, consumed: Option<Value>) -> PyResult {
    let flag = if run.external_trigger { "True" } else { "False" };
    let print = format!(
        "<DagRun {} @ {}: {}, state:{}, queued_at: {}. externally triggered: {flag}>",
        run.dag_id,
        printed(Some(run.logical_date)),
        run.run_id,
        run.state,
        printed(run.queued_at),
    );
    let state = Value::from(run.state.as_str());
    let mut values = vec![
        ("dag_id", Value::from(run.dag_id.as_str())),
        ("run_id", Value::from(run.run_id.as_str())),
        ("run_type", Value::from(run.run_type.as_str())),
        ("state", state.clone()),
        ("get_state", getter("get_state", state)),
        ("logical_date", column(Some(run.logical_date))),
        ("execution_date", column(Some(run.logical_date))),
        ("data_interval_start", column(run.data_interval.map(|interval| interval.0))),
        ("data_interval_end", column(run.data_interval.map(|interval| interval.1))),
        ("external_trigger", Value::from(run.external_trigger)),
        ("queued_at", column(run.queued_at)),
        ("start_date", column(run.start_date)),
        ("end_date", column(run.end_date)),
        ("conf", convert::dict(&run.conf)?),
        ("is_backfill", Value::from(run.run_type == "backfill")),
        ("creating_job_id", python::none()),
        ("note", python::none()),
        ("clear_number", Value::from(0)),
    ];
    if let Some(consumed) = consumed {
        values.push(("consumed_dataset_events", consumed));
    }
    values.retain(|(name, _)| !run.unknown.contains(name));
    let print = match run.unknown.iter().any(|name| matches!(*name, "state" | "queued_at")) {
        true => Print::Refused,
        false => Print::Text(print),
    };
    Ok(Record::build(&DAG_RUN, print, values))
}

/// `TaskInstance`. `own` are attributes that only the one being rendered has.
pub(super) fn task_instance(run: &RunRow, row: &TaskRow, pull: Pull, own: Vec<(&'static str, Value)>) -> Value {
    let state = row.state.as_deref();
    let mapped = if row.map_index == -1 { String::new() } else { format!("map_index={} ", row.map_index) };
    let print =
        format!("<TaskInstance: {}.{} {} {mapped}[{}]>", run.dag_id, row.task_id, run.run_id, state.unwrap_or("None"));
    let ids = [
        ("dag_id", Value::from(run.dag_id.as_str())),
        ("task_id", Value::from(row.task_id.as_str())),
        ("run_id", Value::from(run.run_id.as_str())),
        ("try_number", Value::from(row.try_number)),
        ("map_index", Value::from(row.map_index)),
    ];
    let key = named_tuple(KEY, ids.iter().map(|(_, value)| value.clone()).collect());
    let duration = match (row.start_date, row.end_date) {
        (Some(start), Some(end)) => {
            (end - start).num_microseconds().map_or_else(python::none, |micros| Value::from(micros as f64 / 1e6))
        }
        _ => python::none(),
    };
    let mut values = Vec::from(ids);
    values.extend([
        ("key", key),
        ("state", convert::opt_str(state)),
        ("execution_date", column(Some(run.logical_date))),
        ("start_date", column(row.start_date)),
        ("end_date", column(row.end_date)),
        ("duration", duration),
    ]);
    match pull {
        Pull::Unknown => {}
        Pull::Empty => values.push(("xcom_pull", function("xcom_pull", |args, _it| xcom_pull(None, args)))),
        Pull::Given(world) => {
            values.push(("xcom_pull", function("xcom_pull", move |args, _it| xcom_pull(Some(&world), args))));
        }
    }
    values.extend(own);
    Record::build(&TASK_INSTANCE, Print::Text(print), values)
}

/// What a task instance's `xcom_pull` asks.
pub(super) enum Pull {
    /// There are no XComs.
    Empty,
    /// Those that are given for the run.
    Given(Arc<World>),
    /// Nobody said: it is refused.
    Unknown,
}

impl Pull {
    /// That of the task instance being rendered.
    pub(super) fn own(world: &Arc<World>) -> Self {
        if matches!(world.xcom, XComs::Given(_)) { Pull::Given(world.clone()) } else { Pull::Empty }
    }

    /// That of the task instances of other runs.
    fn other(world: &World) -> Self {
        if matches!(world.xcom, XComs::Given(_)) { Pull::Unknown } else { Pull::Empty }
    }
}

/// `ti.xcom_pull(task_ids=None, dag_id=None, key="return_value", include_prior_dates=False, ...)`. Without a world there are
/// no XComs.
fn xcom_pull(world: Option<&World>, args: &python::Args<'_>) -> PyResult {
    let names = ["task_ids", "dag_id", "key", "include_prior_dates"];
    let signature = python::Sig::new("TaskInstance.xcom_pull", &names).required(0).method();
    let bound = signature.keyword_only(&["session", "map_indexes", "default"]).bind(args)?;
    let given = |at: usize| bound.get(at).copied().flatten();
    let one_task = given(0).is_none_or(|tasks| tasks.is_none() || text(tasks).is_some());
    let other_dag = given(1).is_some_and(|dag| match world {
        Some(world) => !dag.is_none() && text(dag) != Some(world.dag_id.as_str()),
        None => true,
    });
    if !one_task || other_dag || given(3).is_some() || given(4).is_some() || given(5).is_some() {
        return Err(PyErr::unsupported("`xcom_pull` of several tasks, of another Dag, or of map indexes"));
    }
    let default = || given(6).cloned().unwrap_or_else(python::none);
    let Some(World { xcom: XComs::Given(xcom), .. }) = world else { return Ok(default()) };
    let Some(task) = given(0).and_then(text) else {
        return Err(PyErr::unsupported("`xcom_pull` without `task_ids`"));
    };
    let key = match given(2) {
        None => "return_value",
        Some(key) => text(key).ok_or_else(|| PyErr::unsupported("`xcom_pull` with a `key` that is no text"))?,
    };
    match xcom.get(task).and_then(|values| values.get(key)) {
        Some(Json::Object(map))
            if ["__mapped__", "__classname__", "__type", "__var"].iter().any(|key| map.contains_key(*key)) =>
        {
            Err(PyErr::unsupported(format!("an XCom of task `{task}` that is mapped or a serialized object")))
        }
        Some(value) => convert::json(value),
        None => Err(PyErr::unsupported(format!("no XCom `{key}` of task `{task}` is given"))
            .with_hint(format!("say what the task returned: `xcom: {{{task}: {{{key}: ...}}}}` in the scenario"))),
    }
}

/// A `DatasetEvent` of the table.
pub(super) fn event(world: &World, row: &EventRow) -> PyResult {
    let aliases = row
        .aliases
        .iter()
        .map(|name| Record::build(&ALIAS_ROW, Print::Fields(&["name"]), vec![("name", Value::from(name.as_str()))]))
        .collect();
    let dataset = if row.missing {
        python::none()
    } else {
        let id = world.dataset_id(&row.uri);
        let extra = id.and_then(|id| world.datasets.get(id - 1)).map(|(_, extra)| extra.clone()).unwrap_or_default();
        let mut values = vec![("uri", Value::from(row.uri.as_str())), ("extra", convert::dict(&extra)?)];
        if let Some(id) = id.filter(|_| world.complete) {
            values.push(("id", Value::from(id)));
        }
        Record::build(&DATASET_ROW, Print::Fields(&["uri", "extra"]), values)
    };
    let [dag_id, task_id, run_id] = &row.source;
    let source =
        world.other_runs.iter().chain([&world.run]).find(|run| {
            dag_id.as_deref() == Some(run.dag_id.as_str()) && run_id.as_deref() == Some(run.run_id.as_str())
        });
    let instance = source.and_then(|run| {
        let found = run
            .task_instances
            .iter()
            .find(|ti| task_id.as_deref() == Some(ti.task_id.as_str()) && ti.map_index == row.map_index);
        Some(task_instance(run, found?, Pull::other(world), Vec::new()))
    });
    // A run that nobody gave is not the same as one that does not exist.
    let unknown = source.is_none() && !world.complete && run_id.is_some();
    let sparse = source.is_some_and(|run| run.unknown.contains(&"state"));
    let mut values = vec![
        ("extra", convert::dict(&row.extra)?),
        ("source_task_id", convert::opt_str(task_id.as_deref())),
        ("source_dag_id", convert::opt_str(dag_id.as_deref())),
        ("source_run_id", convert::opt_str(run_id.as_deref())),
        ("source_map_index", Value::from(row.map_index)),
        ("source_aliases", python::list(aliases)),
        ("timestamp", column(Some(row.timestamp))),
        ("dataset", dataset),
    ];
    if !unknown {
        values.push(("source_dag_run", source.map_or_else(|| Ok(python::none()), |run| dag_run(run, None))?));
        if !sparse {
            values.push(("source_task_instance", instance.unwrap_or_else(python::none)));
        }
    }
    if !row.missing {
        values.push(("uri", Value::from(row.uri.as_str())));
    }
    // Row ids are known where the whole table is.
    if world.complete {
        values.push(("id", Value::from(row.id)));
        if let Some(id) = world.dataset_id(&row.uri) {
            values.push(("dataset_id", Value::from(id)));
        }
    }
    let print = Print::Fields(&[
        "id",
        "dataset_id",
        "extra",
        "source_task_id",
        "source_dag_id",
        "source_run_id",
        "source_map_index",
        "source_aliases",
    ]);
    Ok(Record::build(&EVENT, print, values))
}

/// An inlet or outlet as the task's argument.
pub(super) fn item(item: &Item) -> PyResult {
    Ok(match item {
        Item::Dataset { uri, extra } => Record::build(
            &DATASET,
            Print::Fields(&["uri", "extra"]),
            vec![
                ("uri", Value::from(uri.as_str())),
                ("extra", extra.as_ref().map_or_else(|| Ok(python::none()), convert::dict)?),
            ],
        ),
        Item::Alias(name) => {
            Record::build(&ALIAS, Print::Fields(&["name"]), vec![("name", Value::from(name.as_str()))])
        }
        Item::Object(value) => convert::json(value)?,
    })
}
