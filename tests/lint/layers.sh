#!/bin/sh
# Holds the code against tests/lint/rooms: includes, and calls between the objects in
# $BUILD, go only from a room to the rooms that it may use. Within the rooms named at the
# end no files call each other in a circle. The files of a room whose name ends in _int.h
# are for that room and its alcoves. The command uses include/, base/ and its own headers. Each
# outside library has one door. A test includes nothing above its room. Run from the
# project's root, after a build.
set -eu
BUILD=${BUILD:-build}
table=tests/lint/rooms
rooms=$(sed -n 's/^\([a-z/]*\):.*/\1/p' "$table")
tops=$(printf '%s\n' "$rooms" | cut -d/ -f1 | sort -u)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every include of our files as "FILE:LINE NAME", of the system's as "FILE:LINE <NAME>".
# shellcheck disable=SC2086
grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' --include='*.[chS]' $tops cli server web bindings |
    sed -E 's/^([^:]*):([0-9]+):[^"<]*"([^"]*)".*/\1:\2 \3/; s/^([^:]*):([0-9]+):[^<]*(<[^>]*>).*/\1:\2 \3/' >"$work/includes"

# Reads the table into room[], may[FROM, TO], and below[FROM, TO] for what FROM reaches by
# way of others; room_of cuts a path down to its room.
# shellcheck disable=SC2016
rules='
    function room_of(path,    at) {
        while ((at = match(path, /\/[^\/]*$/))) {
            path = substr(path, 1, at - 1)
            if (path in room) return path
        }
        return ""
    }
    FILENAME == ARGV[1] {
        if ($0 ~ /^#/ || NF == 0) next
        from = $1; sub(/:$/, "", from); room[from] = 1; may[from, from] = 1; below[from, from] = 1
        for (i = 2; i <= NF; i++) {
            if (!($i in room)) print FILENAME ": " from " may not use " $i ", which is not below it"
            may[from, $i] = 1
            for (other in room) if (($i, other) in below) below[from, other] = 1
        }
        next
    }'

check_includes() {
    awk "$rules"'
        $2 !~ /^</ {
            at = $1; sub(/:[0-9]+$/, "", at)
            from = room_of(at); to = room_of($2); slash = index($2, "/")
            if (at ~ /^server\//) {
                if ($2 !~ /^(server\/|base\/|cairn\/|cairn\.h$)/)
                    print $1 ": server/ may include only cairn.h, base/ and its own headers (\"server/...\"), not " $2
            } else if (at ~ /^bindings\//) {
                if ($2 !~ /^(cairn\.h|(addon|fields)\.h)$/)
                    print $1 ": an addon may include only cairn.h and its own headers, not " $2
            } else if (at ~ /^web\//) {
                if ($2 !~ /^(web\/|base\/|cairn\/|cairn\.h$|cli\/(format|describe|items|lineage|picture)\.h$)/)
                    print $1 ": web/ may include only cairn.h, base/, its own headers, and cli/format.h, describe.h, items.h, lineage.h and picture.h, not " $2
            } else if (at ~ /^cli\//) {
                if ($2 ~ /^server\/(serve|site|worker)\.h$/ && at ~ /^cli\/commands\/(mcp|web)\.c:?/)
                    ;
                else if ($2 ~ /^web\// && at ~ /^cli\/commands\/web\.c:?/)
                    ;
                else if ($2 !~ /^(cli\/|base\/|cairn\/|cairn\.h$)/)
                    print $1 ": cli/ may include only cairn.h, base/ and its own headers (\"cli/...\"), not " $2
                else if ($2 ~ /^cli\/(commands|sessions)\// && at !~ /^cli\/((commands|sessions)\/|main\.c$)/)
                    print $1 ": only main.c knows the commands; they stand on the rest of cli/: " $2
            } else if (to == "") {
                if (!slash && $2 != "cairn.h" && system("test -e \"" substr(at, 1, match(at, /\/[^\/]*$/)) $2 "\"") == 0)
                    print $1 ": write " $2 " with its folder"
            } else if (!((from, to) in may)) {
                print $1 ": " from "/ must not include " $2 " (tests/lint/rooms)"
            } else if (to != from && $2 ~ /_int\.h$/ && index(from "/", to "/") != 1) {
                print $1 ": " $2 " is for " to "/ alone"
            }
        }' "$table" "$work/includes"
}

# Every global name of an object: "D FILE NAME" defined, "U FILE NAME" used.
objects=
for room in $rooms cli cli/commands cli/sessions server web; do
    for source in "$room"/*.c; do
        objects="$objects $BUILD/${source%.c}.o"
    done
done
# shellcheck disable=SC2086
nm -A -P $objects | awk -v build="$BUILD/" '
    $3 ~ /^[A-Z]$/ { print ($3 == "U" ? "U" : "D"), substr($1, length(build) + 1, length($1) - length(build ".o:")), $2 }' >"$work/symbols"
[ -s "$work/symbols" ] || { echo "layers: no objects in $BUILD; build first" >&2; exit 1; }

# "USER PROVIDER NAME" of every call between two of our files.
awk '$1 == "D" { of[$3] = $2 } $1 == "U" { user[++n] = $2; name[n] = $3 }
    END { for (i = 1; i <= n; i++) if (name[i] in of && of[name[i]] != user[i])
              print user[i], of[name[i]], name[i] }' "$work/symbols" >"$work/calls"

check_calls() {
    awk "$rules"'
        {
            from = room_of($1); to = room_of($2)
            if (from != "" && !((from, to) in may))
                print $1 ".c: " from "/ must not use " $3 " of " $2 ".c (tests/lint/rooms)"
        }' "$table" "$work/calls"
}

# A test is in the folder of the highest room that it includes, or says `above`.
check_tests() {
    # shellcheck disable=SC2046
    grep -rnE '^#include "' $(grep -rLE '^/\* make:.* above ' tests/unit) |
        sed -E 's|^tests/unit/([^:]*:[0-9]*):#include "([^"]*)".*|\1 \2|' |
        awk "$rules"'
            {
                from = room_of($1); to = room_of($2)
                if (from != "" && to != "" && !((from, to) in below))
                    print "tests/unit/" $1 ": " $2 " is above " from "/ (tests/lint/rooms, mk/needs.sh)"
            }' "$table" -
}

# check_circles ROOM: tsort names the files of a circle on stderr.
check_circles() {
    awk -v room="$1/" 'index($1, room) == 1 && index($2, room) == 1 { print $1, $2 }' \
        "$work/calls" | sort -u | tsort 2>&1 >/dev/null |
        sed -E "s|^tsort: -: ?||; s|^tsort: ||; s|^|$1: |"
}

# The server calls nothing of the command, nor of a room but base/.
check_servers_calls() {
    awk '$1 ~ /^server\// && $2 !~ /^(server|base)\// { print $1 ".c: server/ must not use " $3 " of " $2 ".c" }' "$work/calls"
}

# Pages call of the command only what puts things into words.
check_pages_calls() {
    awk '$1 ~ /^web\// && $2 !~ /^(web|base)\/|^cli\/(format|describe|items|lineage|picture)$/ && ($2 ~ /^(cli|server)\//) { print $1 ".c: web/ must not use " $3 " of " $2 ".c" }' "$work/calls"
}

# A struct clean is made by outside_take, of our own words, or of what was stored before:
# in storage/; of lines that were checked whole (transfer); for names like one that there
# is (restore, repair), and to find a label that is to be removed (annotate).
check_clean() {
    # shellcheck disable=SC2086
    grep -rnE 'clean_stored\(|\(struct clean\)|struct clean [a-z_]+ = \{' --include='*.[ch]' $tops cli |
        grep -vE '^(base/clean\.h|secrets/outside\.c|storage/.*|session/transfer/import\.c|session/moves/restore\.c|session/checkpoint_name\.c|checkpoint/repair/repair_runs\.c):' |
        sed -E 's/^([^:]*:[0-9]+):.*/\1: a text is only stored after outside_take (base\/clean.h)/'
}

# Options of the command, and tools of MCP with what they take, are in one table each.
check_one_list() {
    grep -rnE 'const struct (option|tool|property|variant) [a-z_]+\[' --include='*.[ch]' cli server |
        grep -vE '^(cli/option_table|server/tools_table)\.c:' |
        sed -E 's/^([^:]*:[0-9]+):.*/\1: a second list beside cli\/option_table.c or server\/tools_table.c/'
}

# door HEADER-ERE ALLOWED-FILE-ERE
door() {
    awk -v header="^($1)\$" -v allowed="^($2):" \
        '$2 ~ header && $1 !~ allowed { print $1 ": " $2 " has its one door elsewhere: " allowed }' \
        "$work/includes"
}

found=$(
    check_includes
    check_calls
    check_tests
    check_circles base
    check_circles checkpoint
    check_circles executor
    check_circles plan
    check_circles runs
    check_circles secrets
    check_circles snapshot
    check_circles session
    check_circles session/board
    check_circles graph
    check_circles graph/expression
    check_circles storage
    check_circles storage/sqlite
    check_circles storage/rescue
    check_circles storage/sessions
    check_circles workflow
    check_circles cli
    check_servers_calls
    check_pages_calls
    check_circles web
    check_clean
    check_one_list
    check_circles process
    door '<sqlite3\.h>' 'storage/sqlite/[a-z_]*\.[ch]'
    door '<tpl\.h>' 'checkpoint/payload\.c'
    door '<zstd[a-z_]*\.h>' 'storage/pool/frame\.c'
    door '<yaml\.h>' 'workflow/yaml\.c'
    door '<jansson\.h>' '(cli/json|server/json_value|search/service)\.c'
    door '<curl/.*' 'search/http\.c'
    door '<microhttpd\.h>' 'server/microhttpd\.h'
    door '<openssl/.*' 'base/sha256\.c'
)
if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    exit 1
fi
echo "layers: $(wc -l <"$work/includes") includes and $(wc -l <"$work/calls") calls point down"
