#!/bin/sh
# The shared library exports what the public headers declare: all of it, and nothing
# else.
set -eu
library=${BUILD:-build}/libcairn.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    LC_ALL=C sort -u >"$work/exported"
# A declaration may go on over several lines; the name stands before the first bracket.
cat include/cairn.h include/cairn/*.h | tr '\n' ' ' | sed 's/CAIRN_API/\n&/g' |
    sed -nE 's/^CAIRN_API[^(]*[^a-z0-9_](cairn_[a-z0-9_]+)[[:space:]]*\(.*/\1/p' |
    LC_ALL=C sort -u >"$work/declared"

if [ ! -s "$work/declared" ]; then
    echo 'symbols: found no declarations in include/' >&2
    exit 1
fi
if ! diff "$work/declared" "$work/exported" >"$work/difference"; then
    echo "symbols: < is declared in include/ but not exported, > is exported but not declared" >&2
    grep '^[<>]' "$work/difference" >&2
    exit 1
fi
echo "symbols: $(wc -l <"$work/exported") exported, each declared in include/"
