#!/usr/bin/env python3
"""Checks the tree against ci/modules.txt: what each module includes, and where its tests are.

    ci/check_modules.py [ROOT]             prints each violation; exit code 1 if there is one
    ci/check_modules.py --update [ROOT]    rewrites "uses" and "vendors" of every line from the includes of the tree, adds
                                           missing modules and sorts the lines; review the difference, then run the check

Before it checks the tree, it checks a small tree with one violation of each kind, and fails if it does not find every one.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile
import textwrap

LAYERS = ("counters", "ceilings", "reporters", "baselines", "bench")
OPERATORS_EXTEND = "bench/workload"
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
# The headers that a module may include only if its line names the vendor.
VENDORS = {
    "benchmark": r"benchmark/",
    "boost": r"boost/",
    "cli": r"CLI/",
    "cuda": r"(cuda|cublas|cudnn|cupti|nvperf)",
    "hwloc": r"hwloc",
    "json": r"nlohmann/json\.hpp",
    "lzma": r"lzma\.h",
    "onednn": r"(oneapi/)?dnnl",
    "simdjson": r"simdjson",
    "sqlite": r"(sqlite3|SQLiteCpp)",
    "utf8proc": r"utf8proc",
    "valgrind": r"valgrind/",
    "zlib": r"zlib\.h",
    "zstd": r"zstd\.h",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)


@dataclasses.dataclass
class Module:
    name: str  # a folder, or a pattern with one star
    condition: str = ""
    extends: str = ""
    vendors: set = dataclasses.field(default_factory=set)
    uses: set = dataclasses.field(default_factory=set)

    def star(self, folder):
        """What the star stands for in folder: "" if the name has no star, None if folder is not this module."""
        if "*" not in self.name:
            return "" if folder == self.name else None
        found = re.fullmatch(re.escape(self.name).replace(r"\*", "([^/]+)"), folder)
        return found and found[1]

    def used_by(self, folder):
        star = self.star(folder)
        return {name.replace("*", star) for name in self.uses}

    def text(self):
        words = [self.name + ":"]
        for key, values in (("if", self.condition), ("extends", self.extends)):
            words += [key, values] if values else []
        for key, values in (("vendors", self.vendors), ("uses", self.uses)):
            words += [key, *sorted(values)] if values else []
        return textwrap.fill(" ".join(words), 120, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def read_modules(path):
    """Returns the lines of modules.txt as Modules, in order."""
    modules = []
    text = re.sub(r"#.*", "", path.read_text())
    for line in re.sub(r"\n[ \t]+(?=\S)", " ", text).splitlines():
        if not line.strip():
            continue
        name, colon, rest = line.partition(":")
        module, key = Module(name), None
        for word in rest.split() if colon else ["no colon"]:
            if word in ("if", "extends", "vendors", "uses"):
                key = word
            elif key == "if" and not module.condition:
                module.condition = word
            elif key == "extends" and not module.extends:
                module.extends = word
            elif key == "vendors" and word in VENDORS:
                module.vendors.add(word)
            elif key == "uses":
                module.uses.add(word)
            else:
                sys.exit(f"{path}: {module.name}: unexpected '{word}'")
        modules.append(module)
    return modules


def line_of(modules, folder):
    """The index of folder's line, or None. A line with the folder's own name comes before a pattern."""
    places = [index for index, module in enumerate(modules) if module.star(folder) is not None]
    return min(places, key=lambda index: "*" in modules[index].name, default=None)


def included(file):
    """The modules and the vendors whose headers a file includes."""
    folders, vendors = set(), set()
    for quoted, angled in INCLUDE.findall(file.read_text()):
        if quoted:
            folders.add(str(pathlib.PurePosixPath(quoted).parent))
        vendors |= {vendor for vendor, pattern in VENDORS.items() if re.match(pattern, angled or "")}
    return folders, vendors


def source_files(root):
    """{folder: its source files}. Examples are programs of users, built outside of the tree."""
    folders = {}
    for layer in LAYERS:
        for file in sorted((root / layer).rglob("*")):
            if file.suffix in SOURCES and file.parent.name != "examples":
                folders.setdefault(str(file.parent.relative_to(root)), []).append(file)
    return folders


def operator_of(modules, folder):
    """The operator's module that folder is or is in, or None."""
    names = [module.name for module in modules if module.extends == OPERATORS_EXTEND]
    return next((name for name in names if (folder + "/").startswith(name + "/")), None)


def violations(root):
    modules, folders = read_modules(root / "ci/modules.txt"), source_files(root)
    for index, module in enumerate(modules):
        matching = [folder for folder in folders if line_of(modules, folder) == index]
        if not matching:
            yield f"ci/modules.txt: {module.name}: no such folder with sources"
        yield from line_violations(modules, index, matching)
        yield from include_violations(root, modules, index, {folder: folders[folder] for folder in matching})
    for folder in folders:
        if line_of(modules, folder) is None:
            yield f"{folder}: ci/modules.txt has no line for this module"
    yield from program_violations(root, folders)
    yield from test_violations(root, modules)


def line_violations(modules, index, folders):
    """What is wrong with a line itself: what it uses must stand above it and in its own layer or an earlier one."""
    module, where = modules[index], f"ci/modules.txt: {modules[index].name}"
    if module.extends and module.extends not in module.uses:
        yield f"{where}: extends {module.extends} without using it"
    for folder, name in sorted((folder, name) for folder in folders for name in module.used_by(folder)):
        used = line_of(modules, name)
        if used is None:
            yield f"{where}: uses {name}, which is no module"
        elif used >= index:
            yield f"{where}: uses {name}, whose line does not come before its own"
        if LAYERS.index(name.split("/")[0]) > LAYERS.index(module.name.split("/")[0]):
            yield f"{where}: uses {name}, but the order of the layers is {' <- '.join(LAYERS)}"
        operators = operator_of(modules, folder), operator_of(modules, name)
        if all(operators) and operators[0] != operators[1]:
            yield f"{where}: uses {name}, another operator"


def include_violations(root, modules, index, folders):
    """Differences between a line and the includes of its module; a pattern's line holds for several folders."""
    module, used, used_vendors = modules[index], set(), set()
    for folder, files in folders.items():
        allowed = module.used_by(folder) | {folder}
        for file in files:
            here, vendors = included(file)
            for name in sorted(here - allowed):
                yield f"{file.relative_to(root)}: includes {name}, which ci/modules.txt does not list for {folder}"
            for vendor in sorted(vendors - module.vendors):
                yield f"{file.relative_to(root)}: includes a header of {vendor}, which ci/modules.txt does not list for {folder}"
            used |= {name for name in module.uses if name.replace("*", module.star(folder)) in here}
            used_vendors |= vendors
    for name in sorted((module.uses - used) | (module.vendors - used_vendors)):
        yield f"ci/modules.txt: {module.name}: lists {name} but includes nothing of it"


def program_violations(root, folders):
    """A program's main file is built only if the root's CMakeLists.txt, or a file of CMake beside it, names it."""
    programs = re.findall(r"^\s*dlroof_program\((\w+) ([\w/]+)", (root / "CMakeLists.txt").read_text(), re.M)
    for folder, files in folders.items():
        for file in files:
            if not file.name.endswith("_main.cpp") or (file.name[: -len("_main.cpp")], folder) in programs:
                continue
            if not any(str(file.relative_to(root)) in one.read_text() for one in file.parent.glob("*.cmake")):
                yield f"{file.relative_to(root)}: CMakeLists.txt has no dlroof_program() for it"


def test_violations(root, modules):
    for file in sorted((root / "tests").rglob("*_test.cpp")):
        name = file.relative_to(root)
        folder = "/".join(name.parts[1:-1])
        if name.parts[1] != "fakes" and (line_of(modules, folder) is None or not (root / folder).is_dir()):
            yield f"{name}: a test's path mirrors its module's, and there is no module {folder}"
        text = file.read_text()
        if "OnGpu" in text and re.search(r"GTEST_SKIP\(\) << (?!fakes::NeedsGpu)", text):
            yield f"{name}: a test that needs a GPU skips with fakes::NeedsGpu(...)"


PLANTED = {
    "CMakeLists.txt": "dlroof_program(known bench/runner)\n",
    "ci/modules.txt": """
counters/base: vendors json
counters/unused: uses counters/base
counters/backwards: uses counters/later
counters/later:
counters/upwards: uses ceilings/machine
counters/detached: extends counters/base
counters/gone:
counters/typo: uses counters/bas
ceilings/machine: uses counters/base
bench/workload:
bench/conv2d: extends bench/workload uses bench/workload
bench/lstm: extends bench/workload uses bench/conv2d bench/workload
bench/*/onednn: uses bench/* bench/conv2d
bench/runner:
""",
    "counters/base/a.h": "#include <dnnl.hpp>\n#include <nlohmann/json.hpp>\n",
    "counters/unused/a.h": "",
    "counters/backwards/a.h": '#include "counters/later/a.h"\n',
    "counters/later/a.h": '#include "counters/base/a.h"\n',
    "counters/upwards/a.h": '#include "ceilings/machine/a.h"\n',
    "counters/detached/a.h": "",
    "counters/typo/a.h": '#include "counters/bas/a.h"\n',
    "counters/nowhere/a.h": "",
    "ceilings/machine/a.h": '#include "counters/base/a.h"\n',
    "bench/workload/a.h": "",
    "bench/conv2d/a.h": '#include "bench/workload/a.h"\n',
    "bench/lstm/a.h": '#include "bench/conv2d/a.h"\n#include "bench/workload/a.h"\n',
    "bench/lstm/onednn/a.h": '#include "bench/conv2d/a.h"\n#include "bench/lstm/a.h"\n',
    "bench/runner/known_main.cpp": "",
    "bench/runner/unknown_main.cpp": "",
    "tests/counters/elsewhere/a_test.cpp": "",
    "tests/counters/base/a_test.cpp": 'TEST(X, OnGpu) { GTEST_SKIP() << "no GPU"; }',
}
FOUND_IN_PLANTED = (
    "counters/base/a.h: includes a header of onednn",
    "counters/unused: lists counters/base but includes nothing",
    "counters/backwards: uses counters/later, whose line does not come before",
    "counters/later/a.h: includes counters/base, which ci/modules.txt does not list",
    "counters/upwards: uses ceilings/machine, whose line does not come before",
    "counters/upwards: uses ceilings/machine, but the order of the layers",
    "counters/detached: extends counters/base without using it",
    "counters/gone: no such folder",
    "counters/typo: uses counters/bas, which is no module",
    "counters/nowhere: ci/modules.txt has no line",
    "bench/lstm: uses bench/conv2d, another operator",
    "bench/*/onednn: uses bench/conv2d, another operator",
    "bench/runner/unknown_main.cpp: CMakeLists.txt has no dlroof_program()",
    "tests/counters/elsewhere/a_test.cpp: a test's path mirrors",
    "tests/counters/base/a_test.cpp: a test that needs a GPU",
)


def check_itself():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in PLANTED.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = list(violations(root))
    for expected in FOUND_IN_PLANTED:
        if sum(expected in line for line in found) != 1:
            sys.exit(f"check_modules: does not find the planted violation '{expected}'")
    if len(found) != len(FOUND_IN_PLANTED):
        sys.exit("check_modules: finds what was not planted:\n" + "\n".join(found))


def update(root):
    path = root / "ci/modules.txt"
    old, folders = read_modules(path), source_files(root)
    modules = [dataclasses.replace(module, uses=set(), vendors=set()) for module in old]
    for folder, files in folders.items():
        if line_of(modules, folder) is None:
            print(f"check_modules: new line for {folder}: does it need 'if' or 'extends'?")
            modules.append(Module(folder))
    kept, concrete = {}, {}  # concrete: the modules that a pattern's folders use
    for folder, files in folders.items():
        module = modules[line_of(modules, folder)]
        star = module.star(folder)
        for file in files:
            here, vendors = included(file)
            names = {re.sub(rf"(?<=/){re.escape(star)}(?=/|$)", "*", name) if star else name for name in here - {folder}}
            module.uses |= names
            module.vendors |= vendors
            concrete.setdefault(module.name, set()).update(here - {folder})
        kept.setdefault(module.name, module)
    for module in modules:
        if module.name not in kept:
            print(f"check_modules: dropped {module.name}, which has no sources")
    lines, waiting, layer = ([], sorted(kept.values(), key=lambda module: LAYERS.index(module.name.split("/")[0])), "")
    while waiting:
        names = {module.name for module in waiting}
        ready = next((module for module in waiting if not concrete[module.name] & names), None)
        if ready is None:
            cycle = "\n".join(f"  {module.name} uses {' '.join(sorted(concrete[module.name] & names))}" for module in waiting)
            sys.exit(f"check_modules: these modules use each other in a cycle:\n{cycle}")
        waiting.remove(ready)
        if ready.name.split("/")[0] != layer:
            layer = ready.name.split("/")[0]
            lines.append("")
        lines.append(ready.text())
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    path.write_text("\n".join(head + lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="rewrites ci/modules.txt from the includes of the tree")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    check_itself()
    if arguments.update:
        update(arguments.root)
        return
    found = list(violations(arguments.root))
    if found:
        sys.exit("\n".join(found + [f"check_modules: {len(found)} violations"]))
    print("check_modules: ok")


if __name__ == "__main__":
    main()
