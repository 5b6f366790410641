#!/usr/bin/env python3
"""Does `dlroof gate` find a slowdown of 5 to 10 % in the middle of 20 commits, accuse no other, and does `bisect` end at it?

    gate_study.py DATE-MACHINE.json --folder FOLDER [--percent 8] [--slow 12] [--commits 20] [--budget 40]     # measures
    gate_study.py DATE-MACHINE.json                                                                            # what it found

Makes a Git repository of tests/data/gate_project (a Google Benchmark program) in FOLDER with COMMITS commits; from commit SLOW on
BM_Parse takes PERCENT % more steps. Runs the gate on each commit as CI does on main (--store), then bisect from the first commit
to the last. What is expected comes from the number of steps, not from dlroof.
"""
import os
import shutil
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

PROJECT = lib.ROOT / "tests/data/gate_project"
STEPS = 20000
GIT = {"GIT_AUTHOR_NAME": "s", "GIT_AUTHOR_EMAIL": "s@example.org", "GIT_COMMITTER_NAME": "s", "GIT_COMMITTER_EMAIL": "s@example.org"}


def timed(*command, cwd, codes=(0,)):
    """Runs a command in a folder. Returns its exit code, its time and the lines that it prints."""
    begin = time.time()
    ran = lib.run(*command, cwd=cwd, codes=codes, env={**os.environ, **GIT})
    return {"exit_code": ran.returncode, "seconds": round(time.time() - begin, 1), "said": ran.stdout.splitlines()}


def make_repository(folder, arguments):
    """Returns the commits."""
    shutil.copytree(PROJECT, folder)
    timed("git", "init", "-q", "-b", "main", cwd=folder)
    (folder / ".gitignore").write_text("bench\ngate\n*.sqlite*\n")
    text, commits = (folder / "kernel.cpp").read_text(), []
    for number in range(1, arguments.commits + 1):
        steps = round(STEPS * (1 + arguments.percent / 100)) if number >= arguments.slow else STEPS
        (folder / "kernel.cpp").write_text(text.replace(str(STEPS), str(steps)))
        (folder / "notes.txt").write_text(f"{number}\n")
        timed("git", "add", ".", cwd=folder)
        timed("git", "commit", "-q", "-m", f"Change number {number}", cwd=folder)
        commits += timed("git", "rev-parse", "HEAD", cwd=folder)["said"]
    return commits


def measure(arguments):
    dlroof, folder = os.path.abspath(arguments.dlroof), arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    repository, main_object = folder / "project", folder / "main.o"
    lib.run("g++", "-O1", "-c", "-o", main_object, PROJECT / "main.cpp")
    build = f"make -s MAIN_OBJECT={main_object} bench"
    commits, gates = make_repository(repository, arguments), []
    for number, commit in enumerate(commits, 1):
        timed("git", "checkout", "-q", commit, cwd=repository)
        timed("sh", "-c", build, cwd=repository)
        flags = [f"--budget={arguments.budget}", "--min-effect=3%", "--", "./bench", "--benchmark_min_time=0.02"]
        gates.append({"commit": number, **timed(dlroof, "gate", "--store", *flags, cwd=repository, codes=None)})
        print(*gates[-1].values(), sep="  ", flush=True)
    flags = ["--build", build, "--program", "bench", f"--budget={3 * arguments.budget}", "--", "BM_Parse"]
    bisect = timed(dlroof, "bisect", commits[0], commits[-1], *flags, cwd=repository, codes=None)
    bisect["found"] = bisect.pop("said")
    bisect["right"] = bool(bisect["found"]) and commits[arguments.slow - 1].startswith(bisect["found"][0].split()[0])
    accused = [gate["commit"] for gate in gates if gate["exit_code"] == 1]
    return {"command": lib.command(), "percent": arguments.percent, "slow": arguments.slow, "accused": accused, "gates": gates, "bisect": bisect}


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--percent", type=float, default=8)
    parser.add_argument("--slow", type=int, default=12)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--budget", type=float, default=40)
    arguments = parser.parse_args()
    if arguments.folder:
        lib.write(arguments.file, measure(arguments))
    study = lib.read(arguments.file)
    seconds = sorted(gate["seconds"] for gate in study["gates"])
    print("accused:", study["accused"], "planted:", study["slow"], "bisect is right:", study["bisect"]["right"], "gates [s]:", lib.middle(seconds, ".1f"))
    print(*study["bisect"]["found"], sep="\n")


if __name__ == "__main__":
    main()
