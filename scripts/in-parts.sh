#!/bin/sh
# Make targets one after the other, and say of each how long it took. Usage: in-parts.sh TARGET...
# Stops at the first that fails.
set -eu

for part in "$@"; do
    begin=$(date +%s)
    status=0
    make --no-print-directory "$part" || status=$?
    echo "== $part: $(($(date +%s) - begin)) s"
    [ "$status" = 0 ] || exit "$status"
done
