#!/bin/sh
# The manual pages, made from what the command itself says about its commands and options
# (`cairn help all`, `cairn COMMAND --help`): cairn.1 from cairn.1.in, whose lines
# `.\" @...@` are replaced, and a page for each command.
#   pages.sh CAIRN DIRECTORY
set -eu
cairn=$1 to=$2
version=$("$cairn" version)
cairn() { CAIRN_STORE='' "$cairn" "$@"; }

# Text of a page of help as text of a manual page: a part of it, or the whole page of a command.
page() { # summaries, globals, exits, whole
    awk -v part="$1" '
        function text(s) {
            gsub(/\\/, "\\e", s)
            gsub(/-/, "\\-", s)
            gsub(/\|/, "|\\:", s) # a long list of choices may be broken
            while (match(s, /`[^`]*`/))
                s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 1, RLENGTH - 2) "\\fR" substr(s, RSTART + RLENGTH)
            if (s ~ /^[.'"'"']/) s = "\\&" s
            return s
        }
        function option(s,   n) { # "-k, --hits N": names bold, values in italics
            s = text(s)
            n = match(s, /[ =][^ ,=]*$/)
            if (n && substr(s, n + 1) !~ /^\\-/ && s !~ /, [^ ]*$/)
                return "\\fB" substr(s, 1, n - 1) "\\fR" substr(s, n, 1) "\\fI" substr(s, n + 1) "\\fR"
            return "\\fB" s "\\fR"
        }
        function heading(s) { if (part == "whole") print s }
        /^usage:/ {
            at = "details"
            heading(".SH SYNOPSIS\n\\fB" text(substr($0, 8)) "\\fR\n.SH DESCRIPTION")
            next
        }
        /^commands:/ { at = "summaries"; next }
        /^options:/ {
            at = "options"
            if (part == "whole") print text(substr(details, 2)) "\n.SH OPTIONS"
            next
        }
        /^options of every command:/ { at = "globals"; next }
        /^EXAMPLE/ {
            at = "example"
            heading(".PP\nThe options of every command are in\n.BR cairn (1).\n.SH EXAMPLES\n.nf")
            next
        }
        /^exit status:/ { at = "exits"; heading(".fi\n.SH EXIT STATUS"); next }
        /^For details:/ { at = "" }
        /^[a-zA-Z].*:$/ && at == "summaries" {
            if (/GROUP/) at = ""
            else if (part == at) print ".SS " text(substr($0, 1, length($0) - 1))
            next
        }
        at == "options" && /^  --store DIR/ { at = "globals" }
        $0 == "" || (at != part && (part != "whole" || at == "globals")) { next }
        at == "details" { details = details " " $0; next }
        at == "example" { print text(substr($0, 3)); next }
        at == "exits" { print ".TP 4\n" $1; sub(/^ *[0-9]+  /, ""); print text($0); next }
        at == "summaries" {
            name = substr($0, 3, 23); sub(/ *$/, "", name); gsub(/ /, "\\-", name)
            print ".TP 34\n\\fBcairn\\-" name "\\fR(1)\n" text(substr($0, 27)); next
        }
        /^  -/ { # an option, with its text beside or below it
            left = substr($0, 3, 27)
            if (length($0) > 30 && substr($0, 29, 2) ~ /^ [^ ]?/ && left ~ /  *$/) {
                sub(/ *$/, "", left); print ".TP\n" option(left); print text(substr($0, 31))
            } else print ".TP\n" option(substr($0, 3))
            next
        }
        { sub(/^ */, ""); print text($0) }'
}

title() { printf '.\\" SPDX-License-Identifier: MIT\n.TH %s 1 "" "%s" "User Commands"\n.nh\n.ad l\n' "$1" "$version"; }

groups=$(cairn help all | sed -n 's/^  \([a-z]*\) COMMAND .*/\1/p')
umask 022
mkdir -p "$to"
{
    title CAIRN
    while IFS= read -r line; do
        case $line in
        '.\" @commands@')
            cairn help all | page summaries
            for group in $groups; do
                echo ".SS Debugging sessions: $group"
                cairn "$group" --help | page summaries
            done
            ;;
        '.\" @globals@') cairn help all | page globals ;;
        '.\" @exits@') cairn help all | page exits ;;
        '.\" SPDX'*) ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$(dirname "$0")/cairn.1.in"
} >"$to/cairn.1"

# NAME|SUMMARY of every command.
{
    cairn help all
    for group in $groups; do cairn "$group" --help; done
} | awk '/^commands:/ { on = 1; next } /^(options|debugging|For)/ { on = 0 }
    on && /^  [a-z]/ && !/ COMMAND / { name = substr($0, 3, 23); sub(/ *$/, "", name); print name "|" substr($0, 27) }' |
    while IFS='|' read -r name summary; do
        file=$(printf '%s' "$name" | tr ' ' -)
        {
            title "CAIRN-$(printf '%s' "$file" | tr '[:lower:]' '[:upper:]')"
            printf '.SH NAME\ncairn-%s \\- %s\n' "$file" "$(printf '%s' "$summary" | tr -d '`')"
            # shellcheck disable=SC2086
            cairn $name --help | page whole
            printf '.SH SEE ALSO\n.BR cairn (1)\n'
        } >"$to/cairn-$file.1"
    done
