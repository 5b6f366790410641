"""The Python wheel of ci/wheel.py: pip installs it in a virtual environment, where it works like any installation and goes without a rest.

Nothing is downloaded: the build's oneDNN stands where its wheel puts it. ci/package.sh installs the wheel with its dependencies.
"""
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from checks import DLROOF, QUICK, ROOT, contains, exits, exists, prints, run, verify

# A sanitizer's objects name their sources.
pytestmark = pytest.mark.scripts

BUILD = os.path.dirname(DLROOF)
STORED = "share/dlroof/baselines/zen5-2c/2026-11-22-conv2d.json"


def done(*command):
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert ran.returncode == 0, ran
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if shutil.which("patchelf") is None or shutil.which("dpkg-query") is None:
        pytest.skip("no patchelf or dpkg-query: the wheel's libraries cannot be collected (Debian: patchelf)")
    folder = tmp_path_factory.mktemp("wheel")
    for component in ("runtime", "bundled"):
        done("cmake", "--install", BUILD, "--prefix", folder / "prefix", "--strip", "--component", component)
    yield Path(done(sys.executable, ROOT / "ci/wheel.py", folder / "prefix", folder / "packages").strip())
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def env(wheel, tmp_path_factory):
    """A virtual environment, not activated, with the wheel."""
    folder = tmp_path_factory.mktemp("venv") / "an environment"
    if subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True).returncode != 0:
        pytest.skip("python3 -m venv fails (Debian: python3-venv)")
    done(folder / "bin/pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
    onednn = re.search(r"libdnnl\.so\.3 => (\S+)", done("ldd", DLROOF))
    if onednn:
        (folder / "lib/libdnnl.so.3").symlink_to(onednn[1])
    yield folder
    done(folder / "bin/pip", "uninstall", "-y", "dlroof")
    left = [str(path) for path in folder.rglob("*dlroof*") if not path.is_dir()]
    assert left == []
    shutil.rmtree(folder)


def test_the_wheel_says_what_it_needs(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        info = next(name for name in names if name.endswith("/METADATA"))
        text = file.read(info).decode()
    pinned = re.search(r"^onednn-cpu-gomp==(\S+)", (ROOT / "ci/requirements.txt").read_text(), re.M)[1]
    assert f"\nRequires-Dist: onednn-cpu-gomp (=={pinned})\n" in text
    assert ("\nProvides-Extra: gpu\n" in text) == os.path.exists(f"{BUILD}/libdlroof_cuda.so")
    assert not any("libdnnl" in name for name in names)
    assert len(names) == len(set(names))


def test_the_same_files_make_the_same_wheel(wheel, tmp_path):
    done(sys.executable, ROOT / "ci/wheel.py", wheel.parent.parent / "prefix", tmp_path)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_every_library_is_in_the_environment_or_of_the_c_and_cpp_run_time(env):
    for name in ("dlroof", "dlroof_bench"):
        found = done("ldd", env / "bin" / name)
        assert "not found" not in found
        outside = re.findall(r"^\s*(\S+) => (\S.*) \(", found, re.M)
        others = {library for library, file in outside if not file.startswith(str(env))}
        assert {re.sub(r"\.so.*", "", library) for library in others} <= {"libc", "libm", "libdl", "librt", "libpthread", "libgcc_s", "libstdc++"}, found


def test_the_data_and_the_stored_runs_are_found(env, tmp_path):
    verify(run([env / "bin/dlroof", "doctor", "--quick"]), [exits(0), prints(rf"^data +{re.escape(str(env))}/share/dlroof$")])
    verify(run([env / "bin/dlroof", "report", env / STORED, "-o", tmp_path / "page.html"]), [exits(0), exists(tmp_path / "page.html")])
    assert (tmp_path / "page.html").stat().st_size > 1_000_000  # with plotly.js


def test_dlroof_bench_measures(env, tmp_path):
    flags = f"--benchmark_filter=LSTM/cpu/reference/.*/t16n16i32h16/ --dlroof_machine=none --benchmark_out={tmp_path}/run.json {QUICK}"
    verify(run([env / "bin/dlroof_bench", *flags.split()]), [exits(0), prints("^LSTM/cpu/reference/"), contains(tmp_path / "run.json", "LSTM/cpu/reference")])


@pytest.mark.skipif(not os.path.exists(f"{BUILD}/libdlroof_cuda.so"), reason="this build has no CUDA module")
def test_the_cuda_module_needs_no_other_library_than_cudas(env):
    found = done("ldd", env / "lib/dlroof/libdlroof_cuda.so")
    missing = re.findall(r"(lib\S+) => not found", found)
    assert all(re.match("lib(cublasLt|cudart|cupti|nvperf_host|nvrtc|cudnn)", name) for name in missing), found
    assert str(env / "lib/dlroof/libfmt") in found
