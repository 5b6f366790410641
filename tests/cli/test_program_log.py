"""dlroof import and report of a program's log of oneDNN."""
import gzip
import json
import re
from pathlib import Path

import pytest
from checks import DATA, bad_input, contains, exits, never_prints, one_sentence, prints, run, says, verify

LOGS = DATA / "onednn_verbose"
ROOFS = {"name": "roofs", "device": "cpu", "threads": 2, "flops": {"fp32.vector": 2e11}, "bytes": {"dram": 3e10}}


@pytest.fixture(scope="module", autouse=True)
def imported(folder):
    """Imports a real program on roofs that are given."""
    Path("roofs.json").write_text(json.dumps(ROOFS))
    return run(f"dlroof import {LOGS}/pt_r50_inf.onednn.log --machine roofs.json -o run.json")


def test_the_program_is_shown(imported):
    verify(
        imported,
        [
            exits(0),
            says("wrote run.json"),
            prints("^oneDNN v3.13.3, OpenMP, 2 threads, Intel AVX2: 460 calls of 66 distinct primitives, 1.36 s in all$"),
            prints("^primitives of a step +calls +time +share +FLOP/s +% roof +bound +potential +implementation$"),
            prints("^Conv2D/cpu/onednn/fwd/f32/n8c256h14w14k256r3s3_p1/training +5 .* GFLOP/s +61.8 % +compute .specified. .* jit:avx2$"),
            prints("^Conv2D/.*: .*specified arithmetic roof"),
            prints("zero-FLOP: 158 of 211 calls"),
            prints("2 steps, marked by the program; 211 calls each"),
            prints("above the roof: convolution$"),
            prints("moves data: reorder$"),
            prints("outside oneDNN$"),
            prints("^460 of 460 lines of executed primitives were read; 467 of 472 lines are oneDNN's$"),
        ],
    )


def test_the_parts_of_a_step_add_up(imported):
    units = {"s": 1, "ms": 1e-3, "µs": 1e-6}
    parts = re.findall(r"^  \|[ #]{40}\| +([0-9.]+) (s|ms|µs) ", imported.out, re.M)
    step = re.search(r"^a step: ([0-9.]+) (s|ms|µs) ", imported.out, re.M)
    assert len(parts) == 4 and step, imported
    wall = float(step[1]) * units[step[2]]
    assert abs(sum(float(value) * units[unit] for value, unit in parts) - wall) < 0.01 * wall


def test_shares_of_all_calls_and_of_the_time_outside_add_up_to_one_hundred_percent(imported):
    table = imported.out.split("primitives of a step")[1].split("\n\n")[0]
    shares = [float(share) for share in re.findall(r" (?:s|ms|µs) +([0-9.]+) %", table)]
    assert len(shares) == 12 and sum(shares) == pytest.approx(100, abs=1e-9), table


def test_the_page_has_the_texts_of_the_terminal(imported):
    """Every sentence, every cell of the rows that both show and every part of the bar."""
    assert run("dlroof report run.json -o page.html").code == 0
    page = Path("page.html").read_text()
    content = json.loads(re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.S)[1])
    terminal = [" ".join(line.split()) for line in imported.out.splitlines()]
    tables, lines = 0, []
    for block in content["program"]:
        lines += block.get("advice", []) + block.get("sentences", [])
        if table := block.get("table"):
            tables += 1
            rows = table["rows"][: table.get("first", len(table["rows"]))]
            rows += [table["rest"]] if "rest" in table else []
            for row in [table["columns"], *rows, *table.get("last", [])]:
                lines.append(" ".join(" ".join(cell if isinstance(cell, str) else cell["text"] for cell in row).split()))
            lines += table.get("notes", [])
        for part in block.get("bar", {}).get("parts", []):
            assert any(line.endswith(f"{part['time']} {part['share']} {part['label']}") for line in terminal), part
    assert tables == 1 and len(lines) > 20
    for line in lines:
        assert " ".join(line.split()) in terminal, line


def test_report_tells_the_same(imported):
    report = run("dlroof report run.json --show=table")
    assert report.code == 0 and report.out == imported.out, report
    verify(run("dlroof report run.json --show=table --verbose"), [exits(0), prints("^benchmark +time")])


def test_the_file_keeps_what_a_replay_needs(imported):
    content = json.loads(Path("run.json").read_text())
    program = content["context"]["dlroof"]["program"]
    assert program["lines"]["used"] == 460 and program["steps"]["from"] == "marks"
    names = {record["name"] for record in content["records"]}
    assert len(names) == 66 and {primitive["record"] for primitive in program["primitives"]} == names
    ours = [primitive for primitive in program["primitives"] if "benchmark" in primitive]
    assert len(ours) == 23 and all(primitive["benchdnn"].startswith("--conv ") for primitive in ours)
    total = sum(r["seconds"] * r["iterations"] for record in content["records"] for r in record["repetitions"])
    assert abs(total - program["seconds"]) < 1e-3 * total
    verify(run("dlroof report run.json -o page.html"), [exits(0), contains("page.html", "reorder/cpu/onednn")])


def test_without_roofs_the_longest_come_first():
    verify(
        run(f"dlroof import {LOGS}/tf_r50_inf_dnn.onednn.log"),
        [
            exits(0),
            prints("^primitives of a step +calls"),
            prints("no roofs, so no times over them: --machine FILE has the roofs"),
            never_prints("above the roof"),
        ],
    )


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ("pt_bert_inf.onednn.log", "2 steps, marked by the program; 12 calls each"),
        ("tf212_conv_opts0.log", "no sequence of calls repeats to the end without a difference: --steps N, DLROOF_MARK lines"),
        ("pt_lstm_trn.onednn.log --steps 4", "4 steps, as many as specified; 9 calls each"),
        ("pt_lstm_trn.onednn.log --steps 7", "no 7 equal steps found"),
        ("debian_torch113_conv_v2.6.3.log", "creation of primitives: 4 made, 0 found in the cache"),
    ],
)
def test_steps(arguments, sentence):
    verify(run(f"dlroof import {LOGS}/{arguments}"), [exits(0), prints(re.escape(sentence))])


def test_cut_lines_are_told():
    text = (LOGS / "pt_lstm_inf.onednn.log").read_text().splitlines()
    at = next(i for i, line in enumerate(text) if ",exec," in line)
    text[at] = text[at][:60]
    Path("cut.log").write_text("\n".join(["progress"] + text))
    verify(
        run("dlroof import cut.log"),
        [
            exits(0),
            prints("^11 of 12 lines of executed primitives were read"),
            prints(f"^  1 line not read, line {at + 2} first: fewer fields than the template has$"),
        ],
    )


def test_a_packed_log_is_read(imported):
    packed = gzip.compress((LOGS / "pt_r50_inf.onednn.log").read_bytes())
    Path("packed.log.gz").write_bytes(packed)
    Path("cut.log.gz").write_bytes(packed[: len(packed) // 2])
    Path("damaged.log.gz").write_bytes(packed[:500] + bytes([packed[500] ^ 255]) + packed[501:])
    Path("empty.log.gz").write_bytes(gzip.compress(b""))
    ran = run("dlroof import packed.log.gz --machine roofs.json -o packed.json")
    assert ran.code == 0 and ran.out == imported.out, ran
    verify(
        run("dlroof import cut.log.gz"),
        [exits(2), one_sentence, says("cut.log.gz: the gzip data are cut off after [0-9]+ bytes of text, expected a complete file")],
    )
    verify(run("dlroof import damaged.log.gz"), [exits(2), one_sentence, says("damaged.log.gz: damaged gzip data")])
    verify(run("dlroof import empty.log.gz"), [exits(2), one_sentence, says("empty.log.gz: empty file")])


def test_bad_input():
    Path("quiet.log").write_text("onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)\n")
    verify(run("dlroof import quiet.log"), [exits(2), one_sentence, says("quiet.log:1: no executed primitive in 1 lines, expected lines like")])
    verify(
        run(f"dlroof import {LOGS}/pt_lstm_inf.onednn.log --set x"), [exits(2), one_sentence, says("--set and --provenance do not apply to a program's log")]
    )
    verify(run(f"dlroof import {DATA}/import_small.csv --steps 3 -o x.json"), [exits(2), one_sentence, says("--steps applies only to a program's log")])
    verify(run(f"dlroof import {DATA}/import_small.csv"), [exits(2), one_sentence, says("expected -o FILE")])


def test_two_programs_are_compared_primitive_by_primitive(imported):
    """ResNet-50 before and after its normalizations were folded into the weights."""
    for log, file in (("pt_r50_inf_cl", "plain.json"), ("pt_r50_inf_freeze", "frozen.json")):
        run(f"dlroof import {LOGS}/{log}.onednn.log --machine roofs.json -o {file}")
    verify(
        run("dlroof compare --all plain.json frozen.json"),
        [
            exits(3),
            prints(r"^Conv2D/cpu/onednn/fwd/f32/n8c64h56w56k256r1s1/training/nhwc +ambiguous +0\.\d+ "),
            prints("^Conv2D/.* gone +[0-9.]+ .s"),
            prints("^Conv2D/.* new +[0-9.]+ .s"),
            prints("profile both programs when the machine is quiet; --again FILE"),
            says("^only 21 of 44 benchmarks are in both files"),
        ],
    )


def test_a_profile_has_no_breakdowns_of_calls(imported):
    verify(run("dlroof explain run.json"), [exits(2), one_sentence, says("run.json is a profile of a program.*: explain one of its benchmarks by its name")])


@pytest.fixture(scope="module")
def two_programs(imported):
    """Imports ResNet-50 of TensorFlow beside PyTorch's."""
    run(f"dlroof import {LOGS}/tf_r50_inf_dnn.onednn.log --machine roofs.json -o tf.json")


def test_two_programs_are_on_one_chart(two_programs):
    verify(
        run("dlroof report run.json tf.json"),
        [exits(0), prints("^run.json$"), prints("^tf.json$"), prints("^  run  A f32 .[0-9]+.$"), prints("^  tf  B f32 .[0-9]+.")],
    )
    verify(
        run("dlroof report run.json tf.json -o both.html -o both.json"),
        [exits(0), contains("both.html", "onednn@run/fwd"), contains("both.html", "onednn@tf/fwd")],
    )
    verify(run("dlroof report both.json --show=picture"), [exits(0), prints("^  tf  B f32 ")])
    verify(run("dlroof report run.json tf.json --before run.json"), [exits(2), one_sentence, says("--before: expected one run file")])
