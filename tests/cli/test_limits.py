"""Ceilings where little is allowed or there: one CPU, little memory, no AVX, half a CPU."""
import json
import os
import shutil
from pathlib import Path

import pytest
from checks import DLROOF, exits, run, verify

pytestmark = pytest.mark.serial
SANITIZED = b"__asan_init" in Path(DLROOF).read_bytes()


def ceilings(*limit):
    """Measures quickly under a limit. Returns the ceilings by number of threads; fp32 and DRAM must have a roof."""
    ran = run([*limit, DLROOF, "machine", "--remeasure", "--quick", "-o", "machine.json"], timeout=200,
              XDG_CACHE_HOME=os.path.abspath("cache"))
    verify(ran, [exits(0)])
    by_threads = json.loads(Path("machine.json").read_text())["by_threads"]
    for roofs in by_threads.values():
        assert roofs["flops"]["fp32.vector"]["per_second"] > 0 and roofs["bytes"]["dram"]["per_second"] > 0
    return by_threads


def test_one_cpu_by_affinity_has_ceilings_of_one_thread():
    assert list(ceilings("taskset", "-c", min(os.sched_getaffinity(0)))) == ["1"]


@pytest.mark.skipif(SANITIZED, reason="a program with sanitizers reserves more address space than any limit")
def test_one_gib_of_address_space_is_enough():
    ceilings("prlimit", f"--as={1 << 30}")


@pytest.mark.skipif(SANITIZED, reason="a program with sanitizers does not run under an emulator")
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="qemu-x86_64 is not installed")
def test_a_cpu_without_avx_has_no_row_that_needs_it():
    for roofs in ceilings("qemu-x86_64", "-cpu", "Nehalem").values():
        rows = [*roofs["flops"], *roofs["mixes"]]
        assert "fp32.vector.sse2" in rows and "l1.load.sse2" in rows
        assert not [row for row in rows if "avx" in row]


@pytest.fixture
def half_a_cpu():
    """Makes a control group (version 2 or 1) with half a CPU; skips where this user may not."""
    two = Path("/sys/fs/cgroup/cpu.max").exists() or Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = Path("/sys/fs/cgroup" if two else "/sys/fs/cgroup/cpu") / f"dlroof-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"this user may not make a control group: {error}")
    try:
        (group / "cpu.max" if two else group / "cpu.cfs_quota_us").write_text("50000 100000" if two else "50000")
        yield group
    except OSError as error:
        pytest.skip(f"this user may not limit a control group's share of the CPU: {error}")
    finally:
        group.rmdir()


def test_half_a_cpu_is_enough(half_a_cpu):
    ceilings("sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', half_a_cpu)
