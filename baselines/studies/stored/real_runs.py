#!/usr/bin/env python3
"""Verdicts of `dlroof compare` on real runs that collect.sh has collected, without a change and with a planted one.

    real_runs.py RUNS.json.gz [--percent 5] [--planted 2] [--join 5] [--keep 3] [--longer]
    real_runs.py RUNS.json.gz --pack FOLDER        # stores collected runs: times and dates, without roofs

Leave one out: each run is judged against the run before it, all others being the history; and without history. Then each benchmark
in turn, PLANTED at a time, gets all its times longer by PERCENT. Prints counts: false verdicts of unchanged benchmarks, slowdowns
that were found, and verdicts that say nothing. Shares no code with dlroof. --join K makes one run of K consecutive ones, each of
which was one process, as `dlroof run --processes K` would have. --keep K keeps the first K processes of each run.
--longer plants real work: a benchmark is paired with the one of the same name with 21 in place of 20 images or time steps.
"""
import collections
import copy
import gzip
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

MEMBERS = {"seconds": lambda seconds: float(f"{seconds:.5g}"), "iterations": int, "block": int, "disturbed": int}


def pack(path, folder):
    runs = []
    for run in (lib.read(file) for file in sorted(folder.glob("run-*.json"))):
        lists = {
            name: {member: [form(repetition.get(member, 0)) for repetition in record["repetitions"]] for member, form in MEMBERS.items()}
            for name, record in lib.measured(run).items()
        }
        runs.append({"date": run["context"]["date"], "records": lists})
    algorithms = {name: record["algorithm"] for name, record in lib.measured(run).items()}
    text = json.dumps({"algorithms": algorithms, "runs": runs}, separators=(",", ":"))
    Path(path).write_bytes(gzip.compress(text.encode(), mtime=0))


def unpack(stored):
    """Returns run files."""
    runs = []
    for run in stored["runs"]:
        records = []
        for name, lists in run["records"].items():
            repetitions = [dict(zip(lists, values)) for values in zip(*lists.values())]
            repetitions = [{**repetition, "disturbed": bool(repetition["disturbed"])} for repetition in repetitions]
            about = {"status": "ok", "device": "cpu", "threads": 1, "cache": "warm", "algorithm": stored["algorithms"][name], "work": {}}
            records.append({"name": name, **about, "repetitions": repetitions})
        context = {"date": run["date"], "num_cpus": 2, "caches": [], "dlroof": {"schema": 2, "conventions": {"flops": "fma is 2"}}}
        runs.append({"context": context, "machines": [], "records": records})
    return runs


def join(runs, count):
    """Returns runs of `count` processes, each made of as many consecutive runs."""
    joined = []
    for first in range(0, len(runs) - count + 1, count):
        joined.append(copy.deepcopy(runs[first]))
        for record in joined[-1]["records"]:
            name, parts = record["name"], enumerate(runs[first : first + count])
            record["repetitions"] = [{**one, "block": process} for process, part in parts for one in lib.measured(part)[name]["repetitions"]]
    return joined


def plant(run, names, factor):
    """Returns a copy in which all times of these benchmarks are longer."""
    planted = copy.deepcopy(run)
    for name in names:
        for repetition in lib.measured(planted)[name]["repetitions"]:
            repetition["seconds"] *= factor
    return planted


def longer(names):
    """Returns pairs of benchmarks of which the second does 5 % more of the same work."""
    pairs = [(name, name.replace("/n20", "/n21").replace("/t20", "/t21")) for name in names]
    return [(name, more) for name, more in pairs if more != name and more in names]


def judge(options, runs, folder):
    """Returns the counts by kind and verdict, without and with a history."""
    counts = {history: collections.Counter() for history in ("no history", "all others")}
    files = [folder / f"run-{number:02}.json" for number in range(len(runs))]
    for file, run in zip(files, runs):
        lib.write(file, run, None)
    changed, pairs = folder / "planted.json", folder / "map.txt"
    for number in range(1, len(runs)):
        base, new, db = files[number - 1], files[number], folder / f"{number}.sqlite"
        lib.run(options.dlroof, "history", "add", *(file for file in files if file not in (base, new)), "--db", db)
        names = list(lib.measured(runs[number]))
        random.Random(number).shuffle(names)
        planting = longer(names) if options.longer else names
        steps = [planting[first : first + options.planted] for first in range(0, len(planting), options.planted)]
        for history, flags in (("no history", []), ("all others", ["--db", db])):
            for slow in [[], *steps]:
                if options.longer and slow:
                    pairs.write_text("".join(f"{name} {more}\n" for name, more in slow))
                    _, rows = lib.compare(options.dlroof, base, new, *flags, "--map", pairs)
                    slow = [more for _, more in slow]
                else:
                    lib.write(changed, plant(runs[number], slow, 1 + options.percent / 100), None)
                    _, rows = lib.compare(options.dlroof, base, changed, *flags)
                for name, row in rows.items():
                    kind = "planted" if name in slow else "beside planted" if slow else "unchanged"
                    counts[history].update([kind, f"{kind}: {row['verdict']}"])
    return counts


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--planted", type=int, default=2)
    parser.add_argument("--join", type=int)
    parser.add_argument("--keep", type=int)
    parser.add_argument("--longer", action="store_true")
    options = parser.parse_args()
    if options.pack:
        return pack(options.runs, options.pack)
    runs = unpack(lib.read(options.runs))
    runs = join(runs, options.join) if options.join else runs
    for record in (record for run in runs for record in run["records"] if options.keep):
        record["repetitions"] = [repetition for repetition in record["repetitions"] if repetition["block"] < options.keep]
    with tempfile.TemporaryDirectory() as folder:
        counts = judge(options, runs, Path(folder))
    print(len(runs), "runs")
    for history, count in counts.items():
        print(history)
        for key, value in sorted(count.items()):
            print(f"  {key}: {value}" + (f" ({lib.percent(value, count[key.split(':')[0]])})" if ":" in key else ""))


if __name__ == "__main__":
    main()
