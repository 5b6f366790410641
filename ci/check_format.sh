#!/usr/bin/env bash
# The format of every source, as Debian 12's formatters write it, and shellcheck's warnings.
#   ci/check_format.sh          exit code 1 where a formatter would change something
#   ci/check_format.sh --fix    reformats
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in clang-format-14 black shfmt shellcheck; do
  command -v "$tool" >/dev/null || {
    echo "check_format: $tool is missing (apt-get install clang-format-14 black shfmt shellcheck)"
    exit 1
  }
done
case ${1:-} in
  '') clang=(--dry-run -Werror) python=(--check --diff) shell=(-d) ;;
  --fix) clang=(-i) python=() shell=(-w) ;;
  *)
    echo "check_format: unknown argument '$1'"
    exit 2
    ;;
esac

sources() { git ls-files -co --exclude-standard -- "$@" | while read -r file; do [ ! -f "$file" ] || echo "$file"; done; }
mapfile -t cpp < <(sources '*.cpp' '*.h' '*.cu' '*.cuh' '*.c' '*.js')
mapfile -t py < <(sources '*.py')
mapfile -t sh < <(sources '*.sh' '*.bash' .ci/run)

status=0
clang-format-14 "${clang[@]}" "${cpp[@]}" || status=1
black -q -l 160 -C "${python[@]}" "${py[@]}" || status=1
shfmt -i 2 -ci -bn "${shell[@]}" "${sh[@]}" || status=1 # as in Google's guide for shell
# SC1007: `a= b=` is an empty assignment. The others: variables that a sourced file sets or uses.
shellcheck -s bash -x -P SCRIPTDIR -S warning -e SC1007,SC1090,SC2034,SC2154 "${sh[@]}" || status=1
if [ $status -ne 0 ]; then
  echo "check_format: run ci/check_format.sh --fix, and repair what shellcheck finds"
  exit 1
fi
echo "check_format: ok"
