"""The version stands in one place, documents of a release agree with it, and files of earlier versions are still read."""
import configparser
import json
import re

import pytest
from checks import DATA, ROOT, run

STORED = sorted((ROOT / "baselines/stored").glob("*/*.json"))
# Run files of tests, beside those that are another tool's or only a part of a file.
SAMPLES = [DATA / "run_small.json", DATA / "h200_profile_resnet50.json"]


def version():
    return re.match(r"\d+\.\d+\.\d+", run("dlroof --version").out)[0]


def test_programs_have_the_version_of_the_build():
    assert version() == re.search(r"^project\(dlroof VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def test_documents_have_the_version_and_its_date():
    newest = re.search(r"^## \[(\d\S*)\] - (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    citation = (ROOT / "CITATION.cff").read_text()
    assert newest[1] == version()
    assert f"\nversion: {version()}\n" in citation and f"\ndate-released: {newest[2]}\n" in citation


def schema(path):
    return json.loads(path.read_text())["context"]["dlroof"]["schema"]


def test_run_files_of_every_schema_are_stored():
    assert {schema(path) for path in STORED} == {1, 2}


@pytest.mark.parametrize("path", STORED + SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_run_files_are_read(path):
    ran = run(["dlroof", "report", "--show=table", path])
    assert ran.code == 0 and ran.err == "", ran
    names = [record["name"] for record in json.loads(path.read_text())["records"] if record["status"] == "ok"]
    assert names and any(name in ran.out for name in names) or path in SAMPLES  # whose kernels have shorter names there


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_machine_files_are_read(path, tmp_path):
    for machine in json.loads(path.read_text())["machines"]:
        file = tmp_path / "machine.json"
        file.write_text(json.dumps(machine))
        ran = run(["dlroof", "machine", file])
        assert ran.code == 0 and ran.err == "" and machine["name"] in ran.out, ran


def test_a_tuning_is_read():
    ran = run(["dlroof", "tune", DATA / "tuning_1.0.json"])
    assert ran.code == 0 and "as fast" in ran.out, ran


def test_a_history_is_read():
    ran = run(["dlroof", "history", "list", "--db", DATA / "history_2.0.sqlite"])
    assert ran.code == 0 and ran.out, ran


# The editors' settings are those that the formatters enforce.
def test_editorconfig_agrees_with_the_formatters():
    editor = configparser.ConfigParser()
    editor.read_string("[root]\n" + (ROOT / ".editorconfig").read_text())
    layout = dict(re.findall(r"^(\w+): (\w+)", (ROOT / ".clang-format").read_text().partition("---")[0], re.M))
    script = (ROOT / "ci/check_format.sh").read_text()
    assert editor["*.{cpp,h,cu,cuh}"]["max_line_length"] == layout["ColumnLimit"] and layout["BasedOnStyle"] == "Google"
    assert editor["*"]["indent_size"] == "2" and editor["*"]["indent_style"] == "space"
    assert editor["*.py"]["max_line_length"] == re.search(r"black .*-l (\d+)", script)[1] and editor["*.py"]["indent_size"] == "4"
    assert re.search(r"shfmt (-\S+(?: \d+)?(?: -\w+)*)", script)[1] == "-i 2 -ci -bn"
    assert editor["*.{sh,bash}"]["switch_case_indent"] == editor["*.{sh,bash}"]["binary_next_line"] == "true"
    assert editor["*.js"]["max_line_length"] == re.findall(r"ColumnLimit: (\d+)", (ROOT / ".clang-format").read_text())[1]
