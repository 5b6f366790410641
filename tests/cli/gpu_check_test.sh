#!/usr/bin/env bash
# ci/gpu_check.sh as a packed folder with a CUDA module that is made up and tests that are stubs. Arguments: dlroof_bench, dlroof,
# the folder of the fake modules.
. "$(dirname "$0")/cli_checks.sh"
ci=$(cd "$(dirname "$0")/../../ci" && pwd)
folder=$dir/packed fakes=$3
mkdir -p "$folder/ci" "$folder/build" "$dir/driver" "$dir/elsewhere"
cp "$ci/gpu_check.sh" "$ci/gpu_pack.sh" "$ci/lib.sh" "$folder/ci"
cp "$1" "$folder/build/dlroof_bench"
cp "$2" "$folder/build/dlroof"
cp "$fakes/libcuda_fake.so" "$dir/driver/libcuda.so.1"
# Dies where it is told to, hangs where it is told to.
cat > "$folder/build/dlroof_cuda_tests" <<'STUB'
#!/usr/bin/env bash
case "$1" in
  "--gtest_filter=${STUB_CRASHES:-none}") kill -SEGV $$ ;;
  "--gtest_filter=${STUB_HANGS:-none}") sleep 100 ;;
esac
echo '{"tests": 1}' > "${2#--gtest_output=json:}"
echo '[  PASSED  ] 1 test.'
STUB
chmod +x "$folder/build/dlroof_cuda_tests"

module() { rm -f "$folder/build/libdlroof_cuda.so"; cp "$fakes/$1.so" "$folder/build/libdlroof_cuda.so"; }
check_gpu() { (cd "$dir/elsewhere" && LD_LIBRARY_PATH="$dir/driver" timeout 250 env "$@") >"$dir/out" 2>"$dir/err"; code=$?; }
has_files() { local file; for file in "$@"; do [ -s "$dir/elsewhere/result/$file" ] || { echo "no $file"; return 1; }; done; }
records() { python3 -c 'import json, sys
run = json.load(open(sys.argv[1]))
records, counters = run["records"], run["context"]["dlroof"]["counters"]
sys.exit(0 if eval(sys.argv[2]) else 1)' "$dir/elsewhere/result/$1" "$2"; }
summary() { grep -qE "$1" "$dir/elsewhere/result/summary.txt"; }
check_script="$folder/ci/gpu_check.sh"

module working
check_gpu "$check_script" --out result --archive kept/all.tar.gz
check "all is well" exits 0
check "files are where the caller wants them" has_files summary.txt doctor.txt environment.txt machine.json counters.json \
  conv2d.json lstm.json more.json report_conv2d.txt report_lstm.txt conv2d.html lstm.html tests/clock.txt tests/cupti.json tests/persist.json
check "convolutions and LSTMs are counted" records counters.json 'len([r for r in records if r["op"] == "Conv2D"]) == 12 and len([r for r in records if r["op"] == "LSTM"]) == 6'
check "and asked of CUPTI" records counters.json 'counters["asked"] == "cupti"'
check "the paper's benchmarks stand on roofs" records conv2d.json 'counters["asked"] == "auto" and any("classic" in r for r in records)'
check "each op by itself" records conv2d.json '{r["op"] for r in records} == {"Conv2D"} and len(records) == 78'
check "LSTMs too" records lstm.json '{r["op"] for r in records} == {"LSTM"} and len(records) == 96'
check "the rest of cuDNN is there" records more.json 'any("persist-dynamic" in r["name"] for r in records) and any("best" in r["name"] for r in records)'
check "the summary counts" summary 'conv2d.json ok: [0-9]{2}'
# What only one step has comes before what may use the time up or take the GPU down.
steps=$(sed -nE 's/^([a-z0-9_-]+) +exit.*/\1/p' "$dir/elsewhere/result/summary.txt" | tr '\n' ' ')
check "steps are in order: $steps" test "$steps" = \
  "clock module cudnn cupti_cost cupti cupti_times cupti_rows counters kernels others ceilings more conv2d lstm persist "
tar -tzf "$dir/elsewhere/kept/all.tar.gz" > "$dir/listed"
check "the archive has the results" grep -q '^./tests/cupti.json' "$dir/listed"
check "and not the cache" test -z "$(grep cache "$dir/listed")"

STUB_CRASHES='CuptiOnGpu*' check_gpu "$check_script" --out result
check "tests that crash make the exit code 1" exits 1
check "and are told" summary '^cupti +exit 139'
check "others run all the same" has_files tests/kernels.json conv2d.json

module crashes
rm -r "$dir/elsewhere/result/cache"
check_gpu "$check_script" --out result
check "a doctor who crashes: exit 1" exits 1
check "it is told" summary '^doctor +exit 134: .*without counters'
check "what the doctor saw first is kept" grep -q '^gpu0' "$dir/elsewhere/result/doctor.txt"
check "the rest runs without counters or roofs" records conv2d.json 'counters["asked"] == "off" and any(r["status"] == "ok" for r in records)'
check "ceilings were tried again" summary '^ceilings-q +exit 1'
check "CUPTI is tried at the end" summary '^counters +exit 134'

module no_device
check_gpu "$check_script" --out result
check "no GPU: exit 3" exits 3
check "and why" says 'no GPU can be used: the fake driver sees no GPU'

module working
(cd "$dir/elsewhere" && exec env LD_LIBRARY_PATH="$dir/driver" STUB_HANGS='CudaClock*OnGpu*' "$check_script" --out result --archive cut.tgz) >"$dir/out" 2>"$dir/err" &
script=$!
for _ in $(seq 300); do [ -e "$dir/elsewhere/result/tests/clock.txt" ] && break; sleep 0.1; done
kill -TERM "$script"
wait "$script"; code=$?
check "ended early: exit 1" exits 1
check "what there is comes back" test -n "$(tar -tzf "$dir/elsewhere/cut.tgz" | grep doctor.txt)"

check_gpu "$check_script" --what
check "an unknown argument is refused" exits 1

# What a packed folder carries.
fail() { echo "$*" >&2; exit 1; }
. "$ci/gpu_pack.sh"
mkdir "$dir/bin"
cp "$2" "$dir/bin/dlroof"
(check_carried "$dir/bin") 2>"$dir/err"; code=$?
check "libraries that are not packed are found" exits 1
check "and named" says 'not packed: .*libsqlite3'
carry_libraries "$dir/bin"
(check_carried "$dir/bin") 2>"$dir/err"; code=$?
check "packed, none is missing" exits 0
check "the system's stay" test ! -e "$dir/bin/libc.so.6" -a ! -e "$dir/bin/libstdc++.so.6"

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
