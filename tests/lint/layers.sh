#!/bin/sh
# Includes point down only: cli > executor > checkpoint > storage > base; the command
# uses the public header and nothing else of the library. Each outside library has one
# door. Run from the project's root.
set -eu

# Every include as "FILE NAME", of the given directories.
includes() {
    grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' --include='*.[chS]' "$@" 2>/dev/null |
        sed -E 's/^([^:]*):([0-9]+):[^"<]*["<]([^">]*)[">].*/\1:\2 \3/'
}

# "x.h" without a directory is of the includer's own; then the directory decides.
layers() {
    includes base storage checkpoint executor cli | awk '
        BEGIN {
            split("base storage checkpoint executor cli", order, " ")
            for (i in order) level[order[i]] = i
        }
        {
            split($1, at, "/"); from = at[1]
            n = split($2, part, "/"); to = n > 1 ? part[1] : from
            if (from == "cli") {
                if (n > 1 && to in level && to != "cli")
                    print $1 ": cli/ may include only cairn.h and its own headers, not " $2
            } else if ($2 == "cairn.h" || !(to in level)) {
                next
            } else if (level[to] > level[from]) {
                print $1 ": " from "/ must not include " $2 ": includes point down"
            } else if (to != from && part[n] ~ /_int\.h$/) {
                print $1 ": " $2 " is for " to "/ alone"
            }
        }'
}

# Headers of other folders must be named with the folder, or the rule above is blind.
hidden() {
    for layer in base storage checkpoint executor cli; do
        grep -rn '#include "' --include='*.[ch]' "$layer" 2>/dev/null |
            sed -E 's/^([^:]*):([0-9]+):[^"]*"([^"]*)".*/\1:\2 \3/' | while read -r at name; do
            case $name in
            */* | cairn.h) continue ;;
            esac
            dir=${at%/*}
            [ -e "$dir/$name" ] && continue
            for other in base storage checkpoint executor cli; do
                [ ! -e "$other/$name" ] || echo "$at: write \"$other/$name\", with its folder"
            done
        done
    done
}

# door HEADER-ERE ALLOWED-FILE-ERE
door() {
    includes base storage checkpoint executor cli |
        awk -v header="^($1)\$" -v allowed="^($2):" \
            '$2 ~ header && $1 !~ allowed { print $1 ": " $2 " has its one door elsewhere: " allowed }'
}

found=$(
    layers
    hidden
    door 'sqlite3\.h' 'storage/db[a-z_]*\.[ch]'
    door 'tpl\.h' 'checkpoint/payload\.c'
    door 'zstd[a-z_]*\.h' 'storage/object[a-z_]*\.c'
    door 'yaml\.h' 'executor/yaml\.c'
    door 'jansson\.h' 'cli/json\.c'
    door 'openssl/.*' 'base/sha256\.c'
)
if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    exit 1
fi
echo 'layers: includes point down, each outside library has one door'
