#!/usr/bin/env python3
"""Two versions of oneDNN, interleaved in one build of dlroof: verdicts, and what they choose differently.

    onednn_versions.py --old OLD.so --new NEW.so --folder runs -o DATE-MACHINE.json    # measures, then prints the tables
    onednn_versions.py --table DATE-MACHINE.json                                       # only the tables

Measures names.txt once (`dlroof run --ab-library OLD NEW`), and same.txt in as many comparisons of OLD with itself as --rounds
says: there each `slower` or `faster` is false. What is written has no raw repetitions; those are in the run files in the folder.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def compare(arguments, libraries, suite, stem, budget):
    """Returns the rows of one interleaved comparison, and the libraries."""
    files = [os.path.join(arguments.folder, f"{stem}.{side}.json") for side in ("old", "new")]
    if not all(map(os.path.exists, files)):
        flags = ["--ab-library", *libraries, "-o", files[0], "-o", files[1], "--budget", str(budget)]
        command = [arguments.dlroof, "run", *flags, "--", f"--dlroof_suite={os.path.join(HERE, suite)}", "--dlroof_machine=none"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, 1, 3):
            sys.exit(f"dlroof run: exit {done.returncode}")
    judged = subprocess.run([arguments.dlroof, "compare", "--format=json", *files], capture_output=True, text=True, check=False)
    runs = [read(file)["context"]["dlroof"] for file in files]
    rows = []
    for row in json.loads(judged.stdout)["benchmarks"]:
        chosen = [run.get("primitives", {}).get(row["name"]) for run in runs]
        kept = {key: row[key] for key in ("name", "verdict", "ratio", "ci95", "reason") if key in row}
        rows.append({**kept, "old": chosen[0], "new": chosen[1]})
    return rows, [run["loaded"]["onednn"] | {"file": os.path.basename(run["loaded"]["onednn"]["file"])} for run in runs]


def measure(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    rows, libraries = compare(arguments, [arguments.old, arguments.new], "names.txt", "versions", arguments.budget)
    same = []
    for i in range(arguments.rounds):
        same += compare(arguments, [arguments.old, arguments.old], "same.txt", f"same-{i:02}", arguments.same_budget)[0]
    study = {"machine": arguments.machine, "old": libraries[0], "new": libraries[1], "benchmarks": rows, "same_file": same}
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump(study, file, indent=1)
        file.write("\n")
    return study


def changes(row):
    """Returns what the two versions chose differently, as a cell of a table."""
    old, new = row["old"], row["new"]
    if not old or not new:
        return "not known"
    found = [f"{old['implementation']} -> {new['implementation']}"] if old["implementation"] != new["implementation"] else []
    for tensor in sorted({*old["layouts"], *new["layouts"]}):
        before, now = (side["layouts"].get(tensor, "none") for side in (old, new))
        if before != now:
            found.append(f"{tensor} {before} -> {now}")
    return "; ".join(found) or "nothing"


def show(study):
    print(f"{study['old']['version']} -> {study['new']['version']} on {study['machine']}\n")
    print("| benchmark | verdict | ratio (95 %) | what changed |\n| --- | --- | --- | --- |")
    for row in study["benchmarks"]:
        ratio = f"{row['ratio']:.3f} ({row['ci95'][0]:.3f} to {row['ci95'][1]:.3f})" if "ratio" in row else ""
        name = row["name"].replace("/cpu/onednn", "").replace("/threads1", "")
        print(f"| `{name}` | {row['verdict']} | {ratio} | {changes(row)} |")
    verdicts = collections.Counter(row["verdict"] for row in study["same_file"])
    differing = sum(changes(row) != "nothing" for row in study["same_file"])
    text = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"\nthe same file twice, {len(study['same_file'])} verdicts: {text}; choices that differ: {differing}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlroof", default=os.path.join(ROOT, "build", "dlroof"))
    parser.add_argument("--old", help="the older version's libdnnl.so.3")
    parser.add_argument("--new", help="the newer one's")
    parser.add_argument("--rounds", type=int, default=20, help="comparisons of OLD with itself (default 20)")
    parser.add_argument("--budget", type=float, default=260, help="[s] of the comparison of OLD with NEW (default 260)")
    parser.add_argument("--same-budget", type=float, default=13, help="[s] of each comparison of OLD with itself (default 13)")
    parser.add_argument("--machine", default="this machine", help="its name in the table")
    parser.add_argument("--folder", default="runs", help="where the run files are written, or are already")
    parser.add_argument("-o", "--output", help="the study's file")
    parser.add_argument("--table", help="only print the tables of this file")
    arguments = parser.parse_args()
    show(read(arguments.table) if arguments.table else measure(arguments))


if __name__ == "__main__":
    main()
