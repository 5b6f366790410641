#!/usr/bin/env bash
# ci/compare_commits.sh in a repository whose "build" copies a fake benchmark program. Arguments: dlroof, fake_bench.sh.
. "$(dirname "$0")/cli_checks.sh"
dlroof=$(realpath "$1") fake=$(realpath "$2") ci=$(cd "$(dirname "$0")/../../ci" && pwd)
mkdir -p "$dir/project/ci" "$dir/project/.deps/venv"
cd "$dir/project" || exit 1

cp "$ci/compare_commits.sh" "$ci/lib.sh" ci
cp "$fake" bench.sh
ln -s "$dlroof" dlroof
# Nothing is to be installed.
: > ci/requirements.txt
sha256sum < ci/requirements.txt > .deps/venv/requirements.sha256
echo '/.deps
/out' > .gitignore
cat > CMakePresets.json <<'JSON'
{"version": 3, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build"}]}
JSON
cat > CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(fake NONE)
add_custom_target(dlroof_bench COMMAND cp "${CMAKE_SOURCE_DIR}/bench.sh" dlroof_bench VERBATIM)
add_custom_target(dlroof COMMAND ln -sf "${CMAKE_SOURCE_DIR}/dlroof" dlroof VERBATIM)
CMAKE

export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
commit() { git add -A && git commit -q -m "$1" && git tag "$2"; }
git init -q .
commit "the first" first
sed -i 's/\[\[ \$0 == \*slow\* \]\]/true/' bench.sh
commit "5 % slower" slower
echo 'message(FATAL_ERROR "no compiler would take this")' >> CMakeLists.txt
commit "does not configure" broken

run() { timeout 120 ci/compare_commits.sh "$@" >"$dir/out" 2>"$dir/err"; code=$?; }
for_fake=(-- --dlroof_machine=none)

run --comment='cp -t ..' first slower "${for_fake[@]}"
check "a slowdown is found" exits 1
check "and printed" prints '3 slower'
check "the comment goes where it is told to" grep -q slower ../comment.md
check "the badge says so" grep -q '3 slower' out/compare/badge.svg
check "JUnit reads it as failures" python3 -c 'import sys, xml.etree.ElementTree as t
sys.exit(len(list(t.parse("out/compare/junit.xml").iter("failure"))) != 3)'
check "both runs are kept" test -s out/compare/old.json -a -s out/compare/new.json

run -o twice slower slower "${for_fake[@]}"
check "a commit is not slower than itself" exits 0
check "what is compared lies where it is told to" test -s twice/comment.md
run slower first "${for_fake[@]}"
check "the other way round nothing is slower" exits 0
check "it is faster" prints '3 faster'

run --comment=false first slower "${for_fake[@]}"
check "a comment that cannot be made is told" exits 2
check "with the command" says 'the comment could not be made: false '
run first broken "${for_fake[@]}"
check "no build is no verdict" exits 2
check "but the compiler's words" says 'no compiler would take this'
run first nowhere
check "no such commit" bad_input
run
check "no commit at all" bad_input
run --fast first
check "an unknown flag" bad_input

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
