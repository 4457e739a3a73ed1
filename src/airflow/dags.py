"""Reads a Dag folder in the Airflow that this interpreter has, and prints its Dags as Airflow serializes them.

One JSON object a line on the original standard output: {"airflow": version}, {"error": {"file", "text"}}, {"data": ..., "extra": ...},
and at the end {"end": number of Dags}. Whatever Dag files print goes to standard error.
"""

import json
import os
import sys
import tempfile

out = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
folder, seconds = sys.argv[1], sys.argv[2]

# Fields are wanted whole, examples are not, and no home is made where there is none.
os.environ["AIRFLOW__CORE__MAX_TEMPLATED_FIELD_LENGTH"] = str(1 << 30)
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ.setdefault("AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT", seconds)
os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "ERROR")
home = None
if "AIRFLOW_HOME" not in os.environ and not os.path.isdir(os.path.expanduser("~/airflow")):
    home = tempfile.TemporaryDirectory(prefix="partita-airflow-")
    os.environ["AIRFLOW_HOME"] = home.name


def say(value):
    out.write(json.dumps(value) + "\n")
    out.flush()


def plain(value):
    """The value if JSON has a form for it, else nothing."""
    try:
        return value if json.loads(json.dumps(value)) == value else None
    except (TypeError, ValueError):
        return None


def named(values):
    """Names with the values that are plain data; null stands for what is not."""
    return {str(name): {"value": plain(value), "plain": plain(value) is not None} for name, value in (values or {}).items()}


import airflow  # noqa: E402

say({"airflow": airflow.__version__})
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:
    from airflow.models.dagbag import DagBag
try:
    from airflow.serialization.serialized_objects import DagSerialization as Serialized
except ImportError:
    from airflow.serialization.serialized_objects import SerializedDAG as Serialized

sys.path.insert(0, folder)
try:
    import pathlib

    bag = DagBag(dag_folder=folder, bundle_path=pathlib.Path(folder))
except TypeError:
    bag = DagBag(dag_folder=folder, include_examples=False)
for name, text in sorted(bag.import_errors.items()):
    say({"error": {"file": str(name), "text": str(text)}})
count = 0
for _, dag in sorted(bag.dags.items()):
    try:
        data = Serialized.to_dict(dag)
        path = dag.template_searchpath or []
        undefined = dag.template_undefined
        extra = {
            "folder": os.path.dirname(os.path.abspath(dag.fileloc)),
            "template_searchpath": [path] if isinstance(path, str) else [str(one) for one in path],
            "template_undefined": undefined.__name__ if undefined.__module__.startswith("jinja2") else str(undefined),
            "user_defined_macros": named(dag.user_defined_macros),
            "user_defined_filters": named(dag.user_defined_filters),
            "jinja_environment_kwargs": named(dag.jinja_environment_kwargs),
        }
        say({"data": data, "extra": extra})
        count += 1
    except Exception as error:  # a Dag that cannot be serialized is an error of its own
        say({"error": {"file": str(dag.fileloc), "text": f"{dag.dag_id}: {type(error).__name__}: {error}"}})
say({"end": count})
if home is not None:
    home.cleanup()
