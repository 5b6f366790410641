"""Asks bash, zsh and fish what they would complete, each with dlroof's own script."""
import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
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
# The matches go to a file instead of the screen. ^X d marks the end of what the keys before it did.
ZSHRC = """
PROMPT='READY ' RPROMPT=''
unsetopt beep prompt_cr prompt_sp
fpath=($SITE_FUNCTIONS $fpath)
autoload -Uz compinit && compinit -u -D
[[ -n $SITE_FUNCTIONS ]] || source "$SCRIPT"
compadd() {
  local -a hits
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
    builtin compadd -A hits "$@"
    print -rl -- $hits >> $CAPTURE
  fi
  builtin compadd "$@"
}
mark-end() { print '<end>' >> $CAPTURE }
zle -N mark-end
bindkey '^I' list-choices
bindkey '^Xd' mark-end
"""


def needs(shell):
    if not shutil.which(shell):
        pytest.skip(f"needs {shell} (Debian: {shell})")


def first_word(line):
    return {"dlroof": DLROOF, "dlroof_bench": BENCH}[line.split()[0]]


def bash(line):
    done = subprocess.run(["bash", "-c", BASH, "bash", DLROOF, line, first_word(line)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.split()


def fish(line):
    needs("fish")
    command = f"{DLROOF} completion fish | source; complete -C '{line}'"
    home = Path("fish").absolute()
    done = subprocess.run(["fish", "--no-config", "-c", command], capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": str(home)})
    assert done.returncode == 0 and done.stderr == "", done
    return [word.split("\t")[0] for word in done.stdout.splitlines()]


def read_until(terminal, text, deadline):
    seen = ""
    while text not in seen:
        assert time.monotonic() < deadline, f"zsh did not print {text!r}: {seen!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")


def zsh(line, site_functions=""):
    """`site_functions`: the folder of an installed script; else the script is sourced."""
    needs("zsh")
    folder = Path("zsh").absolute()
    folder.mkdir(exist_ok=True)
    (folder / "script").write_text(subprocess.run([DLROOF, "completion", "zsh"], capture_output=True, text=True, check=True).stdout)
    (folder / ".zshrc").write_text(ZSHRC)
    capture = folder / "capture"
    capture.write_text("")
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(ZDOTDIR=str(folder), SCRIPT=str(folder / "script"), CAPTURE=str(capture), SITE_FUNCTIONS=site_functions, TERM="dumb", COLUMNS="200")
        os.execvp("zsh", ["zsh", "-d", "-i"])
    deadline = time.monotonic() + 60
    try:
        read_until(terminal, "READY ", deadline)
        os.write(terminal, line.encode() + b"\t\x18d")
        while "<end>" not in capture.read_text():
            assert time.monotonic() < deadline, "zsh did not complete"
            if select.select([terminal], [], [], 0.02)[0]:  # what is not read would block zsh
                os.read(terminal, 65536)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    return capture.read_text().partition("<end>")[0].split()


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def completed(shell, line):
    """Returns the set of completions of the last word of a line, without what stands before a value or separates it from the next word."""
    found = set()
    for word in SHELLS[shell](line):
        word = word.rstrip("=") if word.startswith("--") and word.endswith("=") else word.partition("=")[2] or word
        found.add(word.rsplit(",", 1)[-1].rstrip("/"))
    return found
