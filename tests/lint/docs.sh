#!/bin/sh
# Every source file that a document names by its path exists: `room/file.c`, with or
# without a `*` in the name of the file. (tests/README.md names files of its own folder.)
set -eu
tops=$(sed -n 's/^\([a-z]*\)[/:].*/\1/p' tests/lint/rooms | sort -u | tr '\n' '|')

missing=$(
    # shellcheck disable=SC2010,SC2046
    grep -noE "\`(${tops}cli|include|tests|bench|examples)/[A-Za-z0-9_/*.-]+\.(c|h|sh|S|json)\`" \
        README.md docs/*.md $(ls ./*/README.md | grep -v tests/) |
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
echo 'docs: every source file that a document names exists'
