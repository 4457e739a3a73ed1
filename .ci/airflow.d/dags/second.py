"""Dags with what the sample database lacks: secrets, long values, mapped tasks, conf, previous runs, XComs."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, PartitionedAssetTimetable, StartOfDayMapper, task

start = datetime(2026, 1, 1, tzinfo=timezone.utc)

with DAG("secrets", schedule=None, start_date=start, params={"limit": 10, "api_key": "param-s3cret"}):
    BashOperator(
        task_id="variables",
        bash_command="echo {{ var.value.bucket }} {{ var.json.settings.retries }} {{ var.value.get('absent', 'none') }}",
        env={"LIMIT": "{{ params.limit }}", "CONF": "{{ dag_run.conf.get('mode', 'plain') }}"},
    )
    BashOperator(
        task_id="connection",
        bash_command="echo {{ conn.warehouse.host }}:{{ conn.warehouse.port }}/{{ conn.warehouse.extra_dejson.region }}",
    )
    BashOperator(
        task_id="masked",
        bash_command="echo {{ conn.warehouse.login }}:{{ conn.warehouse.password }} {{ var.value.api_token }}",
        env={"PASSWORD": "{{ conn.warehouse.password }}", "REGION": "eu"},
    )
    BashOperator(task_id="long", bash_command="true {{ 'words ' * 1200 }}", env={"KEYS": "{{ 'k' * 5000 }}"})

with DAG("mapped", schedule="@daily", start_date=start, catchup=False, render_template_as_native_obj=True):
    BashOperator.partial(task_id="unload", append_env=True).expand(
        bash_command=["echo {{ ds }} eu {{ ti.map_index }}", "echo {{ ds }} us {{ prev_data_interval_start_success }}"]
    )

    @task
    def count(day, runs):
        return {"day": day, "rows": [1, 2.5, None]}

    counted = count("{{ ds_nodash }}", "{{ params | length }}")
    BashOperator(
        task_id="report",
        bash_command="echo {{ ti.xcom_pull('count')['rows'] }} {{ ti.xcom_pull(task_ids='count', key='absent') }}",
        env={"ROWS": "n={{ ti.xcom_pull('count')['rows'] | length }}"},
    ) << counted

orders = Asset("orders", uri="s3://lake/orders", extra={"owner": "data"})
with DAG(
    "by_day",
    schedule=PartitionedAssetTimetable(assets=orders, default_partition_mapper=StartOfDayMapper()),
    start_date=start,
):
    BashOperator(
        task_id="load",
        bash_command="echo {{ partition_key }} {{ partition_date | ds }} {{ dag_run.run_type }} {{ dag_run.conf }}",
        env={"TRY": "{{ ti.try_number }}/{{ ti.max_tries }}", "EVENTS": "{{ triggering_asset_events | length }}"},
        retries=2,
    )
    BashOperator(task_id="dated", bash_command="echo {{ ds }} {{ data_interval_end | ts_nodash }}", trigger_rule="all_done")
