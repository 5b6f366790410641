#!/usr/bin/env bash
# dlroof history, export and dashboard as a user meets them. Arguments: dlroof, and a browser (may be missing).
# Prometheus' promtool and Apache Otava check what is written for them where they are installed.
. "$(dirname "$0")/cli_checks.sh"
dlroof=$1
browser=${2:-}
cd "$dir" || exit 1

run() { timeout 60 "$dlroof" "$@" >out 2>err; code=$?; }
prints() { grep -qF -- "$1" out; }
bad_input() { exits 2 && [ ! -s out ] && [ "$(grep -c . err)" -eq 1 ]; }

# 40 days of a run; 'b' is 30 % slower from day 21 on, with another algorithm.
mkdir runs
cat > make.py <<'PYTHON'
import json, random
random.seed(1)
odd = "A,\"b\"'c'<d>&|`e`\\\n\u00e9\u20ac\U0001f600 ]]></script>"
roof = {"per_second": 1e12, "threads": 2, "how": "x", "proved": True}
roofs = {"flops": {"fp32.vector": roof}, "bytes": {"dram": roof}}
def record(name, seconds, algorithm):
    return {"name": name, "status": "ok", "threads": 2, "cache": "cold", "algorithm": algorithm,
            "work": {"modelled": {"flops": {"fp32.vector": 1e9}, "bytes": {"dram": 1e6}}},
            "repetitions": [{"seconds": seconds * random.lognormvariate(0, 0.002), "iterations": 1} for _ in range(9)]}
for day in range(40):
    b = 1.3 if day >= 20 else 1
    run = {"context": {"date": "2026-%02d-%02dT00:00:00+00:00" % (1 + day // 28, 1 + day % 28), "dlroof": {"schema": 1, "commit": "c%d" % day}},
           "machines": [{"device": "cpu", "name": "m", "fingerprint": "00", "measured_at": "2026-01-01T00:00:00Z", "facts": {}, "cache_bytes": {}, **roofs, "by_threads": {"2": roofs}}],
           "records": [record("Conv2D/cpu/onednn/fwd/f32/a", random.lognormvariate(0, 0.01) * 0.01, "x"),
                       record("Conv2D/cpu/onednn/fwd/f32/b", random.lognormvariate(0, 0.01) * 0.01 * b, "y" if day >= 20 else "x"),
                       record(odd, 0.02, "x")]}
    json.dump(run, open("runs/%02d.json" % day, "w"))
json.dump(odd, open("odd.json", "w"))
PYTHON
python3 make.py || exit 1

run history add --db h.sqlite runs/0*.json runs/1*.json; check "runs are added" exits 0
check "and told" prints "runs/00.json: run 1, 3 benchmarks, 3 of them new"
run history add --db h.sqlite runs/00.json; check "the same run again is harmless" exits 0
check "and told so" prints "runs/00.json: is there already, as run 1"
pids=()
for day in 2 3; do
  for file in runs/"$day"*.json; do "$dlroof" history add --db h.sqlite "$file" >/dev/null 2>>errors & pids+=($!); done
done
lost=0; for pid in "${pids[@]}"; do wait "$pid" || lost=$((lost + 1)); done
check "twenty writers at once all succeed" test "$lost" -eq 0
run history list --db h.sqlite;        check "list exits 0" exits 0
check "all are there" prints "40 runs"
run history show --db h.sqlite Conv2D/cpu/onednn/fwd/f32/b;  check "show exits 0" exits 0
check "the change stands at its date" grep -qE "2026-01-21.*slower by \+(29|30|31)\.[0-9] % from here on; algorithm x -> y" out
check "and only there" test "$(grep -c 'from here on' out)" -eq 1
run history show --db h.sqlite f32/a;  check "a part of a name is enough" prints "noise"
run history add --db one.sqlite runs/00.json runs/01.json; check "two runs" exits 0
run history show --db one.sqlite f32/a; check "have no noise that is known" prints "noise not known, 0 outliers among them; 0 changes"
run history show --db h.sqlite f32/;   check "if it is no other's" bad_input
check "with the names" says "f32/a, Conv2D"
run history export --db h.sqlite --run 3 -o three.json;  check "a run comes out again" exits 0
run compare three.json runs/02.json;   check "as it went in" prints "3 same"
run history export --db h.sqlite;      check "all come out as CSV" test "$(python3 -c 'import csv; print(len(list(csv.reader(open("out", newline="")))))')" -eq 121

for kill in 1 2 3 4 5; do
  "$dlroof" history add --db killed.sqlite runs/*.json >/dev/null 2>&1 & pid=$!
  sleep "0.0$kill"; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
done
run history add --db killed.sqlite runs/*.json;  check "a killed history goes on" exits 0
run history list --db killed.sqlite;   check "to the end" prints "40 runs"

# What is read is one state of the history, whatever another program adds meanwhile.
mkdir many
cat > make_many.py <<'PYTHON'
import json
for run in range(300):
    json.dump({"context": {"date": "2026-01-01T00:%02d:%02d+00:00" % (run // 60, run % 60), "dlroof": {"schema": 1}},
               "records": [{"name": "n%d" % n, "status": "ok", "repetitions": [{"seconds": 1 + run * 1e-6 + i * 1e-3, "iterations": 1} for i in range(5)]}
                           for n in range(200)]}, open("many/%03d.json" % run, "w"))
PYTHON
python3 make_many.py || exit 1
run history add --db many.sqlite many/00?.json;  check "ten runs" exits 0
{ for file in many/0[1-9]?.json many/[12]??.json; do [ -e enough ] || "$dlroof" history add --db many.sqlite "$file" >/dev/null 2>>errors || exit 1; done; } & pid=$!
for read in 1 2 3 4 5; do
  run dashboard --db many.sqlite -o many_site;   check "a dashboard beside a writer: $read" exits 0
  run history show --db many.sqlite n7;          check "a benchmark beside a writer: $read" exits 0
  check "all of its runs: $read" test "$(grep -c '2026-01-01' out)" -eq "$(sed -nE 's/.*: ([0-9]+) runs, \1 with a time.*/\1/p' out)"
done
: > enough; wait $pid
check "which lost nothing" test $? -eq 0

for format in bencher github-action openmetrics csv otava otava-config; do
  run export --format=$format runs/39.json; check "$format exits 0" exits 0
  cp out written.$format
done
cat > read.py <<'PYTHON'
import csv, json, re
odd = json.load(open("odd.json"))
assert odd in json.load(open("written.bencher"))
assert [e["name"] for e in json.load(open("written.github-action"))][2] == odd
assert list(csv.DictReader(open("written.csv", newline="")))[2]["name"] == odd
assert next(csv.reader(open("written.otava", newline="")))[4] == odd
labels = re.findall(r'benchmark="((?:[^"\\]|\\.)*)"', open("written.openmetrics").read())
plain = [re.sub(r'\\(.)', lambda m: "\n" if m.group(1) == "n" else m.group(1), l) for l in labels]
assert plain[-1] == odd or odd in plain, plain
PYTHON
python3 read.py >out 2>err;            check "names survive every exporter" test $? -eq 0
run export --format=openmetrics --db h.sqlite --last 5;  cp out five.openmetrics; check "five runs" exits 0
run export --format=otava --db h.sqlite -o otava.csv;    check "a column per benchmark" exits 0
run export --format=otava-config --db h.sqlite -o otava.yaml; check "with what reads it" exits 0
if command -v promtool >/dev/null; then
  promtool check metrics < written.openmetrics >out 2>err;  check "promtool reads a run" test $? -eq 0
  promtool tsdb create-blocks-from openmetrics five.openmetrics blocks >out 2>err; check "and many" test $? -eq 0
else echo "skipped: promtool is not installed"; fi
if command -v otava >/dev/null; then
  OTAVA_CONFIG=otava.yaml otava analyze dlroof --since 2025-01-01 >out 2>err;  check "Otava reads it" test $? -eq 0
  check "and sees the change" grep -qE '\+(29|30|31)\.[0-9]%' out
else echo "skipped: otava is not installed"; fi

run dashboard runs -o site;            check "a folder becomes a site" exits 0
check "and is told" says "wrote site/index.html: 3 benchmarks, 40 dates, 1 changed"
run dashboard --db h.sqlite -o site2;  check "so does a history" exits 0
check "the same one" cmp -s site/data/times-1.js site2/data/times-1.js
check "with a badge" grep -q "1 slower since 2026-01-21" site/badge.svg
run dashboard --db one.sqlite -o site_of_two; check "two runs are a site too" exits 0
mkdir full; ln -s /dev/full full/roofline.html
run dashboard --db one.sqlite -o full; check "a page that the disk does not hold" bad_input
check "is named" says 'full/roofline\.html: '
check "the badge is XML" python3 -c 'import xml.etree.ElementTree as t; t.parse("site/badge.svg")'
check "nothing of it is elsewhere" test -z "$(grep -lE 'src="(https?:)?//' site/*.html)"
if [ -n "$browser" ]; then
  look() { timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --virtual-time-budget=20000 --user-data-dir="$dir/profile" --dump-dom "file://$dir/$1" >out 2>err; }
  look site/index.html;                     check "the index draws itself" prints 'data-listed="yes"'
  check "and what changed" prints "<h3>2026-01-21 00:00 c20: 1 slower"
  look 'site/index.html#series=2';          check "a series is drawn" prints 'data-drawn="yes"'
  look 'site_of_two/index.html#series=1'; check "so is one of two runs" prints 'data-drawn="yes"'
  check "without a noise" prints 'Too few runs to tell how they differ.'
  look 'site/roofline.html?run=7';          check "the roofline of a date is drawn" prints 'data-drawn="yes"'
  check "with its benchmarks" prints "3 of 3 shown"
fi

run history add --db h.sqlite none.json;      check "no file" bad_input
run history show --db none.sqlite x;          check "no history" bad_input
run history show --db runs/00.json x;         check "a file that is none" bad_input
run history show --db h.sqlite nothing;       check "no such benchmark" bad_input
run history export --db h.sqlite --run 99;    check "no such run" bad_input
run history export --db h.sqlite -o no/x.csv; check "nowhere to write" bad_input
run history;                                  check "no verb" bad_input
run export --format=xml runs/00.json;         check "no such format" bad_input
python3 -c 'import json; r = json.load(open("runs/00.json")); r["records"] += r["records"]; json.dump(r, open("twice.json", "w"))'
for format in bencher github-action openmetrics csv otava otava-config; do
  run export --format=$format twice.json;     check "a name that stands twice: $format" bad_input
  timeout 60 "$dlroof" export --format=$format runs/00.json >/dev/full 2>err; code=$?; : >out
  check "a full disk is no export: $format" exits 2
  check "and is said" says 'standard output: not all could be written'
done
for verb in list "show f32/a" export "export --run 1"; do
  # shellcheck disable=SC2086
  timeout 60 "$dlroof" history $verb --db h.sqlite >/dev/full 2>err; code=$?; : >out
  check "a full disk is no answer: history $verb" bad_input
done
run export --format=csv;                      check "nothing to export" bad_input
run export --format=bencher runs/00.json runs/01.json; check "two runs where one fits" bad_input
run dashboard;                                check "no folder" bad_input
run dashboard none;                           check "no such folder" bad_input
run dashboard site;                           check "a folder without run files" bad_input
run dashboard --db h.sqlite -o odd.json/site; check "no place for the site" bad_input

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
