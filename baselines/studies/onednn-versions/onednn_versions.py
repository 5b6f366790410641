#!/usr/bin/env python3
"""Two versions of oneDNN, interleaved in one build of dlroof: verdicts, and what they choose differently.

    onednn_versions.py DATE-MACHINE.json --old OLD.so --new NEW.so --folder runs    # measures, then prints the tables
    onednn_versions.py DATE-MACHINE.json                                            # only the tables

Measures names.txt once (`dlroof run --ab-library OLD NEW`), and same.txt in as many comparisons of OLD with itself as --rounds
says: there each `slower` or `faster` is false. What is written has no raw repetitions; those are in the run files in the folder.
"""
import collections
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

HERE = Path(__file__).resolve().parent


def compare(arguments, libraries, suite, stem, budget):
    """Returns the rows of one interleaved comparison, and the libraries."""
    files = [arguments.folder / f"{stem}.{side}.json" for side in ("old", "new")]
    if not all(file.exists() for file in files):
        flags = ["--ab-library", *libraries, "-o", files[0], "-o", files[1], "--budget", budget]
        lib.run(arguments.dlroof, "run", *flags, "--", f"--dlroof_suite={HERE / suite}", "--dlroof_machine=none", codes=lib.VERDICTS)
    _, judged = lib.compare(arguments.dlroof, *files)
    runs = [lib.read(file)["context"]["dlroof"] for file in files]
    chosen = [{record["name"]: {"implementation": record.get("algorithm", ""), "layouts": {}} for record in lib.read(file)["records"]} for file in files]
    rows = []
    for name, row in judged.items():
        kept = {key: row[key] for key in ("name", "verdict", "ratio", "ci95", "reason") if key in row}
        rows.append({**kept, **{side: run.get(name) for side, run in zip(("old", "new"), chosen)}})
    return rows, [run["loaded"]["onednn"] | {"file": Path(run["loaded"]["onednn"]["file"]).name} for run in runs]


def measure(arguments):
    arguments.folder.mkdir(parents=True, exist_ok=True)
    rows, libraries = compare(arguments, [arguments.old, arguments.new], "names.txt", "versions", arguments.budget)
    same = []
    for i in range(arguments.rounds):
        same += compare(arguments, [arguments.old, arguments.old], "same.txt", f"same-{i:02}", arguments.same_budget)[0]
    return {"machine": arguments.machine, "old": libraries[0], "new": libraries[1], "benchmarks": rows, "same_file": same}


def changes(row):
    """Returns what the two versions chose differently, as a cell of a table."""
    old, new = row["old"], row["new"]
    if not old or not new:
        return "not known"
    found = [f"{old['implementation']} -> {new['implementation']}"] if old["implementation"] != new["implementation"] else []
    for tensor in sorted({*old["layouts"], *new["layouts"]}):
        before, now = (side["layouts"].get(tensor, "none") for side in (old, new))
        found += [f"{tensor} {before} -> {now}"] if before != now else []
    return "; ".join(found) or "nothing"


def show(study):
    print(f"{study['old']['version']} -> {study['new']['version']} on {study['machine']}\n")
    names = [row["name"].replace("/cpu/onednn", "").replace("/threads1", "") for row in study["benchmarks"]]
    cells = [[f"`{name}`", row["verdict"], lib.ratio_text(row), changes(row)] for name, row in zip(names, study["benchmarks"])]
    print(lib.table(("benchmark", "verdict", "ratio (95 %)", "what changed"), cells))
    same = study["same_file"]
    text = ", ".join(f"{count} {verdict}" for verdict, count in collections.Counter(row["verdict"] for row in same).most_common())
    print(f"the same file twice, {len(same)} verdicts: {text}; choices that differ: {sum(changes(row) != 'nothing' for row in same)}")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file", help="of the study")
    parser.add_argument("--old", help="the older version's libdnnl.so.3")
    parser.add_argument("--new", help="the newer one's")
    parser.add_argument("--rounds", type=int, default=20, help="comparisons of OLD with itself (default 20)")
    parser.add_argument("--budget", type=float, default=260, help="[s] of the comparison of OLD with NEW (default 260)")
    parser.add_argument("--same-budget", type=float, default=13, help="[s] of each comparison of OLD with itself (default 13)")
    parser.add_argument("--machine", default="this machine", help="its name in the table")
    parser.add_argument("--folder", type=Path, default="runs", help="where the run files are written, or are already")
    arguments = parser.parse_args()
    if arguments.old:
        lib.write(arguments.file, measure(arguments))
    show(lib.read(arguments.file))


if __name__ == "__main__":
    main()
