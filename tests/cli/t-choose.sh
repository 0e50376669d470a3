# Chosen tasks: run [FILE] TASK..., resume TASK, rerun, plan with the same words,
# --keep-going and --stop.
. "$TESTS/cli/tap.sh"

cat >cairn.yaml <<'END2'
name: chosen
tasks:
  fetch: {run: 'echo fetch >>log'}
  conv: {needs: fetch, foreach: {n: [1, 2]}, run: 'echo conv$n >>log'}
  lint: {run: 'echo lint >>log'}
  report: {needs: [conv, lint], run: 'echo report >>log'}
finally:
  clean: {run: 'echo clean >>log'}
END2
logged() {
    is "$(sort log | tr '\n' ' ')" "$1" "$2"
    : >log
}
mkdir lint
exits 0 cairn plan lint --fresh
is "$(cat out)" 'run   lint  it never ran' 'plan: only what was chosen'
exits 0 cairn run lint
says '1 of 6 tasks to run'
says "run 1: what was chosen is done: 1 completed, 5 not run"
says 'the rest with: cairn resume 1'
logged 'lint ' 'only that has run, and no finally'
exits 0 cairn status --json
is "$(json_get .state)" waiting 'the run is not finished'
exits 0 cairn plan 'conv[n=2]'
is "$(sort out)" 'run   conv[n=2]  it never ran
run   fetch      it never ran' 'plan: what it needs, too'
exits 0 cairn plan 'conv[n=2]' --all
says 'keep  report     it was not chosen, and nothing that was chosen needs it'
exits 0 cairn plan report --json
json_ok 'plan of a task --json'
is "$(json_get .will)" 5 'how many will run: nothing else is left, so finally, too'
exits 0 cairn run cairn.yaml 'conv[n=2]'
logged 'conv2 fetch ' 'a member'
exits 0 cairn resume 1 conv
logged 'conv1 ' 'a group, by resume'
exits 0 cairn run 'con*' 'lin?'
says '0 of 6 tasks to run' 'patterns; all of it is done'
logged '' 'nothing ran'
exits 0 cairn resume
logged 'clean report ' 'resume without words does the rest, and finally'
exits 0 cairn status --json
is "$(json_get .state)" completed 'now it is complete'

# ---- What is not there ----
exits 10 cairn run reprot
says 'did you mean report?'
exits 10 cairn run 'x*'
says 'there is no task or group x*'
exits 10 cairn plan cairn.yaml nothing
exits 10 cairn resume 1 nothing
exits 10 cairn rerun nothing
exits 2 cairn run clean
says 'belongs to `finally`'
exits 2 cairn rerun
exits 2 cairn run --keep-going --stop
exits 2 cairn plan --rerun
exits 2 cairn plan lint --only
exits 2 cairn plan cairn.yaml lint --rerun

# ---- rerun ----
exits 0 cairn plan --rerun fetch
is "$(sort out)" 'run   clean      fetch runs again, and it runs after that
run   conv[n=1]  fetch, which it needs, runs again
run   conv[n=2]  fetch, which it needs, runs again
run   fetch      it was asked to run again
run   report     conv, which it needs, runs again' 'plan --rerun'
exits 0 cairn plan --rerun fetch --only
is "$(cat out)" 'run   fetch  it was asked to run again' 'plan --rerun --only'
exits 0 cairn rerun conv
says '  conv[n=1]: it was asked to run again' 'rerun says first what will run'
logged 'clean conv1 conv2 report ' 'and what comes after it'
exits 0 cairn rerun lint --only
says 'the rest with: cairn resume 1'
logged 'lint ' 'only that'
exits 0 cairn plan
says 'run   report  it has run before, and is to run again' 'what comes after it waits'
exits 0 cairn resume
logged 'clean report ' 'for resume'
exits 0 cairn rerun 'conv[n=1]' --json
json_ok 'rerun --json'
logged 'clean conv1 report ' 'a member'
exits 0 cairn events 1
says 'is to run again (asked)' 'the log says why'

# ---- A kill in the middle of a rerun: it continues ----
cat >slow.yaml <<'END2'
name: slow
tasks:
  a: {run: 'echo a >>log; if test -e hold; then touch held; sleep 60; fi'}
  b: {needs: a, run: 'echo b >>log'}
END2
exits 0 cairn run slow.yaml
logged 'a b ' 'both'
touch hold
cairn rerun a >rerun.out 2>&1 &
pid=$!
ok 'it runs' wait_for 20 test -e held
kill -9 $pid
wait $pid 2>/dev/null
rm hold
: >log
exits 0 cairn resume
logged 'a b ' 'what was asked to run again does so after a kill'

# ---- Failures ----
cat >fails.yaml <<'END2'
name: fails
on_failure: stop
jobs: 1
tasks:
  bad: {run: 'exit 3', priority: 9}
  good: {run: 'echo good >>log'}
  other: {run: 'echo other >>log'}
END2
exits 1 cairn run fails.yaml --fresh
logged '' 'the file says: stop'
exits 1 cairn run fails.yaml --fresh -k
logged 'good other ' '--keep-going'
exits 1 cairn run fails.yaml --fresh bad
logged '' 'a chosen task that fails'
exits 0 cairn run fails.yaml good
logged 'good ' 'one that failed before, and is not chosen, stops nothing'
sed -i 's/on_failure: stop/on_failure: continue/' fails.yaml
exits 0 cairn plan fails.yaml --fresh --stop
exits 1 cairn run fails.yaml --fresh --stop
logged '' '--stop'
exits 1 cairn run fails.yaml --fresh --keep-going good bad
logged 'good ' 'both together'

# Handlers and external tasks that were not chosen.
cat >more.yaml <<'END2'
name: more
tasks:
  a: {run: 'exit 1'}
  h: {needs: a, when: failed, run: 'echo h >>log'}
  x: {external: Do it}
  y: {needs: x, run: 'echo y >>log'}
  z: {run: 'echo z >>log'}
END2
exits 1 cairn run more.yaml a
logged '' 'a handler that was not chosen does not run'
exits 0 cairn run more.yaml --fresh z
logged 'z ' 'an external task that was not chosen is not waited for'
exits 7 cairn run more.yaml y --no-wait
says '1 external task can be done now'
exits 0 cairn run fails.yaml --no-checkpoint good
logged 'good ' 'without a store'

# ---- What must not run twice says so when it was to run again for a while ----
cat >once.yaml <<'END2'
name: once
tasks:
  a: {run: 'echo a >>log'}
  pay: {needs: a, run: 'echo pay >>log', once: true}
  never: {needs: a, run: 'test ! -e bad', once: true}
END2
touch bad
exits 1 cairn run once.yaml
rm bad
exits 0 cairn rerun a --only
exits 0 cairn plan
is "$(planned)" never 'the plan does not say that it will run'
exits 8 cairn resume
says 'decide: cairn resolve' 'it is asked about'
exits 0 cairn explain pay
says 'it ran before, and must not run twice; decide' 'explain says why'
exits 0 cairn resolve 10 pay 'done'
exits 0 cairn resume
exits 0 cairn rerun never --only
exits 0 cairn resume
ok 'said once' test "$(grep -c 'must not run twice' err)" = 0

# ---- What a kept attempt did does not stand for a run that is asked for ----
cat >kept.yaml <<'END2'
name: kept
on_crash: adopt
tasks:
  a: {run: 'echo a >>log; touch held; until test -e go; do sleep 0.05; done; touch ended'}
  b: {needs: a, run: 'echo b >>log'}
END2
rm -f held
: >log
cairn run kept.yaml >kept.out 2>&1 &
pid=$!
ok 'it runs' wait_for 20 test -e held
kill -9 $pid
wait $pid 2>/dev/null
touch go
ok 'and ends without cairn' wait_for 20 test -e ended
exits 0 cairn plan --rerun a
says 'run   a  it was asked to run again'
exits 0 cairn rerun a
logged 'a a b ' 'it runs again'

# ---- A live run ----
sed 's/kept/alive/; /on_crash/d' kept.yaml >alive.yaml
rm -f held go ended
cairn run alive.yaml >alive.out 2>&1 &
pid=$!
ok 'it runs' wait_for 20 test -e held
exits 6 cairn rerun a
matches 'run [0-9]+ is running .process [0-9]+ on .*: its tasks can run again when it has ended; watch it with `cairn watch' 'rerun says why not'
is "$(grep -c 'will run' err)" 0 'and plans nothing'
touch alive.yaml
exits 6 cairn resume
is "$(grep -c 'will run\|interrupted' err)" 0 'nor does resume'
touch go
wait $pid
: >log
exits 0 cairn rerun a
logged 'a b ' 'and when it has ended it runs again'

# ---- A completed run of which something that was not chosen would run again ----
cat >read.yaml <<'END2'
name: read
tasks:
  a: {run: 'echo a >>log', inputs: [in]}
  b: {run: 'echo b >>log'}
END2
echo 1 >in
exits 0 cairn run read.yaml -q
echo 2 >in
: >log
exits 0 cairn resume b
says 'nothing to do (2 completed)' 'what was chosen is as it was'
exits 0 cairn resume b --json
says '"not_chosen":1' 'and something else would run'
exits 0 cairn run read.yaml --fresh b
logged 'b ' 'nothing of that has run the other one'


# ---- Members whose value is a path, groups with a typo, files that come later ----

mkdir -p paths/src && cd paths || exit 1
touch src/b.c src/c.c src/d.c
cat >cairn.yaml <<'END2'
name: paths
tasks:
  compile: {foreach: {src: {glob: "src/*.c"}}, run: 'echo "$src" >>log'}
  a1: {run: 'true'}
  a2: {run: 'true'}
  a3: {run: 'true'}
  a4: {run: 'true'}
  a5: {run: 'true'}
  a6: {run: 'true'}
  link: {needs: compile, run: 'echo link >>log'}
END2
exits 0 cairn plan 'compile[src=src/c.c]' --fresh
is "$(cat out)" 'run   compile[src=src/c.c]  it never ran' 'a member with a path is not a file'
exits 0 cairn run 'compile[src=src/c.c]'
is "$(cat log)" src/c.c 'and is the one that runs'
exits 0 cairn resume 'compile[src=src/d.c]'
exits 10 cairn run 'comple'
says 'did you mean compile?' 'a group is suggested, too'
printf 'name: many\ntasks:\n  t: {foreach: {n: {range: [1, 40]}}, run: "true"}\n' >many.yaml
exits 10 cairn run many.yaml 'nothing-like-it'
says 'cairn plan many.yaml --fresh' 'or how to see all of them'
exits 0 cairn resume
touch src/a.c
for f in b c d; do
    exits 0 cairn explain "compile[src=src/$f.c]" --json
    is "$(json_get .task)" "compile[src=src/$f.c]" "explain $f: of the members that the run has"
done
exits 0 cairn explain link
says 'link will not run'
exits 10 cairn explain 'compile[src=src/a.c]'
rm src/a.c src/b.c
exits 0 cairn explain 'compile[src=src/b.c]' --json
is "$(json_get .task)" 'compile[src=src/b.c]' 'also one whose file is gone'
cd ..

# ---- What failed before and is not chosen ----
# It stays failed, whatever the policy is: nothing else of it is known, and it is no
# failure of what was chosen.
failed_before() { # POLICY
    mkdir "before-$1" && cd "before-$1" || exit 1
    cat >cairn.yaml <<END2
name: before-$1
on_failure: $1
jobs: 2
tasks:
  a: {run: 'sleep 0.2; test -e a.ok', retries: 0}
  b: {run: 'test -e b.ok'}
  c: {needs: [a], run: 'echo c'}
  d: {needs: [b], run: 'echo d'}
  last: {run: 'true'}
END2
    exits 1 cairn run -j2
    touch a.ok
    exits 0 cairn resume a
    says 'what was chosen is done' "on_failure: $1"
    exits 0 cairn status --json
    is "$(json_get .state)" failed 'the run has a failed task'
    is "$(json_get .failed)" 1 'which is the one that was not chosen'
    exits 0 cairn resume c
    says 'what was chosen is done' 'what comes after the chosen one runs'
    exits 0 cairn explain b
    says 'it failed last time'
    touch b.ok
    exits 0 cairn resume
    exits 0 cairn status --json
    is "$(json_get .completed)" 5 'and the rest does it again'
    exits 0 cairn doctor
    cd ..
}
failed_before continue
failed_before stop
failed_before undo
# ---- Parts of a group, as `needs` has them ----
cat >parts.yaml <<'END2'
name: parts
tasks:
  m: {foreach: {v: ['1,w=3', 2], w: [2, 3]}, run: 'echo "$v $w"'}
  n: {needs: ['m[w=3]'], run: 'true'}
END2
exits 0 cairn plan parts.yaml 'm[w=3]' --fresh
is "$(awk '{ print $2 }' out | tr '\n' ' ')" 'm[v=1%2Cw%3D3,w=3] m[v=2,w=3] ' 'all members with that value'
exits 0 cairn plan parts.yaml 'm[w=2,v=2]' --fresh
is "$(awk '{ print $2 }' out)" 'm[v=2,w=2]' 'in whatever order'
for word in 'm[' 'm[]' 'm[w=]' 'm[w=3' 'm[w=3,]' 'm[w=3]x' 'm[x=3]' 'mm[w=3]' '[w=3]'; do
    exits 10 cairn plan parts.yaml "$word" --fresh
done
exits 0 cairn run parts.yaml 'm[w=3]' --fresh
exits 0 cairn log 'm[w=3]'
is "$(grep -v '^=' out | tr '\n' ' ')" '1,w=3 3  2 3 ' 'their logs'
exits 10 cairn log 'm[w=4]'

# ---- An external task that was not chosen is done meanwhile ----
cat >outside.yaml <<'END2'
name: outside
tasks:
  a: {run: 'echo >>begun; until [ -e go ]; do sleep 0.02; done', undo: 'echo >>begun; until [ -e undo ]; do sleep 0.02; done'}
  e: {external: 'by somebody'}
  f: {needs: [e], run: 'echo f >>log'}
END2
begun() { # COMMAND...: it runs, and a process of it has begun
    rm -f begun
    "$@" >live.out 2>live.err &
    pid=$!
    wait_for 20 test -s begun
}
rm -f go undo
: >log
begun cairn run outside.yaml a --fresh
run=$(sed -n 's/^run \([0-9]*\) of outside.*/\1/p' live.err)
exits 0 cairn claim "$run" e
token=$(cat out)
exits 0 cairn complete "$run" e --token "$token"
says "run $run: e is completed" 'it is taken, as between runs'
: >go
wait "$pid"
is "$?" 0 'and what was chosen continues'
exits 0 cairn status "$run" --json
is "$(json_get .completed)" 2 'both are done'
is "$(wc -c <log | tr -d ' ')" 0 'nothing else has run'

exits 7 cairn run outside.yaml --fresh --no-wait
run=$(sed -n 's/^run \([0-9]*\) of outside.*/\1/p' err)
exits 0 cairn claim "$run" e
token=$(cat out)
begun cairn undo "$run"
exits 2 cairn complete "$run" e --token "$token"
says 'the claim still holds' 'while its run is undone it cannot be'
exits 0 cairn renew "$run" e --token "$token"
exits 6 cairn claim "$run" e
: >undo
wait "$pid"
exits 7 cairn resume "$run" --no-wait
exits 0 cairn complete "$run" e --token "$token"
says "run $run: e is completed" 'later the same claim ends it'
exits 2 cairn complete "$run" e --token "$token"
says 'already' 'once'

# What was chosen is done in a run that has failed: then nothing is wrong.
printf 'name: partly\non_failure: continue\ntasks: {good: {run: "true"}, bad: {run: "false"}}\n' >partly.yaml
exits 1 cairn run partly.yaml --fresh
exits 0 cairn run partly.yaml good
says 'what was chosen is done'
is "$(grep -c 'nothing was run' err)" 0 'nothing contradicts that'

# Options that would have no effect.
exits 2 cairn plan --rerun good --fresh
says '--rerun continues a run: leave out --fresh'
exits 2 cairn plan --rerun good --from 1
says 'leave out --from'
exits 2 cairn run partly.yaml --no-checkpoint --key partly.yaml
says '--key has no effect with --no-checkpoint'
done_testing
