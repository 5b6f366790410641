#!/usr/bin/env python3
"""Runs dlroof_net on simulated hosts one of which has a slower link, and checks which one it reports.

    baselines/studies/cluster/simulated_nodes.py --nodes 64 1024 -o FILE.json

Needs SimGrid (libsimgrid-dev), whose smpicxx compiles dlroof_net's own sources: a minute. 64 hosts then take 8 s for each case, 1024 hosts
some minutes and gigabytes. Exit code 1 if it reports another host than the slow one, or none.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SOURCES = (
    "bench/network/mpi/mpi_messages.cpp",
    "bench/network/probe.cpp",
    "baselines/cluster/network.cpp",
    "baselines/cluster/network_file.cpp",
    "counters/base/error.cpp",
    "counters/base/files.cpp",
    "counters/base/json_reader.cpp",
    "counters/base/numbers.cpp",
    "reporters/text/text.cpp",
)
# smpicxx makes a macro of exit, which is a function of CLI11's classes.
MAIN = '#undef exit\n#include "bench/network/mpi/dlroof_net_main.cpp"\n'
# A message takes latency + bytes / bandwidth, and programs take no time but for their messages.
OPTIONS = [
    f"--cfg={option}"
    for option in (
        "network/model:CM02",
        "network/TCP-gamma:0",
        "network/crosstraffic:0",
        "network/latency-factor:1",
        "network/bandwidth-factor:1",
        "smpi/bw-factor:1",
        "smpi/lat-factor:1",
        "smpi/os:0:0:0:0:0",
        "smpi/or:0:0:0:0:0",
        "smpi/ois:0:0:0:0:0",
        "smpi/simulate-computation:no",
        "smpi/privatization:no",
    )
] + ["--log=root.thres:warning"]
BANDWIDTH, LATENCY = 125e6, 15e-6  # [byte/s], [s] of a host's link: 1 GbE
# By hosts: the slow one, and its share of the bandwidth.
CASES = {64: ((37, 0.5), (56, 0.5), (11, 0.5), (37, 0.25), (37, 0.85), (37, 0.95), (37, 1)), 1024: ((700, 0.5),)}


def build(folder):
    """Compiles dlroof_net for SimGrid. Returns the program."""
    (folder / "main.cpp").write_text(MAIN)

    def compiled(source):
        target = folder / (source.stem + ".o")
        subprocess.run(["smpicxx", "-std=c++20", "-O1", "-fPIC", "-I", ROOT, "-include", "vector", "-c", source, "-o", target], check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, [folder / "main.cpp", *(ROOT / source for source in SOURCES)]))
    subprocess.run(["smpicxx", *objects, "-o", folder / "dlroof_net", "-lfmt"], check=True)
    return folder / "dlroof_net"


def write_platform(folder, hosts, slow, share):
    """Writes hosts that are joined by a switch, each by a link of its own."""
    lines = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '<zone id="cluster" routing="Cluster">',
    ]
    for host in range(hosts):
        rate = BANDWIDTH * (share if host == slow else 1)
        lines.append(
            f'<host id="n{host}" speed="1Gf"/><link id="l{host}" bandwidth="{rate}Bps" latency="{LATENCY}s" sharing_policy="SPLITDUPLEX"/>'
            f'<host_link id="n{host}" up="l{host}_UP" down="l{host}_DOWN"/>'
        )
    (folder / "platform.xml").write_text("\n".join([*lines, "</zone>", "</platform>\n"]))
    (folder / "hosts").write_text("".join(f"n{host}\n" for host in range(hosts)))


def simulate(program, folder, hosts, slow, share, most_bytes):
    """Returns what one simulated job says."""
    write_platform(folder, hosts, slow, share)
    before = time.monotonic()
    done = subprocess.run(
        [
            "smpirun",
            "-np",
            str(hosts),
            "-platform",
            "platform.xml",
            "-hostfile",
            "hosts",
            *OPTIONS,
            program,
            "-o",
            "net.json",
            "--repetitions",
            "3",
            "--max-bytes",
            str(most_bytes),
            "--deadline",
            "7200",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"smpirun: exit code {done.returncode}: {done.stderr}")
    said = [line for line in done.stdout.splitlines() if line.startswith("slow")]
    fit = json.loads((folder / "net.json").read_text())["network"]
    return {
        "hosts": hosts,
        "slow": f"n{slow}",
        "share": share,
        "most_bytes": most_bytes,
        "seconds": round(time.monotonic() - before, 1),
        "said": said,
        "bytes_per_second": fit["pieces"][-1]["bytes_per_second"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[64], choices=CASES)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    result, wrong = {"command": " ".join(["simulated_nodes.py", *sys.argv[1:]]), "jobs": []}, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        program = build(folder)
        for hosts in options.nodes:
            for slow, share in CASES[hosts]:
                job = simulate(program, folder, hosts, slow, share, 4 << 20 if hosts == 64 else 1 << 18)
                result["jobs"].append(job)
                named = {re.match(r"slow \w+: (\S+)", line)[1] for line in job["said"]}
                if named != ({f"n{slow}"} if share < 0.9 else set()) or any("link" in line for line in job["said"]):
                    wrong.append(f"{hosts} hosts, n{slow} at {share:g} of the bandwidth: {job['said']}")
                print(
                    f"| {hosts} | n{slow} | {100 * share:g} % | {'; '.join(job['said']) or 'none'} | {job['bytes_per_second'] / 1e6:.1f} | {job['seconds']:.0f} |",
                    flush=True,
                )
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
