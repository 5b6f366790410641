#!/usr/bin/env python3
"""Whether counting disturbs timing: the same benchmarks with --dlroof_counters=off and =auto, in turns.

    ci/counters_cost.py [--bench=build/dlroof_bench] [--pairs=9] -o FILE

Each pair runs both right after one another, in changing order; a benchmark's ratio is the median over pairs of
auto's time over off's (the undisturbed median of each run), its interval the order statistics around that median. The goal is 1 within
1 %. Pairs whose runs were disturbed drop out and are counted."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

NAMES = ("Conv2D/cpu/onednn/fwd/f32/n1c64h28w28k64r3s3_p1", "Conv2D/cpu/onednn/fwd/int8/n1c64h28w28k64r3s3_p1",
         "Conv2D/cpu/onednn/fwd/f32/n1c64h28w28k256r1s1", "LSTM/cpu/onednn/fwd_inference/f32/t8n16i128h128",
         "LSTM/cpu/onednn/fwd_inference/f32/t2n1i64h64")


def medians(bench, counters, threads):
    """Seconds by benchmark; those without enough undisturbed repetitions are absent."""
    with tempfile.TemporaryDirectory() as folder:
        suite, out = os.path.join(folder, "suite.txt"), os.path.join(folder, "run.json")
        with open(suite, "w", encoding="utf-8") as file:
            file.write("\n".join(NAMES) + "\n")
        subprocess.run([bench, "--dlroof_suite=" + suite, "--benchmark_filter=^(" + "|".join(NAMES) + ")/real_time$",
                        f"--dlroof_threads={threads}", "--dlroof_counters=" + counters, "--dlroof_live_check=false",
                        "--benchmark_min_time=0.02", "--benchmark_out=" + out],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            records = json.load(file)["records"]
    return {record["name"]: record["seconds"]["median"] for record in records if "seconds" in record}


def interval(values):
    """The order statistics that cover the median with 95 % (binomial), where there are enough."""
    ranks = {6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 1, 12: 2, 13: 2, 14: 2, 15: 3, 16: 3, 17: 4, 18: 4, 19: 4, 20: 5}
    if len(values) < 6:
        return None
    rank = ranks.get(len(values), 5)
    ordered = sorted(values)
    return [ordered[rank], ordered[-1 - rank]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--out", required=True)
    arguments = parser.parse_args()
    ratios = {name: [] for name in NAMES}
    for pair in range(arguments.pairs):
        order = ("off", "auto") if pair % 2 == 0 else ("auto", "off")
        seconds = {counters: medians(arguments.bench, counters, arguments.threads) for counters in order}
        for name in NAMES:
            if name in seconds["off"] and name in seconds["auto"]:
                ratios[name].append(seconds["auto"][name] / seconds["off"][name])
    rows = []
    for name, values in ratios.items():
        rows.append({"name": name, "pairs": len(values), "ratios": values})
        if values:
            rows[-1].update(median=statistics.median(values), ci95=interval(values))
        print(f"{name:<58} {rows[-1].get('median', float('nan')):.4f}  {rows[-1].get('ci95')}  {len(values)} pairs")
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"study": "counters auto over off", "command": " ".join(sys.argv), "rows": rows}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
