# shellcheck shell=sh
# Who owns a workflow, and what another cairn says of it.
. "$TESTS/cli/tap.sh"

guard_of() { # pid of cairn
    for dir in /proc/[0-9]*; do
        [ "$(awk '/^PPid:/ { print $2 }' "$dir/status" 2>/dev/null)" = "$1" ] || continue
        [ "$(cat "$dir/comm" 2>/dev/null)" != cairn-guard ] || echo "${dir#/proc/}"
    done
}

# A run whose owner and guard were killed, and a process of it that does not end on TERM:
# who continues the run has to wait before it can write down that it is its own now.
cat >linger <<END
#!/bin/sh
trap '' TERM
echo \$\$ >>left
until [ -e '$PWD/end' ]; do sleep 0.05; done
END
chmod +x linger
cat >flow.yaml <<END
name: w
tasks:
  stay: {run: "setsid ./linger & echo >>started; until [ -e go ]; do sleep 0.05; done"}
END
cairn run flow.yaml >out.first 2>&1 &
first=$!
wait_for 20 test -e left
kill -9 $first "$(guard_of $first)"
wait $first 2>/dev/null

cairn resume >out.second 2>&1 &
second=$!
sleep 0.5
exits 6 cairn resume
says "is owned by process $second on" 'the new owner is named, not the dead one'
says '(run 1)'
touch go
wait $second
is $? 0 'the owner completes the run'
is "$(wc -l <started)" 2 'the task ran once more'
touch end
# The second one made its own session and its run came to an end: it was left alone. It must
# see the file before the directory goes.
for pid in $(cat left); do
    ok 'what lingered has ended' wait_for 20 test ! -e "/proc/$pid"
done

# ---- Cancelling beside another run of the workflow ----
mkdir beside && cd beside || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >flow.yaml <<'END'
name: beside
tasks:
  a: {run: "touch at-$CAIRN_RUN; while [ -e hold ]; do sleep 0.02; done"}
END
touch hold
begin() { # NUMBER COMMAND...: its run is up
    number=$1
    shift
    rm -f "at-$number"
    "$@" >run.out 2>&1 &
    pid=$!
    ok "run $number is up" wait_for 20 test -e "at-$number"
}
kill_owner() {
    kill -9 $pid
    wait $pid 2>/dev/null
}
begin 1 cairn run flow.yaml
kill_owner
begin 2 cairn run flow.yaml --fresh
exits 6 cairn cancel 1
says 'run 1 has no owner, and cannot be marked cancelled while run 2 of its workflow is live'
exits 0 cairn status 1 --json
is "$(json_get .state)" interrupted 'it is as it was'
kill_owner
begin 1 cairn resume 1
exits 6 timeout 20 cairn cancel 2
says 'while run 1 of its workflow is live' 'also beside an earlier one'
exits 0 cairn cancel 1 --json
is "$(json_get .action)" requested 'the live one is asked'
wait $pid
is $? 7 'and stops'
exits 0 cairn cancel 2 --json
is "$(json_get .action)" marked 'then the other one can be marked'
exits 0 cairn status 2 --json
is "$(json_get .state)" cancelled 'and is'
cd ..

# ---- The lock file is removed under a live run ----
mkdir lock && cd lock || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >flow.yaml <<'END'
name: lock
on_failure: continue
tasks:
  a: {run: "touch at-a; while [ -e hold ]; do sleep 0.02; done"}
  b: {run: "echo b >>ran", needs: [a]}
END
touch hold
cairn run flow.yaml >run.out 2>&1 &
pid=$!
ok 'a runs' wait_for 20 test -e at-a
rm .cairn/lock
exits 6 timeout 20 cairn run flow.yaml
says 'still works on run 1'
rm hold
wait $pid
is "$?" 5 'the owner ends: its store was tampered with'
exits 0 cairn status --tasks --json
is "$(json_get .failed)" 0 'no task counts as failed'
exits 0 cairn resume
is "$(count b ran)" 1 'and the run continues'
done_testing
