"""Are the times of calls those of their kernels? gpu_kernel_time.py DLROOF_BENCH OUT (of gpu_check.sh, step kernel_time).

28 convolutions, six LSTMs and six products beside CUPTI's durations of their kernels, and PyTorch's CUDA graphs where it is. Gaps
between the kernels of a graph are shorter than 1 us: a time that is not the kernels' and these, within 3 % or 0.3 us, is marked. Exits
with 1 if more than a tenth of the times are, or of those beside PyTorch's differ by more than 3 %.
"""
import json
import pathlib
import subprocess
import sys

bench, out = [sys.argv[1], "--dlroof_device=gpu"], pathlib.Path(sys.argv[2])
PRODUCTS = "m1024n768k3072 m1n4096k4096 m8n4096k4096 m1024n1024k1024 m4096n4096k4096 m8192n8192k8192".split()
SUITES = (["alexnet,resnet50", "--dlroof_types=f16", "--dlroof_directions=fwd"], ["paper", "--benchmark_filter=LSTM/.*/t16n16i32h64(/|$)"])
names = "".join(subprocess.check_output([*bench, "--benchmark_list_tests", f"--dlroof_suite={suite}", *more], text=True) for suite, *more in SUITES)
suite = out / "kernel_time.names.txt"
suite.write_text(names + "".join(f"Matmul/gpu/cublaslt/fwd/f16/{problem}\n" for problem in PRODUCTS))
flags = ["--dlroof_machine=none", "--dlroof_counters=cupti", "--dlroof_live_check=false", "--benchmark_repetitions=3", "--benchmark_min_time=0.005"]
code = subprocess.call([*bench, f"--dlroof_suite={suite}", *flags, f"--benchmark_out={out}/kernel_time.json"], stdout=subprocess.DEVNULL)
here = pathlib.Path(__file__).resolve()
beside = here.with_name("torch_times.py")  # in a pack
times = beside if beside.exists() else here.parents[1] / "baselines/studies/gpu-beside-torch/torch_times.py"
subprocess.call([sys.executable, times, "--names", suite, "--seconds", "20", "-o", out / "kernel_time.torch.json"], stdout=subprocess.DEVNULL)
torch = json.loads((out / "kernel_time.torch.json").read_text())["rows"] if (out / "kernel_time.torch.json").exists() else []
torch = {row["name"]: row["graph_seconds"] for row in torch}
own, beside_torch = [], []  # whether each time agrees
print(f"{'[us]':60}      time   kernels gap/kernel   PyTorch")
for record in json.loads((out / "kernel_time.json").read_text())["records"]:
    seconds, kernels = record.get("seconds", {}).get("median"), record.get("kernels", [])
    durations, launches = sum(k.get("seconds", 0) for k in kernels), sum(k["launches"] for k in kernels)
    if seconds and durations:
        allowed = max(0.03 * durations, 3e-7)
        far = not -allowed <= seconds - durations <= allowed + 1e-6 * launches
        other = torch.get(record["name"])
        own.append(not far)
        beside_torch += [abs(seconds / other - 1) <= 0.03] if other else []
        gap = f"{1e6 * (seconds - durations) / launches:10.3f} {f'{1e6 * other:9.2f}' if other else '':>9}{'  not its kernels' * far}"
        print(f"{record['name']:60} {1e6 * seconds:9.2f} {1e6 * durations:9.2f} {gap}")
print(f"their kernels': {sum(own)} of {len(own)}; PyTorch's within 3 %: {sum(beside_torch)} of {len(beside_torch)}")
sys.exit(code or int(not own or any(10 * sum(agree) < 9 * len(agree) for agree in (own, beside_torch))))
