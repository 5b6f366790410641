#!/usr/bin/env python3
"""How well the model of a call's loops tells the bytes of each cache level: against the cache simulator.

    baselines/studies/level_model/level_model_study.py [--bench=build/dlroof_bench] [--machine=FILE] [--only=REGEX] -o FILE

Each case runs with one thread and the AVX2 path (ONEDNN_MAX_CPU_ISA=AVX2: valgrind has no AVX-512). oneDNN cuts its loops
for the caches that CPUID tells, and valgrind's CPUID tells of another CPU (256 KiB of L2), so the model compared is the one that the
simulated program made of itself; the timed call's is kept beside it. Cold DRAM bytes are held against the compulsory ones and
against the tensors as oneDNN lays them out, padding and all. The model's rules were made with the cases of FITTED at hand; those of CHECKED
were simulated afterwards and changed nothing. Simulations are cached by dlroof_bench, so a second run takes seconds; the first takes
about twenty minutes of one core. Nothing that is kept is a time, so the machine may be busy; --machine=FILE (ceilings, a run file) spares
it measuring them. Where L2 misses the goal, the call is simulated once more with an L1 of one set, in which only capacity counts, as in
the model: what that changes is what the sets of the real L1 do. Prints the table of the README and writes every number."""

import argparse
import glob
import json
import os
import re
import subprocess
import tempfile

CONV = "Conv2D/cpu/onednn/fwd/f32/"
LSTM = "LSTM/cpu/onednn/fwd_inference/f32/"
FITTED = [
    CONV + one
    for one in (
        "n1c64h28w28k64r3s3_p1/cold",
        "n1c128h14w14k128r3s3_p1/cold",
        "n1c256h7w7k256r3s3_p1/cold",
        "n1c32h56w56k32r3s3_p1/cold",
        "n4c32h28w28k32r3s3_p1/cold",
        "n1c3h112w112k32r7s7_s2p3/cold",
        "n1c64h28w28k256r1s1/cold",
        "n1c256h28w28k64r1s1/cold",
        "n1c512h14w14k256r1s1/cold",
        "n8c128h14w14k128r1s1/cold",
        "n1c32h28w28k64r5s5_p2/cold",
        "n1c64h56w56k64r3s3_s2p1/cold",
        "n2c128h28w28k128r3s3_p1g128/cold",
        "n1c64h28w28k64r3s3_p1",
        "n1c128h14w14k128r3s3_p1",
        "n1c64h28w28k256r1s1",
    )
]
FITTED += [
    LSTM + one
    for one in (
        "t4n16i256h256/cold",
        "t16n1i256h256/cold",
        "t2n8i512h512/cold",
        "t8n16i128h128/cold",
        "t4n32i128h256/cold",
        "t4n1i512h512/cold",
        "t8n4i64h256/cold",
        "t16n16i32h64/cold",
        "t4n64i128h128/cold",
        "t4n16i256h256",
        "t16n1i256h256",
    )
]
FITTED += [
    CONV + one
    for one in (
        "n1c48h28w28k96r3s3_p1/cold",
        "n1c64h14w14k192r3s3_p1/cold",
        "n2c64h14w14k64r3s3_p1/cold",
        "n1c16h56w56k48r3s3_p1/cold",
        "n1c128h28w28k32r1s1/cold",
        "n1c192h14w14k64r1s1/cold",
        "n4c256h7w7k128r1s1/cold",
        "n1c64h28w28k64r3s3_s2p1/cold",
        "n1c96h28w28k96r3s3_p1g96/cold",
    )
]
FITTED += [
    LSTM + one for one in ("t8n8i192h192/cold", "t4n2i384h384/cold", "t6n12i96h160/cold", "t32n4i64h64/cold", "t4n1i256h320/cold", "t3n24i64h128l2/cold")
]
CHECKED = [
    CONV + one
    for one in (
        "n1c64h28w28k128r3s3_p1/cold",
        "n1c24h28w28k24r5s5_p2/cold",
        "n2c96h14w14k96r3s3_p1/cold",
        "n1c16h28w28k64r3s3_s2p1/cold",
        "n1c32h28w28k128r1s1/cold",
        "n1c384h14w14k96r1s1/cold",
        "n1c64h56w56k64r1s1/cold",
        "n1c128h14w14k512r1s1/cold",
        "n2c72h28w28k72r3s3_p1g72/cold",
    )
]
CHECKED += [LSTM + one for one in ("t5n6i80h144/cold", "t3n20i128h192/cold", "t10n2i200h200/cold", "t6n10i64h160/cold", "t4n1i128h128l2/cold")]
BACKWARD = [
    f"Conv2D/cpu/onednn/{direction}/f32/{problem}/cold"
    for direction in ("bwd_data", "bwd_weights")
    for problem in (
        "n1c64h28w28k64r3s3_p1",
        "n1c128h14w14k128r3s3_p1",
        "n2c32h28w28k64r3s3_s2p1",
        "n1c64h56w56k64r3s3_s2p1",
        "n1c32h28w28k32r5s5_p2",
        "n1c96h28w28k96r3s3_p1",
        "n1c64h28w28k256r1s1",
        "n2c256h14w14k64r1s1",
    )
]
CHECKED += BACKWARD
GOAL = 0.25
LEVELS = ("l2", "l3", "dram")
# Below this share of the tensors a level is all but unused: a warm call that fits. Its error is no ratio.
LEAST_SHARE = 0.02


def said_by_program(name):
    """What the simulated program said of itself, from the file in which dlroof_bench keeps the newest simulation of `name`."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")
    newest, said = 0, {}
    for path in glob.glob(os.path.join(cache, "dlroof", "simulated-*.json")):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        if kept["key"].startswith(name + " | ") and "program" in kept and os.path.getmtime(path) > newest:
            newest, said = os.path.getmtime(path), kept["program"]
    return said


def simulated_records(bench, machine, names):
    """The records of one run over `names`."""
    with tempfile.TemporaryDirectory() as folder:
        suite, out = os.path.join(folder, "suite.txt"), os.path.join(folder, "run.json")
        with open(suite, "w", encoding="utf-8") as file:
            file.write("\n".join(names) + "\n")
        pattern = "^(" + "|".join(re.escape(name) for name in names) + ")(/real_time|/manual_time)$"
        command = [
            bench,
            "--dlroof_suite=" + suite,
            "--benchmark_filter=" + pattern,
            "--dlroof_threads=1",
            "--dlroof_counters=simulate",
            "--dlroof_live_check=false",
            "--benchmark_repetitions=1",
            "--benchmark_min_time=0.001",
            "--benchmark_out=" + out,
        ]
        command += ["--dlroof_machine=" + machine] if machine else []
        environment = dict(os.environ, ONEDNN_MAX_CPU_ISA="AVX2")
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            run = json.load(file)
    return run["context"]["dlroof"], run["records"]


def l2_bytes_with_one_set(bench, name):
    """Bytes from L2 when the L1 has its size but one set; absent where that cannot be simulated."""
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        size = int(open("/sys/devices/system/cpu/cpu0/cache/index0/size", encoding="utf-8").read().rstrip("K\n")) * 1024
        command = [
            "valgrind",
            "--tool=callgrind",
            "--cache-sim=yes",
            "--instr-atstart=no",
            f"--D1={size},{size // 64},64",
            f"--callgrind-out-file={counts}",
            bench,
            f"--dlroof_simulated_call={name}",
            "--dlroof_seed=1",
        ]
        environment = dict(os.environ, ONEDNN_MAX_CPU_ISA="AVX2", OMP_NUM_THREADS="1")
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        if done.returncode != 0:
            return None
        with open(counts + ".1", encoding="utf-8") as file:
            said = dict(line.split(": ", 1) for line in file if line.startswith(("events: ", "totals: ")))
    counted = dict(zip(said["events"].split(), map(int, said["totals"].split())))
    return 64 * (counted.get("D1mr", 0) + counted.get("D1mw", 0))


def row(record, fitted):
    """What the study keeps of one record; errors are absent where there is nothing to compare."""
    work = record.get("work", {})
    simulated = work.get("simulated", {}).get("bytes", {})
    said = said_by_program(record["name"])
    modelled = said.get("modelled", {})
    kept = {
        "name": record["name"],
        "algorithm": said.get("algorithm", ""),
        "loops": said.get("loops", ""),
        "fitted": fitted,
        "simulated": simulated,
        "modelled": modelled,
        "tensors": said.get("tensor_bytes"),
        "modelled_of_timed_call": work.get("modelled", {}).get("bytes", {}),
        "errors": {},
    }
    # A disturbed repetition spoils a time, not a count.
    if record["status"] not in ("ok", "disturbed") or not simulated or not modelled:
        kept["why_not"] = record.get("reason") or "; ".join(note["text"] for note in record.get("counting", []))
        return kept
    compulsory = modelled["dram"]
    for level in LEVELS:
        if level not in modelled or simulated[level] < LEAST_SHARE * compulsory:
            continue
        kept["errors"][level] = modelled[level] / simulated[level] - 1
    if "dram" in kept["errors"]:
        kept["errors"]["tensors"] = said["tensor_bytes"] / simulated["dram"] - 1
    return kept


def within(rows, level, limit):
    errors = [one["errors"][level] for one in rows if level in one["errors"]]
    return sum(abs(error) <= limit for error in errors), len(errors)


def summary(rows):
    lines = [
        "| against simulation | L2 within 25 % | L3 within 25 % | cold DRAM within 2 %: compulsory | tensors as laid out |",
        "| --- | --- | --- | --- | --- |",
    ]
    for label, chosen in (
        ("convolutions, rules made with them", [r for r in rows if r["fitted"] and "Conv2D" in r["name"]]),
        ("convolutions, simulated afterwards", [r for r in rows if not r["fitted"] and "Conv2D" in r["name"] and r["name"] not in BACKWARD]),
        ("gradients of data, simulated afterwards", [r for r in rows if "/bwd_data/" in r["name"]]),
        ("gradients of weights, simulated afterwards", [r for r in rows if "/bwd_weights/" in r["name"]]),
        ("LSTMs, rules made with them", [r for r in rows if r["fitted"] and "LSTM" in r["name"]]),
        ("LSTMs, simulated afterwards", [r for r in rows if not r["fitted"] and "LSTM" in r["name"]]),
    ):
        cold_convs = [r for r in chosen if r["name"].endswith("/cold") and "Conv2D" in r["name"]]
        cells = ["{} of {}".format(*within(chosen, level, GOAL)) for level in ("l2", "l3")]
        for what in ("dram", "tensors"):
            cells.append("{} of {}".format(*within(cold_convs, what, 0.02)) if cold_convs else "")
        lines.append("| " + " | ".join([label] + cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/dlroof_bench")
    parser.add_argument("--machine", help="a run file or ceilings, instead of measuring them")
    parser.add_argument("--only", default="", help="a regular expression: the cases to simulate")
    parser.add_argument("-o", "--out", required=True)
    arguments = parser.parse_args()
    names = [name for name in CHECKED + FITTED if re.search(arguments.only, name)]
    context, records = simulated_records(arguments.bench, arguments.machine, names)
    by_name = {record["name"]: record for record in records}
    rows = [row(by_name[name], name in FITTED) for name in names if name in by_name]
    for one in rows:
        if abs(one["errors"].get("l2", 0)) > GOAL:
            one["l2_with_one_set"] = l2_bytes_with_one_set(arguments.bench, one["name"])
    for one in rows:
        errors = "  ".join(f"{level} {error:+.1%}" for level, error in one["errors"].items())
        if one.get("l2_with_one_set"):
            errors += f"  l2 against an L1 of one set {one['modelled']['l2'] / one['l2_with_one_set'] - 1:+.1%}"
        print(f"{one['name']:<62} {one['algorithm'].split(';')[0]:<18} {errors or one.get('why_not', '')}")
    table = summary(rows)
    print("\n".join(table))
    counting = [note["text"] for note in next((r["counting"] for r in records if r.get("counting")), [])]
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(
            {
                "study": "level model against cache simulation",
                "command": "baselines/studies/level_model/level_model_study.py" + (f" --only={arguments.only}" if arguments.only else ""),
                "commit": context.get("commit"),
                "libraries": context.get("libraries"),
                "how": counting,
                "rows": rows,
                "table": table,
            },
            file,
            indent=1,
        )
        file.write("\n")


if __name__ == "__main__":
    main()
