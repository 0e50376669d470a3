# What a finished task passed on is lost or damaged: it does not stay finished if something
# that is to run needs it. plan, explain and resume agree, and the store is whole again.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db
# Of the value, not of the definition or of what tasks print.
value='WHERE digest IN (SELECT outputs FROM attempt WHERE outputs IS NOT NULL)'

cat >w.yaml <<'END'
name: w
tasks:
  first: {run: "echo first >>ran"}
  make: {run: 'echo make >>ran; echo v=hello-from-make >>"$CAIRN_OUTPUT"', needs: [first]}
  aside: {run: 'echo aside >>ran; echo v=nobody-asks >>"$CAIRN_OUTPUT"', needs: [first]}
  use: {run: 'echo use >>ran; [ -e go ]; echo "$V" >got', env: {V: "${{ tasks.make.outputs.v }}"}, needs: [make, aside]}
END

for damage in "DELETE FROM object $value" "UPDATE object SET data = flip(data, 9) $value"; do
    rm -rf .cairn ran got go
    exits 1 cairn run w.yaml
    "$sql" $db "$damage"
    : >ran
    touch go
    is "$(planned)" 'make use' "plan: what passed on the lost value runs again ($damage)"
    exits 0 cairn explain make
    says 'its stored result' 'explain tells why'
    exits 0 cairn explain aside
    says 'completed and unchanged' 'a lost value that nobody asks for changes nothing'
    exits 0 cairn resume
    is "$(tr '\n' ' ' <ran)" 'make use ' 'resume runs what the plan said'
    is "$(cat got)" hello-from-make 'with the right value'
    # The task passed on the very same value: the stored one must be whole now.
    exits 0 cairn resume
    says 'nothing to do'
    "$sql" $db "SELECT count(*) FROM object $value" >count
    ok 'the value is stored again' test "$(cat count)" -ge 1
done

# Repaired, it can continue all the same.
rm -rf .cairn ran got go
exits 1 cairn run w.yaml
"$sql" $db "UPDATE object SET data = flip(data, 9) $value"
exits 5 cairn doctor --repair
touch go
exits 0 cairn resume
is "$(cat got)" hello-from-make 'after a repair, too'

# What must not run twice waits for a decision.
sed 's/, needs: \[first\]}/, needs: [first], once: true}/' w.yaml >x && mv x w.yaml
rm -rf .cairn ran got go
exits 1 cairn run w.yaml
"$sql" $db "DELETE FROM object $value"
: >ran
touch go
is "$(planned)" '' 'plan: a task with `once` does not run again by itself'
exits 8 cairn resume
exits 0 cairn explain make
says 'cairn resolve'
exits 0 cairn resolve 1 make rerun
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'make use ' 'after the decision it runs'

# A chain: the lost value of a task that must run again because its own value is lost.
cat >chain.yaml <<'END'
name: chain
tasks:
  a: {run: 'echo a >>ran; echo v=1-of-the-chain >>"$CAIRN_OUTPUT"'}
  b: {run: 'echo b >>ran; echo "v=2-after-$V" >>"$CAIRN_OUTPUT"', needs: [a], env: {V: "${{ tasks.a.outputs.v }}"}}
  c: {run: 'echo c >>ran; echo "v=3-after-$V" >>"$CAIRN_OUTPUT"', needs: [b], env: {V: "${{ tasks.b.outputs.v }}"}}
  d: {run: 'echo d >>ran; [ -e god ]; echo "$V" >got', needs: [c], env: {V: "${{ tasks.c.outputs.v }}"}}
END
exits 1 cairn run chain.yaml
"$sql" $db "DELETE FROM object $value"
: >ran
touch god
is "$(planned)" 'a b c d' 'plan: the whole chain'
exits 0 cairn resume
is "$(tr '\n' ' ' <ran)" 'a b c d ' 'which runs'
is "$(cat got)" 3-after-2-after-1-of-the-chain 'and ends as it should'

# A condition that asks for the value, and an undo command that a failure will want.
cat >more.yaml <<'END'
name: more
on_failure: {undo: all}
tasks:
  ask: {run: 'echo ask >>ran; echo v=yes-indeed >>"$CAIRN_OUTPUT"'}
  made: {run: 'echo made >>ran', undo: 'echo unmade >>ran'}
  hold: {run: 'echo hold >>ran; touch at; while [ ! -e gohold ]; do sleep 0.02; done', needs: [ask, made]}
  maybe: {run: 'echo maybe >>ran; exit 1', needs: [hold], if: "tasks.ask.outputs.v == 'yes-indeed'"}
END
cairn run more.yaml >more.out 2>&1 &
pid=$!
ok 'it has come so far' wait_for 20 test -e at
kill $pid
wait $pid 2>/dev/null
"$sql" $db "DELETE FROM object $value"
: >ran
touch gohold
exits 0 cairn explain made
says 'its stored result' 'a lost undo command counts'
exits 1 cairn resume
is "$(sort ran | tr '\n' ' ')" 'ask hold made maybe unmade ' 'what was lost was made again, and undone'
done_testing
