#!/usr/bin/env bash
# From a bare Debian 12 machine to a verdict: installs, builds, checks modules and format, runs the tests.
#   ci/test.sh           every test
#   ci/test.sh --fast    without those labelled "slow" in tests/CMakeLists.txt, which measure, simulate or wait
. "$(dirname "$0")/lib.sh"
select=()
case ${1:-} in
  '') ;;
  --fast) select=(-LE slow) ;;
  *) fail "unknown argument '$1'" ;;
esac

# shellcheck disable=SC2086
install_packages $test_packages
install_requirements
install_sass_reader
ci/check_modules.py
ci/check_format.sh
ci/check_size.py
build_options+=(-DDLROOF_CUDA=AUTO)
build ci all
say "testing"
ctest --preset ci -j"$((2 * $(nproc)))" "${select[@]}" # tests/CMakeLists.txt says why twice as many
