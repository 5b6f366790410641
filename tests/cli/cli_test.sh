#!/usr/bin/env bash
# The programs as a user meets them: flags, formats, bad input, interrupts. Arguments: dlroof_bench, dlroof.
. "$(dirname "$0")/cli_checks.sh"
bench=$1 dlroof=$2
names='^LSTM/cpu/reference'
quick=(--benchmark_repetitions=3 --benchmark_min_time=0.001)

run() { timeout 120 "$@" >"$dir/out" 2>"$dir/err"; code=$?; }
says_nothing_but() { ! grep -qvE -- "$1" "$dir/err"; }

# Ceilings once, without a cache that could be written.
XDG_CACHE_HOME=/proc/none run "$dlroof" machine --quick -o "$dir/machine.json"
check "machine --quick without a writable cache goes on" exits 0
check "and says so" says '/proc/none'
machine=--dlroof_machine=$dir/machine.json

run "$bench" --benchmark_list_tests
check "list exits 0" exits 0
check "list has the paper's LSTM" prints '^LSTM/cpu/onednn/bwd/f32/t16n16i32h16'
check "list measures nothing" test ! -s "$dir/err"

run "$bench" "$machine" "--benchmark_filter=$names" "${quick[@]}" --benchmark_out="$dir/run.json" --benchmark_context=note=hello --dlroof_html="$dir/run.html"
check "a filtered run exits 0" exits 0
check "table has a row with a time, or says that there is none" prints "^LSTM/cpu/reference/.* (([0-9.]+ [mu]s )|no time: )"
check "context is kept" grep -q '"note": "hello"' "$dir/run.json"
check "the page is written" grep -q 'LSTM/cpu/reference' "$dir/run.html"
run "$dlroof" report "$dir/run.json"
check "report reads it" exits 0
check "report shows it" prints 'LSTM/cpu/reference'
check "report complains of nothing but a picture without points" says_nothing_but '^no picture: figure: '

run "$bench" "$machine" "--benchmark_filter=$names" "${quick[@]}" --benchmark_enable_random_interleaving=true --benchmark_format=json
check "json on standard output" prints '"records"'
cp "$dir/out" "$dir/interleaved.json"
run "$dlroof" report "$dir/interleaved.json" --show table
check "interleaved run reads back" exits 0
run "$bench" "--benchmark_filter=$names" "${quick[@]}" --benchmark_format=csv
check "csv on standard output" prints '^name,iterations,real_time'
run "$bench" --benchmark_filter=nothing_of_this_name
check "no match is not an error, as always" exits 0

run "$bench" --benchmark_filtre=LSTM;             check "unknown flag" bad_input
run "$bench" --dlroof_treads=2;                   check "unknown own flag" bad_input
run "$bench" --dlroof_threads=4000;               check "more threads than CPUs" bad_input
run env OMP_PROC_BIND=close "$bench";             check "pinning by OpenMP" bad_input
run "$bench" --dlroof_suite="$dir/none.txt";      check "missing suite" bad_input
run "$bench" --dlroof_counters=papi;              check "unknown counters" bad_input
run "$bench" "$machine" "--benchmark_filter=$names" "${quick[@]}" --dlroof_counters=cupti
check "counters that are not there cost a sentence, not the run" exits 0
check "and the sentence names them" says 'dlroof_counters=cupti: '
run "$bench" --dlroof_simulated_call=LSTM/cpu/reference/nonsense
check "a call to simulate that cannot be" bad_input
# A cold call: 16 channels of 28 x 28, twice, and 2304 weights; beside those it fetches a few per cent of bookkeeping.
cold=Conv2D/cpu/onednn/fwd/f32/n1c16h28w28k16r3s3_p1/cold
run "$bench" --dlroof_simulated_call="$cold"
if exits 0; then   # else without oneDNN or valgrind's headers
  check "a simulated call says what it was" prints '"loops":"blocks of .*"tensor_bytes":'
  # A program with sanitizers does not run under valgrind.
  if command -v valgrind > /dev/null && ! grep -q __asan_init "$bench"; then
    echo "$cold" > "$dir/cold.txt"
    XDG_CACHE_HOME=$dir/cache timeout 900 "$bench" "$machine" --dlroof_suite="$dir/cold.txt" --benchmark_filter="$cold" "${quick[@]}" \
      --dlroof_counters=simulate --benchmark_out="$dir/simulated.json" >"$dir/out" 2>"$dir/err"; code=$?
    check "a cold call is simulated" exits 0
    check "its DRAM bytes are its tensors'" python3 -c 'import json, sys; w = json.load(open(sys.argv[1]))["records"][0]["work"]; sys.exit(not 1 <= w["simulated"]["bytes"]["dram"] / w["modelled"]["bytes"]["dram"] < 1.05)' "$dir/simulated.json"
  fi
fi
printf 'LSTM/cpu/onednn/bwd/f32/t1n1i1h1\n\nLSTM/cpu/onednn/bwd/f32/t1n1i1x1\n' > "$dir/suite.txt"
run "$bench" --dlroof_suite="$dir/suite.txt";     check "bad suite line" bad_input
check "names line and column" says 'suite.txt:3: column 3[0-9]:'
printf 'LSTM/cpu/onednn/bwd/f32/t1n1i1h1 x3\n LSTM/cpu/onednn/bwd/f32/t{1,2}n1i2h1 x0\n' > "$dir/suite.txt"
run "$bench" --dlroof_suite="$dir/suite.txt";     check "bad count" bad_input
check "names its line and column" says 'suite.txt:2: column 40: expected how often'
run "$bench" --dlroof_suite=resnet5;              check "unknown suite" bad_input
check "lists those there are" says "no suite 'resnet5'; there are alexnet, .*resnet50, "
run "$bench" --dlroof_suite=help
check "suites are listed" prints '^resnet50 +ResNet-50.s 53 convolutions'
run "$bench" --dlroof_suite=resnet50,gnmt --benchmark_list_tests
check "a built-in suite is run by name" prints '^Conv2D/cpu/onednn/fwd/int8/n16c3h224w224k64r7s7_s2p3'
check "and the default set is not" test -z "$(grep reference "$dir/out")"
for text in '' '{' '[]' '{"device": "cpu"}' '{"device": 5}'; do
  printf '%s' "$text" > "$dir/m.json"
  run "$bench" "--dlroof_machine=$dir/m.json" "--benchmark_filter=$names"
  check "machine file '$text'" bad_input
done
sed 's/"fingerprint": "/"fingerprint": "0/' "$dir/machine.json" > "$dir/m.json"
run "$bench" "--dlroof_machine=$dir/m.json" "--benchmark_filter=$names"
check "another machine's file" bad_input
run "$bench" "$machine" "--benchmark_filter=$names" "${quick[@]}" --benchmark_out="$dir/none/run.json"
check "unwritable output" bad_input
run "$bench" "$machine" "--benchmark_filter=$names" "${quick[@]}" --benchmark_out=/dev/full
check "full disk exits 2" exits 2
check "full disk is said" says '/dev/full: not all could be written'

run "$dlroof";                                    check "no command" bad_input
run "$dlroof" counters --chip=GH100;              check "counters of a chip that is not here" exits 0
check "names a metric and its weight" prints '32 x lts__t_sectors_srcunit_tex.sum'
run "$dlroof" counters --chip=H1;                 check "counters of no chip" bad_input
run "$dlroof" report;                             check "report of nothing" bad_input
run "$dlroof" report "$dir/none.json";            check "report of a missing file" bad_input
run "$dlroof" report "$dir/run.json" -o "$dir/x.doc";        check "unknown extension" bad_input
run "$dlroof" report "$dir/run.json" -o /dev/full/x.html;    check "unwritable page" bad_input
: > "$dir/empty.json"; run "$dlroof" report "$dir/empty.json"; check "empty file" bad_input
head -c 300 "$dir/run.json" > "$dir/cut.json"; run "$dlroof" report "$dir/cut.json"; check "cut before the first record" bad_input
# In the middle of the second benchmark's entries: the machine before them is most of the file.
first=$(grep -b -m1 '"benchmarks": \[' "$dir/run.json" | cut -d: -f1)
records=$(grep -b -m1 '"records": ' "$dir/run.json" | cut -d: -f1)
head -c $(((first + records) / 2)) "$dir/run.json" > "$dir/cut.json"
run "$dlroof" report "$dir/cut.json" --show table
check "cut later is read" exits 0
check "with a warning" says 'cut off; kept the'

# A model of two layers: summed up in the table, in the file and by the report.
printf 'LSTM/cpu/reference/fwd_inference/f64/t2n2i4h4 x3\nLSTM/cpu/reference/fwd_inference/f64/t2n2i8h4\n' > "$dir/net.txt"
run "$bench" "$machine" --dlroof_suite="$dir/net.txt" --benchmark_filter='/t2n2i' "${quick[@]}" --benchmark_out="$dir/net.json"
check "a model runs" exits 0
check "its row counts layers and calls" prints "^$dir/net.txt LSTM/cpu/reference/fwd_inference/f64 +([01] of )?2 +([013] of )?4( |\$)"
check "the file has its layers" grep -q '"count": 3' "$dir/net.json"
run "$dlroof" report "$dir/net.json" --show table
check "report has its row" prints "^$dir/net.txt LSTM/"

# Measurements of other tools on the roofs of a machine file.
data=$(dirname "$0")/../data
for sample in import_small.csv import_ncu_raw.csv import_ncu_details.csv import_likwid.csv import_nvbench.json import_benchdnn.txt; do
  run "$dlroof" import "$data/$sample" --machine "$dir/machine.json" -o "$dir/import.json"
  check "import of $sample" exits 0
  run "$dlroof" report "$dir/import.json" --show table
  check "report of the imported $sample" exits 0
done
run "$dlroof" import "$data/import_ncu_raw.csv" --set fw -o "$dir/import.json"
check "import names what it leaves out" says "column 'launch__registers_per_thread' is not known"
run "$dlroof" report "$dir/import.json" --show table
check "kernels without FLOPs are counted and timed" prints '^fw +1 +1 +25.0 % +40.0 %'
run "$dlroof" import "$data/import_ert.json" -o "$dir/v100.json"
check "ERT's results become a machine file" grep -q '"fp32.vector"' "$dir/v100.json"
run "$dlroof" import "$data/import_small.csv" --machine "$dir/v100.json" -o "$dir/import.json"
check "on which anything can stand" exits 0
run "$dlroof" import "$dir/machine.json" -o "$dir/x.json";                        check "import of no format" bad_input
run "$dlroof" import "$data/import_small.csv" --format tsv -o "$dir/x.json";      check "import by an unknown format" bad_input
run "$dlroof" import "$data/import_ert.json" --format csv -o "$dir/x.json";       check "import by the wrong format" bad_input
run "$dlroof" import "$data/import_small.csv" -o "$dir/none/x.json";              check "import to nowhere" exits 2
printf 'name,seconds\nx,fast\n' > "$dir/x.csv"
run "$dlroof" import "$dir/x.csv" -o "$dir/x.json";                               check "import of a bad number" bad_input
check "names line and column" says 'x.csv:2: column 3: expected a number'
run "$dlroof" report "$dir/import.json" --levels=dram,l9;                         check "an unknown level" bad_input
run "$dlroof" report "$dir/import.json" --sweep=colour -o "$dir/x.svg";           check "an unknown sweep" bad_input

# The model of GPU convolutions: no GPU is needed.
run "$dlroof" model --gpu v100 --suite alexnet --batch 256 --scale sm=2,dram=1.5,l2=2,l1=1,mac=2,tile=256x128
check "model predicts a suite" exits 0
check "says that it is a model" prints '^DeLTA-style model of NVIDIA Tesla V100'
check "answers what if" prints '^  alexnet +[0-9.]+x faster'
check "says what to balance next" prints '^balance next \(alexnet\)'
run "$dlroof" model --problem n16c64h112w112k64r3s3_s2 --sweep dram=1:2:1 --format=json
check "model writes json" prints '"sweep"'
run "$dlroof" model --problem n2c8h14w14k16r3s3_p1 --exact --direction bwd_weights --nhwc --type f16
check "model enumerates" exits 0
"$dlroof" model --problem n2c8h14w14k16r3s3_p1 --format=json | python3 -c 'import json,sys; g=json.load(sys.stdin)["gpu"]; del g["l2_bytes"]; json.dump(g, sys.stdout)' > "$dir/gpu.json"
run "$dlroof" model --gpu "$dir/gpu.json" --suite alexnet;    check "parameter file without a figure" bad_input
check "names it" says "gpu.json: 'l2_bytes': expected"
run "$dlroof" model --gpu v1000 --suite alexnet;             check "unknown GPU" bad_input
run "$dlroof" model --gpu v100,a100,h100 --suite alexnet
check "model of three GPUs" exits 0
check "a table of each" prints '^DeLTA-style model of NVIDIA H100'
run "$dlroof" model --gpu v100,a100 --suite alexnet -o "$dir/gpus.json"
check "several GPUs are an array" python3 -c 'import json, sys; all = json.load(open(sys.argv[1])); sys.exit([g["gpu"]["name"].split()[1] for g in all] != ["Tesla", "A100-SXM4-40GB"])' "$dir/gpus.json"
run "$dlroof" model --gpu v100,,a100 --suite alexnet;        check "a GPU without a name" bad_input
run "$dlroof" model --gpu v100,a100 --suite alexnet --scale sm=2 -o "$dir/x.svg"; check "one figure of two GPUs" bad_input
run "$dlroof" model "$data/v100_gpu_run.json";               check "a run that names no GPU" bad_input
check "says what to do" says 'does not say which GPU ran it; give --gpu'
run "$dlroof" model --gpu "$data/../../baselines/studies/delta_scaling/v100-1305mhz.json" "$data/../../baselines/studies/delta_scaling/v100-deepcam-launches.json"
check "the published launches beside the model" prints '^mean \(median\) absolute residual.* time 8\.[0-9]'
run "$dlroof" model --suite alexnet --sweep dram=1:1:1e-300; check "a step that changes nothing" exits 0
run "$dlroof" model --suite alexnet --scale dram=-1;         check "impossible scale" bad_input
run "$dlroof" model --suite alexnet --scale tile=512x512;    check "tile that fits no SM" bad_input
run "$dlroof" model --suite alexnet --sweep dram=2:1:1;      check "bad sweep" bad_input
run "$dlroof" model --suite nope;                            check "unknown suite for the model" bad_input
run "$dlroof" model;                                         check "model of nothing" bad_input
run "$dlroof" model "$dir/run.json";                         check "a run file without a GPU" bad_input
run "$dlroof" model --suite alexnet --machine "$dir/machine.json"; check "a CPU's ceilings for a GPU" bad_input
run "$dlroof" model --suite alexnet -o "$dir/x.doc";         check "unknown extension of a model" bad_input

# Supervised: the file of one process each has the same benchmarks; two builds by turns.
names_in() { python3 -c 'import json, sys; print(*[r["name"] for r in json.load(open(sys.argv[1]))["records"]])' "$1"; }
run "$dlroof" run -o "$dir/supervised.json" --seed 1 -- "$machine" "--benchmark_filter=$names" "${quick[@]}"
check "supervised exits 0" exits 0
check "the same benchmarks in the same order" test "$(names_in "$dir/run.json")" = "$(names_in "$dir/supervised.json")"
run "$dlroof" report "$dir/supervised.json" --show table
check "report reads it" exits 0
run "$dlroof" run --ab "$bench" "$bench" -o "$dir/old.json" -o "$dir/new.json" --budget 30 --cooldown 0.1 -- "$machine" '--benchmark_filter=^LSTM/cpu/reference/fwd_inference'
check "two builds end with a verdict, whichever" test "$code" -ne 2
check "its windows come in blocks of five" python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))["records"][0]["repetitions"]; sys.exit([x["block"] for x in r[:10]] != [0] * 5 + [1] * 5)' "$dir/new.json"

# A running program: interrupted, then killed. Waits for its first results, at most a minute.
start() {
  rm -f "$dir/live.json"
  "$bench" "$machine" '--benchmark_filter=^LSTM' --benchmark_min_time=0.05 --benchmark_out="$dir/live.json" >"$dir/out" 2>"$dir/err" &
  pid=$!
  for ((i = 0; i < 600; ++i)); do grep -q real_time "$dir/live.json" 2>/dev/null && return; sleep 0.1; done
  echo "FAILED: no result within a minute"; failures=$((failures + 1))
}
start; kill -INT $pid; wait $pid; code=$?
check "SIGINT exits 130" exits 130
run "$dlroof" report "$dir/live.json" --show table
check "what was finished is read" exits 0
check "the file is whole" test ! -s "$dir/err"
start; kill -KILL $pid; wait $pid 2>/dev/null
run "$dlroof" report "$dir/live.json" --show table
check "after a kill the finished ones are read" exits 0
check "with a warning that it is cut" says 'cut off; kept the'

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
