#!/usr/bin/env python3
"""Measures `dlroof history` and `dlroof dashboard` on generated runs.

    ci/history_study.py --dlroof build/dlroof --like RUN.json [--series 16000 --dates 200] [--dashboard-series 300
                        --dashboard-dates 500] [--work FOLDER]

The runs hold the records of RUN (a stored run file), repeated with a different name each; a level changes in every tenth
series at a random date. The dashboard's history is filled by the program itself, run by run; of the large one only the
first run is, and SQL repeats it for the other dates, scattered by 1 %. The seconds of `add` and `show` are of whole
processes. Prints a line per measurement.
"""
import argparse
import datetime
import json
import math
import os
import random
import sqlite3
import subprocess
import tempfile
import time


def write_run(path, like, run, count, date, levels, noise):
    records = []
    for i in range(count):
        record = {k: v for k, v in like[i % len(like)].items() if k not in ("classic", "time", "advice", "remarks")}
        record["name"] += f"/copy{i}"
        change, ratio = levels[i]
        level = record.pop("seconds")["median"] * (ratio if date >= change else 1) * math.exp(noise.gauss(0, 0.01))
        record["repetitions"] = [dict(r, seconds=level * math.exp(noise.gauss(0, 0.01)), disturbed=False)
                                 for r in record["repetitions"]]
        records.append(record)
    context = dict(run["context"])
    context["date"] = (datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
                       + datetime.timedelta(days=date)).isoformat()
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"context": context, "machines": run["machines"], "records": records}, file)


def seconds(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def levels_of(count, dates, noise):
    return [(noise.randrange(dates), noise.choice([1.1, 1.3, 0.8]) if i % 10 == 0 else 1) for i in range(count)]


def fill(arguments, like, run, count, dates, database):
    noise = random.Random(1)
    levels = levels_of(count, dates, noise)
    for date in range(dates):
        path = os.path.join(arguments.work, "one.json")
        write_run(path, like, run, count, date, levels, noise)
        seconds([arguments.dlroof, "history", "add", "--db", database, path])


def repeat(database, dates):
    """The first run again at other dates, as the program would have stored it."""
    with sqlite3.connect(database) as history:
        count = history.execute("SELECT count(*) FROM points").fetchone()[0]
        for date in range(1, dates):
            first = date * count + 1
            history.execute(
                "INSERT INTO runs (hash, date, moment, code, source, context, machines, first_point, points) SELECT ?, ?, "
                "moment + 86400.0 * ?, code, source, context, machines, ?, points FROM runs WHERE id = 1",
                (date, (datetime.date(2025, 1, 1) + datetime.timedelta(days=date)).isoformat(), date, first))
            run = history.execute("SELECT max(id) FROM runs").fetchone()[0]
            history.execute(
                "INSERT INTO points (run, series, facts, median, low, high, clean, repetitions) SELECT ?, series, facts, "
                "median * (1 + 0.02 * (abs(random()) % 1000 / 1000.0)), low, high, clean, repetitions FROM points "
                "WHERE run = 1 ORDER BY id", (run,))
            history.commit()


def study_history(arguments, like, run):
    database = os.path.join(arguments.work, "large.sqlite")
    if not os.path.exists(database):
        fill(arguments, like, run, arguments.series, 1, database)
        repeat(database, arguments.dates)
    noise = random.Random(2)
    adds = []
    for extra in range(3):
        path = os.path.join(arguments.work, "one.json")
        write_run(path, like, run, arguments.series, arguments.dates + extra, levels_of(arguments.series, 1, noise), noise)
        adds.append(seconds([arguments.dlroof, "history", "add", "--db", database, path]))
    name = like[7 % len(like)]["name"] + "/copy" + str(7 + len(like) * 10)
    shows = [seconds([arguments.dlroof, "history", "show", "--db", database, name]) for _ in range(3)]
    print(f"history of {arguments.series} series x {arguments.dates} dates: {os.path.getsize(database) / 1e6:.0f} MB")
    print(f"  add a run: {min(adds):.2f} s (three: {', '.join(f'{a:.2f}' for a in adds)})")
    print(f"  show: {min(shows):.3f} s (three: {', '.join(f'{s:.3f}' for s in shows)})")


def study_dashboard(arguments, like, run):
    database = os.path.join(arguments.work, "dashboard.sqlite")
    if not os.path.exists(database):
        fill(arguments, like, run, arguments.dashboard_series, arguments.dashboard_dates, database)
    site = os.path.join(arguments.work, "site")
    took = seconds([arguments.dlroof, "dashboard", "--db", database, "-o", site])
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(site) for name in names)
    print(f"dashboard of {arguments.dashboard_series} series x {arguments.dashboard_dates} dates: {took:.1f} s, {size / 1e6:.0f} MB, "
          f"index {os.path.getsize(os.path.join(site, 'index.html')) / 1e3:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--dlroof", required=True)
    parser.add_argument("--like", required=True, help="a run file with records")
    parser.add_argument("--series", type=int, default=16000)
    parser.add_argument("--dates", type=int, default=200)
    parser.add_argument("--dashboard-series", type=int, default=300)
    parser.add_argument("--dashboard-dates", type=int, default=500)
    parser.add_argument("--work", help="folder whose databases are used again (a temporary one)")
    arguments = parser.parse_args()
    with open(arguments.like, encoding="utf-8") as file:
        run = json.load(file)
    like = [r for r in run["records"] if "seconds" in r]
    with tempfile.TemporaryDirectory() as temporary:
        arguments.work = arguments.work or temporary
        os.makedirs(arguments.work, exist_ok=True)
        study_dashboard(arguments, like, run)
        study_history(arguments, like, run)


if __name__ == "__main__":
    main()
