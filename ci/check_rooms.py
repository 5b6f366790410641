#!/usr/bin/env python3
"""Checks that the tree keeps to ci/rooms.txt: directions of includes, vendors' headers, sizes, and where tests lie.

    ci/check_rooms.py [ROOT]      prints each violation; exit code 1 if there is one

Plants a violation of each kind in a tree of its own first, and fails if one of them is not found.
"""
import fnmatch
import pathlib
import re
import sys
import tempfile

MOST_FILES = 26
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
COUNTED = SOURCES | {".js", ".css", ".html", ".py", ".sh", ".c"}
LAYERS = ("counters", "ceilings", "reporters", "baselines", "bench")
# Whose headers a room sees only where ci/rooms.txt says so.
VENDORS = {
    "cuda": r"(cuda|cublas|cudnn|cupti|nvperf)",
    "onednn": r"(oneapi/)?dnnl",
    "benchmark": r"benchmark/",
    "sqlite": r"(sqlite3|SQLiteCpp)",
    "cli": r"CLI/",
    "boost": r"boost/",
    "hwloc": r"hwloc",
    "mpi": r"mpi",
    "nettle": r"nettle/",
    "utf8proc": r"utf8proc",
    "simdjson": r"simdjson",
    "zlib": r"zlib\.h",
    "json": r"nlohmann/json\.hpp",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)


class Rooms:
    """The lines of rooms.txt: patterns in order, and what each sees."""

    def __init__(self, path):
        self.lines = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = re.fullmatch(r"(\S+)(?:\s+if\s+(\w+))?(?:\s+sees\s+(\w+(?:,\w+)*))?(?:\s+hot)?\s*", line)
            sees = (found[3] or "").split(",") if found else []
            if not found or any(name and name not in VENDORS for name in sees):
                sys.exit(f"{path}:{number}: expected 'ROOM [if CONDITION] [sees VENDOR] [hot]', got '{line}'")
            self.lines.append((found[1], sees))

    def place(self, room):
        """The room's position in the order, or None; a line with the room's own name comes first."""
        for index, (pattern, _) in enumerate(self.lines):
            if pattern == room:
                return index
        for index, (pattern, _) in enumerate(self.lines):
            if pattern.count("/") == room.count("/") and fnmatch.fnmatchcase(room, pattern):
                return index
        return None


def violations(root, rooms):
    """Yields a sentence for each violation below root."""
    files = [file.relative_to(root) for top in LAYERS + ("tests", "ci") for file in sorted((root / top).rglob("*")) if file.is_file()]
    counts = {}
    for file in files:
        if file.suffix in COUNTED:
            counts[file.parent] = counts.get(file.parent, 0) + 1
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} source files, at most {MOST_FILES} make a room"
    for file in files:
        if file.suffix in SOURCES and file.parts[0] in LAYERS:
            yield from directions(root, file, rooms)
        if file.parts[0] == "tests" and file.name.endswith("_test.cpp") and file.parts[1] != "fakes":
            room = "/".join(file.parts[1:-1])
            if not (root / room).is_dir() or rooms.place(room) is None:
                yield f"{file}: a test's path mirrors a room, and there is no room {room}"
            text = (root / file).read_text()
            if "OnGpu" in text and re.search(r"GTEST_SKIP\(\) << (?!NeverRan)", text):
                yield f"{file}: a test that needs a GPU skips with NeverRan(...), which says that it never ran on hardware"


def directions(root, file, rooms):
    room = str(file.parent)
    place = rooms.place(room)
    if place is None:
        yield f"{file}: ci/rooms.txt has no line for {room}"
        return
    for quoted, angled in INCLUDE.findall((root / file).read_text()):
        if quoted:
            target = str(pathlib.PurePosixPath(quoted).parent)
            there = rooms.place(target)
            if target != room and (there is None or there >= place):
                yield f"{file}: includes {quoted}, whose room does not come before {room} in ci/rooms.txt"
        for vendor, pattern in VENDORS.items():
            if re.match(pattern, angled or "") and vendor not in rooms.lines[place][1]:
                yield f"{file}: includes <{angled}>, and ci/rooms.txt does not let {room} see {vendor}"


def finds_planted(rooms):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        planted = {
            "counters/base/up.h": '#include "counters/work.h"\n',
            "counters/base/vendor.h": "#include <dnnl.hpp>\n",
            "counters/nowhere/lost.h": "",
            "bench/conv2d/sideways.h": '#include "bench/lstm/problem.h"\n',
            "tests/counters/nowhere_else/x_test.cpp": "",
            "tests/counters/base/skips_test.cpp": 'TEST(X, OnGpu) { GTEST_SKIP() << "no GPU"; }',
        } | {f"ceilings/cpu/full{number}.h": "" for number in range(MOST_FILES + 1)}
        for name, text in planted.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return len(list(violations(root, rooms))) == 7


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rooms = Rooms(root / "ci" / "rooms.txt")
    if not finds_planted(rooms):
        sys.exit("check_rooms: does not find each planted violation")
    found = list(violations(root, rooms))
    if found:
        sys.exit("\n".join(found + [f"check_rooms: {len(found)} violations"]))
    print("check_rooms: ok")


if __name__ == "__main__":
    main()
