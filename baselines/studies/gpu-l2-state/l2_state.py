#!/usr/bin/env python3
"""Which state of L2 times a convolution as it runs in a model?

  l2_state.py measure BATCH FILE     on a GPU, with PyTorch alone (15 s): the durations of the kernels of ResNet-50's convolutions
                                     (f16, channels last, inference) inside the model, and of the same calls by themselves: warm (one
                                     after the other), and after a flush of L2 by writing or by reading twice its size
  l2_state.py report FILE...         the table of this folder's README
"""
import statistics
import sys
from pathlib import Path

STUDIES = Path(__file__).resolve().parents[1]
sys.path += [str(STUDIES), str(STUDIES / "programs")]
import lib


def measure(batch, path):
    import torch
    from torch.profiler import ProfilerActivity, profile

    import models

    torch.backends.cudnn.benchmark = True

    def on_gpu(tensor_or_model):
        return tensor_or_model.cuda().half().to(memory_format=torch.channels_last)

    model = on_gpu(models.resnet50()).eval()
    images = on_gpu(torch.randn(batch, 3, 224, 224))
    ballast = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")

    def kernel_times(run):
        """Returns the time [us] of each convolution's kernels, in the order of the calls."""
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
            run()
            torch.cuda.synchronize()
        calls = sorted((e for e in profiled.events() if e.name == "aten::cudnn_convolution"), key=lambda e: e.time_range.start)
        return [sum(kernel.duration for kernel in call.kernels) for call in calls]

    calls, rows = [], []
    convolutions = [module for module in model.modules() if isinstance(module, torch.nn.Conv2d)]
    hooks = [module.register_forward_hook(lambda module, given, _: calls.append((module, tuple(given[0].shape)))) for module in convolutions]
    with torch.no_grad():
        for _ in range(5):
            model(images)
        calls.clear()
        model(images)
        for hook in hooks:
            hook.remove()
        runs = [kernel_times(lambda: model(images)) for _ in range(7)]
        in_model = {}
        for i, (module, shape) in enumerate(calls):
            key = (shape, module.out_channels, module.kernel_size, module.stride)
            in_model.setdefault(key, (module, []))[1].append(statistics.median_high(run[i] for run in runs))
        for key, (module, times) in in_model.items():
            source = on_gpu(torch.randn(key[0]))
            module(source)

            def repeated(before):
                for _ in range(15):
                    before()
                    module(source)

            row = {"shape": str(key), "count": len(times), "inmodel": statistics.median_high(times)}
            for state, before in (("warm", lambda: None), ("write", lambda: ballast.fill_(1)), ("read", lambda: ballast.sum())):
                row[state] = statistics.median_high(kernel_times(lambda: repeated(before))[3:])
            rows.append(row)
    lib.write(path, {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "batch": batch, "rows": rows})


def report(paths):
    for data in map(lib.read, paths):
        rows = data["rows"]
        whole = sum(row["inmodel"] * row["count"] for row in rows)
        for state in ("warm", "write", "read"):
            ratios = sorted(row["inmodel"] / row[state] for row in rows)
            standalone = sum(row[state] * row["count"] for row in rows)
            quarter = len(ratios) // 4
            middle = f"{statistics.median_high(ratios):.3f} ({ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f})"
            print(f"{data['gpu']}, batch {data['batch']}, {state:5}: in the model / by itself {middle}, all calls {whole / standalone:.3f}")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "measure":
        measure(int(sys.argv[2]), sys.argv[3])
    elif len(sys.argv) > 2 and sys.argv[1] == "report":
        report(sys.argv[2:])
    else:
        sys.exit(__doc__)
