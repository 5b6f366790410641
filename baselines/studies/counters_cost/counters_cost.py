#!/usr/bin/env python3
"""Whether counting disturbs timing: the same benchmarks with --dlroof_counters=off and =auto, by turns.

    baselines/studies/counters_cost/counters_cost.py [--bench=build/dlroof_bench] [--machine=FILE] -o FILE

A shared machine slows down and recovers within seconds, so two runs after one another cannot be compared to 1 %. Three processes
(off, auto, and off once more) take turns on the same CPU, a repetition each, in random order, the others stopped
(--dlroof_turns, as in baselines/studies/benchdnn/benchdnn_side_by_side.py). `auto` is the median over rounds of auto's time over off's, `off_itself` of the
second off's: the noise floor of this machine. Where memory lies changes a call's time for as long as a process lives, so a
benchmark is measured with several trios of new processes (4 to --most, until both standard errors are below --sure); the
ratios are the Hodges-Lehmann estimates over them. The goal is 1 within 1 %.
"""
import argparse
import json
import os
import random
import shlex
import sys
import tempfile

from benchdnn_side_by_side import OurTurns, centre_of, exactly, paired, the_record

NAMES = (
    "Conv2D/cpu/onednn/fwd/f32/n1c64h28w28k64r3s3_p1",
    "Conv2D/cpu/onednn/fwd/int8/n1c64h28w28k64r3s3_p1",
    "Conv2D/cpu/onednn/fwd/f32/n1c64h28w28k256r1s1",
    "LSTM/cpu/onednn/fwd_inference/f32/t8n16i128h128",
    "LSTM/cpu/onednn/fwd_inference/f32/t2n1i64h64",
)
PROGRAMS = {"off": "off", "auto": "auto", "again": "off"}


def command(arguments, counters, suite, name, out):
    return [
        arguments.bench,
        f"--dlroof_suite={suite}",
        f"--benchmark_filter={exactly(name)}",
        "--dlroof_threads=1",
        f"--dlroof_counters={counters}",
        "--dlroof_live_check=false",
        f"--benchmark_min_time={arguments.turn / 1e3}",
        f"--benchmark_repetitions={arguments.rounds + 40}",
        f"--benchmark_out={out}",
        *([f"--dlroof_machine={arguments.machine}"] if arguments.machine else []),
    ]


def trio(arguments, suite, name, folder):
    """Seconds of a call by program, one per round, and what auto said of its counting."""
    outs = {label: os.path.join(folder, f"{label}.json") for label in PROGRAMS}
    programs = {label: OurTurns(command(arguments, counters, suite, name, outs[label])) for label, counters in PROGRAMS.items()}
    for _ in range(arguments.rounds):
        for label in random.sample(list(programs), len(programs)):
            programs[label].go(0, 0)
    for program in programs.values():
        program.end()
    records = {label: the_record(out, name) for label, out in outs.items()}
    times = {label: [r["seconds"] for r in record["repetitions"]][-arguments.rounds :] for label, record in records.items()}
    return times, records["auto"].get("counting", [])


def measure(arguments, suite, name, folder):
    trios, row = [], {"name": name}
    while len(trios) < arguments.most:
        times, row["counting"] = trio(arguments, suite, name, folder)
        trios.append(times)
        row["auto"] = centre_of([paired(one["auto"], one["off"]) for one in trios])
        row["off_itself"] = centre_of([paired(one["again"], one["off"]) for one in trios])
        if len(trios) >= 4 and max(row[key]["standard_error"] for key in ("auto", "off_itself")) <= arguments.sure:
            break
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--machine", help="ceilings from a file, instead of measuring them")
    parser.add_argument("--rounds", type=int, default=50, help="of each trio")
    parser.add_argument("--turn", type=float, default=20, help="[ms]")
    parser.add_argument("--sure", type=float, default=0.003, help="standard error that is enough")
    parser.add_argument("--most", type=int, default=12, help="trios of processes of one benchmark")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    random.seed(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        suite = os.path.join(folder, "suite.txt")
        with open(suite, "w", encoding="utf-8") as file:
            file.write("\n".join(NAMES) + "\n")
        for name in NAMES:
            rows.append(measure(arguments, suite, name, folder))
            text = "  ".join(f"{key} {rows[-1][key]['ratio']:.4f} +-{rows[-1][key]['standard_error']:.4f}" for key in ("auto", "off_itself"))
            print(f"{name:<58} {text}  {len(rows[-1]['auto']['of_processes'])} trios", flush=True)
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump({"study": "counters auto over off, by turns", "command": shlex.join(sys.argv), "rows": rows}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
