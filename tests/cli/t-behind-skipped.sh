# make: sanitize
# shellcheck shell=sh disable=SC2016
# A task that is skipped because of one need does not let what comes after it overtake
# its other needs, however many run at once.
. "${TESTS:?}/cli/tap.sh"

for why in failed off; do
    if [ $why = off ]; then
        y="y: {if: params.extra, run: 'true'}"
    else
        y="y: {run: 'false'}
  hy: {needs: y, when: failed, run: 'true'}"
    fi
    cat >w.yaml <<END
name: w
params: {extra: {type: bool, default: false}}
tasks:
  x: {run: 'sleep 0.2; echo v=1 >>"\$CAIRN_OUTPUT"; echo new >x.out'}
  $y
  m: {needs: [x, y], run: 'echo extra'}
  n: {needs: m, run: 'echo extra'}
  e: {needs: n, when: always, run: 'echo "\$V" \$(cat x.out) >>log', env: {V: "\${{ tasks.x.outputs.v }}"}}
  f: {needs: m, when: always, if: "tasks.x.status == 'completed'", run: 'echo f >>log'}
END
    for jobs in 1 4; do
        rm -f log
        echo old >x.out
        exits 0 cairn run w.yaml --fresh -j$jobs
        is "$(sort log | tr '\n' ' ')" '1 new f ' "y is $why, -j$jobs: after what it depends on"
        exits 0 cairn resume
        says 'nothing to do' 'and all is settled'
    done
done

# Where a failure stops the run, what would have come before will not: a handler behind
# what was skipped runs, as it would with more jobs.
cat >stop.yaml <<'END'
name: stop
jobs: 1
tasks:
  y: {priority: 1, run: '[ -e ok ]'}
  x: {run: 'echo x >>log'}
  m: {needs: [x, y], run: 'echo m >>log'}
  report: {needs: m, when: always, run: 'echo report >>log'}
  direct: {needs: x, when: always, run: 'echo direct >>log'}
END
rm -f log
exits 1 cairn run stop.yaml
is "$(tr '\n' ' ' <log)" 'report ' 'the handler runs when nothing else will'
touch ok
exits 0 cairn resume
is "$(sort log | tr '\n' ' ')" 'direct m report report x ' 'the rest runs on resume, and the handler again after it'

# The same behind a group, and for a handler of another failure.
cat >group.yaml <<'END'
name: group
jobs: 1
tasks:
  y: {priority: 2, run: 'false'}
  stops: {priority: 1, run: 'false'}
  x: {run: 'echo x >>log'}
  m: {needs: [x, y], foreach: {i: [p, q]}, run: 'echo m >>log'}
  report: {needs: m, when: always, run: 'echo report >>log'}
  rollback: {needs: [m, y], when: failed, run: 'echo rollback >>log'}
  never: {needs: m, when: failed, run: 'echo never >>log'}
END
rm -f log
cairn run group.yaml >run.out 2>&1
is "$(sort log | tr '\n' ' ')" 'report rollback ' 'the handlers behind a group run'
cairn status --tasks --json | grep -q '"task":"never","state":"pending"'
is "$?" 0 'one that no failure calls for is left for the resumed run'
sed -i "s/run: 'false'/run: 'true'/" group.yaml
exits 0 cairn resume
is "$(sort log | tr '\n' ' ')" 'm m report report rollback x ' 'which decides it'

# Of several that are let run then, one does not overtake the other.
cat >chain.yaml <<'END'
name: chain
jobs: 4
tasks:
  y: {priority: 1, run: 'false'}
  h: {needs: y, when: failed, run: 'true'}
  z: {run: 'sleep 0.2; false'}
  p0: {run: 'sleep 0.4'}
  p: {needs: p0, run: 'echo p >>log'}
  m1: {needs: [y, p], run: 'echo m1 >>log'}
  x: {needs: m1, when: always, run: 'sleep 0.2; echo x >>log'}
  m2: {needs: [y, x], run: 'echo m2 >>log'}
  e: {needs: m2, when: always, run: 'echo e >>log'}
END
rm -f log
exits 1 cairn run chain.yaml
is "$(tr '\n' ' ' <log)" 'x e ' 'the second handler waits for the first'

# Nor is it offered to somebody outside before, by the run or by any command.
cat >asked.yaml <<'END'
name: asked
tasks:
  y: {run: 'false'}
  h: {needs: y, when: failed, run: 'true'}
  x: {external: "Which version?"}
  m: {needs: [x, y], run: 'true'}
  e: {needs: m, when: always, external: "Publish version ${{ default(tasks.x.outputs.v, 'none') }}"}
  p: {needs: e, run: 'echo "version $V" >>published', env: {V: "${{ tasks.x.outputs.v }}"}}
END
rm -rf .cairn
exits 7 cairn run asked.yaml --no-wait
exits 0 cairn next 1
ok 'what is behind the skipped step is not offered' sh -c '! grep -q Publish out'
exits 2 cairn claim 1 e
says 'task e cannot be done now: it needs x, which has not ended' 'nor can it be claimed'
exits 2 cairn complete 1 e
exits 0 cairn complete 1 x --output v=7
exits 7 cairn resume --no-wait
exits 0 cairn next 1
says 'Publish version 7' 'then it is the right question'
exits 0 cairn complete 1 e
exits 0 cairn resume
is "$(cat published)" 'version 7' 'and its answer counts'

# What a handler has seen of a task that was not started then counts no more when that
# is skipped later.
cat >late.yaml <<'END'
name: late
jobs: 4
params: {extra: {type: bool, default: false}}
tasks:
  y: {priority: 9, run: 'false'}
  h: {needs: y, when: failed, run: 'true'}
  z: {run: 'sleep 0.1; test -e okay'}
  x0: {run: 'sleep 0.3'}
  x: {needs: x0, if: params.extra, run: 'true'}
  m: {needs: [y, x], run: 'true'}
  e: {needs: m, when: always, run: 'echo "e $S" >>seen', env: {S: "${{ tasks.x.status }}"}}
END
rm -rf .cairn
exits 1 cairn run late.yaml
touch okay
exits 0 cairn resume
is "$(tail -n 1 seen)" 'e skipped' 'the handler has run again'

# A command that settles a run evaluates no condition before its time either.
cat >settled.yaml <<'END'
name: settled
tasks:
  y: {run: 'false'}
  h: {needs: y, when: failed, run: 'true'}
  q: {external: "Anything else?"}
  x: {external: "Which version?"}
  m: {needs: [y, x], run: 'true'}
  e: {needs: m, when: always, if: "tasks.x.status == 'completed'", run: 'echo deploy >>deployed'}
END
rm -rf .cairn
exits 7 cairn run settled.yaml --no-wait
exits 0 cairn complete 1 q
exits 0 cairn complete 1 x
exits 0 cairn status --can-resume
exits 0 cairn resume
is "$(cat deployed)" deploy 'what waits behind the skip runs'

# What an unknown task becomes is not known yet, so nothing behind an early skip that
# waits for it, or for what needs it, is let run when a failure stops the run.
for answer in 'done' failed; do
    cat >unknown.yaml <<'END'
name: unknown
tasks:
  y: {run: 'false'}
  h: {needs: y, when: failed, run: 'true'}
  u: {once: true, run: 'touch at; while :; do sleep 0.02; done'}
  hu: {needs: u, when: failed, run: 'true'}
  x: {needs: u, run: 'true'}
  m: {needs: [y, u], run: 'true'}
  n: {needs: [y, x], run: 'true'}
  e: {needs: m, when: always, run: 'echo "e $S" >>seen', env: {S: "${{ tasks.u.status }}"}}
  f: {needs: n, when: always, run: 'echo "f $S" >>seen', env: {S: "${{ tasks.x.status }}"}}
  z: {needs: h, run: 'test -e okay'}
END
    rm -rf .cairn at okay seen
    : >seen
    cairn run -j4 unknown.yaml >run.out 2>&1 &
    pid=$!
    wait_for 20 test -e at
    kill -KILL $pid
    wait $pid 2>/dev/null
    exits 8 cairn resume
    is "$(cat seen)" '' "$answer: nothing runs before it is decided"
    exits 0 cairn resolve 1 u $answer
    touch okay
    exits 0 cairn resume
    [ $answer = 'done' ] && all='e completed f completed ' || all='e failed f skipped '
    is "$(sort seen | tr '\n' ' ')" "$all" "$answer: then it runs, and sees that"
    exits 0 cairn resume
    says 'nothing to do' "$answer: and all is settled"
done

# ---- Once tasks that ended, or live on, before what they need runs again ----
# kill_at FILE: kills the run that was begun as soon as FILE has bytes.
kill_at() {
    wait_for 20 test -s "$1"
    kill -KILL $pid
    wait $pid 2>/dev/null
}
cat >decided.yaml <<'END'
name: decided
tasks:
  x: {run: 'sleep 0.2; cp in out.x', inputs: in, outputs: out.x}
  pay: {needs: x, once: true, run: 'echo paid >>log; sleep 60', check: 'grep -q paid log'}
  ship: {needs: pay, run: 'echo ship $(cat out.x) >>log'}
END
rm -rf .cairn log
echo 1 >in
cairn run decided.yaml >run.out 2>&1 &
pid=$!
kill_at log
echo 2 >in
exits 0 cairn resume
is "$(tr '\n' ' ' <log)" 'paid ship 2 ' 'what needs a decided task waits for what that one needs'

for crash in kill adopt; do
    cat >once.yaml <<END
name: once
on_crash: $crash
params: {extra: {type: bool, default: false}}
tasks:
  x: {run: 'cp in x.out', inputs: in, outputs: x.out}
  m: {needs: x, if: params.extra, run: 'true'}
  a: {needs: m, when: always, once: true, run: 'echo paid >>log; while [ ! -e go ]; do sleep 0.02; done'}
END
    rm -rf .cairn log go
    echo 1 >in
    cairn run once.yaml >run.out 2>&1 &
    pid=$!
    kill_at log
    echo 2 >in
    exits 8 cairn resume
    touch go
    is "$(cat log)" paid "$crash: a once task is not started a second time"
done
done_testing
