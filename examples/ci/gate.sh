#!/bin/sh
# Record this revision and judge it against the history: the plain recipe, for any pipeline.
#
#   examples/ci/gate.sh python train.py
#
# Variables:
#   GATE_SERIES        what is compared with each other (default: default)
#   GATE_RUNS          how often the program is recorded (default: 1)
#   GATE_RECORD        yes: keep what was judged in the history; set it on the main branch only (default: no)
#   GATE_OUTPUT        folder for recordings and reports (default: gate-result)
#   GATE_OPTIONS       more options of `ascend-sn gate`, such as --notify or --require-confidence
#   ASCEND_SN_HISTORY  the history: a file, or postgresql://... (default: perf-history.db)
#
# Exit code: 0 passed, 1 failed, 3 could not be compared; that of the program where it fails.
set -eu

[ $# -gt 0 ] || { echo "usage: gate.sh PROGRAM [ARGUMENT]..." >&2; exit 2; }
series=${GATE_SERIES:-default}
runs=${GATE_RUNS:-1}
output=${GATE_OUTPUT:-gate-result}
ASCEND_SN_HISTORY=${ASCEND_SN_HISTORY:-perf-history.db}
export ASCEND_SN_HISTORY

mkdir -p "$output/recordings"
number=1
while [ "$number" -le "$runs" ]; do
    # A folder for each: what was recorded before is never judged again.
    ascend-sn run --output "$output/recordings/$(date +%Y%m%d%H%M%S)-$$-$number" -- "$@"
    number=$((number + 1))
done

set --
for folder in "$output"/recordings/*-$$-*; do set -- "$@" "$folder"; done
[ "${GATE_RECORD:-no}" != yes ] || set -- "$@" --record
# shellcheck disable=SC2086 # several options are several words
exec ascend-sn gate "$@" --series "$series" \
    --output "$output/gate.xml" --output "$output/gate.md" --output "$output/gate.json" --output "$output/gate.html" \
    ${GATE_OPTIONS:-}
