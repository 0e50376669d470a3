# Another program looks at the store with SQLite, as the shell `sqlite3` and backups do: the
# last connection to leave transfers the log and removes it. Nothing is lost with that, and
# cairn must not say so; what is really lost must be told all the same.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

cat >w.yaml <<'END'
name: w
on_failure: continue
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran; touch at; while [ -e hold ]; do sleep 0.02; done", needs: [b]}
END
live() { # a run that is held in c, in the background, as $pid
    rm -rf .cairn ran at
    touch hold
    cairn run w.yaml >live.out 2>&1 &
    pid=$!
    ok 'a run is live' wait_for 20 test -e at
}
killed() {
    live
    kill -9 $pid
    wait $pid 2>/dev/null
    rm hold
}
goes_on() { # what
    for command in status runs 'checkpoint verify' 'plan w.yaml' doctor; do
        # shellcheck disable=SC2086
        exits 0 cairn $command
        ok "$1: $command speaks of no loss" sh -c '! grep -q "lost" out err'
    done
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'a b c c ' "$1: what had ended did not run again"
    exits 0 cairn checkpoint verify
}

# ---- After a kill ----

killed
"$sql" $db 'SELECT count(*) FROM run' >x
ok 'the other program has removed the log' test ! -e .cairn/cairn.db-wal -a -e .cairn/open
goes_on 'a look'

killed
"$sql" $db 'SELECT count(*) FROM run'
exits 0 cairn status
exits 0 cairn doctor --repair
says 'nothing is damaged' 'a repair has nothing to do'
goes_on 'a look, and a repair'

killed
"$sql" $db "VACUUM INTO 'backup.db'"
goes_on 'a backup'

# The new writer is killed before its first commit: an empty log beside the marker.
killed
"$sql" $db 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
: >.cairn/cairn.db-wal
goes_on 'an emptied log'

# The first writer since the store was closed is killed before its first commit.
none=0
rm -rf .cairn
cairn run w.yaml >/dev/null 2>&1
for n in 3 4 5; do
    ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0" LD_PRELOAD=$BUILD/tests/crash/killer.so \
        CRASH_KILL=any-sync:$n CRASH_MARK=$PWD/mark cairn run --fresh w.yaml >/dev/null 2>&1
    grep -qs '^last none' .cairn/open && none=$((none + 1))
    "$sql" $db 'SELECT count(*) FROM run' >x
    exits 0 cairn status
    ok 'killed before its first commit, then a look: nothing is lost' sh -c '! grep -q "lost" out err'
    exits 0 cairn run w.yaml
done
is $none 3 'it had committed nothing'

# ---- A long reader at the end of a run ----

live
"$sql" $db 'SELECT count(*), (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000000) SELECT count(*) FROM c) FROM checkpoint' >reader.out 2>&1 &
reader=$!
rm hold
wait $pid
is $? 0 'the run ended'
wait $reader
exits 0 cairn status
exits 0 cairn run w.yaml
ok 'a long reader at the end' sh -c '! grep -q lost out err'

# ---- The last commit was that of a command, not of the run ----

live
kill -STOP $pid
exits 0 cairn cancel 1
kill -9 $pid
wait $pid 2>/dev/null
rm hold
cp -r .cairn before
"$sql" $db 'SELECT count(*) FROM run'
exits 0 cairn status
rm -rf .cairn
mv before .cairn
rm .cairn/cairn.db-wal
exits 5 cairn status
says 'commits were lost' 'a lost command is told'

# ---- What is really lost ----

killed
cp $db old.db
cp .cairn/cairn.db-wal old.wal
rm .cairn/cairn.db-wal
exits 5 cairn status
says 'commits were lost' 'a log that was only removed'
: >.cairn/cairn.db-wal
exits 5 cairn status
says 'commits were lost' 'or emptied'
# Another program has transferred it, and then an older database was put back.
cp old.wal .cairn/cairn.db-wal
"$sql" $db 'SELECT count(*) FROM run'
cp old.db $db
exits 5 cairn status
says 'commits were lost' 'or transferred to a file that is not there any more'
# As from an older release, which noted no commit.
killed
grep -v '^last' .cairn/open >x
cat x >.cairn/open
"$sql" $db 'SELECT count(*) FROM run'
exits 5 cairn status
says 'commits were lost' 'without a note of the last commit nothing is taken for granted'
done_testing
