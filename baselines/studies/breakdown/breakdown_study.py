#!/usr/bin/env python3
"""How much of the time above the roofs does the time breakdown explain?

    for suite in paper resnet50; do
      build/dlroof_bench --dlroof_suite=$suite --dlroof_types=f32 --dlroof_explain --benchmark_out=$suite.json; done
    breakdown_study.py tables STORED.json --runs paper.json resnet50.json
    breakdown_study.py perturbation build/dlroof build/dlroof_bench STORED.json     # times with and without the passes, interleaved
    breakdown_study.py planted build/dlroof_planted_causes STORED.json --libomp libomp.so.5    # each five times; without PROGRAM the stored table

`tables` stores each record's components in STORED.json and prints the tables; with STORED.json alone it prints those of a stored study.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

PARTS = (
    "roof",
    "functions",
    "products",
    "fixed",
    "sharing",
    "lanes",
    "loads",
    "instructions",
    "kernel",
    "distance",
    "levels",
    "unexplained",
    "imbalance",
    "fork_join",
    "serial",
    "call",
    "stolen",
)
GROUPS = {
    "LSTM fwd_inference": ("LSTM", "fwd_inference"),
    "LSTM fwd_training": ("LSTM", "fwd_training"),
    "LSTM bwd": ("LSTM", "bwd"),
    "Conv2D fwd": ("Conv2D", "fwd"),
    "Conv2D bwd_data": ("Conv2D", "bwd_data"),
    "Conv2D bwd_weights": ("Conv2D", "bwd_weights"),
}
BARELY, NAMED = 0.2, 0.4
ALONE = ("alone_seconds", "near_seconds", "far_seconds")
NAMES = [
    "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32",
    "LSTM/cpu/onednn/bwd/f32/t16n16i32h32",
    "Conv2D/cpu/onednn/fwd/f32/n1c64h28w28k64r3s3_p1",
    "Conv2D/cpu/onednn/bwd_weights/f32/n1c64h28w28k64r3s3_p1",
]


def rows(path):
    """Returns each record with a time breakdown: name, algorithm, time, seconds by component."""
    for record in json.loads(pathlib.Path(path).read_text())["records"]:
        time = record.get("time", {})
        if record["status"] == "ok" and "parts" in time:
            yield {
                "name": record["name"],
                "algorithm": record["algorithm"],
                "seconds": time["seconds"],
                "disturbed": record["seconds"].get("disturbed", False),
                "parts": {part["part"]: part["seconds"] for part in time["parts"]},
                "alone": {key: record["parallel"][key] for key in ALONE if key in record["parallel"]},
            }


def unexplained(row):
    """Returns the unexplained share of the time above the roof."""
    gap = row["seconds"] - row["parts"].get("roof", 0)
    return row["parts"].get("unexplained", 0) / gap if gap > 0 else 0


def print_tables(study):
    print("| | records | " + " | ".join(PARTS).replace("_", " ") + " | unexplained <= 20 % of the time above the roof |")
    print("| --- " * (len(PARTS) + 3) + "|")
    for group, (op, direction) in GROUPS.items():
        chosen = [row for row in study["rows"] if row["name"].startswith(f"{op}/cpu/onednn/{direction}/")]
        if not chosen:
            continue
        shares = [100 * sum(row["parts"].get(part, 0) / row["seconds"] for row in chosen) / len(chosen) for part in PARTS]
        few = sum(unexplained(row) <= BARELY for row in chosen)
        print(f"| {group} | {len(chosen)} | " + " | ".join(f"{share:.1f}" if share >= 0.05 else "" for share in shares) + f" | {few} of {len(chosen)} |")
    everything = study["rows"]
    few = sum(unexplained(row) <= BARELY for row in everything)
    print(f"\n{few} of {len(everything)} records ({100 * few / len(everything):.0f} %) have at most 20 % of the time above the roof unexplained.\n")
    print_copies([row["alone"] for row in everything if not row["disturbed"] and len(row.get("alone", {})) == len(ALONE)])
    print("| above 40 % | algorithm | of the time above the roof | of the time |\n| --- | --- | --- | --- |")
    for row in sorted(everything, key=unexplained, reverse=True):
        if unexplained(row) > NAMED:
            share = row["parts"]["unexplained"] / row["seconds"]
            print(f"| `{row['name']}` | {row['algorithm']} | {100 * unexplained(row):.0f} % | {100 * share:.0f} % |")


def print_copies(alone):
    """Is a call on copies whose pages do not repeat as fast as the call itself?"""
    ratios = sorted(one["far_seconds"] / one["alone_seconds"] for one in alone)
    if ratios:
        tenth = len(ratios) // 10
        print(
            f"{len(ratios)} clean calls on copies whose pages do not repeat take {ratios[len(ratios) // 2]:.3f} of the call's own time (median; "
            f"{ratios[tenth]:.3f} to {ratios[-1 - tenth]:.3f} without the outer tenths).\n"
        )


def tables(arguments):
    stored = pathlib.Path(arguments.stored)
    if arguments.runs:
        stored.write_text(json.dumps({"rows": [row for path in arguments.runs for row in rows(path)]}, indent=0) + "\n")
    print_tables(json.loads(stored.read_text()))


def perturbation(arguments):
    """Both programs are the same; the second one also watches."""
    with tempfile.TemporaryDirectory() as folder:
        watching = pathlib.Path(folder, "watching")
        watching.write_text(f'#!/bin/sh\nexec {pathlib.Path(arguments.bench).resolve()} --dlroof_explain "$@"\n')
        watching.chmod(0o755)
        outputs = [str(pathlib.Path(folder, name)) for name in ("without.json", "with.json")]
        chosen = pathlib.Path(folder, "names.txt")
        chosen.write_text("".join(name + "\n" for name in NAMES))
        subprocess.run(
            [
                arguments.program,
                "run",
                "--ab",
                arguments.bench,
                str(watching),
                "-o",
                outputs[0],
                "-o",
                outputs[1],
                "--",
                f"--dlroof_suite={chosen}",
                "--benchmark_filter=" + "|".join(f"^{name}/" for name in NAMES),
            ],
            check=False,
        )
        verdicts = json.loads(subprocess.run([arguments.program, "compare", *outputs, "--format=json"], stdout=subprocess.PIPE, check=False).stdout)
    study = [{key: row.get(key) for key in ("name", "ratio", "ci95", "verdict")} for row in verdicts["benchmarks"]]
    pathlib.Path(arguments.stored).write_text(json.dumps(study, indent=1) + "\n")
    for row in study:
        print(row)


def planted(arguments):
    """Runs the program alone, beside two busy loops, and under another runtime: by OMPT, then by libgomp's entry points."""
    stored = pathlib.Path(arguments.stored)
    if arguments.program:
        program = str(pathlib.Path(arguments.program).resolve())

        def runs(**environment):
            return [json.loads(subprocess.run([program], stdout=subprocess.PIPE, env={**os.environ, **environment}, check=True).stdout) for _ in range(5)]

        study = {"quiet": runs()}
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
        time.sleep(1)
        study["beside two busy loops"] = runs()
        for loop in loops:
            loop.kill()
        if arguments.libomp:
            study["libomp, OMPT"] = runs(LD_PRELOAD=arguments.libomp, OMP_TOOL="enabled")
            study["libomp, entry points"] = runs(LD_PRELOAD=arguments.libomp, OMP_TOOL="disabled")
        stored.write_text(json.dumps(study, indent=1) + "\n")
    for name, runs in json.loads(stored.read_text()).items():
        ratios = zip(*([cause["ratio"] for cause in run["causes"]] for run in runs))
        print(f"| {name} |", " | ".join(f"{statistics.median(one):.2f} ({min(one):.2f} to {max(one):.2f})" for one in ratios), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("tables")
    one.add_argument("stored")
    one.add_argument("--runs", nargs="*")
    one.set_defaults(run=tables)
    two = commands.add_parser("perturbation")
    for name in ("program", "bench", "stored"):
        two.add_argument(name)
    two.set_defaults(run=perturbation)
    three = commands.add_parser("planted")
    three.add_argument("program", nargs="?")
    three.add_argument("stored")
    three.add_argument("--libomp", help="path of the library")
    three.set_defaults(run=planted)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
