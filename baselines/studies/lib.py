"""What the studies' scripts share: running programs, reading files, medians and intervals, Markdown tables.

A script begins with `sys.path.append(str(Path(__file__).resolve().parents[1]))` and `import lib`.
"""
import argparse
import gzip
import json
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DLROOF, BENCH = ROOT / "build/dlroof", ROOT / "build/dlroof_bench"
VERDICTS = (0, 1, 3)  # exit codes of `dlroof compare`: none slower, some, no verdict


def parser(doc):
    """Returns a parser whose help is the script's first text, with --dlroof and --bench."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--dlroof", default=str(DLROOF))
    made.add_argument("--bench", default=str(BENCH))
    return made


def run(*command, codes=(0,), **options):
    """Runs a program. Returns the CompletedProcess with its output; exits with its message after another exit code than `codes`."""
    command = [str(part) for part in command]
    done = subprocess.run(command, **{"capture_output": True, "text": True, **options})
    if codes is not None and done.returncode not in codes:
        sys.exit(f"{shlex.join(command)}: exit code {done.returncode}\n{(done.stderr or '')[-2000:]}")
    return done


def read(path):
    """Returns the value of a JSON file, which may be packed by gzip."""
    data = Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def write(path, value, indent=1):
    Path(path).write_text(json.dumps(value, indent=indent, separators=None if indent is not None else (",", ":")) + "\n")


def command():
    """Returns this script's command, without the machine's paths, for the file that it writes."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def measured(run_file):
    """Returns the records of a run file's benchmarks that were measured, by name."""
    return {record["name"]: record for record in run_file["records"] if record["status"] == "ok"}


def compare(dlroof, *arguments):
    """Returns the exit code of `dlroof compare` and its rows by name; with a map also those without a partner have names."""
    done = run(dlroof, "compare", *arguments, "--format=json", codes=VERDICTS)
    return done.returncode, {row["name"]: row for row in json.loads(done.stdout)["benchmarks"] if row["verdict"] not in ("gone", "new")}


def middle(values, form=".3f"):
    """Returns the text "median (least to largest)"."""
    values = sorted(values)
    return f"{statistics.median(values):{form}} ({values[0]:{form}} to {values[-1]:{form}})"


def ratio_text(row):
    """Returns a verdict's ratio with its 95 % interval."""
    return f"{row['ratio']:.3f} ({row['ci95'][0]:.3f} to {row['ci95'][1]:.3f})" if "ratio" in row else ""


def percent(part, whole=1, digits=1):
    return f"{100 * part / whole:.{digits}f} %" if whole else ""


def table(head, rows, right=()):
    """Returns a Markdown table. `right` has the columns whose cells are numbers."""
    lines = [list(head), ["---:" if name in right else "---" for name in head], *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
