"""Copies every row of an Airflow metadata database in SQLite into the empty PostgreSQL database that Airflow is
configured for: load_postgres.py FILE. The tables are made by Airflow itself; rows keep the order they are stored in."""

import sys

import sqlalchemy as sa
from airflow import settings
from airflow.models import import_all_models
from airflow.models.base import Base
from airflow.utils.db import initdb


def main(path):
    initdb()
    import_all_models()
    source = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    target = settings.engine
    there = set(sa.inspect(source).get_table_names())
    count = 0
    with source.connect() as read, target.begin() as write:
        # Rows come table by table: references are checked by the database they come from.
        write.execute(sa.text("SET session_replication_role = replica"))
        for table in Base.metadata.sorted_tables:
            if table.name not in there:
                continue
            write.execute(table.delete())
            rows = [dict(row) for row in read.execute(sa.select(table).order_by(sa.text("rowid"))).mappings()]
            if rows:
                write.execute(table.insert(), rows)
            count += len(rows)
    print(f"{count} rows of {len(there)} tables")


main(sys.argv[1])
