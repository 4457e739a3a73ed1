"""Makes the second database with the Airflow that is configured, running its own tasks: variables and connections under
Fernet, masked and cut values, a compressed serialized Dag, mapped tasks, a run with conf, manual runs with a key and a
logical date, and with a key alone."""

from datetime import datetime, timezone

from airflow.dag_processing.dagbag import DagBag
from airflow.models import Connection, Variable, dagrun
from airflow.settings import Session
from airflow.utils.db import initdb
from airflow.utils.types import DagRunType


def variables():
    session = Session()
    Variable.set("bucket", "lake-prod", session=session)
    Variable.set("settings", '{"retries": 3,  "zones": ["a", "b"]}', session=session)
    Variable.set("api_token", "t0ken-of-the-api", session=session)
    session.add(
        Connection(
            conn_id="warehouse",
            conn_type="postgres",
            host="db.example",
            port=5433,
            login="loader",
            password="p@ss-w0rd",
            extra='{"region": "eu-west", "token": "extra-t0ken"}',
        )
    )
    session.commit()


def run(dag_id, logical_date=None, key=None, conf=None):
    """`dag test`, for a run that also has a partition key."""
    # A fresh one: a run with conf leaves its params in the Dag, which in a worker nobody sees.
    bag = DagBag()
    assert not bag.import_errors, bag.import_errors
    made = dagrun.get_or_create_dagrun

    def create(*, dag, **arguments):
        if key is None:
            return made(dag=dag, **arguments)
        found = dag.timetable.resolve_partition_date(key)
        return dag.create_dagrun(
            run_type=DagRunType.MANUAL, state="running", partition_key=key, partition_date=found, **arguments
        )

    dagrun.get_or_create_dagrun = create
    try:
        bag.dags[dag_id].test(logical_date=logical_date, run_conf=conf)
    finally:
        dagrun.get_or_create_dagrun = made


def main():
    initdb()
    variables()
    day = datetime(2026, 3, 10, 9, 30, tzinfo=timezone.utc)
    run("secrets", day)
    run("secrets", day.replace(day=11), conf={"mode": "full", "limit": 99})
    run("mapped", day.replace(hour=0, minute=0))
    run("mapped", day.replace(day=11, hour=0, minute=0))
    run("by_day", None, key="2026-03-10")
    run("by_day", day, key="2026-03-11", conf={"reason": "again"})
    # `dag test` clears what has no logical date: one such run for a Dag.
    run("secrets", None)


main()
