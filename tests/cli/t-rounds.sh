# Tasks that run in rounds: repeat: {until: EXPR, max: N, delay: D}.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
ran() { tr '\n' ' ' <ran; }
# File NAME with the tasks of stdin.
tasks() {
    { printf 'name: %s\ntasks:\n' "$1" && cat; } >"$1.yaml"
    rm -f ran
}

# ---- Until the expression holds ----
tasks w <<'END'
  poll:
    run: |
      echo "$CAIRN_ROUND.$CAIRN_ATTEMPT" >>ran
      echo "left=$((4 - CAIRN_ROUND))" >>"$CAIRN_OUTPUT"
      echo "this is round $CAIRN_ROUND"
      echo "$CAIRN_ROUND" >r
    outputs: r
    repeat: {until: outputs.left == 0, max: 10, delay: 1ms}
  use: {needs: poll, env: {L: "${{ tasks.poll.outputs.left }}"}, run: 'echo "use $L $(cat r)" >>ran'}
END
exits 0 cairn run w.yaml
is "$(ran)" '1.1 2.2 3.3 4.4 use 0 4 ' 'four rounds; what comes after has the values of the last'
says 'again poll in 0.00s (attempt 1: round 1 of at most 10: `until` is not met: outputs.left == 0 (outputs.left is' \
    'each is reported, with the reason'
exits 0 cairn log poll --attempt 2
is "$(cat out)" 'this is round 2' 'each has its log'
for n in 2 4; do
    exits 0 cairn shell --print poll --attempt $n
    matches "CAIRN_ROUND='?$n" "cairn shell has the round of attempt $n"
done
is "$(planned --run 1)" '' 'it is done'
exits 0 cairn explain poll
says "attempt 2  completed  " 'and an attempt that completed'
exits 0 cairn events --run 1
says 'poll: attempt 3 completed, another round follows' 'events have it'
exits 0 cairn run w.yaml --fresh --json
is "$(grep -c '"type":"task_round"' out)" 3 'and the events of a run'

# ---- The limit ----
tasks l <<'END'
  a: {run: 'echo $CAIRN_ROUND >>ran; echo "ok=no" >>$CAIRN_OUTPUT', repeat: {until: "outputs.ok == 'yes'", max: 3}, retries: 2, undo: 'echo undone >>ran'}
  b: {run: 'echo b >>ran', needs: a}
  c: {run: 'echo "c after ${S}" >>ran', env: {S: "${{ tasks.a.status }}"}, needs: a, when: failed}
END
exits 0 cairn run l.yaml
is "$(ran)" '1 2 3 c after failed ' 'the limit fails it, and it is not tried again'
says "\`until\` is not met after 3 rounds: outputs.ok == 'yes' (outputs.ok is 'no')" 'the reason'
printf 'on_failure: undo\n' >>l.yaml
sed -i '/^  c:/d' l.yaml
exits 1 cairn run l.yaml --fresh
is "$(tail -n 1 ran)" undone 'and it is undone'

# ---- A round that fails is tried again as usual, and counts for that round alone ----
tasks f <<'END'
  a:
    run: 'echo "$CAIRN_ROUND.$CAIRN_ATTEMPT" >>ran; echo "n=$CAIRN_ROUND" >>$CAIRN_OUTPUT; test $((CAIRN_ATTEMPT % 2)) = 0'
    retries: 1
    repeat: {until: outputs.n >= 3, max: 3}
END
exits 0 cairn run f.yaml
is "$(ran)" '1.1 1.2 2.3 2.4 3.5 3.6 ' 'each round has its retries'
sed -i 's/test .*0/exit 4/' f.yaml
rm ran
exits 1 cairn run f.yaml --fresh
is "$(ran)" '1.1 1.2 ' 'a round that fails for good ends the task'

# ---- What `until` can name, and what goes wrong with it ----
tasks n <<'END'
  a: {run: 'echo "v=2" >>$CAIRN_OUTPUT'}
  g:
    foreach: {k: [1, 2]}
    needs: a
    params: []
    run: 'echo "$k.$CAIRN_ROUND" >>ran; echo "sum=$((k + CAIRN_ROUND))" >>$CAIRN_OUTPUT'
    env: {E: x}
    repeat: {until: "${{ outputs.sum >= 3 && run.attempt > 1 && tasks.a.outputs.v == 2 && env.E == 'x' && k > 0 }}", max: 4}
END
exits 0 cairn run n.yaml -j 1
is "$(sort ran | tr '\n' ' ')" '1.1 1.2 2.1 2.2 ' 'keys, env, run and tasks'
tasks e <<'END'
  a: {run: 'echo $CAIRN_ROUND >>ran; echo "x=1" >>$CAIRN_OUTPUT', repeat: {until: outputs.y > 1, max: 4}}
END
exits 1 cairn run e.yaml
is "$(ran)" '1 ' 'a value that is missing fails the attempt'
says 'it ended well, but `until` cannot be evaluated: ' 'and the message says so'
says 'outputs.y' 'with the name'
wrong() { # TASK, what is said
    printf 'name: m\ntasks: {s: {run: ":"}, a: %s}\n' "$1" >m.yaml
    exits 3 cairn validate m.yaml
    says "$2" "said: $2"
}
wrong '{run: ":", repeat: 3}' '`repeat` needs `until` and `max`'
wrong '{run: ":", repeat: {max: 3}}' '`repeat` needs `until` and `max`'
wrong '{run: ":", repeat: {until: outputs.a}}' '`repeat` needs `until` and `max`'
wrong '{run: ":", repeat: {until: outputs.a, max: 0}}' '1'
wrong '{run: ":", repeat: {until: true, max: 1}}' '`until`'
wrong '{run: ":", repeat: {until: "outputs.a ==", max: 1}}' 'm.yaml:2'
wrong '{run: ":", repeat: {until: outputs, max: 1}}' 'unknown name `outputs`'
wrong '{run: ":", repeat: {until: tasks.a.outputs.x, max: 1}}' 'what the round wrote is outputs.NAME'
wrong '{run: ":", repeat: {until: tasks.s.outputs.x, max: 1}}' 'does not need'
wrong '{run: ":", if: outputs.x}' '`outputs.x` is only known in `until`'
wrong '{exec: [x, "${{ outputs.x }}"]}' 'writes tasks.a.outputs.x'
wrong '{external: x, repeat: {until: outputs.x, max: 1}}' 'has no meaning'

# ---- Killed, stopped, edited ----
tasks k <<'END'
  a:
    run: |
      echo "$CAIRN_ROUND" >>ran
      while [ -e wait.$CAIRN_ROUND ]; do sleep 0.02; done
      echo "n=$CAIRN_ROUND" >>"$CAIRN_OUTPUT"
    repeat: {until: outputs.n == 4, max: 5}
  other: {run: 'true'}
END
begin() { # FILE, the round to stop in, how many lines there are then
    touch "wait.$2"
    cairn run "$1" >log 2>&1 &
    pid=$!
    ok "it runs to round $2" wait_for 10 sh -c "test \"\$(cat ran 2>/dev/null | wc -l)\" -ge $3"
}
stop() { # SIGNAL
    kill "-$1" $pid
    wait $pid
    rm wait.*
}
for signal in KILL TERM; do
    rm -f ran
    begin k.yaml 3 3
    stop $signal
    exits 0 cairn plan k.yaml
    says '2 of at most 5 rounds are done, and it goes on' "$signal: the plan says where it goes on"
    exits 0 cairn run k.yaml
    is "$(ran)" '1 2 3 3 4 ' "$signal: it goes on with the round"
done
rm -f ran
begin k.yaml 3 3
stop KILL
echo '  more: {run: "true"}' >>k.yaml
begin k.yaml 3 4 # a new generation of the run
stop KILL
exits 0 cairn run k.yaml
is "$(ran)" '1 2 3 3 3 4 ' 'an edit of another task, and a kill behind it, change nothing'
rm -f ran
begin k.yaml 3 3
stop KILL
sed -i 's/== 4/>= 4/' k.yaml
exits 0 cairn plan k.yaml
ok 'not after an edit of `until`' sh -c '! grep -q "rounds are done" out'
exits 0 cairn run k.yaml
is "$(ran)" '1 2 3 1 2 3 4 ' 'which begins anew'
run_of_k=$(sed -n 's/^run \([0-9]*\) completed.*/\1/p' err)
sed -i 's/max: 5/max: 6/' k.yaml
is "$(planned --run "$run_of_k")" '' 'another limit runs nothing again'
sed -i 's/>= 4/== 4/' k.yaml
exits 0 cairn plan --run "$run_of_k"
says 'until' 'another `until` does'
rm -f ran
exits 0 cairn run k.yaml --fresh
exits 0 cairn rerun a --only
is "$(ran)" '1 2 3 4 1 2 3 4 ' 'asked to run again: from the first round'

# ---- A stop because of another task lets the round end, and begins no other ----
tasks s <<'END'
  a: {run: 'touch began; sleep 0.3; echo $CAIRN_ROUND >>ran', repeat: {until: run.attempt == 3, max: 5, delay: 1h}}
  b: {run: 'until test -e began; do sleep 0.02; done; test -e ok'}
END
exits 1 cairn run s.yaml -j 2
is "$(ran)" '1 ' 'one round'
touch ok
sed -i 's/1h/0s/' s.yaml
exits 0 cairn run s.yaml
is "$(ran)" '1 2 3 ' 'the others on resume'

# ---- Once, with a check ----
tasks o <<'END'
  a:
    run: |
      echo "$CAIRN_ROUND" >>ran
      while [ -e wait.$CAIRN_ROUND ]; do sleep 0.02; done
      echo "n=$CAIRN_ROUND" >>"$CAIRN_OUTPUT"
    once: true
    repeat: {until: outputs.n == 3, max: 5}
END
begin o.yaml 2 2
stop KILL
exits 8 cairn run o.yaml
exits 0 cairn resolve "$(sed -n 's/^run \([0-9]*\) stopped.*/\1/p' err)" a rerun
exits 0 cairn run o.yaml
is "$(ran)" '1 2 2 3 ' 'a round that is unknown runs again once that is decided'
tasks c <<'END'
  a: {run: 'echo "$CAIRN_ROUND" >>ran; echo "n=$CAIRN_ROUND" >>$CAIRN_OUTPUT', check: 'test $CAIRN_ROUND -lt 3', repeat: {until: outputs.n == 4, max: 5}}
END
exits 1 cairn run c.yaml
is "$(ran)" '1 2 3 ' 'the check is of each round'

# ---- A round that outlives its cairn ----
rm -f ran up go
cat >k.yaml <<'END'
name: k
on_crash: adopt
tasks:
  a:
    run: 'echo "$CAIRN_ROUND" >>ran; touch up; until [ -e go ]; do sleep 0.02; done; echo "n=$CAIRN_ROUND" >>"$CAIRN_OUTPUT"; touch over'
    repeat: {until: outputs.n == 3, max: 5}
END
killed_at up cairn run k.yaml
exits 0 cairn plan
says 'take  a  it still runs, and is taken over; more rounds may follow'
touch go
wait_for 60 test -e over
wait_for 60 sh -c 'cairn plan 2>/dev/null | grep -q "that round counts, and more may follow"'
exits 0 cairn resume
is "$(ran)" '1 2 3 ' 'the rounds behind it run, and it does not run again'
done_testing
