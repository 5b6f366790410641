#!/usr/bin/env python3
"""How much do two equal runs on a GPU differ, by kind of time, and what does `dlroof compare` say of them?

    gpu_a_a.py [A.json B.json [--planted C.json]]       without files: the stored pairs, as in summary.txt

Without --planted it makes that run: a copy of B in which one benchmark's calls, in turn each of them, take 5 % longer on the device.
Where the times of a record contain the launch, 5 % of its graph's time is added to them; device times are multiplied. A benchmark
cannot be made slower by 5 % on a GPU without being another benchmark, so this planted run is computed from a measured one.

Kinds of time, never mixed:
  device      one queued call, by the device's clock     (gpu.queued_seconds, or seconds of a record that was `timed` so)
  call        one call on an idle GPU, with its launch   (gpu.call_seconds, or seconds)
  throughput  calls back to back                         (gpu.throughput_seconds)
  graph       in a CUDA graph                            (seconds of a record timed `graph`, or gpu.graph_seconds)
"""
import copy
import math
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

HERE = Path(__file__).resolve().parent
KINDS = ("device", "call", "throughput", "graph")
PLANTED = 1.05


def seconds_by_kind(record):
    gpu = record.get("gpu", {})
    times = {kind: gpu.get(key) for kind, key in zip(KINDS, ("queued_seconds", "call_seconds", "throughput_seconds", "graph_seconds"))}
    times[{"device": "device", "graph": "graph"}.get(record.get("timed"), "call")] = record["seconds"]["median"]
    return {kind: seconds for kind, seconds in times.items() if seconds is not None}


def records_of(run):
    return {name: record for name, record in lib.measured(run).items() if record["device"] == "gpu"}


def ratios(a, again):
    """Returns the second run's times over the first one's, by kind and name."""
    first, second = ({name: seconds_by_kind(record) for name, record in records_of(run).items()} for run in (a, again))
    common = [(kind, name) for kind in KINDS for name in first if kind in first[name] and kind in second.get(name, {})]
    return {(kind, name): second[name][kind] / first[name][kind] for kind, name in common}


def slower(run, name):
    """Returns a copy of a run in which the device needs 5 % longer for the calls of a benchmark."""
    planted = copy.deepcopy(run)
    record = records_of(planted)[name]
    device = record.get("timed") in ("device", "graph")
    added = (PLANTED - 1) * (record["seconds"]["median"] if device else record["gpu"]["graph_seconds"])
    slowed = (lambda seconds: seconds * PLANTED) if device else (lambda seconds: seconds + added)
    record["seconds"]["median"] = slowed(record["seconds"]["median"])
    if "ci95" in record["seconds"]:
        record["seconds"]["ci95"] = [slowed(end) for end in record["seconds"]["ci95"]]
    for repetition in record["repetitions"]:
        repetition["seconds"] = slowed(repetition["seconds"])
    for times in (record["gpu"], *(repetition["gpu"] for repetition in record["repetitions"])):
        for key in {"queued_seconds", "throughput_seconds", "graph_seconds"} & times.keys():
            times[key] *= PLANTED
        if "call_seconds" in times:
            times["call_seconds"] += added
    return planted


def verdicts(dlroof, *runs):
    """Returns compare's exit code and its verdict of every benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.json", "b.json")]
        for path, run in zip(paths, runs):
            lib.write(path, run)
        code, rows = lib.compare(dlroof, *paths)
    return code, {name: row["verdict"] for name, row in rows.items()}


def told(counts):
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())


def summary(of_kinds):
    yield "second run / first    n  median  median |log|  within 1 %  2 %  5 %  least   most"
    for kind in KINDS:
        values = [ratio for (of, _), ratio in of_kinds.items() if of == kind]
        if not values:
            continue
        logs = [abs(math.log(value)) for value in values]
        within = [sum(log <= math.log1p(share) for log in logs) for share in (0.01, 0.02, 0.05)]
        counts = f"{within[0]:10d} {within[1]:4d} {within[2]:4d}"
        yield (
            f"{kind:18}  {len(values):3d}  {statistics.median(values):6.3f}  {statistics.median(logs):11.2%}  {counts}  {min(values):5.3f}  {max(values):5.3f}"
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
    parser = lib.parser(__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--planted")
    arguments = parser.parse_args()
    pairs = {"two runs": arguments.files}
    if not arguments.files:
        pairs = {name: [HERE / f"2026-11-26-{name}-{i}.json.gz" for i in (1, 2)] for name in ("h200", "h200-queued", "h100-queued")}
    for title, files in pairs.items():
        a, again = map(lib.read, files)
        of_kinds = ratios(a, again)
        if not of_kinds:
            sys.exit("gpu_a_a.py: no benchmark of a GPU is in both runs")
        names = list(dict.fromkeys(name for kind, name in of_kinds if kind in ("device", "graph")))
        planted = lib.read(arguments.planted) if arguments.planted else None
        print("\n".join([title, *summary(of_kinds), "", *found(arguments.dlroof, a, again, names, planted), ""]), flush=True)


if __name__ == "__main__":
    main()
