"""Asks Apache Airflow 3.3.2 what operators render to, and writes the answers into cases.json.

Run with the Python of an environment that has apache-airflow 3.3.2 and the providers standard, common.sql and smtp:

    python tests/operators/regenerate.py

Each case is an operator, its arguments and files. The Dag is treated as a worker treats it: files named by top-level fields
are read with the Dag file, the context comes from a TIRunContext, RuntimeTaskInstance.render_templates renders, and the
fields are stored as Airflow stores them.
"""

import copy
import datetime as dt
import importlib
import json
import logging
import os
import pathlib
import shutil
import tempfile

HOME = tempfile.mkdtemp(prefix="partita-airflow-")
os.environ.update(AIRFLOW_HOME=HOME, AIRFLOW__CORE__LOAD_EXAMPLES="False", AIRFLOW__LOGGING__LOGGING_LEVEL="CRITICAL", TZ="UTC")
logging.disable(logging.CRITICAL)

from airflow.sdk import DAG  # noqa: E402
from airflow.sdk.api.datamodels._generated import TaskInstance, TIRunContext  # noqa: E402
from airflow.sdk.execution_time import task_runner  # noqa: E402

CASES = pathlib.Path(__file__).with_name("cases.json")

OPERATORS = {
    "BashOperator": "airflow.providers.standard.operators.bash",
    "PythonOperator": "airflow.providers.standard.operators.python",
    "SQLExecuteQueryOperator": "airflow.providers.common.sql.operators.sql",
    "SQLCheckOperator": "airflow.providers.common.sql.operators.sql",
    "SQLValueCheckOperator": "airflow.providers.common.sql.operators.sql",
    "BranchSQLOperator": "airflow.providers.common.sql.operators.sql",
    "SQLInsertRowsOperator": "airflow.providers.common.sql.operators.sql",
    "SqlSensor": "airflow.providers.common.sql.sensors.sql",
    "EmailOperator": "airflow.providers.smtp.operators.smtp",
    "TriggerDagRunOperator": "airflow.providers.standard.operators.trigger_dagrun",
    "FileSensor": "airflow.providers.standard.sensors.filesystem",
    "BashSensor": "airflow.providers.standard.sensors.bash",
}


def context_payload(run):
    return TIRunContext.model_validate_json(json.dumps({"dag_run": run, "max_tries": 0, "task_reschedule_count": 0}))


def render(case, run):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="partita-dags-"))
    try:
        for name, text in case.get("files", {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        settings = copy.deepcopy(case.get("dag", {}))
        search = [str(folder / name) for name in settings.pop("template_searchpath", [])]
        dag = DAG(
            dag_id=run["dag_id"],
            schedule=None,
            start_date=dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
            template_searchpath=search or None,
            **settings,
        )
        dag.fileloc = str(folder / "dag.py")
        operator = getattr(importlib.import_module(OPERATORS[case["operator"]]), case["operator"])
        arguments = copy.deepcopy(case["arguments"])
        if case["operator"] == "PythonOperator":
            arguments["python_callable"] = print
        if "expand" in case:
            task = operator.partial(task_id="t", dag=dag, **arguments).expand(**copy.deepcopy(case["expand"]))
        else:
            task = operator(task_id="t", dag=dag, **arguments)
        dag.resolve_template_files()
        server = context_payload(run)
        ti = TaskInstance(
            id="018f3c1e-0000-7000-8000-000000000001",
            task_id="t",
            dag_id=run["dag_id"],
            run_id=run["run_id"],
            try_number=1,
            dag_version_id="018f3c1e-0000-7000-8000-000000000002",
            map_index=case.get("map_index", -1),
        )
        runtime = task_runner.RuntimeTaskInstance.model_construct(
            **ti.model_dump(exclude_unset=True),
            task=task,
            bundle_instance=None,
            _ti_context_from_server=server,
            max_tries=0,
            start_date=dt.datetime(2026, 3, 10, 12, tzinfo=dt.timezone.utc),
            state=task_runner.TaskInstanceState.RUNNING,
            sentry_integration="",
        )
        try:
            runtime.render_templates(context=runtime.get_template_context(), jinja_env=dag.get_template_env())
        except Exception as error:  # noqa: BLE001
            message = str(error).replace(str(folder), "<folder>")
            return {"error": type(error).__name__, "message": message}
        fields = runtime.task.template_fields
        return {"fields": {name: task_runner._serialize_template_field(getattr(runtime.task, name), name) for name in fields}}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    document = json.loads(CASES.read_text(encoding="utf-8"))
    for case in document["cases"]:
        case["expect"] = render(case, document["run"])
    CASES.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.rmtree(HOME, ignore_errors=True)


if __name__ == "__main__":
    main()
