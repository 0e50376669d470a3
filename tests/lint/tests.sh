#!/bin/sh
# Every test stands where make finds it (tests/README.md), and every mutant fits the sources.
set -eu
rooms="$(sed -n 's/^\([a-z/]*\):.*/\1/p' tests/lint/rooms)
cli"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    find tests/unit -type f | LC_ALL=C sort | while read -r file; do
        room=${file#tests/unit/}
        room=${room%/*}
        if ! printf '%s\n' "$rooms" | grep -qx -e "$room"; then
            echo "$file: belongs in tests/unit/ROOM/, where ROOM is the highest room that it uses (tests/lint/rooms)"
            continue
        fi
        case ${file##*/} in
        check_*.c) ;;
        *.[ch]) echo "$file: a test is called check_X.c; what several tests share belongs in tests/support/" ;;
        *) echo "$file: only tests belong here; see tests/README.md" ;;
        esac
    done
    find tests -name 'check_*.c' ! -path 'tests/unit/*' ! -path 'tests/sim/*' |
        sed 's,$,: a test of the library belongs in tests/unit/ROOM/,'
    # Two tests of one name could not be told apart by `make check T=NAME`.
    find tests/unit tests/sim -name 'check_*.c' | sed 's,.*/,,' | LC_ALL=C sort | uniq -d |
        sed 's/$/: two tests have this name/'
    # The tests build what they need beyond a bare machine's commands.
    grep -nE '(^|[^"/`a-z_.])(sqlite3|jq) ' tests/cli/*.sh |
        grep -vE '^[^:]*:[0-9]*: *#' | sed 's/$/: not on every machine; see tests\/tools/'
    # Only the long form of the provers tries them all.
    for mutant in tests/prove/mutants/*.patch; do
        patch --dry-run -s -p1 <"$mutant" >"$work/patch" 2>&1 ||
            echo "$mutant: does not apply any more: make the same change to the sources of now"
        test=$(sed -n 's/^# test: *\([^ ]*\).*/\1/p' "$mutant")
        [ -e "$test" ] || [ -e "$test.c" ] || echo "$mutant: there is no test $test"
    done
} >"$work/found"
if [ -s "$work/found" ]; then
    cat "$work/found" >&2
    exit 1
fi
echo "tests: $(find tests/unit -name 'check_*.c' | wc -l) programs, each in the folder of its room"
