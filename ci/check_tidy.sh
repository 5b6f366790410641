#!/usr/bin/env bash
# clang-tidy (.clang-tidy) on every source, untracked ones too, or on those given. Half an hour on two cores, so not
# part of ci/test.sh, after which it can run.
. "$(dirname "$0")/lib.sh"
command -v clang-tidy-14 >/dev/null || fail "clang-tidy-14 is missing (apt-get install clang-tidy-14)"
cmake --preset ci -B build-tidy >/dev/null || fail "cmake could not configure build-tidy"
cmake --build build-tidy --target dlroof_version >/dev/null
if [ $# -gt 0 ]; then sources=("$@"); else mapfile -t sources < <(git ls-files -co --exclude-standard '*.cpp'); fi
# Sources that this build leaves out (without oneDNN, without CUDA) have no compile command.
known=()
for source in "${sources[@]}"; do
  ! grep -q "/$source\"" build-tidy/compile_commands.json || known+=("$source")
done
[ ${#known[@]} -gt 0 ] || fail "none of these sources is built here"
printf '%s\n' "${known[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build-tidy --quiet \
  --extra-arg=-Wno-unknown-warning-option 2>/dev/null \
  || fail "findings above"
echo "check_tidy: ok"
