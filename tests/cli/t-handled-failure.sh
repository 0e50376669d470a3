# shellcheck shell=sh disable=SC2016
# A failure that was handled stands as long as what the task read is as it was.
. "${TESTS:?}/cli/tap.sh"

write() { # MORE-OF-PARSE
    cat >w.yaml <<END
name: w
tasks:
  parse: {run: 'grep -q good in', inputs: in$1}
  fallback: {needs: parse, when: failed, run: 'echo fallback >res'}
  use: {needs: parse, run: 'echo parsed >res'}
END
}
for more in '' ', retries: {max: 1, delay: 10ms}' ', check: "true"'; do
    write "$more"
    rm -rf .cairn
    echo bad >in
    exits 0 cairn run w.yaml
    is "$(cat res)" fallback 'the failure is handled'
    says 'failed and handled: parse; see: cairn log --failed' 'the end says so'
    matches 'completed: 1 completed, 1 failed and handled, 1 skipped in'
    exits 0 cairn status
    matches '^tasks +3: 1 completed, 1 failed and handled, 1 skipped$' 'and status'
    matches '^failed and handled:$'
    exits 0 cairn watch
    says 'failed and handled: parse; see: cairn log --failed' 'and watch'
    matches 'completed, 1 failed and handled'
    touch in
    exits 0 cairn resume
    says 'nothing to do' 'and stands while the input is the same'
    exits 0 cairn checkpoint verify
    echo good >in
    exits 0 cairn plan
    matches 'run +parse +the content of its input in differs' 'else it runs again'
    exits 0 cairn resume
    is "$(cat res)" parsed 'and the run ends as a fresh one does'
    exits 0 cairn resume
    says 'nothing to do' 'then it is at rest'
done

# It could not even start, because an input was missing, or cannot be read; what lies
# beside that one is of no account.
cat >m.yaml <<'END'
name: m
tasks:
  parse: {run: 'cp -r in2 parsed', inputs: [in1, in2, in3], outputs: parsed, retries: {max: 1, delay: 10ms}}
  fallback: {needs: parse, when: failed, run: 'echo fallback >>log'}
  use: {needs: [parse, fallback], when: always, if: "tasks.parse.status == 'completed'", run: 'echo parsed >>log'}
END
for kind in file directory loop; do
    rm -rf .cairn in? parsed log
    echo 1 >in1
    [ $kind != loop ] || ln -s in2 in2
    exits 0 cairn run m.yaml
    is "$(cat log)" fallback "$kind: the failure is handled"
    exits 0 cairn resume
    says 'nothing to do' 'and stands while the input cannot be read'
    echo 2 >in1
    exits 0 cairn resume
    says 'nothing to do' 'whatever else has changed'
    exits 0 cairn checkpoint verify
    rm -f in2
    if [ $kind = directory ]; then
        mkdir in2
        : >in2/file
    else
        : >in2
    fi
    exits 0 cairn plan
    matches 'run +parse +the content of its input in2 differs' "$kind: else it is tried again"
    exits 0 cairn resume
    is "$(tr '\n' ' ' <log)" 'fallback fallback ' "$kind: now the next one is missing"
    exits 0 cairn resume
    says 'nothing to do' 'which stands as well'
    echo 3 >in3
    exits 0 cairn resume
    is "$(tail -n 1 log)" parsed "$kind: and at last the run ends as a fresh one does"
    exits 0 cairn resume
    says 'nothing to do' 'then it is at rest'
done

# Its check fails, and a secret that it used is another one.
cat >s.yaml <<'END'
name: s
secrets: [TOKEN]
tasks:
  call: {run: 'test "$TOKEN" = right-one', secrets: [TOKEN]}
  fallback: {needs: call, when: failed, run: 'echo fallback >res'}
  use: {needs: call, run: 'echo called >res'}
END
rm -rf .cairn
export TOKEN=wrong-one
exits 0 cairn run s.yaml
exits 0 cairn resume
says 'nothing to do' 'with the same secret it stands'
export TOKEN=right-one
exits 0 cairn resume
is "$(cat res)" called 'with another one it runs again'

# One of `finally` runs again if some other task does, as one that completed.
cat >f.yaml <<'END'
name: f
tasks:
  x: {run: 'echo x >>log; touch tmp', inputs: in}
  y: {needs: x, run: 'echo y >>log; test -e good'}
finally:
  clean: {run: 'echo clean >>log; test -e ok && rm -f tmp'}
  fallback: {needs: clean, when: failed, run: 'echo fallback >>log'}
END
for what in change failure; do
    rm -rf .cairn log ok good
    echo 1 >in
    [ $what = failure ] || touch good
    cairn run f.yaml >out 2>err
    exits 0 cairn checkpoint verify
    is "$(tr '\n' ' ' <log)" 'x y clean fallback ' "$what: the failure of the cleaning is handled"
    touch ok good
    [ $what = failure ] || echo 2 >in
    exits 0 cairn plan
    matches 'run +clean' 'plan says that it runs again'
    exits 0 cairn resume
    is "$(tail -n 1 log)" clean "$what: it runs again after the others"
    ok 'and does its work' test ! -e tmp
    exits 0 cairn resume
    says 'nothing to do' 'then it is at rest'
done

# Its keeper is killed, and the task with it.
cat >k.yaml <<'END'
name: k
on_crash: adopt
tasks:
  parse: {run: 'grep -q good in && exit; kill -9 $PPID; sleep 60', inputs: in}
  fallback: {needs: parse, when: failed, run: 'echo fallback >res'}
  use: {needs: parse, run: 'echo parsed >res'}
END
rm -rf .cairn
echo bad >in
exits 0 cairn run k.yaml
is "$(cat res)" fallback 'the failure is handled'
exits 0 cairn resume
says 'nothing to do' 'and stands while the input is the same'
echo good >in
exits 0 cairn resume
is "$(cat res)" parsed 'else it is tried again'
done_testing
