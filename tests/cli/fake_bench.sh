#!/usr/bin/env bash
# Behaves like dlroof_bench towards `dlroof run`, in milliseconds: lists benchmarks, writes a run file, crashes, hangs.
# Its times are the same in every test: by turns they depend on how often it was called so (FILE.calls), else on nothing.
# FAKE_NAMES: the problems it has. FAKE_DEVICE: of which device (cpu). A file whose name holds "slow" is 5 % slower.
list= filter= out= turns= repetitions=9 live_checks=0
for argument in "$@"; do
  case $argument in
    --benchmark_list_tests=true) list=1 ;;
    --benchmark_filter=*) filter=${argument#*=} ;;
    --benchmark_out=*) out=${argument#*=} ;;
    --benchmark_repetitions=*) repetitions=${argument#*=} ;;
    --dlroof_turns=*) turns=1 ;;
    --dlroof_live_check=*)
      if ((++live_checks > 1)); then
        echo "dlroof_bench: flags: --dlroof_live_check: given twice" >&2
        exit 2
      fi
      ;;
    --dlroof_refused)
      echo "dlroof_bench: flags: refused" >&2
      exit 2
      ;;
  esac
done
prefix=Fake/${FAKE_DEVICE-cpu}/none/fwd/f32/
if [ "$list" ]; then
  for problem in ${FAKE_NAMES-n1 n2 n3}; do
    [[ $filter && ! $prefix$problem =~ $filter ]] || echo "$prefix$problem/real_time"
  done
  exit
fi
name=${filter#^} name=${name%\$} name=${name//\\/} name=${name%/real_time}
problem=${name##*/}
[ -z "${FAKE_LOG-}" ] || echo "$problem" >>"$FAKE_LOG"
case $problem in
  crash*)
    echo "about to crash" >&2
    echo "half a fi" >"$out"
    kill -SEGV $$
    ;;
  hang*)
    echo "hangs" >&2
    read -r <> <(:)
    ;;
  exit*)
    echo "dlroof_bench: wrong in some way" >&2
    exit 2
    ;;
  silent*) exit 0 ;;
esac
status='"ok"' list=
[[ $problem == refused* ]] && status='"unsupported", "reason": "not on this CPU"' repetitions=0
if [ "$turns" ] && [ "$repetitions" -gt 0 ]; then
  calls=0
  [ ! -e "$0.calls" ] || read -r calls <"$0.calls"
  echo $((calls + 1)) >"$0.calls"
  RANDOM=$((7919 * calls + ${#0}))
  echo ready >&4
  for ((i = 0; i < repetitions; ++i)); do
    read -r -N 1 -u 3 || exit 1
    [ "$problem" != turnless ] || [ "$i" -lt 4 ] || kill -KILL $$
    echo 12 >&4
  done
else
  sleep "${FAKE_SECONDS-0}"
fi
for ((i = 0; i < repetitions; ++i)); do
  percent=1.00$((RANDOM % 4))
  [ "$turns" ] || percent=1.00$((i % 4))
  [[ $0 == *slow* ]] && percent=1.05${percent#1.00}
  disturbed=false
  [[ $problem == noisy* ]] && disturbed=true
  list+="${list:+, }{\"seconds\": ${percent}e-3, \"iterations\": 12, \"disturbed\": $disturbed}"
  entries+="${entries:+, }{\"name\": \"$name/real_time\", \"run_name\": \"$name/real_time\", \"run_type\": \"iteration\", \"repetition_index\": $i, \"iterations\": 12, \"real_time\": $percent, \"cpu_time\": $percent, \"time_unit\": \"ms\"}"
done
cat >"$out" <<JSON
{"context": {"num_cpus": 2, "dlroof": {"schema": 1, "conventions": {"flops": "fma is 2"}, "command": "$*"}},
 "machines": [],
 "benchmarks": [$entries],
 "records": [{"name": "$name", "status": $status, "threads": 1, "cache": "warm", "algorithm": "fake", "repetitions": [$list]}]}
JSON
