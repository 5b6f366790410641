#!/usr/bin/env python3
"""How much faster than the library's defaults do small problems get, and how often is nothing called a gain?

    tuning_study.py build/dlroof STORED.json --folder runs [--budget 150] [--equal 12]    # some 25 minutes for 16 problems
    tuning_study.py --tables STORED.json                                                 # the tables again

Tunes problems.txt, verifies each gain once more in a later run, and tunes settings that nothing reads (--self), each time
with another seed. STORED.json keeps everything but the times of single windows.
"""
import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}")


def tunings(path):
    """The tunings of a file, without their blocks' times."""
    found = json.loads(path.read_text())["tunings"]
    for tuning in found:
        tuning["blocks"] = len(tuning["blocks"])
    return found


def measure(arguments):
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    file, program = folder / "tune.json", arguments.program
    run(program, "tune", f"--suite={HERE / 'problems.txt'}", f"--budget={arguments.budget}", "--resume", "-o", file)
    run(program, "tune", "--verify", file)
    names = [tuning["subject"] for tuning in tunings(file)]
    equal = []
    for seed in range(1, arguments.equal + 1):
        file_of_seed = folder / f"equal{seed}.json"
        run(program, "tune", names[seed % len(names)], "--self", f"--seed={seed}", f"--budget={arguments.budget}", "--resume", "-o", file_of_seed)
        equal += tunings(file_of_seed)
    about = json.loads(file.read_text())["about"]
    return {
        "command": f"tuning_study.py --budget {arguments.budget} --equal {arguments.equal}",
        "seed": about["seed"],
        "min_effect": about["min_effect"],
        "tunings": tunings(file),
        "equal": equal,
    }


def faster(effect):
    """1 / ratio and its interval, as the report writes them."""
    low, high = effect["interval"]
    return f"{1 / effect['ratio']:.2f} ({1 / high:.2f} to {1 / low:.2f})"


def words(setting):
    return ", ".join(f"`{knob}={value}`" for knob, value in setting.items())


def print_tables(stored):
    for one in stored["tunings"]:  # with the times of all windows where few were stored
        one["blocks"] = len(one["blocks"]) if isinstance(one["blocks"], list) else one["blocks"]
    print("| problem | default [us] | best | times as fast | verified later | blocks |\n| --- | --- | --- | --- | --- | --- |")
    for one in sorted(stored["tunings"], key=lambda one: one.get("total", {"ratio": 1})["ratio"]):
        default = f"{1e6 * one['default_seconds']:.1f}" if "default_seconds" in one else ""
        if one["state"] == "confirmed":
            verified = faster(one["verified"]) if one.get("verified") else "not measured"
            print(f"| {one['subject']} | {default} | {words(one['best'])} | {faster(one['total'])} | {verified} | {one['blocks']} |")
        else:
            print(f"| {one['subject']} | {default} | {one['state'].replace('_', ' ')} | | | {one['blocks']} |")
    won = sum(one["state"] == "confirmed" for one in stored["equal"])
    searched = sum(one["state"] == "not_confirmed" for one in stored["equal"])
    if stored["equal"]:
        print(f"\nOf {len(stored['equal'])} tunings of settings that nothing reads {won} won; the search preferred one in {searched}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("stored")
    parser.add_argument("--folder", default="runs")
    parser.add_argument("--budget", type=float, default=150)
    parser.add_argument("--equal", type=int, default=12)
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args()
    if not arguments.tables:
        pathlib.Path(arguments.stored).write_text(json.dumps(measure(arguments), indent=1) + "\n")
    print_tables(json.loads(pathlib.Path(arguments.stored).read_text()))


if __name__ == "__main__":
    main()
