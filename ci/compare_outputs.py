#!/usr/bin/env python3
"""Records what a build of dlroof prints and writes for stored files, and compares another build with the record.

    ci/compare_outputs.py --record FOLDER DLROOF     writes FOLDER: inputs, cases.json, outputs/CASE/NUMBER.txt
    ci/compare_outputs.py FOLDER DLROOF              exit code 1 if an output or an exit code differs from the record
    ci/compare_outputs.py OLD_DLROOF NEW_DLROOF      the same with a record that is thrown away

The command lines are made from compare_outputs.txt; none measures. A record holds them and its inputs: neither the old build nor the
old tree is needed afterwards. Commands that the new build refuses (exit code 2, which the old one did not give) are counted apart.
"""
import argparse
import collections
import concurrent.futures
import difflib
import glob
import gzip
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path += [f"{ROOT}/tests/fakes/gpu_trace", f"{ROOT}/baselines/studies/stored"]
import make_trace
import real_runs

LIMIT_SECONDS = 180
DATA, STUDIES, V100 = "tests/data", "baselines/studies", "baselines/studies/v100_published"
BUILD_MEMBERS = {"commit", "version", "dlroof_commit", "built", "added_at"}  # members of JSON that name the build, and are no result
STABLE_TOPICS = {"cpu", "features", "caches", "onednn", "benchmark", "gnuplot"}  # of doctor: do not depend on other programs
TEXTS = {".json", ".html", ".svg", ".txt", ".md", ".csv", ".xml", ".cpp"}  # endings of files whose content is compared


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(f"{ROOT}/{path}", "rt", encoding="utf-8") as file:
        return json.load(file)


def save(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(content if isinstance(content, str) else json.dumps(content, indent=1) + "\n")


def found(*patterns, under=ROOT):
    return sorted({os.path.relpath(path, under) for pattern in patterns for path in glob.glob(f"{under}/{pattern}")})


def is_run(content):
    return isinstance(content, dict) and isinstance(content.get("context"), dict) and ("records" in content or "benchmarks" in content)


def make_inputs(folder):
    """Copies the stored files, and makes what is not stored: machines, nodes' files, tunings, unpacked histories and traces."""
    folders = ("baselines/stored/*", DATA, f"{STUDIES}/*", f"{STUDIES}/*/*")
    runs = {path: run for path in found(*(f"{one}/*.json{gz}" for one in folders for gz in ("", ".gz"))) if is_run(run := load(path))}
    others = [f"{DATA}/{name}" for name in ("import_*", "onednn_verbose/*.log", "*.sqlite")] + [f"{STUDIES}/program-steps/logs/*.gz"]
    for path in [*runs, *found(*others, f"{STUDIES}/delta_scaling/*.json", f"{V100}/*.csv", f"{V100}/machine.json")]:
        os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
        shutil.copy(f"{ROOT}/{path}", f"{folder}/{path}")
    made = f"{folder}/made"
    save(f"{made}/runs.json", list(runs))
    machines = [machine for run in runs.values() for machine in run.get("machines", [])]
    machines += [load(path) for path in found(f"{V100}/machine.json", f"{STUDIES}/programs/*/machine.json.gz")]
    for number, text in enumerate(sorted({json.dumps(machine, indent=1, sort_keys=True) for machine in machines})):
        save(f"{made}/machines/{number:02}.json", text)
    save(f"{made}/by_hand.json", {"name": "by hand", "device": "cpu", "threads": 2, "flops": {"fp32.vector": 2e11}, "bytes": {"dram": 4e10}})
    kinds = [{"match": {"name": name}, "per_node_hour": price, "watts": 700} for name, price in (("AMD EPYC", 1.2), ("NVIDIA H200", 4), ("Tesla V100", 2.5))]
    save(f"{made}/prices.json", {"currency": "USD", "kinds": kinds})
    save(f"{made}/map.txt", "Conv2D/cpu/onednn/fwd/f32/n20c32h7w7k32r1s1/threads1 Conv2D/cpu/onednn/fwd/f32/n21c32h7w7k32r1s1/threads1\n")
    # Five equal nodes, of which n4 is 10 % slower; measured alone, all are 2 % faster.
    for node, kind, order in itertools.product(range(1, 6), ("zen5-2c/2026-11-22-conv2d", "h200/2026-11-26-lstm"), ("at-once", "alone")):
        run, cluster = load(f"baselines/stored/{kind}.json"), f"{made}/cluster/{kind.split('/')[0]}-{order}"
        run["context"]["dlroof"]["node"] = {"name": f"n{node}", "known_by": "hostname", "arguments": []}
        for number, record in enumerate(run["records"]):
            record.pop("seconds", None)  # follows from the repetitions
            for repetition in record.get("repetitions", []):
                repetition["seconds"] *= (0.98 if order == "alone" else 1) * (1.1 if node == 4 else 1 + 0.001 * ((node * 7 + number) % 5))
        save(f"{cluster}/nodes/n{node}.json", run)
        save(f"{cluster}/asked.txt", "n1\nn2\nn3\nn4\nn5\n" + ("n6\n" if "h200" in kind else ""))
    # The study of tunings has no blocks; the tunings of programs are shown as if they were of a benchmark.
    for path in found(f"{STUDIES}/tuning/*.json", f"{DATA}/tuning_*.json"):
        tunings = [
            one | ({"blocks": []} if "/cpu/" in one["subject"] else {"subject": "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h64"})
            for one in load(path)["tunings"]
        ]
        save(f"{made}/tune/{os.path.basename(path)}", {"dlroof_tunings": 1, "about": {"command": "dlroof tune"}, "tunings": tunings})
    for path in found(f"{STUDIES}/stored/*-runs.json.gz"):
        for number, run in enumerate(real_runs.unpack(load(path))[:9]):
            save(f"{made}/history/{re.search('zen.-2c', path)[0]}/run-{number:02}.json", run)
    with gzip.open(f"{ROOT}/{DATA}/gpu_trace_h100_lstm.gputrace.gz") as packed:
        stored, ranges = packed.read(), make_trace.TraceWriter()
    for step, layer in itertools.product(range(30), range(7)):
        ranges.range(f"layer{layer}" if layer else "step", 10**6 * (step + 1) + 10**5 * layer - 1000, 90_000 if layer else 990_000, depth=min(layer, 1))
        ranges.launch(f"layer_gemm_{layer}", 8 << layer, 128, 7, 10**6 * (step + 1) + 10**5 * layer, 80_000)
    for name, write in {"ranges": ranges.save, "random": make_trace.random_trace(1)[0].save, "stored": lambda path: open(path, "wb").write(stored)}.items():
        os.makedirs(f"{made}/trace/{name}")
        write(f"{made}/trace/{name}/1.gputrace")


def run_names(inputs):
    """Returns $RUN and $PAIR."""
    with open(f"{inputs}/made/runs.json", encoding="utf-8") as file:
        runs = json.load(file)
    same = r"(-again|\.eager|\.compiled|\.graphs|-a?\d)?\.json(\.gz)?$"  # what differs in names of runs of one thing
    groups = [list(group) for _, group in itertools.groupby(runs, lambda run: re.sub(same, "", run))]
    return {"RUN": "|".join(runs), "PAIR": "|".join(f"{a} {b}" for group in groups for a, b in itertools.permutations(group, 2))}


def expand(text, brackets):
    """Returns the text with each alternative of the first brackets, and so on. Equal brackets have the same alternative."""
    first = re.search(brackets, text)
    return [text] if not first else [one for choice in first[1].split("|") for one in expand(text.replace(first[0], choice), brackets)]


def cases_of(inputs):
    """Returns the commands by the case's name."""
    names, cases = run_names(inputs), {}
    with open(os.path.splitext(__file__)[0] + ".txt", encoding="utf-8") as file:
        lines = file.read().replace("\n  [", " [").replace("\n  ", "; ").splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        if name := re.match(r"([A-Z0-9_]+) = (.*)", line):
            names[name[1]] = "|".join(found(name[2], under=inputs)) if "*" in name[2] else name[2]
            continue
        longest_first = "|".join(sorted(names, key=len, reverse=True))
        line = re.sub(rf"\$({longest_first})", lambda name: names[name[1]], line)
        for case in expand(line, r"\{([^{}]*)\}"):
            commands = [" ".join(one.split()) for command in case.split("; ") for one in expand(command, r"\[([^][]*)\]")]
            if all(os.path.exists(f"{inputs}/{path}") for path in re.findall(r"\b(?:tests|baselines|made)/[^ ,]+", " ".join(commands))):
                cases[f"{len(cases):03}-" + re.sub("[^A-Za-z0-9.=,-]+", "_", commands[0])[:120]] = commands
    return cases


def without_build(value):
    if isinstance(value, dict):
        return {key: "" if key in BUILD_MEMBERS else without_build(member) for key, member in value.items()}
    return [without_build(item) for item in value] if isinstance(value, list) else value


def plain(text, extension=""):
    """Returns JSON in lines, by sorted keys, without what names the build. Of a page only its data: scripts are code, no results."""
    if extension == ".html":
        data = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S)
        return "".join(plain(one) for one in data) if data else text
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(without_build(json.loads(text)), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    except ValueError:
        return text


def output(dlroof, command, work, seen):
    """Returns the exit code, and what the command prints and writes."""
    words = shlex.split(command)
    program = [os.path.join(os.path.dirname(dlroof), words.pop(0))] if words[0] == "dlroof_bench" else [dlroof]
    environment = {"PATH": os.environ["PATH"], "HOME": work, "XDG_CACHE_HOME": f"{work}/.cache", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    try:
        done = subprocess.run(program + words, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS)
    except (subprocess.TimeoutExpired, OSError) as error:
        return f"$ {command}\n{type(error).__name__}\n"
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    if words[0] == "doctor":
        out = "".join(line + "\n" for line in out.splitlines() if line.split(" ")[0] in STABLE_TOPICS)
    text = f"$ {command}\nexit code {done.returncode}\n{plain(out)}--- standard error\n{err}"
    for folder, _, files in sorted(os.walk(work)):
        for path in sorted(f"{folder}/{name}" for name in files if os.path.splitext(name)[1] in TEXTS and ".cache" not in folder):
            with open(path, encoding="utf-8", errors="replace") as file:
                written = file.read()
            if seen.get(path) != written:
                seen[path] = written
                text += f"--- {os.path.relpath(path, work)}\n{plain(written, os.path.splitext(path)[1])}"
    return re.sub(r"\bdlroof \d+\.\d+\.\d+", "dlroof VERSION", text.replace(work, "WORK").replace(os.path.dirname(dlroof), "BUILD"))


def run_case(dlroof, inputs, commands):
    with tempfile.TemporaryDirectory() as work:
        for name in os.listdir(inputs):
            os.symlink(os.path.abspath(f"{inputs}/{name}"), f"{work}/{name}")
        seen = {}
        return [output(dlroof, command, work, seen) for command in commands]


def run_cases(dlroof, inputs, cases):
    """Yields the name, and the outputs, of each case."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from zip(cases, pool.map(lambda commands: run_case(dlroof, inputs, commands), cases.values()))


def record(folder, dlroof):
    os.makedirs(folder)
    make_inputs(f"{folder}/inputs")
    cases = cases_of(f"{folder}/inputs")
    counts = collections.Counter()
    for name, outputs in run_cases(dlroof, f"{folder}/inputs", cases):
        for i, text in enumerate(outputs):
            save(f"{folder}/outputs/{name}/{i:02}.txt", text)
            counts[re.match("(cluster |history |dlroof_)?[a-z]+", cases[name][i])[0]] += 1
    save(f"{folder}/cases.json", cases)
    print(", ".join(f"{verb} {count}" for verb, count in sorted(counts.items())) + f": {sum(counts.values())} outputs")


def compare(folder, dlroof, only, diff):
    with open(f"{folder}/cases.json", encoding="utf-8") as file:
        cases = {name: commands for name, commands in json.load(file).items() if any(re.search(only, command) for command in commands)}
    counts = collections.Counter()
    for name, outputs in run_cases(dlroof, f"{folder}/inputs", cases):
        for i, after in enumerate(outputs):
            with open(f"{folder}/outputs/{name}/{i:02}.txt", encoding="utf-8") as file:
                before = file.read()
            refused = "\nexit code 2\n" in after and "\nexit code 2\n" not in before
            verdict = "the same" if before == after else "refused now" if refused else "differ"
            counts[verdict] += 1
            if verdict != "the same":
                print(f"{verdict}: {cases[name][i]}   ({name}/{i:02}.txt)", flush=True)
                lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "recorded", "now", lineterm="", n=0)
                diff.writelines(line + "\n" for line in (f"=== {cases[name][i]}", *lines))
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return counts["differ"] + counts["refused now"] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="FOLDER", help="new folder for the outputs of DLROOF")
    parser.add_argument("--only", default="", metavar="REGEX", help="compare only cases with a command that matches")
    parser.add_argument("--diff", type=argparse.FileType("w"), default=os.devnull, metavar="FILE", help="where the differences go")
    parser.add_argument("old", nargs="?", help="a record, or a build")
    parser.add_argument("dlroof")
    arguments = parser.parse_args()
    dlroof = os.path.abspath(arguments.dlroof)
    if arguments.record:
        return record(arguments.record, dlroof)
    if os.path.isdir(arguments.old):
        return compare(arguments.old, dlroof, arguments.only, arguments.diff)
    with tempfile.TemporaryDirectory() as folder:
        record(f"{folder}/record", os.path.abspath(arguments.old))
        return compare(f"{folder}/record", dlroof, arguments.only, arguments.diff)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
