"""dlroof tune: from a benchmark's default to its best setting."""
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from checks import FAKE_BENCH, ROOT, bad_input, exits, finish, one_sentence, plain, prints, run, says, start, verify

HOSTILE = ROOT / "tests/data/hostile"
NAME = "LSTM/cpu/onednn/fwd_inference/f32/t1n1i4h4"
# A program that is 5 % faster where DLROOF_FAKE says so, and crashes, hangs or ends without a result elsewhere.
PROGRAM = """#!/usr/bin/env bash
case $DLROOF_FAKE in
  crash) echo "about to crash" >&2; kill -SEGV $$ ;;
  hang) read -r <> <(:) ;;
  silent) exit 0 ;;
  fast) exec ./fake.sh "$@" ;;
esac
exec ./slow.sh "$@"
"""


@pytest.fixture(scope="module", autouse=True)
def programs(folder):
    for name in ("fake.sh", "slow.sh"):
        shutil.copy(FAKE_BENCH, name)
    Path("program.sh").write_text(PROGRAM)
    os.chmod("program.sh", 0o755)


def tune(arguments, timeout=20):
    return f"dlroof tune {NAME} --bench=./program.sh --timeout={timeout} {arguments}"


def tuning(path):
    return json.loads(Path(path).read_text())["tunings"][0]


@pytest.fixture(scope="module")
def tuned(programs):
    return run(tune("--env=DLROOF_FAKE=crash,fast,silent -o tune.json --budget=100"), timeout=200)


def test_the_faster_setting_is_found_and_confirmed(tuned):
    verify(tuned, [exits(0), prints(r"DLROOF_FAKE=fast: 1\.05x as fast"), prints("export DLROOF_FAKE=fast")])
    found = tuning("tune.json")
    assert found["state"] == "confirmed" and found["best"] == {"DLROOF_FAKE": "fast"}, tuned
    # The made-up times are 1.000 to 1.003 ms, and 1.050 to 1.053 ms.
    assert abs(found["total"]["ratio"] - 1 / 1.05) < 0.004, found["total"]


def test_settings_that_fail_are_recorded_with_their_reason(tuned):
    verdicts = {one["values"].get("DLROOF_FAKE"): one["verdict"] for one in tuning("tune.json")["tried"]}
    assert "Segmentation fault" in verdicts["crash"] and "about to crash" in verdicts["crash"], verdicts
    assert "left no run file" in verdicts["silent"], verdicts


def test_a_setting_that_hangs_costs_its_time_alone():
    ran = run(tune("--env=DLROOF_FAKE=hang -o hang.json --budget=60", timeout=5), timeout=200)
    verify(ran, [exits(0), prints("DLROOF_FAKE=hang: failed: .*still running after 5 s")])


def test_a_file_is_shown_without_measuring(tuned):
    again = run("dlroof tune tune.json")
    shown = [line for line in again.out.splitlines() if "program.sh" not in line and "dlroof_bench" not in line]
    assert again.code == 0 and set(shown) <= set(tuned.out.splitlines()), again


def test_the_best_is_verified_once_more(tuned):
    verify(run("dlroof tune --verify tune.json --bench=./program.sh --env=DLROOF_FAKE=fast", timeout=200), [exits(0), prints("confirmed again: 1.05x")])
    assert tuning("tune.json")["verified"]["confirmed"]
    Path("false.json").write_text(Path("tune.json").read_text().replace('"DLROOF_FAKE": "fast"', '"DLROOF_FAKE": "slow"'))
    verify(run("dlroof tune --verify false.json --bench=./program.sh --env=DLROOF_FAKE=slow", timeout=200), [exits(3), prints("not confirmed again")])


def test_no_value_of_a_file_is_run_or_pasted_into_a_command(tuned):
    verify(run(f"dlroof tune {HOSTILE}/tuning_paste.json"), [exits(0), plain(r"export LD_PRELOAD=''\'';touch ./PASTED;'\''")])
    for path in (f"{HOSTILE}/tuning_paste.json", f"{HOSTILE}/tuning_preload.json"):
        verify(run(f"dlroof tune --verify {path} --bench=./program.sh"), [bad_input, says("sets the variable LD_PRELOAD, which dlroof does not tune")])
    verify(run("dlroof tune --verify tune.json --bench=./program.sh"), [bad_input, says("to allow that, add --env=DLROOF_FAKE=fast$")])
    Path("planned.json").write_text(Path("tune.json").read_text().replace('"DLROOF_FAKE": "crash"', '"LD_PRELOAD": "./evil.so"'))
    verify(run(tune("--env=DLROOF_FAKE=crash,fast,silent -o planned.json --resume --budget=100")), [bad_input, says("sets the variable LD_PRELOAD")])


def test_nothing_is_won_where_no_setting_matters():
    ran = run(f"dlroof tune {NAME} --bench=./program.sh --self -o self.json", timeout=200)
    verify(ran, [exits(0), prints("nothing to win")])
    assert tuning("self.json")["best"] == {}


def test_a_suite_is_tuned_one_benchmark_after_the_other():
    names = [NAME, NAME + "/threads1"]
    Path("suite.txt").write_text("\n".join(names) + "\n")
    ran = run("dlroof tune --suite=suite.txt --env=DLROOF_FAKE=fast --bench=./program.sh -o suite.json", timeout=200)
    found = json.loads(Path("suite.json").read_text())["tunings"]
    assert ran.code == 0 and [one["subject"] for one in found] == names, ran
    assert all(one["state"] == "confirmed" for one in found), ran


def wait_for_blocks(process, path, count):
    for _ in range(1200):
        if Path(path).exists() and Path(path).read_text().count('"stage"') >= count:
            return
        assert process.poll() is None
        time.sleep(0.05)
    raise AssertionError(f"{path}: no {count} blocks")


@pytest.mark.parametrize("how, code", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_goes_on_after_an_end_and_keeps_the_old_file_until_then(tuned, how, code):
    path = f"ended{how}.json"
    shutil.copy("tune.json", path)
    command = tune(f"--env=DLROOF_FAKE=fast -o {path} --budget=100")
    process = start(command)
    wait_for_blocks(process, path + ".part", 3)
    process.send_signal(how)
    assert finish(process).code == code
    assert Path(path).read_text() == Path("tune.json").read_text()
    before = tuning(path + ".part")
    assert before["state"] == "unfinished" and len(before["blocks"]) >= 3
    verify(run(command), [bad_input, says("--resume")])
    verify(run(command.replace("fast", "crash") + " --resume"), [bad_input, says("environment")])
    verify(run(command + " --resume", timeout=200), [exits(0), prints("confirmed by")])
    assert tuning(path)["blocks"][:3] == before["blocks"][:3] and not Path(path + ".part").exists()


def test_a_file_with_values_that_tune_never_writes_is_bad_input(tuned):
    def write(change):
        file = json.loads(Path("tune.json").read_text())
        change(file)
        Path("wrong.json").write_text(json.dumps(file))

    for best in ({"foo": "x"}, {"batch": "x"}):
        write(lambda file: file["tunings"][0].update(best=best))
        verify(run("dlroof tune wrong.json"), [bad_input, says("cannot have")])
    write(lambda file: file["about"].update(names=5))
    verify(run(tune("--env=DLROOF_FAKE=fast -o wrong.json")), [bad_input, says("'names'")])


def test_bad_input_is_one_sentence():
    for arguments in ("", "LSTM/cpu/onednn/fwd_inference/f32/t1x", f"{NAME} --env=lower=1", "--suite=none_such", f"--verify {NAME}"):
        verify(run(f"dlroof tune {arguments}"), [one_sentence])
    Path("foreign.json").write_text("{}")
    verify(run("dlroof tune foreign.json"), [one_sentence, says("expected a file of dlroof tune")])


@pytest.mark.serial
def test_a_real_benchmark_is_tuned():
    """The times are this machine's: the test expects a whole answer, not which one."""
    ran = run(f"dlroof tune {NAME} --budget=8 -o real.json", timeout=300)
    found = tuning("real.json")
    assert ran.code == 0 and found["state"] in ("confirmed", "not_confirmed", "nothing_won"), ran
    default = found["blocks"][0]["results"][0]
    assert found["blocks"][0]["settings"][0] == {} and len(default["seconds"]) == 5 and min(default["seconds"]) > 0
    assert found["state"] != "confirmed" or "total" in found
