#!/usr/bin/env python3
"""Writes 50 run files of 500 benchmarks with planted changes, as a project with a nightly job would have them.

    python3 plant.py FOLDER            # runs/*.json and planted.json
    dlroof history add --db perf.sqlite FOLDER/runs/*.json
    dlroof dashboard --db perf.sqlite -o site

The law: log-normal noise of 1 % within a run and 0.5 to 2.5 % between runs (each benchmark its own), a drift of each whole run of
up to 1 %, one time in a hundred 20 % too slow. Planted: see PLANTED. Nothing here uses dlroof.
"""
import hashlib
import json
import random
import sys
from pathlib import Path

RUNS, REPETITIONS = 50, 9
OPERATORS = ["conv", "gemm", "softmax", "layernorm", "gelu", "attention", "sort", "parse", "hash", "copy"]
SIZES = [1 << k for k in range(6, 16)]
TYPES = ["f32", "bf16", "f16", "s8", "u8"]
# (run from which on, factor, which benchmarks): two old changes, one that was repaired, one fresh regression of a family, one
# fresh single regression, one small one, one improvement.
PLANTED = [
    (12, 1.20, lambda op, type_, size: op == "parse" and type_ == "f32"),
    (20, 1 / 1.20, lambda op, type_, size: op == "parse" and type_ == "f32"),
    (17, 0.80, lambda op, type_, size: op == "gemm" and type_ in ("s8", "u8")),
    (28, 1.06, lambda op, type_, size: op == "hash" and size >= 4096),
    (37, 1.35, lambda op, type_, size: op == "attention" and type_ in ("bf16", "f16")),
    (41, 1.12, lambda op, type_, size: (op, type_, size) == ("softmax", "f32", 8192)),
    (43, 0.90, lambda op, type_, size: op == "sort"),
]


def commit(run):
    return hashlib.sha1(f"commit {run}".encode()).hexdigest()


def main(folder):
    rng = random.Random(41)
    names = [(op, type_, size) for op in OPERATORS for type_ in TYPES for size in SIZES]
    base = {name: 1e-6 * (1 + rng.random()) * name[2] ** 0.9 for name in names}
    noise = {name: rng.uniform(0.005, 0.025) for name in names}
    runs = Path(folder) / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for run in range(RUNS):
        drift = rng.uniform(-0.01, 0.01)
        entries = []
        for index, name in enumerate(names):
            factor = 1
            for since, change, chosen in PLANTED:
                factor *= change if run >= since and chosen(*name) else 1
            seconds = base[name] * factor * rng.lognormvariate(drift, noise[name]) * (1.2 if rng.random() < 0.01 else 1)
            text = "/".join(map(str, name))
            for repetition in range(REPETITIONS):
                time = seconds * rng.lognormvariate(0, 0.01) * 1e9
                entries.append(
                    {
                        "name": text,
                        "run_name": text,
                        "run_type": "iteration",
                        "family_index": index,
                        "repetitions": REPETITIONS,
                        "repetition_index": repetition,
                        "iterations": 100,
                        "real_time": time,
                        "cpu_time": time,
                        "time_unit": "ns",
                    }
                )
        day = 1 + run % 28
        context = {
            "date": f"2026-{5 + run // 28:02}-{day:02}T03:00:00+00:00",
            "host_name": "perf-1",
            "num_cpus": 16,
            "caches": [],
            "commit": commit(run),
            "branch": "main",
        }
        (runs / f"{run:02}.json").write_text(json.dumps({"context": context, "benchmarks": entries}))
    planted = [
        {"run": since, "ratio": change, "commit": commit(since), "benchmarks": ["/".join(map(str, n)) for n in names if chosen(*n)]}
        for since, change, chosen in PLANTED
    ]
    (Path(folder) / "planted.json").write_text(json.dumps(planted, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
