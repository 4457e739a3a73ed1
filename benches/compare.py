#!/usr/bin/env python3
"""partita against Airflow's own rendering: interleaved pairs of both benchmarks, their medians and ratios.

    AIRFLOW_PYTHON=... PARTITA_ORACLE=... python3 benches/compare.py [PAIRS]

AIRFLOW_PYTHON is a python with Airflow 3.3.2, PARTITA_ORACLE the folder of `render.py`. Exit status 1 when a text differs
or a target is missed.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHARED = "precompiled, shared context"
BUILT = "precompiled, context built each time"
ALL = "compile, build, render each time"
# what is compared: partita's time, Airflow's time, the ratio wanted. partita keeps compiled templates, Airflow compiles
# each time: that is the third row. The last one is a template partita has never seen, which has no target.
ROWS = {
    "shared context": (SHARED, SHARED, 4),
    "context built each time": (BUILT, BUILT, 25),
    "as a task renders": (BUILT, ALL, 150),
    "nothing kept": (ALL, ALL, None),
}


def run(*command):
    return subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout


def times(output):
    return {m[1].strip(): float(m[2]) for m in re.finditer(r"^(.+?)\s+([\d.]+) us$", output, re.M)}


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    airflow = os.environ["AIRFLOW_PYTHON"]
    theirs_script = str(HERE / "jinja2_bench.py")
    expected = run(airflow, theirs_script, "--text")
    if expected != (HERE / "daily_load.sql").read_text():
        sys.exit("daily_load.sql is not what Airflow renders: record it again with jinja2_bench.py --text")
    ours, theirs = [], []
    for _ in range(pairs):
        # the benchmark itself fails unless it renders daily_load.sql byte for byte
        ours.append(times(run("cargo", "bench", "--quiet", "--bench", "daily_load")))
        theirs.append(times(run(airflow, theirs_script)))
    missed = False
    print(f"{'':40}{'partita':>12}{'Airflow':>14}{'ratio':>10}{'target':>8}")
    for name, (ours_of, theirs_of, target) in ROWS.items():
        our = statistics.median(t[ours_of] for t in ours)
        their = statistics.median(t[theirs_of] for t in theirs)
        missed |= target is not None and their / our < target
        print(f"{name:40}{our:9.1f} us{their:11.1f} us{their / our:10.1f}{target or '':>8}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
