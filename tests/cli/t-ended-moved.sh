# make: sanitize
# shellcheck disable=SC2016
# Tasks that had ended when cairn was killed, and whose outcome was not stored: they do not
# run again in a project that was moved, nor after an edit of something else. A program that
# has the store locked makes that moment long.
. "$TESTS/cli/tap.sh"

unset CAIRN_STORE # each project has its own
# A library that is loaded first is not AddressSanitizer's.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0"
top=$PWD

lines() { # FILE N: has it so many?
    [ "$(wc -l <"$1")" -ge "$2" ]
}
# The notes are 88 bytes behind a header of 256; an unused one is zeros.
noted() {
    [ "$(tail -c +257 .cairn/live/run-1.*.ends | od -An -v -tx1 -w88 | grep -c ' [1-9a-f]')" -ge "$1" ]
}
# killed NAME N: in a new directory NAME, runs w.yaml until N tasks wait for `go`, locks the
# store, lets them end, and kills cairn once all of them have ended and are noted.
killed() {
    cd "$top" && mkdir -p "$1/.cairn" && cp w.yaml "$1" && cd "$1" || exit 1
    : >ran
    : >began
    echo input >in
    cairn run w.yaml >run.out 2>&1 &
    pid=$!
    wait_for 20 lines began "$2"
    : >holding
    "$BUILD/tests/tools/hold" .cairn/cairn.db holding >held &
    holder=$!
    wait_for 20 grep -q held held
    : >go
    wait_for 20 lines ran "$2" && wait_for 20 noted "$2"
    result=$?
    kill -9 $pid
    wait $pid 2>/dev/null
    rm holding
    wait $holder
    ok "$1: $2 tasks have ended, and are noted" test $result = 0
}
counts() { # how often each ran, by name
    sort ran | uniq -c | awk '{ printf "%s%s*%s", sep, $2, $1; sep = " " }'
}

# Four tasks that end, and one that uses what they made. MORE1 and MORE2 are tasks in front
# of them and between them, so that all are numbered otherwise.
body='echo $n >>began; while [ ! -e go ]; do sleep 0.01; done; echo $n >>ran; echo "out of $n"'
flow() { # MORE1 MORE2 [WHAT-PAY-SAYS]
    cat <<END
name: w
jobs: 9
on_failure: continue
tasks:
$1
  pay: {once: true, run: 'n=pay; $body; echo ${3-paid}'}
  value: {run: 'n=value; $body; echo v=41 >>"\$CAIRN_OUTPUT"'}
$2
  file: {inputs: [in], outputs: [made], run: 'n=file; $body; cat in >made'}
  bad: {retries: {max: 1, delay: 10ms}, run: 'n=bad; $body; test -e mended'}
  user:
    needs: [pay, value, file]
    env: {V: "\${{ tasks.value.outputs.v }}"}
    run: 'echo user >>ran; echo "\$V \$(cat made)" >used'
END
}
more() { # NAME: a task that does not wait
    echo "  $1: {run: 'echo $1 >>ran'}"
}
flow '' '' >"$top/w.yaml"

# ---- Moved ----
killed moved 4
cd "$top" && mv moved there && cd there || exit 1
exits 0 cairn plan
is "$(grep -c '^take .*it has ended while' out)" 3 'moved: plan says that they are taken over'
matches '^run   bad .* failed .*another try follows' 'and which one has failed'
exits 0 cairn explain pay
says 'it has ended while cairn did not run' 'also what must not run twice'
exits 0 cairn status
is "$(grep -c 'unknown\|interrupted)' out)" 0 'status: nothing is unknown, or was interrupted'
: >mended
exits 0 cairn resume
is "$(counts)" 'bad*2 file*1 pay*1 user*1 value*1' 'none runs again but the one that failed'
is "$(cat used)" '41 input' 'values and files are there'
exits 0 cairn log pay
says 'out of pay' 'and what they wrote'
is "$(find .cairn/live -type f | wc -l)" 0 'nothing is left in live/'
exits 0 cairn resume
says 'nothing to do'
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# ---- Moved more than once, with owners that are killed in between ----
killed far 4
: >mended
for n in 1 2 3 4 5 6; do
    cd "$top" && mv far near && cd near || exit 1
    CRASH_KILL=any-sync:$n CRASH_MARK=$PWD/mark LD_PRELOAD=$BUILD/tests/crash/killer.so cairn resume >run.out 2>&1
    cd "$top" && mv near far && cd far || exit 1
    CRASH_KILL=any-sync:$n CRASH_MARK=$PWD/mark LD_PRELOAD=$BUILD/tests/crash/killer.so cairn resume >run.out 2>&1
done
ok 'it was killed' test -e mark
exits 0 cairn resume
is "$(counts | sed 's/bad[^ ]* //; s/ user[^ ]*//')" 'file*1 pay*1 value*1' 'killed in each place: none runs again'
is "$(cat used)" '41 input' 'values and files are there'
exits 0 cairn checkpoint verify

# ---- Something else was edited ----
killed edited 4
flow "$(more z)" "$(more y)" >w.yaml
exits 0 cairn plan
is "$(grep -c '^take .*it has ended while' out)" 3 'edited: plan says that they are taken over'
: >mended
exits 0 cairn resume
is "$(counts)" 'bad*2 file*1 pay*1 user*1 value*1 y*1 z*1' 'what is new runs, and what had ended does not'
is "$(cat used)" '41 input' 'values and files are there'
exits 0 cairn log pay
says 'out of pay' 'and what they wrote'
exits 0 cairn resume
says 'nothing to do'
exits 0 cairn checkpoint verify

# Each time by an owner that is killed too.
killed again 4
: >mended
tasks=
for n in 1 2 3 4 5 6; do
    tasks="$tasks$(printf '\n%s' "$(more "z$n")")"
    flow "$tasks" '' >w.yaml
    CRASH_KILL=any-sync:$n CRASH_MARK=$PWD/mark LD_PRELOAD=$BUILD/tests/crash/killer.so cairn resume >run.out 2>&1
    exits 0 cairn status
    is "$(grep -c 'unknown' out)" 0 "killed $n: what must not run twice is not unknown"
done
ok 'it was killed' test -e mark
exits 0 cairn resume
is "$(counts | grep -o '\(file\|pay\|value\)\*[0-9]*' | tr '\n' ' ')" 'file*1 pay*1 value*1 ' 'edited and killed: none runs again'
is "$(cat used)" '41 input' 'values and files are there'
exits 0 cairn checkpoint verify

# ---- They were edited themselves ----
killed itself 4
: >mended
flow '' '' 'PAID' | sed 's/v=41/v=42/' >w.yaml
exits 8 cairn resume
is "$(counts)" 'bad*2 file*1 pay*1 value*2' 'edited itself: it runs again, or is unknown'
exits 0 cairn resolve 1 pay 'done'
exits 0 cairn resume
is "$(cat used)" '42 input' 'with what it makes now'

killed kept 4
: >mended
flow '' '' 'PAID' | sed 's/v=41/v=42/' >w.yaml
exits 0 cairn resume --on-change keep
is "$(counts)" 'bad*2 file*1 pay*1 user*1 value*1' 'edited itself, and to be kept: none runs again'
is "$(cat used)" '41 input' 'with what it made'

# Its file was edited by hand since: the end does not count in the edited workflow either.
killed touched 4
: >mended
echo other >made
flow "$(more z)" '' >w.yaml
exits 0 cairn resume
says 'made has changed since' 'edited, and a file was changed by hand: it is told'
is "$(counts)" 'bad*2 file*2 pay*1 user*1 value*1 z*1' 'and only its task runs again'

# ---- It is not in the workflow any more, and then again ----
killed taken 4
: >mended
flow '' '' | grep -v '^  pay:' | sed 's/pay, //' >w.yaml
exits 0 cairn resume
is "$(counts)" 'bad*2 file*1 pay*1 user*1 value*1' 'taken out: the others are taken over'
flow '' '' >w.yaml
exits 8 cairn resume
is "$(counts | grep -o 'pay[^ ]*')" 'pay*1' 'put back: what must not run twice does not'

# ---- A copy has ended nothing ----
killed original 4
cd "$top" && cp -r original copy && cd copy || exit 1
: >mended
exits 8 cairn resume
is "$(counts)" 'bad*2 file*2 pay*1 value*2' 'a copy: the notes are those of the original'
cd "$top/original" || exit 1
: >mended
exits 0 cairn resume
is "$(counts)" 'bad*2 file*1 pay*1 user*1 value*1' 'where they count'

# ---- Whose slots these were is not known any more ----
killed slots 4
: >mended
: >.cairn/live/run-1.slots
exits 0 cairn resume
is "$(cut -d ' ' -f 1 used)" 41 'the slots are gone: what was passed on is there all the same'
# ---- Artifacts, which are stored when the end is taken over ----
cat >"$top/w.yaml" <<END
name: w
jobs: 9
tasks:
  kept: {run: 'n=kept; $body; echo one >kept', artifacts: kept}
  other: {run: 'n=other; $body; echo one >other', artifacts: other}
END
killed artifacts 2
echo two >other
exits 0 cairn resume
says 'other had ended when the run was killed, but other has changed since' \
    'one that was changed since is not taken for what the task left'
is "$(counts)" 'kept*1 other*2' 'so its task runs again, and only that'
exits 0 cairn artifact get 1 -o got
is "$(cat got/kept got/other | tr '\n' ' ')" 'one one ' 'both have theirs'
done_testing
