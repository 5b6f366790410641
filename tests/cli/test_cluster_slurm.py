"""dlroof cluster on a real Slurm of four nodes, one of which loses its power."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, TESTS

pytestmark = pytest.mark.scripts
NODES = [f"n{i}" for i in range(1, 5)]


def why_not():
    """Returns why no Slurm can be started here; empty: it can."""
    missing = [name for name in ("slurmctld", "slurmd", "srun", "munged", "unshare", "ip") if not shutil.which(name)]
    if missing:
        return f"not installed: {', '.join(missing)} (apt-get install slurm-wlm munge iproute2)"
    if os.geteuid() != 0:
        return "needs root, for nodes with namespaces of their own"
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode:
        return "namespaces cannot be made here"
    return ""


@pytest.fixture(scope="module")
def slurm(folder):
    """Returns a function that runs a script beside four nodes and returns what it printed."""
    if reason := why_not():
        pytest.skip(reason)
    # A dlroof whose dlroof_bench is a fake one.
    program = Path("bin")
    program.mkdir()
    shutil.copy(DLROOF, program / "dlroof")
    shutil.copy(FAKE_BENCH, program / "dlroof_bench")

    def run_beside(name, text, nodes=4, **environment):
        script = Path(f"{name}.sh")
        script.write_text(f"dlroof={program.resolve()}/dlroof\n{text}")
        command = ["timeout", "-k", "2", "240", TESTS / "cli/nodes/slurm_nodes.sh", name, str(nodes), "2", script]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    return run_beside


def statuses(path):
    return {node["name"]: node["status"] for node in json.loads(Path(path).read_text())["cluster"]["nodes"]}


SUBMIT = """
export FAKE_DEVICE=none FAKE_NAMES='n1 n2 n3 n4' FAKE_SECONDS=%s
"$dlroof" cluster script -N 4 --out out -- --dlroof_suite='a b' > job.sh
bash -n job.sh
"""


def test_from_script_to_report(slurm):
    out = slurm(
        "whole",
        SUBMIT % "0"
        + """
submit job.sh job.out
cat job.out
"$dlroof" cluster report out/cluster.json
""",
    )
    assert "job 0" in out and "4 of 4 nodes are complete; 4 benchmarks" in out, out
    cluster = json.loads(Path("whole/out/cluster.json").read_text())
    assert statuses("whole/out/cluster.json") == {name: "whole" for name in NODES}
    for node in cluster["cluster"]["nodes"]:
        facts = node["facts"]
        assert (facts["engine"], facts["known_by"], facts["arguments"]) == ("slurm", "SLURMD_NODENAME", ["--dlroof_suite=a b"]), facts
    assert [sorted(repetition["node"] for repetition in record["repetitions"]) for record in cluster["records"]] == [[0, 1, 2, 3]] * 4


def test_a_node_that_loses_its_power_loses_its_own_benchmark_alone_and_is_the_only_one_measured_again(slurm):
    out = slurm(
        "pulled",
        SUBMIT % "2"
        + """
job=$(sbatch --parsable -o job.out job.sh)
for try in $(seq 1200); do [ "$(grep -c benchmark out/runs/n3.json.journal 2> /dev/null)" -ge 2 ] && break; sleep 0.05; done
pull_plug 3
while [ -n "$(squeue -h -j "$job" -o %T)" ]; do sleep 0.2; done
cp out/cluster.json first.json
(cd out/nodes && sha256sum *) > before.txt
start_node 3
wait_for_nodes 4
submit job.sh again.out
sha256sum -c --quiet --strict < <(sed 's# # out/nodes/#2' before.txt) && echo unchanged
cat again.out
""",
    )
    first = json.loads(Path("pulled/first.json").read_text())
    assert statuses("pulled/first.json") == {"n1": "whole", "n2": "whole", "n3": "partial", "n4": "whole"}, out
    counts = [len(record["repetitions"]) for record in first["records"]]
    assert sorted(set(counts)) in ([3, 4], [4]) and max(counts) == 4, counts
    assert "job 0" in out and "unchanged" in out and "4 of 4 nodes are complete; 4 benchmarks" in out, out
    assert "n3: whole" in out, out


def test_each_gpu_of_a_node_has_a_process_that_sees_it_alone(slurm):
    out = slurm(
        "gpus",
        """
export FAKE_DEVICE=none FAKE_NAMES='n1 n2' FAKE_SECONDS=0
"$dlroof" cluster script -N 3 --per-gpu 2 --out out > job.sh
for time in first again; do
  submit job.sh "$time.out"
  cat "$time.out"
  rm -f out/nodes/n2-gpu1.json
done
""",
    )
    assert "job 0" in out and "6 of 6 nodes are complete; 2 benchmarks" in out, out
    assert out.count("n2-gpu1: whole") == 2 and "n2-gpu0: whole, nothing is left to do" in out, out
    cluster = json.loads(Path("gpus/out/cluster.json").read_text())
    facts = {name: node["facts"] for node in cluster["cluster"]["nodes"] if (name := node["name"])}
    assert list(facts) == [f"n{i}-gpu{j}" for i in (1, 2, 3) for j in (0, 1)], facts
    for host in ("n1", "n2", "n3"):  # without control groups Slurm names the two by their numbers
        assert [facts[f"{host}-gpu{j}"]["gpu"] for j in (0, 1)] == ["0", "1"] and facts[f"{host}-gpu1"]["host"] == host, facts
        assert all(facts[f"{host}-gpu{j}"]["arguments"] == ["--dlroof_device=gpu"] for j in (0, 1)), facts


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_the_script_is_clean():
    for more in ([], ["--per-gpu", "4"]):
        command = [DLROOF, "cluster", "script", *more, "-N", "3", "--out", "it's here", "--option=--time=1:00:00", "--", "--dlroof_suite=$(touch owned)"]
        script = subprocess.run(command, capture_output=True, text=True)
        done = subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", "-"], input=script.stdout, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
