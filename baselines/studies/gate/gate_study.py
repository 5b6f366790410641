#!/usr/bin/env python3
"""Does `dlroof gate` find a slowdown of 5 to 10 % in the middle of 20 commits, accuse no other, and does `bisect` end at it?

    python3 gate_study.py DLROOF FOLDER [--percent 8] [--slow 12] [--commits 20] [--budget 40] [-o DATE-MACHINE.json]

Makes a Git repository of tests/data/gate_project (a Google Benchmark program) in FOLDER with COMMITS commits; from commit SLOW on
BM_Parse takes PERCENT % more steps. Runs the gate on each commit as CI does on main (--store), then bisect from the first commit
to the last. What is expected comes from the number of steps, not from dlroof.
"""
import argparse
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3] / "tests" / "data" / "gate_project"
STEPS = 20000
GIT = {"GIT_AUTHOR_NAME": "s", "GIT_AUTHOR_EMAIL": "s@example.org", "GIT_COMMITTER_NAME": "s", "GIT_COMMITTER_EMAIL": "s@example.org"}


def call(command, folder, check=True):
    return subprocess.run(command, cwd=folder, env={**os.environ, **GIT}, capture_output=True, text=True, check=check)


def make_repository(folder, args):
    shutil.copytree(PROJECT, folder)
    call(["git", "init", "-q", "-b", "main"], folder)
    (folder / ".gitignore").write_text("bench\ngate\n*.sqlite*\n")
    text = (folder / "kernel.cpp").read_text()
    commits = []
    for commit in range(1, args.commits + 1):
        steps = round(STEPS * (1 + args.percent / 100)) if commit >= args.slow else STEPS
        (folder / "kernel.cpp").write_text(text.replace(str(STEPS), str(steps)))
        (folder / "notes.txt").write_text(f"{commit}\n")
        call(["git", "add", "."], folder)
        call(["git", "commit", "-q", "-m", f"Change number {commit}"], folder)
        commits.append(call(["git", "rev-parse", "HEAD"], folder).stdout.strip())
    return commits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlroof")
    parser.add_argument("folder")
    parser.add_argument("--percent", type=float, default=8)
    parser.add_argument("--slow", type=int, default=12)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--budget", type=float, default=40)
    parser.add_argument("--min-effect", default="3%")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    dlroof, folder = os.path.abspath(args.dlroof), Path(args.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    main_object = folder / "main.o"
    subprocess.run(["g++", "-O1", "-c", "-o", main_object, PROJECT / "main.cpp"], check=True)
    build = f"make -s MAIN_OBJECT={main_object} bench"
    repository = folder / "project"
    commits = make_repository(repository, args)
    rows = []
    for number, commit in enumerate(commits, 1):
        call(["git", "checkout", "-q", commit], repository)
        subprocess.run(build, shell=True, cwd=repository, check=True)
        begin = time.time()
        gate = [dlroof, "gate", "--store", f"--budget={args.budget}", f"--min-effect={args.min_effect}", "--", "./bench", "--benchmark_min_time=0.02"]
        ran = call(gate, repository, check=False)
        rows.append({"commit": number, "exit_code": ran.returncode, "seconds": round(time.time() - begin, 1), "said": ran.stdout.splitlines()})
        print(number, rows[-1]["exit_code"], rows[-1]["seconds"], *rows[-1]["said"], sep="  ", flush=True)
    begin = time.time()
    bisect = [dlroof, "bisect", commits[0], commits[-1], "--build", build, "--program", "bench", f"--budget={3 * args.budget}", "--", "BM_Parse"]
    ran = call(bisect, repository, check=False)
    found = ran.stdout.splitlines()
    print(ran.stderr, *found, sep="\n", flush=True)
    accused = [row["commit"] for row in rows if row["exit_code"] == 1]
    result = {
        "command": " ".join(
            [
                "gate_study.py",
                f"--percent={args.percent}",
                f"--slow={args.slow}",
                f"--commits={args.commits}",
                f"--budget={args.budget}",
                f"--min-effect={args.min_effect}",
            ]
        ),
        "percent": args.percent,
        "slow": args.slow,
        "accused": accused,
        "gates": rows,
        "bisect": {
            "exit_code": ran.returncode,
            "seconds": round(time.time() - begin, 1),
            "found": found,
            "right": bool(found) and commits[args.slow - 1].startswith(found[0].split()[0]),
        },
    }
    if args.output:
        Path(args.output).write_text(json.dumps(result, indent=1) + "\n")
    print("accused:", accused, "planted:", args.slow, "bisect is right:", result["bisect"]["right"])


if __name__ == "__main__":
    main()
