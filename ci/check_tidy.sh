#!/usr/bin/env bash
# clang-tidy (.clang-tidy) on the modules that are not in ci/tidy.txt as they are, the files of one joined as in the release build;
# then writes there what it found clean. A change of the checks is a change of every module.
. "$(dirname "$0")/lib.sh"
cmake --preset ci -B build-tidy -DCMAKE_UNITY_BUILD=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null \
  || fail "cmake could not configure build-tidy"
# Files that the build generates are data: empty here.
ninja -C build-tidy -t targets all | sed -n 's/^\(generated\/.*\.cpp\): CUSTOM_COMMAND$/build-tidy\/\1/p' | xargs -I{} install -D /dev/null {}

sum_of() { find .clang-tidy ci/requirements-tidy.txt "$1"/*.* -maxdepth 0 -type f -print0 | xargs -0 cat | sha256sum | cut -c1-16; }
units=() lines=()
while read -r unit; do
  source=$(grep -m 1 -o '^#include "/[^"]*' "$unit" | cut -c11-) || true # the first of joined files
  folder=$(realpath --relative-to=. "$(dirname "${source:-$unit}")")
  line="$folder $(sum_of "$folder")"
  grep -qsxF "$line" ci/tidy.txt || { units+=("$unit") && lines+=("$line"); }
done < <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build-tidy/compile_commands.json | grep -vE '/tests/|/generated/|_precompiled|\.cu$' | sort -u)
if [ ${#units[@]} -gt 0 ]; then
  install_tidy
  say "clang-tidy on ${#units[@]} files"
  printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 1 "$tidy_venv/bin/clang-tidy" -p build-tidy --quiet --extra-arg=-Wno-everything \
    "--extra-arg=-idirafter$(g++ -print-file-name=include)" 2>/dev/null || fail "findings above" # GCC's folder has omp.h
  printf '%s\n' "${lines[@]}" | cat - ci/tidy.txt 2>/dev/null | LC_ALL=C sort -s -u -k1,1 >build-tidy/tidy.txt
  cp build-tidy/tidy.txt ci/tidy.txt
fi
echo "check_tidy: ok"
