# Events of runs, of the store and of sessions as one list that can be followed: by kind,
# from any process, each once.
. "$TESTS/cli/tap.sh"

# Lines of a file of events that have both texts.
having() { # FILE TEXT [TEXT]
    grep -F -- "$2" "$1" | grep -c -F -- "${3:-}"
}
position() { # FILE: the last one in it
    grep '"type":"position"' "$1" | tail -n 1 | sed 's/.*"position":"\([^"]*\)".*/\1/'
}

# ---- All of it, in the order of each ----
cat >flow.yaml <<'END'
name: flow
tasks:
  a: {run: "true"}
  b: {run: "true", needs: [a]}
END
exits 0 cairn run flow.yaml
exits 0 cairn session start first
run cairn hypothesis add 'the cache is cold'
run cairn hypothesis test h1
run cairn belief add x --confidence 0.9 --subject cache --claim warm --denied
run cairn belief add y --confidence 0.9 --subject cache --claim warm
run cairn gap add why
run cairn branch start side
run cairn checkpoint create mine
mine=$(cat out)
run cairn note add later
exits 0 cairn checkpoint restore "$mine" --yes
run cairn session config interval 10m
exits 0 cairn events --json
json_ok 'NDJSON'
cp out all
is "$(having all '"type":"task_finished"' '"run":1')" 2 'events of a run'
is "$(having all '"type":"hypothesis"' '"verb":"added"')" 1 'items of a board'
is "$(having all '"type":"hypothesis"' '"verb":"changed"')" 1 'their changes'
is "$(having all '"type":"contradiction"' '"id":"b2"')" 1 'a contradiction'
says 'contradicts b1' 'with what'
is "$(having all '"type":"gap"')" 1 'a gap'
is "$(having all '"type":"branch"' '"verb":"branched"')" 1 'a branch'
is "$(having all '"type":"restore"' "${mine%-*}")" 1 'a restored checkpoint'
is "$(having all '"type":"checkpoint"' '"reason":"manual"')" 1 'a checkpoint, with its trigger'
is "$(having all '"reason":"contradiction"' '"verb":"checkpoint"')" 1 'one that was made by itself'
is "$(having all '"type":"session"' '"verb":"configured"')" 1 'what concerns the session'
is "$(having all '"session_name":"first"' '"run":null')" "$(having all '"session":1')" 'they name the session, and no run'
is "$(having all '"type":"position"')" 1 'and at the end the position'
is "$(sort all | uniq -d | wc -l | tr -d ' ')" 0 'each is told once'
exits 0 cairn events
says 'first ' 'for people'
says 'contradicts b1'
is "$(cairn session log --json | tr '{' '\n' | grep -c '"turn"')" "$(having all '"session":1')" 'as many as in the log of the session'
run cairn note add mistake
from=$(position all)
exits 0 cairn session undo

# ---- Going on from a position ----
exits 0 cairn events --position "$from" --json
is "$(having out '"type":')" 3 'what came since, and the position'
is "$(having out '"type":"note"')" 1 'what was done'
is "$(having out '"verb":"undone"')" 1 'and what was taken back'
from=$(position out)
exits 0 cairn events --position "$from" --json
is "$(grep -vc position out)" 0 'nothing is told twice'
run cairn run flow.yaml --fresh
run cairn session start second
run cairn note add 'in the other one'
auto=$(grep '"reason":"hypothesis-status"' all | sed 's/.*"id":"\([^"]*\)".*/\1/')
exits 0 cairn checkpoint delete "$auto" --yes
exits 0 cairn gc --keep-runs 1
exits 0 cairn events --position "$from" --json
cp out since
is "$(having since '"type":"task_finished"' '"run":2')" 2 'a run since then'
is "$(having since '"run":1')" 0 'nothing of the one before'
is "$(having since '"type":"note"' '"session_name":"second"')" 1 'another session'
is "$(having since '"type":"checkpoint_deleted"' "$auto")" 1 'a checkpoint that was deleted'
is "$(having since '"type":"collected"')" 1 'and the store'
exits 0 cairn checkpoint prune --keep 1
exits 0 cairn events --position "$(position since)" --json
is "$(having out '"type":"checkpoints_pruned"' '"run":2')" 1 'an old run that is written to again'
is "$(having out '"run":2')" 1 'of which nothing else is told again'
exits 0 cairn events --position now --json
is "$(grep -vc position out)" 0 'from now on: nothing yet'

# ---- Of one session, of one run ----
exits 0 cairn events --session second --json
is "$(having out '"session_name":"second"')" 2 'of one session'
is "$(grep -vc -e second -e position out)" 0 'and nothing else'
from=$(position out)
run cairn note add another --session first
run cairn note add more
exits 0 cairn events --session second --position "$from" --json
is "$(having out '"type":"note"')" 1 'it also continues from a position'
alone=$(position out)
exits 0 cairn events --session second --position "$alone" --json
is "$(grep -vc position out)" 0 'each is told once'
exits 2 cairn events --position "$alone"
says 'is one in the events of session' 'a position in those of one session is none in all'
exits 2 cairn events --session first --position "$alone"
exits 0 cairn events --position now --json
from=$(position out)
run cairn note add further --session second
exits 0 cairn events --session second --position "$from" --json
is "$(having out '"type":"note"')" 1 'one in all is good for a session, too'
exits 0 cairn events 2 --json
is "$(having out '"session"')" 0 'of one run: as it was'
is "$(having out '"run":2')" "$(wc -l <out | tr -d ' ')" 'and nothing else'

# ---- Some of them ----
exits 0 cairn events 2 --task a --json
is "$(having out '"task":"a"')" "$(wc -l <out | tr -d ' ')" 'of one task'
exits 0 cairn events 2 --type task_finished --type run_finished --json
is "$(having out '"type":"task_finished"').$(having out '"type":"run_finished"').$(wc -l <out | tr -d ' ')" 2.1.3 'of two types'
exits 0 cairn events --type hypothesis --since '1 hour ago' --json
is "$(having out '"verb":"added"').$(having out '"run":2')" 1.0 'of sessions, too'
exits 0 cairn events --since now
silent_on out
says 'no event fits what you asked for'
exits 0 cairn events 2 --type task_finish
says 'no event fits; their types are run_started, ' 'the types that there are'
exits 2 cairn events --since yesterdy
says 'position 1: this is not a time'
exits 2 cairn events --maintenance --type collected

# ---- Refused ----
exits 2 cairn events 1 --session first
exits 2 cairn events --maintenance --session first
for bad in '' x 12345678-1 "$from-" "$from-1" "$from-x.1" "$from-0.1" "${from%-*}-99999"; do
    exits 2 cairn events --position "$bad"
done
exits 10 cairn events --session nobody
exits 10 cairn --store nowhere events

# ---- Two processes write, a run continues, one follows ----
from=$(position out)
cat >slow.yaml <<'END'
name: slow
tasks:
  t: {foreach: {n: {range: [1, 20]}}, run: "sleep 0.02"}
END
cairn events --follow --position now --json >followed 2>follow.err &
follower=$!
wait_for 10 test -s followed
(i=0; while [ $i -lt 30 ]; do cairn note add "one $i" --session first >/dev/null 2>&1; i=$((i + 1)); done) &
one=$!
(i=0; while [ $i -lt 30 ]; do cairn note add "two $i" --session second >/dev/null 2>&1; i=$((i + 1)); done) &
two=$!
run cairn run slow.yaml -j2
wait $one $two
run cairn note add last
is_told() { grep -q '"text":"last"' followed; }
wait_for 20 is_told
kill $follower
wait $follower 2>/dev/null
grep -v '"type":"position"' followed >events
is "$(having events '"type":"note"' '"text":"one ')" 30 'all of the one process'
is "$(having events '"type":"note"' '"text":"two ')" 30 'all of the other'
is "$(having events '"type":"task_finished"')" 20 'all of the run'
is "$(having events '"type":"run_finished"')" 1 'to its end'
is "$(sort events | uniq -d | wc -l | tr -d ' ')" 0 'none twice'
for writer in '"text":"one ' '"text":"two '; do
    ok "in order: $writer" sh -c "grep -F '$writer' events | sed 's/.*\"turn\":\([0-9]*\),.*/\1/' | sort -nc"
done
json_ok 'NDJSON' followed

# A position from the middle, then the rest, gives the same as what was followed.
middle=$(grep '"type":"position"' followed | sed -n 3p | sed 's/.*"position":"\([^"]*\)".*/\1/')
ok 'there are several positions' test -n "$middle"
sed -n "/$middle/,\$p" followed | grep -v '"type":"position"' | sort >rest
exits 0 cairn events --position "$middle" --json
grep -v '"type":"position"' out | sort >again
ok 'the rest is the same from any position' cmp -s rest again

# ---- An owner that was killed ----
cat >long.yaml <<'END'
name: long
tasks: {x: {run: "true"}, y: {run: "sleep 100", needs: [x]}}
END
cairn run long.yaml >/dev/null 2>&1 &
owner=$!
started() { cairn events --json 2>/dev/null | grep '"type":"task_intended"' | grep -q '"task":"y"'; }
wait_for 20 started
run cairn events --json
from=$(position out)
kill -9 $owner
wait $owner 2>/dev/null
exits 0 cairn events --position "$from" --json
is "$(grep -vc position out)" 0 'nothing is told again'
sed -i 's/sleep 100/true/' long.yaml
run cairn run long.yaml
exits 0 cairn events --position "$from" --json
is "$(having out '"type":"run_started"' resumed)" 1 'what the next owner does is told'
is "$(having out '"type":"task_finished"' '"task":"y"')" 1 'to its end'
is "$(having out '"type":"task_finished"' '"task":"x"')" 0 'and nothing of before'

# ---- Of one run: each line is a position ----
exits 0 cairn run flow.yaml --fresh
exits 0 cairn status --json
n_run=$(json_get .run)
exits 0 cairn events --json "$n_run"
cp out whole
n=$(wc -l <whole | tr -d ' ')
i=0
lost=
while [ $i -lt "$n" ]; do
    i=$((i + 1))
    from=$(sed -n "${i}p" whole | sed 's/.*"position":"\([^"]*\)".*/\1/')
    cairn events "$n_run" --json --position "$from" >rest 2>err
    tail -n +$((i + 1)) whole | cmp -s - rest || lost="$lost $from"
done
is "$lost" '' 'a reader that goes on from any line gets the others, each once'
is "$(sed 's/.*"position":"//; s/".*//' whole | sort | uniq -d)" '' 'each has a position of its own'
exits 0 cairn events "$n_run" --position now --json
is "$(wc -c <out | tr -d ' ')" 0 'nothing came after now'
says 'nothing has happened since that position'
last=$(sed -n '$s/.*"turn":\([0-9]*\).*/\1/p' whole)
exits 0 cairn events "$n_run" --position "$last"
is "$(wc -c <out | tr -d ' ')" 0 'the number of a turn is one, too: that behind it'
for bad in x 1. .1 1.2.3 -1 "$(cairn events --json | tail -n 1 | sed 's/.*"position":"//; s/".*//')"; do
    run cairn events "$n_run" --position "$bad"
    is "$status" 2 "'$bad' is none"
done
says 'is not a position in the events of a run'

# ---- The store is repaired, or removed, while one follows ----
follow() { # FILE
    cairn events --follow --position now --json >"$1" 2>follow.err &
    follower=$!
    wait_for 20 grep -q position "$1"
}
ended() { # the follower, with 5
    status=0
    wait $follower || status=$?
    is "$status" 5 'the follower ends'
    ok 'and says why' grep -q 'was removed, replaced or repaired' follow.err
}
follow repaired
run cairn note add 'before the repair' --session first
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, 99) WHERE seq = (SELECT min(seq) FROM checkpoint WHERE namespace = 1)"
exits 5 cairn doctor --repair
ended
from=$(position repaired)
run cairn note add 'after the repair' --session first
exits 0 cairn events --position "$from" --json
is "$(having out '"type":"note"' '"text":"after the repair"')" 1 'its position is good in the repaired store'
follow removed
mv .cairn moved
ended

printf 'name: now\ntasks: {a: {run: "true"}}\n' >now.yaml
exits 0 cairn run now.yaml
exits 0 cairn events --position now
says 'nothing has happened since that position'
done_testing
