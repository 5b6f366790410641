#!/usr/bin/env python3
"""Do estimates hold that were made while other programs ran?

    estimates_study.py STUDY.json --measure [--nice -20]     # beside each kind of burner, before and after quiet
    estimates_study.py STUDY.json                            # the table again

Runs a suite of warm and cold calls on one and on all threads in turn without and with programs of its own that take CPU time (BURNERS),
and stores each benchmark's time of each run. A virtual machine's speed changes with what its host runs beside it: a time is judged only
if the quiet times before and after it agree within STEADY. --nice gives the programs and the burners a priority before everything else
that runs on the machine, which needs root where it is negative.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

CPUS = sorted(os.sched_getaffinity(0))
LOOP = "while True: pass"
# 20 ms of work, 20 ms of sleep, on average.
BURSTS = """
import random, time
while True:
    end = time.monotonic() + random.expovariate(50)
    while time.monotonic() < end: pass
    time.sleep(random.expovariate(50))
"""
MEMORY = """
source, target = bytearray(1 << 26), bytearray(1 << 26)
while True: target[:] = source
"""
# By kind: the program, and the CPUs on which one of it runs each.
BURNERS = {
    "a loop on each CPU": [(LOOP, cpu) for cpu in CPUS],
    "two loops on each CPU": [(LOOP, cpu) for cpu in CPUS + CPUS],
    "a loop on the last CPU": [(LOOP, CPUS[-1])],
    "bursts on each CPU": [(BURSTS, cpu) for cpu in CPUS],
    "copies of 64 MB on each CPU": [(MEMORY, cpu) for cpu in CPUS],
}
STEADY = 0.1  # [1]
PROBLEMS = (
    "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32",
    "LSTM/cpu/onednn/fwd_inference/f32/t16n16i128h128",
    "Conv2D/cpu/onednn/fwd/f32/n1c64h28w28k64r3s3_p1",
    "Matmul/cpu/onednn/fwd/f32/m1024n768k768",
)
NAMES = [f"{problem}/threads{count}{cache}" for problem in PROBLEMS for count in sorted({1, len(CPUS)}) for cache in ("", "/cold")]


def times(arguments, folder):
    """Runs the suite. Returns by name the time, its interval, and the fastest repetition."""
    suite, out = Path(folder, "suite.txt"), Path(folder, "run.json")
    suite.write_text("\n".join(NAMES) + "\n")
    command = [arguments.bench, f"--dlroof_suite={suite}", "--dlroof_machine=none", f"--benchmark_out={out}"]
    lib.run(*command, codes=None, preexec_fn=lambda: os.nice(arguments.nice))
    found = {}
    for name, record in lib.measured(lib.read(out)).items():
        seconds = [repetition["seconds"] for repetition in record["repetitions"]]
        found[name] = {**record["seconds"], "fastest": min(seconds), "made": len(seconds)}
    return found


def measure(arguments):
    study = {"command": lib.command(), "cpus": len(CPUS), "nice": arguments.nice, "runs": []}

    def place(cpu):
        os.sched_setaffinity(0, {cpu})
        os.nice(arguments.nice)

    with tempfile.TemporaryDirectory() as folder:
        for kind in (step for kind in BURNERS for step in (None, kind)):
            burners = [subprocess.Popen([sys.executable, "-c", text], preexec_fn=lambda cpu=cpu: place(cpu)) for text, cpu in BURNERS.get(kind, ())]
            try:
                study["runs"].append({"beside": kind, "times": times(arguments, folder)})
            finally:
                for burner in burners:
                    burner.kill()
                    burner.wait()
            lib.write(arguments.study, study, 0)
        study["runs"].append({"beside": None, "times": times(arguments, folder)})
    lib.write(arguments.study, study, 0)


def judged(study):
    """Returns (beside, name, time, lower and upper quiet time) of each time that can be judged, and how many cannot."""
    rows, unsteady, runs = [], 0, study["runs"]
    for before, run, after in zip(runs, runs[1:], runs[2:]):
        for name, seen in run["times"].items() if run["beside"] else ():
            quiet = sorted(side["times"][name]["median"] for side in (before, after) if name in side["times"])
            if len(quiet) == 2 and quiet[1] <= (1 + STEADY) * quiet[0]:
                rows.append((run["beside"], name, seen, quiet))
            else:
                unsteady += 1
    return rows, unsteady


def holds(seen, quiet):
    return "ci95" in seen and seen["ci95"][0] <= quiet[1] and seen["ci95"][1] >= quiet[0]


def cells(kind, rows):
    if not rows:
        return [kind, 0, "", "", "", "", ""]
    estimates = sum(bool(seen.get("disturbed")) for _, _, seen, _ in rows)
    held = sum(holds(seen, quiet) for _, _, seen, quiet in rows)
    low = sum(seen["median"] < 0.9 * quiet[0] for _, _, seen, quiet in rows)
    unsaid = sum(seen["median"] < seen["fastest"] * (1 - 1e-4) and "fastest_measured" not in seen for _, _, seen, _ in rows)
    ratios = sorted(seen["median"] / quiet[0] for _, _, seen, quiet in rows)
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}, median {ratios[len(ratios) // 2]:.2f}"
    return [kind, len(rows), estimates, f"{held} ({lib.percent(held, len(rows), 0)})", low, unsaid, spread]


def show(study):
    rows, unsteady = judged(study)
    lines = [cells(kind, [row for row in rows if row[0] == kind]) for kind in BURNERS] + [cells("all", rows)]
    lines += [cells(words, [row for row in rows if words in row[1]]) for words in ("threads1", f"threads{study['cpus']}", "/cold")]
    head = ("beside", "times", "estimates", "intervals hold the quiet time", "below 0.9 of it")
    print(lib.table((*head, "below every repetition, and not said", "time over quiet"), lines), end="")
    print(f"not judged: {unsteady} times, before and after which the quiet times differ by more than {STEADY:.0%}")
    for _, name, seen, quiet in rows:
        if not holds(seen, quiet):
            print(f"outside: {name}: quiet {quiet[0]:.4g} to {quiet[1]:.4g} s, {seen['median']:.4g} s {seen.get('ci95')}")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("study")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--nice", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments)
    show(lib.read(arguments.study))


if __name__ == "__main__":
    main()
