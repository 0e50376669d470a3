# Runs whose cairn was killed: which tasks count as interrupted, the processes that are
# left, and a request to stop that nobody read.
. "$TESTS/cli/tap.sh"

reason() { # TASK: why it would run
    "$BUILD/tests/tools/json" flat out | awk -F '\t' -v task="$1" '
        $1 ~ /^\.decisions\[[0-9]+\]\.task$/ { mine = $2 == task }
        $1 ~ /^\.decisions\[[0-9]+\]\.reason$/ && mine { print $2; exit }'
}
guard_of() { # PID: the number of the guard of that cairn
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        [ "$(cat "/proc/$child/comm")" != cairn-guard ] || echo "$child"
    done
}
# The owner dies at once and its guard too, so nobody ends what they left.
kill_both() { # PID
    guard=$(guard_of "$1")
    kill -STOP $guard
    kill -KILL "$1" $guard
    wait "$1" 2>/dev/null
}
in_dir() {
    mkdir "$1" && cd "$1" || exit 1
    export CAIRN_STORE="$PWD/.cairn"
}
top=$PWD

# ---- An output is gone, and the run that makes it again is killed ----
in_dir outputs
cat >flow.yaml <<'END'
name: outputs
tasks:
  a: {run: "touch at-a; while [ -e hold ]; do sleep 0.02; done; echo x >a.out", outputs: [a.out]}
  b: {run: "if [ -f b.out ]; then echo kept; else echo gone; fi >>log; echo y >b.out", needs: [a], outputs: [b.out]}
END
exits 0 cairn run flow.yaml
rm a.out at-a
touch hold
cairn resume >run.out 2>&1 &
pid=$!
ok 'a runs again' wait_for 20 test -e at-a
kill -KILL $pid
wait $pid 2>/dev/null
exits 0 cairn plan --json
is "$(reason a)" interrupted 'the task that ran was interrupted'
is "$(reason b)" upstream 'the task that waits for it was not: it only runs again'
rm hold
exits 0 cairn resume
is "$(tail -n 1 log)" kept 'and its outputs were left alone'
exits 0 cairn status --tasks --json
is "$(json_get .completed)" 2 'all is done'

# ---- What an interrupted attempt wrote stays, however much it was ----
cd "$top" && in_dir long
cat >flow.yaml <<'END'
name: long
tasks:
  a: {run: "echo first; head -c 20m /dev/zero | tr '\\0' x | fold -w 99; echo; echo last; touch at-a; while [ -e hold ]; do sleep 0.02; done"}
END
touch hold
cairn run flow.yaml >run.out 2>&1 &
pid=$!
ok 'it has written 20 MB' wait_for 60 test -e at-a
sleep 0.5 # for a tick, which gives the middle back
kill -KILL $pid
wait $pid 2>/dev/null
rm hold
exits 0 cairn resume
cairn log a --attempt 1 >log 2>words
is "$(head -n 1 log)" first 'its log begins as it did'
is "$(tail -n 1 log)" last 'and ends as it did'
is "$(tr -d '\000' <log | wc -c)" "$(wc -c <log)" 'without bytes that it has not written'
ok 'and tells what is missing' grep -q "missing here" log words

# ---- A fresh run ends what a dead one left ----
cd "$top" && in_dir fresh
left="sleep 642.$$" # nobody else's
cat >flow.yaml <<END
name: fresh
tasks:
  a: {run: "[ ! -e hold ] || { touch at-a; trap '' TERM; ($left & wait); $left; }"}
END
touch hold
cairn run flow.yaml >run.out 2>&1 &
pid=$!
ok 'a runs' wait_for 20 test -e at-a
if [ -z "$(guard_of $pid)" ]; then
    skip 'a fresh run ends what a dead one left' 'the children of a process cannot be seen here'
    kill -KILL $pid
    wait $pid 2>/dev/null
else
    kill_both $pid
    ok 'the task lives on alone' lives "$left"
    rm hold
    exits 0 cairn run --fresh flow.yaml
    ok 'a fresh run ended it' eval '! lives "$left"'
fi

# ---- A request to stop that nobody read ----
cd "$top" && in_dir stale
cat >flow.yaml <<'END'
name: stale
jobs: 1
tasks:
  a: {run: "touch at-a; while [ -e hold ]; do sleep 0.02; done"}
  b: {run: "sleep 1.5", needs: [a]}
  c: {run: "echo c >>ran", needs: [b]}
END
touch hold
cairn run flow.yaml >run.out 2>&1 &
pid=$!
ok 'a runs' wait_for 20 test -e at-a
kill -STOP $pid
exits 0 cairn cancel
kill -KILL $pid
wait $pid 2>/dev/null
rm hold
exits 0 cairn resume
is "$(cat ran 2>/dev/null)" c 'a stale cancel does not stop the next owner'

# ---- Cancelling a run that no process owns is in its log ----
cd "$top" && in_dir unowned
cat >flow.yaml <<'END'
name: unowned
tasks:
  a: {run: "touch at-a; sleep 60"}
END
cairn run flow.yaml >run.out 2>&1 &
pid=$!
ok 'a runs' wait_for 20 test -e at-a
kill -KILL $pid
wait $pid 2>/dev/null
exits 0 cairn cancel
exits 0 cairn events 1 --json
is "$(tail -n 2 out | grep -o '"type":"[a-z_]*"' | tr '\n' ' ')" \
    '"type":"command" "type":"run_finished" ' 'the command and the end it made'
says '"reason":"cancelled"' 'with what became of the run'
says 'asked to cancel: no cairn carried it out' 'and why no owner did it'
done_testing
