"""ci/compare_commits.sh in a repository with a fake benchmark program as its build."""
import hashlib
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from checks import DLROOF, FAKE_BENCH, ROOT, checks, contains, exists, exits, one_sentence, prints, run, says, verify

PRESETS = '{"version": 3, "configurePresets": [{"name": "release", "generator": "Ninja", ' '"binaryDir": "${sourceDir}/build"}]}'
BUILD = """cmake_minimum_required(VERSION 3.25)
project(fake NONE)
add_custom_target(dlroof_bench COMMAND cp "${CMAKE_SOURCE_DIR}/bench.sh" dlroof_bench VERBATIM)
add_custom_target(dlroof COMMAND ln -sf "${CMAKE_SOURCE_DIR}/dlroof" dlroof VERBATIM)
"""


def commit(message, tag):
    git = "git -c user.name=test -c user.email=test@example.org"
    for command in ("git add -A", f"{git} commit -q -m '{message}'", f"git tag {tag}"):
        verify(run(command), [exits(0)])


@pytest.fixture(scope="module", autouse=True)
def project(folder):
    """Makes commits "first", "slower" (5 % slower) and "broken" (does not configure)."""
    for new in ("ci", ".deps/venv"):
        Path(new).mkdir(parents=True)
    for script in ("compare_commits.sh", "lib.sh"):
        shutil.copy(ROOT / "ci" / script, "ci")
    shutil.copy(FAKE_BENCH, "bench.sh")
    Path("dlroof").symlink_to(DLROOF)
    Path("ci/requirements.txt").touch()  # nothing is to be installed
    Path(".deps/venv/requirements.sha256").write_text(hashlib.sha256(b"").hexdigest() + "  -\n")
    Path(".gitignore").write_text("/.deps\n/out\n/twice\n/comments\n")
    Path("CMakePresets.json").write_text(PRESETS)
    Path("CMakeLists.txt").write_text(BUILD)
    Path("comments").mkdir()
    verify(run("git init -q ."), [exits(0)])
    commit("the first", "first")
    fake = Path("bench.sh").read_text()
    assert "[[ $0 == *slow* ]]" in fake
    Path("bench.sh").write_text(fake.replace("[[ $0 == *slow* ]]", "true"))
    commit("5 % slower", "slower")
    Path("CMakeLists.txt").write_text(BUILD + 'message(FATAL_ERROR "no compiler would take this")\n')
    commit("does not configure", "broken")


def compare(arguments):
    return run("ci/compare_commits.sh " + arguments, timeout=300)


FAKE = " -- --dlroof_machine=none"


class TestASlowerCommit:
    @pytest.fixture(scope="class")
    def ran(self, project):
        return compare("--comment='cp -t comments' first slower" + FAKE)

    @pytest.mark.parametrize(
        "expectation",
        [
            pytest.param(expectation, id=name)
            for name, expectation in {
                "exits 1": exits(1),
                "is printed": prints("3 slower"),
                "is in the comment": contains("comments/comment.md", "slower"),
                "keeps the old run": exists("out/compare/old.json"),
                "keeps the new run": exists("out/compare/new.json"),
            }.items()
        ],
    )
    def test_result(self, ran, expectation):
        expectation(ran)

    def test_is_three_failures_to_junit(self, ran):
        assert len(list(xml.parse("out/compare/junit.xml").iter("failure"))) == 3


@checks(
    ("a commit is not slower than itself; -o names the folder", "-o twice slower slower" + FAKE, exits(0), exists("twice/comment.md")),
    ("the other way round it is faster", "slower first" + FAKE, exits(0), prints("3 faster")),
    ("a comment that fails exits 2 with its command", "--comment=false first slower" + FAKE, exits(2), says("the comment could not be made: false ")),
    ("a broken build exits 2 with the compiler's words", "first broken" + FAKE, exits(2), says("no compiler would take this")),
    ("an unknown commit is refused", "first nowhere", one_sentence),
    ("no commit is refused", "", one_sentence),
    ("an unknown flag is refused", "--fast first", one_sentence),
)
def test_compare_commits(command, expected):
    verify(compare(command), expected)
