#!/usr/bin/env python3
"""When do the changes of a dashboard's series begin, and when were they planted?

    python3 moments.py FOLDER SITE      # FOLDER of plant.py; SITE of dlroof dashboard

Restates the search of the moment (events.cpp) on medians that it computes from the run files.
"""
import json
import math
import re
import statistics
import sys

folder, site = sys.argv[1:3]
c = json.loads(re.search(r'<script type="application/json" id="content">(.*?)</script>', open(f"{site}/index.html").read(), re.S).group(1))
planted = json.load(open(f"{folder}/planted.json"))
runs = [json.load(open(f"{folder}/runs/{r:02}.json")) for r in range(50)]
med = []
for r in runs:
    d = {}
    for e in r["benchmarks"]:
        d.setdefault(e["name"], []).append(e["real_time"] * 1e-9)
    med.append({k: statistics.median(v) for k, v in d.items()})
truth = {}
for p in planted:
    for n in p["benchmarks"]:
        truth.setdefault(n, []).append(p["run"])
raw = {}
ref = {}
inside = 0
n = 0
for s in c["series"]:
    v = [m[s["name"]] for m in med]
    L = s["levels"]
    dev = s["deviation"]
    for i, ch in enumerate(s["changes"]):
        if s["name"] not in truth:
            print("false", s["name"], ch)
            continue
        t = min(truth[s["name"]], key=lambda t: abs(t - ch["run"]))
        b, a = L[i], L[i + 1]
        first = max(b[0] + 1, ch["run"] - 8)
        last = min(a[1], ch["run"] + 8)
        cost = [0]
        for m in range(first + 1, last + 1):
            cost.append(cost[-1] + abs(math.log(v[m - 1] / b[2])) - abs(math.log(v[m - 1] / a[2])))
        k = cost.index(min(cost))
        lo = hi = k
        lim = min(cost) + 3 * 0.97 * dev
        while lo > 0 and cost[lo - 1] <= lim:
            lo -= 1
        while hi < len(cost) - 1 and cost[hi + 1] <= lim:
            hi += 1
        raw[ch["run"] - t] = raw.get(ch["run"] - t, 0) + 1
        ref[first + k - t] = ref.get(first + k - t, 0) + 1
        n += 1
        inside += first + lo <= t <= first + hi
print("raw", sorted(raw.items()))
print("refined", sorted(ref.items()), "inside", inside, "of", n)
