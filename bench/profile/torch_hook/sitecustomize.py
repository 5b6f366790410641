"""Starts torch.profiler in an unchanged program (`dlroof profile --torch`), or marks its modules and
operators as NVTX ranges (`dlroof profile --gpu --torch`: class Ranges).

dlroof puts this file's folder first in PYTHONPATH, so that Python imports it at its start. It runs
the sitecustomize that it hides, waits for the program's `import torch`, and then profiles operators
in windows of a few seconds: the first begins with the import, each next one after twice the time, so
that a long program costs little memory and has a window in its steady state. A window in which the
model runs lasts until it has run three times, and one without that is followed by the next at the
model's next call: a program may import, compile and load data for long before its first step.

Where modules are called, windows begin before such a call and end after one: no operator runs then.
One that began in a window and ends in the next would write to memory that PyTorch has freed (torch
2.15: the program crashes). Each window is a file
DLROOF_TORCH_TRACES/<process>-<number>.json. Calls of modules are spans named "dlroof: <path>". The time
that these hooks take before and after each call is a span named "dlroof hook": it is not the program's.

Whatever fails here is noted in <process>.txt in that folder, and the program goes on without it.
"""
import importlib.machinery
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
TRACES = os.environ.get("DLROOF_TORCH_TRACES")
RANGES = os.environ.get("DLROOF_TORCH_RANGES")  # a folder for notes
SPAN = "dlroof: "
HOOK_SPAN = "dlroof hook"
FIRST_SECONDS = 2.0  # length of the first window, which shows the number of events per second
MOST_SECONDS = 6.0  # maximum length of a window
LONGEST_SECONDS = 30.0  # maximum length of a window that waits for calls of the model
MODEL_CALLS = 3  # calls of the model in a window, so that it contains a whole step
MOST_WITHOUT = 10  # windows with fewer calls after which the next one begins at the model's next call
MOST_EVENTS = 300_000  # maximum per window
FIRST_MARKED, MARKED_CALLS = 2, 3  # calls of the model before the first marked one; successive marked calls


def run_hidden_sitecustomize():
    """Runs the sitecustomize that Python would have imported without this one."""
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def register_hooks(torch, watcher):
    """Calls watcher.enter(module) before and watcher.leave(module) after each call of a module, unless watcher.idle.

    TorchDynamo compiles hooks with the module. It evaluates is_compiling() to True and so compiles
    nothing else of them: any other code would split its graph.
    """
    import warnings

    # The warning says that hooks are called twice for a compiled module, which does not affect the times here.
    warnings.filterwarnings("ignore", message=r"Using `torch\.compile\(module\)` when there are global hooks")
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    if is_compiling is None:  # PyTorch before 2.1
        is_compiling = bool

    def enter(module, inputs):
        if is_compiling() or watcher.idle:
            return None
        return watcher.enter(module)

    def leave(module, inputs, outputs):
        if is_compiling() or watcher.idle:
            return None
        return watcher.leave(module)

    modules = torch.nn.modules.module
    modules.register_module_forward_pre_hook(enter)
    try:
        modules.register_module_forward_hook(leave, always_call=True)
    except TypeError:  # PyTorch before 2.0
        modules.register_module_forward_hook(leave)


def hand_over_to_own_profilers(torch, watcher):
    """Makes the watcher stop for good when the program starts PyTorch's profiler itself."""
    watcher.own = False
    for name in ("_prepare_profiler", "_enable_profiler"):
        original = getattr(torch.autograd.profiler, name, None)
        if original is None:
            continue

        def replaced(*arguments, _original=original, **named):
            if not watcher.own and not watcher.over:
                try:
                    watcher.end()
                except BaseException as error:
                    watcher.give_up(repr(error))
                watcher.give_up("the program has its own profiler")
            return _original(*arguments, **named)

        setattr(torch.autograd.profiler, name, replaced)


class Paths:
    """Paths of modules, relative to their outermost module."""

    def __init__(self):
        self.known = {}  # identity of a module -> (module, path)

    def of(self, module):
        known = self.known.get(id(module))
        if known is not None and known[0] is module:
            return known[1]
        # A module called outside of known ones is the root of the modules that it contains.
        root = type(module).__name__
        for name, inner in module.named_modules():
            self.known.setdefault(id(inner), (inner, f"{root}.{name}" if name else root))
        return self.known[id(module)][1]


class Recorder:
    """Profiles windows of time. Methods run in the thread that imported torch, unless stated otherwise."""

    def __init__(self, torch):
        import threading
        import time

        self.torch = torch
        self.clock = time.monotonic
        self.process = os.getpid()
        self.began = self.clock()
        self.profiler = None
        self.open = {}  # thread -> stack of open module calls: (module, path, begin of the hook, begin of the call)
        self.spans = []  # (path, thread, begin of hook, begin of call, end of call, end of hook), times in ns since 1970
        self.paths = Paths()
        self.roots = {}  # path -> durations [s] of the outermost module calls that ended in this window
        self.window = self.without = 0
        self.seconds = FIRST_SECONDS
        self.window_begin = self.window_end = self.next_begin = 0.0
        self.at_once = False  # the next window begins with the next call of a module
        self.called = False  # a module has been called in this thread
        self.over = False
        self.idle = False  # no window is open or due: hooks return at once
        self.stamped = self.around = 0.0  # [ns] time of a call's hooks between their clock readings, and outside them
        self.thread_of = threading.get_native_id
        self.thread = threading.get_native_id()
        self.now = time.time_ns
        self.wait = threading.Event()
        # Whether TorchScript traces or compiles the program: hooks must not appear there.
        self.is_tracing, self.is_scripting = torch.jit.is_tracing, torch.jit.is_scripting
        self.watcher = threading.Thread(target=self.watch, daemon=True, name="dlroof")

    def start(self):
        """Begins the first window and starts the thread that begins and ends the others."""
        import atexit
        import ctypes

        # Python runs a pending call in the main thread between two bytecode instructions, without a signal.
        self.call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.pending)
        self.add = ctypes.pythonapi.Py_AddPendingCall
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.call))  # lives as long as pending calls
        hand_over_to_own_profilers(self.torch, self)
        plain = self.seconds_of_a_call()
        register_hooks(self.torch, self)
        self.calibrate(plain)
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self.forget)
        self.begin()
        self.watcher.start()

    def seconds_of_a_call(self):
        """Returns the time [s] of calling a module that does nothing."""
        calls = 21
        model = self.torch.nn.Sequential(*[self.torch.nn.Identity() for _ in range(calls - 1)])
        turns = []
        for _ in range(11):
            begin = self.now()
            model(None)
            turns.append(1e-9 * (self.now() - begin) / calls)
        return median(turns)

    def calibrate(self, plain):
        """Measures the time of a call's hooks in a window: between their clock readings, and outside them."""
        self.profiler, self.window_end, self.window_begin = object(), float("inf"), float("inf")
        whole = 1e9 * (self.seconds_of_a_call() - plain)
        self.stamped = median([entered - begin + left - end for _, _, begin, entered, end, left in self.spans])
        self.around = max(whole - self.stamped, 0.0)
        self.profiler, self.called = None, False
        self.spans, self.open, self.paths, self.roots = [], {}, Paths(), {}

    def watch(self):
        """Runs in its own thread; makes the main thread begin or end windows."""
        while not self.over:
            now = self.clock()
            due = self.window_end if self.profiler is not None else self.next_begin
            if now >= due:
                self.idle = False
                self.add(self.call, None)
                self.wait.wait(0.2)
            else:
                self.wait.wait(min(due - now, 0.5))

    def pending(self, _):
        try:
            now = self.clock()
            if self.over or os.getpid() != self.process:
                return 0
            if self.profiler is not None and now >= self.window_end:
                if (self.roots or self.open.get(self.thread)) and now < self.window_begin + LONGEST_SECONDS:
                    self.window_end = now + 0.5  # after_call ends it
                else:
                    self.end()
            elif self.profiler is None and now >= self.next_begin and not self.called:
                self.begin()
        except BaseException as error:  # noqa: B902: the program must not see it
            self.give_up(repr(error))
        return 0

    def before_call(self):
        """Called before an outermost module call: begins a window if due."""
        self.called = True
        if self.profiler is None and (self.at_once or self.clock() >= self.next_begin):
            self.begin()

    def after_call(self):
        """Called after an outermost module call: ends a window with enough calls."""
        if self.profiler is not None and self.clock() >= self.window_begin + self.seconds and self.steady():
            self.end()

    def steady(self):
        """Returns whether the window has enough calls of the model, not counting the first ones, which compile it."""
        longest = max(self.roots.values(), key=sum, default=[])  # the model's, not those of its loss
        return sum(seconds <= 2 * min(longest) for seconds in longest) >= MODEL_CALLS

    def begin(self):
        """Begins a window unless another profiler is running."""
        autograd = self.torch.autograd
        if getattr(autograd, "_profiler_enabled", lambda: False)():
            self.give_up("the program has its own profiler")
            return
        profiler = self.torch.profiler.profile(activities=[self.torch.profiler.ProfilerActivity.CPU], record_shapes=True)
        self.own = True
        try:
            profiler.start()
        finally:
            self.own = False
        self.profiler = profiler
        self.roots = {}
        self.window_begin = self.clock()
        self.window_end = self.window_begin + self.seconds

    def end(self):
        """Ends the window and writes its file. The next one begins after twice the time, or with the next call of the model."""
        self.at_once = False
        self.next_begin = float("inf")  # pending calls run in the middle of this function, too
        profiler, self.profiler = self.profiler, None
        if profiler is None:
            return
        seconds = self.clock() - self.window_begin
        profiler.stop()
        at_once = not self.steady() and self.without < MOST_WITHOUT
        self.without += 1 if at_once else 0
        spans = self.take_spans()
        self.window += 1
        path = os.path.join(TRACES, f"{self.process}-{self.window}.json")
        profiler.export_chrome_trace(path + ".part.json")
        add_spans(path + ".part.json", spans, self.margin(spans))
        os.replace(path + ".part.json", path)
        events = len(profiler.profiler.kineto_results.events()) if profiler.profiler else 0
        if events > 0:
            self.seconds = min(MOST_SECONDS, seconds * MOST_EVENTS / events)
        self.at_once = at_once
        self.next_begin = self.clock() + max(self.clock() - self.began, 1.0)
        self.idle = self.called and not at_once

    def finish(self):
        """At exit: ends the open window, if any."""
        if self.over or os.getpid() != self.process:
            return
        self.over = True
        self.wait.set()
        if self.watcher.is_alive():
            self.watcher.join(2.0)
        for _ in range(1000):  # a call that is still pending runs here, not after Python's end
            pass
        try:
            self.end()
        except BaseException as error:
            self.give_up(repr(error))

    def forget(self):
        """Stops profiling in a forked process, such as a DataLoader worker."""
        self.over = self.idle = True
        self.profiler = None
        self.open, self.spans = {}, []

    def give_up(self, reason):
        self.over = self.idle = True
        self.profiler = None
        note(TRACES, self.process, reason)

    # --- Spans of modules

    # Clock readings, because a span of the profiler would cost some 40 us per call.

    def enter(self, module):
        begin = self.now()
        if self.over or self.is_tracing() or self.is_scripting():
            return
        path = self.paths.of(module)
        thread = self.thread_of()
        if thread == self.thread and "." not in path:
            self.guarded(self.before_call)
        if self.profiler is not None:
            self.open.setdefault(thread, []).append((module, path, begin, self.now()))

    def leave(self, module):
        end = self.now()
        thread = self.thread_of()
        stack = self.open.get(thread)
        if stack and stack[-1][0] is module:
            _, path, begin, entered = stack.pop()
            self.spans.append((path, thread, begin, entered, end, self.now()))
            if "." not in path and thread == self.thread:
                self.roots.setdefault(path, []).append(1e-9 * (end - entered))
                self.guarded(self.after_call)

    def guarded(self, method):
        try:
            if os.getpid() == self.process:
                method()
        except BaseException as error:  # noqa: B902: the program must not see it
            self.give_up(repr(error))

    def take_spans(self):
        """Returns the window's spans. Calls still open at its end end there."""
        end = self.now()
        spans, self.spans = self.spans, []
        for thread, stack in self.open.items():
            spans += [(path, thread, begin, entered, end, end) for _, path, begin, entered in stack]
        self.open = {}
        return spans

    def margin(self, spans):
        """Returns the time [ns] that a call's hooks take before their first and after their last clock reading.

        Hooks take longer in a program than in calibrate(), by the same factor between and outside their clock readings.
        """
        if not spans or self.stamped <= 0:
            return 0.0
        stamped = median([entered - begin + left - end for _, _, begin, entered, end, left in spans])
        return 0.5 * self.around * max(stamped / self.stamped, 1.0)


def median(numbers):
    return sorted(numbers)[len(numbers) // 2] if numbers else 0.0


def add_spans(path, spans, margin):
    """Adds the spans of calls and of their hooks to the events of a trace, on the trace's clock."""
    import json
    import re

    with open(path, encoding="utf-8") as file:
        text = file.read()
    events = re.search(r'"traceEvents":\s*\[', text)
    if events is None or not spans:
        return
    base = re.search(r'"baseTimeNanoseconds":\s*(\d+)', text)
    zero = int(base.group(1)) if base else 0
    added = []

    def add(name, thread, begin, end):
        event = {"ph": "X", "cat": "user_annotation", "name": name, "pid": os.getpid(), "tid": thread}
        added.append(json.dumps({**event, "ts": (begin - zero) / 1e3, "dur": (end - begin) / 1e3}))

    for name, thread, begin, entered, end, left in spans:
        add(HOOK_SPAN, thread, begin - margin, entered)
        add(SPAN + name, thread, entered, end)
        add(HOOK_SPAN, thread, end, left + margin)
    more = "" if text[events.end() :].lstrip().startswith("]") else ","
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[: events.end()] + ",".join(added) + more + text[events.end() :])


class Ranges:
    """Marks calls of modules ("dlroof: <path>") and operators (PyTorch's emit_nvtx) as NVTX ranges.

    Ranges slow down the host, so most steps have none: marked are three calls of the model from its
    third call on, then three after twice as many, and so on, with what runs between these calls and
    after them, such as the backward pass. The model is the first outermost module with parameters.
    """

    def __init__(self, torch):
        import threading

        self.torch = torch
        self.process = os.getpid()
        self.paths = Paths()
        self.model = self.thread = self.emit = None
        self.calls = 0  # of the model
        self.next_begin, self.marked_end = FIRST_MARKED, 0  # calls of the model
        self.depth = {}  # thread -> number of modules that it is in
        self.open = {}  # thread -> modules whose range is open
        self.idle = self.over = False
        self.thread_of = threading.get_ident

    def start(self):
        import atexit

        hand_over_to_own_profilers(self.torch, self)
        register_hooks(self.torch, self)
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self.forget)

    def enter(self, module):
        thread = self.thread_of()
        depth = self.depth.get(thread, 0)
        self.depth[thread] = depth + 1
        if depth == 0:
            try:
                self.before_call(module, thread)
            except BaseException as error:  # noqa: B902: the program must not see it
                self.give_up(repr(error))
        if self.emit is not None:
            self.torch.cuda.nvtx.range_push(SPAN + self.paths.of(module))
            self.open.setdefault(thread, []).append(module)

    def leave(self, module):
        thread = self.thread_of()
        self.depth[thread] = max(self.depth.get(thread, 0) - 1, 0)
        stack = self.open.get(thread)
        if stack and stack[-1] is module:
            stack.pop()
            self.torch.cuda.nvtx.range_pop()

    def before_call(self, module, thread):
        """Called before an outermost module call: begins or ends marking at calls of the model."""
        if self.model is None and next(iter(module.parameters()), None) is not None:
            self.model, self.thread = module, thread
        if module is not self.model or thread != self.thread:
            return
        if self.emit is not None and self.calls >= self.marked_end:
            self.end()
        if self.emit is None and self.calls >= self.next_begin:
            self.begin()
        self.calls += 1

    def begin(self):
        self.next_begin = 2 * self.next_begin + 2 * MARKED_CALLS
        self.marked_end = self.calls + MARKED_CALLS
        emit = self.torch.autograd.profiler.emit_nvtx()
        self.own = True
        try:
            emit.__enter__()
        finally:
            self.own = False
        self.emit = emit

    def end(self):
        emit, self.emit = self.emit, None
        if emit is not None:
            emit.__exit__(None, None, None)

    def finish(self):
        if self.over or os.getpid() != self.process:
            return
        self.over = True
        try:
            self.end()
        except BaseException as error:
            self.give_up(repr(error))

    def forget(self):
        """Stops marking in a forked process."""
        self.over = self.idle = True
        self.emit = None

    def give_up(self, reason):
        self.over = self.idle = True
        self.emit = None
        for _ in self.open.pop(self.thread_of(), []):
            self.torch.cuda.nvtx.range_pop()
        note(RANGES, self.process, reason)


def note(folder, process, reason):
    try:
        with open(os.path.join(folder, f"{process}.txt"), "a", encoding="utf-8") as file:
            file.write(reason + "\n")
    except OSError:
        pass


class AfterTorch:
    """Loads torch with its original loader, then starts the recorder."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        try:
            import torch.profiler  # not a part of `import torch` in all versions

            (Ranges if RANGES else Recorder)(module).start()
        except BaseException as error:
            note(RANGES or TRACES, os.getpid(), repr(error))

    def __getattr__(self, name):
        return getattr(self.loader, name)


class TorchFinder:
    """Finds torch once, as Python would without this class."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = AfterTorch(spec.loader)
        return spec


import importlib.util  # noqa: E402: importlib.machinery does not import it

if TRACES or RANGES:
    sys.meta_path.insert(0, TorchFinder())
run_hidden_sitecustomize()
