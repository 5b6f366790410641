#!/usr/bin/env python3
"""study.py [DLROOF [BEGINNING...]]: compares the number of steps that dlroof finds in each log (whose name begins so) with the
program's own count (logs/counts.json).
Fails where a number is wrong without being told as doubtful, or where a line of the log is in no row."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Other code than oneDNN's executes a batch of one image: its lines are missing.
NOT_IN_THE_LOG = ("tensorflow_blind_epochs_with_a_smaller_last_batch",)
FOLDER = Path(__file__).resolve().parent / "logs"


def steps_of(dlroof, log):
    """Returns the program's summary in the run file that dlroof makes of the log."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.json"
        subprocess.run([dlroof, "import", log, "-o", run], check=True, capture_output=True)
        return json.loads(run.read_text())["context"]["dlroof"]["program"]


def main():
    dlroof = sys.argv[1] if len(sys.argv) > 1 else "dlroof"
    beginnings = tuple(sys.argv[2:]) or ("",)
    counts = json.loads((FOLDER / "counts.json").read_text())
    counts = {name: count for name, count in counts.items() if name.startswith(beginnings)}
    right = doubtful = missing = 0
    wrong = []
    print("| program | its count | found | steady | verdict | told |\n| --- | ---: | ---: | ---: | --- | --- |")
    for name, count in sorted(counts.items()):
        program = steps_of(dlroof, FOLDER / f"{name}.log.gz")
        steps = program["steps"]
        found = steps.get("total", 0)
        numbers = f"{found} or {steps['other']} steps: " if steps.get("doubt") and steps.get("other") else ""
        doubt = numbers + (steps.get("doubt") or steps.get("reason") or "")
        calls = sum(one["calls"] for one in program["primitives"])
        if calls != program["lines"]["used"] or program["lines"]["used"] != program["lines"]["executed"]:
            wrong.append(f"{name}: {calls} calls in rows, of {program['lines']['executed']} lines")
        if found == count:
            right += 1
        elif doubt:
            doubtful += 1
        elif name in NOT_IN_THE_LOG:
            missing += 1
        else:
            wrong.append(f"{name}: {found} steps, and the program counts {count}")
        verdict = "right" if found == count else "told as doubtful" if doubt else "WRONG"
        print(f"| {name.replace('_', ' ')} | {count} | {found} | {steps.get('count', 0)} | {verdict} | {doubt or ''} |")
    print(f"\n{right} right, {doubtful} told as doubtful, {missing} not in the log, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
