#!/bin/sh
# The commands that one command of the suite suggests, run where they were printed.
#
#   hints.sh DIR TOP COMMAND...     reads ./out and ./err (tests/cli/tap.sh calls it)
#
# Every `cairn ...` in backquotes, and behind "see: ", "with: " and the like, is run in
# this directory and with this environment, on a copy of TOP that takes its place in a
# mount namespace. It fails if it is wrong usage (2) or finds nothing (10). Commands with a
# PLACEHOLDER or without an end are only parsed, by --help. Lines of DIR/log:
#
#   good|parsed|BAD <tab> status <tab> suggested <tab> printed by <tab> directory
#
# At most three of a kind are run: of those that differ in numbers and names only.
set -u
dir=$1 top=$2
shift 2
[ "$1" = cairn ] || exit 0 # in another directory or environment
tab=$(printf '\t')

case " $* " in # what these print is data, or the text of examples
*' --help '* | *' help '* | *' log '* | *' cat '* | *' grep '* | *' search '* | *' mcp '* | *' -h '*) exit 0 ;;
esac
grep -qs '^usage:' out err && exit 0
grep -qsF 'cairn ' out err || exit 0
work=$(mktemp -d "$dir/work.XXXXXX") || exit 0
trap 'rm -rf "$work"' EXIT

# ---- What is suggested ----

commands=$dir/commands
[ -s "$commands" ] || cairn help all 2>/dev/null | awk '/^  [a-z]/ { print $1 }' | sort -u >"$commands"
awk -v list="$commands" '
# Not: with variables, or a control character in a name, which is shown as ^J.
function take(text) { if (text !~ /[$]|\^[A-Z]/ && !(text in seen)) { seen[text] = 1; print text } }
# Up to what ends a phrase, outside of quotes.
function phrase(text,   i, c, quote) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (quote) { quote = c != "\047"; continue }
        if (c == "\047") quote = 1
        else if (c == ";" || c == ")" || (c == "," && substr(text, i + 1, 1) == " ") ||
                 (c == " " && substr(text, i + 1, 1) ~ /[ (]/)) break
    }
    text = substr(text, 1, i - 1)
    sub(/[^.][.,:]$/, substr(text, length(text) - 1, 1), text)
    return text
}
# Where the backquote is that ends it: not one inside of single quotes.
function end_of(text,   i, c, quoted) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "\\" && !quoted) i++
        else if (c == "\047") quoted = !quoted
        else if (c == "`" && !quoted) return i
    }
    return index(text, "`")
}
BEGIN { while ((getline word <list) > 0) known[word] = 1 }
/^[{]/ || /^usage:/ { next }
{
    rest = ""; line = $0
    while ((at = index(line, "`cairn ")) > 0) {
        rest = rest substr(line, 1, at - 1) " "
        line = substr(line, at + 1)
        end = end_of(line)
        if (end == 0) break
        take(substr(line, 1, end - 1))
        line = substr(line, end + 1)
    }
    line = rest line
    while (match(line, /(^|[ (])cairn [a-z-]+/)) {
        line = substr(line, RSTART)
        sub(/^[ (]/, "", line)
        split(line, words, /[ ,;.)]/)
        if (words[2] in known) take(phrase(line))
        line = substr(line, 6)
    }
}' out err >"$work/suggested"
[ -s "$work/suggested" ] || exit 0

# ---- Running it ----

in_copy() { # SCRIPT: with a copy of TOP in the place of TOP
    if [ ! -d "$work/copy" ]; then
        [ "$(du -sk "$top" | cut -f 1)" -lt 20000 ] || return 99
        cp -a "$top" "$work/copy" 2>/dev/null || return 99
    fi
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount --bind "$1" "$2" && cd "$3" && exec timeout -k 1 5 sh -c "$4"' \
        - "$work/copy" "$top" "$PWD" "$1" >"$work/out" 2>"$work/err" </dev/null
}

first=good # a command that was misspelt: its name is what is said
grep -qsE 'there is no (command|option)|has no option|did you mean' err && first=parsed
while IFS= read -r text; do
    shape=$(printf '%s\n' "$text" |
        sed "s/'[^']*'/Q/g; s/[0-9a-f]*[0-9][0-9a-f]*/N/g; s/ [^ ]*[.\/][^ ]*/ P/g; s/\([-][-][a-z-]*\) [^ -]*/\1 X/g")
    touch "$dir/shapes"
    [ "$(grep -cxF -e "$shape" "$dir/shapes")" -lt 3 ] || continue
    printf '%s\n' "$shape" >>"$dir/shapes"
    case " $* " in *"$text"*) continue ;; esac # the value of an option
    kind=$first
    ! grep -qsF "for a task: $text" err || kind=parsed # if it is the name of one
    # With a word in the place of each text in quotes.
    plain=$(printf '%s\n' "$text" | sed "s/'\\\\''/q/g; s/'[^']*'/q/g")
    case " $plain " in
    *' cancel '* | *' watch '* | *' shell '* | *' mcp '* | *--follow* | *'|'* | *...* | *' [A-Z][A-Z]'* | *' >'*) kind=parsed ;;
    esac
    if printf '%s\n' "$plain" | grep -qE '(^| |=|\[)[A-Z][A-Z]*( |$|,|\]|\.\.\.)'; then
        kind=parsed
    fi
    if [ $kind = parsed ]; then
        sh -c "$(printf '%s\n' "$plain" | sed 's/ \[*-- .*//; s/ [|>&].*//; s/|[a-z|]*//
            s/[][]//g; s/\.\.\.//g; s/\([ =,]\)[A-Z][A-Z]*/\11/g') --help" \
            >"$work/out" 2>"$work/err" </dev/null
        status=$?
    else
        in_copy "$text"
        status=$?
        # Where nobody can be asked; a key or secret that this command was not given; a run
        # that has to go on first; the files `out` and `err` of the test are in its session.
        [ $status -ne 2 ] || ! grep -qE 'needs --yes|--yes removes|--key|secret|continue it first|nothing to redo' "$work/err" || status=1
    fi
    case $status in
    2 | 10 | 126 | 127) kind=BAD ;;
    99) continue ;;
    esac
    printf '%s\t%s\t%s\t%s\t%s\n' "$kind" "$status" "$text" "$*" "$PWD" >>"$dir/log"
    [ $kind != BAD ] || sed "s/^/#${tab}/" "$work/err" | head -n 4 >>"$dir/log"
done <"$work/suggested"
