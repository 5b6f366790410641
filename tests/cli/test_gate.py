"""dlroof gate and bisect on a repository of 20 commits with a planted slowdown, and the recipes for CI systems."""
import json
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from checks import DATA, DLROOF, ROOT, bad_input, exits, plain, prints, run, says, verify

PROJECT = DATA / "gate_project"
RECIPES = ROOT / "baselines" / "recipes"
PARSE, RENDER = "BM_Parse/manual_time", "BM_Render/manual_time"  # a simulated clock: nothing depends on the machine
COMMITS, SLOW, BROKEN = 20, 11, 6  # commits count from 1; SLOW makes BM_Parse 1.6 times as long, BROKEN does not compile
QUICK = "--benchmark_min_time=0.005 --benchmark_repetitions=9"
GIT = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}

pytestmark = pytest.mark.serial


def git(*arguments, repository="project"):
    done = subprocess.run(["git", "-C", repository, *arguments], env={**os.environ, **GIT}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def build(repository="project"):
    return subprocess.run(["make", "-s", f"MAIN_OBJECT={os.getcwd()}/main.o", "bench"], cwd=repository, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def commits(folder):
    """Makes the repository. Returns its commits, the first at index 1."""
    for tool in ("git", "make", "g++"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    compiled = subprocess.run(["g++", "-O1", "-c", "-o", "main.o", PROJECT / "simulated_main.cpp"], capture_output=True)
    if compiled.returncode != 0:
        pytest.skip("Google Benchmark's header is not installed for g++")
    shutil.copytree(PROJECT, "project")
    git("init", "-q", "-b", "main")
    Path("project/.gitignore").write_text("bench\ngate\nsite\n*.sqlite*\n")
    made = [None]
    original = Path("project/kernel.cpp").read_text()
    for commit in range(1, COMMITS + 1):
        text = original.replace("20000", "32000") if commit >= SLOW else original
        if commit == BROKEN:
            text = text.replace("double Render", "doubel Render")
        Path("project/kernel.cpp").write_text(text)
        Path("project/notes.txt").write_text(f"{commit}\n")
        git("add", ".")
        git("commit", "-q", "-m", f"Change number {commit}")
        made.append(git("rev-parse", "HEAD"))
    return made


def gate(arguments, budget=5, program="./bench", **environment):
    command = f"cd project && {shlex.quote(DLROOF)} gate --min-effect=20% --budget={budget} {arguments} -- {program} {QUICK}"
    return run(["bash", "-c", command], timeout=300, **environment)


@pytest.fixture(scope="module")
def gates(commits):
    """Runs the gate on each commit, as CI does on main. Returns what it said, by commit."""
    said = {}
    Path("slow_start").write_text('#!/bin/sh\nsleep 0.3\nexec ./bench "$@"\n')
    Path("slow_start").chmod(0o755)
    for commit in range(1, COMMITS + 1):
        git("checkout", "-q", commits[commit])
        if not build():
            assert commit == BROKEN
            continue
        hurried = gate("", budget=0.2, program="../slow_start") if commit == SLOW else None
        said[commit] = gate("--store", budget=60, GITHUB_ACTIONS="true")
        said[commit].hurried = hurried
        said[commit].comment = Path("project/gate/comment.md").read_text()
        if commit == SLOW:
            shutil.copy("project/gate/junit.xml", "slow.xml")
    git("checkout", "-q", "main")
    return said


def test_the_gate_accuses_the_slow_commit_and_no_other(gates):
    codes = {commit: ran.code for commit, ran in gates.items()}
    assert [commit for commit, code in codes.items() if code == 1] == [SLOW] and set(codes.values()) <= {0, 1}, (codes, gates[SLOW])


def test_a_slowdown_that_the_budget_left_open_exits_3(gates):
    verify(gates[SLOW].hurried, [exits(3), plain("1 ambiguous"), plain("(1 could still be slower)")])


def test_the_first_run_is_stored(gates):
    verify(gates[1], [plain("perf.sqlite has no run of main that this one can be compared with; stored this one")])


def test_the_comment_is_short_and_names_what_is_slower(gates, commits):
    comment = gates[SLOW].comment
    assert len(comment.splitlines()) <= 10
    assert re.search(r"^### dlroof: 1 slower", comment) and "**BM_Parse/manual_time** +" in comment and "Render" not in comment, comment
    assert f"which commit: `{commits[SLOW][:12]}`, the only one after `{commits[SLOW - 1][:12]}`" in comment, comment
    assert all(len(ran.comment.splitlines()) <= 10 for ran in gates.values())


def test_the_slow_commit_was_measured_interleaved_with_the_stored_program(gates, commits):
    verify(gates[SLOW], [prints(f"measured again, interleaved with the program of {commits[SLOW - 1][:12]}")])


def test_a_job_that_runs_again_is_not_compared_with_its_own_commit(gates, commits):
    again = gate("--run gate/run.json", budget=0)
    verify(again, [prints(f"{commits[COMMITS][:12]} against 10 runs of main, the newest of {commits[COMMITS - 1][:12]}")])


def test_annotations_are_githubs(gates):
    verify(gates[SLOW], [prints(r"^::error title=dlroof%3A BM_Parse/manual_time::BM_Parse/manual_time: \+[4-9][0-9]\.[0-9] %25 \(")])
    assert not any("::error" in ran.out for commit, ran in gates.items() if commit != SLOW)


def test_junit_has_one_failure(gates):
    assert len(gates) == COMMITS - 1
    assert len(xml.parse("slow.xml").getroot().findall(".//failure")) == 1


def test_the_history_knows_commits_branch_and_programs(gates, commits):
    listed = run("dlroof history list --db project/perf.sqlite").out
    rows = [line for line in listed.splitlines() if " main " in line]
    assert len(rows) == COMMITS - 1 and all(" stored " in row for row in rows), listed
    assert [commit[:12] in listed for commit in commits[1:]] == [commit != BROKEN for commit in range(1, COMMITS + 1)]


def test_a_change_of_the_history_hands_over_its_bisect_command(gates, commits):
    ran = run(f"dlroof history show --db project/perf.sqlite {PARSE}")
    found = re.search(
        r"^\+\d+\.\d % between (\w+) and (\w+): dlroof bisect \1 \2 --build 'BUILD COMMAND' --program PATH -- BM_Parse/manual_time$", ran.out, re.M
    )
    assert found, ran
    assert abs(commits.index(found.group(2)) - SLOW) <= 1, ran


def test_a_stored_program_still_runs(gates, commits):
    program = Path(f"project/perf.sqlite.builds/{commits[2]}/run").resolve()
    verify(run(f"{program} --benchmark_list_tests=true"), [exits(0), plain(PARSE)])


def bisect(arguments, name=PARSE, **options):
    make = shlex.quote(f"make -s MAIN_OBJECT={os.getcwd()}/main.o bench")
    return run(f"dlroof bisect -C project --build {make} --program bench --min-effect=20% --budget=60 {arguments} -- {name}", timeout=600, **options)


def test_bisect_ends_at_the_slow_commit(commits):
    ran = bisect(f"{commits[1]} main")
    verify(ran, [exits(0), prints(f"^{commits[SLOW][:12]} Change number {SLOW}$"), prints(PARSE + r" \+[4-9][0-9]\.\d % .*: this commit")])
    assert git("worktree", "list").count("\n") == 0  # its worktrees are gone


def test_bisect_passes_over_what_does_not_build(commits):
    """The commit after the broken one: the two cannot be told apart, and both are named."""
    git("checkout", "-q", "-b", "slow_while_broken", commits[1])
    for text in ("doubel x;", "double Parse2();"):
        Path("project/kernel.cpp").write_text((PROJECT / "kernel.cpp").read_text().replace("20000", "32000") + text + "\n")
        git("commit", "-q", "-a", "-m", f"Add {text}")
    verify(bisect(f"{commits[1]} slow_while_broken"), [exits(3), prints("one of 2 commits"), plain("Add doubel x;"), says("skipped: the build ended")])
    git("checkout", "-q", "main")


def test_bisect_without_a_difference_cannot_tell(commits):
    verify(bisect(f"{commits[1]} main", RENDER), [exits(3), prints(f"{RENDER} does not differ between")])


@pytest.mark.parametrize(
    "command, sentence",
    [
        ("dlroof bisect main", "expected the benchmark's name behind --"),
        ("dlroof bisect -C project main -- x", "expected two commits, GOOD and BAD"),
        ("dlroof bisect -C project main main -- x", "main is not an ancestor of main"),
        ("dlroof bisect -C project main~1 no_such -- x", "no_such: no commit of the repository"),
        ("dlroof bisect -C project --build false main~1 main -- x", "the build ended with exit code 1"),
        ("dlroof bisect -C project --build true --program none main~1 main -- x", "the build left no none"),
        ("dlroof gate -- ./none", "none: No such file or directory"),
        ("dlroof gate --run none.json", "none.json"),
        ("dlroof gate --limit 2Q --run none.json", "expected a size such as 500M or 2G"),
        ("dlroof history keep-build --db project/perf.sqlite none", "none: no such file, expected a program to store"),
        ("dlroof history keep-build --db project/perf.sqlite --commit ../x project/bench", "expected a commit to store the program for"),
        ("dlroof history keep-build --db project/perf.sqlite --limit 1k project/bench", "more than all stored programs may"),
    ],
)
def test_bad_input(gates, command, sentence):
    ran = run(command)
    verify(ran, [exits(2), says(re.escape(sentence))])


class TestStoredPrograms:
    def test_the_least_recently_used_go(self, gates):
        shutil.copy("project/perf.sqlite", "few.sqlite")
        size = Path("project/bench").stat().st_size
        for number, commit in enumerate(("aaaaaaa", "bbbbbbb", "ccccccc")):
            shutil.copy("project/bench", "own")
            with open("own", "ab") as program:
                program.write(bytes([number]))
            ran = run(f"dlroof history keep-build --db few.sqlite --commit {commit} --limit {int(2.5 * size)} own")
            verify(ran, [exits(0)])
        verify(ran, [plain("removed the least recently used program, of aaaaaaa")])
        assert sorted(path.name for path in Path("few.sqlite.builds").iterdir() if not path.name.startswith(".")) == ["bbbbbbb", "ccccccc", "objects"]
        assert len(list(Path("few.sqlite.builds/objects").iterdir())) == 2

    def test_equal_programs_are_stored_once(self, gates):
        verify(run("dlroof history keep-build --db few.sqlite --commit ddddddd project/bench"), [exits(0)])
        verify(run("dlroof history keep-build --db few.sqlite --commit eeeeeee project/bench"), [exits(0), plain("0.0 MB new")])


def recipe_scripts(name):
    """The shell scripts of a recipe, in order."""
    text = (RECIPES / name).read_text()
    if name == "Jenkinsfile":
        return re.findall(r"sh '''(.*?)'''", text, re.S)
    if name == "nightly.sh":
        return [text]
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(text)
    if name == "github-actions.yml":
        return [step["run"] for step in recipe["jobs"]["gate"]["steps"] if "run" in step]
    return ["\n".join(recipe[job]["script"]) for job in ("performance", "pages")]


NAMES = ["github-actions.yml", "gitlab-ci.yml", "Jenkinsfile", "nightly.sh"]


@pytest.mark.parametrize("name", NAMES)
def test_the_scripts_of_a_recipe_are_right(name):
    scripts = recipe_scripts(name)
    assert any("dlroof gate" in script for script in scripts)
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        if shutil.which("shellcheck"):  # unquoted variables hold commands with arguments
            done = subprocess.run(["shellcheck", "-s", "sh", "-e", "SC2086,SC2154", "-"], input=script, text=True, capture_output=True)
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_runs(gates, commits, name):
    """On the slow commit after its parent: the gate's step fails, and only that one."""
    folder = Path(f"recipe_{name.split('.')[0]}").resolve()
    (folder / "bin").mkdir(parents=True)
    (folder / "perf").mkdir()
    subprocess.run(["git", "clone", "-q", "project", folder / "checkout"], check=True)
    for tool in ("gh", "mail"):
        (folder / "bin" / tool).write_text(f'#!/bin/sh\necho {tool} "$@" >> {folder}/called\n')
        (folder / "bin" / tool).chmod(0o755)
    (folder / "bin" / "dlroof").symlink_to(DLROOF)
    environment = {
        **GIT,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "BENCH_BUILD": f"make -s MAIN_OBJECT={os.getcwd()}/main.o bench",
        "BENCH": f"./bench {QUICK} --benchmark_filter=Parse",
        "PERF": str(folder / "perf"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_EVENT_NAME": "push",
        "NUMBER": "7",
        "CI_COMMIT_BRANCH": "main",
        "CI_DEFAULT_BRANCH": "main",
        "BRANCH_NAME": "main",
        "BENCH_REPOSITORY": str(folder / "checkout"),
        "MAIL_TO": "team@example.org",
    }
    codes = []
    for commit in (SLOW - 1, SLOW):
        git("checkout", "-q", "-B", "main", commits[commit], repository=folder / "checkout")
        git("config", "branch.main.remote", ".", repository=folder / "checkout")  # a pull that finds nothing new
        git("config", "branch.main.merge", "refs/heads/main", repository=folder / "checkout")
        for script in recipe_scripts(name):
            done = subprocess.run(
                ["sh", "-e"], cwd=folder / "checkout", env={**os.environ, **environment}, input=script, text=True, capture_output=True, timeout=300
            )
            codes.append(done.returncode)
            if "dlroof gate" in script:
                last = done
    count = len(recipe_scripts(name))
    expected = [int("dlroof gate" in script) for script in recipe_scripts(name)]
    assert codes[:count] == [0] * count and codes[count:] == expected, (codes, last)
    assert "1 slower" in (folder / ("perf/gate" if name == "nightly.sh" else "checkout/gate") / "comment.md").read_text()


def test_a_run_without_its_program_is_measured_in_further_processes(gates, commits):
    """Without stored programs: slower in the first process and in a second one."""
    git("checkout", "-q", commits[SLOW])
    assert build()
    ran = gate("--last 3 --db sub.sqlite")
    verify(ran, [exits(3), plain("sub.sqlite has no run of main")])
    os.makedirs("fast", exist_ok=True)
    first = run("dlroof export --format=run --db project/perf.sqlite --run 8 -o fast/8.json")
    second = run("dlroof export --format=run --db project/perf.sqlite --run 9 -o fast/9.json")
    verify(first, [exits(0)]), verify(second, [exits(0)])
    verify(run("dlroof history add --db project/sub.sqlite --branch main fast/8.json fast/9.json"), [exits(0)])
    ran = gate("--db sub.sqlite", budget=60)
    verify(ran, [exits(1), prints(PARSE), says("in further processes")])
    git("checkout", "-q", "main")
