"""dlroof cluster script for PBS, LSF, Flux and Kubernetes, by programs that play their commands. No such scheduler was at hand."""
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, bad_input, run, says, verify

pytestmark = pytest.mark.scripts

# Each runs the command here, with the variables that it would have on the node. FAIL: the node on which nothing can be started, once.
START = 'if [ "$node" = "${FAIL-}" ] && ! [ -e failed ]; then touch failed; exit 1; fi\n'
SHIMS = {
    "pbs": {"pbs_tmrsh": f'node=$1\nshift\n{START}exec "$@"\n', "qstat": "exit 1\n", "pbsnodes": "", "qdel": ""},
    "lsf": {"blaunch": f'node=$1\nshift\n{START}exec "$@"\n', "bjobs": "exit 1\n", "bhosts": "echo ok\n", "bkill": ""},
    "flux": {
        "flux": """case $1 in
  hostlist) echo n1 n2 n3 ;;
  resource) case "$*" in *ncores*) echo 2 ;; esac ;;
  run)
    while [ "$1" != -- ] && [[ $1 != */dlroof ]] && [ "$1" != bash ]; do
      [[ $1 != --requires=host:* ]] || names=${1#--requires=host:}
      shift
    done
    rank=0
    for node in ${names//,/ }; do
      if [ "$node" = "${FAIL-}" ] && ! [ -e failed ]; then touch failed; continue; fi
      FLUX_TASK_RANK=$rank DLROOF_NODE=$node "$@" &
      rank=$((rank + 1))
    done
    wait ;;
esac
"""
    },
}
VARIABLES = {
    "pbs": {"PBS_JOBID": "12.server", "PBS_NODEFILE": "nodefile"},
    "lsf": {"LSB_JOBID": "12", "LSB_MCPU_HOSTS": "n1 2 n2 2 n3 1"},
    "flux": {"FLUX_JOB_ID": "f12"},
}


def processes_in(folder):
    """Returns the command lines of the other processes that work in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.name != str(os.getpid()) and os.readlink(process / "cwd") == str(folder):
                found.append((process / "cmdline").read_text().replace("\0", " ")[:80])
        except OSError:
            pass  # ended, or another user's
    return found


@pytest.mark.parametrize("engine", list(SHIMS))
def test_the_script_measures_gathers_and_measures_again_what_is_missing(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bin").mkdir()
    shutil.copy(DLROOF, "bin/dlroof")
    shutil.copy(FAKE_BENCH, "bin/dlroof_bench")
    for name, text in SHIMS[engine].items():
        Path("bin", name).write_text("#!/bin/bash\n" + text)
        Path("bin", name).chmod(0o755)
    Path("nodefile").write_text("n1\nn1\nn2\nn2\nn3\n")
    made = subprocess.run(
        ["bin/dlroof", "cluster", "script", f"--engine={engine}", "-N", "3", "--meet-seconds=5", "--out", "out", "--option=-q x"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0 and re.search(r"^#\S+ -q x$", made.stdout, re.M), made
    Path("job.sh").write_text(made.stdout)
    environment = {
        **os.environ,
        **VARIABLES[engine],
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "FAKE_DEVICE": "none",
        "FAIL": "n2",
        "DLROOF_LOST_SECONDS": "5",
    }
    done = subprocess.run(["bash", "job.sh"], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0 and "3 of 3 nodes are whole; 3 benchmarks" in done.stderr and "round 1: n2 once more" in done.stderr, done
    # What watches the job on another node ends with the script, where a launcher's own processes are not ended with it.
    for _ in range(100):
        if not (left := processes_in(tmp_path)):
            break
        time.sleep(0.1)
    assert not left, left
    nodes = json.loads(Path("out/cluster.json").read_text())["cluster"]["nodes"]
    assert [node["name"] for node in nodes] == ["n1", "n2", "n3"] and nodes[0]["facts"]["job"] == list(VARIABLES[engine].values())[0], nodes
    if shutil.which("shellcheck"):
        assert subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", "job.sh"]).returncode == 0


def test_an_indexed_job_of_kubernetes_runs_a_node_in_each_pod(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = run("dlroof cluster script --engine=kubernetes -N 2 --out out -- --dlroof_suite=resnet50")
    command = json.loads(re.search(r"^ *command: (\[.*\])$", made.out, re.M).group(1))
    assert "completions: 2" in made.out and command[1:3] == ["cluster", "node"] and command[-1] == "--dlroof_suite=resnet50", made
    command[command.index("--") : command.index("--")] = ["--bench", str(FAKE_BENCH)]
    for i in (1, 2):
        pod = {**os.environ, "JOB_COMPLETION_INDEX": str(i - 1), "DLROOF_NODE": f"k{i}", "FAKE_DEVICE": "none"}
        assert subprocess.run(command, env=pod, capture_output=True).returncode == 0
    verify(run("dlroof cluster gather out"), [says("2 of 2 nodes are whole")])
    verify(
        run("dlroof cluster script --engine=pbs -N 2 --per-gpu 2 --out out"),
        [bad_input, says("--per-gpu: expected --engine=slurm, mpirun or reframe, not pbs")],
    )
