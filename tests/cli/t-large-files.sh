# Outputs and inputs that take minutes to be read: meanwhile time limits hold, ends are
# recorded, output is trimmed, and a stop is heard. The files are sparse, of a size that
# is read in more time than any of these waits.
. "$TESTS/cli/tap.sh"

if ! truncate -s 1T try.bin 2>/dev/null; then
    skip_all 'no sparse files of 1 TiB here'
fi
rm try.bin

reads() { # FILE: has cairn ($pid) the file open?
    # shellcheck disable=SC2010 # the names are those of descriptors
    ls -l "/proc/$pid/fd" 2>/dev/null | grep -q "$1"
}
start() { # FILE...: in the background, with signals as a shell with job control gives them
    env --default-signal=INT,QUIT cairn "$@" >run.out 2>run.err &
    pid=$!
}
dead() { ! kill -0 $pid 2>/dev/null; }
ended() { # NAME: it ends; if not, it is killed, so that the test does
    ok "$1" wait_for 60 dead
    kill -9 $pid 2>/dev/null
    wait $pid
    status=$?
    cp run.out out
    cp run.err err
}

# ---- An output ----

cat >output.yaml <<'YAML'
name: output
jobs: 3
on_failure: continue
defaults: {timeout: {after: 10m, grace: 1s}}
tasks:
  big: {run: 'truncate -s 1T big.bin', outputs: [big.bin]}
  slow: {run: 'while [ ! -e at ]; do sleep 0.02; done; sleep 600', timeout: 2s}
  quick: {run: 'while [ ! -e at ]; do sleep 0.02; done; echo quick >>ran'}
  next: {run: 'echo next >>ran', needs: quick}
YAML
start run output.yaml
ok 'a large output is being read' wait_for 20 reads big.bin
touch at
recorded() { grep -q next run.err && grep -q 'timed out' run.err; }
ok 'meanwhile a time limit holds, and the ends of others are recorded' wait_for 20 recorded
is "$(tr '\n' ' ' <ran)" 'quick next ' 'and what needs them starts'
kill -INT $pid
ended 'a stop ends the wait for it'
is "$status" 1 'a task had failed'
matches 'stopped: .* 1 (cancelled|not run)' 'and the run was stopped'
says 'next' 'what had ended is completed'
exits 0 cairn status
matches '2 completed' 'and stays so'
rm -f big.bin at

start run --fresh output.yaml
ok 'again' wait_for 20 reads big.bin
exits 0 cairn cancel
ended 'cairn cancel ends it, too'
is "$status" 7 'stopped with work left'
rm -f big.bin at

sed 's/grace: 1s/grace: 10m/' output.yaml >patient.yaml
start run --fresh patient.yaml
ok 'with a long grace' wait_for 20 reads big.bin
kill -INT $pid
sleep 0.3
kill -INT $pid
ended 'the second stop ends it at once'
is "$status" 7 'stopped with work left'
rm -f big.bin at

cat >once.yaml <<'YAML'
name: once
defaults: {timeout: {after: 10m, grace: 1s}}
tasks:
  pay: {run: 'echo pay >>paid; truncate -s "$(cat size)" big.bin', outputs: [big.bin], once: true}
YAML
echo 1T >size
start run once.yaml
ok 'an output of what must not run twice' wait_for 20 reads big.bin
kill -TERM $pid
ended 'a stop ends the wait'
is "$status" 8 'then it is unknown'
exits 8 cairn resume
is "$(cat paid)" pay 'and does not run again'
rm -f big.bin

again() { # SIZE: it is killed while an output of that size is read
    rm -f paid big.bin
    echo "$1" >size
    cairn resolve 4 pay rerun >out 2>err
    start resume 4
    ok 'again' wait_for 20 reads big.bin
    kill -9 $pid
    wait $pid
}
again 1T
truncate -s 3M big.bin
exits 8 cairn resume 4
says 'but big.bin has changed since' 'changed after the kill: nobody knows what it made'
is "$(cat paid)" pay 'and does not run again'
again 3G
exits 0 cairn resume 4
is "$(cat paid)" pay 'killed while it was read: what had ended has ended'
rm -f big.bin

# ---- What is read in moments, but not at once ----

cat >middle.yaml <<'YAML'
name: middle
jobs: 4
tasks:
  make:
    run: 'head -c 3000000 /dev/urandom >m.bin; mkdir -p d; cp m.bin d/x; echo "size=3000000" >>"$CAIRN_OUTPUT"'
    outputs: [m.bin, d]
    check: 'test -s m.bin'
  use:
    needs: make
    foreach: {i: [1, 2, 3, 4, 5, 6]}
    env: {SIZE: '${{ tasks.make.outputs.size }}'}
    run: 'cat m.bin >u$i.bin; echo $SIZE >>sizes'
    inputs: [m.bin, d]
    outputs: ['u${{ i }}.bin']
  last: {needs: use, run: 'exit 1', inputs: [u1.bin, u6.bin], once: true}
YAML
exits 1 cairn run middle.yaml
says '7 completed, 1 failed'
is "$(sort sizes | uniq -c | tr -d ' \n')" 63000000 'values are passed on'
is "$(planned)" last 'all is as it was recorded'
echo x >>u6.bin
is "$(planned)" 'use[i=6] last' 'a change of an output shows'
head -c 3000000 /dev/urandom >d/x
is "$(planned | tr ' ' '\n' | grep -c .)" 8 'and one of an input, in a directory'
exits 1 cairn resume
is "$(planned)" last 'all is as it was recorded, again'
rm -rf ./*.bin d sizes

# ---- An input ----

cat >input.yaml <<'YAML'
name: input
jobs: 2
on_failure: continue
tasks:
  big: {run: 'echo big >>ran', inputs: [big.bin]}
  slow: {run: 'while [ ! -e at ]; do sleep 0.02; done; sleep 600', timeout: {after: 2s, grace: 1s}}
YAML
truncate -s 1T big.bin
: >ran
start run input.yaml
ok 'a large input is being read' wait_for 20 reads big.bin
touch at
timed_out() { grep -q 'timed out' run.err; }
ok 'meanwhile a time limit holds' wait_for 20 timed_out
kill -INT $pid
ended 'a stop ends the wait for it'
is "$status" 1 'a task had failed'
matches 'stopped: .* 1 (cancelled|not run)' 'and the run was stopped'
is "$(cat ran)" '' 'the task has not started'
exits 0 cairn status
matches '1 not run' 'and is not one that was interrupted'
rm -f big.bin at

# ---- What somebody else has made ----

cat >external.yaml <<'YAML'
name: external
jobs: 2
on_failure: continue
tasks:
  big: {external: make big.bin, outputs: [big.bin]}
  slow: {run: 'while [ ! -e at ]; do sleep 0.02; done; sleep 600', timeout: {after: 2s, grace: 1s}}
YAML
start run external.yaml
number() { cairn status --json >json && json_get .run json; }
offered() { cairn next 2>/dev/null | grep -q big; }
ok 'a step is offered' wait_for 20 offered
truncate -s 1T big.bin
cairn complete "$(number)" big >complete.out 2>&1 &
completing=$!
ok 'what it declared is being read' wait_for 20 reads big.bin
touch at
ok 'meanwhile a time limit holds' wait_for 20 timed_out
exits 0 cairn cancel
ended 'cairn cancel ends the wait for it'
kill $completing 2>/dev/null # it settles what nobody else does
wait $completing
rm -f big.bin at

# ---- Before the first turn ----

cat >compare.yaml <<'YAML'
name: compare
tasks:
  make: {run: 'mkdir -p made; echo make >>made/log', outputs: [made]}
  use: {run: '[ -e go ]', needs: make}
YAML
exits 1 cairn run compare.yaml
truncate -s 1T made/big.bin
start resume
ok 'resume compares what is recorded' wait_for 20 reads big.bin
kill -INT $pid
ended 'a stop ends that, too'
is "$status" 7 'the run was not resumed'
says 'stopped' 'and it is said'
start plan
ok 'plan compares' wait_for 20 reads big.bin
kill -INT $pid
ended 'and can be ended'
rm -f made/big.bin
touch go
exits 0 cairn resume
is "$(cat made/log)" make 'nothing was changed by that'

# ---- A file that grows all the time ----

cat >grows.yaml <<'YAML'
name: grows
tasks:
  log: {run: 'head -c 2000000 /dev/zero >log', outputs: [log]}
YAML
rm -f stop
(while [ ! -e stop ]; do [ ! -e log ] || truncate -s +50M log; sleep 0.01; done) &
writer=$!
start run grows.yaml
ended 'an output that grows while it is read'
touch stop
wait $writer
is "$status" 0 'is read up to the size that it had'
rm -f log

# ---- Checkpoints are required, and none can be saved ----
# What was looked at meanwhile must not start; a stop takes it back.
cat >required.yaml <<'YAML'
name: required
jobs: 2
tasks:
  a: {run: 'while [ ! -e go ]; do sleep 0.02; done'}
  b: {run: 'echo b >>ran', inputs: [big.bin]}
YAML
rm -f ran go
if ! command -v prlimit >/dev/null; then
    skip 'a stop while nothing can be saved' 'no prlimit here'
    done_testing
fi
truncate -s 2G big.bin
start run --checkpoint=required required.yaml
ok 'an input is being read' wait_for 20 reads big.bin
prlimit --pid $pid --fsize=16384: # like a full disk
touch go
degraded() { grep -q DEGRADED run.err; }
ok 'nothing can be saved' wait_for 20 degraded
ok 'the input is still being read' reads big.bin
not_read() { ! reads big.bin; }
ok 'until it is read' wait_for 60 not_read
is "$(cat ran 2>/dev/null)" '' 'its task waits'
kill -INT $pid
ended 'a stop takes it back'
is "$status" 9 'something was not saved'
is "$(cat ran 2>/dev/null)" '' 'and it never started'
rm -f big.bin go

# What takes the time is shown.
truncate -s 64M big.bin
cat >shown.yaml <<'YAML'
name: shown
tasks: {a: {inputs: [big.bin], run: 'cp big.bin out.bin', outputs: [out.bin]}}
YAML
exits 0 cairn run shown.yaml --json
is "$(grep -c task_reading out) $(grep task_reading out | grep -c '"text":"big.bin"')" '2 1' 'an event before large inputs and outputs are read, with the name'
ok 'and how long that took is in the end' sh -c 'grep task_finished out | grep -q "\"reading_ms\":[0-9]"'
rm -f big.bin out.bin
done_testing
