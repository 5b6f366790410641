#!/usr/bin/env python3
"""study.py --environment FOLDER [--dlroof build/dlroof] [--out FOLDER]: profiles PyTorch and TensorFlow, and checks what profile says.

Each of ResNet-50, an LSTM and DeepCAM, in inference and training, in both frameworks: the program alone, under `dlroof profile`, and by turns with and
without oneDNN's lines. Writes study.json, a table (study.md), and each program's log and run file.
"""
import argparse
import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = {"resnet50": ["--batch", "4"], "lstm": ["--batch", "8"], "deepcam": ["--batch", "1"]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", required=True, type=Path, help="as make_environment.sh made it")
    parser.add_argument("--dlroof", default=str(HERE.parents[2] / "build" / "dlroof"))
    parser.add_argument("--machine", default="", help="as of dlroof profile (default: this machine)")
    parser.add_argument("--out", default="frameworks", type=Path)
    parser.add_argument("--steps", default=10, type=int)
    parser.add_argument("--turns", default=3, type=int, help="of the overhead's measurement")
    parser.add_argument("--only", default="", help="part of a program's name: lstm, torch_training, ...")
    return parser.parse_args()


def run(command, options):
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{options.environment}/stubs:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"))
    begin = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=1200)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout, done.stderr.decode(errors="replace"), seconds


def facts_of(messages):
    """The program's own last line on standard error."""
    return json.loads(next(line for line in reversed(messages.splitlines()) if line.startswith('{"framework"')))


def sum_of_log(log):
    """[s] of all executed primitives, and their number: the last field [ms] of each line."""
    milliseconds = [float(line.rsplit(",", 1)[1]) for line in log.read_text(errors="replace").splitlines() if ",exec," in line]
    return 1e-3 * sum(milliseconds), len(milliseconds)


def study(options, framework, model, mode):
    name = f"{framework}_{model}_{mode}"
    program = [f"{options.environment}/bin/python", str(HERE / f"{framework}_program.py"), model, mode, *SIZES[model], "--steps", str(options.steps)]
    log, file = options.out / f"{name}.log", options.out / f"{name}.json"
    profile = [options.dlroof, "profile", *(["--machine", options.machine] if options.machine else [])]
    alone, _, _ = run(program, options)
    profiled, messages, _ = run([*profile, "-o", file, "--log", log, "--", *program], options)
    # Sums of many threads may differ from run to run: such a program's output proves nothing.
    repeats = alone == profiled or run(program, options)[0] == alone
    _, turns, _ = run(
        [*profile, "-o", options.out / "turns.json", "--verify-overhead", str(options.turns), "--read", r"time: ([0-9.]+) ms", "--", *program, "--times"],
        options,
    )
    content = json.loads(file.read_text())["context"]["dlroof"]["program"]
    (options.out / f"{name}.txt").write_text("".join(line + "\n" for line in messages.splitlines() if not line.startswith('{"framework"')))
    seconds, count = sum_of_log(log)
    of_records = sum(primitive["seconds"] for primitive in content["primitives"])
    calls = sum(primitive["calls"] for primitive in content["primitives"])
    facts = facts_of(messages)
    own_step = statistics.median(facts["seconds"])
    steps = content.get("steps", {})
    ratios = {what: re.search(what + r" with .* turns?: ([0-9.]+) \(([0-9.]+) to ([0-9.]+)\)", turns) for what in ("number read", "CPU time")}
    kinds = {}
    for primitive in content["primitives"]:
        kinds[primitive["kind"]] = kinds.get(primitive["kind"], 0) + primitive["seconds"]
    with gzip.GzipFile(options.out / f"{name}.log.gz", "wb", mtime=0) as packed:
        packed.write(log.read_bytes())
    log.unlink()
    return {
        "name": name,
        "framework": facts["framework"],
        "onednn": content.get("version"),
        "threads": facts["threads"],
        "lines": content["lines"],
        "calls": calls,
        "distinct": len(content["primitives"]),
        "executed_lines_of_log": count,
        "records_over_log": of_records / seconds,
        "wall_seconds": content["wall_seconds"],
        "covered_seconds": content["covered_seconds"],
        "steps_found": steps.get("count"),
        "found_step_seconds": steps.get("median_wall_seconds"),
        "own_step_seconds": own_step,
        "seconds_by_kind": dict(sorted(kinds.items(), key=lambda item: -item[1])),
        "same_output": alone == profiled if repeats else None,
        "output_bytes": len(alone),
        **{what.replace(" ", "_") + "_overhead": [float(part) for part in found.groups()] if found else None for what, found in ratios.items()},
    }


def failures(row):
    checks = {
        "every executed line is read or counted with a reason": row["executed_lines_of_log"] == row["lines"]["executed"],
        "records' times add up to the log's within 0.1 %": abs(row["records_over_log"] - 1) < 1e-3,
        "the program's output is the same": row["same_output"] is not False,
        "primitives cover no more than the wall time": row["covered_seconds"] <= row["wall_seconds"],
    }
    return [promise for promise, holds in checks.items() if not holds]


def table(rows):
    lines = [
        "| program | oneDNN | calls (distinct) | largest kinds | step found / own clock | inside oneDNN | with lines / without: step | CPU time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        total = sum(row["seconds_by_kind"].values())
        kinds = ", ".join(f"{kind} {100 * seconds / total:.0f} %" for kind, seconds in list(row["seconds_by_kind"].items())[:3])
        found = f"{1e3 * row['found_step_seconds']:.1f}" if row["found_step_seconds"] else "not found"
        step, cpu = ("{:.3f} ({:.3f} to {:.3f})".format(*row[key]) if row[key] else "not known" for key in ("number_read_overhead", "CPU_time_overhead"))
        lines.append(
            f"| {row['name'].replace('_', ' ')} | {row['onednn']} | {row['calls']:.0f} ({row['distinct']}) | {kinds} | "
            f"{found} / {1e3 * row['own_step_seconds']:.1f} ms | {100 * row['covered_seconds'] / row['wall_seconds']:.0f} % | {step} | {cpu} |"
        )
    return "\n".join(lines) + "\n"


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    options.environment = options.environment.resolve()
    rows, failed = [], False
    for framework in ("torch", "tensorflow"):
        for model in SIZES:
            for mode in ("inference", "training"):
                if options.only not in f"{framework}_{model}_{mode}":
                    continue
                rows.append(study(options, framework, model, mode))
                for promise in failures(rows[-1]):
                    failed = True
                    print(f"{rows[-1]['name']}: does not hold: {promise}", flush=True)
                print(table(rows[-1:]).splitlines()[-1], flush=True)
                about = {
                    "command": " ".join(sys.argv),
                    "machine": platform.processor() or platform.machine(),
                    "rows": rows,
                    "variables": {name: value for name, value in os.environ.items() if name.startswith(("OMP_", "GOMP_", "KMP_", "TF_"))},
                }
                (options.out / "study.json").write_text(json.dumps(about, indent=1) + "\n")
    (options.out / "study.md").write_text(table(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
