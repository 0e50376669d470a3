# What is lost without a trace is told: files that are gone, emptied or cut off, tables and
# rows that are missing. Nothing of that passes for a whole store, and a repair tells it.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

cat >w.yaml <<'END'
name: w
tasks:
  a: {run: "echo a >>ran; head -c 5000 /dev/urandom | base64"}
  b: {run: "echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran; [ ! -e hold ] || touch at-c; while [ -e hold ]; do sleep 0.02; done", needs: [b]}
END
exits 0 cairn run w.yaml
mv .cairn whole
touch hold
cairn run w.yaml >live.out 2>&1 &
pid=$!
ok 'a run is live' wait_for 20 test -e at-c
kill -9 $pid
wait $pid 2>/dev/null
rm hold
mv .cairn killed

refused() { # what
    for command in status 'run w.yaml' 'checkpoint verify' doctor; do
        # shellcheck disable=SC2086
        exits 5 cairn $command
        says 'doctor --repair' "$what: $command names what helps"
    done
}
repaired() { # text
    exits 5 cairn doctor --repair
    matches "^lost +file +.*$1" "$what: the repair tells what is lost"
    ok "$what: it is counted" sh -c '! grep -q "lost: 0" err'
    exits 0 cairn checkpoint verify
    exits 0 cairn doctor --repair
    says 'nothing is damaged' "$what: and lost only once"
    exits 0 cairn run w.yaml
}
take() { # store
    rm -rf .cairn
    cp -r "$1" .cairn
}

# ---- The log of a killed writer ----

take killed
exits 0 cairn status
ok 'the log tells that there were commits' grep -q 'log begun' .cairn/open
wal=.cairn/cairn.db-wal
for damage in "rm $wal" ": >$wal" "cp /dev/null $wal; truncate -s 60000 $wal" \
    "rm $wal; mkdir $wal" "rm $wal; mkfifo $wal"; do
    take killed
    what=$damage
    eval "$damage"
    refused
    repaired 'the write-ahead log cairn.db-wal is'
done

# ---- The database ----

for damage in "truncate -s 12000 $db" "truncate -s 500 $db" "truncate -s 12000 $db; truncate -s 60000 $db" \
    "rm $db; mkdir $db" "rm $db; mkfifo $db" ": >$db"; do
    take whole
    what=$damage
    eval "$damage"
    for command in status 'run w.yaml' 'checkpoint verify'; do
        # shellcheck disable=SC2086
        exits 5 cairn $command
    done
    repaired 'database'
done

# ---- Tables, settings ----

take whole
what='no table of events'
"$sql" $db 'DROP TABLE event'
exits 5 cairn checkpoint verify
repaired 'the table event'
take whole
what='no settings'
id=$("$sql" $db "SELECT value FROM meta WHERE key = 'id'")
"$sql" $db 'DELETE FROM meta'
exits 5 cairn status
repaired 'the id of the store'
ok 'it has another id' test "$id" != "$("$sql" $db "SELECT value FROM meta WHERE key = 'id'")"

# ---- Rows ----

take whole
sed -i 's/echo b >>ran/echo b2 >>ran/' w.yaml
exits 0 cairn resume
mv .cairn edited

for gone in 'run:row of run 1 is missing' 'checkpoint:the record is missing|has no checkpoint' \
    'checkpoint WHERE seq = 2:the record is missing' 'run_graph:generation 1, is missing'; do
    take edited
    what=${gone%%:*}
    "$sql" $db "DELETE FROM $what"
    exits 5 cairn checkpoint verify
    matches "${gone#*:}" "no $what: verify says so"
    exits 5 cairn doctor
    exits 5 cairn doctor --repair
    ok "no $what: the repair counts it" sh -c '! grep -q "lost: 0" err'
    exits 0 cairn checkpoint verify
    exits 0 cairn runs
    [ "$what" != checkpoint ] || continue
    exits 0 cairn status --tasks
    exits 0 cairn log c
    exits 0 cairn resume
    exits 0 cairn checkpoint verify
done
done_testing
