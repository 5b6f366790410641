#!/usr/bin/env python3
"""Computes every row of `dlroof cluster versus` again, from the stored run files of a CPU and a GPU alone.

    baselines/studies/gpu-beside-cpu/gpu_beside_cpu.py [--dlroof build/dlroof]

Exit code 1 where a number of dlroof differs from the one computed here by more than 1e-6. Shares of roofs have six digits in the stored
run files, so those differ by up to 1e-5.
"""
import math
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

STORED = lib.ROOT / "baselines/stored"
CPU = [STORED / f"zen5-2c/2026-11-22-{op}.json" for op in ("conv2d", "lstm")]
GPU = [STORED / f"h200/2026-11-26-{op}.json" for op in ("conv2d", "lstm")]
PRICES = Path(__file__).resolve().parent / "made_up_prices.json"
LEVELS = {"l1": "L1", "l2": "L2", "l3": "L3", "dram": "DRAM"}  # nearest to the core first


def operators(paths):
    """Returns the fastest checked record of each operator: the name without device, library and layout; tf32 of a GPU is f32."""
    found = {}
    for record in (record for path in paths for record in lib.measured(lib.read(path)).values() if "seconds" in record):
        op, _, _, *rest = (part.replace("tf32", "f32") for part in record["name"].split("/") if part != "nchw")
        operator = "/".join([op, *rest])
        found[operator] = min(found.get(operator, record), record, key=lambda of: ("verified" not in of, of["seconds"]["median"]))
    return found


def share_of_roof(record):
    """Returns the share of the lowest roof, of equals the farthest level; none where the distance to the roof is not known."""
    if "gap" not in record.get("time", {}):
        return None
    order = list(LEVELS)
    return min(record["classic"], key=lambda point: (point["roof"], -order.index(point["level"]))).get("fraction")


def flops(*records):
    """Returns the problem's own FLOPs, which both sides count alike."""
    counts = [sum(record["work"]["modelled"]["flops"].values()) for record in records if "modelled" in record["work"]]
    assert counts and max(counts) <= 1.01 * min(counts), (records[0]["name"], counts)
    return counts[0]


def interval(a, b):
    """Returns the interval of a / b: distances in logarithms added as squares."""
    if "ci95" not in a or "ci95" not in b:
        return None, None
    (a_low, a_mid, a_high), (b_low, b_mid, b_high) = ([math.log(x) for x in (s["ci95"][0], s["median"], s["ci95"][1])] for s in (a, b))
    low, high = math.hypot(a_mid - a_low, b_high - b_mid), math.hypot(a_high - a_mid, b_mid - b_low)
    return math.exp(a_mid - b_mid - low), math.exp(a_mid - b_mid + high)


def price(paths):
    name = lib.read(paths[0])["machines"][0]["name"]
    return next(kind["per_node_hour"] for kind in lib.read(PRICES)["kinds"] if kind["match"]["name"] in name)


def expected_row(operator, a, b, prices):
    low, high = interval(a["seconds"], b["seconds"])
    types = dict.fromkeys(record["name"].split("/")[4] for record in (a, b))
    row = {
        "operator": operator.replace("/f32/", f"/{'|'.join(types)}/"),
        "flops": flops(a, b),
        "nodes_of_a": a["seconds"]["median"] / b["seconds"]["median"],
        "nodes_low": low,
        "nodes_high": high,
    }
    for side, record, per_hour in (("a", a, prices[0]), ("b", b, prices[1])):
        seconds, time = record["seconds"]["median"], record["time"]
        row[f"{side}_name"] = record["name"]
        row[f"{side}_seconds"] = seconds
        row[f"{side}_calls_per_second"] = row[f"{side}_node_calls_per_second"] = 1 / seconds
        row[f"{side}_fraction_of_roof"] = share_of_roof(record)
        row[f"{side}_bound"] = LEVELS[time["bound_level"]] if time["bound"] == "memory" else time["bound"]
        row[f"{side}_cost_per_1e15_flop"] = per_hour / 3600 * seconds / row["flops"] * 1e15
    return row


def row_of(row):
    """Returns a row of dlroof's JSON with the keys of expected_row."""
    low, high = row.get("nodes_ci95", (None, None))
    found = {"operator": row["operator"], "flops": row.get("flops"), "nodes_of_a": row["nodes_of_a"], "nodes_low": low, "nodes_high": high}
    for side in "ab":
        for key in ("name", "seconds", "calls_per_second", "node_calls_per_second", "bound", "cost_per_1e15_flop"):
            found[f"{side}_{key}"] = row[side].get(key)
        found[f"{side}_fraction_of_roof"] = row[side].get("fraction")
    return found


def differences(expected, got):
    """Yields a sentence for each value of `expected` that `got`, a row_of, has otherwise."""
    for name, value in expected.items():
        found = got[name]
        if value is None or isinstance(value, str):
            same = found == value
        else:
            same = found is not None and abs(found - value) <= (1e-5 if name.endswith("fraction_of_roof") else 1e-6) * abs(value)
        if not same:
            yield f"{expected['operator']}: {name}: {value} expected, {found!r} from dlroof"


def total_differences(pairs, totals):
    """Returns what differs in the totals: sums without the rows of which one is below 2 % of its roof and not bound by overhead."""

    def is_fallback(record):
        return record.get("time", {}).get("bound") != "overhead" and (share_of_roof(record) or 1) < 0.02

    wrong = []
    parts = {}
    for _, a, b in pairs:
        (op, *_, kind), (*_, other) = (record["name"].split("/")[:5] for record in (a, b))
        times = a["seconds"]["median"], b["seconds"]["median"], is_fallback(a) or is_fallback(b)
        parts.setdefault(f"{op} {'|'.join(dict.fromkeys((kind, other)))}", []).append(times)
    for kind, rows in parts.items():
        kept = [row for row in rows if not row[2]]
        nodes = sum(a for a, _, _ in kept) / sum(b for _, b, _ in kept)
        got = totals[kind]
        if (got["operators"], got["fallbacks"]) != (len(kept), len(rows) - len(kept)) or not math.isclose(got["nodes_of_a"], nodes, rel_tol=1e-6):
            wrong.append(f"total of {kind}: {len(kept)} of {len(rows)}, {nodes} nodes expected, {got} from dlroof")
    return wrong


def latency_differences(pairs, rows):
    """Yields what differs with --latency: a call on the idle GPU, with its launch. Only of records whose host never waited."""
    compared = 0
    for _, a, b in pairs:
        if any(
            repetition["gpu"].get("throttle") or repetition.get("run_delay_seconds", 0) > 0.005 * repetition["gpu"]["host_seconds"]
            for repetition in b["repetitions"]
        ):
            continue
        compared += 1
        call = statistics.median(repetition["gpu"]["call_seconds"] for repetition in b["repetitions"])
        got = rows[a["name"]]
        if got["b"]["name"] != b["name"]:  # another engine has the shortest calls
            if got["b"]["seconds"] > call:
                yield f"{b['name']}: latency: {call}, dlroof chose {got['b']['name']} with {got['b']['seconds']}"
            continue
        same = math.isclose(got["b"]["seconds"], call, rel_tol=1e-6) and math.isclose(got["nodes_of_a"], a["seconds"]["median"] / call, rel_tol=1e-6)
        if not same or got["b"]["timed"] != "call":
            yield f"{b['name']}: latency: {call} expected, {got['b']['seconds']} from dlroof, timed {got['b']['timed']}"
    if not compared:
        yield "latency: no record whose host never waited"


def main():
    arguments = lib.parser(__doc__).parse_args()
    files = [",".join(map(str, paths)) for paths in (CPU, GPU)]
    in_a, in_b, prices = operators(CPU), operators(GPU), (price(CPU), price(GPU))
    pairs = [(operator, a, in_b[operator]) for operator, a in in_a.items() if operator in in_b]
    with tempfile.TemporaryDirectory() as folder:
        queued, latency = f"{folder}/queued.json", f"{folder}/latency.json"
        lib.run(arguments.dlroof, "cluster", "versus", *files, "--prices", PRICES, "-o", queued)
        lib.run(arguments.dlroof, "cluster", "versus", *files, "--latency", "-o", latency)
        totals = {total["of"]: total for total in lib.read(queued)["totals"]}
        rows = {(row["a"]["name"], row["b"]["name"]): row_of(row) for row in lib.read(queued)["rows"]}
        of_calls = {row["a"]["name"]: row for row in lib.read(latency)["rows"]}
    wrong = [text for operator, a, b in pairs for text in differences(expected_row(operator, a, b, prices), rows[a["name"], b["name"]])]
    wrong += total_differences(pairs, totals) + list(latency_differences(pairs, of_calls))
    if len(rows) != len(pairs):
        wrong.append(f"{len(rows)} rows from dlroof, {len(pairs)} expected")
    print("\n".join(wrong) or f"{len({operator for operator, _, _ in pairs})} operators in {len(pairs)} rows: all as computed from the run files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
