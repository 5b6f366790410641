"""The studies of GPU times, on their stored data. PyTorch is not needed, and no GPU."""
import json
import re
import sys
from types import SimpleNamespace

import pytest
from checks import DLROOF, ROOT, exits, prints, run, says, verify

STUDIES = ROOT / "baselines/studies"
TORCH, AA = STUDIES / "gpu-beside-torch", STUDIES / "gpu-a-a"
sys.path[:0] = [str(TORCH), str(AA), str(STUDIES)]
sys.dont_write_bytecode = True

import gpu_a_a  # noqa: E402
import lib  # noqa: E402
import torch_times  # noqa: E402


def stored_run():
    return lib.read(AA / "2026-11-26-h200-2.json.gz")


class TestBesideTorch:
    SCRIPT = f"{sys.executable} {TORCH}/gpu_beside_torch.py"

    def test_the_stored_times_give_the_stored_table(self):
        ran = run(self.SCRIPT)
        verify(ran, [exits(0), prints(r"^graph  Conv2D +68   0\.976 ")])  # the README's
        assert ran.out == (TORCH / "summary.txt").read_text()

    def test_each_kind_of_time_is_compared_with_its_own(self, tmp_path):
        record = {"status": "ok", "device": "gpu", "timed": "device", "gpu": {"graph_seconds": 4e-6}, "seconds": {"median": 6e-6}}
        call = {**record, "timed": "call", "cache": "cold", "name": "Conv2D/gpu/cudnn/fwd/f16/p2/cold"}
        run_file = {"records": [{**record, "name": f"Conv2D/gpu/cudnn/fwd/f16/p1{end}", "cache": end[1:] or "warm"} for end in ("", "/cold")] + [call]}
        rows = [{"name": f"Conv2D/gpu/cudnn/fwd/f16/p{i}", "graph_seconds": 8e-6, "queued_cold_seconds": 3e-6} for i in (1, 2)]
        (tmp_path / "run.json").write_text(json.dumps(run_file))
        (tmp_path / "torch.json").write_text(json.dumps({"rows": rows}))
        ran = run(f"{self.SCRIPT} {tmp_path}/run.json --torch {tmp_path}/torch.json")
        verify(ran, [exits(0), prints(r"^graph  Conv2D +1   0\.500 "), prints(r"^queued_cold  Conv2D +1   2\.000 ")])

    def test_nothing_in_common_is_an_error(self, tmp_path):
        (tmp_path / "torch.json").write_text('{"rows": []}')
        ran = run(f"{self.SCRIPT} {TORCH}/2026-11-26-h200-dlroof.json --torch {tmp_path}/torch.json")
        verify(ran, [exits(1), says("no call is on both sides")])


class TestNames:
    NAMES = [line for line in (TORCH / "names.txt").read_text().split("\n") if line and not line.startswith("#")]

    def test_every_name_is_a_call_of_pytorch(self):
        cases = [torch_times.parse(name) for name in self.NAMES]
        assert [sum(case["op"] == op for case in cases) for op in ("Conv2D", "Matmul", "LSTM")] == [68, 36, 72]

    @pytest.mark.parametrize(
        "name, expected",
        [
            ("Conv2D/gpu/cudnn/fwd/f16/n64c3h224w224k64r7s7_s2p3", {"n": 64, "c": 3, "k": 64, "r": 7, "stride": 2, "padding": 3}),
            ("Conv2D/gpu/cudnn/bwd_data/f16/n1c8h9w9k8r1s1", {"direction": "bwd_data", "stride": 1, "padding": 0}),
            ("Matmul/gpu/cublaslt/fwd/f32/b96m128n64k32_tB", {"b": 96, "m": 128, "n": 64, "k": 32, "transposed": True}),
            ("Matmul/gpu/cublaslt/fwd/f32/m8n4k2/bias", {"m": 8, "bias": True, "transposed": False}),
            ("LSTM/gpu/cudnn/bwd/f16/t16n8i32h64", {"t": 16, "n": 8, "i": 32, "h": 64}),
        ],
    )
    def test_parts(self, name, expected):
        assert torch_times.parse(name).items() >= expected.items()

    @pytest.mark.parametrize(
        "name", ["Conv2D/gpu/cudnn/fwd/f16/n1c8h9w9k8r3s3_p0:1x0:1", "LSTM/gpu/cudnn/bwd/f16/t1n1i8h8_x", "Conv2D/gpu/cudnn/fwd/s8s8s8/n1c8h9w9k8r1s1"]
    )
    def test_other_calls_are_refused(self, name):
        with pytest.raises(ValueError):
            torch_times.parse(name)


class FakeCuda:
    """CUDA's events and a stream that holds for as many cycles as it is asked to; the host needs `host_cycles` to launch a call."""

    def __init__(self, host_cycles):
        self.host_cycles, self.holds, self.events, self.cuda = host_cycles, [], 0, self

    def _sleep(self, cycles):
        self.holds.append(cycles)

    def Event(self, enable_timing):
        assert enable_timing
        self.events += 1
        return SimpleNamespace(
            record=lambda: None, synchronize=lambda: None, query=lambda: self.holds[-1] < self.host_cycles, elapsed_time=lambda end: 0.25  # [ms]
        )


class TestQueuedColdCalls:
    @staticmethod
    def sampled(host_cycles):
        torch, flushes = FakeCuda(host_cycles), []
        seconds = torch_times.queued_cold_seconds(torch, lambda: None, SimpleNamespace(zero_=lambda: flushes.append(1)))
        return torch, seconds, len(flushes)

    def test_each_is_flushed_and_timed_alone(self):
        torch, seconds, flushes = self.sampled(1)
        assert seconds == [pytest.approx(250e-6)] * torch_times.SAMPLES and flushes == torch_times.SAMPLES

    def test_a_call_that_the_gpu_reached_early_is_not_a_sample_and_the_next_is_held_longer(self):
        torch, seconds, flushes = self.sampled(3 * torch_times.FIRST_HOLD)
        assert torch.holds[:3] == [torch_times.FIRST_HOLD, 2 * torch_times.FIRST_HOLD, 4 * torch_times.FIRST_HOLD]
        assert len(seconds) == torch_times.SAMPLES and flushes == torch_times.SAMPLES + 2

    def test_a_call_that_cannot_be_queued_has_no_time(self):
        assert self.sampled(2 * torch_times.LAST_HOLD)[1] == []


class TestTwoEqualRuns:
    def test_the_stored_runs_give_the_stored_table(self):
        ran = run(f"{sys.executable} {AA}/gpu_a_a.py --dlroof {DLROOF}", timeout=240)
        verify(ran, [exits(0)])
        assert ran.out == (AA / "summary.txt").read_text()

    def test_a_planted_benchmark_is_slower_on_the_device_alone(self):
        run_file = stored_run()
        name = run_file["records"][0]["name"]
        before, after = (gpu_a_a.records_of(r) for r in (run_file, gpu_a_a.slower(run_file, name)))
        assert [other for other in before if before[other] != after[other]] == [name]
        assert after[name]["gpu"]["graph_seconds"] == pytest.approx(1.05 * before[name]["gpu"]["graph_seconds"])
        added = 0.05 * before[name]["gpu"]["graph_seconds"]
        for old, new in zip(before[name]["repetitions"], after[name]["repetitions"]):
            assert new["seconds"] - old["seconds"] == pytest.approx(added)
            assert new["gpu"]["throughput_seconds"] == pytest.approx(1.05 * old["gpu"]["throughput_seconds"])

    def test_the_devices_time_is_multiplied_and_a_calls_is_not(self):
        run_file = stored_run()
        record = run_file["records"][0]
        record["timed"] = "device"
        for times in (record["gpu"], *(repetition["gpu"] for repetition in record["repetitions"])):
            times["call_seconds"] = 1e-4
        planted = gpu_a_a.slower(run_file, record["name"])["records"][0]
        assert planted["seconds"]["median"] == pytest.approx(1.05 * record["seconds"]["median"])
        assert planted["gpu"]["call_seconds"] == pytest.approx(1e-4 + 0.05 * record["seconds"]["median"])
        assert set(gpu_a_a.seconds_by_kind(planted)) == {"device", "call", "throughput", "graph"}


def test_the_time_based_study_classifies_as_the_run_files_do():
    study = STUDIES / "time-based-h200"
    ran = run(f"{sys.executable} {study}/time_based_h200.py")
    verify(ran, [exits(0), prints("LSTMs bound by overhead: 96 of 96")])
    assert ran.out == (study / "findings.txt").read_text()


def test_every_study_is_in_the_list():
    folders = {path.name for path in STUDIES.iterdir() if path.is_dir() and (path / "README.md").exists()}
    assert set(re.findall(r"^- \[[^]]*\]\(([^)]*)\)", (STUDIES / "README.md").read_text(), re.M)) == folders


def test_no_stored_point_is_above_its_roof():
    points = 0
    for path in [*(ROOT / "baselines").rglob("*.json"), *(ROOT / "baselines").rglob("*.json.gz")]:
        whole = lib.read(path)
        for record in whole.get("records", []) if isinstance(whole, dict) else []:
            for point in record.get("classic", []) if isinstance(record, dict) else []:
                points += 1
                assert point["flops_per_second"] <= 1.001 * point["roof"], (path, record["name"])
    assert points > 2000
