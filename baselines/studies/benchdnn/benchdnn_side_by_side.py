#!/usr/bin/env python3
"""Times the same calls with dlroof_bench and with benchdnn, interleaved, case by case.

    benchdnn_side_by_side.py FILE --benchdnn PATH --library FOLDER     # measures; cases that FILE has stay
    benchdnn_side_by_side.py FILE                                      # the tables

benchdnn comes with oneDNN's sources; build it against the library that dlroof uses. Both get the same problem, attributes, threads and
CPUs: benchdnn is given each record's `repro` line. A shared machine slows down and recovers within seconds, so two runs after one another
cannot be compared to 2 %. Here three programs (dlroof_bench, benchdnn, and benchdnn once more) take turns of a few tens of milliseconds on
the same CPUs, in random order, while the others are stopped; pausing_clock.c keeps the stop out of the time that benchdnn reads, and notes
when its turn has filled the caches again and when it stops how many calls it has timed and until when (dlroof_bench warms up by itself).
So each program keeps its own way of timing. The ratio of two programs is the median over rounds of their times' ratio. Where their memory
lies differs from process to process and changes a call's time by some percent for as long as the process lives, so a case is measured with
several trios of new processes (4 to `--most`, until the standard error of both ratios is below `--sure`); `ours` is the Hodges-Lehmann
estimate over them of our time over benchdnn's, `benchdnn_itself` of the second benchdnn's over the first's: the noise floor of this machine.
"""
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
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

HERE = Path(__file__).resolve().parent
# perf,cpu,IMPLEMENTATION,...,least time [ms],its GFLOP/s,average time [ms],its GFLOP/s
PERF_LINE = re.compile(r"^perf,cpu,([^,]*),.*,([^,]+),[^,]+,([^,]+),[^,]+$", re.MULTILINE)
KEYS = ("ours", "benchdnn_itself")


def exactly(name):
    return "^" + re.escape(name).replace("\\/", "/").replace("\\-", "-") + "(/[a-z]+_time)?$"


def our_command(arguments, name_filter, out, *flags):
    return [
        *(arguments.bench, f"--dlroof_suite={arguments.suite}", f"--dlroof_threads={arguments.threads}", "--dlroof_live_check=false"),
        *(*flags, f"--benchmark_filter={name_filter}", f"--benchmark_out={out}"),
    ]


def benchdnn_command(arguments, repro, flag):
    driver, *rest = shlex.split(repro)
    return [arguments.benchdnn, driver, flag, *rest]


def benchdnn_environment(arguments, cpus, readings, **more):
    library = os.pathsep.join(filter(None, (arguments.library, os.environ.get("LD_LIBRARY_PATH"))))
    places = {"OMP_NUM_THREADS": str(arguments.threads), "OMP_PROC_BIND": "close", "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in cpus)}
    return {**os.environ, **places, "LD_LIBRARY_PATH": library, "LD_PRELOAD": arguments.clock, "READINGS": str(readings), **more}


def stop_wait(process):
    """Waits until the program has stopped or ended. Returns whether it has ended."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return False
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{shlex.join(process.args)}: exit {process.returncode}")
    return True


class TheirTurns:
    """benchdnn, which runs only when it has its turn."""

    def __init__(self, label, command, folder, environment):
        self.output, self.readings = folder / f"{label}.txt", folder / f"{label}.readings"
        with open(self.output, "w", encoding="utf-8") as out:
            environment = {**environment, "READINGS": str(self.readings)}
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        self.ended = stop_wait(self.process)

    def go(self, warm, window):
        """Gives it a turn: so long [s] to fill the caches again, so long measured."""
        # Not send_signal: that would take the end of the process from our waiting. And no looking
        # in between: that would take time from whoever has the turn.
        for what, seconds in ((signal.SIGCONT, warm), (signal.SIGUSR2, window), (signal.SIGUSR1, 0)):
            os.kill(self.process.pid, what)
            time.sleep(seconds)
        self.ended = stop_wait(self.process)

    def turn_seconds(self):
        """Returns the time of a call [s] in each turn (None: no call ended in it)."""
        marks = clock_marks(self.readings)[1:]  # that before the first turn
        return [(then - before) / (calls - done) / 1e9 if calls > done else None for (done, before), (calls, then) in zip(marks[::2], marks[1::2])]


def clock_marks(path):
    """Returns (readings of the clock so far, the last one [ns]) at every mark."""
    return list(struct.iter_unpack("qq", Path(path).read_bytes()))


class OurTurns:
    """dlroof_bench, whose repetitions each take a turn."""

    def __init__(self, command):
        theirs, self.to = os.pipe()
        from_it, ours = os.pipe()
        command, quiet = [*command, f"--dlroof_turns={theirs},{ours}"], subprocess.DEVNULL
        self.process = subprocess.Popen(command, pass_fds=(theirs, ours), stdout=quiet, stderr=quiet)
        os.close(theirs)
        os.close(ours)
        self.lines = os.fdopen(from_it, encoding="utf-8")
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
        """Ends it. Without a turn its other repetitions go by at once and are not recorded."""
        os.close(self.to)
        os.kill(self.process.pid, signal.SIGCONT)
        while not stop_wait(self.process):
            pass
        self.lines.close()


def look_ahead(arguments, case, cpus, folder):
    """Returns how long a call takes [s], and at which reading of the clock benchdnn begins to measure."""
    readings = folder / "readings"
    done = lib.run(*benchdnn_command(arguments, case["repro"], "--fix-times-per-prb=2"), env=benchdnn_environment(arguments, cpus, readings))
    return float(PERF_LINE.findall(done.stdout)[0][1]) / 1e3, clock_marks(readings)[-1][0] - 2


def measure_trio(arguments, case, cpus, folder, seconds, call, begins_at):
    """Returns each program's time of a call [s] in every round of one trio of processes."""
    turn = max(0.004, call / 2), max(arguments.turn / 1e3, 1.5 * call)
    seconds, out = max(seconds, 16 * sum(turn)), folder / "ours.json"
    environment = benchdnn_environment(arguments, cpus, "", PAUSE_AT=str(begins_at))
    command = benchdnn_command(arguments, case["repro"], f"--max-ms-per-prb={seconds * 1e3:.0f}")
    theirs = [TheirTurns(label, command, folder, environment) for label in ("benchdnn", "again")]
    flags = f"--benchmark_repetitions={2 * int(seconds / sum(turn)) + 40}", f"--benchmark_min_time={turn[1]}"
    ours, rounds = OurTurns(our_command(arguments, exactly(case["name"]), out, *flags)), 0
    while not any(program.ended for program in theirs):
        for program in random.sample([ours, *theirs], 3):
            program.go(*turn)
        rounds += 1
    for program in theirs:
        while not program.ended:
            program.go(*turn)
    ours.end()
    record = lib.measured(lib.read(out))[case["name"]]
    said = PERF_LINE.findall(theirs[0].output.read_text())
    if not said:
        sys.exit(f"benchdnn: no time in its output:\n{theirs[0].output.read_text()}")
    case["implementation"] = {"dlroof": record["algorithm"].split(";")[0], "benchdnn": said[0][0]}
    # In the last round somebody ended.
    own = [repetition["seconds"] for repetition in record["repetitions"]][-ours.turns :]
    return [times[: rounds - 1] for times in (own, *(program.turn_seconds() for program in theirs))]


def ratios_of(these, those):
    """Returns the ratios of the rounds in which both ended a call."""
    return [a / b for a, b in zip(these, those) if a and b]


def centre_of(ratios):
    """Returns the Hodges-Lehmann estimate over processes and its standard error (relative, from the median absolute deviation: one
    process in a slow spell does not count)."""
    logs = [math.log(ratio) for ratio in ratios]
    centre = statistics.median((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    deviation = 1.4826 * statistics.median(abs(log - centre) for log in logs)
    return {"ratio": math.exp(centre), "of_processes": ratios, "standard_error": deviation / len(logs) ** 0.5}


def measure(arguments, case, cpus, folder):
    look, trios, seconds = look_ahead(arguments, case, cpus, folder), [], arguments.seconds
    while len(trios) < arguments.most:
        ours, benchdnn, again = measure_trio(arguments, case, cpus, folder, seconds, *look)
        ratios = ratios_of(ours, benchdnn), ratios_of(again, benchdnn)
        if min(map(len, ratios)) < 10:
            seconds *= 2  # a slow spell at the look ahead, or all the time
            continue
        trios.append([statistics.median(each) for each in ratios])
        case.update(zip(KEYS, map(centre_of, zip(*trios))))
        if len(trios) >= 4 and all(case[key]["standard_error"] <= arguments.sure for key in KEYS):
            return


def measure_all(arguments):
    random.seed(1)
    cases = lib.read(arguments.file)["cases"] if Path(arguments.file).exists() else []
    names = [name for line in Path(arguments.suite).read_text().splitlines() if (name := line.split("#")[0].strip())]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        out, arguments.clock = folder / "all.json", str(folder / "pausing_clock.so")
        lib.run(*our_command(arguments, "|".join(map(exactly, names)), out, "--benchmark_repetitions=1", "--benchmark_min_time=0.001"))
        lib.run("cc", "-O2", "-shared", "-fPIC", HERE / "pausing_clock.c", "-o", arguments.clock, "-ldl")
        run_file = lib.read(out)
        context, machine = run_file["context"]["dlroof"], run_file["machines"][0]
        about = {"machine": machine["name"], "fingerprint": machine["fingerprint"], "threads": arguments.threads, "libraries": context["libraries"]}
        known = {case["name"] for case in cases}
        for name, record in lib.measured(run_file).items():
            if name in known or not record.get("repro"):
                continue
            cases.append({"name": name, "repro": record["repro"]})
            measure(arguments, cases[-1], context["pinned_cpus"], folder)
            print(name, *(f"{key} {cases[-1][key]['ratio']:.3f} +-{cases[-1][key]['standard_error']:.3f}" for key in KEYS), flush=True)
            lib.write(arguments.file, {**about, "command": lib.command(), "cases": cases})


def show(cases):
    for key, title in zip(KEYS, ("our time over benchdnn's", "benchdnn over itself")):
        rows = []
        for op in sorted({case["name"].split("/")[0] for case in cases}):
            ratios = sorted(case[key]["ratio"] for case in cases if case["name"].startswith(op))
            near = sum(abs(ratio - 1) <= 0.02 for ratio in ratios)
            rows.append([op, f"{near} of {len(ratios)}", f"{ratios[0]:.3f}, {statistics.median(ratios):.3f}, {ratios[-1]:.3f}"])
        print(lib.table((title, "within 2 % of 1", "least, median, largest"), rows))
    same = sum(case["implementation"]["dlroof"] == case["implementation"]["benchdnn"] for case in cases if "implementation" in case)
    print(f"the same implementation: {same} of {len(cases)}")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file")
    parser.add_argument("--benchdnn", help="the program")
    parser.add_argument("--library", default="", help="folder of the oneDNN that both use")
    parser.add_argument("--suite", default=str(HERE / "benchdnn_cases.txt"))
    parser.add_argument("--seconds", type=float, default=1, help="of each process")
    parser.add_argument("--turn", type=float, default=20, help="[ms] measured in a turn (at least 1.5 calls)")
    parser.add_argument("--sure", type=float, default=0.005, help="standard error that is enough")
    parser.add_argument("--most", type=int, default=8, help="trios of processes of one case")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.benchdnn:
        measure_all(arguments)
    show(lib.read(arguments.file)["cases"])


if __name__ == "__main__":
    main()
