#!/bin/sh
# Every room and alcove has a README.md. Every source file that a document names by its
# path exists: `room/file.c`, with or without a `*` in the name of the file.
# (tests/README.md names files of its own folder.)
set -eu
tops=$(sed -n 's/^\([a-z]*\)[/:].*/\1/p' tests/lint/rooms | sort -u | tr '\n' '|')

missing=$(
    for room in $(sed -n 's/^\([a-z/]*\):.*/\1/p' tests/lint/rooms) cli server web process/helper; do
        [ -e "$room/README.md" ] || echo "$room: has no README.md: what it is for, what it may use, where to begin"
    done
    # shellcheck disable=SC2010,SC2046
    grep -noE "\`(${tops}cli|server|web|include|tests|bench|examples)/[A-Za-z0-9_/*.-]+\.(c|h|sh|S|json)\`" \
        README.md docs/*.md $(ls ./*/README.md ./*/*/README.md | grep -v tests/) |
        while IFS=: read -r document line name; do
            path=$(printf '%s' "$name" | tr -d '`')
            # shellcheck disable=SC2086
            set -- $path
            [ -e "$1" ] || echo "$document:$line: there is no file $path"
        done
)
if [ -n "$missing" ]; then
    printf '%s\n' "$missing" >&2
    exit 1
fi
echo 'docs: every room has a README.md, every source file that a document names exists'
