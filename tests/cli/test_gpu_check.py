"""ci/gpu_check.sh as a packed folder, with a CUDA module that is made up and tests that are stubs."""
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from checks import DLROOF, ROOT, contains, exits, holds, program, run, says, verify

pytestmark = pytest.mark.serial
BENCH, FAKES = program("DLROOF_BENCH"), program("DLROOF_FAKE_MODULES")
SCRIPTS = ("gpu_check.sh", "gpu_pack.sh", "lib.sh")
# The tests of the CUDA module die or hang where the environment asks for it.
STUB = """#!/usr/bin/env bash
case "$1" in
  "--gtest_filter=${STUB_CRASHES:-none}") kill -SEGV $$ ;;
  "--gtest_filter=${STUB_HANGS:-none}") sleep 100 ;;
esac
echo '{"tests": 1}' > "${2#--gtest_output=json:}"
echo '[  PASSED  ] 1 test.'
"""
STEPS = ("clock module cudnn cupti_cost cupti cupti_times cupti_rows counters kernels others ceilings more conv2d lstm "
         "persist")


@pytest.fixture(scope="module", autouse=True)
def packed(folder):
    """Makes the packed folder, a driver, and the folder from which the script is called."""
    for new in ("packed/ci", "packed/build", "driver", "elsewhere"):
        os.makedirs(new)
    for script in SCRIPTS:
        shutil.copy(ROOT / "ci" / script, "packed/ci")
    shutil.copy(BENCH, "packed/build/dlroof_bench")
    shutil.copy(DLROOF, "packed/build/dlroof")
    shutil.copy(f"{FAKES}/libcuda_fake.so", "driver/libcuda.so.1")
    Path("packed/build/dlroof_cuda_tests").write_text(STUB)
    os.chmod("packed/build/dlroof_cuda_tests", 0o755)
    os.chdir("elsewhere")


def use(module):
    Path("../packed/build/libdlroof_cuda.so").unlink(missing_ok=True)
    shutil.copy(f"{FAKES}/{module}.so", "../packed/build/libdlroof_cuda.so")


def check_gpu(arguments="--out result", **environment):
    return run("../packed/ci/gpu_check.sh " + arguments, timeout=250, LD_LIBRARY_PATH=os.path.abspath("../driver"),
               **environment)


def summary(text):
    return contains("result/summary.txt", text)


def has(path):
    return lambda ran: os.path.getsize(f"result/{path}") or pytest.fail(f"{path} is empty: {ran}")


def run_file(name, condition):
    """Expects `condition` of the records and the counters of a run file."""
    return holds(f"result/{name}.json",
                 lambda file: condition(file["records"], file["context"]["dlroof"]["counters"]["asked"]))


def parametrize(cases):
    return pytest.mark.parametrize("expectation", [pytest.param(cases[name], id=name) for name in cases])


class TestAWorkingGpu:
    @pytest.fixture(scope="class")
    def ran(self, packed):
        use("working")
        return check_gpu("--out result --archive kept/all.tar.gz")

    @parametrize({
        "the script exits 0": exits(0),
        **{f"the result has {file}": has(file) for file in (
            "summary.txt doctor.txt environment.txt machine.json counters.json conv2d.json lstm.json more.json "
            "report_conv2d.txt report_lstm.txt conv2d.html lstm.html tests/clock.txt tests/cupti.json "
            "tests/persist.json").split()},
        "12 convolutions and 6 LSTMs are counted": run_file("counters", lambda records, _: [
            sum(r["op"] == op for r in records) for op in ("Conv2D", "LSTM")] == [12, 6]),
        "CUPTI counts them": run_file("counters", lambda _, counters: counters == "cupti"),
        "the paper's benchmarks stand on roofs": run_file(
            "conv2d", lambda records, counters: counters == "auto" and any("classic" in r for r in records)),
        "conv2d.json has 78 convolutions": run_file(
            "conv2d", lambda records, _: [r["op"] for r in records] == ["Conv2D"] * 78),
        "lstm.json has 96 LSTMs": run_file("lstm", lambda records, _: [r["op"] for r in records] == ["LSTM"] * 96),
        "more.json has persistent LSTMs": run_file(
            "more", lambda records, _: any("persist-dynamic" in r["name"] for r in records)),
        "more.json has the fastest engines": run_file(
            "more", lambda records, _: any("best" in r["name"] for r in records)),
        "the summary counts benchmarks": summary("conv2d.json ok: [0-9]{2}"),
    })
    def test_result(self, ran, expectation):
        expectation(ran)

    def test_steps_without_a_substitute_come_first(self, ran):
        text = Path("result/summary.txt").read_text()
        assert " ".join(re.findall("^([a-z0-9_-]+) +exit", text, re.M)) == STEPS

    def test_the_archive_has_the_results_without_the_cache(self, ran):
        with tarfile.open("kept/all.tar.gz") as archive:
            names = archive.getnames()
        assert "./tests/cupti.json" in names and not [name for name in names if "cache" in name]


class TestTestsThatCrash:
    @pytest.fixture(scope="class")
    def ran(self, packed):
        use("working")
        return check_gpu(STUB_CRASHES="CuptiOnGpu*")

    @parametrize({"make the exit code 1": exits(1), "are in the summary": summary("^cupti +exit 139"),
                  "do not stop other tests": has("tests/kernels.json"), "do not stop the runs": has("conv2d.json")})
    def test_result(self, ran, expectation):
        expectation(ran)


class TestADoctorThatCrashes:
    @pytest.fixture(scope="class")
    def ran(self, packed):
        use("crashes")
        shutil.rmtree("result/cache", ignore_errors=True)
        return check_gpu()

    @parametrize({
        "makes the exit code 1": exits(1),
        "is in the summary": summary("^doctor +exit 134: .*without counters"),
        "keeps the lines before the crash": contains("result/doctor.txt", "^gpu0"),
        "does not stop the run without counters": run_file(
            "conv2d", lambda records, counters: counters == "off" and any(r["status"] == "ok" for r in records)),
        "does not stop a second try of the ceilings": summary("^ceilings-q +exit 1"),
        "does not stop a last try of CUPTI": summary("^counters +exit 134"),
    })
    def test_result(self, ran, expectation):
        expectation(ran)


def test_no_gpu_exits_3_with_its_reason():
    use("no_device")
    verify(check_gpu(), [exits(3), says("no GPU can be used: the fake driver sees no GPU")])


def test_a_script_that_is_ended_early_exits_1_and_leaves_its_archive():
    use("working")
    shutil.rmtree("result/tests", ignore_errors=True)
    with open("log", "w") as log:
        script = subprocess.Popen(
            ["../packed/ci/gpu_check.sh", "--out", "result", "--archive", "cut.tgz"], stdout=log, stderr=log,
            env={**os.environ, "LD_LIBRARY_PATH": os.path.abspath("../driver"), "STUB_HANGS": "CudaClock*OnGpu*"})
    for _ in range(300):
        if os.path.exists("result/tests/clock.txt"):
            break
        time.sleep(0.1)
    script.send_signal(signal.SIGTERM)
    assert script.wait(timeout=60) == 1, Path("log").read_text()
    with tarfile.open("cut.tgz") as archive:
        assert any("doctor.txt" in name for name in archive.getnames())


def test_an_unknown_argument_is_refused():
    verify(check_gpu("--what"), [exits(1)])


class TestPackedLibraries:
    @staticmethod
    def pack(command):
        """Runs a function of gpu_pack.sh."""
        return run(["bash", "-c", f'fail() {{ echo "$*" >&2; exit 1; }}; . {ROOT}/ci/gpu_pack.sh; {command}'])

    @pytest.fixture(scope="class", autouse=True)
    def folder_of_a_program(self, packed):
        os.mkdir("bin")
        shutil.copy(DLROOF, "bin/dlroof")

    def test_that_are_missing_are_named(self):
        verify(self.pack("check_carried bin"), [exits(1), says("not packed: .*libsqlite3")])

    def test_that_are_packed_are_found_and_the_systems_stay(self):
        verify(self.pack("carry_libraries bin && check_carried bin"), [exits(0)])
        assert not os.path.exists("bin/libc.so.6") and not os.path.exists("bin/libstdc++.so.6")
