#!/usr/bin/env bash
# Looks for two definitions of one name that differ (violations of C++'s one-definition rule) in all objects of the modules and
# the programs: GCC compares the types of all files when it links with -flto. Nothing is run.
. "$(dirname "$0")/lib.sh"
build_options+=(-DDLROOF_CUDA=OFF)
say "checking that GCC finds a planted violation"
configure odr
if cmake --build --preset odr --target odr_planted >"$venv/../odr-planted.log" 2>&1 \
  || ! grep -q "type .* violates the C++ One Definition Rule" "$venv/../odr-planted.log"; then
  cat "$venv/../odr-planted.log" >&2
  fail "GCC did not report a class that is defined twice"
fi
build odr odr
echo "check_odr: ok"
