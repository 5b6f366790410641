#!/usr/bin/env python3
"""Writes the tables and the figure of this study, and computes every row again from the run files alone.

    baselines/studies/gpu-beside-cpu/gpu_beside_cpu.py --dlroof build/dlroof

Exit code 1 where a number of `dlroof cluster versus` differs from the one computed here by more than 1e-6. Shares of roofs have six
digits in the stored run files, so those differ by up to 1e-5.
"""
import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
CPU = [ROOT / f"baselines/stored/zen5-2c/2026-11-22-{op}.json" for op in ("conv2d", "lstm")]
GPU = [ROOT / f"baselines/stored/h200/2026-11-26-{op}.json" for op in ("conv2d", "lstm")]
PRICES = HERE / "made_up_prices.json"
LEVELS = ["l1", "l2", "l3", "dram"]  # nearest to the core first


def key(record):
    parts = [part for part in record["name"].split("/") if part != "nchw"]  # the layout is the library's business
    return "/".join(parts[:1] + parts[3:])


def records(paths):
    found = {}
    for path in paths:
        for record in json.loads(path.read_text())["records"]:
            if record["status"] == "ok" and "seconds" in record:
                found.setdefault(key(record), []).append(record)
    return found


def machine(paths):
    return json.loads(paths[0].read_text())["machines"][0]["name"]


def share_of_roof(record):
    """The share of the lowest roof, of equals the farthest level; none where no gap is known."""
    if "gap" not in record.get("time", {}):
        return None
    lowest = min(record["classic"], key=lambda point: (point["roof"], -LEVELS.index(point["level"])))
    return lowest.get("fraction")


def bound(record):
    time = record["time"]
    return {"l1": "L1", "l2": "L2", "l3": "L3", "dram": "DRAM"}[time["bound_level"]] if time["bound"] == "memory" else time["bound"]


def flops(a, b):
    """The modelled FLOPs of either side: the problem's own."""
    counts = [sum(record["work"]["modelled"]["flops"].values()) for record in (a, b) if "modelled" in record["work"]]
    assert counts and max(counts) <= 1.01 * min(counts), (a["name"], counts)
    return counts[0]


def interval(a, b):
    """Of a / b, distances in logarithms added as squares."""
    if "ci95" not in a or "ci95" not in b:
        return None
    logs = {side: [math.log(abs(x)) for x in (seconds["ci95"][0], seconds["median"], seconds["ci95"][1])] for side, seconds in (("a", a), ("b", b))}
    middle = logs["a"][1] - logs["b"][1]
    low = middle - math.hypot(logs["a"][1] - logs["a"][0], logs["b"][2] - logs["b"][1])
    high = middle + math.hypot(logs["a"][2] - logs["a"][1], logs["b"][1] - logs["b"][0])
    return math.exp(low), math.exp(high)


def price(name):
    return next(kind["per_node_hour"] for kind in json.loads(PRICES.read_text())["kinds"] if kind["match"]["name"] in name)


def expected_rows():
    in_a, in_b = records(CPU), records(GPU)
    prices = {"a": price(machine(CPU)), "b": price(machine(GPU))}
    for name in in_a:
        for a in in_a[name]:
            for b in in_b.get(name, []):
                row = {"operator": name, "flops": flops(a, b), "nodes_of_a": a["seconds"]["median"] / b["seconds"]["median"]}
                both = interval(a["seconds"], b["seconds"])
                row["nodes_low"], row["nodes_high"] = both or (None, None)
                for side, record in (("a", a), ("b", b)):
                    seconds = record["seconds"]["median"]
                    row.update(
                        {
                            f"{side}_name": record["name"],
                            f"{side}_seconds": seconds,
                            f"{side}_calls_per_second": 1 / seconds,
                            f"{side}_node_calls_per_second": 1 / seconds,
                            f"{side}_fraction_of_roof": share_of_roof(record),
                            f"{side}_bound": bound(record),
                            f"{side}_cost_per_1e15_flop": prices[side] / 3600 * seconds / row["flops"] * 1e15,
                        }
                    )
                yield row


def latency_differences(dlroof, relative, output):
    """Yields what differs with --latency: a call on the idle GPU, with its launch, beside the CPU's calls. Only of records whose host never waited."""
    path = output / "latency.json"
    subprocess.run([dlroof, "cluster", "versus", *relative, "--latency", "-o", str(path)], cwd=ROOT, check=True, capture_output=True)
    rows = {(row["a"]["name"], row["b"]["name"]): row for row in json.loads(path.read_text())["rows"]}
    path.unlink()
    in_a, in_b, compared = records(CPU), records(GPU), 0
    for a, b in ((a, b) for name in in_a for a in in_a[name] for b in in_b.get(name, [])):
        if any(one["gpu"].get("throttle") or one.get("run_delay_seconds", 0) > 0.005 * one["gpu"]["host_seconds"] for one in b["repetitions"]):
            continue
        compared += 1
        call = statistics.median(one["gpu"]["call_seconds"] for one in b["repetitions"])
        got = rows[a["name"], b["name"]]
        if abs(got["b"]["seconds"] - call) > 1e-6 * call or abs(got["nodes_of_a"] - a["seconds"]["median"] / call) > 1e-6 * got["nodes_of_a"]:
            yield f"{b['name']}: latency: {call} expected, {got['b']['seconds']} from dlroof"
        if got["b"]["timed"] != "call":
            yield f"{b['name']}: latency: 'timed' is {got['b']['timed']}"
    if not compared:
        yield "latency: no record whose host never waited"


def differences(expected, got):
    """Yields a sentence for each value of `expected` that `got`, a row of the CSV, has otherwise."""
    for name, value in expected.items():
        text = got[name]
        if value is None or isinstance(value, str):
            same = text == (value or "")
        else:
            digits = 1e-5 if name.endswith("fraction_of_roof") else 1e-6
            same = text != "" and abs(float(text) - value) <= digits * abs(value)
        if not same:
            yield f"{expected['operator']}: {name}: {value} expected, {text!r} from dlroof"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("-o", "--output", default=str(HERE), help="folder (this one)")
    arguments = parser.parse_args()
    relative = [",".join(str(path.relative_to(ROOT)) for path in paths) for paths in (CPU, GPU)]
    dlroof, output = str(Path(arguments.dlroof).resolve()), Path(arguments.output).resolve()
    files = [word for name in ("versus.md", "versus.csv", "versus.svg") for word in ("-o", str(output / name))]
    subprocess.run([dlroof, "cluster", "versus", *relative, "--prices", str(PRICES), *files], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    rows = {(row["a_name"], row["b_name"]): row for row in csv.DictReader((output / "versus.csv").open())}
    expected = list(expected_rows())
    wrong = [text for row in expected for text in differences(row, rows[(row["a_name"], row["b_name"])])]
    if len(rows) != len(expected):
        wrong.append(f"{len(rows)} rows from dlroof, {len(expected)} expected")
    wrong += latency_differences(dlroof, relative, output)
    operators = len({row["operator"] for row in expected})
    print("\n".join(wrong) or f"{operators} operators in {len(expected)} rows: all as computed from the run files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
