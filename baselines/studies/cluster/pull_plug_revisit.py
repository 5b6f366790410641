#!/usr/bin/env python3
"""Pulls the plug of one of five nodes of a real Slurm at moments spread over a script of visits, and looks at when it ends and what is lost.

    baselines/studies/cluster/pull_plug_revisit.py FILE.json --times 20     # measures
    baselines/studies/cluster/pull_plug_revisit.py FILE.json                # what was seen

Needs root, slurm-wlm, munge and iproute2; a minute for each time. Nodes measure with tests/cli/fake_bench.sh: three benchmarks of 1 s in
each of three visits. One undisturbed job comes first: its seconds and how long the script waits for a lost node are the limit. The moments
are random, one in each 20th of those seconds, the nodes take turns; the job has --time=2 minutes. When the node is back, the same script
is submitted again. Exit code 1 where a job ended more than a minute after its limit, another node's visit is not whole, a further visit
was not made although the script's own node lived, nothing was gathered, or the second job changed a complete file or left one out.
"""
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

NODES, BENCHMARKS, VISITS = 5, 3, 3
TIME_MINUTES, MINUTE = 2, 60

SCRIPT = """
export FAKE_DEVICE=none FAKE_NAMES='n1 n2 n3' FAKE_SECONDS=0
now() { date +%s.%N; }
live() { [ -n "$(squeue -h -j "$1" -t pending,running -o %T)" ]; }

bin/dlroof cluster script -N NODES --out out > job.sh
submit job.sh job.out > /dev/null
python3 slower.py out/nodes/n5.json
bin/dlroof cluster gather out -o out/cluster.json 2> /dev/null || true
bin/dlroof cluster script --revisit out/cluster.json | sed 's/^visits=[0-9]*/visits=VISITS/' > again.sh
cp -r out begun
export FAKE_SECONDS=1 DLROOF_LOST_SECONDS=LOST

# Submits the script and waits until it runs: sets job and begin.
begin_job() {   # LOG
  wait_for_nodes NODES
  job=$(sbatch --parsable --time=MINUTES -o "$1" again.sh)
  while [ "$(squeue -h -j "$job" -o %T)" = PENDING ]; do sleep 0.02; done
  begin=$(now)
}

begin_job whole.log
while live "$job"; do sleep 0.1; done
whole=$(awk "BEGIN {print $(now) - $begin}")
echo "$whole" > whole-seconds.txt
while read -r number node share; do
  while [ -n "$(squeue -h -o %i)" ]; do sleep 0.2; done
  rm -rf out && cp -r begun out
  moment=$(awk "BEGIN {print $whole * $share}")
  begin_job one-$number.log
  sleep "$moment"
  state=$(squeue -h -j "$job" -o %T)
  pulled=$(now)
  pull_plug "$node"
  # A job whose end is nowhere in sight is ended here, and told apart by its seconds.
  while live "$job" && awk "BEGIN {exit !($(now) - $begin < 300)}"; do sleep 0.2; done
  echo "$(awk "BEGIN {print $pulled - $begin, $(now) - $begin}") $state" > one-$number.times
  scancel "$job" 2> /dev/null || true
  while [ -n "$(squeue -h -j "$job" -o %i)" ]; do sleep 0.2; done
  cp -r out one-$number
  (cd out/visits && sha256sum */nodes/*.json) > one-$number.before 2> /dev/null || true
  start_node "$node"
  wait_for_nodes NODES
  submit again.sh one-$number-again.log > /dev/null
  (cd out/visits && sha256sum */nodes/*.json) > one-$number.after
done < plan.txt
"""

SLOWER = """
import json, sys
node = json.load(open(sys.argv[1]))
for record in node["records"]:
    for repetition in record["repetitions"]:
        repetition["seconds"] *= 1.2
json.dump(node, open(sys.argv[1], "w"))
"""


def whole_nodes(folder):
    """Returns for each visit that began the nodes whose file is complete with all benchmarks."""
    visits = sorted(folder.glob("visits/*"), key=lambda path: int(path.name))
    return {visit.name: sorted(path.stem for path in visit.glob("nodes/*.json") if len(lib.measured(lib.read(path))) == BENCHMARKS) for visit in visits}


def look(folder, number, node, limit):
    """Returns what was seen of one time."""
    at = folder / f"one-{number}"
    pulled, ended, *state = at.with_suffix(".times").read_text().split()
    gathered, began, visits = list(at.glob("gathered.*")), any(at.glob("visits/*/runs/*")), whole_nodes(at)
    seen = {"node": f"n{node}", "job": state[0] if state else "ended", "pulled_seconds": round(float(pulled), 1), "ended_seconds": round(float(ended), 1)}
    # A first node that is lost before the script has started another one leaves the job to --time.
    if node == 1 and not began and seen["job"] == "RUNNING" and not gathered:
        seen["ended_by"], limit = "--time", 60 * TIME_MINUTES
    seen["over_limit_seconds"], seen["visits"] = round(float(ended) - limit, 1), visits
    others = {f"n{i}" for i in range(1, NODES + 1) if i != node}
    unmeasured = {visit: sorted(others - set(names)) for visit, names in visits.items() if others - set(names)}
    log = at.with_suffix(".log")
    by_script = log.exists() and "nodes are whole" in log.read_text()
    seen["gathered_by"] = "another node" if gathered else "the script" if by_script else "nobody"
    before, after = (set(at.with_suffix(f".{when}").read_text().splitlines()) for when in ("before", "after"))
    # The script runs on n1: what had begun when that was lost is finished by the others, and no visit follows.
    wrong = {
        f"ended {seen['over_limit_seconds']} s after its limit": seen["over_limit_seconds"] > MINUTE,
        f"other nodes' visits: {unmeasured}": unmeasured and (began or node != 1),
        f"{len(visits)} visits": node != 1 and len(visits) != VISITS,
        "nothing was gathered": seen["gathered_by"] == "nobody" and began,
        f"the second job changed a complete file, or left one out: {len(after)} of {NODES * VISITS}": not before <= after or len(after) != NODES * VISITS,
    }
    return {**seen, "wrong": [sentence for sentence, holds in wrong.items() if holds]}


def measure(arguments):
    source = random.Random(arguments.seed)
    plan = [(number, number % NODES + 1, round((number + source.random()) / arguments.times, 3)) for number in range(arguments.times)]
    with tempfile.TemporaryDirectory() as temporary:
        folder, script = Path(temporary) / "slurm", Path(temporary) / "script.sh"
        (folder / "bin").mkdir(parents=True)
        shutil.copy(arguments.dlroof, folder / "bin/dlroof")
        shutil.copy(lib.ROOT / "tests/cli/fake_bench.sh", folder / "bin/dlroof_bench")
        (folder / "slower.py").write_text(SLOWER)
        (folder / "plan.txt").write_text("".join(f"{number} {node} {share}\n" for number, node, share in plan))
        text = SCRIPT.replace("NODES", str(NODES)).replace("VISITS", str(VISITS)).replace("MINUTES", str(TIME_MINUTES))
        # FAKE_NAMES and DLROOF_LOST_SECONDS hold none of these words.
        script.write_text(text.replace("=LOST\n", f"={arguments.lost_seconds}\n"))
        lib.run(lib.ROOT / "tests/cli/nodes/slurm_nodes.sh", folder, NODES, 2, script)
        whole = float((folder / "whole-seconds.txt").read_text())
        limit = whole + arguments.lost_seconds
        seen = [look(folder, number, node, limit) for number, node, _ in plan]
    times = {"undisturbed_seconds": round(whole, 1), "lost_seconds": arguments.lost_seconds, "limit_seconds": round(limit, 1)}
    return {"command": lib.command(), **times, "times": seen}


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file")
    parser.add_argument("--times", type=int, default=0)
    parser.add_argument("--lost-seconds", type=int, default=8, help="DLROOF_LOST_SECONDS; its default is 60")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.times:
        lib.write(arguments.file, measure(arguments))
    study = lib.read(arguments.file)
    times = study["times"]
    wrong = [f"{seen['node']} after {seen['pulled_seconds']} s: {'; '.join(seen['wrong'])}" for seen in times if seen["wrong"]]
    late = max(seen["over_limit_seconds"] for seen in times)
    well = f"{len(times)} times: the latest ended {late} s after its limit ({study['limit_seconds']} s, or --time); no other node's visit lost anything"
    print("\n".join(wrong) or well)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
