#!/usr/bin/env bash
# dlroof run as a user meets it: processes that crash and hang, kill -9, --resume, two builds by turns. Arguments: dlroof, fake_bench.sh.
. "$(dirname "$0")/cli_checks.sh"
dlroof=$1 fake=$2
cd "$dir" || exit 1
cp "$fake" bench; cp "$fake" slow_bench; cp "$fake" other_bench
RANDOM=7

# The ceilings are not looked for when a file is named; the fake does not read it.
one=(run --bench ./bench --seed 1)
two=(run --ab ./bench ./slow_bench --seed 1 -o old.json -o new.json)
arguments=(-- --dlroof_machine=none)
run() { timeout 60 "$dlroof" "$@" >out 2>err; code=$?; }
bad_input() { exits 2 && [ ! -s out ] && [ "$(grep -c . err)" -eq 1 ]; }
holds() { python3 -c 'import json, sys; run = json.load(open(sys.argv[1])); by = {r["name"].split("/")[-1]: r for r in run["records"]}; sys.exit(not eval(sys.argv[2]))' "$1" "$2"; }
clean() { rm -f ./*.json ./*.journal; }

# One build: every benchmark by itself, whatever it does.
export FAKE_NAMES='n1 crash exit silent refused noisy n2'
run "${one[@]}" --cooldown 0.01 "${arguments[@]}" --benchmark_filter=/f32/
check "a failure among them exits 1" exits 1
check "the file has all, in the order of the list" holds run.json '[r["name"].split("/")[-1] for r in run["records"]] == "n1 crash exit silent refused noisy n2".split()'
check "good ones have their time" holds run.json 'by["n1"]["seconds"]["clean"] == 9 and by["n2"]["status"] == "ok"'
check "a crash says its signal and last words" holds run.json 'by["crash"]["status"] == "failed" and "signal 11" in by["crash"]["reason"] and "about to crash" in by["crash"]["reason"]'
check "an exit code is said with its words" holds run.json '"exit code 2" in by["exit"]["reason"] and "wrong in some way" in by["exit"]["reason"]'
check "no result is a failure" holds run.json 'by["silent"]["status"] == "failed"'
check "unsupported stays unsupported" holds run.json 'by["refused"]["status"] == "unsupported"'
check "disturbed ones are tried again" test "$(grep -c 'disturbed; once more' err)" -eq 2
check "and then have no time" holds run.json '"seconds" not in by["noisy"]'
check "the failed are in the entries too" holds run.json 'any(e.get("error_occurred") and "signal 11" in e["error_message"] for e in run["benchmarks"])'
check "progress counts up to all" says '^\[7/7\] '
check "and says what is left" says '; [0-9]+ s left'
check "the journal is gone" test ! -e run.json.journal
run report run.json --show table;      check "report reads the file" exits 0
clean
FAKE_NAMES=hang run "${one[@]}" --timeout 0.5 "${arguments[@]}"
check "a hang is a failure" exits 1
check "a hang is ended and said" holds run.json 'by["hang"]["reason"] == "still running after 0.5 s, so it was ended; it said last: hangs"'
clean

export FAKE_NAMES='n1 n2 n3'
run run --bench ./none "${arguments[@]}";              check "no such program" bad_input
check "leaves no journal" test ! -e run.json.journal
OMP_PROC_BIND=true run "${one[@]}";                      check "pinned by someone else" bad_input
check "says so" says 'OMP_PROC_BIND is set'
check "leaves no journal either" test ! -e run.json.journal
OMP_PROC_BIND=true FAKE_DEVICE=gpu run "${one[@]}";      check "without a CPU's benchmark its ceilings are not wanted" exits 0
clean
run "${one[@]}" "${arguments[@]}" --dlroof_refused;    check "a program that refuses" bad_input
check "says it in its words" says 'flags: refused'
run "${one[@]}" "${arguments[@]}" --benchmark_filter=x; check "nothing of this name" bad_input
run "${one[@]}" "${arguments[@]}" --benchmark_out=x;   check "where results go is ours" bad_input
run "${one[@]}" -o a -o b "${arguments[@]}";           check "two files of one run" bad_input
run "${one[@]}" -o none/run.json "${arguments[@]}";    check "unwritable folder" bad_input
run "${one[@]}" --timeout 0 "${arguments[@]}";         check "no time at all" bad_input
run "${one[@]}" --map x "${arguments[@]}";             check "names of one program" bad_input
run "${two[@]}" --min-effect 1.5 "${arguments[@]}";    check "no share" bad_input
run "${two[@]}" --map none "${arguments[@]}";          check "missing map" bad_input
run run --ab ./bench "${arguments[@]}";                check "one of two programs" bad_input
run run --ab ./bench ./slow_bench -o x -o x "${arguments[@]}"; check "one file of two runs" bad_input
(ulimit -n 10; timeout 60 "$dlroof" "${two[@]}" "${arguments[@]}" >out 2>err); code=$?
check "what nobody foresaw is no verdict" bad_input
check "and has its reason" says '^dlroof: run: fcntl: '
clean

# Budget, and what may be resumed.
run "${one[@]}" --budget 0 "${arguments[@]}"
check "no budget is no failure" exits 0
check "and says what is left" says '^3 of 3 benchmarks are left; .*--resume'
run "${one[@]}" "${arguments[@]}";                     check "an unfinished run is not overwritten" bad_input
run "${one[@]}" --resume "${arguments[@]}" --other;    check "nor resumed with other arguments" bad_input
run run --bench ./other_bench --resume "${arguments[@]}"; check "nor with another program" bad_input
echo "# built anew" >> bench
run "${one[@]}" --resume "${arguments[@]}";            check "nor with another build" bad_input
cp run.json.journal kept; echo 'no JSON' >> run.json.journal
run "${one[@]}" --resume "${arguments[@]}";            check "a spoilt journal" bad_input
check "names its line" says 'journal:2: '
sed 's/"dlroof_journal":1/"dlroof_journal":2/' kept > run.json.journal
run "${one[@]}" --resume "${arguments[@]}";            check "a newer journal" bad_input
clean
FAKE_SECONDS=600 "$dlroof" "${one[@]}" "${arguments[@]}" >out 2>err & pid=$!
for ((i = 0; i < 2400; ++i)); do grep -q Fake run.json.journal 2>/dev/null && break; sleep 0.05; done
check "a run begins its journal within two minutes" grep -q Fake run.json.journal
run "${one[@]}" --resume "${arguments[@]}";            check "two runs of one journal" bad_input
kill -INT $pid; wait $pid; code=$?
check "SIGINT exits 130" exits 130
run "${one[@]}" --resume "${arguments[@]}";            check "and can be resumed" exits 0
check "to the end" holds run.json 'len(run["records"]) == 3'
clean

# kill -9 at 50 moments: what the journal had, it keeps; the file is the uninterrupted one, byte by byte.
export FAKE_NAMES=$(seq -f 'n%g' 40) FAKE_SECONDS=0.01
FAKE_NAMES=${FAKE_NAMES//$'\n'/ }
run "${one[@]}" -o whole.json "${arguments[@]}"
check "uninterrupted" exits 0
kills=0 tries=0
while { [ $kills -lt 50 ] || [ ! -e before ]; } && [ $tries -lt 400 ]; do
  tries=$((tries + 1))
  "$dlroof" "${one[@]}" --resume "${arguments[@]}" >out 2>err & pid=$!
  sleep "0.$(printf %03d $((RANDOM % 150)))"
  kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
  wait $pid 2>/dev/null
  if [ ! -e run.json.journal ]; then   # it was done before
    [ ! -e run.json ] || check "finished between kills: the same file" cmp whole.json run.json
    rm -f run.json before
    continue
  fi
  whole=$(wc -l < run.json.journal)
  [ ! -e before ] || check "kill $kills: the journal keeps its lines" cmp -n "$(stat -c %s before)" before run.json.journal
  head -n "$whole" run.json.journal > before
done
check "50 kills" test $kills -ge 50
check "the last of them amid a run" test -e before
finished=$(grep -c outcomes before)
: > ran
FAKE_LOG=ran run "${one[@]}" --resume "${arguments[@]}"
check "resumed to the end" exits 0
check "the same file" cmp whole.json run.json
check "and just what was not finished was run" test "$(wc -l < ran)" -eq $((40 - finished))
unset FAKE_SECONDS
clean

# Two builds by turns.
export FAKE_NAMES='n1 n2'
run "${two[@]}" "${arguments[@]}"
check "5 % slower exits 1" exits 1
check "both are slower" prints '2 slower'
check "by more than 2 %" prints 'minimum effect 2\.0 %'
check "by 5 %" prints ' slower +1\.0[45]'
check "both files have blocks" holds old.json 'all(r["repetitions"][5 * i + j]["block"] == i for r in run["records"] for i in range(10) for j in range(5))'
check "of one comparison" holds new.json 'run["context"]["dlroof"]["interleaved"]["id"] == json.load(open("old.json"))["context"]["dlroof"]["interleaved"]["id"]'
cp out first
run compare old.json new.json
check "compare says the same of the files" cmp first out
clean
run run --ab ./bench ./other_bench --seed 1 --min-effect 3% "${arguments[@]}"
check "unchanged exits 0" exits 0
check "both are the same" prints '2 same'
check "by what was asked" prints 'minimum effect 3\.0 %'
clean
export FAKE_NAMES='n20 n21'
echo 'Fake/cpu/none/fwd/f32/n20 Fake/cpu/none/fwd/f32/n21' > map.txt
run "${two[@]}" --map map.txt "${arguments[@]}"
check "mapped names are pairs" prints 'n20 -> .*n21'
check "the others are left out" says '^2 benchmarks that only one side has'
clean
export FAKE_NAMES='n1 turnless refused crash'
run "${two[@]}" --timeout 5 "${arguments[@]}"
check "what fails on both sides is no news" prints '1 slower'
check "a side that dies at its turn is recorded" grep -q 'ended by signal 9' old.json new.json
check "unsupported in blocks" holds new.json 'by["refused"]["status"] == "unsupported"'
clean
export FAKE_NAMES='n1 n2'
for ((i = 0; i < 8; ++i)); do
  "$dlroof" "${two[@]}" --resume "${arguments[@]}" >out 2>err & pid=$!
  sleep "0.$(printf %03d $((RANDOM % 400)))"; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  [ -e new.json.journal ] || break
done
run "${two[@]}" --resume "${arguments[@]}"
check "kills among turns: resumed to its verdict" exits 1
check "both slower" prints '2 slower'
clean


[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
