#!/usr/bin/env python3
"""Times the same calls with dlroof_bench and with benchdnn, one after the other, case by case.

    ci/benchdnn_side_by_side.py --benchdnn=PATH -o table.json

benchdnn comes with oneDNN's sources; build it against the library that dlroof uses. Both get the
same problem, attributes, threads and CPUs: benchdnn is given each record's `repro` line. First
every case once with each program's defaults, for the wall times; then rounds in which the two
alternate, each taking the mean time of a call over many short windows (our repetitions, benchdnn's
--repeats-per-prb). They are compared in two ways: `ratio`, our median over benchdnn's average, the
median of the rounds; and `quiet_ratio`, our quietest window over its quietest one, which a machine's
bursts of noise touch less. How far the machine repeats itself shows where each program is compared
with itself, even rounds with odd ones (`dlroof_itself`, `benchdnn_itself`, of quietest windows).
Every single figure is kept in the file.
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
                            f"--dlroof_threads={arguments.threads}", *flags,
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


def measure_once(arguments, case, cpus, windows=None):
    """Both programs once; with their own defaults where `windows` is not given."""
    ours_flags = theirs_flags = ()
    if windows:
        theirs_flags = (f"--repeats-per-prb={windows}",
                        f"--max-ms-per-prb={arguments.milliseconds}")
        ours_flags = (f"--benchmark_repetitions={windows}",
                      f"--benchmark_min_time={arguments.milliseconds / 1e3}")
    theirs = run_benchdnn(arguments, case["repro"], cpus, theirs_flags)
    wall, file = run_ours(arguments, exactly(case["name"]), ours_flags)
    record = next(r for r in file["records"] if r["name"] == case["name"])
    means = [r["seconds"] for r in record["repetitions"]]
    ours = {"windows": means, "wall_seconds": wall,
            "implementation": record["algorithm"].split(";")[0],
            "median": record.get("seconds", {}).get("median", statistics.median(means))}
    return {"dlroof": ours, "benchdnn": theirs}


def quietest(rounds, program):
    return min(min(r[program]["windows"]) for r in rounds)


def add_ratios(case):
    rounds = case["rounds"]
    case["ratio"] = statistics.median(
        r["dlroof"]["median"] / statistics.mean(r["benchdnn"]["windows"]) for r in rounds)
    case["quiet_ratio"] = quietest(rounds, "dlroof") / quietest(rounds, "benchdnn")
    if len(rounds) > 1:
        for program in ("dlroof", "benchdnn"):
            case[program + "_itself"] = quietest(rounds[::2], program) / quietest(rounds[1::2],
                                                                                 program)


def spread(cases, key):
    ratios = sorted(c[key] for c in cases if key in c)
    if not ratios:
        return {}
    return {"cases": len(ratios), "within_2_percent": sum(abs(r - 1) <= 0.02 for r in ratios),
            "within_5_percent": sum(abs(r - 1) <= 0.05 for r in ratios),
            "least": ratios[0], "median": statistics.median(ratios), "largest": ratios[-1]}


def summary(cases):
    ours = sum(c["defaults"]["dlroof"]["wall_seconds"] for c in cases)
    theirs = sum(c["defaults"]["benchdnn"]["wall_seconds"] for c in cases)
    keys = ("quiet_ratio", "ratio", "dlroof_itself", "benchdnn_itself")
    return {**{key: spread(cases, key) for key in keys}, "wall_ratio": ours / theirs,
            "same_implementation": sum(c["rounds"][0]["dlroof"]["implementation"] ==
                                       c["rounds"][0]["benchdnn"]["implementation"] for c in cases)}


def show(case, wall):
    ours, theirs = (quietest(case["rounds"], p) * 1e6 for p in ("dlroof", "benchdnn"))
    print(f"{ours:12.2f} us {theirs:12.2f} us {case['ratio']:7.3f} {case['quiet_ratio']:7.3f}  {case['name']}  [{wall:.0f} s]",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchdnn", required=True, help="the program")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--suite", default="ci/benchdnn_cases.txt")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--windows", type=int, default=20, help="of each program in a round")
    parser.add_argument("--milliseconds", type=int, default=50, help="of a window")
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
    cases = [{"name": r["name"], "repro": r["repro"], "rounds": []} for r in file["records"]
             if r["status"] == "ok" and r.get("repro")]
    for case in cases:
        case["defaults"] = measure_once(arguments, case, cpus)
    for _ in range(arguments.rounds):
        for case in cases:
            case["rounds"].append(measure_once(arguments, case, cpus, arguments.windows))
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
