# Tasks that may fail, and needs that take any end.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

cat >w.yaml <<'END'
name: w
jobs: 1
tasks:
  lint: {run: 'echo lint >>log; exit 3', may_fail: true}
  hard: {needs: lint, run: 'echo hard >>log'}
  soft: {needs: [{task: lint, soft: true}, {task: hard, soft: true}], run: 'echo soft >>log'}
  part: {foreach: {n: [1, 2, 3]}, run: 'test $n != 2; echo $n >g$n; echo v=$n >>"$CAIRN_OUTPUT"', outputs: 'g${{ n }}', may_fail: true}
  join:
    needs: [{task: part, soft: true}]
    env: {FILES: '${{ tasks.part.files }}', VALUES: '${{ tasks.part.outputs.v }}', STATUS: '${{ tasks.part.status }}'}
    run: 'echo $FILES $VALUES $STATUS >>log'
  all: {needs: part, run: 'echo all >>log'}
  after: {needs: [join, soft], run: 'echo after >>log'}
finally:
  last: {run: 'echo "$CAIRN_RUN_STATUS" >>log'}
END
is "$(planned w.yaml)" 'lint hard soft part[n=1] part[n=2] part[n=3] join all after last' 'all will run'
exits 0 cairn run w.yaml
is "$(tr '\n' '|' <log)" 'lint|soft|g1 g3 ["1", "3"] failed|after|completed|' \
    'the run goes on, completes, and what needs it softly runs with what there is'
is "$(task_state lint) $(task_state hard) $(task_state all)" 'failed skipped skipped' 'a plain need is not met'
says 'it may fail: the run goes on' 'the failure is told'
says 'completed: 6 completed, 2 failed and handled, 2 skipped' 'and counted as handled'
exits 0 cairn explain lint
says 'it failed, which it may' 'explain says why it stays so'
exits 0 cairn events
says 'it may fail: the run goes on' 'so do the events'
exits 0 cairn resume
says 'nothing to do' 'such a run is over'

# Rerun: the soft need's end is another, so what came after it runs again.
: >log
sed -i 's/exit 3/exit 0/' w.yaml
is "$(planned --rerun lint)" 'lint hard soft after last' 'once it is mended'
exits 0 cairn rerun lint
is "$(head -n 4 log | tr '\n' ' ')" 'lint hard soft after ' 'all behind it ran'

# Without may_fail a failure stops the run as ever, and a soft need changes nothing of it.
cat >stop.yaml <<'END'
name: stop
jobs: 1
tasks:
  bad: {run: exit 1}
  soft: {needs: [{task: bad, soft: true}], run: 'echo soft >>slog'}
END
exits 1 cairn run stop.yaml
is "$(cat slog 2>/dev/null)" '' 'the run stops'
is "$(cairn plan stop.yaml 2>/dev/null | awk '{ print $1, $2 }' | tr '\n' ' ')" 'run bad may soft ' 'the plan knows'
exits 1 cairn run stop.yaml -k
is "$(cat slog)" soft 'with -k it runs'
is "$(planned stop.yaml -k)" 'bad soft' 'and again after the one that failed'

# What was skipped after a failure, and is so again, makes nothing run a second time.
cat >same.yaml <<'END'
name: same
on_failure: continue
jobs: 1
tasks:
  a: {run: 'test -e mended || { test ! -e hold || { touch at; sleep 60; }; exit 1; }'}
  b: {needs: a, run: 'echo b >>same.log'}
  g: {needs: a, foreach: {n: [1, 2]}, run: 'echo g$n >>same.log'}
  c: {needs: [{task: b, soft: true}, {task: g, soft: true}], run: 'echo c-$st >>same.log', env: {st: '${{ tasks.b.status }}'}}
  d: {needs: c, run: 'echo d >>same.log'}
  e: {needs: [{task: a, soft: true}], run: 'echo e >>same.log'}
  f: {needs: c, once: true, run: 'echo f >>same.log'}
END
said() { tr '\n' ' ' <same.log; }
exits 1 cairn run same.yaml
is "$(said)" 'c-skipped e d f ' 'with what there is'
exits 0 cairn plan same.yaml
is "$(awk '{ print $1, $2 }' out | tr '\n' ' ')" 'run a may b may g[n=1] may g[n=2] may c may d run e may f ' \
    'the plan: it may, but not where the need itself has failed'
exits 1 cairn resume
exits 1 cairn resume
is "$(said)" 'c-skipped e d f e e ' 'it stays done at each resume'
exits 0 cairn explain c
says 'unless what it needs comes out as it was' 'and says so'
touch hold
killed_at at cairn resume
rm hold at
exits 1 cairn resume
is "$(said)" 'c-skipped e d f e e e ' 'nor does it run in a run that was killed'
: >mended
exits 8 cairn resume
is "$(grep -vx e same.log | tr '\n' ' ')$(count e same.log)" 'c-skipped d f b g1 g2 c-completed d 5' 'once they run it does'
says 'f: it has completed before' 'and asks about the one that must not run twice'
exits 0 cairn resolve 3 f 'done'
exits 0 cairn resume
says 'nothing to do' 'and that is all'

# What a task is skipped for: soft needs do not count.
cat >ends.yaml <<'END'
name: ends
params: {go: "no"}
on_failure: continue
tasks:
  bad: {run: exit 1}
  skipped: {needs: bad, run: 'true'}
  left: {run: 'true', if: params.go == 'yes'}
  some: {foreach: {n: [1, 2]}, run: 'true', if: n == 1}
  none: {foreach: {n: [1, 2]}, run: 'true', if: n == 3}
  a: {needs: [{task: skipped, soft: true}], run: 'echo a >>elog'}
  b: {needs: [{task: left, soft: true}], run: 'echo b >>elog'}
  c: {needs: [{task: some, soft: true}], run: 'echo c >>elog'}
  d: {needs: [{task: none, soft: true}], run: 'echo d >>elog'}
  e: {needs: [{task: 'none[n=1]', soft: true, order: true}], run: 'echo e >>elog'}
  f: {needs: [{task: none, soft: true}, bad], run: 'echo f >>elog'}
END
exits 1 cairn run ends.yaml
is "$(sort elog | tr '\n' ' ')" 'a b c d e ' 'whatever it ended as'
exits 0 cairn explain f
says 'cause: bad' 'only the plain need is blamed'

# Adding or removing `soft` and `may_fail` runs nothing that has completed.
sed 's/  a: .*/  a: {needs: [{task: skipped, soft: false}], run: "echo a >>elog"}/; s/bad: {run: exit 1}/bad: {run: exit 1, may_fail: true}/' ends.yaml >edited.yaml
mv edited.yaml ends.yaml
: >elog
is "$(planned ends.yaml)" '' 'the failure counts no more, and a is skipped'
exits 0 cairn run ends.yaml
is "$(cat elog)" '' 'nothing runs'

# Killed while the task that may fail runs, and after it.
cat >kill.yaml <<'END'
name: kill
jobs: 1
tasks:
  flaky: {run: 'echo flaky >>klog; touch at; while [ ! -e go ]; do sleep 0.02; done; exit 4', may_fail: true}
  soft: {needs: [{task: flaky, soft: true}], run: 'echo soft >>klog; touch at2; while [ ! -e go2 ]; do sleep 0.02; done'}
  after: {needs: soft, run: 'echo after >>klog'}
END
killed_at at cairn run kill.yaml
is "$(planned kill.yaml)" 'flaky soft after' 'the interrupted one runs again'
rm at && touch go
killed_at at2 cairn resume
is "$(planned kill.yaml)" 'soft after' 'its failure was recorded, and stays'
touch go2
exits 0 cairn resume
is "$(tr '\n' ' ' <klog)" 'flaky flaky soft soft after ' 'each ran as often as it had to'

# External tasks and retries; a handler beside it.
cat >more.yaml <<'END'
name: more
tasks:
  ask: {external: decide, may_fail: true}
  soft: {needs: [{task: ask, soft: true}], run: 'echo soft >>mlog'}
  tries: {run: 'echo try >>mlog; exit 1', retries: 1, may_fail: true}
  handle: {needs: tries, when: failed, run: 'echo handler >>mlog'}
END
exits 7 cairn run more.yaml --no-wait
exits 0 cairn fail more.yaml ask --message 'not today'
exits 0 cairn resume more.yaml
is "$(sort mlog | tr '\n' ' ')" 'handler soft try try ' 'an external one, too; retries and handlers are as ever'

# A list that a task makes.
cat >list.yaml <<'END'
name: list
on_failure: continue
tasks:
  split: {run: 'exit 1', may_fail: true}
  convert: {foreach: {n: {from: split, value: l}}, run: 'true'}
  join: {needs: [{task: convert, soft: true}], run: 'echo join >>llog'}
END
exits 0 cairn run list.yaml
is "$(cat llog)" join 'without its list the group is skipped, and the join runs'

# Refused.
while IFS='|' read -r text meant; do
    printf 'name: bad\ntasks:\n  a: {run: x}\n  b: {run: x, %s}\n' "$text" >bad.yaml
    exits 3 cairn validate bad.yaml
    says "$meant" "$text: $meant"
done <<'END'
needs: [{task: a, soft: true}], when: always|a soft need is for a task that runs after success
needs: [{task: a, soft: true}], when: failed|a soft need is for a task that runs after success
needs: [{task: a, soft: yes}]|`soft` must be true or false
needs: [{task: a, optional: true}]|did you mean `soft`?
needs: [{soft: true}]|a need is a task, or {task: NAME
may_fail: yes|`may_fail` must be true or false
allow_failure: true|write `may_fail: true`
continue-on-error: true|write `may_fail: true`
END
done_testing
