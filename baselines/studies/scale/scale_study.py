#!/usr/bin/env python3
"""How `dlroof` fares with much: large run files, a long history, a large dashboard, and its start.

    baselines/studies/scale/scale_study.py --like RUN.json -o scale.json     # minutes, about 1 GB of disk
    baselines/studies/scale/scale_study.py --like RUN.json --records 2000 --series 200 --dates 5 --dashboard-series 10 \\
        --dashboard-dates 10                            # a trial: seconds

The runs hold the records of RUN (a stored run file), every part of each, repeated with a different
name; their repetitions are scattered by 1 % with a fixed seed.

  compare     two files of --records; every hundredth benchmark is 30 % slower in the second
  history     --series x --dates: the program stores the first run, SQL repeats it for the other
              dates, scattered by 1 %; then three more runs are added and one series shown thrice
  dashboard   --dashboard-series x --dashboard-dates, stored by the program run by run; a level
              changes in every tenth series. Its index is opened in headless Chromium with a new
              profile, five times; its Content-Security-Policy is taken out, for it would keep the
              measuring script out
  start       dlroof --help, dlroof_bench --help

Seconds are of whole processes, CPU seconds the user's and the system's together, bytes the most
that were resident (at least this script's own, which a child begins with). The table shows medians;
the file holds every figure.
"""
import argparse
import contextlib
import datetime
import json
import math
import os
import random
import shlex
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from page_speed import Server, find_chromium, let_tell, open_page

LOADED = """<script>
const tell = () => {
  const [navigation] = performance.getEntriesByType('navigation');
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  if (paint === undefined || !navigation.loadEventEnd) return setTimeout(tell, 5);
  new Image().src = `http://127.0.0.1:%d/done?paint=${paint.startTime}&load=${navigation.loadEventEnd}`;
};
tell();
</script>"""
FIRST_DATE = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)


def run_process(command, may_exit=(0,)):
    """Wall and CPU seconds and peak memory of a command."""
    with tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in may_exit:
            errors.seek(0)
            sys.exit(f"{shlex.join(command)}: exit {process.returncode}: {errors.read().decode()}")
    return {"seconds": round(seconds, 6), "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 6), "peak_bytes": usage.ru_maxrss * 1024}


def repeat(times, *command, may_exit=(0,)):
    return joined([run_process(command, may_exit) for _ in range(times)])


def joined(results):
    return {key: [result[key] for result in results] for key in results[0]}


def copy_name(run, i):
    return f"{run['records'][i % len(run['records'])]['name']}/copy{i}"


def copies(run, count, factor_of, scatter):
    """`factor_of(i)`: how much longer copy i takes than its record."""
    for i in range(count):
        record = run["records"][i % len(run["records"])]
        level = factor_of(i) * record["seconds"]["median"]
        repetitions = [dict(r, seconds=level * math.exp(scatter.gauss(0, 0.01)), disturbed=False) for r in record["repetitions"]]
        yield dict(record, name=copy_name(run, i), repetitions=repetitions)


def write_run(path, run, records, day=0):
    # Record by record: what this process needs at most would be the least peak of its children.
    context = dict(run["context"], date=(FIRST_DATE + datetime.timedelta(days=day)).isoformat())
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"context": %s,\n"machines": %s,\n"records": [\n' % (json.dumps(context), json.dumps(run["machines"])))
        for i, record in enumerate(records):
            file.write((",\n" if i else "") + json.dumps(record))
        file.write("\n]}\n")


def study_compare(arguments, run):
    paths = [os.path.join(arguments.work, name) for name in ("base.json", "new.json")]
    for seed, (path, slower) in enumerate(zip(paths, (1, 1.3))):
        scatter = random.Random(seed)
        write_run(path, run, copies(run, arguments.records, lambda i, slower=slower: 1 if i % 100 else slower, scatter))
    result = repeat(5, arguments.dlroof, "compare", *paths, may_exit=(0, 1))
    result["file_bytes"] = [os.path.getsize(path) for path in paths]
    for path in paths:
        os.remove(path)
    return result


def add_run(arguments, run, database, count, day, factor_of, scatter):
    path = os.path.join(arguments.work, "one.json")
    write_run(path, run, copies(run, count, factor_of, scatter), day)
    return run_process([arguments.dlroof, "history", "add", "--db", database, path])


def repeat_first_run(database, dates):
    """The first run again on other dates, as the program would have stored it."""
    with contextlib.closing(sqlite3.connect(database)) as history:
        count = history.execute("SELECT count(*) FROM points").fetchone()[0]
        for day in range(1, dates):
            date = (FIRST_DATE + datetime.timedelta(days=day)).isoformat()
            run = history.execute(
                "INSERT INTO runs (hash, date, moment, code, source, context, machines, "
                "first_point, points) SELECT ?, ?, moment + 86400.0 * ?, code, source, context, "
                "machines, ?, points FROM runs WHERE id = 1",
                (day, date, day, day * count + 1),
            ).lastrowid
            history.execute(
                "INSERT INTO points (run, series, facts, median, low, high, clean, repetitions) "
                "SELECT ?, series, facts, median * (1 + 0.02 * (abs(random()) % 1000 / 1000.0)), "
                "low, high, clean, repetitions FROM points WHERE run = 1 ORDER BY id",
                (run,),
            )
            history.commit()


def study_history(arguments, run):
    database = os.path.join(arguments.work, "history.sqlite")
    scatter = random.Random(1)
    add_run(arguments, run, database, arguments.series, 0, lambda i: 1, scatter)
    repeat_first_run(database, arguments.dates)
    adds = [add_run(arguments, run, database, arguments.series, arguments.dates + more, lambda i: 1, scatter) for more in range(3)]
    name = copy_name(run, arguments.series // 2)
    shown = repeat(3, arguments.dlroof, "history", "show", "--db", database, name)
    size = os.path.getsize(database)
    os.remove(database)
    return {"add": joined(adds), "show": shown, "database_bytes": size}


def fill_dashboard(arguments, run, database):
    scatter = random.Random(1)
    changes = [(scatter.randrange(arguments.dashboard_dates), scatter.choice([1.1, 1.3, 0.8])) for _ in range(arguments.dashboard_series)]

    def factor_of(i, day):
        changed = i % 10 == 0 and day >= changes[i][0]
        return (changes[i][1] if changed else 1) * math.exp(scatter.gauss(0, 0.01))

    for day in range(arguments.dashboard_dates):
        add_run(arguments, run, database, arguments.dashboard_series, day, lambda i, day=day: factor_of(i, day), scatter)


def study_dashboard(arguments, run):
    database, site = (os.path.join(arguments.work, name) for name in ("dashboard.sqlite", "site"))
    fill_dashboard(arguments, run, database)
    build = repeat(3, arguments.dlroof, "dashboard", "--db", database, "-o", site)
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(site) for name in names)
    index = os.path.join(site, "index.html")
    result = {"build": build, "site_bytes": size, "index_bytes": os.path.getsize(index)}
    server = Server()
    let_tell(index, LOADED, server)
    timings = joined([open_page(arguments.chromium, index, server) for _ in range(5)])
    return result | {"index": {"first_paint_seconds": [t / 1000 for t in timings["paint"]], "load_seconds": [t / 1000 for t in timings["load"]]}}


def rows(scale, figures):
    """What, result."""

    def median(of, key="seconds"):
        return statistics.median(of[key])

    compare, history, dashboard = (figures[key] for key in ("compare", "history", "dashboard"))
    yield (
        f"compare two files of {scale['records']} records",
        f"{median(compare):.2f} s ({median(compare, 'cpu_seconds'):.2f} s of CPU), " f"{median(compare, 'peak_bytes') / 2**20:.0f} MiB",
    )
    yield (
        f"history of {scale['series']} series x {scale['dates']} dates: add a run, show, size",
        f"{median(history['add']):.2f} s, {median(history['show']):.3f} s, " f"{history['database_bytes'] / 1e6:.0f} MB",
    )
    yield (
        f"dashboard of {scale['dashboard_series']} series x {scale['dashboard_dates']} dates: " "build, size",
        f"{median(dashboard['build']):.1f} s, {dashboard['site_bytes'] / 1e6:.1f} MB",
    )
    yield (
        "its index: first paint, load event",
        f"{median(dashboard['index'], 'first_paint_seconds'):.2f} s, " f"{median(dashboard['index'], 'load_seconds'):.2f} s",
    )
    for program, start in figures["start"].items():
        yield f"{program} --help", f"{1000 * median(start):.1f} ms"


def machine_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))


def study(arguments, run):
    scale = {key: getattr(arguments, key) for key in ("records", "series", "dates", "dashboard_series", "dashboard_dates")}
    version = subprocess.run([arguments.dlroof, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    summary = {
        "command": shlex.join(sys.argv),
        "commit": version.split("(")[-1].rstrip(")"),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine_name(),
        "cpus": os.cpu_count(),
        "scale": scale,
        "load_average_before": os.getloadavg(),
    }
    return summary | {
        "figures": {
            "start": {os.path.basename(program): repeat(20, program, "--help") for program in (arguments.dlroof, arguments.bench)},
            "compare": study_compare(arguments, run),
            "history": study_history(arguments, run),
            "dashboard": study_dashboard(arguments, run),
        }
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", required=True, help="a run file with records")
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--records", type=int, default=100000)
    parser.add_argument("--series", type=int, default=16000)
    parser.add_argument("--dates", type=int, default=200)
    parser.add_argument("--dashboard-series", type=int, default=300)
    parser.add_argument("--dashboard-dates", type=int, default=500)
    parser.add_argument("--work", help="folder for the temporary files")
    parser.add_argument("-o", "--output", help="the file with every figure")
    arguments = parser.parse_args()
    arguments.chromium = find_chromium()  # before anything takes its time
    with open(arguments.like, encoding="utf-8") as file:
        run = json.load(file)
    run["records"] = [record for record in run["records"] if "seconds" in record]
    with tempfile.TemporaryDirectory(dir=arguments.work) as arguments.work:
        summary = study(arguments, run)
    print("| what | result |\n| --- | ---: |")
    for what, result in rows(summary["scale"], summary["figures"]):
        print(f"| {what} | {result} |")
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
