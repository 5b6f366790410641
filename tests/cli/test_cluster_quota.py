"""dlroof cluster: a node whose processes are in a control group with a fifth of a CPU."""
import json
import os
import subprocess
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, exits, plain, prints, run, says, verify
from test_cluster import node

PERIOD = 100000  # [us]
# Works for a second before it writes its times, as a benchmark does: eight loops, which want more than the quota also on
# a machine whose cores are busy with other tests.
BUSY_BENCH = f"""#!/bin/bash
case "$*" in
  *--benchmark_list_tests=true*) ;;
  *) for i in 1 2 3 4 5 6 7 8; do timeout 1 bash -c 'while :; do :; done' & done; wait ;;
esac
exec {FAKE_BENCH} "$@"
"""


@pytest.fixture
def fifth_of_a_cpu():
    """Yields a control group's folder, of version 1 or 2; skips where none can be made."""
    first = Path("/sys/fs/cgroup/cpu")
    group = (first if first.is_dir() else Path("/sys/fs/cgroup")) / f"dlroof-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        try:
            if first.is_dir():
                (group / "cpu.cfs_period_us").write_text(str(PERIOD))
                (group / "cpu.cfs_quota_us").write_text(str(PERIOD // 5))
            else:
                (group / "cpu.max").write_text(f"{PERIOD // 5} {PERIOD}")
        except OSError as error:
            pytest.skip(f"no quota can be set: {error}")
        yield group
    finally:
        group.rmdir()


def test_a_quota_of_a_fifth_of_a_cpu_is_named_by_gather_and_report(own_folder, fifth_of_a_cpu):
    bench = Path("busy_bench.sh")
    bench.write_text(BUSY_BENCH)
    bench.chmod(0o755)
    command = f"dlroof cluster node --out out --bench {bench.resolve()}"
    for i in (1, 3, 4):
        verify(node(f"n{i}", f"dlroof cluster node --out out --bench {FAKE_BENCH}"), [exits(0)])
    environment = {**os.environ, "SLURMD_NODENAME": "n2", "SLURM_PROCID": "0", "FAKE_DEVICE": "none"}
    for _ in range(5):  # beside busy programs a process may get less than its quota, which then stops nothing
        Path("out/nodes/n2.json").unlink(missing_ok=True)
        done = subprocess.run(
            [DLROOF, *command.split()[1:]],
            env=environment,
            preexec_fn=lambda: (fifth_of_a_cpu / "cgroup.procs").write_text(str(os.getpid())),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done
        load = json.loads(Path("out/nodes/n2.json").read_text())["context"]["dlroof"]["node"]["load"]
        if load["throttled"] > 0.01 * load["periods"]:
            break
    # 1 % is what makes a finding.
    assert load["quota_cpus"] == 0.2 and load["throttled"] > 0.01 * load["periods"] > 0, load
    verify(run("dlroof cluster gather out -o cluster.json"), [exits(0), says("^n2: limited by a quota.*, stopped in [0-9]+ of [0-9]+ periods")])
    verify(
        run("dlroof cluster report cluster.json"),
        [exits(0), prints(r"^n2 +.* 0\.2 +[0-9]+ of [0-9]+"), prints(r"^n2 +quota +limited "), plain("n2: limited by a quota")],
    )
    # Its times look as well as the others': the quota is found by what the control group says.
    names = [one["name"] for one in json.loads(Path("cluster.json").read_text())["cluster"]["nodes"]]
    found = [(names[one["node"]], one["what"], one["verdict"]) for one in json.loads(Path("cluster.json").read_text())["cluster"]["findings"]]
    assert ("n2", "quota", "limited") in found and not any(verdict in ("slow", "suspect") for _, _, verdict in found), found
