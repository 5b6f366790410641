#!/usr/bin/env python3
"""Do estimates hold that were made while other programs ran?

    estimates_study.py measure build/dlroof_bench STUDY.json --nice -20   # quiet first, then beside each kind of burner
    estimates_study.py table STUDY.json

`measure` runs a suite of warm and cold calls on one and on all threads, first without and then with programs of its own that
take CPU time (BURNERS), and stores each benchmark's time of each run. --nice gives the programs and the burners a priority
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
    study = {"command": " ".join(sys.argv), "cpus": len(CPUS), "nice": arguments.nice, "runs": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        study["runs"]["quiet"] = times(arguments.program, arguments.nice, folder)
        for kind, burners in BURNERS.items():
            running = start(burners, arguments.nice)
            try:
                study["runs"][kind] = times(arguments.program, arguments.nice, folder)
            finally:
                for one in running:
                    one.kill()
                    one.wait()
            pathlib.Path(arguments.study).write_text(json.dumps(study, indent=0) + "\n")
    return table(arguments)


def table(arguments):
    study = json.loads(pathlib.Path(arguments.study).read_text())
    quiet = study["runs"]["quiet"]
    print("| beside | times | estimates | intervals hold the quiet median | below 0.9 of it | below every repetition, and not said | time over quiet |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    all_rows = []
    for kind, run in study["runs"].items():
        if kind == "quiet":
            continue
        rows = [(name, run[name], quiet[name]["median"]) for name in run if name in quiet]
        all_rows += rows
        print(row_text(kind, rows))
    print(row_text("all", all_rows))
    for words in ("threads1", f"threads{study['cpus']}", "/cold"):
        print(row_text(words, [row for row in all_rows if words in row[0]]))
    for name, seen, median in all_rows:
        if not holds(seen, median):
            print(f"outside: {name}: quiet {median:.4g} s, {seen['median']:.4g} s {seen.get('ci95')}")
    return 0


def holds(seen, median):
    return "ci95" in seen and seen["ci95"][0] <= median <= seen["ci95"][1]


def row_text(kind, rows):
    if not rows:
        return f"| {kind} | 0 | | | | | |"
    estimates = sum(bool(seen.get("disturbed")) for _, seen, _ in rows)
    held = sum(holds(seen, median) for _, seen, median in rows)
    low = sum(seen["median"] < 0.9 * median for _, seen, median in rows)
    unsaid = sum(seen["median"] < seen["fastest"] * (1 - 1e-4) and "fastest_measured" not in seen for _, seen, _ in rows)
    ratios = sorted(seen["median"] / median for _, seen, median in rows)
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
