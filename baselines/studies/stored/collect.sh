#!/usr/bin/env bash
# Collects run files of one small suite in the background of other work:
#   baselines/studies/stored/collect.sh BENCH FOLDER [COUNT [SECONDS_BETWEEN]]
# Waits up to a minute for a second in which the machine is half idle, runs about 30 s at a low priority, then sleeps
# until the next run is due. Each run is a process of its own: FOLDER/run-<number>.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bench=$1 folder=$2 count=${3:-30} between=${4:-240}
mkdir -p "$folder"

# Percent of all CPUs' time in the last second in which they were idle.
idle() {
  local a b
  read -ra a < <(head -1 /proc/stat)
  sleep 1
  read -ra b < <(head -1 /proc/stat)
  local total=0 i
  for i in 1 2 3 4 5 6 7 8; do total=$((total + b[i] - a[i])); done
  echo $((100 * (b[4] - a[4]) / (total > 0 ? total : 1)))
}

for ((run = 0; run < count; ++run)); do
  began=$(date +%s)
  for ((wait = 0; wait < 60; ++wait)); do [ "$(idle)" -ge 50 ] && break; done
  nice -n 1 "$bench" --dlroof_suite="$here/suite.txt" --dlroof_threads=1 --benchmark_filter=/threads1 \
    --benchmark_repetitions=10 --benchmark_min_time=0.005s --dlroof_max_seconds=1.5 \
    --benchmark_out="$folder/$(printf 'run-%02d.json' "$run")" >"$folder/log.txt" 2>&1 || true
  left=$((between - ($(date +%s) - began)))
  [ "$left" -gt 0 ] && sleep "$left"
done
