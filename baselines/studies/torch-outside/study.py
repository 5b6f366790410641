"""The time of a BERT outside of oneDNN: dlroof profile --torch beside torch.profiler's own table.

    study.py DLROOF OUTPUT.json      with a python3 in PATH that imports torch

Runs bert.py under dlroof profile --torch, and profiler.py, interleaved. Stores shares of a step.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
TURNS = 4
STEPS = {"f32": 300, "bf16": 600}
PROFILER_STEPS = {"f32": 200, "bf16": 400}


def dlroof(program, kind):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "run.json")
        command = [program, "profile", "--machine", "none", "--torch", "-o", output]
        done = subprocess.run(command + ["--", "python3", str(FOLDER / "bert.py"), kind, str(STEPS[kind])], capture_output=True, text=True)
        report = done.stderr
        if done.returncode != 0:
            sys.exit(report)
        summary = json.loads(Path(output).read_text())["context"]["dlroof"]["program"]
    steps = summary["steps"]
    wall = steps["wall_seconds"]
    of_onednn = sum(one.get("step_seconds", 0) for one in summary["primitives"] if not one.get("operator"))
    outside = 1 - (of_onednn + steps.get("creation_seconds", 0)) / wall
    operators = {}
    for one in summary["primitives"]:
        if one.get("operator"):
            operators[one["kind"]] = operators.get(one["kind"], 0) + one["step_seconds"] / wall
    traced = summary["traced"]
    return {"outside": outside, "operators": operators, "traced": traced, "step_seconds": wall, "rest": outside - sum(operators.values())}, report


def independent(kind):
    done = subprocess.run(["python3", str(FOLDER / "profiler.py"), kind, str(PROFILER_STEPS[kind])], capture_output=True, text=True, check=True, cwd=FOLDER)
    return json.loads(done.stdout)


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def operator(rows, key):
    return statistics.median(row["operators"].get(key, 0) for row in rows)


def main():
    program, output = sys.argv[1:]
    results = {}
    for kind in STEPS:
        rows = {"torch": [], "profiler": []}
        for _ in range(TURNS):
            row, report = dlroof(program, kind)
            rows["torch"].append(row)
            rows["profiler"].append(independent(kind))
        results[kind] = rows
        Path(output).with_suffix(f".{kind}.txt").write_text(report)
        print(
            f"{kind}: outside oneDNN {100 * median(rows['torch'], 'outside'):.1f} %; in no operator "
            f"{100 * median(rows['torch'], 'rest'):.1f} % by dlroof, {100 * median(rows['profiler'], 'rest'):.1f} % by torch.profiler"
        )
        names = sorted(rows["profiler"][0]["operators"], key=lambda name: -operator(rows["profiler"], name))[:8]
        for name in names:
            print(f"  {name:55} {100 * operator(rows['torch'], name):6.1f} % {100 * operator(rows['profiler'], name):6.1f} %")
    Path(output).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
