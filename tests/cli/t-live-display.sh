# What `cairn run` shows while it works: on a terminal the live block, off it a sign of life;
# and how it ends.
. "$TESTS/cli/tap.sh"

# ---- Off a terminal ----

cat >slow.yaml <<'END2'
name: slow
jobs: 2
on_failure: continue
tasks:
  build: {run: 'echo one; printf "10 %%\r90 %%"; until test -e go; do sleep 0.05; done; test -e good'}
  other: {run: 'until test -e go; do sleep 0.05; done'}
  more: {foreach: {n: {range: [1, 12]}}, run: 'test -e good'}
END2
cairn run slow.yaml --heartbeat 500ms >out 2>err </dev/null &
pid=$!
ok 'it tells what runs, and its last line' wait_for 20 grep -qE '^running build +[0-9.]+s +90 %$' err
ok 'also what writes nothing' grep -qE '^running other +[0-9.]+s$' err
touch go
wait $pid
is $? 1 'the run ends'
is "$(grep -c "$(printf '\033')" err)" 0 'without sequences of a terminal'
is "$(grep -c '^failed: ' err)" 1 'what has failed is named at the end'
matches '^failed: .* and 3 more; see: cairn log --failed --run 1$' 'ten of them, and how many more'
matches '^run 1 failed: 1 completed, 13 failed in [0-9.]+s; resume with: cairn resume 1$' 'and how long it took'
exits 0 cairn log --failed --run 1
exits 1 cairn run slow.yaml --fresh --heartbeat 0s -q
is "$(grep -c '^failed: ' err)" 0 '-q: no summary of failures'
exits 2 cairn run slow.yaml --heartbeat never
rm go
touch good
cairn run slow.yaml --fresh --heartbeat 0s >out 2>err </dev/null &
pid=$!
begun() { cairn log build 2>/dev/null | grep -q one; }
wait_for 20 begun
sleep 1
touch go
wait $pid
is "$(grep -c '^running' err)" 0 '0s: nothing is told'

# ---- watch ends like run ----

rm -f good
exits 1 cairn run slow.yaml --fresh
exits 1 cairn watch
matches '^failed: build, more\[n=1\]' 'watch names what has failed'
matches '^run [0-9]+ failed: 1 of 14 completed, 13 failed in [0-9.]+s; resume with: cairn resume [0-9]+$'

# ---- On a terminal ----

command -v script >/dev/null || { done_testing; exit; }
on_terminal() { # COMMAND: on a terminal of its own; what it shows, with its sequences
    SHELL=/bin/sh TERM=xterm timeout -k 5 60 script -qec "$1" /dev/null >raw 2>&1 </dev/null
    status=$?
    tr -d '\r' <raw >out
    : >err
    tap_last=$1
}
cat >live.yaml <<'END2'
name: live
jobs: 30
tasks:
  t: {foreach: {n: {range: [1, 20]}}, run: 'echo "at work on $n"; until test -e go; do sleep 0.05; done'}
  flaky: {run: 'sleep 0.2; test $CAIRN_ATTEMPT = 2', retries: {max: 1, delay: 2s}}
  person: {external: 'Look at it'}
  done: {needs: flaky, run: 'touch go'}
END2
mkdir live
cd live || exit 1
cp ../live.yaml .
on_terminal 'stty rows 12 cols 60; exec cairn run live.yaml --no-wait'
cd ..
mv live/out live/raw .
matches '^\[ *[0-9]+/23\] [0-9]+ running$' 'the first line; where somebody is waited for no time is guessed'
matches '^  t\[n=([0-9]+)\] +[0-9.]+s  at work on \1$' 'what runs, since when, its last line'
matches '^  and [0-9]+ more$' 'and how many more'
matches '^  flaky +[12]s  until attempt 2$' 'a retry counts down'
says '  person waits: Look at it' 'who is waited for'
matches '^    cairn complete [0-9]+ person$' 'and what to type then'
says "$(printf '\033')[10A" 'the block is as high as the terminal lets it be'
matches 'ok.* t\[n=20\]  [0-9.]+s$' 'what has finished stands above'

cat >stop.yaml <<'END2'
name: stop
jobs: 2
tasks:
  bad: {run: 'sleep 0.3; exit 1'}
  long: {run: 'sleep 1.5'}
  never: {needs: long, run: 'true'}
finally:
  last: {run: 'true'}
END2
on_terminal 'stty rows 12 cols 60; exec cairn run stop.yaml'
says '[1 done, 2 left] nothing new starts: bad failed' 'after a failure: what will still run'
done_testing
