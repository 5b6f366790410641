#!/usr/bin/env python3
"""PyTorch programs for `dlroof profile --gpu`, and what compares the profile's device time with torch.profiler's. Needs a GPU.

    gpu_programs.py run MODEL MODE [--profiler]       5 steps of warm-up, then 20; prints ms a step, or with --profiler the device time of
                                                      a step by torch.profiler
    gpu_programs.py all DLROOF OUT MACHINE SECONDS    profiles every model in every mode while time is left; OUT/programs.csv has a row each

MODEL: resnet50, resnet50_train, lstm, bert, deeplabv3 (baselines/studies/programs/models.py, in plain PyTorch). MODE: eager, compiled, graphs.
"""
import csv
import json
import pathlib
import re
import subprocess
import sys
import time

# models.py is there in the tree, and beside this file where that was copied alone.
sys.path += [str(pathlib.Path(__file__).resolve().parents[1] / "baselines" / "studies" / "programs")]

MODELS = ("resnet50", "resnet50_train", "lstm", "bert", "deeplabv3")
MODES = ("eager", "graphs", "compiled")
WARM_UP, STEPS = 5, 20
PROGRAM_SECONDS = 60  # a program's limit


def run(name, mode, profiler):
    import torch

    import models

    model, body = models.build(name, "cuda")
    if mode == "compiled":
        model = torch.compile(model)

    def step():
        body(model)

    if mode == "graphs":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        step = graph.replay
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()

    def steps():
        for _ in range(STEPS):
            torch.cuda.nvtx.range_push("step")
            step()
            torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()

    if not profiler:
        begin = time.perf_counter()
        steps()
        print(f"step: {1e3 * (time.perf_counter() - begin) / STEPS:.4f} ms")
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        steps()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    kernels = [event for event in kernels if not event.name.startswith(("Memcpy", "Memset", "step"))]
    print(f"device: {1e-3 * sum(event.time_range.elapsed_us() for event in kernels) / STEPS:.4f} ms")


def number(pattern, text):
    found = re.search(pattern, text)
    return float(found[1]) if found else None


def command(arguments):
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=PROGRAM_SECONDS)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return 124, "".join(part.decode(errors="replace") for part in (late.stdout, late.stderr) if part)


def compare(dlroof, out, machine, model, mode):
    """Returns a row: times of a step in ms."""
    program = [sys.executable, __file__, "run", model, mode]
    base = out / f"programs.{model}.{mode}"
    row = {"model": model, "mode": mode}
    row["alone"] = number(r"step: ([0-9.]+) ms", command(program)[1])
    code, text = command([dlroof, "profile", "--gpu", "--budget", "15", "--machine", machine, "-o", f"{base}.json", "--", *program])
    base.with_suffix(f".{mode}.txt").write_text(text)
    row["exit code"], row["traced"] = code, number(r"step: ([0-9.]+) ms", text)
    if pathlib.Path(f"{base}.json").exists():
        timeline = json.loads(pathlib.Path(f"{base}.json").read_text())["context"]["dlroof"]["gpu_program"]["timelines"][0]
        row["steps"] = timeline["steps"].get("count")
        row["kernels"] = 1e3 * sum(use.get("step_seconds", 0) for use in timeline["kernels"])
        row["idle"] = 1e3 * timeline["times"].get("idle_seconds", 0)
    row["torch.profiler"] = number(r"device: ([0-9.]+) ms", command([*program, "--profiler"])[1])
    if row.get("kernels") and row["torch.profiler"]:
        row["ratio"] = round(row["kernels"] / row["torch.profiler"], 4)
    return row


def profile_all(dlroof, out, machine, seconds):
    end, rows = time.monotonic() + float(seconds), []
    out = pathlib.Path(out)
    for mode in MODES:
        for model in MODELS:
            if time.monotonic() > end - PROGRAM_SECONDS:
                print(f"no time left for {model}, {mode}")
                continue
            rows.append(compare(dlroof, out, machine, model, mode))
            print(rows[-1], flush=True)
            with open(out / "programs.csv", "w", newline="") as file:
                names = ["model", "mode", "exit code", "alone", "traced", "steps", "kernels", "idle", "torch.profiler", "ratio"]
                writer = csv.DictWriter(file, names)
                writer.writeheader()
                writer.writerows(rows)
    return 0 if rows and all(row["exit code"] == 0 and abs(row.get("ratio", 0) - 1) < 0.01 for row in rows) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["all"] and len(sys.argv) == 6:
        sys.exit(profile_all(*sys.argv[2:]))
    if sys.argv[1:2] != ["run"] or len(sys.argv) < 4:
        sys.exit(__doc__)
    run(sys.argv[2], sys.argv[3], "--profiler" in sys.argv)
