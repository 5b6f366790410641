#!/usr/bin/env bash
# A folder includes itself and folders to its left: counters, ceilings, reporters, baselines, bench (tests: everything).
# Vendor headers appear only where named. Checks the tree, and first that a planted violation would be found.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly layers=(counters ceilings reporters baselines bench)

# violations ROOT: prints each include that points right.
violations() {
  local root=$1 i j
  for ((i = 0; i < ${#layers[@]}; ++i)); do
    for ((j = i + 1; j < ${#layers[@]}; ++j)); do
      grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' --include='*.in' "^ *#include \"${layers[j]}/" "$root/${layers[i]}" 2>/dev/null || true
    done
    grep -rnE --include='*.h' --include='*.cpp' "^ *#include \"tests/" "$root/${layers[i]}" 2>/dev/null || true
  done
  grep -rlE '#include <benchmark/' "$root"/counters "$root"/ceilings 2>/dev/null | sed 's/$/: Google Benchmark belongs in reporters and bench/' || true
  grep -rlE '#include <(cuda|cublas|cudnn|cupti)' "$root" --include='*.h' --include='*.cpp' 2>/dev/null | grep -vE '(cuda|cudnn|cupti|cublaslt)[a-z0-9_]*\.(cpp|h)$' | sed 's/$/: CUDA belongs in files named after it/' || true
  grep -rlE '#include <dnnl' "$root" --include='*.h' --include='*.cpp' 2>/dev/null | grep -vE '[/_]onednn[a-z_]*\.(cpp|h)$' | sed 's/$/: oneDNN belongs in *_onednn and onednn_* files/' || true
}

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/counters"
echo '#include "bench/workload.h"' > "$planted/counters/x.h"
[ -n "$(violations "$planted")" ] || { echo "check_layers: does not find a planted violation"; exit 1; }

sources=$(mktemp -d -p "$planted")
cp -r --parents counters ceilings reporters bench tests "$sources" 2>/dev/null || true
[ -d baselines ] && cp -r baselines "$sources"
found=$(violations "$sources" | sed "s#$sources/##")
if [ -n "$found" ]; then
  printf 'check_layers: includes that point the wrong way (%s):\n%s\n' "${layers[*]}" "$found"
  exit 1
fi
echo "check_layers: ok"
