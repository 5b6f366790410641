"""The command line is one table: what --help, the manual pages and the documents say agrees with it, and no release of a major version
takes something out of it."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from checks import DATA, DLROOF, ROOT, run
from command_table import changes, flags_of, parse, read_table, wrong_in_page
from shells import BENCH

PAGES = sorted(path for layer in ("", "bench", "reporters", "baselines", "ceilings", "counters") for path in (ROOT / layer).glob("*.md"))
PAGES += sorted((ROOT / "bench").glob("*/README.md"))
# Flags of other programs that a page names without the program.
FOREIGN = {"--comment", "--list"}  # ci/compare_commits.sh, ci/gpu_check.sh
FOREIGN |= {"--prefix", "--target"}  # cmake, pip
FOREIGN |= {"--csv", "--page", "--json", "--jsonbin"}  # ncu, nvbench
FOREIGN |= {"--mode", "--conv", "--rnn", "--matmul", "--ip", "--softmax", "--lnorm", "--eltwise"}  # benchdnn


@pytest.fixture(scope="module")
def table():
    return read_table()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{name: text} of the manual pages."""
    folder = tmp_path_factory.mktemp("man")
    ran = run(f"dlroof man -o {folder}")
    assert ran.code == 0, ran
    return {path.name: path.read_text() for path in folder.iterdir()}


def page_of(command, pages):
    return pages[command.replace(" ", "-") + ".1"]


def plain(roff):
    """Roff text without its escapes."""
    return re.sub(r"\\f[BIR]|\\&", "", roff).replace("\\-", "-").replace("\\(aq", "'")


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


def test_each_command_has_a_manual_page_with_its_flags(table, pages):
    assert len(pages) == len(table)
    for command, arguments in table.items():
        options = plain(page_of(command, pages).partition(".SH OPTIONS\n")[2])
        for name in flags_of(table, command):
            assert re.search(rf"^(?:-\S+, )*{re.escape(name)}(?![\w-])", options, re.M), f"{command}: {name}"
        if positional := [argument.names[0] for argument in arguments if not argument.is_flag]:
            named = plain(page_of(command, pages).partition(".SH ARGUMENTS\n")[2].partition(".SH OPTIONS")[0])
            assert all(re.search(rf"^{name}\b", named, re.M) for name in positional), command


def test_pages_have_the_sections_of_a_manual(pages):
    for name, page in pages.items():
        titles = re.findall(r"^\.SH (.+)", page, re.M)
        assert titles[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"] and titles[-1] == "SEE ALSO", name
        assert {"OPTIONS", "EXIT STATUS", "FILES", "EXAMPLES"} <= set(titles), name
        for other in re.findall(r"^\\fB(\S+)\\fR\(1\)", page.partition(".SH SEE ALSO")[2], re.M):
            assert other.replace("\\-", "-") + ".1" in pages, f"{name} refers to {other}"


def test_examples_of_the_manual_use_flags_that_exist(table, pages):
    for name, page in pages.items():
        examples = plain(page.partition(".SH EXAMPLES\n")[2].partition(".SH ")[0])
        code = "\n".join(f"`{line}`" for line in re.findall(r"^\.TP\n(.*)", examples, re.M))
        assert code and not list(wrong_in_page(code, table)), name


@pytest.mark.parametrize(
    "command",
    [["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"], ["groff", "-ww", "-man", "-Tutf8", "-K", "utf8", "-z"], ["mandoc", "-Tlint", "-W", "warning"]],
    ids=lambda command: command[0],
)
def test_the_pages_are_valid_roff(command, pages, tmp_path):
    if not shutil.which(command[0]):
        pytest.skip(f"needs {command[0]} (Debian: {'man-db' if command[0] == 'man' else command[0]})")
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    for name in pages:
        done = subprocess.run(
            [*command, tmp_path / name], capture_output=True, text=True, timeout=60, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MAN_KEEP_STDERR": "1"}
        )
        assert done.returncode == 0 and done.stderr == "" and (command[0] != "mandoc" or done.stdout == ""), (name, done)


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


def test_an_unknown_page_is_refused():
    ran = run("dlroof man comapre")
    assert ran.code == 2 and "did you mean 'compare'" in ran.err, ran
