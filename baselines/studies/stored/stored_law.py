#!/usr/bin/env python3
"""How often are verdicts against stored runs wrong? Runs made by a stated law, judged by `dlroof compare`.

    baselines/studies/stored/stored_law.py --dlroof build/dlroof --benchmarks 300 --earlier 0 3 30 --effects 5 3

Each round makes one BASE, one NEW and, with --earlier N, a history of N older runs. A tenth of the benchmarks (at least
one) is slower in NEW by the effect; the others are the same program. The law (--law first): log-normal noise of 1 to 3 %
(a constant of each benchmark), one repetition in twenty 30 % slower and half of these not marked, a factor of 1 to 1.05
of each whole run, which the ceilings have too, and one series in fifteen that jumps between two speeds 12 % apart:
--jumps between: each run is in one of the two for all of its repetitions; within: repetitions change from one to the
other with a chance of one in four; mixed: half of these series jump each way. --law second: see SECOND. --plain writes
Google Benchmark's own JSON: times only, no marks, no ceilings. Nothing here shares code with dlroof.
"""
import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

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
    "noise": (0.008, 0.025),
    "tails": 4,
    "memory": 0.3,
    "disturbed": 0.08,
    "slower_by": 0.22,
    "unmarked": 0.4,
    "drift": (-0.02, 0.04),
    "jumping": 1 / 20,
    "apart": 0.09,
    "repetitions": 9,
    "process": 0.004,
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

    roofs = {
        "flops": {pipe: row(1e12 * (i + 1)) for i, pipe in enumerate(ROWS["flops"])},
        "bytes": {level: row(1e12 / 4**i) for i, level in enumerate(ROWS["bytes"])},
    }
    return {"device": "cpu", "name": "made up", "fingerprint": "00", "measured_at": when, "facts": {}, "cache_bytes": {}, **roofs, "by_threads": {"2": roofs}}


def write_run(path, number, series, slower, rng, law, plain):
    """Writes one run. `slower`: factor of each benchmark that is slower, by name."""
    drift = 1 + rng.uniform(*law["drift"])
    when = f"2026-01-{1 + number // 24:02}T{number % 24:02}:00:00"
    measured = [(one, one.repetitions(rng, law, drift * slower.get(one.name, 1))) for one in series]
    context = {"date": when + "+00:00", "num_cpus": 2, "caches": []}
    if plain:
        rows = [
            {
                "name": one.name,
                "run_name": one.name,
                "run_type": "iteration",
                "repetition_index": i,
                "iterations": 9,
                "real_time": seconds * 1e6,
                "cpu_time": seconds * 1e6,
                "time_unit": "us",
            }
            for one, times in measured
            for i, (seconds, _) in enumerate(times)
        ]
        Path(path).write_text(json.dumps({"context": context, "benchmarks": rows}))
        return
    context["dlroof"] = {"schema": 2, "conventions": {"flops": "fma is 2"}}
    records = [
        {
            "name": one.name,
            "status": "ok",
            "threads": 2,
            "cache": "warm",
            "algorithm": "a",
            "work": {"modelled": {"flops": {"fp32.vector": one.seconds * 3e11}, "bytes": {"dram": one.seconds * 1e9}}},
            "repetitions": [{"seconds": seconds, "iterations": 9} | ({"disturbed": True} if marked else {}) for seconds, marked in times],
        }
        for one, times in measured
    ]
    Path(path).write_text(json.dumps({"context": context, "machines": [machine(rng, drift, when + "Z")], "records": records}))


def verdicts(dlroof, files, flags):
    made = subprocess.run([dlroof, "compare", *files, *flags, "--format=json"], capture_output=True, text=True)
    if made.returncode not in (0, 1, 3):
        sys.exit(f"dlroof compare failed: {made.stderr}")
    return made.returncode, {row["name"]: row["verdict"] for row in json.loads(made.stdout)["benchmarks"]}


def one_round(options, seed, earlier, effect, folder):
    """Returns the counts of one comparison."""
    rng, law = random.Random(seed), LAWS[options.law]
    series = [Series(i, rng, law, options.jumps) for i in range(options.benchmarks)]
    slow = rng.sample(series, max(1, round(options.planted * len(series)))) if effect else []
    base, new, db = (str(folder / name) for name in ("base.json", "new.json", "history.sqlite"))
    for path in folder.iterdir():
        path.unlink()
    flags = []
    for number in range(earlier):
        path = str(folder / f"earlier-{number:02}.json")
        write_run(path, number, series, {}, rng, law, options.plain)
    if earlier:
        paths = sorted(str(path) for path in folder.glob("earlier-*.json"))
        subprocess.run([options.dlroof, "history", "add", *paths, "--db", db], check=True, capture_output=True)
        flags = ["--db", db]
    write_run(base, earlier, series, {}, rng, law, options.plain)
    write_run(new, earlier + 1, series, {one.name: 1 + effect for one in slow}, rng, law, options.plain)
    code, found = verdicts(options.dlroof, [base, new], flags + options.flags)
    slow_names = {one.name for one in slow}
    jumping = {one.name for one in series if one.jumps}
    counts = {"unchanged": 0, "false": 0, "false_jumping": 0, "slow": 0, "found": 0, "insufficient": 0, "same": 0, "rounds": 1, "alarms": int(code == 1)}
    for name, verdict in found.items():
        counts["insufficient"] += verdict == "insufficient"
        if name in slow_names:
            counts["slow"] += 1
            counts["found"] += verdict == "slower"
        else:
            counts["unchanged"] += 1
            counts["same"] += verdict == "same"
            wrong = verdict in ("slower", "faster")
            counts["false"] += wrong
            counts["false_jumping"] += wrong and name in jumping
    return counts


def share(part, whole):
    return f"{100 * part / whole:.2f} %" if whole else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlroof", default="build/dlroof")
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
    for earlier in options.earlier:
        for effect in options.effects:
            total = {}
            with tempfile.TemporaryDirectory() as folder:
                for round_ in range(options.rounds):
                    counts = one_round(options, f"{options.seed}-{round_}", earlier, effect / 100, Path(folder))
                    total = {key: total.get(key, 0) + value for key, value in counts.items()}
            quiet = total["false"] - total["false_jumping"]
            print(
                f"{options.law} law{', plain' if options.plain else ''}, jumps {options.jumps}, {options.benchmarks} benchmarks, {earlier} earlier, "
                f"{effect:g} %: found {share(total['found'], total['slow'])} of {total['slow']}, false {share(total['false'], total['unchanged'])} "
                f"({share(quiet, total['unchanged'])} without series that jump), same {share(total['same'], total['unchanged'])}, "
                f"insufficient {total['insufficient']}, exit 1 in {total['alarms']} of {total['rounds']}",
                flush=True,
            )
            if options.output:
                settings = {key: value for key, value in vars(options).items() if key not in ("dlroof", "output", "earlier", "effects")}
                with open(options.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps(settings | {"earlier": earlier, "effect": effect} | total) + "\n")


if __name__ == "__main__":
    main()
