#!/usr/bin/env python3
"""Prints how large the project is, by module, and fails where it is larger than it may be.

    ci/check_size.py [BASE]     with BASE, a commit: also what changed since then

A change that needs more raises a limit here, in the commit that adds it.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = (".cpp", ".h", ".cu", ".cuh")
# What the whole project may have at most.
LIMITS = {
    "lines of C++ without tests": 88_550,
    "lines of C++ of tests": 40_000,
    "lines of scripts": 14_100,
    "words of documents": 42_000,
    "bytes of studies": 2_100_000,
    "modules": 55,
    "files": 1_080,
    "lines in the table of commands and flags": 230,
}
# What an operator's folder for a library may have; older folders may keep what they have.
FOLDER, OLDER = 400, {"bench/conv2d/cudnn": 819, "bench/lstm/cudnn": 462}


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout


def module_of(path, modules):
    """The longest module that the path is in."""
    return max((name for name in modules if path.startswith(name + "/")), key=len, default="(no module)")


def main():
    paths = [path for path in git("ls-files", "-z").split("\0") if path]
    text = {path: (ROOT / path).read_bytes() for path in paths if path.endswith((*CODE, ".py", ".sh", ".md"))}
    listed = re.findall(r"^([a-z][^:\s]*):", (ROOT / "ci/modules.txt").read_text(), re.M)
    modules = {folder for name in listed for folder in ([name] if "*" not in name else {str(Path(p).parent) for p in paths if Path(p).parent.match(name)})}
    lines, sizes = Counter(), Counter()
    for path, content in text.items():
        count = content.count(b"\n")
        if path.endswith(".md"):
            sizes["words of documents"] += len(content.split())
        elif path.endswith(CODE):
            sizes["lines of C++ of tests" if path.startswith("tests/") else "lines of C++ without tests"] += count
            if not path.startswith("tests/"):
                lines[module_of(path, modules)] += count
        else:
            sizes["lines of scripts"] += count
    sizes["bytes of studies"] = sum((ROOT / path).stat().st_size for path in paths if path.startswith("baselines/studies/"))
    sizes["modules"] = len(listed)
    sizes["files"] = len(paths)
    tables = sorted((ROOT / "tests/data").glob("command_line_*.txt"))
    sizes["lines in the table of commands and flags"] = tables[-1].read_text().count("\n")
    for name, count in sorted(lines.items(), key=lambda item: -item[1]):
        print(f"{count:7,}  {name}")
    too_large = [name for name, limit in LIMITS.items() if sizes[name] > limit]
    too_large += [name for name, count in lines.items() if re.match(r"bench/\w+/(onednn|cudnn|cublaslt)$", name) and count > OLDER.get(name, FOLDER)]
    for name, limit in LIMITS.items():
        print(f"{sizes[name]:9,} of at most {limit:9,} {name}{'  <- too many' if name in too_large else ''}")
    if len(sys.argv) > 1:
        print(f"since {sys.argv[1]}:{git('diff', '--shortstat', sys.argv[1])}", end="")
    if too_large:
        sys.exit(f"check_size.py: too large: {', '.join(too_large)}")


if __name__ == "__main__":
    main()
