#!/usr/bin/env bash
# From a bare Debian 12 machine to results: installs, builds, measures the machine once, runs the benchmarks, prints a
# table and a picture, and writes out/run.json and out/run.html. The CUDA module is built where there is a driver; with --gpu
# first always, with CUDA from PyPI where there is no toolkit. Other arguments go to dlroof_bench (--benchmark_filter=LSTM).
. "$(dirname "$0")/lib.sh"
gpu=no
if [ "${1:-}" = --gpu ]; then
  gpu=yes
  shift
fi

# shellcheck disable=SC2086
install_packages $build_packages
install_requirements
use_gpu "$gpu"
build release dlroof_bench dlroof

mkdir -p out
say "running benchmarks: build/dlroof_bench --benchmark_out=out/run.json $*"
status=0
build/dlroof_bench --benchmark_out=out/run.json "$@" || status=$?
case $status in
  0) ;;
  1) say "some benchmarks failed; their reasons are in the table and in out/run.json" ;;
  *) exit "$status" ;;
esac
[ -s out/run.json ] || exit "$status"
build/dlroof report out/run.json --show picture || say "no picture"
build/dlroof report out/run.json -o out/run.html
say "done: out/run.json, out/run.html (open it in a browser)"
exit "$status"
