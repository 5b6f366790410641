"""dlroof profile --gpu of a program that seems to use a GPU: it loads dlroof's library as the CUDA driver does, and a fake libcupti gives
records of the work (tests/fakes/gpu_trace). Nsight Compute is made up too."""
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from checks import ROOT, TESTS, bad_input, exits, holds, plain, prints, run, says, verify

sys.path.insert(0, str(TESTS / "fakes" / "gpu_trace"))
import make_trace

TRACED = os.environ.get("DLROOF_TRACED", "")
PROGRAM = f"{TRACED}/fake_cuda_program"
pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="this build has no library that traces programs")

# The kernels of a step, by the name that the fake program gives them.
NCU = r"""#!/usr/bin/env python3
import os, subprocess, sys
if "NCU_SAYS" in os.environ:
    print(os.environ["NCU_SAYS"])
    sys.exit(9)
arguments = dict(zip(sys.argv[1:-1], sys.argv[2:]))
open("asked", "w").write("\n".join(sys.argv[1:]))
metrics = arguments["--metrics"].split(",")
def unit(metric):
    return ("nsecond" if "duration" in metric else "byte" if "bytes" in metric else "sector" if "sectors" in metric
            else "inst" if "inst" in metric else "")
def value(metric, kernel, grid):
    if "duration" in metric: return "2,000"
    if "bytes" in metric: return "1,000,000"
    if "sectors" in metric: return "50,000"
    if "gemm" in kernel and metric == "sm__ops_path_tensor_src_bf16_dst_fp32.sum": return str(8_000_000 * grid)
    if "elementwise" in kernel and metric == "sm__sass_thread_inst_executed_op_fadd_pred_on.sum": return "500,000"
    return "0"
rows = [["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "CC"] + metrics, [""] * 6 + [unit(m) for m in metrics]]
for i, (kernel, grid, block) in enumerate([("_Z4gemmIfLi2EEvPT_", 128, 128), ("_Z22add_elementwise_kernelPfS_", 512, 256),
        ("_Z4gemmIfLi2EEvPT_", 256, 128), ("_Z16nchwToNhwcKernelPKfPf", 64, 256), ("_Z23relu_elementwise_kernelPf", 512, 256)]):
    rows.append([str(i), "1", kernel, "(%d, 1, 1)" % block, "(%d, 1, 1)" % grid, "9.0"] + [value(m, kernel, grid) for m in metrics])
with open(arguments["--log-file"], "w") as file:
    for row in rows: file.write(",".join('"%s"' % field for field in row) + "\n")
"""


@pytest.fixture(scope="module", autouse=True)
def ncu(folder):
    os.mkdir("bin")
    Path("bin/ncu").write_text(NCU)
    os.chmod("bin/ncu", 0o755)
    Path("machine.json").write_text(
        json.dumps(
            {
                "name": "made up",
                "device": "gpu",
                "flops": {"bf16.matrix": 1e15, "fp32.vector": 1e14},
                "bytes": {"dram": 4e12, "l2": 8e12, "l1": 3e13},
                "launch_seconds": 4e-6,
            }
        )
    )


def profile(flags, commands, ncu=True, **environment):
    path = f"{os.path.abspath('bin')}:{os.environ['PATH']}" if ncu else os.environ["PATH"]
    return run(f"dlroof profile --gpu {flags} -- {PROGRAM} {commands}", PATH=path, FAKE_CUPTI=f"{TRACED}/libcupti.so.13", **environment)


def program_of(file):
    return file["context"]["dlroof"]["gpu_program"]


def test_a_traced_and_counted_program_stands_under_its_roofs():
    ran = profile("--machine machine.json -o run.json", "cupti cuda print hello steps 20 exit 3")
    verify(
        ran,
        [
            exits(3),
            prints("^hello$"),
            says("Fake H200, 106 launches of 11 kernels"),
            says(r"^19 steps of 5 launches, found as the period of the kernels .*; before them a warm-up of 6 launches"),
            says(r"^a step: 1\.00 ms \(median"),
            says(r"\d+\.\d %  idle$"),
            says("counted by Nsight Compute in one step: 5 kernels, 100 % of the kernels' time"),
            says("zero-FLOP kernels: 1 of 5 counted, 20.0 % of their launches, 12.0 % of their time"),
            says("^gemm<float, 2> +128 +128 +250 µs +50.0 % +1.00 +250 µs +4.10 TFLOP/s"),
            says("^  stream 7 .*#"),
            says("trace: 106 launches, 41 copies, 20 fills, 106 calls and 0 ranges of 1 process"),
            says("wrote run.json"),
            holds("run.json", lambda file: len(file["records"]) == 5 and all(record["timed"] == "kernels" for record in file["records"])),
        ],
    )
    file = json.loads(Path("run.json").read_text())
    times = program_of(file)["timelines"][0]["times"]
    parts = sum(times.get(key, 0) for key in ("kernel_seconds", "copy_seconds", "fill_seconds", "idle_seconds"))
    assert abs(parts - times["wall_seconds"]) < 1e-9 and abs(times["kernel_seconds"] - 500e-6) < 1e-12
    # No kernel is above its roof, and the shares of the table are all of it.
    assert all(0 < point["fraction"] <= 1 for record in file["records"] for point in record.get("classic", []))
    kernels = ran.err.split("kernels of a step")[1].split("counted by")[0]
    shares = re.findall(r"[mµ]s +([0-9]+\.[0-9]) %", kernels)
    assert len(shares) == 5 and sum(round(10 * float(share)) for share in shares) == 1000
    # A stored run is reported with the same numbers.
    verify(run("dlroof report run.json --show table"), [exits(0), plain("19 steps of 5 launches"), prints("zero-FLOP kernels: 1 of 5 counted")])


def test_ncu_is_told_the_kernels_and_the_launches_of_a_steady_step():
    profile("-o asked.json", "cupti cuda steps 20")
    asked = Path("asked").read_text().splitlines()
    after = dict(zip(asked, asked[1:]))
    assert after["--launch-count"] == "5" and after["--kill"] == "yes" and after["--kernel-name-base"] == "mangled"
    assert int(after["--launch-skip"]) >= 6  # the conversions before the steps match by name
    assert "_Z4gemmIfLi2EEvPT_" in after["--kernel-name"]
    assert after["--target-processes"] == "application-only"
    assert asked[-4:] == [PROGRAM, "cupti", "cuda", "steps"] or asked[-3:] == ["cuda", "steps", "20"]


def test_ncu_looks_at_all_processes_if_the_program_starts_the_one_that_uses_the_gpu():
    profile("-o asked.json", "cupti fork cuda steps 20 done")
    asked = Path("asked").read_text().splitlines()
    assert dict(zip(asked, asked[1:]))["--target-processes"] == "all"


def test_a_small_budget_counts_the_kernels_with_most_time():
    verify(profile("--budget 0.4 -o small.json", "cupti cuda steps 20"), [exits(0), says("counts 2 launches of 2 kernels: 80.0 % of the kernels' time")])


def test_launches_of_a_graph_are_steps(ncu):
    ran = profile("--budget 0 -o graphs.json", "cupti cuda push step pop graphs 20")
    verify(ran, [exits(0), says("^19 steps of 5 launches, which begin with launches of a CUDA graph; before them")])


def test_a_graph_that_tracing_slows_down_has_no_false_idle_time():
    # 710 us a step alone, 631 us of kernels and copies; 2076 us where CUPTI traces each of the 406 nodes.
    ran = profile("--budget 0 -o lstm.json", "cupti cuda lstm 20")
    for text in (
        "runs the program again to trace each kernel of its CUDA graphs",
        "^19 steps of 304 launches, which begin with launches of a CUDA graph",
        "^a step: 710 µs",
        "whose steps take 2.08 ms with each node traced",
        "^a step takes 0 % longer with the trace: 710 µs between",
    ):
        verify(ran, [exits(0), says(text)])
    times = program_of(json.loads(Path("lstm.json").read_text()))["timelines"][0]["times"]
    idle = times["idle_seconds"] + times["graph_idle_seconds"]
    assert idle == pytest.approx(710e-6 - 304 * 1.728e-6 - 102 * 1.04e-6, abs=0.02 * 710e-6)
    assert times["kernel_seconds"] + times["copy_seconds"] + idle == pytest.approx(times["wall_seconds"], rel=1e-6)


def test_idle_time_that_the_trace_made_is_not_reported():
    # 5.39 ms a step alone, 8.36 ms traced; 4.74 ms of kernels.
    ran = profile("--budget 0 -o slowed.json", "cupti cuda eager 20")
    cost = "^a step takes 55.1 % longer with the trace: 8.36 ms between .*, 5.39 ms in a run without it; at most 647 µs of it are idle then"
    verify(ran, [exits(0), says(cost), says(r"647 µs +\d\.\d %  idle, at most"), says("made by the trace, at least")])
    assert "waits" not in ran.err
    verify(run("dlroof report slowed.json --show table"), [exits(0), prints("55.1 % longer with the trace")])


def test_no_budget_is_the_trace_alone():
    ran = profile("--budget 0 -o trace.json", "cupti cuda steps 20")
    verify(ran, [exits(0), says("19 steps"), says("%  kernels$")])
    assert "Nsight" not in ran.err


@pytest.mark.parametrize(
    "said, sentence",
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "not counted: .*run as root or with CAP_SYS_ADMIN"),
        ("==WARNING== No kernels were profiled.", "not counted: ncu profiled no kernel"),
    ],
)
def test_without_permission_the_trace_stands_alone(said, sentence):
    verify(profile("-o refused.json", "cupti cuda steps 20", NCU_SAYS=said), [exits(0), says(sentence), says("19 steps"), says("wrote refused.json")])


def test_without_ncu_the_trace_stands_alone():
    if shutil.which("ncu") or os.path.exists("/usr/local/cuda/bin/ncu") or os.path.exists("/opt/nvidia/nsight-compute"):
        pytest.skip("this machine has an ncu")
    verify(profile("-o no_ncu.json", "cupti cuda steps 20", ncu=False), [exits(0), says("not counted: there is no ncu .*install"), says("19 steps")])


def test_what_leaves_nothing_to_report_is_one_sentence():
    for commands, sentence in [
        ("print x", "the program did not use CUDA"),
        ("cupti cuda print x", "the program initialized CUDA, but ran no kernel and copied nothing"),
        ("cupti cuda many 3 _exit 4", "the program initialized CUDA, and ended before any of its work was traced"),
    ]:
        ran = profile("-o nothing.json", commands, DLROOF_GPU_TRACE_FLUSH_MS="1000000")
        verify(ran, [says(f"^dlroof: {sentence}$")])
        assert not os.path.exists("nothing.json") and len(ran.err.splitlines()) <= 2
    verify(profile("-o nothing.json", "cupti cuda many 3", FAKE_CUPTI_RESULT="39"), [exits(0), says("was not traced: CUPTI refuses to trace: .*SUBSCRIBERS")])


def test_a_program_that_dies_is_reported_up_to_there():
    ran = profile("--budget 60 -o dead.json", "cupti cuda steps 20 flushed 5000 kill")
    verify(
        ran,
        [exits(128 + signal.SIGKILL), says("ended with signal 9"), says("19 steps"), says("may be missing"), says("not counted: the program was ended early")],
    )


def test_a_program_that_runs_for_hours_is_ended_by_duration():
    ran = profile("--duration 5 -o long.json", "cupti cuda steps 20 flushed 5000 sleep 600000")
    verify(ran, [exits(0), says(r"was ended after 5 s \(--duration\)"), says("this is what was seen until then"), says("19 steps")])


def test_lost_records_are_said():
    verify(profile("--budget 0 -o lost.json", "cupti cuda steps 20 drop 7 many 1"), [exits(0), says("^7 records were lost")])


def test_the_number_of_steps_may_be_said():
    verify(profile("--budget 0 --steps 10 -o ten.json", "cupti cuda steps 20"), [exits(0), says("steps of 10 launches, as specified")])


def test_forked_processes_have_timelines_of_their_own():
    ran = profile("--budget 0 -o fork.json", "cupti fork cuda steps 20 done cuda steps 9")
    verify(ran, [exits(0), says("of 2 processes"), says("^also: process [0-9]+ on GPU 0: 51 launches")])
    assert len(program_of(json.loads(Path("fork.json").read_text()))["timelines"]) == 2


def test_a_kept_trace_is_reported_again():
    first = profile("--budget 0 --trace kept -o first.json", "cupti cuda push load pop steps 20")
    verify(first, [exits(0)])
    again = run("dlroof profile --gpu --from-trace kept -o again.json")
    verify(again, [exits(0), says("19 steps of 5 launches"), says("longer with the trace"), says("no kernel is in an NVTX range: none was open on a thread")])
    verify(profile("--trace kept -o x.json", "print x"), [bad_input, says("new or empty")])
    verify(run("dlroof profile --gpu --from-trace bin"), [bad_input, says("no trace")])
    verify(run("dlroof profile --gpu --from-trace kept -- x"), [bad_input, says("runs no program")])
    verify(run("dlroof profile --gpu"), [bad_input, says("expected a program")])
    verify(run("dlroof profile --trace x -- true"), [bad_input, says("only with --gpu")])
    verify(run("dlroof profile --gpu --launches 3 --trace x -- true"), [bad_input, says("without a trace")])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_of_random_work_are_those_of_every_nanosecond(seed):
    os.mkdir(f"random{seed}")
    writer, items = make_trace.random_trace(seed)
    writer.save(f"random{seed}/1.gputrace")
    verify(run(f"dlroof profile --gpu --from-trace random{seed} -o random.json"), [exits(0)])
    timeline = program_of(json.loads(Path("random.json").read_text()))["timelines"][0]
    for key, seconds in make_trace.times_of(items).items():
        assert timeline["times"].get(key, 0) == pytest.approx(seconds, rel=1e-6, abs=1e-12), key
    kernels = [item for item in items if item[2]]
    assert sum(use["launches"] for use in timeline["kernels"]) == len(kernels)
    wall = sum(use.get("step_wall_seconds", 0) for use in timeline["kernels"])
    assert wall == pytest.approx(timeline["times"]["kernel_seconds"], rel=1e-6)


def test_steps_of_a_made_trace_and_its_ranges():
    os.mkdir("made")
    writer = make_trace.TraceWriter()
    for step in range(30):
        at = 10**6 + step * 10**6
        writer.range("train_step", at - 1000, 990_000)
        for i in range(7):
            writer.launch(f"layer_gemm_{i}", 8 << i, 128, 7, at + 100_000 * i, 80_000)
    writer.save("made/1.gputrace", ended=False)
    verify(
        run("dlroof profile --gpu --from-trace made -o made.json"), [exits(0), says("^29 steps of 7 launches"), says("a step: 1.00 ms"), says("may be missing")]
    )


def test_kernels_are_told_by_the_range_that_launched_them():
    ran = profile("--budget 0 -o ranges.json", "cupti cuda ranges 20")
    verify(
        ran,
        [
            exits(0),
            says("^19 steps of 5 launches"),
            says(r"^step \* +1.00 +5.00 +500 µs +100.0 %"),
            says("^  features +1.00 +3.00 +290 µs +58.0 %"),
            says("^    conv1 +1.00 +1.00 +250 µs +50.0 %"),
            says("^  head +1.00 +1.00 +150 µs +30.0 %"),
        ],
    )
    assert "in no range" not in ran.err
    rows = program_of(json.loads(Path("ranges.json").read_text()))["timelines"][0]["range_work"]
    kernels = program_of(json.loads(Path("ranges.json").read_text()))["timelines"][0]["kernels"]
    top = sum(row["seconds"] for row in rows if row.get("depth", 0) == 0)
    assert top == pytest.approx(sum(kernel.get("step_seconds", 0) for kernel in kernels), rel=1e-9)
    verify(run("dlroof report ranges.json -o ranges.html"), [exits(0)])
    page = Path("ranges.html").read_text()
    assert "kernels of a step by the NVTX range that launched them" in page
    assert '"short_name":"add_elementwise_kernel [512, 256]"' in page


def test_a_check_on_a_gpu_names_tables_that_are_empty():
    sys.path.insert(0, str(ROOT / "ci"))
    import gpu_programs

    verify(profile("-o counted.json", "cupti cuda ranges 20"), [exits(0)])
    program = program_of(json.loads(Path("counted.json").read_text()))
    assert gpu_programs.lacking(program, "eager") == ""
    assert gpu_programs.lacking(program, "modules") == "modules"
    assert gpu_programs.lacking(program, "graphs") == "nodes of graphs"
    assert gpu_programs.lacking({"timelines": [{"steps": {}}]}, "eager") == "ranges, counts of 95 %"


def made_program(name, step_us, kernels):
    """Writes the run file NAME.json of 20 steps, each of kernels (name, grid, begin, duration) [us]."""
    os.mkdir(name)
    writer = make_trace.TraceWriter()
    for step in range(20):
        for kernel, grid, begin, duration in kernels:
            writer.launch(kernel, grid, 128, 7, 10**6 + 1000 * (step * step_us + begin), 1000 * duration)
    writer.save(f"{name}/1.gputrace")
    verify(run(f"dlroof profile --gpu --from-trace {name} -o {name}.json"), [exits(0), says("19 steps of")])


def test_two_gpu_programs_are_compared_kernel_by_kernel(folder):
    made_program("eager", 1000, [("sm90_gemm", 64, 0, 300), ("nchwToNhwcKernel", 16, 800, 100)])
    made_program("fused", 500, [("sm90_gemm", 64, 0, 250), ("triton_poi_fused_add", 8, 320, 100)])
    verify(
        run("dlroof compare eager.json fused.json"),
        [
            exits(3),
            prints(r"^gpu/sm90_gemm \[64, 128\] +insufficient +300 µs +250 µs$"),
            prints(r"^gpu/nchwToNhwcKernel \[16, 128\] +gone"),
            prints(r"^gpu/triton_poi_fused_add \[8, 128\] +new"),
        ],
    )
