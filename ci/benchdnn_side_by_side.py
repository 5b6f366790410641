#!/usr/bin/env python3
"""Times the same calls with dlroof_bench and with benchdnn, one after the other, case by case.

    ci/benchdnn_side_by_side.py --benchdnn=PATH --suite=ci/benchdnn_cases.txt -o table.json

benchdnn comes with oneDNN's sources; build it against the library that dlroof uses. Both get the
same problem, attributes, threads and CPUs: benchdnn is given each record's `repro` line. A round
runs every case once with each program; what is compared is our median with benchdnn's average,
per case the median of the rounds' ratios. Every single figure is kept in the file.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

PERF_LINE = re.compile(r"^perf,cpu,([^,]*),", re.MULTILINE)
TOTAL_LINE = re.compile(r"total perf: min\(ms\):(\S+) avg\(ms\):(\S+)")


def timed(command, environment=None):
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return time.monotonic() - begin, done


def run_ours(arguments, name_filter):
    """The run file of dlroof_bench and the program's wall time [s]."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        wall, done = timed([arguments.bench, f"--dlroof_suite={arguments.suite}",
                            f"--dlroof_threads={arguments.threads}",
                            f"--benchmark_filter={name_filter}", f"--benchmark_out={out.name}"])
        if done.returncode != 0:
            sys.exit(f"{arguments.bench}: exit {done.returncode}: {done.stderr.strip()}")
        with open(out.name, encoding="utf-8") as file:
            return wall, json.load(file)


def run_benchdnn(arguments, repro, cpus):
    """Average and least time of a call [s], the implementation, the program's wall time [s]."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), OMP_PROC_BIND="close",
                       OMP_PLACES=",".join(f"{{{cpu}}}" for cpu in cpus))
    wall, done = timed([arguments.benchdnn, *shlex.split(repro)], environment)
    total, line = TOTAL_LINE.search(done.stdout), PERF_LINE.search(done.stdout)
    if done.returncode != 0 or not total or float(total[2]) == 0:
        sys.exit(f"benchdnn {repro}: no time in its output:\n{done.stdout}{done.stderr}")
    return {"average": float(total[2]) / 1e3, "least": float(total[1]) / 1e3,
            "implementation": line[1], "wall_seconds": wall}


def exactly(name):
    return "^" + re.escape(name).replace("\\/", "/").replace("\\-", "-") + "(/|$)"


def compare_once(arguments, case, cpus):
    """One round of one case; nothing when our repetitions were too disturbed to say."""
    theirs = run_benchdnn(arguments, case["repro"], cpus)
    wall, file = run_ours(arguments, exactly(case["name"]))
    record = next(r for r in file["records"] if r["name"] == case["name"])
    ours = {"wall_seconds": wall, "algorithm": record.get("algorithm")}
    if "seconds" in record:
        ours["median"] = record["seconds"]["median"]
        ours["least"] = min(r["seconds"] for r in record["repetitions"])
    return {"dlroof": ours, "benchdnn": theirs}


def add_ratios(case):
    pairs = [r for r in case["rounds"] if "median" in r["dlroof"]]
    if not pairs:
        return
    case["ratios"] = [r["dlroof"]["median"] / r["benchdnn"]["average"] for r in pairs]
    case["ratio"] = statistics.median(case["ratios"])
    walls = [r["dlroof"]["wall_seconds"] / r["benchdnn"]["wall_seconds"] for r in case["rounds"]]
    case["wall_ratio"] = statistics.median(walls)


def summary(cases, op):
    rated = [c for c in cases if c["name"].startswith(op) and "ratio" in c]
    if not rated:
        return {}
    near = [c for c in rated if abs(c["ratio"] - 1) <= 0.02]
    return {"cases": len(rated), "within_2_percent": len(near),
            "median_ratio": statistics.median(c["ratio"] for c in rated),
            "least_ratio": min(c["ratio"] for c in rated),
            "largest_ratio": max(c["ratio"] for c in rated),
            "wall_ratio": sum(r["dlroof"]["wall_seconds"] for c in rated for r in c["rounds"]) /
                          sum(r["benchdnn"]["wall_seconds"] for c in rated for r in c["rounds"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchdnn", required=True, help="the program")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--suite", default="ci/benchdnn_cases.txt")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    with open(arguments.suite, encoding="utf-8") as suite:
        names = [line.split("#")[0].strip() for line in suite]
    _, file = run_ours(arguments, "|".join(exactly(n) for n in names if n))
    machine, context = file["machines"][0], file["context"]["dlroof"]
    cases = [{"name": r["name"], "repro": r["repro"], "rounds": []} for r in file["records"]
             if r["status"] == "ok" and r.get("repro")]
    for _ in range(arguments.rounds):
        for case in cases:
            case["rounds"].append(compare_once(arguments, case, context["pinned_cpus"]))
            add_ratios(case)
            last = case["rounds"][-1]
            print(f"{last['dlroof'].get('median', float('nan')) * 1e6:12.2f} us "
                  f"{last['benchdnn']['average'] * 1e6:12.2f} us  {case.get('ratio', 0):6.3f}  "
                  f"{case['name']}", flush=True)
    result = {"machine": machine["name"], "fingerprint": machine["fingerprint"],
              "threads": arguments.threads, "libraries": context["libraries"],
              "command": shlex.join(sys.argv), "summary":
              {op: summary(cases, op) for op in ("Conv2D", "LSTM")}, "cases": cases}
    with open(arguments.output, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print(json.dumps(result["summary"], indent=1))


if __name__ == "__main__":
    main()
