# One log of a task: both streams in the order in which they were written; apart only where
# the task asks for it.
. "$TESTS/cli/tap.sh"

mixed='for i in 1 2 3; do echo out $i; echo err $i >&2; done'
as_written='out 1
err 1
out 2
err 2
out 3
err 3'
cat >flow.yaml <<END
name: flow
on_failure: continue
tasks:
  mix: {run: '$mixed; test ! -e fails'}
  words: {exec: [sh, -c, "$mixed"]}
  tool: {run: 'sh -c "echo child; echo its trouble >&2"; echo own >&2; echo end'}
  apart: {stderr: apart, run: '$mixed'}
  silent: {run: 'true'}
  judged: {run: 'echo made; echo note >&2', check: 'echo trouble >&2; echo "{\"confidence\": 0.9}"'}
  wrong: {needs: judged, run: 'echo made', check: 'echo "a reason" >&2; echo "{\"confidence\": 0.1}"', undo: 'echo undo; echo of it >&2'}
END
exits 1 cairn run flow.yaml
says 'its check failed: the confidence of its check is 10 %' 'a check answers on its stdout alone'
for task in mix words; do
    exits 0 cairn log $task
    is "$(cat out)" "$as_written" "$task: as it was written"
    silent_on err
done
exits 0 cairn log tool
is "$(cat out)" 'child
its trouble
own
end' 'children write to the same log'
exits 0 cairn log mix --json
is "$(json_get .merged) $(json_get .log.text)" "true out 1\\nerr 1\\nout 2\\nerr 2\\nout 3\\nerr 3\\n" 'the same in JSON'
is "$(grep -c '"stdout"' out)" 0 'where there is no stdout'
for stream in stdout stderr; do
    exits 2 cairn log mix --$stream
    says 'mix has one log of stdout and stderr'
    says 'stderr: apart' 'and how to keep them apart'
    exits 2 cairn log silent --$stream
    exits 2 cairn log mix --$stream --json
    json_ok 'an error as JSON'
done
exits 0 cairn log mix apart --stderr
is "$(grep -c '^err' err) $(grep -c 'mix has one log' err)" '3 1' 'of several: what there is'
exits 0 cairn log --all --stderr --follow
is "$(grep -c '^apart | err' out) $(grep -c '^mix' out) $(grep -c 'mix has one log' err)" '3 0 1' 'also with --follow'

# ---- Apart ----

exits 0 cairn log apart
is "$(cat out)" 'out 1
out 2
out 3' 'stdout'
is "$(cat err)" 'err 1
err 2
err 3' 'and stderr'
exits 0 cairn log apart --stderr
silent_on out
exits 0 cairn log apart --json
is "$(json_get .merged) $(json_get .stdout.text) $(json_get .stderr.text)" \
    'false out 1\nout 2\nout 3\n err 1\nerr 2\nerr 3\n' 'in JSON'
exits 0 cairn log silent
says 'silent, attempt 1, wrote nothing'

# ---- Checks ----

exits 0 cairn log judged
is "$(cat out)" 'made
note
--- its check:
{"confidence": 0.9}
trouble' 'what a check wrote is behind what its task wrote'
exits 0 cairn log --json
is "$(json_get '.failed_tasks[0].attempts[0].merged') $(json_get '.failed_tasks[0].attempts[0].log_bytes')" \
    'true 49' 'how much was written'

# ---- Undo ----

cat >undo.yaml <<'END'
name: undo
tasks:
  made: {run: 'true', undo: 'echo undo; echo of it >&2; echo done'}
  apart: {stderr: apart, run: 'true', undo: 'echo undo; echo of it >&2; echo done', needs: made}
END
exits 0 cairn run undo.yaml
exits 0 cairn undo 2
exits 0 cairn log made --attempt 2
is "$(cat out)" 'undo
of it
done' 'an undo has one log, too'
exits 0 cairn log apart --attempt 2 --stderr
is "$(cat err)" 'of it' 'unless its task keeps them apart'

# ---- It is no change of the task ----

rm -rf .cairn
cat >edit.yaml <<END
name: edit
tasks:
  a: {run: '$mixed'}
  b: {needs: a, run: 'test -e go'}
END
exits 1 cairn run edit.yaml
sed "s/{run: 'for/{stderr: apart, run: 'for/" edit.yaml >x && mv x edit.yaml
is "$(grep -c apart edit.yaml)" 1 'it is edited'
touch go
is "$(planned)" 'b' 'what has run does not run again for it'
exits 0 cairn resume
exits 0 cairn log a
is "$(cat out)" "$as_written" 'and its log stays as it was'
exits 0 cairn run edit.yaml --fresh
exits 0 cairn log a
is "$(cat err)" 'err 1
err 2
err 3' 'in the next run it is apart'
sed 's/stderr: apart/stderr: both/' edit.yaml >bad.yaml
exits 3 cairn validate bad.yaml
says 'merged'
printf 'name: e\ntasks: {a: {external: do it, stderr: apart}}\n' >bad.yaml
exits 3 cairn validate bad.yaml
says 'has no meaning for task `a`'

# A log that is opened anew by its name is emptied: that is told.
for text in 'echo a >/dev/stderr' 'echo a 1> /dev/stdout' 'echo a >>/dev/stderr; echo b &>/dev/stderr'; do
    printf 'name: e\ntasks: {a: {run: "%s"}}\n' "$text" >warned.yaml
    exits 0 cairn validate warned.yaml
    says 'write `>&2`' "$text"
done
for text in 'echo a >&2' 'echo a >>/dev/stderr' "awk '{ print >\\\"/dev/stderr\\\" }'" 'tee /dev/stderr'; do
    printf 'name: e\ntasks: {a: {run: "%s"}}\n' "$text" >warned.yaml
    exits 0 cairn validate warned.yaml
    is "$(cat out err | grep -c '>&2')" 0 "$text: no warning"
done

# ---- While it runs, and after a kill ----

for crash in kill adopt; do
    rm -rf .cairn go begun
    cat >slow.yaml <<END
name: slow
on_crash: $crash
jobs: 1
tasks:
  before: {stderr: apart, run: 'echo of before; echo trouble of before >&2'}
  slow: {needs: before, run: '$mixed; touch begun; until test -e go; do sleep 0.02; done; echo last >&2'}
END
    cairn run slow.yaml >run.out 2>&1 &
    pid=$!
    ok 'it runs' wait_for 20 test -e begun
    exits 0 cairn log slow
    is "$(cat out)" "$as_written" "$crash: while it runs"
    silent_on err
    exits 2 cairn log slow --stderr
    kill -9 $pid
    wait $pid 2>/dev/null
    exits 0 cairn log slow
    is "$(cat out)" "$as_written" "$crash: after kill -9"
    touch go
    exits 0 cairn resume
    exits 0 cairn log slow --attempt 1
    if [ $crash = adopt ]; then
        is "$(cat out)" "$as_written
last" 'adopt: it went on in the same log'
    else
        is "$(cat out)" "$as_written" 'kill: what was interrupted is kept'
    fi
    exits 0 cairn log slow --attempt 1 --json
    is "$(json_get .merged)" true "$crash: as one log"
    exits 0 cairn log before --stderr
    is "$(cat err)" 'trouble of before' 'the one before it has two'
done

# ---- Secrets: one pipe, the same order ----

cat >secret.yaml <<END
name: secret
secrets: [TOKEN]
tasks:
  mix: {secrets: [TOKEN], run: 'for i in 1 2 3; do echo out \$TOKEN; echo err \$TOKEN >&2; done'}
  apart: {secrets: [TOKEN], stderr: apart, run: 'echo out \$TOKEN; echo err \$TOKEN >&2'}
END
TOKEN=very-secret-value exits 0 cairn run secret.yaml
exits 0 cairn log mix
is "$(cat out)" 'out [REDACTED]
err [REDACTED]
out [REDACTED]
err [REDACTED]
out [REDACTED]
err [REDACTED]' 'without its secrets'
exits 0 cairn log apart --stderr
is "$(cat err)" 'err [REDACTED]' 'also apart'

# ---- Long output: head and tail of the one log ----

cat >long.yaml <<'END'
name: long
tasks:
  long: {run: 'echo first >&2; seq 1 20000; echo last >&2'}
END
exits 0 cairn run long.yaml --output-limit 1K
exits 0 cairn log long
is "$(head -n 1 out) $(tail -n 1 out)" 'first last' 'head and tail of both'
says 'of the log are missing here'

done_testing
