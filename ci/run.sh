#!/usr/bin/env bash
# From a bare Debian 12 machine to results: installs, builds dlroof_bench, measures the machine once, runs the benchmarks, prints
# a table, and writes out/run.json and out/run.html. The CUDA module is built where there is a driver; with --gpu first always, with CUDA from PyPI where there is no toolkit. Other arguments go to dlroof_bench (--benchmark_filter=LSTM).
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
build release dlroof_bench

mkdir -p out
say "running benchmarks: build/dlroof_bench --benchmark_out=out/run.json --dlroof_html=out/run.html $*"
status=0
build/dlroof_bench --benchmark_out=out/run.json --dlroof_html=out/run.html "$@" || status=$?
case $status in
  0) ;;
  1) say "some benchmarks failed; their reasons are in the table and in out/run.json" ;;
  *) exit "$status" ;;
esac
[ -s out/run.json ] || exit "$status"
say "done: out/run.json, out/run.html (open it in a browser). The other program, build/dlroof: cmake --build build"
exit "$status"
