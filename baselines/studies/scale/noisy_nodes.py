#!/usr/bin/env python3
"""Gathers clusters with noisy nodes, and computes every number of cluster.json again from the nodes' files.

    baselines/studies/scale/noisy_nodes.py --dlroof build/dlroof -o FILE.csv

One cluster of each stored CPU run, with all of its records, and random ones of at most 24 records (seeded): 2 to 40 nodes, each with its own speed, of whose
repetitions a random share is noisy, so that many nodes' times are estimates. Compared for every record, exactly (to single precision in the file of versus): the median over
nodes in `seconds`, in the entry of Google Benchmark, in the tables of `cluster report` (its CSV), and as the time that `cluster versus` reads; the interval;
and the number of estimates. Exit code 1 where one differs.
"""
import argparse
import copy
import csv
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
STORED = sorted((ROOT / "baselines/stored/zen5-2c").glob("*.json")) + sorted((ROOT / "baselines/stored/cascade-lake-2c").glob("*.json"))
MOST_RECORDS = 24


def write_nodes(folder, base, count, most_records, source):
    (folder / "nodes").mkdir(parents=True)
    records = [record for record in base["records"] if record["status"] == "ok" and "repetitions" in record]
    records = source.sample(records, min(most_records, len(records)))
    for number in range(1, count + 1):
        noisy_share, factor = source.choice([0, 0.2, 0.5, 0.8, 1]), source.lognormvariate(0, 0.1)
        node = {"context": copy.deepcopy(base["context"]), "machines": base["machines"], "records": []}
        node["context"]["dlroof"]["node"] = {"name": f"n{number}", "known_by": "hostname", "arguments": ["--x"]}
        for record in records:
            written = {key: value for key, value in record.items() if key not in ("seconds", "repetitions")}
            written["repetitions"] = []
            for repetition in record["repetitions"]:
                noisy = source.random() < noisy_share
                seconds = repetition["seconds"] * factor * source.lognormvariate(0, 0.01) * (source.uniform(1, 3) if noisy else 1)
                written["repetitions"].append({"seconds": seconds, "iterations": 3, **({"disturbed": True} if noisy else {})})
            node["records"].append(written)
        (folder / "nodes" / f"n{number}.json").write_text(json.dumps(node))


def time_of_node(repetitions):
    """The node's own time, and whether it is an estimate: the median of clean repetitions (an estimate where they are fewer than half), or with fewer than
    three the fastest of all."""
    clean = [one["seconds"] for one in repetitions if not one.get("disturbed")]
    if len(clean) >= min(3, len(repetitions)) and 2 * len(clean) >= len(repetitions):
        return statistics.median(clean), False
    if len(clean) >= 3:
        return statistics.median(clean), True
    return min(one["seconds"] for one in repetitions), True


def interval(times):
    """The distribution-free 95 % interval of a median: the order statistics k and n + 1 - k with the largest k whose two tails have at most 5 %."""
    n, ordered = len(times), sorted(times)
    tail, rank = 0.0, 0
    while rank < n and 2 * (tail + math.comb(n, rank) / 2**n) <= 0.05:
        tail += math.comb(n, rank) / 2**n
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank >= 1 else None


def expected(folder):
    times = {}
    for path in (folder / "nodes").iterdir():
        node = json.loads(path.read_text())
        for record in node["records"]:
            times.setdefault(record["name"], []).append(time_of_node(record["repetitions"]))
    return {
        name: {
            "median": statistics.median(one for one, _ in of_nodes),
            "ci95": interval([one for one, _ in of_nodes]),
            "estimates": sum(estimate for _, estimate in of_nodes),
            "nodes": len(of_nodes),
        }
        for name, of_nodes in times.items()
    }


def fastest_rule(repetitions):
    """What a reader would compute that took nodes for repetitions of one node, as cluster.json was written once."""
    return time_of_node(repetitions)[0]


def differences(dlroof, folder, title):
    """Yields what differs; the counts of records and estimates, and of records whose median the old rule would miss."""
    cluster = folder / "cluster.json"
    done = subprocess.run([dlroof, "cluster", "gather", folder, "-o", cluster], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{title}: gather: exit code {done.returncode}: {done.stderr}")
    for command in (["cluster", "report", cluster, "-o", folder / "report.csv"], ["cluster", "versus", cluster, cluster, "-o", folder / "versus.json"]):
        ran = subprocess.run([dlroof, *command], capture_output=True, text=True)
        if ran.returncode not in (0, 3):
            sys.exit(f"{title}: {command}: exit code {ran.returncode}: {ran.stderr}")
    content = json.loads(cluster.read_text())
    records = {record["name"]: record for record in content["records"]}
    entries = {entry["name"]: entry["real_time"] / 1e9 for entry in content["benchmarks"]}
    versus = {row["a"]["name"]: row["a"]["seconds"] for row in json.loads((folder / "versus.json").read_text())["rows"]}
    ratios = {}
    for row in csv.DictReader((folder / "report.csv").open(newline="")):
        ratios.setdefault(row["benchmark"], []).append(float(row["seconds"]) / float(row["ratio"]))
    wanted, wrong, missed, estimates = expected(folder), [], 0, 0
    if set(wanted) != set(records):
        wrong.append(f"{title}: other records: {set(wanted) ^ set(records)}")
    for name, one in wanted.items():
        record, median = records[name], one["median"]
        estimates += one["estimates"]
        old = fastest_rule([{"seconds": repetition["seconds"], "disturbed": repetition.get("estimate", False)} for repetition in record["repetitions"]])
        missed += old != median
        if record["seconds"]["median"] != median:
            wrong.append(f"{title}: {name}: seconds: {record['seconds']['median']} instead of {median}")
        if abs(versus.get(name, median) - median) > 1e-7 * median:
            wrong.append(f"{title}: {name}: versus: {versus[name]} instead of {median}")
        for what, got in [("Google Benchmark's entry", entries[name])] + [("report", ratio) for ratio in ratios[name]]:
            if abs(got - median) > 1e-12 * median:
                wrong.append(f"{title}: {name}: {what}: {got} instead of {median}")
        got = record["seconds"].get("ci95")
        if (tuple(got) if got else None) != one["ci95"]:
            wrong.append(f"{title}: {name}: interval {got} instead of {one['ci95']}")
        if sum(repetition.get("estimate", False) for repetition in record["repetitions"]) != one["estimates"]:
            wrong.append(f"{title}: {name}: another number of estimates than {one['estimates']}")
    return wrong, len(wanted), sum(one["nodes"] for one in wanted.values()), estimates, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("--clusters", type=int, default=20, help="random clusters")
    parser.add_argument("-o", "--output", help="a table with a row for each cluster")
    arguments = parser.parse_args()
    dlroof = str(Path(arguments.dlroof).resolve())
    bases = {path: json.loads(path.read_text()) for path in STORED}
    source, wrong, totals, rows = random.Random(7), [], [0, 0, 0, 0], []
    plans = [(path, 7, 10**6) for path in STORED] + [(source.choice(STORED), source.randint(2, 40), MOST_RECORDS) for _ in range(arguments.clusters)]
    for number, (path, nodes, most_records) in enumerate(plans):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_nodes(folder, bases[path], nodes, most_records, source)
            differ, *counts = differences(dlroof, folder, f"cluster {number}, {nodes} nodes of {path.name}")
        wrong += differ
        rows.append([number, path.relative_to(ROOT), nodes, *counts, len(differ)])
        totals = [total + count for total, count in zip(totals, counts)]
    if arguments.output:
        with open(arguments.output, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["cluster", "made of", "nodes", "records", "times of nodes", "estimates", "old rule would miss", "differences"])
            writer.writerows(rows)
    print("\n".join(wrong[:20]) or "every median, interval and number of estimates as computed from the nodes' files")
    print(
        f"{len(plans)} clusters, {totals[0]} records, {totals[1]} times of nodes, {totals[2]} of them estimates; "
        f"the rule for noisy repetitions, applied to nodes, would miss the median of {totals[3]} records"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
