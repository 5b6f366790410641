#!/usr/bin/env python3
"""Verdicts of `dlroof compare` on real runs that collect.sh has collected, without a change and with a planted one.

    tar xf 2026-11-27-zen3-2c-runs.tar.xz -C FOLDER; real_runs.py DLROOF FOLDER [--percent 5] [--planted 2]

Leave one out: each run is judged against the run before it, all others being the history; and without history. Then PLANTED of its
benchmarks, drawn by the run's number, get all their times longer by PERCENT. Prints counts: false verdicts of unchanged benchmarks,
slowdowns that were found, and verdicts that say nothing. Shares no code with dlroof.
"""
import argparse
import collections
import json
import random
import subprocess
import tempfile
from pathlib import Path


def verdicts(dlroof, files, flags):
    made = subprocess.run([dlroof, "compare", *files, *flags, "--format=json"], capture_output=True, text=True)
    if made.returncode not in (0, 1, 3):
        raise SystemExit(f"dlroof compare failed: {made.stderr}")
    return {row["name"]: row["verdict"] for row in json.loads(made.stdout)["benchmarks"]}


def plant(run, names, factor):
    """Multiplies all times of these benchmarks: those of Google Benchmark's rows and of dlroof's records."""

    def slower(part):
        for key, value in part.items():
            if isinstance(value, (int, float)) and (key in ("real_time", "cpu_time") or key.endswith("seconds")):
                part[key] = value * factor
            elif isinstance(value, dict):
                slower(value)
            elif isinstance(value, list):
                for one in value:
                    if isinstance(one, dict):
                        slower(one)

    for row in run["benchmarks"]:
        if any(row["name"].startswith(name) for name in names):
            slower(row)
    for record in run["records"]:
        if record["name"] in names:
            slower(record)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dlroof")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--planted", type=int, default=2)
    options = parser.parse_args()
    runs = sorted(options.folder.glob("run-*.json"))
    counts = {history: collections.Counter() for history in ("no history", "all others")}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, len(runs)):
            new, base = runs[number], runs[number - 1]
            others = [str(run) for run in runs if run not in (new, base)]
            db = f"{folder}/{number}.sqlite"
            subprocess.run([options.dlroof, "history", "add", *others, "--db", db], check=True, capture_output=True)
            content = json.loads(new.read_text())
            names = [record["name"] for record in content["records"]]
            slow = random.Random(number).sample(names, options.planted)
            planted = Path(folder) / "planted.json"
            planted.write_text(json.dumps(plant(content, slow, 1 + options.percent / 100)))
            for history, flags in (("no history", []), ("all others", ["--db", db])):
                count = counts[history]
                for verdict in verdicts(options.dlroof, [str(base), str(new)], flags).values():
                    count["unchanged"] += 1
                    count[f"unchanged: {verdict}"] += 1
                for name, verdict in verdicts(options.dlroof, [str(base), str(planted)], flags).items():
                    if name in slow:
                        count["planted"] += 1
                        count[f"planted: {verdict}"] += 1
                    else:
                        count["beside planted"] += 1
                        count[f"beside planted: {verdict}"] += 1
    print(len(runs), "runs")
    for history, count in counts.items():
        print(history)
        for key, value in sorted(count.items()):
            print(f"  {key}: {value}")


if __name__ == "__main__":
    main()
