#!/usr/bin/env bash
# Ceilings where little is allowed or there: one CPU, little memory, no AVX, half a CPU. Arguments: dlroof.
. "$(dirname "$0")/cli_checks.sh"
dlroof=$1
export XDG_CACHE_HOME=$dir/cache

run() { timeout 200 "$@" >"$dir/out" 2>"$dir/err"; code=$?; }
# measures WHAT COMMAND...: the quick measurement must end well and give a roof of fp32 and of DRAM.
measures() {
  local what=$1; shift
  run "$@" "$dlroof" machine --remeasure --quick -o "$dir/machine.json"
  check "$what: measured" exits 0
  check "$what: fp32 and DRAM have roofs" python3 -c '
import json, sys
machine = json.load(open(sys.argv[1]))
for roofs in machine["by_threads"].values():
    assert roofs["flops"]["fp32.vector"]["per_second"] > 0 and roofs["bytes"]["dram"]["per_second"] > 0
' "$dir/machine.json"
}
threads_are() { python3 -c 'import json, sys; assert list(json.load(open(sys.argv[1]))["by_threads"]) == sys.argv[2:]' "$dir/machine.json" "$@"; }

measures "one CPU by affinity" taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"
check "one CPU: ceilings of one thread" threads_are 1

# A program with sanitizers reserves more address space than any limit, and does not run under valgrind.
if ! grep -q __asan_init "$dlroof"; then
  measures "1 GiB of address space" prlimit --as=$((1 << 30))
fi

# A CPU without AVX, made up: rates are those of an emulator, which rows there are is not.
if command -v qemu-x86_64 >/dev/null && ! grep -q __asan_init "$dlroof"; then
  measures "no AVX" qemu-x86_64 -cpu Nehalem
  check "no AVX: no row needs it" python3 -c '
import json, sys
machine = json.load(open(sys.argv[1]))
for roofs in machine["by_threads"].values():
    rows = [*roofs["flops"], *roofs["mixes"]]
    assert "fp32.vector.sse2" in rows and "l1.load.sse2" in rows, rows
    assert not [row for row in rows if "avx" in row], rows
' "$dir/machine.json"
else
  echo "skipped: no AVX: qemu-x86_64 is not installed, or the program has sanitizers"
fi

# Half a CPU, where this user may make a control group (of version 2 or 1).
half_a_cpu() {
  if [ -e /sys/fs/cgroup/cpu.max ] || [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    group=/sys/fs/cgroup/dlroof-test-$$
    mkdir "$group" && echo "50000 100000" > "$group/cpu.max"
  else
    group=/sys/fs/cgroup/cpu/dlroof-test-$$
    [ -e /sys/fs/cgroup/cpu/cgroup.procs ] && mkdir "$group" && echo 50000 > "$group/cpu.cfs_quota_us"
  fi
} 2>/dev/null
if half_a_cpu; then
  measures "half a CPU" sh -c 'echo $$ > "$0"/cgroup.procs && exec "$@"' "$group"
else
  echo "skipped: half a CPU: this user may not make a control group with a share of the CPU here"
fi
[ -d "$group" ] && rmdir "$group"

exit $((failures > 0))
