"""Asks bash what it would complete, with dlroof's own script."""
import os
import subprocess

from checks import DLROOF, program

BENCH = program("DLROOF_BENCH")

# Calls the function as readline does, with the line up to the cursor. What compopt is asked for comes after the completions.
BASH = """
source <("$1" completion bash)
compopt() { asked+=" $*"; }
asked= COMP_LINE=$2 COMP_POINT=${#2}
complete -p "${3##*/}" > /dev/null || exit 1
_dlroof_complete "$3"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def first_word(line):
    return {"dlroof": DLROOF, "dlroof_bench": BENCH}[line.split()[0]]


def bash(line):
    done = subprocess.run(["bash", "-c", BASH, "bash", DLROOF, line, first_word(line)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.split()


def completed(line):
    """Returns the set of completions of the last word of a line, without what stands before a value or separates it from the next word."""
    found = set()
    for word in bash(line):
        word = word.rstrip("=") if word.startswith("--") and word.endswith("=") else word.partition("=")[2] or word
        found.add(word.rsplit(",", 1)[-1].rstrip("/"))
    return found
