#!/usr/bin/env python3
"""Times the same calls with dlroof_bench and with benchdnn, interleaved, case by case.

    baselines/studies/benchdnn/benchdnn_side_by_side.py --benchdnn=PATH -o table.json

benchdnn comes with oneDNN's sources; build it against the library that dlroof uses. Both get the
same problem, attributes, threads and CPUs: benchdnn is given each record's `repro` line. A shared
machine slows down and recovers within seconds, so two runs after one another cannot be compared to
2 %. Here three programs (dlroof_bench, benchdnn, and benchdnn once more) take turns of a few tens
of milliseconds on the same CPUs, in random order, while the others are stopped;
baselines/studies/benchdnn/pausing_clock.c keeps the stop out of the time that benchdnn reads, and notes when its turn has
filled the caches again and when it stops how many calls it has timed and until when (dlroof_bench
warms up by itself). So each turn has a time of a call by each program, and each program keeps its
own way of timing. The ratio of two programs is the median over rounds of
their times' ratio. Where their memory lies differs from process to process and changes a call's
time by some percent for as long as the process lives, so a case is measured with several trios of
new processes (4 to `--most`, until the standard error of both ratios is below `--sure`); `ours` is
the Hodges-Lehmann estimate over them of our time over benchdnn's, `benchdnn_itself` of the second
benchdnn's over the first's: the noise floor of this machine. `plain` has the same from what the programs themselves
say: the median of our repetitions and benchdnn's average of all its calls. First every third case
runs once by itself with each program's defaults, for the wall times.
"""
import argparse
import json
import math
import os
import random
import re
import shlex
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# perf,cpu,IMPLEMENTATION,...,least time [ms],its GFLOP/s,average time [ms],its GFLOP/s
PERF_LINE = re.compile(r"^perf,cpu,([^,]*),.*,([^,]+),[^,]+,([^,]+),[^,]+$", re.MULTILINE)


def exactly(name):
    return "^" + re.escape(name).replace("\\/", "/").replace("\\-", "-") + "(/[a-z]+_time)?$"


def our_command(arguments, name_filter, out, flags=()):
    return [
        arguments.bench,
        f"--dlroof_suite={arguments.suite}",
        f"--dlroof_threads={arguments.threads}",
        "--dlroof_live_check=false",
        *flags,
        f"--benchmark_filter={name_filter}",
        f"--benchmark_out={out}",
    ]


def benchdnn_command(arguments, repro, flags=()):
    driver, *rest = shlex.split(repro)
    return [arguments.benchdnn, driver, *flags, *rest]


def benchdnn_environment(arguments, cpus):
    library = os.pathsep.join(filter(None, (arguments.library, os.environ.get("LD_LIBRARY_PATH"))))
    return {
        "OMP_NUM_THREADS": str(arguments.threads),
        "OMP_PROC_BIND": "close",
        "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in cpus),
        "LD_LIBRARY_PATH": library,
    }


def stop_wait(process):
    """Until the program has stopped or ended. True: it has ended."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return False
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{shlex.join(process.args)}: exit {process.returncode}")
    return True


class TheirTurns:
    """benchdnn, which runs only when it has its turn."""

    def __init__(self, label, command, environment, folder, clock):
        self.output = os.path.join(folder, f"{label}.txt")
        self.readings = os.path.join(folder, f"{label}.readings")
        environment = {**os.environ, **environment, "LD_PRELOAD": clock, "READINGS": self.readings}
        with open(self.output, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        self.ended = stop_wait(self.process)

    def go(self, warm, window):
        """A turn: so long [s] to fill the caches again, so long measured."""
        # Not send_signal: that would take the end of the process from our waiting. And no looking
        # in between: that would take time from whoever has the turn.
        for what, seconds in ((signal.SIGCONT, warm), (signal.SIGUSR2, window), (signal.SIGUSR1, 0)):
            os.kill(self.process.pid, what)
            time.sleep(seconds)
        self.ended = stop_wait(self.process)

    def text(self):
        with open(self.output, encoding="utf-8") as file:
            return file.read()

    def turn_seconds(self):
        """The time of a call [s] in each turn (None: no call ended in it)."""
        marks = clock_marks(self.readings)[1:]  # that before the first turn
        return [(then - before) / (calls - done) / 1e9 if calls > done else None for (done, before), (calls, then) in zip(marks[::2], marks[1::2])]


def clock_marks(path):
    """(readings of the clock so far, the last one [ns]) at every mark."""
    with open(path, "rb") as file:
        return list(struct.iter_unpack("qq", file.read()))


class OurTurns:
    """dlroof_bench, whose repetitions each take a turn."""

    def __init__(self, command):
        theirs, self.to = os.pipe()
        self.from_it, ours = os.pipe()
        self.process = subprocess.Popen(
            [*command, f"--dlroof_turns={theirs},{ours}"], pass_fds=(theirs, ours), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(ours)
        self.lines = os.fdopen(self.from_it, encoding="utf-8")
        self.answer()
        # Guesses of the number of iterations, until two turns had the same.
        iterations, before = self.turn(), None
        while iterations != before:
            iterations, before = self.turn(), iterations
        self.turns = 0

    def answer(self):
        line = self.lines.readline()
        if not line:
            sys.exit(f"{shlex.join(self.process.args)}: ended before its turn")
        os.kill(self.process.pid, signal.SIGSTOP)
        stop_wait(self.process)
        return line

    def turn(self):
        os.kill(self.process.pid, signal.SIGCONT)
        os.write(self.to, b"t")
        return self.answer()

    def go(self, _warm, _window):
        self.turn()
        self.turns += 1

    def end(self):
        """Without a turn its other repetitions go by at once and are not recorded."""
        os.close(self.to)
        os.kill(self.process.pid, signal.SIGCONT)
        while not stop_wait(self.process):
            pass
        self.lines.close()


def run(command, environment=None):
    begin = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False)
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


def look_ahead(arguments, case, cpus, folder):
    """How long a call takes [s], and at which reading of the clock benchdnn begins to measure."""
    readings = os.path.join(folder, "readings")
    environment = {**benchdnn_environment(arguments, cpus), "READINGS": readings, "LD_PRELOAD": arguments.clock}
    _, text = run(benchdnn_command(arguments, case["repro"], ("--fix-times-per-prb=2",)), environment)
    return float(PERF_LINE.findall(text)[0][1]) / 1e3, clock_marks(readings)[-1][0] - 2


def measure_by_turns(arguments, case, cpus, folder, seconds, call, begins_at):
    """One trio of processes: each program's time of a call [s] in every round, and what it says."""
    turn = max(0.004, call / 2), max(arguments.turn / 1e3, 1.5 * call)
    seconds = max(seconds, 16 * sum(turn))
    out = os.path.join(folder, "ours.json")
    environment = {**benchdnn_environment(arguments, cpus), "PAUSE_AT": str(begins_at)}
    command = benchdnn_command(arguments, case["repro"], (f"--max-ms-per-prb={seconds * 1e3:.0f}",))
    theirs = [TheirTurns(label, command, environment, folder, arguments.clock) for label in ("benchdnn", "again")]
    ours = OurTurns(
        our_command(arguments, exactly(case["name"]), out, (f"--benchmark_repetitions={2 * int(seconds / sum(turn)) + 40}", f"--benchmark_min_time={turn[1]}"))
    )
    rounds = 0
    while not any(program.ended for program in theirs):
        waiting = [ours, *theirs]
        random.shuffle(waiting)
        for program in waiting:
            program.go(*turn)
        rounds += 1
    for program in theirs:
        while not program.ended:
            program.go(*turn)
    ours.end()
    record = the_record(out, case["name"])
    said = [benchdnn_average(program.text()) for program in theirs]
    times = [[r["seconds"] for r in record["repetitions"]][-ours.turns :], *(program.turn_seconds() for program in theirs)]
    case["turn_seconds"] = {"warm": turn[0], "window": turn[1]}
    case["implementation"] = {"dlroof": record["algorithm"].split(";")[0], "benchdnn": said[0][0]}
    # In the last round somebody ended.
    return {"turns": [t[: rounds - 1] for t in times], "averages": [average for _, average in said]}


def the_record(path, name):
    with open(path, encoding="utf-8") as file:
        return next(r for r in json.load(file)["records"] if r["name"] == name)


def paired(these, those):
    return statistics.median(ratios_of(these, those))


def ratios_of(these, those):
    """Of the rounds in which both ended a call."""
    return [a / b for a, b in zip(these, those) if a and b]


def centre_of(ratios):
    """Hodges-Lehmann estimate over processes and its standard error (relative, from the median
    absolute deviation: one process in a slow spell does not count)."""
    logs = [math.log(r) for r in ratios]
    pairs = [(a + b) / 2 for i, a in enumerate(logs) for b in logs[i:]]
    centre = statistics.median(pairs)
    deviation = 1.4826 * statistics.median(abs(one - centre) for one in logs)
    return {"ratio": math.exp(centre), "of_processes": ratios, "standard_error": deviation / len(logs) ** 0.5}


def judge(case, trios):
    ours, benchdnn, again = zip(*(trio["turns"] for trio in trios))
    averages = [trio["averages"] for trio in trios]
    case["benchdnn_seconds"] = statistics.mean(a for a, _ in averages)
    case["ours"] = centre_of([paired(a, b) for a, b in zip(ours, benchdnn)])
    case["benchdnn_itself"] = centre_of([paired(a, b) for a, b in zip(again, benchdnn)])
    case["plain"] = {
        "ours": centre_of([statistics.median(t) / a for t, (a, _) in zip(ours, averages)])["ratio"],
        "benchdnn_itself": centre_of([b / a for a, b in averages])["ratio"],
    }


def measure(arguments, case, cpus, folder):
    look = look_ahead(arguments, case, cpus, folder)
    trios, seconds = [], arguments.seconds
    while len(trios) < arguments.most:
        trio = measure_by_turns(arguments, case, cpus, folder, seconds, *look)
        ours, benchdnn, again = trio["turns"]
        if min(len(ratios_of(ours, benchdnn)), len(ratios_of(again, benchdnn))) < 10:
            seconds *= 2  # a slow spell at the look ahead, or all the time
            continue
        trios.append(trio)
        judge(case, trios)
        if len(trios) >= 4 and all(case[key]["standard_error"] <= arguments.sure for key in ("ours", "benchdnn_itself")):
            return


def spread(ratios):
    """How many ratios lie near 1."""
    ratios = sorted(ratios)
    return (
        {
            "cases": len(ratios),
            "within_2_percent": sum(abs(r - 1) <= 0.02 for r in ratios),
            "within_5_percent": sum(abs(r - 1) <= 0.05 for r in ratios),
            "least": ratios[0],
            "median": statistics.median(ratios),
            "largest": ratios[-1],
        }
        if ratios
        else {}
    )


def summary(cases):
    walls = [c["defaults"] for c in cases if "defaults" in c]
    result = {key: spread([c[key]["ratio"] for c in cases]) for key in ("ours", "benchdnn_itself")}
    result["plain"] = {key: spread([c["plain"][key] for c in cases]) for key in ("ours", "benchdnn_itself")}
    result["same_implementation"] = sum(c["implementation"]["dlroof"] == c["implementation"]["benchdnn"] for c in cases)
    if walls:
        result["wall_ratio"] = sum(w["dlroof"] for w in walls) / sum(w["benchdnn"] for w in walls)
        result["wall_cases"] = len(walls)
    return result


def done_before(arguments):
    if not os.path.exists(arguments.output):
        return []
    with open(arguments.output, encoding="utf-8") as file:
        return json.load(file)["cases"]


def write(arguments, machine, context, cases):
    result = {
        "machine": machine["name"],
        "fingerprint": machine["fingerprint"],
        "threads": arguments.threads,
        "libraries": context["libraries"],
        "command": shlex.join(sys.argv),
        "summary": {op: summary([c for c in cases if c["name"].startswith(op)]) for op in sorted({c["name"].split("/")[0] for c in cases})},
        "cases": cases,
    }
    with open(arguments.output, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchdnn", required=True, help="the program")
    parser.add_argument("--library", default="", help="folder of the oneDNN that both use")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--suite", default="baselines/studies/benchdnn/benchdnn_cases.txt")
    parser.add_argument("--seconds", type=float, default=1, help="of each process")
    parser.add_argument("--turn", type=float, default=20, help="[ms] measured in a turn (at least 1.5 calls)")
    parser.add_argument("--sure", type=float, default=0.005, help="standard error that is enough")
    parser.add_argument("--most", type=int, default=8, help="trios of processes of one case")
    parser.add_argument("--walls", type=int, default=3, help="wall times of every so many-th case (0: none)")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="keep the cases that OUTPUT has")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    begin = time.monotonic()
    random.seed(1)
    with open(arguments.suite, encoding="utf-8") as suite:
        names = [line.split("#")[0].strip() for line in suite]
    _, file = run_ours(arguments, "|".join(exactly(n) for n in names if n), ("--benchmark_repetitions=1", "--benchmark_min_time=0.001"))
    machine, context = file["machines"][0], file["context"]["dlroof"]
    cpus = context["pinned_cpus"]
    cases = [{"name": r["name"], "repro": r["repro"]} for r in file["records"] if r["status"] == "ok" and r.get("repro") and arguments.only in r["name"]]
    done = done_before(arguments) if arguments.resume else []
    known = {case["name"] for case in done}
    cases = [case for case in cases if case["name"] not in known]
    for case in cases[:: arguments.walls] if arguments.walls > 0 else []:
        case["defaults"] = {
            "dlroof": run_ours(arguments, exactly(case["name"]))[0],
            "benchdnn": run(benchdnn_command(arguments, case["repro"]), benchdnn_environment(arguments, cpus))[0],
        }
    with tempfile.TemporaryDirectory() as folder:
        arguments.clock = os.path.join(folder, "pausing_clock.so")
        source = os.path.join(os.path.dirname(__file__), "pausing_clock.c")
        run(["cc", "-O2", "-shared", "-fPIC", source, "-o", arguments.clock, "-ldl"])
        for case in cases:
            measure(arguments, case, cpus, folder)
            print(
                f"{case['benchdnn_seconds'] * 1e6:12.2f} us, ours {case['ours']['ratio']:.3f} "
                f"+-{case['ours']['standard_error']:.3f}, itself "
                f"{case['benchdnn_itself']['ratio']:.3f} "
                f"+-{case['benchdnn_itself']['standard_error']:.3f}, plain "
                f"{case['plain']['ours']:.3f}, {len(case['ours']['of_processes'])} trios: "
                f"{case['name']}  [{time.monotonic() - begin:.0f} s]",
                flush=True,
            )
            done.append(case)
            write(arguments, machine, context, done)
    print(json.dumps(write(arguments, machine, context, done)["summary"], indent=1))


if __name__ == "__main__":
    main()
