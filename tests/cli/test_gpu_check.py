"""ci/gpu_check.sh as a packed folder, with a CUDA module that is made up and tests that are stubs."""
import fnmatch
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from checks import DLROOF, ROOT, contains, exits, holds, program, run, says, verify

pytestmark = pytest.mark.scripts
BENCH, FAKES = program("DLROOF_BENCH"), program("DLROOF_FAKE_MODULES")
SCRIPTS = ("gpu_check.sh", "gpu_kernel_time.py", "gpu_models.py", "gpu_pack.sh", "lib.sh")
# The tests of the CUDA module die or hang where the environment asks for it.
STUB = """#!/usr/bin/env bash
case "$1" in
  "--gtest_filter=${STUB_CRASHES:-none}") kill -SEGV $$ ;;
  "--gtest_filter=${STUB_HANGS:-none}") sleep 100 ;;
  "--gtest_filter=${STUB_EMPTY:-none}") echo "[==========] Running 0 tests from 0 test suites." ;;
esac
echo '{"tests": 1}' > "${2#--gtest_output=json:}"
echo '[  PASSED  ] 1 test.'
"""
# Tests that are added together with the functions that they test.
MOST = {"first": 540, "counters": 540, "twenty": 200, "time": 90, "models": 95, "programs": 540, "paper": 540}  # [s] that a group of steps may take

# [s] of the host for an element of a convolution's tensors (made, stored, read back, checked) and for an LSTM's inputs and plain loops:
# 23 s for the 2.3e9 elements of paper, 0.4 s for its 96 LSTMs on a vCPU of an EPYC; half as much again. For each benchmark beside it
# 5 repetitions of a loop of 5 ms, three batches and a graph.
PER_ELEMENT, PER_LSTM, PER_BENCHMARK = 15e-9, 0.01, 0.5


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
    return run("../packed/ci/gpu_check.sh " + arguments, timeout=250, LD_LIBRARY_PATH=os.path.abspath("../driver"), **environment)


def table():
    """Returns (group, step, seconds) of every row of the script's table."""
    return [(group, step, int(seconds)) for group, step, seconds in map(str.split, check_gpu("--list").out.splitlines())]


def ordered(rows):
    """Returns the steps in the order in which they run: the pages last."""
    return [step for step in dict.fromkeys(step for _, step, _ in rows) if step != "pages"] + ["pages"]


def text_of_script():
    return (ROOT / "ci/gpu_check.sh").read_text()


def suite_of(step):
    """Returns the file of the suite that the script writes for a step."""
    path = Path(f"{step}.suite.txt")
    path.write_text(re.search(rf'cat >"\$out/{path}" <<\'EOF\'\n(.*?)^EOF$', text_of_script(), re.M | re.S)[1])
    return path.resolve()


def filter_of(variable):
    """Returns a regular expression of the script."""
    values = dict(re.findall("^readonly (\\w+)=['\"](.*)['\"]$", text_of_script(), re.M))
    return re.sub(r"\$(\w+)", lambda name: values[name[1]], values[variable]) if variable != "one_call" else values[variable]


def listed(suite, *arguments):
    """Returns the names of the GPU's benchmarks of a suite, as Google Benchmark filters them."""
    return run(
        ["../packed/build/dlroof_bench", "--dlroof_device=gpu", f"--dlroof_suite={suite}", "--benchmark_list_tests", *arguments],
        LD_LIBRARY_PATH=os.path.abspath("../driver"),
    ).out.splitlines()


def fake_program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text)
    os.chmod(path, 0o755)


def summary(text):
    return contains("result/summary.txt", text)


def has(path):
    return lambda ran: os.path.getsize(f"result/{path}") or pytest.fail(f"{path} is empty: {ran}")


def run_file(name, condition):
    """Expects `condition` of the records and the counters of a run file."""
    return holds(f"result/{name}.json", lambda file: condition(file["records"], file["context"]["dlroof"]["counters"]["asked"]))


def warm(records):
    return [record["name"] for record in records if not record["name"].endswith("/cold")]


def parametrize(cases):
    return pytest.mark.parametrize("expectation", [pytest.param(cases[name], id=name) for name in cases])


class TestAWorkingGpu:
    @pytest.fixture(scope="class")
    def ran(self, packed):
        use("working")
        return check_gpu("--out result --archive kept/all.tar.gz")

    @parametrize(
        {
            **{
                f"the result has {file}": has(file)
                for file in (
                    "summary.txt doctor.txt environment.txt quick.json ceilings.json counters.json conv2d.json lstm.json more.json "
                    "pages.conv2d.txt pages.lstm.txt pages.conv2d.html pages.lstm.html tests/clock.txt tests/cupti.json "
                    "tests/persist.json persistent.json aa1.json aa2.json aa.txt tests/nodes.json nodes.json "
                    "tests/queued.json queued.json passes.json pages.aa1.txt pages.nodes.html"
                ).split()
            },
            "12 convolutions and 6 LSTMs are counted": run_file(
                "counters", lambda records, _: [sum(r["op"] == op for r in records) for op in ("Conv2D", "LSTM")] == [12, 6]
            ),
            "CUPTI counts them": run_file("counters", lambda _, counters: counters == "cupti:all"),
            "the paper's benchmarks stand on roofs and are not counted": run_file(
                "conv2d", lambda records, counters: counters == "off" and any("classic" in r for r in records)
            ),
            "conv2d.json has 78 convolutions": run_file("conv2d", lambda records, _: [r["op"] for r in records] == ["Conv2D"] * 78),
            "lstm.json has 96 LSTMs": run_file("lstm", lambda records, _: [r["op"] for r in records] == ["LSTM"] * 96),
            "persistent.json alone has persistent LSTMs": lambda ran: [
                run_file("persistent", lambda records, _: len(records) == 3 and all("persist" in r["name"] for r in records))(ran),
                run_file("more", lambda records, _: not any("persist" in r["name"] for r in records))(ran),
            ],
            "more.json has the fastest engines": run_file("more", lambda records, _: any("best" in r["name"] for r in records)),
            "the two equal runs have the same benchmarks": lambda ran: [
                run_file(name, lambda records, counters: counters == "off" and len(records) == 28)(ran) for name in ("aa1", "aa2")
            ],
            "they are compared": contains("result/aa.txt", "^/.*/aa1.json -> /.*/aa2.json: "),
            "the LSTMs of nodes.json are not counted": run_file("nodes", lambda records, counters: counters == "off" and len(records) == 6),
            "every queued benchmark is there warm and cold": run_file(
                "queued",
                lambda records, _: len(records) == 10 and {r["name"] for r in records} == {n for name in warm(records) for n in (name, name + "/cold")},
            ),
            "a convolution of each type, an LSTM and a product are counted": run_file(
                "passes", lambda records, counters: counters == "cupti" and [r["op"] for r in records] == ["Conv2D", "Conv2D", "LSTM", "Matmul"]
            ),
            "the pages count benchmarks": contains("result/pages.txt", "conv2d.json ok: [0-9]{2}"),
            "a GPU without a model has no prediction": contains("result/pages.txt", "no prediction of this GPU"),
            "tools that are not here are named": summary("^sanitizer +not run: there is no compute-sanitizer"),
        }
    )
    def test_result(self, ran, expectation):
        expectation(ran)

    def test_kernel_times_alone_fail_as_no_made_up_kernel_has_a_duration(self, ran):
        assert ran.code == 1 and re.findall("^([a-z0-9_]+) +exit [1-9]", Path("result/summary.txt").read_text(), re.M) == ["kernel_time"]

    def test_each_step_ran_once_in_the_order_of_the_table(self, ran):
        steps = ordered(table())
        assert re.findall("^([a-z0-9_]+) +(?:exit|not run)", Path("result/summary.txt").read_text(), re.M) == steps
        assert steps[-2:] == ["persistent", "pages"] and steps.index("quick") < steps.index("cupti") < steps.index("persist")

    def test_the_archive_has_the_results_without_the_cache(self, ran):
        with tarfile.open("kept/all.tar.gz") as archive:
            names = archive.getnames()
        assert "./tests/cupti.json" in names and not [name for name in names if "cache" in name]

    def test_a_chosen_step_replaces_its_own_files_alone(self, ran):
        before = Path("result/conv2d.json").read_bytes()
        Path("result/clock.old").write_text("of an earlier run")
        verify(check_gpu("--out result --steps clock"), [exits(0), summary("^pages +exit 0"), has("lstm.json")])
        assert Path("result/conv2d.json").read_bytes() == before and not os.path.exists("result/clock.old")


class TestTime:
    """Limits add up, the host's work fits them, and the script keeps to them where every step uses its limit up."""

    def test_each_group_takes_its_time_at_most(self):
        for group, most in MOST.items():
            assert sum(seconds for of, _, seconds in table() if of == group) <= most - (10 if most == 540 else 5)  # for archives

    @pytest.mark.parametrize(
        "step, suite, kept",
        [
            ("conv2d", "paper", "^Conv2D/"),
            ("lstm", "paper", "^LSTM/"),
            ("more", "gpu_more", "^(?!.*persist)"),
            ("persistent", "gpu_more", "persist"),
            ("counters", "paper", "n16c64h112w112k64r3s3_s2|LSTM/.*/t16n16i32h64(/|$)"),
            ("aa", "alexnet,resnet50", "/fwd/f16/"),
            ("nodes", "paper", "LSTM/.*/t16n16i32h64(/|$)"),
            ("queued", "its own", ""),
            ("passes", "its own", ""),
        ],
    )
    def test_the_hosts_work_fits_the_step(self, step, suite, kept):
        use("working")
        types = ["--dlroof_types=f16"] if step == "aa" else []
        names = [name for name in listed(suite_of(step) if suite == "its own" else suite, *types) if re.search(kept, name)]
        runs = 2 if step == "aa" else 1
        cost = runs * sum(PER_BENCHMARK + (PER_ELEMENT * elements(name) if name.startswith("Conv2D") else PER_LSTM) for name in names)
        assert 0 < cost <= 0.8 * dict((name, seconds) for _, name, seconds in table())[step], f"{len(names)} benchmarks"

    def test_steps_keep_to_the_time_of_their_group(self):
        """Of several groups the first one's."""
        seconds = {}
        for group, step, limit in table():
            seconds.setdefault(step, {})[group] = limit
        assert seconds["doctor"]["twenty"] < seconds["doctor"]["first"]
        for chosen, wanted in (("twenty", "twenty"), ("twenty,first", "first"), ("clock", "first")):
            script = text_of_script().split("absolute()")[0]
            functions = script[script.index("readonly table=") :]
            ran = run(["bash", "-c", f'fail() {{ exit 9; }}; {functions}\nselect_steps {chosen}; echo "${{limits[doctor]}} $limit"; echo $steps'])
            limits, steps = ran.out.splitlines()
            assert limits.split()[0] == str(seconds["doctor"][wanted]) and steps.split()[0] == "doctor"
            assert steps.split() == [step for step in ordered(table()) if step in steps.split()]
            assert int(limits.split()[1]) == sum(next(s[g] for g in (wanted, *s) if g in s) for step, s in seconds.items() if step in steps.split())

    @pytest.mark.parametrize("code", [137, 139], ids=["cut", "crashed"])
    @pytest.mark.parametrize("group", MOST)
    def test_steps_that_use_their_limits_up_end_in_time_and_all_get_theirs(self, group, code, tmp_path):
        """The clock is a file, on which `timeout` moves the hand by all that a step may take. A crash is looked into."""
        clock = tmp_path / "clock"
        clock.write_text("0")
        fake_program(f"{tmp_path}/bin/date", f'#!/bin/sh\nif [ "$1" = +%s ]; then cat {clock}; else exec /bin/date "$@"; fi\n')
        fake_program(f"{tmp_path}/bin/timeout", f"#!/bin/sh\necho $(($(cat {clock}) + $4 + $5)) > {clock}\nexit {code}\n")
        for tool in ("cuda-gdb", "ncu", "compute-sanitizer", "nvidia-smi", "python3"):
            fake_program(f"{tmp_path}/bin/{tool}", "#!/bin/sh\n")
        use("working")
        ran = check_gpu(f"--out {tmp_path}/out --steps {group}", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
        wanted = [(step, seconds) for of, step, seconds in table() if of == group]
        summary = Path(f"{tmp_path}/out/summary.txt").read_text()
        assert ran.code == 1 and int(clock.read_text()) <= MOST[group], ran
        assert [(step, int(seconds)) for step, seconds in re.findall(rf"^(\w+) +exit {code} +(\d+) s", summary, re.M)] == wanted


class TestFilters:
    """A filter that selects nothing makes a step that does nothing."""

    @pytest.mark.parametrize("variable, count", [("one_call", 1), ("small_calls", 18), ("small_lstms", 6)])
    def test_benchmarks(self, variable, count):
        use("working")
        assert len(listed("paper", f"--benchmark_filter={filter_of(variable)}")) == count

    def test_tests(self):
        """Each pattern of each step names a test of the sources, or one that another step leaves out."""
        sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp"))
        tests = [".".join(name) for name in re.findall(r"^TEST(?:_F)?\((\w+),\s*(\w+)\)", sources, re.M)]
        patterns = {
            pattern
            for line in re.findall(r"(?:run_tests(?:_then)? \w+|gtest_filter=)\s*'?([\w*:-]*OnGpu[\w*:-]*)'", text_of_script())
            for pattern in re.split("[:-]", line)
        }
        assert len(patterns) > 12
        unmatched = {pattern for pattern in patterns if not any(fnmatch.fnmatchcase(test, pattern) for test in tests)}
        assert not unmatched

    def test_a_step_without_a_test_is_a_failure(self):
        use("working")
        verify(
            check_gpu("--out empty --steps clock", STUB_EMPTY="CudaClock*OnGpu*"),
            [exits(1), contains("empty/summary.txt", "^clock +exit 0 .*no test has its name")],
        )


def elements(name):
    """Returns the elements of a convolution's three tensors."""
    n, c, h, w, k, r, s, stride = (int(number or 1) for number in re.search(r"/n(\d+)c(\d+)h(\d+)w(\d+)k(\d+)r(\d+)s(\d+)(?:_s(\d+))?", name).groups())
    return n * c * h * w + k * c * r * s + n * k * h * w // stride**2


class TestTestsThatCrash:
    @pytest.fixture(scope="class")
    def ran(self, packed):
        use("working")
        fake_program(
            "tools/cuda-gdb",
            """#!/bin/sh
while [ "$1" != --args ]; do shift; done
echo "backtrace of $*"
echo cudnnBackendExecute > "$CUDNN_LOGDEST_DBG"
""",
        )
        return check_gpu("--out result --steps counters", STUB_CRASHES="CuptiOnGpu*", PATH=f"{os.path.abspath('tools')}:{os.environ['PATH']}")

    @parametrize(
        {
            "make the exit code 1": exits(1),
            "are in the summary": summary("^cupti +exit 139"),
            "leave a backtrace": contains("result/cupti.backtrace.txt", "^backtrace of .*dlroof_cuda_tests"),
            "leave cuDNN's last words": contains("result/cupti.cudnn.txt", "cudnnBackendExecute"),
            "do not stop other tests": has("tests/others.json"),
            "do not stop the runs": has("counters.json"),
        }
    )
    def test_result(self, ran, expectation):
        expectation(ran)


class TestADoctorThatCrashes:
    @pytest.fixture(scope="class")
    def ran(self, packed):
        use("crashes")
        shutil.rmtree("result", ignore_errors=True)
        return check_gpu("--out result --steps counters,quick,more")

    @parametrize(
        {
            "makes the exit code 1": exits(1),
            "is in the summary": summary("^doctor +exit 134"),
            "keeps the lines before the crash": contains("result/doctor.txt", "^gpu0"),
            "does not stop the run without counters": run_file(
                "more", lambda records, counters: counters == "off" and any(r["status"] == "ok" for r in records)
            ),
            "does not stop CUPTI from being tried": summary("^counters +exit 134"),
        }
    )
    def test_result(self, ran, expectation):
        expectation(ran)


def test_after_a_kill_the_last_finished_step_is_in_the_archive_whole(packed):
    """12 kills that no trap sees, within every other step from the first to the last."""
    use("working")
    shutil.copytree("../packed", "../quick", symlinks=True)
    for name in ("dlroof", "dlroof_bench"):
        fake_program(
            f"../quick/build/{name}",
            """#!/bin/bash
echo "gpu0 of the fake"
while [ $# -gt 0 ]; do
  case $1 in -o) echo '{}' > "$2" ;; --benchmark_out=*) echo '{}' > "${1#*=}" ;; esac
  shift
done
seq 20000
echo "the end"
""",
        )

    def start(archive):
        return subprocess.Popen(
            ["../quick/ci/gpu_check.sh", "--out", f"killed/{archive}", "--archive", f"killed/{archive}.tgz"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, "LD_LIBRARY_PATH": os.path.abspath("../driver")},
        )

    source = random.Random(1)
    for moment in range(12):
        script = start(moment)
        lines = list(itertools.islice(iter(script.stdout.readline, ""), 2 * moment))
        time.sleep(source.uniform(0, 0.1))
        os.killpg(script.pid, signal.SIGKILL)
        out = "".join(lines) + script.communicate()[0]
        finished = re.findall(r"^(\w+) +exit 0 +\d+ s +(\S+)$", out, re.M)
        assert len(finished) >= moment, out  # some steps say instead that their tool is not here
        if not finished:
            continue
        with tarfile.open(f"killed/{moment}.tgz") as archive:
            members = {member.name: archive.extractfile(member).read().decode() for member in archive if member.isfile()}
        step, log = finished[-1]
        assert members[f"./{step}.step"] in members["./summary.txt"]
        assert re.search("the end|PASSED|driver", members[f"./{log}"]), members[f"./{log}"][-200:]


def test_no_gpu_exits_3_with_its_reason():
    use("no_device")
    verify(check_gpu(), [exits(3), says("no GPU can be used: the fake driver sees no GPU")])


def test_a_script_that_is_ended_early_exits_1_and_leaves_its_archive():
    use("working")
    shutil.rmtree("result/tests", ignore_errors=True)
    with open("log", "w") as log:
        script = subprocess.Popen(
            ["../packed/ci/gpu_check.sh", "--out", "result", "--archive", "cut.tgz", "--steps", "clock"],
            stdout=log,
            stderr=log,
            env={**os.environ, "LD_LIBRARY_PATH": os.path.abspath("../driver"), "STUB_HANGS": "CudaClock*OnGpu*"},
        )
    for _ in range(1200):
        if os.path.exists("result/tests/clock.txt"):
            break
        time.sleep(0.1)
    script.send_signal(signal.SIGTERM)
    assert script.wait(timeout=60) == 1, Path("log").read_text()
    with tarfile.open("cut.tgz") as archive:
        assert any("doctor.txt" in name for name in archive.getnames())


def test_an_unknown_argument_is_refused():
    verify(check_gpu("--what"), [exits(1)])
    verify(check_gpu("--steps clock,cloak"), [exits(1), says("no step or group 'cloak'")])


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

    def test_the_hook_of_torch_is_found_beside_the_packed_program(self):
        verify(run("bin/dlroof profile --torch -- true", DLROOF_DATA=""), [says("torch_hook/sitecustomize.py is not installed")])
        verify(self.pack(f"carry_data {Path(DLROOF).parent} bin"), [exits(0)])
        assert "is not installed" not in run("bin/dlroof profile --torch -- true", DLROOF_DATA="").err
