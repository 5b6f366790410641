#!/usr/bin/env python3
"""How many visits does a busy machine need until its roofs are validated?

    baselines/studies/roof_visits/roof_visits.py --dlroof-bench build/dlroof_bench -o 2026-11-26-NAME.json
    baselines/studies/roof_visits/roof_visits.py --table FILE...

Each trial has an empty cache and runs one small LSTM three times; each run is a visit to the roofs that it needs. In half
of the trials a program keeps one CPU busy all the time. The rates are compared with the fastest ones that any trial saw.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

NAME = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h64"
RUNS = 3


def roofs(machine):
    """The roofs of a machine that the benchmark needs: {"2 fp32.vector": [rate, validated, visits]}."""
    found = {}
    for threads, ceilings in machine["by_threads"].items():
        rows = {"fp32.vector": ceilings["flops"]["fp32.vector"], **ceilings["bytes"]}
        for key, row in rows.items():
            found[f"{threads} {key}"] = [row["per_second"], row["proved"], len(row.get("visits", []))]
    return found


def run(bench, cache, folder):
    out = os.path.join(folder, "run.json")
    begin = time.monotonic()
    command = [bench, f"--benchmark_filter=^{NAME}/", "--benchmark_repetitions=1", f"--benchmark_out={out}"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": cache})
    seconds = time.monotonic() - begin
    with open(out, encoding="utf-8") as file:
        content = json.load(file)
    machine = next(each for each in content["machines"] if each["device"] == "cpu")
    classic = [point for record in content["records"] for point in record.get("classic", [])]
    return {
        "seconds": round(seconds, 1),
        "roofs": roofs(machine),
        "percentages": sum("fraction" in point for point in classic),
        "upper_limits": sum("fraction_at_most" in point for point in classic),
    }


def trial(bench, busy):
    burner = None
    if busy:
        burner = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            return {"busy": busy, "runs": [run(bench, folder, folder) for _ in range(RUNS)]}
    finally:
        if burner:
            burner.kill()
            burner.wait()


def measure(bench, trials, output):
    done = {"command": " ".join(sys.argv), "date": time.strftime("%Y-%m-%d"), "cpus": os.cpu_count(), "system": platform.platform(), "trials": []}
    for number in range(trials):
        done["trials"].append(trial(bench, bool(number % 2)))
        with open(output, "w", encoding="utf-8") as file:
            json.dump(done, file, indent=1)
        print(f"trial {number + 1} of {trials}", file=sys.stderr)


def best_rates(data):
    best = {}
    for each in data["trials"]:
        for one in each["runs"]:
            for key, (rate, _, _) in one["roofs"].items():
                best[key] = max(best.get(key, 0), rate)
    return best


def table(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    best = best_rates(data)
    print("| machine | visit | seconds | validated | lowest validated rate, of the best seen |")
    print("| --- | --- | --- | --- | --- |")
    for busy in (False, True):
        trials = [each for each in data["trials"] if each["busy"] == busy]
        for number in range(RUNS):
            rows = [(key, *row) for each in trials for key, row in each["runs"][number]["roofs"].items()]
            validated = [(key, rate) for key, rate, proved, _ in rows if proved]
            seconds = sorted(each["runs"][number]["seconds"] for each in trials)
            lowest = min((rate / best[key] for key, rate in validated), default=0)
            print(
                f"| {'one busy CPU' if busy else 'as it was'} | {number + 1} | {seconds[0]:.0f} to {seconds[-1]:.0f} | "
                f"{len(validated)} of {len(rows)} | {100 * lowest:.0f} % |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlroof-bench", default="build/dlroof_bench")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("-o", "--output")
    parser.add_argument("--table", nargs="+")
    arguments = parser.parse_args()
    if arguments.table:
        for path in arguments.table:
            table(path)
    elif arguments.output:
        measure(arguments.dlroof_bench, arguments.trials, arguments.output)
    else:
        parser.error("expected -o FILE or --table FILE")


if __name__ == "__main__":
    main()
