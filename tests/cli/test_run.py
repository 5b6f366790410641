"""dlroof run: processes that crash and hang, kill -9, --resume, two interleaved builds."""
import fcntl
import filecmp
import json
import os
import random
import shutil
import time
from pathlib import Path

import pytest
from checks import FAKE_BENCH, bad_input, by_name, checks, exits, finish, holds, plain, prints, run, says, start, verify

# A named machine file keeps the program from looking for ceilings. The fake does not read it.
MACHINE = " -- --dlroof_machine=none"
ONE = "dlroof run --bench ./bench --seed 1 "
TWO = "dlroof run --ab ./bench ./slow_bench --seed 1 -o old.json -o new.json "
JOURNAL = Path("run.json.journal")
NAMES = "n1 crash exit silent refused noisy n2"


@pytest.fixture(scope="class", autouse=True)
def programs(own_folder):
    for name in ("bench", "slow_bench", "other_bench"):
        shutil.copy(FAKE_BENCH, name)


@pytest.fixture(autouse=True)
def names(monkeypatch):
    monkeypatch.setenv("FAKE_NAMES", "n1 n2 n3")


def record(name, condition):
    return holds("run.json", lambda run_file: condition(by_name(run_file)[name]))


def says_twice(text):
    def check(ran):
        assert ran.err.count(text) == 2, ran

    return check


class TestEveryBenchmarkHasItsOwnProcess:
    @pytest.fixture(scope="class")
    def ran(self, programs):
        return run(ONE + "--cooldown 0.01" + MACHINE + " --benchmark_filter=/f32/", FAKE_NAMES=NAMES)

    @pytest.mark.parametrize(
        "expectation",
        [
            pytest.param(expectation, id=name)
            for name, expectation in {
                "a failed benchmark makes the exit code 1": exits(1),
                "the file has all benchmarks in the order of the list": holds("run.json", lambda run_file: list(by_name(run_file)) == NAMES.split()),
                "a good benchmark has nine clean repetitions": record("n1", lambda r: r["seconds"]["clean"] == 9),
                "the benchmark after the failed ones is ok": record("n2", lambda r: r["status"] == "ok"),
                "a crash is a failure": record("crash", lambda r: r["status"] == "failed"),
                "a crash is recorded with its signal and last words": record("crash", lambda r: "signal 11" in r["reason"] and "about to crash" in r["reason"]),
                "an exit code is recorded with its last words": record("exit", lambda r: "exit code 2" in r["reason"] and "wrong in some way" in r["reason"]),
                "a process without a result has failed": record("silent", lambda r: r["status"] == "failed"),
                "unsupported stays unsupported": record("refused", lambda r: r["status"] == "unsupported"),
                "a noisy benchmark runs twice more": says_twice("noisy; measuring it again"),
                "a noisy benchmark has a time that says so": record("noisy", lambda r: r["seconds"]["disturbed"] is True),
                "progress marks it": says(r"noisy  ~1.00 ms"),
                "Google Benchmark's entries have the failed ones": holds(
                    "run.json",
                    lambda run_file: any("signal 11" in entry.get("error_message", "") and entry["error_occurred"] for entry in run_file["benchmarks"]),
                ),
                "progress counts up to all": says(r"^\[7/7\] "),
                "progress shows the time left": says("; ([0-9]+ min )?[0-9]+ s left"),
            }.items()
        ],
    )
    def test_file_and_messages(self, ran, expectation):
        expectation(ran)

    def test_the_journal_is_removed(self, ran):
        assert not JOURNAL.exists()

    def test_nothing_is_left_to_resume(self, ran, monkeypatch):
        before = Path("run.json").read_bytes()
        again = ONE + "--resume --cooldown 0.01" + MACHINE + " --benchmark_filter=/f32/"
        verify(run(again), [exits(0), says("^run.json: finished, nothing is left to do$")])
        assert Path("run.json").read_bytes() == before
        monkeypatch.setenv("FAKE_NAMES", "n1")
        verify(run(again + " --other"), [exits(0), says(r"^\[1/1\] ")])

    def test_a_flag_that_dlroof_adds_itself_may_be_given(self):
        ran = run(ONE + "-o given.json" + MACHINE + " --dlroof_live_check=false")
        verify(ran, [exits(0), holds("given.json", lambda run_file: all(record["status"] == "ok" for record in run_file["records"]))])

    def test_report_reads_the_file(self, ran):
        verify(run("dlroof report run.json --show table"), [exits(0)])


class TestAHangingBenchmark:
    def test_is_ended_and_recorded(self):
        ran = run(ONE + "--timeout 4" + MACHINE, FAKE_NAMES="hang")  # it needs time to say its last words
        verify(ran, [exits(1), record("hang", lambda r: r["reason"] == "still running after 4 s, so it was ended; it said last: hangs")])


class TestBadInput:
    @checks(
        ("a missing program", "dlroof run --bench ./none" + MACHINE, bad_input),
        ("a program that refuses its flags", ONE + MACHINE + " --dlroof_refused", bad_input, says("flags: refused")),
        ("a filter without a match", ONE + MACHINE + " --benchmark_filter=x", bad_input),
        ("--benchmark_out", ONE + MACHINE + " --benchmark_out=x", bad_input),
        ("two files of one run", ONE + "-o a -o b" + MACHINE, bad_input),
        ("a missing folder", ONE + "-o none/run.json" + MACHINE, bad_input),
        ("a time limit of 0", ONE + "--timeout 0" + MACHINE, bad_input),
        ("--map with one program", ONE + "--map x" + MACHINE, bad_input),
        ("a minimum effect above 1", TWO + "--min-effect 1.5" + MACHINE, bad_input),
        ("a missing map", TWO + "--map none" + MACHINE, bad_input),
        ("--ab with one program", "dlroof run --ab ./bench" + MACHINE, bad_input),
        ("one file of two runs", "dlroof run --ab ./bench ./slow_bench -o x -o x" + MACHINE, bad_input),
    )
    def test_is_refused_without_a_journal(self, command, expected):
        verify(run(command), expected)
        assert not JOURNAL.exists()

    def test_pinning_by_openmp_is_refused_without_a_journal(self):
        verify(run(ONE, OMP_PROC_BIND="true"), [bad_input, says("OMP_PROC_BIND is set")])
        assert not JOURNAL.exists()

    def test_pinning_by_openmp_does_not_matter_to_a_gpu(self):
        verify(run(ONE, OMP_PROC_BIND="true", FAKE_DEVICE="gpu"), [exits(0)])

    def test_an_unforeseen_error_is_no_verdict_and_has_its_reason(self):
        verify(run(TWO + MACHINE, open_files=10), [bad_input, says("^dlroof: fcntl: ")])


class TestAJournalThatIsLeft:
    @pytest.fixture(scope="class")
    def stopped(self, programs):
        ran = run(ONE + "--budget 0" + MACHINE, FAKE_NAMES="n1 n2 n3")
        return ran, JOURNAL.read_text()

    def test_no_budget_is_no_failure(self, stopped):
        verify(stopped[0], [exits(0)])

    def test_no_budget_counts_what_is_left(self, stopped):
        verify(stopped[0], [says(r"^3 of 3 benchmarks are left; .*--resume")])

    @checks(
        ("a run without --resume", ONE + MACHINE, bad_input),
        ("other arguments", ONE + "--resume" + MACHINE + " --other", bad_input),
        ("another program", "dlroof run --bench ./other_bench --resume" + MACHINE, bad_input),
    )
    def test_is_kept_from(self, stopped, command, expected):
        verify(run(command), expected)
        assert JOURNAL.read_text() == stopped[1]

    @pytest.mark.parametrize(
        "change, sentence",
        [
            pytest.param(lambda text: text + "no JSON\n", "journal:2: ", id="a spoilt line"),
            pytest.param(lambda text: text.replace('"dlroof_journal":', '"dlroof_journal":9'), "written by a newer dlroof", id="a newer journal"),
        ],
    )
    def test_is_not_resumed_with(self, stopped, change, sentence):
        JOURNAL.write_text(change(stopped[1]))
        ran = run(ONE + "--resume" + MACHINE)
        JOURNAL.write_text(stopped[1])
        verify(ran, [bad_input, says(sentence)])

    def test_is_not_resumed_with_another_build(self, stopped):
        with open("bench", "a") as bench:
            bench.write("# built anew\n")
        verify(run(ONE + "--resume" + MACHINE), [bad_input, says("it was begun with other builds of its programs")])


class TestSeveralProcesses:
    """--processes: each benchmark in as many processes, in passes over all, joined to one run file."""

    THREE = ONE + "--processes 3 "

    @pytest.fixture(scope="class")
    def ran(self, programs):
        return run(self.THREE + "--cooldown 0.01" + MACHINE, FAKE_NAMES="n1 noisy crash refused n2", FAKE_LOG="ran")

    @pytest.mark.parametrize(
        "expectation",
        [
            pytest.param(expectation, id=name)
            for name, expectation in {
                "a failed benchmark makes the exit code 1": exits(1),
                "a record has all repetitions with the process of each": record(
                    "n1", lambda r: [x["block"] for x in r["repetitions"]] == [0] * 9 + [1] * 9 + [2] * 9
                ),
                "a noisy benchmark is not measured again": record("noisy", lambda r: {x["block"] for x in r["repetitions"]} == {0, 1, 2}),
                "its repetitions stay noisy": record("noisy", lambda r: all(x["disturbed"] for x in r["repetitions"])),
                "what crashed once has failed": record("crash", lambda r: r["status"] == "failed" and "signal 11" in r["reason"]),
                "unsupported stays unsupported": record("refused", lambda r: r["status"] == "unsupported"),
                "progress counts all processes": says(r"^\[ 4/15\] "),
                "the file says how it was made": holds("run.json", lambda run_file: "3 processes" in run_file["context"]["dlroof"]["supervised"]["settings"]),
                "and by which command": holds("run.json", lambda run_file: "--processes 3" in run_file["context"]["dlroof"]["command"]),
                "Google Benchmark's entries are all repetitions": holds(
                    "run.json", lambda run_file: [e["repetition_index"] for e in run_file["benchmarks"] if "/n1/" in e["name"]] == list(range(27))
                ),
            }.items()
        ],
    )
    def test_file_and_messages(self, ran, expectation):
        expectation(ran)

    def test_processes_of_a_benchmark_do_not_follow_each_other(self, ran):
        order = Path("ran").read_text().split()
        assert sorted(order) == sorted(["n1", "n2", "noisy"] * 3 + ["crash", "refused"])
        assert set(order[:5]) == {"n1", "n2", "noisy", "crash", "refused"}
        assert set(order[5:8]) == {"n1", "n2", "noisy"} == set(order[8:11])

    def test_a_killed_run_is_resumed_where_it_was(self):
        verify(run(self.THREE + "-o whole.json" + MACHINE), [exits(0)])
        process = start(self.THREE + MACHINE, FAKE_SECONDS="0.2")
        limit = time.monotonic() + 120
        while not (JOURNAL.exists() and JOURNAL.read_bytes().count(b"outcomes") >= 4):
            assert time.monotonic() < limit, "no journal within two minutes"
            time.sleep(0.02)
        process.kill()
        process.communicate()
        verify(run(ONE + "--resume" + MACHINE), [bad_input, says("it was begun with other settings")])
        verify(run(self.THREE + "--resume" + MACHINE, FAKE_LOG="resumed"), [exits(0)])
        assert len(Path("resumed").read_text().split()) <= 5
        assert filecmp.cmp("whole.json", "run.json", shallow=False)

    def test_compare_judges_by_the_processes(self):
        verify(run(self.THREE + "-o base.json" + MACHINE), [exits(0)])
        verify(run("dlroof run --bench ./slow_bench --seed 1 --processes 3 -o new.json" + MACHINE), [exits(0)])
        ran = run("dlroof compare base.json new.json --format=json")
        rows = json.loads(ran.out)["benchmarks"]
        assert [row["fastest_share"] for row in rows] == [0.25] * 3

    def test_two_programs_have_their_own(self):
        verify(run(TWO + "--processes 3" + MACHINE), [bad_input, says("--processes: each block of --ab")])


class TestAnInterruptedRun:
    def test_is_locked_while_it_runs_and_resumed_afterwards(self):
        process = start(ONE + MACHINE, FAKE_SECONDS="600")
        limit = time.monotonic() + 120
        while not (JOURNAL.exists() and "Fake" in JOURNAL.read_text()):
            assert time.monotonic() < limit, "no journal within two minutes"
            time.sleep(0.02)
        verify(run(ONE + "--resume" + MACHINE), [bad_input])
        process.send_signal(2)
        verify(finish(process), [exits(130)])
        verify(run(ONE + "--resume" + MACHINE), [exits(0), holds("run.json", lambda run_file: len(run_file["records"]) == 3)])

    def test_of_which_the_file_has_a_command_that_is_no_text_is_measured_again(self):
        Path("other.json").write_text(json.dumps({"context": {"dlroof": {"schema": 2, "supervised": {}, "command": 5}}, "records": []}))
        verify(run(ONE + "-o other.json --resume" + MACHINE), [exits(0)])

    @pytest.mark.parametrize("command, written", [(ONE + "-o new.json ", ["new.json"]), (TWO, ["old.json", "new.json"])])
    def test_leaves_the_old_files_until_all_is_measured(self, command, written):
        for path in written:
            Path(path).write_text("of yesterday")
        process = start(command + MACHINE, FAKE_SECONDS="0.2")
        limit = time.monotonic() + 120
        while not ((journal := Path("new.json.journal")).exists() and "outcomes" in journal.read_text()):
            assert time.monotonic() < limit, "no journal within two minutes"
            time.sleep(0.02)
        process.send_signal(2)
        verify(finish(process), [exits(130), *(says(f"interrupted: the results so far are in {path}.part") for path in written)])
        for path in written:
            assert Path(path).read_text() == "of yesterday"
            assert json.loads(Path(path + ".part").read_text())["records"]
        assert run(command + "--resume" + MACHINE).code in (0, 1)
        assert all(json.loads(Path(path).read_text())["records"] and not os.path.exists(path + ".part") for path in written)


def test_folders_of_killed_processes_are_removed(tmp_path):
    stale, living = tmp_path / "dlroof.stale1", tmp_path / "dlroof.alive1"
    for folder in (stale, living):
        folder.mkdir()
        (folder / "file").touch()
    lock = os.open(living, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    verify(run(ONE + "-o stale.json" + MACHINE, TMPDIR=str(tmp_path)), [exits(0)])
    os.close(lock)
    assert os.listdir(tmp_path) == ["dlroof.alive1"]


def test_without_a_folder_for_temporary_files_is_bad_input():
    verify(run(ONE + MACHINE, TMPDIR="/no/such/folder"), [bad_input, says("/no/such/folder: no folder for temporary files: .*; set TMPDIR")])


class TestFiftyKills:
    """kill -9 at 50 moments: the journal keeps its lines, and the resumed file is the uninterrupted one."""

    RESUME = ONE + "--resume" + MACHINE

    @pytest.fixture(autouse=True)
    def forty(self, monkeypatch):
        monkeypatch.setenv("FAKE_NAMES", " ".join(f"n{i}" for i in range(1, 41)))
        monkeypatch.setenv("FAKE_SECONDS", "0.01")

    def test_lose_nothing_and_the_resumed_file_is_the_same(self):
        verify(run(ONE + "-o whole.json" + MACHINE), [exits(0)])
        delays = random.Random(7)
        kills, before, longest = 0, b"", 0.15
        for _ in range(400):
            if kills >= 50 and before:
                break
            process = start(self.RESUME)
            time.sleep(delays.random() * longest)
            kills += process.poll() is None
            process.kill()
            process.communicate()
            if JOURNAL.exists():
                text = JOURNAL.read_bytes()
                assert text.startswith(before), f"kill {kills}: the journal lost lines"
                before = text[: text.rfind(b"\n") + 1]
                continue
            if os.path.exists("run.json"):  # finished before the kill
                assert filecmp.cmp("whole.json", "run.json", shallow=False)
                os.remove("run.json")
            else:
                longest *= 1.1  # killed before it began: a slow machine
            before = b""
        assert kills >= 50 and before
        verify(run(self.RESUME, FAKE_LOG="ran"), [exits(0)])
        assert filecmp.cmp("whole.json", "run.json", shallow=False)
        finished = sum(b"outcomes" in line for line in before.splitlines())
        ran = Path("ran").read_text().splitlines() if finished < 40 else []
        assert len(ran) == 40 - finished


class TestASlowerBuild:
    @pytest.fixture(scope="class")
    def ran(self, programs):
        return run(TWO + MACHINE, FAKE_NAMES="n1 n2", timeout=240)

    @pytest.mark.parametrize(
        "expectation",
        [
            pytest.param(expectation, id=name)
            for name, expectation in {
                "exits 1": exits(1),
                "is slower in both benchmarks": prints("2 slower"),
                "is slower by more than 2 %": prints(r"minimum effect 2\.0 %"),
                "is slower by 5 %": prints(r" slower +1\.0[45]"),
            }.items()
        ],
    )
    def test_is_told(self, ran, expectation):
        expectation(ran)

    def test_is_measured_in_blocks_of_five(self, ran):
        for file in ("old.json", "new.json"):
            for one in json.loads(Path(file).read_text())["records"]:
                assert [r["block"] for r in one["repetitions"][:50]] == [i // 5 for i in range(50)]

    def test_names_the_same_comparison_in_both_files(self, ran):
        ids = {json.loads(Path(file).read_text())["context"]["dlroof"]["interleaved"]["id"] for file in ("old.json", "new.json")}
        assert len(ids) == 1

    def test_gets_the_same_verdict_from_compare(self, ran):
        assert run("dlroof compare old.json new.json").out == ran.out


def died_by_signal_9(ran):
    assert any("ended by signal 9" in Path(file).read_text() for file in ("old.json", "new.json")), ran


class TestTwoBuilds:
    @pytest.mark.parametrize(
        "command, problems, expected",
        [
            pytest.param(
                "dlroof run --ab ./bench ./other_bench --seed 1 --min-effect 3%",
                "n1 n2",
                [exits(0), prints("2 same"), prints(r"minimum effect 3\.0 %")],
                id="an equal build is the same",
            ),
            pytest.param(
                TWO + "--map map.txt", "n20 n21", [prints("n20 -> .*n21"), says("^skipping 2 benchmarks that have no partner")], id="--map makes pairs"
            ),
            pytest.param(
                TWO + "--timeout 5",
                "n1 turnless refused crash",
                [prints("1 slower"), died_by_signal_9, holds("new.json", lambda run_file: by_name(run_file)["refused"]["status"] == "unsupported")],
                id="failures of both sides are no change",
            ),
        ],
    )
    def test_interleaved(self, command, problems, expected):
        Path("map.txt").write_text("Fake/cpu/none/fwd/f32/n20 Fake/cpu/none/fwd/f32/n21\n")
        verify(run(command + MACHINE, FAKE_NAMES=problems, timeout=240), expected)

    def test_without_dlroof_are_told_once_how_they_alternate(self):
        for name in ("plain_a", "plain_b"):
            Path(name).write_text('#!/bin/bash\ncase $* in *--dlroof_live*) exit 1 ;; esac\nexec ./bench "$@"\n')
            Path(name).chmod(0o755)
        ran = run("dlroof run --ab ./plain_a ./plain_b -o a.json -o b.json --budget 0")
        assert ran.err.count("plain Google Benchmark") == 1, ran

    def test_with_a_verdict_when_the_budget_ends_are_settled(self, monkeypatch):
        monkeypatch.setenv("FAKE_NAMES", "n1")
        process, journal, lines = start(TWO + MACHINE), Path("new.json.journal"), []
        while process.poll() is None:
            try:
                lines = journal.read_text().splitlines(keepends=True) or lines
            except FileNotFoundError:
                time.sleep(0.002)
        finish(process)
        blocks = [i for i, line in enumerate(lines) if "outcomes" in line]
        journal.write_text("".join(lines[: blocks[7] + 1]))  # 8 blocks, before the first look: p = 5 * 2 / 2^8 = 0.04
        ran = run(TWO + "--resume --budget 0" + MACHINE)
        verify(ran, [exits(1), prints("1 slower")])
        assert "not settled" not in ran.err and not journal.exists()

    def test_reach_their_verdict_after_kills_and_resumes(self, monkeypatch):
        monkeypatch.setenv("FAKE_NAMES", "n1 n2")
        Path("new.json").unlink(missing_ok=True)
        delays = random.Random(7)
        for _ in range(8):
            process = start(TWO + "--resume" + MACHINE)
            time.sleep(delays.random() * 0.4)
            process.kill()
            process.communicate()
            if not Path("new.json.journal").exists():  # not begun, or ended before the kill
                Path("new.json").unlink(missing_ok=True)
        verify(run(TWO + "--resume" + MACHINE, timeout=240), [exits(1), plain("2 slower")])
