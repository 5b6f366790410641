#!/usr/bin/env python3
"""Times the same calls with dlroof_bench and with benchdnn, both running by turns, case by case.

    ci/benchdnn_side_by_side.py --benchdnn=PATH -o table.json

benchdnn comes with oneDNN's sources; build it against the library that dlroof uses. Both get the
same problem, attributes, threads and CPUs: benchdnn is given each record's `repro` line. A shared
machine slows down and recovers within seconds, so two runs after one another cannot be compared to
2 %. Here three programs (dlroof_bench, benchdnn, and benchdnn once more) take turns of a few tens
of milliseconds on the same CPUs, in random order, until each has measured for `--seconds`; while
one has its turn the others are stopped, and ci/pausing_clock.c keeps the stop out of the time that
they read. So all three see the same slow spells, and each keeps its own way of timing. A case's
`ratio` is our median over benchdnn's average (`mean_ratio`: our mean instead, which weighs slow
spells as benchdnn's average does); `benchdnn_itself` is the second benchdnn's average over the
first's: what this machine lets one tell. First every third case runs once with each program's
defaults, alone, for the wall times. Every single figure is kept in the file.
"""
import argparse
import json
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# perf,cpu,IMPLEMENTATION,...,least time [ms],its GFLOP/s,average time [ms],its GFLOP/s
PERF_LINE = re.compile(r"^perf,cpu,([^,]*),.*,([^,]+),[^,]+,([^,]+),[^,]+$", re.MULTILINE)


def exactly(name):
    return "^" + re.escape(name).replace("\\/", "/").replace("\\-", "-") + "(/[a-z]+_time)?$"


def our_command(arguments, name_filter, out, flags=()):
    return [arguments.bench, f"--dlroof_suite={arguments.suite}",
            f"--dlroof_threads={arguments.threads}", "--dlroof_live_check=false", *flags,
            f"--benchmark_filter={name_filter}", f"--benchmark_out={out}"]


def benchdnn_command(arguments, repro, flags=()):
    driver, *rest = shlex.split(repro)
    return [arguments.benchdnn, driver, *flags, *rest]


def benchdnn_environment(arguments, cpus):
    library = os.pathsep.join(filter(None, (arguments.library, os.environ.get("LD_LIBRARY_PATH"))))
    return {"OMP_NUM_THREADS": str(arguments.threads), "OMP_PROC_BIND": "close",
            "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in cpus), "LD_LIBRARY_PATH": library}


class Turns:
    """A program that runs only when it has its turn."""

    def __init__(self, label, command, environment, folder, clock):
        self.label, self.command = label, command
        self.output = os.path.join(folder, f"{label}.txt")
        self.readings = os.path.join(folder, f"{label}.readings")
        environment = {**os.environ, **environment, "LD_PRELOAD": clock,
                       "READINGS": self.readings}
        with open(self.output, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, env=environment, stdout=out,
                                            stderr=subprocess.STDOUT)
        self.ended = self.turns = 0

    def wait(self, options=0):
        """Until it has stopped or ended (with WNOHANG: looks once)."""
        pid, status = os.waitpid(self.process.pid, os.WUNTRACED | options)
        if pid == 0 or os.WIFSTOPPED(status):
            return
        self.ended = True
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode != 0:
            sys.exit(f"{shlex.join(self.command)}: exit {self.process.returncode}:\n{self.text()}")

    def go(self, seconds):
        self.process.send_signal(signal.SIGCONT)
        self.stop_after(seconds)
        self.turns += 1

    def stop_after(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(0.005, seconds))
            self.wait(os.WNOHANG)
            if self.ended:
                return
        self.process.send_signal(signal.SIGUSR1)
        self.wait()

    def text(self):
        with open(self.output, encoding="utf-8") as file:
            return file.read()


def run(command, environment=None):
    begin = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.monotonic() - begin, done.stdout


def run_ours(arguments, name_filter, flags=()):
    """The run file of dlroof_bench and the program's wall time [s]."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        wall, _ = run(our_command(arguments, name_filter, out.name, flags))
        with open(out.name, encoding="utf-8") as file:
            return wall, json.load(file)


def benchdnn_average(text):
    """(implementation, average time of a call [s])"""
    lines = PERF_LINE.findall(text)
    if not lines or float(lines[0][2]) == 0:
        sys.exit(f"benchdnn: no time in its output:\n{text}")
    return lines[0][0], float(lines[0][2]) / 1e3


def ours_of(path, name, share):
    """The first `share` of the repetitions: those of the turns when benchdnn was there too."""
    with open(path, encoding="utf-8") as file:
        record = next(r for r in json.load(file)["records"] if r["name"] == name)
    windows = [r["seconds"] for r in record["repetitions"]]
    windows = windows[:max(1, int(share * len(windows)))]
    return {"windows": windows, "implementation": record["algorithm"].split(";")[0],
            "median": statistics.median(windows), "mean": statistics.mean(windows)}


def look_ahead(arguments, case, cpus, folder):
    """How long a call takes [s], at which reading of the clock benchdnn begins to measure, and how
    long ours prepares [s]."""
    readings = os.path.join(folder, "readings")
    environment = {**benchdnn_environment(arguments, cpus), "READINGS": readings,
                   "LD_PRELOAD": arguments.clock}
    _, text = run(benchdnn_command(arguments, case["repro"], ("--fix-times-per-prb=2",)),
                  environment)
    with open(readings, encoding="utf-8") as file:
        begins_at = int(file.read()) - 2
    wall, _ = run_ours(arguments, exactly(case["name"]),
                       ("--benchmark_repetitions=1", "--benchmark_min_time=0.001"))
    return float(PERF_LINE.findall(text)[0][1]) / 1e3, begins_at, wall


def measure_by_turns(arguments, case, cpus, folder):
    call, begins_at, prepares = look_ahead(arguments, case, cpus, folder)
    turn = max(arguments.turn / 1e3, 3 * call)
    seconds = max(arguments.seconds, 12 * turn)
    window = max(0.01, call)
    out = os.path.join(folder, "ours.json")
    environment = {**benchdnn_environment(arguments, cpus), "PAUSE_AT": str(begins_at)}
    theirs = benchdnn_command(arguments, case["repro"], (f"--max-ms-per-prb={seconds * 1e3:.0f}",))
    programs = [Turns(label, theirs, environment, folder, arguments.clock)
                for label in ("benchdnn", "again")]
    for program in programs:
        program.wait()
    ours = Turns("dlroof", our_command(arguments, exactly(case["name"]), out, (
        f"--benchmark_repetitions={int(seconds / window) + 1}",
        f"--benchmark_min_time={window}")), {}, folder, arguments.clock)
    ours.stop_after(0.9 * prepares)
    programs.append(ours)
    together = 0
    while waiting := [p for p in programs if not p.ended]:
        random.shuffle(waiting)
        for program in waiting:
            program.go(turn)
        if len(waiting) > 1:
            together = ours.turns
    implementation, average = benchdnn_average(programs[0].text())
    return {"turn_seconds": turn, "turns": {p.label: p.turns for p in programs},
            "dlroof": ours_of(out, case["name"], together / ours.turns),
            "benchdnn": {"implementation": implementation, "average": average},
            "again": {"average": benchdnn_average(programs[1].text())[1]}}


def add_ratios(case):
    average = case["benchdnn"]["average"]
    case["ratio"] = case["dlroof"]["median"] / average
    case["mean_ratio"] = case["dlroof"]["mean"] / average
    case["benchdnn_itself"] = case["again"]["average"] / average


def spread(ratios):
    """How many ratios lie near 1."""
    ratios = sorted(ratios)
    return {"cases": len(ratios), "within_2_percent": sum(abs(r - 1) <= 0.02 for r in ratios),
            "within_5_percent": sum(abs(r - 1) <= 0.05 for r in ratios), "least": ratios[0],
            "median": statistics.median(ratios), "largest": ratios[-1]} if ratios else {}


def summary(cases):
    walls = [c["defaults"] for c in cases if "defaults" in c]
    result = {key: spread([c[key] for c in cases])
              for key in ("ratio", "mean_ratio", "benchdnn_itself")}
    result["same_implementation"] = sum(
        c["dlroof"]["implementation"] == c["benchdnn"]["implementation"] for c in cases)
    if walls:
        result["wall_ratio"] = sum(w["dlroof"] for w in walls) / sum(w["benchdnn"] for w in walls)
        result["wall_cases"] = len(walls)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchdnn", required=True, help="the program")
    parser.add_argument("--library", default="", help="folder of the oneDNN that both use")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--suite", default="ci/benchdnn_cases.txt")
    parser.add_argument("--seconds", type=float, default=4, help="of each program and case")
    parser.add_argument("--turn", type=float, default=20, help="[ms] (at least three calls)")
    parser.add_argument("--walls", type=int, default=3,
                        help="wall times of every so many-th case (0: none)")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    begin = time.monotonic()
    random.seed(1)
    with open(arguments.suite, encoding="utf-8") as suite:
        names = [line.split("#")[0].strip() for line in suite]
    _, file = run_ours(arguments, "|".join(exactly(n) for n in names if n),
                       ("--benchmark_repetitions=1", "--benchmark_min_time=0.001"))
    machine, context = file["machines"][0], file["context"]["dlroof"]
    cpus = context["pinned_cpus"]
    cases = [{"name": r["name"], "repro": r["repro"]} for r in file["records"]
             if r["status"] == "ok" and r.get("repro") and arguments.only in r["name"]]
    for case in cases[::arguments.walls] if arguments.walls > 0 else []:
        case["defaults"] = {
            "dlroof": run_ours(arguments, exactly(case["name"]))[0],
            "benchdnn": run(benchdnn_command(arguments, case["repro"]),
                            benchdnn_environment(arguments, cpus))[0]}
    with tempfile.TemporaryDirectory() as folder:
        arguments.clock = os.path.join(folder, "pausing_clock.so")
        source = os.path.join(os.path.dirname(__file__), "pausing_clock.c")
        run(["cc", "-O2", "-shared", "-fPIC", source, "-o", arguments.clock, "-ldl"])
        for case in cases:
            case.update(measure_by_turns(arguments, case, cpus, folder))
            add_ratios(case)
            print(f"{case['benchdnn']['average'] * 1e6:12.2f} us {case['ratio']:7.3f} "
                  f"{case['mean_ratio']:7.3f} {case['benchdnn_itself']:7.3f} {case['name']}  "
                  f"[{time.monotonic() - begin:.0f} s]", flush=True)
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
