# make: sanitize
# A command that is run once when the tries of a task are used up.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

ran() { # what the tasks wrote, on one line; and begins anew
    tr '\n' ' ' <log
    : >log
}

cat >w.yaml <<'END'
name: w
jobs: 1
on_failure: continue
tasks:
  a: {run: 'echo a $CAIRN_ATTEMPT >>log; echo v=1 >>"$CAIRN_OUTPUT"; echo half >made; exit 3', retries: 1, fallback: 'echo fa $CAIRN_ATTEMPT >>log; echo v=2 >>"$CAIRN_OUTPUT"; echo old >made', outputs: made, undo: rm made}
  after: {needs: a, env: {V: '${{ tasks.a.outputs.v }} ${{ tasks.a.status }}'}, run: 'echo after $V $(cat made) >>log'}
  handler: {needs: a, when: failed, run: 'echo handler >>log'}
  fine: {run: 'echo fine >>log', fallback: 'echo never >>log'}
  listed: {run: 'echo listed >>log; exit 4', retries: {max: 3, on: [5]}, fallback: 'echo flisted >>log'}
  slow: {run: 'sleep 30', timeout: 2s, fallback: 'echo fslow >>log'}
  gate: {run: 'true', check: 'echo gate >>log; test -e gate', fallback: touch gate}
  exec: {exec: [no-such-command-at-all], shell: [sh, -c], fallback: 'echo fexec $0 >>log; exit 0'}
  group: {foreach: {n: [1, 2]}, run: 'test $n = 1', fallback: 'echo fgroup $n >>log'}
  round: {run: 'echo r=1 >>"$CAIRN_OUTPUT"', repeat: {until: outputs.r == 0, max: 2}, fallback: 'echo fround ${CAIRN_ROUND-none} >>log'}
  skip: {run: 'exit 1', skip_exit: 7, fallback: exit 7}
END
exits 0 cairn run w.yaml
is "$(sort log | tr '\n' ' ')" 'a 1 a 2 after 2 completed old fa 3 fexec sh fgroup 2 fine flisted fround none fslow gate gate listed ' 'each once, after all tries'
says 'a at once (attempt 2: exit 3; its fallback follows' 'the run tells'
: >log
is "$(task_state a) $(task_state handler) $(task_state skip)" 'completed skipped skipped' 'it has completed, and nothing has failed'
exits 0 cairn log a --attempt 3
exits 0 cairn explain a
says 'by its fallback' 'explain tells it'
says 'attempt 3  completed' 'and the attempt'
exits 0 cairn events 1
says 'a: attempt 2 failed, another follows (exit 3): its fallback follows' 'the events, before it'
says 'a: completed (attempt 3): by its fallback' 'and after it'
exits 0 cairn explain a --json
is "$(json_get .attempts[1].fallback) $(json_get .attempts[2].fallback)" 'false true' 'so does JSON'
exits 0 cairn shell a --print
says 'echo fa $CAIRN_ATTEMPT' 'its command is that of the newest attempt'
exits 0 cairn shell a --attempt 2 --print
says 'echo half >made' 'or of another one'

# It is completed.
is "$(planned --run 1)" '' 'nothing is left'
exits 0 cairn resume
is "$(ran)" '' 'nor done'
echo new >made
exits 0 cairn resume
is "$(ran)" 'a 4 a 5 fa 6 after 2 completed old ' 'but for a changed output, as ever'
sed -i "s/retries: 1, fallback: 'echo fa/retries: 2, fallback: 'echo  fa/" w.yaml
exits 0 cairn resume w.yaml
says 'fallback changed' 'another fallback is an edit of the task'
is "$(ran)" 'a 7 a 8 a 9 fa 10 after 2 completed old ' 'and more tries are all used first'
exits 0 cairn undo 1 a
ok 'it is undone as by its own command' test ! -e made

# One that fails, too.
cat >bad.yaml <<'END'
name: bad
tasks:
  a: {run: 'echo a >>log; exit 3', fallback: 'echo f >>log; exit 4', may_fail: true, retries: {max: 1, delay: 10ms}}
  handler: {needs: b, when: failed, run: 'echo handler >>log'}
  b: {needs: {task: a, soft: true}, run: 'echo b >>log; exit 1', fallback: 'echo fb >>log; exit 5'}
  c: {needs: b, run: 'echo c >>log'}
  nothing: {needs: {task: handler, soft: true}, run: 'echo no >>log', outputs: nothing, fallback: 'echo fn >>log'}
END
: >log
exits 1 cairn run bad.yaml
is "$(ran)" 'a a f b fb handler no fn ' 'it is not tried again, and is held to the outputs'
says 'that was its fallback' 'which is said'
is "$(task_state a) $(task_state b) $(task_state c)" 'failed failed skipped' 'they have failed'
exits 0 cairn events 2
says 'a: failed (attempt 3) (exit 4): it may fail: the run goes on; that was its fallback' 'and the events say why'

# Where the run stops, no fallback starts: the next resume begins anew.
cat >stop.yaml <<'END'
name: stop
jobs: 2
tasks:
  a: {run: 'test -e good || until cairn status --tasks | grep -q "failed  *b"; do sleep 0.02; done; echo a >>log; test -e good', fallback: 'echo f >>log'}
  b: {run: 'test -e good'}
END
exits 1 cairn run stop.yaml
is "$(ran)" 'a ' 'after a failure that stops the run'
touch good
exits 0 cairn resume stop.yaml
is "$(ran)" 'a ' 'then its own command is tried'

# Killed while it runs.
for crash in kill adopt; do
    rm -f at go
    cat >kill.yaml <<END
name: kill-$crash
on_crash: $crash
tasks:
  a: {run: 'echo a >>log; exit 9', retries: 1, fallback: 'echo f >>log; touch at; while [ ! -e go ]; do sleep 0.02; done; echo v=1 >>"\$CAIRN_OUTPUT"'}
  b: {needs: a, env: {V: '\${{ tasks.a.outputs.v }}'}, run: 'test -n "\$V"; echo b >>log'}
END
    killed_at at cairn run kill.yaml
    touch go
    exits 0 cairn resume kill.yaml
    if [ $crash = kill ]; then more='a a f a a f b '; else more='a a f b '; fi
    is "$(ran)" "$more" "$crash: it goes on"
    exits 0 cairn explain a
    says 'by its fallback' "$crash: and the fallback is told"
done

# What must not run twice is unknown if its fallback was cut off.
rm -f at go
cat >once.yaml <<'END'
name: once
tasks:
  a: {once: true, run: 'echo a >>log; exit 9', fallback: 'echo f >>log; touch at; while [ ! -e go ]; do sleep 0.02; done'}
END
killed_at at cairn run once.yaml
exits 8 cairn resume once.yaml
is "$(ran)" 'a f ' 'it did not run again'

# The services of the task serve it, too.
cat >service.yaml <<'END'
name: service
tasks:
  db: {service: true, ready: test -e up, run: 'echo up >>log; touch up; trap "rm up; exit 0" TERM; while :; do sleep 0.05; done'}
  a: {needs: db, run: 'exit 1', fallback: 'test -e up; echo f >>log'}
END
exits 0 cairn run service.yaml
is "$(ran)" 'up f ' 'the service is there'

# What it made is not reused: a new run tries the task itself.
cat >reuse.yaml <<'END'
name: reuse
tasks:
  a: {run: 'echo a >>log; test -e ready; echo new >made', outputs: made, reuse: true, fallback: 'echo f >>log; echo old >made'}
  b: {run: 'echo b >b.out', outputs: b.out, reuse: true}
END
exits 0 cairn run reuse.yaml
exits 0 cairn plan reuse.yaml --fresh
matches '^run +a +run [0-9]+ did it by its fallback$' 'plan says why it runs'
exits 0 cairn run reuse.yaml
is "$(ran)" 'a f a f ' 'not reused'
touch ready
exits 0 cairn run reuse.yaml
exits 0 cairn run reuse.yaml
is "$(ran)" 'a ' 'but what the task itself made is'

# A member, with a column of a sheet that only its fallback reads.
printf 'id,url,mirror\n1,x,m1\n2,y,m2\n' >s.csv
cat >sheet.yaml <<'END'
name: sheet
tasks:
  get: {foreach: {csv: s.csv, key: id}, run: 'echo $url >>log; test $id = 1', fallback: 'echo $mirror >>log'}
END
exits 0 cairn run sheet.yaml -j 1
is "$(ran)" 'x y m2 ' 'it has its columns'

# Refused.
while IFS='|' read -r text meant; do
    printf 'name: bad\ntasks:\n  a: {%s}\n' "$text" >refused.yaml
    exits 3 cairn validate refused.yaml
    says "$meant" "$text: $meant"
done <<'END'
run: x, fallback: ''|`fallback`
run: x, fallback: [a, b]|`fallback`
run: x, fallback: 'echo ${{ params.x }}'|`fallback`
external: x, fallback: y|`fallback` has no meaning for task `a`
run: x, service: true, ready: y, fallback: z|`fallback` has no meaning for the service `a`
END

done_testing
