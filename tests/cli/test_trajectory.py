"""dlroof trajectory: how benchmarks move under their roofs along threads or a size."""
import json
import os
import re
from pathlib import Path

import pytest
from checks import DATA, QUICK, bad_input, checks, contains, exits, never_prints, one_sentence, prints, run, says, verify

pytestmark = pytest.mark.serial
NAME = "LSTM/cpu/onednn/fwd_inference/f32/t4n16i32h32"
CPUS = len(os.sched_getaffinity(0))
THREADS = sorted({1, CPUS})


@pytest.fixture(scope="module", autouse=True)
def measured(folder):
    """Measures two batch sizes on one CPU and on all, on roofs that are given for all of them."""
    roofs = {"name": "roofs", "device": "cpu", "threads": CPUS, "flops": {"fp32.vector": 1e13}, "bytes": {"dram": 1e12}}
    Path("roofs.json").write_text(json.dumps(roofs))
    threads = ",".join(map(str, THREADS))
    return run(f"dlroof trajectory {NAME} --threads={threads} --batch=16,4 --machine=roofs.json -o run.json -- {QUICK}", timeout=300)


def test_the_cross_product_is_measured(measured):
    assert measured.code == 0, measured
    content = json.loads(Path("run.json").read_text())
    assert content["context"]["dlroof"]["command"].startswith(f"dlroof trajectory {NAME} --threads=1"), content["context"]
    records = content["records"]
    names = {f"{NAME.replace('n16', batch)}/threads{count}" for batch in ("n4", "n16") for count in THREADS}
    assert {record["name"] for record in records} == names
    assert all(record["parallel"]["calls"] > 0 for record in records)


@pytest.mark.skipif(CPUS < 2, reason="one CPU")
def test_each_batch_has_a_table_and_one_sentence(measured):
    assert [line for line in measured.out.splitlines() if line.startswith("LSTM/")] == [NAME.replace("n16", "n4"), NAME], measured
    sentences = re.findall(rf"^  ~?{CPUS} threads are [0-9.]+x as fast as 1 thread, [0-9]+ % of ideal: .+\.$", measured.out, re.M)
    assert len(sentences) == 2, measured


@pytest.mark.skipif(CPUS < 2, reason="one CPU")
def test_without_roofs_of_one_thread_nothing_is_drawn(measured):
    sentences = [line for line in measured.out.splitlines() if " as fast as 1 thread, " in line]
    # Where it scales ideally there is no cause to look for.
    assert len(sentences) == 2 and all(re.search("no measurement explains|: the cost is the same within 5 %|by [a-z]+", one) for one in sentences), measured
    verify(run("dlroof trajectory run.json -o x.svg"), [exits(2), says("no trajectory has two points with FLOPs, bytes and ceilings")])


@pytest.mark.skipif(CPUS < 2, reason="one CPU")
def test_figure_and_page_are_of_a_run_with_roofs_of_both(measured):
    content = json.loads(Path("run.json").read_text())
    roofs = content["machines"][0]["by_threads"]
    roofs["1"] = json.loads(json.dumps(roofs[str(CPUS)]).replace(f'"threads": {CPUS}', '"threads": 1'))
    Path("both.json").write_text(json.dumps(content))
    verify(
        run("dlroof trajectory both.json -o y.svg -o y.html"),
        [exits(0), never_prints("no roofs"), says("wrote y.svg"), contains("y.svg", "Roofline trajectories"), contains("y.html", '"trajectories":')],
    )


def test_a_run_file_is_joined_without_measuring(measured):
    verify(run("dlroof trajectory run.json --along=batch"), [exits(0), prints("^batch +threads +time"), prints("batch 16 has [0-9.]+x the FLOP/s of batch 4")])
    if CPUS > 1:
        again = run("dlroof trajectory run.json")
        assert again.code == 0 and sorted(again.out.splitlines()) == sorted(measured.out.splitlines()), again


@pytest.mark.skipif(CPUS < 2, reason="one CPU has no second thread")
def test_the_batch_of_each_thread_stays():
    ran = run(f"dlroof trajectory {NAME} --threads=1,2 --weak --machine=roofs.json -o weak.json -- {QUICK}", timeout=300)
    verify(ran, [exits(0), prints("n\\*i32h32, batch 16 a thread"), prints("2 threads are [0-9.]+x as fast as 1 thread")])
    assert [record["problem"] for record in json.loads(Path("weak.json").read_text())["records"]] == ["t4n16i32h32", "t4n32i32h32"]
    again = run("dlroof trajectory weak.json --along=weak")
    assert again.code == 0 and again.out == ran.out, again


def test_files_of_one_thread_count_each_are_joined(measured):
    content = json.loads(Path("run.json").read_text())
    for count in THREADS:
        part = {**content, "records": [record for record in content["records"] if record["threads"] == count]}
        Path(f"threads{count}.json").write_text(json.dumps(part))
    files = " ".join(f"threads{count}.json" for count in THREADS)
    if CPUS > 1:
        verify(run(f"dlroof trajectory {files}"), [exits(0), prints("as fast as 1 thread")])


@checks(
    ("more threads than CPUs", f"dlroof trajectory {NAME} --threads=1,{CPUS + 1}", bad_input, says(f"--threads={CPUS + 1}: this process may use {CPUS} CPU")),
    ("no such parameter", f"dlroof trajectory {NAME} --sweep=colour=1,2", bad_input, says("it has batch, steps, features, hidden, layers")),
    ("no values", f"dlroof trajectory {NAME} --sweep=batch", bad_input),
    ("a bad value", f"dlroof trajectory {NAME} --batch=1,x", bad_input),
    ("a bad name", "dlroof trajectory LSTM/cpu/onednn/fwd_inference/f32/t16x --batch=1,2", one_sentence),
    ("one point", f"dlroof trajectory {NAME} --threads=1", bad_input, says("expected several")),
    ("two sizes", f"dlroof trajectory {NAME} --batch=1,2 --sweep=hidden=8,16", bad_input),
    ("threads twice", f"dlroof trajectory {NAME}/threads1 --threads=1", bad_input),
    ("an unknown output", f"dlroof trajectory {NAME} --batch=1,2 -o x.txt", bad_input),
    ("no such file", "dlroof trajectory nofile.json", bad_input),
    ("nothing to join", f"dlroof trajectory {DATA}/run_small.json --along=threads", bad_input, says("no two records differ only in threads")),
    ("weak scaling runs along the threads", f"dlroof trajectory {NAME} --weak --along=batch", bad_input),
    ("a file is not measured", f"dlroof trajectory {DATA}/run_small.json --batch=1,2", bad_input),
)
def test_bad_input_is_one_sentence(command, expected):
    verify(run(command), expected)
