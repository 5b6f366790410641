#!/usr/bin/env python3
"""What one visit can tell of a node that is 8 % slower, in the three noisiest simulated clusters of tests/baselines/cluster/outliers_test.cpp.

    baselines/studies/cluster/one_visit_bound.py

A limit that knows the noise: exactly 1 % of the nodes are ordinary (at most 3 % slower) and exceed it. Prints it, and the share of nodes 8 % slower that
exceed it. No rule that judges a node by its effect in one visit finds more with as few suspects, whatever it does afterwards. Seeded; half a minute.
"""
import math
import random
import statistics

NODE, VISIT, BENCHMARK = 0.01, 0.02, 0.05  # standard deviations of logarithms
BENCHMARKS, NODES, ORDINARY, SLOWER = 40, 20000, 0.03, math.log(1.08)
SOURCE = random.Random(1)


def skew():
    return SOURCE.expovariate(1) - math.log(2)


def student():
    chi = sum(SOURCE.gauss(0, 1) ** 2 for _ in range(3))
    return SOURCE.gauss(0, 1) / math.sqrt(chi / 3) / math.sqrt(3)


def normal():
    return SOURCE.gauss(0, 1)


def main():
    print("| noise | limit | nodes 8 % slower beyond it |\n| --- | ---: | ---: |")
    for draw in (normal, student, skew):
        deviations = [BENCHMARK * math.exp(0.5 * normal()) for _ in range(BENCHMARKS)]

        def effect(true):
            """The median over benchmarks of one visit."""
            return true + VISIT * draw() + statistics.median(deviation * draw() for deviation in deviations)

        nodes = [NODE * draw() for _ in range(NODES)]
        ordinary = sorted((effect(node) for node in nodes if node <= ORDINARY), reverse=True)
        limit = ordinary[NODES // 100]
        found = sum(effect(SLOWER) > limit for _ in range(NODES)) / NODES
        print(f"| {draw.__name__} | {100 * limit:.1f} % | {100 * found:.0f} % |")


if __name__ == "__main__":
    main()
