"""Runs a program and checks its exit code, its output and its files. All tests of this folder use it."""
import json
import os
import re
import resource
import shlex
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
DATA = TESTS / "data"
FAKE_BENCH = TESTS / "cli" / "fake_bench.sh"


def program(variable):
    """Returns the absolute path that an environment variable names."""
    if variable not in os.environ:
        pytest.exit(f"{variable} must name a program or folder", 2)
    return os.path.abspath(os.environ[variable])


DLROOF = program("DLROOF")
QUICK = "--benchmark_repetitions=3 --benchmark_min_time=0.001"


class Ran:
    """A finished program."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        last = {name: "\n".join(text.splitlines()[-5:]) for name, text in vars(self).items() if name != "code"}
        return f"exit code {self.code}\n--- out\n{last['out']}\n--- err\n{last['err']}"


def words(command):
    """Splits a command line; "dlroof" is the program under test."""
    parts = shlex.split(command) if isinstance(command, str) else [str(part) for part in command]
    return [DLROOF if i == 0 and part == "dlroof" else part for i, part in enumerate(parts)]


def start(command, **environment):
    """Starts a program in the background."""
    return subprocess.Popen(
        words(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment}, text=True, errors="replace"
    )


def finish(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return Ran(process.returncode, out, err)


def run(command, timeout=60, stdout=None, open_files=None, **environment):
    """Runs a program to its end. A program that exceeds `timeout` [s] fails the test."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))) if open_files else None
    with open(stdout or os.devnull, "w") as file:
        done = subprocess.run(
            words(command),
            stdin=subprocess.DEVNULL,
            stdout=file if stdout else subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            timeout=timeout,
            preexec_fn=limit,
            text=True,
            errors="replace",
        )
    return Ran(done.returncode, done.stdout or "", done.stderr)


def exits(code):
    def check(ran):
        assert ran.code == code, ran

    return check


def prints(text):
    """Expects a regular expression in the output; `plain` makes one of any text."""

    def check(ran):
        assert re.search(text, ran.out, re.M), f"{text!r} is not in the output: {ran}"

    return check


def says(text):
    def check(ran):
        assert re.search(text, ran.err, re.M), f"{text!r} is not in the messages: {ran}"

    return check


def never_prints(text):
    def check(ran):
        assert not re.search(text, ran.out, re.M), f"{text!r} is in the output: {ran}"

    return check


def plain(text):
    return prints(re.escape(text))


def silent(ran):
    assert ran.err == "", ran


def one_sentence(ran):
    """Bad input: exit code 2 and one sentence."""
    assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran


def bad_input(ran):
    """Bad input, and no output beside its sentence."""
    one_sentence(ran)
    assert ran.out == "", ran


def exists(path):
    def check(ran):
        assert os.path.getsize(path) > 0, f"{path} is empty: {ran}"

    return check


def contains(path, text):
    def check(ran):
        assert re.search(text, Path(path).read_text(), re.M), f"{text!r} is not in {path}: {ran}"

    return check


def holds(path, condition):
    """Expects `condition` of a JSON file."""

    def check(ran):
        content = json.loads(Path(path).read_text())
        assert condition(content), f"{path}: {str(content)[:2000]}\n{ran}"

    return check


def by_name(run_file):
    """Returns a run file's records by the last part of their names."""
    return {record["name"].split("/")[-1]: record for record in run_file["records"]}


def checks(*rows):
    """Parametrizes a test by rows of (name, command, expectation...)."""
    return pytest.mark.parametrize("command, expected", [pytest.param(row[1], row[2:], id=row[0]) for row in rows])


def verify(ran, expected):
    for expectation in expected:
        expectation(ran)
