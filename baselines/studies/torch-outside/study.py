"""The time of a BERT outside of oneDNN: dlroof profile --torch beside torch.profiler's own table.

    study.py OUTPUT.json --measure      with a python3 that imports torch; without --measure the table of a stored file

Runs bert.py under dlroof profile --torch, and under torch.profiler, interleaved. Stores shares of a step.
"""
import collections
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

TURNS = 4
STEPS = {"f32": (300, 200), "bf16": (600, 400)}  # under dlroof, under torch.profiler
BERT = [sys.executable, Path(__file__).resolve().parent / "bert.py"]


def by_dlroof(dlroof, kind):
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "run.json")
        lib.run(dlroof, "profile", "--machine", "none", "--torch", "-o", output, "--", *BERT, kind, STEPS[kind][0])
        summary = lib.read(output)["context"]["dlroof"]["program"]
    wall = summary["steps"]["wall_seconds"]
    operators, of_onednn = collections.defaultdict(float), summary["steps"].get("creation_seconds", 0)
    for use in summary["primitives"]:
        if use.get("operator"):
            operators[use["kind"]] += use["step_seconds"] / wall
        else:
            of_onednn += use.get("step_seconds", 0)
    outside = 1 - of_onednn / wall
    return {"outside": outside, "operators": operators, "traced": summary["traced"], "step_seconds": wall, "rest": outside - sum(operators.values())}


def by_profiler(kind):
    return json.loads(lib.run(*BERT, kind, STEPS[kind][1], "--profiler").stdout)


def show(results):
    for kind, rows in results.items():

        def text(side, share):
            return f"{100 * statistics.median(map(share, rows[side])):.1f}" if side in rows else ""

        names = sorted(rows["profiler"][0]["operators"], key=lambda name: -statistics.median(row["operators"].get(name, 0) for row in rows["profiler"]))
        cells = [["outside oneDNN", text("torch", lambda row: row["outside"]), ""]]
        cells += [["in no operator", *(text(side, lambda row: row["rest"]) for side in ("torch", "profiler"))]]
        cells += [[f"`{name}`", *(text(side, lambda row: row["operators"].get(name, 0)) for side in ("torch", "profiler"))] for name in names[:8]]
        print(lib.table((f"share of a step, {kind} [%]", "dlroof", "profiler"), cells))


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("output")
    parser.add_argument("--measure", action="store_true")
    arguments = parser.parse_args()
    if arguments.measure:
        results = {kind: {"torch": [], "profiler": []} for kind in STEPS}
        for kind, rows in results.items():
            for _ in range(TURNS):
                rows["torch"].append(by_dlroof(arguments.dlroof, kind))
                rows["profiler"].append(by_profiler(kind))
        lib.write(arguments.output, results)
    show(lib.read(arguments.output))


if __name__ == "__main__":
    main()
