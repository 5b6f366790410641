#!/usr/bin/env bash
# clang-format on every source; files of at most 400 lines.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format-14 >/dev/null || { echo "check_format: clang-format-14 is missing (apt-get install clang-format-14)"; exit 1; }
mapfile -t sources < <(git ls-files -co --exclude-standard '*.cpp' '*.h' '*.cu')
clang-format-14 --dry-run -Werror "${sources[@]}" || { echo "check_format: run clang-format-14 -i on these"; exit 1; }
long=$(git ls-files -co --exclude-standard '*.cpp' '*.h' '*.cu' '*.js' '*.css' '*.html' | xargs wc -l | awk '$2 != "total" && $1 > 400 {print "  " $1 " " $2}')
[ -z "$long" ] || { printf 'check_format: files over 400 lines:\n%s\n' "$long"; exit 1; }
echo "check_format: ok"
