"""`dlroof new`: the folder of a user's first benchmark. That it builds is a test of the installed package."""
import re
from pathlib import Path

import pytest
from checks import bad_input, run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_writes_a_project():
    ran = run("dlroof new mybench")
    assert ran.code == 0 and ran.err == "", ran
    assert sorted(path.name for path in Path("mybench").iterdir()) == ["CMakeLists.txt", "README.md", "mybench.cpp"]
    cmake = Path("mybench/CMakeLists.txt").read_text()
    version = re.match(r"\d+\.\d+", run("dlroof --version").out)[0]
    assert f"find_package(dlroof {version} CONFIG REQUIRED)" in cmake
    assert "add_executable(mybench mybench.cpp)" in cmake
    assert re.search(r"target_link_libraries\(mybench \w+ dlroof::benchmark_main\)", cmake)
    source = Path("mybench/mybench.cpp").read_text()
    assert "#include <dlroof/benchmark.h>" in source and "dlroof::Measure(state" in source and "BENCHMARK(BM_Axpy)" in source
    assert not [path for path in Path("mybench").iterdir() if "@" in path.read_text()]


def test_a_path_ends_with_the_name():
    assert run("dlroof new work/deep/my-bench/").code == 0
    assert Path("work/deep/my-bench/my-bench.cpp").exists()


def test_refuses_what_exists():
    Path("mine").mkdir()
    Path("link").symlink_to("nowhere")
    Path("file").touch()
    for name in ("mine", "link", "file", "./mine/"):
        bad_input(run(f"dlroof new {name}"))
    assert not list(Path("mine").iterdir())


@pytest.mark.parametrize("name", ["", ".", "..", "/", "2nd", "-x", "my bench", "a/b.c", "größe", "_x", "test", "all", "dlroof", "a;b", "a$b"])
def test_refuses_names(name):
    bad_input(run(["dlroof", "new", "--", name] if name.startswith("-") else ["dlroof", "new", name]))
    assert not list(Path().iterdir())


def test_a_folder_that_cannot_be_made_is_one_sentence():
    Path("file").touch()
    bad_input(run("dlroof new file/mybench"))
