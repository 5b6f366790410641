"""The programs with a CUDA module that is made up, and with modules that are broken."""
import functools
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from checks import DLROOF, by_name, contains, exits, finish, holds, never_prints, prints, program, run, says, start, verify

pytestmark = pytest.mark.serial
BENCH, FAKES = program("DLROOF_BENCH"), program("DLROOF_FAKE_MODULES")
# A busy machine disturbs repetitions. Three clean ones make a time.
QUICK = "--benchmark_repetitions=20 --benchmark_min_time=0.0001 --benchmark_out=run.json"
LOCKED = {"source": "cupti", "text": "the fake driver keeps its counters to root"}


@pytest.fixture(scope="module", autouse=True)
def copies(folder):
    """Copies the programs: a module is looked for beside them. Writes a suite."""
    for new in ("bin", "driver"):
        os.mkdir(new)
    shutil.copy(BENCH, "bin/dlroof_bench")
    shutil.copy(DLROOF, "bin/dlroof")
    shutil.copy(f"{FAKES}/libcuda_fake.so", "driver/libcuda.so.1")
    Path("suite.txt").write_text("".join(f"Conv2D/gpu/cudnn/fwd/f32/n{n}c16h16w16k8r3s3_p1{cold}\n" for n, cold in ((1, ""), (2, ""), (3, ""), (4, "/cold"))))


def use(module):
    """Puts a fake module beside the programs; None: none is there."""
    Path("bin/libdlroof_cuda.so").unlink(missing_ok=True)
    if module:
        shutil.copy(f"{FAKES}/{module}.so", "bin/libdlroof_cuda.so")


def gpu(command, driver=True, cache="cache", **variables):
    library_path = os.environ.get("LD_LIBRARY_PATH", "")
    if driver:
        library_path = ":".join(filter(None, [os.path.abspath("driver"), library_path]))
    return run("bin/" + command, timeout=120, LD_LIBRARY_PATH=library_path, XDG_CACHE_HOME=os.path.abspath(cache), **variables)


SUITE = "dlroof_bench --dlroof_device=gpu --dlroof_suite=suite.txt "


def record(name, condition):
    return holds("run.json", lambda run_file: condition(by_name(run_file)[name if name == "cold" else name + "c16h16w16k8r3s3_p1"]))


def parametrize(**cases):
    return pytest.mark.parametrize("expectation", [pytest.param(expectation, id=name.replace("_", " ")) for name, expectation in cases.items()])


@pytest.mark.parametrize("name", [BENCH, DLROOF], ids=os.path.basename)
def test_links_no_cuda_library(name):
    verify(run(["readelf", "-d", name]), [exits(0), prints("NEEDED"), never_prints("NEEDED.*lib(cu|nv)")])


class TestASuiteOnTheGpu:
    @pytest.fixture(scope="class")
    def ran(self, copies):
        use("working")
        return gpu(SUITE + "--benchmark_filter=f32/n[1234]c " + QUICK)

    @parametrize(
        a_broken_benchmark_makes_the_exit_code_1=exits(1),
        the_ceilings_of_the_GPU_are_measured=says("Measuring the ceilings of Fake GPU"),
        the_ceilings_of_the_CPU_are_not=holds("run.json", lambda r: [m["device"] for m in r["machines"]] == ["gpu"]),
        the_time_is_that_in_a_graph=record(
            "n1", lambda r: abs(r["seconds"]["median"] - 8e-6) < 1e-12 and (r["timed"], r["gpu"]["graph_calls"]) == ("graph", 46)
        ),
        a_queued_call_is_beside_it=record("n1", lambda r: abs(r["gpu"]["queued_seconds"] - 11e-6) < 1e-12),
        the_time_with_the_launch_is_beside_it=record("n1", lambda r: abs(r["gpu"]["call_seconds"] - 12e-6) < 1e-12),
        the_kernels_are_those_of_its_graph=record("n1", lambda r: [k["name"] for k in r["kernels"]] == ["fake_kernel"]),
        clock_power_and_throttle_reasons_are_recorded=record(
            "n1", lambda r: (r["gpu"]["clock_hz"], r["gpu"]["power_watts"], r["gpu"]["throttle"]) == (1.7e9, 500, ["sw_power_cap"])
        ),
        the_record_stands_on_the_roofs_of_the_GPU=record("n1", lambda r: abs(r["classic"][0]["fraction"] - 1 / 8) < 1e-9 and r["threads"] == 1),
        a_refused_problem_is_unsupported=record("n2", lambda r: (r["status"], r["reason"]) == ("unsupported", "the fake library has no n2")),
        a_broken_problem_has_failed=record("n3", lambda r: r["status"] == "failed" and "broke at n3" in r["reason"]),
        cold_calls_use_copies_in_a_graph=record(
            "cold", lambda r: (r["cache"], r["timed"], r["gpu"]["graph_calls"]) == ("cold", "graph", 48) and abs(r["seconds"]["median"] - 8e-6) < 1e-12
        ),
        the_library_is_named=holds("run.json", lambda r: r["context"]["dlroof"]["libraries"]["cudnn"] == "cuDNN of the fake"),
        the_record_has_the_reason_of_unread_counters=record("n1", lambda r: LOCKED in r["counting"]),
        a_broken_counter_costs_nothing_else=record(
            "n1",
            lambda r: ({"source": "breaking", "text": "failed: the fake counter broke"} in r["counting"] and r["status"] == "ok" and "modelled" in r["work"]),
        ),
    )
    def test_run_file(self, ran, expectation):
        expectation(ran)

    def test_report_reads_the_run_file(self, ran):
        verify(gpu("dlroof report run.json --show table"), [exits(0)])

    def test_ceilings_are_kept(self, ran):
        assert "Measuring" not in gpu(SUITE + "--benchmark_filter=f32/n[1234]c " + QUICK).err


def test_cupti_by_name_gives_its_reason_once_and_no_other_source_is_asked(copies):
    use("working")
    ran = gpu(SUITE + "--benchmark_filter=f32/n1c --dlroof_counters=cupti " + QUICK)
    verify(
        ran,
        [record("n1", lambda r: r["status"] == "ok" and LOCKED in r["counting"] and all(note.get("source") in ("cupti", "graph") for note in r["counting"]))],
    )
    assert "--dlroof_counters" not in ran.err


def test_cupti_without_a_gpu_is_a_sentence(copies):
    use("working")
    verify(
        gpu("dlroof_bench --dlroof_device=cpu --dlroof_counters=cupti --benchmark_filter=cpu/reference/fwd_inference/f64/t16n16i32h16 " + QUICK),
        [says("--dlroof_counters=cupti: it needs a GPU, and this run has none")],
    )


def test_prepared_calls_are_freed_before_their_libraries(copies):
    use("late")
    verify(gpu(SUITE + "--benchmark_filter=f32/n1c " + QUICK), [exits(0)])


@functools.cache
def working(command):
    use("working")
    return gpu(command)


RESNET = "dlroof_bench --dlroof_device=gpu --dlroof_suite=resnet50 --benchmark_list_tests"


@pytest.mark.parametrize(
    "command, expectation",
    [
        pytest.param(command, expectation, id=name)
        for name, command, expectation in (
            (
                "the default set has benchmarks of the GPU",
                "dlroof_bench --benchmark_list_tests",
                prints("^Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p0:1x0:1"),
            ),
            ("the default set has benchmarks of the CPU", "dlroof_bench --benchmark_list_tests", prints("^Conv2D/cpu/onednn/")),
            ("--dlroof_device=cpu has none of the GPU", "dlroof_bench --dlroof_device=cpu --benchmark_list_tests", never_prints("/gpu/")),
            ("a suite of the CPU runs on the GPU", RESNET, prints("^Conv2D/gpu/cudnn/fwd/f32/n16c3h224w224k64r7s7_s2p3")),
            (
                "the paper's suite has its own types there",
                RESNET.replace("resnet50", "paper"),
                prints("^Conv2D/gpu/cudnn/fwd/f32/n16c64h112w112k128r3s3_s2p0:1x0:1/nchw"),
            ),
            ("the paper's suite has not the CPU's types there", RESNET.replace("resnet50", "paper"), never_prints("/cpu/|int8")),
            ("--dlroof_device=gpu has none of the CPU", RESNET, never_prints("/cpu/")),
            ("a missing GPU is bad input", "dlroof_bench --dlroof_device=gpu7", exits(2)),
            ("a missing GPU lists the present ones", "dlroof_bench --dlroof_device=gpu7", says(r"this machine has gpu0 \(Fake GPU\)")),
            ("an unknown device is bad input", "dlroof_bench --dlroof_device=tpu", exits(2)),
            ("machine shows the ceilings of the GPU", "dlroof machine --device=gpu -o gpu.json", prints("Fake GPU")),
            ("machine writes them", "dlroof machine --device=gpu -o gpu.json", contains("gpu.json", '"device": "gpu"')),
            ("the doctor finds the GPU", "dlroof doctor --quick", prints("^gpu0 +Fake GPU")),
            (
                "the doctor has the reason of unread counters",
                "dlroof doctor --quick",
                prints("^counters +--dlroof_counters=cupti .gpu, measured.: the fake driver keeps"),
            ),
            ("the doctor finds the library", "dlroof doctor --quick", prints("^cudnn +cuDNN of the fake")),
        )
    ],
)
def test_with_a_working_module(command, expectation):
    expectation(working(command))


class TestCpuAndGpuInOneRun:
    @pytest.fixture(scope="class")
    def ran(self, copies):
        use("working")
        roofs = {"name": "roofs", "device": "cpu", "threads": len(os.sched_getaffinity(0)), "flops": {"fp64.vector": 1e11}, "bytes": {"dram": 1e10}}
        Path("cpu.json").write_text(json.dumps(roofs))
        gpu("dlroof machine --device=gpu -o gpu.json")
        return gpu(
            "dlroof_bench --dlroof_machine=cpu.json --dlroof_machine=gpu.json --dlroof_suite=suite.txt,reference "
            "'--benchmark_filter=f32/n1c|^LSTM/cpu/reference/fwd_inf' --dlroof_live_check=false " + QUICK
        )

    @parametrize(
        it_exits_0=exits(0),
        both_machines_are_in_the_file=holds("run.json", lambda r: sorted(m["device"] for m in r["machines"]) == ["cpu", "gpu"]),
        a_record_of_the_GPU_stands_on_its_roofs=record("n1", lambda r: r["classic"] and all(abs(p["roof"] - 1e12) < 1 for p in r["classic"])),
    )
    def test_run_file(self, ran, expectation):
        expectation(ran)

    def test_ceilings_of_a_gpu_that_is_gone_are_refused(self, ran):
        use(None)
        verify(gpu("dlroof_bench --dlroof_machine=gpu.json"), [exits(2)])


@pytest.mark.parametrize(
    "module, reason",
    [
        (None, "this build has no CUDA module"),
        ("no_device", "the fake driver sees no GPU"),
        ("other_abi", "come from different builds"),
        ("throws", "the fake fell over"),
        ("unresolved", "dlroof_function_of_no_library"),
    ],
)
class TestAModuleThatCannotBeUsed:
    @staticmethod
    @functools.cache
    def benchmarks(module):
        use(module)
        return gpu(
            "dlroof_bench --dlroof_device=gpu --dlroof_suite=suite.txt "
            f"--benchmark_filter=f32/n[1234]c16h16w16k8r3s3_p1 {QUICK.replace('run.json', f'{module}.json')}"
        )

    def test_costs_no_failure(self, module, reason):
        verify(self.benchmarks(module), [exits(0)])

    def test_is_a_sentence_with_its_reason(self, module, reason):
        verify(self.benchmarks(module), [says("^No GPU can be used: .*" + reason)])

    def test_is_the_reason_of_every_record(self, module, reason):
        verify(
            self.benchmarks(module),
            [
                holds(
                    f"{module}.json",
                    lambda r: len(r["records"]) == 4 and all(one["status"] == "unsupported" and reason in one["reason"] for one in r["records"]),
                )
            ],
        )

    def test_is_explained_by_the_doctor(self, module, reason):
        use(module)
        verify(gpu("dlroof doctor --quick"), [prints("^gpu .*" + reason)])

    def test_has_no_ceilings(self, module, reason):
        use(module)
        verify(gpu("dlroof machine --device=gpu"), [exits(2)])


@pytest.mark.skipif("libcuda.so.1" in run("/sbin/ldconfig -p").out, reason="this machine has a driver")
@pytest.mark.parametrize("command", ["dlroof_bench --dlroof_device=gpu --benchmark_filter=/n1c1h1 --dlroof_suite=suite.txt", "dlroof doctor --quick"])
def test_a_missing_driver_is_named(command):
    use("working")
    ran = gpu(command, driver=False)
    assert "there is no NVIDIA driver" in ran.out + ran.err, ran


CONVOLUTION = "Conv2D/gpu/cudnn/fwd/f32/n1c8h8w8k8r3s3_p0:1x0:1"


class TestEngines:
    """A library of which one engine is faster than the heuristic's, and one is wrong."""

    @pytest.fixture(scope="class", autouse=True)
    def library(self, copies):
        use("engines")
        Path("unequal.txt").write_text(CONVOLUTION + "\n")
        Path("weights.txt").write_text(CONVOLUTION.replace("fwd", "bwd_weights") + "\n")

    def test_a_flag_takes_the_best_algorithm_of_all_benchmarks(self):
        ran = gpu("dlroof_bench --dlroof_device=gpu --dlroof_suite=unequal.txt --dlroof_algorithm=best " + QUICK)
        verify(
            ran,
            [
                exits(0),
                prints(r"the heuristic of cudnn loses 1\.10x on one of 1 \(.*/best\), 1\.10x in the median"),
                holds("run.json", lambda r: r["records"][0]["name"] == CONVOLUTION + "/best"),
            ],
        )
        verify(gpu("dlroof report run.json"), [exits(0), prints(r"loses 1\.10x on one of 1")])

    def test_a_wrong_engine_is_named_and_the_next_one_is_timed(self):
        ran = gpu("dlroof_bench --dlroof_device=gpu --dlroof_suite=weights.txt " + QUICK)

        def next_was_timed(run_file):
            record = run_file["records"][0]
            wrong = record["wrong_engines"][0]
            return (record["status"], record["algorithm"], wrong["algorithm"]) == ("ok", "engine 1", "engine 20") and "6.78e+03" in wrong["reason"]

        verify(ran, [exits(0), holds("run.json", next_was_timed)])

    def test_tune_decides_in_three_processes_in_which_the_choices_alternate(self):
        lstm = "LSTM/gpu/cudnn/fwd_inference/f16/t16n16i32h64"
        Path("two.txt").write_text(f"{CONVOLUTION.replace('n1', 'n8')}\n{CONVOLUTION}\n{lstm}\n")
        ran = gpu("dlroof tune --suite=two.txt --device=gpu -o gpu_tune.json", DLROOF_FAKE_GRAPHS=os.path.abspath("graphs.txt"))
        # Three processes, 8 + 8 + 4 settings, and two of each benchmark twice: 3 * 1.9 s + 32 * 0.34 s.
        verify(ran, [exits(0), says("on the GPU take about 1[67] s$"), says(r"^\[1/3\] .*/n8.* and 2 more")])
        tunings = {one["subject"]: one for one in json.loads(Path("gpu_tune.json").read_text())["tunings"]}
        assert {name: one["best"]["algorithm"] for name, one in tunings.items()} == {**dict.fromkeys(list(tunings)[:2], "best"), lstm: "persist-small-h"}
        assert abs(tunings[CONVOLUTION]["total"]["ratio"] - 17.2 / 19) < 0.001 and abs(tunings[lstm]["total"]["ratio"] - 26.4 / 103.5) < 0.001
        processes = [part.split() for part in Path("graphs.txt").read_text().split("process")[1:]]
        assert [len(set(names)) for names in processes] == [20, 6, 6]
        for names in processes:  # consecutive repetitions would change as often as there are settings
            assert sum(a != b for a, b in zip(names, names[1:])) > 2 * len(set(names)), names

    def test_a_stop_keeps_what_was_decided(self):
        names = [CONVOLUTION.replace("n1", f"n{n}") for n in range(9, 0, -1)]  # 8 settings each: 64 are a group
        Path("nine.txt").write_text("\n".join(names) + "\n")
        command = "dlroof tune --suite=nine.txt --device=gpu -o nine.json"
        process = start("bin/" + command, LD_LIBRARY_PATH=os.path.abspath("driver"), XDG_CACHE_HOME=os.path.abspath("cache"))
        while not process.stderr.readline().startswith("[9/9]"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 130
        stopped = json.loads(Path("nine.json.part").read_text())["tunings"]
        assert [one["subject"] for one in stopped[:8]] == names[:8] and {one["state"] for one in stopped[:8]} == {"confirmed"}
        verify(gpu(command + " --resume"), [exits(0)])
        finished = json.loads(Path("nine.json").read_text())["tunings"]
        assert finished[:8] == stopped[:8] and finished[8]["state"] == "confirmed"
        verify(gpu(f"dlroof tune {CONVOLUTION} --device=gpu"), [exits(2), says("expected --suite; a NAME has its device in it")])
