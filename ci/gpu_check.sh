#!/usr/bin/env bash
# Everything that needs a GPU, once: its tests, ceilings, and the paper's benchmarks with counters, in under 9 minutes.
#   ci/gpu_check.sh [--out DIR] [--archive FILE]
#                                    builds first where nothing is built; leaves everything in DIR (default: out/gpu-check), and
#                                    in FILE (.tar.gz) all of it but the cache, also when it is ended early
#   ci/gpu_check.sh --pack DIR       makes DIR a folder that runs on another machine without installing anything there:
#                                    DIR/ci/gpu_check.sh --out ...
# Changes no setting of the GPU. May run again: what DIR has already (ceilings) is kept, the rest replaced. Exit code: 0 all
# is well, 1 something failed (the summary says what), 3 there is no GPU.
readonly from=$PWD
. "$(dirname "$0")/lib.sh"
. ci/gpu_pack.sh
absolute() { case $1 in /*) echo "$1" ;; *) echo "$from/$1" ;; esac; }
out=$PWD/out/gpu-check bin=build pack="" archive=""
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$(absolute "${2:?--out needs a folder}"); shift 2 ;;
    --archive) archive=$(absolute "${2:?--archive needs a file}"); shift 2 ;;
    --pack) pack=$(absolute "${2:?--pack needs a folder}"); shift 2 ;;
    *) fail "unknown argument '$1': gpu_check.sh [--out DIR] [--archive FILE] [--pack DIR]" ;;
  esac
done
readonly limit=530   # [s] of all
readonly grace=10    # [s] from being asked to stop to being killed
readonly ending=45   # [s] kept for tables, pages and the archive
programs=(dlroof_bench dlroof dlroof_cuda_tests)
if [ -n "$pack" ]; then pack_into "$pack" "${programs[@]}"; exit 0; fi

# Not with -q: it would end the other program's writing, which pipefail takes for a failure.
has_line() { grep -E "$1" >/dev/null; }

# Before anything is built.
if ! ldconfig -p 2>/dev/null | has_line 'libcuda\.so\.1' && ! [ -e /dev/nvidiactl ] && [ -z "${LD_LIBRARY_PATH:-}" ]; then
  echo "gpu_check.sh: there is no GPU here: no NVIDIA driver (libcuda.so.1, /dev/nvidiactl) was found" >&2
  exit 3
fi
if ! [ -x "$bin/dlroof_bench" ]; then
  # shellcheck disable=SC2086
  install_packages $build_packages libgtest-dev libgmock-dev
  install_requirements
  install_cuda
  build release "${programs[@]}"
fi
tests=$bin/tests/dlroof_cuda_tests
[ -x "$tests" ] || tests=$bin/dlroof_cuda_tests

# A packed folder brings its own libraries. Where CUDA's are not found, those of a toolkit or of Python's wheels serve.
export LD_LIBRARY_PATH="$PWD/$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if ldd "$bin/libdlroof_cuda.so" | has_line 'not found'; then
  wheels=$(python3 -c 'import importlib.util as u
spec = u.find_spec("nvidia")
print(list(spec.submodule_search_locations)[0] if spec else "")' 2>/dev/null || true)
  [ -z "$wheels" ] || LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$wheels/cu13/lib:$wheels/cudnn/lib"
  LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64"
fi

# Results of an earlier run must not pass for this one's.
rm -rf "$out/tests" "$out"/{conv2d,lstm,more,counters,cupti_values,machine,model}.json "$out"/{conv2d,lstm}.html
mkdir -p "$out/tests"
export XDG_CACHE_HOME="$out/cache" TEST_TMPDIR="$out/tests"
child=""
bring() {
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  [ -z "$archive" ] || { mkdir -p "$(dirname "$archive")" && tar -czf "$archive" --exclude=./cache -C "$out" .; } || true
}
trap bring EXIT
trap 'exit 1' INT TERM HUP

# at_most SECONDS COMMAND...: asked to stop first, so that files are whole. In the background, so that a signal ends this script
# at once even where the command hangs in the driver. TERM: what runs in the background ignores INT.
at_most() {
  local code=0 seconds=$1; shift
  timeout -s TERM -k "$grace" "$seconds" "$@" &
  child=$!
  wait "$child" || code=$?
  child=""
  return "$code"
}

failed=0
keep=$((ending + 230))   # [s] left to what comes after: tests that hang must not cost ceilings and benchmarks
: > "$out/summary.txt"
tell() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
# step NAME SECONDS LOG COMMAND...: within what is left of all; says how it ended, in the summary too. $code is its exit code,
# 124 or more when it was cut off or crashed.
step() {
  local name=$1 seconds=$2 log=$3 begun=$SECONDS left=$((limit - keep - grace - SECONDS)); shift 3
  code=0
  [ "$seconds" -le "$left" ] || seconds=$left
  if [ "$seconds" -lt 5 ]; then
    code=124 failed=1
    tell "$(printf '%-12s not run: no time is left' "$name")"
    return
  fi
  at_most "$seconds" "$@" > "$out/$log" 2>&1 || code=$?
  [ $code -eq 0 ] || failed=1
  tell "$(printf '%-12s exit %-3s %4d s  %s' "$name" "$code" $((SECONDS - begun)) "$log")"
}
was_cut() { [ "$code" -ge 124 ]; }

# The gate: without a GPU nothing follows. A doctor who hangs or crashes has most likely met CUPTI.
counters=auto
code=0
at_most 60 "$bin/dlroof" doctor > "$out/doctor.txt" 2>&1 || code=$?
if was_cut; then
  counters=off failed=1
  tell "doctor       exit $code: it did not come to its end, so benchmarks run without counters  doctor.txt"
elif ! has_line '^gpu[0-9]+ ' < "$out/doctor.txt"; then
  echo "gpu_check.sh: no GPU can be used: $(sed -n 's/^gpu  *//p' "$out/doctor.txt" | head -n 1)" >&2
  exit 3
fi
say "$(grep -E '^gpu[0-9]+ ' "$out/doctor.txt" | head -n 1)"

{ date -u; uname -srm; grep -h PRETTY_NAME /etc/os-release; nproc; cat /proc/driver/nvidia/version; grep -E 'Profiling' /proc/driver/nvidia/params
  ldd "$bin/libdlroof_cuda.so"; at_most 20 nvidia-smi -q; } > "$out/environment.txt" 2>&1 || true

# test_suites NAME SECONDS FILTER: a process of their own, since a kernel that fails takes all of its process's tests with it.
test_suites() { step "$1" "$2" "tests/$1.txt" "$tests" "--gtest_filter=$3" "--gtest_output=json:$out/tests/$1.json"; }
readonly benched=(--dlroof_device=gpu --dlroof_live_check=false)

test_suites clock 30 'CudaClock*OnGpu*'
test_suites module 30 'CudaModule*OnGpu*'
# Before CUPTI, which could use the time up. Persistent LSTMs, which may take a process with them, come last of all.
test_suites cudnn 90 'GpuCudnn*OnGpu*-GpuCudnn*Persistent*'

# Tests of CUPTI, and its raw values of the known kernels and of a few layers: tests/data/cupti_<gpu>.json is decoded again
# without a GPU. The cost that they find decides whether the benchmarks count too.
cupti_steps() {
  test_suites cupti_cost 40 'CuptiCost*OnGpu*'
  test_suites cupti 60 'CuptiOnGpu*'
  test_suites cupti_times 40 'CuptiTimes*OnGpu*'
  test_suites cupti_rows 60 'CuptiRows*OnGpu*'
  step counters 60 counters.txt env "CUPTI_VALUES_FILE=$out/cupti_values.json" "$bin/dlroof_bench" "${benched[@]}" --dlroof_suite=paper_gpu \
    --dlroof_machine=none --dlroof_counters=cupti '--benchmark_filter=n16c64h112w112k64r3s3_s2|LSTM/.*/t16n16i32h64(/|$)' \
    --benchmark_repetitions=1 --benchmark_min_time=0.001 "--benchmark_out=$out/counters.json"
  # Asked to stop it writes its file whole; where it did not, it hung or crashed.
  ! was_cut || has_line '"records"' < "$out/counters.json" || counters=off
}
doctor_says=$counters
[ "$doctor_says" = off ] || cupti_steps
test_suites kernels 60 'CudaBench*OnGpu*'
test_suites others 30 '*OnGpu*-CudaClock*:CudaModule*:Cupti*:GpuCudnn*:CudaBench*'

keep=$((ending + 150))
step ceilings 150 ceilings.txt "$bin/dlroof" machine --device=gpu -o "$out/machine.json"
[ -s "$out/machine.json" ] || step ceilings-q 40 ceilings_quick.txt "$bin/dlroof" machine --device=gpu --quick -o "$out/machine.json"
machine=none
[ ! -s "$out/machine.json" ] || machine=$out/machine.json

# bench_suite STEP SECONDS SUITE FILTER
bench_suite() {
  step "$1" "$2" "$1.txt" "$bin/dlroof_bench" "${benched[@]}" "--dlroof_suite=$3" "--benchmark_filter=$4" "--dlroof_machine=$machine" \
    "--dlroof_counters=$counters" --benchmark_repetitions=5 --benchmark_min_time=0.005 "--benchmark_out=$out/$1.json"
}
# First the benchmarks that no other step covers, then the paper's, in two processes: a crash costs one of them.
keep=$((ending + 90))
bench_suite more 60 gpu_more .
keep=$((ending + 60))
bench_suite conv2d 150 paper_gpu '^Conv2D/'
keep=$ending
bench_suite lstm 100 paper_gpu '^LSTM/'
[ "$doctor_says" = auto ] || cupti_steps
test_suites persist 60 'GpuCudnn*Persistent*'

for run in conv2d lstm; do
  [ -s "$out/$run.json" ] || continue
  at_most 5 "$bin/dlroof" report "$out/$run.json" --show table > "$out/report_$run.txt" 2>&1 || say "no table: $(tail -n 1 "$out/report_$run.txt")"
  at_most 5 "$bin/dlroof" report "$out/$run.json" -o "$out/$run.html" > "$out/page_$run.txt" 2>&1 || say "no page: $(tail -n 1 "$out/page_$run.txt")"
done
if [ -s "$out/conv2d.json" ]; then
  # Predicted beside measured: the table, and a run file that compare --on=residual takes.
  at_most 5 "$bin/dlroof" model "$out/conv2d.json" -o "$out/model.json" -o "$out/model.txt" > "$out/model.log" 2>&1 \
    || say "no prediction: $(tail -n 1 "$out/model.log")"
fi

{
  for log in "$out"/tests/*.txt; do
    sed -n "s/^\[  \(PASSED\|SKIPPED\|FAILED\)  *\] \([0-9].*\)/$(basename "$log" .txt): \1 \2/p" "$log"
  done
  for file in more conv2d lstm; do
    [ -s "$out/$file.json" ] || continue
    for status in ok unsupported failed wrong; do
      printf '%s.json %s: %s\n' "$file" "$status" "$(grep -cE "\"status\": *\"$status\"" "$out/$file.json" || true)"
    done
  done
  grep -E '"(device|name|fingerprint|driver)":' "$out/machine.json" 2>/dev/null | sed 's/^ */machine /' || true
} >> "$out/summary.txt"
cat "$out/summary.txt"
say "done in $SECONDS s: $out"
exit $failed
