"""dlroof compare: formats, exit codes, bad input."""
import functools
import json
import re
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from checks import DLROOF, ROOT, bad_input, checks, exits, plain, run, says, silent, verify

ROOF = {"per_second": 1e9, "threads": 2, "how": "x", "proved": True}
ROOFS = {"flops": {"fp32.vector": ROOF}, "bytes": {"dram": ROOF}}
CONV = "Conv2D/cpu/onednn/fwd/f32/"
BASE = [(CONV + "n1", 2.0), (CONV + "n2", 2.0), (CONV + "n20", 2.0)]
NASTY = "A,\"b\"'c'<d>&|`e`\\\n\u00e9\u20ac\u2028\x01 ]]>"


def write(path, content):
    Path(path).write_text(content if isinstance(content, str) else json.dumps(content))


def repetitions(seconds, count=9):
    return [seconds * (1 + 0.002 * i) for i in range(count)]


def own(path, times, date="2026-01-01T00:00:00+00:00", cpus=2, schema=1, bare=False, device="cpu", fingerprint="00", threads=2, cache="cold", dram=10):
    """Writes a run file of dlroof with benchmarks of any name and time."""
    machine = {
        "device": device,
        "name": "m",
        "fingerprint": fingerprint,
        "measured_at": "2026-01-01T00:00:00Z",
        "facts": {},
        "cache_bytes": {},
        **ROOFS,
        "by_threads": {"2": ROOFS},
    }
    records = [
        {
            "name": name,
            "status": "ok",
            "threads": threads,
            "cache": cache,
            "algorithm": "a",
            "work": {"modelled": {"flops": {"fp32.vector": 1e9}, "bytes": {"dram": dram}}},
            "repetitions": [{"seconds": s, "iterations": 1} for s in repetitions(seconds)],
        }
        for name, seconds in times
    ]
    write(
        path,
        {
            "context": {"date": date, "num_cpus": cpus, "dlroof": {"schema": schema, "conventions": {"flops": "fma is 2"}}},
            "machines": [] if bare else [machine],
            "records": records,
        },
    )


def google(path, times, unit="ms", count=5, cpu=1):
    """Writes a file of a plain Google Benchmark program."""
    write(
        path,
        {
            "context": {"num_cpus": 2},
            "benchmarks": [
                {
                    "name": name,
                    "run_name": name,
                    "run_type": "iteration",
                    "repetition_index": i,
                    "iterations": 9,
                    "real_time": time,
                    "cpu_time": value * cpu,
                    "time_unit": unit,
                }
                for name, value in times
                for i, time in enumerate(repetitions(value, count))
            ],
        },
    )


@pytest.fixture(scope="module", autouse=True)
def files(folder):
    own("base.json", BASE)
    own("same.json", BASE)
    own("slower.json", [(CONV + "n1", 2.6)] + BASE[1:], date="2026-02-02T00:00:00+00:00")
    own("slower_again.json", [(CONV + "n1", 2.7)])
    own("not_again.json", [(CONV + "n1", 2.01)])
    own("renamed.json", BASE[:2] + [(CONV + "n21", 2.5)])
    own("machine.json", BASE, fingerprint="11")
    own("bare.json", BASE, bare=True)
    own("bare_machine.json", BASE, bare=True, cpus=8)
    own("roofless_machine.json", BASE, device="gpu", cpus=8)
    own("threads.json", BASE, threads=1)
    own("warm.json", BASE, cache="warm")
    own("bytes.json", BASE, dram=12)
    own("part.json", BASE[1:2], date="2026-03-03T00:00:00+00:00")
    own("other.json", [("other", 1.0)])
    own("twice.json", BASE + BASE)
    own("mixed.json", BASE[:1] + [("other1", 1.0), ("other2", 1.0)])
    own("negative.json", [(CONV + "n1", -2.0)])
    own("newer.json", BASE, schema=1000)
    times = [("BM_A<int, 2>/8", 2.0), ("BM_B", 1.0)]
    google("plain.json", times)
    google("plain_slower.json", [times[0], ("BM_B", 1.5)])
    google("plain_us.json", [(name, 1000 * time) for name, time in times], unit="us")
    google("plain_few.json", times, count=3)
    google("plain_negative.json", [("BM_B", -1.0)])
    google("plain_negative_cpu.json", times[1:], cpu=-1)
    google("nasty.json", [(NASTY, 1.0), ("n", 1.0)])
    google("nasty_slower.json", [(NASTY, 1.5), ("n", 1.0)])
    write("cut.json", Path("base.json").read_text()[:2000])
    write("empty.json", "")
    write("hello.json", "hello\n")
    write("nan.json", '{"records": [{"name": "a", "repetitions": [{"seconds": NaN}]}]}')
    write("text.json", '{"records": [{"name": "a", "repetitions": [{"seconds": "1 ms"}]}]}')
    write("map.txt", f"{CONV}n20 {CONV}n21\n")
    write("bad.txt", "one\n")
    for stored in ("base slower machine", "base part machine", "base machine"):
        target = Path("stored_" + stored.replace(" ", "_"))
        target.mkdir()
        for name in stored.split():
            shutil.copy(f"{name}.json", target)
    compare.cache_clear()


@functools.cache
def compare(arguments):
    """Several tests look at one comparison."""
    return run(f"dlroof compare {arguments}")


AGAIN = "base.json slower.json --again "
NEWEST, PARTLY, OLDEST = (f"--baseline stored_{stored} " for stored in ("base_slower_machine", "base_part_machine", "base_machine"))


@checks(
    ("equal runs exit 0", "base.json same.json", exits(0)),
    ("equal runs are the same", "base.json same.json", plain("3 same")),
    ("equal runs need no word on stderr", "base.json same.json", silent),
    ("a slower run exits 1", "base.json slower.json", exits(1)),
    ("the table shows slower", "base.json slower.json", plain("slower")),
    ("the table shows a cause", "base.json slower.json", plain("unexplained: same algorithm")),
    ("the table shows percent of roof", "base.json slower.json", plain("49.6 -> 38.2")),
    ("a faster run exits 0", "slower.json base.json", exits(0)),
    ("slower in a second process exits 1", AGAIN + "slower_again.json", exits(1)),
    ("slower in one process alone exits 0", AGAIN + "not_again.json", exits(0)),
    ("the second process is named", AGAIN + "not_again.json", plain("slower in NEW, but not when measured again (not_again.json)")),
    ("--again refuses the same run", AGAIN + "slower.json", bad_input),
    ("--again refuses a missing file", AGAIN + "none.json", bad_input),
    ("--again refuses --across-machines", AGAIN + "not_again.json --across-machines", bad_input),
    ("Google Benchmark files are compared", "plain.json plain_slower.json", exits(1)),
    ("files of different time units are compared", "plain.json plain_us.json", plain("2 same")),
    ("too few repetitions exit 3", "plain.json plain_few.json", exits(3)),
    ("too few repetitions are the reason", "plain.json plain_few.json", plain("insufficient")),
    ("a control that is none is refused", "base.json slower.json --control none", bad_input),
    ("what a control did is taken out", f"base.json slower.json --control {CONV}n1", plain("1 controls moved by 1.300")),
    ("--min-effect is obeyed", "base.json slower.json --min-effect=50%", exits(0)),
    ("--min-effect is printed", "base.json slower.json --min-effect=50%", plain("minimum effect 50.0 %")),
    ("more traffic alone exits 0", "base.json bytes.json", exits(0)),
    ("--across-machines compares percent of roof", "base.json machine.json --across-machines", exits(0)),
    ("runs without ceilings compare by CPU count", "base.json bare.json", exits(0)),
    ("one common benchmark exits 0", "base.json mixed.json", exits(0)),
    ("one common benchmark is a warning", "base.json mixed.json", says(r"^only 1 of 3 benchmarks is in both files \(3 in BASE, 3 in NEW\)$")),
    ("one common benchmark is among the notes", "base.json mixed.json", plain("only 1 of 3 benchmarks is in both files")),
    ("--map pairs renamed benchmarks", "base.json renamed.json --map map.txt", exits(1)),
    ("renamed benchmarks are new and gone", "base.json renamed.json", exits(0)),
    ("a cut file is compared", "base.json cut.json", exits(0)),
    ("a cut file is a warning", "base.json cut.json", says(r"cut\.json: cut off; read the")),
    ("the newest stored run is the baseline", NEWEST + "slower.json", exits(0)),
    ("the stored run is named", NEWEST + "slower.json", plain("stored_base_slower_machine/slower.json -> slower.json")),
    ("each benchmark has its newest stored run", PARTLY + "slower.json", exits(1)),
    (
        "all stored runs are named",
        PARTLY + "slower.json",
        plain("stored_base_part_machine/part.json, stored_base_part_machine/base.json -> slower.json: 1 slower, 2 same"),
    ),
    ("an older stored run is the baseline", OLDEST + "slower.json", exits(1)),
    ("a run without a machine has no baseline", OLDEST + "plain.json", bad_input),
    ("a missing folder of baselines is refused", "--baseline none slower.json", bad_input),
    ("one file is refused", "base.json", bad_input),
    ("three files are refused", "base.json same.json slower.json", bad_input),
    ("an unknown format is refused", "base.json same.json --format=xml", bad_input),
    ("--min-effect refuses a word", "base.json same.json --min-effect=much", bad_input),
    ("--min-effect refuses a negative share", "base.json same.json --min-effect=-1", bad_input),
    ("a missing map is refused", "base.json same.json --map none.txt", bad_input),
    ("a bad map is refused", "base.json same.json --map bad.txt", bad_input),
    ("a bad map's line is named", "base.json same.json --map bad.txt", says(r"bad\.txt:1:")),
)
def test_compare(command, expected):
    verify(compare(command), expected)


OTHERS = "empty hello nan text newer machine bare_machine roofless_machine threads warm other twice negative plain none"


@pytest.mark.parametrize(
    "first, second",
    [pair for other in OTHERS.split() for pair in (("base", other), (other, "base"))]
    + [("plain", other) for other in "plain_negative plain_negative_cpu".split()],
)
def test_refuses_and_names_the_file(first, second):
    ran = compare(f"{first}.json {second}.json")
    bad_input(ran)
    says((second if first in ("base", "plain") and second != "base" else first) + r"\.json")(ran)


@pytest.mark.parametrize("form", ["table", "json", "markdown", "junit"])
def test_a_full_disk_is_refused_and_named(form):
    ran = run(f"dlroof compare base.json slower.json --format={form}", stdout="/dev/full")
    bad_input(ran)
    says("standard output: not all could be written")(ran)


def test_a_pipe_is_read():
    verify(run(["bash", "-c", '"$0" compare <(cat base.json) slower.json', DLROOF]), [exits(1)])


def nasty(form):
    return compare(f"nasty.json nasty_slower.json --format={form}")


@pytest.mark.parametrize("form", ["json", "markdown", "junit"])
def test_a_format_exits_as_the_table_does_without_a_word_on_stderr(form):
    verify(nasty(form), [exits(1), silent])


def test_json_keeps_a_nasty_name():
    rows = json.loads(nasty("json").out)["benchmarks"]
    assert [(row["name"], row["verdict"]) for row in rows] == [(NASTY, "slower"), ("n", "same")]


def test_junit_keeps_a_nasty_name_and_counts_failures():
    suite = xml.fromstring(nasty("junit").out).find("testsuite")
    case = suite.findall("testcase")[0]
    assert case.get("name") == NASTY.replace("\x01", "\\u0001")
    assert case.find("failure") is not None and suite.get("failures") == "1"


def test_markdown_keeps_a_nasty_name():
    cell = re.search(r"^\| (A.*?) \|", nasty("markdown").out, re.M).group(1)
    assert re.sub(r"\\(.)", r"\1", re.sub(r"&#(\d+);", lambda number: chr(int(number.group(1))), cell)) == NASTY


STORED = [path for path in sorted(ROOT.glob("baselines/stored/*/*.json")) if '"schema":1' in path.read_text().replace(" ", "")]


def as_schema_2(run):
    """Returns a run of schema 1 with its sentences as members."""
    run["context"]["dlroof"]["schema"] = 2
    for record in run["records"]:
        algorithm, mark, isa = record.get("algorithm", "").partition("; isa ")
        record |= {"algorithm": algorithm, "isa": isa} if mark else {}
        if "counting" in record:
            record["counting"] = [dict(zip(("provenance", "text"), text.split(": ", 1))) for text in record["counting"]]
    return run


@pytest.fixture(scope="module")
def both_schemas(folder):
    """Makes the folders schema1, of stored runs, and schema2, of the same runs."""
    for stored in STORED:
        for schema, change in (("schema1", lambda run: run), ("schema2", as_schema_2)):
            path = Path(schema, stored.parent.name, stored.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, change(json.loads(stored.read_text())))


def of_schema(schema, command):
    ran = run(command.replace("SCHEMA", schema))
    return ran.code, ran.out.replace(schema + "/", "")


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.parent.name + "/" + path.name)
def test_a_run_of_schema_1_reads_as_that_of_schema_2(both_schemas, stored):
    file = f"SCHEMA/{stored.parent.name}/{stored.name}"
    for command in (f"report {file}", f"export --format=csv {file}", f"report {file} -o SCHEMA.json"):
        old, new = (of_schema(schema, "dlroof " + command) for schema in ("schema1", "schema2"))
        assert old == new and old[0] == 0
    assert Path("schema1.json").read_text() == Path("schema2.json").read_text()
    assert '"schema":2' in Path("schema1.json").read_text()
    ran = run(f"dlroof compare {file.replace('SCHEMA', 'schema1')} {file.replace('SCHEMA', 'schema2')}")
    assert "algorithm changed" not in ran.out


def test_runs_of_schema_1_get_the_verdicts_of_schema_2(both_schemas):
    base, new = (f"zen5-2c/2026-11-22-conv2d{again}.json" for again in ("", "-again"))
    told = {re.sub("schema[12]/", "", run(f"dlroof compare schema{a}/{base} schema{b}/{new} --format=json").out) for a in (1, 2) for b in (1, 2)}
    assert len(told) == 1 and '"verdict":"ambiguous"' in told.pop().replace(" ", "")
