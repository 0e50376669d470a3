# The end of the write-ahead log of a killed run is cut off, emptied or changed: what was
# acknowledged is gone with it. The marker `open` tells how far commits had come, so that is
# said at once; never where nothing is lost.
. "$TESTS/cli/tap.sh"
log=.cairn/cairn.db-wal

cat >w.yaml <<'END'
name: w
tasks:
  a: {run: "true"}
  b: {run: "touch at; while [ -e hold ]; do sleep 0.02; done", needs: [a]}
END

killed() { # CAIRN'S OPTIONS: a run that ended in b, and six notes that were acknowledged
    rm -rf .cairn at
    cairn session start -q s >/dev/null
    touch hold
    cairn run w.yaml -q "$@" >live.out 2>&1 &
    pid=$!
    ok 'a run is live' wait_for 20 test -e at
    for n in 1 2 3 4 5 6; do
        cairn note add "note $n" >/dev/null || return 1
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    rm hold
    # Without what was made room for behind the last commit.
    size=$(od -An -v -tx1 -w8 $log | awk '/[1-9a-f]/ { last = NR } END { print 8 * last }')
    head -c "$size" $log >whole
}

# Whether it is whole, or said to be lost, and nothing between.
judge() { # what was done
    run cairn note list --json
    if [ "$status" -eq 0 ] && [ "$(grep -o '"note [1-6]"' out | sort -u | wc -l)" -eq 6 ]; then
        whole=$((whole + 1))
    elif [ "$status" -eq 5 ] && grep -q 'commits were lost: .*log' err; then
        lost=$((lost + 1))
        run cairn status
        [ "$status" -eq 5 ] || ok "$1: the run is refused, too" false
    else
        ok "$1: whole or named" false
        tap_context
    fi
}

killed
whole=0 lost=0
for percent in 0 2 5 9 14 20 27 33 38 44 49 53 58 61 66 70 74 79 83 86 90 94 97 99 100; do
    at=$((size * percent / 100))
    head -c $at whole >$log
    judge "cut off at $at of $size"
    { head -c $at whole && head -c $((size - at)) /dev/zero; } >$log
    judge "zeros from $at of $size on"
    { head -c $at whole && printf '\377\125' && tail -c +$((at + 3)) whole; } | head -c "$size" >$log
    judge "changed at $at of $size"
done
ok "what was lost was named ($lost of 75)" test $lost -ge 30
ok "what was whole was not ($whole of 75)" test $whole -ge 2

# What is lost is not read by anybody, and not written over.
head -c $((size / 2)) whole >$log
for command in status 'note list' 'checkpoint verify' 'session log' 'note add x' resume; do
    # shellcheck disable=SC2086 # words
    exits 5 cairn $command
    says 'commits were lost: the write-ahead log is damaged, cut off or empty' "$command says so"
done
exits 5 cairn doctor
says 'commits were lost' 'doctor says so'
exits 5 cairn doctor --repair
says 'the end of the write-ahead log' 'the repair says what is lost'
exits 0 cairn note add 'continues'
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# ... or the marker is removed, as the message says.
killed
head -c $((size / 2)) whole >$log
exits 5 cairn status
rm .cairn/open
exits 0 cairn note add 'continues'
exits 0 cairn checkpoint verify

# ---- Where nothing can be said, nothing is ----

quiet() { # what
    run cairn note list
    ok "$1" test "$status" -eq 0
}
killed
head -c $((size / 2)) whole >$log
cp .cairn/open marker
grep -v '^at ' marker >.cairn/open
quiet 'a marker of an older release'
sed 's/^\(at .*\)......$/\1aaaaaa/' marker >.cairn/open
quiet 'a marker from before the machine was started again'
sed 's/^sync full/sync less/' marker >.cairn/open
quiet 'a marker that somebody joined who does not sync each commit'
cat marker >.cairn/open
exits 5 cairn note list
# The marker of a copy may be newer than its log, which was copied earlier.
cp -r .cairn copy
CAIRN_STORE=$PWD/copy run cairn note list
ok 'a copy' test "$status" -eq 0
cp whole $log
mv .cairn .moved && mv .moved .cairn
quiet 'a store that is whole was moved'

killed --sync=normal
head -c $((size / 2)) whole >$log
quiet 'a writer that does not sync'

# The run whose turn was the last commit has been removed since, and nothing else was noted.
killed
exits 0 cairn cancel 1
exits 0 cairn run --fresh w.yaml
exits 0 cairn gc --keep-runs 1
killed_again() { # LAST LINE
    touch hold
    rm -f at
    cairn run --fresh w.yaml -q >live.out 2>&1 &
    pid=$!
    ok 'a run is live' wait_for 20 test -e at
    kill -9 $pid
    wait $pid 2>/dev/null
    rm hold
    printf '%-63s\n' "$1" >line
    sed "s/^last .*/$(cat line)/" .cairn/open >marker
    cat marker >.cairn/open
}
killed_again 'last turn 900 1'
quiet 'the turn of a run that was removed since'
killed_again 'last turn 900 2'
exits 5 cairn note list
done_testing
