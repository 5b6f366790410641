"""A machine that allows little or has little: one CPU, little memory, no AVX, half a CPU; counters of energy, or none."""
import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
from checks import DLROOF, QUICK, bad_input, exits, plain, prints, program, run, says, verify

BENCH = program("DLROOF_BENCH")
LSTM = "--dlroof_machine=none --benchmark_filter=LSTM/cpu/reference/fwd_inference"
CPUS = sorted(os.sched_getaffinity(0))

SANITIZED = b"__asan_init" in Path(DLROOF).read_bytes()


def ceilings(*limit, threads=""):
    """Measures quickly under a limit, for all numbers of threads or one. Returns the ceilings by number of threads; fp32 and DRAM must have a roof."""
    ran = run(
        [*limit, DLROOF, "machine", "--remeasure", "--quick", *([f"--threads={threads}"] if threads else []), "-o", "machine.json"],
        timeout=300,
        XDG_CACHE_HOME=os.path.abspath("cache"),
    )
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
    for roofs in ceilings("qemu-x86_64", "-cpu", "Nehalem", threads=1).values():
        rows = [*roofs["flops"], *roofs["mixes"]]
        assert "fp32.vector.sse2" in rows and "l1.load.sse2" in rows
        assert not [row for row in rows if "avx" in row]


@pytest.fixture
def part_of_a_cpu(request):
    """Makes a control group (version 2 or 1) with this share of a CPU; skips where this user may not."""
    quota = f"{request.param * 100000:.0f}"
    two = Path("/sys/fs/cgroup/cpu.max").exists() or Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = Path("/sys/fs/cgroup" if two else "/sys/fs/cgroup/cpu") / f"dlroof-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"this user may not make a control group: {error}")
    try:
        (group / "cpu.max" if two else group / "cpu.cfs_quota_us").write_text(f"{quota} 100000" if two else quota)
        yield group
    except OSError as error:
        pytest.skip(f"this user may not limit a control group's share of the CPU: {error}")
    finally:
        group.rmdir()


@pytest.mark.skipif(SANITIZED, reason="one CPU above is as slow")
@pytest.mark.parametrize("part_of_a_cpu", [0.5], indirect=True)
def test_half_a_cpu_is_enough(part_of_a_cpu):
    ceilings("sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', part_of_a_cpu, threads=len(CPUS))


PRODUCT = [BENCH, "--dlroof_suite=--matmul 64x256:256x128", "--benchmark_filter=m64n128", "--dlroof_machine=none", *QUICK.split()]


def limits_of(path):
    """Returns the limits that a run file names: key and what was found."""
    context = json.loads(Path(path).read_text())["context"]["dlroof"]
    return {limit["limit"]: limit["found"] for limit in context.get("limits", [])}


def test_teams_of_any_size_are_no_fault_of_the_library():
    verify(run([*PRODUCT, "--benchmark_out=dynamic.json"], OMP_DYNAMIC="true"), [exits(0)])
    assert [record["status"] for record in json.loads(Path("dynamic.json").read_text())["records"]] == ["ok"]
    verify(run(PRODUCT, OMP_MAX_ACTIVE_LEVELS="0"), [exits(0)])


@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU needs one thread")
def test_fewer_threads_than_cpus_are_refused_unless_asked_for():
    verify(run(PRODUCT, OMP_THREAD_LIMIT="1"), [bad_input, says("OMP_THREAD_LIMIT=1 allows fewer threads than the [0-9]+ of this run")])
    verify(run([*PRODUCT, "--dlroof_threads=1"], OMP_THREAD_LIMIT="1"), [exits(0)])
    verify(run("dlroof machine --quick", OMP_THREAD_LIMIT="1"), [bad_input, says("OMP_THREAD_LIMIT=1")])


# So little that beside any other programs a thread comes to the end of its share, and is stopped.
@pytest.mark.skipif(SANITIZED, reason="half a CPU above is as slow")
@pytest.mark.parametrize("part_of_a_cpu", [0.15], indirect=True)
def test_a_run_under_a_quota_names_it(part_of_a_cpu):
    in_group = ["sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', part_of_a_cpu]
    ran = run([*in_group, *PRODUCT, "--benchmark_min_time=0.03", "--benchmark_out=quota.json"], timeout=240)
    verify(ran, [exits(0), says(f"the CPU quota of 0.15 CPUs .{part_of_a_cpu}/cpu.*stopped this process in [0-9]+ of [0-9]+ periods")])
    assert limits_of("quota.json")["cpu_quota"].startswith(f"0.15 CPUs ({part_of_a_cpu}/cpu.")
    notes = [note for record in json.loads(Path("quota.json").read_text())["records"] for note in record.get("counting", [])]
    assert any(note.get("source") == "limits" and "periods" in note["text"] for note in notes), notes
    verify(run([*in_group, DLROOF, "doctor"]), [exits(0), prints(r"^limits +cpu_quota: 0.15 CPUs"), prints("^clocks.*CPU quota of 0.15")])


def test_the_doctor_names_what_limits_a_process(tmp_path):
    for folder, name, text in (
        ("fs/cgroup", "cpu.max", "150000 100000"),
        ("fs/cgroup/cpu", "cpu.cfs_quota_us", "150000"),
        ("fs/cgroup/cpu", "cpu.cfs_period_us", "100000"),
        ("kernel/mm/transparent_hugepage", "enabled", "always madvise [never]"),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_text(text + "\n")
    verify(
        run(["nice", "-n", "5", DLROOF, "doctor", "--quick"], DLROOF_SYSFS=str(tmp_path), OMP_THREAD_LIMIT="1"),
        [
            exits(0),
            prints(rf"^limits +cpu_quota: 1.5 CPUs \({tmp_path}/fs/cgroup/cpu"),
            prints("priority: nice [0-9]+: other programs run first"),
            prints("huge_pages: never"),
        ],
    )


class Powercap:
    """A made-up tree of the kernel: one package of 40 W with all our CPUs, its DRAM of 5 W and the platform of 90 W. Its
    counters begin anew at 100 J."""

    WATTS = {"intel-rapl:0": ("package-0", 40), "intel-rapl:0:0": ("dram", 5), "intel-rapl:1": ("psys", 90)}
    RANGE = 100_000_000

    def __init__(self, root, cpus):
        self.root, self.running = root.resolve(), True
        for cpu in cpus:
            self.write(f"devices/system/cpu/cpu{cpu}/topology/physical_package_id", "0")
        for zone, (name, _) in self.WATTS.items():
            self.write(f"class/powercap/{zone}/name", name)
            self.write(f"class/powercap/{zone}/max_energy_range_uj", f"{self.RANGE}")
            self.write(f"class/powercap/{zone}/energy_uj", "0")
        self.thread = threading.Thread(target=self.count)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text + "\n")

    def count(self):
        """Every reader sees a whole number: all are equally long, and written by one call."""
        files = {zone: os.open(self.root / f"class/powercap/{zone}/energy_uj", os.O_WRONLY) for zone in self.WATTS}
        begin = time.monotonic()
        while self.running:
            for zone, (_, watts) in self.WATTS.items():
                os.pwrite(files[zone], f"{int(1e6 * watts * (time.monotonic() - begin)) % self.RANGE:012}\n".encode(), 0)
            time.sleep(0.002)
        for file in files.values():
            os.close(file)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()


def measured(sysfs):
    """Measures with --dlroof_energy. Returns the run and its file."""
    ran = run(f"{BENCH} {LSTM} {QUICK} --dlroof_energy --benchmark_out=energy.json", timeout=200, DLROOF_SYSFS=str(sysfs))
    verify(ran, [exits(0)])
    return ran, json.loads(Path("energy.json").read_text())


def follows_the_watts(content):
    """Returns whether each call took the made-up watts, 8 of the package for 1 of the DRAM."""
    energies = [record.get("energy") for record in content["records"] if record["status"] == "ok"]
    return all(
        energy
        and energy["joules"] / energy["seconds"] == pytest.approx(45, rel=0.5)
        and energy["domains"]["package-0"] / energy["domains"]["dram-0"] == pytest.approx(8, rel=0.1)
        for energy in energies
    )


def test_energy_of_a_made_up_machine_is_its_watts_by_the_time_of_a_call(tmp_path):
    # The counters stand still while their thread has no CPU: one clean try of five is enough.
    for _ in range(5):
        with Powercap(tmp_path, CPUS):
            ran, content = measured(tmp_path)
        if follows_the_watts(content):
            break
    assert follows_the_watts(content), str(content["records"])[:2000]
    records = [record for record in content["records"] if record["status"] == "ok"]
    assert records
    for record in records:
        energy = record["energy"]
        assert energy["from"] == "powercap" and energy["covers"] == "packages and DRAM; no fans, NIC, power supply"
        assert set(energy["domains"]) == {"package-0", "dram-0"} and set(energy["beside"]) == {"psys"}
        assert energy["joules"] == pytest.approx(sum(energy["domains"].values()), rel=1e-9)
        assert energy["window_seconds"] >= 0.5
    assert content["context"]["dlroof"]["environment"]["DLROOF_SYSFS"] == str(tmp_path)
    verify(ran, [prints("^energy of a call +energy +± +FLOP/J +power"), plain("by powercap: packages and DRAM")])
    verify(run("dlroof report energy.json"), [exits(0), prints("FLOP/J.*package-0"), plain("(not added)")])
    verify(run("dlroof report energy.json -o stored.json"), [exits(0)])
    stored = {record["name"]: record.get("energy") for record in json.loads(Path("stored.json").read_text())["records"]}
    assert stored == {record["name"]: record.get("energy") for record in content["records"]}


@pytest.mark.parametrize("tree", [None, "empty"])
def test_without_counters_no_file_has_a_word_of_energy(tree, tmp_path):
    if tree is None and any(Path("/sys/class/powercap").glob("intel-rapl:*")):
        pytest.skip("this machine has counters")
    ran, content = measured(tmp_path if tree else "")
    assert '"energy"' not in json.dumps(content)
    verify(ran, [says("--dlroof_energy: the CPU's energy cannot be measured: powercap: .*class/powercap has no intel-rapl")])


def test_a_counter_that_stands_still_is_a_reason_and_no_energy(tmp_path):
    Powercap(tmp_path, CPUS)
    ran, content = measured(tmp_path)
    assert not any("energy" in record for record in content["records"])
    verify(ran, [prints("energy of .* not measured: the energy counter of package-0 did not advance in")])


def test_two_programs_by_turns_measure_no_energy():
    verify(run(f"{BENCH} --dlroof_energy --dlroof_turns=3,4"), [bad_input, says("--dlroof_energy: two interleaved programs")])


def test_the_doctor_says_which_counters_there_are_or_why_none(tmp_path):
    def doctor():
        environment = {**os.environ, "DLROOF_SYSFS": str(tmp_path)}
        return subprocess.run([DLROOF, "doctor", "--quick"], env=environment, capture_output=True, text=True, timeout=120).stdout

    assert "class/powercap has no intel-rapl:*" in doctor()
    tree = Powercap(tmp_path, CPUS)
    assert "energy       powercap: package-0, dram-0, psys (not added) (packages and DRAM; no fans" in doctor()
    tree.write(f"devices/system/cpu/cpu{CPUS[-1] + 1}/topology/physical_package_id", "0")
    assert f"this process may use only {len(CPUS)} of the {len(CPUS) + 1} CPUs of package 0" in doctor()
