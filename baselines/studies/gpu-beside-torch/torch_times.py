#!/usr/bin/env python3
"""Times PyTorch's own calls of the convolutions, matrix products and LSTMs that names.txt names, on the GPU of this machine.

    python3 baselines/studies/gpu-beside-torch/torch_times.py -o torch.json [--seconds 60] [--names names.txt]

Needs PyTorch with CUDA and nothing else. Each call has new random data, and cuDNN times its engines first (cudnn.benchmark). Of
each call two times are written, medians of at least 20 samples:
  graph_seconds         a CUDA graph of 10 calls, replayed: a tenth of a replay (warm)
  queued_cold_seconds   between two events around one call that was queued behind a waiting kernel, after twice the size of L2 was
                        written; absent where the calls could not be queued
Calls that did not fit the time are listed as left out, calls that failed with their message. Exit code 1 where a call failed.
"""
import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path

SAMPLES = 20
CALLS_OF_A_GRAPH = 10
FIRST_HOLD, LAST_HOLD = 1 << 20, 1 << 26  # [cycle] 0.6 ms to 35 ms at 1.9 GHz
TYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32"}


def parse(name):
    """Returns what a benchmark's name says: its parts, and the sizes and options of its problem."""
    op, _, _, direction, kind, problem, *options = name.split("/")
    main, _, rest = problem.partition("_")
    if kind not in TYPES or set(options) - {"bias"}:
        raise ValueError(f"{name}: PyTorch has no such call here")
    sizes = {letter: int(value) for letter, value in re.findall(r"([a-z])(\d+)", main)}
    case = {"op": op, "direction": direction, "type": kind, "bias": "bias" in options, **sizes}
    if op == "Conv2D":
        found = re.fullmatch(r"(?:s(\d+))?(?:p(\d+))?", rest)
        if not found:
            raise ValueError(f"{name}: stride and padding must be equal in both directions")
        case.update(stride=int(found[1] or 1), padding=int(found[2] or 0))
    elif op == "Matmul" and rest in ("", "tB"):
        case["transposed"] = rest == "tB"
    elif op != "LSTM" or rest:
        raise ValueError(f"{name}: PyTorch has no such call here")
    return case


def convolution(torch, case, dtype):
    def tensor(*sizes):
        return torch.randn(*sizes, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)

    source, weights = tensor(case["n"], case["c"], case["h"], case["w"]), tensor(case["k"], case["c"], case["r"], case["s"])
    arguments = ([case["stride"]] * 2, [case["padding"]] * 2, [1, 1], False, [0, 0], 1)
    bias = torch.randn(case["k"], device="cuda", dtype=dtype) if case["bias"] else None
    if case["direction"] == "fwd":
        return lambda: torch.ops.aten.convolution(source, weights, bias, *arguments)
    gradient = torch.randn_like(torch.ops.aten.convolution(source, weights, None, *arguments))
    wanted = [case["direction"] == "bwd_data", case["direction"] == "bwd_weights", False]
    return lambda: torch.ops.aten.convolution_backward(gradient, source, weights, None, *arguments, wanted)


def product(torch, case, dtype):
    batch = [case["b"]] if "b" in case else []

    def tensor(*sizes):
        return torch.randn(*batch, *sizes, device="cuda", dtype=dtype)

    m, n, k = case["m"], case["n"], case["k"]
    weights = tensor(n, k).transpose(-1, -2) if case["transposed"] else tensor(k, n)
    if case["direction"] == "bwd_data":
        gradient, transposed = tensor(m, n), weights.transpose(-1, -2)
        return lambda: torch.matmul(gradient, transposed)
    if case["direction"] != "fwd":
        raise ValueError(f"no product {case['direction']} here")
    source = tensor(m, k)
    if not case["bias"]:
        return lambda: torch.matmul(source, weights)
    bias = torch.randn(n, device="cuda", dtype=dtype)
    return lambda: torch.addmm(bias, source, weights)


def lstm(torch, case, dtype):
    """bwd has PyTorch's copy of cuDNN's reserve in it, which keeps the forward pass for the next call."""
    module = torch.nn.LSTM(case["i"], case["h"]).to(device="cuda", dtype=dtype)
    source = torch.randn(case["t"], case["n"], case["i"], device="cuda", dtype=dtype)
    if case["direction"] == "fwd_inference":
        module.eval().requires_grad_(False)
        return lambda: module(source)
    if case["direction"] == "fwd_training":
        return lambda: module(source)
    source.requires_grad_(True)
    result, _ = module(source)
    gradient = torch.randn_like(result)
    inputs = [source, *module.parameters()]
    return lambda: torch.autograd.grad(result, inputs, gradient, retain_graph=True)


CALLS = {"Conv2D": convolution, "Matmul": product, "LSTM": lstm}


def milliseconds_between(torch, call):
    """Returns the events around a call, both recorded."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    return begin, end


def graph_seconds(torch, call, stream):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(CALLS_OF_A_GRAPH):
            call()
    for _ in range(2):
        graph.replay()
    seconds = []
    for _ in range(SAMPLES):
        begin, end = milliseconds_between(torch, graph.replay)
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3 / CALLS_OF_A_GRAPH)
    return seconds


def queued_cold_seconds(torch, call, flush):
    """Returns the samples of calls that were all queued before the GPU reached them; fewer than SAMPLES where that failed."""
    seconds, hold = [], FIRST_HOLD
    while len(seconds) < SAMPLES and hold <= LAST_HOLD:
        torch.cuda._sleep(hold)
        flush.zero_()
        begin, end = milliseconds_between(torch, call)
        queued = not begin.query()
        end.synchronize()
        if queued:
            seconds.append(begin.elapsed_time(end) * 1e-3)
        else:
            hold *= 2
    return seconds


def timed(torch, name, stream, flush):
    case = parse(name)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = case["type"] == "tf32"
    with torch.cuda.stream(stream):
        call = CALLS[case["op"]](torch, case, getattr(torch, TYPES[case["type"]]))
        for _ in range(3):
            call()
        stream.synchronize()
        cold = queued_cold_seconds(torch, call, flush)
        graph = graph_seconds(torch, call, stream)
    row = {"name": name, "graph_seconds": statistics.median(graph), "graph_samples": len(graph)}
    if len(cold) >= SAMPLES:
        row.update(queued_cold_seconds=statistics.median(cold), queued_cold_samples=len(cold))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--names", default=str(Path(__file__).resolve().parent / "names.txt"))
    parser.add_argument("--seconds", type=float, default=60, help="no call is begun after this time [s]")
    arguments = parser.parse_args()
    names = [line for line in Path(arguments.names).read_text().split("\n") if line and not line.startswith("#")]
    end = time.monotonic() + arguments.seconds

    import torch

    if not torch.cuda.is_available():
        sys.exit("torch_times.py: PyTorch sees no GPU")
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    properties = torch.cuda.get_device_properties(0)
    flush = torch.empty(2 * properties.L2_cache_size, dtype=torch.int8, device="cuda")
    stream = torch.cuda.Stream()
    file = {
        "gpu": properties.name,
        "l2_bytes": properties.L2_cache_size,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "cudnn_benchmark": True,
        "command": sys.argv,
        "rows": [],
        "failed": [],
        "left_out": [],
    }
    for name in names:
        if time.monotonic() > end:
            file["left_out"].append(name)
            continue
        try:
            file["rows"].append(timed(torch, name, stream, flush))
        except (RuntimeError, ValueError) as error:
            file["failed"].append({"name": name, "message": str(error).splitlines()[0]})
    Path(arguments.output).write_text(json.dumps(file, indent=1) + "\n")
    print(f"{len(file['rows'])} timed, {len(file['failed'])} failed, {len(file['left_out'])} left out: {arguments.output}")
    return 1 if file["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
