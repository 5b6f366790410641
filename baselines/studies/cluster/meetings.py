#!/usr/bin/env python3
"""How far apart do nodes start a benchmark, with file barriers and without?

Some nodes of one machine, each with its own `dlroof cluster node`, with simulated benchmarks that sleep: the benchmarks of node i take i times
5 % longer than the first node's. A benchmark's program writes when it was started. Each round runs once with --meet and once without.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WRAPPER = """#!/usr/bin/env bash
# Writes when a benchmark's program was started, then is that program.
case "$*" in *benchmark_list_tests*) ;; *) echo "$EPOCHREALTIME $*" | sed 's/ .*--benchmark_filter=\\([^ ]*\\).*/ \\1/' >> "$STARTED" ;; esac
exec bash "$PROGRAM" "$@"
"""


def measure(arguments, folder, meet):
    """Returns the times at which each node's programs were started [s], by benchmark and node."""
    names = [f"n{i}" for i in range(1, arguments.nodes + 1)]
    bench = folder / "bench"
    bench.write_text(WRAPPER)
    bench.chmod(0o755)
    (folder / "now").write_text("".join(f"{name}\n" for name in names))
    running = []
    for i, name in enumerate(names):
        command = [
            arguments.dlroof,
            "cluster",
            "node",
            "--out",
            folder / "out",
            "--bench",
            bench,
            "--order",
            "at-once",
            *(["--meet", folder / "now"] if meet else []),
            "--",
            "--dlroof_x",
        ]
        running.append(
            subprocess.Popen(
                command,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "SLURMD_NODENAME": name,
                    "SLURM_PROCID": "0",
                    "FAKE_DEVICE": "none",
                    "STARTED": str(folder / name),
                    "PROGRAM": str(ROOT / "tests/cli/fake_bench.sh"),
                    "FAKE_NAMES": " ".join(f"n{j}" for j in range(1, arguments.benchmarks + 1)),
                    "FAKE_SECONDS": f"{arguments.seconds * (1 + 0.05 * i):.3f}",
                },
            )
        )
    assert all(process.wait() == 0 for process in running)
    started = {}
    for name in names:
        for line in (folder / name).read_text().splitlines():
            time, benchmark = line.split()
            started.setdefault(benchmark, {})[name] = float(time)
    assert len(started) == arguments.benchmarks and all(len(times) == arguments.nodes for times in started.values())
    nodes = [json.loads((folder / "out/nodes" / f"{name}.json").read_text())["context"]["dlroof"] for name in names]
    waited = [sum(one["waited_seconds"] for one in node.get("meetings", [])) for node in nodes]
    assert all(("meetings" in node) == meet for node in nodes)
    return started, waited


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--benchmarks", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5, help="[s] of a benchmark of the first node")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", dest="output", help="file of all times")
    arguments = parser.parse_args()
    arguments.dlroof = shutil.which(arguments.dlroof) or str(Path(arguments.dlroof).resolve())
    rounds = []
    for meet in [True, False] * arguments.rounds:
        with tempfile.TemporaryDirectory() as folder:
            started, waited = measure(arguments, Path(folder), meet)
        spreads = sorted(max(times.values()) - min(times.values()) for times in started.values())
        first = min(min(times.values()) for times in started.values())
        rounds.append(
            {
                "meet": meet,
                "median_spread_seconds": round(statistics.median(spreads), 6),
                "most_spread_seconds": round(spreads[-1], 6),
                "waited_seconds": [round(one, 3) for one in waited],
                "started_seconds": {
                    benchmark: {name: round(time - first, 6) for name, time in sorted(times.items())}
                    for benchmark, times in sorted(started.items(), key=lambda item: min(item[1].values()))
                },
            }
        )
        print(
            f"{'meetings' if meet else 'none':8}  spread: median {1e3 * rounds[-1]['median_spread_seconds']:.1f} ms, "
            f"most {1e3 * rounds[-1]['most_spread_seconds']:.1f} ms; waited {[round(one, 2) for one in waited]} s"
        )
    if arguments.output:
        Path(arguments.output).write_text(
            json.dumps(
                {
                    "command": f"baselines/studies/cluster/meetings.py --nodes {arguments.nodes} --benchmarks {arguments.benchmarks} --seconds {arguments.seconds:g} --rounds {arguments.rounds}",
                    "nodes": arguments.nodes,
                    "seconds": arguments.seconds,
                    "rounds": rounds,
                },
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
