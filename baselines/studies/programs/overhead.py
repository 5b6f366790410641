#!/usr/bin/env python3
"""What does a profile cost the program? overhead.py DLROOF OUT.md [--threads N] [--turns N]

`dlroof profile --verify-overhead` of two programs with steps of 100 ms and more and one with short steps, with oneDNN's lines, and with lines and
torch.profiler (--torch). Compared is the number that the program prints, the median of its steps; the report's own sentence stands beside it.
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = (("lstm", 40), ("small", 2000), ("bert", 8), ("resnet50", 8))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dlroof")
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads), PYTHONWARNINGS="ignore")
    lines = [
        "| program, median step | how | lines a step | said of the lines | measured: step (least to most) | CPU time | load |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, steps in PROGRAMS:
        for how in ("lines", "lines and --torch"):
            command = [options.dlroof, "profile", "--machine", "none", "-o", "/dev/null", "--verify-overhead", str(options.turns)]
            command += ["--read", "median: ([0-9.]+) ms", *(["--torch"] if "torch" in how else [])]
            load = os.getloadavg()[0]
            done = subprocess.run(
                [*command, "--", sys.executable, str(HERE / "program.py"), name, "eager", str(steps)], env=environment, capture_output=True, text=True
            )
            own = re.findall(r"median: ([0-9.]+) ms", done.stdout)
            said = re.search(r"take about ([\d.]+ \S+) of a step: ([\d.e-]+ %) \((\d+) lines?", done.stderr)
            turns = {what: re.search(what + r" with .* turns?: ([\d.]+) \(([\d.]+) to ([\d.]+)\)", done.stderr) for what in ("number read", "CPU time")}
            step, cpu = (f"{found[1]} ({found[2]} to {found[3]})" if found else "" for found in turns.values())
            lines.append(
                f"| {name}, {own[-1] if own else ''} ms | {how} | {said[3] if said else ''} | {said[2] if said else ''} | {step} | {cpu} | {load:.0f} |"
            )
            print(lines[-1], flush=True)
            options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
