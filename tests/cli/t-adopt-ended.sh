# Tasks that outlived their cairn (on_crash: adopt) are adopted by a resume of their run. A new
# run of the workflow ends them, and says so first, whenever.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END'
name: kept
on_crash: adopt
params: {k: "1"}
tasks:
  a: {foreach: {i: [x, y]}, run: 'echo $i $CAIRN_RUN >>begun; until [ -e go ]; do sleep 0.02; done; echo $i $CAIRN_RUN >>came'}
END
begun() { [ -e begun ] && [ "$(wc -l <begun)" = 2 ]; }
killed() { # a run whose two tasks outlive it
    rm -rf .cairn begun came go
    cairn run flow.yaml >run.out 2>&1 &
    pid=$!
    ok 'both tasks run' wait_for 20 begun
    kill -9 $pid
    wait $pid 2>/dev/null
}

for more in '--param k=2' --fresh '--fresh --json' '--fresh --quiet'; do
    killed
    (wait_for 20 sh -c '[ "$(wc -l <begun)" = 4 ]'; touch go) &
    # shellcheck disable=SC2086
    exits 0 cairn run flow.yaml $more
    wait $!
    case $more in
    *quiet) ;;
    *)
        for i in x y; do
            is "$(cat out err | grep -cF "task a[i=$i] of run 1 was still running under its keeper: ended")" 1 \
                "$more: that a[i=$i] was ended is told, once"
        done
        is "$(cat out err | grep -e 'was still running' -e '"run_started"' -e '^run 2 of' | tail -n 1 | grep -c 'still running')" 0 \
            'before the new run begins'
        ;;
    esac
    is "$(sort came | tr '\n' ' ')" 'x 2 y 2 ' 'and neither came to its end'
done

killed
touch go
exits 0 cairn resume 1
is "$(cat out err | grep -c 'was still running')" 0 'a resume adopts them'
is "$(sort came | tr '\n' ' ')" 'x 1 y 1 ' 'and nothing runs twice'

# What plan says of such tasks, and what resume does.
cat >said.yaml <<'END2'
name: said
jobs: 3
on_crash: adopt
tasks:
  lives: {run: 'echo lives >>begun; until [ -e go ]; do sleep 0.02; done'}
  good: {run: 'echo good >>begun; until [ -e go1 ]; do sleep 0.02; done; echo good >>came'}
  bad: {run: 'echo bad >>begun; until [ -e go1 ]; do sleep 0.02; done; echo bad >>came; exit 3'}
  next: {needs: good, run: 'true'}
  after: {needs: bad, run: 'true'}
END2
rm -rf .cairn begun came go go1
cairn run said.yaml >run.out 2>&1 &
pid=$!
wait_for 20 sh -c '[ "$(wc -l <begun)" = 3 ]'
kill -9 $pid
wait $pid 2>/dev/null
exits 0 cairn plan said.yaml
is "$(grep -c '^take .* it still runs, and is taken over$' out)" 3 'all of them still run'
says '2 of 5 tasks will run, 3 are taken over' 'they are not started'
touch go1
wait_for 20 sh -c 'cairn plan said.yaml 2>/dev/null | grep "^take *bad .*not with 0" && cairn plan said.yaml | grep "^take *good .* it has ended"' >/dev/null 2>&1
exits 0 cairn plan said.yaml
matches '^take  lives  it still runs' 'one still runs'
matches '^take  good   it has ended while cairn did not run: that end counts' 'one has ended'
matches '^take  bad    it has ended while cairn did not run, and not with 0' 'one has failed'
matches '^may   after  unless the failure of bad ends the run' 'what needs it may run'
matches '^may   next   unless the failure of bad ends the run' 'and the rest, too'
exits 0 cairn explain good said.yaml
says 'good is taken over' 'explain'
exits 0 cairn plan said.yaml --json
is "$(json_get '.decisions[1].reason')" adopted 'JSON: the reason'
touch go
exits 1 cairn resume
says 'up to 2 of 5 tasks to run, 3 taken over' 'resume says the same'
is "$(wc -l <begun)" 3 'and starts none of them again'

# One has failed, and another try or its fallback follows: that is a start.
cat >tries.yaml <<'END2'
name: tries
jobs: 4
on_crash: adopt
on_failure: continue
env: {DO: 'echo >>begun; [ $CAIRN_ATTEMPT = 1 ] || exit 0; until [ -e go ]; do sleep 0.02; done; exit 3'}
tasks:
  retried: {retries: 1, run: 'eval "$DO"'}
  other: {retries: {max: 1, on: [4]}, run: 'eval "$DO"'}
  fallen: {fallback: 'touch fallen', run: 'eval "$DO"'}
  last: {run: 'eval "$DO"'}
END2
rm -rf .cairn begun go
cairn run tries.yaml >run.out 2>&1 &
pid=$!
wait_for 20 sh -c '[ "$(wc -l <begun)" = 4 ]'
kill -9 $pid
wait $pid 2>/dev/null
touch go
wait_for 20 sh -c '! cairn plan | grep -q "still runs"'
exits 0 cairn plan
matches '^run   retried  it failed while cairn did not run; another try follows' 'retries'
matches '^run   fallen   it failed while cairn did not run; its fallback follows' 'fallback'
matches '^take  other    it has ended while cairn did not run, and not with 0' 'retries after another failure'
says '2 of 4 tasks will run, 2 are taken over' 'they are counted'
exits 1 cairn resume
says '2 of 4 tasks to run, 2 taken over' 'the resume says the same'
is "$(wc -l <begun)" 5 'and starts those'
ok 'and the fallback' test -e fallen

# One that must not run twice was edited since: its end leaves it unknown.
write_once() { # COMMENT
    cat >once.yaml <<END2
name: once
on_crash: adopt
tasks:
  pay: {once: true, run: 'echo pay >>begun; until [ -e go ]; do sleep 0.02; done # $1'}
  next: {needs: pay, run: 'echo next >>came'}
END2
}
for how in lives ended; do
    rm -rf .cairn begun came go
    write_once 1
    killed_at begun cairn run once.yaml
    write_once 2
    exits 0 cairn plan
    matches '^take  pay  .*still runs.* edited .*when it has ended, decide: cairn resolve 1 pay done' 'it still runs'
    matches '^may   next  depending on what becomes of pay' 'what needs it is not sure to run'
    touch go
    if [ $how = ended ]; then
        wait_for 20 sh -c 'cairn plan | grep -q "^take  pay  it has ended.* decide: cairn resolve 1 pay done"'
        exits 0 cairn plan
        says '0 of 2 tasks will run, 1 is taken over' 'its end is not what next waits for'
    fi
    exits 8 cairn resume
    says 'cairn resolve 1 pay done' "$how: the resume"
    is "$(task_state pay)" unknown "$how: it is unknown"
    ok 'what needs it has not run' test ! -e came
done

# What a task needs only for the order runs again: it waits for that, so it is not taken over.
for once in '' 'once: true, '; do
    cat >order.yaml <<END2
name: order
on_crash: adopt
tasks:
  prep: {run: 'true'}
  pay: {${once}needs: [{task: prep, order: true}], run: 'echo pay >>begun; until [ -e go ]; do sleep 0.02; done'}
END2
    rm -rf .cairn begun go
    killed_at begun cairn run order.yaml
    sed -i "s/prep: .*/prep: {run: ':'}/" order.yaml
    exits 0 cairn plan order.yaml
    if [ "$once" ]; then
        matches '^ask  *pay  .*decide: cairn resolve 1 pay done' 'once: the plan does not say that it runs, or is taken over'
        touch go
        exits 8 cairn resume
        is "$(wc -l <begun)" 1 'once: it does not run twice'
        is "$(task_state pay)" unknown 'somebody decides'
    else
        matches '^run  *pay  *prep, which it needs, runs' 'it runs again'
        touch go
        exits 0 cairn resume
        is "$(wc -l <begun)" 2 'and it does'
    fi
done

# What an adopted task has read is known only if it looks as it did before the start.
cat >reads.yaml <<'END'
name: reads
on_crash: adopt
on_failure: continue
jobs: 2
tasks:
  b: {run: '[ -e again ] && touch adopted'}
  a: {run: 'cp d/in a.out; touch begun; until [ -e go ]; do sleep 0.02; done', inputs: d/in, outputs: a.out}
END
for how in same gone moved; do
    rm -rf .cairn begun go again adopted d d2 d.old
    mkdir d d2
    echo 1 >d/in
    echo 2 >d2/in
    cairn run reads.yaml >run.out 2>&1 &
    pid=$!
    wait_for 20 test -e begun
    # Recorded: a failure that is only noted would be the resume's, and nothing would run.
    wait_for 20 grep -q 'FAILED b' run.out
    kill -9 $pid
    wait $pid 2>/dev/null
    [ $how = same ] || mv d d.old
    [ $how != moved ] || mv d2 d
    touch again
    (wait_for 20 test -e adopted; touch go) &
    cairn resume >resume.out 2>&1
    is $? 0 "$how: it is adopted"
    wait $!
    [ $how != gone ] || mv d2 d
    exits 0 cairn resume
    if [ $how = same ]; then
        says 'nothing to do' "$how: it has read what is there"
    else
        is "$(cat a.out)" 2 "$how: it runs again with what is there now"
        exits 0 cairn resume
        says 'nothing to do' 'then it is at rest'
    fi
done

# Taken over after an edit, by an owner that is killed as well, and once more: it is found
# again under the numbers that it had at first.
write_edits() { # TASKS-BEFORE
    {
        printf 'name: edits\non_crash: adopt\non_failure: continue\njobs: 9\ntasks:\n'
        for t in $1; do
            echo "  $t: {run: '[ -e again-$t ] && touch adopted-$t'}"
        done
        echo "  pay: {once: true, run: 'echo begun >>log; until [ -e go ]; do sleep 0.02; done; echo ended >>log'}"
    } >edits.yaml
}
for how in lives ended; do
    rm -rf .cairn log go again-* adopted-*
    write_edits ''
    killed_at log cairn run edits.yaml
    tasks=
    for t in z y; do
        tasks="$t $tasks"
        touch again-$t
        write_edits "$tasks"
        killed_at adopted-$t cairn resume
    done
    if [ $how = ended ]; then
        touch go
        wait_for 20 grep -q ended log
    else
        touch again-x
        write_edits "x $tasks"
        (wait_for 20 test -e adopted-x; touch go) &
    fi
    exits 0 cairn resume
    wait
    is "$(tr '\n' ' ' <log)" 'begun ended ' "$how: it was started once"
    exits 0 cairn resume
    says 'nothing to do' 'and all is settled'
    exits 0 cairn checkpoint verify
done
done_testing
