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
# One row for all mutants. Rows that differ in the command alone (... of COMMAND) are one.
grep '^figure|' "$1" | sort -V -t '|' -k 2,2 -s | awk -F '|' '
    {
        key = $3; part = ""
        if (key ~ /^removed: /) key = "one mechanism removed from the sources: the test named for it fails"
        else if (match(key, /(from then on|change something), of /)) {
            part = substr(key, RSTART + RLENGTH)
            key = substr(key, 1, RSTART + RLENGTH - 6)
        }
        if (!(key in tries)) order[++rows] = key
        promises[key] = promises[key] $2 " "
        if (part != "") parts[key] = parts[key] (parts[key] == "" ? ", of " : "; ") part
        if (!(key in tries)) tries[key] = $4
        else tries[key] = tries[key] + $4 " " substr($4, length($4 + 0 "") + 2)
        for (i = 5; i <= 8; i++) bad[key, i] += $i
    }
    END {
        for (i = 1; i <= rows; i++) {
            key = order[i]
            list = ""
            for (g = 1; g <= 20; g++)
                if (index(promises[key], "G" g " ")) list = list (list == "" ? "" : " ") "G" g
            text = tries[key]
            sub(/^[0-9]+ mutant$/, tries[key] + 0 " mutants", text)
            printf "| %s | %s%s | %s | %d | %d | %d | %d |\n", list, key, parts[key],
                text, bad[key, 5], bad[key, 6], bad[key, 7], bad[key, 8]
        }
    }'
echo
if grep -q '^skip|' "$1"; then
    echo 'Not done on this machine:'
    echo
    grep '^skip|' "$1" | awk -F '|' '{ printf "- %s: %s\n", $2, $3 }'
    echo
fi
