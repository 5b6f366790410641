#!/usr/bin/env bash
# Builds dlroof::benchmark with other versions of Google Benchmark and runs programs that use it.
#
#   baselines/studies/google_benchmark_versions/run.sh FOLDER SOURCE...
#
# FOLDER receives what is built (".": with build's objects in ccache, few are compiled); a SOURCE is a folder with one version's sources (git clone https://github.com/google/benchmark,
# git checkout v1.8.3). Without oneDNN and CUDA, which these programs do not need. For each version: tests/cli/test_own_benchmarks.py,
# the examples built outside of the tree, and the version's own tools/compare.py on two run files, where Python has SciPy
# (DLROOF_COMPARE_PYTHON names the Python). DLROOF may name a dlroof that is built.
. "$(dirname "$0")/../../../ci/lib.sh"
[ $# -ge 2 ] || fail "expected a folder to build in, and folders with sources of Google Benchmark"
mkdir -p "$1"
folder=$(realpath "$1")
shift
readonly python=${DLROOF_COMPARE_PYTHON:-python3}

# install_version SOURCE PREFIX
install_version() {
  [ -d "$2/include" ] && return
  cmake -S "$1" -B "$2-build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBENCHMARK_ENABLE_TESTING=OFF \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_INSTALL_PREFIX="$2" >"$2.log"
  cmake --build "$2-build" --target install >>"$2.log" || { tail -n 20 "$2.log" >&2 && fail "$1 could not be built"; }
}

# build_programs PREFIX BUILD: the library, the programs of tests/programs and the fake GPUs.
build_programs() {
  cmake -S . -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_PREFIX_PATH="$1;$PWD/$venv" \
    -DDLROOF_ONEDNN=OFF -DDLROOF_CUDA=OFF >"$2.log" || { tail -n 20 "$2.log" >&2 && fail "cmake could not configure $2"; }
  grep -q "^benchmark_DIR:PATH=$1/" "$2/CMakeCache.txt" || fail "$1 was not used"
  # shellcheck disable=SC2046
  cmake --build "$2" --target $([ -n "${DLROOF:-}" ] || echo dlroof) dlroof_own_benchmarks dlroof_own_counted dlroof_own_main fake_working fake_counted fake_libcuda_fake \
    >>"$2.log" || { tail -n 40 "$2.log" >&2 && fail "the build failed"; }
}

test_version() {
  local source=$1 name build prefix examples
  name=$(basename "$source")
  prefix=$folder/build-benchmark-$name build=$folder/build-with-$name examples=$folder/build-examples-$name
  install_version "$source" "$prefix"
  build_programs "$prefix" "$build"
  say "$name: tests of own benchmarks"
  env PYTHONDONTWRITEBYTECODE=1 DLROOF="${DLROOF:-$build/dlroof}" DLROOF_BENCH="$build/dlroof_bench" DLROOF_FAKE_MODULES="$build/tests/fake_modules" \
    /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/cli/test_own_benchmarks.py
  say "$name: examples"
  cmake -S bench/library/examples -B "$examples" -DCMAKE_PREFIX_PATH="$prefix" -Ddlroof_DIR="$build" -DCMAKE_CUDA_COMPILER=NOTFOUND >"$examples.log"
  cmake --build "$examples" >>"$examples.log"
  for example in axpy gemm stencil; do
    "$examples/$example" --benchmark_repetitions=5 --benchmark_min_time=0.01 --dlroof_machine=none --benchmark_out="$examples/$example.json" \
      2>/dev/null | grep '^BM_'
  done
  if "$python" -c "import scipy" 2>/dev/null; then
    say "$name: its compare.py"
    "$python" "$source/tools/compare.py" --no-color benchmarks "$examples/gemm.json" "$examples/gemm.json" | grep -E '^(Benchmark|BM_.*_pvalue|BM_Gemm/by_tile/256)' | head -4
  else
    say "$name: without SciPy: its compare.py is not run"
  fi
}

install_requirements # plotly.js, for pages
for source in "$@"; do test_version "$(realpath "$source")"; done
