#!/usr/bin/env bash
# Everything that needs a GPU, once: its tests, ceilings, and the paper's benchmarks with counters, in under 9 minutes.
#   ci/gpu_check.sh [--out DIR]      builds first where nothing is built; leaves everything in DIR (default: out/gpu-check)
#   ci/gpu_check.sh --pack DIR       makes DIR a folder that runs on another machine without installing anything there:
#                                    DIR/ci/gpu_check.sh --out ...
# Changes no setting of the GPU. May run again: what DIR has already (ceilings) is kept, the rest replaced. Exit code: 0 all
# is well, 1 something failed (the summary says what), 3 there is no GPU.
. "$(dirname "$0")/lib.sh"
out=out/gpu-check bin=build pack=""
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=${2:?--out needs a folder}; shift 2 ;;
    --pack) pack=${2:?--pack needs a folder}; shift 2 ;;
    *) fail "unknown argument '$1': gpu_check.sh [--out DIR] [--pack DIR]" ;;
  esac
done
readonly limit=530   # [s] of all
readonly programs="dlroof_bench dlroof dlroof_cuda_tests"

left() { local seconds=$((limit - SECONDS)); echo $((seconds > 5 ? seconds : 5)); }
# at_most SECONDS COMMAND...: within what is left of all; asked to stop first, so that files are whole.
at_most() { local seconds=$1; shift; [ "$seconds" -lt "$(left)" ] || seconds=$(left); timeout -s INT -k 10 "$seconds" "$@"; }

# The programs, the module, and those libraries that not every system has; CUDA's own stay where they are.
pack_into() {
  local folder=$1 library
  build_options+=(-DDLROOF_CUDA=ON -DDLROOF_ONEDNN=OFF)
  cmake --preset release -B build-carried -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${build_options[@]}" >/dev/null || fail "cmake could not configure build-carried"
  # shellcheck disable=SC2086
  cmake --build build-carried --target $programs dlroof_cuda || fail "the build failed"
  mkdir -p "$folder/build" "$folder/ci" "$folder/tests"
  for program in dlroof_bench dlroof libdlroof_cuda.so tests/dlroof_cuda_tests; do
    strip -o "$folder/build/$(basename "$program")" "build-carried/$program"
  done
  for program in "$folder"/build/*; do ldd "$program"; done | awk '$3 ~ /lib(fmt|benchmark|hwloc|gomp|gtest|gmock|pciaccess|udev|ltdl|xml2)[.-]/ {print $3}' \
    | sort -u | while read -r library; do cp -L "$library" "$folder/build/"; done
  cp ci/gpu_check.sh ci/lib.sh "$folder/ci/"
  cp -r tests/data "$folder/tests/"
  say "packed: $(du -sh "$folder" | cut -f1) in $folder"
}
if [ -n "$pack" ]; then pack_into "$pack"; exit 0; fi

# Before anything is built.
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && ! [ -e /dev/nvidiactl ] && [ -z "${LD_LIBRARY_PATH:-}" ]; then
  echo "gpu_check.sh: there is no GPU here: no NVIDIA driver (libcuda.so.1, /dev/nvidiactl) was found" >&2
  exit 3
fi
if ! [ -x "$bin/dlroof_bench" ]; then
  # shellcheck disable=SC2086
  install_packages $build_packages libgtest-dev libgmock-dev
  install_requirements
  install_cuda
  # shellcheck disable=SC2086
  build release $programs
fi
tests=$bin/tests/dlroof_cuda_tests
[ -x "$tests" ] || tests=$bin/dlroof_cuda_tests

# A packed folder brings its own libraries. Where CUDA's are not found, those of Python's wheels serve.
export LD_LIBRARY_PATH="$PWD/$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if ldd "$bin/libdlroof_cuda.so" | grep -q 'not found'; then
  wheels=$(python3 -c 'import importlib.util as u
spec = u.find_spec("nvidia")
print(list(spec.submodule_search_locations)[0] if spec else "")' 2>/dev/null || true)
  [ -z "$wheels" ] || LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$wheels/cu13/lib:$wheels/cudnn/lib"
fi

mkdir -p "$out"
out=$(cd "$out" && pwd)
export XDG_CACHE_HOME="$out/cache"
"$bin/dlroof" doctor > "$out/doctor.txt" 2>&1 || true
if ! grep -qE '^gpu[0-9]+ ' "$out/doctor.txt"; then
  echo "gpu_check.sh: no GPU can be used: $(sed -n 's/^gpu  *//p' "$out/doctor.txt" | head -n 1)" >&2
  exit 3
fi
say "$(grep -E '^gpu[0-9]+ ' "$out/doctor.txt" | head -n 1)"

failed=0
# step NAME SECONDS LOG COMMAND...: says how it ended, in the summary too.
: > "$out/summary.txt"
step() {
  local name=$1 seconds=$2 log=$3 begun=$SECONDS code=0; shift 3
  at_most "$seconds" "$@" > "$out/$log" 2>&1 || code=$?
  [ $code -eq 0 ] || failed=1
  printf '%-12s exit %-3s %4d s  %s\n' "$name" "$code" $((SECONDS - begun)) "$log" | tee -a "$out/summary.txt"
}
{ date -u; uname -srm; grep -h PRETTY_NAME /etc/os-release; nproc; cat /proc/driver/nvidia/version; grep -E 'Profiling' /proc/driver/nvidia/params
  ldd "$bin/libdlroof_cuda.so"; at_most 20 nvidia-smi -q; } > "$out/environment.txt" 2>&1 || true

step tests 120 tests.txt "$tests" '--gtest_filter=*OnGpu*' "--gtest_output=json:$out/tests.json"
step ceilings 150 ceilings.txt "$bin/dlroof" machine --device=gpu -o "$out/machine.json"
step benchmarks 300 benchmarks.txt "$bin/dlroof_bench" --dlroof_device=gpu --dlroof_suite=paper_gpu "--dlroof_machine=$out/machine.json" \
  --benchmark_repetitions=7 --benchmark_min_time=0.005 "--benchmark_out=$out/run.json"
# Raw counter values of the known kernels and of a few layers: as tests/data/cupti_<gpu>.json they are decoded again without a GPU.
step counters 60 counters.txt env "CUPTI_VALUES_FILE=$out/cupti_values.json" "$bin/dlroof_bench" --dlroof_device=gpu --dlroof_suite=paper_gpu \
  "--dlroof_machine=$out/machine.json" --dlroof_counters=cupti '--benchmark_filter=n16c64h112w112k64r3s3_s2|LSTM/.*/t16n16i32h64$' --benchmark_repetitions=1 --benchmark_min_time=0.001
step table 30 report.txt "$bin/dlroof" report "$out/run.json" --show table
# Predicted beside measured: the table, and a run file that compare --on=residual takes.
at_most 30 "$bin/dlroof" model "$out/run.json" -o "$out/model.json" -o "$out/model.txt" > "$out/model.log" 2>&1 \
  || say "no prediction: $(tail -n 1 "$out/model.log")"
at_most 20 "$bin/dlroof" report "$out/run.json" -o "$out/run.html" > "$out/page.txt" 2>&1 || say "no page: $(tail -n 1 "$out/page.txt")"

{
  sed -n 's/^\[  \(PASSED\|SKIPPED\|FAILED\)  *\] \([0-9].*\)/tests: \1 \2/p' "$out/tests.txt"
  for status in ok unsupported failed wrong; do
    printf 'benchmarks %s: %s\n' "$status" "$(grep -cE "\"status\": *\"$status\"" "$out/run.json" 2>/dev/null || true)"
  done
  grep -E '"(device|name|fingerprint|driver)":' "$out/machine.json" 2>/dev/null | sed 's/^ */machine /' || true
} >> "$out/summary.txt"
cat "$out/summary.txt"
say "done in $SECONDS s: $out"
exit $failed
