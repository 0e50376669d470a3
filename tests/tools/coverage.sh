#!/bin/sh
# Lines and branches that the tests reach, per directory, from a build with --coverage.
#
#   BUILD=build/coverage sh tests/tools/coverage.sh [--list]
#
# Fails below 90 % of lines in storage/ or checkpoint/. --list prints the lines there that
# no test reaches, for docs/coverage.md. Branches leave out those that the compiler added
# (none of them is in the source).
set -eu
BUILD=$(cd "${BUILD:?}" && pwd)
cd "$(dirname "$0")/../.."
gcovr --root . --object-directory "$BUILD" --exclude tests/ --exclude examples/ --exclude bench/ \
    --exclude-unreachable-branches --json-summary "$BUILD/summary.json" --json "$BUILD/lines.json" "$BUILD"
"$BUILD/tests/tools/json" flat "$BUILD/summary.json" | awk -F '\t' -v rooms="$(sed -n 's|^\([a-z]*\):.*|\1|p' tests/lint/rooms | tr '\n' ' ')" '
    $1 ~ /^\.files\[[0-9]*\]\./ {
        split($1, part, /[][.]+/)
        value[part[3] "." part[4]] = $2
        if (part[3] + 0 > last) last = part[3] + 0
    }
    END {
        for (i = 0; i <= last; i++) {
            dir = value[i ".filename"]
            if (!sub(/\/.*/, "", dir)) continue
            lines[dir] += value[i ".line_total"]; hit[dir] += value[i ".line_covered"]
            branches[dir] += value[i ".branch_total"]; taken[dir] += value[i ".branch_covered"]
        }
        n_dirs = split(rooms " cli server", dirs, " ")
        printf "%-12s %16s %18s\n", "", "lines", "branches"
        for (i = 1; i <= n_dirs; i++) {
            dir = dirs[i]
            if (!lines[dir]) { print dir ": nothing was measured"; bad = 1; continue }
            percent = 100 * hit[dir] / lines[dir]
            printf "%-12s %5d/%-5d %5.1f%% %5d/%-5d %5.1f%%\n", dir, hit[dir], lines[dir], percent, taken[dir], branches[dir], 100 * taken[dir] / branches[dir]
            if ((dir == "storage" || dir == "checkpoint") && percent < 90) bad = 1
        }
        if (bad) print "too little: storage/ and checkpoint/ must have 90 % of their lines reached"
        exit bad
    }' || status=$?
if [ "${1-}" = --list ]; then
    "$BUILD/tests/tools/json" flat "$BUILD/lines.json" >"$BUILD/lines.flat"
    awk -F '\t' '
        function tell() { if (line && !code && count == 0) print file ":" line; line = "" }
        $1 ~ /\.file$/ { tell(); file = $2; next }
        $1 ~ /\.branches/ { next }
        { key = $1; sub(/\.[^.]*$/, "", key); if (key != last) { tell(); code = 0; last = key } }
        $1 ~ /\.count$/ { count = $2 }
        $1 ~ /noncode$/ { code = $2 == "true" }
        $1 ~ /\.line_number$/ { line = file ~ /^(storage|checkpoint)\// ? $2 : "" }
        END { tell() }' "$BUILD/lines.flat" |
        while IFS=: read -r file line; do
            printf '%s:%s:%s\n' "$file" "$line" "$(sed -n "${line}p" "$file")"
        done
fi
exit "${status:-0}"
