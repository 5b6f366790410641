"""Times what models are made of by dlroof, and by PyTorch beside: gpu_models.py DLROOF_BENCH OUT MACHINE (of gpu_check.sh, step models).

PyTorch's attention is cuDNN's too; its other operators are its own. Its time is that of one call in a CUDA graph of many. Exits with 1
if a call has no time or is above its roof, or more than a tenth of the attentions differ from PyTorch's by more than 3 %.
"""
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys

ATTENTION = ("b1h8q16384k16384d128", "b1h8q16384k16384d128_tl", "b1h32q2048k2048d128_kv8tl", "b16h32q1024k1024d64", "b16h32q1k4096d128_kv8")
NAMES = [f"Attention/gpu/cudnn/fwd/{kind}/{problem}" for problem in ATTENTION for kind in ("f16", "bf16")]
NAMES += ["Attention/gpu/cudnn/fwd/fp8/b1h8q16384k16384d128", "Attention/gpu/cudnn/bwd/bf16/b1h8q8192k8192d128_tl"]
NAMES += [
    f"{op}/gpu/cudnn/fwd/bf16/m16384n4096{rest}"
    for op, rest in (("LayerNorm", "/scale/shift"), ("RmsNorm", "/scale"), ("RmsNorm", "/residual/scale"), ("Softmax", ""), ("Eltwise", "/gelu_tanh"))
]
NAMES += [f"{op}/gpu/cudnn/bwd/bf16/m16384n4096{rest}" for op, rest in (("LayerNorm", "/scale/shift"), ("RmsNorm", "/scale"))]
NAMES += [f"Matmul/gpu/cublaslt/fwd/e4m3e4m3bf16/m4096n7168k16384_tB/scales-{scales}" for scales in ("tensor", "rows", "blocks", "mx")]
NAMES += ["Matmul/gpu/cublaslt/fwd/e2m1e2m1bf16/m4096n7168k16384_tB/scales-nv"]
NAMES += [f"GroupedMatmul/gpu/{library}/fwd/bf16/g128m16384n768k2048{routing}" for library in ("cublaslt", "cudnn") for routing in ("", "_zipf1")]


def torch_call(name):
    """Returns the same call of PyTorch, or None if it has none."""
    import torch
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel

    op, _, _, direction, kind, problem, *options = name.split("/")
    if options in (["scales-tensor"], ["scales-rows"]):
        m, n, k = (int(size) for size in problem[:-3].translate(str.maketrans("mnk", "   ")).split())
        a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
        shapes = (((), ()), ((m, 1), (1, n)))[options == ["scales-rows"]]
        of_a, of_b = (torch.ones(shape, device="cuda") for shape in shapes)
        return lambda: torch._scaled_mm(a, b.t(), of_a, of_b, out_dtype=torch.bfloat16)
    made = {"device": "cuda", "dtype": {"f16": torch.float16, "bf16": torch.bfloat16}.get(kind)}
    if made["dtype"] is None or direction == "bwd" or op == "GroupedMatmul" or "residual" in options:
        return None
    if op != "Attention":
        x, one = torch.randn(16384, 4096, **made), torch.ones(4096, **made)
        calls = {"LayerNorm": lambda: functional.layer_norm(x, (4096,), one, one), "RmsNorm": lambda: functional.rms_norm(x, (4096,), one)}
        return calls.get(op, (lambda: functional.softmax(x, -1)) if op == "Softmax" else lambda: functional.gelu(x, approximate="tanh"))
    sizes, _, rest = problem.partition("_")
    b, h, q, k, d = (int(size) for size in sizes.translate(str.maketrans("bhqkd", "     ")).split())
    kv = int(rest[2:-2] if rest.endswith("tl") else rest[2:]) if rest.startswith("kv") else h
    tensors = [torch.randn(b, heads, rows, d, **made) for heads, rows in ((h, q), (kv, k), (kv, k))]

    def call():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            functional.scaled_dot_product_attention(*tensors, is_causal=rest.endswith("tl"), enable_gqa=kv != h)

    return call


def torch_seconds(call):
    """Returns the difference of graphs of 2 N calls and of N calls, over N."""
    import torch

    def replay(calls):
        graph, begin, end = torch.cuda.CUDAGraph(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        times = []
        for _ in range(7):
            begin.record(), graph.replay(), end.record(), torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e-3)
        return statistics.median(times[2:])

    call(), torch.cuda.synchronize()
    return (replay(20) - replay(10)) / 10


def main(bench, out, machine):
    suite, run = out / "models.suite.txt", out / "models.json"
    suite.write_text("\n".join(NAMES) + "\n")
    options = ["--dlroof_device=gpu", "--dlroof_live_check=false", "--dlroof_counters=off", "--benchmark_repetitions=3", "--benchmark_min_time=0.005"]
    subprocess.run([bench, *options, f"--dlroof_suite={suite}", f"--dlroof_machine={machine}", f"--benchmark_out={run}"], check=True)
    same, wrong = [], []
    print(f"{'benchmark':60} {'us':>9} {'% roof':>7} {'PyTorch':>9} {'ratio':>6}")
    for record in json.loads(run.read_text())["records"]:
        seconds = record.get("seconds", {}).get("median")
        if seconds is None:
            print(f"{record['name']:60} {record['status']}: {record.get('reason', '')}")
            wrong += [record["name"]] if record["status"] != "unsupported" else []
            continue
        roof = max((place["fraction"] for place in record.get("classic", []) if "fraction" in place), default=0)
        call = torch_call(record["name"]) if importlib.util.find_spec("torch") else None
        other = torch_seconds(call) if call else None
        beside = f"{1e6 * other:9.2f} {seconds / other:6.3f}" if other else f"{'-':>9} {'-':>6}"
        print(f"{record['name']:60} {1e6 * seconds:9.2f} {100 * roof:7.1f} {beside}")
        same += [abs(seconds / other - 1) <= 0.03] if other and record["name"].startswith("Attention/") else []
        wrong += [record["name"]] if roof > 1.02 else []
    print(f"attention within 3 % of PyTorch's: {sum(same)} of {len(same)}; failed or above their roof: {', '.join(wrong) or 'none'}")
    return int(bool(wrong) or 10 * sum(same) < 9 * len(same))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]))
