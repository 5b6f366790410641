"""dlroof cluster: script, node, gather, report. Nodes are made up by Slurm's variables; test_cluster_slurm.py has real ones."""
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, ROOT, bad_input, contains, exists, exits, finish, holds, one_sentence, plain, prints, run, says, start, verify

COMPARE = Path("/usr/share/benchmark/compare.py")
NODE = f"dlroof cluster node --out out --bench {FAKE_BENCH} -- --dlroof_seed=1"


def node(name, command=NODE, **environment):
    return run(command, SLURMD_NODENAME=name, SLURM_PROCID="0", FAKE_DEVICE="none", **environment)


def statuses(path="cluster.json"):
    return {one["name"]: one["status"] for one in json.loads(Path(path).read_text())["cluster"]["nodes"]}


@pytest.fixture(scope="class")
def measured(own_folder):
    for i in (1, 2, 10, 11):
        verify(node(f"n{i}"), [exits(0), says(f"^n{i}: whole$")])
    Path("out/asked.txt").write_text("n10\nn1\nn2\nn11\n")
    return own_folder


class TestWholeNodes:
    def test_a_node_writes_its_own_file_cache_and_log(self, measured):
        content = json.loads(Path("out/nodes/n2.json").read_text())
        facts = content["context"]["dlroof"]["node"]
        assert facts["name"] == "n2" and facts["cpus_given"] == len(os.sched_getaffinity(0)) and facts["arguments"] == ["--dlroof_seed=1"], facts
        assert len(content["records"]) == 3 and not os.listdir("out/runs")
        assert sorted(os.listdir("out/cache")) == ["n1", "n10", "n11", "n2"] and "Fake/none" in Path("out/logs/n2.log").read_text()

    def test_a_whole_file_leaves_nothing_to_do(self, measured):
        before = Path("out/nodes/n2.json").stat().st_mtime_ns
        verify(node("n2"), [exits(0), says("n2: whole, nothing is left to do")])
        assert Path("out/nodes/n2.json").stat().st_mtime_ns == before

    def test_other_arguments_are_refused(self, measured):
        verify(
            node("n2", NODE + " --dlroof_threads=1"),
            [bad_input, says("n2.json: was measured with other arguments: '--dlroof_seed=1', now '--dlroof_seed=1 --dlroof_threads=1'")],
        )

    def test_all_are_gathered_and_every_command_reads_the_file(self, measured):
        verify(run("dlroof cluster gather out -o cluster.json"), [exits(0), says("4 of 4 nodes are complete; 3 benchmarks")])
        assert list(statuses()) == ["n1", "n2", "n10", "n11"]
        for command in (
            "report cluster.json",
            "compare cluster.json cluster.json",
            "history add cluster.json --db c.sqlite",
            "dashboard --db c.sqlite -o site",
            "export --format=csv cluster.json",
        ):
            verify(run(f"dlroof {command}"), [exits(0)])

    @pytest.mark.skipif(not COMPARE.exists(), reason="Google Benchmark's compare.py is not installed (apt-get install libbenchmark-tools)")
    def test_google_benchmarks_own_tool_compares_two_clusters(self, measured):
        verify(run("dlroof cluster gather out -o cluster.json"), [exits(0)])
        content = json.loads(Path("cluster.json").read_text())
        for entry in content["benchmarks"]:
            entry["real_time"] *= 1.5
        Path("slower.json").write_text(json.dumps(content))
        # It wants scipy and numpy, for means that this test does not look at.
        Path("stubs").mkdir()
        Path("stubs/numpy.py").write_text("class array(list):\n    def any(self):\n        return False\n")
        Path("stubs/scipy").mkdir()
        Path("stubs/scipy/stats.py").write_text("import numpy\nmannwhitneyu = None\ndef gmean(times):\n    return numpy.array()\n")
        ran = run([sys.executable, COMPARE, "--no-color", "--no-utest", "benchmarks", "cluster.json", "slower.json"], PYTHONPATH="stubs")
        verify(ran, [exits(0), prints("^Comparing cluster.json to slower.json$")])
        rows = re.findall(r"^(Fake/none/none/fwd/f32/n\d) +([+-][0-9.]+) +([+-][0-9.]+) +(\d+) +(\d+) ", ran.out, re.M)
        assert [row[:3] for row in rows] == [(f"Fake/none/none/fwd/f32/n{i}", "+0.5000", "+0.0000") for i in (1, 2, 3)], ran
        assert [(int(row[3]), int(row[4])) for row in rows] == [(1001000, 1501500)] * 3, ran  # [ns]: the median of 1.000, 1.001, 1.002, 1.003, ... ms

    def test_the_report_has_nodes_and_benchmarks(self, measured):
        verify(run("dlroof cluster gather out -o cluster.json"), [exits(0)])
        verify(
            run("dlroof cluster report cluster.json -o c.html -o c.md -o c.csv -o c.svg"),
            [
                exits(0),
                prints(r"^n10 +whole +\d+ of \d+ +3 +[+-]0.0 %"),
                contains("c.html", "<svg"),
                contains("c.md", "Fake/none"),
                contains("c.csv", "^n10,whole,Fake/none/none/fwd/f32/n1,0.001"),
                exists("c.svg"),
            ],
        )

    def test_a_run_file_is_no_cluster_file(self, measured):
        verify(run("dlroof cluster report out/nodes/n1.json"), [bad_input, says("has no 'cluster', expected a file of `dlroof cluster gather`")])
        verify(run("dlroof cluster report cluster.json -o c.txt"), [bad_input, says("-o c.txt: unknown extension")])

    def test_a_killed_gather_leaves_no_half_file(self, measured):
        source = random.Random(1)
        shutil.copytree("out", "many")
        text = Path("out/nodes/n1.json").read_text()
        for i in range(100, 400):
            Path(f"many/nodes/n{i}.json").write_text(text.replace('"name":"n1"', f'"name":"n{i}"'))
        whole = 0
        for _ in range(20):
            Path("c.json").unlink(missing_ok=True)
            process = start("dlroof cluster gather many -o c.json")
            time.sleep(source.uniform(0, 0.15))
            process.send_signal(signal.SIGKILL)
            finish(process)
            if Path("c.json").exists():
                assert len(statuses("c.json")) == 304
                whole += 1
        verify(run("dlroof cluster gather many -o c.json"), [exits(0)])


@pytest.fixture
def damaged(tmp_path, monkeypatch):
    """Returns the folder of three whole nodes."""
    monkeypatch.chdir(tmp_path)
    for i in range(1, 4):
        node(f"n{i}")
    Path("out/asked.txt").write_text("n1\nn2\nn3\n")
    return tmp_path


def gathered_without(name, status, reason, code=2):
    """Expects the other two nodes, and one sentence about this one."""
    ran = run("dlroof cluster gather out -o cluster.json")
    verify(ran, [exits(code), says(f"^{name}: {status}: .*{reason}")])
    assert "json.exception" not in ran.err, ran
    assert len([line for line in ran.err.splitlines() if line.startswith(f"{name}: ")]) == 1, ran
    content = json.loads(Path("cluster.json").read_text())
    assert all(len({"n1", "n2", "n3"} & {content["cluster"]["nodes"][r["node"]]["name"] for r in record["repetitions"]}) >= 2 for record in content["records"])
    return content


class TestDamagedNodes:
    def test_a_file_of_a_newer_version(self, damaged):
        path = Path("out/nodes/n2.json")
        content = json.loads(path.read_text())
        content["context"]["dlroof"]["schema"] = 99
        path.write_text(json.dumps(content))
        gathered_without("n2", "failed", "written by a newer dlroof .schema 99")

    @pytest.mark.parametrize("schema", [0, -1, 1.5])
    def test_a_file_of_no_version(self, damaged, schema):
        path = Path("out/nodes/n2.json")
        content = json.loads(path.read_text())
        content["context"]["dlroof"]["schema"] = schema
        path.write_text(json.dumps(content))
        gathered_without("n2", "failed", f"'schema': expected a whole number of at least 1, got {schema}$")

    def test_half_a_file(self, damaged):
        path = Path("out/nodes/n2.json")
        text = path.read_text()
        path.write_text(text[: len(text) // 2])
        gathered_without("n2", "(failed|partial)", "n2.json: ")
        path.write_text(text[:40])
        gathered_without("n2", "failed", "n2.json: not JSON: cut off before the first complete record$")

    def test_two_files_of_one_node(self, damaged):
        shutil.copy("out/nodes/n1.json", "out/nodes/n7.json")
        content = gathered_without("n7", "failed", "is of node n1, whose file is n1.json: a node counts once")
        assert all(len(record["repetitions"]) == 3 for record in content["records"])

    def test_a_file_that_is_of_no_node(self, damaged):
        path = Path("out/nodes/n2.json")
        content = json.loads(path.read_text())
        del content["context"]["dlroof"]["node"]
        path.write_text(json.dumps(content))
        gathered_without("n2", "failed", "has no node's name")

    def test_no_file_at_all(self, damaged):
        os.remove("out/nodes/n2.json")
        gathered_without("n2", "missing", "no file", 3)

    def test_a_node_that_could_not_begin_says_why(self, damaged):
        os.remove("out/nodes/n2.json")
        verify(node("n2", NODE, FAKE_NAMES=""), [bad_input])
        gathered_without("n2", "missing", "its log ends: ", 3)

    def test_a_killed_node_keeps_what_it_has_and_goes_on(self, damaged):
        os.remove("out/nodes/n2.json")
        process = start(NODE, SLURMD_NODENAME="n2", SLURM_PROCID="0", FAKE_DEVICE="none", FAKE_SECONDS="2")
        deadline = time.monotonic() + 30
        journal = Path("out/runs/n2.json.journal")
        while (not journal.exists() or len(journal.read_text().splitlines()) < 2) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        finish(process)
        content = gathered_without("n2", "partial", "not finished: [12] benchmarks are", 3)
        assert sorted(len(record["repetitions"]) for record in content["records"]) in ([2, 2, 3], [2, 3, 3])
        verify(node("n2"), [exits(0), says("n2: whole")])
        verify(run("dlroof cluster gather out -o cluster.json"), [exits(0)])

    def test_no_folder_of_nodes(self, damaged):
        verify(run("dlroof cluster gather gone"), [bad_input, says("gone: expected the folder of `dlroof cluster node --out`")])
        for path in Path("out/nodes").iterdir():
            path.write_text("{")
        verify(run("dlroof cluster gather out"), [bad_input, says("no node has a benchmark with a time; the first one: n1: ")])


class TestGpusOfANode:
    """Three nodes with two GPUs each, of which each has a process: made up, as no machine of the tests has a GPU."""

    @pytest.fixture(scope="class")
    def gpus(self, own_folder):
        """Returns what the benchmarks' programs saw."""
        bench = Path("bench.sh")
        bench.write_text(f'#!/bin/bash\ncase $* in *out=*) echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER" >> seen; esac\nexec bash {FAKE_BENCH} "$@"\n')
        bench.chmod(0o755)
        command = "dlroof cluster node --out out --bench ./bench.sh --per-gpu -- --dlroof_device=gpu"
        for host in ("n1", "n2", "n3"):
            for local in ("0", "1"):
                if (host, local) != ("n3", "1"):
                    verify(
                        node(host, command, SLURM_LOCALID=local, SLURM_STEP_TASKS_PER_NODE="2(x3)", CUDA_VISIBLE_DEVICES="4,7"),
                        [exits(0), says(f"^{host}-gpu{local}: whole$")],
                    )
        Path("out/asked.txt").write_text("".join(f"n{i}-gpu{j}\n" for i in (1, 2, 3) for j in (0, 1)))
        return Path("seen").read_text().splitlines()

    def test_each_process_sees_its_own(self, gpus):
        assert gpus == 3 * ["4 PCI_BUS_ID"] + 3 * ["7 PCI_BUS_ID"] + 3 * ["4 PCI_BUS_ID"] + 3 * ["7 PCI_BUS_ID"] + 3 * ["4 PCI_BUS_ID"], gpus
        facts = json.loads(Path("out/nodes/n2-gpu1.json").read_text())["context"]["dlroof"]["node"]
        assert (facts["name"], facts["host"], facts["gpu"]) == ("n2-gpu1", "n2", "7"), facts

    def test_gather_and_report_name_host_and_gpu(self, gpus):
        path = Path("out/nodes/n2-gpu1.json")
        text = path.read_text()
        path.write_text(re.sub(r"\b0\.001(\d*)", r"0.0015\1", text))
        verify(run("dlroof cluster gather out -o c.json"), [exits(3), says("^n3-gpu1: missing: no file$"), says("5 of 6 nodes are complete")])
        verify(
            run("dlroof cluster report c.json"),
            [
                exits(3),
                prints(r"^n2-gpu1 +whole .*[+]\d\d\.\d %"),
                prints("^6 GPUs of 3 nodes: 5 whole, 0 partial, 1 missing"),
                plain("a suspect was slow in one visit"),
            ],
        )
        content = json.loads(Path("c.json").read_text())
        assert content["context"]["dlroof"]["devices_per_node"] == 2
        assert {content["cluster"]["nodes"][one["node"]]["name"] for one in content["cluster"]["findings"]} == {"n2-gpu1"}, content["cluster"]["findings"]
        verify(
            run("dlroof cluster script --revisit c.json -o again.sh"),
            [
                exits(0),
                contains("again.sh", "#SBATCH --nodelist=n1,n2,n3$"),
                contains("again.sh", "#SBATCH --gpus-per-node=2$"),
                contains("again.sh", "^gpus=2 "),  # a step has a task for each of them
                contains("again.sh", "^tasks=2$"),
            ],
        )
        verify(run("dlroof cluster script --revisit c.json --per-gpu 2"), [bad_input, says("expected no -N and --per-gpu")])

    def test_too_few_gpus_and_no_launcher_are_refused(self, gpus):
        command = NODE.replace("--out out", "--out bad --per-gpu")
        verify(
            node("n1", command, SLURM_LOCALID="2", CUDA_VISIBLE_DEVICES="0,1"),
            [bad_input, says("--per-gpu: process 2 of the node, and CUDA_VISIBLE_DEVICES=0,1 has 2 GPUs")],
        )
        verify(node("n1", command, SLURM_LOCALID=""), [bad_input, says("--per-gpu: the launcher does not number the processes")])
        verify(
            run("dlroof cluster script -N 2 --per-gpu 4 --out out -- --dlroof_device=cpu"),
            [bad_input, says("expected --dlroof_device=gpu, not --dlroof_device=cpu")],
        )


def write_scattered_nodes(count):
    """Writes d/nodes/n1.json, ... of a stored run, each with its own factor and noise. Returns what is measured on all nodes: clean medians by benchmark,
    validated rates by row."""
    source, times, rates = random.Random(1), {}, {}
    Path("d/nodes").mkdir(parents=True)
    for number in range(1, count + 1):
        content, factor = json.loads((ROOT / "baselines/stored/zen5-2c/2026-11-22-conv2d.json").read_text()), source.lognormvariate(0, 0.01)
        content["context"]["dlroof"]["node"] = {"name": f"n{number}", "known_by": "SLURMD_NODENAME", "arguments": [], "cpus_given": 2, "cpus": 2}
        for threads, rows in content["machines"][0]["by_threads"].items():
            for kind, name, row in ((kind, name, row) for kind in ("flops", "bytes") for name, row in rows[kind].items()):
                row["per_second"] /= factor
                if row["proved"]:
                    rates.setdefault((threads, kind, name), []).append(row["per_second"])
        for record in content["records"]:
            record.pop("seconds", None)  # follows from the repetitions
            for repetition in record["repetitions"]:
                repetition["seconds"] *= factor * source.lognormvariate(0, 0.005)
            clean = [repetition["seconds"] for repetition in record["repetitions"] if not repetition.get("disturbed")]
            if len(clean) >= 3:
                times.setdefault(record["name"], []).append(statistics.median(clean))
        Path(f"d/nodes/n{number}.json").write_text(json.dumps(content))
    Path("d/asked.txt").write_text("".join(f"n{number}\n" for number in range(count, 0, -1)))
    return times, rates


def test_medians_over_nodes_are_those_computed_here_in_any_order_of_the_files():
    times, rates = write_scattered_nodes(24)
    verify(run("dlroof cluster gather d -o cluster.json"), [exits(0)])
    cluster = json.loads(Path("cluster.json").read_text())
    medians = {record["name"]: record["seconds"]["median"] for record in cluster["records"] if record["status"] == "ok"}
    everywhere = {name: statistics.median(values) for name, values in times.items() if len(values) == 24}
    assert len(everywhere) > 40 and {name: medians[name] for name in everywhere} == pytest.approx(everywhere, rel=1e-12)
    roofs = cluster["machines"][0]["by_threads"]
    for (threads, kind, name), values in rates.items():
        assert roofs[threads][kind][name]["per_second"] == pytest.approx(statistics.median(values), rel=1e-7)  # written with eight digits
    first = Path("cluster.json").read_bytes()
    Path("d/nodes").rename("before")
    Path("d/nodes").mkdir()
    for path in sorted(Path("before").iterdir(), reverse=True):
        path.rename(f"d/nodes/{path.name}")
    verify(run("dlroof cluster gather d -o cluster.json"), [exits(0)])
    assert Path("cluster.json").read_bytes() == first


def test_links_in_a_shared_folder_are_not_followed():
    victim = Path("victim")
    victim.write_text("precious")
    for link in ("shared/logs/n1.log", "shared/runs/n2.json", "shared/runs/n3.node", "shared/nodes/n3.json"):
        Path(link).parent.mkdir(parents=True, exist_ok=True)
        Path(link).symlink_to(victim.absolute())
    command = NODE.replace("--out out", "--out shared")
    for name, path in (("n1", "shared/logs/n1.log"), ("n2", "shared/runs/n2.json")):
        verify(node(name, command), [bad_input, says(f"{path}: expected a regular file, or none")])
    Path("shared/nodes/n3.json").unlink()
    Path("shared/nodes/n3.json").symlink_to(Path("absent").absolute())
    verify(node("n3", command), [exits(0)])
    assert victim.read_text() == "precious" and not Path("absent").exists() and not Path("shared/nodes/n3.json").is_symlink()


def test_the_job_script_follows_no_links(tmp_path):
    verify(run("dlroof cluster script -N 1 --out links -o links.sh -- --dlroof_seed=1"), [exits(0)])
    for name, script in (("scontrol", "echo n1"), ("squeue", ""), ("sinfo", "echo idle"), ("srun", "mkdir -p links/nodes; touch links/nodes/n1.json")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    Path("links").mkdir()
    (tmp_path / "victim").write_text("precious")
    for name in ("job", "job.7", "asked.7", "asked.txt", "asked.txt.new", "gathered.7"):
        Path("links", name).symlink_to(tmp_path / "victim")
    for name in ("now.7", "alive.7"):
        Path("links", name).symlink_to(tmp_path / "made")
    path = f"{tmp_path}:{os.environ['PATH']}"
    run("bash links.sh", PATH=path, SLURM_JOB_ID="7", SLURM_JOB_NODELIST="n1", SLURM_JOB_CPUS_PER_NODE="1", DLROOF_LOST_SECONDS="0")
    assert (tmp_path / "victim").read_text() == "precious" and not (tmp_path / "made").exists()
    assert Path("links/job").read_text() == "7\n" and Path("links/asked.txt").read_text() == "n1\n"
    assert not [entry for entry in os.listdir("links") if entry.startswith(".job")]


def test_the_script_is_syntactically_right():
    for more in ("", "--per-gpu 8 "):
        verify(
            run(f"dlroof cluster script {more}-N 3 --out out -o job.sh -- --dlroof_suite=resnet50"), [exits(0), contains("job.sh", "--dlroof_suite=resnet50")]
        )
        assert subprocess.run(["bash", "-n", "job.sh"]).returncode == 0
