#!/usr/bin/env bash
# clang-tidy on every source, or on those given. Needs build/compile_commands.json (any build); minutes on two cores, so
# not part of ci/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-tidy-14 >/dev/null || { echo "check_tidy: clang-tidy-14 is missing (apt-get install clang-tidy-14)"; exit 1; }
[ -f build/compile_commands.json ] || { echo "check_tidy: no build/compile_commands.json: run ci/test.sh first"; exit 1; }
if [ $# -gt 0 ]; then sources=("$@"); else mapfile -t sources < <(git ls-files '*.cpp'); fi
# Sources that this build leaves out (without oneDNN, without CUDA) have no compile command.
known=()
for source in "${sources[@]}"; do ! grep -q "/$source\"" build/compile_commands.json || known+=("$source"); done
printf '%s\n' "${known[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build --quiet 2>/dev/null || { echo "check_tidy: findings above"; exit 1; }
echo "check_tidy: ok"
