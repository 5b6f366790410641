"""dlroof_bench and dlroof as a user meets them: flags, formats, bad input, interrupts."""
import fcntl
import functools
import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from checks import (
    DATA,
    QUICK,
    ROOT,
    bad_input,
    checks,
    contains,
    exits,
    finish,
    holds,
    never_prints,
    one_sentence,
    prints,
    program,
    run,
    says,
    silent,
    start,
    verify,
)

BENCH = program("DLROOF_BENCH")
NAMES = "--benchmark_filter=^LSTM/cpu/reference "
ON_MACHINE = "--dlroof_machine=machine.json "
FAST = f"{ON_MACHINE}{NAMES}{QUICK} "
RUN = FAST + "--benchmark_out=run.json --benchmark_context=note=hello --dlroof_html=run.html"
COLD = "Conv2D/cpu/onednn/fwd/f32/n1c16h28w28k16r3s3_p1/cold"
BAD_CHOICES = ("batch=0", "batch=-1", "batch=1,1e9x", "batch=abc", "types=f32,f99", "directions=fwd,up")
CHOSEN = "--dlroof_suite=resnet50 --dlroof_directions=fwd --dlroof_types=f16 --dlroof_batch=2,4 " "--benchmark_list_tests"
NET = "LSTM/cpu/reference/fwd_inference/f64/t2n2i"
DELTA = ROOT / "baselines/studies/delta_scaling"


def bench(arguments, **more):
    return run(f"{BENCH} {arguments}", timeout=120, **more)


@functools.cache
def cached(command):
    """Several tests look at one output. "bench" is dlroof_bench."""
    return bench(command[6:]) if command.startswith("bench ") else run(command, timeout=120)


@pytest.fixture(scope="module", autouse=True)
def files(folder):
    """Measures ceilings and runs the benchmarks once; cuts, spoils and joins the files."""
    cached.cache_clear()
    measured = run("dlroof machine --quick -o machine.json", timeout=300, XDG_CACHE_HOME="/proc/none")
    cached("bench " + RUN)
    Path("bad_name.txt").write_text("LSTM/cpu/onednn/bwd/f32/t1n1i1h1\n\nLSTM/cpu/onednn/bwd/f32/t1n1i1x1\n")
    Path("bad_count.txt").write_text("LSTM/cpu/onednn/bwd/f32/t1n1i1h1 x3\n LSTM/cpu/onednn/bwd/f32/t{1,2}n1i2h1 x0\n")
    Path("bad_template.txt").write_text("# f99\nConv2D/cpu/onednn/fwd/f99/*\nConv2D n1c1h1w1k1r1s1\n")
    Path("net.txt").write_text(f"{NET}4h4 x3\n{NET}8h4\n")
    Path("cold.txt").write_text(COLD + "\n")
    Path("x.csv").write_text("name,seconds\nx,fast\n")
    Path("empty.json").touch()
    Path("by_hand.json").write_text('{"name": "H200", "flops": {"fp32.vector": 6.7e13}, "bytes": {"dram": 4.8e12}}')
    for i, text in enumerate(BAD_MACHINES):
        Path(f"machine{i}.json").write_text(text)
    machine = Path("machine.json").read_text()
    Path("other_machine.json").write_text(machine.replace('"fingerprint": "', '"fingerprint": "0'))
    text = Path("run.json").read_text()
    Path("cut_early.json").write_text(text[:300])
    # In the middle of the second benchmark's entries: the machine before them is most of the file.
    Path("cut.json").write_text(text[: (text.index('"benchmarks": [') + text.index('"records": ')) // 2])
    parameters = json.loads(run("dlroof model --problem n2c8h14w14k16r3s3_p1 --format=json").out)["gpu"]
    del parameters["l2_bytes"]
    Path("gpu.json").write_text(json.dumps(parameters))
    run(f"dlroof import {DATA}/import_ert.json -o v100.json")
    run(f"dlroof import {DATA}/import_small.csv --machine v100.json -o import.json")
    return measured


BAD_MACHINES = ["", "{", "[]", '{"device": "cpu"}', '{"device": 5}', '{"name": "a", "bytes": {"dram": NaN}}', '{"name": "a", "bytes": {"dram": 4.8}}']


def test_ceilings_are_measured_without_a_writable_cache_and_it_is_named(files):
    verify(files, [exits(0), says("/proc/none")])


def cases(prefix, *rows):
    return [(name, prefix + command, *expected) for name, command, *expected in rows]


INTERLEAVED = FAST + "--benchmark_enable_random_interleaving=true --benchmark_format=json"
CUPTI = FAST + "--dlroof_counters=cupti"
KEEP = FAST + "--dlroof_disturbed=keep --benchmark_out=keep.json"


@checks(
    *cases(
        "bench ",
        ("listing exits 0", "--benchmark_list_tests", exits(0)),
        ("listing has the paper's LSTM", "--benchmark_list_tests", prints("^LSTM/cpu/onednn/bwd/f32/t16n16i32h16")),
        ("listing measures nothing", "--benchmark_list_tests", silent),
        (
            "a name as it is shown is a filter",
            "--benchmark_list_tests --benchmark_filter=bwd/f32/t16n16i32h16$",
            prints("^LSTM/cpu/onednn/bwd/f32/t16n16i32h16$"),
            never_prints("_time"),
        ),
        ("a filtered run exits 0", RUN, exits(0)),
        (
            "the table has a time in each row",
            RUN,
            prints(r"^LSTM/cpu/reference/\S+ +~?[0-9.]+ [num]s "),
            never_prints(r"^LSTM/cpu/reference/\S+ *(no time.*)?$"),
        ),
        ("a run that keeps noisy repetitions says so", KEEP, contains("keep.json", '"disturbed": "keep"')),
        (
            "such a run has no noisy repetition",
            KEEP,
            holds("keep.json", lambda run: not any("disturbed" in each for r in run["records"] for each in r["repetitions"])),
        ),
        ("the rule is in the file", RUN, contains("run.json", '"max_noise": 0.05')),
        (
            "a run without a budget repeats as often as asked",
            FAST + "--dlroof_max_seconds=0 --benchmark_out=asked.json",
            holds("asked.json", lambda run: all(len(r["repetitions"]) == 3 for r in run["records"])),
        ),
        ("the context is kept", RUN, contains("run.json", '"note": "hello"')),
        ("the page is written", RUN, contains("run.html", "LSTM/cpu/reference")),
        ("JSON on standard output has records", INTERLEAVED, prints('"records"')),
        ("CSV on standard output has Google Benchmark's header", NAMES + QUICK + " --benchmark_format=csv", prints("^name,iterations,real_time")),
        ("a filter without a match is refused", "--benchmark_filter=nothing_of_this_name", one_sentence, says("selects none of the")),
        ("an unknown flag of Google Benchmark is refused", "--benchmark_filtre=LSTM", one_sentence),
        ("an unknown own flag is refused", "--dlroof_treads=2", one_sentence, says("did you mean '--dlroof_threads'")),
        ("more threads than CPUs are refused", "--dlroof_threads=4000", one_sentence),
        ("a missing suite file is refused", "--dlroof_suite=none.txt", one_sentence),
        ("an unknown counter source is refused", "--dlroof_counters=papi", one_sentence),
        ("an absent counter source costs no failure", CUPTI, exits(0)),
        ("an absent counter source is named", CUPTI, says("dlroof_counters=cupti: ")),
        ("a call that cannot be simulated is refused", "--dlroof_simulated_call=LSTM/cpu/reference/nonsense", one_sentence),
        ("a bad name in a suite is refused", "--dlroof_suite=bad_name.txt", one_sentence),
        ("a bad name's line is named", "--dlroof_suite=bad_name.txt", says("bad_name.txt:3: .*: column [0-9]+:")),
        ("a bad count in a suite is refused", "--dlroof_suite=bad_count.txt", one_sentence),
        ("a bad count's line is named", "--dlroof_suite=bad_count.txt", says("bad_count.txt:2: expected the number of occurrences")),
        ("an unknown suite is refused", "--dlroof_suite=resnet5", one_sentence),
        ("an unknown suite lists the suites", "--dlroof_suite=resnet5", says("unknown suite 'resnet5'; expected .* one of alexnet, .*resnet50, ")),
        ("--dlroof_suite=help lists the suites", "--dlroof_suite=help", prints("^ +resnet50 +ResNet-50.s 53 convolutions")),
        ("a suite runs by name", "--dlroof_suite=resnet50,gnmt --benchmark_list_tests", prints("^Conv2D/cpu/onednn/fwd/int8/n16c3h224w224k64r7s7_s2p3")),
        ("a suite replaces the default suites", "--dlroof_suite=resnet50,gnmt --benchmark_list_tests", never_prints("reference")),
        ("a file replaces the default suites", "--dlroof_suite=net.txt --benchmark_list_tests", prints("^" + re.escape(NET) + "4h4$"), never_prints("onednn")),
        ("a run says which suite it has", f"{ON_MACHINE}--dlroof_suite=net.txt --benchmark_filter=/t2n2i4 {QUICK}", says("^suite net.txt: 2 benchmarks$")),
        ("named suites join a file", "--dlroof_suite=net.txt,gnmt --benchmark_list_tests", prints("^" + re.escape(NET) + "4h4$"), prints("^LSTM/cpu/onednn/")),
        (
            "a line of benchdnn replaces the default suites",
            "'--dlroof_suite=--conv --dir=FWD_I mb2ic4ih4oc4kh1' --benchmark_list_tests",
            prints("^Conv2D/cpu/onednn/fwd/f32/n2c4h4w4k4r1s1$"),
            never_prints("LSTM"),
        ),
        ("a run without a suite has the default ones", RUN, says("^suites paper, reference: [0-9]+ benchmarks$")),
        ("a bad template is refused", "--dlroof_suite=bad_template.txt", one_sentence),
        ("a bad template's line is named", "--dlroof_suite=bad_template.txt", says("bad_template.txt:3: .*: expected a type")),
        *((f"the choice {choice} is refused", f"--dlroof_suite=gnmt --dlroof_{choice}", one_sentence) for choice in BAD_CHOICES),
        ("choices make a suite anew", CHOSEN, prints("^Conv2D/cpu/onednn/fwd/f16/n2c3h224w224k64r7s7_s2p3")),
        ("a choice leaves the others out", CHOSEN, never_prints("bwd|f32|n16c")),
        ("a type that the library has not is no error", "--dlroof_suite=gnmt --dlroof_types=tf32 --benchmark_list_tests", exits(0)),
        (
            "a type that the library has not is told",
            "--dlroof_suite=gnmt --dlroof_types=tf32 --benchmark_list_tests",
            says("^gnmt: skipped 9 problems: LSTM/cpu/onednn has no type 'tf32'"),
        ),
        ("another machine's ceilings are refused", "--dlroof_machine=other_machine.json " + NAMES, one_sentence),
        ("a missing folder for the output is refused", FAST + "--benchmark_out=none/run.json", one_sentence),
        ("a full disk exits 2", FAST + "--benchmark_out=/dev/full", exits(2)),
        ("a full disk is named", FAST + "--benchmark_out=/dev/full", says("/dev/full: not all could be written")),
        (
            "a model of two layers exits 0",
            f"{ON_MACHINE}--dlroof_suite=net.txt --benchmark_filter=/t2n2i {QUICK} " "--benchmark_out=net.json",
            exits(0),
            contains("net.json", '"count": 3'),
            prints("^net.txt LSTM/cpu/reference/fwd_inference/f64 +([01] of )?2 +([013] of )?4( |$)"),
        ),
    )
)
def test_bench(command, expected):
    verify(cached(command), expected)


def test_the_first_screen_has_a_line_for_each_benchmark_and_each_reason():
    """Of a run on AVX2, which has no bf16. Given roofs: no proof fails while the machine is busy."""
    cpus = len(os.sched_getaffinity(0))
    roofs = {"name": "roofs", "device": "cpu", "threads": cpus, "flops": {"fp32.vector": 1e12, "fp64.vector": 5e11}, "bytes": {"dram": 1e11}}
    Path("roofs.json").write_text(json.dumps(roofs))
    command = f"--dlroof_machine=roofs.json --benchmark_filter=LSTM --benchmark_repetitions=1 --benchmark_min_time=0.001 --dlroof_max_seconds=0 --dlroof_threads={cpus}"
    brief, verbose = (bench(command + more, ONEDNN_MAX_CPU_ISA="AVX2") for more in ("", " --verbose"))
    total = int(re.search(r"^(\d+) benchmarks", brief.err, re.M)[1])
    lines = brief.out.splitlines()
    reasons = [line.split(", ", 1) for line in lines[lines.index("unsupported") + 1 :] if line.startswith("  ")]
    reasons = reasons[: lines[lines.index("unsupported") :].index("") - 1]
    counts = [int(number[1]) if (number := re.search(r"(\d+) benchmarks$", count)) else 1 for count, _ in reasons]
    # A busy machine adds remarks.
    assert len(lines) <= (80 if "busy" in brief.err else 70) and total == 75, brief
    assert len({reason for _, reason in reasons}) == len(reasons), brief
    assert sum(counts) + sum(line.startswith("LSTM/") for line in lines) == total, brief
    names = [line for line in verbose.out.splitlines() if line.startswith("    LSTM/")]
    assert len(set(names)) == sum(count for count in counts if count > 1), verbose


def test_pinning_by_openmp_is_refused():
    verify(bench("", OMP_PROC_BIND="close"), [one_sentence])


@pytest.mark.parametrize("i", range(len(BAD_MACHINES)), ids=[f"'{text}'" for text in BAD_MACHINES])
def test_a_bad_machine_file_is_refused(i):
    verify(bench(f"--dlroof_machine=machine{i}.json {NAMES}"), [one_sentence])


class TestSimulation:
    @pytest.fixture(scope="class")
    def simulated(self, files):
        ran = bench("--dlroof_simulated_call=" + COLD)
        if ran.code == 2 and re.search("not in this build", ran.err):
            pytest.skip("this build has no oneDNN: " + ran.err)
        return ran

    def test_a_simulated_call_describes_itself(self, simulated):
        verify(simulated, [exits(0), prints('"algorithm":".')])

    # 16 channels of 28 x 28, twice, and 2304 weights; a few per cent of bookkeeping are fetched beside those.
    @pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
    @pytest.mark.skipif(b"__asan_init" in Path(BENCH).read_bytes(), reason="a program with sanitizers does not run under valgrind")
    def test_the_dram_bytes_of_a_cold_call_are_its_tensors(self, simulated):
        ran = run(
            f"{BENCH} {ON_MACHINE}--dlroof_suite=cold.txt --benchmark_filter={COLD} {QUICK} " "--dlroof_counters=simulate --benchmark_out=simulated.json",
            timeout=900,
            XDG_CACHE_HOME=os.path.abspath("cache"),
        )
        verify(ran, [exits(0), holds("simulated.json", lambda run_file: 1 <= dram_ratio(run_file) < 1.05)])


def dram_ratio(run_file):
    work = run_file["records"][0]["work"]
    return work["simulated"]["bytes"]["dram"] / work["modelled"]["bytes"]["dram"]


TABLE = " --show table"


@checks(
    ("dlroof needs a command", "dlroof", one_sentence),
    ("the doctor names the chips whose counters are known", "dlroof doctor --quick", prints("^chip +.*GH100")),
    ("report reads a run", "dlroof report run.json", exits(0)),
    ("report shows its benchmarks", "dlroof report run.json", prints("LSTM/cpu/reference")),
    (
        "report misses nothing but a picture without points",
        "dlroof report run.json",
        lambda ran: re.fullmatch("(no picture: figure: .*\n)*", ran.err) or pytest.fail(repr(ran)),
    ),
    ("report needs a file", "dlroof report", one_sentence),
    ("report refuses a missing file", "dlroof report none.json", one_sentence),
    (
        "an unknown command names the nearest one",
        "dlroof reprot run.json",
        one_sentence,
        says("^dlroof: unknown command 'reprot'; did you mean 'report'. dlroof --help lists all$"),
    ),
    (
        "an unknown subcommand names the nearest one",
        "dlroof history lsit",
        one_sentence,
        says("^dlroof: unknown command 'history lsit'; did you mean 'history list'. dlroof history --help lists all$"),
    ),
    ("a command like no other is unknown", "dlroof xyzzy", one_sentence, says("unknown command 'xyzzy'; dlroof --help")),
    ("report refuses an unknown extension", "dlroof report run.json -o x.doc", one_sentence),
    ("report refuses an impossible folder", "dlroof report run.json -o /dev/full/x.html", one_sentence),
    ("report refuses an empty file", "dlroof report empty.json", one_sentence),
    ("report refuses a file cut before its first record", "dlroof report cut_early.json", one_sentence),
    ("report reads a file cut later", "dlroof report cut.json" + TABLE, exits(0)),
    ("report warns of a cut file", "dlroof report cut.json" + TABLE, says("cut off; read the")),
    ("report has a model's row", "dlroof report net.json" + TABLE, prints("^net.txt LSTM/")),
    ("report refuses an unknown level", "dlroof report import.json --levels=dram,l9", one_sentence),
    ("report shows what a filter selects", "dlroof report run.json --show=table --filter=LSTM", exits(0), prints("^LSTM/cpu/")),
    ("report refuses a filter that nothing matches", "dlroof report run.json --filter=zzz", one_sentence),
    ("report refuses what is no regular expression", "dlroof report run.json --filter=[", one_sentence),
    ("report refuses an unknown sweep", "dlroof report import.json --sweep=colour -o x.svg", one_sentence),
    ("ERT's results become a machine file", f"dlroof import {DATA}/import_ert.json -o v100.json", exits(0), contains("v100.json", '"fp32.vector"')),
    ("points stand on imported ceilings", f"dlroof import {DATA}/import_small.csv --machine v100.json -o import.json", exits(0)),
    (
        "report judges by the matrix ceiling",
        "dlroof report import.json --balance tensor -o tensor.json",
        exits(0),
        contains("tensor.json", '"balance":"tensor"'),
    ),
    (
        "a known GPU's rates are roofs",
        f"dlroof import {DATA}/import_ncu_raw.csv --machine v100 -o known.json",
        exits(0),
        holds("known.json", lambda run: all(record["time"]["given"] for record in run["records"] if "time" in record)),
    ),
    (
        "import refuses an unknown machine",
        f"dlroof import {DATA}/import_small.csv --machine v1000 -o x.json",
        one_sentence,
        says("v1000: no such file; expected a machine file, or a known GPU: a100, "),
    ),
    ("a known GPU is shown with its sources", "dlroof machine p100", prints("DRAM +732 GB/s +specified, not measured here: NVIDIA")),
    ("the file of a known GPU is a machine file", "dlroof machine v100 -o v100.json", contains("v100.json", '"name": "NVIDIA Tesla V100')),
    ("a machine by hand is shown", "dlroof machine by_hand.json", prints("fp32.vector +67.0 TFLOP/s"), exits(0)),
    ("a machine by hand is not measured again", "dlroof machine by_hand.json --remeasure", one_sentence),
    ("report refuses an unknown balance", "dlroof report import.json --balance x", one_sentence),
    (
        "import names a column that it drops",
        f"dlroof import {DATA}/import_ncu_raw.csv --set fw -o fw.json",
        says("column 'launch__registers_per_thread' is not known"),
    ),
    ("import refuses an unknown kind of file", "dlroof import machine.json -o x.json", one_sentence),
    ("import refuses an unknown format", f"dlroof import {DATA}/import_small.csv --format tsv -o x.json", one_sentence),
    ("import refuses the wrong format", f"dlroof import {DATA}/import_ert.json --format csv -o x.json", one_sentence),
    ("import refuses a missing folder", f"dlroof import {DATA}/import_small.csv -o none/x.json", exits(2)),
    ("import refuses a bad number", "dlroof import x.csv -o x.json", one_sentence),
    ("import names line and column", "dlroof import x.csv -o x.json", says("x.csv:2: column 3: expected a number")),
)
def test_dlroof(command, expected):
    verify(cached(command), expected)


def test_kernels_without_flops_are_counted_and_timed():
    cached(f"dlroof import {DATA}/import_ncu_raw.csv --set fw -o fw.json")
    verify(run("dlroof report fw.json" + TABLE), [prints(r"^fw +1 +1 +25.0 % +40.0 %")])


@pytest.mark.parametrize(
    "sample", "import_small.csv import_ncu_raw.csv import_ncu_details.csv import_likwid.csv " "import_nvbench.json import_benchdnn.txt".split()
)
def test_a_sample_is_imported_and_reported(sample):
    verify(run(f"dlroof import {DATA}/{sample} --machine machine.json -o sample.json"), [exits(0)])
    verify(run("dlroof report sample.json" + TABLE), [exits(0)])


def test_an_interleaved_run_is_read_back():
    Path("interleaved.json").write_text(cached("bench " + INTERLEAVED).out)
    verify(run("dlroof report interleaved.json" + TABLE), [exits(0)])


WHAT_IF = "--gpu v100 --suite alexnet --batch 256 --scale sm=2,dram=1.5,l2=2,l1=1,mac=2,tile=256x128"


@checks(
    *cases(
        "dlroof model ",
        ("predicts a suite", WHAT_IF, exits(0)),
        ("names itself a model", WHAT_IF, prints("^DeLTA-style model of NVIDIA Tesla V100")),
        ("answers what if", WHAT_IF, prints("^sm=2,dram=1.5.* alexnet +[0-9.]+x ")),
        ("names what to balance next", WHAT_IF, prints("^Balance next\n.*\nalexnet +[0-9.]+x")),
        ("writes JSON", "--problem n16c64h112w112k64r3s3_s2 --sweep dram=1:2:1 --format=json", prints('"sweep"')),
        ("takes a layout and a type", "--problem n2c8h14w14k16r3s3_p1 --direction bwd_weights --nhwc --type f16", exits(0)),
        (
            "compares the published launches",
            f"--gpu {DELTA}/v100-1305mhz.json {DELTA}/v100-deepcam-launches.json",
            prints(r"Mean absolute error, predicted against measured, time: 8\.[0-9]"),
        ),
        ("sweeps with a step that changes nothing", "--suite alexnet --sweep dram=1:1:1e-300", exits(0)),
        ("refuses a parameter file without a figure", "--gpu gpu.json --suite alexnet", one_sentence),
        ("names the missing figure", "--gpu gpu.json --suite alexnet", says("gpu.json: 'l2_bytes': expected")),
        ("refuses an unknown GPU", "--gpu v1000 --suite alexnet", one_sentence),
        ("refuses a run that names no GPU", f"{DATA}/v100_gpu_run.json", one_sentence),
        ("asks for the GPU of such a run", f"{DATA}/v100_gpu_run.json", says("does not say which GPU ran it; give --gpu")),
        ("refuses a negative scale", "--suite alexnet --scale dram=-1", one_sentence),
        ("refuses a tile that fits no SM", "--suite alexnet --scale tile=512x512", one_sentence),
        ("refuses a falling sweep", "--suite alexnet --sweep dram=2:1:1", one_sentence),
        ("refuses an unknown suite", "--suite nope", one_sentence),
        ("needs a problem", "", one_sentence),
        ("refuses a run without a GPU", "run.json", one_sentence),
        ("refuses the ceilings of a CPU", "--suite alexnet --machine machine.json", one_sentence),
        ("refuses an unknown extension", "--suite alexnet -o x.doc", one_sentence),
    )
)
def test_model(command, expected):
    verify(cached(command), expected)


class TestSupervised:
    def test_has_the_benchmarks_of_a_plain_run_in_their_order(self):
        # A busy machine disturbs each of them, which runs twice more.
        verify(run(f"dlroof run -o supervised.json --seed 1 --cooldown 0.1 -- {FAST}", timeout=300), [exits(0)])
        plain, supervised = ([record["name"] for record in json.loads(Path(file).read_text())["records"]] for file in ("run.json", "supervised.json"))
        assert plain == supervised
        verify(run("dlroof report supervised.json" + TABLE), [exits(0)])

    def test_two_builds_end_with_a_verdict_and_blocks_of_five(self):
        """A slow machine settles nothing within a budget, and goes on."""
        for more in ["", *["--resume"] * 12]:
            ran = run(
                f"dlroof run --ab {BENCH} {BENCH} -o old.json -o new.json {more} --budget 5 --cooldown 0.1 -- {ON_MACHINE}"
                "--benchmark_filter=^LSTM/cpu/reference/fwd_inference",
                timeout=120,
            )
            assert ran.code in (0, 1, 3), ran
            if os.path.exists("new.json"):
                break
            assert os.path.exists("new.json.journal"), ran
        repetitions = json.loads(Path("new.json").read_text())["records"][0]["repetitions"]
        # The machine decides how many blocks fit into the budget.
        assert repetitions and len(repetitions) % 5 == 0, ran
        assert [repetition["block"] for repetition in repetitions] == [i // 5 for i in range(len(repetitions))], ran


class TestARunThatIsStopped:
    @staticmethod
    def stopped_by(signal, file):
        """Sends a signal after the first results."""
        process = start(f"{BENCH} {ON_MACHINE}--benchmark_filter=^LSTM --benchmark_min_time=0.05 " f"--benchmark_out={file}")
        limit = time.monotonic() + 60
        while not (os.path.exists(file + ".part") and "real_time" in Path(file + ".part").read_text()):
            assert time.monotonic() < limit, "no result within a minute"
            time.sleep(0.1)
        time.sleep(0.3)  # the first results may just be on their way into the file
        process.send_signal(signal)
        return finish(process)

    def test_by_sigint_exits_130_and_leaves_its_results_beside_the_old_file(self):
        Path("interrupted.json").write_text("of yesterday")
        verify(self.stopped_by(2, "interrupted.json"), [exits(130), says("interrupted: the results so far are in interrupted.json.part")])
        assert Path("interrupted.json").read_text() == "of yesterday"
        verify(run("dlroof report interrupted.json.part" + TABLE), [exits(0), silent])

    def test_before_its_first_benchmark_leaves_the_old_file(self):
        Path("early.json").write_text("of yesterday")
        process = start(f"{BENCH} --benchmark_filter=^LSTM --benchmark_out=early.json", XDG_CACHE_HOME=os.path.abspath("empty"))
        for line in process.stderr:
            if "Measuring the ceilings" in line:
                break
        process.send_signal(15)
        verify(finish(process), [exits(143)])
        assert Path("early.json").read_text() == "of yesterday"

    def test_by_sigkill_leaves_its_finished_records_and_report_warns(self):
        Path("killed.json").write_text("of yesterday")
        verify(self.stopped_by(9, "killed.json"), [exits(-9)])
        assert Path("killed.json").read_text() == "of yesterday"
        verify(run("dlroof report killed.json.part" + TABLE), [exits(0), says("cut off; read the")])


class TestAStoredResult:
    QUICK = f"{BENCH} {ON_MACHINE}--benchmark_out=kept.json --benchmark_filter="

    @pytest.fixture(autouse=True)
    def kept(self):
        Path("kept.json").write_text("of yesterday")
        yield
        assert Path("kept.json").read_text() == "of yesterday"
        assert not Path("kept.json.part").exists()

    @pytest.mark.parametrize("filter, code", [("NOMATCH", 2), ("'('", 2), ("LSTM --benchmark_list_tests", 0), ("LSTM --benchmark_list_tests=", 0)])
    def test_stays_if_nothing_is_measured(self, filter, code):
        verify(run(self.QUICK + filter), [exits(code)])

    @pytest.mark.parametrize("value", ["1", "", "TRUE"])
    def test_stays_if_a_variable_asks_for_a_list(self, value):
        verify(run(self.QUICK + "LSTM", BENCHMARK_LIST_TESTS=value), [exits(0), prints("^LSTM/")])

    def test_has_one_writer(self):
        with open("kept.json.part", "w") as part:
            fcntl.flock(part, fcntl.LOCK_EX)
            verify(run(self.QUICK + "^LSTM"), [bad_input, says(f"kept.json: the process {os.getpid()} is writing it")])
            os.remove("kept.json.part")
