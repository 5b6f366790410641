#!/usr/bin/env python3
"""The published V100 measurements of the time-based and the hierarchical roofline papers, drawn by dlroof.

    baselines/studies/v100_published/v100_published.py --dlroof build/dlroof -o baselines/studies/v100_published

Reads tests/data/v100_*.csv and v100_ceilings.json (origin: their first lines), writes the machine file and, in dlroof's import
format, the measurements; imports them and draws a figure per sweep. Every number in OUTPUT comes out of those four files.
"""
import argparse
import csv
import json
import os
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
DATA = os.path.join(ROOT, "tests", "data")
TYPES = {"FP16": "f16", "FP32": "f32"}
CONV_SWEEPS = ("batch", "filters", "kernel", "stride")
LSTM_SWEEPS = ("batch", "steps", "features", "hidden")


def rows(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def text(value):
    return f"{value:.10g}"


def ceiling(per_second, how, reason=""):
    """One that was published, so given; with a reason not to be trusted, not proved."""
    entry = {"per_second": per_second, "threads": 1, "how": how, "proved": False}
    entry |= {"reason": reason} if reason else {"given": True}
    return entry


def machine():
    with open(os.path.join(DATA, "v100_ceilings.json"), encoding="utf-8") as file:
        published = json.load(file)
    pipes = {
        "fp64.vector": "fp64_fma",
        "fp64.vector.no-fma": "fp64_no_fma",
        "fp32.vector": "fp32_fma",
        "fp32.vector.no-fma": "fp32_no_fma",
        "fp16.vector": "fp16_half2_fma",
        "fp16.vector.no-fma": "fp16_half2_no_fma",
        "fp16.matrix": "tensor_fp16",
        "fp16.matrix.cublas": "tensor_fp16_cublas",
        "fp16.matrix.wmma": "tensor_fp16_wmma",
    }
    how = "published, not measured by dlroof: " + published["origin"]
    roofs = {
        "flops": {pipe: ceiling(published["flops"][key] * 1e9, how) for pipe, key in pipes.items()},
        "bytes": {
            "l1": ceiling(published["bytes"]["l1"] * 1e9, how, "theoretical: 80 SM x 128 byte x about 1.4 GHz"),
            "l2": ceiling(published["bytes"]["l2"] * 1e9, how + "; Empirical Roofline Toolkit"),
            "dram": ceiling(published["bytes"]["hbm"] * 1e9, how + "; Empirical Roofline Toolkit"),
        },
        "launch_seconds": published["launch_seconds"],
    }
    return {
        "device": "gpu",
        "name": published["device"],
        "fingerprint": "published-v100",
        "measured_at": "2020",
        "cache_bytes": {},
        "facts": {"note": published["notes"]},
        **roofs,
        "by_threads": {"1": roofs},
    }


def padding(framework, size, taps, stride):
    """TensorFlow pads such that ceil(size / stride) outputs come out (SAME); PyTorch's default is none."""
    if framework.startswith("pytorch"):
        return ""
    out = -(-size // stride)
    both = max((out - 1) * stride + taps - size, 0)
    first, last = both // 2, both - both // 2
    if both == 0:
        return ""
    return f"p{first}" if first == last else f"p{first}:{last}x{first}:{last}"


def conv_name(row):
    height, width, channels, filters = (int(part) for part in row["filter_RSCK"].split("x"))
    stride = int(row["stride"])
    more = (f"s{stride}" if stride > 1 else "") + padding(row["framework"], 112, height, stride)
    problem = f"n{row['batch']}c{channels}h112w112k{filters}r{height}s{width}" + (f"_{more}" if more else "")
    return f"Conv2D/gpu/{row['framework']}/{row['pass']}/{TYPES[row['precision']]}/{problem}"


def lstm_name(row):
    problem = f"t{row['time_steps']}n{row['batch']}i{row['features']}h{row['hidden']}"
    return f"LSTM/gpu/{row['framework']}/{row['pass']}/{TYPES[row['precision']]}/{problem}"


def split_flops(flops, tensor_percent):
    """The counters add fp16 and fp32 instructions up; what the tensor cores did not execute stands under fp32.vector, as kernels
    with half inputs that use no tensor cores multiply in fp32."""
    matrix = flops * float(tensor_percent) / 100
    return {"fp16.matrix": matrix, "fp32.vector": flops - matrix}


def measured(row, name, flops):
    split = split_flops(flops, row["tensor_core_flop_pct"])
    return {
        "name": name,
        "seconds": text(float(row["run_time_ms"]) * 1e-3),
        "launches": row["launches"],
        **{f"flops_{pipe}": text(value) for pipe, value in split.items()},
        "bytes_dram": text(flops / float(row["dram_ai_flop_per_byte"])),
        "bytes_l2": text(flops / float(row["l2_ai_flop_per_byte"])),
    }


def convolutions():
    return [measured(row, conv_name(row), float(row["gflop"]) * 1e9) for row in rows("v100_conv2d_measured.csv")]


def lstms():
    return [measured(row, lstm_name(row), float(row["mflop"]) * 1e6) for row in rows("v100_lstm_measured.csv")]


def phases():
    """A row per training phase, all of its kernels together."""
    for row in rows("v100_deepcam_phases.csv"):
        flops = float(row["tflop"]) * 1e12
        split = split_flops(flops, row["tensor_core_flop_pct"])
        yield {
            "name": f"{row['framework']} {row['phase']}",
            "seconds": text(float(row["time_ms"]) * 1e-3),
            "launches": row["launches"],
            **{f"flops_{pipe}": text(value) for pipe, value in split.items()},
            "bytes_dram": text(float(row["hbm_gb"]) * 1e9),
            "bytes_l2": text(float(row["l2_gb"]) * 1e9),
            "bytes_l1": text(float(row["l1_gb"]) * 1e9),
        }


def census():
    """Two rows per phase: kernels with FLOPs and without. The bytes of either are not published."""
    for row in rows("v100_deepcam_phases.csv"):
        name = f"{row['framework']} {row['phase']}"
        seconds, share = float(row["time_ms"]) * 1e-3, float(row["zero_ai_time_pct"]) / 100
        launches, zero = int(row["launches"]), int(row["zero_ai_launches"])
        split = split_flops(float(row["tflop"]) * 1e12, row["tensor_core_flop_pct"])
        yield {
            "name": f"{name}/with FLOPs",
            "seconds": text(seconds * (1 - share)),
            "launches": str(launches - zero),
            **{f"flops_{pipe}": text(value) for pipe, value in split.items()},
        }
        if zero > 0:
            yield {"name": f"{name}/without FLOPs", "seconds": text(seconds * share), "launches": str(zero), "flops_fp16.matrix": "0", "flops_fp32.vector": "0"}


def write_csv(path, origin, entries):
    entries = list(entries)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(f"# Made by baselines/studies/v100_published/v100_published.py of tests/data/{origin}, where the origin stands.\n")
        table = csv.DictWriter(file, list(entries[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(entries)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("-o", "--output", required=True, help="a folder")
    arguments = parser.parse_args()
    dlroof = os.path.abspath(arguments.dlroof)
    os.makedirs(arguments.output, exist_ok=True)
    os.chdir(arguments.output)

    def run(*command):
        subprocess.run([dlroof, *command], check=True)

    with open("machine.json", "w", encoding="utf-8") as file:
        json.dump(machine(), file, indent=1)
        file.write("\n")
    for name, origin, entries in (
        ("conv2d", "v100_conv2d_measured.csv", convolutions()),
        ("lstm", "v100_lstm_measured.csv", lstms()),
        ("deepcam", "v100_deepcam_phases.csv", phases()),
        ("deepcam-census", "v100_deepcam_phases.csv", census()),
    ):
        write_csv(f"{name}.csv", origin, entries)
        run("import", f"{name}.csv", "--machine", "machine.json", "-o", f"{name}.json")
    for name, sweeps in (("conv2d", CONV_SWEEPS), ("lstm", LSTM_SWEEPS)):
        for sweep in sweeps:
            run("report", f"{name}.json", "--levels=dram", "--balance=tensor", f"--sweep={sweep}", "-o", f"{name}-{sweep}.svg")
    run("report", "deepcam.json", "--level=all", "-o", "deepcam.svg")
    table = subprocess.run([dlroof, "report", "deepcam-census.json", "--show=table"], check=True, capture_output=True, text=True).stdout
    with open("deepcam-census.txt", "w", encoding="utf-8") as file:
        file.writelines(part + "\n" for part in table.split("\n\n") if part.startswith("kernels without FLOPs"))


if __name__ == "__main__":
    main()
