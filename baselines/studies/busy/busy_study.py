#!/usr/bin/env python3
"""Are times correct that were measured while other programs were running?

    build/dlroof_bench --dlroof_suite=paper --benchmark_out=quiet.json         # nothing else runs
    busy_study.py loops build/dlroof_bench busy.json                           # two busy loops beside it
    busy_study.py runs build/dlroof_bench FOLDER --compiler 'g++ -c ...'       # FOLDER/1.json to 10.json; compilers come and go
    busy_study.py tables STORED.json --quiet quiet.json --busy busy.json --runs 1.json 2.json ...

`tables` stores each benchmark's time of each run in STORED.json and prints the tables; with STORED.json alone it prints those
of a stored study, with only --runs it replaces the stored runs by these.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import time


def loops(arguments):
    """Runs the suite beside one busy loop per CPU."""
    import os

    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    begin = time.monotonic()
    try:
        command = [arguments.program, "--dlroof_suite=paper", f"--benchmark_out={arguments.run_file}"]
        status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    finally:
        for one in busy:
            one.kill()
    print(f"{time.monotonic() - begin:.0f} s")
    return status


def runs(arguments):
    """Runs the suite ten times. Beside it one to three compilations follow each other, then there is a pause."""
    import random
    import threading

    folder = pathlib.Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    over = threading.Event()
    chance = random.Random(1)
    begin = time.monotonic()
    working = [0.0]

    def compile_now_and_then():
        while not over.is_set():
            since = time.monotonic()
            for _ in range(chance.randint(1, 3)):
                subprocess.run(["sh", "-c", arguments.compiler], check=True)
            working[0] += time.monotonic() - since
            over.wait(chance.uniform(30, 150))

    compiler = threading.Thread(target=compile_now_and_then)
    compiler.start()
    try:
        for number in range(1, 11):
            command = [arguments.program, "--dlroof_suite=paper", f"--benchmark_out={folder / f'{number}.json'}"]
            subprocess.run(command, stdout=subprocess.DEVNULL)
            print(f"{number}: {time.monotonic() - begin:.0f} s since the beginning, a compiler worked in {working[0]:.0f} s of it", flush=True)
    finally:
        over.set()
        compiler.join()
    return 0


def times(path):
    """The times of a run file: by name the median, its interval, the clean repetitions; None: no time."""
    run = json.loads(pathlib.Path(path).read_text())
    found = {}
    for record in run["records"]:
        if record["status"] == "unsupported":
            continue
        seconds = record.get("seconds")
        if seconds:
            seconds = {key: seconds.get(key) for key in ("median", "ci95", "clean", "disturbed")} | {"made": len(record["repetitions"])}
            # Builds up to 2026-11-23 did not ask for as many clean repetitions as disturbed ones.
            seconds["disturbed"] = seconds["disturbed"] or 2 * seconds["clean"] < seconds["made"]
        found[record["name"]] = seconds
    words = run["context"]["dlroof"].get("command", "").split()
    return {"command": " ".join(word for word in words if not word.startswith("--benchmark_out=")), "times": found}


def print_beside(quiet, busy):
    """How many intervals of the busy run hold the quiet median."""
    quiet, busy = quiet["times"], busy["times"]
    rows = {"clean": [0, 0, 0], "estimate (~)": [0, 0, 0]}
    missing, outside, ratios = [], [], []
    for name, alone in quiet.items():
        beside = busy.get(name)
        if not beside:
            missing.append(name)
            continue
        row = rows["estimate (~)" if beside["disturbed"] else "clean"]
        row[0] += 1
        ratios.append(beside["median"] / alone["median"])
        if not beside["ci95"]:
            row[2] += 1
        elif beside["ci95"][0] <= alone["median"] <= beside["ci95"][1]:
            row[1] += 1
        else:
            outside.append((name, alone, beside))
    print("| beside busy loops | benchmarks | interval holds the quiet median | no interval |\n| --- | --- | --- | --- |")
    for kind, row in rows.items():
        print(f"| {kind} | {row[0]} | {row[1]} | {row[2]} |")
    print(f"| no time | {len(missing)} | | |")
    ratios.sort()
    if ratios:
        print(f"\nbusy over quiet: {ratios[0]:.2f} to {ratios[-1]:.2f}, median {ratios[len(ratios) // 2]:.2f}")
    for name, alone, beside in outside:
        print(f"outside: {name}: quiet {alone['median']:.4g} s {alone['ci95']}, busy {beside['median']:.4g} s {beside['ci95']}")


def print_agreement(runs):
    """How far the clean times of several runs agree, pair by pair."""
    within = pairs = 0
    worst = []
    for name in runs[0]["times"]:
        clean = [run["times"][name]["median"] for run in runs if run["times"].get(name) and not run["times"][name]["disturbed"]]
        for one, other in itertools.combinations(clean, 2):
            pairs += 1
            within += max(one, other) <= 1.1 * min(one, other)
        if len(clean) > 1:
            worst.append((max(clean) / min(clean), name, len(clean)))
    worst.sort(reverse=True)
    overlap = intervals = 0
    for name in runs[0]["times"]:
        known = [run["times"][name]["ci95"] for run in runs if run["times"].get(name) and run["times"][name]["ci95"]]
        for one, other in itertools.combinations(known, 2):
            intervals += 1
            overlap += one[0] <= other[1] and other[0] <= one[1]
    share = f"{100 * within / pairs:.1f} %" if pairs else "none"
    print(f"\n{len(runs)} runs: {within} of {pairs} pairs of clean times agree within 10 % ({share})")
    print(f"of {intervals} pairs of intervals, clean or not, {overlap} overlap")
    for ratio, name, count in worst[:5]:
        print(f"farthest: {ratio:.2f} {name} ({count} clean)")


def tables(arguments):
    stored = pathlib.Path(arguments.stored)
    if arguments.quiet:
        study = {
            "command": " ".join(pathlib.Path(word).name for word in sys.argv),
            "quiet": times(arguments.quiet),
            "busy": times(arguments.busy),
            "runs": [times(path) for path in arguments.runs],
        }
        stored.write_text(json.dumps(study, indent=0) + "\n")
    elif arguments.runs:
        study = json.loads(stored.read_text()) if stored.exists() else {}
        study["runs"] = [times(path) for path in arguments.runs]
        stored.write_text(json.dumps(study, indent=0) + "\n")
    study = json.loads(stored.read_text())
    if "quiet" in study:
        print_beside(study["quiet"], study["busy"])
    if study.get("runs"):
        print_agreement(study["runs"])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("loops")
    one.add_argument("program")
    one.add_argument("run_file")
    one.set_defaults(run=loops)
    ten = commands.add_parser("runs")
    ten.add_argument("program")
    ten.add_argument("folder")
    ten.add_argument("--compiler", required=True)
    ten.set_defaults(run=runs)
    other = commands.add_parser("tables")
    other.add_argument("stored")
    other.add_argument("--quiet")
    other.add_argument("--busy")
    other.add_argument("--runs", nargs="*", default=[])
    other.set_defaults(run=tables)
    arguments = parser.parse_args()
    sys.exit(arguments.run(arguments))


main()
