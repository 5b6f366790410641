#!/usr/bin/env python3
"""Do estimates hold that were made while other programs ran?

    estimates_study.py measure build/dlroof_bench STUDY.json --nice -20   # beside each kind of burner, before and after quiet
    estimates_study.py table STUDY.json

`measure` runs a suite of warm and cold calls on one and on all threads in turn without and with programs of its own that take
CPU time (BURNERS), and stores each benchmark's time of each run. A virtual machine's speed changes with what its host runs
beside it: a time is judged only if the quiet times before and after it agree within STEADY. --nice gives the programs and the burners a priority
before everything else that runs on the machine, which needs root where it is negative.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

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


def names():
    """Returns the benchmarks: each problem on one and on all threads, warm and cold."""
    threads = sorted({1, len(CPUS)})
    return [f"{problem}/threads{count}{cache}" for problem in PROBLEMS for count in threads for cache in ("", "/cold")]


def start(burners, nice):
    def place(cpu):
        os.sched_setaffinity(0, {cpu})
        os.nice(nice)

    return [subprocess.Popen([sys.executable, "-c", text], preexec_fn=lambda cpu=cpu: place(cpu)) for text, cpu in burners]


def times(program, nice, folder):
    """Runs the suite. Returns by name the time, its interval, and the fastest repetition."""
    suite, out = folder / "suite.txt", folder / "run.json"
    suite.write_text("\n".join(names()) + "\n")
    command = [program, f"--dlroof_suite={suite}", "--dlroof_machine=none", f"--benchmark_out={out}"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(nice), check=False)
    found = {}
    for record in json.loads(out.read_text())["records"]:
        if record["status"] != "ok":
            continue
        repetitions = record["repetitions"]
        found[record["name"]] = {**record["seconds"], "fastest": min(one["seconds"] for one in repetitions), "made": len(repetitions)}
    return found


def measure(arguments):
    study = {"command": " ".join(sys.argv), "cpus": len(CPUS), "nice": arguments.nice, "runs": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def add(kind):
            study["runs"].append({"beside": kind, "times": times(arguments.program, arguments.nice, folder)})
            pathlib.Path(arguments.study).write_text(json.dumps(study, indent=0) + "\n")

        add(None)
        for kind, burners in BURNERS.items():
            running = start(burners, arguments.nice)
            try:
                add(kind)
            finally:
                for one in running:
                    one.kill()
                    one.wait()
            add(None)
    return table(arguments)


def judged(study):
    """Returns (beside, name, time, lower and upper quiet time) of each time that can be judged, and how many cannot."""
    rows, unsteady = [], 0
    runs = study["runs"]
    for before, run, after in zip(runs, runs[1:], runs[2:]):
        if run["beside"] is None:
            continue
        for name, seen in run["times"].items():
            quiet = sorted(one["times"][name]["median"] for one in (before, after) if name in one["times"])
            if len(quiet) == 2 and quiet[1] <= (1 + STEADY) * quiet[0]:
                rows.append((run["beside"], name, seen, quiet))
            else:
                unsteady += 1
    return rows, unsteady


def table(arguments):
    study = json.loads(pathlib.Path(arguments.study).read_text())
    rows, unsteady = judged(study)
    print("| beside | times | estimates | intervals hold the quiet time | below 0.9 of it | below every repetition, and not said | time over quiet |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in BURNERS:
        print(row_text(kind, [row for row in rows if row[0] == kind]))
    print(row_text("all", rows))
    for words in ("threads1", f"threads{study['cpus']}", "/cold"):
        print(row_text(words, [row for row in rows if words in row[1]]))
    print(f"not judged: {unsteady} times, before and after which the quiet times differ by more than {STEADY:.0%}")
    for _, name, seen, quiet in rows:
        if not holds(seen, quiet):
            print(f"outside: {name}: quiet {quiet[0]:.4g} to {quiet[1]:.4g} s, {seen['median']:.4g} s {seen.get('ci95')}")
    return 0


def holds(seen, quiet):
    return "ci95" in seen and seen["ci95"][0] <= quiet[1] and seen["ci95"][1] >= quiet[0]


def row_text(kind, rows):
    if not rows:
        return f"| {kind} | 0 | | | | | |"
    estimates = sum(bool(seen.get("disturbed")) for _, _, seen, _ in rows)
    held = sum(holds(seen, quiet) for _, _, seen, quiet in rows)
    low = sum(seen["median"] < 0.9 * quiet[0] for _, _, seen, quiet in rows)
    unsaid = sum(seen["median"] < seen["fastest"] * (1 - 1e-4) and "fastest_measured" not in seen for _, _, seen, _ in rows)
    ratios = sorted(seen["median"] / quiet[0] for _, _, seen, quiet in rows)
    return (
        f"| {kind} | {len(rows)} | {estimates} | {held} ({100 * held / len(rows):.0f} %) | {low} | {unsaid} | "
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}, median {ratios[len(ratios) // 2]:.2f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.add_argument("program")
    one.add_argument("study")
    one.add_argument("--nice", type=int, default=0)
    one.set_defaults(run=measure)
    other = commands.add_parser("table")
    other.add_argument("study")
    other.set_defaults(run=table)
    arguments = parser.parse_args()
    sys.exit(arguments.run(arguments))


main()
