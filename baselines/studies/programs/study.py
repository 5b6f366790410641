#!/usr/bin/env python3
"""Whole programs on the roofs: profiles models.py's, in every mode, and checks the profiles against the programs and against hand counts.

    study.py DLROOF OUT [--machine FILE] [--threads N] [--only PART] [--gpu SECONDS]

The python3 that runs it imports torch. OUT gets a run file and the report of each program, rows.json, table.md and checks.md; rows of earlier runs stay. With --gpu the programs run under
`dlroof profile --gpu` (ci/gpu_programs.py: eager, CUDA graphs, compiled) while SECONDS are left; else on the CPU under `dlroof profile --torch`, eager and
compiled. Compiled programs run once before, so that their code is in the compiler's cache.
"""
import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import flops

HERE = Path(__file__).resolve().parent
MODELS = ("resnet50", "resnet50_train", "lstm", "bert", "deeplabv3")
STEPS = {"lstm": 40}
OTHER_STEPS, PROGRAM_SECONDS = 10, 60
BAR = re.compile(r"^  \|[ #]{40}\| +[\d.]+ \w+ +([\d.]+) %  (.*)$", re.MULTILINE)
# The columns of the table, and how the parts of a step's bar begin that belong to them. The rest is outside.
COLUMNS = {
    "at roof": ("needed by the roofs", "kernels, needed"),
    "above": ("above the roof", "kernels, above"),
    "moves data": ("moves data", "kernels without FLOPs", "copies", "fills"),
    "operators": ("operator: ", "other operators", "primitives without a roof"),
    "uncounted": ("kernels that were not counted",),
}
BOUNDS = ("moves data", "compute", "DRAM", "L1", "L2", "L3", "overhead", "launch", "issue")


def parts_of(report):
    """The parts of a step [%], by column. The bar's own sum is in "sum"."""
    rows = dict.fromkeys([*COLUMNS, "outside", "sum"], 0.0)
    for share, label in BAR.findall(report):
        column = next((column for column, beginnings in COLUMNS.items() if label.startswith(beginnings)), "outside")
        rows[column] += float(share)
        rows["sum"] += float(share)
    return rows


def first_of(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


def top_of(report):
    """The first row of the table of primitives or kernels: its name, its share and what bounds it."""
    lines = report.splitlines()
    head = next((i for i, line in enumerate(lines) if re.match("(primitives|kernels) of ", line)), None)
    if head is None:
        return "", "", ""
    row = lines[head + 1]
    bound = next((bound for bound in BOUNDS if re.search(rf"  {bound}\b", row)), "")
    return re.split("  +", row)[0], first_of(r"([\d.]+ %)", row), bound


def describe(name, mode, report):
    top, share, bound = top_of(report)
    step = first_of(r"^a step: ([\d.]+ [^ ]+)", report)
    # What a GPU's report says first, or what the CPU's marks.
    advice = first_of(r"^GPU work of .*\n(?!\d+ steps? of )(.*)$", report)
    advice = advice or first_of("^(?:the largest part(?: above the roofs)?|what would give most)[,:]* *(.*)$", report)
    return {"model": name, "mode": mode, "step": step, **parts_of(report), "advice": advice, "top": top, "share": share, "bound": bound}


def table(rows):
    names = ["step", *(name for name in COLUMNS if any(row.get(name) for row in rows)), "outside", "sum"]
    lines = ["| program | " + " | ".join(names) + " | first primitive, its share and bound |", "| --- |" + " ---: |" * len(names) + " --- |"]
    for row in rows:
        shares = " | ".join(f"{row[name]:.1f}" for name in names[1:])
        lines.append(f"| {row['model']}, {row['mode']} | {row['step']} | {shares} | `{row['top']}`, {row['share']}, {row['bound']} |")
    lines += ["", "| program | advice |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {row['model']}, {row['mode']} | {row['advice']} |" for row in rows)]) + "\n"


def counted_flops(run):
    """FLOPs of a step's primitives and operators, as the run file has them for one call."""
    of_call = {record["name"]: record.get("work", {}).get("modelled", {}) for record in run["records"]}
    kinds = {}
    for use in run["context"]["dlroof"]["program"]["primitives"]:
        work = of_call.get(use["record"], {}).get("flops", {})
        kinds[use["kind"]] = kinds.get(use["kind"], 0) + use.get("step_calls", 0) * sum(work.values())
    return kinds


def on_cpu(options, name, mode):
    from models import SIZES

    count = STEPS.get(name, OTHER_STEPS)
    program = ["python3", "program.py", name, mode, str(count)]  # of this python, in this folder: no path in the data
    base = options.out / f"{name}.{mode}"
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads), TORCHINDUCTOR_CACHE_DIR=str(options.cache), PYTHONWARNINGS="ignore")
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    if mode == "compiled":
        subprocess.run([*program[:-1], "1"], cwd=HERE, env=environment, capture_output=True, check=True)
    command = [options.dlroof, "profile", "--torch", *(["--machine", options.machine] if options.machine else []), "-o", f"{base}.json", "--", *program]
    load = os.getloadavg()[0]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=5 * PROGRAM_SECONDS)
    Path(f"{base}.txt").write_text(done.stderr)
    if done.returncode != 0:
        raise RuntimeError(f"{name}, {mode}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    own = json.loads(done.stdout.splitlines()[-1])
    run = json.loads(Path(f"{base}.json").read_text())
    steps = run["context"]["dlroof"]["program"].get("steps", {})
    kinds = counted_flops(run)
    # The convention of the hand counts: convolutions and products alone.
    products = sum(value for kind, value in kinds.items() if re.search("conv|inner_product|matmul|rnn|linear|mm|attention|ukernel|brgemm", kind))
    row = describe(name, mode, done.stderr)
    row["check"] = {
        "its steps": len(own["seconds"]),
        "found": (steps.get("count", 0) + steps.get("warm_up_steps", 0)) or None,
        "its median": statistics.median(own["seconds"][2:]),
        "median found": steps.get("median_wall_seconds"),
        "whole": own["whole"],
        "flops": products,
        "flops by hand": flops.of_step(name, SIZES["cpu"][name]),
        "load": load,
    }
    with gzip.GzipFile(f"{base}.json.gz", "wb", mtime=0) as packed:
        log = run["context"]["dlroof"]["program"].get("log", "")
        packed.write(Path(f"{base}.json").read_text().replace(json.dumps(log), json.dumps(Path(log).name)).encode())
    return row


def checks(rows):
    names = ["its steps", "found", "its median [ms]", "median found [ms]", "GFLOP", "by hand", "ratio", "whole [s]", "load"]
    lines = ["| program | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for row in rows:
        check = row["check"]
        found = f"{1e3 * check['median found']:.1f}" if check["median found"] else "none"
        cells = [check["its steps"], check["found"], f"{1e3 * check['its median']:.1f}", found]
        cells += [
            f"{1e-9 * check['flops']:.3f}",
            f"{1e-9 * check['flops by hand']:.3f}",
            f"{check['flops'] / check['flops by hand']:.4f}",
            f"{check['whole']:.0f}",
            f"{check['load']:.0f}",
        ]
        lines.append(f"| {row['model']}, {row['mode']} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def on_gpu(options):
    """ci/gpu_programs.py's runs; its programs.csv is the independent check: the programs' own times and torch.profiler's device time."""
    sys.path.insert(0, str(HERE.parents[2] / "ci"))
    import gpu_programs

    gpu_programs.profile_all(options.dlroof, options.out, options.machine, options.gpu)
    rows = []
    for mode in gpu_programs.MODES:
        for name in MODELS:
            report = options.out / f"programs.{name}.{mode}.txt"
            if report.exists():
                rows.append(describe(name, mode, report.read_text()))
    (options.out / "table.md").write_text(table(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dlroof")
    parser.add_argument("out", type=Path)
    parser.add_argument("--machine", default="", help="as of dlroof profile")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="part of MODEL.MODE")
    parser.add_argument("--gpu", type=float)
    options = parser.parse_args()
    options.dlroof, options.out = os.path.abspath(options.dlroof), options.out.resolve()
    if os.path.exists(options.machine):
        options.machine = os.path.abspath(options.machine)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.gpu:
        return on_gpu(options)
    options.cache = options.out / "inductor"
    stored = options.out / "rows.json"
    rows = json.loads(stored.read_text()) if stored.exists() else []
    for mode in ("eager", "compiled"):
        for name in MODELS:
            if options.only not in f"{name}.{mode}":
                continue
            try:
                new = on_cpu(options, name, mode)
            except (RuntimeError, subprocess.SubprocessError) as error:
                print(f"{name}, {mode}: {error}", flush=True)
                continue
            rows = [row for row in rows if (row["model"], row["mode"]) != (name, mode)] + [new]
            rows.sort(key=lambda row: (row["mode"] == "compiled", MODELS.index(row["model"])))
            print(json.dumps(new), flush=True)
            stored.write_text(json.dumps(rows, indent=1) + "\n")
            (options.out / "table.md").write_text(table(rows))
            (options.out / "checks.md").write_text(checks(rows))


if __name__ == "__main__":
    main()
