#!/usr/bin/env python3
"""How much of the time above the roofs does the time breakdown explain, and does it find planted causes?

    for suite in paper resnet50; do
      build/dlroof_bench --dlroof_suite=$suite --dlroof_types=f32 --dlroof_explain --benchmark_out=$suite.json; done
    breakdown_study.py tables STORED.json --runs paper.json resnet50.json
    breakdown_study.py planted STORED.json --program build/dlroof_planted_causes    # each five times

Both store what they found in STORED.json and print its tables; without --runs and --program they print those of a stored file.
"""
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

GROUPS = [("LSTM", direction) for direction in ("fwd_inference", "fwd_training", "bwd")]
GROUPS += [("Conv2D", direction) for direction in ("fwd", "bwd_data", "bwd_weights")]
BARELY, NAMED = 0.2, 0.4


def rows(path):
    """Yields each record with a time breakdown: name, algorithm, time, seconds by component."""
    for record in lib.measured(lib.read(path)).values():
        time_of = record.get("time", {})
        if "parts" in time_of:
            parts = {part["part"]: part["seconds"] for part in time_of["parts"]}
            disturbed = record["seconds"].get("disturbed", False)
            yield {"name": record["name"], "algorithm": record["algorithm"], "seconds": time_of["seconds"], "disturbed": disturbed, "parts": parts}


def unexplained(row):
    """Returns the unexplained share of the time above the roof."""
    above = row["seconds"] - row["parts"].get("roof", 0)
    return row["parts"].get("unexplained", 0) / above if above > 0 else 0


def few(chosen):
    return f"{sum(unexplained(row) <= BARELY for row in chosen)} of {len(chosen)}"


def tables(arguments):
    if arguments.runs:
        lib.write(arguments.stored, {"rows": [row for path in arguments.runs for row in rows(path)]}, 0)
    everything = lib.read(arguments.stored)["rows"]
    parts = list(dict.fromkeys(part for row in everything for part in row["parts"]))
    cells = []
    for op, direction in GROUPS:
        chosen = [row for row in everything if row["name"].startswith(f"{op}/cpu/onednn/{direction}/")]
        if chosen:
            shares = [100 * statistics.mean(row["parts"].get(part, 0) / row["seconds"] for row in chosen) for part in parts]
            cells.append([f"{op} {direction}", *(f"{share:.1f}" if share >= 0.05 else "" for share in shares), few(chosen)])
    print(lib.table(["mean share of the time [%]", *(part.replace("_", " ") for part in parts), "within 20 %"], cells))
    print(f"{few(everything)} records have at most 20 % of the time above the roof unexplained.\n")
    named = [row for row in sorted(everything, key=unexplained, reverse=True) if unexplained(row) > NAMED]
    shares = [(lib.percent(unexplained(row), digits=0), lib.percent(row["parts"]["unexplained"], row["seconds"], 0)) for row in named]
    cells = [[f"`{row['name']}`", row["algorithm"], *share] for row, share in zip(named, shares)]
    print(lib.table(("above 40 %", "algorithm", "of the time above the roof", "of the time"), cells), end="")


@contextlib.contextmanager
def busy_loops():
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    time.sleep(1)
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def planted(arguments):
    """Runs the program quietly and beside two busy loops."""

    def runs():
        return [json.loads(lib.run(arguments.program).stdout) for _ in range(5)]

    if arguments.program:
        study = {"quiet": runs()}
        with busy_loops():
            study["beside two busy loops"] = runs()
        lib.write(arguments.stored, study)
    study = lib.read(arguments.stored)
    causes = [cause["cause"] for cause in next(iter(study.values()))[0]["causes"]]
    cells = [[name, *(lib.middle(ratios, ".2f") for ratios in zip(*([cause["ratio"] for cause in run["causes"]] for run in of)))] for name, of in study.items()]
    print(lib.table(["found over planted", *causes], cells), end="")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("what", choices=("tables", "planted"))
    parser.add_argument("stored")
    parser.add_argument("--runs", nargs="*")
    parser.add_argument("--program", type=os.path.abspath)
    arguments = parser.parse_args()
    {"tables": tables, "planted": planted}[arguments.what](arguments)


if __name__ == "__main__":
    main()
