#!/usr/bin/env bash
# A job for any CI system: builds two commits, runs their benchmarks interleaved, writes a comment, and fails when
# something is slower.
#
#   ci/compare_commits.sh [--budget=SECONDS] [--comment=COMMAND] [-o FOLDER] BASE [NEW] [-- FLAGS OF dlroof_bench]
#
# BASE and NEW are commits (NEW: HEAD). FOLDER (out/compare) gets comment.md, junit.xml, old.json, new.json and
# both trees. COMMAND is run with the path of comment.md behind it: --comment='gh pr comment 12 --body-file'.
# Exit code as dlroof compare's: 0 nothing is slower, 1 something is, 2 bad input or no build, 3 cannot say.
. "$(dirname "$0")/lib.sh"
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

folder=out/compare budget=1800 comment="" commits=()
while [ $# -gt 0 ]; do
  case $1 in
    --budget=*) budget=${1#*=} ;;
    --comment=*) comment=${1#*=} ;;
    -o)
      folder=${2:?-o needs a folder}
      shift
      ;;
    --)
      shift
      break
      ;;
    -*) fail "unknown flag $1 (its first lines say what it takes)" ;;
    *) commits+=("$1") ;;
  esac
  shift
done
[ ${#commits[@]} -ge 1 ] && [ ${#commits[@]} -le 2 ] || fail "expected BASE and perhaps NEW, two commits"
base=$(git rev-parse --verify --quiet "${commits[0]}^{commit}") || fail "${commits[0]}: no commit of this repository"
new=$(git rev-parse --verify --quiet "${commits[1]:-HEAD}^{commit}") || fail "${commits[1]:-HEAD}: no commit of this repository"

# shellcheck disable=SC2086
install_packages $build_packages
install_requirements
mkdir -p "$folder"
folder=$(realpath "$folder")

# To the compiler cache both trees are one: what did not change is compiled once.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$folder}" CCACHE_NOHASHDIR=1

# build_commit COMMIT SIDE: a tree of its own, beside which later runs build only what changed.
build_commit() {
  local tree="$folder/$2"
  if [ -e "$tree/.git" ]; then
    git -C "$tree" checkout -q --detach "$1"
  else git worktree prune && git worktree add -q --detach "$tree" "$1"; fi || fail "$tree: cannot check out $1"
  ln -sfn "$(realpath .deps)" "$tree/.deps"
  say "building $2 ($(git log -1 --format='%h %s' "$1"))"
  (cd "$tree" && cmake --preset release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >/dev/null \
    && cmake --build build --target dlroof_bench dlroof) >"$folder/build-$2.log" 2>&1 \
    || {
      tail -n 20 "$folder/build-$2.log" >&2
      fail "$2 does not build"
    }
}
build_commit "$base" base
build_commit "$new" new
dlroof="$folder/new/build/dlroof"

say "running both interleaved, at most $budget s"
# Results of an earlier pair would be judged as this one's. Its journal would refuse this run.
rm -f "$folder"/{old,new}.json{,.journal} "$folder"/{comment.md,junit.xml}
status=0
"$dlroof" run --ab "$folder/base/build/dlroof_bench" "$folder/new/build/dlroof_bench" --budget="$budget" \
  -o "$folder/old.json" -o "$folder/new.json" -- "$@" >/dev/null || status=$? # its table comes again below
case $status in 0 | 1 | 3) ;; *) fail "the run failed (exit code $status)" ;; esac
[ -s "$folder/old.json" ] && [ -s "$folder/new.json" ] || fail "the run left no results (exit code $status)"

# The runs are interleaved: what one run has beyond its repetitions' noise, the other has too.
compare() { "$dlroof" compare "$folder/old.json" "$folder/new.json" --run-noise=0 "$@"; }
verdict=0
compare --format=markdown >"$folder/comment.md" || verdict=$?
[ "$verdict" -eq 2 ] && exit 2
compare --format=junit >"$folder/junit.xml" || true
compare || true
if [ -n "$comment" ]; then
  # shellcheck disable=SC2086
  $comment "$folder/comment.md" || fail "the comment could not be made: $comment $folder/comment.md"
fi
exit "$verdict"
