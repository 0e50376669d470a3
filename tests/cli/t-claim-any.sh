# make: sanitize
# claim --any: one call for a task, without a race; waiting; --exec; renew.
. "$TESTS/cli/tap.sh"

cat >flow.yaml <<'END2'
name: any
tasks:
  first: {external: "Say ${{ 'what' }}"}
  second: {needs: first, external: "After ${{ tasks.first.outputs.answer }}"}
  last: {needs: second, run: 'true'}
END2
exits 7 cairn run flow.yaml --no-wait
exits 2 cairn claim --any 1 first
exits 2 cairn claim 1 first --wait 1s
says 'needs --any'
exits 2 cairn claim 1 first --exec true
exits 2 cairn claim
exits 10 cairn claim --any 7
exits 0 cairn claim --any --json --lease 1h
json_ok 'claim --any --json'
is "$(json_get .task)" first 'what can be done'
is "$(json_get .text)" 'Say what' 'what is to be done'
is "$(json_get .run)" 1 'the newest run'
token=$(json_get .token)
exits 7 cairn claim --any
says 'no external task of run 1 can be claimed now'
exits 7 cairn claim --any --wait 300ms --json
json_ok 'there is none, with --json'

# ---- renew ----
exits 2 cairn renew 1 first
exits 6 cairn renew 1 first --token nonsense
exits 10 cairn renew 1 frist --token "$token"
exits 0 cairn renew 1 first --token "$token" --lease 2h --json
json_ok 'renew --json'
exits 0 cairn next --claimed --json
ok 'the lease is the new one' test "$(json_get '.next[0].lease_left_ms')" -gt 3600000
exits 0 cairn renew 1 first --token "$token" --lease 1ms
over() { ! cairn renew 1 first --token "$token" 2>/dev/null; }
ok 'a lease that is over' wait_for 10 over
exits 6 cairn renew 1 first --token "$token"
says 'the lease on task first is over'

# ---- --exec ----
cat >worker.sh <<'END2'
#!/bin/sh
printf '%s|%s|%s\n' "$CAIRN_CLAIM_RUN" "$CAIRN_CLAIM_TASK" "$(cat)" >>seen
echo '{"answer": "yes", "n": 3, "list": [1, "b"], "none": null}'
END2
chmod +x worker.sh
exits 0 cairn claim --any --exec ./worker.sh
says 'run 1: first is completed'
is "$(cat seen)" '1|first|Say what' 'the command was told the run, the task and its text'
exits 0 cairn values
is "$(cat out)" 'first  answer = yes
first  list = [1,"b"]
first  n = 3' 'what it printed are its values'
exits 1 cairn claim --any --exec 'echo "{\"message\": \"too hard\"}"; exit 3'
says 'second is failed: too hard'
exits 7 cairn resume 1 --no-wait
tap_long=$(yes 'ä' | head -n 3000 | tr -d '\n')
exits 1 cairn claim --any --exec "printf '{\"message\": \"x%s\"}' $tap_long; exit 3" --json
is "$(json_get .text)" "x$tap_long" 'a long message is not cut'
exits 7 cairn claim --any
says 'cairn resume 1 --no-wait' 'a failed run is continued first'
exits 7 cairn resume 1 --no-wait
exits 1 cairn claim --any --exec 'exit 4' --json
json_ok 'claim --exec --json'
is "$(json_get .state)" failed 'its state'
is "$(json_get .text)" 'exit 4' 'how its command ended'
exits 7 cairn resume 1 --no-wait
exits 1 cairn claim --any --exec 'echo done'
says 'not a JSON object'
exits 7 cairn resume 1 --no-wait
exits 1 cairn claim --any --exec 'echo "{\"1x\": 1}"'
says 'is not a name of a value' 'a name that cairn refuses fails the task, too'
exits 7 cairn resume 1 --no-wait
exits 1 cairn claim --any --exec 'head -c 3000000 /dev/zero | tr "\0" x'
says 'longer than 2 MiB'
exits 7 cairn resume 1 --no-wait

# The lease is shorter than the work: it is renewed.
exits 0 cairn claim --any --lease 1s --exec 'sleep 2'
exits 7 cairn claim --any
says 'before it continues: cairn resume 1' 'then a task of cairn is next'
exits 0 cairn resume 1 --no-wait
exits 10 cairn claim --any --wait 1m
says 'run 1 is completed' 'no waiting for what does not come'

# ---- A claim that is lost; a signal ----
cat >one.yaml <<'END2'
name: one
tasks:
  a: {run: 'true', inputs: in}
  q: {needs: a, external: "Do it"}
END2
echo 1 >in
exits 7 cairn run one.yaml --no-wait
cairn claim --any --lease 600ms --exec 'echo $$ >worker.pid; exec sleep 60' >one.out 2>one.err &
pid=$!
ok 'the worker has begun' wait_for 20 test -s worker.pid
kill -TERM $pid
wait $pid
is $? 7 'a signal ends it with 7'
is "$(cat one.err)" 'cairn: stopped; task q is given back' 'and gives the task back'
gone() { ! kill -0 "$(cat worker.pid)" 2>/dev/null; }
ok 'its command has ended' wait_for 10 gone
exits 0 cairn next
says 'q  Do it' 'anybody can take it'
rm worker.pid
cairn claim --any --lease 600ms --exec 'echo $$ >worker.pid; exec sleep 60' >one.out 2>one.err &
pid=$!
ok 'the worker has begun again' wait_for 20 test -s worker.pid
echo 2 >in
exits 7 cairn resume --no-wait
wait $pid
is $? 6 'a claim that is void ends it with 6'
ok 'and its command' wait_for 10 gone

# ---- Many at once: each gets a task of its own ----
cat >many.yaml <<'END2'
name: many
tasks:
  t: {foreach: {n: {range: [1, 12]}}, external: "${{ n }}"}
END2
exits 7 cairn run many.yaml --no-wait
rm -f done.txt
for i in 1 2 3 4; do
    (while cairn claim --any --exec 'echo "$(cat)" >>done.txt' -q; do :; done) 2>/dev/null &
done
wait
is "$(sort -n done.txt | tr '\n' ' ')" '1 2 3 4 5 6 7 8 9 10 11 12 ' 'each was done once'

# ---- Waiting for one that comes ----
exits 7 cairn run flow.yaml --no-wait
exits 0 cairn claim --any --json
token=$(json_get .token)
number=$(json_get .run)
cairn claim --any --wait 1m >next.out 2>&1 &
pid=$!
exits 0 cairn complete "$number" first --token "$token" --output answer=no
wait $pid
is $? 0 'the next one was waited for'
is "$(sed 1d next.out)" 'After no' 'and claimed'

# ---- Who waits comes before those that ask later --------------------------------------
printf 'name: short\ntasks:\n  s: {external: short}\n' >short.yaml
exits 7 cairn run short.yaml --no-wait
short=$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')
exits 0 cairn claim "$short" s --lease 1600ms
cairn claim --any "$short" --wait 1m --lease 1h >next.out 2>&1 &
pid=$!
sleep 2
exits 7 cairn claim --any "$short"
wait $pid
is $? 0 'one that waits gets the task when the lease of its holder ends'
token=$(sed 's/ .*//;q' next.out)
cairn claim --any "$short" --wait 1m --lease 1h >next.out 2>&1 &
pid=$!
sleep 2.6
exits 0 cairn renew "$short" s --token "$token" --lease 1ms
sleep 0.4
exits 7 cairn claim --any "$short"
wait $pid
is $? 0 'and when it is given back'

# A signal ends a wait, and takes nothing along.
cairn claim --any "$short" --wait 1m --json >next.out 2>/dev/null &
pid=$!
sleep 0.3
kill -TERM $pid
wait $pid
is $? 143 'a signal ends a wait'
json_ok "and what is said is whole" next.out

# The run ends while a step is done: its answer is kept, and counts when the run continues.
cat >two.yaml <<'END'
name: two
tasks:
  x: {external: do x}
  y: {external: do y}
  z: {needs: x, env: {A: "${{ tasks.x.outputs.a }}"}, run: 'echo "$A" >>z.txt'}
END
rm -f over began z.txt
cairn run two.yaml >two.out 2>&1 &
run_pid=$!
there() { cairn next --json | grep -q '"y"'; }
wait_for 20 there
two=$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')
cairn claim --any "$two" --lease 1s --exec 'echo >began; until [ -e over ]; do sleep 0.02; done; echo "{\"a\": 5}"' >claim.out 2>&1 &
pid=$!
ok 'x is claimed' wait_for 20 test -s began
exits 0 cairn fail "$two" y
wait $run_pid
sleep 1.5
: >over
wait $pid
is $? 0 'its answer is taken, and its lease was renewed meanwhile'
exits 2 cairn claim "$two" x
exits 7 cairn resume "$two" --no-wait
is "$(cat z.txt)" 5 'it counts when the run continues, and nobody does it again'
exits 0 cairn claim "$two" y
token=$(sed 's/ .*//;q' out)
exits 0 cairn complete "$two" y --token "$token"

# What is edited meanwhile is another question.
exits 7 cairn run two.yaml --no-wait --fresh
two=$(cairn status --json | sed 's/^{"run":\([0-9]*\).*/\1/')
exits 0 cairn claim "$two" x
token=$(sed 's/ .*//;q' out)
exits 0 cairn fail "$two" y
exits 1 cairn resume "$two"
exits 2 cairn fail "$two" x --token "$token"
says 'continue it first' 'a failure would end the run again at once'
exits 0 cairn complete "$two" x --token "$token" --output a=6
exits 2 cairn complete "$two" x --token "$token" --output a=7
sed 's/do x/do X/' two.yaml >other.yaml && mv other.yaml two.yaml
exits 7 cairn resume "$two" --no-wait
exits 0 cairn next "$two"
says 'do X' 'the answer to the old one does not answer it'
is "$(cat z.txt)" 5 'nothing went on with it'
done_testing
