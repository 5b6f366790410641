"""Files of other programs' Google Benchmarks, names that are not UTF-8, and standard output that is closed or full."""
import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
from checks import DATA, DLROOF, Ran, bad_input, exits, plain, program, prints, run, says, verify

BENCH = program("DLROOF_BENCH")
GOOGLE = DATA / "google_benchmark_1.7.1.json"
MACHINE = {
    "name": "server",
    "device": "cpu",
    "threads": 4,
    "flops": {"fp64.vector": 1e11, "fp32.vector": 2e11},
    "bytes": {"dram": 1e11},
    "source": "data sheet",
}
OUTPUTS = [
    f"{DLROOF} --help",
    f"{DLROOF} --version",
    f"{DLROOF} completion bash",
    f"{DLROOF} report run.json",
    f"{DLROOF} compare run.json run.json",
    f"{BENCH} --help",
    f"{BENCH} --dlroof_suite=help",
    f"{BENCH} --benchmark_list_tests --benchmark_filter=^LSTM/cpu/reference",
]


@pytest.fixture(scope="module", autouse=True)
def files(folder):
    Path("run.json").write_text(GOOGLE.read_text())
    Path("run.json.gz").write_bytes(gzip.compress(GOOGLE.read_bytes()))
    Path("utf16.json").write_bytes(GOOGLE.read_text().encode("utf-16"))
    Path("machine.json").write_text(json.dumps(MACHINE))
    rates = {"real_time": 2, "cpu_time": 1, "time_unit": "ms", "iterations": 1}
    Path("rates.json").write_text(
        json.dumps(
            {
                "context": {},
                "benchmarks": [
                    {"name": "BM_Gemm<double>/real_time", "FLOPS": 5e10, "bytes_per_second": 1e10, **rates},
                    {"name": "BM_Copy/real_time", "bytes_per_second": 5e10, **rates},
                    {"name": "BM_Scan/real_time", "items_per_second": 1e10, **rates},
                ],
            }
        )
    )


def shell(command):
    done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
def test_a_closed_or_full_standard_output_is_refused(command, output):
    verify(shell(f"{command} {output}"), [exits(2), says("standard output: not all could be written")])


def test_a_file_never_gets_the_number_of_a_closed_standard_output(folder):
    ran = shell(f"{DLROOF} report run.json -o stored.json >&-")
    verify(ran, [exits(0)])
    assert json.loads(Path("stored.json").read_text())["records"]


@pytest.mark.parametrize("name", [b"Messung_\xe4", b"\xff\xfe", b"a\xc3"])
def test_names_that_are_not_utf8_are_kept_with_their_bytes_escaped(name, folder):
    csv, output = name + b".csv", name + b".json"
    Path(os.fsdecode(csv)).write_text("name,seconds,flops_fp64.vector\nstencil,1.0,1e11\n")
    done = subprocess.run([os.fsencode(DLROOF), b"import", csv, b"-o", output], capture_output=True)
    assert done.returncode == 0, done.stderr
    command = json.loads(Path(os.fsdecode(output)).read_text())["context"]["dlroof"]["command"]
    assert "\\x" in command
    done = subprocess.run([os.fsencode(DLROOF), b"report", output], capture_output=True)
    assert done.returncode == 0 and b"100 GFLOP/s" in done.stdout, done.stderr
    bench = b"--dlroof_suite=--matmul 64x256:256x128"
    done = subprocess.run(
        [
            os.fsencode(BENCH),
            bench,
            b"--benchmark_filter=m64n128",
            b"--dlroof_machine=none",
            b"--benchmark_repetitions=2",
            b"--benchmark_min_time=0.001",
            b"--benchmark_out=" + output,
        ],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(Path(os.fsdecode(output)).read_text())["records"]


@pytest.mark.parametrize("name", ["run.json.gz", "utf16.json"])
def test_packed_and_wide_files_are_read_as_the_plain_one(name):
    assert run(f"dlroof report {name} --show table").out == run("dlroof report run.json --show table").out


def test_files_of_one_program_with_other_settings_are_separate_benchmarks():
    verify(
        run("dlroof report run.json"),
        [exits(0), plain("BM_Main/iterations:1/real_time"), plain("BM_Main/iterations:1/process_time"), prints(r"BM_Main/iterations:1 +26\.2 µs")],
    )


def test_rates_put_a_file_on_the_roofs():
    verify(run("dlroof import rates.json --machine machine.json -o placed.json"), [exits(0), says("no pipe|by the type in its name on fp64.vector")])
    # 100 MFLOP and 20 MB in 2 ms: 50 of 100 GFLOP/s; 50 of 100 GB/s.
    verify(
        run("dlroof report placed.json --show table"),
        [prints(r"BM_Gemm<double>/real_time .* 50\.0 % .* 50\.0 GFLOP/s"), prints(r"BM_Copy/real_time .* 50\.0 % .* 50\.0 GB/s")],
    )
    verify(run("dlroof import rates.json --machine machine.json --pipe fp64.vector --flops-per-item 2 -o placed.json"), [exits(0)])
    verify(run("dlroof report placed.json --show table"), [prints(r"BM_Scan/real_time .* 20\.0 % .* 20\.0 GFLOP/s")])
    verify(run("dlroof import rates.json --flops-per-item 2 -o placed.json"), [bad_input, says("--pipe")])


@pytest.mark.parametrize("form", ["json", "csv", "console"])
def test_a_full_disk_is_refused_in_every_format(form):
    ran = run(f"{BENCH_ONE} --benchmark_min_time=0.001 --benchmark_out=/dev/full --benchmark_out_format={form}", timeout=120)
    verify(ran, [exits(2), says("/dev/full")])


def test_an_unknown_command_is_named():
    verify(run("dlroof frobnicate"), [bad_input, says("unknown command 'frobnicate'")])
    verify(run("dlroof reprot run.json"), [bad_input, says("did you mean 'report'")])


BENCH_ONE = (
    f"{BENCH} '--dlroof_suite=--matmul 64x256:256x128' --benchmark_filter=m64n128 --dlroof_machine=none --benchmark_repetitions=2 --dlroof_max_seconds=0"
)


def test_newer_flags_are_understood_or_refused_by_version():
    verify(run(f"{BENCH_ONE} --benchmark_min_time=0.001s", timeout=120), [exits(0), plain("m64n128")])
    for flag in ("--benchmark_dry_run=true", "--benchmark_fast=1"):
        verify(run(f"{BENCH_ONE} --benchmark_min_time=0.001 {flag}", timeout=120), [bad_input, says("Google Benchmark 1")])


def test_a_context_is_given_once():
    ran = run(f"{BENCH_ONE} --benchmark_min_time=0.001 --benchmark_context=commit=abc", timeout=120)
    verify(ran, [exits(0)])
    assert "custom context" not in ran.err


E_SEQUENCE = "\x1b]0;PWN\x07\x1b[2J"
PLAIN = {
    "name": E_SEQUENCE,
    "run_name": E_SEQUENCE,
    "run_type": "iteration",
    "repetitions": 3,
    "repetition_index": 0,
    "iterations": 1,
    "real_time": 1,
    "cpu_time": 1,
    "time_unit": "ns",
}


def hostile(change):
    """Writes hostile.json, a run file that has control characters where `change` puts them."""
    content = json.loads((DATA / "run_small.json").read_text())
    change(content)
    Path("hostile.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda run_file: run_file["records"][0]["work"]["modelled"]["bytes"].update({E_SEQUENCE: 1}),
        lambda run_file: run_file["records"][0].update(status=E_SEQUENCE),
        lambda run_file: run_file["records"][0].update(name=E_SEQUENCE),
        lambda run_file: [record.update(name=E_SEQUENCE) for record in run_file["records"][:2]],
        lambda run_file: run_file["machines"][0]["by_threads"].update({E_SEQUENCE: {}}),
        lambda run_file: run_file["context"]["dlroof"].update(schema=E_SEQUENCE),
        lambda run_file: run_file["context"].update({E_SEQUENCE: E_SEQUENCE}),
        lambda run_file: (run_file.pop("records"), run_file["context"].pop("dlroof"), run_file.update(benchmarks=3 * [PLAIN])),
    ],
    ids="level status name twice threads schema context repetition".split(),
)
def test_no_control_character_of_a_file_reaches_a_terminal(change, own_folder):
    hostile(change)
    for command in ("report hostile.json", "export hostile.json --format=csv", "compare hostile.json hostile.json"):
        ran = run(f"dlroof {command}")
        assert ran.code in (0, 2, 3) and "\x1b" not in ran.out + ran.err, ran


@pytest.mark.parametrize("command", ["report x.json", "compare x.json x.json", "history add --db x.sqlite x.json", "gate --run x.json --db x.sqlite"])
def test_deep_json_is_one_sentence(command, own_folder):
    nested = "[" * 300000 + "]" * 300000
    Path("x.json").write_text('{"context": {"a": ' + nested + '}, "benchmarks": [{"name": "a"}]}')
    verify(run(f"dlroof {command}"), [bad_input, says("x.json: its JSON has more than 200 levels of brackets")])


@pytest.mark.parametrize("command", ["report {0}", "compare {0} {0}", "history list --db x.sqlite", "gate --run {0} --db x.sqlite", "import {0}"])
def test_few_descriptors_and_no_folder_for_temporary_files_are_no_verdict(command, own_folder):
    Path("x.sqlite").write_bytes(b"SQLite format 3\0" + b"damaged" * 500)
    for limit in ({"open_files": 4}, {"open_files": 6}, {"TMPDIR": "/no/such/folder"}):
        ran = run("dlroof " + command.format(DATA / "run_small.json"), **limit)
        assert ran.code in (0, 2, 3) and "bug" not in ran.err, ran


def test_a_file_that_was_cut_off_before_its_first_result_says_so():
    whole = json.dumps({"context": {"dlroof": {}}, "machines": [{"name": "m" * 100}]}, indent=1)
    for end in ("", ",", ',\n"benchmarks": ['):
        Path("run.json.part").write_text(whole[: whole.rindex("]") + 1] + end)
        verify(run("dlroof report run.json.part"), [bad_input, says("cut off before the first complete record")])
