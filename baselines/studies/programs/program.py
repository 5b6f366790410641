#!/usr/bin/env python3
"""program.py MODEL eager|compiled STEPS: STEPS steps of a model on the CPU; prints its own count and the times of its steps as JSON."""
import json
import statistics
import sys
import time

name, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
begin = time.perf_counter()

import torch  # noqa: E402  (its import is a part of the time)

from models import build  # noqa: E402

model, body = build(name, "cpu")
if mode == "compiled":
    model = torch.compile(model)
seconds = []
for _ in range(count):
    start = time.perf_counter()
    body(model)
    seconds.append(time.perf_counter() - start)
print(f"median: {1e3 * statistics.median(seconds[2:] or seconds):.4f} ms")
print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "seconds": seconds, "whole": time.perf_counter() - begin}))
