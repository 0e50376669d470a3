# shellcheck shell=sh
# TAP for the tests of the command; sourced: . "$TESTS/cli/tap.sh"
#
#   run cairn run flow.yaml        runs it: $status, files out and err
#   exits 3 cairn run flow.yaml    the same, and one test: is that the exit status?
#   says 'text' [NAME]             is the fixed text in out or err?
#   matches 'ERE' [NAME]           the same with an extended regular expression
#   silent_on out|err              is that file empty?
#   ok NAME COMMAND...             one test: does the command succeed?
#   is GOT WANTED NAME             one test: are the strings equal?
#   json_ok NAME [FILE]            is the file (default: out) valid JSON or NDJSON?
#   json_get PATH [FILE]           prints the scalar at a path, as `json flat` shows it
#   planned ARGUMENT...            prints the tasks that `cairn plan` says will run
#   task_state TASK                prints the state of a task in the newest run
#   skip NAME WHY, skip_all WHY    say why something cannot be tried here
#   lives TEXT                     has a process this text in its command line?
#   count TEXT FILE                prints how many lines are exactly this text
#   wait_for SECONDS COMMAND...    polls until the command succeeds
#   killed_at FILE COMMAND...      runs it, and kills it when the file is there
#   can_sweep NAME N               may NAME kill a command at every Nth call of the system,
#                                  or at every $apart-th? Else it is skipped.
#   done_testing                   last line of every file
#
# A file runs in an empty directory of its own, with `cairn` first in PATH and
# CAIRN_STORE=$PWD/.cairn. Everything it starts must have ended when it ends.
set -u
tap_n=0
tap_failed=0
tap_last=
tap_top=$PWD # with $TAP_HINTS: what tests/tools/hints.sh copies
status=0

tap_report() { # ok|not ok, name
    tap_n=$((tap_n + 1))
    echo "$1 $tap_n - $2"
    [ "$1" = ok ] || tap_failed=$((tap_failed + 1))
}

tap_context() {
    echo "# command: $tap_last"
    echo "# exit:    $status"
    for tap_file in out err; do
        [ ! -s $tap_file ] || head -c 4000 $tap_file | head -n 30 | sed "s/^/# $tap_file: /"
    done
}

run() {
    tap_last=$*
    "$@" >out 2>err </dev/null
    status=$?
    [ -z "${TAP_HINTS-}" ] || sh "$TESTS/tools/hints.sh" "$TAP_HINTS" "$tap_top" "$@"
    return 0
}

exits() {
    tap_wanted=$1
    shift
    run "$@"
    if [ "$status" -eq "$tap_wanted" ]; then
        tap_report ok "$* exits $tap_wanted"
    else
        tap_report 'not ok' "$* exits $tap_wanted, not $status"
        tap_context
    fi
}

says() {
    if cat out err | grep -qF -e "$1"; then
        tap_report ok "${2:-$tap_last says: $1}"
    else
        tap_report 'not ok' "${2:-$tap_last says: $1}"
        tap_context
    fi
}

matches() {
    if cat out err | grep -qE -e "$1"; then
        tap_report ok "${2:-$tap_last matches $1}"
    else
        tap_report 'not ok' "${2:-$tap_last matches $1}"
        tap_context
    fi
}

silent_on() {
    if [ ! -s "$1" ]; then
        tap_report ok "$tap_last prints nothing on $1"
    else
        tap_report 'not ok' "$tap_last prints nothing on $1"
        tap_context
    fi
}

ok() {
    tap_name=$1
    shift
    if "$@"; then
        tap_report ok "$tap_name"
    else
        tap_report 'not ok' "$tap_name"
        echo "# failed: $*"
        tap_context
    fi
}

is() {
    if [ "$1" = "$2" ]; then
        tap_report ok "$3"
    else
        tap_report 'not ok' "$3"
        printf '%s\n' "$1" | sed 's/^/# got:    /'
        printf '%s\n' "$2" | sed 's/^/# wanted: /'
        tap_context
    fi
}

json_ok() {
    if "$BUILD/tests/tools/json" flat "${2:-out}" >flat.tsv 2>json.err; then
        tap_report ok "$1"
    else
        tap_report 'not ok' "$1"
        sed 's/^/# /' json.err
        tap_context
    fi
}

json_get() {
    "$BUILD/tests/tools/json" flat "${2:-out}" 2>/dev/null |
        awk -F '\t' -v path="$1" '$1 == path { print $2; exit }'
}

planned() { # the tasks that `cairn plan ARGUMENTS` says will run, on one line
    cairn plan "$@" 2>/dev/null | awk '$1 == "run" { printf "%s%s", sep, $2; sep = " " }'
}

task_state() {
    cairn status --tasks 2>/dev/null | awk -v task="$1" '$2 == task { print $1 }'
}

skip() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # skip $2"
}

skip_all() {
    skip "$(basename "$0")" "$1"
    done_testing
}

wait_for() {
    tap_tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tap_tries=$((tap_tries - 1))
        [ $tap_tries -gt 0 ] || return 1
        sleep 0.05
    done
}

# One test, if the file does not come. What the command prints is in killed.out.
killed_at() {
    tap_awaited=$1
    shift
    "$@" >killed.out 2>&1 </dev/null &
    tap_pid=$!
    wait_for 20 test -e "$tap_awaited" || tap_report 'not ok' "$* comes to $tap_awaited"
    kill -KILL $tap_pid
    wait $tap_pid 2>/dev/null
}

# Not by pgrep: a minimal system has none. A process that has ended has no command line.
lives() {
    for tap_file in /proc/[0-9]*/cmdline; do
        if tr '\0' ' ' 2>/dev/null <"$tap_file" | grep -qF -e "$1"; then
            return 0
        fi
    done 2>/dev/null
    return 1
}

count() {
    grep -cxF -e "$1" "$2" 2>/dev/null || true
}

# The full level has every Nth call, the short one a third of them. Under sanitizers, none:
# a process that is killed tells them nothing.
can_sweep() {
    apart=$2
    [ "${CAIRN_TEST_LEVEL-short}" = full ] || apart=$((3 * $2))
    if [ "${CAIRN_TEST_LEVEL-}" = brief ]; then
        skip "$1" 'this level has none'
    elif ! command -v strace >strace.out || ! strace -o strace.out true; then
        skip "$1" 'there is no strace, or it may not trace'
    else
        return 0
    fi
    return 1
}

done_testing() {
    echo "1..$tap_n"
    [ $tap_failed -eq 0 ]
    exit
}
