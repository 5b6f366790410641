#!/usr/bin/env python3
"""record.py SET FOLDER [NAME...]: runs each program of SET_programs.py (torch, torch_blind, torch_blind2, tensorflow, ...) in a process
of its own and writes its lines of oneDNN to FOLDER/SET_NAME.log.gz, and the number of iterations that it has counted to
FOLDER/counts.json.

Its standard output is a socket, whose kernel tells which process wrote each line (SCM_CREDENTIALS). This is the same log as
`dlroof profile --log` writes, by an independent program."""
import array
import gzip
import importlib
import json
import os
import re
import socket
import struct
import sys
import threading
from pathlib import Path


def ancestors(pid):
    found = [pid]
    try:
        while pid > 1:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            found.append(pid)
    except OSError:
        pass
    return found


def read(ours, log):
    """Takes messages until the last writer has closed its end."""
    parts, before, known = {}, None, set()
    while True:
        data, extra, _, _ = ours.recvmsg(1 << 18, socket.CMSG_SPACE(12))
        if not data:
            return
        pid = struct.unpack("iII", extra[0][2][:12])[0] if extra else 0
        parts[pid] = parts.get(pid, b"") + data
        *lines, parts[pid] = parts[pid].split(b"\n")
        for line in lines:
            if not line.startswith(b"onednn_verbose"):
                continue
            if pid != before:
                chain = ancestors(pid) if pid not in known else [pid]
                log.append(b"DLROOF_PROCESS," + b",".join(b"%d" % one for one in chain))
                known.add(pid)
                before = pid
            log.append(line)


def run(function):
    """Returns the log of the function in a process of its own, and what it returns."""
    ours, its = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    result, written = os.pipe()
    pid = os.fork()
    if pid == 0:
        ours.close()
        os.dup2(its.fileno(), 1)
        its.close()
        status = 1
        try:
            os.write(written, str(function()).encode())
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    its.close()
    os.close(written)
    log = []
    reader = threading.Thread(target=read, args=(ours, log))
    reader.start()
    count = os.read(result, 100)
    _, status = os.waitpid(pid, 0)
    reader.join()
    return log, int(count) if status == 0 else None


def main():
    programs_of, folder, *names = sys.argv[1:]
    os.environ.update(ONEDNN_VERBOSE="profile_exec", DNNL_VERBOSE="1", ONEDNN_VERBOSE_TIMESTAMP="1", TF_ENABLE_ONEDNN_OPTS="1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    programs = importlib.import_module(f"{programs_of}_programs").NAMES
    counts = Path(folder) / "counts.json"
    for name in names or programs:
        log, count = run(programs[name])
        print(programs_of, name, len(log), "lines,", count, "iterations", flush=True)
        with open(Path(folder) / f"{programs_of}_{name}.log.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(b"\n".join(log) + b"\n")
        known = json.loads(counts.read_text()) if counts.exists() else {}
        known[f"{programs_of}_{name}"] = count
        counts.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
