"""What `cmake --install` gives: it works from another place and folder, and names no folder of the build."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checks import DLROOF, QUICK, ROOT, contains, exits, plain, prints, run, verify

# A sanitizer's objects name their sources.
pytestmark = pytest.mark.scripts

STORED = "baselines/zen5-2c/2026-11-22-conv2d.json"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installs the build and moves the result."""
    folder = tmp_path_factory.mktemp("installed")
    done = subprocess.run(["cmake", "--install", os.path.dirname(DLROOF), "--prefix", folder / "first"], capture_output=True, text=True)
    assert done.returncode == 0, done
    (folder / "first").rename(folder / "another place")
    yield folder / "another place"
    shutil.rmtree(folder)


def installed(prefix, command, **environment):
    program, rest = command.split(" ", 1)
    return run([prefix / "bin" / program, *rest.split()], **environment)


def test_programs_and_data_are_where_the_page_says(prefix):
    assert {"dlroof", "dlroof_bench"} <= {path.name for path in (prefix / "bin").iterdir()}
    assert (prefix / "share/dlroof" / STORED).read_bytes() == (ROOT / "baselines/stored/zen5-2c/2026-11-22-conv2d.json").read_bytes()
    for name in ("suites/resnet50.txt", "gpus/h200.json"):
        assert (prefix / "share/dlroof" / name).is_file(), name
    for name in ("README.md", "LICENSE", "bench/install.md", "baselines/stored/zen5-2c/2026-11-22-conv2d.svg"):
        assert (prefix / "share/doc/dlroof" / name).is_file(), name
    assert (prefix / "share/doc/dlroof/licenses/plotly.js/LICENSE.txt").is_file()  # which the programs contain
    assert not (prefix / "share/doc/libdlroof-dev").exists()  # only in Debian packages


def test_no_file_names_the_source_or_build_folder(prefix):
    named = [str(path) for path in prefix.rglob("*") if path.is_file() and f"{ROOT}/".encode() in path.read_bytes()]
    assert named == []


def test_every_run_path_is_relative(prefix):
    for path in [*(prefix / "bin").iterdir(), *(prefix / "lib/dlroof").glob("*.so*")]:
        header = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
        for folders in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", header):
            for folder in folders.split(":"):
                assert folder.startswith("$ORIGIN"), f"{path}: {folders}"


def test_the_linker_finds_every_library(prefix):
    for name in ("dlroof", "dlroof_bench"):
        found = subprocess.run(["ldd", prefix / "bin" / name], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}).stdout
        assert "not found" not in found, found
        onednn = re.search(r"libdnnl\S* => (\S.*) \(", found)
        assert onednn is None or str(ROOT) not in onednn[1], found


def test_the_doctor_names_the_data(prefix):
    verify(installed(prefix, "dlroof doctor --quick"), [exits(0), prints(rf"^data +{re.escape(str(prefix))}/share/dlroof$")])
    verify(installed(prefix, "dlroof doctor --quick", DLROOF_DATA="/nowhere"), [exits(0), prints("^data +/nowhere: there is no such folder$")])


def test_stored_runs_are_found(prefix, tmp_path):  # of one process on a busy host: most verdicts are ambiguous
    shutil.copy(prefix / "share/dlroof" / STORED, tmp_path / "new.json")
    ran = run([prefix / "bin/dlroof", "compare", "--baseline", "auto", tmp_path / "new.json"])
    verify(ran, [exits(3), prints(f"{re.escape(str(prefix))}/share/dlroof/baselines/zen5-2c/.*json -> ")])


def test_stored_runs_of_the_working_folder_come_first(prefix, own_folder):
    (own_folder / "baselines/stored").mkdir(parents=True)
    for name in ("baselines/stored/mine.json", "new.json"):
        shutil.copy(prefix / "share/dlroof" / STORED, name)
    verify(installed(prefix, "dlroof compare --baseline auto new.json"), [exits(0), prints("baselines/stored/mine.json -> new.json")])


def test_the_variable_chooses_other_stored_runs(prefix, own_folder):
    shutil.rmtree("baselines", ignore_errors=True)
    Path("data/baselines").mkdir(parents=True)
    for name in ("data/baselines/chosen.json", "new.json"):
        shutil.copy(prefix / "share/dlroof" / STORED, name)
    verify(installed(prefix, "dlroof compare --baseline auto new.json", DLROOF_DATA="data"), [exits(0), prints("data/baselines/chosen.json -> new.json")])


def test_the_bench_program_beside_it_is_started(prefix, tmp_path):
    ran = run(
        [
            prefix / "bin/dlroof",
            "run",
            "-o",
            tmp_path / "run.json",
            "--",
            "--benchmark_filter=LSTM/cpu/reference/.*/t16n16i32h16/",
            "--dlroof_machine=none",
            *QUICK.split(),
        ]
    )
    verify(ran, [exits(0), contains(tmp_path / "run.json", "LSTM/cpu/reference")])
    verify(run([prefix / "bin/dlroof", "report", tmp_path / "run.json", "-o", tmp_path / "page.html"]), [exits(0)])


def test_the_build_folder_has_the_same_data(tmp_path):
    shutil.copy(ROOT / "baselines/stored/zen5-2c/2026-11-22-conv2d.json", tmp_path / "new.json")
    ran = run(["dlroof", "compare", "--baseline", "auto", tmp_path / "new.json"])
    verify(ran, [exits(3), plain(f"{os.path.dirname(DLROOF)}/share/dlroof/baselines/zen5-2c")])
