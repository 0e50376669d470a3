# shellcheck shell=sh disable=SC2154
# Watching a session: what others do in it is printed, checkpoints are made when they are due,
# and it ends with the session.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION

exits 10 cairn session watch
exits 0 cairn session start seen -q
exits 0 cairn note add 'before' -q
cairn session watch >lines 2>watch.err &
watch=$!
cairn session watch --json --after 1 >documents 2>json.err &
json=$!

printed() { # TEXT FILE: waits until it is there
    wait_for 20 grep -q -- "$1" "$2"
}
ok 'from a turn on' printed 'before' documents
exits 0 cairn note add 'after' -q
ok 'what another process does is printed' printed 'added *n2  after' lines
ok 'as documents, too' printed '"id":"n2"' documents
ok 'what was done before is not' test "$(grep -c before lines)" -eq 0
exits 0 cairn session start other -q
exits 0 cairn note add 'of another session' -q
exits 0 cairn session switch seen -q
exits 0 cairn checkpoint create 'by hand' -q
ok 'a checkpoint' printed 'checkpoint *debug:1' lines
ok 'nothing of another session' test "$(grep -c 'another' lines)" -eq 0

# On time: there is something new, and then nothing.
exits 0 cairn note add 'to be stored' -q
exits 0 cairn session config schedule 1s
ok 'a scheduled one is made' printed 'checkpoint *debug:2' lines
cairn checkpoint show debug:2 >shown
ok 'for its trigger' grep -q '^trigger *scheduled$' shown
exits 0 cairn note add 'again' -q
ok 'and again' printed 'checkpoint *debug:3' lines
sleep 2.5
ok 'nothing that has not changed is stored' test "$(grep -c 'checkpoint *debug' lines)" -eq 3
exits 0 cairn session config schedule off

exits 0 cairn session end -q
status=0
wait "$watch" || status=$?
is "$status" 0 'it ends with the session'
status=0
wait "$json" || status=$?
is "$status" 0 'both do'
ok 'after the last line' grep -q ended lines
is "$(grep -c '^{.*}$' documents)" "$(wc -l <documents)" 'a document a line'
exits 0 cairn session watch --after 0
says 'ended' out
exits 0 cairn checkpoint verify

# ---- The store is replaced ----
exits 0 cairn session start replaced -q
cairn session watch --after 0 >lines 2>watch.err &
watch=$!
ok 'it watches' printed 'started' lines
cp -R .cairn copy
mv .cairn old
mv copy .cairn
status=0
wait "$watch" || status=$?
is "$status" 5 'it ends when the store is replaced'
ok 'and says so' grep -q 'was removed, replaced or repaired' watch.err
done_testing
