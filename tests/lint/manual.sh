#!/bin/sh
# The manual pages, which docs/man/pages.sh makes from the help of the command, format
# without a warning, and every command has one.
set -eu
cairn=${BUILD:-build}/cairn
if ! command -v groff >/dev/null; then
    echo 'manual: groff is missing (package groff-base)' >&2
    exit 75
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh docs/man/pages.sh "$cairn" "$work/man"
groff -man -ww -Tutf8 -rLL=100n -k "$work"/man/*.1 2>"$work/warnings" </dev/null |
    sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' >"$work/text"
"$cairn" help all | grep -c '^  [a-z]' >"$work/least"
found=$(find "$work/man" -name 'cairn-*.1' | wc -l)
if [ "$found" -lt "$(cat "$work/least")" ]; then
    echo "manual: only $found pages of commands" >>"$work/warnings"
fi
# Whatever is left of the marks, or of the help's own form, was not understood.
grep -nE '@[a-z]+@|^ *usage:|`' "$work/text" >>"$work/warnings" || true
if [ -s "$work/warnings" ]; then
    cat "$work/warnings" >&2
    exit 1
fi
echo "manual: $((found + 1)) pages format cleanly"
