"""dlroof cluster versus: the same operators on two clusters."""
import json
import subprocess
import sys
from pathlib import Path

import pytest
from checks import DLROOF, ROOT, bad_input, checks, contains, exits, holds, one_sentence, plain, prints, run, says, verify

STUDY = ROOT / "baselines/studies/gpu-beside-cpu"
CPU = ROOT / "baselines/stored/zen5-2c/2026-11-22-conv2d.json"
GPU = ROOT / "baselines/studies/v100_published/conv2d.json"
H200 = ROOT / "baselines/stored/h200/2026-11-26-conv2d.json"
VERSUS = f"dlroof cluster versus {CPU} {GPU}"


def test_every_row_of_the_study_is_as_its_script_computes_it():
    done = subprocess.run([sys.executable, STUDY / "gpu_beside_cpu.py", "--dlroof", DLROOF], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "87 operators in 87 rows: all as computed from the run files\n"), done


@checks(
    (
        "table",
        VERSUS,
        exits(0),
        prints("^Conv2D/fwd/f32/n16c64h112w112k64r3s3_p1 +32.1 ms +985 µs +91.3 +50.8 .specified. +compute +DRAM +32.6 "),
        plain("10 operators have a time on both clusters"),
        plain("no prices were specified"),
    ),
    (
        "costs come from the file alone",
        f"{VERSUS} --prices {STUDY}/made_up_prices.json",
        exits(0),
        prints("A cost +B cost"),
        plain("A: 0.085 USD per node and hour. B: 2.48 USD per node and hour"),
    ),
    (
        "the H200 in f32 is what frameworks run: tf32, and no total has its fallback engines",
        f"dlroof cluster versus {CPU} {H200} --prices {STUDY}/made_up_prices.json --suite paper",
        exits(0),
        prints(r"^Conv2D f32\|tf32 +9 .* 312 .* 6.63$"),
        prints("^Conv2D f32 +16 .* 33.2 .* 0.706$"),
        prints("^Conv2D bf16 +9 .* 399 .* 8.47$"),
        prints("^Conv2D/bwd_weights/f32.tf32/n64c64h112w112k64r3s3_s2p0:1x0:1 .* 287 "),
        prints("^Conv2D/bwd_data/f32/n16c64h112w112k64r9s9_s2p3:4x3:4 .* 0.656! "),
        plain("!: below 2 % of its roof: a fallback"),
        plain("in every row (A | B): library: onednn | cudnn"),
    ),
    ("coverage of a model", f"{VERSUS} --suite resnet50", exits(0), prints("^resnet50 .*0 of 53")),
    (
        "a node of several devices",
        f"{VERSUS} --devices=1,8",
        exits(0),
        prints("n16c64h112w112k64r3s3_p1 .* 261 "),
        plain("8 devices (its rate is that many times one device's)"),
    ),
    (
        "each side's fastest type",
        f"{VERSUS} --types=best -o best.md",
        exits(0),
        prints("^Conv2D/fwd/int8.f16/n16c64h112w112k64r3s3_p1 "),
        plain("type: int8 | f16"),
        contains("best.md", r"int8\\\|f16"),
    ),
    ("neither same nor best", f"{VERSUS} --types=f32", exits(2), says("--types")),
    (
        "files of every kind",
        f"{VERSUS} -o v.html -o v.md -o v.json -o v.svg",
        exits(0),
        contains("v.html", "<svg"),
        contains("v.html", "r3s3_p1"),
        contains("v.md", "r3s3_p1"),
        contains("v.svg", "Two clusters"),
        holds("v.json", lambda v: len(v["rows"]) == 10 and not any("nodes_ci95" in row for row in v["rows"])),
    ),
    ("unknown output", f"{VERSUS} -o v.txt", bad_input, says("-o v.txt: unknown extension")),
    (
        "devices of the prices' file",
        f"{VERSUS} --prices devices.json --devices=1,4",
        bad_input,
        says("--devices: 4 devices in a node of 'Tesla V100', but the file of prices says 8$"),
    ),
    ("an input as output", "dlroof cluster versus cpu.json cpu.json -o cpu.json", bad_input, says("-o cpu.json: this file is read, too")),
    ("one number of devices", f"{VERSUS} --devices=8", bad_input, says("--devices: expected two numbers")),
    ("unknown suite", f"{VERSUS} --suite resnet51", bad_input, says("--suite.*resnet51")),
    ("no such file", f"dlroof cluster versus {CPU} gone.json", bad_input, says("gone.json")),
    ("nothing in common", f"dlroof cluster versus {CPU} {ROOT}/baselines/studies/v100_published/lstm.json.gz", bad_input, says("have no operator in common")),
)
def test_versus(command, expected):
    prices = {"currency": "USD", "kinds": [{"match": {"name": "Tesla V100"}, "devices": 8, "per_node_hour": 9}]}
    Path("devices.json").write_text(json.dumps(prices))
    Path("cpu.json").write_bytes(CPU.read_bytes())
    verify(run(command), expected)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ('{"kinds": []}', r"p.json: 'kinds': expected an array with at least one object"),
        (
            '{"currency": "USD",\n "kinds": [{"match": {"name": "x"}, "per_node_hour": "1"}]}',
            r"p.json: kinds\[0\]: 'per_node_hour': expected a number from 1e-06",
        ),
        ('{"currency": "USD", "kinds": [', r"p.json: not JSON: at line 1, column 31"),
    ],
)
def test_a_bad_price_file_is_one_sentence_with_its_place(text, sentence):
    Path("p.json").write_text(text)
    verify(run(f"{VERSUS} --prices p.json"), [bad_input, says(sentence)])


def test_other_conventions_are_refused():
    content = json.loads(GPU.read_text())
    content["context"]["dlroof"]["conventions"] = {"flops": "a fused multiply-add is 1"}
    Path("other.json").write_text(json.dumps(content))
    verify(run(f"dlroof cluster versus {CPU} other.json"), [one_sentence, says("the convention flops differs")])


def test_energies_are_measured_and_watts_are_only_compared():
    """Every call of the CPU took 3 J by a counter, the GPU has none; both have watts in the file of prices."""
    content = json.loads(CPU.read_text())
    for record in content["records"]:
        record["energy"] = {"joules": 3.0, "seconds": 0.1, "window_seconds": 0.5, "calls": 15, "from": "powercap", "covers": "packages"}
    Path("counted.json").write_text(json.dumps(content))
    prices = {
        "currency": "USD",
        "kinds": [{"match": {"name": "AMD EPYC"}, "per_node_hour": 1, "watts": 200}, {"match": {"name": "Tesla V100"}, "per_node_hour": 1, "watts": 300}],
    }
    Path("watts.json").write_text(json.dumps(prices))
    ran = run(f"dlroof cluster versus counted.json {GPU} --prices watts.json -o energy.json")
    verify(
        ran,
        [
            exits(0),
            prints(r"A energy +B energy +A/B energy"),
            plain("energy: of one call, by counters. A: powercap: packages. B: not measured"),
            plain("and draws as much power as 1.50"),
        ],
    )
    for row in json.loads(Path("energy.json").read_text())["rows"]:
        assert row["a"]["energy"]["measured"]["joules"] == 3 and "energy" not in row["b"] and "energy_ratio" not in row
