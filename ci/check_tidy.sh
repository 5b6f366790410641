#!/usr/bin/env bash
# clang-tidy on every source, or on those given, each by itself (other builds compile several as one). Half an hour on two
# cores, so not part of ci/test.sh, after which it can run.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-tidy-14 >/dev/null || { echo "check_tidy: clang-tidy-14 is missing (apt-get install clang-tidy-14)"; exit 1; }
. ci/lib.sh
cmake --preset ci -B build-tidy -DDLROOF_UNITY=OFF > /dev/null || fail "cmake could not configure build-tidy"
cmake --build build-tidy --target dlroof_version > /dev/null
if [ $# -gt 0 ]; then sources=("$@"); else mapfile -t sources < <(git ls-files '*.cpp'); fi
# Sources that this build leaves out (without oneDNN, without CUDA) have no compile command.
known=()
for source in "${sources[@]}"; do ! grep -q "/$source\"" build-tidy/compile_commands.json || known+=("$source"); done
printf '%s\n' "${known[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build-tidy --quiet 2>/dev/null || { echo "check_tidy: findings above"; exit 1; }
echo "check_tidy: ok"
