#!/usr/bin/env bash
# Everything that needs a GPU, in steps, surest first. Each group of steps takes 9 minutes at most, also where every step hangs:
#   ci/gpu_check.sh --steps first       do kernels and cuDNN work? quick ceilings, Nsight Compute and compute-sanitizer on our kernels
#   ci/gpu_check.sh --steps counters    are CUPTI's counters right? 18 counted calls, one convolution under Nsight Compute
#   ci/gpu_check.sh --steps paper       ceilings, the paper's convolutions and LSTMs (timed, not counted), persistent LSTMs last
#   ci/gpu_check.sh --steps twenty      for a visit of minutes, 200 s at most, the most important first: quick ceilings, two equal runs
#                                       compared, graphs' kernels, queued calls warm and cold, passes of CUPTI
#   ci/gpu_check.sh --steps programs    PyTorch programs under `dlroof profile --gpu`, each beside torch.profiler (needs torch there)
#   ci/gpu_check.sh --steps time        90 s: 40 calls' times beside CUPTI's durations of their kernels and PyTorch's graphs
#   ci/gpu_check.sh --steps models      90 s: every mask of attention and the operators on rows are right; their times beside PyTorch's
#   ci/gpu_check.sh                     all of them, one after the other
# Options: --steps A,B (groups or steps), --list (their limits), --out DIR (default: out/gpu-check), --archive FILE.tar.gz (all of
# DIR but the cache, whole after each step that ended); --pack DIR makes a folder that runs on another machine without installing
# anything there (DIR/ci/gpu_check.sh), --archs LIST the GPUs that it is compiled for (90-real; default: all).
#
# Builds first where nothing is built. Changes no setting of the GPU. Calls with the same DIR add to each other: a step replaces its
# own files alone. Exit code: 0 all is well, 1 something failed (summary.txt says what), 3 there is no GPU.
readonly from=$PWD
. "$(dirname "$0")/lib.sh"
. ci/gpu_pack.sh

# GROUP STEP SECONDS. A step's time ends with its being killed; tests/cli/test_gpu_check.py holds the sums against 540 s (twenty: 200 s),
# and the suites' costs on the host against their steps. A step of several chosen groups has the first one's time.
readonly table="
first doctor 30
first environment 20
first clock 30
first module 20
first kernels 60
first quick 50
first cudnn 100
first known 80
first sanitizer 120
counters doctor 30
counters environment 20
counters cupti 70
counters cupti_times 50
counters cupti_rows 80
counters others 30
counters counters 120
counters ncu 80
twenty doctor 15
twenty quick 50
twenty aa 45
twenty nodes 15
twenty queued 15
twenty passes 20
twenty pages 15
time doctor 10
time kernel_time 75
models doctor 10
models quick 35
models right 15
models models 30
programs doctor 30
programs environment 20
programs quick 50
programs programs 430
paper doctor 30
paper environment 20
paper quick 50
paper ceilings 130
paper conv2d 100
paper lstm 80
paper more 40
paper persist 30
paper persistent 20
paper pages 20
"
# [s] of a step's time, from being asked to stop to being killed.
grace_of() { if [ "$1" -gt 25 ]; then echo 10; else echo 5; fi; }
programs=(dlroof_bench dlroof dlroof_cuda_tests)

# The steps in the order in which they run. The pages show what is there by then.
ordered_steps() { awk '$2 != "pages" && !seen[$2]++ { print $2 } END { print "pages" }' < <(grep . <<<"$table"); }

# select_steps A,B...: sets `steps`, `limits` (by step [s]) and `limit` (their sum [s]). The doctor is always among them.
declare -A limits=()
select_steps() {
  local group step seconds
  steps="" limit=0
  while read -r group step seconds; do
    case ",$1," in *,"$group",* | *,"$step",* | *,all,*) ;; *) continue ;; esac
    : "${limits[$step]:=$seconds}"
  done < <(grep . <<<"$table")
  : "${limits[doctor]:=30}"
  for step in $(ordered_steps); do
    [ -z "${limits[$step]:-}" ] || steps="$steps $step" limit=$((limit + limits[$step]))
  done
  for step in ${1//,/ }; do
    [ "$step" = all ] || grep -qE "^$step | $step " <<<"$table" || fail "no step or group '$step': --list shows them"
  done
}

absolute() { case $1 in /*) echo "$1" ;; *) echo "$from/$1" ;; esac }
out=$PWD/out/gpu-check bin=build pack="" archive="" chosen=all archs=""
while [ $# -gt 0 ]; do
  case $1 in
    --steps)
      chosen=${2:?--steps needs names}
      shift 2
      ;;
    --list)
      grep . <<<"$table"
      exit 0
      ;;
    --out)
      out=$(absolute "${2:?--out needs a folder}")
      shift 2
      ;;
    --archive)
      archive=$(absolute "${2:?--archive needs a file}")
      shift 2
      ;;
    --pack)
      pack=$(absolute "${2:?--pack needs a folder}")
      shift 2
      ;;
    --archs)
      archs=${2:?--archs needs a list}
      shift 2
      ;;
    *) fail "unknown argument '$1': gpu_check.sh [--steps A,B] [--list] [--out DIR] [--archive FILE] [--pack DIR [--archs LIST]]" ;;
  esac
done
if [ -n "$pack" ]; then
  pack_into "$pack" "$archs" "${programs[@]}"
  exit 0
fi
select_steps "$chosen"

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
for folder in /usr/local/cuda/bin /opt/nvidia/nsight-compute/*; do PATH=$PATH:$folder; done
export PATH XDG_CACHE_HOME="$out/cache" TEST_TMPDIR="$out/tests"
# Results of an earlier run must not pass for this one's.
for step in $steps; do rm -rf "$out/$step".* "$out/tests/$step".*; done
mkdir -p "$out/tests"

now() { date +%s; }
begun=$(now)
readonly begun
elapsed() { echo $(($(now) - begun)); }

# The archive is whole at every moment: it is written beside its name, then takes it.
bring() {
  local step
  for step in $(ordered_steps); do cat "$out/$step.step" 2>/dev/null || true; done >"$out/summary.txt"
  [ -n "$archive" ] || return 0
  mkdir -p "$(dirname "$archive")"
  tar -czf "$archive.new" --exclude=./cache -C "$out" . 2>/dev/null || true
  mv "$archive.new" "$archive"
}
child="" alarm=""
end() {
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  [ -z "$alarm" ] || kill "$alarm" 2>/dev/null || true
  bring
}
trap end EXIT
trap 'exit 1' INT TERM HUP

# at_most SECONDS COMMAND...: asked to stop first, so that files are whole, then killed. A process that hangs in the driver outlives
# even that: nobody waits for it. In the background, so that a signal ends this script at once. TERM: such processes ignore INT.
at_most() {
  local code=0 seconds=$1 grace
  grace=$(grace_of "$1")
  shift
  timeout -s TERM -k "$grace" "$((seconds - grace))" "$@" &
  child=$!
  sleep "$((seconds + 2))" >/dev/null 2>&1 &
  alarm=$!
  wait -n "$child" "$alarm" || code=$?
  if kill -0 "$alarm" 2>/dev/null; then
    kill "$alarm" 2>/dev/null
    wait "$alarm" 2>/dev/null || true
  else code=137; fi
  child="" alarm=""
  return "$code"
}

failed=0
# tell STEP TEXT...: in the archive before it is shown.
tell() {
  printf '%-12s %s\n' "$1" "${*:2}" >"$out/$1.step"
  bring
  cat "$out/$1.step"
}

# [s] that earlier steps left of their time.
spare() {
  local step seconds=$((limit - $(elapsed)))
  for step in $waiting; do seconds=$((seconds - limits[$step])); done
  echo "$((seconds > 60 ? 60 : seconds))"
}
# witness STEP COMMAND...: what can be learnt of a crash in that time.
witness() {
  local step=$1 log=$out/$1.cudnn.log
  shift
  {
    dmesg 2>&1 | grep -E 'NVRM|Xid' | tail -n 20
    [ "$(spare)" -lt 15 ] || at_most 15 nvidia-smi -q -d ECC,PERFORMANCE,ROW_REMAPPER
  } >"$out/$step.xid.txt" 2>&1 || true
  if ! command -v cuda-gdb >/dev/null || [ "$(spare)" -lt 20 ]; then return 0; fi
  CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG="$log" at_most "$(spare)" cuda-gdb -batch -ex run -ex bt -ex 'info cuda kernels' \
    --args "$@" >"$out/$step.backtrace.txt" 2>&1 || true
  tail -c 200000 "$log" >"$out/$step.cudnn.txt" 2>/dev/null || true
  rm -f "$log"
}

# run STEP LOG COMMAND...: $code is the exit code, 124 or more where the step was cut off or crashed.
run() {
  local step=$1 log=$2 at note=""
  shift 2
  at=$(elapsed) code=0
  at_most "${limits[$step]}" "$@" >"$out/$log" 2>&1 || code=$?
  at=$(($(elapsed) - at))
  if has_line 'Running 0 tests' <"$out/$log"; then failed=1 note="  no test has its name"; fi
  [ "$code" -eq 0 ] || failed=1
  if [ "$code" -ge 128 ] && [ "$code" -ne 137 ]; then witness "$step" "$@"; fi
  tell "$step" "$(printf 'exit %-3s %4d s  %s%s' "$code" "$at" "$log" "$note")"
}
# A process of their own, since a kernel that fails takes all of its process's tests with it.
run_tests() { run "$1" "tests/$1.txt" "$tests" "--gtest_filter=$2" "--gtest_output=json:$out/tests/$1.json"; }
# run_tests_then STEP FILTER COMMAND...: both in the step's time.
run_tests_then() {
  # shellcheck disable=SC2016
  run "$1" "$1.txt" bash -c 'status=0
    "$1" "--gtest_filter=$2" "--gtest_output=json:$3" || status=$?
    "${@:4}" || status=$?
    exit $status' _ "$tests" "$2" "$out/tests/$1.json" "${@:3}"
}
# run_tool STEP TOOL COMMAND...: one of NVIDIA's, which is not on every machine.
run_tool() {
  if ! command -v "$2" >/dev/null; then
    tell "$1" "not run: there is no $2 on this machine"
    return
  fi
  run "$1" "$1.txt" "${@:3}"
}
readonly benched=(--dlroof_device=gpu --dlroof_live_check=false)
# The full ceilings, where they were measured to their end, else the quick ones, else those that were ended early.
roofs() {
  local file
  for file in ceilings quick; do
    if [ -s "$out/$file.json" ] && ! has_line '"ended_early"' <"$out/$file.json"; then
      echo "$out/$file.json"
      return
    fi
  done
  if [ -s "$out/ceilings.json" ]; then echo "$out/ceilings.json"; else echo none; fi
}
# run_bench STEP SUITE FILTER: counting takes time, and under CUPTI the GPU launches more slowly: the step "counters" does it.
run_bench() {
  run "$1" "$1.txt" "$bin/dlroof_bench" "${benched[@]}" "--dlroof_suite=$2" "--benchmark_filter=$3" "--dlroof_machine=$(roofs)" \
    --dlroof_counters=off --benchmark_repetitions=5 --benchmark_min_time=0.005 "--benchmark_out=$out/$1.json"
}
# Every benchmark's name ends in /manual_time for --benchmark_filter.
readonly small_lstms='LSTM/.*/t16n16i32h64(/|$)'
readonly small_calls="n16c64h112w112k64r3s3_s2|$small_lstms"
readonly one_call='Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p0:1x0:1(/|$)'

# Suites of their own, in the result.
write_suites() {
  cat >"$out/queued.suite.txt" <<'EOF'
Conv2D/gpu/cudnn/{fwd,bwd_weights}/f16/n16c64h56w56k64r3s3_p1{,/cold}
Conv2D/gpu/cudnn/fwd/f16/n16c256h14w14k1024r1s1{,/cold}
LSTM/gpu/cudnn/fwd_inference/f16/t16n16i128h128{,/cold}
Matmul/gpu/cublaslt/fwd/f16/m1024n768k768{,/cold}
EOF
  cat >"$out/passes.suite.txt" <<'EOF'
Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p0:1x0:1
Conv2D/gpu/cudnn/fwd/f32/n16c64h112w112k64r3s3_s2p0:1x0:1/nchw
LSTM/gpu/cudnn/fwd_inference/f16/t16n16i32h64
Matmul/gpu/cublaslt/fwd/f16/m1024n768k768
EOF
}

# Without a GPU nothing follows. A doctor who hangs or crashes has most likely met CUPTI.
step_doctor() {
  run doctor doctor.txt "$bin/dlroof" doctor
  if [ "$code" -lt 124 ] && ! has_line '^gpu[0-9]+ ' <"$out/doctor.txt"; then
    echo "gpu_check.sh: no GPU can be used: $(sed -n 's/^gpu  *//p' "$out/doctor.txt" | head -n 1)" >&2
    exit 3
  fi
}
step_environment() {
  # shellcheck disable=SC2016
  run environment environment.txt bash -c 'date -u; uname -srm; grep -h PRETTY_NAME /etc/os-release; nproc; cat /proc/driver/nvidia/version
    grep -E Profiling /proc/driver/nvidia/params; ldd "$1"; nvidia-smi -q; true' _ "$bin/libdlroof_cuda.so"
}
step_clock() { run_tests clock 'CudaClock*OnGpu*'; }
step_module() { run_tests module 'CudaModule*OnGpu*'; }
step_kernels() { run_tests kernels 'CudaBench*OnGpu*'; }
step_quick() { run quick quick.txt "$bin/dlroof" machine --device=gpu --quick -o "$out/quick.json"; }
# It also writes what cuDNN says of this GPU, and which engines it proposes.
step_cudnn() { run_tests cudnn 'GpuCudnn*OnGpu*-GpuCudnn*Persistent*'; }
step_known() {
  run_tool known ncu "$bin/dlroof" profile --gpu --launches 200 -o "$out/known.json" -- "$tests" '--gtest_filter=KnownCallsOnGpu*'
}
step_sanitizer() { run_tool sanitizer compute-sanitizer compute-sanitizer --tool memcheck --error-exitcode 9 "$tests" '--gtest_filter=CudaBench*OnGpu*'; }

step_cupti() { run_tests cupti 'CuptiOnGpu*'; }
step_cupti_times() { run_tests cupti_times 'CuptiTimes*OnGpu*'; }
step_cupti_rows() { run_tests cupti_rows 'CuptiRows*OnGpu*'; }
step_others() { run_tests others '*OnGpu*-CudaClock*:CudaModule*:Models*:Cupti*:GpuCudnn*:CudaBench*:KnownCalls*'; }
step_counters() {
  run counters counters.txt "$bin/dlroof_bench" "${benched[@]}" --dlroof_suite=paper --dlroof_machine=none \
    --dlroof_counters=cupti:all "--benchmark_filter=$small_calls" --benchmark_repetitions=1 --benchmark_min_time=0.001 "--benchmark_out=$out/counters.json"
}
step_ncu() {
  run_tool ncu ncu "$bin/dlroof" profile --gpu --launches 20 --machine "$(roofs)" -o "$out/ncu.json" -- "$bin/dlroof_bench" "${benched[@]}" \
    --dlroof_suite=paper "--benchmark_filter=$one_call" --dlroof_machine=none --dlroof_counters=off --benchmark_repetitions=1 --benchmark_min_time=0.001
}

# Two equal runs, and whether dlroof compare calls them the same: the exit code is its own.
step_aa() {
  # shellcheck disable=SC2016
  run aa aa.txt bash -c 'out=$1 dlroof=$2
    for again in 1 2; do "${@:3}" "--benchmark_out=$out/aa$again.json" || exit; done
    "$dlroof" compare "$out/aa1.json" "$out/aa2.json"' _ "$out" "$bin/dlroof" "$bin/dlroof_bench" "${benched[@]}" \
    --dlroof_suite=alexnet,resnet50 --dlroof_types=f16 --dlroof_directions=fwd --dlroof_counters=off "--dlroof_machine=$(roofs)" \
    --benchmark_repetitions=5 --benchmark_min_time=0.01
}
# LSTMs whose launches no counter counts: the captured graph does.
step_nodes() {
  run_tests_then nodes 'CudaClockOnGpu.KernelNodes*' "$bin/dlroof_bench" "${benched[@]}" --dlroof_suite=paper "--benchmark_filter=$small_lstms" \
    "--dlroof_machine=$(roofs)" --dlroof_counters=off --benchmark_repetitions=3 --benchmark_min_time=0.005 "--benchmark_out=$out/nodes.json"
}
step_queued() {
  write_suites
  run_tests_then queued 'CudaClockOnGpu.*Queued*' "$bin/dlroof_bench" "${benched[@]}" "--dlroof_suite=$out/queued.suite.txt" \
    "--dlroof_machine=$(roofs)" --dlroof_counters=off --benchmark_repetitions=3 --benchmark_min_time=0.005 "--benchmark_out=$out/queued.json"
}
# Passes of a call of each kind. Not with cupti:all, which counts everything that the chip can.
step_passes() {
  write_suites
  # shellcheck disable=SC2016
  run passes passes.txt bash -c '"${@:2}" || exit
    grep -oE "\"name\": *\"[A-Za-z0-9]+/gpu/[^\"]*|[0-9]+ pass(es)?," "$1"' _ "$out/passes.json" "$bin/dlroof_bench" "${benched[@]}" \
    "--dlroof_suite=$out/passes.suite.txt" --dlroof_machine=none --dlroof_counters=cupti \
    --benchmark_repetitions=1 --benchmark_min_time=0.001 "--benchmark_out=$out/passes.json"
}

# Traced, counted for 15 s each, and compared with torch.profiler's device time of a step.
step_programs() {
  if ! python3 -c 'import torch' 2>/dev/null; then
    tell programs "not run: there is no PyTorch on this machine"
    return
  fi
  run programs programs.txt python3 ci/gpu_programs.py all "$PWD/$bin/dlroof" "$out" "$(roofs)" 400
}
# What models are made of.
step_right() { run_tests right 'ModelsOnGpu*'; }
step_kernel_time() { run kernel_time kernel_time.txt python3 ci/gpu_kernel_time.py "$PWD/$bin/dlroof_bench" "$out"; }
step_models() { run models models.txt python3 ci/gpu_models.py "$PWD/$bin/dlroof_bench" "$out" "$(roofs)"; }
step_ceilings() { run ceilings ceilings.txt "$bin/dlroof" machine --device=gpu -o "$out/ceilings.json"; }
step_conv2d() { run_bench conv2d paper '^Conv2D/'; }
step_lstm() { run_bench lstm paper '^LSTM/'; }
step_more() { run_bench more gpu_more -persist; }
# They may take the process with them: a grid that waits for itself.
step_persist() { run_tests persist 'GpuCudnn*Persistent*'; }
step_persistent() { run_bench persistent gpu_more persist; }
step_pages() {
  # shellcheck disable=SC2016
  run pages pages.txt bash -c 'dlroof=$1 status=0; cd "$2"
    for run in conv2d lstm aa1 nodes queued; do
      [ -s $run.json ] || continue
      "$dlroof" report $run.json --show table > pages.$run.txt || status=1
      "$dlroof" report $run.json -o pages.$run.html || status=1
    done
    # Predicted beside measured: the table, and a run file.
    [ ! -s conv2d.json ] || "$dlroof" model conv2d.json -o pages.model.json -o pages.model.txt || echo "no prediction of this GPU"
    for run in more conv2d lstm persistent aa1 aa2 nodes queued passes; do
      for status_of in ok unsupported failed wrong; do
        [ ! -s $run.json ] || printf "%s.json %s: %s\n" $run $status_of "$(grep -cE "\"status\": *\"$status_of\"" $run.json)"
      done
    done
    exit $status' _ "$PWD/$bin/dlroof" "$out"
}

waiting=$steps
for step in $steps; do
  waiting=${waiting#" $step"}
  "step_$step"
done
say "done in $(elapsed) s: $out"
exit $failed
