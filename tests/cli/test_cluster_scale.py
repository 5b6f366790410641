"""dlroof cluster scale: a training step over nodes."""
import json
import os
import shutil
from pathlib import Path

import pytest
from checks import ROOT, bad_input, checks, contains, exits, holds, plain, prints, run, says, verify

RUN = ROOT / "baselines/stored/zen5-2c/2026-11-22-conv2d.json"
GPU = ROOT / "baselines/studies/v100_published/conv2d.json"
LAYERS = "Conv2D n16c64h112w112k64r3s3_s2p0:1x0:1 x2\nConv2D n16c64h112w112k64r3s3_p1 x1\n"
SCALE = f"dlroof cluster scale {RUN} --suite layers.txt --type f32"


@pytest.fixture(scope="module", autouse=True)
def files(folder):
    Path("layers.txt").write_text(LAYERS)
    Path("lacking.txt").write_text(LAYERS + "".join(f"LSTM t16n{n}i32h16\n" for n in (16, 32, 64)))
    Path("gbe.json").write_text('{"name": "1 GbE", "latency_seconds": 3e-5, "bytes_per_second": 118e6}')
    Path("columns.csv").write_text("nodes,speed\n1,2\n")
    Path("half.csv").write_text("nodes,samples_per_second\n1,2\n0.5,3\n")
    Path("nothing.csv").write_text("nodes,samples_per_second\n1,0\n")
    Path("prices.json").write_text(
        json.dumps(
            {
                "currency": "USD",
                "kinds": [{"match": {"name": "AMD EPYC"}, "per_node_hour": 0.1}, {"match": {"name": "V100"}, "per_node_hour": 24, "devices": 8}],
            }
        )
    )
    Path("others.json").write_text(json.dumps({"currency": "USD", "kinds": [{"match": {"name": "Power9"}, "per_node_hour": 0.1}]}))
    Path("slow.json").write_text('{"latency_seconds": 1, "bytes_per_second": 100}')


def medians():
    """Returns the median of each f32 record's repetitions that were not noisy, as this file computes it."""
    times = {}
    for record in json.loads(RUN.read_text())["records"]:
        clean = sorted(one["seconds"] for one in record.get("repetitions", []) if not one.get("disturbed"))
        if clean and "/onednn/" in record["name"]:
            times[record["name"]] = (clean[len(clean) // 2] + clean[(len(clean) - 1) // 2]) / 2
    return times


def test_every_number_is_as_computed_from_the_run_file():
    verify(run(f"{SCALE} --network gbe.json --nodes 1,2,6,64 --allreduce ring --bucket 3e5 -o x.json"), [exits(0)])
    written, times = json.loads(Path("x.json").read_text())["cases"][0], medians()
    layers = []  # in the order of the forward pass: forward, backward, bytes of gradients
    for problem, count in (("n16c64h112w112k64r3s3_s2p0:1x0:1", 2), ("n16c64h112w112k64r3s3_p1", 1)):
        forward, data, weights = (times[f"Conv2D/cpu/onednn/{way}/f32/{problem}"] for way in ("fwd", "bwd_data", "bwd_weights"))
        layers += [(forward, data + weights, 4 * 64 * 64 * 3 * 3)] * count
    assert written["gradient_bytes"] == sum(size for _, _, size in layers)

    def ring(nodes, size):
        return 2 * (nodes - 1) * (3e-5 + size / nodes / 118e6)

    compute = sum(forward + backward for forward, backward, _ in layers)
    for row in written["weak"]:
        nodes = row["nodes"]
        now, finished, bucket = sum(forward for forward, _, _ in layers), 0, 0
        for position, (_, backward, size) in enumerate(reversed(layers)):
            now, bucket = now + backward, bucket + size
            if bucket >= 3e5 or position == len(layers) - 1:
                finished, bucket = max(now, finished) + ring(nodes, bucket), 0
        whole = ring(nodes, written["gradient_bytes"])
        assert row["compute_seconds"] == pytest.approx(compute, rel=1e-6)
        assert row["step_seconds"]["none"] == pytest.approx(compute + whole, rel=1e-6)
        assert row["step_seconds"]["bucketed"] == pytest.approx(finished, rel=1e-6)
        assert row["step_seconds"]["full"] == pytest.approx(max(compute, whole), rel=1e-6)
        assert row["samples_per_second"]["full"] == pytest.approx(nodes * 16 / max(compute, whole), rel=1e-6)


@checks(
    (
        "table",
        f"{SCALE} --network gbe.json --nodes 1:4",
        exits(0),
        plain("layers.txt, f32, onednn: weak scaling, 16 samples per node"),
        prints("^1 +16 .* 100.0 %"),
        prints("^2 +16 .* recursive-doubling "),
        plain("3 of 3 layers have all times"),
        plain("gradients: 442 kB (4 bytes for each parameter)"),
        plain("strong scaling needs times at several batch sizes; the run has 16"),
        plain("network: 1 GbE: 30.0 µs + bytes / (118 MB/s)"),
        plain("one node was measured; all are assumed equal"),
    ),
    (
        "files of every kind",
        f"{SCALE} --network gbe.json -o s.svg -o s.md -o s.csv -o s.json",
        exits(0),
        contains("s.svg", "samples per second"),
        contains("s.md", "weak scaling"),
        contains("s.csv", "^layers.txt,f32,onednn,weak,1024,16,"),
        holds("s.json", lambda s: [row["nodes"] for row in s["cases"][0]["weak"]] == [2**i for i in range(11)]),
    ),
    (
        "break-even",
        f"{SCALE} --network gbe.json --against {GPU}",
        exits(0),
        prints("break-even with 1 node of .*v100_published/conv2d.json, (tf2.2|pytorch1.5) "),
        prints("nodes for the same samples per second: .*no overlap: 9"),
        prints("cannot say: batch sizes per node from 16 to 16 were measured"),
    ),
    (
        "the floor",
        f"{SCALE} --network slow.json --against {GPU} --against-network gbe.json --batch 16",
        exits(0),
        prints("in at most the same time: never: the network's floor is "),
    ),
    ("layers that a run lacks", f"dlroof cluster scale {RUN} --suite layers.txt,resnet50 --type f32 --network gbe.json", exits(0), plain("3 of 3 layers")),
    (
        "a break-even without a layer of several batch sizes",
        f"dlroof cluster scale {RUN} --suite lacking.txt --type f32 --network gbe.json " f"--against {RUN}",
        exits(0),
        plain("3 of 4 layers have all times"),
        prints("break-even with 1 node"),
    ),
    (
        "a model without times",
        f"dlroof cluster scale {RUN} --suite resnet50 --network gbe.json",
        bad_input,
        says("no layer of resnet50 has all times of a training step"),
    ),
    ("no model", f"dlroof cluster scale {RUN} --network gbe.json", bad_input, says("names no model; expected --suite NAME")),
    ("no network", SCALE, bad_input, says("--network is required")),
    ("no such network", f"{SCALE} --network gone.json", bad_input, says("gone.json")),
    (
        "batch beyond",
        f"{SCALE} --network gbe.json --batch-per-node 8",
        bad_input,
        says("--batch-per-node=8: f32 of layers.txt has times from 16 to 16 samples"),
    ),
    ("nodes", f"{SCALE} --network gbe.json --nodes 0", bad_input, says("--nodes=0: expected numbers of nodes from 1 to 65536")),
    (
        "measured, no such column",
        f"{SCALE} --network gbe.json --measured columns.csv",
        bad_input,
        says("columns.csv:1: column 7: 'speed': expected the columns nodes, samples_per_second"),
    ),
    ("measured on half a node", f"{SCALE} --network gbe.json --measured half.csv", bad_input, says("half.csv:3: column 1: '0.5': expected a number of nodes")),
    (
        "measured nothing",
        f"{SCALE} --network gbe.json --measured nothing.csv",
        bad_input,
        says("nothing.csv:2: column 3: '0': expected samples per second above 0"),
    ),
    ("unknown output", f"{SCALE} --network gbe.json -o x.txt", bad_input, says("-o x.txt: unknown extension")),
    ("no price", f"{SCALE} --network gbe.json --prices others.json", bad_input, says("--prices=others.json: no kind matches a machine of ")),
    (
        "a break-even of one cluster",
        f"{SCALE} --network gbe.json --figure break-even",
        bad_input,
        says("--figure=break-even: expected --against, the other cluster"),
    ),
    ("costs without prices", f"{SCALE} --network gbe.json --figure cost", bad_input, says("--figure=cost: expected --prices, which has no default")),
    ("a figure that there is not", f"{SCALE} --network gbe.json --figure pie", exits(2), says("pie")),
    ("against nothing", f"{SCALE} --network gbe.json --against-network gbe.json", bad_input, says("--against-network: expected --against")),
)
def test_scale(command, expected):
    verify(run(command), expected)


def test_the_figures_mark_the_break_even_and_the_costs():
    verify(
        run(f"{SCALE} --network gbe.json --against {GPU} --prices prices.json -o b.html -o b.json"),
        [
            exits(0),
            prints(
                r"a million samples .layers.txt f32 onednn, weak, 16 per node., bucketed: cheapest [0-9.]+ USD in .*s on \d+ nodes?; fastest .* on 1024 nodes"
            ),
            plain("price: 0.1 USD per node and hour"),
            plain("price of the other cluster: 24 USD per node and hour, of 8 devices"),
            contains("b.html", "Cost against time"),
        ],
    )
    assert Path("b.html").read_text().count("<svg") == 3
    written = json.loads(Path("b.json").read_text())
    case = written["cases"][0]
    nodes = case["break_even"]["weak"]["bucketed"]["nodes"]
    rows = {row["nodes"]: row["samples_per_second"]["bucketed"] for row in case["break_even"]["rows"]["ours_weak"]}
    goal = case["break_even"]["batch_per_node"] / case["break_even"]["step"]["step_seconds"]["bucketed"]
    assert nodes in rows and rows[nodes] >= goal and all(rate < goal for count, rate in rows.items() if count < nodes), rows
    prices = {"onednn": 0.1, "tf2.2": 3, "pytorch1.5": 3}
    points = []
    for line, rates in zip(case["costs"], (case["weak"], case["break_even"]["rows"]["theirs_weak"])):
        hourly = prices[line["title"].split(",")[0].split()[-1]]
        for point, row in zip(line["points"], rates, strict=True):
            seconds = 1e6 / row["samples_per_second"]["bucketed"]
            assert point["seconds_per_million_samples"] == pytest.approx(seconds, rel=1e-9) and point["nodes"] == row["nodes"]
            assert point["cost_per_million_samples"] == pytest.approx(row["nodes"] * hourly / 3600 * seconds, rel=1e-9)
            points.append((seconds, point["cost_per_million_samples"], point["best"]))
    assert len(case["costs"]) == 2
    for seconds, cost, best in points:
        assert best == (not any(s <= seconds and c <= cost and (s, c) != (seconds, cost) for s, c, _ in points)), points
    for name, text in (("scaling", "samples per second"), ("break-even", f"break-even: {nodes} nodes"), ("cost", "USD")):
        verify(run(f"{SCALE} --network gbe.json --against {GPU} --prices prices.json --figure {name} -o f.svg"), [exits(0), contains("f.svg", text)])


def test_a_cluster_without_a_price_has_no_costs():
    verify(run(f"{SCALE} --network gbe.json -o n.json -o n.html"), [exits(0)])
    assert Path("n.html").read_text().count("<svg") == 1
    written = json.loads(Path("n.json").read_text())
    assert "costs" not in written["cases"][0] and not {"price", "currency", "their_price"} & set(written)
    Path("one.json").write_text('{"currency": "EUR", "kinds": [{"match": {"name": "V100"}, "per_node_hour": 3}]}')
    verify(run(f"{SCALE} --network gbe.json --against {GPU} --prices one.json -o n.json"), [exits(0), plain("price: no entry matches")])
    written = json.loads(Path("n.json").read_text())
    assert [line["title"].split(",")[0].split()[-1] != "onednn" for line in written["cases"][0]["costs"]] == [True] and "price" not in written


def test_measured_points_stand_beside_the_band():
    verify(run(f"{SCALE} --network gbe.json --nodes 1,4 -o x.json"), [exits(0)])
    four = json.loads(Path("x.json").read_text())["cases"][0]["weak"][1]["samples_per_second"]
    Path("measured.csv").write_text(f"label,samples_per_second,nodes\nDDP,{four['bucketed'] * 0.9},4\nDDP,3,7\n")
    verify(
        run(f"{SCALE} --network gbe.json --nodes 1,4 --measured measured.csv -o x.html -o x.svg -o x.md -o x.json"),
        [
            exits(0),
            prints(r"^4 +[0-9.]+ +DDP +layers.txt, f32, onednn: weak .* 0.900$"),
            prints("^7 +3.00 +DDP +no row for this number of nodes"),
            contains("x.svg", "measured: DDP"),
            contains("x.md", "DDP"),
            contains("x.html", "measured: DDP"),
            contains("x.html", "no row for this number of nodes"),
        ],
    )
    assert json.loads(Path("x.json").read_text())["measured"][1] == {"nodes": 7, "samples_per_second": 3, "label": "DDP"}


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="smpirun is not installed")
def test_the_closed_forms_agree_with_simgrid():
    for algorithm in ("ring", "recursive-doubling", "tree", "rabenseifner"):
        verify(
            run(f"{SCALE} --network gbe.json --nodes 1,2,12,64 --allreduce {algorithm} --simulate --simulate-nodes 63 -o x.json -o x.md"),
            [exits(0), prints("^allreduce by SMPI +nodes"), contains("x.md", "allreduce by SMPI")],
        )
        simulated = json.loads(Path("x.json").read_text())["simulated"]
        assert [one["nodes"] for one in simulated] == [2, 12]
        for one in simulated:
            assert one["allreduce"] == algorithm and one["simulated_seconds"] == pytest.approx(one["closed_seconds"], rel=0.01)


def test_without_simgrid_nothing_is_simulated():
    verify(
        run(f"{SCALE} --network gbe.json --simulate", PATH="/nowhere"),
        [
            exits(0),
            prints("closed forms only: smpirun is not installed, so nothing is simulated .apt-get install libsimgrid-dev"),
            prints("^allreduce by SMPI "),
        ],
    )


@pytest.mark.parametrize(
    "script, sentence",
    [
        (
            "echo '[0.0] a.cpp:1: [x/ERROR] Parse error at p.xml:4: bw'; echo '[0.0] a.cpp:2: [x/ERROR] Exiting now.'; echo Aborted >&2; exit 134",
            "--simulate, 2 nodes: smpirun ended with exit code 134: Parse error at p.xml:4: bw",
        ),
        ("exit 1", "--simulate, 2 nodes: smpirun ended with exit code 1: no message"),
        ("echo 'Simulation time 0.000000'", "--simulate, 2 nodes: smpirun simulated no time above 0 s"),
    ],
)
def test_a_network_that_the_simulator_refuses_costs_no_prediction(tmp_path, script, sentence):
    program = tmp_path / "smpirun"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    ran = run(f"{SCALE} --network gbe.json --nodes 1:4 --simulate -o refused.csv", PATH=f"{tmp_path}:{os.environ['PATH']}")
    verify(ran, [exits(2), says(f"^dlroof: {sentence}$"), prints("^4 +16 .*"), contains("refused.csv", "^layers.txt,f32,onednn,weak,4,16,")])
    assert ran.err.splitlines() == ["wrote refused.csv", f"dlroof: {sentence}"], ran


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("{}", "n.json:1: expected an object with 'latency_seconds' and 'bytes_per_second'"),
        ('{"latency_seconds": 1,\n "bytes_per_second": "fast"}', r"n.json:2:2: 'bytes_per_second': expected a number above 0"),
        ('{"latency_seconds": 1', "n.json:1:22: is not JSON"),
    ],
)
def test_a_bad_network_is_one_sentence_with_its_line(text, sentence):
    Path("n.json").write_text(text)
    verify(run(f"{SCALE} --network n.json"), [bad_input, says(sentence)])


def test_the_slowest_of_the_measured_nodes_decides(tmp_path, monkeypatch):
    layers = Path("layers.txt").resolve()
    monkeypatch.chdir(tmp_path)
    Path("n.json").write_text('{"latency_seconds": 1e-12, "bytes_per_second": 1e30}')
    Path("out/nodes").mkdir(parents=True)
    content = json.loads(RUN.read_text())
    seconds = {one["name"]: [repetition["seconds"] for repetition in one.get("repetitions", [])] for one in content["records"]}
    ratios = {"n1": 0.9, "n2": 1, "n3": 1.4}
    for name, ratio in ratios.items():
        content["context"]["dlroof"]["node"] = {"name": name, "known_by": "SLURMD_NODENAME", "arguments": []}
        for record in content["records"]:
            for repetition, time in zip(record.get("repetitions", []), seconds[record["name"]]):
                repetition["seconds"] = time * ratio
        Path(f"out/nodes/{name}.json").write_text(json.dumps(content))
    Path("out/asked.txt").write_text("n1\nn2\nn3\n")
    verify(run("dlroof cluster gather out -o cluster.json"), [exits(0)])
    verify(
        run(f"dlroof cluster scale cluster.json --suite {layers} --type f32 --network n.json --nodes 1,2,4096 -o x.json"),
        [exits(0), plain("drawn from the 3 measured (slowest: 40.0 % more time than the median node)")],
    )
    one, two, many = (row["compute_seconds"] for row in json.loads(Path("x.json").read_text())["cases"][0]["weak"])
    # The mean of the three; of two draws the largest is 0.9 in 1, 1 in 3 and 1.4 in 5 of 9 cases.
    assert two / one == pytest.approx((0.9 + 3 * 1 + 5 * 1.4) / 9 / 1.1, rel=1e-4)
    assert many / one == pytest.approx(1.4 / 1.1, rel=1e-4)
