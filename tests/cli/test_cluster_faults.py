"""dlroof cluster on a real Slurm that loses nodes, has unlike ones, or gets a second job for the same folder."""
import json
from pathlib import Path

import pytest
from test_cluster_slurm import SUBMIT, slurm, statuses  # noqa: F401 (slurm is a fixture)

pytestmark = pytest.mark.scripts

# n5 takes 20 % longer in the first run: a suspect. Three visits are made, to save time.
REVISIT = """
export FAKE_DEVICE=none FAKE_NAMES='n1 n2 n3' FAKE_SECONDS=0 DLROOF_LOST_SECONDS=8
"$dlroof" cluster script -N 5 --out out > job.sh
submit job.sh job.out
python3 - <<'PYTHON'
import json
path = "out/nodes/n5.json"
node = json.load(open(path))
for record in node["records"]:
    for repetition in record["repetitions"]:
        repetition["seconds"] *= 1.2
json.dump(node, open(path, "w"))
PYTHON
"$dlroof" cluster gather out -o out/cluster.json || true
"$dlroof" cluster script --revisit out/cluster.json | sed 's/^visits=[0-9]*/visits=3/' > again.sh
grep -c '^visits=3 ' again.sh
export FAKE_SECONDS=1
job=$(sbatch --parsable -o again.out again.sh)
for try in $(seq 1200); do [ "$(grep -c benchmark out/visits/2/runs/n%d.json.journal 2> /dev/null)" -ge 2 ] && break; sleep 0.05; done
pull_plug %d
SECONDS=0
while [ -n "$(squeue -h -j "$job" -o %%T)" ] && [ "$SECONDS" -lt 100 ]; do sleep 0.2; done
echo "ended after $SECONDS s"
ls out/visits/*/nodes
cat again.out
"""


def test_a_node_that_dies_in_the_second_visit_costs_its_own_visits_only(slurm):  # noqa: F811
    out = slurm("revisit", REVISIT % (3, 3), nodes=5)
    for visit, expected in ((1, [1, 2, 3, 4, 5]), (2, [1, 2, 4, 5]), (3, [1, 2, 4, 5])):
        assert sorted(path.stem for path in Path(f"revisit/out/visits/{visit}/nodes").iterdir()) == [f"n{i}" for i in expected], out
    assert "visit 3: n3 is down: left out" in out and int(out.split("ended after ")[1].split()[0]) < 90, out
    assert json.loads(Path("revisit/out/cluster.json").read_text())["cluster"]["findings"][0]["visits"] == 3, out


def test_a_batch_host_that_is_lost_ends_the_job_and_the_others_are_gathered(slurm):  # noqa: F811
    out = slurm(
        "first",
        SUBMIT % "1"
        + """
export DLROOF_LOST_SECONDS=6
job=$(sbatch --parsable -o job.out job.sh)
for try in $(seq 1200); do [ "$(grep -c benchmark out/runs/n1.json.journal 2> /dev/null)" -ge 2 ] && break; sleep 0.05; done
pull_plug 1
SECONDS=0
while [ -n "$(squeue -h -j "$job" -t running -o %T)" ] && [ "$SECONDS" -lt 100 ]; do sleep 0.2; done
echo "ended after $SECONDS s"
cat out/gathered.* || true
""",
    )
    assert int(out.split("ended after ")[1].split()[0]) < 90, out
    assert statuses("first/out/cluster.json") == {"n1": "partial", "n2": "whole", "n3": "whole", "n4": "whole"}, out


def test_a_node_with_fewer_cpus_is_measured_with_what_it_has_and_a_second_job_is_refused(slurm):  # noqa: F811
    out = slurm(
        "unlike",
        SUBMIT % "1"
        + """
job=$(sbatch --parsable -o job.out job.sh)
for try in $(seq 600); do [ -e out/job ] && break; sleep 0.05; done
sed 's/--exclusive/--oversubscribe/' job.sh > second.sh
SLURM_JOB_ID=9999 SLURM_JOB_NODELIST='n[1-4]' SLURM_JOB_CPUS_PER_NODE='2(x3),1' bash second.sh && echo "a second job began" || echo "second: $?"
while [ -n "$(squeue -h -j "$job" -o %T)" ]; do sleep 0.1; done
cat job.out
""",
        FEWER_CPUS="1",
    )
    assert "second: 2" in out and "a second job began" not in out, out
    assert statuses("unlike/out/cluster.json") == {f"n{i}": "whole" for i in (1, 2, 3, 4)}, out
