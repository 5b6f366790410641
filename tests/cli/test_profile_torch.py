"""dlroof profile --torch: a hook starts torch's profiler in an unchanged program (here a torch that is made up)."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks import bad_input, exits, one_sentence, run, says, verify, words

# What the hook uses of torch. The profiler records calls of `operator` with the clock of oneDNN's lines.
TORCH = r"""
import contextlib, json, os, threading, time, types
events, running = [], []
def micros(): return time.time() * 1e6
class profile:
    def __init__(self, **settings):
        self.profiler = types.SimpleNamespace(kineto_results=types.SimpleNamespace(events=lambda: events))
    def start(self):
        if os.environ.get("FAKE_FAILS"): raise RuntimeError("no profiler today")
        autograd.profiler._prepare_profiler()
        running.append(self)
    def stop(self): running.remove(self)
    def export_chrome_trace(self, path):
        with open(path, "w") as file: json.dump({"traceEvents": events, "baseTimeNanoseconds": 0}, file)
class span:
    def __init__(self, name, category="user_annotation", sizes=()):
        self.event = {"ph": "X", "cat": category, "name": name, "pid": os.getpid(), "tid": threading.get_native_id(),
                      "args": {"Input Dims": list(sizes), "Input type": ["float"] * len(sizes)}}
    def __enter__(self): self.event["ts"] = micros()
    def __exit__(self, *_):
        self.event["dur"] = micros() - self.event["ts"]
        if running: events.append(self.event)
def operator(name, seconds, sizes):
    with span(name, "cpu_op", sizes):
        end = time.time() + seconds
        while time.time() < end: pass
profiler = types.ModuleType("torch.profiler")
profiler.profile, profiler.ProfilerActivity = profile, types.SimpleNamespace(CPU=0)
autograd = types.SimpleNamespace(_profiler_enabled=lambda: bool(running),
                                 profiler=types.SimpleNamespace(record_function=span, _prepare_profiler=lambda: None))
def mark(word):
    with open(os.environ["FAKE_MARKS"], "a") as file: file.write(word + "\n")
cuda = types.SimpleNamespace(nvtx=types.SimpleNamespace(range_push=lambda name: mark("push " + name), range_pop=lambda: mark("pop")))
class emit_nvtx:
    def __enter__(self):
        if os.environ.get("FAKE_FAILS"): raise RuntimeError("no ranges today")
        mark("operators on")
    def __exit__(self, *_): mark("operators off")
autograd.profiler.emit_nvtx = emit_nvtx
compiler = types.SimpleNamespace(is_compiling=lambda: bool(os.environ.get("FAKE_COMPILES")))
before, after = [], []
nn = types.SimpleNamespace(modules=types.SimpleNamespace(module=types.SimpleNamespace(
    register_module_forward_pre_hook=before.append,
    register_module_forward_hook=lambda hook, always_call: after.append(hook))))
jit = types.SimpleNamespace(is_tracing=lambda: False, is_scripting=lambda: False)
class Module:
    def named_modules(self): return [("", self)]
    def parameters(self): return iter(getattr(self, "weights", ()))
    def __call__(self, *inputs):
        for hook in before: hook(self, ())
        try: return self.forward(*inputs)
        finally:
            for hook in after: hook(self, (), None)
class Identity(Module):
    def forward(self, x): return x
class Sequential(Module):
    def __init__(self, *modules): self.inner = modules
    def forward(self, x):
        for module in self.inner: module(x)
nn.Identity, nn.Sequential = Identity, Sequential
"""
PROFILER = "import sys, torch\nsys.modules['torch.profiler'] = torch.profiler\n"
PROGRAM = r"""
import os, sys, time, torch
def onednn(text):
    if os.environ.get("ONEDNN_VERBOSE", "0") != "0" and "quiet" not in sys.argv: os.write(1, text)
onednn(b"onednn_verbose,v1,info,oneDNN v3.2.1 (commit N/A)\n"
       b"onednn_verbose,v1,info,prim_template:timestamp,operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,"
       b"auxiliary,problem_desc,exec_time\n")
class Net(torch.Module):
    def forward(self):
        torch.operator("aten::addmm", 0.010, ([4], [2, 3], [3, 4]))
        for kind in (b"relu", b"tanh"):
            onednn(b"onednn_verbose,v1,%f,primitive,exec,cpu,eltwise,jit:avx2,forward_inference,src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,"
                   b"alg:eltwise_%s,64x64,0.001\n" % (1e3 * time.time(), kind))
net = Net()
if "compiles" in sys.argv:
    def forbidden(*_): raise RuntimeError("the compiler would read this")
    recorder = next(cell.cell_contents for cell in torch.before[0].__closure__ if hasattr(cell.cell_contents, "enter"))
    recorder.enter = recorder.leave = forbidden
if "profiles" in sys.argv: torch.autograd.profiler._prepare_profiler()
if "late" in sys.argv:
    torch.operator("aten::empty", 3.0, ([4],))  # longer than the first window
for step in range(12):
    net()
    time.sleep(0.002)
os.write(1, b"own output\xff\n")
if os.fork() == 0: os._exit(0)
os.wait()
sys.exit(3)
"""
COMMAND = f"{sys.executable} program.py"


@pytest.fixture(scope="module", autouse=True)
def program(folder):
    Path("lib/torch").mkdir(parents=True)
    Path("lib/torch/__init__.py").write_text(TORCH)
    Path("lib/torch/profiler.py").write_text(PROFILER)
    Path("lib/sitecustomize.py").write_text("import os\nos.write(2, b'the user\\'s own sitecustomize\\n')\n")
    Path("program.py").write_text(PROGRAM)


def profile(arguments="", **environment):
    command = f"dlroof profile --torch --machine none -o run.json -- {COMMAND} {arguments}"
    return subprocess.run(
        words(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env={**os.environ, "PYTHONPATH": str(Path("lib").absolute()), **environment}
    )


def test_operators_join_the_breakdown_and_the_program_stays_as_it_is():
    done = profile()
    report = done.stderr.decode()
    assert (done.returncode, done.stdout) == (3, b"own output\xff\n"), report
    assert report.count("the user's own sitecustomize") == 1
    assert "torch.profiler saw " in report, report
    assert "operator: aten::addmm" in report or "above the roof: aten::addmm" in report, report
    assert "outside oneDNN and operators (Python)" in report, report
    program = json.loads(Path("run.json").read_text())["context"]["dlroof"]["program"]
    traced = program["traced"]
    assert traced["steps"] >= 5, traced
    assert 0.5 < traced["operator_share"] < 0.95, traced
    assert [module["path"] for module in traced["modules"]] == ["Net"], traced
    assert 0 < traced["hook_seconds"] < 0.002, traced
    assert "beside that dlroof's hooks of modules took " in report, report
    operators = [one for one in program["primitives"] if one.get("operator")]
    assert [one["kind"] for one in operators] == ["aten::addmm"], operators
    assert operators[0]["step_calls"] == 1


RANGED = r"""
import sys, torch
class Inner(torch.Module):
    weights = (1,)
    def forward(self): torch.mark("in inner")
class Net(torch.Module):
    weights = (1,)
    def __init__(self): self.inner = Inner()
    def named_modules(self): return [("", self), ("inner", self.inner)]
    def forward(self):
        self.inner()
        if "raises" in sys.argv: raise KeyError
class Loss(torch.Module):
    def forward(self): torch.mark("loss")
net, loss = Net(), Loss()
for step in range(13):
    torch.mark(f"step {step}")
    try: net()
    except KeyError: pass
    loss()
    torch.mark("backward")
    if step == 11 and "profiles" in sys.argv: torch.autograd.profiler._prepare_profiler()
"""
STEP = ["push dlroof: Net", "push dlroof: Net.inner", "in inner", "pop", "pop", "push dlroof: Loss", "loss", "pop", "backward"]


def marks_of(arguments="", **environment):
    """Returns the lines that the program and the hook wrote, and what dlroof said."""
    Path("ranged.py").write_text(RANGED)
    Path("marks").unlink(missing_ok=True)
    command = f"dlroof profile --gpu --torch --budget 0 -o gpu.json -- {sys.executable} ranged.py {arguments}"
    variables = {**os.environ, "PYTHONPATH": str(Path("lib").absolute()), "FAKE_MARKS": str(Path("marks").absolute()), **environment}
    done = subprocess.run(words(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env=variables)
    assert done.returncode == 0, done.stderr
    return Path("marks").read_text().splitlines(), done.stderr.decode()


def step(number, marked):
    return [f"step {number}", *(STEP if marked else ["in inner", "loss", "backward"])]


@pytest.mark.skipif(not os.path.exists(os.environ.get("DLROOF_TRACED", "")), reason="this build has no library that traces programs")
@pytest.mark.parametrize("arguments", ["", "raises"])
def test_modules_of_some_steps_become_ranges_for_a_trace_of_the_gpu(arguments):
    marks, said = marks_of(arguments)
    expected = []
    for number in range(13):
        begins, ends = number in (2, 10), number == 5
        lines = step(number, 2 <= number < 5 or number >= 10)
        # The operators are marked from the begin of a call of the model to that of another one.
        change = ["operators on"] if begins else ["operators off"] if ends else []
        expected += lines[:1] + change + lines[1:]
    assert marks == expected + ["operators off"]
    assert "no process used CUDA" in said or "CUDA" in said, said


@pytest.mark.skipif(not os.path.exists(os.environ.get("DLROOF_TRACED", "")), reason="this build has no library that traces programs")
def test_marks_end_for_a_profiler_of_the_program_and_after_a_failure():
    marks, said = marks_of("profiles")
    assert marks[-4:] == ["step 12", "in inner", "loss", "backward"], marks
    assert "the program has its own profiler" in said, said
    marks, said = marks_of(FAKE_FAILS="1")
    assert [mark for mark in marks if mark.startswith("push")] == [], marks
    assert "--torch: no call of a module was marked" in said, said
    assert "no ranges today" in said, said


def test_a_compiler_reads_nothing_of_the_hooks_of_modules():
    done = profile("compiles", FAKE_COMPILES="1")
    report = done.stderr.decode()
    assert (done.returncode, done.stdout) == (3, b"own output\xff\n"), report
    traced = json.loads(Path("run.json").read_text())["context"]["dlroof"]["program"]["traced"]
    assert traced["steps"] >= 5 and traced["modules"] == [], traced


def test_a_window_that_sees_no_model_is_followed_at_once():
    done = profile("late")
    report = done.stderr.decode()
    assert done.returncode == 3, report
    traced = json.loads(Path("run.json").read_text())["context"]["dlroof"]["program"]["traced"]
    assert traced["steps"] >= 5 and not traced["of_no_step"], report


def test_the_run_file_reads_again():
    profile()
    done = run("dlroof report run.json --show=table")
    assert "torch.profiler saw " in done.out + done.err


def test_without_a_line_of_onednn_the_steps_are_the_models():
    done = profile("quiet")
    report = done.stderr.decode()
    assert done.returncode == 3
    assert "10 steps" in report, report
    assert "aten::addmm" in report, report


@pytest.mark.parametrize(
    "environment, arguments, sentence",
    [
        ({"FAKE_FAILS": "1"}, "", "no profiler today"),
        ({}, "profiles", "the program has its own profiler"),
        ({"PYTHONNOUSERSITE": "1", "DLROOF_DATA": "/nowhere"}, "", "torch_hook/sitecustomize.py is not installed"),
    ],
)
def test_what_the_hook_cannot_do_is_a_sentence(environment, arguments, sentence):
    done = profile(arguments, **environment)
    assert sentence in done.stderr.decode(), done.stderr.decode()
    if "DLROOF_DATA" not in environment:
        assert (done.returncode, done.stdout) == (3, b"own output\xff\n")


def test_a_program_without_torch_is_told():
    done = subprocess.run(
        words(f"dlroof profile --torch --machine none -o none.json -- {sys.executable} -c print(1)"), stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout == b"1\n"
    assert "did not import torch" in done.stderr.decode()


def test_with_gpu_only_of_a_program_that_is_traced():
    verify(run("dlroof profile --torch --gpu --launches 3 -- true"), [exits(2), one_sentence, says("--torch")])
    verify(run("dlroof profile --torch --gpu --from-trace lib"), [exits(2), one_sentence, says("--torch")])
