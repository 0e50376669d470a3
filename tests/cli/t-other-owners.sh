# shellcheck shell=sh disable=SC2016
# Who may end what: a run leaves alone what belongs to the owner of another one.
. "$TESTS/cli/tap.sh"

guard_of() { # pid of cairn
    for dir in /proc/[0-9]*; do
        [ "$(awk '/^PPid:/ { print $2 }' "$dir/status" 2>/dev/null)" = "$1" ] || continue
        [ "$(cat "$dir/comm" 2>/dev/null)" != cairn-guard ] || echo "${dir#/proc/}"
    done
}

# begin FILE: runs it until it has said `started`, then kills it and its guard.
begin() {
    : >started
    cairn run "$1" >run.out 2>&1 &
    pid=$!
    wait_for 20 test -s started
    kill -9 $pid "$(guard_of $pid)"
    wait $pid 2>/dev/null
}

lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }

# ---- A new run of another workflow, while the dead run is resumed ----
mkdir beside && cd beside || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >w1.yaml <<'END1'
name: w1
tasks:
  stay: {run: "echo $$ >>started; until [ -e go ]; do sleep 0.02; done"}
END1
cat >w2.yaml <<'END2'
name: w2
tasks:
  b: {run: "true"}
END2

# The sweep for left-overs waits before its look at the processes; the run is resumed
# meanwhile, or waits for it. (p-racers has all of its steps.)
pause=$BUILD/tests/crash/pauser.so
beside() { # at the how-manieth look
    rm -rf .cairn go p.*
    begin w1.yaml
    LD_PRELOAD=$pause PAUSE_AT=$1 PAUSE_ONLY=/proc PAUSE_FILE=$PWD/p cairn run w2.yaml >w2.out 2>&1 &
    second=$!
    wait_for 20 eval 'test -e p.at || test -e p.count'
    cairn resume 1 >w1.out 2>&1 &
    first=$!
    wait_for 1 lines 2 started # if nothing of it has to wait for the other one
    : >p.go
    wait $second
    second=$?
    wait_for 20 lines 2 started
    : >go
    wait $first
    first=$?
}
beside 0
is "$first $second" '0 0' 'both end well'
count=$(cut -d ' ' -f 1 p.count)
ok 'it looks at the processes' test "$count" -gt 0
for at in $(seq 1 "$count"); do
    beside "$at"
    is "$first $second $(wc -l <started)" '0 0 2' "paused before look $at: nothing of the other run is ended"
done
cd ..
done_testing
