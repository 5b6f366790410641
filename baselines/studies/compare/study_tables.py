"""The rules of other tools, and the tables that baselines/studies/compare/compare_study.py and baselines/studies/ab/ab_study.py print and store.

    from study_tables import Tally, show_tables, tables
    unchanged.add(verdict, base_seconds, new_seconds)     # a Tally; dlroof's verdict, repetitions
    summary = tables(unchanged, {("x/n20", "x/n21"): tally_of_a_known_slowdown})
    show_tables(summary)

The repetitions that `dlroof compare` judged go through

  U test       Google Benchmark's compare.py: two-sided Mann-Whitney at 0.05, all repetitions
  ratio R      ratio of medians beyond R either way: 1.1 is a threshold of 10 %; 2 is what
               github-action-benchmark calls 200 %; 3 is one of 200 % more
  IQR fence    the median lies outside BASE's quartiles by more than 1.5 times their distance
  nvbench      nvbench_compare.py: the means differ by more than the smaller of the two relative
               standard deviations

"Judged" are the comparisons that dlroof calls same, faster, slower or ambiguous, not insufficient;
"of judged" tells of every rule what it says of these. Each rule can be made stricter, or less so,
until it finds as many of the true slowdowns as dlroof does; "false at dlroof's power" is what is
left of its false alarms then, "cannot" (null) where it never finds so many; where it is as sure of
several, it may leave them all out and find fewer, which is listed next to it. The size of a slowdown is
that of the numbers in its two names; "95 % power from" is the smallest size from which on at least
95 % are called slower.
"""
import collections
import itertools
import math
import re
import statistics

OURS = "dlroof compare"
CALLS = ("slower", "faster")
JUDGED = ("same", "ambiguous", *CALLS)
ENOUGH_POWER = 0.95


def u_cumulated(n, m):
    """P(U <= u), exact, no ties: orders of n and m values counted by their U."""
    ways = [[1] for _ in range(m + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            with_base = [0] * j + ways[j]
            ways[j] = [(with_base[u] if u < len(with_base) else 0) + (ways[j - 1][u] if u < len(ways[j - 1]) else 0) for u in range(i * j + 1)]
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
    ties = sum(c**3 - c for c in counts.values()) / ((n + m) * (n + m - 1))
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


class Tally:
    """What the rules said of many comparisons."""

    def __init__(self):
        self.ours = []  # dlroof's verdicts
        self.slower = []  # whether the median grew
        self.scores = {rule: [] for rule in RULES}

    def add(self, verdict, base, new):
        self.ours.append(verdict)
        self.slower.append(ratio_of_medians(base, new) > 1)
        for rule, (score, _) in RULES.items():
            self.scores[rule].append(score(base, new))

    def join(self, other):
        self.ours += other.ours
        self.slower += other.slower
        for rule in RULES:
            self.scores[rule] += other.scores[rule]

    def total(self):
        return len(self.ours)

    def judged(self):
        return sum(verdict in JUDGED for verdict in self.ours)

    def verdicts(self):
        return dict(collections.Counter(self.ours))

    def says(self, rule, threshold=None):
        if rule == OURS:
            return self.ours
        least = RULES[rule][1] if threshold is None else threshold
        return [("slower" if slower else "faster") if score > least else "same" for score, slower in zip(self.scores[rule], self.slower)]

    def share(self, calls, rule=OURS, threshold=None, of=None):
        """How often a rule says one of `calls` where dlroof says one of `of`, or None."""
        said = [one for one, ours in zip(self.says(rule, threshold), self.ours) if of is None or ours in of]
        return sum(one in calls for one in said) / len(said) if said else None

    def threshold_of(self, rule, power):
        """The least strict threshold that finds no more than `power` of the slowdowns; None: none
        finds so many."""
        found = sorted((score for score, slower in zip(self.scores[rule], self.slower) if slower), reverse=True)
        keep = round(power * self.total())
        if keep > len(found):
            return None
        if keep < len(found):
            return found[keep]
        return math.nextafter(found[-1], -math.inf) if found else math.inf


def size_of(names):
    """Of a slowdown from the first numbers that differ: 0.05 of n20... and n21..., or None."""
    numbers = zip(*([int(digits) for digits in re.findall(r"\d+", name)] for name in names))
    return next((round(new / base - 1, 2) for base, new in numbers if base not in (0, new)), None)


def found(tally):
    return {"comparisons": tally.total(), "judged": tally.judged(), "slower": tally.share(("slower",)), "slower_of_judged": tally.share(("slower",), of=JUDGED)}


def slowdown(names, tally):
    return {"base": names[0], "new": names[1], **found(tally), "ambiguous": tally.share(("ambiguous",)), "verdicts": tally.verdicts()}


def power_curve(slower):
    sizes = collections.defaultdict(Tally)
    for names, tally in slower.items():
        if size_of(names) is not None:
            sizes[size_of(names)].join(tally)
    return [{"size": size, **found(tally)} for size, tally in sorted(sizes.items())]


def powerful_from(curve, key):
    """The smallest size from which on the power is enough, or None."""
    enough = itertools.takewhile(lambda row: (row[key] or 0) >= ENOUGH_POWER, reversed(curve))
    return min((row["size"] for row in enough), default=None)


def at_power(unchanged, slowdowns, rule, power):
    if rule == OURS:
        return {"false_at_our_power": unchanged.share(CALLS), "power_then": power}
    threshold = slowdowns.threshold_of(rule, power)
    if threshold is None:
        return {"false_at_our_power": None}
    return {"false_at_our_power": unchanged.share(CALLS, rule, threshold), "power_then": slowdowns.share(("slower",), rule, threshold)}


def rule_rows(unchanged, slower):
    """A row per rule: its false alarms, what it finds, its false alarms at dlroof's power."""
    slowdowns = Tally()
    for tally in slower.values():
        slowdowns.join(tally)
    power = slowdowns.share(("slower",))
    rows = []
    for rule in (OURS, *RULES):
        row = {"rule": rule, "false": unchanged.share(CALLS, rule), "false_of_judged": unchanged.share(CALLS, rule, of=JUDGED)}
        if rule == OURS:
            row["insufficient"] = unchanged.share(("insufficient",))
        if power is not None:
            row["power"] = slowdowns.share(("slower",), rule)
            row["power_of_judged"] = slowdowns.share(("slower",), rule, of=JUDGED)
            row["wrong_way"] = slowdowns.share(("faster",), rule)
            row |= at_power(unchanged, slowdowns, rule, power)
        rows.append(row)
    return rows


def tables(unchanged, slower):
    """`slower`: a Tally by (base name, new name)."""
    curve = power_curve(slower)
    return {
        "rules": rule_rows(unchanged, slower),
        "power_curve": curve,
        "powerful_from": {"of_all": powerful_from(curve, "slower"), "of_judged": powerful_from(curve, "slower_of_judged")},
        "slowdowns": [slowdown(names, tally) for names, tally in slower.items()],
    }


def percent(value):
    return "" if value is None else f"{100 * value:.2f} %"


def show_row(*cells):
    print("| " + " | ".join(cells) + " |")


def show_rules(rules):
    show_row("rule", "false of all", "false of judged", "insufficient", "slowdowns found of all", "found of judged", "called faster", "false at dlroof's power")
    show_row("---", *["---:"] * 7)
    for row in rules:
        last = percent(row.get("false_at_our_power"))
        if last and abs(row["power_then"] - rules[0]["power"]) > 0.005:
            last += f" (finds {percent(row['power_then'])})"
        show_row(
            row["rule"],
            *(percent(row.get(key)) for key in ("false", "false_of_judged", "insufficient", "power", "power_of_judged", "wrong_way")),
            last or ("cannot" if "false_at_our_power" in row else ""),
        )


def show_slowdowns(slowdowns):
    print()
    show_row("slowdown", "true ratio", "slower", "of judged", "ambiguous", "other")
    show_row("---", *["---:"] * 5)
    for row in slowdowns:
        rest = 1 - row["slower"] - row["ambiguous"] if row["comparisons"] else None
        ratio = f"{row['ratio']:.3f}" if "ratio" in row else ""
        if "clean_repetitions" in row:
            ratio += " (of {} and {})".format(*row["clean_repetitions"])
        show_row(f"{row['base']} -> {row['new']}", ratio, percent(row["slower"]), percent(row["slower_of_judged"]), percent(row["ambiguous"]), percent(rest))


def show_power(summary):
    print()
    show_row("size of the slowdown", "comparisons", "judged", "slower of all", "slower of judged")
    show_row("---", *["---:"] * 4)
    for row in summary["power_curve"]:
        show_row(f"{100 * row['size']:.0f} %", str(row["comparisons"]), str(row["judged"]), percent(row["slower"]), percent(row["slower_of_judged"]))
    sizes = ["none" if size is None else f"{100 * size:.0f} %" for size in summary["powerful_from"].values()]
    print("\n95 % power from: {} of all, {} of judged".format(*sizes))


def show_tables(summary):
    show_rules(summary["rules"])
    if summary["slowdowns"]:
        show_slowdowns(summary["slowdowns"])
        show_power(summary)
