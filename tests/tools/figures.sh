#!/bin/sh
# Figures of the tree's shape, for a look before and after a change of it. Nothing is
# judged here; the limits are in tests/lint/. Run from the project's root, after a build:
#
#   BUILD=build sh tests/tools/figures.sh
#
# ROOMS names the folders if tests/lint/rooms does not. Needs universal-ctags.
set -eu
BUILD=${BUILD:-build}
if ! ctags --version 2>/dev/null | grep -q Universal; then
    echo 'figures: universal-ctags is missing: apt-get install universal-ctags' >&2
    exit 75
fi
if [ -z "${ROOMS-}" ] && [ -f tests/lint/rooms ]; then
    ROOMS=$(sed -n 's/^\([a-z/]*\):.*/\1/p' tests/lint/rooms)
fi
ROOMS="$(printf '%s' "$ROOMS" | tr '\n' ' ') cli"
# shellcheck disable=SC2086
tops=$(printf '%s\n' $ROOMS | cut -d/ -f1 | sort -u)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What awk needs of a path: the longest room in front of it.
# shellcheck disable=SC2016
room_of='
    function room_of(path) {
        while (match(path, /\/[^\/]*$/)) {
            path = substr(path, 1, RSTART - 1)
            if (path in room) return path
        }
        return ""
    }
    BEGIN { n_rooms = split(rooms, order, " "); for (i = 1; i <= n_rooms; i++) room[order[i]] = 1 }'

# shellcheck disable=SC2086
find $tops include -name '*.[ch]' | LC_ALL=C sort >"$work/files"
# Tab-separated: kind, file, name, static or -, and for members the struct and the type.
ctags -L "$work/files" -f - --languages=C --langmap=C:.c.h --kinds-C=fpm \
    --fields=KsSft --fields-C='' -n 2>/dev/null |
    awk -F '\t' '/^!/ { next } {
        kind = $4; scope = type = still = "-"
        for (i = 5; i <= NF; i++) {
            if ($i ~ /^struct:/) { scope = $i; sub(/^struct:/, "", scope) }
            if ($i ~ /^typeref:struct:/) { type = $i; sub(/^typeref:struct:/, "", type) }
            if ($i ~ /^file:/) still = "static"
        }
        print kind "\t" $2 "\t" $1 "\t" still "\t" scope "\t" type
    }' >"$work/tags"

echo '== sources per folder'
sed 's,/[^/]*$,,' "$work/files" | sort | uniq -c | sort -rn | awk '{ printf "%5d %s\n", $1, $2 }'

echo '== prototypes per header: the most, and each over 20'
awk -F '\t' '$1 == "prototype" && $2 ~ /\.h$/ { n[$2]++ } END { for (f in n) print n[f], f }' "$work/tags" |
    sort -rn | awk 'NR == 1 || $1 > 20 { printf "%5d %s\n", $1, $2 } { all++ }
        END { print "      of " all + 0 " headers with prototypes" }'

echo '== lines of the public headers'
# shellcheck disable=SC2046
wc -l $(find include -name '*.h' | LC_ALL=C sort) | awk '{ printf "%5d %s\n", $1, $2 }'

echo '== asserts per function, and statics with a name of one word, by room'
# shellcheck disable=SC2046
grep -cE '(^|[^_a-zA-Z])assert\(' $(cat "$work/files") /dev/null | tr ':' '\t' >"$work/asserts" || true
awk -F '\t' -v rooms="$ROOMS" "$room_of"'
    FILENAME ~ /asserts$/ { asserts[room_of($1)] += $2; next }
    $1 == "function" { functions[room_of($2)]++ }
    $1 == "function" && $4 == "static" && $3 !~ /_/ { short[room_of($2)]++ }
    END {
        for (i = 1; i <= n_rooms; i++) {
            r = order[i]; f += functions[r]; a += asserts[r]; s += short[r]
            if (functions[r])
                printf "%-18s %5d functions %4d asserts %6.3f each %4d one-word statics\n", r, functions[r],
                       asserts[r], asserts[r] / functions[r], short[r]
        }
        printf "%-18s %5d functions %4d asserts %6.3f each %4d one-word statics\n", "all", f, a, a / f, s
    }' "$work/asserts" "$work/tags"

echo '== circles of calls between the files of a room'
for room in $ROOMS; do
    for source in "$room"/*.c; do
        [ -f "$BUILD/${source%.c}.o" ] || continue
        nm "$BUILD/${source%.c}.o" | awk -v file="${source%.c}" '
            $(NF - 1) ~ /^[A-TV-Z]$/ { print "D", file, $NF }
            $(NF - 1) == "U" { print "U", file, $NF }'
    done
done >"$work/symbols"
awk '$1 == "D" { of[$3] = $2 } $1 == "U" { user[++n] = $2; name[n] = $3 }
    END { for (i = 1; i <= n; i++) if (name[i] in of && of[name[i]] != user[i]) print user[i], of[name[i]] }' \
    "$work/symbols" | sort -u >"$work/calls"
# Who reaches whom (Warshall), room by room; a circle is all that reach each other.
awk -v rooms="$ROOMS" "$room_of"'
    room_of($1) == room_of($2) {
        r = room_of($1)
        for (k = 1; k <= 2; k++) if (!($k in at)) { at[$k] = ++size[r]; name[r, at[$k]] = $k }
        edge[r, at[$1], at[$2]] = 1
    }
    END {
        for (q = 1; q <= n_rooms; q++) {
            r = order[q]; n = size[r]; delete reach; delete seen
            for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) if ((r, i, j) in edge) reach[i, j] = 1
            for (k = 1; k <= n; k++) for (i = 1; i <= n; i++) if ((i, k) in reach)
                for (j = 1; j <= n; j++) if ((k, j) in reach) reach[i, j] = 1
            for (i = 1; i <= n; i++) {
                if (i in seen || !((i, i) in reach)) continue
                count = 0; list = ""
                for (j = i; j <= n; j++) if ((i, j) in reach && (j, i) in reach) {
                    seen[j] = 1; count++; word = name[r, j]; sub(/.*\//, "", word); list = list " " word
                }
                printf "%5d files of %s:%s\n", count, r, list; circles++
            }
        }
        if (!circles) print "      none"
    }' "$work/calls"

echo '== files that assign each field of struct engine and of the structs in it'
# parts: the structs that are members of struct engine and are declared in executor/.
# Of pointers to one, and of members of its type, each assignment counts.
# shellcheck disable=SC2046
awk -F '\t' '
    FILENAME == ARGV[1] {
        if ($1 == "member" && $2 ~ /^executor\//) { field[$5, $3] = 1; declared[$5] = 1; type[$5, $3] = $6 }
        next
    }
    FNR == 1 && !parts {
        parts = 1; part["engine"] = 1
        for (k in type) { split(k, p, SUBSEP); if (p[1] == "engine" && type[k] in declared) part[type[k]] = 1 }
        for (k in field) { split(k, p, SUBSEP); if (p[1] in part) { writers[k] += 0; holds[p[2]] = 1 } }
        for (k in type) { split(k, p, SUBSEP); if (type[k] in part) member_of[p[2]] = type[k] }
    }
    FNR == 1 { delete variable }
    {
        line = $0; rest = line
        while (match(rest, /struct [a-z_]+ \*?[a-z_]+/)) {
            split(substr(rest, RSTART, RLENGTH), w, " "); v = w[3]; sub(/^\*/, "", v)
            if (w[2] in part) variable[v] = w[2]
            rest = substr(rest, RSTART + RLENGTH)
        }
        # NAME->FIELD or NAME.FIELD, perhaps with an index, then an assignment.
        rest = line
        while (match(rest, /[a-z_]+(->|\.)[a-z_]+(\[[^]]*\])?( (=|\+=|-=|\|=|&=|\*=) |\+\+|--)/)) {
            piece = substr(rest, RSTART, RLENGTH); before = substr(rest, 1, RSTART - 1)
            name = piece; sub(/(->|\.).*/, "", name)
            f = piece; sub(/^[a-z_]+(->|\.)/, "", f); sub(/[^a-z_].*/, "", f)
            inner = before ~ /(->|\.)$/
            t = inner ? member_of[name] : (name in variable ? variable[name] : member_of[name])
            if (t != "" && (t, f) in field && !((t, f, FILENAME) in once)) { once[t, f, FILENAME] = 1; writers[t, f]++ }
            rest = substr(rest, RSTART + RLENGTH)
        }
        rest = line
        while (match(rest, /(\+\+|--)[a-z_]+(->[a-z_]+)*(->|\.)[a-z_]+/)) {
            piece = substr(rest, RSTART + 2, RLENGTH - 2); f = piece; sub(/.*(->|\.)/, "", f)
            name = piece; sub(/(->|\.)[a-z_]+$/, "", name); sub(/.*(->|\.)/, "", name)
            t = name in variable ? variable[name] : member_of[name]
            if (t != "" && (t, f) in field && !((t, f, FILENAME) in once)) { once[t, f, FILENAME] = 1; writers[t, f]++ }
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    END { for (k in writers) { split(k, p, SUBSEP); print writers[k], p[1] "." p[2] } }
' "$work/tags" $(grep '^executor/.*[.]c$' "$work/files") | sort -rn >"$work/writers"
awk '{ n++; of[n] = $1; if ($1 >= 3) many++; if ($2 ~ /^engine\./) own++ }
    END { printf "%5d fields (%d of struct engine itself), median %s writers, %d with three or more\n",
                 n, own, n ? of[int((n + 1) / 2)] : 0, many }' "$work/writers"
awk '$1 >= 3 { printf "%5d %s\n", $1, $2 }' "$work/writers"

echo '== lines of tests to lines of code'
code=$(xargs cat <"$work/files" | wc -l)
tests=$(find tests -name '*.[ch]' -exec cat {} + | wc -l)
scripts=$(find tests -name '*.sh' -exec cat {} + | wc -l)
awk -v c="$code" -v t="$tests" -v s="$scripts" 'BEGIN {
    printf "%5d of code, %d of tests in C, %d in shell: %.2f (C alone %.2f)\n", c, t, s, (t + s) / c, t / c }'
