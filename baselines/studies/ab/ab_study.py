#!/usr/bin/env python3
"""How often `dlroof run --ab` raises a false alarm and what it finds, compared with other tools.

    baselines/studies/ab/ab_study.py --rounds 50 --folder runs -o study.json     # measures, about a minute a round
    baselines/studies/ab/ab_study.py --rounds 0 --folder runs -o study.json      # only the tables, from existing runs

Each round is one interleaved comparison of one program with itself. Some of its benchmarks are
themselves on both sides: nothing changed, and each `slower` or `faster` is false. The others are
paired by a map with the same problem that is 5 % longer (20 images or time steps against 21), real
work instead of scaled numbers; the truth is the median of the ratios over all rounds. The windows that
were measured are also judged by the rules of other tools (baselines/studies/compare/study_tables.py says which, and what the columns
mean).
"""
import argparse
import collections
import json
import os
import shlex
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compare"))
from compare_study import read_run, run_dlroof
from study_tables import CALLS, Tally, show_tables, tables

UNCHANGED = (
    "Conv2D/cpu/onednn/fwd/f32/n16c16h14w14k32r3s3_p1/threads1",
    "Conv2D/cpu/onednn/fwd/int8/n16c64h7w7k64r1s1/threads1",
    "Conv2D/cpu/onednn/bwd_weights/f32/n8c16h14w14k16r3s3_p1/threads1",
    "Conv2D/cpu/onednn/bwd_data/f32/n8c16h14w14k16r1s1/threads1",
    "Conv2D/cpu/onednn/fwd/f32/n4c32h28w28k32r3s3_p1g32/threads1",
    "LSTM/cpu/onednn/fwd_inference/f32/t8n8i32h32/threads1",
    "LSTM/cpu/onednn/fwd_training/f32/t8n8i16h16/threads1",
    "LSTM/cpu/onednn/bwd/f32/t4n8i16h16/threads1",
)
LONGER = (
    ("Conv2D/cpu/onednn/fwd/f32/n{}c16h14w14k16r3s3_p1/threads1", 20, 21),
    ("Conv2D/cpu/onednn/fwd/f32/n{}c32h7w7k32r1s1/threads1", 20, 21),
    ("Conv2D/cpu/onednn/bwd_data/f32/n{}c8h28w28k8r3s3_p1/threads1", 20, 21),
    ("LSTM/cpu/onednn/fwd_inference/f32/t{}n8i32h32/threads1", 20, 21),
)
PAIRS = [(name.format(base), name.format(new)) for name, base, new in LONGER]


def measure(arguments, suite, names):
    begin = time.monotonic()
    for i in range(arguments.rounds):
        stem = os.path.join(arguments.folder, f"{int(time.time())}-{i:03}")
        files = [f"{stem}.{side}.json" for side in ("old", "new")]
        unfinished = [file + ".tmp" for file in files]
        done = subprocess.run(
            [
                arguments.dlroof,
                "run",
                "--ab",
                arguments.bench,
                arguments.bench,
                "--map",
                names,
                "-o",
                unfinished[0],
                "-o",
                unfinished[1],
                *shlex.split(arguments.run_flags),
                "--",
                f"--dlroof_suite={suite}",
                "--dlroof_live_check=false",
                "--benchmark_filter=" + "|".join(f"^{n}/" for n in all_names()),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1, 3):
            sys.exit(f"{arguments.dlroof} run: exit {done.returncode}: {done.stderr.strip()}")
        for path, file in zip(unfinished, files):
            with open(path, encoding="utf-8") as run_file:
                run = json.load(run_file)
            run.pop("benchmarks", None)  # the records hold every repetition
            with open(file, "w", encoding="utf-8") as run_file:
                json.dump(run, run_file)
            os.remove(path)
        counts = next(line for line in done.stdout.splitlines() if " -> " in line and ".json.tmp: " in line)
        print(f"[{i + 1}/{arguments.rounds}] {time.monotonic() - begin:.0f} s: {counts.split('.json.tmp: ')[-1]}", flush=True)


def all_names():
    return [*UNCHANGED, *(name for pair in PAIRS for name in pair)]


def judge(arguments, stem, names):
    files = [os.path.join(arguments.folder, f"{stem}.{side}.json") for side in ("old", "new")]
    said_of = run_dlroof(arguments.dlroof, "compare", *files, "--map", names, "--format=json", may_exit=(0, 1, 3))
    rows = {row["name"]: row for row in json.loads(said_of)["benchmarks"]}
    return read_run(files[0]), read_run(files[1]), rows


def said(row, base):
    """What is kept of one comparison."""
    kept = {"verdict": row["verdict"], "windows": len(base)}
    for key in ("ratio", "ci95", "p_value"):
        if key in row:
            value = row[key]
            kept[key] = [float(f"{v:.5g}") for v in value] if isinstance(value, list) else float(f"{value:.5g}")
    return kept


def study(arguments, names):
    stems = sorted({name.split(".")[0] for name in os.listdir(arguments.folder) if name.endswith(".new.json")})
    if not stems:
        sys.exit(f"{arguments.folder}: holds no comparison")
    unchanged, alarms = Tally(), 0
    slower = {pair: Tally() for pair in PAIRS}
    every = collections.defaultdict(list)
    for stem in stems:
        base, new, rows = judge(arguments, stem, names)
        for pair in [(name, name) for name in UNCHANGED] + PAIRS:
            if pair[0] not in base["times"] or pair[1] not in new["times"]:
                continue
            row, times = rows[pair[1]], (base["times"][pair[0]], new["times"][pair[1]])
            tally = unchanged if pair[0] == pair[1] else slower[pair]
            tally.add(row["verdict"], *times)
            every[" -> ".join(dict.fromkeys(pair))].append(said(row, times[0]))
        alarms += any(rows[name]["verdict"] in CALLS for name in UNCHANGED if name in rows)
    return new, stems, unchanged, alarms, slower, every


def median_ratio(said_of):
    ratios = [one["ratio"] for one in said_of if "ratio" in one]
    return {"ratio": statistics.median(ratios)} if ratios else {}


def summarize(arguments, names):
    new, stems, unchanged, alarms, slower, every = study(arguments, names)
    context = new["context"].get("dlroof", {})
    found = tables(unchanged, slower)
    for row in found["slowdowns"]:
        row |= median_ratio(every[f"{row['base']} -> {row['new']}"])
    return {
        "command": shlex.join(sys.argv),
        "rounds": len(stems),
        "commit": context.get("commit"),
        "libraries": context.get("libraries"),
        "date": new["context"].get("date"),
        "machine": [m["name"] for m in new["machines"]],
        "measured_with": context.get("command"),
        "unchanged": {"comparisons": unchanged.total(), "rounds_with_an_alarm": alarms, "judged": unchanged.judged(), "verdicts": unchanged.verdicts()},
        **found,
        "comparisons": every,
    }


def show(summary):
    show_tables(summary)
    unchanged = summary["unchanged"]
    print(
        f"\n{unchanged['comparisons']} comparisons of what did not change: "
        f"{unchanged['verdicts']}; in {unchanged['rounds_with_an_alarm']} of "
        f"{summary['rounds']} rounds an alarm"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="of the run files")
    parser.add_argument("--rounds", type=int, default=50, help="comparisons to measure first")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("--run-flags", default="", help="more flags for dlroof run")
    parser.add_argument("-o", "--output", help="the summary")
    arguments = parser.parse_args()

    os.makedirs(arguments.folder, exist_ok=True)
    suite, names = (os.path.join(arguments.folder, name) for name in ("suite.txt", "map.txt"))
    with open(suite, "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in all_names())
    with open(names, "w", encoding="utf-8") as file:
        file.writelines(f"{base} {new}\n" for base, new in PAIRS)
    measure(arguments, suite, names)
    summary = summarize(arguments, names)
    show(summary)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=None, separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
