#!/usr/bin/env python3
"""Joins dlroof's times of GPU calls with PyTorch's, by name, and writes table.csv and summary.txt.

    baselines/studies/gpu-beside-torch/gpu_beside_torch.py [--run RUN.json]... [--torch TORCH.json]... [-o FOLDER]

RUN.json are run files of dlroof_bench, TORCH.json what torch_times.py wrote; without them the files of this folder. A ratio is dlroof's
time over PyTorch's. Times are compared with their own kind only:
  graph         gpu.graph_seconds of a warm benchmark, and PyTorch's graph
  queued_cold   the device's time of one queued call of a cold benchmark, and PyTorch's
Exit code 1 where no call is on both sides.
"""
import argparse
import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("graph", "queued_cold")
OUTLIER = 1.25  # ratios beyond it or below its inverse are listed


def dlroof_seconds(record):
    """Yields (kind, name without the cache state, seconds) of a record."""
    if record["status"] != "ok" or record["device"] != "gpu":
        return
    gpu = record.get("gpu", {})
    if record["cache"] == "warm" and "graph_seconds" in gpu:
        yield "graph", record["name"].removesuffix("/warm"), gpu["graph_seconds"]
    if record["cache"] == "cold" and record.get("timed") == "device":
        yield "queued_cold", record["name"].removesuffix("/cold"), record["seconds"]["median"]


def ratios(runs, torches):
    """Returns the rows on both sides in PyTorch's order."""
    ours = {(kind, name): seconds for run in runs for record in run["records"] for kind, name, seconds in dlroof_seconds(record)}
    rows = []
    for kind in KINDS:
        for row in (row for file in torches for row in file["rows"]):
            theirs, mine = row.get(f"{kind}_seconds"), ours.get((kind, row["name"]))
            if theirs is not None and mine is not None:
                rows.append({"kind": kind, "name": row["name"], "dlroof_seconds": mine, "torch_seconds": theirs, "ratio": mine / theirs})
    return rows


def group_of(row):
    """Conv2D/fwd/f16"""
    op, _, _, direction, kind, *_ = row["name"].split("/")
    return f"{row['kind']}  {op}/{direction}/{kind}"


def summary(rows):
    """Returns the lines: for each kind and group how many, the median, the range; then what is out of it."""
    groups = defaultdict(list)
    for row in rows:
        groups[f"{row['kind']}  {row['name'].split('/')[0]}"].append(row["ratio"])
        groups[group_of(row)].append(row["ratio"])
    width = max(len(name) for name in groups)
    yield f"{'dlroof / PyTorch':{width}}   calls  median  least  most"
    for name, values in sorted(groups.items()):
        yield f"{name:{width}}  {len(values):6d}  {statistics.median(values):6.3f}  {min(values):5.2f}  {max(values):4.2f}"
    outside = [row for row in rows if not 1 / OUTLIER <= row["ratio"] <= OUTLIER]
    yield ""
    yield f"{len(outside)} of {len(rows)} beyond {1 / OUTLIER:.2f} to {OUTLIER:.2f}:"
    for row in sorted(outside, key=lambda row: -row["ratio"]):
        yield f"{row['ratio']:6.2f}  {row['kind']}  {row['name']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="append", default=[])
    parser.add_argument("--torch", action="append", default=[])
    parser.add_argument("-o", "--output", default=str(HERE), help="folder (this one)")
    arguments = parser.parse_args()
    stored = [] if arguments.run or arguments.torch else [sorted(HERE.glob(f"*-h200-{side}.json")) for side in ("dlroof", "torch")]
    runs, torches = stored or (arguments.run, arguments.torch)
    runs, torches = ([json.loads(Path(path).read_text()) for path in paths] for paths in (runs, torches))
    rows = ratios(runs, torches)
    if not rows:
        sys.exit("gpu_beside_torch.py: no call is on both sides")
    output = Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    with (output / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **{key: f"{row[key]:.6g}" for key in ("dlroof_seconds", "torch_seconds", "ratio")}} for row in rows)
    text = "\n".join(summary(rows)) + "\n"
    (output / "summary.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
