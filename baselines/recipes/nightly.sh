#!/bin/sh
# Plain cron: measures the newest commit of main each night, stores the run, makes the dashboard, and mails what got slower.
#   17 2 * * *  BENCH_REPOSITORY=/srv/project PERF=/var/lib/dlroof MAIL_TO=team@example.org /usr/local/share/dlroof/nightly.sh
set -eu
BENCH_BUILD=${BENCH_BUILD:-make bench}
BENCH=${BENCH:-./bench}
cd "$BENCH_REPOSITORY"
exec 9>"$PERF/nightly.lock" # one run at a time on the machine
flock -n 9 || exit 0
git pull --quiet --ff-only
sh -c "$BENCH_BUILD" >"$PERF/build.log" 2>&1
status=0
# shellcheck disable=SC2086
dlroof gate --db "$PERF/perf.sqlite" --baseline main --store --budget 1800 -o "$PERF/gate" -- $BENCH >"$PERF/gate.log" 2>&1 || status=$?
dlroof dashboard --db "$PERF/perf.sqlite" -o "$PERF/site"
if [ "$status" -eq 1 ] && [ -n "${MAIL_TO:-}" ]; then
  subject=$(head -n 1 "$PERF/gate/comment.md")
  mail -s "$subject" "$MAIL_TO" <"$PERF/gate/comment.md"
fi
[ "$status" -eq 3 ] || exit "$status"
