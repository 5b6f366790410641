"""dlroof explain: where the time of a benchmark goes."""
import json
import os
import re
from pathlib import Path

import pytest
from checks import DATA, DLROOF, QUICK, bad_input, exists, exits, one_sentence, prints, program, run, says, verify

SMALL = "LSTM/cpu/onednn/fwd_inference/f32/t2n1i8h8"
NAME = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32"
ADVICE = r"(?m)^  (?:[^|]*% of the time|no advice: the time is an estimate)"
CPUS = len(os.sched_getaffinity(0))
# A team loses these in parallel regions. One that took no time is in neither the record nor the waterfall.
LOST = {"imbalance": "waiting for the slowest thread", "fork_join": "fork and join of parallel regions", "stolen": "waiting for a CPU"}


def watched(file, *names, **environment):
    """Measures what `dlroof explain` measures, but with few repetitions and without the slow count of instructions; explains the file."""
    Path("names.txt").write_text("\n".join(names))
    ran = run(
        [
            program("DLROOF_BENCH"),
            "--dlroof_explain",
            "--dlroof_machine=roofs.json",
            *QUICK.split(),
            "--dlroof_max_seconds=1",
            "--dlroof_suite=names.txt",
            f"--benchmark_filter=^({'|'.join(names)})/real_time",
            f"--benchmark_out={file}",
        ],
        timeout=300,
        **environment,
    )
    assert ran.code == 0, ran
    return run(f"dlroof explain {file}")


@pytest.fixture(scope="module", autouse=True)
def explained(folder):
    """Explains one LSTM on all CPUs and on one, on roofs that are given."""
    roofs = {"name": "roofs", "device": "cpu", "threads": CPUS, "flops": {"fp32.vector": 1e13}, "bytes": {"dram": 1e12}}
    Path("roofs.json").write_text(json.dumps(roofs))
    return watched("run.json", NAME, f"{NAME}/threads1")


def records(file="run.json"):
    return {record["name"]: record for record in json.loads(Path(file).read_text())["records"]}


def verify_what_regions_lose(record, ran):
    """Whichever causes it has on this machine, they add up to what this file computes, and the waterfall names those that there are."""
    parallel, seconds = record["parallel"], record["time"]["seconds"]
    lost = parallel["region_seconds"] - parallel["busy_seconds"] / parallel["threads"]
    # The watched calls may have waited longer for a CPU than those that were timed.
    longer = min(parallel.get("run_delay_seconds", 0), lost, max(0, parallel["seconds"] - seconds))
    parts = {part["part"]: part["seconds"] for part in record["time"]["parts"] if part["part"] in LOST}
    assert sum(parts.values()) == pytest.approx((lost - longer) * seconds / (parallel["seconds"] - longer), abs=1e-5 * seconds), (record, ran)
    assert 0 < parallel["longest_seconds"] <= parallel["region_seconds"] < parallel["seconds"], record
    assert parallel["busy_seconds"] <= parallel["threads"] * parallel["longest_seconds"], record
    waterfall = ran.out.split(NAME + "/threads1")[0]
    assert {part for part, words in LOST.items() if words in waterfall} == set(parts), (record, ran)


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
    verify_what_regions_lose(records()[NAME], explained)
    assert "parallel efficiency" in explained.out, explained


def test_each_benchmark_has_a_waterfall_and_one_sentence(explained):
    shares = [float(share) for share in re.findall(r"s +([0-9.]+) %  ", explained.out.split(NAME + "/threads1")[0])]
    assert abs(sum(shares) - 100) < 1, explained
    assert re.search(ADVICE, explained.out), explained


def test_it_shows_its_progress_and_says_what_it_left_out():
    ran = run(f"dlroof explain {SMALL} --machine=roofs.json", timeout=120)
    assert ran.code == 0 and f"[  0/3] timing {SMALL}; " in ran.err and "[  3/3] explained; 0 s left" in ran.err, ran
    assert re.search(r"^  (?:on one thread .* instructions.* \(hardware counter|instructions not counted: )", ran.out, re.M), ran
    assert "--thorough has no limit" in ran.err, ran


def test_without_time_the_rest_is_left_out():
    ran = run(f"dlroof explain {SMALL} --machine=roofs.json --seconds 0.001", timeout=120)
    verify(ran, [exits(0), prints("instructions not counted: the limit of 0.001 s for this benchmark was over .dlroof explain --thorough has none")])
    assert re.search(ADVICE, ran.out), ran


def test_thorough_measures_near_and_far_tensors_of_every_call():
    ran = run(f"dlroof explain {SMALL} --machine=roofs.json --thorough -o thorough.json", timeout=300)
    assert ran.code == 0 and "--thorough" not in ran.err, ran


def test_thorough_has_no_limit():
    verify(run(f"dlroof explain {SMALL} --machine=roofs.json --thorough --seconds 3"), [one_sentence])


def changed(name, change):
    """Writes a file with the record NAME alone, changed, and explains it."""
    file = json.loads(Path("run.json").read_text())
    file["records"] = [record for record in file["records"] if record["name"] == NAME]
    file["benchmarks"] = []
    change(file["records"][0])
    Path(name).write_text(json.dumps(file))
    return run(f"dlroof explain {name}")


def test_a_level_above_its_roof_is_not_needed_and_the_wrong_number_is_named():
    """Counted bytes that take ten times the slowest call at DRAM's roof: it is arithmetic that needs its time."""

    def counted(record):
        slowest = max(repetition["seconds"] for repetition in record["repetitions"])
        record["work"]["measured"] = {"bytes": {"dram": 10 * slowest * 1e12}}

    ran = changed("counted.json", counted)
    verify(ran, [exits(0), prints("above the specified dram roof by [0-9]+ %.*its bytes were counted, so the roof is too low")])
    assert re.search(r"needed by the roof.*arithmetic", ran.out) and not re.search("needed by the roof.*DRAM", ran.out), ran


def test_waterfalls_become_a_figure(explained):
    verify(run("dlroof explain run.json -o waterfalls.svg"), [exits(0)])
    assert Path("waterfalls.svg").read_text().startswith("<?xml") and NAME in Path("waterfalls.svg").read_text(), explained


def test_each_output_of_a_run_file_is_written_or_refused(explained):
    verify(run("dlroof explain run.json -o copy.json -o again.json"), [exits(0), exists("copy.json"), exists("again.json")])
    assert records("copy.json").keys() == records().keys(), explained
    verify(run("dlroof explain run.json -o x.txt"), [bad_input, says("unknown extension")])


def test_a_run_that_was_not_watched_says_so():
    verify(run(f"dlroof explain {DATA}/run_small.json"), [prints("not profiled")])


def test_a_cold_call_says_why_it_has_no_ledger():
    name = "Conv2D/cpu/onednn/fwd/f32/n1c16h28w28k16r3s3_p1/cold"
    verify(run(f"dlroof explain {name} --machine=roofs.json", timeout=120), [exits(0), prints("only warm calls are profiled")])


def test_a_bad_name_is_refused():
    verify(run("dlroof explain LSTM/cpu/onednn/fwd_inference/f32/t16x --machine=roofs.json"), [one_sentence])
