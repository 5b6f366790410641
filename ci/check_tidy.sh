#!/usr/bin/env bash
# clang-tidy (.clang-tidy) on all modules, the files of one joined as in the release build, which saves two thirds of the time;
# or on the sources that are given, such as those of a test.
. "$(dirname "$0")/lib.sh"
command -v clang-tidy-14 >/dev/null || fail "clang-tidy-14 is missing (apt-get install clang-tidy-14)"
unity=ON
[ $# -eq 0 ] || unity=OFF
cmake --preset ci -B build-tidy -DCMAKE_UNITY_BUILD=$unity >/dev/null || fail "cmake could not configure build-tidy"
cmake --build build-tidy --target dlroof_version >/dev/null
mapfile -t built < <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build-tidy/compile_commands.json)
known=()
if [ $# -gt 0 ]; then
  for source in "$@"; do # sources that this build leaves out (without oneDNN, without CUDA) have no compile command
    ! printf '%s\n' "${built[@]}" | grep -q "/$source\$" || known+=("$source")
  done
else
  for source in "${built[@]}"; do
    case $source in
      */tests/* | */cmake_pch.* | */generated/* | *.cu) ;;
      *) known+=("$source") ;;
    esac
  done
fi
[ ${#known[@]} -gt 0 ] || fail "none of these sources is built here"
printf '%s\n' "${known[@]}" | sort -u | xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build-tidy --quiet \
  '--header-filter=(counters|ceilings|reporters|baselines|bench|tests)/.*\.(h|cpp)$' \
  --extra-arg=-Wno-unknown-warning-option 2>/dev/null \
  || fail "findings above"
echo "check_tidy: ok"
