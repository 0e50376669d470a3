#!/bin/sh
# The figures in a file as a Markdown table, with what is needed to repeat them.
#   table.sh FILE SECONDS
set -eu
: "${root:?}" "${LEVEL:?}" "${SEED:?}"
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
version=$(git -C "$root" describe --always --dirty 2>/dev/null) || version=$(cat "$root/VERSION")
target=prove
[ "$LEVEL" = full ] || target=prove-short
cat <<END

\`make $target\`, seed $SEED, $(date -u +%Y-%m-%d), cairn $version, $2 s on $(nproc) processors
(${processor:-unknown}), Linux $(uname -r):

| promises | what was done | tries | lost | repeated | undetected | other failures |
|---|---|---|---:|---:|---:|---:|
END
grep '^figure|' "$1" | sort -V -t '|' -k 2,2 -s |
    awk -F '|' '{ printf "| %s | %s | %s | %s | %s | %s | %s |\n", $2, $3, $4, $5, $6, $7, $8 }'
echo
if grep -q '^skip|' "$1"; then
    echo 'Not done on this machine:'
    echo
    grep '^skip|' "$1" | awk -F '|' '{ printf "- %s: %s\n", $2, $3 }'
    echo
fi
