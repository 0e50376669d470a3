#!/bin/sh
# The manual page formats without a warning, and has every command and option that
# `cairn help all` shows.
set -eu
page=docs/man/cairn.1
cairn=${BUILD:-build}/cairn
if ! command -v man >/dev/null; then
    echo 'manual: man is missing (package man-db)' >&2
    exit 75
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2094
MANWIDTH=100 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" >"$work/text" 2>"$work/warnings" </dev/null
# Bold and underlining by overstriking, if there is any.
sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' "$work/text" | tr -s ' \n' ' ' >"$work/plain"

listed() { # the commands that a page of help lists
    awk '/^commands:/ { on = 1; next } /^[a-z]/ { on = 0 }
        on && /^  [a-z]/ { print substr($0, 3, 23) }' | sed 's/ *$//'
}
"$cairn" help all >"$work/overview"
listed <"$work/overview" >"$work/commands"
# Of a group the overview has the name alone.
sed -n 's/^  \([a-z]*\) COMMAND .*/\1/p' "$work/overview" | while read -r group; do
    "$cairn" "$group" --help | listed >>"$work/commands"
done
if [ "$(wc -l <"$work/commands")" -lt 10 ]; then
    echo 'manual: found too few commands in cairn help all' >&2
    exit 1
fi
# The SYNOPSIS has the name of each: of one in a group on a line that begins with the
# group's.
sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$page" |
    sed 's/\\f[BIR]//g; s/\\-/-/g; s/[][|.]/ /g; s/  */ /g; s/$/ /' >"$work/synopsis"
in_synopsis() { # COMMAND
    case $1 in
    *\ *) grep "^cairn ${1% *} " "$work/synopsis" | grep -qF -e " ${1##* } " ;;
    *) grep -qF -e " $1 " "$work/synopsis" ;;
    esac
}
missing=
while read -r command; do
    in_synopsis "$command" || missing="$missing
manual: the SYNOPSIS of $page lacks '$command'"
    grep -qwF -e "$command" "$work/plain" || missing="$missing
manual: $page says nothing of the command '$command'"
    # shellcheck disable=SC2086
    for option in $("$cairn" $command --help | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+'); do
        grep -qF -e "$option" "$work/plain" || missing="$missing
manual: $page says nothing of $option (cairn $command)"
    done
done <"$work/commands"

if [ -s "$work/warnings" ] || [ -n "$missing" ]; then
    cat "$work/warnings" >&2
    printf '%s\n' "$missing" | sort -u >&2
    exit 1
fi
echo "manual: formats cleanly, has all $(wc -l <"$work/commands") commands and their options"
