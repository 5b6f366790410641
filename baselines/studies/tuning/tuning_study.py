#!/usr/bin/env python3
"""How much faster than the library's defaults do small problems get, and how often is nothing called a gain?

    tuning_study.py STORED.json --folder runs [--budget 150] [--equal 12]    # some 25 minutes for 16 problems
    tuning_study.py STORED.json                                              # the tables again

Tunes problems.txt, verifies each gain once more in a later run, and tunes settings that nothing reads (--self), each time
with another seed. STORED.json keeps everything but the times of single windows.
"""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

HERE = Path(__file__).resolve().parent


def tunings(path):
    """Returns the tunings of a file, without their blocks' times."""
    return [{**tuning, "blocks": len(tuning["blocks"])} for tuning in lib.read(path)["tunings"]]


def measure(arguments):
    folder, codes = arguments.folder, (0, 3)
    folder.mkdir(parents=True, exist_ok=True)
    tune, budget, file = (arguments.dlroof, "tune"), f"--budget={arguments.budget}", folder / "tune.json"
    lib.run(*tune, f"--suite={HERE / 'problems.txt'}", budget, "--resume", "-o", file, codes=codes)
    lib.run(*tune, "--verify", file, codes=codes)
    names, equal = [tuning["subject"] for tuning in tunings(file)], []
    for seed in range(1, arguments.equal + 1):
        file_of_seed = folder / f"equal{seed}.json"
        lib.run(*tune, names[seed % len(names)], "--self", f"--seed={seed}", budget, "--resume", "-o", file_of_seed, codes=codes)
        equal += tunings(file_of_seed)
    about = lib.read(file)["about"]
    return {"command": lib.command(), "seed": about["seed"], "min_effect": about["min_effect"], "tunings": tunings(file), "equal": equal}


def faster(effect):
    """Returns 1 / ratio and its interval, as the report writes them."""
    low, high = effect["interval"]
    return f"{1 / effect['ratio']:.2f} ({1 / high:.2f} to {1 / low:.2f})"


def cells(tuning):
    default = f"{1e6 * tuning['default_seconds']:.1f}" if "default_seconds" in tuning else ""
    blocks = tuning["blocks"] if isinstance(tuning["blocks"], int) else len(tuning["blocks"])
    if tuning["state"] != "confirmed":
        return [tuning["subject"], default, tuning["state"].replace("_", " "), "", "", blocks]
    best = ", ".join(f"`{knob}={value}`" for knob, value in tuning["best"].items())
    return [tuning["subject"], default, best, faster(tuning["total"]), faster(tuning["verified"]) if tuning.get("verified") else "not measured", blocks]


def show(stored):
    found = sorted(stored["tunings"], key=lambda tuning: tuning.get("total", {"ratio": 1})["ratio"])
    print(lib.table(("problem", "default [us]", "best", "times as fast", "verified later", "blocks"), map(cells, found)))
    states = [tuning["state"] for tuning in stored["equal"]]
    won, preferred = states.count("confirmed"), states.count("not_confirmed")
    print(f"Of {len(states)} tunings of settings that nothing reads {won} won; the search preferred one in {preferred}.")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("stored")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--budget", type=float, default=150)
    parser.add_argument("--equal", type=int, default=12)
    arguments = parser.parse_args()
    if arguments.folder:
        lib.write(arguments.stored, measure(arguments))
    show(lib.read(arguments.stored))


if __name__ == "__main__":
    main()
