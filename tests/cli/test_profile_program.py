"""dlroof profile: a program with oneDNN inside, whose output stays as it is."""
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from checks import DATA, bad_input, checks, exists, exits, finish, one_sentence, plain, prints, run, says, start, verify, words

# Writes lines as oneDNN does where ONEDNN_VERBOSE asks for them, in the middle of its own.
PROGRAM = r"""
import os, sys, time
speaks = os.environ.get("ONEDNN_VERBOSE", "0") != "0"
def onednn(text):
    if speaks: os.write(1, text)
def own(text): os.write(1, text)
how = sys.argv[1] if len(sys.argv) > 1 else ""
onednn(b"onednn_verbose,v1,info,oneDNN v3.2.1 (commit N/A)\nonednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:1\n")
onednn(b"onednn_verbose,v1,info,prim_template:timestamp,operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,"
       b"auxiliary,problem_desc,exec_time\n")
def call(begin):
    onednn(b"onednn_verbose,v1,%f,primitive,exec,cpu,convolution,jit:avx2,forward_inference,src_f32::blocked:aBcd8b:f0 "
           b"wei_f32::blocked:ABcd8b8a:f0 dst_f32::blocked:aBcd8b:f0,,alg:convolution_direct,"
           b"mb1_ic64oc64_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1,1.5\n" % begin)
own(b"\x1b[32mstep\x1b[0m 1")
for step in range(6):
    call(1e3 * time.time())
    own(b"\rstep %d of 6, onednn_verbose, the o" % step)
if how == "fork":
    if os.fork() == 0:
        onednn(b"onednn_verbose,v1,info,oneDNN v3.2.1 (commit N/A)\n")
        call(1e3 * time.time())
        os._exit(0)
    os.wait()
if how == "die":
    onednn(b"onednn_verbose,v1,12")
    os.kill(os.getpid(), 9)
if how == "wait":
    own(b"\nready\n")
    time.sleep(60)
print("time 1" if speaks else "time 2", file=sys.stderr)
own(b"\xff\x00\nlast")
sys.exit(3 if how == "three" else 0)
"""
PYTHON = sys.executable
PROFILE = f"dlroof profile --machine none -o run.json -- {PYTHON} program.py "


@pytest.fixture(scope="module", autouse=True)
def program(folder):
    Path("program.py").write_text(PROGRAM)


def output(command, **environment):
    return subprocess.run(words(command), stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, **environment}, timeout=60)


def test_the_programs_own_output_and_exit_code_stay_as_they_are():
    for how in ("", "three"):
        alone, profiled = output(f"{PYTHON} program.py {how}"), output(PROFILE + how)
        assert profiled.stdout == alone.stdout and profiled.returncode == alone.returncode == (3 if how else 0)
        assert alone.stdout.endswith(b"\xff\x00\nlast")
    assert b"time 1" in profiled.stderr, "standard error is the program's, too"


def test_on_a_terminal_the_program_has_one_and_its_bytes_are_the_same():
    """The terminal's own translation of newlines is the same with and without profile."""

    def shown(command):
        ours, its = pty.openpty()
        process = subprocess.Popen(words(command), stdin=subprocess.DEVNULL, stdout=its, stderr=subprocess.DEVNULL)
        os.close(its)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # Linux: the other end is closed
            pass
        assert process.wait(60) == 0
        os.close(ours)
        return text

    for script in ("program.py", "-c 'import os; print(os.isatty(1), flush=True)'"):
        alone = shown(f"{PYTHON} {script}")
        assert shown(f"dlroof profile --machine none -o run.json -- {PYTHON} {script}") == alone
    assert alone == b"True\r\n"


def test_the_run_file_the_log_and_the_report():
    ran = run(PROFILE.replace("-o", "--log kept.log -o"))
    verify(ran, [exits(0), exists("run.json"), says("^dlroof: wrote run.json"), says("9 lines of oneDNN"), says("n1c64h56w56k64r3s3_p1")])
    log = Path("kept.log").read_text().splitlines()
    assert log[0].startswith("DLROOF_PROCESS,") and len(log) == 10
    assert all(line.startswith("onednn_verbose,") for line in log[1:])
    shown = run("dlroof report run.json")
    verify(shown, [exits(0), plain("n1c64h56w56k64r3s3_p1")])


@checks(
    ("without oneDNN", "dlroof profile --machine none -- echo hi", exits(0), plain("hi"), says("no line of oneDNN.*TF_ENABLE_ONEDNN_OPTS")),
    ("silent", "dlroof profile --machine none -- true", exits(0), says("true printed neither")),
    ("absent", "dlroof profile --machine none -- ./no-such-program", exits(127), says("^dlroof: .*No such file or directory$")),
    ("not executable", "dlroof profile --machine none -- ./program.py", exits(126), says("^dlroof: .*Permission denied$")),
    ("dies", PROFILE + "die", exits(137), says(r"was ended by signal 9 \(Killed\)"), says("1 of oneDNN's lines were cut"), says("wrote run.json")),
    ("forks", PROFILE + "fork", exits(0), says("2 processes called oneDNN"), says(r"\(main\): 6 calls"), says("11 lines of oneDNN")),
    ("in a pipe", PROFILE.replace("-o", "--pipe -o") + "fork", exits(0), says("2 processes of .* wrote lines of oneDNN")),
    ("too long", PROFILE.replace("-o", "--duration 1 -o") + "wait", exits(0), says("ended after 1.* as --duration says"), says("wrote run.json")),
    (
        "no primitive",
        ["dlroof", "profile", "--machine", "none", "--", "sh", "-c", "echo 'onednn_verbose,v1,info,oneDNN v3.2.1'"],
        exits(0),
        says("executed none of its primitives"),
    ),
    ("no command", "dlroof profile --machine none", one_sentence),
    ("no GPU's flags", "dlroof profile --machine none --chip GH100 -- true", bad_input, says("--gpu")),
    ("no CPU's flags", "dlroof profile --gpu --log x -- true", bad_input, says("--log")),
    ("full disk", PROFILE.replace("-o", "--log /dev/full -o") + "three", exits(3), says("^dlroof: profile: /dev/full: not all could be written")),
    ("no log", "dlroof profile --machine none --log none/x -- true", one_sentence),
)
def test_each_case_is_a_sentence(command, expected):
    verify(run(command), expected)


def test_no_program_runs_whose_file_cannot_be_written():
    for flags in ("", "--gpu --chip GH100"):  # a chip: no module of this build has to ask a driver
        verify(run(f"dlroof profile {flags} --machine none -o none/x.json -- touch ran"), [bad_input, says("none/x.json.*No such file")])
        assert not Path("ran").exists()


def test_a_value_that_is_set_stays_and_is_named():
    verify(run(PROFILE, ONEDNN_VERBOSE="1"), [exits(0), says("ONEDNN_VERBOSE=1 is set already")])
    verify(run(PROFILE, ONEDNN_VERBOSE="0"), [exits(0), says("ONEDNN_VERBOSE=0 is set already"), says("no line of oneDNN")])


@pytest.mark.parametrize("how, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_reaches_the_program_and_what_was_read_stays(how, code):
    process = start(PROFILE + "wait", PYTHONFAULTHANDLER="0")
    seen = ""
    while "ready" not in seen:
        seen += os.read(process.stdout.fileno(), 4096).decode(errors="replace")
    os.unlink("run.json")
    process.send_signal(how)
    ran = finish(process)
    # Python turns SIGINT into an exception, and then ends by it.
    verify(ran, [exits(code), says("was ended by signal"), says("wrote run.json")])


def test_a_program_whose_reader_ends_ends_too():
    command = " ".join(words("dlroof profile --machine none -- yes"))
    ran = subprocess.run(["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "y\n141\n", ran
