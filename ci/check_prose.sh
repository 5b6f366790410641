#!/usr/bin/env bash
# Comments are sentences with a subject and a verb: none begins with a word that hides the actor. Finds a planted one first.
set -euo pipefail
cd "$(dirname "$0")/.."

# A comment's first word, or the first after a full stop. Continued lines begin in the middle of a sentence.
starts() {
  awk '
    FNR == 1 { comment = 0 }
    {
      line = $0
      is = match(line, /(^|[ \t])(\/\/|#) /)
      text = is ? substr(line, RSTART + RLENGTH) : ""
      alone = is && line ~ /^[ \t]*(\/\/|#) /
      if (is && !(alone && comment) && text ~ /^(What|Who|Of|Which|Whether|That|How) /) print FILENAME ":" FNR ": " text
      if (is && text ~ /[.:] (What|Who|Of|Which|Whether|That|How) /) print FILENAME ":" FNR ": " text
      comment = alone && text !~ /\.$/
    }' "$@"
}

planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
printf '%s\n' 'int x;  // Which of them it is.' '// Returns it. What it is' '// that it is.' > "$planted"
[ "$(starts "$planted" | wc -l)" = 2 ] || { echo "check_prose: does not find what was planted"; exit 1; }
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cpp' '*.h' '*.cu' '*.cuh' '*.py' '*.sh' '*.cmake' '*.js' ':!tests/data' ':!ci/check_prose.sh'); fi
found=$(starts "${files[@]}")
[ -z "$found" ] || { printf '%s\n' "$found"; echo "check_prose: $(wc -l <<< "$found") comments that begin without subject or verb"; exit 1; }
echo "check_prose: ok"
