"""Projects outside of the tree that use dlroof::benchmark: from an installation, a build folder, pkg-config, FetchContent."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from checks import DLROOF, ROOT, exits, prints, run, verify

pytestmark = [pytest.mark.scripts, pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")]

BUILD = Path(DLROOF).parent
QUICK = "--benchmark_repetitions=2 --benchmark_min_time=0.001 --dlroof_machine=none"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("consumers") / "prefix"
    verify(run(["cmake", "--install", BUILD, "--prefix", folder], timeout=120), [exits(0)])
    yield folder
    shutil.rmtree(folder)


def build(source, *options, target="all"):
    """Configures and builds a project; returns its build folder."""
    folder = Path("built").absolute()
    verify(run(["cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", *options], timeout=300), [exits(0)])
    verify(run(["cmake", "--build", folder, "--target", target, "-j2"], timeout=600), [exits(0)])
    return folder


def test_the_examples_build_against_an_installation(prefix, own_folder):
    built = build(prefix / "share/dlroof/examples", f"-DCMAKE_PREFIX_PATH={prefix}")
    verify(run(f"{built}/axpy --benchmark_filter=/4096/ {QUICK}"), [exits(0), prints("^BM_Axpy/4096 .*FLOP/s +0.167$")])
    verify(run(f"{built}/gemm {QUICK}"), [exits(0), prints("^BM_Gemm/by_element/256 "), prints("^BM_Gemm/by_tile/256 ")])
    verify(run(f"{built}/stencil --benchmark_filter=/256/ {QUICK}"), [exits(0), prints("^BM_Stencil/256 .*FLOP/s")])


def test_an_example_builds_against_a_build_folder(own_folder):
    built = build(ROOT / "bench/library/examples", f"-Ddlroof_DIR={BUILD}", target="axpy")
    verify(run(f"{built}/axpy --benchmark_filter=/4096/ {QUICK}"), [exits(0), prints("^BM_Axpy/4096 .*FLOP/s")])


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_a_program_builds_with_pkg_config(prefix, compiler, own_folder):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    files = [str(path.parent) for path in prefix.rglob("dlroof.pc")]
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "dlroof"], env={**os.environ, "PKG_CONFIG_PATH": files[0]}, capture_output=True, text=True, check=True
    ).stdout.split()
    verify(run([compiler, "-std=c++20", "-O2", ROOT / "tests/programs/own_main.cpp", "-o", "own_main", *flags], timeout=120), [exits(0)])
    verify(run(f"./own_main {QUICK}"), [exits(0), prints("^mine: BM_Add/real_time")])


def test_a_project_can_contain_it(own_folder):
    """Only configured: dlroof itself takes minutes to compile."""
    Path("CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(dlroof SOURCE_DIR "{ROOT}" EXCLUDE_FROM_ALL)
set(DLROOF_ONEDNN OFF)
set(DLROOF_CUDA OFF)
FetchContent_MakeAvailable(dlroof)
add_executable(mine mine.cpp)
target_link_libraries(mine PRIVATE dlroof::benchmark_main)
"""
    )
    Path("mine.cpp").write_text("#include <dlroof/benchmark.h>\n")
    verify(run(["cmake", "-S", ".", "-B", "built", "-G", "Ninja"], timeout=300), [exits(0)])
    verify(run(["ninja", "-C", "built", "-t", "query", "mine"]), [exits(0), prints("libdlroof_benchmark_main.a$"), prints("libdlroof_benchmark.a$")])
