#!/usr/bin/env python3
"""How often are verdicts against stored runs wrong? Runs made by a stated law, judged by `dlroof compare`.

    baselines/studies/stored/stored_law.py --benchmarks 300 --earlier 0 3 30 --effects 5 3

Each round makes one BASE, one NEW and, with --earlier N, a history of N older runs. A tenth of the benchmarks (at least
one) is slower in NEW by the effect; the others are the same program. The law (--law first): log-normal noise of 1 to 3 %
(a constant of each benchmark), one repetition in twenty 30 % slower and half of these not marked, a factor of 1 to 1.05
of each whole run, which the ceilings have too, and one series in fifteen that jumps between two speeds 12 % apart:
--jumps between: each run is in one of the two for all of its repetitions; within: repetitions change from one to the
other with a chance of one in four; mixed: half of these series jump each way. --law second: see SECOND. --plain writes
Google Benchmark's own JSON: times only, no marks, no ceilings. Nothing here shares code with dlroof.
"""
import collections
import json
import math
import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

FIRST = {
    "noise": (0.01, 0.03),  # range of the standard deviation of the logarithm of one repetition
    "tails": None,  # degrees of freedom of Student's t, or normal
    "memory": 0.0,  # lag-1 correlation of the repetitions of a run
    "disturbed": 0.05,  # share of disturbed repetitions
    "slower_by": 0.30,  # of a disturbed repetition
    "unmarked": 0.5,  # share of the disturbed repetitions that are not marked
    "drift": (0.0, 0.05),  # range of a run's factor - 1
    "jumping": 1 / 15,  # share of series that jump
    "apart": 0.12,  # of the two speeds
    "repetitions": 10,
    "process": 0.0,  # standard deviation of the logarithm of one process, of one benchmark
}
# Kept back until the end: heavier tails, repetitions that depend on each other, and noise between processes.
SECOND = FIRST | {
    **{"noise": (0.008, 0.025), "tails": 4, "memory": 0.3, "disturbed": 0.08, "slower_by": 0.22, "unmarked": 0.4},
    **{"drift": (-0.02, 0.04), "jumping": 1 / 20, "apart": 0.09, "repetitions": 9, "process": 0.004},
}
LAWS = {"first": FIRST, "second": SECOND}
ROWS = {"flops": ["fp32.vector", "int8.vector"], "bytes": ["l1", "l2", "l3", "dram"]}
CEILING_NOISE = 0.01


def gauss(rng, law):
    if law["tails"] is None:
        return rng.gauss(0, 1)
    # Student's t, scaled to a standard deviation of 1.
    degrees = law["tails"]
    chi = sum(rng.gauss(0, 1) ** 2 for _ in range(degrees))
    return rng.gauss(0, 1) / math.sqrt(chi / degrees) * math.sqrt((degrees - 2) / degrees)


class Series:
    """One benchmark: its speed, its noise, and how it jumps."""

    def __init__(self, index, rng, law, jumps):
        self.name = f"Conv2D/cpu/onednn/fwd/f32/n{index + 1}c16h14w14k16r3s3_p1"
        self.seconds = math.exp(rng.uniform(math.log(2e-5), math.log(2e-2)))
        self.noise = rng.uniform(*law["noise"])
        self.jumps = None
        if rng.random() < law["jumping"]:
            self.jumps = rng.choice(["between", "within"]) if jumps == "mixed" else jumps

    def repetitions(self, rng, law, factor):
        """Returns [(seconds, marked)]."""
        step = math.log1p(law["apart"])
        level = math.log(self.seconds * factor) + rng.gauss(0, law["process"])
        high = rng.random() < 0.5
        memory, carried = law["memory"], gauss(rng, law)
        times = []
        for _ in range(law["repetitions"]):
            if self.jumps == "within" and rng.random() < 0.25:
                high = not high
            carried = memory * carried + math.sqrt(1 - memory**2) * gauss(rng, law)
            log_time = level + self.noise * carried + (step if self.jumps and high else 0)
            disturbed = rng.random() < law["disturbed"]
            marked = disturbed and rng.random() >= law["unmarked"]
            times.append((math.exp(log_time) * (1 + law["slower_by"] if disturbed else 1), marked))
        return times


def machine(rng, drift, when):
    def row(rate):
        return {"per_second": rate / drift * math.exp(rng.gauss(0, CEILING_NOISE)), "threads": 2, "how": "made up", "proved": True}

    flops = {pipe: row(1e12 * (i + 1)) for i, pipe in enumerate(ROWS["flops"])}
    roofs = {"flops": flops, "bytes": {level: row(1e12 / 4**i) for i, level in enumerate(ROWS["bytes"])}}
    about = {"device": "cpu", "name": "made up", "fingerprint": "00", "measured_at": when, "facts": {}, "cache_bytes": {}}
    return {**about, **roofs, "by_threads": {"2": roofs}}


def plain_rows(measured):
    """Yields Google Benchmark's rows."""
    for series, times in measured:
        for i, (seconds, _) in enumerate(times):
            about = {"name": series.name, "run_name": series.name, "run_type": "iteration", "repetition_index": i, "iterations": 9}
            yield {**about, "real_time": seconds * 1e6, "cpu_time": seconds * 1e6, "time_unit": "us"}


def record(series, times):
    work = {"flops": {"fp32.vector": series.seconds * 3e11}, "bytes": {"dram": series.seconds * 1e9}}
    repetitions = [{"seconds": seconds, "iterations": 9} | ({"disturbed": True} if marked else {}) for seconds, marked in times]
    about = {"name": series.name, "status": "ok", "threads": 2, "cache": "warm", "algorithm": "a"}
    return {**about, "work": {"modelled": work}, "repetitions": repetitions}


def write_run(path, number, all_series, slower, rng, law, plain):
    """Writes one run. `slower`: factor of each benchmark that is slower, by name."""
    drift = 1 + rng.uniform(*law["drift"])
    when = f"2026-01-{1 + number // 24:02}T{number % 24:02}:00:00"
    measured = [(series, series.repetitions(rng, law, drift * slower.get(series.name, 1))) for series in all_series]
    context = {"date": when + "+00:00", "num_cpus": 2, "caches": []}
    if plain:
        return lib.write(path, {"context": context, "benchmarks": list(plain_rows(measured))}, None)
    context["dlroof"] = {"schema": 2, "conventions": {"flops": "fma is 2"}}
    lib.write(path, {"context": context, "machines": [machine(rng, drift, when + "Z")], "records": [record(*each) for each in measured]}, None)


def one_round(options, seed, earlier, effect, folder):
    """Returns the counts of one comparison."""
    rng, law = random.Random(seed), LAWS[options.law]
    all_series = [Series(i, rng, law, options.jumps) for i in range(options.benchmarks)]
    slow = {series.name: 1 + effect for series in rng.sample(all_series, max(1, round(options.planted * len(all_series))) if effect else 0)}
    base, new, db = folder / "base.json", folder / "new.json", folder / f"history-{seed}.sqlite"
    stored = [folder / f"earlier-{number:02}.json" for number in range(earlier)]
    for number, path in enumerate([*stored, base, new]):
        write_run(path, number, all_series, slow if path == new else {}, rng, law, options.plain)
    if earlier:
        lib.run(options.dlroof, "history", "add", *stored, "--db", db)
    code, rows = lib.compare(options.dlroof, base, new, *(["--db", db] if earlier else []), *options.flags)
    jumping = {series.name for series in all_series if series.jumps}
    counts = collections.Counter(rounds=1, alarms=int(code == 1))
    for name, row in rows.items():
        verdict = row["verdict"]
        counts["insufficient"] += verdict == "insufficient"
        if name in slow:
            counts.update(slow=1, found=verdict == "slower")
        else:
            wrong = verdict in ("slower", "faster")
            counts.update(unchanged=1, same=verdict == "same", false=wrong, false_jumping=wrong and name in jumping)
    return counts


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("--law", choices=LAWS, default="first")
    parser.add_argument("--jumps", choices=["between", "within", "mixed"], default="within")
    parser.add_argument("--benchmarks", type=int, default=300)
    parser.add_argument("--planted", type=float, default=0.1, help="share of the benchmarks that are slower")
    parser.add_argument("--earlier", type=int, nargs="+", default=[0])
    parser.add_argument("--effects", type=float, nargs="+", default=[5], help="[%%] 0: only unchanged benchmarks")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--flags", nargs="*", default=[], help="flags of compare")
    parser.add_argument("-o", "--output", help="JSON lines are appended")
    options = parser.parse_args()
    for earlier, effect in ((earlier, effect) for earlier in options.earlier for effect in options.effects):
        total = collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            for round_ in range(options.rounds):
                total.update(one_round(options, f"{options.seed}-{round_}", earlier, effect / 100, Path(folder)))
        found, unchanged = lib.percent(total["found"], total["slow"], 2), total["unchanged"]
        quiet = lib.percent(total["false"] - total["false_jumping"], unchanged, 2)
        print(
            f"{options.law} law{', plain' if options.plain else ''}, jumps {options.jumps}, {options.benchmarks} benchmarks, {earlier} earlier, "
            f"{effect:g} %: found {found} of {total['slow']}, false {lib.percent(total['false'], unchanged, 2)} ({quiet} without series that jump), "
            f"same {lib.percent(total['same'], unchanged, 2)}, insufficient {total['insufficient']}, exit 1 in {total['alarms']} of {total['rounds']}",
            flush=True,
        )
        if options.output:
            settings = {key: value for key, value in vars(options).items() if key not in ("dlroof", "bench", "output", "earlier", "effects")}
            with open(options.output, "a", encoding="utf-8") as file:
                file.write(json.dumps(settings | {"earlier": earlier, "effect": effect} | total) + "\n")


if __name__ == "__main__":
    main()
