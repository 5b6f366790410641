#!/usr/bin/env python3
"""Makes a Python wheel of an installation (components "runtime" and "bundled" of ci/install.cmake).

    ci/wheel.py PREFIX FOLDER    writes FOLDER/dlroof-VERSION-py3-none-manylinux_2_35_x86_64.whl and prints its path

pip copies a wheel's "scripts" to bin of the environment, and its "data" below the environment's folder. So everything is where it is in
every other installation (bench/install.md), and the programs find it in the same way. Left out is oneDNN, on which the wheel depends:
oneDNN's own wheel puts libdnnl.so.3 into lib of the environment, which is added to the run path of the programs.

py3-none: no file belongs to one version of Python. manylinux_2_35: the programs need symbols of glibc 2.35 and of libstdc++ of GCC 12 at
most (ci/package.sh tests it), so pip refuses the wheel on an older system instead of installing programs that do not start; "linux_x86_64"
would promise nothing, and no index accepts it.
"""
import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = "py3-none-manylinux_2_35_x86_64"
RUN_PATH = "$ORIGIN/../lib/dlroof:$ORIGIN/../lib"
# What the CUDA module opens. NVIDIA's other wheels that ci/requirements-gpu.txt pins are for building.
GPU = ("nvidia-cublas", "nvidia-cuda-cupti", "nvidia-cuda-nvrtc", "nvidia-cudnn-cu13")


def pinned(file):
    """Returns the version of each package that a file of requirements pins."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "ci" / file).read_text(), re.M))


def metadata(version, with_gpu):
    """Returns METADATA. Pages need no package: the programs contain plotly.js."""

    def requires(file, name, condition=""):
        return f"Requires-Dist: {name} (=={pinned(file)[name]}){condition}"

    lines = [
        "Metadata-Version: 2.1",
        "Name: dlroof",
        f"Version: {version}",
        "Summary: Benchmarks of deep-learning operators on rooflines",
        "License: Apache-2.0",
        "License-File: LICENSE",
        "Requires-Python: >=3.8",
        requires("requirements.txt", "onednn-cpu-gomp"),
    ]
    if with_gpu:
        lines.append("Provides-Extra: gpu")
        lines += [requires("requirements-gpu.txt", name, "; extra == 'gpu'") for name in GPU]
    return "\n".join(lines) + "\n"


class Wheel:
    """A wheel that is being written: adds files and records the hash of each. The same files give the same bytes."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info, self.rows = info, []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.rows.append(f"{name},sha256={digest},{len(content)}\n")

    def close(self):
        entry = zipfile.ZipInfo(f"{self.info}/RECORD", (1980, 1, 1, 0, 0, 0))
        entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, "".join(self.rows) + f"{self.info}/RECORD,,\n")
        self.zip.close()


def program(path):
    """Returns a program's bytes, with the run path of a virtual environment."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, folder)
        subprocess.run(["patchelf", "--set-rpath", RUN_PATH, copy], check=True)
        return Path(copy).read_bytes()


def make_wheel(prefix, folder):
    version = re.search(r"^project\(dlroof VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    info, data = f"dlroof-{version}.dist-info", f"dlroof-{version}.data"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"dlroof-{version}-{TAG}.whl"
    wheel = Wheel(path, info)
    for file in sorted((prefix / "bin").iterdir()):
        wheel.add(f"{data}/scripts/{file.name}", program(file), 0o755)
    for file in sorted([*(prefix / "lib/dlroof").rglob("*"), *(prefix / "share").rglob("*")]):
        if file.is_file() and not file.name.startswith("libdnnl.so"):
            wheel.add(f"{data}/data/{file.relative_to(prefix)}", file.read_bytes())
    wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.add(f"{info}/METADATA", metadata(version, (prefix / "lib/dlroof/libdlroof_cuda.so").exists()).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ci/wheel.py\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
    wheel.close()
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=Path, metavar="PREFIX")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    print(make_wheel(**vars(parser.parse_args())))
