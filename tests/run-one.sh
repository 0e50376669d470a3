#!/bin/sh
# One test program for run.sh, which sets BUILD, TESTS, root and work. Leaves
# $work/NAME.counts ("passed failed skipped") and a line in $BUILD/test-costs, and prints
# one line, with the time from 10 seconds on, and every failure.
set -u
: "${work:?}" "${TESTS:?}" "${BUILD:?}" "${root:?}"
test=$1
name=${test#"$root"/}
name=${name#"$BUILD"/}
key=$(echo "$name" | tr / _)
dir=$work/$key
log=$work/$key.log
tap=$work/$key.tap
mkdir "$dir" && cd "$dir" || exit 1
# What works is limited by the time that a processor gave it: on a busy machine, a right
# test takes several times as long by the clock. The clock only ends what hangs.
limit=${TEST_TIMEOUT:-300}
hang=$((limit + 1800))
# shellcheck disable=SC3045 # dash and bash have -S
ulimit -S -t "$limit" 2>/dev/null || : # less is allowed already
: >"$tap"
began=$(date +%s)

case $test in
*.sh)
    # Its own home, so that sessions keep no files unless the test says so.
    export CAIRN_STORE="$dir/.cairn" PATH="$BUILD:$PATH" HOME="$dir"
    TMPDIR=$dir timeout -k 10 "$hang" sh "$test" >"$tap" 2>"$log" </dev/null
    status=$?
    # A plan line that is missing or does not fit means that the file ended early.
    planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$tap" | tail -n 1)
    ;;
*)
    # shellcheck disable=SC2086
    SOURCE_ROOT=$root TMPDIR=$dir CK_TAP_LOG_FILE_NAME=$tap CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-120} \
        CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-10} \
        timeout -k 10 "$hang" ${TEST_WRAPPER-} "$test" >"$log" 2>&1 </dev/null
    status=$?
    planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$tap" | tail -n 1)
    ;;
esac

took=$(($(date +%s) - began))
# What the test and all processes that it waited for used, as `times` has it: 0m1.5s 0m0.2s
times >"$work/$key.times"
used=$(awk -F '[ms ]+' '{ used += 60 * $1 + $2 + 60 * $3 + $4 } END { printf "%.2f", used }' "$work/$key.times")
echo "$used $took $name" >>"$BUILD/test-costs"
passed=$(grep -c '^ok ' "$tap")
failed=$(grep -c '^not ok ' "$tap")
skipped=$(grep -ci '^ok .*# skip' "$tap")
passed=$((passed - skipped))
why=
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    why="took longer than $hang s"
elif [ "$status" -eq 152 ]; then # SIGXCPU
    why="used more than $limit s of processor time"
elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    why="ended with exit $status, though no test failed"
elif [ "${planned:-none}" != $((passed + failed + skipped)) ]; then
    why="planned ${planned:-no} tests, ran $((passed + failed + skipped))"
fi
[ -z "$why" ] || failed=$((failed + 1))
echo "$passed $failed $skipped" >"$work/$key.counts"

{
    if [ "$failed" -gt 0 ]; then
        echo "FAIL $name: $passed passed, $failed failed, $skipped skipped${why:+; $why}"
        # A failure in TAP, and the comment lines before and under it.
        awk '/^ok/ { show = 0; said = ""; next }
             /^not ok/ { printf "%s", said; said = ""; show = 1 }
             show { print "    " $0; next }
             { said = said "    " $0 "\n" }' "$tap" | head -n 120
        tail -n 40 "$log" | sed 's/^/    | /'
    else
        echo "ok   $name: $passed passed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")$([ "$took" -lt 10 ] || echo " ($took s, $used of a processor)")"
        grep -i '^ok .*# skip' "$tap" | sed 's/^/    /'
    fi
} >"$work/$key.text"
cat "$work/$key.text"
[ -n "${KEEP-}" ] || rm -rf "$dir"
exit 0
