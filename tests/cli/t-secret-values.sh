# Secrets in what tasks pass on: in the name of a value, and in the file of an attempt whose
# cairn was killed. Nothing of them stays in the store.
. "$TESTS/cli/tap.sh"
export TOKEN=s3cr3t_Value_77

nothing_in_store() { # what
    ok "$1" sh -c '! grep -rqs s3cr3t_Value_77 .cairn'
    ok "$1 (packed)" sh -c '! "$BUILD/tests/tools/unpack" .cairn/cairn.db 2>/dev/null | grep -qs s3cr3t_Value_77'
}

cat >name.yaml <<'END'
name: name
secrets: [TOKEN]
tasks:
  a: {run: 'echo "$TOKEN=1" >>"$CAIRN_OUTPUT"', secrets: [TOKEN]}
END
exits 1 cairn run name.yaml
says 'is in the name of a value' 'a name cannot be redacted: the task fails'
ok 'and is not shown' sh -c '! grep -q s3cr3t out err'
nothing_in_store 'a secret as the name of a value is not stored'
cairn log a >out 2>&1
cairn events >>out 2>&1
cairn status --json >>out 2>&1
ok 'nor shown by any command' sh -c '! grep -q s3cr3t out'

cat >outside.yaml <<'END'
name: outside
secrets: [TOKEN]
tasks:
  a: {external: "do it"}
END
run cairn run outside.yaml --no-wait
exits 2 cairn complete 2 a --output "$TOKEN=1"
says 'is in the name of a value' 'nor is it taken from outside'
nothing_in_store 'and not stored'

# ---- A killed run ----

cat >killed.yaml <<'END'
name: killed
secrets: [TOKEN]
tasks:
  a: {run: 'echo "v=$TOKEN" >>"$CAIRN_OUTPUT"; touch at; while [ -e hold ]; do sleep 0.02; done', secrets: [TOKEN]}
END
killed() {
    rm -rf .cairn at
    touch hold
    cairn run killed.yaml >run.out 2>&1 &
    pid=$!
    ok 'a task has passed on a secret' wait_for 20 test -e at
    kill -9 $pid
    wait $pid 2>/dev/null
    rm hold
}
killed
exits 0 cairn gc
nothing_in_store 'gc removes what a killed run left'
exits 0 cairn resume
nothing_in_store 'and it continues'
killed
exits 0 cairn cancel 1
nothing_in_store 'cancelling a killed run removes it, too'
killed
exits 0 cairn resume
nothing_in_store 'and so does continuing it'

# A task without secrets continues under its keeper: what it passes on is still wanted.
cat >kept.yaml <<'END'
name: kept
on_crash: adopt
secrets: [TOKEN]
tasks:
  a: {run: 'echo a >>ran; echo v=1 >>"$CAIRN_OUTPUT"; touch at; while [ -e hold ]; do sleep 0.02; done'}
  s: {run: 'true', secrets: [TOKEN]}
  b: {needs: [a], exec: [sh, -c, 'echo "$1" >got', sh, "${{ tasks.a.outputs.v }}"]}
END
# The second half of its file is the end.
keeper_ended() { [ "$(tail -c +513 .cairn/live/run-1.*.keep | tr -d '\0' | wc -c)" -gt 0 ]; }
for command in 'gc' 'cancel 1'; do
    rm -rf .cairn at got ran
    touch hold
    cairn run kept.yaml >run.out 2>&1 &
    pid=$!
    ok 'a task under a keeper has passed something on' wait_for 20 test -e at
    kill -9 $pid
    wait $pid 2>/dev/null
    [ "$command" != gc ] || exits 0 cairn gc # it lives
    rm hold
    ok 'its keeper notes the end' wait_for 20 keeper_ended
    # shellcheck disable=SC2086
    exits 0 cairn $command # it has ended
    exits 0 cairn resume 1
    is "$(cat got)" 1 "after $command its value is there"
    is "$(cat ran)" a 'and it does not run again'
done

# A live run keeps its own.
rm -rf .cairn at
touch hold
cairn run killed.yaml >run.out 2>&1 &
pid=$!
ok 'a run is live' wait_for 20 test -e at
exits 0 cairn gc
rm hold
wait $pid
is $? 0 'gc beside it does no harm'
exits 0 cairn resume
ok 'the value has arrived' grep -q 'nothing to do' err
nothing_in_store 'nothing is left of it'
done_testing
