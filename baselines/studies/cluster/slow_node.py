#!/usr/bin/env python3
"""Measures nodes that are one machine and share one $HOME, three of them made slow, and checks whose roofs are used for each.

    baselines/studies/cluster/slow_node.py --dlroof build/dlroof -o FILE.json

Needs root and the cpu control group. Nodes n1 and n2 are the machine as it is; n3 may use a share of its CPUs (--quota), n4 has a busy loop
beside it on each CPU, n5 has only one CPU. One node is measured after the other. Exit code 1 where a node's ceilings are not its own.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAYERS = ("n1c64h56w56k64r3s3_p1", "n1c128h28w28k128r3s3_p1", "n1c256h14w14k256r3s3_p1", "n1c256h56w56k64r1s1", "n1c512h7w7k512r3s3_p1")
ROOFS = (("flops", "fp32.vector"), ("bytes", "l2"), ("bytes", "dram"))
PERIOD = 100000  # [us]
NODES = ("n1", "n2", "n3", "n4", "n5")


class Quota:
    """A control group whose processes may use `share` of all CPUs."""

    def __init__(self, share):
        first = Path("/sys/fs/cgroup/cpu")
        self.folder = (first if first.is_dir() else Path("/sys/fs/cgroup")) / f"dlroof-slow-node-{os.getpid()}"
        self.folder.mkdir()
        quota = round(share * PERIOD * len(os.sched_getaffinity(0)))
        if first.is_dir():
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self.folder / "cpu.max").write_text(f"{quota} {PERIOD}")

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def periods(self):
        """Returns how many periods ended the quota early, of all that had something to run."""
        lines = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(lines["nr_throttled"]), int(lines["nr_periods"])


def measure(dlroof, folder, name, enter=None):
    """Runs one node's part. Returns its seconds."""
    environment = {**os.environ, "HOME": str(folder / "home"), "SLURMD_NODENAME": name, "SLURM_PROCID": name[1:]}
    environment.pop("XDG_CACHE_HOME", None)
    before = time.monotonic()
    subprocess.run(
        [
            dlroof,
            "cluster",
            "node",
            "--out",
            folder / "out",
            "--",
            f"--dlroof_suite={folder / 'layers.txt'}",
            "--dlroof_types=f32",
            "--dlroof_directions=fwd",
            "--dlroof_library=onednn",
            f"--benchmark_filter=/({'|'.join(LAYERS)})(/|$)",
        ],
        env=environment,
        preexec_fn=enter,
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return time.monotonic() - before


def look(dlroof, folder, name):
    """Returns a node's roofs, and the share of its roof that each benchmark reaches."""
    path = folder / "out/nodes" / f"{name}.json"
    placed = folder / f"{name}.json"
    subprocess.run([dlroof, "report", path, "-o", placed], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (machine,) = json.loads(path.read_text())["machines"]
    threads = max(machine["by_threads"], key=int)
    seen = {"roofs": {}, "of_roof": {}, "estimates": 0, "seconds": {}}
    for kind, row in ROOFS:
        ceiling = machine["by_threads"][threads][kind][row]
        seen["roofs"][row] = {"per_second": ceiling["per_second"], "proved": ceiling["proved"]}
    for record in json.loads(placed.read_text())["records"]:
        dram = next((place for place in record.get("classic", []) if place["level"] == "dram"), None)
        if dram:
            seen["of_roof"][record["problem"]] = dram["flops_per_second"] / dram["roof"]
            seen["seconds"][record["problem"]] = record["seconds"]["median"]
            seen["estimates"] += sum(bool(repetition.get("disturbed")) for repetition in record["repetitions"]) == len(record["repetitions"])
    (cached,) = (folder / "out/cache" / name / "dlroof").glob("machine-cpu-*.json")
    return seen, machine, cached


def measure_slow(dlroof, folder, name, quota):
    """Runs the part of a node that is the machine as it is, or made slow. Returns its seconds and, with a quota, what Quota.periods returns."""
    cpus = sorted(os.sched_getaffinity(0))
    if name == "n3":
        group = Quota(quota)
        try:
            return measure(dlroof, folder, name, group.enter), group.periods()
        finally:
            group.folder.rmdir()
    if name == "n5":
        return measure(dlroof, folder, name, lambda: os.sched_setaffinity(0, cpus[:1])), None
    busy = cpus if name == "n4" else []
    loops = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass"]) for cpu in busy]
    try:
        return measure(dlroof, folder, name), None
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", type=Path, required=True)
    parser.add_argument("--nodes", nargs="+", default=NODES, choices=NODES)
    parser.add_argument("--quota", type=float, default=0.25, help="share of all CPUs that n3 may use")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    dlroof, wrong, result, machines = options.dlroof.resolve(), [], {"command": " ".join(["slow_node.py", *sys.argv[1:]]), "nodes": {}}, {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "home").mkdir()
        (folder / "layers.txt").write_text("".join(f"Conv2D {layer}\n" for layer in LAYERS))
        for name in options.nodes:
            seconds, periods = measure_slow(dlroof, folder, name, options.quota)
            seen, machines[name], cached = look(dlroof, folder, name)
            result["nodes"][name] = {"took_seconds": seconds, **seen}
            if periods:
                result["nodes"][name]["periods_throttled"], result["nodes"][name]["periods"] = periods
            if json.loads(cached.read_text()) != machines[name]:
                wrong.append(f"{name}: the ceilings in its file are not those in its own cache")
            print(
                f"| {name} | "
                + " | ".join(f"{row['per_second'] / 1e9:.1f}{'' if row['proved'] else ' (not proved)'}" for row in seen["roofs"].values())
                + f" | {100 * statistics.median(seen['of_roof'].values()):.1f} % | {seen['estimates']} of {len(seen['of_roof'])} | {seconds:.0f} |",
                flush=True,
            )
        if len({machine["fingerprint"] for name, machine in machines.items() if name != "n5"}) > 1:
            wrong.append("the nodes' fingerprints differ: nothing is shown of equal ones")
        if len({json.dumps(machine["by_threads"]) for machine in machines.values()}) != len(machines):
            wrong.append("two nodes have the same ceilings")
        if any((folder / "home").rglob("machine-*")):
            wrong.append("a node has written ceilings into the $HOME that all share")
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
