#!/usr/bin/env python3
"""Are the profiles of whole PyTorch programs right? Their steps and FLOPs beside the programs' own count and counts by hand.

    study.py FILE --runs FOLDER [--threads N] [--only PART]    # with a python3 that imports torch; rows of earlier runs stay
    study.py FILE                                              # the table again

Profiles models.py's programs on the CPU under `dlroof profile --torch`, eager and compiled. Compiled programs run once before, so that
their code is in the compiler's cache. ci/gpu_programs.py does the like on a GPU, beside torch.profiler.
"""
import os
import re
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import flops
import lib
from sizes import SIZES

HERE = Path(__file__).resolve().parent
MODELS = ("resnet50", "resnet50_train", "lstm", "bert", "deeplabv3")
STEPS, OTHER_STEPS, PROGRAM_SECONDS = {"lstm": 40}, 10, 300
# The convention of the hand counts: convolutions and products alone.
PRODUCTS = re.compile("conv|inner_product|matmul|rnn|linear|mm|attention|ukernel|brgemm")


def counted_flops(run_file):
    """Returns the FLOPs of a step's products: those of one call, times its calls in a step."""
    of_call = {record["name"]: record.get("work", {}).get("modelled", {}).get("flops", {}) for record in run_file["records"]}
    uses = run_file["context"]["dlroof"]["program"]["primitives"]
    return sum(use.get("step_calls", 0) * sum(of_call.get(use["record"], {}).values()) for use in uses if PRODUCTS.search(use["kind"]))


def profile(arguments, name, mode):
    program = [sys.executable, "program.py", name, mode, STEPS.get(name, OTHER_STEPS)]
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(arguments.runs / "inductor"), "OMP_NUM_THREADS": str(arguments.threads), "PYTHONWARNINGS": "ignore"}
    options = {"cwd": HERE, "env": {**os.environ, **cache}, "timeout": PROGRAM_SECONDS}
    if mode == "compiled":
        lib.run(*program[:-1], 1, **options)
    load = os.getloadavg()[0]
    file = arguments.runs / f"{name}.{mode}.json"
    done = lib.run(arguments.dlroof, "profile", "--torch", *arguments.machine, "-o", file, "--", *program, **options)
    file.with_suffix(".txt").write_text(done.stderr)
    own, run_file = lib.json.loads(done.stdout.splitlines()[-1]), lib.read(file)
    steps = run_file["context"]["dlroof"]["program"].get("steps", {})
    check = {
        "its steps": len(own["seconds"]),
        "found": (steps.get("count", 0) + steps.get("warm_up_steps", 0)) or None,
        "its median": statistics.median(own["seconds"][2:]),
        "median found": steps.get("median_wall_seconds"),
        "whole": own["whole"],
        "flops": counted_flops(run_file),
        "flops by hand": flops.of_step(name, SIZES["cpu"][name]),
        "load": load,
    }
    return {"model": name, "mode": mode, "check": check}


def show(rows):
    cells = []
    for row in rows:
        check = row["check"]
        found = f"{1e3 * check['median found']:.1f}" if check["median found"] else "none"
        counted, by_hand = check["flops"], check["flops by hand"]
        cells.append([f"{row['model']}, {row['mode']}", check["its steps"], check["found"], f"{1e3 * check['its median']:.1f}", found])
        cells[-1] += [f"{1e-9 * counted:.3f}", f"{1e-9 * by_hand:.3f}", f"{counted / by_hand:.4f}", f"{check['whole']:.0f}", f"{check['load']:.0f}"]
    names = ["its steps", "found", "its median [ms]", "median found [ms]", "GFLOP", "by hand", "ratio", "whole [s]", "load"]
    print(lib.table(["program", *names], cells, names), end="")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=lambda text: Path(text).resolve(), help="folder of the run files: measures")
    parser.add_argument("--machine", dest="machine", type=lambda name: ["--machine", name], default=[], help="as of dlroof profile")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="part of MODEL.MODE")
    arguments = parser.parse_args()
    rows = lib.read(arguments.file) if arguments.file.exists() else []
    for name, mode in ((name, mode) for mode in ("eager", "compiled") for name in MODELS):
        if arguments.runs and arguments.only in f"{name}.{mode}":
            arguments.runs.mkdir(parents=True, exist_ok=True)
            rows = [row for row in rows if (row["model"], row["mode"]) != (name, mode)] + [profile(arguments, name, mode)]
            rows.sort(key=lambda row: (row["mode"] == "compiled", MODELS.index(row["model"])))
            lib.write(arguments.file, rows)
    show(rows)


if __name__ == "__main__":
    main()
