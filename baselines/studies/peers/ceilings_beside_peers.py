#!/usr/bin/env python3
"""Measures the CPU's ceilings with dlroof and with other programs, in turns, row by row.

    baselines/studies/peers/ceilings_beside_peers.py [--stream=PATH] [--clpeak=PATH] -o table.json
    baselines/studies/peers/ceilings_beside_peers.py --show table.json

Peers: likwid-bench (Debian package likwid), STREAM (stream.c, built with OpenMP and an array of at
least four times the last cache), clpeak (Debian packages clpeak, pocl-opencl-icd). Those that are
not given or not found are left out. In each round dlroof measures fully (`dlroof machine
--remeasure`), then each peer once, then dlroof a few times with `--quick`: as many full measurements as
turns of a peer. A row's `ratio` is the best of dlroof's full measurements over the best of the
peer's turns, `ratio_median` the median of the rounds' ratios. `spread` is the range of the quick
invocations over their median; `spread_proved` of those alone in which the row proved itself;
`spread_per_cycle` that of work per clock cycle, the clock being read right after each kernel: what is
left of the spread where the machine's clock moves. `quick_over_full` is the ratio of the medians. Rates are per CPU-second: of N threads over N. Every
single figure is kept in the file.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

# dlroof's row: likwid-bench's test, by instruction set as both spell it.
FLOPS_ROWS = {
    "fp32.vector.avx512": "peakflops_sp_avx512_fma",
    "fp32.vector.avx512_nofma": "peakflops_sp_avx512",
    "fp32.vector.avx2": "peakflops_sp_avx_fma",
    "fp32.vector.avx": "peakflops_sp_avx",
    "fp32.vector.sse2": "peakflops_sp_sse",
    "fp32.vector.sse2_scalar": "peakflops_sp",
    "fp64.vector.avx512": "peakflops_avx512_fma",
    "fp64.vector.avx512_nofma": "peakflops_avx512",
    "fp64.vector.avx2": "peakflops_avx_fma",
    "fp64.vector.avx": "peakflops_avx",
    "fp64.vector.sse2": "peakflops_sse",
    "fp64.vector.sse2_scalar": "peakflops",
}
MIXES = {
    "load": ["load"],
    "store": ["store"],
    "copy": ["copy"],
    "update": ["update"],
    "triad": ["stream"],
    "store-nt": ["store_mem"],
    "copy-nt": ["copy_mem"],
    "triad-nt": ["stream_mem"],
}
ISAS = {"avx512": ["_avx512", "_avx512_fma"], "avx2": ["_avx", "_avx_fma"], "sse2": ["_sse"]}


def output_of(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def dlroof_machine(arguments, *flags):
    with tempfile.TemporaryDirectory() as cache:
        path = os.path.join(cache, "machine.json")
        output_of([arguments.dlroof, "machine", *flags, "-o", path], env=dict(os.environ, XDG_CACHE_HOME=cache))
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def dlroof_rows(machine):
    """(row, threads) -> {rate of one thread, by its clock where that was read, proved}."""
    rows = {}
    for threads, ceilings in machine["by_threads"].items():
        level_roofs = {f"{level}.roof": roof for level, roof in ceilings["bytes"].items()}
        mixes = ceilings.get("mixes", {})
        for mix in ("load", "copy", "triad"):  # of any instruction set, with or without caches
            alike = [one for key, one in mixes.items() if re.match(rf"dram\.{mix}(-nt)?\.\w+$", key)]
            if alike:
                level_roofs[f"dram.{mix}.best"] = max(alike, key=lambda one: one["per_second"])
        for key, one in {**ceilings["flops"], **mixes, **level_roofs}.items():
            rows[key, int(threads)] = {
                "per_second": one["per_second"] / int(threads),
                "per_cycle": one.get("proof", {}).get("per_cycle"),
                "proved": one["proved"],
            }
    return rows


class Likwid:
    """likwid-bench, each test for about `seconds` on working sets like dlroof's."""

    def __init__(self, program, seconds, machine):
        self.program, self.seconds = program, seconds
        self.tests = {line.split()[0] for line in output_of([program, "-a"]).splitlines() if line}
        self.machine = machine
        self.iterations = {}  # (test, kilobytes, threads) -> what the last launch took
        self.dlroof = dlroof_rows(machine)

    def kilobytes(self, level, threads):
        """Working sets of all threads [kB]; several where a level's best size is not known."""
        sizes = self.machine["cache_bytes"]
        l2, l3 = sizes.get("l2", 1 << 20), sizes.get("l3", 0)
        if level in ("l1", "l2"):
            return [sizes[level] * part * threads / 1024 for part in (0.25, 0.5)] if level in sizes else []
        if level == "l3":  # like dlroof's: nothing that L2 helps, nothing beyond the thread's share
            share = l3 / threads
            wanted = {min(0.75 * share, max(3 * l2, size)) for size in ((l2 * share) ** 0.5, share / 2)}
            return [size * threads / 1024 for size in wanted] if share > 3 * l2 else []
        return [4 * (l3 + l2 * threads) / 1024]

    def rate(self, test, kilobytes, threads, expected):
        """[flop/s] or [byte/s] of one thread; its least time is a second, so iterations are given: those
        of the last launch, or as many as `expected` bytes per second of one thread would need."""
        unit = "MFlops/s" if test.startswith("peakflops") else "MByte/s"
        key = test, kilobytes, threads
        start = expected and int(self.seconds * expected * threads / (kilobytes * 1000)) + 1
        iterations = self.iterations.get(key, start or 10)
        for _ in range(4):
            text = output_of([self.program, "-t", test, "-w", f"S0:{int(kilobytes)}kB:{threads}", "-i", str(iterations)])
            rate, time = (float(re.search(rf"^{key}:\s+([\d.e+-]+)", text, re.MULTILINE)[1]) for key in (unit, "Time"))
            if time >= 0.7 * self.seconds:
                self.iterations[key] = iterations
                break
            iterations = int(iterations * min(1000, self.seconds / max(time, 1e-7))) + 1
        return rate * 1e6 / threads

    def rows(self, threads):
        result = {}
        for row, test in FLOPS_ROWS.items():
            if test in self.tests and row in self.machine["flops"]:
                result[row, threads] = self.rate(test, 16 * threads, threads, None)
        for row in self.machine["by_threads"][str(threads)].get("mixes", {}):
            level, mix, isa, *rest = row.split(".")
            if rest:
                continue
            expected = self.dlroof[row, threads]["per_second"]
            rates = [
                self.rate(base + suffix, size, threads, expected)
                for base in MIXES.get(mix, [])
                for suffix in ISAS.get(isa, [])
                if base + suffix in self.tests
                for size in self.kilobytes(level, threads)
            ]
            if rates:
                result[row, threads] = max(rates)
        return result


def stream_rows(program, threads):
    text = output_of([program], env=dict(os.environ, OMP_NUM_THREADS=str(threads)))
    rates = {name.lower(): float(rate) * 1e6 / threads for name, rate in re.findall(r"^(Copy|Scale|Add|Triad):\s+([\d.]+)", text, re.MULTILINE)}
    return {(f"dram.{name}.best", threads): rates[name] for name in ("copy", "triad")}


def clpeak_rows(program, threads):
    """clpeak uses all CPUs."""
    text = output_of([program, "--compute-sp", "--compute-dp", "--compute-integer", "--global-bandwidth"])
    rows = {}
    for row, title in (
        ("fp32.vector", "Single-precision compute (GFLOPS)"),
        ("fp64.vector", "Double-precision compute (GFLOPS)"),
        ("int32.vector", "Integer compute (GIOPS)"),
        ("dram.load.best", "Global memory bandwidth (GBPS)"),
    ):
        section = re.search(rf"{re.escape(title)}\n((?:\s+\w+\s+:\s+[\d.]+\n)+)", text)
        if section:
            rows[row, threads] = max(map(float, re.findall(r":\s+([\d.]+)", section[1]))) * 1e9 / threads
    return rows


def spread(values):
    return (max(values) - min(values)) / statistics.median(values) if len(values) > 1 else None


def table(full, quick, peers):
    """`full` and of each of `peers`: a dictionary per round; `quick`: one per invocation."""
    rows = []
    for key in sorted(set().union(*full)):
        measured = [round_[key] for round_ in full if key in round_]
        values = [round_[key] for round_ in quick if key in round_]
        rates = [one["per_second"] for one in measured]
        row = {"row": key[0], "threads": key[1], "full": rates, "full_proved": sum(one["proved"] for one in measured)}
        if values:
            row["quick"] = [v["per_second"] for v in values]
            row["spread"] = spread(row["quick"])
            proved = [v["per_second"] for v in values if v["proved"]]
            row["proved_rounds"] = len(proved)
            if len(proved) > 1:
                row["spread_proved"] = spread(proved)
            by_clock = [v["per_cycle"] for v in values if v["per_cycle"]]
            if len(by_clock) == len(values):
                row["quick_per_cycle"], row["spread_per_cycle"] = by_clock, spread(by_clock)
            row["quick_over_full"] = statistics.median(row["quick"]) / statistics.median(rates)
        for name, rounds in peers.items():
            theirs = [round_[key] for round_ in rounds if key in round_]
            if theirs:
                row[name] = {
                    "rates": theirs,
                    "ratio": max(rates) / max(theirs),
                    "spread": spread(theirs),
                    "ratio_median": statistics.median(a / b for a, b in zip(rates, theirs)),
                }
        rows.append(row)
    return rows


def show(rows, peers):
    print(f"{'row':34}{'threads':>8}{'G/s each':>10}{'spread':>8}{'/cycle':>8}{'quick':>7}" + "".join(f"{name:>16}" for name in peers))
    for row in rows:
        ratios = "".join(f"{row[name]['ratio']:9.3f} {row[name]['ratio_median']:6.3f}" if name in row else " " * 16 for name in peers)
        by_clock = f"{row['spread_per_cycle'] * 100:7.1f}%" if row.get("spread_per_cycle") is not None else " " * 8
        own = f"{row['spread'] * 100:7.1f}%{by_clock}{row['quick_over_full']:7.3f}" if row.get("spread") is not None else " " * 23
        print(f"{row['row']:34}{row['threads']:8}{max(row['full']) / 1e9:10.2f}{own}{ratios}")


def show_all(rows):
    show(rows, sorted({name for row in rows for name, value in row.items() if isinstance(value, dict)}))
    show_groups(rows)


def least_and_largest(values, shown):
    return f"{shown(min(values))} to {shown(max(values))}" if values else "-"


def show_groups(rows):
    """A line for each pipe and level at each number of threads: its rows from least to largest."""
    percent, ratio = (lambda v: f"{v * 100:.1f} %"), (lambda v: f"{v:.3f}")
    rows = [row for row in rows if not row["row"].endswith((".roof", ".best"))]
    print(f"\n{'group':14}{'threads':>8}{'rows':>6}{'G/s each':>10}  {'spread':20}{'per cycle':20}" f"{'quick over full':20}{'within 3 %':>10}  over peers")
    for group, threads in sorted({(row["row"].split(".")[0], row["threads"]) for row in rows}):
        own = [row for row in rows if row["row"].split(".")[0] == group and row["threads"] == threads]
        quick = [row["quick_over_full"] for row in own if "quick_over_full" in row]
        peers = [value["ratio"] for row in own for value in row.values() if isinstance(value, dict)]
        print(
            f"{group:14}{threads:8}{len(own):6}{max(max(row['full']) for row in own) / 1e9:10.2f}  "
            f"{least_and_largest([row['spread'] for row in own if row.get('spread') is not None], percent):20}"
            f"{least_and_largest([row['spread_per_cycle'] for row in own if 'spread_per_cycle' in row], percent):20}"
            f"{least_and_largest(quick, ratio):20}{sum(abs(q - 1) <= 0.03 for q in quick):10}  "
            f"{least_and_largest(peers, ratio)}"
        )


def write(arguments, machine, rows):
    """After each round: a run that is cut off keeps its rounds."""
    unfinished = arguments.output + ".tmp"
    with open(unfinished, "w", encoding="utf-8") as out:
        json.dump({"machine": machine["name"], "fingerprint": machine["fingerprint"], "command": shlex.join(sys.argv), "rows": rows}, out, indent=1)
        out.write("\n")
    os.replace(unfinished, arguments.output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("--likwid", default=shutil.which("likwid-bench"))
    parser.add_argument("--stream", help="the program stream")
    parser.add_argument("--clpeak", default=shutil.which("clpeak"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", type=int, default=2, help="quick measurements in a round")
    parser.add_argument("--seconds", type=float, default=0.15, help="of a likwid-bench test")
    output = parser.add_mutually_exclusive_group(required=True)
    output.add_argument("-o", "--output")
    output.add_argument("--show", help="print a stored table, measure nothing")
    arguments = parser.parse_args()
    if arguments.show:
        with open(arguments.show, encoding="utf-8") as file:
            show_all(json.load(file)["rows"])
        return

    full, quick, peers = [], [], {}
    for number in range(arguments.rounds):
        machine = dlroof_machine(arguments, "--remeasure")
        full.append(dlroof_rows(machine))
        threads = sorted(map(int, machine["by_threads"]))
        turns = {}
        if arguments.likwid:
            likwid = Likwid(arguments.likwid, arguments.seconds, machine)
            turns["likwid-bench"] = {k: v for n in threads for k, v in likwid.rows(n).items()}
        if arguments.stream:
            turns["STREAM"] = {k: v for n in threads for k, v in stream_rows(arguments.stream, n).items()}
        if arguments.clpeak:
            turns["clpeak"] = clpeak_rows(arguments.clpeak, threads[-1])
        for name, rates in turns.items():
            peers.setdefault(name, []).append(rates)
        for _ in range(arguments.quick):
            quick.append(dlroof_rows(dlroof_machine(arguments, "--remeasure", "--quick")))
        rows = table(full, quick, peers)
        write(arguments, machine, rows)
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
    show_all(rows)


if __name__ == "__main__":
    main()
