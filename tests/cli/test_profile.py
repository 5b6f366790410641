"""dlroof profile --gpu with an ncu that is made up: it writes Nsight Compute's table of the metrics that it is asked for."""
import os
from pathlib import Path

import pytest
from checks import bad_input, by_name, exits, holds, one_sentence, plain, prints, run, says, verify

# Written by ncu --csv --page raw --print-units base: a header, units, a row a launch. The kernels are those of a call of a GEMM: the product,
# and a change of layout that does no FLOP.
NCU = r"""#!/usr/bin/env python3
import os, subprocess, sys
arguments = dict(zip(sys.argv[1:-1], sys.argv[2:]))
open("asked", "w").write("\n".join(sys.argv[1:]))
metrics = arguments["--metrics"].split(",")
program = sys.argv[sys.argv.index("--log-file") + 2:]
while program[0].startswith("--"):
    program = program[2:]
code = subprocess.run(program).returncode
def unit(metric):
    return ("nsecond" if "duration" in metric else "byte" if "bytes" in metric else "sector" if "sectors" in metric
            else "inst" if "inst" in metric else "")
def value(metric, kernel):
    if "duration" in metric: return "2,000"
    if "bytes" in metric: return "1,000,000"
    if "sectors" in metric: return "50,000"
    if "gemm" in kernel and metric == "sm__ops_path_tensor_src_bf16_dst_fp32.sum": return "8,000,000"
    return "0"
rows = [["ID", "Process ID", "Kernel Name", "CC"] + metrics, ["", "", "", ""] + [unit(m) for m in metrics]]
for i, kernel in enumerate(["nchwToNhwcKernel", "void gemm<float, 2>(float *)", "void gemm<float, 2>(float *)", "dlroof::cuda::<unnamed>::Hold(int *)"]):
    rows.append([str(i), "1", kernel, "9.0"] + [value(m, kernel) for m in metrics])
with open(arguments["--log-file"], "w") as file:
    file.write("==PROF== Connected to process 1\n" + os.environ.get("NCU_SAYS", "") + "\n")
    if "NCU_SAYS" not in os.environ:
        for row in rows: file.write(",".join('"%s"' % field for field in row) + "\n")
sys.exit(9 if "NCU_SAYS" in os.environ else code)
"""
GEMM = "void gemm<float, 2>(float *)"
PROFILE = "dlroof profile --gpu --chip GH100 "


@pytest.fixture(scope="module", autouse=True)
def ncu(folder):
    os.mkdir("bin")
    Path("bin/ncu").write_text(NCU)
    os.chmod("bin/ncu", 0o755)


def profile(arguments, **environment):
    """Counts launches without a trace (test_profile_gpu.py has those with one)."""
    if "--launches" not in arguments:
        arguments = "--launches 1000 " + arguments
    return run(PROFILE + arguments, PATH=f"{os.path.abspath('bin')}:{os.environ['PATH']}", **environment)


def test_kernels_stand_by_name_with_the_census_of_those_without_flops():
    ran = profile("-o run.json -- /bin/echo a b")
    verify(
        ran,
        [
            exits(0),
            prints("^a b$"),
            says("wrote run.json"),
            plain("GPU kernels of echo: 6.00 µs of device time in 3 launches"),
            prints("^gemm<float, 2> +4.00 µs +66.7 % +2 +2.00 µs +4.00 TFLOP/s"),
            says("left out: dlroof's own kernels, with which it times calls .Hold.: 1 launch, 2.00 µs"),
            prints("(?s)without FLOPs|zero-FLOP|no FLOP"),
            holds("run.json", lambda file: all(record["timed"] == "kernels" for record in file["records"])),
            holds(
                "run.json",
                lambda file: by_name(file)[GEMM]["work"]["measured"]["flops"]
                == {"bf16.matrix": 16e6, **{pipe: 0 for pipe in by_name(file)[GEMM]["work"]["measured"]["flops"] if pipe != "bf16.matrix"}},
            ),
            holds("run.json", lambda file: by_name(file)[GEMM]["work"]["measured"]["bytes"]["l2"] == 2 * 32 * 50000),
            holds("run.json", lambda file: by_name(file)[GEMM]["work"]["measured"]["launches"] == 2),
        ],
    )


def test_ncu_is_asked_for_the_metrics_of_the_chip_and_leaves_caches_and_clocks():
    profile("--kernel gemm --skip 2 --launches 5 -o run.json -- /bin/echo")
    asked = Path("asked").read_text().splitlines()
    after = dict(zip(asked, asked[1:]))
    assert after["--cache-control"] == "none" and after["--clock-control"] == "none"
    assert after["--kernel-name"] == "regex:gemm" and after["--launch-skip"] == "2" and after["--launch-count"] == "5"
    metrics = after["--metrics"].split(",")
    assert len(metrics) > 10 and {"dram__bytes.sum", "lts__t_sectors_srcunit_tex.sum"} <= set(metrics)


def test_whole_names_are_shown_on_demand():
    verify(profile("-o run.json -- /bin/echo"), [exits(0)])
    verify(run("dlroof report run.json --full-names --show table"), [exits(0), plain(f"{GEMM}  ")])


def test_a_program_that_fails_is_told_and_its_kernels_are_kept():
    verify(profile("-o run.json -- /bin/false"), [exits(0), says("ended with exit code 1"), says("wrote run.json")])


@pytest.mark.parametrize(
    "said, sentence",
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "run as root or with CAP_SYS_ADMIN"),
        ("==WARNING== No kernels were profiled.", "ncu profiled no kernel"),
        ("==ERROR== Something new", "ncu failed: Something new"),
    ],
)
def test_a_refusal_is_one_sentence(said, sentence):
    ran = profile("-o refused.json -- /bin/true", NCU_SAYS=said)
    verify(ran, [one_sentence, says(sentence)])
    assert not os.path.exists("refused.json")


def test_what_is_missing_is_said():
    verify(
        run("dlroof profile --gpu --chip X1 -- /bin/true", PATH=f"{os.path.abspath('bin')}:{os.environ['PATH']}"), [bad_input, says("--chip X1: unknown chip")]
    )
    verify(run("dlroof profile --chip GH100 -- /bin/true"), [bad_input, says("only with --gpu")])
    verify(run("dlroof profile --gpu --launches 1 --chip GH100 -- /bin/true", PATH="/nowhere"), [bad_input, says("there is no ncu .*install")])
