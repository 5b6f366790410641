"""`dlroof completion bash`, in a bash."""
import re
import subprocess

import pytest
from checks import DLROOF, bad_input, program, run

BENCH = program("DLROOF_BENCH")
# Calls the function as readline does, with the line up to the cursor.
SCRIPT = """
source <("$1" completion bash)
compopt() { :; }
COMP_LINE=$2 COMP_POINT=${#2}
complete -p "${3##*/}" > /dev/null || exit 1
_dlroof_complete "$3"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(line):
    """Returns the completions of the last word. "dlroof" and "dlroof_bench" are the programs under test."""
    first = {"dlroof": DLROOF, "dlroof_bench": BENCH}[line.split()[0]]
    done = subprocess.run(["bash", "-c", SCRIPT, "bash", DLROOF, line, first], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.split()


@pytest.mark.parametrize(
    "line, words",
    [
        ("dlroof comp", ["compare", "completion"]),
        ("dlroof history a", ["add"]),
        ("dlroof history add --d", ["--db"]),
        ("dlroof report --out", ["--output"]),
        ("dlroof report ", []),  # the shell offers files
        ("dlroof model --suite al", ["alexnet"]),
        ("dlroof model --suite alexnet,vg", ["alexnet,vgg16"]),
        ("dlroof run --ab old new -- --dlroof_suite=pa", ["paper"]),
        ("dlroof_bench --dlroof_suite=resnet", ["resnet152", "resnet50"]),
        ("dlroof_bench --dlroof_suite=resnet50,vg", ["resnet50,vgg16"]),
        ("dlroof_bench --dlroof_ty", ["--dlroof_types="]),
        ("dlroof_bench --benchmark_filter=x --dlroof_se", ["--dlroof_seed="]),
        ("dlroof_bench --benchmark_fi", ["--benchmark_filter="]),
        ("dlroof_bench --dlroof_html=", []),
    ],
)
def test_completes(line, words):
    assert completed(line) == words


def test_every_command_and_flag_that_help_lists_is_offered():
    listed = run("dlroof --help").out.partition("Subcommands:")[2]
    commands = re.findall(r"^  (\w+)", listed, re.M)
    assert len(commands) > 10 and set(completed("dlroof ")) == set(commands)
    for command in commands:
        flags = re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(f"dlroof {command} --help").out, re.M)
        assert flags and set(completed(f"dlroof {command} --")) == set(flags), command
    flags = re.findall(r"--(?:dlroof|benchmark)_\w+", run(f"{BENCH} --help").out)
    assert set(completed("dlroof_bench --")) == {flag + "=" for flag in flags}


def test_every_suite_is_offered():
    listed = re.findall(r"^([a-z]\w+) ", run(f"{BENCH} --dlroof_suite=help").out, re.M)
    assert len(listed) > 10 and completed("dlroof_bench --dlroof_suite=") == listed


def test_another_shell_is_refused():
    bad_input(run("dlroof completion zsh"))
