"""dlroof explain: where the time of a benchmark goes."""
import json
import os
import re
from pathlib import Path

import pytest
from checks import DATA, exits, one_sentence, prints, run, verify

NAME = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32"
CPUS = len(os.sched_getaffinity(0))
LIBOMP = os.environ.get("DLROOF_LIBOMP")
needs_libomp = pytest.mark.skipif(
    not LIBOMP, reason="libomp is not there (apt-get install libomp5), or a sanitizer has to be loaded before it")


@pytest.fixture(scope="module", autouse=True)
def explained(folder):
    """Explains one LSTM on all CPUs and on one, on roofs that are given."""
    roofs = {"name": "roofs", "device": "cpu", "threads": CPUS, "flops": {"fp32.vector": 1e13}, "bytes": {"dram": 1e12}}
    Path("roofs.json").write_text(json.dumps(roofs))
    return run(f"dlroof explain {NAME} {NAME}/threads1 --machine=roofs.json -o run.json", timeout=300)


def records(file="run.json"):
    return {record["name"]: record for record in json.loads(Path(file).read_text())["records"]}


def under_libomp(file, **environment):
    """Explains the LSTM in a process whose OpenMP runtime is libomp, and returns its regions."""
    ran = run(f"dlroof explain {NAME} --machine=roofs.json -o {file}", timeout=300, LD_PRELOAD=LIBOMP, **environment)
    assert ran.code == 0, ran
    return records(file)[NAME]["parallel"], ran


def test_the_parts_add_up_to_the_measured_time(explained):
    assert explained.code == 0, explained
    time = records()[NAME]["time"]
    assert all(part["seconds"] > 0 for part in time["parts"])
    assert abs(sum(part["seconds"] for part in time["parts"]) / time["seconds"] - 1) < 0.02
    assert {"roof", "functions"} <= {part["part"] for part in time["parts"]}


@pytest.mark.skipif(CPUS < 2, reason="one CPU")
def test_every_step_of_a_team_is_a_parallel_region(explained):
    parallel = records()[NAME]["parallel"]
    assert parallel["threads"] == CPUS and parallel["regions"] > 15.9, explained  # a mean over passes
    # On a busy machine the waits for a CPU may be all that the regions lost.
    assert "fork and join of parallel regions" in explained.out or "waiting for a CPU" in explained.out, explained
    assert "parallel efficiency" in explained.out, explained


@needs_libomp
def test_under_libomp_the_same_regions_are_seen():
    parallel, ran = under_libomp("libomp.json")
    libgomps = records()[NAME]["parallel"]
    assert libgomps["source"] == "libgomp's entry points" and parallel["source"].startswith("OMPT of lib"), (libgomps, parallel)
    assert parallel["regions"] == pytest.approx(libgomps["regions"]) and parallel["threads"] == libgomps["threads"], (libgomps, parallel)
    assert 0 < parallel["longest_seconds"] <= parallel["region_seconds"] < parallel["seconds"], parallel
    assert parallel["busy_seconds"] <= parallel["threads"] * parallel["longest_seconds"], parallel
    assert "fork and join of parallel regions" in ran.out or "waiting for a CPU" in ran.out, ran


@needs_libomp
def test_where_ompt_is_forbidden_the_entry_points_are_watched():
    parallel, ran = under_libomp("forbidden.json", OMP_TOOL="disabled")
    assert parallel["source"].startswith("libgomp's entry points of lib"), parallel
    assert parallel["regions"] == pytest.approx(records()[NAME]["parallel"]["regions"]), ran


def test_each_benchmark_has_a_waterfall_and_one_sentence(explained):
    shares = [float(share) for share in re.findall(r"s +([0-9.]+) %  ", explained.out.split(NAME + "/threads1")[0])]
    assert abs(sum(shares) - 100) < 1, explained
    assert re.search(r"^  [^|]*% of the time", explained.out, re.M), explained


def test_a_file_is_explained_without_measuring(explained):
    again = run("dlroof explain run.json")
    assert again.code == 0 and again.out == explained.out, again


def test_what_the_largest_part_proposes_is_tried():
    tried = run(f"dlroof explain {NAME} --try --budget 8 --machine=roofs.json", timeout=180)
    verify(tried, [exits(0)])
    assert re.search(r"^  (tried on 1 thread|nothing to try)", tried.out, re.M), tried


def test_a_file_has_nothing_to_be_tried(explained):
    verify(run("dlroof explain run.json --try"), [one_sentence])


def test_waterfalls_become_a_figure(explained):
    verify(run("dlroof explain run.json -o waterfalls.svg"), [exits(0)])
    assert Path("waterfalls.svg").read_text().startswith("<?xml") and NAME in Path("waterfalls.svg").read_text(), explained


def test_a_run_that_was_not_watched_says_so():
    verify(run(f"dlroof explain {DATA}/run_small.json"), [prints("not watched")])


def test_a_cold_call_says_why_it_has_no_ledger():
    name = "Conv2D/cpu/onednn/fwd/f32/n1c16h28w28k16r3s3_p1/cold"
    verify(run(f"dlroof explain {name} --machine=roofs.json", timeout=120), [exits(0), prints("only warm calls are watched")])


def test_a_bad_name_is_refused():
    verify(run("dlroof explain LSTM/cpu/onednn/fwd_inference/f32/t16x --machine=roofs.json"), [one_sentence])
