#!/usr/bin/env python3
"""How much do two equal runs on a GPU differ, by kind of time, and what does `dlroof compare` say of them?

    baselines/studies/gpu-a-a/gpu_a_a.py --dlroof build/dlroof [--a A.json --again B.json [--planted C.json]] [-o FOLDER]

Writes table.csv (every benchmark and kind of time) and summary.txt. Without files: the runs of this folder. Without --planted it makes
that run: a copy of B in which one benchmark's calls, in turn each of them, take 5 % longer on the device. Where the times of a record
contain the launch, 5 % of its graph's time is added to them; device times are multiplied. A benchmark cannot be made slower by 5 % on a
GPU without being another benchmark, so this planted run is computed from a measured one, and its file says so.

Kinds of time, never mixed:
  device      one queued call, by the device's clock     (seconds of a record that was `timed` so)
  call        one call on an idle GPU, with its launch   (gpu.call_seconds, or seconds)
  throughput  calls back to back                         (gpu.throughput_seconds)
  graph       replayed as a CUDA graph                   (gpu.graph_seconds)
"""
import argparse
import copy
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("device", "call", "throughput", "graph")
PLANTED = 1.05


def seconds_by_kind(record):
    gpu = record.get("gpu", {})
    device = record.get("timed") == "device"
    times = {
        "device": record["seconds"]["median"] if device else None,
        "call": gpu.get("call_seconds") if device else record["seconds"]["median"],
        "throughput": gpu.get("throughput_seconds"),
        "graph": gpu.get("graph_seconds"),
    }
    return {kind: seconds for kind, seconds in times.items() if seconds is not None}


def records_of(run):
    return {record["name"]: record for record in run["records"] if record["status"] == "ok" and record["device"] == "gpu"}


def ratios(a, again):
    """Returns the rows of benchmarks and kinds that both runs have: the second run's time over the first one's."""
    first, second = records_of(a), records_of(again)
    rows = []
    for kind in KINDS:
        for name in first:
            pair = [seconds_by_kind(run[name]).get(kind) for run in (first, second) if name in run]
            if len(pair) == 2 and None not in pair:
                rows.append({"kind": kind, "name": name, "a_seconds": pair[0], "again_seconds": pair[1], "ratio": pair[1] / pair[0]})
    return rows


def slower(run, name):
    """Returns a copy of a run in which the device needs 5 % longer for the calls of a benchmark."""
    planted = copy.deepcopy(run)
    planted["context"]["dlroof"]["planted"] = f"computed: {name} made slower by {PLANTED - 1:.0%} on the device"
    record = records_of(planted)[name]
    device = record.get("timed") == "device"
    added = (PLANTED - 1) * (record["seconds"]["median"] if device else record["gpu"]["graph_seconds"])
    slowed = (lambda seconds: seconds * PLANTED) if device else (lambda seconds: seconds + added)
    record["seconds"].update(median=slowed(record["seconds"]["median"]))
    if "ci95" in record["seconds"]:
        record["seconds"]["ci95"] = [slowed(end) for end in record["seconds"]["ci95"]]
    for repetition in record["repetitions"]:
        repetition["seconds"] = slowed(repetition["seconds"])
    for times in (record["gpu"], *(repetition["gpu"] for repetition in record["repetitions"])):
        for key in {"throughput_seconds", "graph_seconds"} & times.keys():
            times[key] *= PLANTED
        if "call_seconds" in times:
            times["call_seconds"] += added
    return planted


def verdicts(dlroof, a, b):
    """Returns compare's exit code and its verdict of every benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.json", "b.json")]
        for path, run in zip(paths, (a, b)):
            path.write_text(json.dumps(run))
        done = subprocess.run([dlroof, "compare", "--format", "json", *map(str, paths)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"dlroof compare: exit {done.returncode}: {done.stderr.strip()}")
    return done.returncode, {row["name"]: row["verdict"] for row in json.loads(done.stdout)["benchmarks"]}


def told(counts):
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())


def summary(rows):
    yield "second run / first    n  median  median |log|  within 1 %  2 %  5 %  least   most"
    for kind in KINDS:
        values = [row["ratio"] for row in rows if row["kind"] == kind]
        if not values:
            continue
        logs = [abs(math.log(value)) for value in values]
        within = [sum(log <= math.log1p(share) for log in logs) for share in (0.01, 0.02, 0.05)]
        yield (
            f"{kind:18}  {len(values):3d}  {statistics.median(values):6.3f}  {statistics.median(logs):11.2%}  {within[0]:10d} {within[1]:4d} {within[2]:4d}"
            f"  {min(values):5.3f}  {max(values):5.3f}"
        )


def found(dlroof, a, again, names, planted_run):
    """Yields the lines that say what compare says."""
    code, said = verdicts(dlroof, a, again)
    yield f"dlroof compare, equal runs: exit {code}, {told(Counter(said.values()))}"
    if planted_run:
        code, said = verdicts(dlroof, a, planted_run)
        yield f"dlroof compare, planted run: exit {code}, {told(Counter(said.values()))}"
        return
    hits, accused, codes = Counter(), 0, Counter()
    for name in names:
        code, said = verdicts(dlroof, a, slower(again, name))
        codes[code] += 1
        hits[said.pop(name)] += 1
        accused += any(verdict in ("slower", "faster") for verdict in said.values())
    yield f"dlroof compare, one of {len(names)} slower by 5 % on the device, each in turn: it is called {told(hits)}"
    yield f"  exit codes {', '.join(f'{code} ({number} times)' for code, number in sorted(codes.items()))}; another one accused in {accused} of {len(names)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("--a")
    parser.add_argument("--again")
    parser.add_argument("--planted")
    parser.add_argument("-o", "--output", default=str(HERE), help="folder (this one)")
    arguments = parser.parse_args()
    if bool(arguments.a) != bool(arguments.again):
        parser.error("--a and --again come together")
    paths = [arguments.a, arguments.again] if arguments.a else sorted(HERE.glob("*-h200-a*.json"))
    a, again = (json.loads(Path(path).read_text()) for path in paths)
    planted = json.loads(Path(arguments.planted).read_text()) if arguments.planted else None
    rows = ratios(a, again)
    if not rows:
        sys.exit("gpu_a_a.py: no benchmark of a GPU is in both runs")
    output = Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    with (output / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **{key: f"{row[key]:.6g}" for key in ("a_seconds", "again_seconds", "ratio")}} for row in rows)
    names = list(dict.fromkeys(row["name"] for row in rows if row["kind"] in ("device", "graph")))
    text = "\n".join([*summary(rows), "", *found(arguments.dlroof, a, again, names, planted)]) + "\n"
    (output / "summary.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
