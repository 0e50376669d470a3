# What went wrong in the engine once and shows only in the command: killed owners and
# guards, stale wishes to stop, full disks, files that vanish under a live run.
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

# ---- A wish to stop that nobody lived to see ----
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
is "$(cat ran 2>/dev/null)" c 'a stale cancel does not stop who goes on'

# ---- The lock file is removed under a live run ----
cd "$top" && in_dir lock
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
is "$(count b ran)" 1 'and the run goes on'

# ---- Cancel while nothing but a command can be stored ----
cd "$top" && in_dir degraded
if [ "$(id -u)" != 0 ] || ! mkdir small || ! mount -t tmpfs -o size=2m none small 2>/dev/null; then
    skip 'a full disk' 'no right to mount one'
else
    export CAIRN_STORE="$PWD/small/.cairn"
    cat >flow.yaml <<'END'
name: degraded
jobs: 2
tasks:
  a: {foreach: {i: {range: [1, 40]}}, run: "echo $i >>ran; [ $i != 3 ] || cat /dev/zero >small/filler 2>/dev/null || true"}
  z: {needs: [a], run: "touch at-z; while [ -e hold ]; do sleep 0.02; done"}
END
    touch hold
    timeout -k 10 60 cairn run --jobs 2 flow.yaml >run.out 2>run.err &
    pid=$!
    ok 'tasks go on while nothing can be saved' wait_for 30 test -e at-z
    is "$(wc -l <ran)" 40 'all of them'
    rm hold
    wait $pid
    status=$?
    rm small/filler
    : >ran
    if [ "$status" = 0 ]; then
        # The log may have had room left for these few outcomes, or moving it into the
        # database may have freed enough.
        ok 'all was saved after all, which was said' \
            sh -c '! grep -q DEGRADED run.err || grep -q "saved again" run.err'
        cairn resume >run.out 2>run.err
        is "$?" 0 'and there is nothing to resume'
        is "$(wc -l <ran)" 0 'nothing runs again'
    else
        is "$status" 9 'and the exit status tells'
        cairn resume >run.out 2>run.err
        is "$?" 0 'with space again it goes on'
        ok 'and only what was not saved ran again' test "$(wc -l <ran)" -lt 40
    fi
    is "$(count 1 ran)" 0 'what was saved did not'
    umount small
fi
done_testing
