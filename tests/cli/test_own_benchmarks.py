"""Programs with benchmarks of their own (<dlroof/benchmark.h>): tests/programs."""
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from checks import bad_input, exits, prints, program, run, says, verify

FOLDER = Path(program("DLROOF_BENCH")).parent / "tests"
OWN, COUNTED, MAIN = FOLDER / "dlroof_own_benchmarks", FOLDER / "dlroof_own_counted", FOLDER / "dlroof_own_main"
FAKES = program("DLROOF_FAKE_MODULES")
QUICK = "--benchmark_repetitions=3 --benchmark_min_time=0.002 --dlroof_machine=none"
ARRAYS = {"BM_Scale": (1, 2), "BM_Add": (1, 3), "BM_Triad": (2, 3), "BM_Sum": (1, 1), "BM_Copy": (0, 2)}  # FLOPs, arrays per float
FLOATS = (1 << 16) / 4
COUNTED_FLOATS = 1 << 14
COUNTED_WORK = [(0, 2), (1, 1), (1, 3), (2, 3), (9, 2)]  # FLOPs, arrays per float of the kernels in own_counted.cpp


def own(arguments, **options):
    return run(f"{OWN} {QUICK} {arguments}", timeout=300, **options)


def records(path="run.json"):
    return {record["name"]: record for record in json.loads(Path(path).read_text())["records"]}


def measured(pattern, arguments="", **options):
    ran = own(f"--benchmark_filter='{pattern}' --benchmark_out=run.json {arguments}", **options)
    verify(ran, [exits(0)])
    return records()


@pytest.mark.parametrize("bench", [OWN, f"{program('DLROOF_BENCH')} --dlroof_suite=names.txt"])
@pytest.mark.parametrize(
    "flags, code, message",
    [
        ("--benchmark_filter=BM_NoneOfThem", 2, "^.*: --benchmark_filter=BM_NoneOfThem: selects "),
        ("--benchmark_filter='BM_('", 2, "regular expression|selects no benchmark"),
        ("--benchmark_list_tests", 0, None),
        ("--benchmark_list_tests=true --benchmark_filter=BM_NoneOfThem", 0, None),
    ],
)
def test_a_run_that_measures_nothing_leaves_the_stored_result(bench, flags, code, message):
    Path("names.txt").write_text("LSTM/cpu/onednn/fwd_inference/f32/t1n1i8h8\n")
    Path("old.json").write_text("a stored result")
    for file in ("old.json", "new.json"):
        ran = run(f"{bench} {QUICK} {flags} --benchmark_out={file}", timeout=120)
        assert ran.code == code, ran
        if message:
            assert re.search(message, ran.err, re.M), ran
    assert Path("old.json").read_text() == "a stored result"
    assert not Path("new.json").exists()


def test_work_that_is_given_is_placed():
    machine = {"name": "m", "device": "cpu", "threads": 1, "flops": {"fp32.vector": 1e15}, "bytes": {"dram": 1e15}}
    Path("machine.json").write_text(json.dumps(machine))
    ran = run(f"{OWN} --benchmark_filter=BM_Triad --benchmark_repetitions=3 --benchmark_min_time=0.002 --dlroof_machine=machine.json --benchmark_out=run.json")
    verify(ran, [exits(0), prints("^BM_Triad/65536 .*FLOP/s")])
    (record,) = records().values()
    assert record["device"] == "cpu" and record["status"] == "ok" and record["threads"] == 1
    assert record["work"]["modelled"]["flops"] == {"fp32.vector": 2 * FLOATS}
    assert record["work"]["modelled"]["bytes"]["dram"] == 12 * FLOATS
    (point,) = [point for point in record["classic"] if point["level"] == "dram"]
    assert point["intensity"] == pytest.approx(2 / 12)
    seconds = record["time"]["seconds"]
    assert record["time"]["memory_seconds"]["dram"] == pytest.approx(12 * FLOATS / 1e15)
    assert point["fraction"] == pytest.approx(12 * FLOATS / 1e15 / seconds, rel=0.01)
    verify(run("dlroof report run.json -o page.html"), [exits(0)])


def test_names_stay_and_settings_keep_benchmarks_apart():
    found = measured("Exactly|Template|Product|Fixture|Captured|Repeated|Complexity")
    assert {"BM_Exactly/iterations:10", "BM_Exactly/iterations:30", "BM_Template<float>", "BM_Template<std::int64_t>"} <= set(found), list(found)
    assert {"BM_Product/1/20", "BM_Product/2/40", "Fixture/Scale", "Captured/short_call", "BM_Complexity/64"} <= set(found), list(found)
    assert found["Captured/long_call"]["seconds"]["median"] > 2 * found["Captured/short_call"]["seconds"]["median"]
    assert len(found["BM_Repeated"]["repetitions"]) == 4  # as it says itself, not --benchmark_repetitions=3 clean ones
    assert all(record["status"] == "ok" for record in found.values())
    entries = json.loads(Path("run.json").read_text())["benchmarks"]
    exactly = [entry for entry in entries if entry["name"].startswith("BM_Exactly") and entry["run_type"] == "iteration"]
    assert {(entry["run_name"], entry["iterations"]) for entry in exactly} == {("BM_Exactly/iterations:10", 10), ("BM_Exactly/iterations:30", 30)}


def test_a_random_order_is_refused():
    verify(own("--benchmark_enable_random_interleaving=true"), [bad_input, says("run in their order")])


def test_threads_share_the_work():
    found = measured("Threads")["BM_Threads/threads:2"]
    assert found["threads"] == 2 and found["work"]["modelled"]["flops"] == {"fp32.vector": 1024}
    assert all(repetition["seconds"] > 0 for repetition in found["repetitions"])


def test_a_loop_without_measure_is_reported_too():
    assert measured("Plain")["BM_Plain"]["seconds"]["median"] >= 1e-6


@pytest.mark.scripts  # a program with sanitizers does not run under valgrind
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_simulated_bytes_are_those_of_the_kernels():
    found = measured("BM_(Scale|Add|Triad|Sum|Copy)/", "--dlroof_counters=simulate")
    for name, (_, accesses) in ARRAYS.items():
        record = found[f"{name}/65536"]
        simulated = record["work"].get("simulated")
        assert simulated, record.get("counting")
        # Arrays of 64 KiB: each line comes from L2 once, and a stored line is fetched before.
        arrays = {"BM_Scale": 1, "BM_Add": 2, "BM_Triad": 3, "BM_Sum": 1, "BM_Copy": 2}[name]
        assert simulated["bytes"]["l2"] == pytest.approx(arrays * FLOATS * 4, rel=0.1), (name, accesses)


def verify_counted(record, kernel, provenance="measured"):
    """The counts of one call, not those of a repetition or of the passes that counters need."""
    flops, arrays = COUNTED_WORK[kernel]
    assert record["status"] == "ok", record
    work = record["work"][provenance]
    assert work["flops"]["fp32.vector"] == flops * COUNTED_FLOATS, (record["name"], work)
    assert work["bytes"]["dram"] == arrays * 4 * COUNTED_FLOATS, (record["name"], work)


def test_counted_work_is_that_of_one_call():
    for repetitions in (3, 5):
        ran = run(
            f"{COUNTED} {QUICK} --benchmark_repetitions={repetitions} --benchmark_filter='BM_Counted/|Exactly' --dlroof_counters=made-up --benchmark_out=run.json"
        )
        verify(ran, [exits(0)])
        found = records()
        for kernel in range(len(COUNTED_WORK)):
            verify_counted(found[f"BM_Counted/{kernel}"], kernel)
        verify_counted(found["BM_CountedExactly/3"], 3)
        assert [repetition["iterations"] for repetition in found["BM_CountedExactly/3"]["repetitions"]] == [7, 7, 7]


def test_cold_calls_and_checks():
    warm = measured("Copy")["BM_Copy/65536"]
    assert warm["verified"] == "by the program's own check" and warm["cache"] == "warm"
    cold = measured("Copy", "--dlroof_cache=cold")["BM_Copy/65536"]
    assert cold["cache"] == "cold"
    ran = own("--benchmark_filter=Scale/ --dlroof_cache=cold")
    verify(ran, [prints("unsupported|addresses")])


def test_explanation_and_energy_run_after_the_timing():
    found = measured("BM_Add/", "--dlroof_explain --dlroof_energy --dlroof_explain_seconds=5")["BM_Add/65536"]
    assert found["status"] == "ok"


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("WrongResult", "the result is wrong by the program's own check"),
        ("NoSuchPipe", 'flops: "float" is no pipe, expected one such as fp32, fp16.matrix, int8.vector'),
        ("NoSuchLevel", 'bytes: "memory" is no level, expected l1, l2, l3, dram or host'),
        ("Negative", "fp32: -1 is no amount of work"),
        ("Throws", "no more tea"),
        ("PausesLater", "a call must not pause or resume the timer"),
    ],
)
def test_what_fails_says_why(name, sentence):
    ran = own(f"--benchmark_filter={name} --benchmark_out=run.json")
    verify(ran, [exits(1), prints(f"BM_{name}.*{sentence}")])


def test_a_pause_in_a_call_is_refused():
    ran = own("--benchmark_filter=Pauses$")
    assert ran.code in (1, 2)
    assert re.search("(do not use the State|must not pause)", ran.out + ran.err), ran


def test_flags_for_operators_are_refused():
    verify(own("--dlroof_suite=resnet50"), [bad_input, says("this program has benchmarks of its own")])
    verify(own("--dlroof_treads=2"), [bad_input, says("--dlroof_threads")])


class TestGpu:
    @pytest.fixture(autouse=True)
    def fake(self):
        shutil.copy(OWN, "own")
        shutil.copy(f"{FAKES}/working.so", "libdlroof_cuda.so")
        os.makedirs("driver", exist_ok=True)
        shutil.copy(f"{FAKES}/libcuda_fake.so", "driver/libcuda.so.1")

    def gpu(self, arguments):
        return run(f"./own {QUICK} {arguments}", timeout=120, LD_LIBRARY_PATH=os.path.abspath("driver"))

    def test_a_call_is_timed_by_the_device(self):
        verify(self.gpu("--benchmark_filter=BM_Gpu/ --benchmark_out=run.json"), [exits(0)])
        record = records()["BM_Gpu"]
        assert record["device"] == "gpu" and record["timed"] == "graph"
        assert record["work"]["modelled"]["flops"] == {"fp16.matrix": 1e9}

    def counted(self, pattern, arguments):
        shutil.copy(COUNTED, "own")
        shutil.copy(f"{FAKES}/counted.so", "libdlroof_cuda.so")
        verify(self.gpu(f"--benchmark_filter='{pattern}' --benchmark_out=run.json {arguments}"), [exits(0)])
        return records()

    def test_cupti_counts_one_call(self):
        found = self.counted("BM_CountedOnGpu", "--dlroof_counters=cupti")
        for kernel in range(len(COUNTED_WORK)):
            record = found[f"BM_CountedOnGpu/{kernel}"]
            verify_counted(record, kernel)
            assert record["work"]["measured"]["launches"] == 2
            (note,) = [note for note in record["counting"] if note.get("source") == "cupti" and "provenance" in note]
            assert "2 passes" in note["text"], note

    def test_energy_and_explanation_of_a_call(self):
        record = self.counted("BM_CountedOnGpu/3/", "--dlroof_energy --dlroof_explain --dlroof_counters=cupti")["BM_CountedOnGpu/3"]
        verify_counted(record, 3)
        energy = record["energy"]
        assert energy["from"] == "nvml" and energy["joules"] / energy["seconds"] == pytest.approx(50, rel=0.2), energy
        verify(run("dlroof explain run.json"), [exits(0), prints("BM_CountedOnGpu/3")])

    def test_without_manual_time_it_is_refused(self):
        verify(self.gpu("--benchmark_filter=BM_GpuOfHost"), [exits(1), prints("UseManualTime")])


def test_without_a_gpu_its_benchmark_is_unsupported():
    ran = own("--benchmark_filter=BM_Gpu/ --benchmark_out=run.json --dlroof_device=cpu")
    verify(ran, [exits(0)])
    assert records()["BM_Gpu"]["status"] == "unsupported"


def test_a_main_function_and_reporter_of_its_own():
    ran = run(f"{MAIN} --benchmark_repetitions=2 --dlroof_machine=none --dlroof_html=page.html --benchmark_out=run.json --mine", timeout=120)
    verify(ran, [exits(0), prints("^mine: BM_Add/real_time"), prints("^my argument: --mine$"), prints("^BM_Add ")])
    assert "BM_Add" in Path("page.html").read_text()
    assert records()["BM_Add"]["work"]["modelled"]["flops"] == {"fp32.vector": 4096}


def test_dlroof_run_supervises_them():
    ran = run(f"dlroof run --bench {OWN} --seed 1 -- --benchmark_filter=BM_Product {QUICK}", timeout=300)
    verify(ran, [exits(0)])
    assert len(records()) == 4


def test_results_are_readable_for_google_benchmarks_own_tools():
    measured("BM_Add/")
    entries = json.loads(Path("run.json").read_text())["benchmarks"]
    assert {"name", "real_time", "cpu_time", "time_unit", "iterations"} <= set(entries[0])
    verify(own("--benchmark_list_tests"), [exits(0), prints("^BM_Add/65536/real_time$")])
