#!/usr/bin/env python3
"""Programs for `dlroof profile --gpu`, and what compares the profile's device time with the framework's own profiler. Needs a GPU.

    gpu_programs.py run MODEL MODE [--profiler]              5 steps of warm-up, then 20; prints ms a step, with --profiler then also the
                                                             device time of a step by torch.profiler or jax.profiler
    gpu_programs.py all DLROOF OUT MACHINE SECONDS [PART]    profiles every model in every mode while time is left, or those with PART in
                                                             MODEL.MODE (.modules: 60 s); OUT/programs.csv has a row each (lacks: empty tables)

MODEL: resnet50, resnet50_train, lstm, bert, deeplabv3 (baselines/studies/programs/models.py, in plain PyTorch). MODE: eager, compiled, graphs,
modules (eager with --torch and without counts: resnet50_train, bert), or jax (jax_models.py: lstm, bert).
"""
import csv
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

# models.py is there in the tree, and beside this file where that was copied alone.
sys.path += [str(pathlib.Path(__file__).resolve().parents[1] / "baselines" / "studies" / "programs")]

MODELS = ("resnet50", "resnet50_train", "lstm", "bert", "deeplabv3")
MODELS_OF = {"jax": ("lstm", "bert"), "modules": ("resnet50_train", "bert")}  # others have all
MODES = ("eager", "modules", "graphs", "compiled", "jax")
WARM_UP, STEPS = 5, 20
PROGRAM_SECONDS, TYPICAL_SECONDS, BUDGET = 60, 25, 10  # a program's limit, what it mostly takes, what of it counting may take
BUDGETS = {"deeplabv3": 36}  # for 95 % of the time of its 60 kernels
# What is no kernel in a profiler's events.
NO_KERNEL = ("Memcpy", "Memset", "step")


def torch_step(name, mode):
    """Returns a function that runs a step, one that waits for the GPU, and a context manager that marks a step."""
    import torch

    import models

    model, body = models.build(name, "cuda")
    if mode == "compiled":
        model = torch.compile(model)

    def step():
        body(model)

    def mark():
        return torch.cuda.nvtx.range("step")

    if mode == "graphs":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                with mark():
                    step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        step = graph.replay
    return step, torch.cuda.synchronize, mark


def jax_step(name):
    import contextlib

    import jax

    import jax_models

    function, *arguments = jax_models.build(name)
    function, last = jax.jit(function), []

    def step():
        last[:] = [function(*arguments)]

    return step, lambda: jax.block_until_ready(last), contextlib.nullcontext


def seconds_of_torch(steps):
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        steps()
    events = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return [1e-6 * event.time_range.elapsed_us() for event in events if not event.name.startswith(NO_KERNEL)]


def seconds_of_jax(steps):
    import jax

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            steps()
        found = next(pathlib.Path(folder).rglob("perfetto_trace.json.gz"))
        events = json.loads(gzip.decompress(found.read_bytes()))["traceEvents"]
    names = {
        (event["name"], event["pid"], event.get("tid")): event["args"]["name"] for event in events if event.get("ph") == "M" and "name" in event.get("args", {})
    }
    gpus = {pid for (kind, pid, _), name in names.items() if kind == "process_name" and "GPU" in name}
    streams = {(pid, tid) for (kind, pid, tid), name in names.items() if kind == "thread_name" and pid in gpus and name.startswith("Stream")}
    kernels = [event for event in events if event.get("ph") == "X" and (event["pid"], event["tid"]) in streams]
    return [1e-6 * event["dur"] for event in kernels if not event["name"].startswith(NO_KERNEL)]


def run(name, mode, profiler):
    step, wait, mark = jax_step(name) if mode == "jax" else torch_step(name, mode)

    def steps(count=STEPS):
        for _ in range(count):
            with mark():
                step()
        wait()

    steps(WARM_UP)
    begin = time.perf_counter()
    steps()
    print(f"step: {1e3 * (time.perf_counter() - begin) / STEPS:.4f} ms")
    if profiler:
        print(f"device: {1e3 * sum((seconds_of_jax if mode == 'jax' else seconds_of_torch)(steps)) / STEPS:.4f} ms")


def number(pattern, text):
    found = re.search(pattern, text)
    return float(found[1]) if found else None


def command(arguments):
    """Returns the exit code (124: ended, with all that it started) and the output."""
    environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True) as process:
        try:
            text = process.communicate(timeout=PROGRAM_SECONDS)[0]
            return process.returncode, text
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 124, process.communicate()[0]


def lacking(program, mode):
    """Returns what is empty or too little and must not be."""
    timeline = program["timelines"][0]
    names = [row.get("name", "") for row in timeline.get("range_work", [])]
    return ", ".join(
        (["ranges"] if mode != "jax" and not any(name.startswith("step") for name in names) else [])
        + (["modules"] if mode == "modules" and not any("." in name for name in names) else [])
        + (["nodes of graphs"] if mode == "graphs" and not timeline["steps"].get("node_seconds") else [])
        + (["counts of 95 %"] if mode != "modules" and program.get("counting", {}).get("share", 0) < 0.95 else [])
    )


def compare(dlroof, out, machine, model, mode):
    """Returns a row: times of a step in ms."""
    program = [sys.executable, __file__, "run", model, mode]
    base = out / f"programs.{model}.{mode}"
    row = {"model": model, "mode": mode}
    alone = command([*program, "--profiler"])[1]
    base.with_suffix(f".{mode}.alone.txt").write_text(alone)
    row["alone"], row["profiler"] = number(r"step: ([0-9.]+) ms", alone), number(r"device: ([0-9.]+) ms", alone)
    begin = time.monotonic()
    how = ["--torch", "--budget", "0"] if mode == "modules" else ["--budget", str(BUDGETS.get(model, BUDGET))]
    code, text = command([dlroof, "profile", "--gpu", *how, "--machine", machine, "-o", f"{base}.json", "--", *program])
    row["seconds"] = round(time.monotonic() - begin, 1)
    base.with_suffix(f".{mode}.txt").write_text(text)
    row["exit code"], row["traced"] = code, number(r"step: ([0-9.]+) ms", text)
    if pathlib.Path(f"{base}.json").exists():
        program = json.loads(pathlib.Path(f"{base}.json").read_text())["context"]["dlroof"]["gpu_program"]
        timeline, row["lacks"] = program["timelines"][0], lacking(program, mode)
        row["steps"] = timeline["steps"].get("count")
        row["kernels"] = 1e3 * sum(use.get("step_seconds", 0) for use in timeline["kernels"])
        row["idle"] = 1e3 * sum(timeline["times"].get(key, 0) for key in ("idle_seconds", "graph_idle_seconds"))
    if row.get("kernels") and row["profiler"]:
        row["ratio"] = round(row["kernels"] / row["profiler"], 4)
    return row


def profile_all(dlroof, out, machine, seconds, part=""):
    end, out = time.monotonic() + float(seconds), pathlib.Path(out)
    stored = out / "programs.csv"
    rows = list(csv.DictReader(stored.open())) if stored.exists() else []
    good = True
    for mode in MODES:
        for model in MODELS_OF.get(mode, MODELS):
            if part not in f"{model}.{mode}":
                continue
            if time.monotonic() > end - TYPICAL_SECONDS:
                print(f"no time left for {model}, {mode}")
                continue
            row = compare(dlroof, out, machine, model, mode)
            good = good and row["exit code"] == 0 and abs(row.get("ratio", 0) - 1) < 0.01 and row.get("lacks") == ""
            rows = [other for other in rows if (other["model"], other["mode"]) != (model, mode)] + [row]
            print(row, flush=True)
            with open(stored, "w", newline="") as file:
                names = ["model", "mode", "exit code", "alone", "traced", "steps", "kernels", "idle", "profiler", "ratio", "seconds", "lacks"]
                writer = csv.DictWriter(file, names)
                writer.writeheader()
                writer.writerows(rows)
    return 0 if rows and good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["all"] and len(sys.argv) in (6, 7):
        sys.exit(profile_all(*sys.argv[2:]))
    if sys.argv[1:2] != ["run"] or len(sys.argv) < 4:
        sys.exit(__doc__)
    run(sys.argv[2], sys.argv[3], "--profiler" in sys.argv)
