"""Other files of oneDNN: which are used, which are refused, and two of them measured interleaved."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, QUICK, bad_input, exits, holds, one_sentence, plain, program, run, says, verify

BENCH = program("DLROOF_BENCH")
NAME = "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r3s3_p1"

# A library of its own version and threading, for every other function of which the program's own stands in.
SHIM = """
struct Version { int major, minor, patch; const char* hash; unsigned cpu_runtime, gpu_runtime; };
extern "C" const Version* dnnl_version() { static const Version version = {%s, "0123abc", %s, 0}; return &version; }
"""


def compiled(name, source):
    """Compiles a shared library in the current folder."""
    subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", name], input=source, text=True, check=True)


def has_onednn():
    return "dnnl_version" in subprocess.run(["nm", "-D", BENCH], capture_output=True, text=True, check=True).stdout


needs_onednn = pytest.mark.skipif(not has_onednn(), reason="this build has no oneDNN")


def loaded(run_file):
    return run_file["context"]["dlroof"]["loaded"]["onednn"]


def measure(flags, name=NAME):
    Path("names.txt").write_text(name + "\n")
    return run(f"{BENCH} --dlroof_suite=names.txt --dlroof_machine=none {QUICK} --benchmark_out=run.json {flags}")


# The headers of 3.10 and later call some: build with those that ci/requirements.txt has.
@pytest.mark.parametrize("path", [BENCH, DLROOF], ids=os.path.basename)
def test_no_function_is_needed_that_only_some_libraries_have(path):
    symbols = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
    assert not re.findall(r"\bdnnl_\w+_v2\b", symbols)


@needs_onednn
class TestAFileIsRefused:
    @pytest.fixture(scope="class", autouse=True)
    def files(self, own_folder):
        compiled("old.so", SHIM % ("2, 7, 1", "2"))
        compiled("older.so", SHIM % ("3, 1, 0", "2"))
        compiled("other.so", "int other;")
        Path("text.so").write_text(100 * "no library\n")
        os.makedirs("a folder")
        shutil.copy("other.so", "a folder")
        compiled("a folder/new.so", SHIM % ("3, 9, 0", "2"))

    @pytest.mark.parametrize(
        "file, reason",
        [
            ("missing.so", "No such file"),
            ("text.so", "cannot be loaded: .*invalid ELF header"),
            ("other.so", "not a library of oneDNN: it does not define dnnl_version"),
            ("old.so", "oneDNN 2.7.1, expected 3.2 or a newer 3.x"),
            ("older.so", "oneDNN 3.1.0, expected 3.2"),
            ("'a folder/new.so'", "a path with a space or a colon"),
        ],
    )
    @pytest.mark.parametrize("command", [f"{BENCH} --dlroof_onednn=", "dlroof doctor --quick --onednn "])
    def test_in_one_sentence(self, command, file, reason):
        verify(run(command + file), [bad_input, says(reason)])

    def test_by_a_comparison_too(self):
        verify(run("dlroof run --ab-library missing.so old.so"), [bad_input, says("missing.so: no such file")])
        verify(run("dlroof run --ab-library old.so old.so -- --dlroof_machine=none"), [one_sentence, says("oneDNN 2.7.1, expected 3.2")])

    def test_beside_a_comparison_of_builds(self):
        verify(run("dlroof run --ab x y --ab-library old.so old.so"), [bad_input])

    def test_in_the_arguments_of_a_comparison(self):
        verify(run("dlroof run --ab-library old.so old.so -- --dlroof_onednn=x"), [bad_input, says("--ab-library names the libraries")])


@needs_onednn
@pytest.mark.scripts  # a sanitizer has to be the first library
class TestAnotherFileIsUsed:
    @pytest.fixture(scope="class", autouse=True)
    def copy(self, own_folder):
        assert measure("").code == 0
        before = loaded(json.loads(Path("run.json").read_text()))
        shutil.copy(before["file"], "libcopy.so.3")
        return before

    def test_and_the_run_file_names_it(self, copy):
        ran = measure("--dlroof_onednn=libcopy.so.3")
        there = os.path.realpath("libcopy.so.3")
        verify(ran, [exits(0), holds("run.json", lambda run_file: loaded(run_file) == {**copy, "file": there})])
        verify(ran, [holds("run.json", lambda run_file: "--dlroof_onednn=libcopy.so.3" in run_file["context"]["dlroof"]["command"])])

    def test_doctor_says_version_threading_and_file(self, copy):
        verify(
            run("dlroof doctor --quick --onednn libcopy.so.3"),
            [exits(0), plain(f"oneDNN {copy['version']} (commit {copy['commit']}), {copy['threading']}"), plain(os.path.realpath("libcopy.so.3") + ": ")],
        )

    def test_also_the_one_that_the_program_has(self, copy):
        verify(measure(f"--dlroof_onednn={copy['file']}"), [exits(0), holds("run.json", lambda run_file: loaded(run_file) == copy)])


@needs_onednn
@pytest.mark.scripts
class TestALibraryHasItsOwnThreads:
    @pytest.fixture(scope="class", autouse=True)
    def files(self, own_folder):
        compiled("tbb.so", SHIM % ("3, 13, 2", "4"))
        compiled("sequential.so", SHIM % ("3, 13, 2", "1"))

    def test_and_every_cpu_works(self):
        ran = measure("--dlroof_onednn=tbb.so")
        verify(ran, [exits(0), holds("run.json", lambda run_file: run_file["records"][0]["status"] == "ok")])
        verify(ran, [holds("run.json", lambda run_file: loaded(run_file)["threading"] == "TBB")])
        verify(ran, [holds("run.json", lambda run_file: "pinned_cpus" not in run_file["context"]["dlroof"])])

    def test_and_no_other_number_of_threads(self):
        def refused(run_file):
            record = run_file["records"][0]
            return record["status"] == "unsupported" and "number cannot be set to 1" in record["reason"]

        if len(os.sched_getaffinity(0)) == 1:
            pytest.skip("needs two CPUs")
        verify(measure("--dlroof_onednn=tbb.so", NAME + "/threads1"), [holds("run.json", refused)])
        verify(measure("--dlroof_onednn=sequential.so", NAME + "/threads1"), [exits(0), holds("run.json", lambda f: f["records"][0]["status"] == "ok")])

    def test_and_doctor_says_so(self):
        verify(run("dlroof doctor --quick --onednn tbb.so"), [exits(0), plain("oneDNN 3.13.2 (commit 0123abc), TBB"), plain("runs on its own threads")])


class TestTwoFilesAreCompared:
    @pytest.fixture(scope="class", autouse=True)
    def ran(self, own_folder):
        shutil.copy(FAKE_BENCH, "bench")
        for name in ("old", "new"):
            Path(name).write_text("")
        return run("dlroof run --bench ./bench --ab-library old new --seed 1 -- --dlroof_machine=none", FAKE_NAMES="n1 n2")

    def test_with_verdicts(self, ran):
        verify(ran, [exits(0), plain("Fake/cpu/none/fwd/f32/n1")])

    def test_and_the_command_names_both(self):
        verify(None, [holds("new.json", lambda run_file: re.search("--ab-library /.*/old /.*/new", run_file["context"]["dlroof"]["command"]))])
