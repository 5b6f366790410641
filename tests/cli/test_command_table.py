"""The command line is one table: what --help and the documents say agrees with it, and no release of a major version takes something out
of it."""
import re
from pathlib import Path

import pytest
from checks import DATA, DLROOF, ROOT, run
from command_table import changes, flags_of, parse, read_table, wrong_in_page
from shells import BENCH

PAGES = sorted(path for layer in ("", "bench", "reporters", "baselines", "ceilings", "counters") for path in (ROOT / layer).glob("*.md"))
PAGES += sorted((ROOT / "bench").glob("*/README.md"))
PAGES.remove(ROOT / "CHANGELOG.md")  # it names flags that went
# Flags of other programs that a page names without the program.
FOREIGN = {"--comment", "--list"}  # ci/compare_commits.sh, ci/gpu_check.sh
FOREIGN |= {"--prefix", "--target"}  # cmake, pip
FOREIGN |= {"--csv", "--page", "--json", "--jsonbin"}  # ncu, nvbench
FOREIGN |= {"--mode", "--conv", "--rnn", "--matmul", "--ip", "--softmax", "--lnorm", "--sdpa", "--eltwise"}  # benchdnn


@pytest.fixture(scope="module")
def table():
    return read_table()


def test_the_table_has_every_program_and_command(table):
    listed = re.findall(r"^  (\w+)", run("dlroof --help").out.partition("Subcommands:")[2], re.M)
    assert {command.split()[1] for command in table if " " in command} == set(listed)
    assert {command.split()[0] for command in table} == {"dlroof", "dlroof_bench"}


def test_help_and_the_table_have_the_same_flags(table):
    for command in table:
        program, *words = command.split()
        path = {"dlroof": DLROOF, "dlroof_bench": BENCH}[program]
        helped = run([path, *words, "--help"]).out
        listed = set(re.findall(r"^ +(?:\w+, *)?(?:-\w,)?(--[\w-]+)", helped, re.M)) | set(re.findall(r"\[(--(?:benchmark_\w+|v))=", helped))
        listed |= set(re.findall(r"^  (?:--[\w-]+,)(--[\w-]+)", helped, re.M))
        # Google Benchmark's own help leaves out what it was built without.
        expected = {flag for flag in flags_of(table, command) if flag.startswith("--")} - {"--benchmark_perf_counters"}
        assert listed - {"--benchmark_perf_counters"} == expected - ({"--help"} if program == "dlroof_bench" else set()), command


def test_pages_name_flags_that_exist(table):
    wrong = [f"{page.relative_to(ROOT)}: {what}" for page in PAGES for what in wrong_in_page(page.read_text(), table, FOREIGN)]
    assert len(PAGES) > 15 and not wrong, "\n".join(wrong)


def test_every_command_is_on_a_page(table):
    pages = "\n".join(page.read_text() for page in PAGES)
    for command in table:
        _, _, words = command.partition(" ")
        assert re.search(rf"\b{command}\b" + (rf"|`{words}\b" if words else ""), pages), f"no page names {command}"


def test_wrong_flags_of_a_page_are_found(table):
    page = """
Text with `--dlroof_suite=x` and `report --balance=tensor`, and --dlroof_prose.

```sh
build/dlroof report run.json -o x.html   # --comment
build/dlroof run --ab a b -- --benchmark_filter=x --dlroof_device=cpu | grep --foo
build/dlroof profile -o x.json -- python --anything
cmake --preset release
```
"""
    assert not list(wrong_in_page(page, table))
    for right, wrong, found in (
        ("--balance", "--balanced", "line 2: dlroof report has no flag --balanced"),
        ("--dlroof_suite", "--dlroof_suites", "line 2: no program has a flag --dlroof_suites"),
        ("-o x.html", "-z x.html", "line 5: dlroof report has no flag -z"),
        ("--ab a b", "--threads 1", "line 5: dlroof run has no flag --threads"),
        ("--dlroof_device", "--device", "line 5: dlroof_bench has no flag --device"),
    ):
        assert found in list(wrong_in_page(page.replace(right, wrong), table))


@pytest.mark.parametrize("stored", sorted(DATA.glob("command_line_*.txt")), ids=lambda path: path.stem)
def test_command_lines_of_released_versions_still_work(stored, table):
    assert changes(parse(stored.read_text()), table) == []


def test_lost_flags_are_found():
    old = "x\t-o,--output\tvalue\toptional\nx\t--format\tvalue\toptional\ta,b\nx\tFILE\tvalue\toptional\ny\t--all\tnothing\toptional\n"
    lines = old.splitlines(True)
    assert changes(parse(old), parse(old)) == []
    assert changes(parse(old), parse(old + "x\t--more\tvalues\toptional\nz\tA\tvalue\trequired\n")) == []
    assert changes(parse(old), parse(old.replace("a,b", "a,b,c"))) == []
    for new, found in (
        ("".join(lines[:3]), "y: the command is gone"),
        (old.replace("-o,", ""), "x --output: the names ['-o'] are gone"),
        ("".join(lines[1:]), "x --output: gone"),
        (old.replace("a,b", "b"), "x --format: the values ['a'] are gone"),
        (old.replace("FILE\tvalue\toptional", "FILE\tvalue\trequired"), "x FILE: is required"),
        (old.replace("--all\tnothing", "--all\tvalue"), "y --all: took nothing, takes value"),
        (old + "x\t--key\tvalue\trequired\n", "x --key: is new and required"),
    ):
        assert changes(parse(old), parse(new)) == [found]
