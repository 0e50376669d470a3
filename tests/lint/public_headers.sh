#!/bin/sh
# The public headers: at most 400 lines each, all of them included by cairn.h, and a
# comment above every prototype. Prototypes that follow each other share one comment.
set -eu
limit=400

found=$(
    for header in include/cairn.h include/cairn/*.h; do
        lines=$(wc -l <"$header")
        [ "$lines" -le "$limit" ] || echo "$header: $lines lines, the limit is $limit"
        [ "$header" = include/cairn.h ] ||
            grep -qxF "#include \"${header#include/}\"" include/cairn.h ||
            echo "include/cairn.h: does not include ${header#include/}"
        # `said`: the line before ended a comment, or a prototype that has one.
        awk '
            prototype { if (/;$/) { prototype = 0; said = 1 } next }
            /^CAIRN_API/ {
                if (!said) print FILENAME ":" FNR ": no comment above this prototype"
                prototype = !/;$/; said = 1; next
            }
            { said = /\*\/$/ && !/;[[:space:]]*\/\*/ }
            /^struct [a-z_]+;$/ && was { said = 1 }
            { was = said }' "$header"
    done
)
# The library exports what the headers declare, and every symbol has the release that
# brought it.
declared=$(cat include/cairn/*.h |
    grep -oE '^CAIRN_API .*|^ +cairn_[a-z_]+\(|^cairn_[a-z_]+\(' |
    grep -oE 'cairn_[a-z0-9_]+\(' | tr -d '(' | sort -u)
exported=$(grep -oE 'cairn_[a-z0-9_]+;' include/cairn.map | tr -d ';' | sort)
if [ "$declared" != "$exported" ]; then
    found="$found${found:+
}include/cairn.map and the headers differ in $(printf '%s\n%s\n' "$declared" "$exported" |
        sort | uniq -u | tr '\n' ' ')"
fi
if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    exit 1
fi
prototypes=$(cat include/cairn/*.h | grep -c '^CAIRN_API')
echo "public_headers: $prototypes prototypes with comments, no header over $limit lines"
