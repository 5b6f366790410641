#!/usr/bin/env bash
# From a bare Debian 12 machine to a verdict: installs, builds, checks rooms, format and comments, runs every test.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086
install_packages $test_packages
install_requirements
install_sass_reader
ci/check_rooms.py
ci/check_format.sh
ci/check_prose.sh
build_options+=(-DDLROOF_CUDA=AUTO)
build ci all
say "testing"
ctest --preset ci -j"$((2 * $(nproc)))"   # tests/CMakeLists.txt
