"""torch.profiler's own view of bert.py, without dlroof: profiler.py TYPE STEPS prints JSON.

Wall time of the steps by a clock around them; self CPU times of operators by key_averages(); what is left is the time
in no operator.
"""
import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

from bert import model_and_tokens

model, tokens = model_and_tokens(sys.argv[1])
steps = int(sys.argv[2])
with torch.no_grad():
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
operators = {one.key: share * one.self_cpu_time_total * 1e-6 / wall for one in profiler.key_averages()}
rest = 1 - sum(operators.values())
print(json.dumps({"step_seconds": wall / steps, "operators": operators, "rest": rest}))
