#!/usr/bin/env python3
"""How often `dlroof compare` raises a false alarm and what it finds, beside what others do.

    # 20 run files of one binary; then the tables and a summary file
    ci/compare_study.py --collect 20 --folder runs --filter /threads1 \\
        --flags "--dlroof_suite=ci/stored_study/suite.txt --dlroof_threads=1 --dlroof_live_check=false"
    ci/compare_study.py --folder runs --map ci/stored_study/map.txt -o study.json

Every pair of runs of the one binary (BASE before NEW; at most --pairs of them, drawn with a fixed
seed) is compared twice: as it is, where nothing changed and each `slower` or `faster` is false; and,
with --map, with the benchmarks renamed as its lines say ("base-name new-name", for instance n=20 and
n=21 of one problem), where the truth is the ratio of the medians over all runs, real work and no
scaled numbers. The same repetitions go through the rules of others:

  U test       Google Benchmark's compare.py: two-sided Mann-Whitney at 0.05, all repetitions
  ratio R      ratio of medians beyond R either way: 1.1 is a threshold of 10 %; 2 is what
               github-action-benchmark calls 200 %; 3 is one of 200 % more
  IQR fence    the median lies outside BASE's quartiles by more than 1.5 times their distance
  nvbench      nvbench_compare.py: the means differ by more than the smaller of the two relative
               standard deviations

Each rule can be made stricter until it finds no more of the true slowdowns than dlroof does; the
column "false at dlroof's power" is what is left of its false alarms then.
"""
import argparse
import collections
import itertools
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import time

CALLS = ("slower", "faster")


def collect(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    begin = time.monotonic()
    for i in range(arguments.collect):
        path = os.path.join(arguments.folder, f"run-{int(time.time())}-{i:03}.json")
        unfinished = path + ".tmp"
        done = subprocess.run([arguments.bench, f"--benchmark_filter={arguments.filter}",
                               f"--benchmark_out={unfinished}", *shlex.split(arguments.flags)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{arguments.bench}: exit {done.returncode}: {done.stderr.strip()}")
        with open(unfinished, encoding="utf-8") as file:
            run = json.load(file)
        run.pop("benchmarks", None)   # the records hold every repetition
        with open(unfinished, "w", encoding="utf-8") as file:
            json.dump(run, file)
        os.rename(unfinished, path)
        print(f"{path}  [{time.monotonic() - begin:.0f} s]", flush=True)
        time.sleep(arguments.pause)


def u_cumulated(n, m):
    """P(U <= u), exact, no ties: orders of n and m values counted by their U."""
    ways = [[1] for _ in range(m + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            with_base = [0] * j + ways[j]
            ways[j] = [(with_base[u] if u < len(with_base) else 0) +
                       (ways[j - 1][u] if u < len(ways[j - 1]) else 0) for u in range(i * j + 1)]
    total = math.comb(n + m, n)
    return [u / total for u in itertools.accumulate(ways[m])]


def u_test(base, new, tables={}):
    """Two-sided p-value as scipy.stats.mannwhitneyu takes it: exact for 8 values or fewer without
    ties, else the normal approximation with corrections for ties and continuity."""
    n, m = len(base), len(new)
    u = sum((b > x) + 0.5 * (b == x) for x in new for b in base)
    low = min(u, n * m - u)
    counts = collections.Counter(base + new)
    if min(n, m) <= 8 and max(counts.values()) == 1:
        if (n, m) not in tables:
            tables[n, m] = u_cumulated(n, m)
        return min(1.0, 2 * tables[n, m][int(low)])
    ties = sum(c ** 3 - c for c in counts.values()) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties))
    return math.erfc((n * m / 2 - low - 0.5) / deviation / math.sqrt(2)) if deviation else 1.0


def ratio_of_medians(base, new):
    return statistics.median(new) / statistics.median(base)


def fence(base, new):
    low, _, high = statistics.quantiles(base, n=4, method="inclusive")
    median = statistics.median(new)
    beyond = max(low - median, median - high, 0)
    return beyond / (high - low) if high > low else (math.inf if beyond else 0)


def nvbench(base, new):
    means = [statistics.fmean(side) for side in (base, new)]
    noise = min(statistics.stdev(side) / mean for side, mean in zip((base, new), means))
    change = abs(means[1] - means[0]) / means[0]
    return change / noise if noise else (math.inf if change else 0)


# rule -> how sure it is that something moved (the larger the surer), and from where on it says so
RULES = {
    "U test, 0.05": (lambda base, new: -math.log(max(u_test(base, new), 1e-300)), -math.log(0.05)),
    "ratio 1.1": (lambda base, new: abs(math.log(ratio_of_medians(base, new))), math.log(1.1)),
    "ratio 2": (lambda base, new: abs(math.log(ratio_of_medians(base, new))), math.log(2)),
    "ratio 3": (lambda base, new: abs(math.log(ratio_of_medians(base, new))), math.log(3)),
    "IQR fence": (fence, 1.5),
    "nvbench": (nvbench, 1.0),
}


def read_run(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    return {"path": path, "times": {r["name"]: [p["seconds"] for p in r["repetitions"]]
                                    for r in run["records"]
                                    if r.get("status") == "ok" and len(r["repetitions"]) > 1},
            "context": run.get("context", {}), "machines": run.get("machines", [])}


def dlroof_verdicts(arguments, base, new, extra=()):
    done = subprocess.run([arguments.dlroof, "compare", base["path"], new["path"],
                           "--format=json", *shlex.split(arguments.compare_flags), *extra],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{arguments.dlroof} compare: exit {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    # With a map a name is also that of a row without a partner.
    return result, {row["name"]: row for row in result["benchmarks"]
                    if row["verdict"] not in ("gone", "new")}


class Tally:
    """What the rules said of many pairs of one benchmark's repetitions."""

    def __init__(self):
        self.ours = collections.Counter()
        self.comparisons = self.alarms = self.together = 0
        self.scores = {rule: [] for rule in RULES}   # (score, slower?)

    def add(self, verdict, base, new):
        self.ours[verdict] += 1
        slower = ratio_of_medians(base, new) > 1
        for rule, (score, _) in RULES.items():
            self.scores[rule].append((score(base, new), slower))

    def total(self):
        return sum(self.ours.values())

    def share(self, rule, threshold=None, only_slower=False):
        least = RULES[rule][1] if threshold is None else threshold
        hits = sum(score > least and (slower or not only_slower) for score, slower in self.scores[rule])
        return hits / max(1, self.total())

    def threshold_of(self, rule, power):
        """The least strict threshold that finds no more than `power` of the slowdowns."""
        found = sorted((score for score, slower in self.scores[rule] if slower), reverse=True)
        keep = round(power * self.total())
        return found[keep] if keep < len(found) else -math.inf


def pairs_of(runs, most):
    pairs = list(itertools.combinations(runs, 2))
    return random.Random(1).sample(pairs, most) if len(pairs) > most else pairs


def study_unchanged(arguments, pairs):
    tally = Tally()
    for base, new in pairs:
        result, rows = dlroof_verdicts(arguments, base, new)
        tally.comparisons += 1
        tally.alarms += result["exit_code"] == 1
        tally.together += "moved_together" in result
        for name in base["times"].keys() & new["times"].keys():
            tally.add(rows[name]["verdict"], base["times"][name], new["times"][name])
    return tally


def read_map(path):
    with open(path, encoding="utf-8") as file:
        return [tuple(line.split()) for line in file if line.strip() and not line.startswith("#")]


def study_slower(arguments, pairs, names):
    tallies = {names_of: Tally() for names_of in names}
    extra = (f"--map={arguments.map}",)
    for base, new in pairs:
        _, rows = dlroof_verdicts(arguments, base, new, extra)
        for (base_name, new_name), tally in tallies.items():
            tally.add(rows[new_name]["verdict"], base["times"][base_name], new["times"][new_name])
    return tallies


def truth(runs, names):
    medians = [[statistics.median(run["times"][name]) for run in runs] for name in names]
    return statistics.median(medians[1]) / statistics.median(medians[0])


def table(unchanged, slower):
    """Rows: rule, false alarms, what it finds, its false alarms at our power."""
    total = max(1, unchanged.total())
    power = wrong = None
    joined = Tally()
    for tally in slower.values():
        joined.ours += tally.ours
        for rule in RULES:
            joined.scores[rule] += tally.scores[rule]
    if joined.total():
        power = joined.ours["slower"] / joined.total()
        wrong = joined.ours["faster"] / joined.total()
    rows = [{"rule": "dlroof compare", "false": sum(unchanged.ours[c] for c in CALLS) / total,
             "power": power, "wrong_way": wrong,
             "false_at_our_power": sum(unchanged.ours[c] for c in CALLS) / total}]
    for rule in RULES:
        row = {"rule": rule, "false": unchanged.share(rule)}
        if joined.total():
            row["power"] = joined.share(rule, only_slower=True)
            row["wrong_way"] = joined.share(rule) - row["power"]
            row["false_at_our_power"] = unchanged.share(rule, joined.threshold_of(rule, power))
        rows.append(row)
    return rows


def percent(value):
    return "" if value is None else f"{100 * value:.2f} %"


def show_rules(summary):
    print("| rule | false slower or faster | slowdowns found | called faster | false at dlroof's power |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for row in summary["rules"]:
        print("| " + " | ".join([row["rule"]] + [percent(row.get(key)) for key in (
            "false", "power", "wrong_way", "false_at_our_power")]) + " |")
    print("\n| slowdown | true ratio | slower | ambiguous | other |\n| --- | ---: | ---: | ---: | ---: |")
    for row in summary["slowdowns"]:
        rest = 1 - row["slower"] - row["ambiguous"]
        print(f"| {row['base']} -> {row['new']} | {row['ratio']:.3f} | {percent(row['slower'])} | "
              f"{percent(row['ambiguous'])} | {percent(rest)} |")


def show(summary):
    show_rules(summary)
    unchanged = summary["unchanged"]
    print(f"\n{unchanged['comparisons']} comparisons of an unchanged binary, "
          f"{unchanged['benchmarks']} verdicts: {unchanged['verdicts']}; exit code 1 in "
          f"{unchanged['alarms']}, moved together in {unchanged['together']}")


def summarize(arguments, runs):
    pairs = pairs_of(runs, arguments.pairs)
    unchanged = study_unchanged(arguments, pairs)
    slower = study_slower(arguments, pairs, read_map(arguments.map)) if arguments.map else {}
    context = runs[0]["context"].get("dlroof", {})
    return {"command": shlex.join(sys.argv), "runs": len(runs),
            "dates": [runs[0]["context"].get("date"), runs[-1]["context"].get("date")],
            "commit": context.get("commit"), "libraries": context.get("libraries"),
            "machine": [m["name"] for m in runs[0]["machines"]],
            "measured_with": context.get("command"),
            "unchanged": {"comparisons": unchanged.comparisons, "benchmarks": unchanged.total(),
                          "verdicts": dict(unchanged.ours), "alarms": unchanged.alarms,
                          "together": unchanged.together},
            "rules": table(unchanged, slower),
            "slowdowns": [{"base": names[0], "new": names[1], "ratio": truth(runs, names),
                           "slower": tally.ours["slower"] / max(1, tally.total()),
                           "ambiguous": tally.ours["ambiguous"] / max(1, tally.total()),
                           "verdicts": dict(tally.ours)} for names, tally in slower.items()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="of the run files, in order of their names")
    parser.add_argument("--collect", type=int, default=0, help="measure so many runs first")
    parser.add_argument("--filter", default="LSTM/cpu/onednn", help="which benchmarks to measure")
    parser.add_argument("--flags", default="", help="more flags for dlroof_bench")
    parser.add_argument("--pause", type=float, default=0, help="[s] between runs")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("--compare-flags", default="", help="more flags for dlroof compare")
    parser.add_argument("--pairs", type=int, default=250, help="at most, of runs")
    parser.add_argument("--map", help="lines 'base-name new-name': the known slowdowns")
    parser.add_argument("-o", "--output", help="the summary")
    arguments = parser.parse_args()

    if arguments.collect:
        collect(arguments)
    runs = [read_run(os.path.join(arguments.folder, name))
            for name in sorted(os.listdir(arguments.folder)) if name.endswith(".json")]
    if len(runs) < 2:
        sys.exit(f"{arguments.folder}: holds {len(runs)} run files, expected at least 2")
    summary = summarize(arguments, runs)
    show(summary)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
