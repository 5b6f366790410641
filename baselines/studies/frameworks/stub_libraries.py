#!/usr/bin/env python3
"""stub_libraries.py SITE_PACKAGES FOLDER: makes empty libraries in FOLDER for those of NVIDIA that PyPI's torch is linked with.

PyPI has torch for x86 Linux only as its CUDA build, which cannot be imported without 3 GB of NVIDIA's wheels. On a machine without a GPU
none of their functions is ever called: a library of the same name that defines the same symbols under the same versions is enough.
"""
import collections
import os
import re
import subprocess
import sys

# Libraries that a Debian without CUDA has.
OF_THE_SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp|util|z|cuda)\.so|ld-linux)")
# Symbols without a version belong to the library whose names begin so.
PREFIXES = {
    "cudart": "(__)?cuda",
    "cupti": "cupti",
    "cublasLt": "cublasLt",
    "cublas": "cublas(?!Lt)",
    "cudnn": "cudnn",
    "cusparse": "cusparse(?!Lt)",
    "cusparseLt": "cusparseLt",
    "cufft": "cufft",
    "cufile": "cuFile",
    "nccl": "p?nccl",
    "nvrtc": "nvrtc",
    "cusolver": "cusolver",
    "nvshmem_host": "nvshmem",
    "nvToolsExt": "nvtx",
    "curand": "curand",
    "nvJitLink": "_*nvJitLink",
}


def readelf(flag, path):
    return subprocess.run(["readelf", "-W", flag, path], capture_output=True, text=True, check=True).stdout


def read(libraries):
    """Returns the libraries needed, (symbol, type, version) that are undefined, and the versions wanted of each library."""
    needed, undefined, defined, versions = set(), set(), set(), collections.defaultdict(set)
    for library in libraries:
        needed.update(re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", library)))
        for line in readelf("--dyn-syms", library).splitlines():
            part = line.split()
            if len(part) < 8 or not part[0].endswith(":"):
                continue
            name, _, version = part[7].partition("@")
            if part[6] == "UND":
                undefined.add((name, part[3], version.lstrip("@")))
            else:
                defined.add(name)
        of = None
        for line in readelf("-V", library).splitlines():
            if file := re.search(r"File: (\S+)", line):
                of = file.group(1)
            if (version := re.search(r"Name: (\S+)\s+Flags", line)) and of:
                versions[of].add(version.group(1))
    return needed, [one for one in undefined if one[0] not in defined], versions


def write_stub(folder, name, undefined, versions):
    prefix = PREFIXES.get(name.split(".so")[0].removeprefix("lib"))
    text, by_version = "", collections.defaultdict(list)
    for symbol, kind, version in sorted(undefined):
        of_version = version in versions if version else bool(prefix and re.match(prefix, symbol))
        if not of_version:
            continue
        text += f"char {symbol}[4096];\n" if kind == "OBJECT" else f"int {symbol}(void) {{ return 999; }}\n"
        by_version[version].append(symbol)
    source, script = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".map")
    with open(source, "w") as file:
        file.write(text or "int dlroof_empty;\n")
    with open(script, "w") as file:
        for version in sorted(versions):
            file.write(f"{version} {{ {'global: ' + '; '.join(by_version[version]) + ';' if by_version[version] else ''} }};\n")
    options = [f"-Wl,--version-script,{script}"] if versions else []
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-w", "-o", os.path.join(folder, name), source, f"-Wl,-soname,{name}", *options], check=True)


def main(site, folder):
    lib = os.path.join(site, "torch", "lib")
    libraries = [os.path.join(lib, name) for name in os.listdir(lib) if ".so" in name]
    have = {os.path.basename(path) for path in libraries}
    needed, undefined, versions = read(libraries)
    missing = sorted(name for name in needed if name not in have and not OF_THE_SYSTEM.match(name))
    os.makedirs(folder, exist_ok=True)
    for name in missing:
        write_stub(folder, name, undefined, versions[name])
    print(f"{len(missing)} stubs in {folder}: {' '.join(missing)}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
