#!/usr/bin/env python3
"""Pulls the plug of one of four nodes of a real Slurm at random moments, and looks at what is lost.

    baselines/studies/cluster/pull_plug.py --dlroof build/dlroof --times 20 -o FILE.json
    baselines/studies/cluster/pull_plug.py --dlroof build/dlroof --times 2 --ceilings -o FILE.json

Needs root, slurm-wlm, munge and iproute2; about 30 s for each time. The nodes measure with tests/cli/fake_bench.sh: four benchmarks of 1 s.
With --ceilings two nodes measure four benchmarks with dlroof_bench beside the program, and one is lost while it measures its ceilings: 10 minutes.
Every time the same script is submitted again when the node is back. Exit code 1 where another node lost anything, where the lost node is
not reported, or where the second job measured anything that was complete.
"""
import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
BENCHMARKS = 4

ARGUMENTS = "--dlroof_suite=paper --dlroof_types=f32 --dlroof_max_seconds=0.5 '--benchmark_filter=^LSTM/cpu/onednn/(fwd_inference|bwd)/f32/t16n(16|32)i32h16/'"
SCRIPT = """
export FAKE_DEVICE=none FAKE_NAMES='n1 n2 n3 n4' FAKE_SECONDS=1
nodes=NODES
while read -r number node moment; do
  out=out-$number
  bin/dlroof cluster script -N "$nodes" --out $out -- ARGUMENTS > job.sh
  job=$(sbatch --parsable -o $out.log job.sh)
  sleep "$moment"
  squeue -h -j "$job" -o %T > $out-state.txt
  pull_plug "$node"
  # The job's first node runs the script itself: with it goes what would end the job.
  for try in $(seq LOOKS); do [ -z "$(squeue -h -j "$job" -o %T)" ] && break; sleep 0.2; done
  echo "$try" > $out-looks.txt
  scancel "$job" 2> /dev/null || true
  while [ -n "$(squeue -h -j "$job" -o %T)" ]; do sleep 0.2; done
  bin/dlroof cluster gather $out -o $out-first.json 2> $out-first.txt && code=0 || code=$?
  echo $code > $out-code.txt
  (cd $out/nodes && sha256sum *) > $out-before.txt 2> /dev/null || true
  start_node "$node"
  wait_for_nodes "$nodes"
  submit job.sh $out-again.log > /dev/null
  (cd $out/nodes && sha256sum *) > $out-after.txt
done < moments.txt
"""


def lines(path):
    return set(path.read_text().splitlines())


def look(folder, nodes, looks, number, node, moment):
    """Returns what was seen of one time."""
    out = folder / f"out-{number}"
    names = [f"n{i}" for i in range(1, nodes + 1)]
    seen = {"node": f"n{node}", "moment_seconds": moment, "wrong": []}
    seen["ended_by_itself"] = int((folder / f"out-{number}-looks.txt").read_text()) < looks
    seen["job"] = (folder / f"out-{number}-state.txt").read_text().strip()
    code = int((folder / f"out-{number}-code.txt").read_text())
    first = folder / f"out-{number}-first.json"
    if first.exists():
        cluster = json.loads(first.read_text())
        seen["status"] = {one["name"]: one["status"] for one in cluster["cluster"]["nodes"]}
        seen["reasons"] = {one["name"]: one["reason"] for one in cluster["cluster"]["nodes"] if "reason" in one}
        have = {name: 0 for name in names}
        for record in cluster["records"]:
            for repetition in record["repetitions"]:
                have[cluster["cluster"]["nodes"][repetition["node"]]["name"]] += 1
        seen["benchmarks_of_lost"] = have[f"n{node}"]
        others = [name for name in names if name != f"n{node}"]
        if any(seen["status"].get(name) != "whole" or have[name] != BENCHMARKS for name in others):
            seen["wrong"].append(f"other nodes: {seen['status']}, {have}")
        whole = seen["status"].get(f"n{node}") == "whole"
        if code != (0 if whole else 3):
            seen["wrong"].append(f"gather's exit code {code}")
    elif not (folder / f"out-{number}-before.txt").read_text() and (node == 1 or seen["job"] == "PENDING"):
        seen["nothing_begun"] = True  # the job waited for its nodes, or the script's own was lost before it started any other
    else:
        seen["wrong"].append(f"nothing gathered: {(folder / f'out-{number}-first.txt').read_text()}")
    after = lines(folder / f"out-{number}-after.txt")
    if not lines(folder / f"out-{number}-before.txt") <= after or len(after) != nodes:
        seen["wrong"].append("the second job changed a whole file, or left one out")
    cluster = json.loads((out / "cluster.json").read_text())
    if any(one["status"] != "whole" for one in cluster["cluster"]["nodes"]) or any(len(record["repetitions"]) != nodes for record in cluster["records"]):
        seen["wrong"].append("not all is whole after the second job")
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--ceilings", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    nodes, looks, least, most, first = (2, 3000, 10, 60, 2) if arguments.ceilings else (4, 225, 0, 6, 1)
    times = [(number, source.randint(first, nodes), round(source.uniform(least, most), 2)) for number in range(arguments.times)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "slurm"
        folder.mkdir()
        if arguments.ceilings:
            (folder / "bin").symlink_to(Path(arguments.dlroof).resolve().parent)
        else:
            (folder / "bin").mkdir()
            shutil.copy(arguments.dlroof, folder / "bin/dlroof")
            shutil.copy(ROOT / "tests/cli/fake_bench.sh", folder / "bin/dlroof_bench")
        (folder / "moments.txt").write_text("".join(f"{number} {node} {moment}\n" for number, node, moment in times))
        script = Path(temporary) / "script.sh"
        script.write_text(SCRIPT.replace("NODES", str(nodes)).replace("LOOKS", str(looks)).replace("ARGUMENTS", ARGUMENTS if arguments.ceilings else ""))
        done = subprocess.run([ROOT / "tests/cli/nodes/slurm_nodes.sh", folder, str(nodes), "2", script], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{done.stdout}\n{done.stderr}")
        seen = [look(folder, nodes, looks, *one) for one in times]
    Path(arguments.output).write_text(json.dumps({"command": "pull_plug.py " + " ".join(sys.argv[1:]), "times": seen}, indent=1) + "\n")
    wrong = [f"{one['node']} after {one['moment_seconds']} s: {'; '.join(one['wrong'])}" for one in seen if one["wrong"]]
    print("\n".join(wrong) or f"{len(seen)} times: no other node lost anything, the same script measured the lost one alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
