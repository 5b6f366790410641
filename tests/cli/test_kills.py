"""Every command that writes a file, killed and terminated twice at random moments: the stored file is the old one or a
whole new one with all benchmarks, and the next start works. DLROOF_KILLS is the number of moments of each command (200 before a release);
without it some commands are stopped once."""
import json
import os
import random
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from checks import DATA, DLROOF, FAKE_BENCH, QUICK, exits, finish, program, run, start, verify

pytestmark = pytest.mark.serial

BENCH = program("DLROOF_BENCH")
MOMENTS = int(os.environ.get("DLROOF_KILLS", 1))
MEASURE = f"--dlroof_machine=machine.json --benchmark_filter=^LSTM/cpu/reference/fwd_inference {QUICK}"
OLD = '{"of": "yesterday"}\n'
OWN = Path(BENCH).parent / "tests/dlroof_own_benchmarks"
NAME = "LSTM/cpu/onednn/fwd_inference/f32/t1n1i4h4"


def is_json(path):
    json.loads(Path(path).read_text())


def is_tuning(path):
    assert [one["state"] == "unfinished" for one in json.loads(Path(path).read_text())["tunings"]] == [False]


def is_page(path):
    assert Path(path).read_text().rstrip().endswith("</html>")


def is_history(path):
    with sqlite3.connect(path) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    verify(run(f"dlroof history list --db {path}"), [exits(0)])


def is_gates(path):
    is_history(path)
    for stored in Path().glob("gate*/c1/run"):
        verify(run([stored, "--benchmark_list_tests=true"]), [exits(0)])


def benchmarks_in(path):
    return [record["name"] for record in json.loads(Path(path).read_text()).get("records", [])] if path.endswith(".json") else None


# The command, the file that it writes and what a whole one is.
WRITERS = {
    "bench": (f"{BENCH} {MEASURE} --benchmark_out=new.json", "new.json", is_json),
    "own": (f"{OWN} --dlroof_machine=none --benchmark_filter=BM_Add|BM_Sum {QUICK} --benchmark_out=new.json", "new.json", is_json),
    "run": (f"dlroof run -o new.json --resume --cooldown 0 -- {MEASURE}", "new.json", is_json),
    "explain": (f"dlroof explain {NAME} --machine=machine.json --seconds 0.5 -o new.json", "new.json", is_json),
    "trajectory": (f"dlroof trajectory {NAME} --threads=1 --batch=1,2 --machine=machine.json -o new.json -- {QUICK}", "new.json", is_json),
    "report": ("dlroof report run.json -o new.html", "new.html", is_page),
    "import": (f"dlroof import {DATA}/import_ncu_raw.csv -o new.json", "new.json", is_json),
    "export": ("dlroof export run.json --format bencher -o new.json", "new.json", is_json),
    "dashboard": ("dlroof dashboard --db runs.sqlite -o site", "site/index.html", is_page),
    "model": ("dlroof model --gpu v100 --suite alexnet -o new.json", "new.json", is_json),
    "machine": ("dlroof machine --quick --remeasure -o new.json", "new.json", is_json),
    "profile": (f"dlroof profile -o new.json -- {BENCH} {MEASURE.replace('reference/fwd_inference', 'onednn/fwd_inference/f32/t16n16')}", "new.json", is_json),
    "tune": (f"dlroof tune {NAME} --bench=./fake.sh --env=DLROOF_FAKE=1,2 --budget=3 -o new.json", "new.json", is_tuning),
    "node": (f"env DLROOF_NODE=n1 {DLROOF} cluster node --out out --bench {FAKE_BENCH} -- --dlroof_seed=1", "out/nodes/n1.json", is_json),
    "gather": ("dlroof cluster gather gathered -o new.json", "new.json", is_json),
    "gate": ("dlroof gate --db gate.sqlite --store --commit c1 --processes 1 --budget 0 -o gated -- ./fake.sh --dlroof_machine=none", "gate.sqlite", is_gates),
    "history": ("dlroof history add --db new.sqlite run.json", "new.sqlite", is_history),
}


@pytest.fixture(scope="module", autouse=True)
def files(folder):
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    shutil.copy(FAKE_BENCH, "fake.sh")  # which counts its calls beside itself
    verify(run("dlroof machine --quick -o machine.json", timeout=300), [exits(0)])
    verify(run(f"{BENCH} {MEASURE} --benchmark_out=run.json", timeout=120), [exits(0)])
    verify(run("dlroof history add --db runs.sqlite run.json"), [exits(0)])
    verify(run(f"dlroof cluster node --out gathered --bench {FAKE_BENCH} -- --dlroof_seed=1", DLROOF_NODE="n1", FAKE_DEVICE="none"), [exits(0)])
    yield
    del os.environ["XDG_CACHE_HOME"]


def stopped(command, delay, send):
    """Returns the exit code of a command to which `send` gives signals after `delay` [s]."""
    process = start(command)
    time.sleep(delay)
    send(process)
    return finish(process, timeout=120).code


def kill(process):
    process.kill()


def terminate_twice(process):
    process.terminate()
    time.sleep(0.05)
    process.terminate()


@pytest.mark.parametrize("send, code", [(kill, -signal.SIGKILL), (terminate_twice, 128 + signal.SIGTERM)], ids=["killed", "terminated twice"])
@pytest.mark.parametrize("name", WRITERS if "DLROOF_KILLS" in os.environ else ["bench", "run", "report", "history"])
def test_nothing_stored_is_lost(name, send, code):
    command, target, whole = WRITERS[name]
    moments = random.Random(name)
    for old in Path().glob(target + "*"):  # a killed history also leaves its log
        old.unlink() if old.is_file() else shutil.rmtree(old)
    begin = time.monotonic()
    first = run(command, timeout=300)
    assert first.code == 0, first
    longest = time.monotonic() - begin
    benchmarks = benchmarks_in(target)
    # These read the old file first. That of "tune" differs in its last line.
    old = {"run": Path("run.json").read_text(), "tune": Path(target).read_text() + "\n"}.get(name, OLD) if benchmarks is not None else OLD
    for moment in range(MOMENTS):
        if name == "tune":  # else it asks for --resume
            Path(target + ".part").unlink(missing_ok=True)
        if not target.endswith(".sqlite"):
            Path(target).write_text(old)
        found = stopped(command, moments.random() * longest, send)
        # It may have ended first, or been stopped by a signal that it had not yet asked for.
        assert found in (0, code, -signal.SIGTERM), f"moment {moment}: {found}"
        if target.endswith(".sqlite") or Path(target).read_text() != old:
            whole(target)
            assert name == "profile" or benchmarks_in(target) == benchmarks  # a profile may end early
        for part in Path().glob("*.part"):
            ran = run(f"dlroof {'tune' if name == 'tune' else 'report'} {part}")
            assert ran.code == 0 or "cut off before the first" in ran.err or "empty file" in ran.err, ran
    Path(target + ".part").unlink(missing_ok=True)
    verify(run(command, timeout=300), [exits(0), lambda ran: whole(target)])
