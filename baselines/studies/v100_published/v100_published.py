#!/usr/bin/env python3
"""The published V100 measurements of the time-based and the hierarchical roofline papers as run files of dlroof.

    baselines/studies/v100_published/v100_published.py -o baselines/studies/v100_published

Reads tests/data/v100_*.csv and v100_ceilings.json (origin: their first lines), writes the machine file and, in dlroof's import format,
the measurements, and imports them. Every number in the folder comes out of those four files.
"""
import csv
import gzip
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

DATA = lib.ROOT / "tests/data"
TYPES = {"FP16": "f16", "FP32": "f32"}
PIPES = {
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


def rows(name):
    with open(DATA / name, encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def text(value):
    return f"{value:.10g}"


def ceiling(per_second, how, reason=""):
    """Returns a roof that was published, so specified; with a reason not to be trusted, not validated."""
    return {"per_second": per_second, "threads": 1, "how": how, "proved": False, **({"reason": reason} if reason else {"given": True})}


def machine():
    published = lib.read(DATA / "v100_ceilings.json")
    how = "published, not measured by dlroof: " + published["origin"]
    l1, l2, dram = (published["bytes"][level] * 1e9 for level in ("l1", "l2", "hbm"))
    roofs = {
        "flops": {pipe: ceiling(published["flops"][key] * 1e9, how) for pipe, key in PIPES.items()},
        "bytes": {
            "l1": ceiling(l1, how, "theoretical: 80 SM x 128 byte x about 1.4 GHz"),
            "l2": ceiling(l2, how + "; Empirical Roofline Toolkit"),
            "dram": ceiling(dram, how + "; Empirical Roofline Toolkit"),
        },
        "launch_seconds": published["launch_seconds"],
    }
    about = {"device": "gpu", "name": published["device"], "fingerprint": "published-v100", "measured_at": "2020", "cache_bytes": {}}
    return {**about, "facts": {"note": published["notes"]}, **roofs, "by_threads": {"1": roofs}}


def padding(framework, size, taps, stride):
    """TensorFlow pads such that ceil(size / stride) outputs come out (SAME); PyTorch's default is none."""
    both = max((-(-size // stride) - 1) * stride + taps - size, 0)
    if both == 0 or framework.startswith("pytorch"):
        return ""
    first, last = both // 2, both - both // 2
    return f"p{first}" if first == last else f"p{first}:{last}x{first}:{last}"


def conv_name(row):
    height, width, channels, filters = map(int, row["filter_RSCK"].split("x"))
    stride = int(row["stride"])
    more = (f"s{stride}" if stride > 1 else "") + padding(row["framework"], 112, height, stride)
    problem = f"n{row['batch']}c{channels}h112w112k{filters}r{height}s{width}" + (f"_{more}" if more else "")
    return f"Conv2D/gpu/{row['framework']}/{row['pass']}/{TYPES[row['precision']]}/{problem}"


def lstm_name(row):
    problem = f"t{row['time_steps']}n{row['batch']}i{row['features']}h{row['hidden']}"
    return f"LSTM/gpu/{row['framework']}/{row['pass']}/{TYPES[row['precision']]}/{problem}"


def split_flops(flops, row):
    """The counters add fp16 and fp32 instructions up; what the tensor cores did not execute stands under fp32.vector, as kernels
    with half inputs that use no tensor cores multiply in fp32."""
    matrix = flops * float(row["tensor_core_flop_pct"]) / 100
    return {"flops_fp16.matrix": text(matrix), "flops_fp32.vector": text(flops - matrix)}


def measured(row, name, flops):
    times = {"name": name, "seconds": text(float(row["run_time_ms"]) * 1e-3), "launches": row["launches"]}
    levels = {f"bytes_{level}": text(flops / float(row[f"{level}_ai_flop_per_byte"])) for level in ("dram", "l2")}
    return {**times, **split_flops(flops, row), **levels}


def convolutions():
    return [measured(row, conv_name(row), float(row["gflop"]) * 1e9) for row in rows("v100_conv2d_measured.csv")]


def lstms():
    return [measured(row, lstm_name(row), float(row["mflop"]) * 1e6) for row in rows("v100_lstm_measured.csv")]


def phases():
    """Yields a row per training phase, all of its kernels together."""
    for row in rows("v100_deepcam_phases.csv"):
        times = {"name": f"{row['framework']} {row['phase']}", "seconds": text(float(row["time_ms"]) * 1e-3), "launches": row["launches"]}
        levels = {f"bytes_{level}": text(float(row[f"{key}_gb"]) * 1e9) for level, key in (("dram", "hbm"), ("l2", "l2"), ("l1", "l1"))}
        yield {**times, **split_flops(float(row["tflop"]) * 1e12, row), **levels}


def zero_flop_kernels():
    """Yields two rows per phase: kernels with FLOPs and without. The bytes of either are not published."""
    for row in rows("v100_deepcam_phases.csv"):
        name, zero = f"{row['framework']} {row['phase']}", int(row["zero_ai_launches"])
        seconds, share = float(row["time_ms"]) * 1e-3, float(row["zero_ai_time_pct"]) / 100
        times = {"name": f"{name}/with FLOPs", "seconds": text(seconds * (1 - share)), "launches": str(int(row["launches"]) - zero)}
        yield {**times, **split_flops(float(row["tflop"]) * 1e12, row)}
        if zero > 0:
            yield {"name": f"{name}/without FLOPs", "seconds": text(seconds * share), "launches": str(zero), **split_flops(0, row)}


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    lib.write(arguments.output / "machine.json", machine())
    for name, origin, entries, packed in (
        ("conv2d", "v100_conv2d_measured.csv", convolutions(), False),
        ("lstm", "v100_lstm_measured.csv", lstms(), True),
        ("deepcam", "v100_deepcam_phases.csv", list(phases()), True),
        ("deepcam-census", "v100_deepcam_phases.csv", list(zero_flop_kernels()), True),
    ):
        with open(arguments.output / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            file.write(f"# Made by baselines/studies/v100_published/v100_published.py of tests/data/{origin}, where the origin stands.\n")
            table = csv.DictWriter(file, list(entries[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(entries)
        lib.run(Path(arguments.dlroof).resolve(), "import", f"{name}.csv", "--machine", "machine.json", "-o", f"{name}.json", cwd=arguments.output)
        run_file = arguments.output / f"{name}.json"
        if packed:
            Path(f"{run_file}.gz").write_bytes(gzip.compress(run_file.read_bytes(), mtime=0))
            run_file.unlink()


if __name__ == "__main__":
    main()
