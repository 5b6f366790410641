#!/usr/bin/env python3
"""The ten convolutions and twelve LSTMs of the time-based roofline paper (DLS 2020) on a GPU: its findings point by point.

    baselines/studies/time-based-h200/time_based_h200.py --dlroof build/dlroof

Reads the stored run of suite paper (and the counted subset), recomputes every number of findings.md from repetitions, FLOPs, bytes and
ceilings by itself (not from dlroof's placement), and draws classic and time-based charts with dlroof report. Exit code 1 where its own
classification of a call differs from the one stored in the run file.
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORED = HERE.parent.parent / "stored/h200"
RUNS = [STORED / "2026-11-26-conv2d.json", STORED / "2026-11-26-lstm.json"]
COUNTED = HERE / "2026-11-26-h200-counted.json"

CONV = "n16c64h112w112k64r3s3_s2p0:1x0:1"
LSTM = "t16n16i32h16"
SWEEPS = {
    "convolutions, batch": [f"n{n}c64h112w112k64r3s3_s2p0:1x0:1" for n in (16, 32, 64)],
    "convolutions, filters": [f"n16c64h112w112k{k}r3s3_s2p0:1x0:1" for k in (64, 128, 256, 512)],
    "convolutions, kernel": [CONV, "n16c64h112w112k64r7s7_s2p2:3x2:3", "n16c64h112w112k64r9s9_s2p3:4x3:4"],
    "convolutions, stride": ["n16c64h112w112k64r3s3_p1", CONV, "n16c64h112w112k64r3s3_s3p1"],
    "LSTMs, batch": [f"t16n{n}i32h16" for n in (16, 32, 64, 128)],
    "LSTMs, time steps": [f"t{t}n16i32h16" for t in (16, 32, 64, 128)],
    "LSTMs, features": [f"t16n16i{i}h16" for i in (32, 64, 128)],
    "LSTMs, hidden units": [f"t16n16i32h{h}" for h in (16, 32, 64, 128)],
}
PIPES = {"f16": "fp16.matrix", "bf16": "bf16.matrix", "tf32": "tf32.matrix", "f32": "fp32.vector"}


def load(paths):
    machine, records = None, {}
    for path in paths:
        run = json.loads(path.read_text())
        machine = machine or next(m for m in run["machines"] if m["device"] == "gpu")
        for record in run["records"]:
            if record["status"] == "ok":
                records[record["name"]] = record
    return machine, records


def roofs(machine):
    """Rates [1/s] of pipes, DRAM and L2, [s] of a queued kernel."""
    rows = machine["by_threads"]["1"]
    rate = lambda row: row if isinstance(row, (int, float)) else row["per_second"]
    return {k: rate(v) for k, v in rows["flops"].items()}, rate(rows["bytes"]["dram"]), rate(rows["bytes"]["l2"]), rows["overheads"]["queued"]


def samples(record, field):
    values = [r["gpu"][field] for r in record["repetitions"] if not r.get("disturbed") and field in r.get("gpu", {})]
    return statistics.median(values) if values else None


def point(record, machine):
    """The call's own numbers: seconds, FLOPs, compulsory bytes, launches, roof times and class."""
    flop_rates, dram, l2_rate, queued = roofs(machine)
    l2 = float(machine["facts"]["gpu.l2_bytes"])
    work = record["work"]
    flops, modelled = work["modelled"]["flops"], work["modelled"]
    compute = sum(count / flop_rates[pipe] for pipe, count in flops.items())
    compulsory = modelled["bytes"]["dram"]
    launches = work.get("measured", {}).get("launches", modelled.get("launches"))
    overhead = None if launches is None else launches * queued
    memory = compulsory / (dram if compulsory > l2 else l2_rate)  # a warm call's tensors that fit L2 need not come from DRAM
    seconds = statistics.median(r["seconds"] for r in record["repetitions"] if not r.get("disturbed"))
    if overhead is not None and overhead > max(compute, memory):
        kind = "overhead"
    else:
        kind = "memory" if memory > compute else "compute"
    return {
        "seconds": seconds,
        "call": samples(record, "call_seconds"),
        "graph": samples(record, "graph_seconds"),
        "flops": sum(flops.values()),
        "intensity": sum(flops.values()) / compulsory,
        "launches": launches,
        "class": kind,
        "share": max(compute, memory) / seconds,
        "waves": max((k.get("waves", 0) for k in record.get("kernels", [])), default=None),
    }


def name_of(op, direction, kind, problem, records):
    for option in ("", "/nchw"):
        name = f"{op}/gpu/cudnn/{direction}/{kind}/{problem}{option}"
        if name in records:
            return name
    return None


def sweep_rows(records, machine):
    for sweep, problems in SWEEPS.items():
        op = "Conv2D" if sweep.startswith("conv") else "LSTM"
        directions = ("fwd", "bwd_data", "bwd_weights") if op == "Conv2D" else ("fwd_inference", "bwd")
        for direction in directions:
            for kind in ("f16", "f32"):
                names = [name_of(op, direction, kind, problem, records) for problem in problems]
                points = [point(records[name], machine) if name else None for name in names]
                if any(points):
                    yield sweep, direction, kind, problems, points


def micro(seconds):
    return f"{1e6 * seconds:.3g}" if seconds is not None else "-"


def tables(records, machine, out):
    print("| sweep | direction, type | us, queued | FLOP/byte (compulsory) | launches | % of roof | class |", file=out)
    print("| --- | --- | --- | --- | --- | --- | --- |", file=out)
    for sweep, direction, kind, _, points in sweep_rows(records, machine):
        cell = lambda form: ", ".join(form(p) if p else "-" for p in points)
        classes = {p["class"] for p in points if p}
        launches = {f"{p['launches']:.0f}" if p["launches"] is not None else "?" for p in points if p}
        print(
            f"| {sweep} | {direction} {kind} | {cell(lambda p: micro(p['seconds']))} | {cell(lambda p: format(p['intensity'], '.3g'))} | "
            f"{', '.join(sorted(launches, key=lambda text: (len(text), text)))} | {cell(lambda p: format(100 * p['share'], '.3g'))} | {', '.join(sorted(classes))} |",
            file=out,
        )


def findings(records, machine, counted, out):
    lstms = {n: point(r, machine) for n, r in records.items() if n.startswith("LSTM/")}
    bound = sum(p["class"] == "overhead" for p in lstms.values())
    print(f"LSTMs bound by overhead: {bound} of {len(lstms)}", file=out)
    graphs = sorted(p["call"] / p["graph"] for p in lstms.values() if p["call"] and p["graph"])
    if graphs:
        print(
            f"launch-inclusive time of an LSTM / its time in a CUDA graph: median {statistics.median(graphs):.2f}, {graphs[0]:.2f} to {graphs[-1]:.2f}",
            file=out,
        )
    convs = {n: point(r, machine) for n, r in records.items() if n.startswith("Conv2D/")}
    bound = sum(p["class"] == "overhead" for p in convs.values())
    print(f"convolutions bound by overhead: {bound} of {len(convs)}", file=out)
    for kind in ("f16", "bf16", "tf32", "f32"):
        shares = sorted(p["share"] for n, p in convs.items() if f"/{kind}/" in n)
        if shares:
            print(
                f"convolutions {kind}: {100 * shares[0]:.0f} to {100 * shares[-1]:.0f} % of their roof, median {100 * statistics.median(shares):.0f} %",
                file=out,
            )
    for name, record in sorted(counted.items()):
        flops = record["work"].get("measured", {}).get("flops")
        if not flops or not sum(flops.values()):
            continue
        matrix = sum(count for pipe, count in flops.items() if pipe.endswith(".matrix"))
        useful = sum(record["work"]["modelled"]["flops"].values())
        print(
            f"counted {name}: {100 * matrix / sum(flops.values()):.1f} % of FLOPs on tensor cores, {sum(flops.values()) / useful:.3f} executed / useful",
            file=out,
        )


def disagreements(records, machine):
    """Calls whose class in the run file is not the one computed here (warm tensors that fit L2 are L2 traffic)."""
    for name, record in records.items():
        stored, mine = record.get("time"), point(record, machine)
        if stored and (stored["bound"] == "overhead") != (mine["class"] == "overhead"):
            yield f"{name}: {stored['bound']} in the file, {mine['class']} here"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", help="also draws the charts")
    parser.add_argument("-o", "--output", default=str(HERE))
    arguments = parser.parse_args()
    output = Path(arguments.output)
    machine, records = load(RUNS)
    counted = load([COUNTED])[1] if COUNTED.exists() else {}
    with (output / "findings.md").open("w") as out:
        tables(records, machine, out)
    with (output / "findings.txt").open("w") as out:
        findings(records, machine, counted, out)
    if arguments.dlroof:
        for run, op in zip(RUNS, ("conv2d", "lstm")):
            subprocess.run([arguments.dlroof, "report", str(run), "-o", str(output / f"{op}.svg")], check=True, stdout=subprocess.DEVNULL)
    wrong = list(disagreements(records, machine))
    print((output / "findings.txt").read_text() + "\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
