# What the shell tests share. Source it: makes a folder $dir that is gone at the end. A test's own `run` leaves $dir/out,
# $dir/err and $code.
set -uo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

check() {   # check WHAT COMMAND...: the command must succeed
  local what=$1; shift
  "$@" && return
  echo "FAILED: $what"; failures=$((failures + 1))
  for file in out err; do echo "--- $file"; tail -n 5 "$dir/$file"; done
}
says() { grep -qE -- "$1" "$dir/err"; }
prints() { grep -qE -- "$1" "$dir/out"; }
exits() { [ "$code" -eq "$1" ]; }
one_sentence() { [ "$(grep -c . "$dir/err")" -eq 1 ]; }
bad_input() { exits 2 && one_sentence; }
