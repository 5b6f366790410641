#!/usr/bin/env python3
"""Runs two builds of dlroof over every stored run file and lists each output that differs.

    ci/compare_outputs.py OLD_DLROOF NEW_DLROOF [--diff FILE]     exit code 1 if an output or an exit code differs

Tables, pictures, figures, JSON, pages' data, verdicts in every format, exports, histories and models: what a change that
promises to change no number must leave as it was. FILE gets the differences, to be read.
"""
import argparse
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
STUDIES = "baselines/studies"


def run_files():
    files = sorted(glob.glob(f"{ROOT}/baselines/stored/*/*.json"))
    files += [f"{ROOT}/{STUDIES}/v100_published/{name}" for name in ("conv2d.json", "lstm.json.gz", "deepcam.json.gz", "deepcam-census.json.gz")]
    files += [f"{ROOT}/tests/data/{name}.json" for name in ("run_small", "run_ceilings", "v100_gpu_run")]
    return [os.path.relpath(file, ROOT) for file in files]


def commands(files):
    """Yields (label, arguments); {out} stands for the file that the command writes."""
    for file in files:
        yield file, ["report", file]
        yield file, ["report", file, "--levels=dram"]
        yield file, ["report", file, "--balance=tensor"]
        for extension in ("json", "svg", "html"):
            yield file, ["report", file, "-o", "{out}." + extension]
        for form in ("bencher", "csv", "github-action", "openmetrics", "otava"):
            yield file, ["export", "--format=" + form, file]
    pairs = [(a, b) for a in files for b in files if a != b and os.path.dirname(a) == os.path.dirname(b) and a.replace("-again", "")[:-5].split("-")[-1] in b]
    for base, new in pairs:
        for form in ("table", "markdown", "json", "junit", "sarif"):
            yield f"{base} {new}", ["compare", base, new, "--format=" + form]
    for base, new in pairs[:2]:
        yield f"{base} {new}", ["report", new, "--before", base, "-o", "{out}.svg"]
    cascade, zen = (f"baselines/stored/{m}/2026-11-2{d}-conv2d.json" for m, d in (("cascade-lake-2c", 1), ("zen5-2c", 2)))
    yield "across machines", ["compare", cascade, zen, "--across-machines"]
    for suite in ("alexnet", "resnet152"):
        yield suite, ["model", "--gpu", "v100", "--suite", suite, "--batch", "256", "--scale", "sm=2"]
        yield suite, ["model", "--gpu", "v100", "--suite", suite, "--batch", "256", "-o", "{out}.json"]
    for file in files:
        if "v100" in file:
            yield file, ["model", file]
    for arguments in (
        ["--csv", "import_small.csv"],
        ["", "import_ncu_raw.csv"],
        ["", "import_likwid.csv"],
        ["", "import_nvbench.json"],
        ["", "import_benchdnn.txt"],
        ["", "import_ert.json"],
    ):
        yield arguments[1], ["import", "tests/data/" + arguments[1], "-o", "{out}.json"]
    yield "counters", ["counters", "--chip=GH100"]


def history_commands(files, database):
    for file in files[:6]:
        yield "history", ["history", "add", file, "--db", database]
    yield "history", ["history", "list", "--db", database]
    yield "history", ["history", "export", "--db", database]
    yield "history", ["export", "--format=openmetrics", "--db", database]


def page_data(text):
    """A page's JSON; scripts and styles are code, not results."""
    return "\n".join(re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S)) or text


def output(program, arguments, folder):
    """What the program prints and writes, without what depends on where and by which build it was made."""
    out = os.path.join(folder, "out")
    done = subprocess.run([program] + [argument.replace("{out}", out) for argument in arguments], cwd=ROOT, capture_output=True, text=True, errors="replace")
    text = f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    for name in sorted(os.listdir(folder)):
        if name.startswith("out."):
            with open(os.path.join(folder, name), errors="replace") as file:
                written = file.read()
            text += page_data(written) if name.endswith(".html") else written
            os.remove(os.path.join(folder, name))
    return re.sub(r'"(commit|dlroof_commit|built|added_at|date)": ?"[^"]*"', '""', text.replace(folder, "FOLDER"))


def compare(old, new, diff):
    total = different = 0
    with tempfile.TemporaryDirectory() as folder:
        files = run_files()
        steps = [(label, arguments, arguments) for label, arguments in commands(files)]
        steps += [(label, a, b) for (label, a), (_, b) in zip(history_commands(files, f"{folder}/old.db"), history_commands(files, f"{folder}/new.db"))]
        for label, old_arguments, new_arguments in steps:
            before, after = output(old, old_arguments, folder), output(new, new_arguments, folder)
            after = after.replace("FOLDER/new.db", "FOLDER/old.db")
            total += 1
            if before == after:
                continue
            different += 1
            print(f"differs: dlroof {' '.join(new_arguments)}   ({label})")
            if diff:
                diff.write(f"=== dlroof {' '.join(new_arguments)}\n")
                diff.writelines(line + "\n" for line in difflib.unified_diff(before.splitlines(), after.splitlines(), "old", "new", lineterm="", n=0))
    print(f"{total} outputs, {different} differ")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--diff", type=argparse.FileType("w"), help="where the differences go")
    arguments = parser.parse_args()
    sys.exit(1 if compare(os.path.abspath(arguments.old), os.path.abspath(arguments.new), arguments.diff) else 0)


if __name__ == "__main__":
    main()
