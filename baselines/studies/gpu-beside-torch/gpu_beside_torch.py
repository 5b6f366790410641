#!/usr/bin/env python3
"""Joins dlroof's times of GPU calls with PyTorch's, by name: the table of the README.

    gpu_beside_torch.py [RUN.json... --torch TORCH.json...]      without files: the stored ones, as in summary.txt

RUN.json are run files of dlroof_bench, TORCH.json what torch_times.py wrote. A ratio is dlroof's time over PyTorch's. Times are compared
with their own kind only:
  graph         the time of a warm benchmark (older files: gpu.graph_seconds), and PyTorch's graph
  queued_cold   the device's time of one queued call of a cold benchmark, and PyTorch's
Exit code 1 where no call is on both sides.
"""
import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

HERE = Path(__file__).resolve().parent
KINDS = ("graph", "queued_cold")
OUTLIER = 1.25  # ratios beyond it or below its inverse are listed, but for groups whose median is


def dlroof_seconds(record):
    """Yields (kind, name without the cache state, seconds) of a record."""
    gpu = record.get("gpu", {})
    graph = record["seconds"]["median"] if record.get("timed") == "graph" else gpu.get("graph_seconds")
    if record["cache"] == "warm" and graph:
        yield "graph", record["name"].removesuffix("/warm"), graph
    if record["cache"] == "cold" and record.get("timed") == "device":
        yield "queued_cold", record["name"].removesuffix("/cold"), record["seconds"]["median"]


def ratios(runs, torches):
    """Yields kind, name and ratio of the calls on both sides, in PyTorch's order."""
    records = [record for run in runs for record in lib.measured(run).values() if record["device"] == "gpu"]
    ours = {(kind, name): seconds for record in records for kind, name, seconds in dlroof_seconds(record)}
    for kind in KINDS:
        for row in (row for file in torches for row in file["rows"]):
            theirs, mine = row.get(f"{kind}_seconds"), ours.get((kind, row["name"]))
            if theirs is not None and mine is not None:
                yield kind, row["name"], mine / theirs


def summary(rows):
    """Yields a line for each kind and group, then the outliers."""
    groups = defaultdict(list)
    for kind, name, ratio in rows:
        op, _, _, direction, operand, *_ = name.split("/")
        for group in (f"{kind}  {op}", f"{kind}  {op}/{direction}/{operand}"):
            groups[group].append(ratio)
    width = max(map(len, groups))
    yield f"{'dlroof / PyTorch':{width}}   calls  median  least  most"
    for name, values in sorted(groups.items()):
        yield f"{name:{width}}  {len(values):6d}  {statistics.median(values):6.3f}  {min(values):5.2f}  {max(values):4.2f}"
    for kind, name, ratio in sorted(rows, key=lambda row: -row[2]):
        usual = statistics.median(groups[f"{kind}  {name.split('/')[0]}"]) <= OUTLIER
        if usual and not 1 / OUTLIER <= ratio <= OUTLIER:
            yield f"{ratio:6.2f}  {kind}  {name}"


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--torch", nargs="*", default=[])
    arguments = parser.parse_args()
    visits = [(arguments.runs, arguments.torch)]
    if not arguments.runs:
        visits = [[[HERE / f"2026-11-26-h200-{visit}{side}.json"] for side in ("dlroof", "torch")] for visit in ("", "later-")]
    for runs, torches in visits:
        rows = list(ratios(map(lib.read, runs), list(map(lib.read, torches))))
        if not rows:
            sys.exit("gpu_beside_torch.py: no call is on both sides")
        print("\n".join(summary(rows)) + "\n")


if __name__ == "__main__":
    main()
