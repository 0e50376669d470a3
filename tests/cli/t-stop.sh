# Stopping: Ctrl-C, TERM, cancel; exit 7; what was stopped runs again.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END'
name: stopping
jobs: 1
tasks:
  a: {run: "echo a >>ran"}
  b: {run: "touch at-b; while [ -e hold ]; do sleep 0.02; done; echo b >>ran", needs: [a]}
  c: {run: "echo c >>ran", needs: [b]}
END
start() { # in the background, with signals as a shell with job control gives them
    rm -f at-b
    touch hold
    : >ran
    env --default-signal=INT,QUIT cairn run --fresh flow.yaml >run.out 2>run.err &
    pid=$!
    ok "$1: the run gets to b" wait_for 20 test -e at-b
}
ended() {
    wait $pid
    status=$?
    cp run.out out
    cp run.err err
    tap_last='cairn run --fresh flow.yaml'
}

start SIGTERM
kill -TERM $pid
ended
is "$status" 7 'SIGTERM: stopped with work left'
says 'cairn resume 1' 'the message says how to continue'
exits 0 cairn explain b
says 'will run'
rm -f hold
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'a b c ' 'what was stopped ran again, the rest did not'

start SIGINT
kill -INT $pid
ended
is "$status" 7 'Ctrl-C: stopped with work left'

start cancel
exits 0 cairn cancel
ended
is "$status" 7 'cairn cancel: stopped with work left'
exits 0 cairn status
matches 'cancelled' 'and marked so'
rm -f hold
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'a b c ' 'a cancelled run continues'
exits 0 cairn status --json
is "$(json_get .state)" completed 'to its end'

# Signals that mean nothing to cairn do not end it.
start SIGUSR1
kill -USR1 $pid
kill -USR2 $pid
rm -f hold
ended
is "$status" 0 'SIGUSR1 and SIGUSR2 are ignored'

# A task that does not heed TERM: the second signal kills.
cat >stubborn.yaml <<'END'
name: stubborn
defaults: {timeout: {after: 10m, grace: 5m}}
tasks:
  a: {run: "trap '' TERM; touch at-a; while :; do sleep 0.02; done"}
END
env --default-signal=INT,QUIT cairn run stubborn.yaml >run.out 2>run.err &
pid=$!
ok 'a stubborn task runs' wait_for 20 test -e at-a
kill -INT $pid
sleep 0.3
kill -INT $pid
ended
is "$status" 7 'the second signal ends it at once'

# A run that nobody owns.
start unowned
kill -9 $pid
ended
exits 0 cairn cancel
exits 0 cairn status
matches 'cancelled' 'a run that nobody owns is marked cancelled'
rm -f hold

# watch follows a live run to its end.
start watch
cairn watch >watch.out 2>&1 &
watcher=$!
rm -f hold
ended
is "$status" 0 'the watched run ends'
wait $watcher
is "$?" 0 'and so does watch, with its exit status'

# `on_failure: cancel`: a failure ends the other tasks.
cat >siblings.yaml <<'END'
name: siblings
on_failure: cancel
jobs: 9
tasks:
  bad: {run: 'until [ -e at-a ] && [ -e at-c ] && [ -e at-once ] && [ -e at-handler ]; do sleep 0.02; done; rm -f at-*; exit 1'}
  fine: {run: 'touch at-handler', may_fail: true}
  a: {run: 'touch at-a; while [ ! -e go ]; do sleep 0.02; done; echo a >>slog', timeout: {after: 10m, grace: 50ms}}
  b: {needs: a, run: 'echo b >>slog'}
  c: {run: "trap '' TERM; touch at-c; while [ ! -e go ]; do sleep 0.02; done; echo c >>slog", timeout: {after: 10m, grace: 50ms}}
  retried: {run: 'exit 1', retries: {max: 1, delay: 1h}, may_fail: true}
  once: {once: true, run: 'touch at-once; sleep 0.5; echo once >>slog'}
  handler: {needs: fine, when: always, run: 'sleep 0.5; echo handler >>slog'}
finally:
  last: {run: 'echo "$CAIRN_RUN_STATUS" >>slog'}
END
rm -f slog go at-*
exits 1 cairn run siblings.yaml
is "$(sort slog | tr '\n' ' ')" 'failed handler once ' 'what runs is ended, but for what must not run twice, and handlers'
says 'bad failed: ending 2 other tasks (`on_failure: cancel`)' 'which is told'
says '2 cancelled' 'they are cancelled'
exits 0 cairn events
says 'a: cancelled' 'and the events say so'
touch go
sed -i 's/bad: .*/bad: {run: "true"}/; s/delay: 1h/delay: 1ms/' siblings.yaml
: >slog
exits 0 cairn resume siblings.yaml
is "$(sort slog | tr '\n' ' ')" 'a b c completed ' 'and the resumed run completes'

done_testing
