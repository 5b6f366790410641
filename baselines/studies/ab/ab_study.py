#!/usr/bin/env python3
"""How often does `dlroof run --ab` raise a false alarm, and what does it find, compared with the rules of other tools?

    ab_study.py FILE --folder runs --rounds 25     # measures, about a minute a round, judges all runs of the folder, writes FILE
    ab_study.py FILE                               # the table again

Each round is one interleaved comparison of one program with itself. Some of its benchmarks are themselves on both sides, so that each
`slower` or `faster` is false. The others are paired by a map with the same problem that is 5 % longer (20 images or time steps against
21): real work instead of scaled numbers. The windows that were measured are also judged by the rules of other tools:

  U test       Google Benchmark's compare.py: two-sided Mann-Whitney at 0.05
  ratio R      ratio of medians beyond R either way; 2 is what github-action-benchmark calls 200 %
  IQR fence    the median lies outside BASE's quartiles by more than 1.5 times their distance
  nvbench      nvbench_compare.py: the means differ by more than the smaller of the relative standard deviations
"""
import collections
import math
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

UNCHANGED = (
    "Conv2D/cpu/onednn/fwd/f32/n16c16h14w14k32r3s3_p1/threads1",
    "Conv2D/cpu/onednn/fwd/int8/n16c64h7w7k64r1s1/threads1",
    "Conv2D/cpu/onednn/bwd_weights/f32/n8c16h14w14k16r3s3_p1/threads1",
    "Conv2D/cpu/onednn/bwd_data/f32/n8c16h14w14k16r1s1/threads1",
    "Conv2D/cpu/onednn/fwd/f32/n4c32h28w28k32r3s3_p1g32/threads1",
    "LSTM/cpu/onednn/fwd_inference/f32/t8n8i32h32/threads1",
    "LSTM/cpu/onednn/fwd_training/f32/t8n8i16h16/threads1",
    "LSTM/cpu/onednn/bwd/f32/t4n8i16h16/threads1",
)
LONGER = (
    "Conv2D/cpu/onednn/fwd/f32/n{}c16h14w14k16r3s3_p1/threads1",
    "Conv2D/cpu/onednn/fwd/f32/n{}c32h7w7k32r1s1/threads1",
    "Conv2D/cpu/onednn/bwd_data/f32/n{}c8h28w28k8r3s3_p1/threads1",
    "LSTM/cpu/onednn/fwd_inference/f32/t{}n8i32h32/threads1",
)
PAIRS = [(name.format(20), name.format(21)) for name in LONGER]
NAMES = [*UNCHANGED, *(name for pair in PAIRS for name in pair)]


def u_test(base, new):
    """Returns the two-sided p-value: the normal approximation, corrected for ties and continuity."""
    n, m = len(base), len(new)
    u = sum((b > x) + 0.5 * (b == x) for x in new for b in base)
    ties = sum(c**3 - c for c in collections.Counter(base + new).values()) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties))
    return math.erfc((n * m / 2 - min(u, n * m - u) - 0.5) / deviation / math.sqrt(2)) if deviation else 1


def medians_ratio(base, new):
    return statistics.median(new) / statistics.median(base)


def beyond_fence(base, new):
    low, _, high = statistics.quantiles(base, n=4, method="inclusive")
    return max(low - statistics.median(new), statistics.median(new) - high) > 1.5 * (high - low)


def beyond_noise(base, new):
    means = [statistics.fmean(side) for side in (base, new)]
    return abs(means[1] - means[0]) / means[0] > min(statistics.stdev(side) / mean for side, mean in zip((base, new), means))


RULES = {
    "U test, 0.05": lambda base, new: u_test(base, new) < 0.05,
    "ratio 1.1": lambda base, new: abs(math.log(medians_ratio(base, new))) > math.log(1.1),
    "ratio 2": lambda base, new: abs(math.log(medians_ratio(base, new))) > math.log(2),
    "IQR fence": beyond_fence,
    "nvbench": beyond_noise,
}


def measure(arguments, folder, map_file):
    suite = folder / "suite.txt"
    suite.write_text("".join(name + "\n" for name in NAMES))
    for i in range(arguments.rounds):
        stem = folder / f"{int(time.time())}-{i:03}"
        command = [arguments.dlroof, "run", "--ab", arguments.bench, arguments.bench, "--map", map_file, "-o", f"{stem}.old.json", "-o", f"{stem}.new.json"]
        flags = [f"--dlroof_suite={suite}", "--dlroof_live_check=false", "--benchmark_filter=" + "|".join(f"^{name}/" for name in NAMES)]
        lib.run(*command, "--", *flags, codes=lib.VERDICTS)
        print(f"{i + 1} of {arguments.rounds} rounds", flush=True)


def judge(arguments, folder, map_file):
    """Returns what dlroof and each rule say of every comparison of the folder."""
    comparisons = collections.defaultdict(list)
    for new_file in sorted(folder.glob("*.new.json")):
        files = [str(new_file).replace(".new.json", ".old.json"), new_file]
        _, rows = lib.compare(arguments.dlroof, *files, "--map", map_file)
        runs = [lib.measured(lib.read(file)) for file in files]
        for pair in [*((name, name) for name in UNCHANGED), *PAIRS]:
            base, new = ([repetition["seconds"] for repetition in run[name]["repetitions"]] for run, name in zip(runs, pair))
            way = "slower" if medians_ratio(base, new) > 1 else "faster"
            said = {rule: way if moved(base, new) else "same" for rule, moved in RULES.items()}
            kept = {key: rows[pair[1]][key] for key in ("ratio", "ci95") if key in rows[pair[1]]}
            comparisons[" -> ".join(dict.fromkeys(pair))].append({"said": {"dlroof compare": rows[pair[1]]["verdict"], **said}, "windows": len(base), **kept})
    return {"command": lib.command(), "comparisons": comparisons, "rules": rates(comparisons)}


def rates(comparisons):
    def share(rule, said, of):
        return sum(comparison["said"][rule] in said for comparison in of) / len(of)

    unchanged = [comparison for pair, of in comparisons.items() if " -> " not in pair for comparison in of]
    longer = [comparison for pair, of in comparisons.items() if " -> " in pair for comparison in of]
    return [
        {
            "rule": rule,
            "false": share(rule, ("slower", "faster"), unchanged),
            "power": share(rule, ("slower",), longer),
            "wrong_way": share(rule, ("faster",), longer),
        }
        for rule in ("dlroof compare", *RULES)
    ]


def show(study):
    of_pair = study["comparisons"].items()
    verdict = [collections.Counter(comparison.get("verdict") or comparison["said"]["dlroof compare"] for comparison in of) for _, of in of_pair]
    for title, changed in (("without a change", False), ("with one of 5 %", True)):
        counts = sum((count for (pair, _), count in zip(of_pair, verdict) if (" -> " in pair) == changed), collections.Counter())
        print(f"{sum(counts.values())} comparisons {title}: {dict(counts)}")
    rows = [[row["rule"], *(lib.percent(row[key]) for key in ("false", "power", "wrong_way"))] for row in study["rules"]]
    print("\n" + lib.table(("rule", "false alarms", "slowdowns found", "called faster"), rows), end="")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("file", help="of the study")
    parser.add_argument("--folder", type=Path, help="of the run files")
    parser.add_argument("--rounds", type=int, default=0, help="comparisons to measure first")
    arguments = parser.parse_args()
    if arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        map_file = arguments.folder / "map.txt"
        map_file.write_text("".join(f"{base} {new}\n" for base, new in PAIRS))
        measure(arguments, arguments.folder, map_file)
        lib.write(arguments.file, judge(arguments, arguments.folder, map_file), None)
    show(lib.read(arguments.file))


if __name__ == "__main__":
    main()
