#!/usr/bin/env bash
# The programs with a CUDA module that is made up, and with modules that are broken. Arguments: dlroof_bench, dlroof, the
# folder of the fake modules.
. "$(dirname "$0")/cli_checks.sh"
mkdir "$dir/bin" "$dir/driver"
cp "$1" "$2" "$dir/bin"
bench=$dir/bin/$(basename "$1") dlroof=$dir/bin/$(basename "$2") fakes=$3
cp "$fakes/libcuda_fake.so" "$dir/driver/libcuda.so.1"
export XDG_CACHE_HOME=$dir/cache
# A busy machine disturbs repetitions; three clean ones make a time.
quick=(--benchmark_repetitions=20 --benchmark_min_time=0.0001)

with_driver() { timeout 120 env LD_LIBRARY_PATH="$dir/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@" >"$dir/out" 2>"$dir/err"; code=$?; }
module() { rm -f "$dir/bin/libdlroof_cuda.so"; [ "$1" = none ] || cp "$fakes/$1.so" "$dir/bin/libdlroof_cuda.so"; }
file_has() { python3 -c 'import json, sys
run = json.load(open(sys.argv[1]))
record = {r["name"].split("/")[-1].removesuffix("c1h1w1k1r1s1"): r for r in run["records"]}
machine = {m["device"]: m for m in run["machines"]}
sys.exit(0 if eval(sys.argv[2]) else 1)' "$dir/run.json" "$1"; }

for program in "$bench" "$dlroof"; do
  check "$(basename "$program") links no CUDA library" test -z "$(readelf -d "$program" | grep NEEDED | grep -E 'lib(cu|nv)')"
done

printf 'Conv2D/gpu/cudnn/fwd/f32/n%s\n' {1,2,3}c1h1w1k1r1s1 4c1h1w1k1r1s1/cold > "$dir/suite.txt"
run_suite() { with_driver "$bench" --dlroof_device=gpu --dlroof_suite="$dir/suite.txt" "--benchmark_filter=f32/n[1234]c" "${quick[@]}" --benchmark_out="$dir/run.json"; }

module working
run_suite
check "a benchmark that broke makes the exit code 1" exits 1
check "the GPU's ceilings are measured" says 'Measuring the ceilings of Fake GPU'
check "the CPU's are not" file_has 'list(machine) == ["gpu"]'
check "a call's time is that of one launch" file_has 'abs(record["n1"]["seconds"]["median"] - 12e-6) < 1e-12'
check "beside its throughput and graph time" file_has 'abs(record["n1"]["gpu"]["throughput_seconds"] - 10e-6) < 1e-12 and abs(record["n1"]["gpu"]["graph_seconds"] - 9e-6) < 1e-12'
check "with clock, power, temperature, reasons" file_has 'record["n1"]["gpu"]["clock_hz"] == 1.7e9 and record["n1"]["gpu"]["power_watts"] == 500 and record["n1"]["gpu"]["throttle"] == ["sw_power_cap"]'
check "placed on the GPU's roofs" file_has 'abs(record["n1"]["classic"][0]["fraction"] - 1/12) < 1e-9 and record["n1"]["threads"] == 1'
check "what the library refuses is unsupported" file_has 'record["n2"]["status"] == "unsupported" and record["n2"]["reason"] == "the fake library has no n2"'
check "what breaks has failed" file_has 'record["n3"]["status"] == "failed" and "broke at n3" in record["n3"]["reason"]'
check "cold is cold" file_has 'record["cold"]["cache"] == "cold" and "throughput_seconds" not in record["cold"]["gpu"]'
check "the library is named" file_has 'run["context"]["dlroof"]["libraries"]["cudnn"] == "cuDNN of the fake"'
check "why counters were not read is in the record" file_has '"cupti: the fake driver keeps its counters to root" in record["n1"]["counting"]'
check "and one that broke, which costs nothing else" file_has '"breaking failed: the fake counter broke" in record["n1"]["counting"] and record["n1"]["status"] == "ok" and "modelled" in record["n1"]["work"]'
run_suite
check "the ceilings are kept" test -z "$(grep Measuring "$dir/err")"
with_driver "$dlroof" report "$dir/run.json" --show table
check "report reads it" exits 0
with_driver "$bench" --dlroof_device=gpu --dlroof_suite="$dir/suite.txt" "--benchmark_filter=f32/n1c" --dlroof_counters=cupti "${quick[@]}" --benchmark_out="$dir/run.json"
check "CUPTI asked for by name says why once, and no other source is asked" file_has 'record["n1"]["counting"] == ["cupti: the fake driver keeps its counters to root"] and record["n1"]["status"] == "ok"'
check "not that there is none" test -z "$(grep -- --dlroof_counters "$dir/err")"
with_driver "$bench" --dlroof_device=cpu --dlroof_counters=cupti --benchmark_filter=nothing
check "without a GPU that is what is said" says '--dlroof_counters=cupti: it counts on a GPU, and this run has none'

module late
with_driver "$bench" --dlroof_device=gpu --dlroof_suite="$dir/suite.txt" "--benchmark_filter=f32/n1c" "${quick[@]}"
check "what is prepared is freed before the libraries are" exits 0
module working

with_driver "$bench" --benchmark_list_tests
check "the default set has the GPU's" prints '^Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p0:1x0:1'
check "and the CPU's" prints '^Conv2D/cpu/onednn/'
with_driver "$bench" --dlroof_device=cpu --benchmark_list_tests
check "with the CPU alone there is none of the GPU's" test -z "$(grep /gpu/ "$dir/out")"
with_driver "$bench" --dlroof_device=gpu --dlroof_suite=resnet50 --benchmark_list_tests
check "a model of the CPU's suites runs on the GPU" prints '^Conv2D/gpu/cudnn/fwd/f32/n16c3h224w224k64r7s7_s2p3'
check "and only there" test -z "$(grep /cpu/ "$dir/out")"
with_driver "$bench" --dlroof_device=gpu7
check "a GPU that is not there is bad input" exits 2
check "and those there are listed" says 'there are gpu0 \(Fake GPU\)'
with_driver "$bench" --dlroof_device=tpu
check "an unknown device is bad input" exits 2
with_driver "$dlroof" machine --device=gpu -o "$dir/gpu.json"
check "machine shows the GPU's ceilings" prints 'Fake GPU'
check "and writes them" grep -q '"device": "gpu"' "$dir/gpu.json"
with_driver "$dlroof" doctor
check "the doctor finds it" prints '^gpu0 +Fake GPU'
check "and why its counters cannot be read" prints '^counters +cupti: the fake driver keeps'
check "and its library" prints '^cudnn +cuDNN of the fake'

XDG_CACHE_HOME=/proc/none with_driver "$dlroof" machine --quick -o "$dir/cpu.json"
with_driver "$bench" --dlroof_machine="$dir/cpu.json" --dlroof_machine="$dir/gpu.json" --dlroof_suite="$dir/suite.txt" \
  '--benchmark_filter=f32/n1c|^LSTM/cpu/reference/fwd_inf' --dlroof_live_check=false "${quick[@]}" --benchmark_out="$dir/run.json"
check "CPU and GPU in one run" exits 0
check "both machines are in the file" file_has 'sorted(machine) == ["cpu", "gpu"]'
check "each record on its own" file_has '"classic" in record["n1"] and all(abs(p["roof"] - 1e12) < 1 for p in record["n1"]["classic"])'

refused() {   # refused MODULE SENTENCE: every benchmark is recorded with it
  module "$1"
  with_driver "$bench" --dlroof_device=gpu --dlroof_suite="$dir/suite.txt" "--benchmark_filter=f32/n[1234]c1h1w1k1r1s1" "${quick[@]}" --benchmark_out="$dir/run.json"
  check "$1: exit 0" exits 0
  check "$1: says it" says "^No GPU can be used: .*$2"
  check "$1: records it" file_has "all(r['status'] == 'unsupported' and '$2' in r['reason'] for r in run['records']) and len(run['records']) == 4"
  with_driver "$dlroof" doctor
  check "$1: the doctor says it" prints "^gpu .*$2"
  with_driver "$dlroof" machine --device=gpu
  check "$1: no ceilings" exits 2
}
refused none 'this build has no CUDA module'
refused no_device 'the fake driver sees no GPU'
refused other_abi 'is of another build'
refused throws 'the fake fell over'
refused unresolved 'dlroof_function_of_no_library'
with_driver "$bench" --dlroof_machine="$dir/gpu.json"
check "a GPU's ceilings without a GPU are bad input" exits 2

module working
for program in "$bench --dlroof_device=gpu --benchmark_filter=/n1c1h1 --dlroof_suite=$dir/suite.txt" "$dlroof doctor"; do
  # shellcheck disable=SC2086
  timeout 120 $program >"$dir/out" 2>"$dir/err"; code=$?
  cat "$dir/out" >> "$dir/err"
  ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' || check "without a driver that is said" says 'no NVIDIA driver here'
done

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
