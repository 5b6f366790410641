#!/usr/bin/env python3
"""Verdicts of `dlroof compare` on real runs that collect.sh has collected, without a change and with a planted one.

    tar xf RUNS.tar.xz -C FOLDER; real_runs.py DLROOF FOLDER [--percent 5] [--planted 2] [--join 5]

Leave one out: each run is judged against the run before it, all others being the history; and without history. Then each benchmark
in turn, PLANTED at a time, gets all its times longer by PERCENT. Prints counts: false verdicts of unchanged benchmarks, slowdowns
that were found, and verdicts that say nothing. Shares no code with dlroof. --join K makes one run of K consecutive files, each of
which was one process, as `dlroof run --processes K` would have. --keep K keeps the first K processes of each run.
--longer plants real work: a benchmark is paired with the one of the same name with 21 in place of 20 images or time steps.
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
    rows = json.loads(made.stdout)["benchmarks"]
    return {row["name"]: row["verdict"] for row in rows if row["verdict"] not in ("new", "gone")}


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


def join(files, count, folder):
    """Writes runs of `count` processes, each made of as many consecutive files. Returns their paths."""
    joined = []
    for first in range(0, len(files) - count + 1, count):
        parts = [json.loads(file.read_text()) for file in files[first : first + count]]
        repetitions = collections.defaultdict(list)
        for process, part in enumerate(parts):
            for record in part["records"]:
                repetitions[record["name"]] += [{**one, "block": process} for one in record["repetitions"]]
        for record in parts[0]["records"]:
            record["repetitions"] = repetitions[record["name"]]
            record.pop("seconds", None)
        joined.append(Path(folder) / f"run-{first // count:02d}.json")
        joined[-1].write_text(json.dumps(parts[0]))
    return joined


def keep(files, count, folder):
    """Writes the runs with the first `count` processes of each benchmark. Returns their paths."""
    kept = []
    for number, file in enumerate(files):
        run = json.loads(file.read_text())
        for record in run["records"]:
            record["repetitions"] = [one for one in record["repetitions"] if one["block"] < count]
            record.pop("seconds", None)
        kept.append(Path(folder) / f"kept-{number:02d}.json")
        kept[-1].write_text(json.dumps(run))
    return kept


def longer(names):
    """Pairs of benchmarks of which the second does 5 % more of the same work."""
    pairs = [(name, name.replace("/n20", "/n21").replace("/t20", "/t21")) for name in names if "/n20" in name or "/t20" in name]
    return [(name, more) for name, more in pairs if more in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dlroof")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--planted", type=int, default=2)
    parser.add_argument("--join", type=int, default=1)
    parser.add_argument("--keep", type=int)
    parser.add_argument("--longer", action="store_true")
    options = parser.parse_args()
    counts = {history: collections.Counter() for history in ("no history", "all others")}
    with tempfile.TemporaryDirectory() as folder:
        runs = sorted(options.folder.glob("run-*.json"))
        if options.join > 1:
            runs = join(runs, options.join, folder)
        if options.keep:
            runs = keep(runs, options.keep, folder)
        for number in range(1, len(runs)):
            new, base = runs[number], runs[number - 1]
            others = [str(run) for run in runs if run not in (new, base)]
            db = f"{folder}/{number}.sqlite"
            subprocess.run([options.dlroof, "history", "add", *others, "--db", db], check=True, capture_output=True)
            names = [record["name"] for record in json.loads(new.read_text())["records"]]
            random.Random(number).shuffle(names)
            planted = Path(folder) / "planted.json"
            for history, flags in (("no history", []), ("all others", ["--db", db])):
                count = counts[history]
                for verdict in verdicts(options.dlroof, [str(base), str(new)], flags).values():
                    count["unchanged"] += 1
                    count[f"unchanged: {verdict}"] += 1
                planting = longer(names) if options.longer else names
                for first in range(0, len(planting), options.planted):
                    slow = planting[first : first + options.planted]
                    if options.longer:
                        pairs = Path(folder) / "map.txt"
                        pairs.write_text("".join(f"{name} {more}\n" for name, more in slow))
                        found = verdicts(options.dlroof, [str(base), str(new)], [*flags, "--map", str(pairs)])
                        slow = [more for _, more in slow]
                    else:
                        content = plant(json.loads(new.read_text()), slow, 1 + options.percent / 100)
                        planted.write_text(json.dumps(content))
                        found = verdicts(options.dlroof, [str(base), str(planted)], flags)
                    for name, verdict in found.items():
                        kind = "planted" if name in slow else "beside planted"
                        count[kind] += 1
                        count[f"{kind}: {verdict}"] += 1
    print(len(runs), "runs")
    for history, count in counts.items():
        print(history)
        for key, value in sorted(count.items()):
            kind = key.split(":")[0]
            print(f"  {key}: {value}" + (f" ({100 * value / count[kind]:.1f} %)" if ":" in key else ""))


if __name__ == "__main__":
    main()
