#!/usr/bin/env bash
# Collects run files of one small suite in the background of other work:
#   baselines/studies/stored/collect.sh DLROOF FOLDER [COUNT [SECONDS_BETWEEN [PROCESSES]]]
# Waits up to a minute for a second in which the machine is half idle, measures for about a minute, then sleeps until
# the next run is due. Each run measures each benchmark in PROCESSES (5) processes: FOLDER/run-<number>.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dlroof=$1 folder=$2 count=${3:-30} between=${4:-240} processes=${5:-5}
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
  echo "$(date -u +%FT%TZ) $(cat /proc/loadavg)" >>"$folder/load.txt"
  "$dlroof" run --processes "$processes" -o "$folder/$(printf 'run-%02d.json' "$run")" -- \
    --dlroof_suite="$here/suite.txt" --dlroof_threads=1 --benchmark_filter=/threads1 \
    --benchmark_repetitions=10 --benchmark_min_time=0.002s --dlroof_max_seconds=0.5 >"$folder/log.txt" 2>&1 || true
  left=$((between - ($(date +%s) - began)))
  if [ "$left" -gt 0 ]; then sleep "$left"; fi
done
