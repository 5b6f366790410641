#!/usr/bin/env python3
"""How often `dlroof compare` raises a false alarm and what it finds, compared with other tools.

    # 20 run files of one binary; then the tables and a summary file: of pairs, of stored baselines
    baselines/studies/compare/compare_study.py --collect 20 --folder runs --filter /threads1 \\
        --flags "--dlroof_suite=baselines/studies/compare/suite.txt --dlroof_threads=1 \\
        --dlroof_live_check=false"
    baselines/studies/compare/compare_study.py --folder runs --map baselines/studies/compare/map.txt -o pairs.json
    baselines/studies/compare/compare_study.py --folder runs --map baselines/studies/compare/map.txt --stored-pool 8 -o stored.json

Every pair of runs of the one binary (BASE before NEW; at most --pairs of them, drawn with a fixed
seed) is compared twice: as it is, where nothing changed and each `slower` or `faster` is false;
and, with --map, with benchmarks renamed as its lines say ("base-name new-name", for instance n=20
and n=21 of one problem), those of one size at a time and the others as they are, where the truth is
the ratio of the medians of the clean repetitions of all runs, real work instead of scaled numbers. With
--stored-pool N no pairs: `dlroof report` stores the runs as in baselines/, and `dlroof compare
--baseline auto` judges each run by the N before it. With --again too, each but the last is checked
against the run after it, as for a user who measures again what moved.

The same repetitions (with --stored-pool: the run's and those of the one before it) are judged by the
rules of other tools; baselines/studies/compare/study_tables.py says which, and what the columns mean.
"""
import argparse
import datetime
import itertools
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

from study_tables import Tally, ratio_of_medians, show_tables, size_of, tables


def collect_one(arguments, path):
    """Why there is no run, or None."""
    unfinished = path + ".tmp"
    try:
        done = subprocess.run(
            [arguments.bench, f"--benchmark_filter={arguments.filter}", f"--benchmark_out={unfinished}", *shlex.split(arguments.flags)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr.strip()}"
        with open(unfinished, encoding="utf-8") as file:
            run = json.load(file)
    except (OSError, ValueError) as error:
        return str(error)
    run.pop("benchmarks", None)  # the records hold every repetition
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(run, file)
    os.rename(unfinished, path)
    return None


def collect(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    begin = time.monotonic()
    failed = 0
    for i in range(arguments.collect):
        path = os.path.join(arguments.folder, f"run-{int(time.time())}-{i:03}.json")
        reason = collect_one(arguments, path)
        failed += reason is not None
        print(f"{path}  [{time.monotonic() - begin:.0f} s]" + (f"  skipped: {arguments.bench}: {reason}" if reason else ""), flush=True)
        time.sleep(arguments.pause)
    print(f"{arguments.collect - failed} of {arguments.collect} runs measured", flush=True)


def read_run(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    records = {r["name"]: r["repetitions"] for r in run["records"] if r.get("status") == "ok" and len(r["repetitions"]) > 1}
    return {
        "path": path,
        "context": run.get("context", {}),
        "machines": run.get("machines", []),
        "times": {name: [p["seconds"] for p in of] for name, of in records.items()},
        "clean": {name: [p["seconds"] for p in of if not p.get("disturbed")] for name, of in records.items()},
    }


def read_runs(folder):
    """In order of time."""
    runs = [read_run(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    return sorted(runs, key=lambda run: datetime.datetime.fromisoformat(run["context"]["date"]))


def run_dlroof(program, *arguments, may_exit=(0,)):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in may_exit:
        sys.exit(f"{program} {arguments[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def pairs_of(runs, most):
    """(BASE, NEW, arguments of dlroof compare)"""
    pairs = list(itertools.combinations(runs, 2))
    pairs = random.Random(1).sample(pairs, most) if len(pairs) > most else pairs
    return [(base, new, [base["path"], new["path"]]) for base, new in pairs]


def stored_pools(dlroof, runs, count, again, folder):
    """As pairs_of; NEW's stored baselines are the `count` runs before it, BASE is the last."""
    stored = []
    for i, run in enumerate(runs):
        stored.append(os.path.join(folder, f"stored-{i:03}.json"))
        run_dlroof(dlroof, "report", run["path"], "-o", stored[i])
    comparisons = []
    for i in range(count, len(runs) - again):
        pool = os.path.join(folder, f"pool-{i:03}")
        machine = os.path.join(pool, "machine")
        os.makedirs(machine)
        for path in stored[i - count : i]:
            os.symlink(path, os.path.join(machine, os.path.basename(path)))
        held = [f"--again={runs[i + 1]['path']}"] if again else []
        comparisons.append((runs[i - 1], runs[i], [f"--baseline={pool}", runs[i]["path"], *held]))
    return comparisons


def dlroof_verdicts(arguments, what, extra=()):
    result = json.loads(run_dlroof(arguments.dlroof, "compare", *what, "--format=json", *shlex.split(arguments.compare_flags), *extra, may_exit=(0, 1, 3)))
    # With a map a name is also that of a row without a partner.
    return result, {row["name"]: row for row in result["benchmarks"] if row["verdict"] not in ("gone", "new")}


def add_row(tally, rows, base, new, names):
    base_name, new_name = names
    if new_name in rows and base_name in base["times"] and new_name in new["times"]:
        tally.add(rows[new_name]["verdict"], base["times"][base_name], new["times"][new_name])


def study_unchanged(arguments, comparisons):
    tally, alarms, together = Tally(), 0, 0
    for base, new, what in comparisons:
        result, rows = dlroof_verdicts(arguments, what)
        alarms += result["exit_code"] == 1
        together += any("moved_together" in part for part in (result, *result.get("stored", ())))
        for name in sorted(new["times"]):
            add_row(tally, rows, base, new, (name, name))
    return tally, {
        "comparisons": len(comparisons),
        "benchmarks": tally.total(),
        "judged": tally.judged(),
        "verdicts": tally.verdicts(),
        "alarms": alarms,
        "together": together,
    }


def read_map(path):
    with open(path, encoding="utf-8") as file:
        return [tuple(line.split()) for line in file if line.strip() and not line.startswith("#")]


def study_slower(arguments, comparisons):
    """Slowdowns of one size at a time: of a run's benchmarks most are what they were."""
    tallies = {names: Tally() for names in read_map(arguments.map)}
    sizes = {}
    for names in tallies:
        sizes.setdefault(size_of(names), []).append(names)
    for group in sizes.values():
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as map_file:
            map_file.writelines(f"{base} {new}\n" for base, new in group)
            map_file.flush()
            for base, new, what in comparisons:
                _, rows = dlroof_verdicts(arguments, what, (f"--map={map_file.name}",))
                for names in group:
                    add_row(tallies[names], rows, base, new, names)
    return tallies


def truth(runs, names):
    """The ratio of the medians of all clean repetitions and how many these are; {}: none are."""
    clean = [[seconds for run in runs for seconds in run["clean"].get(name, ())] for name in names]
    if not all(clean):
        return {}
    return {"ratio": ratio_of_medians(*clean), "clean_repetitions": [len(side) for side in clean]}


def show(summary):
    show_tables(summary)
    unchanged = summary["unchanged"]
    how = f", each by {summary['stored_pool']} stored runs" if "stored_pool" in summary else ""
    how += " and held against the run after it" if summary.get("measured_again") else ""
    print(
        f"\n{unchanged['comparisons']} comparisons of an unchanged binary{how}: "
        f"{unchanged['benchmarks']} verdicts, {unchanged['judged']} judged: "
        f"{unchanged['verdicts']}; exit code 1 in {unchanged['alarms']}, moved together in "
        f"{unchanged['together']}"
    )


def summarize(arguments, runs, comparisons):
    unchanged, counts = study_unchanged(arguments, comparisons)
    slower = study_slower(arguments, comparisons) if arguments.map else {}
    context = runs[0]["context"].get("dlroof", {})
    summary = {
        "command": shlex.join(sys.argv),
        "runs": len(runs),
        "dates": [runs[0]["context"].get("date"), runs[-1]["context"].get("date")],
        "commit": context.get("commit"),
        "libraries": context.get("libraries"),
        "machine": [m["name"] for m in runs[0]["machines"]],
        "measured_with": context.get("command"),
    }
    if arguments.stored_pool:
        summary["stored_pool"] = arguments.stored_pool
        summary["measured_again"] = arguments.again
    summary |= {"unchanged": counts, **tables(unchanged, slower)}
    for row in summary["slowdowns"]:
        row |= truth(runs, (row["base"], row["new"]))
    return summary


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="of the run files")
    parser.add_argument("--collect", type=int, default=0, help="measure this many runs first; one that fails is reported and skipped")
    parser.add_argument("--filter", default="LSTM/cpu/onednn", help="which benchmarks to measure")
    parser.add_argument("--flags", default="", help="more flags for dlroof_bench")
    parser.add_argument("--pause", type=float, default=0, help="[s] between runs")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("--compare-flags", default="", help="more flags for dlroof compare")
    parser.add_argument("--pairs", type=int, default=250, help="at most, of runs")
    parser.add_argument("--stored-pool", type=int, default=0, metavar="N", help="judge each run by the N before it as stored baselines, not in pairs")
    parser.add_argument("--again", action="store_true", help="hold each run against the one after it; with --stored-pool")
    parser.add_argument("--map", help="lines 'base-name new-name': the known slowdowns")
    parser.add_argument("-o", "--output", help="the summary")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.collect:
        collect(arguments)
    runs = read_runs(arguments.folder)
    if arguments.again and not arguments.stored_pool:
        sys.exit("--again: expected --stored-pool beside it")
    least = max(2, arguments.stored_pool + 1 + arguments.again)
    if len(runs) < least:
        sys.exit(f"{arguments.folder}: holds {len(runs)} run files, expected at least {least}")
    with tempfile.TemporaryDirectory() as folder:
        comparisons = (
            stored_pools(arguments.dlroof, runs, arguments.stored_pool, arguments.again, folder) if arguments.stored_pool else pairs_of(runs, arguments.pairs)
        )
        summary = summarize(arguments, runs, comparisons)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
            file.write("\n")
    show(summary)


if __name__ == "__main__":
    main()
