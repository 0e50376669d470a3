# An exit code that says that there was nothing to do.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"

ran() { # what the tasks wrote, on one line; and begins anew
    tr '\n' ' ' <log
    : >log
}

echo one >in
cat >w.yaml <<'END'
name: w
jobs: 1
on_failure: continue
tasks:
  first: {run: 'echo first >>log'}
  a: {needs: first, run: 'echo a >>log; echo v=1 >>"$CAIRN_OUTPUT"; exit 77', skip_exit: 77, inputs: in, check: 'echo checked >>log', outputs: never, retries: 2}
  hard: {needs: a, run: 'echo hard >>log'}
  soft: {needs: [{task: a, soft: true}], env: {S: '${{ tasks.a.status }} ${{ default(tasks.a.outputs.v, 0) }}'}, run: 'echo soft $S >>log'}
  failed: {needs: a, when: failed, run: 'echo failed >>log'}
  always: {needs: a, when: always, run: 'echo always >>log'}
  g: {foreach: {n: [1, 2, 3]}, run: 'test $n != 2 || exit 77', skip_exit: 77}
  join: {needs: g, run: 'echo join >>log'}
  all: {needs: g, needs_all: true, run: 'echo all >>log'}
  none: {foreach: {n: [1, 2]}, run: exit 77, skip_exit: 77}
  joined: {needs: none, run: 'echo joined >>log'}
  bad: {run: 'exit 1'}
finally:
  last: {run: 'echo last >>log; exit 77', skip_exit: 77}
END
exits 0 cairn plan w.yaml
says 'may   hard' 'what needs it may run'
says 'if a, which it needs, has something to do' 'and the plan says when'
exits 1 cairn run w.yaml
is "$(sed '/^first/d' log | sort | tr '\n' ' ')" 'a always join last soft skipped 0 ' \
    'it is no failure, no success, not tried again; a group does without'
: >log
says 'skipped a: exit code 77 says that there was nothing to do' 'the run tells'
says 'skipped hard (a had nothing to do)' 'and why others do not run'
is "$(task_state a) $(task_state hard) $(task_state 'g[n=2]') $(task_state joined)" 'skipped skipped skipped skipped' 'states'
exits 0 cairn status --tasks
says 'exit code 77 says' 'status tells'
exits 0 cairn explain a
says 'it ended with its `skip_exit`: there was nothing to do' 'so does explain'
exits 0 cairn explain hard
says 'a, which it needs, had nothing to do' 'of what comes after it, too'
exits 0 cairn events
says 'a: skipped (attempt 1) (exit 77): exit code 77 says' 'and the events'
exits 0 cairn log a
says 'attempt 1: exit code 77 says' 'the log has nothing else'

# It stays so.
is "$(planned w.yaml)" 'bad last' 'only the failure is tried again'
exits 1 cairn resume
is "$(ran)" 'last ' 'finally belongs to each end'
sed -i "s/bad: .*/bad: {run: 'true'}/" w.yaml
exits 0 cairn resume w.yaml
is "$(ran)" 'last ' 'the run completes'

# Until what it reads, or is, or needs, is another.
sed -i "s/bad: .*/bad: {run: 'exit 2'}/" w.yaml
exits 1 cairn run w.yaml --fresh
: >log
echo two >in
is "$(planned w.yaml)" 'a soft always bad last' 'another input'
exits 0 cairn explain a
says 'its input in differs' 'is named'
exits 1 cairn resume
is "$(ran)" 'a soft skipped 0 always last ' 'and runs it again'
is "$(planned w.yaml)" 'bad last' 'once'
exits 0 cairn plan --rerun first
says 'run   a ' 'a need that runs again'
exits 0 cairn plan --rerun a
says 'run   a ' 'or the wish'
sed -i 's/first >>log/first >>log;/' w.yaml
exits 1 cairn resume w.yaml
is "$(ran)" 'first a soft skipped 0 always last ' 'the need runs again, and it does'
sed -i 's/skip_exit: 77, inputs/skip_exit: 78, inputs/' w.yaml
exits 0 cairn explain a w.yaml
says 'skip_exit changed' 'another code is an edit'
exits 1 cairn resume w.yaml
is "$(task_state a)" failed 'and 77 a failure then'
is "$(ran | tr ' ' '\n' | sort -u | tr '\n' ' ')" '0 a always failed last soft ' 'which is handled'
sed -i 's/exit 77/exit 78/' w.yaml
exits 1 cairn resume w.yaml
is "$(task_state a)" skipped 'the code of now'

# Killed while it runs and after it; under a keeper, too.
for crash in kill adopt; do
    rm -f klog at go at2 go2
    cat >kill.yaml <<END
name: kill-$crash
on_crash: $crash
jobs: 1
tasks:
  a: {run: 'echo a >>klog; touch at; while [ ! -e go ]; do sleep 0.02; done; exit 9', skip_exit: 9}
  soft: {needs: [{task: a, soft: true}], run: 'echo soft >>klog; touch at2; while [ ! -e go2 ]; do sleep 0.02; done'}
  hard: {needs: a, run: 'echo hard >>klog'}
END
    killed_at at cairn run kill.yaml
    touch go
    killed_at at2 cairn resume kill.yaml
    is "$(cairn plan kill.yaml 2>/dev/null | awk '{ print $2 }')" soft "$crash: its skip was recorded"
    touch go2
    exits 0 cairn resume kill.yaml
    if [ $crash = kill ]; then ran='a a soft soft '; else ran='a soft '; fi
    is "$(tr '\n' ' ' <klog)" "$ran" "$crash: each ran as often as it had to"
done

# What it has made before is stale then, and named.
cat >out.yaml <<'END'
name: out
on_failure: continue
tasks:
  a: {run: 'test "$(cat go3)" = yes || exit 9; echo x >made', inputs: go3, skip_exit: 9, outputs: made}
  b: {run: exit 1}
END
echo yes >go3
exits 1 cairn run out.yaml
echo no >go3
exits 1 cairn resume out.yaml
is "$(task_state a)" skipped 'it has nothing to do'
exits 0 cairn clean --stale --yes
ok 'what it has made is stale, and can be removed' test ! -e made

# Refused.
while IFS='|' read -r text meant; do
    printf 'name: bad\ntasks:\n  a: {%s}\n' "$text" >bad.yaml
    exits 3 cairn validate bad.yaml
    says "$meant" "$text: $meant"
done <<'END'
run: x, skip_exit: 0|`skip_exit` must lie between 1 and 255
run: x, skip_exit: [7]|`skip_exit` must be a whole number
run: x, skip_on_exit: 7|did you mean `skip_exit`?
external: x, skip_exit: 7|`skip_exit` has no meaning for task `a`
END
done_testing
