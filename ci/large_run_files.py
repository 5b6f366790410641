#!/usr/bin/env python3
"""Writes two large run files to measure `dlroof compare` with.

    ci/large_run_files.py --like RUN.json --records 100000 -o FOLDER

FOLDER/base.json and FOLDER/new.json hold the records of RUN (a stored run file, every part of a
record kept), repeated with a different name each until there are enough; the repetitions of each file are
scattered by 1 % with a fixed seed, and every hundredth benchmark of new.json is 30 % slower.
"""
import argparse
import json
import math
import os
import random


def records(like, count, seed, slower_every):
    scatter = random.Random(seed)
    for i in range(count):
        record = dict(like[i % len(like)])
        record["name"] += f"/copy{i}"
        factor = 1.3 if slower_every and i % slower_every == 0 else 1
        median = record["seconds"]["median"]
        record["repetitions"] = [
            dict(r, seconds=factor * median * math.exp(scatter.gauss(0, 0.01)))
            for r in record["repetitions"]]
        yield record


def write(path, run, like, count, seed, slower_every):
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"context": %s,\n"machines": %s,\n"records": [\n'
                   % (json.dumps(run["context"]), json.dumps(run["machines"])))
        for i, record in enumerate(records(like, count, seed, slower_every)):
            file.write((",\n" if i else "") + json.dumps(record))
        file.write("\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--like", required=True, help="a run file with records")
    parser.add_argument("--records", type=int, default=100000)
    parser.add_argument("-o", "--output", required=True, help="a folder")
    arguments = parser.parse_args()
    with open(arguments.like, encoding="utf-8") as file:
        run = json.load(file)
    like = [r for r in run["records"] if "seconds" in r]
    os.makedirs(arguments.output, exist_ok=True)
    for name, seed, slower_every in (("base", 1, 0), ("new", 2, 100)):
        write(os.path.join(arguments.output, name + ".json"), run, like, arguments.records, seed,
              slower_every)


if __name__ == "__main__":
    main()
