"""A small BERT encoder with random weights, whose attention is scaled_dot_product_attention: bert.py TYPE STEPS [--profiler].

With --profiler under torch.profiler, without dlroof, and prints JSON: the wall time of the steps by a clock around them, self CPU times of
operators by key_averages(); what is left is the time in no operator.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow, self.gelu = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU()

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x):
        parts = [self.split(linear(x)) for linear in (self.query, self.key, self.value)]
        seen = nn.functional.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.out(seen))
        return self.norm2(x + self.narrow(self.gelu(self.wide(x))))


class Bert(nn.Module):
    def __init__(self, layers=2, width=256, heads=4):
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return x


def profiled(model, tokens, steps):
    for _ in range(5):
        model(tokens)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        model(tokens)
        begin = time.perf_counter()
        for _ in range(steps):
            model(tokens)
        wall = time.perf_counter() - begin
    # The step before the clock's begin warms the profiler, and is a share of all.
    share = steps / (steps + 1)
    operators = {event.key: share * event.self_cpu_time_total * 1e-6 / wall for event in profiler.key_averages()}
    return {"step_seconds": wall / steps, "operators": operators, "rest": 1 - sum(operators.values())}


def main(kind, steps):
    torch.manual_seed(1)
    model = Bert().to(torch.bfloat16 if kind == "bf16" else torch.float32).eval()
    tokens = torch.randint(0, 1000, (2, 32))
    with torch.no_grad():
        if "--profiler" in sys.argv:
            print(json.dumps(profiled(model, tokens, steps)))
            return
        for _ in range(steps):
            result = model(tokens)
    print(f"{result.float().abs().sum().item():.1f}")


main(sys.argv[1], int(sys.argv[2]))
