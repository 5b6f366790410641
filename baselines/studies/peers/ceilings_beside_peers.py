#!/usr/bin/env python3
"""Measures the CPU's ceilings with dlroof and with other programs, in turns, row by row.

    baselines/studies/peers/ceilings_beside_peers.py FILE --rounds 5 [--stream PATH] [--clpeak PATH]
    baselines/studies/peers/ceilings_beside_peers.py FILE                                              # the tables

Peers: likwid-bench (Debian package likwid), STREAM (stream.c, built with OpenMP and an array of at least four times the last cache),
clpeak (Debian packages clpeak, pocl-opencl-icd). Those that are not given or not found are left out. In each round dlroof measures fully
(`dlroof machine --remeasure`), then each peer once, then dlroof a few times with `--quick`. A row's `ratio` is the best of dlroof's full
measurements over the best of the peer's turns. `spread` is the range of the quick invocations over their median; `spread_per_cycle` that
of work per clock cycle, the clock being read right after each kernel. `quick_over_full` is the ratio of the medians. Rates are per
CPU-second: of N threads over N. Every single figure is kept in the file.
"""
import os
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

# likwid-bench's test of dlroof's row fp32.vector.ISA, and of fp64 without the "sp_".
FLOPS_TESTS = {"avx512": "sp_avx512_fma", "avx512_nofma": "sp_avx512", "avx2": "sp_avx_fma", "avx": "sp_avx", "sse2": "sp_sse", "sse2_scalar": "sp"}
FLOPS_ROWS = {f"fp32.vector.{isa}": f"peakflops_{test}" for isa, test in FLOPS_TESTS.items()}
FLOPS_ROWS |= {f"fp64.vector.{isa}": f"peakflops_{test}".replace("_sp", "") for isa, test in FLOPS_TESTS.items()}
MIXES = {name: name for name in ("load", "store", "copy", "update")}
MIXES |= {"triad": "stream", "store-nt": "store_mem", "copy-nt": "copy_mem", "triad-nt": "stream_mem"}
ISAS = {"avx512": ["_avx512", "_avx512_fma"], "avx2": ["_avx", "_avx_fma"], "sse2": ["_sse"]}
CLPEAK_ROWS = {
    "fp32.vector": "Single-precision compute (GFLOPS)",
    "fp64.vector": "Double-precision compute (GFLOPS)",
    "int32.vector": "Integer compute (GIOPS)",
    "dram.load.best": "Global memory bandwidth (GBPS)",
}


def dlroof_machine(arguments, *flags):
    with tempfile.TemporaryDirectory() as cache:
        path = os.path.join(cache, "machine.json")
        lib.run(arguments.dlroof, "machine", *flags, "-o", path, env=dict(os.environ, XDG_CACHE_HOME=cache))
        return lib.read(path)


def dlroof_rows(machine):
    """Returns by (row, threads) the rate of one thread, by its clock where that was read, and whether it was validated."""
    rows = {}
    for threads, ceilings in machine["by_threads"].items():
        mixes = ceilings.get("mixes", {})
        roofs = {**ceilings["flops"], **mixes, **{f"{level}.roof": roof for level, roof in ceilings["bytes"].items()}}
        for mix in ("load", "copy", "triad"):  # of any instruction set, with or without caches
            alike = [roof for key, roof in mixes.items() if re.match(rf"dram\.{mix}(-nt)?\.\w+$", key)]
            if alike:
                roofs[f"dram.{mix}.best"] = max(alike, key=lambda roof: roof["per_second"])
        for key, roof in roofs.items():
            rates = {"per_second": roof["per_second"] / int(threads), "per_cycle": roof.get("proof", {}).get("per_cycle")}
            rows[key, int(threads)] = {**rates, "proved": roof["proved"]}
    return rows


class Likwid:
    """likwid-bench, each test for about `seconds` on working sets like dlroof's."""

    def __init__(self, program, seconds, machine):
        self.program, self.seconds, self.machine = program, seconds, machine
        self.tests = {line.split()[0] for line in lib.run(program, "-a").stdout.splitlines() if line}
        self.dlroof = dlroof_rows(machine)

    def kilobytes(self, level, threads):
        """Returns working sets of all threads [kB]; several where a level's best size is not known."""
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
        """Returns [flop/s] or [byte/s] of one thread. Its least time is a second, so iterations are given: as many as `expected` bytes
        per second of one thread would need, then as many as the time asks for."""
        unit = "MFlops/s" if test.startswith("peakflops") else "MByte/s"
        iterations = int(self.seconds * expected * threads / (kilobytes * 1000)) + 1 if expected else 10
        for _ in range(4):
            text = lib.run(self.program, "-t", test, "-w", f"S0:{int(kilobytes)}kB:{threads}", "-i", iterations).stdout
            rate, time = (float(re.search(rf"^{key}:\s+([\d.e+-]+)", text, re.MULTILINE)[1]) for key in (unit, "Time"))
            if time >= 0.7 * self.seconds:
                break
            iterations = int(iterations * min(1000, self.seconds / max(time, 1e-7))) + 1
        return rate * 1e6 / threads

    def rows(self, threads):
        chosen = {row: test for row, test in FLOPS_ROWS.items() if test in self.tests and row in self.machine["flops"]}
        result = {(row, threads): self.rate(test, 16 * threads, threads, None) for row, test in chosen.items()}
        for row in self.machine["by_threads"][str(threads)].get("mixes", {}):
            level, mix, isa, *rest = row.split(".")
            tests = [MIXES[mix] + suffix for suffix in ISAS.get(isa, []) if mix in MIXES and MIXES[mix] + suffix in self.tests]
            expected = self.dlroof[row, threads]["per_second"]
            rates = [self.rate(test, size, threads, expected) for test in tests for size in self.kilobytes(level, threads)]
            if rates and not rest:
                result[row, threads] = max(rates)
        return result


def stream_rows(program, threads):
    text = lib.run(program, env=dict(os.environ, OMP_NUM_THREADS=str(threads))).stdout
    rates = dict(re.findall(r"^(Copy|Triad):\s+([\d.]+)", text, re.MULTILINE))
    return {(f"dram.{name.lower()}.best", threads): float(rate) * 1e6 / threads for name, rate in rates.items()}


def clpeak_rows(program, threads):
    """clpeak uses all CPUs."""
    text, rows = lib.run(program, "--compute-sp", "--compute-dp", "--compute-integer", "--global-bandwidth").stdout, {}
    for row, title in CLPEAK_ROWS.items():
        if section := re.search(rf"{re.escape(title)}\n((?:\s+\w+\s+:\s+[\d.]+\n)+)", text):
            rows[row, threads] = max(map(float, re.findall(r":\s+([\d.]+)", section[1]))) * 1e9 / threads
    return rows


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def rows_of(full, quick, peers):
    """`full` and of each of `peers`: a dictionary per round; `quick`: one per invocation."""
    rows = []
    for key in sorted(set().union(*full)):
        measured, values = ([of[key] for of in rounds if key in of] for rounds in (full, quick))
        rates = [rate["per_second"] for rate in measured]
        row = {"row": key[0], "threads": key[1], "full": rates, "full_proved": sum(rate["proved"] for rate in measured)}
        if len(values) > 1:
            row["quick"] = [value["per_second"] for value in values]
            row |= {"spread": spread(row["quick"]), "quick_over_full": statistics.median(row["quick"]) / statistics.median(rates)}
            row["quick_per_cycle"] = [value["per_cycle"] for value in values if value["per_cycle"]]
            if len(row["quick_per_cycle"]) == len(values):
                row["spread_per_cycle"] = spread(row["quick_per_cycle"])
        for name, rounds in peers.items():
            if theirs := [of[key] for of in rounds if key in of]:
                row[name] = {"rates": theirs, "ratio": max(rates) / max(theirs)}
        rows.append(row)
    return rows


def show(rows):
    peers = sorted({name for row in rows for name, value in row.items() if isinstance(value, dict)})
    cells = []
    for row in rows:
        own = [f"{100 * row[key]:.1f} %" if key in row else "" for key in ("spread", "spread_per_cycle")]
        ratios = [f"{row[name]['ratio']:.3f}" if name in row else "" for name in peers]
        cells.append(
            [row["row"], row["threads"], f"{max(row['full']) / 1e9:.2f}", *own, f"{row['quick_over_full']:.3f}" if "quick_over_full" in row else "", *ratios]
        )
    print(lib.table(("row", "threads", "G/s each", "spread", "per cycle", "quick over full", *(f"over {name}" for name in peers)), cells))
    for name in peers:
        ratios = [row[name]["ratio"] for row in rows if name in row and not row["row"].endswith((".roof", ".best"))]
        if ratios:
            print(f"{name}: {sum(ratio >= 0.99 for ratio in ratios)} of {len(ratios)} rows at least 0.99, {min(ratios):.3f} to {max(ratios):.3f}")


def measure(arguments):
    full, quick, peers = [], [], {}
    for number in range(arguments.rounds):
        machine = dlroof_machine(arguments, "--remeasure")
        full.append(dlroof_rows(machine))
        threads, turns = sorted(map(int, machine["by_threads"])), {}
        if arguments.likwid:
            likwid = Likwid(arguments.likwid, arguments.seconds, machine)
            turns["likwid-bench"] = {key: rate for count in threads for key, rate in likwid.rows(count).items()}
        if arguments.stream:
            turns["STREAM"] = {key: rate for count in threads for key, rate in stream_rows(arguments.stream, count).items()}
        if arguments.clpeak:
            turns["clpeak"] = clpeak_rows(arguments.clpeak, threads[-1])
        for name, rates in turns.items():
            peers.setdefault(name, []).append(rates)
        quick += [dlroof_rows(dlroof_machine(arguments, "--remeasure", "--quick")) for _ in range(arguments.quick)]
        about = {"machine": machine["name"], "fingerprint": machine["fingerprint"], "command": lib.command()}
        lib.write(arguments.file, {**about, "rows": rows_of(full, quick, peers)}, None)
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file")
    parser.add_argument("--likwid", default=shutil.which("likwid-bench"))
    parser.add_argument("--stream", help="the program stream")
    parser.add_argument("--clpeak", default=shutil.which("clpeak"))
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--quick", type=int, default=2, help="quick measurements in a round")
    parser.add_argument("--seconds", type=float, default=0.15, help="of a likwid-bench test")
    arguments = parser.parse_args()
    if arguments.rounds:
        measure(arguments)
    show(lib.read(arguments.file)["rows"])


if __name__ == "__main__":
    main()
