"""The script of `dlroof completion`, in bash."""
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from checks import bad_input, run
from shells import BENCH, completed

FORMATS = "table,markdown,json,junit".split(",")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A folder in which little can be completed, and a program in $PATH."""
    monkeypatch.chdir(tmp_path)
    Path("hits.json").touch()
    Path("hall").mkdir()
    tool = Path("bin/dlroof_first_tool")
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tool.parent.absolute()}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    "line, words",
    [
        ("dlroof comp", ["compare", "completion"]),
        ("dlroof history a", ["add"]),
        ("dlroof history add --d", ["--db"]),
        ("dlroof cluster versus --types ", ["same", "best"]),
        ("dlroof cluster versus --types=b", ["best"]),
        ("dlroof cluster report --ver", ["--verbose"]),
        ("dlroof report --out", ["--output"]),
        ("dlroof compare --format ", FORMATS),
        ("dlroof compare --format=ju", ["junit"]),
        ("dlroof report --levels l1,dr", ["dram"]),
        ("dlroof completion b", ["bash"]),
        ("dlroof model --suite al", ["alexnet"]),
        ("dlroof model --suite alexnet,vg", ["vgg16"]),
        ("dlroof dashboard -o ha", ["hall"]),
        ("dlroof run -- --dlroof_ty", ["--dlroof_types"]),
        ("dlroof run -- --dlroof_suite=pa", ["paper"]),
        ("dlroof run --order file -- --dlroof_cache=c", ["cold", "cold-weights"]),
        ("dlroof profile -o x.json -- dlroof_fir", ["dlroof_first_tool"]),
        ("dlroof profile -- dlroof_fir", ["dlroof_first_tool"]),
        ("dlroof_bench --dlroof_suite=resnet", ["resnet152", "resnet50"]),
        ("dlroof_bench --dlroof_suite=resnet50,vg", ["vgg16"]),
        ("dlroof_bench --dlroof_ty", ["--dlroof_types"]),
        ("dlroof_bench --dlroof_counters=si", ["simulate"]),
        ("dlroof_bench --benchmark_filter=x --dlroof_se", ["--dlroof_seed"]),
        ("dlroof_bench --benchmark_fi", ["--benchmark_filter"]),
        ("dlroof_bench --benchmark_out_format=c", ["console", "csv"]),
    ],
)
def test_completes(line, words):
    assert completed(line) == set(words)


# The function leaves files to bash, unless there are words beside them.
@pytest.mark.parametrize(
    "line, words", [("dlroof report hi", []), ("dlroof machine h", ["h100", "h200", "hits.json", "hall"]), ("dlroof_bench --dlroof_html=", [])]
)
def test_bash_offers_files_itself(line, words):
    assert completed(line) == set(words)


def test_every_command_and_flag_that_help_lists_is_offered():
    listed = run("dlroof --help").out.partition("Subcommands:")[2]
    commands = set(re.findall(r"^  (\w+)", listed, re.M))
    assert len(commands) > 10 and completed("dlroof ") == commands
    for command in commands:
        flags = re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(f"dlroof {command} --help").out, re.M)
        assert flags and completed(f"dlroof {command} --") == set(flags), command
    flags = re.findall(r"--(?:dlroof|benchmark)_\w+", run(f"{BENCH} --help").out)
    assert completed("dlroof_bench --") >= set(flags)


def test_every_suite_is_offered():
    listed = re.findall(r"^ *([a-z]\w+) +\S", run(f"{BENCH} --dlroof_suite=help").out, re.M)
    # beside files of the folder
    assert len(listed) > 10 and completed("dlroof_bench --dlroof_suite=") >= set(listed)


def test_the_script_parses():
    Path("script").write_text(run("dlroof completion bash").out)
    done = subprocess.run(["bash", "-n", "script"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


def test_another_shell_is_refused():
    bad_input(run("dlroof completion ksh"))
