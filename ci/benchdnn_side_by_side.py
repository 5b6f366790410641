#!/usr/bin/env python3
"""Times the same calls with dlroof_bench and with benchdnn, one after the other, case by case.

    ci/benchdnn_side_by_side.py --benchdnn=PATH -o table.json

benchdnn comes with oneDNN's sources; build it against the library that dlroof uses. Both get the
same problem, attributes, threads and CPUs: benchdnn is given each record's `repro` line. First
every third case once with each program's defaults, for the wall times; then pairs: both programs
right after one another, in turns first, each for a few short windows (our repetitions, benchdnn's
--repeats-per-prb). A case's `ratio` is the median over its pairs of our median over benchdnn's
average, with the interval of that median by order statistics. A slow spell of the machine takes
seconds and so hits both of a pair, or spoils one pair of many. How well this works shows where
benchdnn is compared with itself in the same way (`benchdnn_itself`: each pair's average over the
one before). Every single figure is kept in the file.
"""
import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

# perf,cpu,IMPLEMENTATION,...,least time [ms],its GFLOP/s,average time [ms],its GFLOP/s
PERF_LINE = re.compile(r"^perf,cpu,([^,]*),.*,([^,]+),[^,]+,([^,]+),[^,]+$", re.MULTILINE)


def timed(command, environment=None):
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return time.monotonic() - begin, done


def run_ours(arguments, name_filter, flags=()):
    """The run file of dlroof_bench and the program's wall time [s]."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        wall, done = timed([arguments.bench, f"--dlroof_suite={arguments.suite}",
                            f"--dlroof_threads={arguments.threads}", "--dlroof_live_check=false",
                            *flags,
                            f"--benchmark_filter={name_filter}", f"--benchmark_out={out.name}"])
        if done.returncode != 0:
            sys.exit(f"{arguments.bench}: exit {done.returncode}: {done.stderr.strip()}")
        with open(out.name, encoding="utf-8") as file:
            return wall, json.load(file)


def run_benchdnn(arguments, repro, cpus, flags=()):
    """Means of a call over each window [s], the implementation, the program's wall time [s]."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), OMP_PROC_BIND="close",
                       OMP_PLACES=",".join(f"{{{cpu}}}" for cpu in cpus))
    driver, *rest = shlex.split(repro)
    wall, done = timed([arguments.benchdnn, driver, *flags, *rest], environment)
    lines = PERF_LINE.findall(done.stdout)
    if done.returncode != 0 or not lines or float(lines[0][2]) == 0:
        sys.exit(f"benchdnn {repro}: no time in its output:\n{done.stdout}{done.stderr}")
    return {"windows": [float(average) / 1e3 for _, _, average in lines],
            "implementation": lines[0][0], "wall_seconds": wall}


def exactly(name):
    return "^" + re.escape(name).replace("\\/", "/").replace("\\-", "-") + "(/[a-z]+_time)?$"


def measure_once(arguments, case, cpus, windows=None, ours_first=False):
    """Both programs once; with their own defaults where `windows` is not given."""
    ours_flags = theirs_flags = ()
    if windows:
        theirs_flags = (f"--repeats-per-prb={windows}",
                        f"--max-ms-per-prb={arguments.milliseconds}")
        ours_flags = (f"--benchmark_repetitions={windows}",
                      f"--benchmark_min_time={arguments.milliseconds / 1e3}")
    theirs = None if ours_first else run_benchdnn(arguments, case["repro"], cpus, theirs_flags)
    wall, file = run_ours(arguments, exactly(case["name"]), ours_flags)
    theirs = theirs or run_benchdnn(arguments, case["repro"], cpus, theirs_flags)
    record = next(r for r in file["records"] if r["name"] == case["name"])
    means = [r["seconds"] for r in record["repetitions"]]
    ours = {"windows": means, "wall_seconds": wall,
            "implementation": record["algorithm"].split(";")[0],
            "median": record.get("seconds", {}).get("median", statistics.median(means))}
    return {"dlroof": ours, "benchdnn": theirs}


def middle(values):
    """Median and its distribution-free 95 % interval (order statistics; absent below 6 values)."""
    values = sorted(values)
    count, below, tail = len(values), 0, 0.5 ** len(values)
    while tail + math.comb(count, below + 1) * 0.5 ** count <= 0.025:
        below += 1
        tail += math.comb(count, below) * 0.5 ** count
    result = {"ratio": statistics.median(values)}
    if count >= 6:
        result["ci95"] = [values[below], values[count - 1 - below]]
    return result


def average(pair, program):
    return statistics.mean(pair[program]["windows"])


def add_ratios(case):
    pairs = case["pairs"]
    case.update(middle([p["dlroof"]["median"] / average(p, "benchdnn") for p in pairs]))
    if len(pairs) > 1:
        case["benchdnn_itself"] = middle([average(later, "benchdnn") / average(earlier, "benchdnn")
                                          for earlier, later in zip(pairs, pairs[1:])])


def spread(found):
    """How many ratios lie near 1; and how many intervals reach there."""
    ratios = sorted(f["ratio"] for f in found)
    if not ratios:
        return {}
    intervals = [f["ci95"] for f in found if "ci95" in f]
    return {"cases": len(ratios), "within_2_percent": sum(abs(r - 1) <= 0.02 for r in ratios),
            "within_5_percent": sum(abs(r - 1) <= 0.05 for r in ratios),
            "interval_reaches_2_percent": sum(low <= 1.02 and high >= 0.98
                                              for low, high in intervals),
            "least": ratios[0], "median": statistics.median(ratios), "largest": ratios[-1]}


def summary(cases):
    walls = [c["defaults"] for c in cases if "defaults" in c]
    result = {"ratio": spread(cases),
              "benchdnn_itself": spread([c["benchdnn_itself"] for c in cases
                                         if "benchdnn_itself" in c]),
              "same_implementation": sum(c["pairs"][0]["dlroof"]["implementation"] ==
                                         c["pairs"][0]["benchdnn"]["implementation"] for c in cases)}
    if walls:
        result["wall_ratio"] = (sum(w["dlroof"]["wall_seconds"] for w in walls) /
                                sum(w["benchdnn"]["wall_seconds"] for w in walls))
        result["wall_cases"] = len(walls)
    return result


def show(case, wall):
    low, high = case.get("ci95", (float("nan"), float("nan")))
    print(f"{average(case['pairs'][-1], 'benchdnn') * 1e6:12.2f} us {case['ratio']:7.3f} "
          f"[{low:.3f}, {high:.3f}] {case['name']}  [{wall:.0f} s]", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchdnn", required=True, help="the program")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--suite", default="ci/benchdnn_cases.txt")
    parser.add_argument("--pairs", type=int, default=16, help="of each case")
    parser.add_argument("--windows", type=int, default=3, help="of each program in a pair")
    parser.add_argument("--milliseconds", type=int, default=30, help="of a window")
    parser.add_argument("--walls", type=int, default=3,
                        help="wall times of every so many-th case (0: none)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    begin = time.monotonic()
    with open(arguments.suite, encoding="utf-8") as suite:
        names = [line.split("#")[0].strip() for line in suite]
    _, file = run_ours(arguments, "|".join(exactly(n) for n in names if n),
                       ("--benchmark_repetitions=1", "--benchmark_min_time=0.001"))
    machine, context = file["machines"][0], file["context"]["dlroof"]
    cpus = context["pinned_cpus"]
    cases = [{"name": r["name"], "repro": r["repro"], "pairs": []} for r in file["records"]
             if r["status"] == "ok" and r.get("repro")]
    for case in cases[::arguments.walls] if arguments.walls > 0 else []:
        case["defaults"] = measure_once(arguments, case, cpus)
    for case in cases:
        for pair in range(arguments.pairs):
            case["pairs"].append(measure_once(arguments, case, cpus, arguments.windows,
                                              ours_first=pair % 2 == 1))
        add_ratios(case)
        show(case, time.monotonic() - begin)
    result = {"machine": machine["name"], "fingerprint": machine["fingerprint"],
              "threads": arguments.threads, "libraries": context["libraries"],
              "command": shlex.join(sys.argv), "summary":
              {op: summary([c for c in cases if c["name"].startswith(op)])
               for op in ("Conv2D", "LSTM")}, "cases": cases}
    with open(arguments.output, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print(json.dumps(result["summary"], indent=1))


if __name__ == "__main__":
    main()
