#!/usr/bin/env bash
# dlroof compare as a user meets it: formats, exit codes, bad input. Argument: dlroof.
. "$(dirname "$0")/cli_checks.sh"
dlroof=$1
cd "$dir" || exit 1

run() { timeout 60 "$dlroof" compare "$@" >out 2>err; code=$?; }
prints() { grep -qF -- "$1" out; }
silent() { [ ! -s err ]; }
bad_input() { exits 2 && [ ! -s out ] && [ "$(grep -c . err)" -eq 1 ]; }

# Run files: dlroof's own, and Google Benchmark's, of benchmarks with any name and seconds.
cat > make.py <<'PYTHON'
import json, sys
roof = {"per_second": 1e9, "threads": 2, "how": "x", "proved": True}
roofs = {"flops": {"fp32.vector": roof}, "bytes": {"dram": roof}}
def own(path, times, **more):
    run = {"context": {"date": more.pop("date", "2026-01-01T00:00:00+00:00"), "num_cpus": more.get("cpus", 2),
                       "dlroof": {"schema": 1, "conventions": {"flops": "fma is 2"}}},
           "machines": [] if more.get("bare") else [{"device": more.get("device", "cpu"), "name": "m", "fingerprint": more.pop("fingerprint", "00"), "measured_at": "2026-01-01T00:00:00Z",
                         "facts": {}, "cache_bytes": {}, **roofs, "by_threads": {"2": roofs}}],
           "records": [{"name": name, "status": "ok", "threads": more.get("threads", 2), "cache": more.get("cache", "cold"), "algorithm": "a",
                        "work": {"modelled": {"flops": {"fp32.vector": 1e9}, "bytes": {"dram": more.get("bytes", 10)}}},
                        "repetitions": [{"seconds": seconds * (1 + 0.002 * i), "iterations": 1} for i in range(9)]}
                       for name, seconds in times]}
    json.dump(run, open(path, "w"))
def plain(path, times, unit="ms", repetitions=5, cpu=1):
    json.dump({"context": {"num_cpus": 2}, "benchmarks": [
        {"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "iterations": 9, "real_time": value * (1 + 0.002 * i),
         "cpu_time": value * cpu, "time_unit": unit} for name, value in times for i in range(repetitions)]}, open(path, "w"))
conv = "Conv2D/cpu/onednn/fwd/f32/"
base = [(conv + "n1", 2.0), (conv + "n2", 2.0), (conv + "n20", 2.0)]
own("base.json", base)
own("same.json", base)
own("slower.json", [(conv + "n1", 2.6), (conv + "n2", 2.0), (conv + "n20", 2.0)])
own("slower_again.json", [(conv + "n1", 2.7)])
own("not_again.json", [(conv + "n1", 2.01)])
own("renamed.json", [(conv + "n1", 2.0), (conv + "n2", 2.0), (conv + "n21", 2.5)])
own("machine.json", base, fingerprint="11")
own("bare.json", base, bare=True)
own("bare_machine.json", base, bare=True, cpus=8)
own("roofless_machine.json", base, device="gpu", cpus=8)
own("threads.json", base, threads=1)
own("warm.json", base, cache="warm")
own("bytes.json", base, bytes=12)
own("part.json", [(conv + "n2", 2.0)], date="2026-03-03T00:00:00+00:00")
own("other.json", [("other", 1.0)])
own("twice.json", base + base)
own("mixed.json", base[:1] + [("other1", 1.0), ("other2", 1.0)])
own("negative.json", [(conv + "n1", -2.0)])
plain("plain.json", [("BM_A<int, 2>/8", 2.0), ("BM_B", 1.0)])
plain("plain_slower.json", [("BM_A<int, 2>/8", 2.0), ("BM_B", 1.5)])
plain("plain_us.json", [("BM_A<int, 2>/8", 2.0), ("BM_B", 1.0)], unit="us")
plain("plain_few.json", [("BM_A<int, 2>/8", 2.0), ("BM_B", 1.0)], repetitions=3)
plain("plain_negative.json", [("BM_B", -1.0)])
plain("plain_negative_cpu.json", [("BM_B", 1.0)], cpu=-1)
plain("plain_twice.json", [("BM_B", 1.0), ("BM_B", 1.0)])
nasty = "A,\"b\"'c'<d>&|`e`\\\n\u00e9\u20ac\u2028\x01 ]]>"
plain("nasty.json", [(nasty, 1.0), ("n", 1.0)])
plain("nasty_slower.json", [(nasty, 1.5), ("n", 1.0)])
json.dump(nasty, open("nasty_name.json", "w"))
gpu = {"name": "Conv2D/gpu/cudnn/fwd/f32/n16c64h56w56k128r1s1/nchw", "status": "ok", "algorithm": "volta_scudnn_128x64_relu",
       "repetitions": [{"seconds": 4e-4 * (1 + 0.002 * i), "iterations": 1} for i in range(9)]}
for path, dram in ("gpu.json", 6e7), ("gpu_more.json", 9e7):
    json.dump({"context": {"dlroof": {"schema": 1}}, "records": [{**gpu, "work": {"measured": {"bytes": {"dram": dram}}}}]}, open(path, "w"))
newer = json.load(open("base.json")); newer["context"]["dlroof"]["schema"] = 2; json.dump(newer, open("newer.json", "w"))
PYTHON
python3 make.py || exit 1

run base.json same.json;               check "the same exits 0" exits 0
check "and says so" prints "3 same"
check "without a word on stderr" silent
run base.json slower.json;             check "slower exits 1" exits 1
check "in the table" prints "slower"
check "with a cause" prints "unexplained: same algorithm"
check "with percent of roof" prints "49.6 -> 38.2"
run base.json slower.json --again slower_again.json;  check "slower in two processes too" exits 1
run base.json slower.json --again not_again.json;     check "not so in one of them alone" exits 0
check "which is said" prints 'slower in NEW, but not when measured again (not_again.json)'
run base.json slower.json --again slower.json;        check "the same run is no other one" bad_input
run base.json slower.json --again none.json;          check "no run to hold it against" bad_input
run base.json slower.json --again not_again.json --across-machines; check "nor beside percent of roof" bad_input
run slower.json base.json;             check "faster exits 0" exits 0
run plain.json plain_slower.json;      check "plain Google Benchmark files too" exits 1
run plain.json plain_few.json;         check "too few repetitions: cannot say" exits 3
check "and says why" prints "insufficient"
run base.json slower.json --min-effect=50%;  check "a minimum effect is obeyed" exits 0
check "and printed" prints "minimum effect 50.0 %"
run base.json bytes.json;              check "traffic alone is no alarm" exits 0
run base.json bytes.json --on=time,bytes;    check "unless it is asked for" exits 1
check "and is told" prints "dram bytes (modelled) grew by 20.0 %"
for run in gpu gpu_more; do "$dlroof" model --gpu v100 $run.json -o modelled_$run.json 2>model_err || exit 1; done
run modelled_gpu.json modelled_gpu_more.json;  check "a residual alone is no alarm" exits 0
check "but is told" prints "dram residual (measured over predicted) grew from"
run modelled_gpu.json modelled_gpu_more.json --on=residual; check "unless it is asked for" exits 1
check "as an alert" prints "alert on residual; dram residual"
check "with what all come to" prints "residuals (measured over predicted, mean distance from 1): dram"
run modelled_gpu_more.json modelled_gpu.json --on=residual; check "nearer to the model is no alarm" exits 0
run gpu.json gpu_more.json --on=residual;      check "no prediction: cannot say" exits 3
run base.json machine.json --across-machines; check "other machines by percent of roof" exits 0
run base.json bare.json;               check "without ceilings, as many CPUs" exits 0
run base.json mixed.json;              check "one benchmark in common is compared" exits 0
check "with a word on stderr" says '^only 1 of 3 benchmarks is in both files \(3 in BASE, 3 in NEW\)$'
check "and among the notes" prints "only 1 of 3 benchmarks is in both files"
printf 'Conv2D/cpu/onednn/fwd/f32/n20 Conv2D/cpu/onednn/fwd/f32/n21\n' > map.txt
run base.json renamed.json --map map.txt;    check "renamed benchmarks are mapped" exits 1
run base.json renamed.json;            check "without the map they are new and gone" exits 0

head -c 2000 base.json > cut.json
run base.json cut.json;                check "a cut file is read" test "$code" -ne 2
check "with a warning" says 'cut\.json: cut off; kept the'
for format in table json markdown junit sarif; do
  timeout 60 "$dlroof" compare base.json slower.json --format=$format >/dev/full 2>err; code=$?; : >out
  check "a full disk is no result: $format" bad_input
  check "and is said" says 'standard output: not all could be written'
done
run <(cat base.json) slower.json;      check "a pipe is read" exits 1

: > empty.json; echo '{"records": [{"name": "a", "repetitions": [{"seconds": NaN}]}]}' > nan.json
echo '{"records": [{"name": "a", "repetitions": [{"seconds": "1 ms"}]}]}' > text.json; echo hello > hello.json
for other in empty hello nan text newer machine bare_machine roofless_machine threads warm other twice negative plain none; do
  run base.json $other.json;           check "bad input: $other.json" bad_input
  check "naming it" says "$other\.json"
  run $other.json base.json;           check "bad input first: $other.json" bad_input
done
for other in plain_us plain_negative plain_negative_cpu plain_twice; do
  run plain.json $other.json;          check "bad input: $other.json" bad_input
  check "naming it" says "$other\.json"
done
run base.json;                         check "one file" bad_input
run base.json same.json slower.json;   check "three files" bad_input
run base.json same.json --on=heat;     check "unknown quantity" bad_input
run base.json same.json --format=xml;  check "unknown format" bad_input
run base.json same.json --min-effect=much;  check "no share" bad_input
run base.json same.json --min-effect=-1;    check "a negative share" bad_input
run base.json same.json --map none.txt;     check "no map" bad_input
echo 'one' > bad.txt
run base.json same.json --map bad.txt; check "a bad map" bad_input
check "naming its line" says 'bad\.txt:1:'

mkdir -p stored/m && cp base.json stored/m/old.json && cp slower.json stored/m/new.json && cp machine.json stored/m/other.json
sed -i 's/2026-01-01T00:00:00+00:00/2026-02-02T00:00:00+00:00/' stored/m/new.json
run --baseline auto --baselines stored slower.json;  check "the newest stored run is found" exits 0
check "and named" prints "stored/m/new.json -> slower.json"
rm stored/m/new.json
cp part.json stored/m/
run --baseline auto --baselines stored slower.json;  check "each benchmark has its newest stored run" exits 1
check "of which all are named" prints "stored/m/part.json, stored/m/old.json -> slower.json: 1 slower, 2 same"
check "and judged each by itself" prints "against stored/m/old.json (1 slower, 1 same): minimum effect"
check "with what has none" prints "0 of 3 benchmarks of NEW have no stored partner"
rm stored/m/part.json
run --baseline auto --baselines stored slower.json;  check "or the one before" exits 1
run --baseline auto --baselines stored plain.json;   check "no machine, no baseline" bad_input
run --baseline auto --baselines none slower.json;    check "no folder of baselines" bad_input

for format in json markdown junit sarif; do
  run nasty.json nasty_slower.json --format=$format;  check "$format exits as the table does" exits 1
  check "$format says nothing else" silent
  cp out written.$format
done
cat > read.py <<'PYTHON'
import html, json, re, xml.etree.ElementTree as tree
name = json.load(open("nasty_name.json"))
rows = json.load(open("written.json"))["benchmarks"]
assert [(r["name"], r["verdict"]) for r in rows] == [(name, "slower"), ("n", "same")], rows
suite = tree.parse("written.junit").getroot().find("testsuite")
case = suite.findall("testcase")[0]
assert case.get("name") == name.replace("\x01", "\\u0001"), case.get("name")
assert case.find("failure") is not None and suite.get("failures") == "1"
result, = json.load(open("written.sarif"))["runs"][0]["results"]
assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == name
cell = re.search("<code>(A.*?)</code>", open("written.markdown", newline="").read()).group(1)
assert re.sub("&#(\\d+);", lambda m: chr(int(m.group(1))), cell) == name, cell
PYTHON
python3 read.py >out 2>err;            check "names survive every format" test $? -eq 0

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
