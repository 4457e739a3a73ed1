//! Renderings of a pipeline's tasks as requests: the `render --jsonl --pipeline` contract, from a request to its answer.

use serde_json::{Map, Value as Json};

use super::assumed::given_run;
use super::instance::Renderer;
use super::model::Pipeline;
use super::source::suggestion;
use crate::jinja::Engine;
use crate::python::{PyErr, PyResult};
use crate::render::{repr, request::error_json, to_json};

/// Fields of a request.
const KNOWN: [&str; 5] = ["id", "dag_id", "task_id", "run", "events"];

/// The fields of an answer beside its `id`: `fields` by name, and `errors` by name where some could not be rendered; `error`
/// when nothing could. A value without a JSON form is `{"repr": ..., "type": ...}`.
///
/// A request names `dag_id` and `task_id`, and holds a `run`: a run document, a `TIRunContext`, or a REST dagRun with
/// `events`, its upstreamAssetEvents. `ti.map_index` of the run picks an instance of a mapped task.
///
/// # Errors
/// What is wrong with the request or its run.
pub fn answer(engine: &Engine, pipeline: &Pipeline, request: &Json) -> PyResult<Map<String, Json>> {
    let fields = request.as_object().ok_or_else(|| PyErr::unsupported("a request is an object"))?;
    if let Some(name) = fields.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(PyErr::unsupported(format!("a request for a pipeline has no field `{name}`")));
    }
    let name = |field: &str| {
        let text = fields.get(field).and_then(Json::as_str);
        text.ok_or_else(|| PyErr::unsupported(format!("a request for a pipeline names `{field}`")))
    };
    let unknown = |what: &str, name: &str, known: Vec<&str>| {
        let error = PyErr::unsupported(format!("there is no {what} `{name}` in the pipeline"));
        match suggestion(name, known) {
            Some(help) => error.with_hint(help),
            None => error,
        }
    };
    let dag_id = name("dag_id")?;
    let dag = pipeline
        .dag(dag_id)
        .ok_or_else(|| unknown("Dag", dag_id, pipeline.dags.iter().map(|dag| dag.dag_id.as_str()).collect()))?;
    let task_id = name("task_id")?;
    let task = dag
        .tasks
        .iter()
        .find(|task| task.task_id == task_id)
        .ok_or_else(|| unknown("task", task_id, dag.tasks.iter().map(|task| task.task_id.as_str()).collect()))?;
    let run = fields.get("run").ok_or_else(|| PyErr::unsupported("a request without `run`"))?;
    let given = given_run(pipeline, run, fields.get("events"))?;
    if given.run.run.dag_id != dag_id {
        return Err(PyErr::unsupported(format!("a run of {} for the Dag {dag_id}", given.run.run.dag_id)));
    }
    if let Some(other) = given.task_id.filter(|other| other != task_id) {
        return Err(PyErr::unsupported(format!("a run of task {other} for the task {task_id}")));
    }
    let mut renderer = Renderer::new(engine, pipeline, &given.scenario, given.scenario.clock());
    if task.mapped {
        let index = given.scenario.ti.get("map_index").and_then(Json::as_u64);
        let index = index.ok_or_else(|| PyErr::unsupported("a mapped task without `ti.map_index`"))?;
        renderer.map_index = usize::try_from(index).ok();
    }
    let Some(result) = renderer.task(dag, task, &given.run).into_iter().next() else {
        return match task.mapped {
            true => Err(PyErr::unsupported(format!("map index out of range in {task_id}"))),
            false => Ok(Map::from_iter([("fields".to_owned(), Json::Object(Map::new()))])),
        };
    };
    let (mut values, mut errors) = (Map::new(), Map::new());
    for field in &result.fields {
        match &field.value {
            Ok(value) => {
                let json = to_json(value).unwrap_or_else(|| {
                    let parts = [
                        ("repr".to_owned(), repr(value).into()),
                        ("type".to_owned(), crate::python::type_name(value).into()),
                    ];
                    Json::Object(Map::from_iter(parts))
                });
                values.insert(field.name.clone(), json);
            }
            Err(error) => {
                errors.insert(field.name.clone(), error_json(&error.error));
            }
        }
    }
    let mut answer = Map::from_iter([("fields".to_owned(), Json::Object(values))]);
    if !errors.is_empty() {
        answer.insert("errors".to_owned(), Json::Object(errors));
    }
    Ok(answer)
}
