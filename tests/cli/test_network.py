"""dlroof_net, and the files that it writes. A job of several nodes needs root, mpirun and iproute2; it is skipped elsewhere."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, TESTS, bad_input, exits, plain, prints, run, says, verify

os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # Open MPI leaves memory behind
NET = Path(DLROOF).parent / "dlroof_net"
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
pytestmark = pytest.mark.skipif(not NET.exists() or shutil.which("mpirun") is None, reason="dlroof_net is not built, or mpirun is not installed")


def measure(ranks, *arguments):
    """Measures small messages. Ranks that wait for a CPU make some slow, which shall not cost them repetitions."""
    return run(f"{MPIRUN} -n {ranks} {NET} --max-bytes 65536 --repetitions 6 --max-seconds 60 {' '.join(arguments)}", timeout=120)


def test_a_job_on_this_machine_writes_what_scale_and_report_read():
    verify(measure(3, "-o net.json"), [exits(0), prints("^3 ranks, 6 directions of pairs, "), says("wrote net.json")])
    content = json.loads(Path("net.json").read_text())
    assert len(content["ranks"]) == 3 and len(set(content["ranks"])) == 3
    assert sorted((pair["from"], pair["to"]) for pair in content["pairs"]) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    sizes = [8 * 2**i for i in range(14)]
    for times in content["pairs"] + content["allreduce"]:
        assert [point["bytes"] for point in times["points"]] == sizes
        assert all(point["seconds"] > 0 and point["repetitions"] == 6 and point["ci95"][0] <= point["seconds"] <= point["ci95"][1] for point in times["points"])
    assert [times["nodes"] for times in content["allreduce"]] == [2, 3]
    assert content["network"]["pieces"] and "proved" in content["network"]["proof"]
    Path("layers.txt").write_text("Conv2D n16c64h112w112k64r3s3_p1 x1\n")
    run_file = TESTS.parent / "baselines/stored/zen5-2c/2026-11-22-conv2d.json"
    verify(
        run(f"dlroof cluster scale {run_file} --suite layers.txt --network net.json"),
        [exits(0), plain("network: Open MPI"), plain("allreduce: the fastest closed form, times ")],
    )


def test_bad_input_is_one_sentence():
    verify(run(f"{NET} --max-bytes 1026", timeout=60), [bad_input, says("--max-bytes=1026: expected a multiple of 4")])
    verify(measure(1), [exits(2), says("dlroof_net: expected at least 2 ranks, such as by mpirun -n 2 dlroof_net")])


def test_a_lost_rank_ends_the_job_by_its_deadline():
    program = f"import os, subprocess, sys, time\nif os.environ['OMPI_COMM_WORLD_RANK'] == '1':\n    time.sleep(60)\nos.execv('{NET}', ['{NET}', '--deadline', '2', '-o', 'lost.json'])"
    Path("lost.py").write_text(program)
    ran = run(f"{MPIRUN} -n 2 /usr/bin/python3 lost.py", timeout=55)
    assert ran.code != 0 and "ended by --deadline; a rank may be lost" in ran.err and not Path("lost.json").exists(), ran


NEEDS_NODES = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("tc") or not shutil.which("nsenter"), reason="needs root, iproute2 and util-linux")


def on_nodes(folder, name, text):
    """Runs a script beside four nodes. Returns what it printed, and the nodes' folder."""
    script = folder / f"{name}.sh"
    script.write_text(text)
    done = subprocess.run([TESTS / "cli/nodes/mpi_nodes.sh", folder / name, "4", script], capture_output=True, text=True, timeout=240)
    if "Operation not permitted" in done.stderr:
        pytest.skip("namespaces are not permitted here")
    assert done.returncode == 0, done.stderr
    return done.stdout, folder / name


@NEEDS_NODES
@pytest.mark.serial
def test_links_of_four_nodes_have_the_speed_that_tc_sets(folder):
    out, nodes = on_nodes(
        folder,
        "links",
        "for i in 1 2 3 4; do set_rate $i 200mbit; done; set_rate 3 50mbit\n"
        f'on_nodes 4 {NET} --max-bytes 1048576 --repetitions 6 --max-seconds 0.3 -o "$folder/net.json"\n',
    )
    # A busy machine makes links slower, never faster; the slowest comes first.
    slow = [line for line in out.splitlines() if line.startswith("slow")]
    assert slow and slow[0].startswith("slow node: n3 receives at most "), out
    content = json.loads((nodes / "net.json").read_text())
    assert content["ranks"] == ["n1", "n2", "n3", "n4"]
    for pair in content["pairs"]:
        rate = pair["points"][-1]["bytes"] / pair["points"][-1]["seconds"]
        # A busy process sends what the bucket of tc saved meanwhile.
        assert rate < 1.25 * (50 if content["ranks"][pair["to"]] == "n3" else 200) * 1e6 / 8, (pair["from"], pair["to"], rate)


@pytest.fixture(scope="module")
def programs(folder):
    """Returns a folder with dlroof, a fake dlroof_bench and dlroof_net."""
    path = folder / "bin"
    path.mkdir()
    for source, name in ((DLROOF, "dlroof"), (NET, "dlroof_net"), (FAKE_BENCH, "dlroof_bench")):
        shutil.copy(source, path / name)
    return path


SCRIPT = """
export FAKE_DEVICE=none FAKE_NAMES='n1 n2 n3 n4'
{programs}/dlroof cluster script --engine=mpirun --net -N 4 --out "$folder/out" -- --dlroof_batch=1 > job.sh
"""


@NEEDS_NODES
def test_mpirun_starts_every_node_and_then_the_network(folder, programs):
    out, nodes = on_nodes(folder, "mpirun", SCRIPT.format(programs=programs) + "bash job.sh 2>&1\n")
    assert "4 of 4 nodes are whole; 4 benchmarks" in out, out
    assert sorted(path.name for path in (nodes / "out/nodes").iterdir()) == [f"n{i}.json" for i in range(1, 5)]
    assert json.loads((nodes / "out/network.json").read_text())["ranks"] == ["n1", "n2", "n3", "n4"]


@NEEDS_NODES
@pytest.mark.parametrize(
    "fault, code", [("kill -9 $(rank_on 2)", "137"), ("kill -STOP $(rank_on 2)", "4"), ("ip link set v2 down", "124")], ids=["killed", "stopped", "cut_off"]
)
def test_a_rank_lost_while_messages_are_sent_leaves_the_nodes_whole(folder, programs, fault, code):
    """The launcher ends the job of a rank that is killed; the deadline that of one that only falls silent; `timeout` a launcher that waits for a node which answers no more."""
    name = fault.split()[1].strip("-").lower()
    out, nodes = on_nodes(
        folder,
        f"lost_{name}",
        SCRIPT.format(programs=programs)
        + f"""
sed -i 's/^deadline=600$/deadline=10/; s/deadline + 60/deadline + 9/; s/timeout -k 30/timeout -k 2/' job.sh
grep -q 'timeout -k 2 "$((deadline + 9))"' job.sh
rank_on() {{ pgrep -x dlroof_net --nslist pid --ns "$(pgrep -P "$(cat "run/node-n$1.pid")" | head -n 1)"; }}
sent_by() {{ awk -v from="v$1:" '$1 == from {{ print $2 }}' /proc/net/dev; }}
for i in 1 2 3 4; do set_rate $i 100mbit; done
bash job.sh > job.out 2>&1 &
job=$!
for try in $(seq 600); do [ -e out/network.log ] && break; sleep 0.05; done
before=$(sent_by 1)
for try in $(seq 600); do sent=$(($(sent_by 1) - before)); [ "$sent" -gt 2000000 ] && break; sleep 0.05; done
[ "$sent" -gt 2000000 ]
{fault}
SECONDS=0
wait "$job" && code=0 || code=$?
echo "job $code, $SECONDS s"
cat job.out
{programs}/dlroof cluster report out/cluster.json
""",
    )
    why = rf"the network was not measured: dlroof_net ended without a result, with exit code {code} .4, 124: by its deadline of 10 s.: a rank may be lost"
    assert out.startswith("job 0, ") and "4 of 4 nodes are whole; 4 benchmarks" in out, out
    assert len(re.findall(f"^{why}$", out, re.M)) == 2, out  # by gather and by report
    cluster = json.loads((nodes / "out/cluster.json").read_text())
    assert [node["status"] for node in cluster["cluster"]["nodes"]] == ["whole"] * 4 and "network" not in cluster["cluster"], cluster["cluster"]
    assert not (nodes / "out/network.json").exists() and (code != "4" or "ended by --deadline" in (nodes / "out/network.log").read_text())
