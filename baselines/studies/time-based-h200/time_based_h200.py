#!/usr/bin/env python3
"""The ten convolutions and twelve LSTMs of the time-based roofline paper (DLS 2020) on a GPU: what bounds them.

    baselines/studies/time-based-h200/time_based_h200.py

Computes findings.txt from the repetitions, FLOPs, bytes and ceilings of the stored run of suite paper and of the counted subset, not from
dlroof's placement. Exit code 1 where its own classification of a call differs from the one stored in the run file.
"""
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

RUNS = [lib.ROOT / f"baselines/stored/h200/2026-11-26-{op}.json" for op in ("conv2d", "lstm")]
COUNTED = Path(__file__).resolve().parent / "2026-11-26-h200-counted.json.gz"


def roofs(machine):
    """Returns rates [1/s] of pipes, DRAM and L2, and [s] of a kernel by kind of time."""
    rows = machine["by_threads"]["1"]
    pipes = {pipe: row["per_second"] for pipe, row in rows["flops"].items()}
    return pipes, rows["bytes"]["dram"]["per_second"], rows["bytes"]["l2"]["per_second"], rows["overheads"]


def median_of(record, field):
    values = [r["gpu"][field] for r in record["repetitions"] if not r.get("disturbed") and field in r.get("gpu", {})]
    return statistics.median(values) if values else None


def point(record, machine):
    """Returns the call's class, its share of its roof, and its time on an idle GPU over that in a graph."""
    pipes, dram, l2_rate, overheads = roofs(machine)
    in_graphs = record.get("timed") == "graph"
    work = record["work"]["modelled"]
    compute = sum(count / pipes[pipe] for pipe, count in work["flops"].items())
    compulsory = work["bytes"]["dram"]
    # A warm call's tensors that fit L2 need not come from DRAM.
    memory = compulsory / (dram if compulsory > float(machine["facts"]["gpu.l2_bytes"]) else l2_rate)
    launches = record["work"].get("measured", {}).get("launches", work.get("launches", 0))
    seconds = statistics.median(r["seconds"] for r in record["repetitions"] if not r.get("disturbed"))
    bound = "overhead" if launches * overheads["graph-node" if in_graphs else "queued"] > max(compute, memory) else "memory" if memory > compute else "compute"
    call, graph = median_of(record, "call_seconds"), seconds if in_graphs else median_of(record, "graph_seconds")
    return {"bound": bound, "share": max(compute, memory) / seconds, "over_graph": call / graph if call and graph else None}


def findings(points, counted):
    for op, title in (("LSTM", "LSTMs"), ("Conv2D", "convolutions")):
        bounds = [row["bound"] for name, row in points.items() if name.startswith(op + "/")]
        yield f"{title} bound by overhead: {bounds.count('overhead')} of {len(bounds)}"
    graphs = [row["over_graph"] for name, row in points.items() if name.startswith("LSTM/") and row["over_graph"]]
    yield f"launch-inclusive time of an LSTM / its time in a CUDA graph: median {lib.middle(graphs, '.2f')}"
    for kind in ("f16", "bf16", "tf32", "f32"):
        shares = [100 * row["share"] for name, row in points.items() if name.startswith("Conv2D/") and f"/{kind}/" in name]
        yield f"convolutions {kind}: % of their roof, median {lib.middle(shares, '.0f')}"
    for name, record in sorted(counted.items()):
        flops = record["work"].get("measured", {}).get("flops", {})
        if total := sum(flops.values()):
            matrix = sum(count for pipe, count in flops.items() if pipe.endswith(".matrix"))
            useful = sum(record["work"]["modelled"]["flops"].values())
            yield f"counted {name}: {100 * matrix / total:.1f} % of FLOPs on tensor cores, {total / useful:.3f} executed / useful"


def main():
    runs = list(map(lib.read, RUNS))
    machine = next(machine for machine in runs[0]["machines"] if machine["device"] == "gpu")
    records = {name: record for run in runs for name, record in lib.measured(run).items()}
    points = {name: point(record, machine) for name, record in records.items()}
    print("\n".join(findings(points, lib.measured(lib.read(COUNTED)))))
    # Warm tensors that fit L2 are L2 traffic here, so that only overhead can be compared.
    times = {name: record["time"]["bound"] for name, record in records.items() if "time" in record}
    wrong = [name for name, bound in times.items() if (bound == "overhead") != (points[name]["bound"] == "overhead")]
    for name in wrong:
        print(f"{name}: {times[name]} in the file, {points[name]['bound']} here")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
