#!/usr/bin/env python3
"""Gathers many made-up node files, and computes every median over nodes again from them.

    baselines/studies/scale/cluster_scale.py --dlroof build/dlroof --nodes 1024

Each node's file is the stored run of 79 convolutions with its own factor and its own noise (seeded). Prints seconds and memory of
`dlroof cluster gather` and of `report`. Exit code 1 where a median differs by more than 1e-12 (a roof's by 1e-7), where another order of the files changes a
byte of the cluster file, where a killed gather (--kills) leaves another file than the whole one, or where a limit of --most-seconds or --most-megabytes is passed.
"""
import argparse
import copy
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
STORED = ROOT / "baselines/stored/zen5-2c/2026-11-22-conv2d.json"


def make_nodes(folder, count, seed=1):
    """Writes nodes/n1.json, ... in a shuffled order; returns the clean seconds by benchmark and node, as written."""
    source = random.Random(seed)
    base = json.loads(STORED.read_text())
    order = list(range(1, count + 1))
    source.shuffle(order)
    (folder / "nodes").mkdir(parents=True)
    for number in order:
        node = copy.deepcopy(base)
        name = f"n{number}"
        node["context"]["dlroof"]["node"] = {
            "name": name,
            "known_by": "SLURMD_NODENAME",
            "engine": "slurm",
            "rank": str(number),
            "arguments": ["--benchmark_filter=Conv2D"],
            "cpus_given": 2,
            "cpus": 2,
        }
        factor = random.Random(f"{seed} {name}").lognormvariate(0, 0.01)
        for rows in node["machines"][0]["by_threads"].values():
            for row in [*rows["flops"].values(), *rows["bytes"].values()]:
                row["per_second"] /= factor
        noise = random.Random(f"{seed} {name} noise")
        for record in node["records"]:
            for repetition in record["repetitions"]:
                repetition["seconds"] *= factor * noise.lognormvariate(0, 0.005)
        (folder / "nodes" / f"{name}.json").write_text(json.dumps(node))
    (folder / "asked.txt").write_text("".join(f"n{number}\n" for number in order))


def expected_medians(folder):
    """The median over nodes of each benchmark's median of clean repetitions; only of those with at least 3 clean ones on every node."""
    times = {}
    for path in (folder / "nodes").iterdir():
        for record in json.loads(path.read_text())["records"]:
            if record["status"] == "ok":
                clean = [repetition["seconds"] for repetition in record["repetitions"] if not repetition.get("disturbed")]
                times.setdefault(record["name"], []).append(statistics.median(clean) if len(clean) >= 3 else None)
    return {name: statistics.median(all_of) for name, all_of in times.items() if None not in all_of}


def expected_roofs(folder):
    """The median over nodes of each proved rate, by threads and row."""
    rates = {}
    for path in (folder / "nodes").iterdir():
        for threads, rows in json.loads(path.read_text())["machines"][0]["by_threads"].items():
            for kind in ("flops", "bytes"):
                for name, row in rows[kind].items():
                    if row["proved"]:
                        rates.setdefault((threads, kind, name), []).append(row["per_second"])
    return {row: statistics.median(values) for row, values in rates.items()}


def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        sys.exit(f"{command}: exit code {done.returncode}: {done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, after.ru_maxrss / 1024  # the most of all children so far [MiB]


def kill_often(command, cluster, whole, seconds, kills):
    """Kills gather at random moments, and every second time as soon as it begins to write. Returns how many whole files and how many unfinished ones beside them there were, and what is wrong."""
    source, written, unfinished, wrong = random.Random(1), 0, 0, []
    for number in range(kills):
        cluster.unlink(missing_ok=True)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 2:
            while process.poll() is None and not any(cluster.parent.glob("cluster.json.*.tmp")):
                time.sleep(0)
        else:
            time.sleep(source.uniform(0, 1.5 * seconds))
        process.kill()
        process.wait()
        written += cluster.exists()
        for path in cluster.parent.glob("cluster.json.*.tmp"):
            unfinished += 1
            path.unlink()
        if cluster.exists() and cluster.read_bytes() != whole:
            wrong.append(f"kill {number}: a cluster file of {cluster.stat().st_size} of {len(whole)} bytes")
    return written, unfinished, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--kills", type=int, default=0, help="kill gather so often, at random moments")
    parser.add_argument("--most-seconds", type=float)
    parser.add_argument("--most-megabytes", type=float)
    arguments = parser.parse_args()
    dlroof = str(Path(arguments.dlroof).resolve())
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "d"
        make_nodes(folder, arguments.nodes)
        size = sum(path.stat().st_size for path in (folder / "nodes").iterdir())
        cluster = Path(temporary) / "cluster.json"
        gather = timed([dlroof, "cluster", "gather", str(folder), "-o", str(cluster)])
        first = cluster.read_bytes()
        records = {record["name"]: record for record in json.loads(first)["records"]}
        expected = expected_medians(folder)
        for name, median in expected.items():
            got = records[name]["seconds"]["median"]
            if len(records[name]["repetitions"]) != arguments.nodes or abs(got - median) > 1e-12 * median:
                wrong.append(f"{name}: {got} instead of {median}")
        roofs = expected_roofs(folder)
        machine = json.loads(first)["machines"][0]["by_threads"]
        for (threads, kind, name), rate in roofs.items():
            got = machine[threads][kind][name]["per_second"]
            if abs(got - rate) > 1e-7 * rate:  # written with eight digits
                wrong.append(f"{threads} threads, {name}: {got} instead of {rate}")
        again = Path(temporary) / "again"
        (again / "nodes").mkdir(parents=True)
        for path in sorted((folder / "nodes").iterdir(), reverse=True):
            shutil.move(path, again / "nodes" / path.name)
        shutil.copy(folder / "asked.txt", again)
        shutil.rmtree(folder)
        again.rename(folder)
        subprocess.run([dlroof, "cluster", "gather", str(folder), "-o", str(cluster)], check=True, capture_output=True)
        if cluster.read_bytes() != first:
            wrong.append("another order of the files changes the cluster file")
        if arguments.kills:
            written, unfinished, half = kill_often([dlroof, "cluster", "gather", str(folder), "-o", str(cluster)], cluster, first, gather[0], arguments.kills)
            wrong += half
            print(f"killed {arguments.kills} times: {written} whole files, {len(half)} others; {unfinished} unfinished ones beside, of another name")
            subprocess.run([dlroof, "cluster", "gather", str(folder), "-o", str(cluster)], check=True, capture_output=True)
        report = timed([dlroof, "cluster", "report", str(cluster)])
        print(
            f"{arguments.nodes} nodes, {size / 1e6:.0f} MB, {len(expected)} medians and {len(roofs)} roofs compared, cluster file {len(first) / 1e6:.1f} MB; "
            f"gather {gather[0]:.2f} s ({gather[1]:.2f} s of CPU), {gather[2]:.0f} MiB; report {report[0]:.2f} s, {report[2]:.0f} MiB at most of both"
        )
    if arguments.most_seconds and gather[0] > arguments.most_seconds:
        wrong.append(f"gather took {gather[0]:.2f} s")
    if arguments.most_megabytes and gather[2] * 1.048576 > arguments.most_megabytes:
        wrong.append(f"gather took {gather[2]:.0f} MiB")
    print("\n".join(wrong) or "all medians equal, any order of files gives the same file")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
