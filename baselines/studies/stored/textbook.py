#!/usr/bin/env python3
"""What plain textbook steps find in the same made-up runs (needs scipy): textbook.py EFFECT_PERCENT ROUNDS [SEED]

Outliers by the median absolute deviation (3.5), the median ratio of all benchmarks taken out, Welch's test on
logarithms, Benjamini-Hochberg at 5 %.
"""
import random
import sys

import numpy as np
import stored_law as study
from scipy import stats

LAW, BENCHMARKS = study.FIRST, 300


def clean(times):
    logs = np.log([seconds for seconds, marked in times if not marked])
    distances = abs(logs - np.median(logs))
    return logs[distances <= 3.5 * 1.4826 * np.median(distances)]


def p_value(base, new, ratio):
    a, b = base.var(ddof=1) / len(base), new.var(ddof=1) / len(new)
    degrees = (a + b) ** 2 / (a**2 / (len(base) - 1) + b**2 / (len(new) - 1))
    return 2 * stats.t.sf(abs(ratio) / (a + b) ** 0.5, degrees)


def one_round(effect, seed):
    """Returns the numbers of slow benchmarks, those found, unchanged ones, and those accused."""
    rng = random.Random(seed)
    series = [study.Series(i, rng, LAW, "within") for i in range(BENCHMARKS)]
    slow = {one.name for one in rng.sample(series, BENCHMARKS // 10)}
    base_drift = 1 + rng.uniform(*LAW["drift"])
    base = [clean(one.repetitions(rng, LAW, base_drift)) for one in series]
    new_drift = 1 + rng.uniform(*LAW["drift"])
    new = [clean(one.repetitions(rng, LAW, new_drift * (1 + effect * (one.name in slow)))) for one in series]
    ratios = np.array([b.mean() - a.mean() for a, b in zip(base, new)])
    ratios -= np.median(ratios)
    adjusted = stats.false_discovery_control([p_value(*each) for each in zip(base, new, ratios)])
    called = adjusted <= 0.05
    is_slow = np.array([one.name in slow for one in series])
    return np.array([is_slow.sum(), (called & is_slow & (ratios > 0)).sum(), (~is_slow).sum(), (called & ~is_slow).sum()])


def main():
    effect, rounds = float(sys.argv[1]) / 100, int(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    slow, found, unchanged, false = sum(one_round(effect, f"{seed}-{i}") for i in range(rounds))
    print(f"found {100 * found / slow:.1f} % of {slow}, false {100 * false / unchanged:.2f} % of {unchanged}")


if __name__ == "__main__":
    main()
