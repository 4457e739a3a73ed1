#!/usr/bin/env python3
"""The other side of the benchmark: `daily_load.sql.j2` and its run through Airflow 3.3.2's own path.

    AIRFLOW_PYTHON benches/jinja2_bench.py [--n N] [--text]

PARTITA_ORACLE names the folder of `render.py`, which builds a template context from a run with Airflow's own code.
Prints microseconds a render; --text prints the rendered text instead.
"""

import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, os.environ["PARTITA_ORACLE"])
sys.dont_write_bytecode = True

import render as oracle  # noqa: E402  (starts this script again in a clean environment)


def main():
    n = int(sys.argv[sys.argv.index("--n") + 1]) if "--n" in sys.argv else 2000
    source = (HERE / "daily_load.sql.j2").read_text()
    run = json.loads((HERE / "daily_load.run.json").read_text())
    env = oracle.create_template_env()
    template = env.from_string(source)
    context = oracle.build_context(run)

    if "--text" in sys.argv:
        sys.stdout.write(oracle.render_template_to_string(template, context))
        return

    def timed(name, times, job):
        for _ in range(max(times // 10, 1)):
            job()
        start = time.perf_counter()
        for _ in range(times):
            job()
        print(f"{name:48}{(time.perf_counter() - start) / times * 1e6:12.1f} us", flush=True)

    timed("precompiled, shared context", n, lambda: oracle.render_template_to_string(template, context))
    timed(
        "precompiled, context built each time",
        n // 3,
        lambda: oracle.render_template_to_string(template, oracle.build_context(run)),
    )
    timed(
        "compile, build, render each time",
        max(n // 20, 5),
        lambda: oracle.render_template_to_string(env.from_string(source), oracle.build_context(run)),
    )


if __name__ == "__main__":
    main()
