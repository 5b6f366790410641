#!/usr/bin/env python3
"""The judge's specification: made-up runs whose right verdict a person can say, and what `dlroof compare` says of them.

    matrix.py [--rounds 20] [--only TEXT] [--check] [--small] [-o FILE]
    matrix.py FILE                                     # the table of a stored result

Each line of CELLS is a pair of runs, with or without earlier ones: how many benchmarks, which became slower by how much, the noise
of a repetition, how many processes, and what the machine does beside that (LAWS). Seeds are fixed. --check exits with 1 where a
cell breaks its limit. Beside dlroof stand textbook steps (Welch's t on logarithms, Benjamini-Hochberg at 5 %) and the rule of
nvbench_compare.py on the same times. Nothing here shares code with dlroof.
"""
import collections
import json
import math
import random
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

REPETITIONS = 10


def bursts(share):
    """Neighbours slow repetitions that follow each other, also of neighbouring benchmarks, by 10 to 40 %."""

    def law(rng, times, run):
        length, inside, factor = 8, 0, 1
        for times_of_process in times:
            for i in range(len(times_of_process)):
                if inside == 0 and rng.random() < share / length / (1 - share):
                    inside, factor = 1 + int(rng.expovariate(1 / length)), rng.uniform(1.1, 1.4)
                if inside > 0:
                    inside -= 1
                    times_of_process[i] *= factor

    return law


def scale(times, factor):
    times[:] = [time * factor for time in times]


def drift(rng, times, run):
    """The machine becomes slower by 0 to 6 % along a run."""
    end = rng.uniform(0, 0.06)
    for number, of_process in enumerate(times):
        scale(of_process, 1 + end * number / len(times))


def speeds(rng, times, run):
    """One process in three is 4 %, one 9 % slower for as long as it lives."""
    for of_process in times:
        scale(of_process, rng.choice([1, 1.04, 1.09]))


def slow_process(rng, times, run):
    """One of five processes is 9 % slower for life."""
    for first in range(0, len(times), 5):
        scale(times[first + rng.randrange(min(5, len(times) - first))], 1.09)


def slow_for_life(rng, times, run):
    """One process in 35 is 5 to 15 % slower for as long as it lives."""
    for of_process in times:
        if rng.random() < 1 / 35:
            scale(of_process, rng.uniform(1.05, 1.15))


def clock(rng, times, run):
    """The clock is 3 % lower in NEW, for the 70 % of benchmarks that are bound by the core."""
    if run == "new":
        for number, of_process in enumerate(times):
            if number % 100 % 10 < 7:
                scale(of_process, 1.03)


def cold_start(rng, times, run):
    """The first tenth of a run is slower by up to 15 %: files and clocks are cold."""
    slower = 1 + rng.uniform(0, 0.15)
    for of_process in times[: len(times) // 10]:
        scale(of_process, slower)


def memory(rng, times, run):
    """Each repetition keeps 0.8 of the deviation of the one before it, with 0.2 to 5 % of noise by benchmark."""
    for number, of_process in enumerate(times):
        noise, deviation = 0.002 * 25 ** (number % 100 / 99), rng.gauss(0, 1)
        for i in range(len(of_process)):
            of_process[i] *= math.exp(noise * deviation)
            deviation = 0.8 * deviation + rng.gauss(0, 0.6)


def two_speeds(rng, times, run):
    """Each repetition is at one of two speeds, 9 % apart."""
    for of_process in times:
        of_process[:] = [time * rng.choice([1, 1.09]) for time in of_process]


def long_neighbour(rng, times, run):
    """In every second run a neighbour slows a tenth to half of the processes, one after the other, by 20 to 60 % for life."""
    if rng.random() < 0.5:
        first, slower = rng.randrange(len(times)), rng.uniform(1.2, 1.6)
        for of_process in times[first : first + max(1, round(rng.uniform(0.1, 0.5) * len(times)))]:
            of_process[:] = [time * slower * math.exp(0.03 * rng.gauss(0, 1)) for time in of_process]


LAWS = {
    "quiet": None,
    "5 % bursts": bursts(0.05),
    "17 % bursts": bursts(0.17),
    "drift": drift,
    "speeds by process": speeds,
    "a slow process": slow_process,
    "slow for life": slow_for_life,
    "clock": clock,
    "cold start": cold_start,
    "memory": memory,
    "two speeds": two_speeds,
    "heavy tails": None,
    "a long neighbour": long_neighbour,
}


class Cell:
    """One kind of pair. `changed`: a number of benchmarks or a share; `found`: the least share of these that is to be found.

    `mixed`: as many others became faster by as much."""

    def __init__(self, count, changed, effect, noise=0.01, law="quiet", processes=1, earlier=0, found=None, false=0.01, exits=None, mixed=False):
        self.count, self.effect, self.noise, self.law, self.mixed = count, effect, noise, law, mixed
        self.changed = changed if isinstance(changed, int) else max(1, round(changed * count))
        self.processes, self.earlier, self.found, self.false, self.exits = processes, earlier, found, false, exits
        what = "nothing" if not self.changed else f"{'all' if self.changed == count else self.changed} {100 * effect:+.0f} %"
        what += ", as many faster" if mixed else ""
        self.name = f"{count}: {what}, noise {100 * noise:g} %, {law}, {processes} process{'es' if processes > 1 else ''}, {earlier} earlier"

    def sample(self, rng, run):
        """Returns the times by benchmark and process."""
        between = [rng.gauss(1, 0.002) for _ in range(self.count)]
        times = []
        for k in range(self.count):
            level = 100e-6 * (k % 30 + 1) * between[k] * (self.factor(k) if run == "new" else 1)
            for _ in range(self.processes):
                times.append([level * math.exp(self.noise * self.gauss(rng)) for _ in range(REPETITIONS)])
        if LAWS[self.law]:
            # Processes are measured in passes over all benchmarks.
            order = [k * self.processes + p for p in range(self.processes) for k in range(self.count)]
            by_process = self.law in ("speeds by process", "a slow process", "slow for life", "two speeds")
            LAWS[self.law](rng, times if by_process else [times[i] for i in order], run)
        return [times[k * self.processes : (k + 1) * self.processes] for k in range(self.count)]

    def gauss(self, rng):
        if self.law != "heavy tails":
            return rng.gauss(0, 1)
        return rng.gauss(0, 1) / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3)

    def factor(self, k):
        """Returns NEW / BASE of the k-th benchmark. The changed ones are spread over the suite."""
        if self.changed and k * self.changed % self.count < self.changed:
            return 1 + self.effect
        if self.mixed and (k * self.changed + self.count // 2) % self.count < self.changed:
            return 1 / (1 + self.effect)
        return 1


def cells():
    """Yields the cells, with their limits."""
    for count in (1, 3, 5, 20, 100, 300):
        yield Cell(count, 0, 0, exits={0: 1.0} if count < 20 else None)
        yield Cell(count, 1, 0.2, found=1)
        yield Cell(count, 1, 1.0, found=1)
    for count in (1, 3, 4, 5, 20, 100):
        yield Cell(count, count, 0.3, found=1, exits={1: 1})
        yield Cell(count, count, 2.0, found=1, exits={1: 1})
        yield Cell(count, count, 0.05, exits={0: 0})
    yield Cell(5, 2, 0.3, found=1)
    for count in (20, 100):
        yield Cell(count, 0.5, 0.2, found=0.99)  # which half changed can be taken wrongly
        yield Cell(count, 0.5, -0.2, found=0.99)
        yield Cell(count, 0.5, 0.05, found=0.85)
        yield Cell(count, 0.1, 0.2, found=1, mixed=True)
    for count in (20, 100, 300):
        yield Cell(count, 0.1, 0.05, found=0.9)
        yield Cell(count, 0.1, 0.05, processes=5, found=0.95)
    for noise in (0.003, 0.03, 0.1):
        yield Cell(100, 0, 0, noise=noise)
        yield Cell(100, 0.1, 0.2, noise=noise, found=0.9 if noise < 0.1 else None)
    for earlier in (3, 10, 30):
        yield Cell(20, 0.1, 0.05, earlier=earlier, found=0.95)
        yield Cell(1, 0, 0, earlier=earlier)
        yield Cell(5, 1, 0.05, earlier=earlier, found=0.95 if earlier > 3 else None)
    for law in LAWS:
        if law == "quiet":
            continue
        if law == "a long neighbour":  # one process without a history cannot tell it from a change: no limits
            for earlier in (0, 3, 10):
                yield Cell(100, 0.1, 0.1, law=law, earlier=earlier, false=0.05 if earlier else 1)
            yield Cell(100, 0.1, 0.05, law=law, processes=5, found=0.95)
            continue
        limit = 0.05 if law in ("17 % bursts", "speeds by process", "cold start") else 0.02 if law == "slow for life" else 0.01
        unclear = law in ("drift", "speeds by process", "slow for life", "clock", "memory")
        if law != "clock":  # without 20 benchmarks nothing tells a lower clock from a slower program
            for count in (1, 3, 5):
                yield Cell(count, 0, 0, law=law, false=0.05)
        for changed, effect, earlier in ((0, 0, 0), *((0.1, 0.1, runs) for runs in (0, 3, 10, 30))):
            yield Cell(100, changed, effect, law=law, earlier=earlier, false=limit)
        yield Cell(100, 0, 0, law=law, processes=5)
        yield Cell(100, 0.1, 0.05, law=law, processes=5, false=0.01, found=None if unclear else 0.95)


def name_of(k):
    return f"BM_{k:03}"


def write(path, times, number):
    """Writes Google Benchmark's JSON for one process, and a run file for several."""
    date = f"2026-01-{1 + number:02}T00:00:00+00:00"
    context = {"date": date, "num_cpus": 2, "caches": []}
    if len(times[0]) == 1:
        about = {"run_type": "iteration", "threads": 1, "iterations": 9, "time_unit": "us"}
        rows = [
            {"name": name_of(k), "run_name": name_of(k), "repetition_index": i, **about, "real_time": 1e6 * time, "cpu_time": 1e6 * time}
            for k, processes in enumerate(times)
            for i, time in enumerate(processes[0])
        ]
        return path.write_text(json.dumps({"context": context, "benchmarks": rows}))
    records = [
        {"name": name_of(k), "status": "ok", "device": "cpu", "threads": 1, "cache": "warm", "algorithm": "a", "work": {}}
        | {"repetitions": [{"seconds": t, "iterations": 9, "block": p} for p, process in enumerate(processes) for t in process]}
        for k, processes in enumerate(times)
    ]
    context["dlroof"] = {"schema": 2, "conventions": {"flops": "fma is 2"}}
    path.write_text(json.dumps({"context": context, "machines": [], "records": records}))


def student_tail(t, degrees):
    """Returns P(|T| > t) by the trapezoidal rule over the angle: exact enough for a textbook."""
    end, steps = math.atan(abs(t) / math.sqrt(degrees)), 100
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)
    values = [max(0.0, math.cos(end + (math.pi / 2 - end) * i / steps)) ** (degrees - 1) for i in range(steps + 1)]
    return 2 * scale * (math.pi / 2 - end) / steps * (sum(values) - (values[0] + values[-1]) / 2)


def textbook(base, new):
    """Welch's t on logarithms of all repetitions, Benjamini-Hochberg at 5 %. Returns a verdict for each benchmark."""
    ratios, p_values = [], []
    for before, after in zip(base, new):
        a, b = ([math.log(time) for process in side for time in process] for side in (before, after))
        va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
        ratios.append(statistics.fmean(b) - statistics.fmean(a))
        degrees = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        p_values.append(student_tail(ratios[-1] / math.sqrt(va + vb), degrees))
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    last = max((rank for rank, k in enumerate(order, 1) if p_values[k] <= 0.05 * rank / len(order)), default=0)
    rejected = set(order[:last])
    return ["same" if k not in rejected else "slower" if ratios[k] > 0 else "faster" for k in range(len(ratios))]


def nvbench(base, new):
    """nvbench_compare.py: the means differ by more than the smaller of the relative standard deviations."""
    verdicts = []
    for before, after in zip(base, new):
        a, b = ([time for process in side for time in process] for side in (before, after))
        noise = min(statistics.stdev(side) / statistics.fmean(side) for side in (a, b))
        change = statistics.fmean(b) / statistics.fmean(a) - 1
        verdicts.append("same" if abs(change) <= noise else "slower" if change > 0 else "faster")
    return verdicts


def count(cell, verdicts, counts, who):
    for k, verdict in enumerate(verdicts):
        right, wrong = ("slower", "faster") if cell.factor(k) > 1 else ("faster", "slower")
        if cell.factor(k) != 1:
            counts.update({f"{who} changed": 1, f"{who} found": verdict == right, f"{who} inverted": verdict == wrong})
        else:
            counts.update({f"{who} unchanged": 1, f"{who} false": verdict in ("slower", "faster"), f"{who} slower": verdict == "slower"})
        counts.update({f"{who} ambiguous": verdict == "ambiguous"})


def judge(dlroof, cell, rounds, folder):
    counts, rules = collections.Counter(), {"textbook": textbook, "nvbench": nvbench}
    for number in range(rounds):
        rng = random.Random(f"{cell.name} {number}")
        files = [folder / f"{i}.json" for i in range(cell.earlier + 2)]
        samples = [cell.sample(rng, "new" if i == cell.earlier + 1 else "base") for i in range(len(files))]
        for i, (path, sample) in enumerate(zip(files, samples)):
            write(path, sample, i)
        db = folder / "history.sqlite"
        if cell.earlier:
            db.unlink(missing_ok=True)
            lib.run(dlroof, "history", "add", *files[:-2], "--db", db)
        code, rows = lib.compare(dlroof, *files[-2:], *(["--db", db] if cell.earlier else []))
        verdicts = [rows[name_of(k)] for k in range(cell.count)]
        covered = sum(row["ci95"][0] <= cell.factor(k) <= row["ci95"][1] for k, row in enumerate(verdicts))
        counts.update({"rounds": 1, f"exit {code}": 1, "covered": covered, "intervals": cell.count})
        count(cell, [row["verdict"] for row in verdicts], counts, "dlroof")
        for who, rule in rules.items():
            count(cell, rule(*samples[-2:]), counts, who)
    return counts


def faults(cell, counts):
    """Returns what of the cell's limits is broken. Small counts get what chance allows: three deviations."""
    found = []
    if cell.found is not None and counts["dlroof found"] < math.floor(
        cell.found * counts["dlroof changed"] - 3 * math.sqrt((1 - cell.found) * counts["dlroof changed"])
    ):
        found.append(f"found {lib.percent(counts['dlroof found'], counts['dlroof changed'])}, not {lib.percent(cell.found)}")
    allowed = cell.false * counts["dlroof unchanged"]
    if counts["dlroof slower"] > allowed + 3 * math.sqrt(allowed):
        found.append(f"false {lib.percent(counts['dlroof slower'], counts['dlroof unchanged'])}")
    if cell.law != "clock" and cell.false < 1 and counts["dlroof inverted"]:
        found.append(f"{counts['dlroof inverted']} inverted")
    for code, limit in (cell.exits or {}).items():
        if (counts[f"exit {code}"] == counts["rounds"]) != (limit == 1) if limit == 1 else counts[f"exit {code}"] > 0:
            found.append(f"exit {code} in {counts[f'exit {code}']} of {counts['rounds']}")
    return found


def line(cell, counts):
    rows = [
        lib.percent(counts[f"{who} {what}"], counts[f"{who} {whole}"])
        for who in ("dlroof", "textbook", "nvbench")
        for what, whole in (("found", "changed"), ("false", "unchanged"))
    ]
    exits = ", ".join(f"{code}: {counts[f'exit {code}']}" for code in (0, 1, 3) if counts[f"exit {code}"])
    return [cell.name, *rows, lib.percent(counts["covered"], counts["intervals"]), exits]


HEAD = ("cell", "found", "false", "textbook found", "false", "nvbench found", "false", "intervals hold", "exits")


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("stored", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--small", action="store_true", help="fewer rounds of cells with more than 20 benchmarks: a minute in all")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    stored = lib.read(options.stored) if options.stored else {}
    results, broken, rows = {}, 0, []

    def rounds_of(cell):
        return max(1, options.rounds * 20 // (cell.count * (2 + cell.earlier))) if options.small and cell.count > 20 else options.rounds

    with tempfile.TemporaryDirectory() as folder:
        for cell in cells():
            if options.only not in cell.name or (stored and cell.name not in stored):
                continue
            counts = collections.Counter(stored[cell.name]) if stored else judge(options.dlroof, cell, rounds_of(cell), Path(folder))
            results[cell.name] = counts
            rows.append(line(cell, counts))
            fault = faults(cell, counts)
            broken += bool(fault)
            if not stored:
                print(" | ".join(rows[-1]), *(f"  BROKEN: {text}" for text in fault), flush=True)
    if stored:
        print(lib.table(HEAD, rows, right=HEAD[1:-1]))
    if options.output:
        lib.write(options.output, results)
    return 1 if options.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
