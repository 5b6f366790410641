"""dlroof history, export and dashboard. promtool and a browser check the files where they are installed."""
import csv
import filecmp
import functools
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from checks import DLROOF, bad_input, checks, contains, exits, finish, plain, prints, run, says, start, verify

CHROMIUM = os.environ.get("DLROOF_CHROMIUM", "")
ODD = "A,\"b\"'c'<d>&|`e`\\\n\u00e9\u20ac\U0001f600 ]]></script>"
ROOF = {"per_second": 1e12, "threads": 2, "how": "x", "proved": True}
ROOFS = {"flops": {"fp32.vector": ROOF}, "bytes": {"dram": ROOF}}
MACHINE = {
    "device": "cpu",
    "name": "m",
    "fingerprint": "00",
    "measured_at": "2026-01-01T00:00:00Z",
    "facts": {},
    "cache_bytes": {},
    **ROOFS,
    "by_threads": {"2": ROOFS},
}
FORMATS = "bencher github-action openmetrics csv run".split()


def write_days(rng):
    """Writes 40 days of a run. 'b' is 30 % slower from day 21 on, with another algorithm."""

    def record(name, seconds, algorithm):
        return {
            "name": name,
            "status": "ok",
            "threads": 2,
            "cache": "cold",
            "algorithm": algorithm,
            "work": {"modelled": {"flops": {"fp32.vector": 1e9}, "bytes": {"dram": 1e6}}},
            "repetitions": [{"seconds": seconds * rng.lognormvariate(0, 0.002), "iterations": 1} for _ in range(9)],
        }

    for day in range(40):
        slower = day >= 20
        records = [
            record("Conv2D/cpu/onednn/fwd/f32/a", rng.lognormvariate(0, 0.01) * 0.01, "x"),
            record("Conv2D/cpu/onednn/fwd/f32/b", rng.lognormvariate(0, 0.01) * 0.01 * (1.3 if slower else 1), "y" if slower else "x"),
            record(ODD, 0.02, "x"),
        ]
        date = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00+00:00"
        Path(f"runs/{day:02}.json").write_text(
            json.dumps({"context": {"date": date, "dlroof": {"schema": 1, "commit": f"c{day}"}}, "machines": [MACHINE], "records": records})
        )


@pytest.fixture(scope="module", autouse=True)
def history(folder):
    """Makes the run files and a history of them. Returns the commands that did."""
    os.mkdir("runs")
    write_days(random.Random(1))
    first = run("dlroof history add --db h.sqlite " + " ".join(f"runs/{day:02}.json" for day in range(20)))
    again = run("dlroof history add --db h.sqlite runs/00.json")
    writers = [start(f"dlroof history add --db h.sqlite runs/{day}.json") for day in range(20, 40)]
    twenty = [finish(writer) for writer in writers]
    two = run("dlroof history add --db one.sqlite runs/00.json runs/01.json")
    three = run("dlroof export --format=run --db h.sqlite --run 3 -o three.json")
    twice = json.loads(Path("runs/00.json").read_text())
    twice["records"] *= 2
    Path("twice.json").write_text(json.dumps(twice))
    Path("odd.json").write_text("{}")
    os.mkdir("full")
    os.symlink("/dev/full", "full/roofline.html")
    cached.cache_clear()
    return {"first": first, "again": again, "twenty": twenty, "two": two, "three": three}


@functools.cache
def cached(command):
    """Several tests look at one output."""
    return run(command)


@pytest.mark.parametrize(
    "which, expectation",
    [
        pytest.param("first", exits(0), id="runs are added"),
        pytest.param("first", plain("runs/00.json: run 1, 3 benchmarks, 3 of them not stored before"), id="new benchmarks are counted"),
        pytest.param("again", exits(0), id="a run that is there is no error"),
        pytest.param("again", plain("runs/00.json: already stored as run 1"), id="a run that is there is named"),
        pytest.param("two", exits(0), id="another history is begun"),
        pytest.param("three", exits(0), id="a run is exported"),
    ],
)
def test_add(history, which, expectation):
    expectation(history[which])


def test_twenty_writers_at_once_all_succeed(history):
    assert [ran.code for ran in history["twenty"]] == [0] * 20, history["twenty"]


SHOW_B = "dlroof history show --db h.sqlite Conv2D/cpu/onednn/fwd/f32/b"


@checks(
    ("list exits 0", "dlroof history list --db h.sqlite", exits(0)),
    ("list counts all runs", "dlroof history list --db h.sqlite", plain("40 runs")),
    ("show exits 0", SHOW_B, exits(0)),
    ("show has the change at its date", SHOW_B, prints(r"2026-01-21.*slower by (29|30|31)\.[0-9] % from here on, confirmed by [0-9]+ runs; algorithm x -> y")),
    ("show takes a part of a name", "dlroof history show --db h.sqlite f32/a", plain("noise")),
    ("show knows no noise of two runs", "dlroof history show --db one.sqlite f32/a", plain("noise not known, 0 outliers among them; 0 changes")),
    ("show refuses an ambiguous part of a name", "dlroof history show --db h.sqlite f32/", bad_input),
    ("show lists the ambiguous names", "dlroof history show --db h.sqlite f32/", says("f32/a, Conv2D")),
    ("an exported run equals the added one", "dlroof compare three.json runs/02.json", plain("3 same")),
    ("add refuses a missing file", "dlroof history add --db h.sqlite none.json", bad_input),
    ("show refuses a missing history", "dlroof history show --db none.sqlite x", bad_input),
    ("show refuses a file that is no history", "dlroof history show --db runs/00.json x", bad_input),
    ("show refuses an unknown benchmark", "dlroof history show --db h.sqlite nothing", bad_input),
    ("export refuses an unknown run", "dlroof export --format=run --db h.sqlite --run 99", bad_input),
    ("export refuses a missing folder", "dlroof export --format=csv --db h.sqlite -o no/x.csv", bad_input),
    ("history needs a verb", "dlroof history", bad_input),
    ("an unknown format is refused", "dlroof export --format=xml runs/00.json", bad_input),
    ("an export needs a run", "dlroof export --format=csv", bad_input),
    ("a format of one run refuses two", "dlroof export --format=bencher runs/00.json runs/01.json", bad_input),
    ("a dashboard needs runs", "dlroof dashboard", bad_input),
    ("a dashboard refuses a missing folder", "dlroof dashboard none", bad_input),
    ("a dashboard refuses a folder without run files", "dlroof dashboard full", bad_input),
    ("a dashboard refuses a file as its folder", "dlroof dashboard --db h.sqlite -o odd.json/site", bad_input),
    ("a dashboard refuses a full disk", "dlroof dashboard --db one.sqlite -o full", bad_input),
    ("a dashboard names the page on the full disk", "dlroof dashboard --db one.sqlite -o full", says(r"full/roofline\.html: ")),
)
def test_command(command, expected):
    verify(cached(command), expected)


def test_show_has_one_change():
    assert cached(SHOW_B).out.count("from here on") == 1


def test_export_writes_a_line_per_run_and_benchmark():
    ran = run("dlroof export --format=csv --db h.sqlite")
    assert len(list(csv.reader(io.StringIO(ran.out, newline="")))) == 121


def test_a_killed_history_goes_on():
    add = "dlroof history add --db killed.sqlite " + " ".join(f"runs/{day:02}.json" for day in range(40))
    for kill in range(1, 6):
        process = start(add)
        time.sleep(kill / 100)
        process.kill()
        process.communicate()
    verify(run(add), [exits(0)])
    verify(run("dlroof history list --db killed.sqlite"), [plain("40 runs")])
    assert sqlite3.connect("killed.sqlite").execute("PRAGMA integrity_check").fetchone() == ("ok",)


class TestReadersBesideAWriter:
    """Each reader sees one state of the history."""

    @pytest.fixture(scope="class", autouse=True)
    def writer(self, history):
        os.mkdir("many")
        for i in range(300):
            records = [
                {"name": f"n{n}", "status": "ok", "repetitions": [{"seconds": 1 + i * 1e-6 + r * 1e-3, "iterations": 1} for r in range(5)]} for n in range(200)
            ]
            Path(f"many/{i:03}.json").write_text(
                json.dumps({"context": {"date": f"2026-01-01T00:{i // 60:02}:{i % 60:02}+00:00", "dlroof": {"schema": 1}}, "records": records})
            )
        first = " ".join(f"many/00{i}.json" for i in range(10))
        verify(run("dlroof history add --db many.sqlite " + first), [exits(0)])
        process = start(
            [
                "bash",
                "-c",
                "for file in many/0[1-9]?.json many/[12]??.json; do [ -e enough ] || "
                f'"{DLROOF}" history add --db many.sqlite "$file" > added || exit 1; done',
            ]
        )
        yield process
        Path("enough").touch()
        verify(finish(process), [exits(0)])

    @pytest.mark.parametrize("read", range(5))
    def test_make_a_dashboard(self, read):
        verify(run("dlroof dashboard --db many.sqlite -o many_site"), [exits(0)])

    @pytest.mark.parametrize("read", range(5))
    def test_show_all_runs_that_they_count(self, read):
        ran = run("dlroof history show --db many.sqlite n7")
        counted = re.search(r": ([0-9]+) runs, \1 with a clean time", ran.out)
        assert ran.code == 0 and counted, ran
        assert len(re.findall("^.*2026-01-01", ran.out, re.M)) == int(counted.group(1))

    def test_lose_no_run_of_the_writer(self, writer):
        assert writer.poll() in (None, 0)


def drawn(page):
    """Prints the page as a browser drew it."""
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", f"--user-data-dir={os.getcwd()}/profile", "--dump-dom"]
    return run([CHROMIUM, *flags, f"file://{os.getcwd()}/{page}"], timeout=120)


def test_a_dashboard_of_busy_runs_has_estimates_with_their_mark():
    """Three runs of which each repetition is noisy: a time in every row, and no level or change from them."""
    os.mkdir("busy_runs")
    for day in range(3):
        run_file = json.loads(Path(f"runs/{day:02}.json").read_text())
        for record in run_file["records"][:2]:
            for repetition in record["repetitions"]:
                repetition["disturbed"] = True
        Path(f"busy_runs/{day}.json").write_text(json.dumps(run_file))
    told = "3 benchmarks, 3 runs, 0 changed their level; cannot tell of 2: clean times in fewer than two runs"
    verify(run("dlroof dashboard busy_runs -o busy_site"), [exits(0), says(told), contains("busy_site/badge.svg", "cannot tell: too few clean times")])
    index = Path("busy_site/index.html").read_text()
    assert index.count('"estimate":true') == 2 and '"reason"' not in index
    series = Path("busy_site/data").glob("series-*.js")
    assert sum(one.read_text().count('"estimates":{') for one in series) == 2
    times = Path("busy_site/data/times-1.js").read_text()
    assert times.count(",true]") == 2, times
    assert '"spark":[]' not in index and '"measured":3' in index and '"unjudged":2' in index
    if CHROMIUM:
        verify(drawn("busy_site/index.html"), [plain("Cannot tell whether anything got slower"), plain('class="spark estimates"')])
        verify(drawn("busy_site/index.html#series=1"), [plain('data-drawn="yes"'), plain("Only estimates (~, drawn pale)")])


def test_show_lists_estimates_with_their_mark():
    run_file = json.loads(Path("runs/00.json").read_text())
    for repetition in run_file["records"][0]["repetitions"]:
        repetition["disturbed"] = True
    Path("busy.json").write_text(json.dumps(run_file))
    verify(run("dlroof history add --db busy.sqlite busy.json"), [exits(0)])
    verify(run("dlroof history show --db busy.sqlite f32/a"), [plain("1 run, 0 with a clean time"), prints(r" ~\S+ ms  .*0/9"), plain("~ an estimate")])


def test_the_badge_counts_all_open_slowdowns():
    """Two got slower in different runs, then one faster; a fourth was slower and is repaired."""
    os.mkdir("steps")
    rng = random.Random(3)
    steps = {"BM_a": lambda day: 1.2 if day > 6 else 1, "BM_b": lambda day: 1.3 if day > 12 else 1}
    steps |= {"BM_c": lambda day: 0.7 if day > 16 else 1, "BM_d": lambda day: 1.3 if 6 < day <= 12 else 1}
    for day in range(1, 21):
        rows = [
            {"name": name, "iterations": 9, "real_time": level(day) * rng.gauss(1000, 2), "cpu_time": 1000, "time_unit": "ns"}
            for name, level in steps.items()
            for _ in range(9)
        ]
        Path(f"steps/{day:02}.json").write_text(json.dumps({"context": {"date": f"2026-01-{day:02}T00:00:00+00:00"}, "benchmarks": rows}))
    verify(run("dlroof dashboard steps -o steps_site"), [exits(0), contains("steps_site/badge.svg", "2 slower, newest 2026-01-13")])
    if CHROMIUM:
        verify(drawn("steps_site/index.html"), [plain("2 benchmarks slower than before, by 2 changes")])


@pytest.mark.parametrize("changed", [[], ["BM_7"]])
def test_history_dashboard_and_comparison_agree_on_the_newest_run(changed):
    """Two runs of one process each, in which every benchmark is off by 3 % or so for the whole run; one takes 1.6 times as long."""
    rng = random.Random(11)
    shutil.rmtree("pair", ignore_errors=True)
    os.mkdir("pair")
    for day in (1, 2):
        rows = []
        for name in (f"BM_{i}" for i in range(20)):
            level = rng.lognormvariate(7, 0.03) * (1.6 if day == 2 and name in changed else 1)
            rows += [{"name": name, "iterations": 9, "real_time": level * rng.gauss(1, 0.002), "cpu_time": level, "time_unit": "ns"} for _ in range(9)]
        Path(f"pair/{day}.json").write_text(json.dumps({"context": {"date": f"2026-01-0{day}T00:00:00+00:00"}, "benchmarks": rows}))
    compared = json.loads(run("dlroof compare pair/1.json pair/2.json --format=json").out)["benchmarks"]
    assert [row["name"] for row in compared if row["verdict"] in ("slower", "faster")] == changed
    verify(run("dlroof dashboard pair -o pair_site"), [says(f"20 benchmarks, 2 runs, {len(changed)} changed")])
    verify(run("dlroof history add --db pair/db pair/1.json pair/2.json"), [exits(0)])
    assert [row["name"] for row in compared if "from here on" in run(f"dlroof history show --db pair/db {row['name']}").out] == changed


def exported(form):
    return cached(f"dlroof export --format={form} runs/39.json")


@pytest.mark.parametrize("form", FORMATS)
def test_export_exits_0(form):
    verify(exported(form), [exits(0)])


def openmetrics_names(text):
    labels = re.findall(r'benchmark="((?:[^"\\]|\\.)*)"', text)
    return [re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), label) for label in labels]


@pytest.mark.parametrize(
    "form, names",
    [
        ("bencher", lambda text: list(json.loads(text))),
        ("github-action", lambda text: [entry["name"] for entry in json.loads(text)]),
        ("csv", lambda text: [row["name"] for row in csv.DictReader(io.StringIO(text, newline=""))]),
        ("openmetrics", openmetrics_names),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_odd_name_survives(form, names):
    assert ODD in names(exported(form).out)


@pytest.mark.parametrize("form", FORMATS)
def test_export_refuses_a_name_that_comes_twice(form):
    verify(run(f"dlroof export --format={form} twice.json"), [bad_input])


@pytest.mark.parametrize("form", FORMATS)
def test_export_refuses_a_full_disk(form):
    verify(run(f"dlroof export --format={form} runs/00.json", stdout="/dev/full"), [exits(2), says("standard output: not all could be written")])


@pytest.mark.parametrize("verb", ["list", "show f32/a"])
def test_history_refuses_a_full_disk(verb):
    verify(run(f"dlroof history {verb} --db h.sqlite", stdout="/dev/full"), [bad_input])


def test_a_history_is_exported():
    verify(cached("dlroof export --format=openmetrics --db h.sqlite --last 5"), [exits(0)])


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_reads_a_run():
    subprocess.run("promtool check metrics".split(), input=exported("openmetrics").out, text=True, check=True)


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_reads_many_runs():
    Path("five.openmetrics").write_text(cached("dlroof export --format=openmetrics --db h.sqlite --last 5").out)
    verify(run("promtool tsdb create-blocks-from openmetrics five.openmetrics blocks"), [exits(0)])


class TestDashboard:
    @pytest.fixture(scope="class", autouse=True)
    def sites(self, history):
        return [run(f"dlroof dashboard {source}") for source in ("runs -o site", "--db h.sqlite -o site2", "--db one.sqlite -o site_of_two")]

    @pytest.mark.parametrize("which", range(3), ids=["of a folder", "of a history", "of two runs"])
    def test_exits_0(self, sites, which):
        verify(sites[which], [exits(0)])

    def test_counts_its_content(self, sites):
        verify(sites[0], [says("wrote site/index.html: 3 benchmarks, 40 runs, 1 changed")])

    def test_of_a_history_is_that_of_its_folder(self):
        assert filecmp.cmp("site/data/times-1.js", "site2/data/times-1.js", shallow=False)

    def test_has_a_badge(self, sites):
        verify(sites[0], [contains("site/badge.svg", "1 slower, newest 2026-01-21")])

    def test_badge_is_xml(self):
        xml.parse("site/badge.svg")

    def test_loads_nothing_from_elsewhere(self):
        for page in Path("site").glob("*.html"):
            assert not re.search(r'src="(https?:)?//', page.read_text()), page

    @pytest.mark.skipif(not CHROMIUM, reason="no chromium to look at the pages with")
    @pytest.mark.parametrize(
        "page, texts",
        [
            pytest.param("site/index.html", ['data-listed="yes"', "<h3>2026-01-21 00:00 c20: 1 slower"], id="the index"),
            pytest.param("site/index.html#series=2", ['data-drawn="yes"'], id="a series"),
            pytest.param("site_of_two/index.html#series=1", ['data-drawn="yes"', "Too few runs to estimate the noise."], id="a series of two runs"),
            pytest.param("site/roofline.html", ['data-listed="yes"'], id="the list of runs without a chosen run"),
            pytest.param("site/roofline.html?run=7", ['data-drawn="yes"', "3 of 3 shown"], id="the roofline of a date"),
        ],
    )
    def test_draws(self, page, texts):
        verify(drawn(page), [plain(text) for text in texts])
