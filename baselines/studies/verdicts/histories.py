#!/usr/bin/env python3
"""Histories whose story a person can tell, and what `history show`, `dashboard` and `gate` say of them.

    histories.py [--rounds 20] [--check]

Quiet runs (0.5 % between runs) of three benchmarks, then one, two or three runs in which the first is slower by 10 or 50 %;
thirteen quiet runs; a drift of 3 % over twenty runs; an outlier that returned. The three commands get the same runs. In the last
story all of 25 benchmarks became 5 % slower: nothing can tell whether the program or the machine did.
"""
import collections
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import lib

BETWEEN, WITHIN = 0.005, 0.003
TOGETHER = "all +5 % in the last"


def run_of(rng, factor, number, together):
    rows = []
    for k in range(25 if together else 3):
        level = 100 * (k + 1) * rng.gauss(1, BETWEEN) * (factor if k == 0 or together else 1)
        for i in range(10):
            time = level * rng.gauss(1, WITHIN)
            about = {"run_type": "iteration", "repetition_index": i, "threads": 1, "iterations": 9, "time_unit": "us"}
            rows.append({"name": f"BM_{k}", "run_name": f"BM_{k}", **about, "real_time": time, "cpu_time": time})
    return {"context": {"date": f"2026-01-01T{number // 2:02}:{number % 2}0:00+00:00", "num_cpus": 2, "caches": []}, "benchmarks": rows}


STORIES = {
    **{
        f"{quiet} quiet, {after} at +{100 * by - 100:.0f} %": [1] * quiet + [by] * after
        for quiet, after, by in [(1, 1, 1.5), (3, 1, 1.2), (30, 1, 1.1), *((10, after, by) for by in (1.1, 1.5) for after in (1, 2, 3))]
    },
    "13 quiet": [1] * 13,
    "drift of 3 % over 20": [1 + 0.03 * i / 19 for i in range(20)],
    "one outlier that returned": [1] * 9 + [1.5, 1, 1],
    TOGETHER: [1] * 10 + [1.05],
}


def tell(dlroof, story, seed, folder, together):
    """Returns what each command says of the first benchmark."""
    rng = random.Random(seed)
    files = [folder / f"run-{number:02}.json" for number in range(len(story))]
    for number, (path, factor) in enumerate(zip(files, story)):
        path.write_text(json.dumps(run_of(rng, factor, number, together)))
    said, db = {}, folder / "perf.sqlite"
    db.unlink(missing_ok=True)
    lib.run(dlroof, "history", "add", *files[:-1], "--branch", "main", "--db", db)
    options = ("--run", files[-1], "--budget", "0", "--db", db, "-o", folder / "gate")
    gate = lib.run(dlroof, "gate", *options, codes=(0, 1, 3), cwd=folder)
    said["gate"] = {0: "nothing", 1: "slower", 3: "cannot tell"}[gate.returncode]
    lib.run(dlroof, "history", "add", files[-1], "--db", db)
    show = lib.run(dlroof, "history", "show", "BM_0", "--db", db).stdout
    notes = [number for number, line in enumerate(line for line in show.splitlines() if "?/10" in line) if "slower by" in line]
    said["show"] = "slower" if notes else "drifts" if "drifts:" in show else "returned" if "which returned" in show else "nothing"
    said["begins"] = notes[-1] if notes else None
    lib.run(dlroof, "dashboard", "--db", db, "-o", folder / "site")
    page = (folder / "site/index.html").read_text()
    content = json.loads(page.split('id="content">')[1].split("</script>")[0])
    series = next(one for one in content["series"] if one["name"] == "BM_0")
    slower = [event for event in content["events"] if event["ratio"] > 1 and content["series"].index(series) in event["series"]]
    cannot = any(event["sure"] == "program or machine?" for event in slower)
    said["dashboard"] = "cannot tell" if cannot else "slower" if slower else "drifts" if "drift" in series else "nothing"
    return said


def main():
    parser = lib.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, story in STORIES.items():
            counts = collections.Counter()
            for number in range(options.rounds):
                said = tell(options.dlroof, story, f"{name} {number}", Path(folder), name == TOGETHER)
                begins = said.pop("begins")
                counts.update(f"{who}: {what}" for who, what in said.items())
                counts["begins within one run"] += begins is not None and abs(begins - story.count(1)) <= 1
            print(f"{name}: {dict(sorted(counts.items()))}", flush=True)
            wanted = "slower" if "at +" in name else "cannot tell" if name == TOGETHER else None
            for who in ("gate", "dashboard") if name == TOGETHER else ("gate", "show", "dashboard"):
                least = options.rounds * (0.95 if name == TOGETHER else 1)
                wrong += counts[f"{who}: {wanted}"] < least if wanted else counts[f"{who}: slower"] > options.rounds / 20
            wrong += wanted == "slower" and counts["begins within one run"] < 0.95 * options.rounds
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
