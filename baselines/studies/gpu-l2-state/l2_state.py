#!/usr/bin/env python3
"""Which state of L2 times a convolution as it runs in a model?

  l2_state.py measure BATCH FILE     on a GPU, with PyTorch alone (15 s): the durations of the kernels of ResNet-50's convolutions
                                     (f16, channels last, inference) inside the model, and of the same calls by themselves: warm (one
                                     after the other), and after a flush of L2 by writing or by reading twice its size
  l2_state.py report FILE...         the table of this folder's README
"""
import json
import sys


def measure(batch, path):
    import torch
    import torch.nn as nn
    from torch.profiler import ProfilerActivity, profile

    torch.backends.cudnn.benchmark = True

    class Bottleneck(nn.Module):
        def __init__(self, inputs, middle, stride):
            super().__init__()
            outputs = 4 * middle
            self.conv1, self.norm1 = nn.Conv2d(inputs, middle, 1, bias=False), nn.BatchNorm2d(middle)
            self.conv2, self.norm2 = nn.Conv2d(middle, middle, 3, stride, 1, bias=False), nn.BatchNorm2d(middle)
            self.conv3, self.norm3 = nn.Conv2d(middle, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
            self.shortcut = None
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            residual = x if self.shortcut is None else self.shortcut(x)
            y = torch.relu(self.norm1(self.conv1(x)))
            y = torch.relu(self.norm2(self.conv2(y)))
            return torch.relu(self.norm3(self.conv3(y)) + residual)

    layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for middle, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, middle, stride if block == 0 else 1))
            inputs = 4 * middle

    def on_gpu(tensor_or_model):
        return tensor_or_model.cuda().half().to(memory_format=torch.channels_last)

    model = on_gpu(nn.Sequential(*layers)).eval()
    images = on_gpu(torch.randn(batch, 3, 224, 224))
    ballast = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")

    def kernel_times(run):
        """[us] of each convolution's kernels, in the order of the calls."""
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
            run()
            torch.cuda.synchronize()
        calls = sorted((e for e in profiled.events() if e.name == "aten::cudnn_convolution"), key=lambda e: e.time_range.start)
        return [sum(kernel.duration for kernel in call.kernels) for call in calls]

    calls = []
    hooks = [
        m.register_forward_hook(lambda module, given, _: calls.append((module, tuple(given[0].shape)))) for m in model.modules() if isinstance(m, nn.Conv2d)
    ]
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
            in_model.setdefault(key, (module, []))[1].append(median([run[i] for run in runs]))
        rows = []
        for key, (module, times) in in_model.items():
            source = on_gpu(torch.randn(key[0]))
            module(source)

            def repeated(before):
                for i in range(15):
                    before(i)
                    module(source)

            row = {"shape": str(key), "count": len(times), "inmodel": median(times)}
            for state, before in (("warm", lambda i: None), ("write", ballast.fill_), ("read", lambda i: ballast.sum())):
                row[state] = median(kernel_times(lambda: repeated(before))[3:])
            rows.append(row)
    with open(path, "w") as file:
        json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "batch": batch, "rows": rows}, file, indent=1)


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def report(paths):
    for path in paths:
        with open(path) as file:
            data = json.load(file)
        rows = data["rows"]
        whole = sum(row["inmodel"] * row["count"] for row in rows)
        for state in ("warm", "write", "read"):
            ratios = sorted(row["inmodel"] / row[state] for row in rows)
            alone = sum(row[state] * row["count"] for row in rows)
            quarter = len(ratios) // 4
            print(
                f"{data['gpu']}, batch {data['batch']}, {state:5}: in the model / by itself {median(ratios):.3f} "
                f"({ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}), all calls {whole / alone:.3f}"
            )


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "measure":
        measure(int(sys.argv[2]), sys.argv[3])
    elif len(sys.argv) > 2 and sys.argv[1] == "report":
        report(sys.argv[2:])
    else:
        sys.exit(__doc__)
