#!/usr/bin/env python3
"""The DeLTA-style model beside what one H200 counted: the table of this folder's README.

baselines/studies/delta-hopper/delta_hopper.py [DLROOF] > baselines/studies/delta-hopper/table.md

DLROOF is the program, build/dlroof unless given. `use` of a call in the data says whether the model
was learnt from it or is judged by it.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
DATA = FOLDER / "2026-11-26-h200-counted.json"
SECTOR_BYTES = 32


def counted(call):
    """[byte] At L2 what it exchanges with the SMs, without what crosses between its partitions."""
    values = call["values"]
    return {"l2": SECTOR_BYTES * values["lts__t_sectors_srcunit_tex.sum"], "dram": values["dram__bytes.sum"]}


def record(call, with_kernels):
    op, device, library, direction, kind, problem, *options = call["name"].split("/")
    return {
        "name": call["name"],
        "op": op,
        "device": device,
        "library": library,
        "direction": direction,
        "type": kind,
        "problem": problem,
        "options": options,
        "status": "ok",
        "algorithm": call["algorithm"],
        "kernels": [{"name": one["name"], "launches": 1} for one in call["kernels"]] if with_kernels else [],
        "repetitions": [{"seconds": sum(one["seconds"] for one in call["kernels"]), "iterations": 1}],
        "work": {"measured": {"bytes": counted(call)}},
    }


def predictions(program, calls, with_kernels):
    """The model's layers by name."""
    with tempfile.TemporaryDirectory() as folder:
        run, out = pathlib.Path(folder, "run.json"), pathlib.Path(folder, "model.json")
        run.write_text(json.dumps({"context": {}, "machines": [], "records": [record(one, with_kernels) for one in calls]}))
        subprocess.run([program, "model", "--gpu", "h200", run, "-o", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = json.loads(out.read_text())
    return {layer["name"]: layer for group in report["groups"] for layer in group["layers"]}


def tile_text(layer):
    tile = layer["tile"]
    text = f"{tile['m']}x{tile['n']}x{tile['k']}"
    if tile["cluster_m"] * tile["cluster_n"] > 1:
        text += f", {tile['cluster_m']}x{tile['cluster_n']}"
    return text + (f", K in {tile['slices']}" if tile["slices"] > 1 else "")


def ratio(layer, call, level):
    return layer["bytes"][level] / counted(call)[level]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(FOLDER.parents[2] / "build/dlroof")
    calls = json.loads(DATA.read_text())["calls"]
    by_name = predictions(program, calls, True)
    by_knobs = predictions(program, calls, False)
    print("| use | call | tile, shared by, slices | L2 | model/counted | by knobs alone | DRAM | model/counted |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    errors = {}
    for call in sorted(calls, key=lambda one: (one["use"] != "learn", one["name"])):
        layer = by_name[call["name"]]
        by_engine = by_knobs[call["name"]]
        knobs = f"{ratio(by_engine, call, 'l2'):.2f}" if by_engine["tile_from"] == "engine" else "-"
        row = [call["use"], "/".join(call["name"].split("/")[3:5]), tile_text(layer)]
        for level in ("l2", "dram"):
            row += [f"{counted(call)[level] / 1e6:.1f} MB", f"{ratio(layer, call, level):.2f}"]
            errors.setdefault((call["use"], level), []).append(abs(ratio(layer, call, level) - 1))
        row.insert(5, knobs)
        print("| " + " | ".join(row) + " |")
    print()
    for (use, level), values in sorted(errors.items(), reverse=True):
        name = {"l2": "L2", "dram": "DRAM"}[level]
        print(f"{use} {name}: median error {100 * statistics.median(values):.1f} %, largest {100 * max(values):.1f} %")


if __name__ == "__main__":
    main()
