#!/usr/bin/env python3
"""The DeLTA-style model beside what one H200 counted: the table of this folder's README.

    baselines/studies/delta-hopper/delta_hopper.py [--dlroof build/dlroof]

`use` of a call in the data says whether the model was learnt from it or is judged by it.
"""
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

DATA = Path(__file__).resolve().parent / "2026-11-26-h200-counted.json"
SECTOR_BYTES = 32


def counted(call):
    """Returns the counted bytes: at L2 what it exchanges with the SMs, without what crosses between its partitions."""
    values = call["values"]
    return {"l2": SECTOR_BYTES * values["lts__t_sectors_srcunit_tex.sum"], "dram": values["dram__bytes.sum"]}


def record(call, with_kernels):
    op, device, library, direction, kind, problem, *options = call["name"].split("/")
    kernels = [{"name": kernel["name"], "launches": 1} for kernel in call["kernels"]] if with_kernels else []
    return {
        **{"name": call["name"], "op": op, "device": device, "library": library, "direction": direction, "type": kind, "problem": problem},
        **{"options": options, "status": "ok", "algorithm": call["algorithm"], "kernels": kernels},
        "repetitions": [{"seconds": sum(kernel["seconds"] for kernel in call["kernels"]), "iterations": 1}],
        "work": {"measured": {"bytes": counted(call)}},
    }


def predictions(dlroof, calls, with_kernels):
    """Returns the model's layers by name."""
    with tempfile.TemporaryDirectory() as folder:
        run, out = f"{folder}/run.json", f"{folder}/model.json"
        lib.write(run, {"context": {}, "machines": [], "records": [record(call, with_kernels) for call in calls]})
        lib.run(dlroof, "model", "--gpu", "h200", run, "-o", out)
        return {layer["name"]: layer for group in lib.read(out)["groups"] for layer in group["layers"]}


def tile_text(tile):
    text = f"{tile['m']}x{tile['n']}x{tile['k']}"
    if tile["cluster_m"] * tile["cluster_n"] > 1:
        text += f", {tile['cluster_m']}x{tile['cluster_n']}"
    return text + (f", K in {tile['slices']}" if tile["slices"] > 1 else "")


def main():
    arguments = lib.parser(__doc__).parse_args()
    calls = lib.read(DATA)["calls"]
    by_name, by_knobs = (predictions(arguments.dlroof, calls, with_kernels) for with_kernels in (True, False))
    rows, errors = [], {}
    for call in sorted(calls, key=lambda call: (call["use"] != "learn", call["name"])):
        layer, by_engine, truth = by_name[call["name"]], by_knobs[call["name"]], counted(call)
        ratios = {level: layer["bytes"][level] / truth[level] for level in ("l2", "dram")}
        for level, ratio in ratios.items():
            errors.setdefault((call["use"], level), []).append(abs(ratio - 1))
        knobs = f"{by_engine['bytes']['l2'] / truth['l2']:.2f}" if by_engine["tile_from"] == "engine" else "-"
        cells = [call["use"], "/".join(call["name"].split("/")[3:5]), tile_text(layer["tile"])]
        rows.append([*cells, f"{truth['l2'] / 1e6:.1f} MB", f"{ratios['l2']:.2f}", knobs, f"{truth['dram'] / 1e6:.1f} MB", f"{ratios['dram']:.2f}"])
    print(lib.table(("use", "call", "tile, shared by, slices", "L2", "model/counted", "by knobs alone", "DRAM", "model/counted"), rows))
    for (use, level), values in sorted(errors.items(), reverse=True):
        print(f"{use} {level.upper()}: median error {100 * statistics.median(values):.1f} %, largest {100 * max(values):.1f} %")


if __name__ == "__main__":
    main()
