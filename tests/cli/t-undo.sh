# Taking back: in a failed run, afterwards with cairn undo, and how much of a workflow can.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: undoes
params: {end: "true"}
on_failure: {undo: all}
tasks:
  a: {run: echo a, undo: 'echo a >>undone'}
  b: {needs: a, run: echo b, undo: 'echo b >>undone; test ! -e bad'}
  c: {needs: b, run: '$end'}
END2
undone() { tr '\n' ' ' <undone; }

exits 0 cairn validate --undo flow.yaml
says 'undo coverage: 2 of 3, 0.67'
matches 'no undo +c'
exits 0 cairn validate --undo --json flow.yaml
json_ok 'validate --undo --json'
is "$(json_get '.undo.coverage')" 0.667 'coverage in JSON'
is "$(json_get '.undo.without[0]')" c 'and what has none'
exits 0 cairn validate flow.yaml
is "$(grep -c coverage out)" 0 'not without --undo'

: >undone
exits 1 cairn run flow.yaml --param end=false
is "$(undone)" 'b a ' 'a failure undoes in reverse order'
matches '2 undone' 'which the last line counts'
exits 0 cairn status --tasks
matches 'undone +a'
: >undone
exits 0 cairn run flow.yaml
exits 2 cairn undo
exits 10 cairn undo 9
exits 10 cairn undo 2 x
exits 2 cairn undo 2 c
says 'without an `undo`'
is "$(undone)" '' 'nothing was undone yet'
exits 0 cairn undo 2 b
is "$(undone)" 'b ' 'one task'
exits 2 cairn undo 2 b
says 'it is undone'
exits 0 cairn status 2
says '2 completed, 1 undone'
exits 0 cairn plan --run 2
matches '^run +b .*undone' 'plan: what was undone runs again'
matches '^run +c' 'and what needs it'
exits 0 cairn resume 2
: >undone
exits 0 cairn undo 2 --json
json_ok 'undo --json'
is "$(undone)" 'b a ' 'all of them'
exits 2 cairn undo 2
says 'nothing to undo'
exits 0 cairn resume 2
: >undone
touch bad
exits 1 cairn undo 2
is "$(undone)" 'b a ' 'a failing undo keeps no other from running'
says '1 undo command failed'
says 'see: cairn status 2'
exits 0 cairn status 2
says 'undo of b  exit 1' 'status: what was not taken back'
matches 'see: cairn log b --attempt [0-9]+ --run 2'
exits 0 cairn status 2 --json
json_ok 'status --json'
is "$(json_get '.failed_undos[0].task')" b 'in JSON, too'
ok 'with its attempt' test "$(json_get '.failed_undos[0].failed_undo')" -gt 1
exits 0 cairn log
matches 'attempt [0-9]+  its undo failed  exit 1'
exits 0 cairn explain b --run 2
matches 'attempt [0-9]+  its undo failed  exit 1'
matches 'attempt [0-9]+  undone'
exits 0 cairn log b --run 2
says b 'log: what the task wrote, not its undo'
exits 0 cairn status 2 --tasks
matches 'completed +b' 'and its task stays completed'
matches 'undone +a'
rm -f bad
exits 0 cairn undo 2
exits 0 cairn status 2
is "$(grep -c 'undo of' out)" 0 'once taken back, no more of it'

# After a failed run: undoing is no run in which nothing was run.
cat >part.yaml <<'END2'
name: part
tasks:
  take: {run: "true", undo: 'test ! -e bad'}
  use: {needs: take, run: "false"}
END2
touch bad
exits 1 cairn run -q --fresh part.yaml
failed_run=$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')
exits 1 cairn undo "$failed_run" take
says 'undo command failed'
is "$(grep -c 'nothing was run' err)" 0 'an undo that failed is no run'
rm bad
run cairn undo "$failed_run" take
says 'undone take'
is "$(grep -c 'nothing was run' err)" 0 'nor is one that did not'

# What is skipped now may have run before: no time of that is shown.
cat >final.yaml <<'END2'
name: final
secrets: [KEY]
tasks:
  a: {run: test -e one, secrets: [KEY]}
finally:
  tell: {if: run.status == 'failed', run: "true"}
END2
export KEY=something
exits 1 cairn run -q final.yaml
exits 0 cairn log tell
says 'tell, attempt 1, wrote nothing'
touch one
exits 0 cairn resume -q
exits 0 cairn status --tasks
matches '^  skipped +tell  [(]its condition'
unset KEY
exits 0 cairn explain a
says 'a secret is not given here' 'explain: so whether it changed cannot be told'
exits 0 cairn explain a --json
json_ok 'explain --json'
ok 'and in JSON' test -n "$(json_get '.notices[0]')"

# An undo that is killed after its last task, before its end is stored.
mkdir killed && cd killed || exit 1
export CAIRN_STORE="$PWD/.cairn"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0:detect_leaks=0"
killer=$BUILD/tests/crash/killer.so
cat >undo.yaml <<'END'
name: undo
tasks:
  a: {run: 'true', undo: 'echo a >>undone'}
  b: {needs: [a], run: 'true', undo: 'echo b >>undone'}
END
exits 0 cairn run undo.yaml
run env LD_PRELOAD="$killer" CRASH_KILL=sync-return:2 CRASH_MARK="$PWD/mark" cairn undo 1
is "$status" 137 'an undo is killed when its last task is undone'
exits 0 cairn status 1 --json
is "$(json_get .undone)" 2 'both tasks are undone'
exits 0 cairn undo 1
is "$(tr '\n' ' ' <undone)" 'b a ' 'continuing it undoes nothing twice'
exits 0 cairn status 1 --json
is "$(json_get .state)" undone 'and the run has its end'
exits 2 cairn undo 1

# A wish to stop lets the undoing go on to its end, and what is printed says so.
mkdir ../slow && cd ../slow || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >slow.yaml <<'END2'
name: slow
tasks:
  a: {run: "true", undo: 'echo a >>undone'}
  b: {needs: a, run: "true", undo: 'touch at-b; while [ -e hold ]; do sleep 0.02; done; echo b >>undone'}
finally: {f: {run: 'touch at-f; while [ -e hold ]; do sleep 0.02; done; echo f >>undone'}}
END2
asked() { # how cairn is asked to stop while a file is there
    rm -f "at-$1"
    : >undone
    touch hold
    shift
    "$@" >run.out 2>run.err &
    pid=$!
}
released() {
    rm hold
    wait $pid
    status=$?
    cp run.out out
    cp run.err err
}
exits 0 cairn run slow.yaml
for how in TERM cancel; do
    asked b cairn undo 1
    ok 'an undo command runs' wait_for 20 test -e at-b
    if [ $how = TERM ]; then
        kill -TERM $pid
        ok 'the answer to a signal says what still runs' wait_for 20 \
            grep -qx 'stopping: when the undo commands have run; ask again to end them at once' run.err
    else
        exits 0 cairn cancel
        matches 'asked process [0-9]+ to stop run [0-9]+ when its undo commands have run; see:' 'and that of cancel'
        ok 'the owner says so, too' wait_for 20 \
            grep -qx 'stopping: when the undo commands have run (asked by `cairn cancel`)' run.err
    fi
    released
    is "$status $(undone)" '0 b a ' "$how: all of them have run"
    cairn events 1 >events
    is "$(grep -c 'nothing more is started' events)" 0 'the log does not say that nothing more was started'
    exits 0 cairn resume 1
done
asked f cairn run --fresh slow.yaml
ok 'a `finally` task runs' wait_for 20 test -e at-f
exits 0 cairn cancel
says 'when its `finally` tasks have run' 'what still runs is `finally`'
ok 'as the owner says' wait_for 20 grep -q 'stopping: when the `finally` tasks have run' run.err
released
is "$(undone)" 'f ' 'and so it does'

# ---- What was undone and done again: attempts at the undo are no attempts ----
mkdir again && cd again || exit 1
cat >again.yaml <<'END2'
name: again
tasks:
  a: {run: 'echo "this is $CAIRN_ATTEMPT"', undo: 'true'}
  b: {run: 'true', needs: [a]}
END2
exits 0 cairn run again.yaml
run=$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')
attempts() { cairn status --tasks --json >out; json_get '.tasks[0].attempts'; }
is "$(attempts)" 1 'one attempt'
exits 0 cairn undo "$run"
is "$(attempts)" 1 'undone: it stays one'
exits 0 cairn resume "$run"
is "$(attempts)" 2 'done again: two'
exits 0 cairn status --tasks
matches 'completed    a  .* in 2 attempts$'
exits 0 cairn log --all
says 'this is 3' 'its log is that of the newest, whatever its number'
cd ..

# ---- Killed in the middle of an undo: the task is unknown, and counts once ----
mkdir cut && cd cut || exit 1
cat >cut.yaml <<'END2'
name: cut
on_failure: {undo: all}
tasks:
  a: {run: 'true', undo: 'echo >undoing; exec sleep 60', once: true}
  b: {needs: [a], run: 'exit 3'}
END2
cairn run cut.yaml >run.out 2>&1 &
pid=$!
ok 'it undoes' wait_for 20 test -e undoing
kill -KILL $pid
wait $pid
exits 0 cairn status
says '2: 0 completed, 1 failed, 1 unknown' 'status counts each task once'
exits 0 cairn status --json
is "$(json_get .completed) $(json_get .failed) $(json_get .unknown)" '0 1 1' 'with --json, too'
cd ..
done_testing
